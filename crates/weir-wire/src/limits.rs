//! Limits on what peers with addresses that are not validated can make a socket send and store.

use std::net::{IpAddr, Ipv6Addr};
use weir_proto::time::Instant;

/// Octets that may be sent to an address before it is validated for each octet received from it, IP
/// and UDP headers included, as in QUIC (RFC 9000 §8.1).
const AMPLIFICATION_FACTOR: u32 = 3;

/// The octets that may still be sent in answer to a packet from an address that is not validated:
/// one packet of three times its octets, or of as many with `strict`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AmplificationBudget {
    octets: u32,
}

impl AmplificationBudget {
    /// The budget after a received packet of `size` octets.
    pub(crate) const fn for_packet(size: u32, strict: bool) -> Self {
        Self {
            octets: size.saturating_mul(if strict { 1 } else { AMPLIFICATION_FACTOR }),
        }
    }

    /// True if a packet of `size` octets may be sent; this uses up the budget.
    pub(crate) fn take(&mut self, size: u32) -> bool {
        let fits = size <= self.octets;
        if fits {
            self.octets = 0;
        }
        fits
    }
}

/// A token bucket for events: at most `rate` per second, `burst` of them at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RateLimiter {
    rate: u32,
    burst: u32,
    /// Tokens, in billionths.
    level: u64,
    updated: Instant,
}

impl RateLimiter {
    const TOKEN: u64 = 1_000_000_000;

    /// A limiter with a full bucket.
    pub(crate) const fn new(rate: u32, burst: u32, now: Instant) -> Self {
        Self {
            rate,
            burst,
            level: burst as u64 * Self::TOKEN,
            updated: now,
        }
    }

    /// True if another event is allowed now; counts it.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let full = u64::from(self.burst) * Self::TOKEN;
        let elapsed = now.since(self.updated).as_nanos();
        self.updated = now;
        self.level = self
            .level
            .saturating_add(elapsed.saturating_mul(u64::from(self.rate)))
            .min(full);
        let allowed = self.level >= Self::TOKEN;
        if allowed {
            self.level -= Self::TOKEN;
        }
        allowed
    }
}

/// The source under which connections are counted: the IPv4 address, or the first 64 bits of the
/// IPv6 address, since a host may choose the rest (RFC 4291 §2.5.4).
pub(crate) fn source_prefix(ip: IpAddr) -> IpAddr {
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
    fn one_answer_of_three_times_the_octets_is_allowed_or_of_as_many_if_strict() {
        for (strict, most) in [(false, 150), (true, 50)] {
            let mut budget = AmplificationBudget::for_packet(50, strict);
            assert!(!budget.take(most + 1));
            assert!(budget.take(most));
            assert!(!budget.take(1));
        }
        assert!(!AmplificationBudget::default().take(1));
    }

    #[test]
    fn a_limiter_allows_its_rate_and_its_burst_at_once() {
        let at = |millis: u64| Instant::from_nanos((1_000 + millis) * 1_000_000);
        let mut limiter = RateLimiter::new(100, 80, at(0));
        let mut taken = |now| (0..1000).filter(|_| limiter.take(now)).count();
        assert_eq!(taken(at(0)), 80);
        assert_eq!(taken(at(10)), 1);
        assert_eq!(taken(at(510)), 50);
        assert_eq!(taken(at(60_000)), 80);
        assert!(!RateLimiter::new(0, 0, at(0)).take(at(5_000)));
    }

    #[test]
    fn an_ipv6_network_is_one_source_and_a_mapped_address_is_its_ipv4_address() {
        let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(source_prefix(ip("2001:db8:1:2:3::4")), ip("2001:db8:1:2::"));
        assert_eq!(source_prefix(ip("::ffff:192.0.2.1")), ip("192.0.2.1"));
        assert_ne!(
            source_prefix(ip("192.0.2.1")),
            source_prefix(ip("192.0.2.2"))
        );
    }
}
