//! The scoreboard of RFC 6675: the segments that are not yet cumulatively acknowledged.
//!
//! It keeps segment boundaries, so that `pipe`, IsLost() and NextSeg() (RFC 6675 §4) take constant
//! time per segment instead of a walk over the window. A segment counts towards `pipe` once if it
//! is neither SACKed nor lost, and once more if it was retransmitted and is not SACKed.

use crate::time::Instant;
use std::collections::VecDeque;

/// DupThresh (RFC 6675 §2).
const DUP_THRESHOLD: u32 = 3;

/// A segment that was sent and is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentSegment {
    /// Offset of its first octet.
    pub(super) start: u64,
    /// Its length in octets.
    pub(super) len: u32,
    /// When it was last sent.
    pub(super) sent_at: Instant,
    /// It was sent more than once and gives no round-trip time sample (Karn).
    pub(super) retransmitted_ever: bool,
    sacked: bool,
    lost: bool,
    /// It was retransmitted since it was marked lost.
    retransmitted: bool,
}

/// The segments between HighACK and HighData (RFC 6675 §2).
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    segments: VecDeque<SentSegment>,
    pipe: u64,
    high_ack: u64,
    high_data: u64,
    /// All un-SACKed segments that start below this offset are marked lost.
    lost_below: u64,
    highest_sacked: u64,
    /// Lost segments below this offset have been retransmitted.
    retransmit_from: u64,
}

impl SentSegment {
    const fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    /// Octets that it contributes to `pipe` (RFC 6675 §4, SetPipe()).
    const fn in_pipe(&self) -> u64 {
        if self.sacked {
            return 0;
        }
        let copies = !self.lost as u64 + self.retransmitted as u64;
        copies * self.len as u64
    }
}

impl Scoreboard {
    pub(super) fn new() -> Self {
        Self {
            segments: VecDeque::with_capacity(64),
            pipe: 0,
            high_ack: 0,
            high_data: 0,
            lost_below: 0,
            highest_sacked: 0,
            retransmit_from: 0,
        }
    }

    /// Octets estimated to be in the network.
    pub(super) const fn pipe(&self) -> u64 {
        self.pipe
    }

    /// The first octet not cumulatively acknowledged.
    pub(super) const fn high_ack(&self) -> u64 {
        self.high_ack
    }

