//! Which packets stay in the table of packets once it has become long.

use weir_proto::event::Event;
use weir_proto::rng::mix64;
use weir_proto::time::Instant;

/// Keeps one packet in so many, by its number, so that all rows of a packet stay or none: where it
/// was sent and where it arrived. What was lost, dropped or marked stays always.
pub(in crate::run) struct PacketSampling {
    one_in: u64,
    /// The number of rows at which half of the packets are left out from then on.
    next: u64,
    step: u64,
    /// Since when packets are left out.
    pub(in crate::run) from: Option<Instant>,
}

impl PacketSampling {
    /// Keeps all of the first so many rows.
    pub(in crate::run) const fn new(max_rows: u64) -> Self {
        Self {
            one_in: 1,
            next: max_rows,
            step: max_rows / 2,
            from: None,
        }
    }

    /// True if the event becomes a row of the table, which has so many rows already.
    pub(in crate::run) fn keeps(&mut self, at: Instant, event: &Event, rows: u64) -> bool {
        if rows > self.next {
            self.one_in = self.one_in.saturating_mul(2);
            self.next = rows.saturating_add(self.step.max(1));
            self.from.get_or_insert(at);
        }
        match *event {
            Event::Sent { number, .. } | Event::Received { number, .. } => {
                // Of TCP, whose numbers are octets, multiples of a segment's size must not stay or
                // go together.
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
        // A step may come between the two rows of a packet.
        assert!(received.difference(&sent).count() < 10);
        assert!(sent.len() > 500, "{}", sent.len());
        assert!(sampling.from.is_some_and(|from| from.as_nanos() < 1000));
    }
}
