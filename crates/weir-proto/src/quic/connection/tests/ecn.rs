//! Congestion marks, and paths that do not carry them (RFC 9000 §13.4).

use super::*;

#[test]
fn ecn_marks_halve_the_window_without_a_loss() {
    let mut config = lossy_link("inet-2025", 1);
    config.ecn = true;
    let mut pair = Pair::started(config);
    pair.bulk = Some(Side::Client);
    pair.drop = periodic(51);
    pair.run_for(millis(500));
    pair.drop = Box::new(|_, _| false);
    pair.run_for(millis(20));
    let before = (pair.client.controller.window(), pair.client.statistics());
    pair.mark_next = true;
    pair.run_for(millis(4));
    let after = (pair.client.controller.window(), pair.client.statistics());
    assert!(
        after.0 <= before.0 / 2 + 2 * 1252,
        "{} {}",
        before.0,
        after.0
    );
    assert_eq!(after.1.loss_events, before.1.loss_events + 1);
    assert_eq!(after.1.packets_lost, before.1.packets_lost);
}

#[test]
fn a_controller_without_an_answer_to_marks_sends_packets_without_ect() {
    // draft-bbr §3.7.
    for (controller, ecn) in [("bbr", Ecn::NotEct), ("newreno", Ecn::Ect0)] {
        let mut config = Config {
            ecn: true,
            ..Config::default()
        };
        config.controller = window::find(controller).unwrap();
        let mut pair = Pair::started(config);
        pair.bulk = Some(Side::Client);
        pair.run_for(millis(10));
        assert_eq!(pair.client.ecn_field(), ecn, "{controller}");
    }
}

/// A pair with ECN whose client sends all it can.
fn with_ecn() -> Pair {
    let mut pair = Pair::new(Config {
        ecn: true,
        ..Config::default()
    });
    pair.bulk = Some(Side::Client);
    pair
}

#[test]
fn a_black_hole_for_ecn_costs_two_probe_timeouts_and_then_packets_are_not_capable() {
    // RFC 9000 §13.4.2 and appendix A.4: three periods of the PTO without an acknowledgement. The
    // initial PTO is 3·333 ms (RFC 9002 §6.2.2): it expires at 1 and at 3 s.
    for black_hole in [Side::Client, Side::Server] {
        let mut pair = with_ecn();
        pair.drop =
            Box::new(move |side, packet| side == black_hole && packet.ip.ecn != Ecn::NotEct);
        pair.client.connect(pair.now);
        pair.run_for(millis(2900));
        assert_eq!(pair.end(black_hole).ecn_field(), Ecn::Ect0);
        assert_eq!(pair.octets_read, 0);
        pair.run_for(millis(110));
        assert_eq!(pair.end(black_hole).ecn_field(), Ecn::NotEct);
        assert!(pair.octets_read > 0, "{black_hole:?}");
    }
}

#[test]
fn timeouts_of_a_path_that_takes_ecn_do_not_end_its_use() {
    let mut pair = with_ecn();
    pair.client.connect(pair.now);
    pair.run_for(millis(10));
    pair.drop = Box::new(|_, _| true);
    pair.run_for(millis(60_000));
    assert!(pair.client.pto_count > 3);
    assert_eq!(pair.client.ecn_field(), Ecn::Ect0);
}

#[test]
fn a_path_that_clears_the_field_ends_the_use_of_ecn_and_one_that_marks_does_not() {
    // RFC 9000 §13.4.2.1: each acknowledged packet has to appear in the counts of the peer.
    for (share, field) in [(1, Ecn::NotEct), (20, Ecn::NotEct), (0, Ecn::Ect0)] {
        let mut pair = with_ecn();
        pair.bleach = share;
        pair.client.connect(pair.now);
        pair.run_for(millis(12));
        pair.mark_next = pair.client.ecn_field() == Ecn::Ect0;
        pair.run_for(millis(12));
        assert_eq!(pair.client.ecn_field(), field, "{share}");
        assert!(pair.octets_read > 100_000, "{share}");
    }
}
