use super::*;
use crate::cc::WindowControllerExt as _;
use crate::cc::window::{Dctcp, Prague, named};

const PACKET: u64 = 1000;
const RTT: Duration = Duration::from_millis(20);

fn config() -> WindowConfig {
    WindowConfig {
        max_datagram_size: PACKET,
        initial_window: Some(100 * PACKET),
        ..WindowConfig::default()
    }
}

/// A round of acknowledgements, each for two packets that were sent in the round before. The first
/// `marks` packets are marked.
fn round(controller: &mut dyn WindowController, round: u64, rtt: Duration, mut marks: u64) {
    let packets = controller.window() / PACKET;
    let at = |round: u64| Instant::ZERO + rtt * round;
    let rtt = Rtt {
        latest: rtt,
        smoothed: rtt,
        variation: Duration::ZERO,
        min: rtt,
    };
    for pair in 0..packets / 2 {
        let offset = Duration::from_nanos(pair);
        let (sent_at, now) = (at(round) + offset, at(round + 1) + offset);
        let acked = Acked {
            now,
            sent_at,
            bytes: 2 * PACKET,
            rtt,
            ..Acked::default()
        };
        controller.on_ack(&acked);
        let ecn_ce = marks.min(2);
        marks -= ecn_ce;
        if ecn_ce > 0 {
            controller.on_congestion_event(&CongestionEvent {
                now,
                sent_at,
                ecn: true,
                ..CongestionEvent::default()
            });
        }
        controller.on_end_acks(&EndAcks {
            now,
            newly_acked: 2 * PACKET,
            acked_packets: 2,
            ecn_ce,
            newest_sent_at: sent_at,
            rtt,
            ..EndAcks::default()
        });
    }
}

fn dctcp() -> Dctcp {
    let Some(controller) = named("dctcp", &config()) else {
        panic!("it is registered");
    };
    assert_eq!(controller.needs().ecn, Some(EcnCapability::Ect0));
    Dctcp::new(&config(), crate::cc::window::dctcp::DctcpMarking)
}

#[test]
fn alpha_is_an_average_over_rounds_with_a_gain_of_a_sixteenth() {
    // RFC 8257 §3.3 and §4.2, GAIN = 1/16 and FIRST_ALPHA = 1: the first mark halves the window of
    // 100 packets. From then on each round without marks takes a sixteenth: alpha = (15/16)^n.
    let mut controller = dctcp();
    round(&mut controller, 1, RTT, 2);
    assert_eq!(controller.window(), 50 * PACKET);
    assert_eq!(controller.report().ssthresh, Some(50 * PACKET));
    let before = controller.alpha();
    assert!(before > 0.85, "{before}");
    for n in 2..=9 {
        round(&mut controller, n, RTT, 0);
    }
    let expected = before * libm::pow(15.0 / 16.0, 8.0);
    let alpha = controller.alpha();
    assert!((alpha / expected - 1.0).abs() < 0.07, "{alpha} {expected}");
}

#[test]
fn marks_reduce_by_half_of_alpha_once_a_round_and_losses_by_half() {
    let mut controller = dctcp();
    round(&mut controller, 1, RTT, 2);
    for n in 2..=60 {
        round(&mut controller, n, RTT, 0);
    }
    let (alpha, window) = (controller.alpha(), controller.window());
    assert!(alpha < 0.05 && window > 100 * PACKET, "{alpha} {window}");
    // Twenty marks in one round: one reduction by alpha / 2, and no growth in that round.
    round(&mut controller, 61, RTT, 20);
    let expected = window as f64 * (1.0 - alpha / 2.0);
    let found = controller.window() as f64;
    assert!((found / expected - 1.0).abs() < 0.005, "{found} {expected}");
    let window = controller.window();
    let loss = CongestionEvent {
        now: Instant::ZERO + RTT * 100,
        sent_at: Instant::ZERO + RTT * 99,
        lost_bytes: PACKET,
        ..CongestionEvent::default()
    };
    // RFC 8257 §3.5, LOSS_FACTOR: as Reno, and once for all losses of a round.
    controller.on_congestion_event(&loss);
    controller.on_congestion_event(&loss);
    assert_eq!(controller.window(), window / 2);
    assert_eq!(controller.report().state, "recovery");
}

fn prague(config: &WindowConfig) -> Prague {
    Prague::new(
        config,
        crate::cc::window::prague::PragueMarking::new(config),
    )
}

