//! Init Cookies (RFC 4340 §8.1.4): what a listener would have to remember of a handshake, carried
//! by the client instead.
//!
//! A cookie is not secret, for its holder knows all that is in it, but it cannot be made or
//! changed without the listener's key:
//!
//! ```text
//! octets   0          1..5        5..11  11..17  17..n                  n..n+16
//!          key's turn time in ms  ISS    ISR     options of the Request tag
//! ```
//!
//! The tag is a BLAKE3 keyed hash, cut to 128 bits, of these octets and of what the packet that
//! brings the cookie back says itself: its address, its ports, the service. Of the Request's
//! options those are kept that negotiate a feature; from them and the listener's own settings the
//! same state machine comes to be that would have answered the Request. What is longer than one
//! option goes on in the next.
//!
//! Keys are drawn from the system and change every thirty seconds. The former key still counts,
//! so a cookie lives for its thirty seconds whenever it was made. Each key remembers what was
//! opened under it, and is changed earlier if that becomes much: one Request makes one connection
//! at most, and the memory of it is bounded.

use crate::error::Error;
use crate::hub::Key;
use std::collections::BTreeSet;
use std::net::IpAddr;
use weir_proto::dccp::wire::{DccpOption, Options, Packet, PacketType, SeqNum};
use weir_proto::time::{Duration, Instant};

/// How long a cookie and a key live.
const LIFETIME: Duration = Duration::from_secs(30);
/// Octets of data in one option (RFC 4340 §8.1.4).
const MOST_DATA: usize = 253;
const TAG: usize = 16;
/// Handshakes that a key remembers; an early change of keys costs nobody anything whose
/// acknowledgement comes within the time of two.
const USED: usize = 1 << 15;

/// What a Request and its Response have agreed on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terms {
    /// The Response's sequence number.
    pub(crate) iss: SeqNum,
    /// The Request's sequence number.
    pub(crate) isr: SeqNum,
    /// The Request's options that negotiate.
    pub(crate) options: Options,
}

/// A key and what was opened with it.
struct Secret {
    turn: u8,
    octets: [u8; 32],
    since: Instant,
    used: BTreeSet<(Key, u64)>,
}

/// The keys of a listener.
pub(crate) struct Cookies {
    current: Secret,
    former: Option<Secret>,
}

impl Terms {
    /// Those of a Request that is answered with this sequence number.
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

    /// The Request again, as far as it matters.
    pub(crate) fn request(&self, key: Key, service_code: u32) -> Packet {
        Packet {
            options: self.options.clone(),
            ..Packet::request(self.isr, service_code).with_ports(key.1, key.2)
        }
    }
}

impl Secret {
    fn new(turn: u8, since: Instant) -> Result<Self, Error> {
        let mut octets = [0; 32];
        getrandom::fill(&mut octets).map_err(|error| Error::Randomness(error.to_string()))?;
        Ok(Self {
            turn,
            octets,
            since,
            used: BTreeSet::new(),
        })
    }

    fn tag(&self, key: Key, service_code: u32, body: &[u8]) -> [u8; TAG] {
        let (peer, theirs, ours) = key;
        let ip = match peer.ip().to_canonical() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut hasher = blake3::Hasher::new_keyed(&self.octets);
        hasher.update(&ip.octets());
        for port in [peer.port(), theirs, ours] {
            hasher.update(&port.to_be_bytes());
        }
        hasher.update(&service_code.to_be_bytes()).update(body);
        let mut tag = [0; TAG];
        hasher.finalize_xof().fill(&mut tag);
        tag
    }
}

impl Cookies {
    /// # Errors
    /// [`Error::Randomness`].
    pub(crate) fn new(now: Instant) -> Result<Self, Error> {
        Ok(Self {
            current: Secret::new(0, now)?,
            former: None,
        })
    }

    /// Changes the keys if it is time. Without randomness the old one stays: a cookie's own time
    /// still ends it.
    fn turn(&mut self, now: Instant) {
        if now.since(self.current.since) < LIFETIME && self.current.used.len() < USED {
            return;
        }
        if let Ok(next) = Secret::new(self.current.turn.wrapping_add(1), now) {
            self.former = Some(std::mem::replace(&mut self.current, next));
        }
    }

