//! The calls that a policy gets from the common part of classic controllers, tested with a policy
//! that needs all of them: Westwood+ (Mascolo and Grieco, "Performance evaluation and comparison of
//! Westwood+, New Reno, and Vegas TCP congestion control", CCR 2004), whose window after a loss is
//! its estimate of the bandwidth times the minimum round-trip time.

use super::*;
use crate::cc::Rtt;

const MDS: u64 = 1000;
const RTT: Duration = Duration::from_millis(100);

/// The bandwidth is measured once in a round-trip time and smoothed: 7/8 of the old estimate and
/// 1/8 of the sample.
#[derive(Clone, Debug, Default)]
struct Westwood {
    bytes_per_s: f64,
    least_rtt: Duration,
    counted: u64,
    began: Instant,
}

impl Policy for Westwood {
    fn on_delivered(&mut self, acked: &Acked) {
        self.counted += acked.bytes;
        self.least_rtt = acked.rtt.min;
        let passed = acked.now.since(self.began);
        if passed < acked.rtt.smoothed {
            return;
        }
        let sample = self.counted as f64 / passed.as_secs_f64();
        self.bytes_per_s = match self.bytes_per_s {
            0.0 => sample,
            before => 0.875 * before + 0.125 * sample,
        };
        (self.counted, self.began) = (0, acked.now);
    }

    fn on_ack(&mut self, cwnd: u64, acked: &Acked) -> u64 {
        cwnd + MDS * acked.bytes / cwnd
    }

    fn on_congestion_event(&mut self, _now: Instant, cwnd: u64) -> u64 {
        let product = self.bytes_per_s * self.least_rtt.as_secs_f64();
        (product as u64).min(cwnd)
    }

    fn set_max_datagram_size(&mut self, _octets: u64) {}
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn acked(now: u64, sent_at: u64, app_limited: bool) -> Acked {
    Acked {
        now: at(now),
        sent_at: at(sent_at),
        bytes: MDS,
        bytes_in_flight: 20 * MDS,
        rtt: Rtt {
            latest: RTT,
            smoothed: RTT,
            variation: Duration::ZERO,
            min: Duration::from_millis(80),
        },
        app_limited,
    }
}

/// The window after a loss at 100 ms, after `packets` packets were acknowledged in these states.
fn window_after_a_loss(packets: u64, app_limited: bool) -> u64 {
    let config = WindowConfig {
        max_datagram_size: MDS,
        initial_window: Some(30 * MDS),
        ..WindowConfig::default()
    };
    let mut window = Classic::new(&config, Westwood::default());
    for n in 1..=packets {
        window.on_ack(&acked(n * 100 / packets, 0, app_limited));
    }
    let loss = CongestionEvent {
        now: at(100),
        sent_at: at(50),
        ..CongestionEvent::default()
    };
    assert!(window.on_congestion_event(&loss));
    window.window()
}

#[test]
fn a_policy_is_called_in_slow_start_and_while_the_application_limits() {
    // 20 packets of 1000 octets in 100 ms are 200,000 octets a second; in the minimum round-trip
    // time of 80 ms these are 16,000.
    assert_eq!(window_after_a_loss(20, false), 16_000);
    assert_eq!(window_after_a_loss(20, true), 16_000);
    assert_eq!(window_after_a_loss(10, false), 8000);
}

#[test]
fn a_policy_is_called_in_recovery() {
    let config = WindowConfig {
        max_datagram_size: MDS,
        initial_window: Some(30 * MDS),
        ..WindowConfig::default()
    };
    let mut window = Classic::new(&config, Westwood::default());
    let loss = |now, sent_at| CongestionEvent {
        now: at(now),
        sent_at: at(sent_at),
        ..CongestionEvent::default()
    };
    // No bandwidth has been measured yet: the window is two packets. All later acknowledgements are
    // for packets that were sent before the loss.
    window.on_congestion_event(&loss(0, 0));
    assert_eq!(window.window(), 2 * MDS);
    for n in 1..=10 {
        window.on_ack(&acked(10 * n, 0, false));
    }
    assert_eq!(
        (window.report().state, window.window()),
        ("recovery", 2 * MDS)
    );
    let measured = window.policy.bytes_per_s;
    assert!((measured - 100_000.0).abs() < 1e-6, "{measured}");
}

#[test]
fn search_counts_what_arrives_while_the_application_limits() {
    // A packet in each bin of 35 ms: the thirteenth is the first that has a window of ten bins and
    // 100 ms before it. By then 14 packets have been added to 30, and the last five were too much.
    // With octets that double in each bin slow start goes on, although the window does not grow by
    // them.
    for (arrives_more, ssthresh) in [(false, Some(39 * MDS)), (true, None)] {
        let mut config = WindowConfig {
            max_datagram_size: MDS,
            initial_window: Some(30 * MDS),
            ..WindowConfig::default()
        };
        config.rules.controller.search = true;
        let mut window = Classic::new(&config, Westwood::default());
        for n in 0..20 {
            if arrives_more {
                window.on_ack(&Acked {
                    bytes: MDS << n,
                    ..acked(36 * n, 0, true)
                });
            }
            window.on_ack(&acked(36 * n, 0, false));
        }
        assert_eq!(window.report().ssthresh, ssthresh, "{arrives_more}");
    }
}

#[test]
fn a_conservative_slow_start_ends_at_its_window() {
    // RFC 9406 §4.2: ssthresh = cwnd after CSS_ROUNDS = 5 rounds; 90 ms after 80 begins it.
    let mut config = WindowConfig {
        max_datagram_size: MDS,
        ..WindowConfig::default()
    };
    config.rules.controller.hystart_plus_plus = true;
    let mut controller = Classic::new(&config, Westwood::default());
    let ends = (0..90).find(|number| {
        let now = 100 * (number / 9 + 1) + number % 9;
        let mut acked = acked(now, now - 100, false);
        acked.rtt.latest = Duration::from_millis(if now < 200 { 80 } else { 90 });
        controller.on_ack(&acked);
        controller.report().ssthresh.is_some()
    });
    assert_eq!(ends, Some(9 * 6), "the first acknowledgement of round 7");
    assert_eq!(controller.report().ssthresh, Some(controller.window()));
    assert_eq!(controller.report().state, "congestion_avoidance");
}
