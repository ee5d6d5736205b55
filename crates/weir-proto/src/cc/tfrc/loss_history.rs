//! Detection of lost packets (RFC 5348 §5.1): a packet is lost when three packets with higher
//! sequence numbers have arrived.
//!
//! The history consists of the last packet before any hole and up to three that arrived above it,
//! sorted. With the NDP Count option a hole can be recognised as packets without data, which is no
//! loss (RFC 4340 §7.7).
//!
//! Does not model: a packet that arrives after it was declared lost. RFC 5348 §5.1 allows a
//! receiver to correct its history then; this one, like Linux, ignores the packet.

use crate::time::Instant;

/// NDUPACK: packets above a hole that make it a loss (RFC 5348 §5.1).
pub const NDUPACK: usize = 3;

/// A packet in the history.
#[derive(Clone, Copy, Debug)]
pub struct HistoryEntry {
    /// Sequence number, unwrapped.
    pub seq: i64,
    /// CCVal.
    pub counter: u8,
    /// Time of arrival.
    pub at: Instant,
    /// It is a data packet.
    pub data: bool,
    /// NDP Count: packets without data immediately before it.
    pub ndp: u64,
    /// It carries Congestion Experienced.
    pub marked: bool,
}

/// Packets lost between two that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Hole {
    /// The last packet before it.
    pub before: HistoryEntry,
    /// The first packet after it.
    pub after: HistoryEntry,
}

impl Hole {
    /// A marked packet counts as one lost packet (RFC 5348 §5.1).
    pub fn of_mark(packet: &HistoryEntry) -> Self {
        let before = HistoryEntry {
            seq: packet.seq - 1,
            ..*packet
        };
        let after = HistoryEntry {
            seq: packet.seq + 1,
            ..*packet
        };
        Self { before, after }
    }

    /// The sequence numbers in it.
    pub const fn lost(&self) -> std::ops::Range<i64> {
        self.before.seq + 1..self.after.seq
    }

    /// How many packets are in it.
    pub const fn drops(&self) -> u64 {
        (self.after.seq - self.before.seq - 1).unsigned_abs()
    }
}

/// What the arrival of a packet reveals, in the order of sequence numbers.
#[derive(Clone, Copy, Debug)]
pub enum Detected {
    /// The packets of this hole were lost.
    Lost(Hole),
    /// All packets before this one have arrived or are lost.
    InOrder(HistoryEntry),
}

/// The packets around the first hole.
#[derive(Clone, Debug)]
pub struct LossHistory {
    /// S0: all packets before it have arrived or are lost.
    base: HistoryEntry,
    pending: [HistoryEntry; NDUPACK],
    len: usize,
}

impl LossHistory {
    /// A history that begins with this packet.
    pub const fn new(first: HistoryEntry) -> Self {
        Self {
            base: first,
            pending: [first; NDUPACK],
            len: 0,
        }
    }

    /// The last packet in order.
    pub const fn base(&self) -> &HistoryEntry {
        &self.base
    }

    /// True while there is a hole that is not yet a loss.
    pub const fn is_pending(&self) -> bool {
        self.len > 0
    }

    /// The greatest sequence number that has arrived.
    pub fn greatest(&self) -> i64 {
        self.entries().last().unwrap_or(&self.base).seq
    }

    /// Adds a packet if it is the next in order and no hole is open, the common case; returns true
    /// if so. The packet is [`Detected::InOrder`] at once.
    #[inline]
    pub fn extend(&mut self, packet: &HistoryEntry) -> bool {
        let extends = self.len == 0
            && packet.seq > self.base.seq
            && (packet.seq - self.base.seq - 1) as u64 <= packet.ndp;
        if extends {
            self.base = *packet;
        }
        extends
    }

    /// Adds a packet. False, and no change, if it is a duplicate or late.
    pub fn insert(&mut self, packet: HistoryEntry) -> bool {
        if packet.seq <= self.base.seq {
            return false;
        }
        let at = self.entries().partition_point(|p| p.seq < packet.seq);
        if self.entries().get(at).is_some_and(|p| p.seq == packet.seq) || self.len == NDUPACK {
            return false;
        }
        self.pending.copy_within(at..self.len, at + 1);
        self.pending[at] = packet;
        self.len += 1;
        true
    }

    /// The next packet in order or loss. Call until `None` after each insertion.
    pub fn next_detected(&mut self) -> Option<Detected> {
        let after = *self.entries().first()?;
        let missing = after.seq - self.base.seq - 1;
        let whole = u64::try_from(missing).is_ok_and(|missing| missing <= after.ndp);
        if whole {
            self.settle_first();
            return Some(Detected::InOrder(after));
        }
        // RFC 5348 §5.1: a mark is detected at once, and a hole before it belongs to its event.
        let marked = self.entries().iter().any(|p| p.marked);
        if self.len < NDUPACK && !marked {
            return None;
        }
        let before = self.base;
        // The packet after the hole is the next in order.
        self.base.seq = after.seq - 1;
        Some(Detected::Lost(Hole { before, after }))
    }

