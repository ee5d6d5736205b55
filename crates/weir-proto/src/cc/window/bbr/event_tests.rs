//! BBR's reaction to each event of the transport, against draft-ietf-ccwg-bbr.

use super::tests::{Flow, MDS, MS, at, on_path};
use super::*;
use crate::cc::{RateSample, Rtt, WindowControllerExt as _};
use crate::event::RateLimit;

#[test]
fn a_connection_begins_with_nothing_saved_or_in_flight() {
    // draft-bbr §5.2.1, OnInit.
    let mut bbr = Bbr::new(&WindowConfig::default());
    assert_eq!(bbr.prior_cwnd, 0);
    // RFC 9002 §7.6.2: the minimum window, of two packets.
    bbr.on_persistent_congestion(at(5));
    assert_eq!(bbr.window(), 2 * 1252);
    assert_eq!(bbr.report().limit, Limit::PersistentCongestion);
    // A datagram size of zero counts as one octet: MinPipeCwnd is four.
    let config = WindowConfig {
        max_datagram_size: 0,
        ..WindowConfig::default()
    };
    assert_eq!(Bbr::new(&config).min_pipe_cwnd(), 4);
}

#[test]
fn the_first_packet_starts_the_clocks_of_the_model() {
    let mut bbr = Bbr::new(&WindowConfig::default());
    for (now, smoothed) in [(700, 50), (800, 60)] {
        bbr.on_sent(&Sent {
            now: at(now),
            rtt: Rtt {
                smoothed: MS(smoothed),
                ..Rtt::default()
            },
            ..Sent::default()
        });
        assert_eq!(bbr.model.probe_rtt_min_stamp, at(700));
        assert_eq!(bbr.model.min_rtt, Some(MS(50)));
    }
}

#[test]
fn the_window_counts_as_full_where_no_other_packet_fits() {
    // draft-bbr §2.2, C.is_cwnd_limited: in this round or the last. The window is ten packets.
    let mut bbr = Flow::new().bbr;
    bbr.cwnd = 10 * MDS;
    for (in_flight, full) in [(9000, false), (9001, true), (1000, true)] {
        bbr.on_sent(&Sent {
            bytes: MDS,
            bytes_in_flight: in_flight,
            ..Sent::default()
        });
        assert_eq!(bbr.cwnd_limited[0], full, "{in_flight}");
    }
    let round = EndAcks::default();
    for limited in [[false, true], [false, false]] {
        bbr.update_model_and_state(&round);
        assert_eq!(bbr.cwnd_limited, limited);
        assert_eq!(bbr.is_cwnd_limited(), limited[1]);
    }
}

#[test]
fn the_window_is_not_full_above_the_size_that_fills_it() {
    for (in_flight, full) in [(20_000, true), (9001, true), (8999, false)] {
        let mut bbr = Bbr::new(&WindowConfig {
            max_datagram_size: MDS,
            ..WindowConfig::default()
        });
        bbr.on_sent(&Sent {
            bytes: MDS,
            bytes_in_flight: in_flight,
            ..Sent::default()
        });
        assert_eq!(bbr.is_cwnd_limited(), full, "{in_flight}");
    }
}

#[test]
fn only_the_first_packet_in_flight_after_a_limit_by_the_application_is_a_restart() {
    // draft-bbr §5.4.1: C.inflight == 0 and C.app_limited.
    for (in_flight, app_limited, restarts) in [
        (MDS, true, true),
        (2 * MDS, true, false),
        (MDS, false, false),
        (2 * MDS, false, false),
    ] {
        let mut bbr = on_path();
        bbr.on_sent(&Sent {
            bytes: MDS,
            bytes_in_flight: in_flight,
            app_limited,
            ..Sent::default()
        });
        assert_eq!(bbr.idle_restart, restarts, "{in_flight} {app_limited}");
    }
}

#[test]
fn a_restart_begins_the_interval_of_aggregation_anew() {
    // draft-bbr §5.4.1: BBR.extra_acked_interval_start = Now().
    let mut bbr = on_path();
    bbr.on_sent(&Sent {
        now: at(500),
        bytes: MDS,
        bytes_in_flight: MDS,
        app_limited: true,
        ..Sent::default()
    });
    assert_eq!(bbr.model.extra_acked_interval_start, at(500));
}

