//! What the network carries: a parcel stands for a packet that lies in the store meanwhile.
//!
//! Links and queues read the IP header, the flow and the size, and move parcels of 24 octets from
//! ring to ring. The packet itself, many times as large, moves twice: into the store when it
//! leaves its endpoint, and out when it reaches the other. Slots are used again, so that nothing
//! is allocated once the store has grown to the number of packets under way.

use weir_proto::packet::{FlowId, IpHeader, Packet};

/// What the network reads of a packet, and where the packet is.
#[derive(Debug)]
pub(crate) struct Parcel {
    /// The flow that it belongs to.
    pub(crate) flow: FlowId,
    /// What the network reads and may change.
    pub(crate) ip: IpHeader,
    /// Octets on the wire from the IP header on.
    pub(crate) size: u32,
    slot: u32,
}

/// The packets under way.
#[derive(Debug, Default)]
pub(crate) struct Store {
    slots: Vec<Option<Packet>>,
    free: Vec<u32>,
}

impl Store {
    /// Takes a packet in.
    #[inline]
    pub(crate) fn deposit(&mut self, packet: Packet) -> Parcel {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.grow(),
        };
        let parcel = Parcel {
            flow: packet.flow,
            ip: packet.ip,
            size: packet.size,
            slot,
        };
        self.slots[slot as usize] = Some(packet);
        parcel
    }

    /// Gives the packet out, with the IP header as the network left it.
    #[inline]
    pub(crate) fn collect(&mut self, parcel: Parcel) -> Option<Packet> {
        self.free.push(parcel.slot);
        let place = self.slots.get_mut(parcel.slot as usize)?;
        if let Some(packet) = place {
            packet.ip = parcel.ip;
        }
        place.take()
    }

    /// Forgets the packet.
    pub(crate) fn discard(&mut self, parcel: Parcel) {
        self.slots[parcel.slot as usize] = None;
        self.free.push(parcel.slot);
    }

    /// Packets in the store.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        self.slots.push(None);
        self.slots.len() as u32 - 1
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    use super::Parcel;
    use weir_proto::packet::{FlowId, IpHeader};

    /// A parcel of a packet that does not exist, with a number to know it again.
    pub(crate) fn parcel(number: u64, flow: u32, size: u32) -> Parcel {
        Parcel {
            flow: FlowId(flow),
            ip: IpHeader::default(),
            size,
            slot: number as u32,
        }
    }

    pub(crate) fn number_of(parcel: &Parcel) -> u64 {
        u64::from(parcel.slot)
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
            ip: IpHeader::default(),
            size: 100,
            body: Body::Other(Payload::of_len(60)),
        }
    }

    #[test]
    fn a_packet_comes_back_with_the_header_that_the_network_wrote() {
        let mut store = Store::default();
        let mut first = store.deposit(packet(1));
        let second = store.deposit(packet(2));
        assert_eq!((first.flow, first.size, store.len()), (FlowId(3), 100, 2));
        first.ip.ecn = Ecn::Ce;
        store.discard(second);
        let back = store.collect(first).expect("the packet is there");
        assert_eq!((back.id, back.ip.ecn), (1, Ecn::Ce));
        assert_eq!(store.len(), 0);
    }

    #[test]
    fn slots_are_used_again() {
        let mut store = Store::default();
        for id in 0..1000 {
            let parcel = store.deposit(packet(id));
            assert_eq!(store.collect(parcel).map(|packet| packet.id), Some(id));
        }
        assert_eq!(store.slots.len(), 1);
    }
}
