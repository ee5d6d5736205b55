//! What the network carries: a parcel stands for a packet that lies in the store meanwhile.
//!
//! Links and queues read the IP header, the flow and the size, and move parcels of 32 octets from
//! ring to ring. The packet itself, many times as large, moves twice: into the store when it
//! leaves its endpoint, and out when it reaches the other. Slots are used again, so that nothing
//! is allocated once the store has grown to the number of packets under way.
//!
//! The store has a shelf for each link by which packets enter the network. Packets of one link
//! mostly arrive in the order in which they left, and the slots of a shelf are used in the order
//! in which they became free, so that the packets lie in memory in that order too: with a
//! thousand flows the processor fetches them before they are asked for.

use std::collections::VecDeque;
use std::num::NonZeroU32;
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
    /// Offset of the first octet that was damaged on the way.
    pub(crate) damaged_at: Option<NonZeroU32>,
    shelf: u32,
    slot: u32,
}

impl Parcel {
    /// What stands for the same packet in the store. Only to be given to
    /// [`Store::duplicate`] while the packet is still there.
    pub(crate) const fn stub(&self) -> Self {
        Self {
            flow: self.flow,
            ip: self.ip,
            size: self.size,
            damaged_at: self.damaged_at,
            shelf: self.shelf,
            slot: self.slot,
        }
    }
}

/// The packets under way.
#[derive(Debug, Default)]
pub(crate) struct Store {
    shelves: Vec<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    slots: Vec<Option<Packet>>,
    free: VecDeque<u32>,
}

impl Store {
    /// Takes a packet in, if `fill` puts one into its slot: a packet that is built, returned,
    /// unwrapped and passed on would be copied at each step.
    #[inline]
    pub(crate) fn deposit(
        &mut self,
        shelf: u32,
        fill: impl FnOnce(&mut Option<Packet>) -> bool,
    ) -> Option<Parcel> {
        while self.shelves.len() <= shelf as usize {
            self.shelves.push(Shelf::default());
        }
        let place = &mut self.shelves[shelf as usize];
        let slot = match place.free.front() {
            Some(&slot) => slot,
            None => place.grow(),
        };
        let packet = &mut place.slots[slot as usize];
        if !fill(packet) {
            return None;
        }
        let packet = packet.as_ref()?;
        place.free.pop_front();
        Some(Parcel {
            flow: packet.flow,
            ip: packet.ip,
            size: packet.size,
            damaged_at: packet.damaged_at,
            shelf,
            slot,
        })
    }

    /// Gives the packet out, with the IP header as the network left it.
    #[inline]
    pub(crate) fn collect(&mut self, parcel: Parcel) -> Option<Packet> {
        let shelf = &mut self.shelves[parcel.shelf as usize];
        shelf.free.push_back(parcel.slot);
        let mut packet = shelf.slots[parcel.slot as usize].take();
        if let Some(packet) = &mut packet {
            packet.ip = parcel.ip;
            packet.damaged_at = parcel.damaged_at;
        }
        packet
    }

    /// A second packet like that of the stub, which stays in the store.
    pub(crate) fn duplicate(&mut self, stub: Parcel) -> Option<Parcel> {
        let shelf = self.shelves.get(stub.shelf as usize)?;
        let packet = shelf.slots.get(stub.slot as usize)?.clone()?;
        let copy = self.deposit(stub.shelf, |slot| {
            *slot = Some(packet);
            true
        })?;
        Some(Parcel {
            shelf: copy.shelf,
            slot: copy.slot,
            ..stub
        })
    }

    /// Forgets the packet.
    pub(crate) fn discard(&mut self, parcel: Parcel) {
        drop(self.collect(parcel));
    }

    /// Packets in the store.
    pub(crate) fn len(&self) -> usize {
        let used = |shelf: &Shelf| shelf.slots.len() - shelf.free.len();
        self.shelves.iter().map(used).sum()
    }
}

impl Shelf {
    #[cold]
    fn grow(&mut self) -> u32 {
        let slot = self.slots.len() as u32;
        self.slots.push(None);
        self.free.push_back(slot);
        slot
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
            damaged_at: None,
            shelf: 0,
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
            damaged_at: None,
            body: Body::Other(Payload::of_len(60)),
        }
    }

    fn deposit(store: &mut Store, id: u64) -> Parcel {
        let parcel = store.deposit(0, |slot| {
            *slot = Some(packet(id));
            true
        });
        parcel.expect("a packet was put in")
    }

    #[test]
    fn a_packet_comes_back_with_the_header_that_the_network_wrote() {
        let mut store = Store::default();
        let mut first = deposit(&mut store, 1);
        let second = deposit(&mut store, 2);
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
            let parcel = deposit(&mut store, id);
            assert_eq!(store.collect(parcel).map(|packet| packet.id), Some(id));
        }
        assert_eq!(store.shelves[0].slots.len(), 1);
    }
}
