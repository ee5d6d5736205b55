//! BBR against values worked by hand from draft-ietf-ccwg-bbr.

use super::*;
use crate::cc::{RateSample, Rtt};
use crate::time::Duration;

pub(super) const MDS: u64 = 1000;
pub(super) const MS: fn(u64) -> Duration = Duration::from_millis;

pub(super) fn at(millis: u64) -> Instant {
    Instant::ZERO + MS(millis)
}

/// A flow over a path of 100 ms whose samples the test gives. Each acknowledgement is a round.
pub(super) struct Flow {
    pub(super) bbr: Bbr,
    /// The return value of `on_end_acks` for the last acknowledgement.
    pub(super) limits_samples: bool,
    now: u64,
    delivered: u64,
}

impl Flow {
    pub(super) fn new() -> Self {
        let config = WindowConfig {
            max_datagram_size: MDS,
            ..WindowConfig::default()
        };
        let mut bbr = Bbr::new(&config);
        bbr.on_sent(&Sent {
            bytes: MDS,
            bytes_in_flight: MDS,
            ..Sent::default()
        });
        Self {
            bbr,
            limits_samples: false,
            now: 0,
            delivered: 0,
        }
    }

    /// An acknowledgement at `now + after` that ends a round, with this rate in octets per second
    /// and `bytes_in_flight` after it.
    fn round(&mut self, after: u64, rate: f64, bytes_in_flight: u64) {
        self.ack(after, rate, bytes_in_flight, RateSample::default());
    }

    pub(super) fn ack(&mut self, after: u64, rate: f64, bytes_in_flight: u64, sample: RateSample) {
        self.now += after;
        let acked = 10 * MDS;
        let prior_delivered = self.delivered;
        self.delivered += acked;
        self.limits_samples = self.bbr.on_end_acks(&EndAcks {
            now: at(self.now),
            newly_acked: acked,
            acked_packets: 10,
            bytes_in_flight,
            newest_sent_at: at(self.now.saturating_sub(100)),
            rtt_sample: Some(MS(100)),
            rtt: Rtt {
                latest: MS(100),
                smoothed: MS(100),
                min: MS(100),
                ..Rtt::default()
            },
            rate: RateSample {
                delivered: acked,
                delivery_rate: Some(Rate::from_bytes_per_sec(rate)),
                prior_delivered,
                total_delivered: self.delivered,
                ..sample
            },
            ..EndAcks::default()
        });
    }

    /// A packet sent just now with `tx_in_flight` is lost, and `lost_since_sent` octets since then.
    fn lose_of(&mut self, tx_in_flight: u64, lost_since_sent: u64) {
        self.lose(Lost {
            sent_at: at(self.now),
            tx_in_flight,
            lost_since_sent,
            ..Lost::default()
        });
    }

    fn lose(&mut self, lost: Lost) {
        self.bbr.on_lost(&Lost {
            now: at(self.now),
            bytes: MDS,
            delivered: self.delivered,
            ..lost
        });
    }

    /// In ProbeBW_CRUISE at 1 MB/s, where the bandwidth-delay product is 100,000 octets.
    pub(super) fn cruising() -> Self {
        let mut flow = Self::new();
        for _ in 0..4 {
            flow.round(100, 1e6, 200_000);
        }
        assert_eq!(flow.bbr.report().state, "drain");
        flow.round(100, 1e6, 100_000);
        flow.round(1, 1e6, 100_000);
        assert_eq!(flow.bbr.report().state, "probe_bw_cruise");
        flow
    }

    fn probing() -> Self {
        let mut flow = Self::cruising();
        flow.now += 3000;
        flow.round(1, 1e6, 100_000);
        assert_eq!(flow.bbr.report().state, "probe_bw_refill");
        flow.round(100, 1e6, 100_000);
        assert_eq!(flow.bbr.report().state, "probe_bw_up");
        flow
    }

    fn pacing(&self) -> f64 {
        self.bbr.pacing_rate
    }
}

