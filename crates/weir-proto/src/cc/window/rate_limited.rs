//! How a window grows while the sender does not use all of it, because the application writes less
//! or the receiver's window is smaller: "rate-limited".

use crate::cc::Acked;
use crate::keywords;
use crate::time::Instant;

keywords! {
    /// How the window grows while the application or the receiver limits sending.
    pub enum RateLimitedGrowth {
        /// Not at all (RFC 9002 §7.8, RFC 9438 §5.8).
        Hold = "hold",
        /// Up to what the largest flight since the last reduction could make of it: twice that in
        /// slow start (draft-ietf-ccwg-ratelimited-increase).
        Flight = "flight",
        /// For a round after the window was last used up; in slow start up to twice the largest
        /// flight of the round (Linux, `tcp_is_cwnd_limited`).
        Linux = "linux",
        /// As if the window were used (RFC 5681 has no rule).
        Unlimited = "unlimited",
    }
}

/// maxFS: the largest flight since the window was last reduced, in octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct LargestFlight(u64);

impl LargestFlight {
    /// At the start of a connection it is the initial window.
    pub(super) const fn new(initial_window: u64) -> Self {
        Self(initial_window)
    }

    /// The flight has this size now.
    pub(super) fn update(&mut self, bytes_in_flight: u64) {
        self.0 = self.0.max(bytes_in_flight);
    }

    /// The window was reduced.
    pub(super) fn reset(&mut self) {
        self.0 = 0;
    }

    /// The window was reduced while the flight had this size.
    pub(super) fn restart(&mut self, bytes_in_flight: u64) {
        self.reset();
        self.update(bytes_in_flight);
    }

    /// Its octets.
    pub(super) const fn octets(self) -> u64 {
        self.0
    }
}

/// How much of the window a round has used, as Linux keeps it (`tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUse {
    /// The window was used up: `is_cwnd_limited`.
    full: bool,
    /// The flight then, or the largest of the round, in octets: `max_packets_out`.
    flight: u64,
    /// The round ends when a packet that is sent from here on is acknowledged: `cwnd_usage_seq`.
    since: Instant,
}

impl WindowUse {
    /// A packet was acknowledged.
    pub(super) fn on_ack(&mut self, acked: &Acked) {
        let full = !acked.app_limited;
        let larger = !self.full && acked.bytes_in_flight > self.flight;
        if full || larger || acked.sent_at >= self.since {
            *self = Self {
                full,
                flight: acked.bytes_in_flight,
                since: acked.now,
            };
        }
    }

