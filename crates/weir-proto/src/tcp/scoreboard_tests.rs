//! The scoreboard against RFC 6675 by hand, and its sums against a recount.

use super::*;
use proptest::prelude::*;

const LEN: u32 = 100;

fn sent(count: u64) -> Scoreboard {
    let mut board = Scoreboard::new(true);
    for n in 0..count {
        board.on_sent(at(n), LEN);
    }
    board
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn lost(board: &mut Scoreboard) -> Vec<u64> {
    let mut lost = Vec::new();
    board.detect_losses_by_sacks(3, LEN, |(segment, _)| lost.push(segment.start));
    lost
}

fn retransmitted(board: &mut Scoreboard) -> Vec<u64> {
    std::iter::from_fn(|| board.next_lost(at(50)))
        .map(|segment| segment.start)
        .collect()
}

#[test]
fn a_segment_is_lost_when_more_than_two_segments_above_it_are_sacked() {
    // RFC 6675 §4, IsLost(): more than (DupThresh - 1) * SMSS octets above.
    let mut board = sent(10);
    board.on_sack(100, 300, |_| ());
    assert!(lost(&mut board).is_empty());
    assert_eq!(board.pipe(), 800);
    board.on_sack(300, 400, |_| ());
    assert_eq!(lost(&mut board), [0]);
    assert_eq!(board.pipe(), 600);
    assert_eq!(retransmitted(&mut board), [0]);
    assert_eq!(board.pipe(), 700, "the retransmission is in the pipe");
    assert!(board.next_lost(at(50)).is_none());
}

#[test]
fn a_segment_is_lost_when_three_ranges_above_it_are_sacked() {
    // RFC 6675 §4, IsLost(): DupThresh discontiguous sequences, here of half a segment each.
    let mut board = Scoreboard::new(true);
    for _ in 0..8 {
        board.on_sent(at(0), 50);
    }
    for start in [50, 150] {
        board.on_sack(start, start + 50, |_| ());
        assert!(lost(&mut board).is_empty());
    }
    board.on_sack(250, 300, |_| ());
    assert_eq!(lost(&mut board), [0]);
}

#[test]
fn a_timeout_marks_all_but_the_sacked_segments_as_lost() {
    let mut board = sent(5);
    board.on_sack(200, 300, |_| ());
    board.on_timeout(|_| true, |_| {});
    assert_eq!(board.pipe(), 0);
    assert_eq!(retransmitted(&mut board), [0, 100, 300, 400]);
    // RFC 8985 §6.3: the first in any case, others if they are old enough.
    let mut board = sent(5);
    board.on_timeout(|segment| segment.start == 300, |_| {});
    assert_eq!(retransmitted(&mut board), [0, 300]);
}

#[test]
fn a_timeout_may_forget_the_sacks_and_may_be_taken_back() {
    let mut board = sent(5);
    board.on_sack(200, 300, |_| ());
    board.forget_sacks();
    assert_eq!((board.pipe(), board.sacked_segments()), (500, 0));
    board.on_timeout(|_| true, |_| {});
    assert_eq!(board.pipe(), 0);
    board.undo_timeout();
    assert_eq!((board.pipe(), board.has_lost()), (500, false));
    assert!(board.next_lost(at(50)).is_none());
}

#[test]
fn time_marks_what_was_sent_before_a_delivered_segment() {
    let mut board = sent(4);
    board.on_sack(200, 300, |_| ());
    let deadline = Deadline {
        xmit_ts: at(2),
        end_seq: 300,
        age: Duration::from_millis(10),
    };
    let mut marked = Vec::new();
    // At 10.5 ms the segment sent at 0 is older than 10 ms, that sent at 1 ms lacks 0.5 ms.
    let now = at(10) + Duration::from_micros(500);
    let rest =
        board.detect_losses_by_time(now, &deadline, |(segment, _)| marked.push(segment.start));
    assert_eq!(
        (marked.clone(), rest),
        (vec![0], Some(Duration::from_micros(500)))
    );
    let rest =
        board.detect_losses_by_time(at(11), &deadline, |(segment, _)| marked.push(segment.start));
    assert_eq!((marked, rest), (vec![0, 100], None));
    assert_eq!(retransmitted(&mut board), [0, 100]);
}

#[test]
fn time_marks_a_lost_retransmission_again() {
    let mut board = sent(3);
    board.on_sack(200, 300, |_| ());
    let deadline = |xmit_ts, end_seq| Deadline {
        xmit_ts,
        end_seq,
        age: Duration::ZERO,
    };
    board.detect_losses_by_time(at(20), &deadline(at(2), 300), |_| ());
    assert_eq!(retransmitted(&mut board), [0, 100]);
    board.on_sent(at(60), LEN);
    board.on_sack(300, 400, |_| ());
    let mut marked = Vec::new();
    board.detect_losses_by_time(at(80), &deadline(at(60), 400), |(segment, _)| {
        assert!(segment.retransmitted_ever);
        marked.push(segment.start);
    });
    assert_eq!(marked, [0, 100]);
}

#[test]
fn what_arrived_or_left_behind_it_at_the_same_time_is_not_lost_and_not_looked_at_again() {
    // The first is missing, the second to the eighth have arrived, then two left in one burst.
    let mut board = sent(8);
    board.on_sent(at(7), LEN);
    board.on_sent(at(7), LEN);
    board.on_sack(100, 800, |_| ());
    let deadline = Deadline {
        xmit_ts: at(7),
        end_seq: 800,
        age: Duration::from_millis(10),
    };
    let mut marked = Vec::new();
    let mut detect = |board: &mut Scoreboard, now| {
        board.detect_losses_by_time(now, &deadline, |(segment, _)| marked.push(segment.start))
    };
    let rest = detect(&mut board, at(8));
    assert_eq!(rest, Some(Duration::from_millis(2)));
    let left = [(at(0), 0), (at(7), 800), (at(7), 900)];
    assert_eq!(
        board.transmissions.iter().copied().collect::<Vec<_>>(),
        left
    );
    assert_eq!(detect(&mut board, at(40)), None);
    assert_eq!(board.transmissions.len(), 2);
    assert_eq!(marked, [0]);
}

#[test]
fn the_last_rule_retransmits_each_hole_once() {
    // RFC 6675 §4, NextSeg() rule 3: below the highest SACK, and not known to be lost.
    let mut board = sent(6);
    board.on_sack(100, 200, |_| ());
    board.on_sack(300, 400, |_| ());
    let next = |board: &mut Scoreboard| board.next_unsacked(at(50)).map(|segment| segment.start);
    assert_eq!(next(&mut board), Some(0));
    assert_eq!(next(&mut board), Some(200));
    assert_eq!(next(&mut board), None);
    board.on_recovery_start();
    assert_eq!(next(&mut board), None, "both are in the network already");
}

#[test]
fn a_partly_acknowledged_segment_is_shortened() {
    let mut board = sent(2);
    board.on_cumulative_ack(150, |_| ());
    assert_eq!((board.pipe(), board.high_ack()), (50, 150));
    assert_eq!(board.flight_size(), 50);
}

#[test]
fn blocks_that_overlap_count_each_segment_once() {
    let mut board = sent(10);
    let mut new = Vec::new();
    for (start, end) in [(200, 400), (600, 700), (100, 800), (250, 500), (150, 320)] {
        board.on_sack(start, end, |(segment, _)| new.push(segment.start));
    }
    assert_eq!(new, [200, 300, 600, 100, 400, 500, 700]);
    assert_eq!(board.sacked_segments(), 7);
}

fn check(board: &Scoreboard) -> Result<(), TestCaseError> {
    let segments = &board.segments;
    let pipe: u64 = segments.iter().map(SentSegment::in_pipe).sum();
    prop_assert_eq!(board.pipe(), pipe);
    let sacked = segments.iter().filter(|segment| segment.sacked).count();
    prop_assert_eq!(board.sacked_segments as usize, sacked);
    let lost = |segment: &&SentSegment| segment.lost.is_some() && !segment.sacked;
    prop_assert_eq!(
        board.lost_segments as usize,
        segments.iter().filter(lost).count()
    );
    let waiting = segments
        .iter()
        .filter(lost)
        .filter(|segment| !segment.retransmitted);
    prop_assert!(
        waiting
            .map(|segment| &segment.start)
            .eq(board.waiting.iter())
    );
    for segment in segments.iter().filter(|segment| segment.is_outstanding()) {
        let logged = (segment.sent_at, segment.start);
        prop_assert!(board.transmissions.contains(&logged), "{:?}", segment);
    }
    prop_assert!(board.transmissions.iter().map(|entry| entry.0).is_sorted());
    prop_assert!(
        board
            .sacked_ranges
            .windows(2)
            .all(|pair| pair[0].1 < pair[1].0)
    );
    Ok(())
}

proptest! {
    #[test]
    fn sums_and_lists_always_equal_a_recount(
        steps in proptest::collection::vec((0_u8..12, 0_u64..40, 1_u64..6), 1..200),
    ) {
        let mut board = Scoreboard::new(true);
        for (n, (step, offset, count)) in steps.into_iter().enumerate() {
            let now = at(n as u64);
            match step {
                0..=2 => board.on_sent(now, LEN),
                3 => {
                    let top = board.high_data();
                    let start = (board.high_ack() + offset * 50).min(top);
                    board.on_sack(start, (start + count * 50).min(top), |_| ());
                }
                4 => {
                    let ack = (board.high_ack() + count * 50).min(board.high_data());
                    board.on_cumulative_ack(ack, |_| ());
                }
                5 => { lost(&mut board); }
                6 => { board.next_lost(now); }
                7 => { board.probe(now); }
                8 => {
                    let deadline = Deadline {
                        xmit_ts: at((n as u64).saturating_sub(offset)),
                        end_seq: board.high_data(),
                        age: Duration::from_millis(count * 3),
                    };
                    board.detect_losses_by_time(now, &deadline, |_| ());
                }
                9 => board.on_timeout(|segment| segment.start % 200 == 0, |_| {}),
                10 => board.undo_timeout(),
                _ => {
                    board.next_unsacked(now);
                    if count == 5 {
                        board.forget_sacks();
                    }
                }
            }
            check(&board)?;
        }
    }
}

#[test]
fn a_record_is_small_and_has_a_snapshot_only_if_one_is_kept() {
    assert!(
        size_of::<SentSegment>() <= 24,
        "{}",
        size_of::<SentSegment>()
    );
    for wanted in [true, false] {
        let mut board = Scoreboard::new(wanted);
        for n in 0..3 {
            board.on_sent(at(n), LEN);
            let snapshot = DeliverySnapshot {
                delivered: n,
                ..DeliverySnapshot::default()
            };
            board.set_snapshot(n * 100, snapshot);
        }
        let mut delivered = Vec::new();
        board.on_sack(200, 300, |(_, kept)| {
            delivered.push(kept.map(|kept| kept.delivered));
        });
        board.on_cumulative_ack(200, |(_, kept)| {
            delivered.push(kept.map(|kept| kept.delivered));
        });
        let expected = [2, 0, 1].map(|n| wanted.then_some(n));
        assert_eq!(delivered, expected);
    }
}