#[test]
fn what_was_in_flight_before_an_acknowledgement_is_kept_beside_what_is_behind_it() {
    // draft-bbr §5.3.3.6 compares with the octets that the window had allowed.
    let mut bbr = on_path();
    bbr.on_sent(&Sent {
        bytes: MDS,
        bytes_in_flight: 50_000,
        ..Sent::default()
    });
    bbr.on_end_acks(&EndAcks {
        bytes_in_flight: 48_000,
        ..EndAcks::default()
    });
    assert_eq!((bbr.prior_in_flight, bbr.bytes_in_flight), (50_000, 48_000));
}

#[test]
fn a_recovery_is_for_the_packets_that_left_before_it_began() {
    // RFC 9002 §7.3.2: a packet sent after the start of a recovery starts the next recovery if it
    // is lost, and ends the present one if it is acknowledged.
    let lost = |now, sent_at| Lost {
        now: at(now),
        sent_at: at(sent_at),
        bytes: MDS,
        ..Lost::default()
    };
    let mut bbr = on_path();
    for (now, sent_at, start) in [(20, 10, 20), (30, 20, 20), (40, 19, 20), (50, 21, 50)] {
        bbr.on_lost(&lost(now, sent_at));
        assert_eq!(bbr.recovery_start, Some(at(start)), "{now}");
    }
    for (newest_sent_at, start) in [(49, Some(at(50))), (50, Some(at(50))), (51, None)] {
        bbr.on_end_acks(&EndAcks {
            newest_sent_at: at(newest_sent_at),
            ..EndAcks::default()
        });
        assert_eq!(bbr.recovery_start, start, "{newest_sent_at}");
    }
}

#[test]
fn rounds_are_counted_one_by_one_since_the_last_probe() {
    // draft-bbr §5.5.1, UpdateRound.
    let mut bbr = on_path();
    bbr.cycle.rounds_since_up = 5;
    bbr.update_model_and_state(&EndAcks::default());
    assert_eq!(bbr.cycle.rounds_since_up, 6);
}

#[test]
fn startup_remembers_one_round_of_aggregation_and_later_ten() {
    // draft-bbr §5.5.9: filter_len = 1 until the pipe is full, then ExtraAckedFilterLen = 10. Eight
    // packets arrive at once in the first round, and none in the 8 ms in which they are expected.
    for (full, extra) in [(false, [8000, 8000, 0]), (true, [8000; 3])] {
        let mut bbr = on_path();
        bbr.full.reached = full;
        bbr.state = State::Cruise;
        let found = [(0, 8000), (8, 0), (16, 0)].map(|(now, newly_acked)| {
            bbr.update_model_and_state(&EndAcks {
                now: at(now),
                newly_acked,
                ..EndAcks::default()
            });
            bbr.model.extra_acked
        });
        assert_eq!(found, extra, "{full}");
    }
}

#[test]
fn a_drain_ends_at_the_bandwidth_delay_product_exactly() {
    // draft-bbr §5.3.2: C.inflight <= Inflight(bw, 1.0).
    for (in_flight, state) in [(100_000, State::Down), (100_001, State::Drain)] {
        let mut bbr = on_path();
        bbr.state = State::Drain;
        bbr.bytes_in_flight = in_flight;
        bbr.check_drain_done(&EndAcks::default());
        assert_eq!(bbr.state, state, "{in_flight}");
    }
}

#[test]
fn spurious_losses_restore_the_state_that_they_have_ended() {
    // draft-bbr §5.5.11.2, HandleSpuriousLossDetection; a visit of ProbeRTT continues.
    for (undo, state, restored, full) in [
        (UndoState::None, State::Down, State::Down, true),
        (UndoState::Startup, State::Drain, State::Startup, false),
        (UndoState::Startup, State::Cruise, State::Startup, false),
        (UndoState::Startup, State::Startup, State::Startup, true),
        (UndoState::Startup, State::ProbeRtt, State::ProbeRtt, false),
        (UndoState::ProbeUp, State::Down, State::Refill, true),
        (UndoState::ProbeUp, State::Cruise, State::Refill, true),
        (UndoState::ProbeUp, State::Up, State::Up, true),
        (UndoState::ProbeUp, State::ProbeRtt, State::ProbeRtt, true),
    ] {
        let mut bbr = on_path();
        bbr.state = state;
        bbr.full.bw = 1e6;
        bbr.full.reached = true;
        bbr.undo.state = undo;
        bbr.on_spurious_congestion_event(at(100));
        assert_eq!((bbr.state, bbr.full.reached), (restored, full), "{undo:?}");
        assert_eq!(bbr.full.bw, 0.0, "ResetFullBW");
        assert_eq!(bbr.undo.state, UndoState::None);
    }
}

