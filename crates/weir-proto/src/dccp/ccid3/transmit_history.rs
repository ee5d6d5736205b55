//! The transmit history: the times of sending of packets that are not acknowledged yet.

use crate::dccp::wire::SeqNum;
use crate::ring::Ring;
use crate::time::Instant;

/// The most records; the oldest is removed first. Five times the packets in flight at 1 Gbit/s with
/// packets of 1400 octets and a round-trip time of 150 ms.
const CAPACITY: usize = 1 << 16;

/// A packet that was handed over.
#[derive(Clone, Copy, Debug)]
pub struct SentRecord {
    pub seq: SeqNum,
    /// When it left the host; until then, when it was handed over.
    pub sent_at: Instant,
    /// Its CCVal, if it is a data packet.
    pub counter: Option<u8>,
}

/// Records in the order of sequence numbers.
#[derive(Clone, Debug, Default)]
pub struct TransmitHistory {
    entries: Ring<SentRecord>,
}

impl TransmitHistory {
    /// A packet is handed over. A record that is not in order is ignored.
    pub fn push(&mut self, entry: SentRecord) {
        if self
            .entries
            .back()
            .is_some_and(|last| !entry.seq.is_after(last.seq))
        {
            return;
        }
        if self.entries.len() >= CAPACITY {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// A packet has left the host. A packet without data gets its record now.
    pub fn set_sent_at(&mut self, now: Instant, seq: SeqNum) {
        if let Some(newest) = self.entries.back_mut()
            && newest.seq == seq
        {
            newest.sent_at = now;
            return;
        }
        let newest_first = self.entries.iter_mut().rev();
        for entry in newest_first.take_while(|entry| entry.seq.is_at_or_after(seq)) {
            if entry.seq == seq {
                entry.sent_at = now;
                return;
            }
        }
        self.push(SentRecord {
            seq,
            sent_at: now,
            counter: None,
        });
    }

    /// The record of an acknowledged packet; older records are removed.
    pub fn acknowledge(&mut self, seq: SeqNum) -> Option<SentRecord> {
        while let Some(first) = self.entries.front() {
            if first.seq == seq {
                return Some(*first);
            }
            if first.seq.is_after(seq) {
                return None;
            }
            // An acknowledgement of a packet that was never sent removes no record.
            if self
                .entries
                .back()
                .is_some_and(|last| last.seq.is_before(seq))
            {
                return None;
            }
            self.entries.pop_front();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(seqs: impl Iterator<Item = u64>) -> TransmitHistory {
        let mut history = TransmitHistory::default();
        for seq in seqs {
            history.push(SentRecord {
                seq: SeqNum::new(seq),
                sent_at: Instant::from_nanos(seq),
                counter: Some(0),
            });
        }
        history
    }

    #[test]
    fn finds_the_acknowledged_packet_and_removes_older_ones() {
        let mut history = with(1..10);
        for _ in 0..2 {
            let entry = history.acknowledge(SeqNum::new(5));
            assert_eq!(entry.map(|e| e.sent_at.as_nanos()), Some(5));
        }
        assert!(history.acknowledge(SeqNum::new(4)).is_none());
        assert!(history.acknowledge(SeqNum::new(99)).is_none());
        assert!(history.acknowledge(SeqNum::new(9)).is_some());
    }

    #[test]
    fn the_second_time_of_sending_replaces_the_first() {
        let mut history = with(1..4);
        history.set_sent_at(Instant::from_nanos(50), SeqNum::new(2));
        let entry = history.acknowledge(SeqNum::new(2));
        assert_eq!(entry.map(|e| e.sent_at.as_nanos()), Some(50));
    }

    #[test]
    fn holds_a_bounded_number_of_packets() {
        let mut history = with(0..100_000);
        assert!(history.acknowledge(SeqNum::new(100)).is_none());
        assert!(history.acknowledge(SeqNum::new(99_999)).is_some());
        assert!(history.entries.capacity() <= 2 * CAPACITY);
    }
}
