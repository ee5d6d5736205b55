//! Sampling of packets once their table has become long.

use weir_proto::event::Event;
use weir_proto::rng::mix64;
use weir_proto::time::Instant;

/// Keeps one of n packets, chosen by its number, so that the rows of a packet, where it was sent
/// and where it arrived, are kept or omitted together. Losses, drops and marks are always kept.
pub(in crate::run) struct PacketSampling {
    one_in: u64,
    /// The number of rows above which the sampling rate is halved.
    next: u64,
    step: u64,
    /// The time from which packets are omitted.
    pub(in crate::run) from: Option<Instant>,
}

impl PacketSampling {
    /// Keeps all packets up to this number of rows.
    pub(in crate::run) const fn new(max_rows: u64) -> Self {
        Self {
            one_in: 1,
            next: max_rows,
            step: max_rows / 2,
            from: None,
        }
    }

    /// True if the event is kept in a table that has this many rows.
    pub(in crate::run) fn keeps(&mut self, at: Instant, event: &Event, rows: u64) -> bool {
        if rows > self.next {
            self.one_in = self.one_in.saturating_mul(2);
            self.next = rows.saturating_add(self.step.max(1));
            self.from.get_or_insert(at);
        }
        match *event {
            Event::Sent { number, .. } | Event::Received { number, .. } => {
                // The number is hashed, because TCP's numbers are octets, and multiples of a
                // segment size must not be kept or omitted together.
                mix64(number).is_multiple_of(self.one_in)
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use weir_proto::event::{DropReason, PacketContent, PacketType};
    use weir_proto::packet::FlowId;

    #[test]
    fn a_packet_that_stays_has_all_its_rows_and_drops_always_stay() {
        let (size, content) = (1500, PacketContent::Data);
        let mut sampling = PacketSampling::new(1000);
        let (mut rows, mut drops) = (0, 0);
        let (mut sent, mut received) = (BTreeSet::new(), BTreeSet::new());
        for packet in 0..100_000_u64 {
            let at = Instant::from_nanos(packet);
            let number = packet * 1448;
            let leaves = Event::Sent {
                number,
                size,
                content,
                packet_type: PacketType::None,
            };
            if sampling.keeps(at, &leaves, rows) {
                rows += 1;
                sent.insert(number);
            }
            let arrives = Event::Received {
                number,
                size,
                content,
                packet_type: PacketType::None,
            };
            if packet % 100 > 0 {
                if sampling.keeps(at, &arrives, rows) {
                    rows += 1;
                    received.insert(number);
                }
                continue;
            }
            let event = Event::Drop {
                flow: FlowId(0),
                number: Some(number),
                size,
                reason: DropReason::LossModel,
            };
            rows += u64::from(sampling.keeps(at, &event, rows));
            drops += 1;
        }
        assert_eq!(drops, 1000);
        assert!((2000..12_000).contains(&rows), "{rows}");
        // The sampling rate may change between the two rows of a packet.
        assert!(received.difference(&sent).count() < 10);
        assert!(sent.len() > 500, "{}", sent.len());
        assert!(sampling.from.is_some_and(|from| from.as_nanos() < 1000));
    }
}
