//! The classic controllers against windows computed by hand.

use super::*;
use crate::cc::{
    Acked, CongestionEvent, EndAcks, RetransmissionTimeout, Rtt, Sent, WindowControllerExt as _,
};
use crate::event::{Hold, Limit};
use crate::time::{Duration, Instant};

const MDS: u64 = 1252;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn acked(now: u64, sent_at: u64, bytes_in_flight: u64) -> Acked {
    Acked {
        now: at(now),
        sent_at: at(sent_at),
        bytes: MDS,
        bytes_in_flight,
        rtt: Rtt::default(),
        app_limited: false,
    }
}

fn lost(now: u64, sent_at: u64) -> CongestionEvent {
    CongestionEvent {
        now: at(now),
        sent_at: at(sent_at),
        lost_bytes: MDS,
        bytes_in_flight: 0,
        flight_size: None,
        ecn: false,
    }
}

fn sent(now: u64) -> Sent {
    Sent {
        now: at(now),
        bytes: MDS,
        bytes_in_flight: 10 * MDS,
        ..Sent::default()
    }
}

fn newreno(rules: Rules) -> BoxedController {
    let config = WindowConfig {
        rules,
        ..WindowConfig::default()
    };
    named("newreno", &config).unwrap()
}

#[test]
fn the_initial_window_is_that_of_rfc_9002() {
    for (mds, window) in [
        (1200, 12_000),
        (1252, 12_520),
        (1472, 14_720),
        (1500, 14_720),
        (9000, 18_000),
    ] {
        let config = WindowConfig {
            max_datagram_size: mds,
            ..WindowConfig::default()
        };
        assert_eq!(config.initial_window(), window, "{mds}");
    }
}

#[test]
fn slow_start_grows_by_what_is_acknowledged_and_a_loss_halves() {
    // RFC 9002 §7.3.1 and appendix B.1, LOSS_DIVISOR.
    let mut window = newreno(Rules::RFC9002);
    assert_eq!(window.report().state, "slow_start");
    for _ in 0..10 {
        window.on_ack(&acked(2, 0, 10 * MDS));
    }
    assert_eq!(window.window(), 20 * MDS);
    assert_eq!(window.report().limit, Limit::SlowStart);
    window.on_congestion_event(&lost(4, 2));
    assert_eq!(window.window(), 10 * MDS);
    assert_eq!(window.report().ssthresh, Some(10 * MDS));
    assert_eq!(window.report().state, "recovery");
    assert_eq!(window.report().limit, Limit::Recovery);
}

#[test]
fn a_flight_is_reduced_once_and_the_boundary_is_a_rule() {
    for (rules, second_at_start) in [(Rules::RFC9002, 10), (Rules::INET_NOW, 5)] {
        let mut window = newreno(Rules {
            recovery_probe: false,
            ..rules
        });
        for _ in 0..10 {
            window.on_ack(&acked(2, 0, 20 * MDS));
        }
        window.on_congestion_event(&lost(4, 2));
        window.on_congestion_event(&lost(5, 3));
        assert_eq!(window.window(), 10 * MDS);
        // Sent at the time at which recovery started.
        window.on_congestion_event(&lost(6, 4));
        assert_eq!(window.window(), second_at_start * MDS);
    }
}

#[test]
fn the_accurate_increase_fires_when_a_window_of_packets_is_acknowledged() {
    let mut window = newreno(Rules::INET_2025);
    window.on_congestion_event(&lost(1, 0));
    let start = window.window();
    assert_eq!(start, 5 * MDS);
    // As in the published text: after five packets the window is six.
    for n in 1..=4 {
        window.on_ack(&acked(5, 3, 10 * MDS));
        assert_eq!(window.report().partial_bytes_acked, n * MDS);
    }
    window.on_ack(&acked(5, 3, 10 * MDS));
    assert_eq!(window.window(), 6 * MDS);
    assert_eq!(window.report().partial_bytes_acked, 0);
}

