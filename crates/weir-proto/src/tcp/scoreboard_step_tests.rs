//! Single steps of the scoreboard: partial acknowledgements, the rules of NextSeg(), and undoing.

use super::*;

const LEN: u32 = 100;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A scoreboard with this many segments, each sent a millisecond after the one before.
fn sent(count: u64) -> Scoreboard {
    let mut board = Scoreboard::new(true);
    for n in 0..count {
        board.on_sent(at(n), LEN);
    }
    board
}

fn starts(next: impl FnMut() -> Option<SentSegment>) -> Vec<u64> {
    std::iter::from_fn(next)
        .map(|segment| segment.start)
        .collect()
}

#[test]
fn without_sack_only_the_first_segment_is_lost_and_only_once() {
    // RFC 6582 §3.2.
    let mut board = sent(3);
    let (segment, snapshot) = board.mark_first_lost().expect("outstanding");
    assert_eq!((segment.start, snapshot.is_some()), (0, true));
    assert!(board.has_lost() && board.has_waiting());
    assert_eq!(board.pipe(), 200);
    assert!(board.mark_first_lost().is_none());
    assert_eq!(starts(|| board.next_lost(at(9))), [0]);
    board.on_cumulative_ack(100, |_| ());
    assert!(!board.has_lost());
    // A SACKed segment is not lost.
    board.on_sack(100, 200, |_| ());
    assert!(board.mark_first_lost().is_none());
    assert!(sent(0).mark_first_lost().is_none());
}

#[test]
fn what_no_rule_found_lost_is_sent_again_once_below_the_highest_sack() {
    // RFC 6675 §4, NextSeg() rule 3.
    let mut board = sent(6);
    board.on_sack(200, 300, |_| ());
    board.on_sack(400, 500, |_| ());
    board.on_recovery_start();
    assert_eq!(starts(|| board.next_unsacked(at(9))), [0, 100, 300]);
    // Once in a recovery: the next recovery begins from the first outstanding segment again, except
    // for segments that are retransmissions already.
    board.on_recovery_start();
    assert_eq!(starts(|| board.next_unsacked(at(10))), [] as [u64; 0]);
    let mut board = sent(3);
    assert_eq!(starts(|| board.next_unsacked(at(9))), [] as [u64; 0]);
}

#[test]
fn a_part_of_a_lost_segment_waits_for_its_retransmission() {
    let mut board = sent(2);
    board.mark_first_lost();
    board.on_cumulative_ack(40, |_| ());
    assert_eq!((board.high_ack(), board.pipe(), board.len()), (40, 100, 2));
    let again = board.next_lost(at(9)).expect("the rest waits");
    assert_eq!((again.start, again.len), (40, 60));
    assert_eq!(board.pipe(), 160);
    assert_eq!(board.first_sent_at(), Some(at(9)));
    // The rest, sent again at 9 ms, is recorded as a transmission: a segment delivered later shows
    // that it is lost.
    let deadline = Deadline {
        xmit_ts: at(20),
        end_seq: 200,
        age: Duration::from_millis(10),
    };
    let mut lost = Vec::new();
    board.detect_losses_by_time(at(19), &deadline, |(segment, _)| lost.push(segment.start));
    assert_eq!(lost, [100, 40]);
}

#[test]
fn only_older_transmissions_are_looked_at() {
    let mut board = sent(3);
    for (newest, has_older) in [((at(0), 0), false), ((at(0), 1), true), ((at(1), 0), true)] {
        assert_eq!(board.has_transmission_before(newest), has_older);
    }
    // The transmissions of delivered segments are removed.
    board.on_cumulative_ack(100, |_| ());
    assert!(!board.has_transmission_before((at(1), 100)));
    assert!(board.has_transmission_before((at(2), 0)));
    board.on_cumulative_ack(300, |_| ());
    assert!(!board.has_transmission_before((at(100), 0)));
}

#[test]
fn a_segment_is_older_by_its_end_if_it_left_at_the_same_time() {
    // RFC 8985 §6.2: RACK_sent_after() compares the ends of segments that left together.
    let mut board = Scoreboard::new(true);
    for _ in 0..4 {
        board.on_sent(at(0), LEN);
    }
    let deadline = Deadline {
        xmit_ts: at(0),
        end_seq: 300,
        age: Duration::from_millis(10),
    };
    let mut lost = Vec::new();
    let rest = board.detect_losses_by_time(at(10), &deadline, |(s, _)| lost.push(s.start));
    assert_eq!((lost, rest), (vec![0, 100], None));
}

#[test]
fn ranges_that_touch_are_one() {
    // Three of half a segment are three ranges for IsLost() (RFC 6675 §4) unless they touch.
    for (blocks, is_lost) in [
        ([(100, 150), (200, 250), (300, 350)], true),
        ([(100, 150), (150, 200), (300, 350)], false),
        ([(150, 200), (100, 150), (300, 350)], false),
        ([(100, 150), (120, 200), (300, 350)], false),
        ([(300, 350), (100, 200), (100, 150)], false),
    ] {
        let mut board = Scoreboard::new(true);
        for _ in 0..8 {
            board.on_sent(at(0), 50);
        }
        for (start, end) in blocks {
            board.on_sack(start, end, |_| ());
        }
        let mut lost = 0;
        board.detect_losses_by_sacks(3, LEN, |_| lost += 1);
        assert_eq!(lost > 0, is_lost, "{blocks:?}");
    }
}

#[test]
fn a_range_grows_at_either_end() {
    let mut board = sent(4);
    board.on_sack(200, 300, |_| {});
    board.on_sack(100, 300, |_| {});
    assert_eq!(board.sacked_segments(), 2);
    board.on_sack(100, 400, |_| {});
    assert_eq!(board.sacked_segments(), 3);
    assert_eq!(board.sacked_ranges, [(100, 400)]);
    // A block below the cumulative acknowledgement leaves no range.
    let mut board = sent(4);
    board.on_cumulative_ack(200, |_| {});
    board.on_sack(100, 200, |_| {});
    assert_eq!(board.sacked_ranges, []);
}
