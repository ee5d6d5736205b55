//! The packets in the network, and the small references that links and queues move.
//!
//! Links and queues read the IP header, the flow and the size, and move references of 40 octets
//! from ring to ring. The packet itself, many times as large, moves twice: into the pool when it
//! leaves its endpoint, and out of it when it reaches the other. Slots are reused, so that nothing
//! is allocated once the pool has grown to the number of packets in the network.
//!
//! All flows share the slots: memory that one flow's slow start needed serves the others, and a
//! packet that enters takes the place of one that has just left, which is still in the cache.

mod slab;

use crate::ack_facts::AckFacts;
use slab::Slab;
use std::num::NonZeroU32;
use weir_proto::event::{DropReason, PacketInNetwork};
use weir_proto::packet::{FlowId, IpHeader, Packet, TraceNumber, Transit};
use weir_proto::time::{Duration, Instant};

/// The header fields of a packet that the network reads, and its place in the pool.
#[derive(Debug)]
pub(crate) struct PacketRef {
    /// The flow that it belongs to.
    pub(crate) flow: FlowId,
    /// The IP header; the network may change its TTL and ECN field.
    pub(crate) ip: IpHeader,
    /// Octets on the wire from the IP header on.
    pub(crate) size: u32,
    /// Offset of the first octet that was damaged on the way.
    pub(crate) damaged_at: Option<NonZeroU32>,
    /// The reason why the next link, which books ahead, will drop the packet when it arrives there.
    pub(crate) refused: Option<DropReason>,
    slot: u32,
    /// Nanoseconds in queues so far; while it waits, minus the time at which it entered (wrapping).
    queued: u64,
}

impl PacketRef {
    /// The packet enters a queue.
    #[inline]
    pub(crate) const fn enter_queue(&mut self, now: Instant) {
        self.queued = self.queued.wrapping_sub(now.as_nanos());
    }

    /// The packet leaves the queue that it has entered.
    #[inline]
    pub(crate) const fn leave_queue(&mut self, now: Instant) {
        self.queued = self.queued.wrapping_add(now.as_nanos());
    }

    /// The next link, which books ahead, will drop the packet when it arrives there.
    #[cold]
    pub(crate) fn refused_by_next(mut self, reason: DropReason) -> Self {
        self.ip.ttl += 1;
        self.refused = Some(reason);
        self
    }

    /// The fields that trace events need to identify the packet.
    #[inline]
    pub(crate) const fn pooled(&self) -> PooledPacket {
        PooledPacket {
            flow: self.flow,
            size: self.size,
            slot: self.slot,
        }
    }

    /// A second reference to the same packet, only for [`PacketPool::duplicate`] and only while the
    /// packet is in the pool.
    pub(crate) const fn stub(&self) -> Self {
        Self {
            flow: self.flow,
            ip: self.ip,
            size: self.size,
            damaged_at: self.damaged_at,
            refused: None,
            slot: self.slot,
            queued: self.queued,
        }
    }
}

/// A packet in the pool, as trace events of links and stations identify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PooledPacket {
    /// The flow that it belongs to.
    pub(crate) flow: FlowId,
    /// Octets on the wire from the IP header on.
    pub(crate) size: u32,
    slot: u32,
}

/// All packets in the network.
#[derive(Debug, Default)]
pub(crate) struct PacketPool {
    slab: Slab,
}

