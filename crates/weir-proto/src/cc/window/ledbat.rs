//! LEDBAT (RFC 6817): a sender that keeps the queue at 100 ms at the most and gives way to others.
//!
//! The window follows the distance of the queueing delay from its target: it grows by a packet in a
//! round-trip time while the queue is empty, and shrinks as fast at twice the target. There is no
//! slow start.
//!
//! Delays here are round-trip times, not the one-way delays of the RFC, so that the receiver needs
//! no support for LEDBAT: a queue on the return path counts too. While the application limits
//! sending, the window is kept instead of being clamped to a packet above the flight. The timeouts
//! of QUIC and TCP take the place of the RFC's CTO.

use super::classic::{Classic, RULES};
use super::{ControllerEntry, Policy, WindowConfig};
use crate::cc::Acked;
use crate::time::{Duration, Instant};

/// The registry's entry.
pub(super) const ENTRY: ControllerEntry = ControllerEntry {
    name: "ledbat",
    doc: "LEDBAT (RFC 6817) by round-trip times: gives way, with at most 100 ms of queue",
    rules: &[RULES],
    make: |config| {
        let config = WindowConfig {
            initial_window: Some(INIT_CWND * config.max_datagram_size),
            ..*config
        };
        Box::new(Classic::new(&config, Ledbat::new(&config)))
    },
};

/// INIT_CWND in packets (RFC 6817 §2.5).
const INIT_CWND: u64 = 2;
/// MIN_CWND in packets (RFC 6817 §2.5).
const MIN_CWND: u64 = 2;
/// TARGET (RFC 6817 §2.5).
const TARGET: Duration = Duration::from_millis(100);
/// GAIN (RFC 6817 §2.5).
const GAIN: f64 = 1.0;
/// ALLOWED_INCREASE in packets (RFC 6817 §2.5).
const ALLOWED_INCREASE: u64 = 1;
/// BASE_HISTORY in minutes (RFC 6817 §2.5).
const BASE_HISTORY: usize = 10;
/// CURRENT_FILTER: the current delay is the minimum of this many delays (RFC 6817 §2.5: at least
/// four).
const CURRENT_FILTER: usize = 4;
/// How long each minimum of the base delay is measured.
const MINUTE: Duration = Duration::from_secs(60);

/// LEDBAT's policy.
#[derive(Clone, Debug)]
pub struct Ledbat {
    packet: u64,
    /// The minimum delay of each of the last minutes, the current minute first; `None` is infinite.
    base_delays: [Option<Duration>; BASE_HISTORY],
    /// The minute of the first entry.
    minute: u64,
    /// The last delays.
    current_delays: [Option<Duration>; CURRENT_FILTER],
    /// When the current acknowledgement arrived, and the octets in flight before it.
    flight: (Instant, u64),
    /// Growth of less than an octet, kept for the next acknowledgement.
    fraction: f64,
}

impl Ledbat {
    /// The policy before the first acknowledgement.
    pub const fn new(config: &WindowConfig) -> Self {
        Self {
            packet: config.max_datagram_size,
            base_delays: [None; BASE_HISTORY],
            minute: 0,
            current_delays: [None; CURRENT_FILTER],
            flight: (Instant::ZERO, 0),
            fraction: 0.0,
        }
    }

    /// update_base_delay() and update_current_delay().
    fn update_delays(&mut self, now: Instant, delay: Duration) {
        let minute = now.as_nanos() / MINUTE.as_nanos();
        let passed = (minute - self.minute.min(minute)).min(BASE_HISTORY as u64) as usize;
        self.base_delays.rotate_right(passed);
        self.base_delays[..passed].fill(None);
        self.minute = minute;
        let least = self.base_delays[0].map_or(delay, |base| base.min(delay));
        self.base_delays[0] = Some(least);
        self.current_delays.rotate_right(1);
        self.current_delays[0] = Some(delay);
    }

    /// FILTER(current_delays) - MIN(base_delays).
    fn queueing_delay(&self) -> Duration {
        let least = |delays: &[Option<Duration>]| delays.iter().flatten().min().copied();
        let current = least(&self.current_delays);
        let base = least(&self.base_delays);
        current.zip(base).map_or(Duration::ZERO, |(current, base)| {
            current.saturating_sub(base)
        })
    }
}

impl Policy for Ledbat {
    const SLOW_START: bool = false;
    const NEAR_FLIGHT: bool = true;

    fn on_ack(&mut self, cwnd: u64, acked: &Acked) -> u64 {
        if self.flight.0 != acked.now {
            self.flight = (acked.now, acked.bytes_in_flight);
            self.update_delays(acked.now, acked.rtt.latest);
        }
        let target = TARGET.as_secs_f64();
        let off_target = (target - self.queueing_delay().as_secs_f64()) / target;
        let change = GAIN * off_target * acked.bytes as f64 * self.packet as f64 / cwnd as f64;
        let next = cwnd as f64 + self.fraction + change;
        // Zero if `next` is negative.
        let whole = next as u64;
        self.fraction = (next - whole as f64).max(0.0);
        let max_allowed = self.flight.1.saturating_add(ALLOWED_INCREASE * self.packet);
        whole.min(max_allowed).max(MIN_CWND * self.packet)
    }

    fn on_congestion_event(&mut self, _now: Instant, cwnd: u64) -> u64 {
        self.fraction = 0.0;
        cwnd.min((cwnd / 2).max(MIN_CWND * self.packet))
    }

    fn reset(&mut self) {
        self.fraction = 0.0;
    }