    fn settle_first(&mut self) {
        self.base = self.pending[0];
        self.pending.copy_within(1..self.len, 0);
        self.len -= 1;
    }

    fn entries(&self) -> &[HistoryEntry] {
        self.pending.get(..self.len).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(seq: i64) -> HistoryEntry {
        HistoryEntry {
            seq,
            counter: 0,
            at: Instant::ZERO,
            data: true,
            ndp: 0,
            marked: false,
        }
    }

    /// The losses, as (before, after), that these arrivals after packet 0 show.
    fn losses(arrivals: &[HistoryEntry]) -> Vec<(i64, i64)> {
        let mut history = LossHistory::new(packet(0));
        let mut losses = Vec::new();
        for arrival in arrivals {
            history.insert(*arrival);
            while let Some(detected) = history.next_detected() {
                if let Detected::Lost(hole) = detected {
                    losses.push((hole.before.seq, hole.after.seq));
                }
            }
        }
        losses
    }

    fn in_order(arrivals: &[i64]) -> Vec<(i64, i64)> {
        losses(&arrivals.iter().map(|seq| packet(*seq)).collect::<Vec<_>>())
    }

    #[test]
    fn three_packets_above_a_hole_make_it_a_loss() {
        // RFC 5348 §5.1, NDUPACK.
        assert_eq!(in_order(&[1, 3, 4]), []);
        assert_eq!(in_order(&[1, 3, 4, 5]), [(1, 3)]);
        assert_eq!(in_order(&[1, 7, 8, 9]), [(1, 7)]);
    }

    #[test]
    fn reordering_by_fewer_than_three_packets_is_no_loss() {
        assert_eq!(in_order(&[2, 1, 3, 4]), []);
        assert_eq!(in_order(&[2, 3, 1, 4, 5, 6]), []);
        assert_eq!(in_order(&[2, 3, 4, 1]), [(0, 2)]);
        assert_eq!(in_order(&[4, 3, 2, 1]), [(0, 2)]);
        assert_eq!(in_order(&[2, 2, 2, 2, 2]), [], "duplicates do not count");
    }

    #[test]
    fn several_holes_are_found_one_by_one() {
        assert_eq!(in_order(&[2, 4, 6]), [(0, 2)]);
        assert_eq!(in_order(&[2, 4, 6, 7]), [(0, 2), (2, 4)]);
        assert_eq!(in_order(&[2, 4, 6, 7, 8]), [(0, 2), (2, 4), (4, 6)]);
    }

    #[test]
    fn a_hole_of_packets_without_data_is_no_loss() {
        let after = HistoryEntry {
            ndp: 2,
            ..packet(3)
        };
        assert_eq!(losses(&[after, packet(4), packet(5), packet(6)]), []);
        let short = HistoryEntry {
            ndp: 1,
            ..packet(3)
        };
        assert_eq!(losses(&[short, packet(4), packet(5)]), [(0, 3)]);
    }

    #[test]
    fn a_mark_turns_the_hole_before_it_into_a_loss_at_once() {
        let marked = HistoryEntry {
            marked: true,
            ..packet(3)
        };
        assert_eq!(losses(&[packet(2), marked]), [(0, 2)]);
    }

    proptest! {
        #[test]
        fn a_packet_that_extends_the_history_is_the_next_in_order(
            arrivals in proptest::collection::vec((-3_i64..4, 0_u64..3, any::<bool>()), 1..80),
        ) {
            let mut quick = LossHistory::new(packet(0));
            let mut general = quick.clone();
            let mut next = 1;
            for (step, ndp, marked) in arrivals {
                let arrival = HistoryEntry { ndp, marked, ..packet(next + step) };
                next = next.max(arrival.seq) + 1;
                let detected = |history: &mut LossHistory| -> Vec<_> {
                    let all = std::iter::from_fn(|| history.next_detected());
                    all.map(|detected| format!("{detected:?}")).collect()
                };
                let found = if quick.extend(&arrival) {
                    vec![format!("{:?}", Detected::InOrder(arrival))]
                } else {
                    quick.insert(arrival);
                    detected(&mut quick)
                };
                general.insert(arrival);
                prop_assert_eq!(found, detected(&mut general));
                prop_assert_eq!(quick.greatest(), general.greatest());
                prop_assert_eq!(quick.is_pending(), general.is_pending());
                prop_assert_eq!(format!("{:?}", quick.base()), format!("{:?}", general.base()));
            }
        }
    }

    #[test]
    fn extreme_numbers_are_handled() {
        let mut history = LossHistory::new(packet(0));
        assert!(!history.insert(packet(-1)));
        assert!(!history.insert(packet(0)));
        assert!(history.insert(packet(1 << 47)));
        assert!(history.next_detected().is_none());
        assert_eq!(history.greatest(), 1 << 47);
    }
}
