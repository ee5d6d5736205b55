//! The cycle of ProbeBW against values worked by hand from draft-ietf-ccwg-bbr §5.3.3.

use super::super::tests::{MS, at, on_path};
use super::*;
use crate::cc::RateSample;
use crate::units::Rate;
use std::collections::BTreeSet;

/// An acknowledgement with this sample.
fn sampled(rate: RateSample) -> EndAcks {
    EndAcks {
        rate,
        ..EndAcks::default()
    }
}

/// A flow past Startup, in this state.
fn cycling(state: State) -> Bbr {
    let mut bbr = on_path();
    bbr.full.reached = true;
    bbr.send_quantum = 2000;
    bbr.cwnd = 200_000;
    bbr.state = state;
    bbr
}

#[test]
fn the_wait_for_a_probe_is_two_to_three_seconds_and_a_round_of_chance() {
    // draft-bbr §5.3.3.8.3, PickProbeWait: random_int_between(0, 1) rounds.
    let mut bbr = cycling(State::Up);
    let mut rounds = BTreeSet::new();
    for _ in 0..100 {
        bbr.start_down(at(700));
        assert!((MS(2000)..MS(3000)).contains(&bbr.cycle.wait));
        rounds.insert(bbr.cycle.rounds_since_up);
    }
    assert_eq!(rounds, BTreeSet::from([0, 1]));
    assert_eq!(bbr.cycle.stamp, at(700));
}

#[test]
fn slowing_down_begins_without_the_losses_of_the_probe() {
    // draft-bbr §5.3.3.9, StartProbeBW_DOWN: ResetCongestionSignals.
    let mut bbr = cycling(State::Up);
    bbr.model.is_loss_in_round = true;
    bbr.model.inflight_latest = 5000;
    bbr.start_down(at(700));
    assert!(!bbr.model.is_loss_in_round);
    assert_eq!(bbr.model.inflight_latest, 0);
}

#[test]
fn headroom_is_a_packet_at_least() {
    // draft-bbr §5.3.3.9, InflightWithHeadroom: max(C.SMSS, 15 %), down to four packets of 1000.
    for (longterm, left) in [(20_000, 17_000), (6000, 5000), (4500, 4000)] {
        let mut bbr = cycling(State::Cruise);
        bbr.model.inflight_longterm = longterm;
        assert_eq!(bbr.inflight_with_headroom(), left, "{longterm}");
    }
}

#[test]
fn a_new_bound_is_what_lost_too_much_also_above_the_one_before() {
    // draft-bbr §5.5.10.2, HandleInflightTooHigh: max(tx_in_flight, 0.7 · 100,000).
    let mut bbr = cycling(State::Refill);
    for (volume, bound) in [(90_000, 90_000), (120_000, 120_000), (60_000, 70_000)] {
        bbr.handle_inflight_too_high(at(700), volume, false);
        assert_eq!(bbr.model.inflight_longterm, bound);
    }
}

#[test]
fn a_refill_begins_without_what_the_last_probe_has_counted() {
    // draft-bbr §5.3.3.9, StartProbeBW_REFILL.
    let mut bbr = cycling(State::Cruise);
    bbr.cycle.up_rounds = 7;
    bbr.cycle.up_acked = 900;
    bbr.cycle.prev_precautionary = true;
    bbr.model.bw_shortterm = 1e5;
    bbr.start_refill();
    assert_eq!((bbr.cycle.up_rounds, bbr.cycle.up_acked), (0, 0));
    assert!(!bbr.cycle.prev_precautionary);
    assert_eq!(bbr.model.bw_shortterm, f64::INFINITY);
}

#[test]
fn a_probe_is_due_after_its_wait_or_as_many_rounds_as_reno_would_take() {
    // draft-bbr §5.3.3.8.3: HasElapsedInPhase requires more than the wait; the rounds are those of
    // min(bdp, cwnd) in packets, at most 63. The bdp is 100 packets.
    for (now, rounds, cwnd, due) in [
        (3500, 0, 200_000, false),
        (3501, 0, 200_000, true),
        (1000, 62, 200_000, false),
        (1000, 63, 200_000, true),
        (1000, 9, 10_000, false),
        (1000, 10, 10_000, true),
    ] {
        let mut bbr = cycling(State::Cruise);
        bbr.cycle.stamp = at(1000);
        bbr.cycle.wait = MS(2500);
        bbr.cycle.rounds_since_up = rounds;
        bbr.cwnd = cwnd;
        assert_eq!(bbr.probe_if_due(at(now)), due, "{now} {rounds} {cwnd}");
        assert_eq!(bbr.state == State::Refill, due);
    }
}

