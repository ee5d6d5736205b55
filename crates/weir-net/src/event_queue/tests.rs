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

/// Takes out everything, in order.
fn drain(queue: &mut EventQueue) -> Vec<(u64, u32)> {
    let mut out = Vec::new();
    while let Some((time, target)) = queue.peek() {
        out.push((time.as_nanos(), target.0));
        queue.reset(target, None);
    }
    out
}

#[test]
fn equal_times_come_in_the_order_in_which_they_were_set() {
    let mut queue = queue_of(4);
    for target in [2, 0, 3, 1] {
        queue.set(TargetId(target), Some(at(5)));
    }
    // Node 0 was set once more, to another time and back: it comes last. Node 3 was set to what
    // it had: it keeps its place.
    queue.set(TargetId(0), Some(at(9)));
    queue.set(TargetId(0), Some(at(5)));
    queue.set(TargetId(3), Some(at(5)));
    assert_eq!(drain(&mut queue), [(5, 2), (5, 3), (5, 1), (5, 0)]);
}

#[test]
fn a_node_that_is_due_again_at_once_lets_the_others_go_first() {
    let mut queue = queue_of(2);
    queue.set(TargetId(0), Some(at(5)));
    queue.set(TargetId(1), Some(at(5)));
    assert_eq!(queue.peek(), Some((at(5), TargetId(0))));
    queue.reset(TargetId(0), Some(at(5)));
    assert_eq!(drain(&mut queue), [(5, 1), (5, 0)]);
    assert!(queue.is_empty());
}

#[test]
fn a_time_that_is_taken_back_never_comes() {
    let mut queue = queue_of(2);
    queue.set(TargetId(0), Some(at(5)));
    queue.set(TargetId(0), None);
    queue.set(TargetId(1), Some(at(Instant::FAR_FUTURE.as_nanos())));
    assert_eq!(queue.peek(), None);
    assert_eq!(queue.len(), 0);
}

#[test]
fn the_order_survives_the_end_of_the_numbers() {
    let mut queue = queue_of(4);
    queue.changes = (1 << ORDER_BITS) - 3;
    for target in [3, 1, 0, 2] {
        queue.set(TargetId(target), Some(at(5)));
    }
    assert!(queue.changes < 10, "counted from zero again");
    queue.set(TargetId(1), Some(at(4)));
    assert_eq!(drain(&mut queue), [(4, 1), (5, 3), (5, 0), (5, 2)]);
}

#[test]
fn reserved_orders_come_before_later_changes_of_the_same_time() {
    let mut queue = queue_of(4);
    queue.set(TargetId(0), Some(at(5)));
    let first = queue.reserve(2);
    queue.set(TargetId(1), Some(at(5)));
    queue.set_in_order(TargetId(2), Some(at(5)), first + 1);
    queue.set_in_order(TargetId(3), Some(at(5)), first);
    assert_eq!(drain(&mut queue), [(5, 0), (5, 3), (5, 2), (5, 1)]);
}

proptest! {
    #[test]
    fn agrees_with_an_ordered_set(
        steps in prop::collection::vec(
            (0_u32..40, prop::option::of(0_u64..50), any::<bool>()),
            1..400,
        ),
    ) {
        let mut queue = queue_of(40);
        let mut model: BTreeSet<(u64, u64, u32)> = BTreeSet::new();
        for (order, (target, time, pop)) in (0_u64..).zip(steps) {
            let old = model.iter().find(|entry| entry.2 == target).copied();
            if old.map(|entry| entry.0) != time {
                if let Some(old) = old {
                    model.remove(&old);
                }
                if let Some(time) = time {
                    model.insert((time, order, target));
                }
            }
            queue.set(TargetId(target), time.map(Instant::from_nanos));
            let first = model.first().copied();
            let found = queue.peek().map(|(at, target)| (at.as_nanos(), target.0));
            prop_assert_eq!(found, first.map(|(at, _, target)| (at, target)));
            if let Some(first) = first.filter(|_| pop) {
                model.remove(&first);
                queue.reset(TargetId(first.2), None);
            }
        }
        let rest: Vec<_> = model.into_iter().map(|(at, _, target)| (at, target)).collect();
        prop_assert_eq!(drain(&mut queue), rest);
    }
}