#[test]
fn a_steady_share_of_marks_holds_the_window_at_two_packets_of_them_a_round() {
    // RFC 9332 appendix C, equation (6): r_L = 2 / (R p), so two marks in a round. A network that
    // marks one packet in fifty keeps Prague's window at a hundred packets.
    let mut controller = prague(&config());
    assert_eq!(controller.needs().ecn, Some(EcnCapability::Ect1));
    let (mut debt, mut sum) = (0.0, 0.0);
    for n in 1..=4000 {
        debt += controller.window() as f64 / PACKET as f64 / 50.0;
        let marks = debt as u64;
        debt -= marks as f64;
        // A long round-trip time, so that the rate does not become independent of it.
        round(&mut controller, n, Duration::from_millis(50), marks);
        if n > 2000 {
            sum += controller.window() as f64 / PACKET as f64;
        }
    }
    let mean = sum / 2000.0;
    assert!((mean / 100.0 - 1.0).abs() < 0.06, "{mean}");
    assert!(
        (controller.alpha() - 0.02).abs() < 0.003,
        "{}",
        controller.alpha()
    );
}

#[test]
fn prague_grows_as_if_its_round_trip_took_25_ms_after_500_rounds() {
    // RTT_TARGET 25 ms, TRANSITION_ROUNDS 500: at 5 ms a round adds (5/25)² = 0.04 packets, where
    // it added one before.
    for (rtt_independence, at_last) in [(true, 0.04), (false, 1.0)] {
        let mut config = config();
        config.rules.rtt_independence = rtt_independence;
        let mut controller = prague(&config);
        let rtt = Duration::from_millis(5);
        round(&mut controller, 1, rtt, 2);
        let mut grown = Vec::new();
        for n in 2..=620 {
            let before = controller.window;
            round(&mut controller, n, rtt, 0);
            grown.push((controller.window - before) / PACKET as f64);
        }
        assert!((grown[10] - 1.0).abs() < 0.05, "{}", grown[10]);
        let last = grown[610];
        assert!((last / at_last - 1.0).abs() < 0.05, "{last}");
    }
}

#[test]
fn prague_paces_its_window_over_the_round_trip_time() {
    let mut controller = prague(&config());
    assert_eq!(controller.pacing_rate(), None, "before the first sample");
    round(&mut controller, 1, RTT, 2);
    round(&mut controller, 2, RTT, 0);
    let window = controller.window() as f64;
    let rate = controller.pacing_rate().expect("there is a sample");
    assert!((rate.as_bps() / (window * 8.0 / 0.02) - 1.0).abs() < 0.001);
    // BURST_S: 2.55 MB/s for 1/4096 s is less than a packet.
    assert_eq!(
        controller.pacing().and_then(|pacing| pacing.quantum),
        Some(PACKET)
    );
}

const fn ms(millis: u64) -> Instant {
    Instant::from_nanos(1_000_000 * millis)
}

/// `acked_packets` packets, `ecn_ce` of them marked, acknowledged at `now`; the newest was sent at
/// `sent_at`.
fn acks(now: u64, sent_at: u64, acked_packets: u64, ecn_ce: u64) -> EndAcks {
    EndAcks {
        now: ms(now),
        newest_sent_at: ms(sent_at),
        acked_packets,
        ecn_ce,
        ..EndAcks::default()
    }
}

#[test]
fn alpha_moves_by_a_sixteenth_of_the_share_of_each_round() {
    // RFC 8257 §3.3, steps 4 to 8, and g = 1/16 (§4.2).
    let mut share = MarkedShare::new(false);
    for (acks, ends, alpha) in [
        // No packet has been marked yet.
        (acks(100, 0, 4, 0), true, 1.0),
        // Sent at the beginning of the round: 1 + (1/4 - 1)/16.
        (acks(200, 100, 4, 1), true, 0.953_125),
        (acks(250, 150, 4, 0), false, 0.953_125),
        // 0.953125 + (4/8 - 0.953125)/16.
        (acks(300, 200, 4, 4), true, 0.924_804_687_5),
        // One packet without a mark: 15/16 of it.
        (acks(400, 300, 1, 0), true, 0.867_004_394_531_25),
        // An acknowledgement of no packet has no share.
        (acks(500, 400, 0, 0), true, 0.867_004_394_531_25),
    ] {
        assert_eq!(share.on_end_acks(&acks, Duration::ZERO), ends, "{acks:?}");
        assert_eq!(share.alpha, alpha, "{acks:?}");
    }
}

