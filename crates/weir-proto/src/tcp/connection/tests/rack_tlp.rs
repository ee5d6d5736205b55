//! RACK-TLP (RFC 8985) and PRR (RFC 6937) in a connection: the examples of the texts, and when a
//! loss probe leaves.

use super::*;
use crate::tcp::rules::RecoveryWindow;

/// The rules of Linux, with the slow start bound of RFC 6937 in recovery.
fn slow_start_bound() -> Bench {
    let mut bench = Bench::open("linux", false);
    bench.sender.config.rules.recovery_window = RecoveryWindow::PrrSsrb;
    bench
}

#[test]
fn the_example_of_fast_recovery_needs_no_timeout() {
    // RFC 8985 §3.4, figure 1, with a round-trip time of 100 ms: P0 to P3 leave, P1 to P3 are lost.
    let mut bench = slow_start_bound();
    bench.sender.unsent = 4 * MSS;
    assert_eq!(bench.sent(100), [0, 1, 2, 3]);
    bench.ack(200, 1, &[]);
    assert_eq!(bench.expire(), 400, "3a: two round trips later");
    assert_eq!(bench.sent(400), [3], "3b");
    bench.ack(500, 1, &[(3, 4)]);
    assert_eq!(bench.sent(500), [1, 2], "5c");
    // The retransmission of P1 is lost. It left with that of P2, and ends before it.
    bench.ack(600, 1, &[(2, 4)]);
    assert_eq!(bench.sent(600), [1], "7b");
    bench.ack(700, 4, &[]);
    assert_eq!(bench.sent(700), []);
    let counted = bench.sender.statistics();
    assert_eq!((counted.timeouts, counted.loss_events), (0, 1));
    assert_eq!(counted.packets_retransmitted, 4);
}

#[test]
fn a_timeout_leaves_what_was_sent_just_before_it() {
    // RFC 8985 §3.5: segment 1 has waited for an RTO; 2 and 3 left 10 ms before it expires. The RTO
    // is 100 + 200 ms.
    let mut bench = Bench::open("linux", false);
    bench.sender.config.rules.tail_loss_probe = false;
    bench.sender.unsent = MSS;
    assert_eq!(bench.sent(100), [0]);
    bench.ack(200, 1, &[]);
    bench.sender.unsent = MSS;
    assert_eq!(bench.sent(200), [1]);
    bench.sender.unsent = 2 * MSS;
    assert_eq!(bench.sent(490), [2, 3]);
    assert_eq!(bench.expire(), 500);
    assert_eq!(bench.sent(500), [1]);
    bench.ack(550, 2, &[]);
    assert_eq!(bench.sent(550), [], "2 and 3 are not lost");
    assert_eq!(bench.expire(), 850, "a new RTO after the acknowledgement");
    assert_eq!(bench.sent(850), [2]);
}

#[test]
fn a_hole_that_is_not_lost_is_not_sent_again() {
    // RFC 8985 §9.2: NextSeg() of RFC 6675 has no place beside RACK. Reordering was seen, so that
    // segments are lost 100 + 25 ms after they left: 6 at 335, 7 at 355 ms.
    let mut bench = slow_start_bound();
    bench.sender.unsent = 6 * MSS;
    assert_eq!(bench.sent(100).len(), 6);
    bench.ack(200, 0, &[(1, 2)]);
    bench.ack(210, 2, &[]);
    bench.sender.unsent = MSS;
    assert_eq!(bench.sent(210), [6]);
    bench.ack(215, 6, &[]);
    for millis in [230, 232] {
        bench.sender.unsent = MSS;
        assert_eq!(bench.sent(millis).len(), 1);
    }
    bench.ack(332, 6, &[(8, 9)]);
    assert_eq!(bench.sent(332), []);
    bench.ack(340, 6, &[(8, 9)]);
    assert_eq!(bench.sent(340), [6]);
    // Each acknowledgement of a recovery allows a segment by the slow start bound.
    bench.ack(342, 6, &[(8, 9)]);
    assert_eq!(bench.sent(342), []);
    assert_eq!(bench.expire(), 355);
    assert_eq!(bench.sender.statistics().packets_lost, 2);
}

#[test]
fn a_timer_of_reordering_runs_to_the_last_segment() {
    // RFC 8985 §6.2 step 5: timeout = max(remaining). Three segments leave at 100, 105 and 110 ms,
    // the last arrives: 110 + 100 ms; the others are lost at 225 and 230 ms.
    let mut bench = Bench::open("linux", false);
    for millis in [100, 105, 110] {
        bench.sender.unsent = MSS;
        assert_eq!(bench.sent(millis).len(), 1);
    }
    bench.ack(210, 0, &[(2, 3)]);
    assert_eq!(bench.expire(), 230);
    assert_eq!(bench.sender.statistics().packets_lost, 2);
}

