use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn queue_of(targets: u32) -> EventQueue {
    let mut queue = EventQueue::default();
    for _ in 0..targets {
        queue.add_target();
    }
    queue
}

const fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// Removes all entries, in order.
fn drain(queue: &mut EventQueue) -> Vec<(u64, u32)> {
    let mut out = Vec::new();
    while let Some((time, target)) = queue.peek() {
        out.push((time.as_nanos(), target.0));
        queue.reset(target, NOT_DUE, time);
    }
    out
}

const NOT_DUE: Instant = Instant::FAR_FUTURE;

/// The start of the run.
const START: Instant = Instant::ZERO;

#[test]
fn of_equal_times_the_one_that_was_set_first_comes_first_and_then_the_lower_number() {
    let mut queue = queue_of(5);
    for (target, since) in [(2, 1), (0, 2), (4, 3), (3, 3), (1, 4)] {
        queue.set(TargetId(target), at(5), at(since));
    }
    // Target 0 is set to another time and back: it comes last. Target 3 is set to the time that it
    // had: it keeps its position.
    queue.set(TargetId(0), at(9), at(5));
    queue.set(TargetId(0), at(5), at(5));
    queue.set(TargetId(3), at(5), at(5));
    assert_eq!(drain(&mut queue), [(5, 2), (5, 3), (5, 4), (5, 1), (5, 0)]);
}

#[test]
fn a_node_that_is_due_again_at_once_lets_those_go_first_that_waited() {
    let mut queue = queue_of(2);
    queue.set(TargetId(0), at(5), at(3));
    queue.set(TargetId(1), at(5), at(4));
    assert_eq!(queue.peek(), Some((at(5), TargetId(0))));
    queue.reset(TargetId(0), at(5), at(5));
    assert_eq!(drain(&mut queue), [(5, 1), (5, 0)]);
    assert!(queue.is_empty());
}

#[test]
fn a_cancelled_time_is_never_due() {
    let mut queue = queue_of(2);
    queue.set(TargetId(0), at(5), START);
    queue.set(TargetId(0), NOT_DUE, START);
    assert_eq!(queue.peek(), None);
    assert_eq!(queue.len(), 0);
}

#[test]
fn a_wait_longer_than_an_entry_can_hold_counts_as_the_longest() {
    let mut queue = queue_of(3);
    let late = MAX_WAITING + 1000;
    queue.set(TargetId(2), at(late), START);
    queue.set(TargetId(1), at(late), at(900));
    queue.set(TargetId(0), at(late), at(1001));
    assert_eq!(drain(&mut queue), [(late, 1), (late, 2), (late, 0)]);
}

#[test]
fn entries_that_are_left_for_sooner_ones_are_cleared_away() {
    const TARGETS: u32 = 10;
    let mut queue = queue_of(TARGETS);
    for round in 0..10_000 {
        for target in (0..TARGETS).map(TargetId) {
            // A timer far in the future, and one that is always earlier than the one set before.
            for due in [1 << 40, 1 << 30] {
                queue.set(target, at(due - round), at(round));
            }
        }
        assert!(queue.len() <= 3 * TARGETS as usize, "{}", queue.len());
    }
    let due = (0..TARGETS).map(|target| ((1 << 30) - 9_999, target));
    assert_eq!(drain(&mut queue), due.collect::<Vec<_>>());
}

proptest! {
    #[test]
    fn agrees_with_an_ordered_set(
        steps in prop::collection::vec(
            (0_u32..40, prop::option::of(0_u64..50), 0_u64..4, any::<bool>()),
            1..1000,
        ),
    ) {
        let mut queue = queue_of(40);
        let mut model: BTreeSet<(u64, u64, u32)> = BTreeSet::new();
        for (target, time, since, pop) in steps {
            let since = time.map_or(0, |time| since.min(time));
            let old = model.iter().find(|entry| entry.2 == target).copied();
            if old.map(|entry| entry.0) != time {
                if let Some(old) = old {
                    model.remove(&old);
                }
                if let Some(time) = time {
                    model.insert((time, since, target));
                }
            }
            queue.set(TargetId(target), time.map_or(NOT_DUE, at), at(since));
            let first = model.first().copied();
            let found = queue.peek().map(|(at, target)| (at.as_nanos(), target.0));
            prop_assert_eq!(found, first.map(|(at, _, target)| (at, target)));
            if let Some(first) = first.filter(|_| pop) {
                model.remove(&first);
                queue.reset(TargetId(first.2), NOT_DUE, START);
            }
        }
        let rest: Vec<_> = model.into_iter().map(|(at, _, target)| (at, target)).collect();
        prop_assert_eq!(drain(&mut queue), rest);
    }
}
