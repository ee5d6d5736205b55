//! Ack Vectors (RFC 4340 §11.4 and appendix A): run-length encoded cells that report for each
//! packet up to the acknowledgement number whether it arrived, and whether it was marked.
//!
//! The receiver keeps at most [`MAX_CELLS`] cells, as many as one option holds, and removes cells
//! whose receipt the sender has acknowledged. Does not model: merging of cells after an old packet
//! has changed one.

use super::wire::SeqNum;
use crate::packet::Ecn;
use std::collections::VecDeque;

/// The most octets of cells in one option.
pub(super) const MAX_CELLS: usize = 253;
/// The longest run of one cell.
const MAX_RUN: u8 = 63;
/// The most unacknowledged acknowledgements that are kept: one round trip of a fast flow.
const MAX_SENT: usize = 1024;

/// The state of a packet in an Ack Vector (RFC 4340 §11.4, table 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckState {
    Received,
    Marked,
    NotReceived,
}

impl AckState {
    const fn code(self) -> u8 {
        match self {
            Self::Received => 0,
            Self::Marked => 1,
            Self::NotReceived => 3,
        }
    }

    /// `None` for the reserved code 2.
    const fn from_cell(cell: u8) -> Option<Self> {
        match cell >> 6 {
            0 => Some(Self::Received),
            1 => Some(Self::Marked),
            3 => Some(Self::NotReceived),
            _ => None,
        }
    }
}

/// Reads an Ack Vector: for each cell, from the number `cursor` downwards, the highest and lowest
/// number that it covers and their state. Afterwards the cursor is where a further Ack Vector of
/// the packet begins.
pub(super) fn read<'a>(
    cursor: &'a mut SeqNum,
    cells: &'a [u8],
) -> impl Iterator<Item = (SeqNum, SeqNum, AckState)> + 'a {
    cells.iter().filter_map(move |&cell| {
        let run = u64::from(cell & MAX_RUN);
        let (high, low) = (*cursor, cursor.sub(run));
        *cursor = low.previous();
        AckState::from_cell(cell).map(|state| (high, low, state))
    })
}

/// The Ack Vector of a receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct AckVector {
    /// The number that the first cell begins with.
    newest: SeqNum,
    cells: VecDeque<u8>,
    /// Acknowledgements sent and the numbers that they acknowledged, the oldest first.
    sent: VecDeque<(SeqNum, SeqNum)>,
}

impl AckVector {
    /// A packet arrived.
    pub(super) fn on_packet(&mut self, seq: SeqNum, ecn: Ecn) {
        let state = if ecn == Ecn::Ce {
            AckState::Marked
        } else {
            AckState::Received
        };
        if self.cells.is_empty() {
            self.newest = seq;
            self.cells.push_front(state.code() << 6);
            return;
        }
        let ahead = seq.since(self.newest);
        if ahead <= 0 {
            self.mark_late_arrival(ahead.unsigned_abs(), state);
            return;
        }
        let mut missing = ahead as u64 - 1;
        while missing > 0 && self.cells.len() < 4 * MAX_CELLS {
            let run = missing.min(u64::from(MAX_RUN) + 1);
            self.cells
                .push_front(AckState::NotReceived.code() << 6 | (run - 1) as u8);
            missing -= run;
        }
        if missing > 0 {
            // The gap is longer than a vector: earlier packets are no longer reported.
            self.cells.clear();
        }
        match self.cells.front_mut() {
            Some(front)
                if ahead == 1 && *front >> 6 == state.code() && *front & MAX_RUN < MAX_RUN =>
            {
                *front += 1;
            }
            _ => self.cells.push_front(state.code() << 6),
        }
        self.newest = seq;
        self.cells.truncate(MAX_CELLS);
    }