#[test]
fn cruising_begins_when_the_headroom_and_the_queue_are_free() {
    // draft-bbr §5.3.3.9, IsTimeToCruise: InflightWithHeadroom is 85 % of inflight_longterm, and
    // Inflight(max_bw, 1.0) 100,000.
    for (longterm, in_flight, cruises) in [
        (100_000, 85_000, true),
        (100_000, 85_001, false),
        (120_000, 100_000, true),
        (120_000, 100_001, false),
        (u64::MAX, 100_000, true),
    ] {
        let mut bbr = cycling(State::Down);
        bbr.model.inflight_longterm = longterm;
        bbr.bytes_in_flight = in_flight;
        assert_eq!(bbr.is_time_to_cruise(), cruises, "{longterm} {in_flight}");
    }
}

/// The inputs of IsTimeToGoDown.
struct Probe {
    prev_too_high: bool,
    in_flight: u64,
    cwnd_limited: bool,
    cwnd: u64,
    full: bool,
}

#[test]
fn a_probe_ends_where_the_last_was_too_high_or_when_the_pipe_is_full() {
    // draft-bbr §5.3.3.9, IsTimeToGoDown, with inflight_longterm = 100,000: it is reached where no
    // packet of 1000 octets has room below it.
    let probe = |prev_too_high, in_flight, cwnd_limited, cwnd, full| Probe {
        prev_too_high,
        in_flight,
        cwnd_limited,
        cwnd,
        full,
    };
    for (probe, ends, precautionary, full) in [
        (probe(true, 99_001, false, 0, false), true, true, false),
        (probe(true, 100_001, false, 0, false), true, true, false),
        (probe(true, 99_000, false, 0, false), false, false, false),
        (probe(false, 100_000, false, 0, false), false, false, false),
        // The bound, not the path, limits the rate: the estimator is reset.
        (probe(false, 0, true, 100_000, true), false, false, false),
        (probe(false, 0, true, 100_001, true), false, false, false),
        (probe(false, 0, true, 99_999, true), true, false, true),
        (probe(false, 0, false, 100_000, true), true, false, true),
    ] {
        let mut bbr = cycling(State::Up);
        bbr.model.inflight_longterm = 100_000;
        bbr.cycle.prev_too_high = probe.prev_too_high;
        bbr.prior_in_flight = probe.in_flight;
        bbr.cwnd_limited = [probe.cwnd_limited, false];
        bbr.cwnd = probe.cwnd;
        bbr.full.now = probe.full;
        assert_eq!(bbr.is_time_to_go_down(&EndAcks::default()), ends);
        assert_eq!(bbr.cycle.prev_precautionary, precautionary);
        assert_eq!(bbr.full.now, full);
    }
}

#[test]
fn the_bound_grows_twice_as_fast_in_each_round() {
    // draft-bbr §5.3.3.9, RaiseInflightLongtermSlope: cwnd / 2^rounds octets for a packet more,
    // at least a packet; at most 2^30.
    let mut bbr = cycling(State::Up);
    bbr.cwnd = 64_000;
    let steps: Vec<u64> = (0..8)
        .map(|_| {
            bbr.raise_longterm_slope();
            bbr.cycle.acked_per_increment
        })
        .collect();
    assert_eq!(
        steps,
        [64_000, 32_000, 16_000, 8000, 4000, 2000, 1000, 1000]
    );
    assert_eq!(bbr.cycle.up_rounds, 8);
    bbr.cycle.up_rounds = 29;
    for _ in 0..2 {
        bbr.raise_longterm_slope();
        assert_eq!(bbr.cycle.up_rounds, 30);
    }
}