#[test]
fn the_approximate_increase_keeps_its_remainder() {
    let mut window = newreno(Rules::RFC9002);
    window.on_congestion_event(&lost(1, 0));
    // 1252 * 1252 = 1567504 by cwnd = 6260 is 250 rest 2504; then by 6510: 241 with what was
    // left, (1567504 + 2504) / 6510 = 241 rest 1098; by 6751: (1567504 + 1098) / 6751 = 232.
    for expected in [6260 + 250, 6510 + 241, 6751 + 232] {
        window.on_ack(&acked(5, 3, 10 * MDS));
        assert_eq!(window.window(), expected);
    }
}

#[test]
fn byte_counting_needs_the_whole_window() {
    let mut window = newreno(Rules {
        increase: Increase::ByteCounting,
        ..Rules::RFC9002
    });
    window.on_congestion_event(&lost(1, 0));
    for _ in 0..4 {
        window.on_ack(&acked(5, 3, 10 * MDS));
    }
    assert_eq!(window.window(), 5 * MDS);
    window.on_ack(&acked(5, 3, 10 * MDS));
    assert_eq!(window.window(), 6 * MDS);
}

#[test]
fn octets_acknowledged_in_recovery_count_only_by_rule() {
    for (count, partial) in [(false, 0), (true, MDS)] {
        let mut window = newreno(Rules {
            count_acked_in_recovery: count,
            ..Rules::INET_2025
        });
        window.on_congestion_event(&lost(4, 2));
        window.on_ack(&acked(5, 3, 10 * MDS));
        assert_eq!(window.report().partial_bytes_acked, partial);
        assert_eq!(window.window(), 5 * MDS);
        assert_eq!(window.report().state, "recovery");
        window.on_ack(&acked(6, 5, 10 * MDS));
        assert_eq!(window.report().state, "congestion_avoidance");
    }
}

#[test]
fn an_empty_flight_resets_the_count_only_by_rule() {
    for (flush, partial) in [(false, 3), (true, 1)] {
        let mut window = newreno(Rules {
            flush_on_empty_flight: flush,
            ..Rules::INET_2025
        });
        window.on_congestion_event(&lost(1, 0));
        window.on_ack(&acked(5, 3, 3 * MDS));
        window.on_ack(&acked(5, 3, 2 * MDS));
        window.on_ack(&acked(5, 3, MDS));
        assert_eq!(window.report().partial_bytes_acked, partial * MDS);
    }
}

#[test]
fn one_packet_may_leave_at_the_start_of_recovery_by_rule() {
    for (rules, allowed) in [(Rules::RFC9002, true), (Rules::INET_2025, false)] {
        let mut window = newreno(rules);
        assert!(!window.take_recovery_probe());
        window.on_congestion_event(&lost(4, 2));
        assert_eq!(window.take_recovery_probe(), allowed);
        assert!(!window.take_recovery_probe());
    }
}

#[test]
fn never_falls_below_two_packets() {
    let mut window = newreno(Rules::RFC9002);
    for n in 0..10 {
        window.on_congestion_event(&lost(10 * n + 9, 10 * n + 8));
    }
    assert_eq!(window.window(), 2 * MDS);
    assert_eq!(window.report().limit, Limit::MinimumWindow);
}

#[test]
fn persistent_congestion_falls_to_the_minimum_and_ends_recovery() {
    for name in ["newreno", "cubic"] {
        let mut window = named(name, &WindowConfig::default()).unwrap();
        window.on_congestion_event(&lost(4, 2));
        window.on_persistent_congestion(at(5));
        assert_eq!(window.window(), 2 * MDS);
        assert_eq!(window.report().limit, Limit::PersistentCongestion);
        assert_ne!(window.report().state, "recovery");
    }
}

#[test]
fn an_underutilised_window_does_not_grow() {
    let mut window = newreno(Rules::RFC9002);
    window.on_ack(&Acked {
        app_limited: true,
        ..acked(2, 0, MDS)
    });
    assert_eq!(window.window(), 10 * MDS);
    assert_eq!(window.report().limit, Limit::ApplicationLimited);
}

#[test]
fn a_spurious_reduction_is_undone_by_rule() {
    for (undo_spurious, after) in [(false, 5), (true, 10)] {
        let mut window = newreno(Rules {
            controller: ControllerRules {
                undo_spurious,
                ..ControllerRules::OFF
            },
            ..Rules::RFC9002
        });
        window.on_congestion_event(&lost(4, 2));
        window.on_spurious_congestion_event(at(5));
        assert_eq!(window.window(), after * MDS);
    }
}