    /// A packet arrived out of order: its cell is split.
    fn mark_late_arrival(&mut self, mut behind: u64, state: AckState) {
        for at in 0..self.cells.len() {
            let cell = self.cells[at];
            let count = u64::from(cell & MAX_RUN) + 1;
            if behind >= count {
                behind -= count;
                continue;
            }
            if AckState::from_cell(cell) == Some(AckState::NotReceived) {
                let (before, after) = (behind, count - behind - 1);
                self.cells.remove(at);
                let missing = AckState::NotReceived.code() << 6;
                let parts = [
                    (before > 0).then(|| missing | (before - 1) as u8),
                    Some(state.code() << 6),
                    (after > 0).then(|| missing | (after - 1) as u8),
                ];
                for (offset, part) in parts.into_iter().flatten().enumerate() {
                    self.cells.insert(at + offset, part);
                }
                self.cells.truncate(MAX_CELLS);
            }
            return;
        }
    }

    /// Writes the cells into `out` for an acknowledgement with number `seq` of `self.newest`.
    pub(super) fn on_ack_sent(&mut self, seq: SeqNum, out: &mut Vec<u8>) {
        out.clear();
        out.extend(&self.cells);
        if self.sent.len() >= MAX_SENT {
            // Keeps every other entry, because the peer acknowledges only some of them.
            let mut odd = false;
            self.sent.retain(|_| {
                odd = !odd;
                odd
            });
        }
        self.sent.push_back((seq, self.newest));
    }

    /// The number that the first cell begins with.
    pub(super) const fn newest(&self) -> SeqNum {
        self.newest
    }