/// A flow whose path is known: 1 MB/s and 100 ms, a bandwidth-delay product of 100,000 octets.
pub(super) fn on_path() -> Bbr {
    let mut bbr = Flow::new().bbr;
    bbr.model.min_rtt = Some(MS(100));
    bbr.model.bw = 1e6;
    bbr.model.max_bw = 1e6;
    bbr
}

#[test]
fn the_gains_of_the_states_are_those_of_the_table() {
    // draft-bbr §5.6.1: pacing gain and cwnd gain of each state (STARTUP_PACING_GAIN and so on).
    let config = BbrConfig::default();
    for (state, pacing, cwnd) in [
        (State::Startup, 2.77, 2.0),
        (State::Drain, 0.5, 2.0),
        (State::Down, 0.9, 2.0),
        (State::Cruise, 1.0, 2.0),
        (State::Refill, 1.0, 2.0),
        (State::Up, 1.25, 2.25),
        (State::ProbeRtt, 1.0, 0.5),
    ] {
        assert_eq!(state.pacing_gain(&config), pacing, "{state:?}");
        assert_eq!(state.cwnd_gain(&config), cwnd, "{state:?}");
    }
}

#[test]
fn the_constants_are_those_of_the_draft() {
    // draft-bbr §2.8: LossThresh 2 %, Beta 0.7, Headroom 0.15, MinPipeCwnd 4 packets; §2.5: margin
    // 1 %; §2.11: two cycles; §2.12: ten rounds; §2.16: 10 s, 5 s and 200 ms; §5.3.1: 25 %, three
    // rounds, six ranges; §5.3.2: three rounds; §5.3.3.8.3: 2 to 3 s, 63 rounds.
    let config = BbrConfig::default();
    let shares = [
        config.loss_threshold,
        config.beta,
        config.headroom,
        config.pacing_margin,
        config.full_bw_growth,
    ];
    assert_eq!(shares, [0.02, 0.7, 0.15, 0.01, 1.25]);
    let counts = [
        config.min_pipe_packets,
        config.max_bw_filter_cycles,
        config.extra_acked_filter_rounds,
        u64::from(config.full_bw_rounds),
        u64::from(config.startup_full_loss_ranges),
        config.drain_rounds,
        config.reno_rounds,
    ];
    assert_eq!(counts, [4, 2, 10, 3, 6, 3, 63]);
    let times = [
        config.min_rtt_filter,
        config.probe_rtt_interval,
        config.probe_rtt_duration,
        config.probe_wait,
        config.probe_wait_spread,
    ];
    assert_eq!(times, [10_000, 5000, 200, 2000, 1000].map(MS));
}

#[test]
fn startup_ends_with_the_third_round_of_little_growth() {
    // draft-bbr §5.3.1.2: growth is at least a quarter.
    let mut flow = Flow::new();
    let states: Vec<&str> = [1e5, 2e5, 2.5e5, 3.1e5, 3.1e5, 3.1e5]
        .into_iter()
        .map(|rate| {
            flow.round(100, rate, 40_000);
            flow.bbr.report().state
        })
        .collect();
    // 3.1 / 2.5 = 1.24: the first of three.
    assert_eq!(states[4], "startup");
    assert_eq!(states[5], "drain");
    // §5.6.2: 0.5 · 0.99 · bw.
    assert!((flow.pacing() - 0.5 * 0.99 * 3.1e5).abs() < 1.0);
}

#[test]
fn rounds_that_the_application_limits_do_not_end_startup() {
    let mut flow = Flow::new();
    let limited = RateSample {
        app_limited: true,
        ..RateSample::default()
    };
    for _ in 0..20 {
        flow.ack(100, 1e5, 10_000, limited);
    }
    assert_eq!(flow.bbr.report().state, "startup");
}