/// Three segments left at 100 ms, and the last again at 300 ms, the probe.
fn probed() -> Bench {
    let mut bench = Bench::open("linux", false);
    bench.sender.unsent = 3 * MSS;
    assert_eq!(bench.sent(100), [0, 1, 2]);
    assert_eq!(bench.expire(), 300);
    assert_eq!(bench.sent(300), [2]);
    bench
}

#[test]
fn a_duplicate_without_a_sack_option_shows_that_both_copies_of_a_probe_arrived() {
    // RFC 8985 §7.4.2, case 2: a receiver without DSACK. Nothing is outstanding when its duplicate
    // arrives; one with a SACK option or another window is none, and a DSACK of another segment
    // says nothing of the probe. Otherwise the window is reduced.
    for (window, sacks, events) in [
        (u16::MAX, &[][..], 0),
        (u16::MAX - 1, &[], 1),
        (u16::MAX, &[(2, 2)], 1),
        (u16::MAX, &[(0, 1)], 1),
    ] {
        let mut bench = probed();
        bench.ack(310, 3, &[]);
        let duplicate = TcpPacket {
            window,
            ..segment(3, sacks)
        };
        bench.receive(at(400), duplicate);
        bench.sender.unsent = MSS;
        assert_eq!(bench.sent(400), [3]);
        bench.ack(500, 4, &[]);
        let counted = bench.sender.statistics();
        assert_eq!(counted.loss_events, events, "{window} {sacks:?}");
        assert_eq!(bench.window() < 10.0, events == 1, "{window} {sacks:?}");
    }
}

#[test]
fn a_probe_ends_with_the_recovery_that_begins() {
    // RFC 8985 §7.1: fast recovery and RTO recovery reset TLP.end_seq, and a loss counts once.
    let mut bench = probed();
    bench.ack(400, 0, &[(2, 3)]);
    assert_eq!(bench.sent(400), [0]);
    bench.ack(500, 1, &[(2, 3)]);
    assert_eq!(bench.sent(500), [1]);
    bench.ack(600, 3, &[]);
    bench.sender.unsent = MSS;
    assert_eq!(bench.sent(600), [3]);
    bench.ack(700, 4, &[]);
    assert_eq!(bench.sender.statistics().loss_events, 1);
    // The RTO.
    let mut bench = probed();
    let expired = bench.expire();
    assert_eq!(bench.sender.statistics().timeouts, 1);
    bench.sender.unsent = MSS;
    assert_eq!(bench.sent(expired)[0], 0);
    bench.ack(expired + 100, 3, &[]);
    let sent = bench.sent(expired + 100);
    assert_eq!(sent, [3]);
    bench.ack(expired + 200, 4, &[]);
    assert_eq!(bench.sender.statistics().loss_events, 1);
}

#[test]
fn a_probe_of_new_data_repairs_nothing() {
    // RFC 8985 §7.4.2: "TLP of new data delivered".
    let mut bench = Bench::open("linux", false);
    bench.sender.unsent = 2 * MSS;
    assert_eq!(bench.sent(100), [0, 1]);
    assert_eq!(bench.expire(), 300);
    bench.sender.unsent = MSS;
    assert_eq!(bench.sent(300), [2]);
    bench.sender.unsent = MSS;
    bench.ack(310, 2, &[]);
    assert_eq!(bench.sent(310), [3]);
    bench.ack(410, 4, &[]);
    assert_eq!(bench.sender.statistics().loss_events, 0);
}

#[test]
fn a_probe_needs_a_round_trip_time_since_the_last() {
    // RFC 8985 §7.3: the acknowledgement of a retransmission gives none. The probe is skipped, and
    // the RTO of 100 + 200 ms runs from the probe timeout on.
    let mut bench = Bench::open("linux", false);
    bench.sender.unsent = MSS;
    assert_eq!(bench.sent(100), [0]);
    assert_eq!(bench.expire(), 340);
    assert_eq!(bench.sent(340), [0]);
    bench.ack(440, 1, &[(0, 1)]);
    bench.sender.unsent = MSS;
    assert_eq!(bench.sent(450), [1]);
    assert_eq!(bench.expire(), 690);
    assert_eq!(bench.sent(690), []);
    assert_eq!(bench.sender.statistics().timeouts, 0);
    assert_eq!(bench.expire(), 990);
    assert_eq!(bench.sender.statistics().timeouts, 1);
}

#[test]
fn a_probe_that_is_due_waits_for_the_one_in_flight() {
    // RFC 8985 §7.3: also if a round-trip time was measured since.
    let mut bench = probed();
    bench.ack(310, 1, &[]);
    let due = bench.expire();
    assert_eq!(bench.sent(due), []);
    let counted = bench.sender.statistics();
    assert_eq!((counted.timeouts, counted.packets_retransmitted), (0, 1));
}

