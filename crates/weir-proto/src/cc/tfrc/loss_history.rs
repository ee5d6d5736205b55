//! Which packets are lost: those below three that arrived (NDUPACK, RFC 5348 §5.1), unless the
//! NDP count says that they carried no data.

use crate::time::Instant;
use std::collections::VecDeque;

/// RFC 5348 §5.1.
const NDUPACK: u8 = 3;
/// Holes remembered; older ones are taken for lost.
const MAX_HOLES: usize = 64;

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) seq: u64,
    pub(super) ccval: u8,
    pub(super) at: Instant,
}

/// A run of numbers that have not arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hole {
    /// The first missing number, and the first after the run.
    pub(super) start: u64,
    pub(super) end: u64,
    /// The greatest packet before, and the first after it that arrived.
    pub(super) before: Entry,
    pub(super) after: Entry,
    later: u8,
}

impl Hole {
    /// What a marked packet amounts to: a loss where it arrived.
    pub(super) const fn marked(entry: Entry) -> Self {
        let end = entry.seq + 1;
        Self {
            start: entry.seq,
            end,
            before: entry,
            after: entry,
            later: NDUPACK,
        }
    }
}

/// The receiver's record of arrivals. Sequence numbers are counted without wrapping.
#[derive(Clone, Debug, Default)]
pub(super) struct LossHistory {
    greatest: Option<Entry>,
    holes: VecDeque<Hole>,
}

impl LossHistory {
    pub(super) const fn greatest(&self) -> Option<Entry> {
        self.greatest
    }

    /// Starts the record before the first data packet: what is missing after `entry` counts.
    pub(super) fn start(&mut self, entry: Entry) {
        self.greatest.get_or_insert(entry);
    }

    /// A packet arrived. `ndp` is its NDP count if it carries one. Lost holes go to `lost`, the
    /// oldest first; false for a duplicate.
    pub(super) fn on_packet(
        &mut self,
        entry: Entry,
        ndp: Option<u64>,
        mut lost: impl FnMut(Hole),
    ) -> bool {
        let Some(greatest) = self.greatest else {
            self.greatest = Some(entry);
            return true;
        };
        if entry.seq <= greatest.seq {
            return self.fill(entry, &mut lost);
        }
        let missing = entry.seq - greatest.seq - 1;
        // RFC 4340 §7.7: the NDP count says how many packets without data came right before.
        if missing > 0 && ndp.is_none_or(|ndp| missing > ndp) {
            let (start, end) = (greatest.seq + 1, entry.seq);
            self.holes.push_back(Hole {
                start,
                end,
                before: greatest,
                after: entry,
                later: 0,
            });
        }
        self.greatest = Some(entry);
        for hole in &mut self.holes {
            hole.later += 1;
        }
        self.take_lost(&mut lost);
        true
    }

    /// A late packet: takes it out of its hole, if it is in one.
    fn fill(&mut self, entry: Entry, lost: &mut impl FnMut(Hole)) -> bool {
        let inside = |hole: &Hole| (hole.start..hole.end).contains(&entry.seq);
        let Some(at) = self.holes.iter().position(inside) else {
            return false;
        };
        let hole = self.holes[at];
        self.holes.remove(at);
        // What is left on either side keeps what arrived later.
        let parts = [
            Hole {
                end: entry.seq,
                after: entry,
                ..hole
            },
            Hole {
                start: entry.seq + 1,
                before: entry,
                ..hole
            },
        ];
        for (offset, part) in parts
            .into_iter()
            .filter(|part| part.start < part.end)
            .enumerate()
        {
            self.holes.insert((at + offset).min(self.holes.len()), part);
        }
        for earlier in self.holes.iter_mut().filter(|hole| hole.end <= entry.seq) {
            earlier.later += 1;
        }
        self.take_lost(lost);
        true
    }

    fn take_lost(&mut self, lost: &mut impl FnMut(Hole)) {
        while let Some(hole) = self.holes.front().copied() {
            if hole.later < NDUPACK && self.holes.len() <= MAX_HOLES {
                return;
            }
            self.holes.pop_front();
            lost(hole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(numbers: &[(u64, Option<u64>)]) -> Vec<(u64, u64)> {
        let mut history = LossHistory::default();
        let mut lost = Vec::new();
        for &(seq, ndp) in numbers {
            let entry = Entry {
                seq,
                ccval: 0,
                at: Instant::ZERO,
            };
            history.on_packet(entry, ndp, |hole| lost.push((hole.start, hole.end)));
        }
        lost
    }

    fn plain(numbers: &[u64]) -> Vec<(u64, u64)> {
        lost(&numbers.iter().map(|&seq| (seq, None)).collect::<Vec<_>>())
    }

    #[test]
    fn three_later_packets_make_a_loss() {
        assert_eq!(plain(&[1, 2, 4, 5]), []);
        assert_eq!(plain(&[1, 2, 4, 5, 6]), [(3, 4)]);
        assert_eq!(plain(&[1, 5, 6, 7]), [(2, 5)]);
    }

    #[test]
    fn reordering_by_less_than_three_is_no_loss() {
        assert_eq!(plain(&[1, 3, 4, 2, 5, 6, 7]), []);
        assert_eq!(plain(&[1, 5, 3, 6, 7]), [(2, 3), (4, 5)]);
    }

    #[test]
    fn missing_packets_without_data_are_no_loss() {
        assert_eq!(
            lost(&[(1, None), (4, Some(2)), (5, Some(0)), (6, None), (7, None)]),
            []
        );
        assert_eq!(
            lost(&[(1, None), (4, Some(1)), (5, None), (6, None)]),
            [(2, 4)]
        );
    }

    #[test]
    fn duplicates_change_nothing() {
        assert_eq!(plain(&[1, 3, 3, 3, 3]), []);
    }
}
