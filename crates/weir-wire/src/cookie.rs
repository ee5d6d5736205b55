//! Init Cookies (RFC 4340 §8.1.4): the state of a handshake, carried by the client instead of kept
//! by the listener.
//!
//! The client can read a cookie, but cannot make or change one without the listener's key:
//!
//! ```text
//! octets   0       1..5        5..11  11..17  17..n                  n..n+16
//!          key id  time in ms  ISS    ISR     options of the Request tag
//! ```
//!
//! The tag covers these octets and the address, the ports and the service code of the packet that
//! returns the cookie. Of the Request's options the cookie contains those that negotiate a feature:
//! from them and its own settings the listener recreates the state machine that would have answered
//! the Request. A cookie longer than one option continues in the next.
//!
//! Keys are random and rotate every thirty seconds. The previous key stays valid, so that every
//! cookie is valid for its full thirty seconds. Each key records the handshakes completed with its
//! cookies, so that one Request creates at most one connection. Keys rotate earlier if there are
//! many of these, which bounds the memory.

use crate::connection_key::ConnectionKey;
use crate::error::Error;
use crate::keyed_tag::{TAG_OCTETS, TagKey, tags_match};
use std::collections::BTreeSet;
use weir_proto::dccp::wire::{DccpOption, Options, Packet, PacketType, SeqNum};
use weir_proto::time::{Duration, Instant};

/// The lifetime of a cookie, and the time for which a key creates cookies.
const LIFETIME: Duration = Duration::from_secs(30);
/// Octets of data in one option (RFC 4340 §8.1.4).
const MAX_OPTION_DATA: usize = 253;
/// Completed handshakes that a key records. An early rotation fails no handshake that completes
/// before the next rotation.
const MAX_COMPLETED: usize = 1 << 15;

/// The data to which a cookie is bound in addition to its content: the packet's addresses and
/// ports, and the listener's service code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CookieClient {
    pub(crate) key: ConnectionKey,
    pub(crate) service_code: u32,
}

/// The state negotiated by a Request and its Response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HandshakeState {
    /// The Response's sequence number.
    pub(crate) iss: SeqNum,
    /// The Request's sequence number.
    pub(crate) isr: SeqNum,
    /// The Request's options that negotiate features.
    pub(crate) options: Options,
}

/// A key, and the handshakes that were completed by its cookies.
struct CookieKey {
    id: u8,
    key: TagKey,
    created: Instant,
    completed: BTreeSet<(ConnectionKey, u64)>,
}

/// The current and the previous key of a listener.
pub(crate) struct CookieKeys {
    current: CookieKey,
    previous: Option<CookieKey>,
}

impl HandshakeState {
    /// The state after a Request that is answered with sequence number `iss`.
    pub(crate) fn of(request: &Packet, iss: SeqNum) -> Self {
        let mut options = Options::new();
        let applicable = request.options.applicable_to(PacketType::Request);
        for option in applicable
            .flatten()
            .filter(|option| matches!(option.raw.kind, 32..=35))
        {
            if option.mandatory {
                options.push(&DccpOption::Mandatory);
            }
            options.push(&option.option);
        }
        Self {
            iss,
            isr: request.seq,
            options,
        }
    }

    /// A Request that results in this state.
    pub(crate) fn request(&self, client: CookieClient) -> Packet {
        let CookieClient { key, service_code } = client;
        Packet {
            options: self.options.clone(),
            ..Packet::request(self.isr, service_code).with_ports(key.peer_port, key.local_port)
        }
    }
}

impl CookieKey {
    fn new(id: u8, created: Instant) -> Result<Self, Error> {
        Ok(Self {
            id,
            key: TagKey::random()?,
            created,
            completed: BTreeSet::new(),
        })
    }

    fn tag(&self, client: CookieClient, content: &[u8]) -> [u8; TAG_OCTETS] {
        let CookieClient { key, service_code } = client;
        let parts: [&[u8]; 4] = [
            &key.peer_port.to_be_bytes(),
            &key.local_port.to_be_bytes(),
            &service_code.to_be_bytes(),
            content,
        ];
        self.key.tag(key.peer, &parts)
    }
}

impl CookieKeys {
    /// # Errors
    /// [`Error::Randomness`].
    pub(crate) fn new(now: Instant) -> Result<Self, Error> {
        Ok(Self {
            current: CookieKey::new(0, now)?,
            previous: None,
        })
    }

    /// Rotates the keys if due. If the system provides no random numbers the old key stays; the
    /// time in each cookie still limits its validity.
    fn rotate(&mut self, now: Instant) {
        let current = &self.current;
        if now.since(current.created) < LIFETIME && current.completed.len() < MAX_COMPLETED {
            return;
        }
        if let Ok(next) = CookieKey::new(self.current.id.wrapping_add(1), now) {
            self.previous = Some(std::mem::replace(&mut self.current, next));
        }
    }