#[test]
fn no_probe_is_due_in_a_recovery_or_without_sack() {
    // RFC 8985 §4 and §7.2. The RTO runs for 100 + 200 ms, from the retransmission or the segments.
    let mut bench = Bench::open("linux", false);
    bench.sender.unsent = 5 * MSS;
    assert_eq!(bench.sent(100).len(), 5);
    bench.ack(200, 0, &[(1, 5)]);
    assert_eq!(bench.sent(200), [0]);
    assert_eq!(bench.expire(), 500);
    let mut bench = Bench::open("linux", false);
    bench.sender.sack = false;
    bench.sender.unsent = 3 * MSS;
    assert_eq!(bench.sent(100).len(), 3);
    assert_eq!(bench.expire(), 400);
    assert_eq!(bench.sender.statistics().timeouts, 1);
}

#[test]
fn once_reordering_was_seen_sacks_alone_show_no_loss() {
    // RFC 8985 §6.2 step 4: "RACK does not trigger fast recovery based on DupThresh". The segments
    // of 210 ms are lost 100 + 25 ms later, though four above the first have arrived.
    let mut bench = Bench::open("linux", false);
    bench.sender.unsent = 6 * MSS;
    assert_eq!(bench.sent(100).len(), 6);
    bench.ack(200, 0, &[(1, 2)]);
    bench.ack(210, 2, &[]);
    bench.sender.unsent = 5 * MSS;
    assert_eq!(bench.sent(210), [6, 7, 8, 9, 10]);
    bench.ack(215, 6, &[]);
    bench.ack(310, 6, &[(7, 11)]);
    assert_eq!(bench.sender.statistics().packets_lost, 0);
    assert_eq!(bench.expire(), 335);
    assert_eq!(bench.sender.statistics().packets_lost, 1);
}

#[test]
fn the_window_holds_again_behind_a_recovery() {
    // RFC 6937 §3: sndcnt is for acknowledgements "during recovery". Half of 20 segments leave when
    // it ends, and one more a round trip later (RFC 5681 §3.1).
    let mut bench = Bench::open("rfc", false);
    let (first, t) = bench.grow_to(20);
    bench.ack(t + 100, first, &[(first + 1, first + 4)]);
    bench.sent(t + 100);
    let all = bench.sender.scoreboard.high_data() / MSS;
    bench.ack(t + 200, all, &[]);
    assert_eq!(bench.sent(t + 200).len(), 10);
    bench.ack(t + 300, all + 10, &[]);
    assert_eq!(bench.sent(t + 300).len(), 11);
}

#[test]
fn an_acknowledgement_that_shows_a_new_loss_is_not_safe() {
    // The safe acknowledgement of Linux: 15 of 20 are lost, three SACKed, so that three leave. Of
    // these the second is lost: two were delivered, two leave; one more if it were safe.
    let mut bench = Bench::open("linux", false);
    let (first, t) = bench.grow_to(20);
    bench.ack(t + 100, first, &[(first + 15, first + 18)]);
    let leave = |from: u64, until: u64| (first + from..first + until).collect::<Vec<_>>();
    assert_eq!(bench.sent(t + 100), leave(0, 3));
    let sacks = [(first + 2, first + 3), (first + 15, first + 18)];
    bench.ack(t + 200, first + 1, &sacks);
    let sent = bench.sent(t + 200);
    assert_eq!(sent, [first + 1, first + 3]);
}

#[test]
fn new_data_of_a_recovery_schedules_no_probe() {
    // RFC 8985 §7.2: "unless it is already in fast recovery".
    let mut bench = slow_start_bound();
    let (first, t) = bench.grow_to(16);
    bench.ack(t + 100, first, &[(first + 1, first + 4)]);
    assert_eq!(bench.sent(t + 100)[0], first);
    bench.ack(t + 110, first, &[(first + 1, first + 14)]);
    assert!(bench.sent(t + 110).contains(&(first + 16)));
    bench.expire();
    assert_eq!(bench.sender.statistics().timeouts, 1);
}

#[test]
fn octets_that_are_acknowledged_in_part_count_as_delivered() {
    // RFC 6937 §2: the sum of DeliveredData agrees with the progress. Acknowledgements of halves of
    // segments let as much out as those of whole ones.
    let sent = |halves: u64| {
        let mut bench = Bench::open("rfc", false);
        let (first, t) = bench.grow_to(20);
        bench.ack(t + 100, first, &[(first + 1, first + 4)]);
        let mut sent = bench.sent(t + 100);
        for part in 1..=8 * halves {
            let octets = (first + 4) * MSS + part * MSS / halves;
            let ack = TcpPacket {
                ack: wrap(0, octets),
                ..segment(0, &[])
            };
            bench.receive(at(t + 110), ack);
            sent.extend(bench.sent(t + 110));
        }
        assert_eq!(sent[0], first);
        sent
    };
    let whole = sent(1);
    assert!(whole.len() > 3, "{whole:?}");
    assert_eq!(sent(2), whole);
}
