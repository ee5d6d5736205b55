//! BBRv1 against values worked by hand from the rules and constants of Linux's `tcp_bbr.c`.

use super::*;
use crate::cc::RateSample;

const MSS: u64 = 1000;
const MS: fn(u64) -> Duration = Duration::from_millis;

fn at(millis: u64) -> Instant {
    Instant::ZERO + MS(millis)
}

/// A flow over a path of 100 ms. Each acknowledgement of ten packets is a round.
struct Flow {
    bbr: Bbr1,
    now: u64,
    delivered: u64,
    /// Octets lost with the next acknowledgement.
    losing: u64,
}

impl Flow {
    fn new() -> Self {
        let config = WindowConfig {
            max_datagram_size: MSS,
            ..WindowConfig::default()
        };
        let mut bbr = Bbr1::new(&config);
        bbr.on_sent(&Sent {
            bytes: MSS,
            bytes_in_flight: MSS,
            ..Sent::default()
        });
        Self {
            bbr,
            now: 0,
            delivered: 0,
            losing: 0,
        }
    }

    /// In ProbeBW, in a phase of gain 1, at 1 MB/s.
    fn cruising() -> Self {
        let mut flow = Self::new();
        for _ in 0..4 {
            flow.round(100, 1e6, 120_000);
        }
        flow.round(100, 1e6, 50_000);
        assert_eq!(flow.bbr.mode, Mode::ProbeBw);
        flow.bbr.phase = 3;
        flow
    }

    /// An acknowledgement `after` ms, with a sample of this rate in octets per second.
    fn round(&mut self, after: u64, rate: f64, in_flight: u64) -> bool {
        self.ack(after, rate, in_flight, MS(100))
    }

    fn ack(&mut self, after: u64, rate: f64, in_flight: u64, rtt: Duration) -> bool {
        self.now += after;
        let acked = 10 * MSS;
        let prior_delivered = self.delivered;
        self.delivered += acked;
        self.bbr.on_end_acks(&EndAcks {
            now: at(self.now),
            newly_acked: acked,
            acked_packets: 10,
            newly_lost: std::mem::take(&mut self.losing),
            bytes_in_flight: in_flight,
            newest_sent_at: at(self.now.saturating_sub(100)),
            rtt_sample: Some(rtt),
            rtt: Rtt {
                latest: rtt,
                smoothed: rtt,
                min: rtt,
                ..Rtt::default()
            },
            rate: RateSample {
                delivered: acked,
                delivery_rate: Some(Rate::from_bytes_per_sec(rate)),
                prior_delivered,
                total_delivered: self.delivered,
                ..RateSample::default()
            },
            ..EndAcks::default()
        })
    }
}

/// bbr_high_gain is 2885/1000 + 1 in parts of 256, bbr_drain_gain 1000/2885.
#[test]
fn startup_drains_after_three_rounds_without_a_quarter_more() {
    let mut flow = Flow::new();
    flow.round(100, 5e5, 100_000);
    flow.round(100, 1e6, 100_000);
    let pacing = 739.0 / 256.0 * 1e6 * 0.99;
    assert!((flow.bbr.pacing_rate - pacing).abs() < 1.0);
    // 1.249 times is no growth, and 1.25 times is.
    flow.round(100, 1.249e6, 200_000);
    assert_eq!((flow.bbr.full_bw_count, flow.bbr.full_bw), (1, 1e6));
    flow.round(100, 1.25e6, 200_000);
    assert_eq!((flow.bbr.full_bw_count, flow.bbr.full_bw), (0, 1.25e6));
    for count in 1..=3 {
        assert_eq!(flow.bbr.report().state, "startup", "{count}");
        flow.round(100, 1.25e6, 300_000);
    }
    assert_eq!(flow.bbr.report().state, "drain");
    let pacing = 88.0 / 256.0 * 1.25e6 * 0.99;
    assert!((flow.bbr.pacing_rate - pacing).abs() < 1.0);
    // The BDP of 125 packets and three bursts: 1.25 MB/s · 739/256 · 0.99 / 1024 is three packets
    // and a half when the threshold is set: 125 + 9 is even.
    assert_eq!(flow.bbr.ssthresh, Some(134_000));
    flow.round(100, 1.25e6, 135_000);
    assert_eq!(flow.bbr.report().state, "drain");
    flow.round(100, 1.25e6, 100_000);
    assert_eq!(flow.bbr.report().state, "probe_bw");
}

