//! Single steps of loss recovery with a window that the test sets.

use super::*;
use crate::cc::recorder::Recorder;
use crate::endpoint::CountedFrom;
use crate::tcp::ecn::ace_flags;
use crate::tcp::rules::RecoveryWindow;

/// An open connection with this window in segments, which it has sent.
fn full(rules: &str, window: u64) -> (Bench, Recorder) {
    let recorder = Recorder::of_window(window * MSS);
    let config = Config::named(rules).expect("a preset");
    let mut bench = Bench::open_of(config, Box::new(recorder.clone()), false);
    assert_eq!(bench.sent(100).len() as u64, window);
    recorder.take_calls();
    (bench, recorder)
}

#[test]
fn an_acknowledgement_without_a_loss_allows_one_more_segment() {
    // RFC 6937 §3.1 with ssthresh 8 segments. Segments 0 and 2 are lost; six have arrived, none is
    // in the network: six leave.
    let (mut bench, _) = full("rfc", 8);
    bench.sender.config.rules.recovery_window = RecoveryWindow::PrrSafeAck;
    bench.ack(200, 0, &[(1, 2), (3, 8)]);
    assert_eq!(bench.sent(200), [0, 2, 8, 9, 10, 11]);
    // A duplicate that reports the arrival of segment 8: one segment leaves for it.
    bench.ack(300, 0, &[(3, 9), (1, 2)]);
    assert_eq!(bench.sent(300), [12]);
    // An advance without a loss: one more than max(8 - 7, 1).
    bench.ack(301, 2, &[(3, 9)]);
    assert_eq!(bench.sent(301), [13, 14]);
}

#[test]
fn a_partial_acknowledgement_sends_again_whatever_the_window() {
    // RFC 6582 §3.2, step 3; ns-2's window in recovery is ssthresh.
    let (mut bench, recorder) = full("ns2-sack1", 8);
    bench.sender.sack = false;
    // The first one changes the window, so that it is no duplicate.
    for _ in 0..4 {
        bench.ack(200, 0, &[]);
    }
    assert_eq!(
        recorder.take_calls_of("lost")[0],
        "200 lost 1000 from 100: of 1000, 1000 since, 0 delivered"
    );
    assert!(bench.sender.prr.is_none());
    assert_eq!(bench.sent(200)[0], 0);
    recorder.script().window = 0;
    bench.ack(300, 2, &[]);
    assert_eq!(bench.sent(300), [2]);
    assert_eq!(bench.sent(300), []);
}

#[test]
fn only_the_first_retransmission_of_a_recovery_passes_the_window() {
    // RFC 6675 §5, step 4.3.
    let (mut bench, recorder) = full("ns2-sack1", 8);
    recorder.script().window = 0;
    bench.ack(200, 0, &[(5, 6), (3, 4), (1, 2)]);
    assert!(bench.sender.prr.is_none());
    assert_eq!(bench.sent(200), [0]);
    bench.ack(201, 0, &[(5, 8), (3, 4), (1, 2)]);
    assert_eq!(recorder.take_calls_of("201 lost").len(), 2);
    assert_eq!(bench.sent(201), []);
    // A retransmission does not restart ns-2's timer: 100 + 4 · 50 ms from the first segment on.
    assert_eq!(bench.expire(), 400);
}

#[test]
fn without_limited_transmit_duplicates_let_nothing_out() {
    // RFC 3042; FlightSize does not change.
    for (limited_transmit, segments) in [(true, vec![4, 5]), (false, vec![])] {
        let (mut bench, _) = full("rfc", 4);
        bench.sender.config.rules.limited_transmit = limited_transmit;
        bench.ack(200, 0, &[(1, 3)]);
        assert_eq!(bench.sent(200), segments);
    }
}

#[test]
fn the_limit_of_slow_start_ends_with_it() {
    // RFC 5681 §3.1, eq. 2 below ssthresh.
    for (ssthresh, octets) in [(5, 1000), (4, 2000), (3, 2000)] {
        let (mut bench, recorder) = full("rfc", 4);
        recorder.script().ssthresh = Some(ssthresh * MSS);
        bench.ack(200, 2, &[]);
        let expected = format!("200 acked {octets} of 4000 from 100");
        assert_eq!(recorder.take_calls_of("acked"), [expected], "{ssthresh}");
    }
}

#[test]
fn empty_blocks_and_blocks_of_unsent_octets_are_ignored() {
    let (mut bench, recorder) = full("rfc", 4);
    bench.ack(200, 0, &[(4, 9)]);
    bench.ack(200, 0, &[(2, 9)]);
    assert_eq!(recorder.take_calls(), [""; 0]);
    // RFC 2883 §4: a duplicate has octets.
    let (mut bench, recorder) = full("linux", 8);
    bench.ack(200, 0, &[(1, 4)]);
    assert_eq!(bench.sent(200)[0], 0);
    bench.ack(300, 8, &[]);
    bench.ack(301, 8, &[(0, 0)]);
    assert_eq!(recorder.take_calls_of("spurious"), [""; 0]);
    bench.ack(302, 8, &[(0, 1)]);
    assert_eq!(recorder.take_calls_of("spurious"), ["302 spurious"]);
}