#[test]
fn startup_ends_by_loss_with_six_ranges_of_more_than_two_percent() {
    // draft-bbr §5.3.1.3.
    for (ranges, lost, ends) in [(6, 2001, true), (5, 2001, false), (6, 2000, false)] {
        let mut flow = Flow::new();
        flow.round(100, 1e5, 50_000);
        for _ in 0..ranges {
            let sent_at = at(flow.now);
            flow.lose(Lost {
                sent_at: sent_at + MS(1),
                ..Lost::default()
            });
        }
        // The second loss of a range does not count as a range of its own.
        flow.lose(Lost {
            continues_range: true,
            ..Lost::default()
        });
        let sample = RateSample {
            lost,
            tx_in_flight: 100_000,
            app_limited: true,
            ..RateSample::default()
        };
        flow.ack(100, 2e5, 50_000, sample);
        let state = flow.bbr.report().state;
        assert_eq!(state == "drain", ends, "{ranges} {lost} {state}");
    }
}

#[test]
fn drain_ends_when_little_is_in_flight_or_after_three_rounds() {
    // draft-bbr §5.3.2: round_count > drain_start_round + 3.
    let mut flow = Flow::new();
    for _ in 0..4 {
        flow.round(100, 1e6, 200_000);
    }
    let states: Vec<&str> = (0..4)
        .map(|_| {
            flow.round(100, 1e6, 200_000);
            flow.bbr.report().state
        })
        .collect();
    assert_eq!(states, ["drain", "drain", "drain", "probe_bw_down"]);
}

#[test]
fn the_cycle_probes_with_its_gains_and_goes_down_at_a_plateau() {
    // draft-bbr §5.3.3 and §5.6.2; margins of 1 %.
    let mut flow = Flow::cruising();
    assert!((flow.pacing() - 0.99e6).abs() < 1.0);
    // §5.6.4.2: 2 · 100,000 and the octets acknowledged beyond expectation.
    flow.bbr.cwnd = 1_000_000;
    flow.round(1, 1e6, 100_000);
    assert_eq!(flow.bbr.window(), 200_000 + flow.bbr.model.extra_acked);
    let mut flow = Flow::probing();
    assert!((flow.pacing() - 1.25 * 0.99e6).abs() < 1.0);
    for _ in 0..3 {
        assert_eq!(flow.bbr.report().state, "probe_bw_up");
        flow.round(100, 1e6, 120_000);
    }
    assert_eq!(flow.bbr.report().state, "probe_bw_down");
    assert!((flow.pacing() - 0.9 * 0.99e6).abs() < 1.0);
}

#[test]
fn too_much_loss_in_a_probe_sets_the_long_term_bound_where_it_crossed_the_threshold() {
    // draft-bbr §5.5.10.2, InflightAtLoss: 120,000 in flight, 4000 lost with this packet:
    // 119,000 + (0.02 · 119,000 - 3000) / 0.98 = 118,367.
    let mut flow = Flow::probing();
    flow.lose_of(120_000, 4000);
    assert_eq!(flow.bbr.report().state, "probe_bw_down");
    assert_eq!(flow.bbr.model.inflight_longterm, 118_367);
    // §5.3.3.9: the headroom is 15 %.
    assert_eq!(flow.bbr.inflight_with_headroom(), 118_367 - 17_755);
    // A loss of at most 2 % changes nothing.
    let mut flow = Flow::probing();
    flow.lose_of(120_000, 2400);
    assert_eq!(flow.bbr.report().state, "probe_bw_up");
    assert_eq!(flow.bbr.model.inflight_longterm, u64::MAX);
}

#[test]
fn a_round_with_loss_lowers_the_short_term_bounds_by_at_most_beta() {
    // draft-bbr §5.5.10.3: max(bw_latest, 0.7 · bw).
    for (rate, expected) in [(0.9e6, 0.9e6), (0.1e6, 0.7e6)] {
        let mut flow = Flow::cruising();
        flow.bbr.model.reset_congestion_signals();
        flow.lose(Lost {
            sent_at: at(flow.now),
            ..Lost::default()
        });
        flow.round(100, rate, 100_000);
        assert!((flow.bbr.model.bw_shortterm - expected).abs() < 1.0);
        assert!((flow.bbr.model.bw - expected).abs() < 1.0);
    }
}

