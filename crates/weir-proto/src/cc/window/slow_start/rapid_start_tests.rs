//! Values worked by hand from the draft's text, and the controllers with Rapid Start.

use super::*;
use crate::cc::window::{BoxedController, RateLimitedGrowth, Rules, WindowConfig, named};
use crate::cc::{
    CongestionEvent, ConnectionEvent, EndAcks, Lost, RetransmissionTimeout, Rtt, Sent,
};
use crate::event::Limit;
use crate::time::Instant;
use crate::units::Rate;
use proptest::prelude::*;

const MDS: u64 = 1000;
const MS: fn(u64) -> Duration = Duration::from_millis;
const MICROS: fn(u64) -> Duration = Duration::from_micros;

fn at(millis: u64) -> Instant {
    Instant::ZERO + MS(millis)
}

/// A packet that was sent and acknowledged at these times in milliseconds, on a path of 100 ms.
fn acked(now: u64, sent_at: u64, latest: Duration) -> Acked {
    Acked {
        now: at(now),
        sent_at: at(sent_at),
        bytes: MDS,
        bytes_in_flight: 20 * MDS,
        rtt: Rtt {
            latest,
            smoothed: MS(100),
            variation: Duration::ZERO,
            min: MS(100),
        },
        app_limited: false,
    }
}

#[test]
fn an_octet_adds_two_up_to_the_lesser_of_four_milliseconds_and_a_tenth() {
    // §3.2: min(100 + 4, 110), min(20 + 4, 22) and, where both are the same, 44 ms.
    for (min, latest, octets) in [
        (MS(100), MICROS(104_000), 2 * MDS),
        (MS(100), MICROS(104_001), MDS),
        (MS(20), MICROS(22_000), 2 * MDS),
        (MS(20), MICROS(22_001), MDS),
        (MS(40), MICROS(44_000), 2 * MDS),
        (MS(40), MICROS(44_001), MDS),
    ] {
        let mut acked = acked(100, 0, latest);
        acked.rtt.min = min;
        assert_eq!(
            RapidStart::default().on_ack(&acked),
            octets,
            "{min:?} {latest:?}"
        );
    }
}

#[test]
fn the_least_sample_of_a_minimum_round_trip_counts() {
    // §3.2: a window of min_rtt, 100 ms; 120 ms is more than 104, 100 ms is not.
    let mut rapid = RapidStart::default();
    let mut octets = |now, latest| rapid.on_ack(&acked(now, 0, MS(latest)));
    assert_eq!(octets(1000, 100), 2 * MDS);
    assert_eq!(octets(1050, 120), 2 * MDS);
    assert_eq!(octets(1100, 120), 2 * MDS);
    assert_eq!(octets(1101, 120), MDS);
    assert_eq!(
        octets(1102, 104),
        2 * MDS,
        "growth rises again with the queue gone"
    );
}

/// The recovery at a window of `before` octets of which `reduced` would be left, without an initial
/// window.
fn recovery(before: u64, reduced: u64) -> RapidStart {
    let rapid = RapidStart::default().on_reduction((before, reduced), 0);
    rapid.expect("the first")
}

#[test]
fn the_factors_are_those_that_the_draft_lists() {
    // §3.3.1: silence 5/6, 9/10 and 14/15 of 30,000; 1/3, 1/5 and 2/15 of 3000 acknowledged octets;
    // 5/6, 9/10 and 14/15 of 9000 lost ones.
    for (reduced, entered, after_acks, after_losses) in [
        (15_000, 25_000, 24_000, 16_500),
        (21_000, 27_000, 26_400, 18_300),
        (24_000, 28_000, 27_600, 19_200),
    ] {
        let mut rapid = recovery(30_000, reduced);
        assert_eq!(rapid.window(), Some(entered));
        rapid.on_end_acks(3000);
        assert_eq!(rapid.window(), Some(after_acks));
        rapid.on_lost(9000, true);
        assert_eq!(rapid.window(), Some(after_losses));
    }
}

