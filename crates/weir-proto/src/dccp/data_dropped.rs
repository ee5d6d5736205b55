//! The Data Dropped option (RFC 4340 §11.7): a receiver reports packets that arrived but whose data
//! was not delivered to the application.
//!
//! A report is repeated until an acknowledgement that carried it is acknowledged. Only the newest
//! [`MAX_DROPS`] are kept, because the peer of a one-way flow may never acknowledge
//! acknowledgements.

use super::wire::SeqNum;
use std::collections::VecDeque;

/// The most drops that are kept.
const MAX_DROPS: usize = 64;
/// The most unacknowledged acknowledgements that are kept.
const MAX_SENT: usize = 64;
/// The longest run of a normal block (RFC 4340 §11.7).
const MAX_NORMAL_RUN: u64 = 128;
/// The longest run of a drop block (RFC 4340 §11.7).
const MAX_DROP_RUN: u64 = 16;

/// Why data was not delivered (RFC 4340 table 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DropCode {
    /// The Data Checksum was wrong (RFC 4340 §9.3).
    Corrupt,
}

impl DropCode {
    const fn number(self) -> u8 {
        match self {
            Self::Corrupt => 3,
        }
    }
}

/// The drops that a receiver has to report.
#[derive(Clone, Debug, Default)]
pub(super) struct DataDropped {
    /// In the order of sequence numbers.
    drops: VecDeque<(SeqNum, DropCode)>,
    /// Acknowledgements that carried a report, with their acknowledgement numbers.
    sent: VecDeque<(SeqNum, SeqNum)>,
}

impl DataDropped {
    /// Records that the data of a packet was dropped.
    pub(super) fn record(&mut self, seq: SeqNum, code: DropCode) {
        let at = self
            .drops
            .partition_point(|(other, _)| other.is_before(seq));
        if self.drops.get(at).is_some_and(|(other, _)| *other == seq) {
            return;
        }
        self.drops.insert(at, (seq, code));
        if self.drops.len() > MAX_DROPS {
            self.drops.pop_front();
        }
    }

    /// The blocks for the packet `seq` that acknowledges `ack`, at most `most` octets; empty if
    /// there is no drop to report.
    pub(super) fn on_ack_sent(&mut self, seq: SeqNum, ack: SeqNum, most: usize) -> Vec<u8> {
        let mut blocks: Vec<u8> = Vec::new();
        let mut cursor = ack;
        let mut drops = self.drops.iter().rev().peekable();
        while let Some(&(number, code)) = drops.next() {
            if number.is_after(ack) {
                continue;
            }
            let mut normal = cursor.since(number).unsigned_abs();
            let mut run = 1;
            while run < MAX_DROP_RUN && drops.next_if_eq(&&(number.sub(run), code)).is_some() {
                run += 1;
            }
            if blocks.len() as u64 + normal.div_ceil(MAX_NORMAL_RUN) + 1 > most as u64 {
                break;
            }
            while normal > 0 {
                let part = normal.min(MAX_NORMAL_RUN);
                blocks.push((part - 1) as u8);
                normal -= part;
            }
            blocks.push(0x80 | code.number() << 4 | (run - 1) as u8);
            cursor = number.sub(run);
        }
        if !blocks.is_empty() {
            self.sent.push_back((seq, ack));
            if self.sent.len() > MAX_SENT {
                self.sent.pop_front();
            }
        }
        blocks
    }

    /// The peer has received the packet `seq`: its report is not repeated.
    pub(super) fn on_ack_of_ack(&mut self, seq: SeqNum) {
        let Some(&(_, reported)) = self.sent.iter().find(|(sent, _)| *sent == seq) else {
            return;
        };
        self.sent.retain(|(sent, _)| sent.is_after(seq));
        self.drops.retain(|(number, _)| number.is_after(reported));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dropped(numbers: impl IntoIterator<Item = u64>) -> DataDropped {
        let mut memory = DataDropped::default();
        for number in numbers {
            memory.record(SeqNum::new(number), DropCode::Corrupt);
        }
        memory
    }

    fn blocks(memory: &mut DataDropped, ack: u64, most: usize) -> Vec<u8> {
        memory.on_ack_sent(SeqNum::new(7), SeqNum::new(ack), most)
    }

    #[test]
    fn the_example_of_the_rfc_has_its_octets() {
        // RFC 4340 §11.7 has drop code 2 where we have 3, and counts its last run from 94.
        let mut memory = dropped([99, 94, 93, 92]);
        assert_eq!(blocks(&mut memory, 100, 200), [0, 0xb0, 3, 0xb2]);
    }

    #[test]
    fn long_runs_take_several_blocks_and_no_drop_takes_none() {
        assert_eq!(blocks(&mut dropped([]), 100, 200), []);
        assert_eq!(blocks(&mut dropped([101]), 100, 200), []);
        assert_eq!(blocks(&mut dropped(81..=100), 100, 200), [0xbf, 0xb3]);
        assert_eq!(blocks(&mut dropped([800]), 1000, 200), [127, 71, 0xb0]);
        assert_eq!(blocks(&mut dropped([800]), 1000, 2), []);
    }

    #[test]
    fn a_report_is_repeated_until_it_is_acknowledged() {
        let mut memory = dropped([5]);
        assert_eq!(blocks(&mut memory, 6, 200), [0, 0xb0]);
        memory.on_ack_of_ack(SeqNum::new(6));
        assert_eq!(blocks(&mut memory, 6, 200), [0, 0xb0]);
        memory.record(SeqNum::new(9), DropCode::Corrupt);
        memory.on_ack_of_ack(SeqNum::new(7));
        assert_eq!(blocks(&mut memory, 9, 200), [0xb0]);
    }

    #[test]
    fn a_peer_that_never_acknowledges_uses_bounded_memory() {
        let memory = dropped((0..10_000).map(|number| 2 * number));
        assert_eq!(memory.drops.len(), MAX_DROPS);
        assert_eq!(
            memory.drops.front().map(|(number, _)| number.get()),
            Some(19_872)
        );
    }

    #[test]
    fn a_report_may_fill_its_room() {
        assert_eq!(blocks(&mut dropped([100]), 100, 1), [0xb0]);
        assert_eq!(blocks(&mut dropped([100]), 100, 0), []);
        assert_eq!(blocks(&mut dropped([800]), 1000, 3), [127, 71, 0xb0]);
    }

    #[test]
    fn the_last_64_reports_can_be_acknowledged() {
        let mut memory = dropped([5]);
        let acknowledged = (100..165).map(|number| {
            memory.on_ack_sent(SeqNum::new(number), SeqNum::new(6), 200);
            memory.sent.len()
        });
        assert!(acknowledged.eq((1..=64).chain([64])));
        let oldest = memory.sent.front().map(|(number, _)| number.get());
        assert_eq!(oldest, Some(101));
    }
}