#[test]
fn spurious_losses_restore_the_bounds_and_the_probe() {
    // draft-bbr §5.5.11.2.
    let mut flow = Flow::probing();
    flow.lose_of(120_000, 4000);
    // A second loss does not overwrite what the first has saved.
    flow.lose(Lost {
        sent_at: at(flow.now),
        ..Lost::default()
    });
    flow.bbr.on_spurious_congestion_event(at(flow.now));
    assert_eq!(flow.bbr.report().state, "probe_bw_refill");
    assert_eq!(flow.bbr.model.inflight_longterm, u64::MAX);
}

#[test]
fn probe_rtt_comes_after_five_seconds_and_lasts_200_ms_and_a_round() {
    // draft-bbr §5.3.4.3: not before 5 s; 0.5 · 100,000; done after 200 ms.
    let mut flow = Flow::cruising();
    let since = flow.bbr.model.probe_rtt_min_stamp;
    flow.now = since.since(Instant::ZERO).as_micros() / 1000 + 5000;
    flow.round(0, 1e6, 100_000);
    assert_ne!(flow.bbr.report().state, "probe_rtt", "not more than 5 s");
    let before = flow.bbr.window();
    flow.round(1, 1e6, 100_000);
    assert_eq!(flow.bbr.report().state, "probe_rtt");
    assert_eq!(flow.bbr.window(), 50_000);
    assert!(flow.limits_samples);
    flow.round(10, 1e6, 50_000);
    flow.round(199, 1e6, 50_000);
    assert_eq!(flow.bbr.report().state, "probe_rtt");
    flow.round(2, 1e6, 50_000);
    assert_eq!(flow.bbr.report().state, "probe_bw_cruise");
    assert!(flow.bbr.window() >= before, "the window is restored");
}

#[test]
fn an_idle_time_stands_for_probe_rtt() {
    // draft-bbr §5.4.1.
    let mut flow = Flow::cruising();
    flow.now += 6000;
    flow.bbr.on_sent(&Sent {
        now: at(flow.now),
        bytes: MDS,
        bytes_in_flight: MDS,
        app_limited: true,
        ..Sent::default()
    });
    assert!((flow.pacing() - 0.99e6).abs() < 1.0);
    flow.round(100, 1e6, 0);
    assert_ne!(flow.bbr.report().state, "probe_rtt");
}

#[test]
fn the_quantum_is_a_millisecond_of_sending_within_bounds() {
    // draft-bbr §5.6.3 (QUANTUM_TIME, MAX_QUANTUM, MIN_QUANTUM_PACKETS): 1 ms at 10 MB/s is 10,000
    // octets; at most 64 KB, at least two packets.
    let mut bbr = Flow::new().bbr;
    for (rate, quantum) in [(1e7, 10_000), (1e9, 65_536), (1e5, 2000)] {
        bbr.pacing_rate = rate;
        bbr.set_send_quantum();
        assert_eq!(
            bbr.pacing().and_then(|pacing| pacing.quantum),
            Some(quantum)
        );
    }
}

#[test]
fn a_timeout_lets_one_packet_out_and_the_window_comes_back() {
    // draft-bbr §5.6.4.4.
    let mut flow = Flow::cruising();
    let before = flow.bbr.window();
    flow.bbr.on_retransmission_timeout(&RetransmissionTimeout {
        now: at(flow.now),
        ..RetransmissionTimeout::default()
    });
    assert_eq!(flow.bbr.window(), MDS);
    flow.round(150, 1e6, 100_000);
    assert!(flow.bbr.window() >= before.min(200_000));
}

#[test]
fn the_initial_pacing_rate_follows_from_the_initial_window() {
    // draft-bbr §5.6.2 (NOMINAL_RTT): 2.77 · 10,000 / 1 ms, then over the first sample.
    let mut flow = Flow::new();
    assert!((flow.pacing() - 2.77 * 1e7).abs() < 1.0);
    flow.bbr.init_pacing_rate(Rtt {
        smoothed: MS(100),
        ..Rtt::default()
    });
    assert!((flow.pacing() - 2.77 * 1e5).abs() < 1.0);
}