    fn set_max_datagram_size(&mut self, octets: u64) {
        self.packet = octets;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Rtt;

    const PACKET: u64 = 1000;

    /// A window of ten packets, acknowledged one by one over a second that ends at `at_s`.
    fn round(ledbat: &mut Ledbat, mut cwnd: u64, at_s: u64, rtt_ms: u64) -> u64 {
        for n in 0..10 {
            cwnd = ledbat.on_ack(
                cwnd,
                &Acked {
                    now: Instant::ZERO + Duration::from_millis(1000 * at_s + n),
                    bytes: PACKET,
                    bytes_in_flight: 10 * PACKET,
                    rtt: Rtt {
                        latest: Duration::from_millis(rtt_ms),
                        ..Rtt::default()
                    },
                    ..Acked::default()
                },
            );
        }
        cwnd
    }

    fn ledbat() -> Ledbat {
        Ledbat::new(&WindowConfig {
            max_datagram_size: PACKET,
            ..WindowConfig::default()
        })
    }

    #[test]
    fn the_window_follows_the_distance_from_the_target() {
        // RFC 6817 §2.4.2 and §2.5, TARGET 100 ms, GAIN 1: a window of acknowledgements changes it
        // by off_target packets; CURRENT_FILTER 4 holds the change back for three of ten.
        for (rtt, least, most) in [
            (50, 10_900, 11_000),
            (100, 10_550, 10_700),
            (150, 10_200, 10_350),
            (250, 9_450, 9_700),
        ] {
            let mut ledbat = ledbat();
            ledbat.update_delays(Instant::ZERO, Duration::from_millis(50));
            let cwnd = round(&mut ledbat, 10_000, 1, rtt);
            assert!((least..=most).contains(&cwnd), "{rtt} ms: {cwnd}");
        }
    }

    #[test]
    fn the_window_is_at_most_a_packet_above_the_flight_and_at_least_two() {
        // RFC 6817 §2.5: ALLOWED_INCREASE 1, MIN_CWND 2, INIT_CWND 2.
        let mut ledbat = ledbat();
        assert_eq!(round(&mut ledbat, 20_000, 1, 50), 11 * PACKET);
        assert_eq!(round(&mut ledbat, 2000, 2, 5000), MIN_CWND * PACKET);
        assert_eq!(ledbat.on_congestion_event(Instant::ZERO, 10_000), 5000);
        assert_eq!(ledbat.on_congestion_event(Instant::ZERO, 3000), 2000);
        let config = WindowConfig {
            max_datagram_size: PACKET,
            ..WindowConfig::default()
        };
        assert_eq!((ENTRY.make)(&config).window(), INIT_CWND * PACKET);
    }

    #[test]
    fn a_base_delay_is_forgotten_after_ten_minutes() {
        // RFC 6817 §2.5: BASE_HISTORY 10.
        for (minutes, queueing_ms) in [(9, 50), (10, 0)] {
            let mut ledbat = ledbat();
            ledbat.update_delays(Instant::ZERO, Duration::from_millis(50));
            let later = Instant::ZERO + Duration::from_secs(60 * minutes);
            for _ in 0..CURRENT_FILTER {
                ledbat.update_delays(later, Duration::from_millis(100));
            }
            let queueing = ledbat.queueing_delay();
            assert_eq!(queueing, Duration::from_millis(queueing_ms), "{minutes}");
        }
    }

    /// A packet of a window of 1500 octets is acknowledged, without a queue.
    fn grow(ledbat: &mut Ledbat, at_ms: u64) -> u64 {
        let acked = Acked {
            now: Instant::ZERO + Duration::from_millis(at_ms),
            bytes: PACKET,
            bytes_in_flight: 10 * PACKET,
            ..Acked::default()
        };
        ledbat.on_ack(1500, &acked)
    }

    #[test]
    fn growth_of_less_than_an_octet_waits_until_a_reduction_or_a_reset() {
        // RFC 6817 §2.4.2: GAIN · off_target · bytes_newly_acked · MSS / cwnd, with off_target 1:
        // 1000 · 1000 / 1500 = 666.67; twice the fraction is 1.33.
        let reduce = |ledbat: &mut Ledbat| {
            ledbat.on_congestion_event(Instant::ZERO, 10_000);
        };
        for forget in [reduce, Policy::reset] {
            let mut ledbat = ledbat();
            assert_eq!(grow(&mut ledbat, 1), 2166);
            assert!((ledbat.fraction - 2.0 / 3.0).abs() < 1e-9);
            assert_eq!(grow(&mut ledbat, 2), 2167);
            forget(&mut ledbat);
            assert_eq!(ledbat.fraction, 0.0);
            assert_eq!(grow(&mut ledbat, 3), 2166);
        }
        // 1000 · 1100 / 1500 = 733.33.
        let mut ledbat = ledbat();
        ledbat.set_max_datagram_size(1100);
        assert_eq!(grow(&mut ledbat, 1), 2233);
    }

    #[test]
    fn a_silence_of_any_length_forgets_the_base_delay() {
        for minutes in [10, 11, 1000] {
            let mut ledbat = ledbat();
            ledbat.update_delays(Instant::ZERO, Duration::from_millis(50));
            let later = Instant::ZERO + Duration::from_secs(60 * minutes);
            for _ in 0..CURRENT_FILTER {
                ledbat.update_delays(later, Duration::from_millis(100));
            }
            assert_eq!(ledbat.queueing_delay(), Duration::ZERO, "{minutes}");
        }
    }
}
