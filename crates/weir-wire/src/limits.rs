//! What bounds that which strangers can make a socket do: send, and remember.

use std::net::{IpAddr, Ipv6Addr};
use weir_proto::time::Instant;

/// The most that is sent to a peer before its address is proven, as a multiple of what it sent,
/// IP and UDP headers included; the multiple is that of QUIC (RFC 9000 §8.1).
const FACTOR: u32 = 3;

/// What may still be sent in answer to a packet whose sender's address is not proven: one packet,
/// of three times the octets, or with `strict` of as many.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    octets: u32,
}

impl Allowance {
    /// After a packet of this size.
    pub(crate) const fn after(size: u32, strict: bool) -> Self {
        Self {
            octets: size.saturating_mul(if strict { 1 } else { FACTOR }),
        }
    }

    /// True if a packet of this size may be sent; after it, none.
    pub(crate) fn take(&mut self, size: u32) -> bool {
        let fits = size <= self.octets;
        if fits {
            self.octets = 0;
        }
        fits
    }
}

/// So many a second, and so many at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    rate: u32,
    burst: u32,
    /// Billionths of what one costs.
    level: u64,
    at: Instant,
}

impl Bucket {
    const ONE: u64 = 1_000_000_000;

    /// A full one.
    pub(crate) const fn new(rate: u32, burst: u32, now: Instant) -> Self {
        Self {
            rate,
            burst,
            level: burst as u64 * Self::ONE,
            at: now,
        }
    }

    /// True if there is one, which is then gone.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let most = u64::from(self.burst) * Self::ONE;
        let passed = now.since(self.at).as_nanos();
        self.at = now;
        self.level = self
            .level
            .saturating_add(passed.saturating_mul(u64::from(self.rate)))
            .min(most);
        let there = self.level >= Self::ONE;
        if there {
            self.level -= Self::ONE;
        }
        there
    }
}

/// Whose connections are counted together: an IPv4 address, or the 64 bits of an IPv6 network,
/// for its host may choose the rest (RFC 4291 §2.5.4).
pub(crate) fn source(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(ip) => IpAddr::V4(ip),
        IpAddr::V6(ip) => {
            let [a, b, c, d, ..] = ip.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_packet_of_three_times_the_octets_may_answer_or_of_as_many() {
        for (strict, most) in [(false, 150), (true, 50)] {
            let mut allowance = Allowance::after(50, strict);
            assert!(!allowance.take(most + 1));
            assert!(allowance.take(most));
            assert!(!allowance.take(1));
        }
        assert!(!Allowance::default().take(1));
    }

    #[test]
    fn a_bucket_gives_its_rate_and_its_burst_at_once() {
        let at = |millis: u64| Instant::from_nanos((1_000 + millis) * 1_000_000);
        let mut bucket = Bucket::new(100, 80, at(0));
        let mut taken = |now| (0..1000).filter(|_| bucket.take(now)).count();
        assert_eq!(taken(at(0)), 80);
        assert_eq!(taken(at(10)), 1);
        assert_eq!(taken(at(510)), 50);
        assert_eq!(taken(at(60_000)), 80);
        assert!(!Bucket::new(0, 0, at(0)).take(at(5_000)));
    }

    #[test]
    fn an_ipv6_network_is_one_source_and_a_mapped_address_its_ipv4_one() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(source(ip("2001:db8:1:2:3::4")), ip("2001:db8:1:2::"));
        assert_eq!(source(ip("::ffff:192.0.2.1")), ip("192.0.2.1"));
        assert_ne!(source(ip("192.0.2.1")), source(ip("192.0.2.2")));
    }
}