#[test]
fn beta_of_what_was_delivered_is_left_whatever_was_lost() {
    // Appendix A: before = acknowledged + lost, and the acknowledged are path and queue, 10,000.
    for percent in [50, 70, 80, 100] {
        for before in [10_000, 15_000, 20_000, 30_000] {
            let mut rapid = recovery(before, before * percent / 100);
            rapid.on_lost(before - 10_000, true);
            rapid.on_end_acks(10_000);
            let left = 100 * percent;
            assert_eq!(rapid.window(), Some(left), "{percent} {before}");
            assert_eq!(rapid.full_bdp(left), Some(10_000.0));
        }
    }
}

#[test]
fn sending_goes_on_once_a_share_of_one_less_beta_has_arrived() {
    // Appendix A: two of three octets are lost, so that the window is 3(1 - x) BDP at x = 1 - beta.
    for percent in [50, 70, 80] {
        let mut rapid = recovery(30_000, 300 * percent);
        let arrived = 100 * (100 - percent);
        rapid.on_end_acks(arrived);
        rapid.on_lost(2 * arrived, true);
        assert_eq!(rapid.window(), Some(30_000 - 3 * arrived), "{percent}");
    }
}

#[test]
fn a_third_of_beta_or_beta_initial_windows_are_left() {
    // §3.3: 30,000 · 0.7 / 3, or 0.7 · 12,000; the window never rises.
    for (initial, left) in [(0, 7000), (10_000, 7000), (12_000, 8400), (90_000, 27_000)] {
        let rapid = RapidStart::default().on_reduction((30_000, 21_000), initial);
        let mut rapid = rapid.expect("the first");
        rapid.on_lost(30_000, true);
        assert_eq!(rapid.window(), Some(left), "{initial}");
    }
}

#[test]
fn paces_the_initial_window_over_a_round_trip_and_then_as_it_grows() {
    // §3.1.1: 100,000 octets in 100 ms are 8 Mbit/s; later three or two of them, as in quicly.
    let flow = Pace {
        window: 100_000.0,
        ssthresh: f64::INFINITY,
        packet: MDS as f64,
        rtt: MS(100),
    };
    let paced = |bps| {
        Some(PacingRate {
            rate: Rate::from_bps(bps),
            quantum: Some(MDS),
        })
    };
    let mut rapid = RapidStart::default();
    assert_eq!(rapid.pacing(&flow), paced(8e6));
    rapid.on_ack(&acked(100, 0, MS(100)));
    assert_eq!((rapid.pacing(&flow), rapid.multiple()), (paced(24e6), 3));
    rapid.on_ack(&acked(300, 0, MS(200)));
    assert_eq!((rapid.pacing(&flow), rapid.multiple()), (paced(16e6), 2));
    assert_eq!(recovery(30_000, 15_000).pacing(&flow), None);
}

/// A controller with Rapid Start and an initial window of ten packets of 1000 octets.
fn controller(name: &str) -> BoxedController {
    let mut config = WindowConfig {
        max_datagram_size: MDS,
        initial_window: Some(10 * MDS),
        rules: Rules::RFC9002,
        ..WindowConfig::default()
    };
    config.rules.controller.rapid_start = true;
    config.rules.controller.undo_spurious = true;
    named(name, &config).expect("a controller")
}

/// The controller at 30 packets, of which 10 have been acknowledged at 100 ms.
fn grown(name: &str) -> BoxedController {
    let mut controller = controller(name);
    for _ in 0..10 {
        controller.on_ack(&acked(100, 0, MS(100)));
    }
    assert_eq!(controller.window(), 30 * MDS);
    controller
}

/// Packets that were sent at 100 ms are lost at this time.
fn lose(controller: &mut BoxedController, now: u64, packets: u64, ecn: bool) -> bool {
    for _ in 0..packets {
        controller.on_lost(&Lost {
            now: at(now),
            sent_at: at(100),
            bytes: MDS,
            ..Lost::default()
        });
    }
    controller.on_congestion_event(&CongestionEvent {
        now: at(now),
        sent_at: at(100),
        lost_bytes: packets * MDS,
        ecn,
        ..CongestionEvent::default()
    })
}