#[test]
fn the_last_original_before_a_timeout_takes_it_back() {
    // RFC 5682 §3: segment 1, the last one that was sent before the timeout, was sent once.
    let (mut bench, recorder) = full("linux", 2);
    bench.sender.timer.cancel_probe();
    let expired = bench.expire();
    assert_eq!(bench.sent(expired)[0], 0);
    bench.ack(expired + 50, 0, &[(1, 2)]);
    assert_eq!(recorder.take_calls_of("spurious").len(), 1);
}

#[test]
fn a_timeout_presumes_lost_what_is_old_enough() {
    // RFC 8985 §6.3: with RACK the segments that left 100 ms ago or earlier; RFC 6675 §5.1: all.
    for (rules, rto, lost) in [("linux", 500, 5), ("rfc", 1200, 6)] {
        let (mut bench, recorder) = full(rules, 4);
        bench.sender.config.rules.tail_loss_probe = false;
        bench.ack(200, 1, &[]);
        assert_eq!(bench.sent(200), [4]);
        for (window, now) in [(5, rto - 100), (6, rto - 99)] {
            recorder.script().window = window * MSS;
            assert_eq!(bench.sent(now), [window], "{rules}");
        }
        recorder.take_calls();
        assert_eq!(bench.expire(), rto);
        assert_eq!(recorder.take_calls_of("lost").len(), lost, "{rules}");
    }
}

#[test]
fn a_timeout_without_sack_forgets_the_duplicates() {
    // RFC 6582 §3.2: duplicates stand for segments that have left the network before the timeout.
    let (mut bench, recorder) = full("rfc", 4);
    bench.sender.sack = false;
    for _ in 0..3 {
        bench.ack(200, 0, &[]);
    }
    bench.sent(200);
    let expired = bench.expire();
    recorder.script().window = MSS;
    assert_eq!(bench.sent(expired), [0]);
}

#[test]
fn loss_events_count_from_a_time_on() {
    for (from, events) in [(100, 1), (101, 0)] {
        let (mut bench, _) = full("linux", 8);
        bench.sender.count_loss_events_from(CountedFrom {
            at: at(from),
            packets_sent: 0,
        });
        bench.ack(200, 0, &[(1, 4)]);
        assert_eq!(bench.sender.statistics().loss_events, events);
    }
}

#[test]
fn an_echo_reduces_once_in_a_window_of_data() {
    // RFC 3168 §6.1.2.
    let (mut bench, recorder) = full("linux", 4);
    bench.sender.ecn = EcnState::new(EcnMode::Classic);
    let agreed = flag::SYN | flag::ACK | flag::ECE;
    bench.sender.ecn.on_first_syn_ack(agreed, Ecn::NotEct);
    bench.sender.count_loss_events_from(CountedFrom {
        at: at(101),
        packets_sent: 4,
    });
    let mut echo = |millis, ack| {
        let echo = TcpPacket {
            flags: flag::ACK | flag::ECE,
            ..segment(ack, &[])
        };
        bench.receive(at(millis), echo);
        bench.sent(millis);
        let events = bench.sender.statistics().loss_events;
        (recorder.take_calls_of("event"), events)
    };
    let event = |millis, in_flight| {
        format!("{millis} event from {millis}: 0 lost, {in_flight} in flight, None outstanding ecn")
    };
    // Segments sent before the time do not count, up to the last of them.
    assert_eq!(echo(200, 4), (vec![event(200, 0)], 0));
    assert_eq!(echo(201, 4), (vec![], 0), "the end of that window");
    assert_eq!(echo(202, 5), (vec![event(202, 3000)], 1));
}

#[test]
fn a_mark_that_is_counted_is_no_loss() {
    // RFC 9768 §3.2.2: r.cep begins at 5.
    let (mut bench, recorder) = full("linux", 4);
    bench.sender.ecn = EcnState::new(EcnMode::Accurate);
    let agreed = flag::SYN | flag::ACK | ace_flags(0b010);
    bench.sender.ecn.on_first_syn_ack(agreed, Ecn::NotEct);
    let marked = TcpPacket {
        flags: flag::ACK | ace_flags(6),
        ..segment(2, &[])
    };
    bench.receive(at(200), marked);
    let calls = recorder.take_calls();
    let event = "200 event from 100: 0 lost, 2000 in flight, None outstanding ecn";
    assert!(calls.iter().any(|line| line == event), "{calls:?}");
    assert!(
        calls.iter().any(|line| line.contains("1 marked")),
        "{calls:?}"
    );
}
