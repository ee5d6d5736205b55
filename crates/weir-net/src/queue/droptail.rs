//! Drop-tail: first in, first out; a packet that finds the queue full is dropped.
//!
//! As tc-pfifo(8) (limit in packets) and tc-bfifo(8) (limit in octets): a packet is queued if the
//! queue, including it, stays within the limit. Sizes count from the IP header on.

use super::{Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, TcName};
use crate::packet_pool::PacketRef;
use weir_proto::event::DropReason;
use weir_proto::ring::Ring;
use weir_proto::rng::Rng;
use weir_proto::settings::{Diagnostic, Form, Kind, Raw, Reader, Spanned, Value, bytes, count};
use weir_proto::time::Instant;
use weir_proto::units;

weir_proto::settings! {
    /// First in, first out; a packet that finds it full is dropped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DropTailConfig {
        /// What it holds at most: packets as a number, or bytes such as "30000b".
        pub limit: QueueLimit,
    }
}

/// The capacity of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// This many packets.
    Packets(u64),
    /// This many octets.
    Bytes(u64),
}

impl Default for QueueLimit {
    /// 1000 packets, the default txqueuelen of Linux's Ethernet interfaces.
    fn default() -> Self {
        Self::Packets(1000)
    }
}

const MAX_LIMIT: u64 = 1 << 50;

impl Value for QueueLimit {
    fn read(&mut self, value: &Spanned, reader: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let mut number = 0_u64;
        if value.raw.as_text().is_some() {
            bytes(1..=MAX_LIMIT).read(&mut number, value, reader)?;
            *self = Self::Bytes(number);
            return Ok(());
        }
        let count = count(1..=MAX_LIMIT, "packets");
        count.read(&mut number, value, reader).map_err(|wrong| {
            let help = "write packets as a number (100) or bytes as a text (\"30000b\")";
            Diagnostic::new(wrong.message, help)
        })?;
        *self = Self::Packets(number);
        Ok(())
    }

    fn write(&self) -> Raw {
        match *self {
            Self::Packets(packets) => count(1..=MAX_LIMIT, "packets").write(&packets),
            Self::Bytes(octets) => Raw::Text(format!("{octets}b")),
        }
    }

    fn kind(&self) -> Kind {
        let (min, max, unit) = (1, MAX_LIMIT, "packets");
        Kind::AnyOf(vec![
            Kind::Integer { min, max, unit },
            Kind::Quantity(&units::SIZE),
        ])
    }
}

impl QueueDiscConfig for DropTailConfig {
    type Disc = DropTail;
    const TC_NAMES: &'static [TcName] = &[TcName::packets("pfifo"), TcName::octets("bfifo")];
    const IS_RANDOM: bool = false;

    fn build(&self, _rng: Rng) -> DropTail {
        DropTail {
            limit: self.limit,
            packets: Ring::default(),
            bytes: 0,
        }
    }

    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        let limit = if rng.chance(0.5) {
            QueueLimit::Packets(1 + rng.below(20))
        } else {
            QueueLimit::Bytes(1500 + rng.below(30_000))
        };
        Self { limit }
    }
}

/// A drop-tail queue.
#[derive(Debug)]
pub(crate) struct DropTail {
    limit: QueueLimit,
    packets: Ring<PacketRef>,
    bytes: u64,
}

impl QueueDisc for DropTail {
    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: PacketRef, effects: &mut DropsAndMarks) {
        let size = u64::from(packet.size);
        let fits = match self.limit {
            QueueLimit::Packets(limit) => (self.packets.len() as u64) < limit,
            QueueLimit::Bytes(limit) => self.bytes + size <= limit,
        };
        if !fits {
            effects.dropped.push((packet, DropReason::QueueFull));
            return;
        }
        self.bytes += size;
        self.packets.push_back(packet);
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant, _effects: &mut DropsAndMarks) -> Option<PacketRef> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    #[inline]
    fn head_size(&self) -> Option<u32> {
        self.packets.front().map(|packet| packet.size)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u64,
            bytes: self.bytes,
        }
    }

    #[inline]
    fn can_bypass(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;

    #[test]
    fn a_packet_is_taken_if_the_queue_with_it_is_within_the_limit() {
        for (limit, sizes, taken) in [
            (QueueLimit::Packets(2), [1500, 1, 1], 2),
            (QueueLimit::Bytes(3000), [1500, 1500, 1], 2),
            (QueueLimit::Bytes(2999), [1500, 1500, 1499], 2),
            (QueueLimit::Bytes(1), [1500, 1, 1], 1),
        ] {
            let mut queue = DropTailConfig { limit }.build(Rng::stream(1, "droptail"));
            let mut effects = DropsAndMarks::default();
            for size in sizes {
                queue.enqueue(Instant::ZERO, packet(0, size), &mut effects);
            }
            assert_eq!(queue.backlog().packets, taken, "{limit:?}");
            assert_eq!(effects.dropped.len() as u64, 3 - taken);
            while queue.dequeue(Instant::ZERO, &mut effects).is_some() {}
            assert_eq!(queue.backlog(), Backlog::default());
        }
    }
}
