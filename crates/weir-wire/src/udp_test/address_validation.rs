//! Validation of a client's address by a token, which only a client that receives at the address
//! can return (like the tokens of RFC 9000 §8.1).

use crate::error::Error;
use crate::keyed_tag::{TagKey, tags_match};
use crate::test_protocol::Token;
use std::net::SocketAddr;
use weir_proto::time::{Duration, Instant};

/// The interval in which a token is issued; the token is also valid in the next interval.
const INTERVAL: Duration = Duration::from_secs(30);

/// Issues and checks tokens: tags over the client's address, the test's number and the interval.
/// Keeps no state for clients.
pub(super) struct AddressValidator(TagKey);

impl AddressValidator {
    /// The longest time for which a token is valid.
    pub(super) const LONGEST_VALID: Duration = Duration::from_secs(2 * 30);

    pub(super) fn new() -> Result<Self, Error> {
        TagKey::random().map(Self)
    }

    /// The token of a client at this time.
    pub(super) fn token(&self, client: SocketAddr, test: u64, now: Instant) -> Token {
        self.token_of(client, test, interval(now))
    }

    /// True if this is the client's token of this interval or the previous one.
    pub(super) fn is_valid(
        &self,
        client: SocketAddr,
        test: u64,
        now: Instant,
        token: &Token,
    ) -> bool {
        let current = interval(now);
        [current, current.saturating_sub(1)]
            .into_iter()
            .any(|interval| tags_match(&self.token_of(client, test, interval), token))
    }

    fn token_of(&self, client: SocketAddr, test: u64, interval: u64) -> Token {
        let parts: [&[u8]; 2] = [&test.to_be_bytes(), &interval.to_be_bytes()];
        self.0.tag(client, &parts)
    }
}

const fn interval(now: Instant) -> u64 {
    now.as_nanos() / INTERVAL.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyed_tag::TAG_OCTETS;

    #[test]
    fn a_token_is_valid_for_its_address_test_and_time_only() {
        let validator = AddressValidator::new().expect("random numbers");
        let client: SocketAddr = "192.0.2.1:5000".parse().expect("an address");
        let other: SocketAddr = "192.0.2.2:5000".parse().expect("an address");
        let now = Instant::from_nanos(INTERVAL.as_nanos() * 7);
        let token = validator.token(client, 1, now);
        assert!(validator.is_valid(client, 1, now + INTERVAL, &token));
        assert!(!validator.is_valid(client, 1, now + INTERVAL + INTERVAL, &token));
        assert!(!validator.is_valid(other, 1, now, &token));
        assert!(!validator.is_valid(client, 2, now, &token));
        assert!(!validator.is_valid(client, 1, now, &[0; TAG_OCTETS]));
        let another = AddressValidator::new().expect("random numbers");
        assert!(!another.is_valid(client, 1, now, &token));
    }
}