#[test]
fn the_bound_grows_by_packets_while_the_window_is_full() {
    // draft-bbr §5.3.3.9, ProbeInflightLongtermUpward: 1000 + 6000 octets acknowledged are two
    // increments of 3000, and 1000 are left.
    for (cwnd_limited, cwnd, round_start, grown, left, per_increment) in [
        (true, 100_000, false, 2000, 1000, 3000),
        (true, 100_001, false, 2000, 1000, 3000),
        (true, 99_999, false, 0, 1000, 3000),
        (false, 100_000, false, 0, 1000, 3000),
        (true, 100_000, true, 2000, 1000, 25_000),
    ] {
        let mut bbr = cycling(State::Up);
        bbr.model.inflight_longterm = 100_000;
        bbr.model.round_start = round_start;
        bbr.cwnd_limited = [cwnd_limited, false];
        bbr.cwnd = cwnd;
        bbr.cycle.up_rounds = 2;
        bbr.cycle.up_acked = 1000;
        bbr.cycle.acked_per_increment = 3000;
        bbr.probe_longterm_upward(&EndAcks {
            newly_acked: 6000,
            ..EndAcks::default()
        });
        let cycle = bbr.cycle;
        assert_eq!(bbr.model.inflight_longterm, 100_000 + grown);
        assert_eq!(
            (cycle.up_acked, cycle.acked_per_increment),
            (left, per_increment)
        );
    }
}

#[test]
fn the_phases_of_acknowledgements_end_with_rounds() {
    // draft-bbr §5.3.3.9, AdaptLongTermModel.
    use AckPhase::{Init, ProbeFeedback, ProbeStarting, ProbeStopping, Refilling};
    for (phase, round_start, next, is_probe_sample) in [
        (ProbeStarting, true, ProbeFeedback, true),
        (ProbeStarting, false, ProbeStarting, true),
        (ProbeFeedback, true, ProbeFeedback, true),
        (Refilling, true, Refilling, true),
        (ProbeStopping, false, ProbeStopping, true),
        (ProbeStopping, true, Init, false),
        (Init, true, Init, true),
    ] {
        let mut bbr = cycling(State::Cruise);
        bbr.cycle.ack_phase = phase;
        bbr.cycle.is_probe_sample = true;
        bbr.model.round_start = round_start;
        assert!(!bbr.adapt_long_term_model(&EndAcks::default()));
        assert_eq!(bbr.cycle.ack_phase, next, "{phase:?} {round_start}");
        assert_eq!(bbr.cycle.is_probe_sample, is_probe_sample);
    }
}

#[test]
fn the_end_of_a_probe_ages_the_maximum_unless_the_application_limits() {
    // draft-bbr §5.3.3.9: AdvanceMaxBwFilter; the maximum has left the window after two cycles.
    for (state, app_limited, max_bw) in [
        (State::Down, false, 500.0),
        (State::Down, true, 1000.0),
        (State::ProbeRtt, false, 1000.0),
    ] {
        let mut bbr = cycling(state);
        let sample = |bbr: &mut Bbr, rate| {
            let acks = sampled(RateSample {
                delivery_rate: Some(Rate::from_bytes_per_sec(rate)),
                ..RateSample::default()
            });
            bbr.model.update_max_bw(&acks, &bbr.config);
        };
        sample(&mut bbr, 1000.0);
        for _ in 0..2 {
            bbr.cycle.ack_phase = AckPhase::ProbeStopping;
            bbr.model.round_start = true;
            bbr.adapt_long_term_model(&sampled(RateSample {
                app_limited,
                ..RateSample::default()
            }));
        }
        sample(&mut bbr, 500.0);
        assert_eq!(bbr.model.max_bw, max_bw, "{state:?} {app_limited}");
    }
}

#[test]
fn a_cautious_probe_that_went_well_is_followed_by_another_at_once() {
    // draft-bbr §5.3.3.9, Precautionary Bandwidth Probing: Acceleration.
    for (precautionary, too_high, refills) in [
        (true, false, true),
        (true, true, false),
        (false, false, false),
        (false, true, false),
    ] {
        let mut bbr = cycling(State::Down);
        bbr.cycle.ack_phase = AckPhase::ProbeStopping;
        bbr.cycle.prev_precautionary = precautionary;
        bbr.cycle.prev_too_high = too_high;
        bbr.model.round_start = true;
        assert_eq!(bbr.adapt_long_term_model(&EndAcks::default()), refills);
        assert_eq!(bbr.state == State::Refill, refills);
    }
}