#[test]
fn finds_controllers_and_presets_by_name_only() {
    for entry in REGISTRY {
        assert!(named(entry.name, &WindowConfig::default()).is_some());
    }
    assert!(named("vegas", &WindowConfig::default()).is_none());
    assert!(Rules::NAMES.iter().all(|name| Rules::named(name).is_some()));
    assert!(Rules::named("inet").is_none());
}

#[test]
fn only_bbr_has_snapshots_of_the_delivery_rate_kept() {
    let wants = |entry: &&ControllerEntry| {
        let window = (entry.make)(&WindowConfig::default());
        window.needs().delivery_rate
    };
    let wanting: Vec<_> = REGISTRY.iter().filter(wants).map(|e| e.name).collect();
    assert_eq!(wanting, ["bbr", "bbr1"]);
}

#[test]
fn a_controller_that_wants_no_end_of_acknowledgements_ignores_it() {
    let state = |controller: &BoxedController| {
        let state = controller.snapshot(0, Rtt::default(), &Hold::default());
        (
            state,
            controller.pacing().and_then(|pacing| pacing.quantum),
            controller.clone_box(),
        )
    };
    let mut without = Vec::new();
    for name in names() {
        let mut controller = named(name, &WindowConfig::default()).unwrap();
        let needs = controller.needs();
        if needs.end_acks {
            continue;
        }
        assert!(!needs.delivery_rate);
        controller.on_sent(&sent(0));
        controller.on_ack(&acked(10, 0, 10 * MDS));
        controller.on_congestion_event(&lost(20, 15));
        let (before, quantum, mut copy) = state(&controller);
        let limits_samples = controller.on_end_acks(&EndAcks {
            now: at(30),
            newly_acked: 10 * MDS,
            acked_packets: 10,
            newly_lost: MDS,
            ecn_ce: 3,
            rtt_sample: Some(Duration::from_millis(30)),
            ..EndAcks::default()
        });
        let (after, quantum_after, _) = state(&controller);
        assert_eq!((&before, quantum), (&after, quantum_after), "{name}");
        assert!(!limits_samples, "{name}");
        // The call has no later effect either.
        for controller in [&mut controller, &mut copy] {
            (40..90).for_each(|ms| controller.on_ack(&acked(ms, ms - 1, 50 * MDS)));
        }
        assert_eq!(state(&controller).0, state(&copy).0, "{name}");
        without.push(name);
    }
    assert!(without.contains(&"newreno") && without.contains(&"cubic"));
}

#[test]
fn a_larger_datagram_raises_the_initial_window_and_later_only_the_minimum() {
    for entry in REGISTRY {
        let config = WindowConfig {
            max_datagram_size: 1200,
            ..WindowConfig::default()
        };
        let mut window = (entry.make)(&config);
        window.set_max_datagram_size(1452);
        if entry.name == "ledbat" {
            // INIT_CWND is two packets (RFC 6817 §2.5), and so is the minimum.
            assert_eq!(window.window(), 2 * 1452);
            continue;
        }
        assert_eq!(window.window(), 14_520, "{}", entry.name);
        if ["bbr", "bbr1"].contains(&entry.name) {
            // Its window has no minimum of two packets.
            continue;
        }
        window.on_congestion_event(&lost(10, 5));
        window.on_persistent_congestion(at(20));
        assert_eq!(window.window(), 2 * 1452, "{}", entry.name);
        window.set_max_datagram_size(9000);
        assert_eq!(window.window(), 18_000, "{}", entry.name);
    }
}

#[test]
fn a_copy_continues_independently_from_the_same_state() {
    for entry in REGISTRY {
        let mut window = (entry.make)(&WindowConfig::default());
        for _ in 0..10 {
            window.on_sent(&sent(0));
        }
        window.on_ack(&acked(10, 0, 10 * MDS));
        window.on_sent(&sent(15));
        let mut copy = window.clone_box();
        assert_eq!(copy.window(), window.window(), "{}", entry.name);
        copy.on_congestion_event(&lost(20, 15));
        if ["bbr", "bbr1", "copa"].contains(&entry.name) {
            // A single loss does not change their windows.
            copy.on_retransmission_timeout(&RetransmissionTimeout::default());
        }
        assert!(copy.window() < window.window(), "{}", entry.name);
    }
}