    /// Adds the cookie for this state to a Response's options; false if it does not fit.
    pub(crate) fn encode(
        &mut self,
        now: Instant,
        client: CookieClient,
        state: &HandshakeState,
        response: &mut Options,
    ) -> bool {
        self.rotate(now);
        let mut cookie = vec![self.current.id];
        cookie.extend(millis(now).to_be_bytes());
        for number in [state.iss, state.isr] {
            cookie.extend(number.get().to_be_bytes().iter().skip(2));
        }
        cookie.extend(state.options.as_bytes());
        let tag = self.current.tag(client, &cookie);
        cookie.extend(tag);
        cookie
            .chunks(MAX_OPTION_DATA)
            .all(|part| response.push(&DccpOption::InitCookie(part)))
    }

    /// The state in a cookie; `None` unless this listener created it for this client within its
    /// lifetime.
    pub(crate) fn decode(
        &mut self,
        now: Instant,
        client: CookieClient,
        cookie: &[u8],
    ) -> Option<HandshakeState> {
        self.rotate(now);
        let (content, tag) = cookie.split_last_chunk::<TAG_OCTETS>()?;
        let (&id, rest) = content.split_first()?;
        let (time, rest) = rest.split_first_chunk::<4>()?;
        let (iss, rest) = rest.split_first_chunk::<6>()?;
        let (isr, options) = rest.split_first_chunk::<6>()?;
        let keys = [Some(&self.current), self.previous.as_ref()];
        let key = keys.into_iter().flatten().find(|key| key.id == id)?;
        let age = millis(now).wrapping_sub(u32::from_be_bytes(*time));
        if !tags_match(&key.tag(client, content), tag)
            || u64::from(age) * 1_000_000 > LIFETIME.as_nanos()
        {
            return None;
        }
        Some(HandshakeState {
            iss: seq_num(*iss),
            isr: seq_num(*isr),
            options: Options::from_wire(options),
        })
    }

    /// Whether this Request has already become a connection.
    pub(crate) fn is_completed(&self, key: ConnectionKey, isr: SeqNum) -> bool {
        let previous = self.previous.as_ref().map(|previous| &previous.completed);
        let all = [Some(&self.current.completed), previous];
        all.into_iter()
            .flatten()
            .any(|completed| completed.contains(&(key, isr.get())))
    }

    /// Records that this Request has become a connection.
    pub(crate) fn mark_completed(&mut self, key: ConnectionKey, isr: SeqNum) {
        self.current.completed.insert((key, isr.get()));
    }
}

/// A packet's Init Cookie, joined from all its options; `None` if it has none, or if its packet
/// type must not carry one.
pub(crate) fn cookie_in(packet: &Packet) -> Option<Vec<u8>> {
    if matches!(packet.kind, PacketType::Request | PacketType::Data) {
        return None;
    }
    let mut cookie = None;
    for option in &packet.options {
        if let DccpOption::InitCookie(part) = option {
            cookie.get_or_insert_with(Vec::new).extend_from_slice(part);
        }
    }
    cookie
}

fn seq_num(octets: [u8; 6]) -> SeqNum {
    let mut number = [0; 8];
    number[2..].copy_from_slice(&octets);
    SeqNum::new(u64::from_be_bytes(number))
}