    /// The first octet never sent.
    pub(super) const fn high_data(&self) -> u64 {
        self.high_data
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// When the first outstanding segment was last sent.
    pub(super) fn first_sent_at(&self) -> Option<Instant> {
        self.segments.front().map(|segment| segment.sent_at)
    }

    /// A segment of new data leaves.
    pub(super) fn on_sent(&mut self, now: Instant, len: u32) {
        self.segments.push_back(SentSegment {
            start: self.high_data,
            len,
            sent_at: now,
            retransmitted_ever: false,
            sacked: false,
            lost: false,
            retransmitted: false,
        });
        self.high_data += u64::from(len);
        self.pipe += u64::from(len);
    }

    /// Removes the segments below `ack`; calls `on_new` for each that was not SACKed before.
    pub(super) fn on_cumulative_ack(&mut self, ack: u64, mut on_new: impl FnMut(&SentSegment)) {
        while let Some(front) = self.segments.front_mut() {
            if front.end() > ack {
                // A partly acknowledged segment is shortened.
                if front.start < ack {
                    self.pipe -= front.in_pipe();
                    front.len -= (ack - front.start) as u32;
                    front.start = ack;
                    self.pipe += front.in_pipe();
                }
                break;
            }
            self.pipe -= front.in_pipe();
            if !front.sacked {
                on_new(front);
            }
            self.segments.pop_front();
        }
        self.high_ack = self.high_ack.max(ack);
    }

    /// Marks the segments that `[start, end)` covers entirely as SACKed (RFC 6675 §4, Update()).
    pub(super) fn on_sack(&mut self, start: u64, end: u64, mut on_new: impl FnMut(&SentSegment)) {
        let from = self
            .segments
            .partition_point(|segment| segment.start < start);
        for segment in self.segments.range_mut(from..) {
            if segment.end() > end {
                break;
            }
            if !segment.sacked {
                self.pipe -= segment.in_pipe();
                segment.sacked = true;
                self.highest_sacked = self.highest_sacked.max(segment.end());
                on_new(segment);
            }
        }
    }

    /// Marks every segment below three SACKed ones as lost (RFC 6675 §4, IsLost()); calls
    /// `on_lost` for each that is newly lost.
    pub(super) fn detect_losses(&mut self, mut on_lost: impl FnMut(&SentSegment)) {
        let mut sacked = 0;
        let mut below = None;
        let top = self
            .segments
            .partition_point(|segment| segment.start < self.highest_sacked);
        for segment in self.segments.range(..top).rev() {
            sacked += u32::from(segment.sacked);
            if sacked >= DUP_THRESHOLD {
                below = Some(segment.start);
                break;
            }
            if segment.start <= self.lost_below {
                break;
            }
        }
        let Some(below) = below.filter(|&below| below > self.lost_below) else {
            return;
        };
        let from = self
            .segments
            .partition_point(|segment| segment.start < self.lost_below);
        for segment in self.segments.range_mut(from..) {
            if segment.start >= below {
                break;
            }
            if !segment.sacked && !segment.lost {
                self.pipe -= segment.in_pipe();
                segment.lost = true;
                self.pipe += segment.in_pipe();
                on_lost(segment);
            }
        }
        self.lost_below = below;
    }

    /// Marks the first outstanding segment as lost, after three duplicate ACKs or a partial
    /// acknowledgement (RFC 6582 §3.2). Returns it if it was not marked before.
    pub(super) fn mark_first_lost(&mut self) -> Option<SentSegment> {
        let front = self.segments.front_mut()?;
        if front.lost || front.sacked {
            return None;
        }
        self.pipe -= front.in_pipe();
        front.lost = true;
        self.pipe += front.in_pipe();
        self.retransmit_from = self.retransmit_from.min(front.start);
        Some(*front)
    }

    /// The retransmission timer expired: every segment without a SACK counts as lost (RFC 6675
    /// §5.1).
    pub(super) fn mark_all_lost(&mut self, mut on_lost: impl FnMut(&SentSegment)) {
        for segment in &mut self.segments {
            if !segment.sacked {
                if !segment.lost || segment.retransmitted {
                    on_lost(segment);
                }
                (segment.lost, segment.retransmitted) = (true, false);
            }
        }
        self.pipe = 0;
        self.retransmit_from = self.high_ack;
        self.lost_below = self.high_data;
    }

    /// The first lost segment that was not retransmitted, marked as retransmitted now (RFC 6675
    /// §4, NextSeg() rule 1).
    pub(super) fn next_lost(&mut self, now: Instant) -> Option<SentSegment> {
        let from = self
            .segments
            .partition_point(|segment| segment.start < self.retransmit_from);
        for segment in self.segments.range_mut(from..) {
            if segment.start >= self.lost_below && !segment.lost {
                break;
            }
            if segment.lost && !segment.sacked && !segment.retransmitted {
                segment.retransmitted = true;
                segment.retransmitted_ever = true;
                segment.sent_at = now;
                self.pipe += u64::from(segment.len);
                self.retransmit_from = segment.end();
                return Some(*segment);
            }
        }
        None
    }

    /// A segment below the highest SACK that is neither SACKed nor known to be lost; each is
    /// retransmitted once this way (RFC 6675 §4, NextSeg() rule 3).
    pub(super) fn next_unsacked(&mut self, now: Instant) -> Option<SentSegment> {
        let (from, top) = (self.retransmit_from, self.highest_sacked);
        let segment = self.segments.iter_mut().find(|segment| {
            segment.start >= from
                && segment.end() <= top
                && !segment.sacked
                && !segment.retransmitted
        })?;
        segment.retransmitted = true;
        segment.retransmitted_ever = true;
        segment.sent_at = now;
        self.pipe += u64::from(segment.len);
        self.retransmit_from = segment.end();
        Some(*segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LEN: u32 = 100;

    fn sent(count: u64) -> Scoreboard {
        let mut board = Scoreboard::new();
        for _ in 0..count {
            board.on_sent(Instant::ZERO, LEN);
        }
        board
    }

    fn lost(board: &mut Scoreboard) -> Vec<u64> {
        let mut lost = Vec::new();
        board.detect_losses(|segment| lost.push(segment.start));
        lost
    }

    #[test]
    fn a_segment_is_lost_when_three_above_it_are_sacked() {
        let mut board = sent(10);
        board.on_sack(100, 300, |_| ());
        assert!(lost(&mut board).is_empty());
        assert_eq!(board.pipe(), 800);
        board.on_sack(300, 400, |_| ());
        assert_eq!(lost(&mut board), [0]);
        assert_eq!(board.pipe(), 600);
        assert_eq!(
            board.next_lost(Instant::ZERO).map(|segment| segment.start),
            Some(0)
        );
        assert_eq!(board.pipe(), 700, "the retransmission is in the pipe");
        assert!(board.next_lost(Instant::ZERO).is_none());
    }

    #[test]
    fn a_timeout_marks_all_but_the_sacked_segments_as_lost() {
        let mut board = sent(5);
        board.on_sack(200, 300, |_| ());
        let mut count = 0;
        board.mark_all_lost(|_| count += 1);
        assert_eq!((count, board.pipe()), (4, 0));
        let mut retransmitted = Vec::new();
        while let Some(segment) = board.next_lost(Instant::ZERO) {
            retransmitted.push(segment.start);
        }
        assert_eq!(retransmitted, [0, 100, 300, 400]);
    }

    #[test]
    fn a_partly_acknowledged_segment_is_shortened() {
        let mut board = sent(2);
        board.on_cumulative_ack(150, |_| ());
        assert_eq!((board.pipe(), board.high_ack()), (50, 150));
    }

    fn recount(board: &Scoreboard) -> u64 {
        board.segments.iter().map(SentSegment::in_pipe).sum()
    }

    proptest! {
        #[test]
        fn pipe_always_equals_a_recount(
            steps in proptest::collection::vec((0_u8..7, 0_u64..40, 1_u64..6), 1..200),
        ) {
            let mut board = Scoreboard::new();
            for (step, at, count) in steps {
                match step {
                    0 | 1 => board.on_sent(Instant::ZERO, LEN),
                    2 => board.on_sack(at * 100, (at + count) * 100, |_| ()),
                    3 => {
                        let ack = (board.high_ack() + count * 50).min(board.high_data());
                        board.on_cumulative_ack(ack, |_| ());
                    }
                    4 => { lost(&mut board); }
                    5 => { board.next_lost(Instant::ZERO); }
                    _ => board.mark_all_lost(|_| ()),
                }
                prop_assert_eq!(board.pipe(), recount(&board));
            }
        }
    }
}
