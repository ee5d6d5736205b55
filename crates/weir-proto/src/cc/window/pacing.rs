//! Pacing for controllers that compute a window only: packets are spread over the round-trip time
//! instead of leaving in bursts at each acknowledgement.

use crate::cc::PacingRate;
use crate::keywords;
use crate::time::Duration;

keywords! {
    /// How packets leave that the window lets out.
    pub enum Pacing {
        /// At once.
        Off = "off",
        /// As Linux's fq paces TCP: at twice the window over the smoothed round-trip time in slow
        /// start below half of its threshold, else at 1.2 times, in bursts of a millisecond.
        Linux = "linux",
        /// At 1.25 times the window over the smoothed round-trip time, in bursts of at most the
        /// initial window (RFC 9002 §7.7).
        Rfc9002 = "rfc9002",
    }
}

/// The values from which a pacing rate is computed.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The window, or the octets in flight if these are more.
    pub window: f64,
    /// The threshold of slow start, in octets.
    pub ssthresh: f64,
    /// The largest datagram, in octets.
    pub packet: f64,
    /// The smoothed round-trip time; zero before the first sample.
    pub rtt: Duration,
}

impl Pace {
    /// The rate of `gain` windows in a round-trip time; `None` before its first sample.
    pub(super) fn rate(&self, gain: f64) -> Option<f64> {
        (!self.rtt.is_zero()).then(|| gain * self.window / self.rtt.as_secs_f64())
    }
}

/// `sysctl net.ipv4.tcp_pacing_ss_ratio` over 100.
const LINUX_SLOW_START: f64 = 2.0;
/// `sysctl net.ipv4.tcp_pacing_ca_ratio` over 100.
const LINUX_AVOIDANCE: f64 = 1.2;
/// The longest burst: `sk_pacing_shift` is 10.
const LINUX_BURST_S: f64 = 1.0 / 1024.0;
/// N (RFC 9002 §7.7).
const RFC9002_GAIN: f64 = 1.25;

impl Pacing {
    /// The pacing; `None` if only the window limits sending.
    pub(super) fn pace(self, flow: &Pace, initial_window: u64) -> Option<PacingRate> {
        let (octets_per_s, burst) = match self {
            Self::Off => return None,
            Self::Linux => {
                let slow_start = flow.window < flow.ssthresh / 2.0;
                let gain = if slow_start {
                    LINUX_SLOW_START
                } else {
                    LINUX_AVOIDANCE
                };
                let rate = flow.rate(gain)?;
                (rate, (rate * LINUX_BURST_S).max(2.0 * flow.packet))
            }
            Self::Rfc9002 => (flow.rate(RFC9002_GAIN)?, initial_window as f64),
        };
        Some(PacingRate::of(octets_per_s, burst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    #[test]
    fn the_rates_are_multiples_of_the_window_in_a_round_trip() {
        // RFC 9002 §7.7, RFC9002_GAIN: 1.25 times 8 Mbit/s, which are 100 packets of 1000 octets in
        // 100 ms; Linux twice that or 1.2 times. A 1/1024 s of 16 Mbit/s are 1953 octets, less than
        // two packets.
        let infinite = f64::INFINITY;
        for (pacing, ssthresh, bps, burst) in [
            (Pacing::Linux, infinite, 16e6, 2000),
            (Pacing::Linux, 200_001.0, 16e6, 2000),
            (Pacing::Linux, 200_000.0, 9.6e6, 2000),
            (Pacing::Rfc9002, infinite, 10e6, 14_720),
        ] {
            let flow = Pace {
                window: 100_000.0,
                ssthresh,
                packet: 1000.0,
                rtt: Duration::from_millis(100),
            };
            let paced = pacing.pace(&flow, 14_720);
            let expected = PacingRate {
                rate: Rate::from_bps(bps),
                quantum: Some(burst),
            };
            assert_eq!(paced, Some(expected), "{pacing:?}");
            let unknown = Pace {
                rtt: Duration::ZERO,
                ..flow
            };
            assert_eq!(pacing.pace(&unknown, 14_720), None);
            assert_eq!(Pacing::Off.pace(&flow, 14_720), None);
        }
    }
}
