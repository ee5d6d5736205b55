//! Which packets count as lost, and which losses are one loss event.

use super::*;

#[test]
fn a_lost_packet_adds_no_octets_and_counts_among_the_packets() {
    // Nine of ten packets of 1000 octets in the window of 500 ms.
    let mut nada = nada();
    let mut packets: Vec<_> = (0..10).map(|n| received(n, 20 * n, 10, 1000)).collect();
    packets[4] = lost(4, 80);
    report(&mut nada, 220, &packets);
    assert!(close(nada.measured.receive_bytes_per_sec, 18_000.0));
    // The window has one packet, which is lost: (10) takes ALPHA of a ratio of one.
    let mut nada = super::nada();
    report(&mut nada, 120, &[lost(0, 100)]);
    assert!(close(nada.measured.loss_ratio, 0.1));
}

#[test]
fn a_packet_behind_its_successor_counts_as_lost() {
    // RFC 8698 §5.1.2; it waited 5 ms, less than QEPS, so that only the order ends the ramp-up.
    for (first, mode) in [(9, Mode::AcceleratedRampUp), (15, Mode::GradualUpdate)] {
        let mut nada = nada();
        report(&mut nada, 120, &[received(0, 100, 10, 1000)]);
        let packets = [received(1, 180, first, 1000), received(2, 184, 10, 1000)];
        report(&mut nada, 220, &packets);
        assert_eq!(nada.mode, mode, "{first}");
    }
}

#[test]
fn losses_within_a_round_trip_are_one_event() {
    // RFC 5348 §5.2; the round-trip time is 20 ms.
    for (apart, events) in [(10, 1), (20, 1), (21, 2)] {
        let mut nada = nada();
        let packets = [
            received(0, 0, 10, 1000),
            lost(1, 40),
            received(2, 41, 10, 1000),
            lost(3, 40 + apart),
            received(4, 80, 10, 1000),
        ];
        report(&mut nada, 110, &packets);
        assert_eq!(nada.loss_events(), events, "{apart} ms");
    }
}

#[test]
fn when_all_packets_are_lost_all_of_the_delay_is_warped() {
    // Each is an event of its own, so the average interval is one packet (RFC 5348 §5.4).
    let mut observations = Observations::new();
    let packets: Vec<_> = (1..20).map(|n| lost(n, 100 * n)).collect();
    let config = NadaConfig::default();
    let rtt = Duration::from_millis(20);
    observations.on_report(&config, &packets, Duration::from_secs(2), rtt);
    assert!(close(observations.warped_share(7.0), 1.0));
}

#[test]
fn behind_loss_exp_the_delay_is_between_the_warped_and_its_own() {
    // RFC 8698 §4.2, with a MULTILOSS of zero: 25 packets after the loss behind 50 packets half of
    // the average loss interval (RFC 5348 §5.4) has passed, so that half of the delay is warped
    // (1): 0.5 · 150 ms + 0.5 · 50 ms · exp(-1).
    let config = NadaConfig {
        multiloss: 0.0,
        ..NadaConfig::default()
    };
    let mut nada = Nada::new(config, DELTA);
    let packet = |n| match n {
        50 => lost(n, 20 * n),
        _ => received(n, 20 * n, 10, 1000),
    };
    let packets: Vec<_> = (0..=75).map(packet).collect();
    report(&mut nada, 1700, &packets);
    nada.measured = Measured {
        queue_delay: Duration::from_millis(150),
        ..Measured::default()
    };
    let expected = 0.075 + 0.025 * 0.367_879_441_2;
    assert!(close(nada.congestion_signal(), expected));
}