#[test]
fn rounds_before_the_first_mark_take_a_sixteenth_of_alpha_each_with_dctcp() {
    // RFC 8257 §3.3: alpha is 1 at first, and the first window without a mark has M = 0:
    // 15/16 = 0.9375, 0.878906, 0.823975. Then half of the packets: 0.823975·15/16 + 0.5/16 =
    // 0.803726.
    let rounds = [(100, 0), (200, 0), (300, 0), (400, 2)];
    let alphas = |learns| {
        let mut share = MarkedShare::new(learns);
        rounds.map(|(now, marked)| {
            share.on_end_acks(&acks(now, now - 100, 4, marked), Duration::ZERO);
            share.alpha
        })
    };
    for (found, expected) in alphas(true)
        .into_iter()
        .zip([0.9375, 0.878_906, 0.823_975, 0.803_726])
    {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    // tcp_prague's saw_ce: 1·15/16 + 0.5/16 = 0.96875 with the first mark.
    assert_eq!(alphas(false), [1.0, 1.0, 1.0, 0.968_75]);
}

#[test]
fn a_mark_after_sixteen_rounds_takes_alpha_halves_of_the_window() {
    // RFC 8257 §3.3, step 9: alpha = (15/16)^16 = 0.356074, so 1 - alpha/2 = 0.821963 of the window
    // stay. Prague keeps alpha = 1, and half stays.
    let window_after = |controller: &mut dyn WindowController| {
        for n in 1..=16 {
            controller.on_end_acks(&acks(100 * n, 100 * (n - 1), 1, 0));
        }
        controller.on_congestion_event(&congestion(1700, 1650, true));
        controller.window()
    };
    assert_eq!(window_after(&mut dctcp()), 82_196);
    assert_eq!(window_after(&mut prague(&config())), 50_000);
}

#[test]
fn the_share_of_marks_is_one_at_the_most() {
    let mut share = MarkedShare::new(true);
    share.on_end_acks(&acks(100, 0, 4, 8), Duration::ZERO);
    assert_eq!(share.alpha, 1.0);
}

#[test]
fn alpha_is_updated_once_in_the_interval() {
    // Rounds of 10 ms; all packets of the first are marked. alpha is updated 25 ms after an update.
    let mut share = MarkedShare::new(true);
    let interval = Duration::from_millis(25);
    let updates = [(100, 1), (110, 0), (125, 0), (149, 0)].map(|(now, marked)| {
        share.on_end_acks(&acks(now, now, 1, marked), interval);
        share.alpha
    });
    // 1 + (0/2 - 1)/16.
    assert_eq!(updates, [1.0, 1.0, 0.9375, 0.9375]);
}

fn acked(sent_at: u64, bytes: u64) -> Acked {
    Acked {
        sent_at: ms(sent_at),
        bytes,
        ..Acked::default()
    }
}

fn congestion(now: u64, sent_at: u64, ecn: bool) -> CongestionEvent {
    CongestionEvent {
        now: ms(now),
        sent_at: ms(sent_at),
        ecn,
        ..CongestionEvent::default()
    }
}

#[test]
fn slow_start_grows_by_what_arrives_without_a_mark() {
    // RFC 8257 §3.4 and RFC 5681 §3.1: by the octets acknowledged.
    for (bytes, packets, marked, grown) in [
        (2000, 2, 0, 2000),
        (2000, 2, 1, 1000),
        (1000, 1, 1, 0),
        (1, 1, 0, 1),
    ] {
        let mut controller = dctcp();
        assert_eq!(controller.report().limit, Limit::InitialWindow);
        assert_eq!(controller.report().state, "slow_start");
        controller.on_ack(&acked(0, bytes));
        controller.on_end_acks(&acks(20, 0, packets, marked));
        assert_eq!(
            controller.window(),
            100 * PACKET + grown,
            "{bytes} {marked}"
        );
        assert_eq!(controller.report().limit, Limit::SlowStart);
    }
}

#[test]
fn an_acknowledgement_that_may_not_grow_the_window_leaves_what_bounds_it() {
    let mut controller = dctcp();
    controller.on_ack(&Acked {
        app_limited: true,
        ..acked(0, PACKET)
    });
    controller.on_end_acks(&acks(20, 0, 1, 0));
    assert_eq!(controller.window(), 100 * PACKET);
    assert_eq!(controller.report().limit, Limit::InitialWindow);
}

#[test]
fn dctcp_grows_by_a_packet_a_round_from_what_left_after_the_reduction() {
    // RFC 8257 §3.4: marks halve 100 packets (alpha = 1). Packets sent before 20 ms do not count,
    // those sent at 20 ms do: a window of them adds a packet.
    let mut controller = dctcp();
    controller.on_congestion_event(&congestion(20, 10, true));
    for (sent_at, window) in [(19, 50_000), (20, 51_000)] {
        controller.on_ack(&acked(sent_at, 50_000));
        controller.on_end_acks(&acks(40, sent_at, 50, 0));
        assert_eq!(controller.window(), window, "{sent_at}");
    }
    assert_eq!(controller.report().state, "congestion_avoidance");
}

#[test]
fn a_recovery_ends_with_a_packet_that_left_after_it_began() {
    // RFC 9002 §7.3.2, of losses found at 20 ms (RFC 8257 §3.5).
    let mut controller = dctcp();
    controller.on_congestion_event(&congestion(20, 10, false));
    assert_eq!(controller.window(), 50_000);
    controller.on_ack(&acked(20, PACKET));
    controller.on_end_acks(&acks(40, 20, 1, 0));
    assert_eq!(controller.report().state, "recovery");
    controller.on_congestion_event(&congestion(41, 20, false));
    assert_eq!(controller.window(), 50_000, "neither grows nor shrinks");
    let mut copy = controller.clone();
    copy.on_congestion_event(&congestion(41, 21, false));
    assert_eq!(copy.window(), 25_000);
    controller.on_end_acks(&acks(42, 21, 1, 0));
    assert_eq!(controller.report().state, "congestion_avoidance");
}

#[test]
fn a_reduction_leaves_two_packets_at_the_least() {
    let config = WindowConfig {
        initial_window: Some(3 * PACKET),
        ..config()
    };
    let mut controller = Dctcp::new(&config, crate::cc::window::dctcp::DctcpMarking);
    controller.on_congestion_event(&congestion(20, 10, false));
    assert_eq!(controller.window(), 2 * PACKET);
    assert_eq!(controller.report().ssthresh, Some(2 * PACKET));
}

#[test]
fn prague_reduces_again_25_ms_after_a_reduction() {
    // RTT_TARGET, once the rate does not depend on the round-trip time. alpha = 1 halves.
    let mut marking = crate::cc::window::prague::PragueMarking::new(&WindowConfig::default());
    (0..500).for_each(|_| marking.on_round(false));
    let mut controller = Prague::new(&config(), marking);
    for (now, window) in [(100, 50_000), (124, 50_000), (125, 25_000)] {
        controller.on_congestion_event(&congestion(now, now, true));
        assert_eq!(controller.window(), window, "{now}");
    }
}

#[test]
fn a_timeout_leaves_a_packet_and_half_of_the_window_as_threshold() {
    // RFC 5681 §3.1, equation (4), and LW = 1; a repeated timeout keeps ssthresh.
    for (packets, repeated, ssthresh) in [
        (100, false, Some(50_000)),
        (3, false, Some(2000)),
        (100, true, None),
    ] {
        let config = WindowConfig {
            initial_window: Some(packets * PACKET),
            ..config()
        };
        let mut controller = Dctcp::new(&config, crate::cc::window::dctcp::DctcpMarking);
        controller.on_retransmission_timeout(&RetransmissionTimeout {
            repeated,
            ..RetransmissionTimeout::default()
        });
        assert_eq!(
            controller.report().ssthresh,
            ssthresh,
            "{packets} {repeated}"
        );
        assert_eq!(controller.window(), PACKET);
        assert_eq!(controller.report().limit, Limit::Timeout);
    }
}

#[test]
fn what_is_in_flight_beyond_the_window_is_paced_too() {
    // RFC 9002 §7.7: 1.25 · 200,000 octets in 20 ms.
    let config = WindowConfig {
        rules: crate::cc::window::Rules {
            controller: crate::cc::window::ControllerRules {
                pacing: crate::cc::window::Pacing::Rfc9002,
                ..crate::cc::window::ControllerRules::OFF
            },
            ..crate::cc::window::Rules::RFC9002
        },
        ..config()
    };
    let mut controller = Dctcp::new(&config, crate::cc::window::dctcp::DctcpMarking);
    controller.on_end_acks(&EndAcks {
        rtt: Rtt {
            smoothed: RTT,
            ..Rtt::default()
        },
        ..EndAcks::default()
    });
    for (bytes_in_flight, octets_per_s) in [(99_000, 6.25e6), (200_000, 1.25e7)] {
        controller.on_sent(&Sent {
            bytes_in_flight,
            ..Sent::default()
        });
        let rate = controller.pacing_rate().expect("a sample");
        assert!((rate.as_bytes_per_sec() - octets_per_s).abs() < 1.0);
    }
}
