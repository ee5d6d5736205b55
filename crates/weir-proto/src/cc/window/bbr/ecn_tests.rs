//! The response to marks against values worked by hand from the constants of Linux's BBRv3, and its
//! preset.

use super::super::tests::{MDS, MS, at};
use super::super::{BbrConfig, WindowConfig};
use super::*;
use crate::cc::{EcnCapability, RateSample, Rtt, Sent, WindowController};
use crate::settings::Settings;
use crate::units::Rate;

fn linux() -> Box<BbrConfig> {
    let mut config = Box::<BbrConfig>::default();
    config.apply_preset("linux-v3");
    config.ecn_low = true;
    config
}

/// The rate at which a path of 2 ms holds a hundred packets.
const RATE: f64 = 5e7;

/// A flow whose rounds of 2 ms deliver ten packets.
struct Flow {
    bbr: Bbr,
    now: u64,
    delivered: u64,
    rtt: Duration,
}

impl Flow {
    fn new(config: &BbrConfig, rtt: Duration) -> Self {
        let mut window = WindowConfig {
            max_datagram_size: MDS,
            ..WindowConfig::default()
        };
        window.constants.bbr = *config;
        let mut bbr = Bbr::new(&window);
        bbr.on_sent(&Sent {
            bytes: MDS,
            bytes_in_flight: MDS,
            ..Sent::default()
        });
        Self {
            bbr,
            now: 0,
            delivered: 0,
            rtt,
        }
    }

    /// A round of ten packets of which `marked` are marked.
    fn round(&mut self, rate: f64, marked: u64) {
        self.now += 2;
        let prior_delivered = self.delivered;
        self.delivered += 10 * MDS;
        self.bbr.on_end_acks(&EndAcks {
            now: at(self.now),
            newly_acked: 10 * MDS,
            acked_packets: 10,
            ecn_ce: marked,
            bytes_in_flight: MDS,
            newest_sent_at: at(self.now - 2),
            rtt_sample: Some(self.rtt),
            rtt: Rtt {
                latest: self.rtt,
                smoothed: self.rtt,
                min: self.rtt,
                ..Rtt::default()
            },
            rate: RateSample {
                delivered: 10 * MDS,
                delivery_rate: Some(Rate::from_bytes_per_sec(rate)),
                prior_delivered,
                total_delivered: self.delivered,
                tx_in_flight: 20 * MDS,
                ..RateSample::default()
            },
            ..EndAcks::default()
        });
    }

    fn near(config: &BbrConfig) -> Self {
        Self::new(config, MS(2))
    }

    /// In ProbeBW_CRUISE.
    fn cruising(config: &BbrConfig) -> Self {
        let mut flow = Self::near(config);
        for _ in 0..8 {
            flow.round(RATE, 0);
        }
        assert_eq!(flow.bbr.state, State::Cruise);
        flow
    }
}

#[test]
fn the_preset_has_the_constants_of_linux() {
    // net/ipv4/tcp_bbr.c of the branch v3: gains 347/1000 (1000/2885) and 91/100, five round trips,
    // 100 ms; 1/16, 1/3, 1/2, 5000 µs, 2 rounds, 1/2.
    let linux = linux();
    assert_eq!(linux.preset, "linux-v3");
    assert_eq!(linux.drain_pacing_gain, 0.347);
    assert_eq!(linux.probe_down_pacing_gain, 0.91);
    assert_eq!(linux.extra_acked_filter_rounds, 5);
    assert_eq!(linux.extra_acked_limit, Some(MS(100)));
    assert_eq!(linux.drain_rounds, 1_000_000);
    assert_eq!(linux.ecn_alpha_gain, 0.0625);
    assert_eq!(linux.ecn_factor, 1.0 / 3.0);
    assert_eq!(linux.ecn_threshold, 0.5);
    assert_eq!(linux.ecn_max_rtt, Duration::from_micros(5000));
    assert_eq!(linux.full_ecn_rounds, 2);
    assert_eq!(linux.ecn_reprobe_gain, 0.5);
    // What the two have in common.
    let draft = BbrConfig::default();
    assert_eq!(linux.startup_pacing_gain, draft.startup_pacing_gain);
    assert_eq!(linux.loss_threshold, 0.02);
    assert_eq!((linux.beta, linux.headroom), (0.7, 0.15));
    assert_eq!((draft.drain_pacing_gain, draft.ecn_low), (0.5, false));
    assert_eq!(draft.extra_acked_limit, None);
}

#[test]
fn packets_claim_ecn_only_on_a_route_with_the_feature() {
    let ecn = |config: &BbrConfig| Flow::near(config).bbr.needs().ecn;
    assert_eq!(ecn(&linux()), Some(EcnCapability::Ect0));
    let without = BbrConfig {
        ecn_low: false,
        ..*linux()
    };
    assert_eq!(ecn(&without), Some(EcnCapability::NotEct));
    assert_eq!(ecn(&BbrConfig::default()), Some(EcnCapability::NotEct));
}

