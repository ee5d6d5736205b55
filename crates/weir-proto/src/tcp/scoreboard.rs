//! The scoreboard of RFC 6675: the segments that are not yet cumulatively acknowledged.
//!
//! It keeps segment boundaries, the ranges that are SACKed and the segments that wait for their
//! retransmission, so that the cost of an acknowledgement follows from its new information and not
//! from the size of the window. A segment counts towards `pipe` once if it is neither SACKed nor
//! lost, and once more if it was retransmitted since it was marked lost and is not SACKed.

use super::rack::Deadline;
use crate::cc::DeliverySnapshot;
use crate::ring::Ring;
use crate::time::{Duration, Instant};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// The capacity for SACKed ranges that is kept.
const MOST_RANGES_KEPT: usize = 32;

/// Why a segment counts as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// Acknowledgements show the loss.
    Detected,
    /// The retransmission timer expired.
    Timeout,
}

/// A segment that was sent and is not cumulatively acknowledged: 24 octets, because a connection
/// keeps one for each segment in its window.
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
    /// It counts as lost.
    pub(super) lost: Option<Lost>,
    /// It was retransmitted since it was marked lost.
    retransmitted: bool,
    sacked: bool,
}

/// A segment, and the delivery state when it was last sent, if that is kept.
pub(super) type Known<'a> = (&'a SentSegment, Option<&'a DeliverySnapshot>);

/// Parts of a SACKed range that are new; mostly one.
type Gaps = SmallVec<[(u64, u64); 2]>;

/// The segments between HighACK and HighData (RFC 6675 §2).
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    segments: Ring<SentSegment>,
    /// The delivery state when each of them was last sent; `None` for a controller that does not
    /// use the delivery rate.
    snapshots: Option<Ring<DeliverySnapshot>>,
    pipe: u64,
    high_ack: u64,
    high_data: u64,
    /// SACKed ranges, disjoint and sorted, above `high_ack`.
    sacked_ranges: Vec<(u64, u64)>,
    sacked_segments: u32,
    /// Segments that are lost and not SACKed, retransmitted or not.
    lost_segments: u32,
    /// All un-SACKed segments that start below this offset are marked lost (RFC 6675).
    lost_below: u64,
    /// The offsets of the lost segments that wait for their retransmission.
    waiting: BTreeSet<u64>,
    /// HighRxt: no segment below it is retransmitted by rule 3 of NextSeg().
    high_rxt: u64,
    /// Transmissions by time and offset, for RACK; those of segments that were delivered, marked
    /// lost or sent again are removed when they are examined.
    transmissions: Ring<(Instant, u64)>,
}

impl SentSegment {
    pub(super) fn new(start: u64, len: u32, sent_at: Instant) -> Self {
        Self {
            start,
            len,
            sent_at,
            retransmitted_ever: false,
            lost: None,
            retransmitted: false,
            sacked: false,
        }
    }

    pub(super) const fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    /// Octets that it contributes to `pipe` (RFC 6675 §4, SetPipe()).
    const fn in_pipe(&self) -> u64 {
        if self.sacked {
            return 0;
        }
        let copies = self.lost.is_none() as u64 + self.retransmitted as u64;
        copies * self.len as u64
    }

    /// It is in the network as far as known.
    const fn is_outstanding(&self) -> bool {
        !self.sacked && (self.lost.is_none() || self.retransmitted)
    }
}

impl Scoreboard {
    pub(super) fn new(wants_delivery_rate: bool) -> Self {
        Self {
            segments: Ring::default(),
            snapshots: wants_delivery_rate.then(Ring::default),
            pipe: 0,
            high_ack: 0,
            high_data: 0,
            sacked_ranges: Vec::new(),
            sacked_segments: 0,
            lost_segments: 0,
            lost_below: 0,
            waiting: BTreeSet::new(),
            high_rxt: 0,
            transmissions: Ring::default(),
        }
    }

    /// Octets estimated to be in the network.
    pub(super) const fn pipe(&self) -> u64 {
        self.pipe
    }