    /// The peer has received the acknowledgement `seq`: the packets that it reported are not
    /// reported again (RFC 4340 §11.4.2).
    pub(super) fn on_ack_of_ack(&mut self, seq: SeqNum) {
        // Only the acknowledged packet itself is known to have arrived.
        let at = self.sent.partition_point(|(sent, _)| sent.is_before(seq));
        let Some(&(_, known)) = self.sent.get(at).filter(|(sent, _)| *sent == seq) else {
            return;
        };
        self.sent.drain(..=at);
        let mut keep = self.newest.since(known).max(0) as u64;
        let mut cells = 0;
        while keep > 0 && cells < self.cells.len() {
            let count = u64::from(self.cells[cells] & MAX_RUN) + 1;
            keep = keep.saturating_sub(count);
            cells += 1;
        }
        // The newest packet stays, so that the vector is not empty.
        self.cells.truncate(cells.max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn vector(numbers: &[u64]) -> AckVector {
        let mut vector = AckVector::default();
        for &number in numbers {
            vector.on_packet(SeqNum::new(number), Ecn::NotEct);
        }
        vector
    }

    #[test]
    fn runs_and_gaps_become_cells() {
        // The example of RFC 4340 §11.4: 3, 1 and 0 received, 2 not, reads 0, 3, 0+1.
        assert_eq!(vector(&[0, 1, 3]).cells, [0x00, 0xc0, 0x01]);
        assert_eq!(vector(&[0, 1, 3, 2]).cells, [0x00, 0x00, 0x01]);
    }

    #[test]
    fn removes_what_the_sender_has_received() {
        let mut vector = vector(&[1, 2, 4, 5, 6]);
        let mut out = Vec::new();
        vector.on_ack_sent(SeqNum::new(70), &mut out);
        assert_eq!(out, [0x02, 0xc0, 0x01]);
        for number in 8..10 {
            vector.on_packet(SeqNum::new(number), Ecn::NotEct);
        }
        vector.on_ack_of_ack(SeqNum::new(70));
        assert_eq!(vector.cells, [0x01, 0xc0]);
    }

    #[test]
    fn a_mark_has_the_code_one_wherever_its_packet_arrives() {
        // RFC 4340 §11.4, table 6: 0 received, 1 marked, 3 not received, above a run of six bits.
        let mut vector = AckVector::default();
        for (number, ecn, cells) in [
            (0, Ecn::Ce, &[0x40][..]),
            (1, Ecn::Ce, &[0x41]),
            (2, Ecn::Ect0, &[0x00, 0x41]),
            (3, Ecn::Ce, &[0x40, 0x00, 0x41]),
            (7, Ecn::Ce, &[0x40, 0xc2, 0x40, 0x00, 0x41]),
            (5, Ecn::Ce, &[0x40, 0xc0, 0x40, 0xc0, 0x40, 0x00, 0x41]),
            // The state of a packet that has arrived does not change.
            (2, Ecn::Ce, &[0x40, 0xc0, 0x40, 0xc0, 0x40, 0x00, 0x41]),
        ] {
            vector.on_packet(SeqNum::new(number), ecn);
            assert_eq!(vector.cells, cells, "{number}");
        }
    }

    #[test]
    fn a_cell_has_a_run_of_64_packets_at_most() {
        // RFC 4340 §11.4: Run Length is one less than the packets, 63 at most.
        assert_eq!(vector(&(0..64).collect::<Vec<_>>()).cells, [0x3f]);
        assert_eq!(vector(&(0..65).collect::<Vec<_>>()).cells, [0x00, 0x3f]);
        assert_eq!(vector(&[0, 65]).cells, [0x00, 0xff, 0x00]);
        assert_eq!(vector(&[0, 66]).cells, [0x00, 0xc0, 0xff, 0x00]);
    }

    #[test]
    fn a_gap_takes_the_cells_of_one_option_and_a_far_longer_one_begins_anew() {
        // RFC 4340 §5.8: an option has 253 octets of data. 1011 cells of 64 missing packets precede
        // the newest one, of which 252 are reported; a longer gap clears the vector.
        let missing = 1011 * 64;
        let cells = vector(&[0, missing + 1]).cells;
        assert_eq!((cells.len(), cells[0], cells[252]), (253, 0x00, 0xff));
        assert_eq!(vector(&[0, missing + 2]).cells, [0x00]);
    }

    #[test]
    fn an_acknowledged_report_leaves_the_cell_of_the_newest_packet() {
        let mut vector = vector(&[1, 2, 4, 5, 6]);
        vector.on_ack_sent(SeqNum::new(70), &mut Vec::new());
        vector.on_ack_of_ack(SeqNum::new(70));
        assert_eq!(vector.cells, [0x02]);
    }

    #[test]
    fn of_too_many_acknowledgements_every_other_one_is_kept() {
        let mut vector = vector(&[1]);
        let mut send = |number| vector.on_ack_sent(SeqNum::new(number), &mut Vec::new());
        (0..1024).for_each(&mut send);
        assert_eq!(vector.sent.len(), 1024);
        vector.on_ack_sent(SeqNum::new(1024), &mut Vec::new());
        assert_eq!(vector.sent.len(), 513);
        let numbers = vector.sent.iter().map(|(number, _)| number.get());
        assert!(numbers.eq((0..=1024).step_by(2)));
    }

    proptest! {
        #[test]
        fn the_reader_reports_what_arrived(
            numbers in proptest::collection::vec(1000_u64..1400, 1..200),
        ) {
            let mut vector = AckVector::default();
            for &number in &numbers {
                vector.on_packet(SeqNum::new(number), Ecn::NotEct);
            }
            let not_before_first = numbers.iter().copied().filter(|&n| n >= numbers[0]);
            let arrived: BTreeSet<_> = not_before_first.collect();
            let mut out = Vec::new();
            vector.on_ack_sent(SeqNum::new(1), &mut out);
            let newest = numbers.iter().max().copied().unwrap_or(0);
            prop_assert_eq!(vector.newest.get(), newest);
            let mut cursor = vector.newest;
            for (high, low, state) in read(&mut cursor, &out) {
                for number in low.get()..=high.get() {
                    let received = state == AckState::Received;
                    prop_assert_eq!(received, arrived.contains(&number), "{}", number);
                }
            }
        }

        #[test]
        fn no_vector_makes_the_reader_panic(
            cells in proptest::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut cursor = SeqNum::new(5);
            prop_assert!(read(&mut cursor, &cells).count() <= cells.len());
        }
    }
}
