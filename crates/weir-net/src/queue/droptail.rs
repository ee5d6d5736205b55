//! Drop-tail: first in, first out; a packet that finds no room is dropped.
//!
//! As tc's `pfifo` (limit in packets) and `bfifo` (limit in octets): a packet is taken if the
//! queue with it stays within the limit. Sizes count from the IP header on.

use crate::packet_pool::PacketRef;
use std::collections::VecDeque;

/// What a queue holds at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// This many packets.
    Packets(u64),
    /// This many octets.
    Bytes(u64),
}

#[derive(Debug)]
pub(crate) struct DropTail {
    limit: QueueLimit,
    packets: VecDeque<PacketRef>,
    bytes: u64,
}

impl DropTail {
    pub(super) fn new(limit: QueueLimit) -> Self {
        Self {
            limit,
            packets: VecDeque::new(),
            bytes: 0,
        }
    }

    #[inline]
    pub(super) fn enqueue(&mut self, packet: PacketRef) -> Option<PacketRef> {
        let size = u64::from(packet.size);
        let room = match self.limit {
            QueueLimit::Packets(limit) => self.packets() < limit,
            QueueLimit::Bytes(limit) => self.bytes + size <= limit,
        };
        if !room {
            return Some(packet);
        }
        self.bytes += size;
        self.packets.push_back(packet);
        None
    }

    #[inline]
    pub(super) fn dequeue(&mut self) -> Option<PacketRef> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.size);
        Some(packet)
    }

    #[inline]
    pub(super) fn head_size(&self) -> Option<u32> {
        self.packets.front().map(|packet| packet.size)
    }

    #[inline]
    pub(super) fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}