    /// FlightSize: octets sent and not cumulatively acknowledged (RFC 5681 §2).
    pub(super) const fn flight_size(&self) -> u64 {
        self.high_data - self.high_ack
    }

    /// The first octet not cumulatively acknowledged.
    pub(super) const fn high_ack(&self) -> u64 {
        self.high_ack
    }

    /// The first octet never sent.
    pub(super) const fn high_data(&self) -> u64 {
        self.high_data
    }

    /// The end of the highest SACKed range.
    fn high_sacked(&self) -> u64 {
        self.sacked_ranges.last().map_or(0, |range| range.1)
    }

    /// Octets that are SACKed.
    pub(super) fn sacked_octets(&self) -> u64 {
        self.sacked_ranges
            .iter()
            .map(|range| range.1 - range.0)
            .sum()
    }

    /// Segments that are SACKed.
    pub(super) const fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// True if a segment counts as lost and is not known to have arrived.
    pub(super) const fn has_lost(&self) -> bool {
        self.lost_segments > 0
    }

    /// True if a lost segment waits for its retransmission.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// When the first outstanding segment was last sent.
    pub(super) fn first_sent_at(&self) -> Option<Instant> {
        self.segments.front().map(|segment| segment.sent_at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segments that are not cumulatively acknowledged.
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Octets of a zero-window probe, which never counted as sent, were acknowledged. No segment
    /// may be outstanding.
    pub(super) fn skip(&mut self, octets: u64) {
        if self.is_empty() {
            self.high_data += octets;
            self.high_ack = self.high_data;
        }
    }

    /// A segment of new data leaves.
    pub(super) fn on_sent(&mut self, now: Instant, len: u32) {
        let segment = SentSegment::new(self.high_data, len, now);
        // The last one in the order of time and offset.
        self.transmissions.push_back((now, segment.start));
        self.segments.push_back(segment);
        if let Some(snapshots) = &mut self.snapshots {
            snapshots.push_back(DeliverySnapshot::default());
        }
        self.high_data += u64::from(len);
        self.pipe += u64::from(len);
    }

    /// Keeps the delivery state of the segment that starts at `start` and left just now.
    pub(super) fn set_snapshot(&mut self, start: u64, snapshot: DeliverySnapshot) {
        let last = self.segments.len().saturating_sub(1);
        let at = match self.segments.back() {
            Some(back) if back.start == start => last,
            _ => self.index_of(start),
        };
        let snapshots = self.snapshots.as_mut();
        if let Some(place) = snapshots.and_then(|snapshots| snapshots.get_mut(at)) {
            *place = snapshot;
        }
    }

    /// The delivery state when this segment was last sent, if that is kept.
    #[inline]
    fn snapshot(&self, at: usize) -> Option<DeliverySnapshot> {
        self.snapshots.as_ref()?.get(at).copied()
    }

    /// Removes the segments below `ack`; calls `on_new` for each that was not SACKed before.
    /// Returns the octets of a segment that is acknowledged in part and was not SACKed.
    pub(super) fn on_cumulative_ack(&mut self, ack: u64, mut on_new: impl FnMut(Known<'_>)) -> u64 {
        let mut part = 0;
        while let Some(front) = self.segments.front_mut() {
            let first = *front;
            if first.end() > ack {
                if first.start < ack {
                    part = if first.sacked { 0 } else { ack - first.start };
                    self.pipe -= first.in_pipe();
                    front.len -= (ack - first.start) as u32;
                    front.start = ack;
                    self.pipe += front.in_pipe();
                    if self.waiting.remove(&first.start) {
                        self.waiting.insert(ack);
                    }
                    let sent_at = front.sent_at;
                    self.log_transmission(sent_at, ack);
                }
                break;
            }
            self.pipe -= first.in_pipe();
            let snapshots = self.snapshots.as_mut();
            let snapshot = snapshots.and_then(|snapshots| snapshots.pop_front());
            if first.sacked {
                self.sacked_segments -= 1;
            } else {
                self.forget_loss(&first);
                on_new((&first, snapshot.as_ref()));
            }
            self.segments.pop_front();
        }
        self.high_ack = self.high_ack.max(ack);
        let covered = self
            .sacked_ranges
            .partition_point(|range| range.1 <= self.high_ack);
        self.sacked_ranges.drain(..covered);
        if covered > 0 && self.sacked_ranges.is_empty() {
            // The end of slow start leaves many more ranges than later phases.
            self.sacked_ranges.shrink_to(MOST_RANGES_KEPT);
        }
        if let Some(first) = self.sacked_ranges.first_mut() {
            first.0 = first.0.max(self.high_ack);
        }
        self.forget_old_transmissions();
        part
    }

    /// A segment leaves again, or one that left at this time is in the network again.
    fn log_transmission(&mut self, sent_at: Instant, start: u64) {
        let sent = (sent_at, start);
        if self.transmissions.back().is_none_or(|last| *last <= sent) {
            self.transmissions.push_back(sent);
        } else {
            let at = self.transmissions.partition_point(|other| *other < sent);
            self.transmissions.insert(at, sent);
        }
    }

    /// The segment arrived: it is not lost and needs no retransmission.
    fn forget_loss(&mut self, segment: &SentSegment) {
        if segment.lost.is_some() {
            self.lost_segments -= 1;
            self.waiting.remove(&segment.start);
        }
    }

    /// Marks as SACKed the segments that `[start, end)` and earlier SACKs together cover entirely
    /// (RFC 6675 §4, Update()).
    pub(super) fn on_sack(&mut self, start: u64, end: u64, mut on_new: impl FnMut(Known<'_>)) {
        let start = start.max(self.high_ack);
        if start >= end {
            return;
        }
        let (range, gaps) = self.merge_sacked(start, end);
        for (from, until) in gaps {
            let first = self
                .segments
                .partition_point(|segment| segment.end() <= from);
            for at in first..self.segments.len() {
                let segment = &mut self.segments[at];
                if segment.start >= until {
                    break;
                }
                if segment.sacked || segment.start < range.0 || segment.end() > range.1 {
                    continue;
                }
                let before = *segment;
                segment.sacked = true;
                (segment.lost, segment.retransmitted) = (None, false);
                self.pipe -= before.in_pipe();
                self.sacked_segments += 1;
                self.forget_loss(&before);
                on_new((&before, self.snapshot(at).as_ref()));
            }
        }
    }

    /// Adds a range to those SACKed; returns the range that contains it now, and the parts of it
    /// that are new.
    fn merge_sacked(&mut self, start: u64, end: u64) -> ((u64, u64), Gaps) {
        let ranges = &mut self.sacked_ranges;
        let from = ranges.partition_point(|range| range.1 < start);
        let until = ranges.partition_point(|range| range.0 <= end);
        if let [only] = ranges[from..until]
            && only.0 <= start
            && end <= only.1
        {
            return (only, Gaps::new());
        }
        let mut merged = (start, end);
        let mut gaps = Gaps::new();
        let mut at = start;
        for range in &ranges[from..until] {
            if at < range.0 {
                gaps.push((at, range.0));
            }
            at = at.max(range.1);
            merged = (merged.0.min(range.0), merged.1.max(range.1));
        }
        if at < end {
            gaps.push((at, end));
        }
        if until - from == 1 {
            ranges[from] = merged;
        } else {
            ranges.splice(from..until, [merged]);
        }
        (merged, gaps)
    }

    /// Marks the segment as lost; it no longer counts as in the network.
    fn mark_lost(&mut self, at: usize, lost: Lost) {
        let segment = &mut self.segments[at];
        self.pipe -= segment.in_pipe();
        self.lost_segments += u32::from(segment.lost.is_none());
        segment.lost = Some(lost);
        segment.retransmitted = false;
        self.waiting.insert(segment.start);
    }

    /// Marks every segment as lost above which `dup_thresh` ranges or more than `dup_thresh` - 1
    /// segments of octets are SACKed (RFC 6675 §4, IsLost()); calls `on_lost` for each.
    pub(super) fn detect_losses_by_sacks(
        &mut self,
        dup_thresh: u32,
        segment_size: u32,
        mut on_lost: impl FnMut(Known<'_>),
    ) {
        let enough = u64::from(dup_thresh - 1) * u64::from(segment_size);
        let (mut ranges, mut octets) = (0, 0);
        let below = self.sacked_ranges.iter().rev().find_map(|range| {
            ranges += 1;
            octets += range.1 - range.0;
            (ranges >= dup_thresh || octets > enough).then_some(range.0)
        });
        let Some(below) = below.filter(|&below| below > self.lost_below) else {
            return;
        };
        let from = self.index_of(self.lost_below);
        for at in from..self.segments.len() {
            let segment = self.segments[at];
            if segment.start >= below {
                break;
            }
            if !segment.sacked && segment.lost.is_none() {
                on_lost((&segment, self.snapshot(at).as_ref()));
                self.mark_lost(at, Lost::Detected);
            }
        }
        self.lost_below = below;
    }

    /// True if a transmission before this time and offset is recorded: only its segment may be lost
    /// by time.
    #[inline]
    pub(super) fn has_transmission_before(&self, newest: (Instant, u64)) -> bool {
        let first = self.transmissions.front();
        first.is_some_and(|first| *first < newest)
    }

    /// Marks every segment as lost that was sent before RACK.segment and is older than the deadline
    /// allows (RFC 8985 §6.2, step 5); calls `on_lost` for each. Returns the time after which the
    /// other segments sent before RACK.segment are lost too.
    pub(super) fn detect_losses_by_time(
        &mut self,
        now: Instant,
        deadline: &Deadline,
        mut on_lost: impl FnMut(Known<'_>),
    ) -> Option<Duration> {
        let mut remaining = None;
        // Transmissions that were examined, and those of them that are kept.
        let (mut seen, mut kept) = (0, 0);
        while let Some(&(sent_at, start)) = self.transmissions.get(seen) {
            // A segment behind RACK.segment that left at the same time, as in a burst, is not
            // earlier.
            if (sent_at, start) >= (deadline.xmit_ts, deadline.end_seq) {
                break;
            }
            seen += 1;
            let Some(at) = self.outstanding(sent_at, start) else {
                continue;
            };
            let segment = self.segments[at];
            let earlier = (sent_at, segment.end()) < (deadline.xmit_ts, deadline.end_seq);
            let due = sent_at + deadline.age;
            if earlier && due <= now {
                on_lost((&segment, self.snapshot(at).as_ref()));
                self.mark_lost(at, Lost::Detected);
                continue;
            }
            if earlier {
                remaining = Some(due.since(now));
            }
            self.transmissions[kept] = (sent_at, start);
            kept += 1;
        }
        // Transmissions of delivered or lost segments are not examined again.
        if kept < seen {
            self.transmissions.drain(kept..seen);
        }
        remaining
    }

    /// The index of the segment that this transmission left in the network, if it is still the
    /// segment's last.
    #[inline]
    fn outstanding(&self, sent_at: Instant, start: u64) -> Option<usize> {
        if start < self.high_ack {
            return None;
        }
        // The oldest transmission is mostly that of the first segment.
        let at = match self.segments.front() {
            Some(front) if front.start == start => 0,
            _ => self.index_of(start),
        };
        let segment = self.segments.get(at)?;
        let same = segment.start == start && segment.sent_at == sent_at;
        (same && segment.is_outstanding()).then_some(at)
    }

    fn forget_old_transmissions(&mut self) {
        while let Some(&(sent_at, start)) = self.transmissions.front() {
            if self.outstanding(sent_at, start).is_some() {
                break;
            }
            self.transmissions.pop_front();
        }
    }

    /// The index of the first segment that starts at this offset or above.
    fn index_of(&self, offset: u64) -> usize {
        self.segments
            .partition_point(|segment| segment.start < offset)
    }

    /// Marks the first outstanding segment as lost, after three duplicate ACKs or a partial
    /// acknowledgement (RFC 6582 §3.2). Returns it if it was not marked before.
    pub(super) fn mark_first_lost(&mut self) -> Option<(SentSegment, Option<DeliverySnapshot>)> {
        let front = *self.segments.front()?;
        if front.lost.is_some() || front.sacked {
            return None;
        }
        self.mark_lost(0, Lost::Detected);
        Some((front, self.snapshot(0)))
    }

    /// The retransmission timer expired: the first outstanding segment is lost, and each other
    /// without a SACK for which `is_lost` is true. `note` receives those that did not count as lost
    /// before.
    pub(super) fn on_timeout(
        &mut self,
        is_lost: impl Fn(&SentSegment) -> bool,
        mut note: impl FnMut(Known<'_>),
    ) {
        for at in 0..self.segments.len() {
            let segment = self.segments[at];
            if segment.is_outstanding() && (at == 0 || is_lost(&segment)) {
                if segment.lost.is_none() {
                    note((&segment, self.snapshot(at).as_ref()));
                }
                self.mark_lost(at, Lost::Timeout);
            }
        }
        self.lost_below = self.high_data;
        self.high_rxt = self.high_ack;
    }

    /// Undoes a spurious timeout: the segments that it presumed lost are in the network.
    pub(super) fn undo_timeout(&mut self) {
        self.restore(|segment| segment.lost == Some(Lost::Timeout));
        self.lost_below = self.high_ack;
    }

    /// Removes all SACKs, as ns-2 does at a timeout.
    pub(super) fn forget_sacks(&mut self) {
        self.restore(|segment| segment.sacked);
        self.sacked_ranges.clear();
        self.sacked_segments = 0;
    }

    /// Counts these segments as in the network, once each.
    fn restore(&mut self, which: impl Fn(&SentSegment) -> bool) {
        for at in 0..self.segments.len() {
            let before = self.segments[at];
            if which(&before) {
                self.forget_loss(&before);
                let segment = &mut self.segments[at];
                (segment.sacked, segment.lost, segment.retransmitted) = (false, None, false);
                self.pipe = self.pipe - before.in_pipe() + segment.in_pipe();
                self.log_transmission(before.sent_at, before.start);
            }
        }
    }

    /// A recovery begins: rule 3 of NextSeg() may retransmit from the start.
    pub(super) fn on_recovery_start(&mut self) {
        self.high_rxt = self.high_ack;
    }

    fn retransmit(&mut self, at: usize, now: Instant) -> SentSegment {
        let segment = &mut self.segments[at];
        self.pipe -= segment.in_pipe();
        let before = *segment;
        segment.retransmitted = true;
        segment.retransmitted_ever = true;
        segment.sent_at = now;
        self.pipe += segment.in_pipe();
        self.high_rxt = self.high_rxt.max(segment.end());
        self.log_transmission(now, before.start);
        before
    }

    /// Retransmits the first lost segment that was not retransmitted (RFC 6675 §4, NextSeg() rule
    /// 1). Returns the segment as it was before.
    pub(super) fn next_lost(&mut self, now: Instant) -> Option<SentSegment> {
        let start = self.waiting.pop_first()?;
        let at = self.index_of(start);
        (at < self.segments.len()).then(|| self.retransmit(at, now))
    }

    /// A segment below the highest SACK that is neither SACKed nor known to be lost; each is
    /// retransmitted once this way in a recovery (RFC 6675 §4, NextSeg() rule 3).
    pub(super) fn next_unsacked(&mut self, now: Instant) -> Option<SentSegment> {
        let top = self.high_sacked();
        for at in self.index_of(self.high_rxt)..self.segments.len() {
            let segment = self.segments[at];
            if segment.end() > top {
                break;
            }
            self.high_rxt = segment.end();
            if !segment.sacked && segment.lost.is_none() && !segment.retransmitted {
                return Some(self.retransmit(at, now));
            }
        }
        None
    }

    /// The last segment that is not SACKed, retransmitted now as a loss probe (RFC 8985 §7.3).
    pub(super) fn probe(&mut self, now: Instant) -> Option<SentSegment> {
        let last = self
            .segments
            .iter()
            .rposition(SentSegment::is_outstanding)?;
        Some(self.retransmit(last, now))
    }
}

#[cfg(test)]
#[path = "scoreboard_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "scoreboard_step_tests.rs"]
mod step_tests;