fn end_acks(controller: &mut BoxedController, now: u64, sent_at: u64, packets: u64) {
    controller.on_end_acks(&EndAcks {
        now: at(now),
        newly_acked: packets * MDS,
        newest_sent_at: at(sent_at),
        ..EndAcks::default()
    });
}

#[test]
fn the_first_recovery_falls_by_what_is_acknowledged_and_lost() {
    // Of 30 packets two are lost at once: 27 - 1.8; then ten are lost in a second event of the same
    // period and ten acknowledged: - 9 - 2.
    let mut cubic = grown("cubic");
    assert!(cubic.needs().end_acks);
    assert!(lose(&mut cubic, 200, 2, false));
    assert_eq!(
        (cubic.window(), cubic.report().limit),
        (25_200, Limit::RapidStart)
    );
    assert!(!lose(&mut cubic, 201, 10, false));
    assert_eq!(cubic.window(), 16_200);
    end_acks(&mut cubic, 202, 100, 10);
    assert_eq!(cubic.window(), 14_200);
    let report = cubic.report();
    assert_eq!((report.ssthresh, report.state), (Some(14_200), "recovery"));
    // A packet of the recovery arrives: congestion avoidance, and nothing of the rest counts.
    cubic.on_ack(&acked(301, 201, MS(100)));
    end_acks(&mut cubic, 301, 201, 1);
    let after = cubic.window();
    assert_eq!(cubic.report().limit, Limit::CongestionAvoidance);
    lose(&mut cubic, 302, 5, false);
    end_acks(&mut cubic, 302, 100, 5);
    assert_eq!(cubic.window(), after);
}

#[test]
fn an_acknowledgement_that_only_its_end_reports_ends_the_recovery_too() {
    // TCP reports no packets in fast recovery: 25 of 30 packets, less two of six acknowledged.
    let mut reno = grown("newreno");
    lose(&mut reno, 200, 0, true);
    end_acks(&mut reno, 201, 100, 6);
    assert_eq!(reno.window(), 23_000);
    end_acks(&mut reno, 301, 201, 6);
    end_acks(&mut reno, 302, 100, 6);
    assert_eq!(reno.window(), 23_000);
}

#[test]
fn a_flight_allows_three_times_its_size() {
    // draft-ietf-ccwg-ratelimited-increase §3 allows slow start the double of maxFS, 20 packets.
    let mut config = WindowConfig {
        max_datagram_size: MDS,
        initial_window: Some(10 * MDS),
        ..WindowConfig::default()
    };
    config.rules.controller.rapid_start = true;
    config.rules.controller.rate_limited_growth = RateLimitedGrowth::Flight;
    let mut reno = named("newreno", &config).expect("a controller");
    for _ in 0..60 {
        reno.on_ack(&acked(100, 0, MS(100)));
    }
    assert_eq!(reno.window(), 60 * MDS);
}

#[test]
fn a_conservative_slow_start_ends_rapid_start() {
    // RFC 9406 §4.2: 95 ms are an eighth more than 80, and five rounds pass. The loss that comes
    // after them halves the window.
    let mut config = WindowConfig {
        max_datagram_size: MDS,
        ..WindowConfig::default()
    };
    config.rules.controller.rapid_start = true;
    config.rules.controller.hystart_plus_plus = true;
    let mut reno = named("newreno", &config).expect("a controller");
    for number in 0..90 {
        let now = 100 * (number / 9 + 1) + number % 9;
        let mut acked = acked(now, now - 100, MS(if now < 200 { 80 } else { 95 }));
        acked.rtt.min = MS(80);
        reno.on_ack(&acked);
        if number < 9 {
            assert_eq!(reno.window(), (12 + 2 * number) * MDS);
        }
    }
    assert_eq!(reno.report().state, "congestion_avoidance");
    let before = reno.window();
    lose(&mut reno, 2000, 5, false);
    assert_eq!(reno.window(), before / 2);
}

#[test]
fn a_mark_without_losses_leaves_beta_of_the_window() {
    // §3.3.2: 27 - 30/5.
    let mut cubic = grown("cubic");
    assert!(lose(&mut cubic, 200, 0, true));
    assert_eq!(cubic.window(), 27_000);
    end_acks(&mut cubic, 200, 100, 30);
    assert_eq!(cubic.window(), 21_000);
}