impl PacketPool {
    /// Inserts the packet that `fill` writes into a free slot, if it writes one. Writing in place
    /// avoids copies when a packet is returned, unwrapped and passed on.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        fill: impl FnOnce(&mut Option<Packet>) -> bool,
    ) -> Option<PacketRef> {
        let (slot, packet) = self.slab.next_free();
        if !fill(packet) {
            return None;
        }
        let packet = packet.as_ref()?;
        let reference = PacketRef {
            flow: packet.flow,
            ip: packet.ip,
            size: packet.size,
            damaged_at: packet.damaged_at,
            refused: None,
            slot,
            queued: packet.transit.queued.as_nanos(),
        };
        self.slab.take_free();
        Some(reference)
    }

    /// Removes the packet, with the IP header as the network changed it.
    pub(crate) fn remove(&mut self, reference: PacketRef) -> Option<Packet> {
        self.slot_of(reference).take()
    }

    /// The slot of a packet that leaves the network, with the IP header as the network changed it.
    /// The slot counts as free; the caller must take the packet out.
    #[inline]
    pub(crate) fn slot_of(&mut self, reference: PacketRef) -> &mut Option<Packet> {
        let slot = self.slab.free(reference.slot);
        if let Some(packet) = slot {
            packet.ip = reference.ip;
            packet.damaged_at = reference.damaged_at;
            packet.transit.queued = Duration::from_nanos(reference.queued);
        }
        slot
    }

    /// The flow of each packet.
    pub(crate) fn flows(&self) -> impl Iterator<Item = FlowId> {
        self.slab.packets().map(|packet| packet.flow)
    }

    /// Inserts a copy of the packet to which this reference points.
    pub(crate) fn duplicate(&mut self, stub: PacketRef) -> Option<PacketRef> {
        let packet = self.slab.get(stub.slot)?.clone();
        let copy = self.insert(|slot| {
            *slot = Some(packet);
            true
        })?;
        Some(PacketRef {
            slot: copy.slot,
            ..stub
        })
    }

    /// Removes the packet from the pool.
    pub(crate) fn discard(&mut self, reference: PacketRef) {
        drop(self.remove(reference));
    }

    /// The number that the sender gave to the packet; `None` if it came from outside.
    pub(crate) fn number_of(&self, packet: PooledPacket) -> Option<u64> {
        self.slab.get(packet.slot)?.number.map(TraceNumber::get)
    }

    /// What identifies the packet to those who follow it.
    pub(crate) fn identity_of(&self, packet: PooledPacket) -> PacketInNetwork {
        let stored = self.slab.get(packet.slot);
        let outside = Transit::default().sent_at;
        PacketInNetwork {
            slot: packet.slot,
            sent_at: stored.map_or(outside, |stored| stored.transit.sent_at),
            flow: packet.flow,
            source: stored.map_or(u32::MAX, |stored| stored.ip.source.0),
            number: stored.and_then(|stored| stored.number.map(TraceNumber::get)),
            size: packet.size,
        }
    }

    /// What a filter of acknowledgements reads in the packet; `None` unless it is a TCP segment.
    pub(crate) fn ack_facts(&self, packet: &PacketRef) -> Option<AckFacts> {
        AckFacts::of(self.slab.get(packet.slot)?)
    }

    /// Packets in the pool.
    pub(crate) fn len(&self) -> usize {
        self.slab.used()
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::PacketRef;
    use weir_proto::packet::{FlowId, IpHeader};

    /// A reference without a packet, with a number by which a test identifies it.
    pub(crate) fn packet_ref(number: u64, flow: u32, size: u32) -> PacketRef {
        PacketRef {
            flow: FlowId(flow),
            ip: IpHeader::default(),
            size,
            damaged_at: None,
            refused: None,
            slot: number as u32,
            queued: 0,
        }
    }

    pub(crate) fn number_of(reference: &PacketRef) -> u64 {
        u64::from(reference.slot)
    }

    /// Nanoseconds in queues.
    pub(crate) fn queued(reference: &PacketRef) -> u64 {
        reference.queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::packet::{Body, Ecn, Payload};

    fn packet(id: u64) -> Packet {
        Packet {
            id,
            flow: FlowId(3),
            number: Some(TraceNumber::new(id)),
            ..Packet::new(100, Body::Other(Payload::of_len(60)))
        }
    }

    fn insert(pool: &mut PacketPool, id: u64) -> PacketRef {
        let reference = pool.insert(|slot| {
            *slot = Some(packet(id));
            true
        });
        reference.expect("a packet was put in")
    }

    #[test]
    fn a_packet_comes_back_with_the_header_that_the_network_wrote() {
        let mut pool = PacketPool::default();
        let mut first = insert(&mut pool, 1);
        let second = insert(&mut pool, 2);
        assert_eq!((first.flow, first.size, pool.len()), (FlowId(3), 100, 2));
        first.ip.ecn = Ecn::Ce;
        pool.discard(second);
        let back = pool.remove(first).expect("the packet is there");
        assert_eq!((back.id, back.ip.ecn), (1, Ecn::Ce));
        assert_eq!(pool.len(), 0);
    }

    #[test]
    fn waits_in_queues_add_up() {
        let mut pool = PacketPool::default();
        let mut reference = insert(&mut pool, 1);
        let at = |nanos| Instant::ZERO + Duration::from_nanos(nanos);
        for (enters, leaves) in [(100, 130), (500, 500), (700, 712)] {
            reference.enter_queue(at(enters));
            reference.leave_queue(at(leaves));
        }
        let packet = pool.remove(reference).expect("the packet is there");
        assert_eq!(packet.transit.queued, Duration::from_nanos(42));
    }
}