/// bbr_pacing_gain: 5/4, 3/4, then six times 1; bbr_cwnd_gain 2.
#[test]
fn a_cycle_has_eight_phases_of_a_round_trip_each() {
    let mut flow = Flow::cruising();
    flow.bbr.phase = 7;
    let mut gains = Vec::new();
    for _ in 0..9 {
        // The probe needs 1.25 BDP and its room in flight to end.
        flow.round(101, 1e6, 140_000);
        gains.push(flow.bbr.gains().0);
        assert_eq!(flow.bbr.gains().1, 2.0);
    }
    assert_eq!(gains, [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25]);
    // It does not end without them, unless packets are lost.
    flow.bbr.bytes_in_flight = 100_000;
    flow.round(101, 1e6, 100_000);
    flow.round(101, 1e6, 100_000);
    assert_eq!(flow.bbr.phase, 0);
    flow.losing = MSS;
    flow.round(101, 1e6, 100_000);
    assert_eq!(flow.bbr.phase, 1);
    // The phase that drains ends at a BDP with room before its time.
    flow.bbr.bytes_in_flight = 100_000;
    flow.round(1, 1e6, 90_000);
    assert_eq!(flow.bbr.phase, 2);
}

/// ProbeBW begins in any phase but that which drains.
#[test]
fn probe_bw_begins_in_seven_phases() {
    let mut flow = Flow::cruising();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..200 {
        flow.bbr.enter_probe_bw(at(1));
        seen.insert(flow.bbr.phase);
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [0, 2, 3, 4, 5, 6, 7]);
}

/// bbr_set_cwnd: 2 · BDP = 200 packets, three bursts of two packets (0.99 MB/s / 1024 is less than
/// a packet), an even number.
#[test]
fn the_window_is_twice_the_bdp_and_three_bursts() {
    let mut flow = Flow::cruising();
    for _ in 0..20 {
        flow.bbr.aggregation = Aggregation::default();
        flow.bbr.config.extra_acked_gain = 0.0;
        flow.bbr.phase = 3;
        flow.round(1, 1e6, 100_000);
    }
    assert_eq!(flow.bbr.window(), 206_000);
    assert_eq!(flow.bbr.report().limit, Limit::MaxInflight);
    // Two more packets while it probes.
    flow.bbr.phase = 0;
    assert_eq!(flow.bbr.inflight(1e6, 2.0), 208_000);
    // Below 1.2 Mbit/s a burst is one packet.
    flow.bbr.pacing_rate = 149_999.0;
    assert_eq!(flow.bbr.burst(), MSS);
    flow.bbr.pacing_rate = 150_000.0;
    assert_eq!(flow.bbr.burst(), 2 * MSS);
}

/// The largest sample counts for ten rounds.
#[test]
fn the_bandwidth_is_the_maximum_of_ten_rounds() {
    let mut flow = Flow::cruising();
    flow.round(100, 2e6, 100_000);
    for _ in 0..10 {
        flow.round(100, 1e6, 100_000);
        assert_eq!(flow.bbr.bw(), 2e6);
    }
    flow.round(100, 1e6, 100_000);
    assert_eq!(flow.bbr.bw(), 1e6);
}

/// bbr_min_rtt_win_sec, bbr_probe_rtt_mode_ms, bbr_cwnd_min_target.
#[test]
fn after_ten_seconds_without_a_smaller_sample_the_flight_is_four_packets_for_200_ms() {
    let mut flow = Flow::cruising();
    flow.bbr.min_rtt_stamp = at(flow.now);
    assert!(!flow.round(10_000, 1e6, 100_000));
    let before = flow.bbr.window();
    assert!(
        flow.ack(1, 1e6, 100_000, MS(130)),
        "its samples do not count"
    );
    assert_eq!(flow.bbr.report().state, "probe_rtt");
    assert_eq!(flow.bbr.window(), 4 * MSS);
    assert_eq!(
        flow.bbr.min_rtt,
        Some(MS(130)),
        "the old minimum is too old"
    );
    // 200 ms count from when four packets are in flight, and a round must end.
    flow.ack(100, 1e6, 4 * MSS, MS(110));
    assert_eq!(flow.bbr.min_rtt, Some(MS(110)));
    flow.round(200, 1e6, 4 * MSS);
    assert_eq!(flow.bbr.report().state, "probe_rtt");
    flow.round(1, 1e6, 4 * MSS);
    assert_eq!(flow.bbr.report().state, "probe_bw");
    assert!(flow.bbr.window() >= before);
}

