//! Proof of a client's address: a token that only who receives at the address can bring back.

use crate::error::Error;
use std::net::{IpAddr, SocketAddr};
use weir_proto::time::{Duration, Instant};

use crate::test_protocol::TOKEN;

/// How long a token is good: twice this at most.
const TURN: Duration = Duration::from_secs(30);

/// Makes tokens and checks them, and remembers nothing of who asked: a token is a keyed hash of
/// the address, the test's number and the time.
pub(super) struct Gate([u8; 32]);

impl Gate {
    pub(super) fn new() -> Result<Self, Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| Error::Randomness(error.to_string()))?;
        Ok(Self(key))
    }

    /// The token of a client at this time.
    pub(super) fn token(&self, client: SocketAddr, id: u64, now: Instant) -> [u8; TOKEN] {
        self.hash(client, id, turn(now))
    }

    /// True if this is the client's token, made not long ago.
    pub(super) fn knows(&self, client: SocketAddr, id: u64, now: Instant, token: &[u8]) -> bool {
        let turn = turn(now);
        let turns = [turn, turn.saturating_sub(1)];
        // A wrong octet must not be found by the time that this takes.
        turns.into_iter().any(|turn| {
            let right = self.hash(client, id, turn);
            let differ = right.iter().zip(token).fold(0, |all, (a, b)| all | (a ^ b));
            token.len() == TOKEN && differ == 0
        })
    }

    fn hash(&self, client: SocketAddr, id: u64, turn: u64) -> [u8; TOKEN] {
        let ip = match client.ip().to_canonical() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&ip.octets());
        hasher.update(&client.port().to_be_bytes());
        hasher.update(&id.to_be_bytes());
        hasher.update(&turn.to_be_bytes());
        let mut token = [0; TOKEN];
        hasher.finalize_xof().fill(&mut token);
        token
    }
}

const fn turn(now: Instant) -> u64 {
    now.as_nanos() / TURN.as_nanos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_address_test_and_time_alone() {
        let gate = Gate::new().expect("random numbers");
        let client: SocketAddr = "192.0.2.1:5000".parse().expect("an address");
        let other: SocketAddr = "192.0.2.2:5000".parse().expect("an address");
        let now = Instant::from_nanos(TURN.as_nanos() * 7);
        let token = gate.token(client, 1, now);
        assert!(gate.knows(client, 1, now + TURN, &token));
        assert!(!gate.knows(client, 1, now + TURN + TURN, &token));
        assert!(!gate.knows(other, 1, now, &token));
        assert!(!gate.knows(client, 2, now, &token));
        assert!(!gate.knows(client, 1, now, &[]));
        let another = Gate::new().expect("random numbers");
        assert!(!another.knows(client, 1, now, &token));
    }
}
