//! Pacing rate and window of BBR against values worked by hand from draft-ietf-ccwg-bbr.

use super::super::tests::{Flow, on_path};
use super::*;
use crate::cc::WindowController;

#[test]
fn the_pacing_rate_only_rises_until_the_pipe_is_full_and_is_never_nothing() {
    // draft-bbr §5.6.2, SetPacingRateWithGain: 99 % of the gain times bw.
    for (bw, full, rate) in [
        (2e5, false, 1.98e5),
        (1e4, false, 1e5),
        (1e4, true, 9.9e3),
        (1.0, true, 0.99),
        (0.0, true, 1e5),
    ] {
        let mut bbr = on_path();
        bbr.pacing_rate = 1e5;
        bbr.model.bw = bw;
        bbr.full.reached = full;
        bbr.set_pacing_rate_with_gain(1.0);
        assert!((bbr.pacing_rate - rate).abs() < 1e-6, "{bw} {full}");
    }
}

#[test]
fn inflight_has_room_for_a_quantum_and_for_two_packets_more_of_a_probe() {
    // draft-bbr §5.6.4.2, QuantizationBudget: at least the offload budget and four packets.
    for (bw, quantum, inflight) in [(1e6, 2000, 100_000), (1e4, 2000, 4000), (1e4, 5000, 5000)] {
        let mut bbr = on_path();
        bbr.send_quantum = quantum;
        for (state, more) in [(State::Cruise, 0), (State::Up, 2000), (State::Drain, 0)] {
            bbr.state = state;
            assert_eq!(bbr.inflight(bw, 1.0), inflight + more, "{bw} {state:?}");
        }
    }
}

#[test]
fn a_window_that_recovery_or_probe_rtt_has_reduced_is_not_what_is_saved() {
    // draft-bbr §5.6.4.4, SaveCwnd.
    let recovery = Some(crate::time::Instant::ZERO);
    for (recovery_start, state, saved) in [
        (None, State::Cruise, 30_000),
        (recovery, State::Cruise, 50_000),
        (None, State::ProbeRtt, 50_000),
        (recovery, State::ProbeRtt, 50_000),
    ] {
        let mut bbr = on_path();
        bbr.prior_cwnd = 50_000;
        bbr.cwnd = 30_000;
        bbr.recovery_start = recovery_start;
        bbr.state = state;
        bbr.save_cwnd();
        assert_eq!(bbr.prior_cwnd, saved, "{recovery_start:?} {state:?}");
    }
}

/// An acknowledgement of `newly_acked` octets.
fn acked(newly_acked: u64) -> EndAcks {
    EndAcks {
        newly_acked,
        ..EndAcks::default()
    }
}

#[test]
fn startup_grows_below_two_bandwidth_delay_products_and_in_the_first_window() {
    // draft-bbr §5.6.4.6, SetCwnd: max_inflight is 2 · 100,000; the initial window 10,000.
    for (cwnd, delivered, grown) in [
        (199_999, 10_000, 1500),
        (200_000, 10_000, 0),
        (200_001, 10_000, 0),
        (200_000, 9999, 1500),
        (199_999, 9999, 1500),
        (200_000, 10_001, 0),
    ] {
        let mut bbr = on_path();
        bbr.cwnd = cwnd;
        bbr.model.delivered = delivered;
        bbr.set_cwnd(&acked(1500));
        assert_eq!(bbr.window(), cwnd + grown, "{cwnd} {delivered}");
        assert_eq!(bbr.report().limit, Limit::SlowStart);
    }
}

#[test]
fn a_window_of_four_packets_is_bound_by_the_minimum() {
    // draft-bbr §5.6.4.6: max(cwnd, MinPipeCwnd).
    for cwnd in [3000, 4000] {
        let mut bbr = on_path();
        bbr.model.bw = 0.0;
        bbr.model.delivered = 10_000;
        bbr.send_quantum = 2000;
        bbr.cwnd = cwnd;
        bbr.set_cwnd(&acked(0));
        assert_eq!(bbr.window(), 4000);
        assert_eq!(bbr.report().limit, Limit::MinimumWindow);
    }
}

#[test]
fn each_state_has_its_bounds_of_the_model() {
    // draft-bbr §5.6.4.7, BoundCwndForModel; the headroom of 100,000 is 15,000; at least four
    // packets.
    let longterm = Limit::InflightLongterm;
    for (state, bound, limit) in [
        (State::Startup, 150_000, Limit::SlowStart),
        (State::Drain, 150_000, Limit::SlowStart),
        (State::Down, 100_000, longterm),
        (State::Refill, 100_000, longterm),
        (State::Up, 100_000, longterm),
        (State::Cruise, 85_000, longterm),
        (State::ProbeRtt, 85_000, longterm),
    ] {
        for (shortterm, window, limit) in [
            (u64::MAX, bound, limit),
            (60_000, 60_000, Limit::InflightShortterm),
            (1000, 4000, Limit::InflightShortterm),
        ] {
            let mut bbr = on_path();
            bbr.state = state;
            bbr.cwnd = 150_000;
            bbr.limit = Limit::SlowStart;
            bbr.model.inflight_longterm = 100_000;
            bbr.model.inflight_shortterm = shortterm;
            bbr.bound_cwnd_for_model();
            assert_eq!((bbr.cwnd, bbr.limit), (window, limit), "{state:?}");
        }
    }
}

#[test]
fn the_bounds_of_the_model_are_part_of_setting_the_window() {
    let mut bbr = Flow::cruising().bbr;
    bbr.model.inflight_longterm = 20_000;
    bbr.set_cwnd(&acked(1000));
    assert_eq!(bbr.window(), 17_000);
}

#[test]
fn a_bound_that_takes_nothing_away_does_not_bind() {
    let mut bbr = on_path();
    bbr.cwnd = 5000;
    bbr.limit = Limit::SlowStart;
    bbr.bound_cwnd(5000, Limit::ProbeRtt);
    assert_eq!(bbr.limit, Limit::SlowStart);
}

#[test]
fn the_window_follows_the_bandwidth_that_losses_leave() {
    // draft-bbr §5.6.4.2, BDPMultiple: BBR.bw, not BBR.max_bw; 2 · 500,000 · 0.1 s.
    let mut bbr = on_path();
    bbr.full.reached = true;
    bbr.state = State::Cruise;
    bbr.cwnd = 300_000;
    bbr.model.bw = 5e5;
    bbr.set_cwnd(&acked(1000));
    assert_eq!(bbr.cwnd, 100_000);
}