#[test]
fn spurious_losses_give_back_the_window_and_the_bounds_of_before() {
    // draft-bbr §5.5.11.2: each is at least the saved value, and the round has no loss left.
    let mut bbr = on_path();
    bbr.state = State::Cruise;
    (bbr.cwnd, bbr.prior_cwnd) = (30_000, 50_000);
    bbr.model.is_loss_in_round = true;
    bbr.model.bw_shortterm = 5e5;
    bbr.model.inflight_shortterm = 30_000;
    bbr.model.inflight_longterm = 90_000;
    bbr.undo = Undo {
        state: UndoState::None,
        bw_shortterm: 8e5,
        inflight_shortterm: 60_000,
        inflight_longterm: 80_000,
    };
    bbr.on_spurious_congestion_event(at(100));
    assert_eq!(bbr.cwnd, 50_000);
    assert!(!bbr.model.is_loss_in_round);
    assert_eq!(bbr.model.bw_shortterm, 8e5);
    assert_eq!(bbr.model.inflight_shortterm, 60_000);
    assert_eq!(bbr.model.inflight_longterm, 90_000);
}

#[test]
fn the_transport_gets_needs_limit_and_pacing_rate() {
    let mut flow = Flow::cruising();
    let bbr = &flow.bbr;
    assert!(bbr.needs().window_in_recovery);
    // draft-bbr §5.3.3.9, ProbeInflightLongtermUpward: only a window that is full raises the bound.
    assert!(bbr.needs().filled_window);
    assert_eq!(
        bbr.report().limit,
        Limit::SlowStart,
        "the window still grows"
    );
    // draft-bbr §5.6.2: 99 % of 1 MB/s.
    let rate = bbr.pacing_rate().expect("it always paces");
    assert!((rate.as_bytes_per_sec() - 9.9e5).abs() < 1.0);
    let sample = RateSample {
        app_limited: true,
        ..RateSample::default()
    };
    flow.ack(100, 1e6, 100_000, sample);
    assert!(!flow.limits_samples);
}

#[test]
fn a_receiver_that_is_slow_ends_startup_with_the_next_acknowledgement() {
    // RFC 4341 §5.2: a receiver that reports Slow Receiver ends slow start; the state after Startup
    // is Drain (draft-bbr §5.3.1.1) while more than the bandwidth-delay product is in flight: 0.1
    // MB/s over 100 ms are 10,000 octets.
    for (tells, state) in [(false, "startup"), (true, "drain")] {
        let mut flow = Flow::new();
        if tells {
            flow.bbr.on_connection_event(ConnectionEvent::SlowReceiver);
        }
        flow.ack(100, 1e5, 40_000, RateSample::default());
        assert_eq!(flow.bbr.report().state, state);
    }
}

#[test]
fn the_limit_of_the_rate_is_that_of_the_sample_behind_the_bandwidth() {
    // draft-bbr §5.5.5: the maximum of the samples is the bandwidth.
    let mut flow = Flow::new();
    for (rate, limited_by, told) in [
        (1e5, RateLimit::ReceiverCredit, RateLimit::ReceiverCredit),
        (9e4, RateLimit::Path, RateLimit::ReceiverCredit),
        (2e5, RateLimit::Path, RateLimit::Path),
    ] {
        let sample = RateSample {
            limited_by,
            ..RateSample::default()
        };
        flow.ack(100, rate, 40_000, sample);
        assert_eq!(flow.bbr.report().rate_limited_by, Some(told), "{rate}");
    }
}
