//! First in, first out, with the time at which each packet entered: the packet list of the
//! disciplines with active queue management.

use super::Backlog;
use crate::packet_pool::PacketRef;
use weir_proto::ring::Ring;
use weir_proto::time::Instant;

/// Packets in order of arrival, each with its time of arrival.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    packets: Ring<(Instant, PacketRef)>,
    bytes: u64,
}

impl Fifo {
    #[inline]
    pub(super) fn push(&mut self, now: Instant, packet: PacketRef) {
        self.bytes += u64::from(packet.size);
        self.packets.push_back((now, packet));
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Instant, PacketRef)> {
        let (since, packet) = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some((since, packet))
    }

    #[inline]
    pub(super) fn head_size(&self) -> Option<u32> {
        self.packets.front().map(|(_, packet)| packet.size)
    }

    /// When the first packet entered.
    #[inline]
    pub(super) fn head_time(&self) -> Option<Instant> {
        self.packets.front().map(|(since, _)| *since)
    }

    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.packets.len() as u64,
            bytes: self.bytes,
        }
    }

    #[inline]
    pub(super) fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    #[inline]
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