    /// Adds the cookie for these terms to a Response; false if it does not fit.
    pub(crate) fn put(
        &mut self,
        now: Instant,
        (key, service_code): (Key, u32),
        terms: &Terms,
        response: &mut Options,
    ) -> bool {
        self.turn(now);
        let mut cookie = vec![self.current.turn];
        cookie.extend(millis(now).to_be_bytes());
        for number in [terms.iss, terms.isr] {
            cookie.extend(number.get().to_be_bytes().iter().skip(2));
        }
        cookie.extend(terms.options.as_bytes());
        let tag = self.current.tag(key, service_code, &cookie);
        cookie.extend(tag);
        cookie
            .chunks(MOST_DATA)
            .all(|part| response.push(&DccpOption::InitCookie(part)))
    }

    /// The terms in a packet's cookies, if they are ours, of this client and not too old.
    pub(crate) fn open(
        &mut self,
        now: Instant,
        (key, service_code): (Key, u32),
        cookie: &[u8],
    ) -> Option<Terms> {
        self.turn(now);
        let (body, tag) = cookie.split_last_chunk::<TAG>()?;
        let (&turn, rest) = body.split_first()?;
        let (time, rest) = rest.split_first_chunk::<4>()?;
        let (iss, rest) = rest.split_first_chunk::<6>()?;
        let (isr, options) = rest.split_first_chunk::<6>()?;
        let secrets = [Some(&self.current), self.former.as_ref()];
        let secret = secrets.into_iter().flatten().find(|s| s.turn == turn)?;
        let expected = secret.tag(key, service_code, body);
        // All octets are looked at, so that the time taken says nothing of where they differ.
        let difference = expected.iter().zip(tag).fold(0, |sum, (a, b)| sum | a ^ b);
        let age = millis(now).wrapping_sub(u32::from_be_bytes(*time));
        if difference != 0 || u64::from(age) * 1_000_000 > LIFETIME.as_nanos() {
            return None;
        }
        Some(Terms {
            iss: number(*iss),
            isr: number(*isr),
            options: Options::from_wire(options),
        })
    }

    /// True if this Request has already become a connection.
    pub(crate) fn is_used(&self, key: Key, isr: SeqNum) -> bool {
        let former = self.former.as_ref().map(|secret| &secret.used);
        let all = [Some(&self.current.used), former];
        all.into_iter()
            .flatten()
            .any(|used| used.contains(&(key, isr.get())))
    }

    /// This Request becomes a connection.
    pub(crate) fn mark_used(&mut self, key: Key, isr: SeqNum) {
        self.current.used.insert((key, isr.get()));
    }
}