#[test]
fn the_second_congestion_event_has_the_ordinary_reduction() {
    let mut reno = grown("newreno");
    lose(&mut reno, 200, 15, false);
    end_acks(&mut reno, 201, 100, 15);
    assert_eq!(reno.window(), 7500, "25 - 12.5 - 5");
    // A packet of the recovery itself is lost: 7.5 / 2.
    reno.on_lost(&Lost {
        sent_at: at(250),
        bytes: MDS,
        ..Lost::default()
    });
    assert_eq!(reno.window(), 7500);
    reno.on_congestion_event(&CongestionEvent {
        now: at(301),
        sent_at: at(250),
        ..CongestionEvent::default()
    });
    assert_eq!(reno.window(), 3750);
    end_acks(&mut reno, 302, 250, 5);
    assert_eq!(reno.window(), 3750);
}

#[test]
fn cubic_grows_from_the_estimate_of_what_path_and_queue_hold() {
    // §3.3.3: 140 packets over 0.7 are 200, W_max is twice that with fast convergence. The curve is
    // there after K = cbrt((W_max - 140) / 0.4), 8.7 s or 5.3 s.
    for (fast_convergence, w_max) in [(true, 400.0), (false, 200.0)] {
        let mut config = WindowConfig {
            max_datagram_size: MDS,
            initial_window: Some(100 * MDS),
            ..WindowConfig::default()
        };
        config.rules.controller.rapid_start = true;
        config.constants.cubic.fast_convergence = fast_convergence;
        let mut cubic = named("cubic", &config).expect("a controller");
        for _ in 0..100 {
            cubic.on_ack(&acked(100, 0, MS(100)));
        }
        lose(&mut cubic, 200, 100, false);
        end_acks(&mut cubic, 201, 100, 200);
        assert_eq!(cubic.window(), 140 * MDS);
        let mut now = at(300);
        let end = now + Duration::from_secs_f64(libm::cbrt((w_max - 140.0) / 0.4));
        while now < end {
            // A packet in a round-trip time over the window.
            now += MS(100) * MDS / cubic.window();
            cubic.on_ack(&Acked {
                now,
                sent_at: at(290),
                ..acked(300, 290, MS(100))
            });
        }
        let packets = cubic.window() as f64 / MDS as f64;
        assert!((packets - w_max).abs() < 2.0, "{packets} {w_max}");
    }
}

#[test]
fn a_spurious_reduction_is_taken_back_with_rapid_start() {
    let mut cubic = grown("cubic");
    lose(&mut cubic, 200, 2, false);
    assert!(cubic.on_spurious_congestion_event(at(210)));
    assert_eq!(cubic.window(), 30 * MDS);
    cubic.on_ack(&acked(211, 150, MS(100)));
    assert_eq!(cubic.window(), 32 * MDS);
    // The next loss counts alone: 0.9 · 32 - 0.9.
    lose(&mut cubic, 220, 1, false);
    assert_eq!(cubic.window(), 27_900);
}

type End<'a> = &'a dyn Fn(&mut BoxedController);