#[test]
fn the_loss_that_ends_slow_start_leaves_its_own_share_by_rule() {
    // 85 % of ten packets of 1252 octets are 10,642; the loss after it halves (RFC 9002 §7.3.2).
    let mut window = newreno(Rules {
        controller: ControllerRules {
            slow_start_exit_percent: Some(85),
            ..ControllerRules::OFF
        },
        ..Rules::RFC9002
    });
    for (now, left) in [(4, 10_642), (9, 5321)] {
        window.on_congestion_event(&lost(now, now - 1));
        assert_eq!(window.window(), left);
        assert_eq!(window.report().ssthresh, Some(left));
    }
}

#[test]
fn a_window_that_paces_by_rule_follows_the_round_trip_time_of_what_is_sent() {
    // RFC 9002 §7.7, N = 1.25: 12,520 octets in 100 ms are 1,001,600 bit/s.
    let mut window = newreno(Rules {
        controller: ControllerRules {
            pacing: Pacing::Rfc9002,
            ..ControllerRules::OFF
        },
        ..Rules::RFC9002
    });
    assert_eq!(window.pacing_rate(), None, "before the first sample");
    window.on_sent(&Sent {
        rtt: Rtt {
            smoothed: Duration::from_millis(100),
            ..Rtt::default()
        },
        ..sent(0)
    });
    let rate = window.pacing_rate().expect("a sample").as_bps();
    assert!((rate - 1.25 * 1_001_600.0).abs() < 1e-3, "{rate}");
    assert_eq!(
        window.pacing().and_then(|pacing| pacing.quantum),
        Some(12_520)
    );
}

#[test]
fn a_reduction_to_exactly_two_packets_is_bound_by_the_minimum() {
    // RFC 9002 §7.2, kMinimumWindow = 2 · max_datagram_size.
    for (packets, limit) in [(4, Limit::MinimumWindow), (6, Limit::Recovery)] {
        let config = WindowConfig {
            initial_window: Some(packets * MDS),
            ..WindowConfig::default()
        };
        let mut window = named("newreno", &config).unwrap();
        window.on_congestion_event(&lost(4, 2));
        assert_eq!(window.window(), packets / 2 * MDS);
        assert_eq!(window.report().limit, limit);
    }
}

#[test]
fn a_window_that_has_grown_back_is_not_undone() {
    let mut window = newreno(Rules {
        controller: ControllerRules {
            undo_spurious: true,
            ..ControllerRules::OFF
        },
        increase: Increase::ByteCounting,
        ..Rules::RFC9002
    });
    window.on_congestion_event(&lost(4, 2));
    // RFC 3465 §2.1: 5 + 6 + 7 + 8 + 9 packets for five more.
    for _ in 0..35 {
        window.on_ack(&acked(6, 5, 20 * MDS));
    }
    assert_eq!(window.window(), 10 * MDS);
    window.on_spurious_congestion_event(at(7));
    assert_eq!(window.report().ssthresh, Some(5 * MDS));
}

#[test]
fn only_policies_that_count_acknowledged_octets_report_a_count() {
    let mut cubic = named("cubic", &WindowConfig::default()).unwrap();
    cubic.on_congestion_event(&lost(4, 2));
    cubic.on_ack(&acked(6, 5, 20 * MDS));
    assert_eq!(cubic.report().partial_bytes_acked, 0);
}

#[test]
fn a_datagram_size_of_nothing_counts_as_an_octet() {
    for name in ["newreno", "tfrc", "dctcp", "prague", "bbr"] {
        let mut window = named(name, &WindowConfig::default()).unwrap();
        window.set_max_datagram_size(0);
        // RFC 9002 §7.2: min(10 · 1, max(2 · 1, 14720)).
        assert_eq!(window.window(), 10, "{name}");
    }
}

#[test]
fn an_entry_of_the_registry_is_its_name() {
    assert_eq!(find("cubic"), Some(&cubic::ENTRY));
    assert_ne!(find("cubic"), Some(&new_reno::ENTRY));
    assert_eq!(WindowConfig::default().seed, 0);
}