/// All of a packet's Init Cookies, one behind the other; `None` if it has none, or if its type
/// must not have any.
pub(crate) fn cookie_of(packet: &Packet) -> Option<Vec<u8>> {
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

fn number(octets: [u8; 6]) -> SeqNum {
    let mut whole = [0; 8];
    whole[2..].copy_from_slice(&octets);
    SeqNum::new(u64::from_be_bytes(whole))
}

/// A cookie's time; it comes round after seven weeks, when all keys have long changed.
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

    fn key(last: u8, port: u16) -> Key {
        (SocketAddr::from(([192, 0, 2, last], port)), 40_000, 5001)
    }

    fn terms(values: &[u8]) -> Terms {
        let mut request = Packet::request(SeqNum::new(77), SERVICE);
        for option in [
            DccpOption::Padding,
            DccpOption::Mandatory,
            DccpOption::ChangeR { feature: 1, values },
            DccpOption::Timestamp(1),
        ] {
            assert!(request.options.push(&option));
        }
        Terms::of(&request, SeqNum::new((1 << 48) - 1))
    }

    fn minted(cookies: &mut Cookies, now: Instant, values: &[u8]) -> Vec<u8> {
        let mut response = Packet::response(SeqNum::new(1), SeqNum::new(2), SERVICE);
        let to = (key(1, 9), SERVICE);
        assert!(cookies.put(now, to, &terms(values), &mut response.options));
        cookie_of(&response).expect("a cookie")
    }

    #[test]
    fn a_cookie_gives_back_the_terms_and_the_request_even_if_it_needs_several_options() {
        let mut cookies = Cookies::new(at(0)).expect("randomness");
        for values in [&[3, 2][..], &[9; 250]] {
            let cookie = minted(&mut cookies, at(0), values);
            let opened = cookies.open(at(10), (key(1, 9), SERVICE), &cookie);
            assert_eq!(opened, Some(terms(values)));
            let request = terms(values).request(key(1, 9), SERVICE);
            assert_eq!(
                (request.source_port, request.destination_port),
                (40_000, 5001)
            );
            let kinds: Vec<u8> = request.options.iter().map(|option| option.kind()).collect();
            assert_eq!(kinds, [1, 34]);
        }
    }

    #[test]
    fn cookies_in_another_order_do_not_open() {
        let mut cookies = Cookies::new(at(0)).expect("randomness");
        let cookie = minted(&mut cookies, at(0), &[9; 250]);
        let (first, second) = cookie.split_at(MOST_DATA);
        let mut opens = |parts: [&[u8]; 2]| {
            let mut ack = Packet::new_ack(SeqNum::new(78), SeqNum::new(1));
            for part in parts {
                assert!(ack.options.push(&DccpOption::InitCookie(part)));
            }
            let cookie = cookie_of(&ack).expect("a cookie");
            cookies.open(at(1), (key(1, 9), SERVICE), &cookie).is_some()
        };
        assert!(opens([first, second]));
        assert!(!opens([second, first]) && !opens([first, first]));
    }

    #[test]
    fn no_cookie_opens_with_a_bit_changed_a_part_missing_or_for_somebody_else() {
        let mut cookies = Cookies::new(at(0)).expect("randomness");
        let cookie = minted(&mut cookies, at(0), &[3, 2]);
        for bit in 0..cookie.len() * 8 {
            let mut changed = cookie.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(cookies.open(at(1), (key(1, 9), SERVICE), &changed), None);
        }
        for len in 0..cookie.len() {
            assert_eq!(
                cookies.open(at(1), (key(1, 9), SERVICE), &cookie[..len]),
                None
            );
        }
        let (peer, theirs, ours) = key(1, 9);
        for (who, service) in [
            (key(2, 9), SERVICE),
            (key(1, 10), SERVICE),
            ((peer, theirs + 1, ours), SERVICE),
            ((peer, theirs, ours + 1), SERVICE),
            (key(1, 9), SERVICE + 1),
        ] {
            assert_eq!(cookies.open(at(1), (who, service), &cookie), None);
        }
        let mut others = Cookies::new(at(0)).expect("randomness");
        assert_eq!(others.open(at(1), (key(1, 9), SERVICE), &cookie), None);
    }

    #[test]
    fn a_cookie_lives_for_thirty_seconds_whenever_the_keys_change() {
        for made in [0, 10_000, 29_999, 30_000, 45_000] {
            let mut cookies = Cookies::new(at(0)).expect("randomness");
            let cookie = minted(&mut cookies, at(made), &[2]);
            let mut opens = |later| {
                let opened = cookies.open(at(made + later), (key(1, 9), SERVICE), &cookie);
                opened.is_some()
            };
            assert!(opens(0) && opens(15_000) && opens(30_000), "made at {made}");
            assert!(!opens(30_001) && !opens(90_000), "made at {made}");
        }
    }

    #[test]
    fn what_was_used_is_known_for_a_cookies_life_and_the_memory_of_it_is_bounded() {
        let mut cookies = Cookies::new(at(0)).expect("randomness");
        let cookie = minted(&mut cookies, at(0), &[2]);
        cookies.mark_used(key(1, 9), SeqNum::new(77));
        assert!(
            cookies
                .open(at(29_000), (key(1, 9), SERVICE), &cookie)
                .is_some()
        );
        assert!(cookies.is_used(key(1, 9), SeqNum::new(77)));
        minted(&mut cookies, at(30_000), &[2]);
        assert!(cookies.is_used(key(1, 9), SeqNum::new(77)));
        assert!(!cookies.is_used(key(1, 9), SeqNum::new(78)));
        for number in 0..5 * USED as u64 {
            cookies.mark_used(key(1, 9), SeqNum::new(number));
            cookies.turn(at(30_001));
        }
        let former = cookies.former.map_or(0, |secret| secret.used.len());
        assert!(cookies.current.used.len() + former <= 2 * USED);
    }
}