    /// True if a window of this size may grow.
    pub(super) const fn permits_growth(&self, cwnd: u64, in_slow_start: bool) -> bool {
        self.full || (in_slow_start && cwnd < self.flight.saturating_mul(2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::window::{BoxedController, ControllerRules, Rules, WindowConfig, named};
    use crate::cc::{Acked, CongestionEvent, ConnectionEvent, RetransmissionTimeout, Rtt, Sent};
    use crate::event::Limit;
    use crate::time::{Duration, Instant};

    const PACKET: u64 = 1000;

    /// A sender whose rounds are 100 ms, with an initial window of ten packets of 1000 octets.
    struct Sender {
        controller: BoxedController,
        round: u64,
    }

    fn config(growth: RateLimitedGrowth) -> WindowConfig {
        WindowConfig {
            max_datagram_size: PACKET,
            initial_window: Some(10 * PACKET),
            rules: Rules {
                controller: ControllerRules {
                    rate_limited_growth: growth,
                    ..ControllerRules::OFF
                },
                ..Rules::RFC9002
            },
            ..WindowConfig::default()
        }
    }

    impl Sender {
        fn new(name: &str, growth: RateLimitedGrowth) -> Self {
            Self::with(name, &config(growth))
        }

        fn with(name: &str, config: &WindowConfig) -> Self {
            Self {
                controller: named(name, config).expect("a controller"),
                round: 0,
            }
        }

        fn now(&self) -> Instant {
            Instant::ZERO + Duration::from_millis(100 * self.round)
        }

        /// Sends `packets` packets and delivers their acknowledgements; returns the window in
        /// packets.
        fn round(&mut self, packets: u64) -> u64 {
            let sent_at = self.now();
            let app_limited = packets * PACKET < self.controller.window();
            for n in 1..=packets {
                self.controller.on_sent(&Sent {
                    now: sent_at,
                    bytes: PACKET,
                    bytes_in_flight: n * PACKET,
                    ..Sent::default()
                });
            }
            self.round += 1;
            for left in (1..=packets).rev() {
                self.controller.on_ack(&Acked {
                    now: self.now(),
                    sent_at,
                    bytes: PACKET,
                    bytes_in_flight: left * PACKET,
                    app_limited,
                    ..Acked::default()
                });
            }
            self.controller.window() / PACKET
        }
    }

    #[test]
    fn the_largest_flight_begins_anew_with_each_reduction() {
        // draft-ietf-ccwg-ratelimited-increase §3: maxFS.
        let mut largest = LargestFlight::new(10);
        let mut after = |flight| {
            largest.update(flight);
            largest.octets()
        };
        assert_eq!([5, 20, 7].map(&mut after), [10, 20, 20]);
        largest.reset();
        assert_eq!(largest.octets(), 0);
        largest.update(3);
        assert_eq!(largest.octets(), 3);
    }

    #[test]
    fn the_flight_is_what_binds_only_where_it_takes_something_away() {
        // §3: twice the flight of ten is the window of twenty that slow start has reached.
        let mut sender = Sender::new("newreno", RateLimitedGrowth::Flight);
        assert_eq!(sender.round(10), 20);
        assert_eq!(sender.controller.report().limit, Limit::SlowStart);
        sender.round(4);
        assert_eq!(sender.controller.report().limit, Limit::ApplicationLimited);
    }

    #[test]
    fn linux_grows_for_a_round_after_the_window_was_full_and_to_twice_the_flight_in_slow_start() {
        let mut used = WindowUse::default();
        let mut after = |sent_ms, ms, flight, app_limited| {
            let at = |ms| Instant::ZERO + Duration::from_millis(ms);
            used.on_ack(&Acked {
                now: at(ms),
                sent_at: at(sent_ms),
                bytes_in_flight: flight,
                app_limited,
                ..Acked::default()
            });
            // In congestion avoidance, and in slow start at twice ten packets and below it.
            [(5, false), (20, true), (19, true)].map(|(cwnd, slow)| used.permits_growth(cwnd, slow))
        };
        assert_eq!(after(0, 100, 10, false), [true; 3]);
        assert_eq!(after(0, 150, 12, true), [true; 3], "the round goes on");
        assert_eq!(after(99, 199, 12, true), [true; 3]);
        assert_eq!(
            after(100, 200, 9, true),
            [false; 3],
            "the next one: 9 packets, twice 9"
        );
        assert_eq!(
            after(101, 201, 10, true),
            [false, false, true],
            "a larger flight counts"
        );
        assert_eq!(
            after(150, 250, 3, true),
            [false, false, true],
            "a smaller one does not"
        );
        assert_eq!(
            after(201, 301, 3, true),
            [false; 3],
            "until its round is over"
        );
    }

    #[test]
    fn a_window_of_linux_doubles_while_the_flight_is_more_than_half_of_it() {
        // Ten packets fill the initial window; then eleven are in flight of a window of twenty, of
        // which acknowledgements make twice eleven; then ten of twenty-two, less than half.
        let mut sender = Sender::new("newreno", RateLimitedGrowth::Linux);
        assert_eq!(
            [10, 11, 10].map(|packets| sender.round(packets)),
            [20, 22, 22]
        );
    }

    #[test]
    fn an_idle_time_that_reduces_nothing_keeps_the_largest_flight() {
        // §3: maxFS is reset when cwnd is reduced (RFC 5681 §4.1); RW = IW does not reduce it.
        for (rounds, window) in [(0, 14), (1, 8)] {
            let mut sender = Sender::new("newreno", RateLimitedGrowth::Flight);
            (0..rounds).for_each(|_| {
                sender.round(10);
            });
            sender
                .controller
                .on_connection_event(ConnectionEvent::IdleRestart);
            assert_eq!(sender.controller.window(), 10 * PACKET);
            assert_eq!(sender.round(4), window, "{rounds}");
        }
    }

    #[test]
    fn a_loss_of_the_handshake_makes_the_largest_flight_one_packet() {
        // §3: maxFS begins at initcwnd, which then is a packet (RFC 5681 §3.1): two of a flight of
        // one.
        let mut sender = Sender::new("newreno", RateLimitedGrowth::Flight);
        sender
            .controller
            .on_connection_event(ConnectionEvent::HandshakeLoss);
        assert_eq!([1, 1, 1].map(|packets| sender.round(packets)), [2, 2, 2]);
    }

    #[test]
    fn a_smaller_datagram_makes_the_first_largest_flight_smaller() {
        // §3: maxFS begins at initcwnd, ten datagrams (RFC 9002 §7.2): twice 6000 octets, or 20000.
        for (datagram, window) in [(600, 12), (1000, 20)] {
            let config = WindowConfig {
                initial_window: None,
                ..config(RateLimitedGrowth::Flight)
            };
            let mut sender = Sender::with("newreno", &config);
            sender.controller.set_max_datagram_size(datagram);
            let last = (0..10).map(|_| sender.round(2)).last();
            assert_eq!(last, Some(window), "{datagram}");
        }
    }

    #[test]
    fn the_reduction_at_the_end_of_slow_start_begins_a_new_largest_flight() {
        // SEARCH finds that a packet in each bin of 35 ms does not double, and takes five of 21.
        // §3: three packets are in flight then, and twice that is all that slow start may have. The
        // largest flight before was ten, which would leave 16.
        let mut config = config(RateLimitedGrowth::Flight);
        config.rules.controller.search = true;
        let mut controller = Sender::with("newreno", &config).controller;
        let windows = (0..20).map(|n| {
            controller.on_ack(&Acked {
                now: Instant::ZERO + Duration::from_millis(36 * n),
                bytes: PACKET,
                bytes_in_flight: 3 * PACKET,
                rtt: Rtt {
                    latest: Duration::from_millis(100),
                    ..Rtt::default()
                },
                ..Acked::default()
            });
            controller.window() / PACKET
        });
        let after: Vec<u64> = windows.skip_while(|window| *window != 20).collect();
        let end: Vec<_> = after.iter().filter(|window| **window != 20).collect();
        assert_eq!(end[..3], [&6, &6, &6], "{after:?}");
    }

    #[test]
    fn every_flight_counts_that_was_sent_or_acknowledged() {
        // §3: maxFS = max(FlightSize, maxFS) whenever FlightSize changes; 35 packets would make 45
        // of the first ten, of which a flight of 20 allows 40.
        for (sent, acknowledged) in [(20, 5), (5, 20)] {
            let mut controller = Sender::new("newreno", RateLimitedGrowth::Flight).controller;
            controller.on_sent(&Sent {
                bytes_in_flight: sent * PACKET,
                ..Sent::default()
            });
            controller.on_ack(&Acked {
                bytes: 35 * PACKET,
                bytes_in_flight: acknowledged * PACKET,
                ..Acked::default()
            });
            assert_eq!(controller.window(), 40 * PACKET, "{sent}");
        }
    }

    #[test]
    fn each_kind_of_reduction_begins_a_new_largest_flight() {
        // §3, "for any reason". The flight was 20. Persistent congestion leaves two packets (RFC
        // 9002 §7.6.2), and a timeout one (RFC 5681 §3.1), of which the flight allows the double.
        // A loss leaves 20 of 40. Then a flight of 12 allows 13 in congestion avoidance, and 13 are
        // below ssthresh, where it allows 24: each acknowledgement adds one, and at 20 the window
        // is 13 again. Twelve acknowledgements end at 16, 20 and 16.
        type Reduction = fn(&mut BoxedController, Instant);
        let loss: Reduction = |controller, now| {
            controller.on_congestion_event(&CongestionEvent {
                now,
                sent_at: now - Duration::from_millis(1),
                ..CongestionEvent::default()
            });
        };
        let persistent: Reduction = |controller, now| controller.on_persistent_congestion(now);
        let timeout: Reduction = |controller, now| {
            controller.on_retransmission_timeout(&RetransmissionTimeout {
                now,
                repeated: true,
                ..RetransmissionTimeout::default()
            });
        };
        for (reduction, flight, windows) in [
            (loss, 12, [16, 20, 16]),
            (persistent, 2, [4; 3]),
            (timeout, 1, [2; 3]),
        ] {
            let mut sender = Sender::new("newreno", RateLimitedGrowth::Flight);
            assert_eq!([10, 20].map(|packets| sender.round(packets)), [20, 40]);
            sender.round = 4;
            let now = sender.now();
            reduction(&mut sender.controller, now);
            sender.round = 5;
            assert_eq!([(); 3].map(|()| sender.round(flight)), windows);
        }
    }

    #[test]
    fn ten_packets_and_four_after_a_pause_make_24_or_20() {
        // draft-ietf-ccwg-ratelimited-increase §3.1: 24 segments unconstrained, 20 constrained;
        // RFC 9002 §7.8 holds after the ten that fill the window.
        for name in ["newreno", "cubic"] {
            for (growth, window) in [
                (RateLimitedGrowth::Unlimited, 24),
                (RateLimitedGrowth::Flight, 20),
                (RateLimitedGrowth::Hold, 20),
            ] {
                let mut sender = Sender::new(name, growth);
                assert_eq!(sender.round(10), 20, "{name} {growth:?}");
                assert_eq!(sender.round(4), window, "{name} {growth:?}");
            }
        }
    }

    #[test]
    fn the_example_in_octets() {
        // draft-ietf-ccwg-ratelimited-increase appendix A: cwnd after rounds of 4, 8, 4 and 20
        // packets of 1000 octets.
        let windows = |growth| {
            let mut sender = Sender::new("newreno", growth);
            [4, 8, 4, 20].map(|packets| sender.round(packets))
        };
        assert_eq!(windows(RateLimitedGrowth::Flight), [14, 20, 20, 40]);
        assert_eq!(windows(RateLimitedGrowth::Hold), [10, 10, 10, 30]);
    }

    #[test]
    fn congestion_avoidance_grows_by_what_one_flight_adds() {
        // §3: limit(maxFS) = SMSS + maxFS, and maxFS is reset by each reduction.
        let mut sender = Sender::new("newreno", RateLimitedGrowth::Flight);
        sender.round(10);
        sender.round(20);
        sender.round = 4;
        sender.controller.on_congestion_event(&CongestionEvent {
            now: sender.now(),
            sent_at: sender.now() - Duration::from_millis(1),
            ..CongestionEvent::default()
        });
        assert_eq!(sender.controller.window(), 20 * PACKET);
        sender.round = 5;
        assert_eq!(sender.round(20), 20);
        assert_eq!(sender.round(20), 21);
        assert_eq!(sender.round(12), 21, "maxFS is 20");
    }
}