#[test]
fn alpha_follows_the_share_of_marks_round_by_round() {
    let mut flow = Flow::cruising(&linux());
    // Eight rounds without marks; the first one makes the path short enough, so that seven count:
    // (15/16)^7 = 0.6365.
    assert!((flow.bbr.marks.alpha - 0.636_5).abs() < 1e-4);
    flow.bbr.marks.alpha = 0.5;
    // 15/16·0.5 + 1/16·4/10 = 0.46875 + 0.025.
    flow.round(RATE, 4);
    assert!((flow.bbr.marks.alpha - 0.493_75).abs() < 1e-12);
    flow.bbr.marks.alpha = 0.0;
    // More marks than packets count as all.
    flow.round(RATE, 20);
    assert_eq!(flow.bbr.marks.alpha, 0.0625);
}

#[test]
fn marks_lower_the_bound_of_the_flight_and_not_the_bandwidth() {
    let mut flow = Flow::cruising(&linux());
    flow.bbr.marks.alpha = 0.96;
    let cwnd = flow.bbr.cwnd;
    flow.round(RATE, 10);
    // alpha is 15/16·0.96 + 1/16 = 0.9625 then, and 1 - 0.9625/3 of the window is left.
    let expected = (cwnd as f64 * (1.0 - 0.962_5 / 3.0)) as u64;
    let found = flow.bbr.model.inflight_shortterm;
    assert!(found.abs_diff(expected) <= 1, "{found} {expected}");
    assert!(flow.bbr.model.bw_shortterm.is_infinite());
    // A round without marks leaves it.
    let mut flow = Flow::cruising(&linux());
    flow.round(RATE, 0);
    assert_eq!(flow.bbr.model.inflight_shortterm, u64::MAX);
}

#[test]
fn a_path_of_more_than_five_milliseconds_ignores_marks() {
    for (micros, responds) in [(5000, true), (5001, false)] {
        let mut flow = Flow::new(&linux(), Duration::from_micros(micros));
        for _ in 0..3 {
            flow.round(RATE, 10);
        }
        assert_eq!(flow.bbr.marks.is_eligible, responds, "{micros}");
        assert_eq!(flow.bbr.full.reached, responds, "{micros}");
    }
}

#[test]
fn two_rounds_with_half_of_the_packets_marked_end_startup() {
    // The rate grows, so that only marks can end it. The packets of the first round, after which
    // the path is known to be short, count with those of the second: 10 of 20, and 5 of 10.
    for (marks, ends) in [([10, 5], true), ([10, 4], false), ([9, 5], false)] {
        let mut flow = Flow::near(&linux());
        flow.round(1e5, 0);
        for (marked, rate) in marks.into_iter().zip([1e6, 4e6]) {
            flow.round(rate, marked);
        }
        assert_eq!(flow.bbr.full.reached, ends, "{marks:?}");
        assert_eq!(flow.bbr.model.inflight_longterm < u64::MAX, ends);
    }
}

#[test]
fn a_probe_with_more_than_half_of_the_packets_marked_has_gone_too_far() {
    for (marked, too_far) in [(5, false), (6, true)] {
        let mut flow = Flow::cruising(&linux());
        flow.bbr.start_refill();
        flow.round(RATE, 0);
        assert_eq!(flow.bbr.state, State::Up);
        flow.round(2.0 * RATE, marked);
        // So little is in flight that the flow cruises at once.
        assert_eq!(flow.bbr.state == State::Cruise, too_far, "{marked}");
        assert_eq!(flow.bbr.cycle.prev_too_high, too_far);
        // 70 % of the bandwidth-delay product, which is more than was in flight.
        let longterm = if too_far { 70 * MDS } else { u64::MAX };
        assert_eq!(flow.bbr.model.inflight_longterm, longterm);
    }
}

#[test]
fn after_marks_without_losses_the_flow_probes_at_once() {
    let mut flow = Flow::cruising(&linux());
    flow.bbr.model.inflight_longterm = 40 * MDS;
    flow.round(RATE, 1);
    assert_eq!(flow.bbr.state, State::Cruise);
    flow.round(RATE, 0);
    assert_eq!(flow.bbr.state, State::Refill);
    // Half of 40 packets are 20, whose logarithm is 4.
    assert_eq!(flow.bbr.cycle.up_rounds(), 4);
    let mut flow = Flow::cruising(&BbrConfig {
        ecn_reprobe_gain: 0.0,
        ..*linux()
    });
    flow.round(RATE, 1);
    flow.round(RATE, 0);
    assert_eq!(flow.bbr.state, State::Cruise);
}

#[test]
fn what_aggregation_adds_is_at_most_a_tenth_of_a_second() {
    for (limit, added) in [(Some(MS(100)), 5_000_000), (None, 8_000_000)] {
        let mut flow = Flow::cruising(&BbrConfig {
            extra_acked_limit: limit,
            ..*linux()
        });
        flow.bbr.cwnd = 100_000_000;
        flow.bbr.model.extra_acked = 8_000_000;
        flow.bbr.set_cwnd(&EndAcks::default());
        // Twice the bandwidth-delay product of 100,000 octets, and what was added.
        assert_eq!(flow.bbr.cwnd, 200_000 + added, "{limit:?}");
    }
}