#[test]
fn a_flight_without_much_loss_raises_the_long_term_bound() {
    // draft-bbr §5.3.3.9: 2 % of 150,000 are 3000. In ProbeBW_UP 3000 octets acknowledged add a
    // packet.
    for (state, longterm, lost, tx_in_flight, raised) in [
        (State::Cruise, 120_000, 3000, 150_000, 150_000),
        (State::Cruise, 120_000, 3001, 150_000, 120_000),
        (State::Cruise, 120_000, 0, 100_000, 120_000),
        (State::Cruise, u64::MAX, 0, 100_000, u64::MAX),
        (State::Up, 120_000, 0, 100_000, 121_000),
        (State::Up, 120_000, 3001, 100_000, 120_000),
    ] {
        let mut bbr = cycling(state);
        bbr.model.inflight_longterm = longterm;
        bbr.cwnd_limited = [true, false];
        bbr.cycle.acked_per_increment = 3000;
        let acks = EndAcks {
            newly_acked: 3000,
            ..sampled(RateSample {
                tx_in_flight,
                lost,
                ..RateSample::default()
            })
        };
        assert!(!bbr.adapt_long_term_model(&acks));
        assert_eq!(bbr.model.inflight_longterm, raised, "{state:?} {lost}");
    }
}

#[test]
fn too_much_in_flight_bounds_at_beta_of_the_target_or_what_was_in_flight() {
    // draft-bbr §5.5.10.2, HandleInflightTooHigh: 0.7 · 100,000.
    for (tx_in_flight, app_limited, longterm) in [
        (50_000, false, 70_000),
        (80_000, false, 80_000),
        (80_000, true, u64::MAX),
    ] {
        let mut bbr = cycling(State::Refill);
        bbr.handle_inflight_too_high(at(1000), tx_in_flight, app_limited);
        assert_eq!(bbr.model.inflight_longterm, longterm, "{tx_in_flight}");
        assert!(bbr.cycle.prev_too_high);
    }
}

#[test]
fn the_cycle_goes_on_as_its_state_says() {
    // draft-bbr §5.3.3.9, UpdateProbeBWCyclePhase: in DOWN a due probe starts whatever is in
    // flight, REFILL ends with a round, and the cycle requires a pipe that was full once.
    for (full, state, wait, in_flight, round_start, next) in [
        (true, State::Down, 1000, 500_000, false, State::Refill),
        (true, State::Down, 5000, 500_000, false, State::Down),
        (true, State::Down, 5000, 100_000, false, State::Cruise),
        (true, State::Cruise, 1000, 500_000, false, State::Refill),
        (true, State::Cruise, 5000, 500_000, false, State::Cruise),
        (true, State::Refill, 5000, 500_000, false, State::Refill),
        (true, State::Refill, 5000, 500_000, true, State::Up),
        (true, State::Up, 5000, 500_000, true, State::Up),
        (false, State::Cruise, 1000, 500_000, false, State::Cruise),
    ] {
        let mut bbr = cycling(state);
        bbr.full.reached = full;
        bbr.bytes_in_flight = in_flight;
        bbr.model.round_start = round_start;
        bbr.cycle.wait = MS(wait);
        bbr.update_cycle_phase(&EndAcks {
            now: at(2000),
            ..EndAcks::default()
        });
        assert_eq!(bbr.state, next, "{full} {state:?} {wait} {in_flight}");
    }
    // A pipe that was full keeps its long-term bound up to date in every state.
    let mut bbr = cycling(State::Cruise);
    bbr.cycle.wait = MS(5000);
    bbr.model.inflight_longterm = 100_000;
    bbr.update_cycle_phase(&sampled(RateSample {
        tx_in_flight: 110_000,
        ..RateSample::default()
    }));
    assert_eq!(bbr.model.inflight_longterm, 110_000);
}