#[test]
fn other_ends_of_slow_start_end_rapid_start() {
    let timeout = RetransmissionTimeout {
        now: at(200),
        ..RetransmissionTimeout::default()
    };
    let ends: [(&str, End<'_>, u64); 4] = [
        (
            "timeout",
            &|c| c.on_retransmission_timeout(&timeout),
            2 * MDS,
        ),
        (
            "persistent",
            &|c| c.on_persistent_congestion(at(200)),
            3 * MDS,
        ),
        (
            "handshake",
            &|c| c.on_connection_event(ConnectionEvent::HandshakeLoss),
            2 * MDS,
        ),
        (
            "receiver",
            &|c| c.on_connection_event(ConnectionEvent::SlowReceiver),
            30_033,
        ),
    ];
    for (name, end, window) in ends {
        let mut reno = grown("newreno");
        end(&mut reno);
        reno.on_ack(&acked(300, 210, MS(100)));
        assert_eq!(reno.window(), window, "{name}");
    }
    // An idle time does not: the window begins anew and triples again.
    let mut reno = grown("newreno");
    reno.on_connection_event(ConnectionEvent::IdleRestart);
    reno.on_ack(&acked(300, 210, MS(100)));
    assert_eq!(reno.window(), 12 * MDS);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Sent(u64),
    Acked(u64, bool),
    Lost(u64),
    EndAcks(u64),
    Event(u64, bool),
    Spurious,
    Persistent,
    Timeout,
    DatagramSize(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => (0..100_000_u64).prop_map(Step::Sent),
        4 => (0..5000_u64, any::<bool>()).prop_map(|(bytes, late)| Step::Acked(bytes, late)),
        2 => (0..100_000_u64).prop_map(Step::Lost),
        4 => (0..100_000_u64).prop_map(Step::EndAcks),
        1 => (0..100_000_u64, any::<bool>()).prop_map(|(bytes, ecn)| Step::Event(bytes, ecn)),
        1 => Just(Step::Spurious),
        1 => Just(Step::Persistent),
        1 => Just(Step::Timeout),
        1 => (0..3000_u64).prop_map(Step::DatagramSize),
    ]
}

proptest! {
    #[test]
    fn a_window_never_falls_below_the_minimum_nor_rises_in_recovery(
        steps in prop::collection::vec((step(), 0..60_u64, 0..200_u64), 0..200),
        name in prop::sample::select(vec!["newreno", "cubic"]),
        hystart in any::<bool>(),
        whole in any::<bool>(),
    ) {
        let mut config = WindowConfig {
            max_datagram_size: MDS,
            ..WindowConfig::default()
        };
        config.rules.controller.rapid_start = true;
        config.rules.controller.undo_spurious = true;
        config.rules.controller.hystart_plus_plus = hystart;
        config.rules.controller.whole_packets = whole;
        let mut controller = named(name, &config).expect("a controller");
        let (mut now, mut mds) = (200, MDS);
        for (step, later, age) in steps {
            now += later;
            let before = controller.window();
            let sent_at = at(now - age);
            match step {
                Step::Sent(bytes_in_flight) => controller.on_sent(&Sent {
                    now: at(now),
                    bytes: mds,
                    bytes_in_flight,
                    ..Sent::default()
                }),
                Step::Acked(bytes, late) => controller.on_ack(&Acked {
                    bytes,
                    ..acked(now, now - age, MS(if late { 120 } else { 100 }))
                }),
                Step::Lost(bytes) => controller.on_lost(&Lost {
                    now: at(now),
                    sent_at,
                    bytes,
                    ..Lost::default()
                }),
                Step::EndAcks(newly_acked) => {
                    controller.on_end_acks(&EndAcks {
                        now: at(now),
                        newly_acked,
                        newest_sent_at: sent_at,
                        ..EndAcks::default()
                    });
                }
                Step::Event(lost_bytes, ecn) => {
                    controller.on_congestion_event(&CongestionEvent {
                        now: at(now),
                        sent_at,
                        lost_bytes,
                        ecn,
                        ..CongestionEvent::default()
                    });
                }
                Step::Spurious => {
                    controller.on_spurious_congestion_event(at(now));
                }
                Step::Persistent => controller.on_persistent_congestion(at(now)),
                Step::Timeout => {
                    controller.on_retransmission_timeout(&RetransmissionTimeout {
                        now: at(now),
                        sent_at,
                        ..RetransmissionTimeout::default()
                    });
                }
                // Whole packets of another size may be a little more.
                Step::DatagramSize(_) if whole => {}
                Step::DatagramSize(octets) => {
                    mds = octets.max(1);
                    controller.set_max_datagram_size(octets);
                }
            }
            let window = controller.window();
            // The loss window of a timeout is one packet.
            let one_packet = before < 2 * mds || matches!(step, Step::Timeout);
            let least = if one_packet { mds.min(before) } else { 2 * mds };
            prop_assert!(window >= least, "{} {:?}", window, step);
            if matches!(step, Step::Lost(_) | Step::EndAcks(_) | Step::Event(..)) {
                prop_assert!(window <= before.max(2 * mds));
            }
            controller.pacing();
            controller.report();
        }
    }
}
