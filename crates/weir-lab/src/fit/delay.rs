//! The delay of the path: the smallest round trip less the time that its packet took to leave.

use super::observed::Observed;

/// The smallest round trip, in seconds.
pub(super) fn base_rtt(observed: &Observed) -> f64 {
    let rtts = observed.acks.iter().map(|ack| ack.rtt_s);
    rtts.fold(f64::INFINITY, f64::min)
}

/// The propagation delay of each way, in seconds: a trace of one end does not tell how the round
/// trip divides, so that both have half.
pub(super) fn each_way(base_s: f64, rate_bps: f64, packet_octets: f64) -> f64 {
    ((base_s - packet_octets * 8.0 / rate_bps) / 2.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1500 octets take 1.2 ms at 10 Mbit/s: of 41.2 ms 40 ms are propagation, 20 each way.
    #[test]
    fn the_delay_is_half_of_what_the_smallest_round_trip_leaves() {
        assert!((each_way(0.0412, 10e6, 1500.0) - 0.02).abs() < 1e-12);
        assert_eq!(each_way(0.001, 1e6, 1500.0), 0.0);
    }
}