/// The time in a cookie. It wraps after seven weeks, long after its key was rotated.
fn millis(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::SocketAddr;

    const SERVICE: u32 = 7;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos((1_000 + millis) * 1_000_000)
    }

    fn client(last: u8, port: u16) -> CookieClient {
        let key = ConnectionKey {
            peer: SocketAddr::from(([192, 0, 2, last], port)),
            peer_port: 40_000,
            local_port: 5001,
        };
        CookieClient {
            key,
            service_code: SERVICE,
        }
    }

    fn state(values: &[u8]) -> HandshakeState {
        let mut request = Packet::request(SeqNum::new(77), SERVICE);
        for option in [
            DccpOption::Padding,
            DccpOption::Mandatory,
            DccpOption::ChangeR { feature: 1, values },
            DccpOption::Timestamp(1),
        ] {
            assert!(request.options.push(&option));
        }
        HandshakeState::of(&request, SeqNum::new((1 << 48) - 1))
    }

    fn encoded_cookie(keys: &mut CookieKeys, now: Instant, values: &[u8]) -> Vec<u8> {
        let mut response = Packet::response(SeqNum::new(1), SeqNum::new(2), SERVICE);
        let encoded = keys.encode(now, client(1, 9), &state(values), &mut response.options);
        assert!(encoded);
        cookie_in(&response).expect("a cookie")
    }

    #[test]
    fn a_cookie_gives_back_the_state_and_the_request_even_in_several_options() {
        let mut keys = CookieKeys::new(at(0)).expect("randomness");
        for values in [&[3, 2][..], &[9; 250]] {
            let cookie = encoded_cookie(&mut keys, at(0), values);
            let decoded = keys.decode(at(10), client(1, 9), &cookie);
            assert_eq!(decoded, Some(state(values)));
            let request = state(values).request(client(1, 9));
            assert_eq!(
                (request.source_port, request.destination_port),
                (40_000, 5001)
            );
            let kinds: Vec<u8> = request.options.iter().map(|option| option.kind()).collect();
            assert_eq!(kinds, [1, 34]);
        }
    }

    #[test]
    fn parts_of_a_cookie_in_another_order_are_refused() {
        let mut keys = CookieKeys::new(at(0)).expect("randomness");
        let cookie = encoded_cookie(&mut keys, at(0), &[9; 250]);
        let (first, second) = cookie.split_at(MAX_OPTION_DATA);
        let mut is_valid = |parts: [&[u8]; 2]| {
            let mut ack = Packet::new_ack(SeqNum::new(78), SeqNum::new(1));
            for part in parts {
                assert!(ack.options.push(&DccpOption::InitCookie(part)));
            }
            let cookie = cookie_in(&ack).expect("a cookie");
            keys.decode(at(1), client(1, 9), &cookie).is_some()
        };
        assert!(is_valid([first, second]));
        assert!(!is_valid([second, first]) && !is_valid([first, first]));
    }

    #[test]
    fn a_cookie_with_a_changed_bit_a_missing_part_or_of_another_client_is_refused() {
        let mut keys = CookieKeys::new(at(0)).expect("randomness");
        let cookie = encoded_cookie(&mut keys, at(0), &[3, 2]);
        for bit in 0..cookie.len() * 8 {
            let mut changed = cookie.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(keys.decode(at(1), client(1, 9), &changed), None);
        }
        for len in 0..cookie.len() {
            assert_eq!(keys.decode(at(1), client(1, 9), &cookie[..len]), None);
        }
        let mut others = vec![client(2, 9), client(1, 10)];
        for change in [
            (|other| other.key.peer_port += 1) as fn(&mut CookieClient),
            |other| other.key.local_port += 1,
            |other| other.service_code += 1,
        ] {
            let mut other = client(1, 9);
            change(&mut other);
            others.push(other);
        }
        for other in others {
            assert_eq!(keys.decode(at(1), other, &cookie), None, "{other:?}");
        }
        let mut other_keys = CookieKeys::new(at(0)).expect("randomness");
        assert_eq!(other_keys.decode(at(1), client(1, 9), &cookie), None);
    }

    #[test]
    fn a_cookie_is_valid_for_thirty_seconds_whenever_the_keys_rotate() {
        for made in [0, 10_000, 29_999, 30_000, 45_000] {
            let mut keys = CookieKeys::new(at(0)).expect("randomness");
            let cookie = encoded_cookie(&mut keys, at(made), &[2]);
            let mut is_valid = |later| {
                let decoded = keys.decode(at(made + later), client(1, 9), &cookie);
                decoded.is_some()
            };
            assert!(
                is_valid(0) && is_valid(15_000) && is_valid(30_000),
                "made at {made}"
            );
            assert!(!is_valid(30_001) && !is_valid(90_000), "made at {made}");
        }
    }

    #[test]
    fn a_completed_request_is_remembered_while_its_cookie_is_valid_within_a_bound() {
        let mut keys = CookieKeys::new(at(0)).expect("randomness");
        let cookie = encoded_cookie(&mut keys, at(0), &[2]);
        keys.mark_completed(client(1, 9).key, SeqNum::new(77));
        assert!(keys.decode(at(29_000), client(1, 9), &cookie).is_some());
        assert!(keys.is_completed(client(1, 9).key, SeqNum::new(77)));
        encoded_cookie(&mut keys, at(30_000), &[2]);
        assert!(keys.is_completed(client(1, 9).key, SeqNum::new(77)));
        assert!(!keys.is_completed(client(1, 9).key, SeqNum::new(78)));
        for number in 0..5 * MAX_COMPLETED as u64 {
            keys.mark_completed(client(1, 9).key, SeqNum::new(number));
            keys.rotate(at(30_001));
        }
        let previous = keys.previous.map_or(0, |key| key.completed.len());
        assert!(keys.current.completed.len() + previous <= 2 * MAX_COMPLETED);
    }
}
