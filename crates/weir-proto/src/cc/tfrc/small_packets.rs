//! TFRC-SP (RFC 4828), the variant for small packets that CCID-4 (RFC 5622) uses:
//!
//!   X_calc = X(s = 1460, R, p) · s/(s + H),   t_ipi = max(s/X, 10 ms)
//!
//! so that a flow of small packets gets the octets per second of a TCP flow with large packets,
//! less its headers, and at most a hundred packets per second. Because it may lose many packets in
//! a round trip, a loss interval of at most two round trips with N packets of which K were lost
//! counts as N/K packets instead of N, and the open interval does not count while it is that short
//! (§3). The other rules are the profile's.
//!
//! The receiver recognises a short interval by its own estimate of the round-trip time.

use crate::time::Duration;

/// The rules for small packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallPackets {
    /// s in the throughput equation, in octets.
    pub nominal_size: u32,
    /// H: octets of headers of a data packet.
    pub header: u32,
    /// The least time between two data packets.
    pub min_interval: Duration,
}

impl SmallPackets {
    /// RFC 5622 §5: 20 octets of IPv4 and 16 of DCCP-Data with long sequence numbers.
    pub const CCID4: Self = Self {
        nominal_size: 1460,
        header: 36,
        min_interval: Duration::from_millis(10),
    };

    /// The payload's share of a packet: s/(s + H).
    pub fn share(&self, segment_size: f64) -> f64 {
        segment_size / (segment_size + f64::from(self.header))
    }
}

/// The length of a loss interval of this many packets (RFC 4828 §3).
pub(super) fn interval_length(packets: f64, lost: u64, short: bool) -> f64 {
    if short && lost > 1 {
        (packets / lost as f64).max(1.0)
    } else {
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::super::equation::Equation;
    use super::super::profile::Profile;
    use super::*;

    /// RFC 4828 §4.1, table 2: packet drop rate, then kilobytes per second, headers included, of
    /// flows with segments of 14, 536 and 1460 octets and R = 100 ms.
    const TABLE_2: [(f64, [f64; 3]); 6] = [
        (0.001, [5.40, 57.60, 150.00]),
        (0.03, [5.40, 57.60, 83.07]),
        (0.1, [5.40, 26.58, 26.58]),
        (0.2, [5.40, 8.06, 8.06]),
        (0.3, [2.93, 2.93, 2.93]),
        (0.5, [0.63, 0.63, 0.63]),
    ];

    #[test]
    fn the_response_function_is_that_of_the_rfc() {
        let equation = Equation::new(&Profile::rfc5348());
        // The RFC computed its tables with 1500 octets: 1460 and 40 of headers.
        let rules = SmallPackets {
            nominal_size: 1500,
            header: 40,
            ..SmallPackets::CCID4
        };
        for (p, rates) in TABLE_2 {
            for (size, expected) in [14.0, 536.0, 1460.0].into_iter().zip(rates) {
                let nominal = f64::from(rules.nominal_size);
                let friendly = equation.rate(nominal, Duration::from_millis(100), p);
                let payload = friendly * rules.share(size);
                let interval = (size / payload).max(rules.min_interval.as_secs_f64());
                let on_wire = (size + f64::from(rules.header)) / interval / 1000.0;
                assert!(
                    (on_wire / expected - 1.0).abs() < 0.01,
                    "{p} {size}: {on_wire}"
                );
            }
        }
    }

    #[test]
    fn headers_reduce_the_payload_share() {
        // RFC 4828 §4.2: 120 octets and 40 of headers leave three quarters.
        let rules = SmallPackets {
            header: 40,
            ..SmallPackets::CCID4
        };
        assert_eq!(rules.share(120.0), 0.75);
    }

    #[test]
    fn only_short_intervals_count_their_losses() {
        assert_eq!(interval_length(20.0, 4, true), 5.0);
        assert_eq!(interval_length(20.0, 4, false), 20.0);
        assert_eq!(interval_length(20.0, 2, true), 10.0);
        assert_eq!(interval_length(20.0, 1, true), 20.0);
        assert_eq!(interval_length(3.0, 9, true), 1.0);
    }
}