/// bbr_extra_acked: octets beyond the bandwidth, at most 100 ms of it.
#[test]
fn the_window_has_room_for_aggregated_acknowledgements() {
    let mut flow = Flow::cruising();
    flow.bbr.aggregation = Aggregation {
        epoch_start: at(flow.now),
        ..Aggregation::default()
    };
    // 10 ms at 1 MB/s are 10,000 octets; 20,000 more arrive.
    flow.round(0, 1e6, 100_000);
    flow.round(0, 1e6, 100_000);
    flow.round(10, 1e6, 100_000);
    assert_eq!(flow.bbr.room_for_aggregation(), 20_000);
    flow.bbr.aggregation.most = [150_000, 0];
    assert_eq!(flow.bbr.room_for_aggregation(), 100_000);
}

#[test]
fn a_loss_is_answered_with_conservation_for_a_round_and_no_smaller_model() {
    let mut flow = Flow::cruising();
    for _ in 0..20 {
        flow.round(1, 1e6, 150_000);
    }
    let before = flow.bbr.window();
    let event = CongestionEvent {
        now: at(flow.now),
        sent_at: at(flow.now),
        lost_bytes: 5 * MSS,
        bytes_in_flight: 140_000,
        ..CongestionEvent::default()
    };
    assert!(flow.bbr.on_congestion_event(&event));
    assert!(!flow.bbr.on_congestion_event(&event), "the same period");
    assert_eq!(flow.bbr.window(), 140_000);
    assert_eq!(flow.bbr.bw(), 1e6);
    // Of packets sent before the loss: what arrives, leaves.
    flow.losing = 5 * MSS;
    flow.bbr.rounds.start(u64::MAX);
    flow.round(50, 1e6, 130_000);
    assert_eq!(flow.bbr.window(), 140_000);
    assert_eq!(flow.bbr.report().limit, Limit::Recovery);
    // A packet sent after it ends the recovery.
    flow.round(60, 1e6, 130_000);
    assert!(flow.bbr.window() >= before);
}

#[test]
fn a_timeout_leaves_one_packet_and_the_model() {
    let mut flow = Flow::cruising();
    flow.bbr.on_retransmission_timeout(&RetransmissionTimeout {
        now: at(flow.now),
        ..RetransmissionTimeout::default()
    });
    assert_eq!(flow.bbr.window(), MSS);
    assert_eq!((flow.bbr.bw(), flow.bbr.full_bw), (1e6, 0.0));
    let before = flow.bbr.prior_cwnd;
    flow.bbr.on_spurious_congestion_event(at(flow.now));
    assert_eq!(flow.bbr.window(), before);
}

/// Two intervals of four rounds with a fifth of the packets lost, whose rates differ by less than
/// an eighth: the mean is the rate of the policer, for 48 rounds.
#[test]
fn a_policer_is_found_in_two_intervals_and_forgotten_after_48_rounds() {
    for (second, found) in [(112, true), (150, false)] {
        let mut flow = Flow::cruising();
        flow.losing = MSS;
        flow.round(100, 1e6, 100_000);
        for millis in [100, second] {
            for _ in 0..3 {
                flow.losing = 2 * MSS;
                flow.round(millis, 1e6, 100_000);
            }
            flow.losing = 3 * MSS;
            flow.round(millis, 1e6, 100_000);
        }
        // The round of the first loss is the first of four, so that each interval ends a round
        // before the loop does: 30,000 octets in 300 ms, then 40,000 in 100 ms and three times
        // 112 ms.
        let mean = f64::midpoint(100_000.0, 40_000.0 / 0.436);
        let rate = flow.bbr.policer.rate();
        assert_eq!(rate.is_some(), found, "{rate:?}");
        if !found {
            continue;
        }
        assert!((flow.bbr.bw() - mean).abs() < 1.0, "{rate:?}");
        assert_eq!(flow.bbr.gains().0, 1.0);
        for _ in 0..46 {
            flow.round(100, 1e6, 100_000);
        }
        assert!(flow.bbr.policer.rate().is_some());
        flow.round(100, 1e6, 100_000);
        assert_eq!(flow.bbr.policer.rate(), None);
    }
}
