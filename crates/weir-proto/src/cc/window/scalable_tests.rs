use super::*;
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

/// A round of acknowledgements, each for two packets, that were sent in the round before; of these
/// as many are marked as `marks` says, the first ones.
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
    assert_eq!(controller.ecn(), Some(EcnCapability::Ect0));
    Dctcp::new(&config(), crate::cc::window::dctcp::DctcpMarking)
}

#[test]
fn alpha_is_an_average_over_rounds_with_a_gain_of_a_sixteenth() {
    // RFC 8257 §3.3 and §4.2, GAIN = 1/16 and FIRST_ALPHA = 1: the first mark halves the window of
    // 100 packets. From then on each round without marks takes a sixteenth: alpha = (15/16)^n.
    let mut controller = dctcp();
    round(&mut controller, 1, RTT, 2);
    assert_eq!(controller.window(), 50 * PACKET);
    assert_eq!(controller.ssthresh(), Some(50 * PACKET));
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
    assert_eq!(controller.state(), "recovery");
}

#[test]
fn a_steady_share_of_marks_holds_the_window_at_two_packets_of_them_a_round() {
    // RFC 9332 appendix C, equation (6): r_L = 2 / (R p), so two marks in a round. A network that
    // marks one packet in fifty holds Prague at a hundred.
    let mut controller = Prague::new(
        &config(),
        crate::cc::window::prague::PragueMarking::default(),
    );
    assert_eq!(controller.ecn(), Some(EcnCapability::Ect1));
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
    let mut controller = Prague::new(
        &config(),
        crate::cc::window::prague::PragueMarking::default(),
    );
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
    assert!((last / 0.04 - 1.0).abs() < 0.05, "{last}");
}

#[test]
fn prague_paces_its_window_over_the_round_trip_time() {
    let mut controller = Prague::new(
        &config(),
        crate::cc::window::prague::PragueMarking::default(),
    );
    assert_eq!(controller.pacing_rate(), None, "before the first sample");
    round(&mut controller, 1, RTT, 2);
    round(&mut controller, 2, RTT, 0);
    let window = controller.window() as f64;
    let rate = controller.pacing_rate().expect("there is a sample");
    assert!((rate.as_bps() / (window * 8.0 / 0.02) - 1.0).abs() < 0.001);
    // BURST_S: 2.55 MB/s for 1/4096 s is less than a packet.
    assert_eq!(controller.send_quantum(), Some(PACKET));
}
