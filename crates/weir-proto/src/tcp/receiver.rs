//! The receiving half: reassembly, SACK blocks (RFC 2018) and the delayed ACK algorithm (RFC 5681
//! §4.2): an ACK for every `ack_every`-th segment, within a delay, and at once while octets are
//! missing.

use super::wire::SackBlocks;
use crate::time::{Duration, Instant};

/// The capacity for ranges out of order that is kept.
const MOST_RANGES_KEPT: usize = 32;

/// The receiving half of a connection, in stream offsets (without SYN and FIN).
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// All octets before this one have arrived.
    next: u64,
    /// Octet ranges that arrived out of order, disjoint and sorted.
    out_of_order: Vec<(u64, u64)>,
    /// An offset in the range that the latest segment belongs to: the first SACK block (RFC 2018
    /// §4).
    latest: Option<u64>,
    /// A duplicate to report (RFC 2883), if the receiver reports them.
    duplicate: Option<(u64, u64)>,
    dsack: bool,
    /// Segments since the last acknowledgement.
    unacknowledged_segments: u32,
    ack_every: u32,
    max_ack_delay: Duration,
    ack_deadline: Option<Instant>,
    ack_now: bool,
}

impl Receiver {
    pub(super) fn new(ack_every: u32, max_ack_delay: Duration, dsack: bool) -> Self {
        Self {
            next: 0,
            out_of_order: Vec::new(),
            latest: None,
            duplicate: None,
            dsack,
            unacknowledged_segments: 0,
            ack_every: ack_every.max(1),
            max_ack_delay,
            ack_deadline: None,
            ack_now: false,
        }
    }

    /// The next octet expected.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.ack_deadline
    }

    /// True if an acknowledgement should leave now.
    pub(super) fn wants_ack(&self, now: Instant) -> bool {
        self.ack_now || self.ack_deadline.is_some_and(|deadline| deadline <= now)
    }

    /// True if data has arrived that is not acknowledged.
    pub(super) const fn owes_ack(&self) -> bool {
        self.unacknowledged_segments > 0
    }

    /// Requests an immediate acknowledgement.
    pub(super) fn ack_now(&mut self) {
        self.ack_now = true;
    }

    /// A segment with the octets `[start, start + len)` arrives; returns how many octets it
    /// completes in order.
    pub(super) fn on_segment(&mut self, now: Instant, start: u64, len: u64) -> u64 {
        let end = start.saturating_add(len);
        let known = |range: &(u64, u64)| range.0 <= start && end <= range.1;
        if end <= self.next || self.out_of_order.iter().any(known) {
            self.duplicate = self.dsack.then_some((start, end));
            self.ack_now = true;
            return 0;
        }
        let had_gap = !self.out_of_order.is_empty();
        self.unacknowledged_segments += 1;
        let before = self.next;
        if start <= self.next {
            self.next = end;
            while let Some(&(first, last)) = self.out_of_order.first() {
                if first > self.next {
                    break;
                }
                self.next = self.next.max(last);
                self.out_of_order.remove(0);
            }
            if had_gap && self.out_of_order.is_empty() {
                // The end of slow start leaves many more ranges than later phases.
                self.out_of_order.shrink_to(MOST_RANGES_KEPT);
            }
        } else {
            self.insert(start, end);
            self.latest = Some(start);
        }
        // RFC 5681 §4.2: an immediate ACK for a segment out of order or one that fills a gap.
        if had_gap
            || !self.out_of_order.is_empty()
            || self.unacknowledged_segments >= self.ack_every
        {
            self.ack_now = true;
        } else if self.ack_deadline.is_none() {
            self.ack_deadline = Some(now + self.max_ack_delay);
        }
        self.next - before
    }

    fn insert(&mut self, mut start: u64, mut end: u64) {
        let from = self.out_of_order.partition_point(|&(_, last)| last < start);
        let until = self
            .out_of_order
            .partition_point(|&(first, _)| first <= end);
        if let (Some(first), true) = (self.out_of_order.get(from), from < until) {
            start = start.min(first.0);
            end = end.max(self.out_of_order[until - 1].1);
        }
        if until - from == 1 {
            self.out_of_order[from] = (start, end);
        } else {
            self.out_of_order.splice(from..until, [(start, end)]);
        }
    }

    /// An acknowledgement leaves.
    pub(super) fn on_ack_sent(&mut self) {
        self.ack_now = false;
        self.ack_deadline = None;
        self.unacknowledged_segments = 0;
    }

    /// True if an acknowledgement has SACK blocks to carry.
    pub(super) fn has_blocks(&self) -> bool {
        self.duplicate.is_some() || !self.out_of_order.is_empty()
    }

    /// The SACK blocks of an acknowledgement that leaves, with `wrap` as the conversion of an
    /// offset into a sequence number.
    #[cold]
    pub(super) fn take_blocks(&mut self, wrap: impl Fn(u64) -> u32) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if let Some((start, end)) = self.duplicate.take() {
            // RFC 2883 §4: the first block reports the duplicate.
            blocks.push((wrap(start), wrap(end)));
        }
        let first = self.latest.and_then(|offset| {
            self.out_of_order
                .iter()
                .position(|&(start, end)| (start..end).contains(&offset))
        });
        if let Some(at) = first {
            let (start, end) = self.out_of_order[at];
            blocks.push((wrap(start), wrap(end)));
        }
        for (at, &(start, end)) in self.out_of_order.iter().enumerate().rev() {
            if Some(at) != first && !blocks.push((wrap(start), wrap(end))) {
                break;
            }
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DELAY: Duration = Duration::from_millis(40);

    fn receiver() -> Receiver {
        Receiver::new(2, DELAY, true)
    }

    #[test]
    fn acknowledges_every_other_segment_and_a_lone_one_after_the_delay() {
        let mut receiver = receiver();
        receiver.on_segment(Instant::ZERO, 0, 100);
        assert!(!receiver.wants_ack(Instant::ZERO));
        assert!(receiver.wants_ack(Instant::ZERO + DELAY));
        receiver.on_segment(Instant::ZERO, 100, 100);
        assert!(receiver.wants_ack(Instant::ZERO));
    }

    #[test]
    fn acknowledges_at_once_while_octets_are_missing_and_reports_the_latest_range_first() {
        let mut receiver = receiver();
        receiver.on_segment(Instant::ZERO, 100, 100);
        assert!(receiver.wants_ack(Instant::ZERO));
        receiver.on_segment(Instant::ZERO, 300, 100);
        receiver.on_segment(Instant::ZERO, 200, 50);
        receiver.on_ack_sent();
        let blocks = receiver.take_blocks(|offset| offset as u32);
        assert_eq!(blocks.as_slice(), [(100, 250), (300, 400)]);
        assert_eq!(receiver.on_segment(Instant::ZERO, 0, 100), 250);
        assert!(receiver.wants_ack(Instant::ZERO), "a filled gap");
    }

    proptest! {
        #[test]
        fn delivers_each_octet_once_in_any_order(
            order in Just((0_u64..40).collect::<Vec<_>>()).prop_shuffle(),
            repeats in proptest::collection::vec(0_u64..40, 0..20),
        ) {
            let mut receiver = receiver();
            let mut delivered = 0;
            for index in order.iter().chain(&repeats) {
                delivered += receiver.on_segment(Instant::ZERO, index * 10, 10);
                prop_assert_eq!(delivered, receiver.next());
                prop_assert!(receiver.out_of_order.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
            prop_assert_eq!(delivered, 400);
        }
    }
}
