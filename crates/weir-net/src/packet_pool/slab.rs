//! Slots for packets.

use weir_proto::packet::Packet;
use weir_proto::ring::RoomMeter;

/// All slots are kept.
const ALL: u32 = u32::MAX;

/// Slots of packets. Their number follows the number of packets in the network: slow start needs
/// many times as many as later phases. The slot that became free last is used first, because it is
/// still in the processor's cache.
#[derive(Debug)]
pub(super) struct Slab {
    slots: Vec<Option<Packet>>,
    /// Free slots, in the order in which they became free; the last is used next.
    free: Vec<u32>,
    meter: RoomMeter,
    /// Slots from this one on are given up: when they become free, they are collected in
    /// `given_up`.
    kept: u32,
    given_up: Vec<u32>,
}

impl Default for Slab {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            meter: RoomMeter::default(),
            kept: ALL,
            given_up: Vec::new(),
        }
    }
}

impl Slab {
    /// The next free slot, and its number. It stays free until [`take_free`](Self::take_free).
    #[inline]
    pub(super) fn next_free(&mut self) -> (u32, &mut Option<Packet>) {
        let number = match self.free.last() {
            Some(&number) => number,
            None => self.grow(),
        };
        (number, &mut self.slots[number as usize])
    }

    /// The slot of [`next_free`](Self::next_free) now holds a packet.
    #[inline]
    pub(super) fn take_free(&mut self) {
        self.free.pop();
        if self.meter.on_push(self.used()) {
            self.end_period();
        }
        if self.free.is_empty() && !self.given_up.is_empty() {
            self.keep_all();
        }
    }

    /// Marks the slot as free; the caller must take the packet out.
    #[inline]
    pub(super) fn free(&mut self, number: u32) -> &mut Option<Packet> {
        if number < self.kept {
            self.free.push(number);
        } else {
            self.given_up.push(number);
        }
        &mut self.slots[number as usize]
    }

    /// The packet in this slot.
    pub(super) fn get(&self, number: u32) -> Option<&Packet> {
        self.slots.get(number as usize)?.as_ref()
    }

    /// All packets.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.slots.iter().flatten()
    }

    /// Slots with a packet.
    pub(super) fn used(&self) -> usize {
        self.slots.len() - self.free.len() - self.given_up.len()
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let number = self.slots.len() as u32;
        if self.slots.len() == self.slots.capacity() {
            self.slots.reserve_exact((self.slots.len() / 4).max(8));
        }
        self.slots.push(None);
        self.free.push(number);
        number
    }

    #[cold]
    fn end_period(&mut self) {
        if let Some(enough) = self.meter.end_period(self.slots.len()) {
            self.shrink(enough as u32);
        }
    }

    /// Gives up the slots after the first `enough` ones, or frees their memory if they were given
    /// up before and hold no packet any more.
    fn shrink(&mut self, enough: u32) {
        if self.kept == ALL {
            self.kept = enough;
            let given_up = self.free.iter().copied().filter(|&number| number >= enough);
            self.given_up.extend(given_up);
            self.free.retain(|&number| number < enough);
        } else if self.given_up.len() == self.slots.len() - self.kept as usize {
            self.slots.truncate(self.kept as usize);
            self.slots.shrink_to_fit();
            self.free.shrink_to_fit();
            self.given_up = Vec::new();
            self.kept = ALL;
        }
    }

    /// The slots that were kept are not enough: all are used again.
    #[cold]
    fn keep_all(&mut self) {
        self.kept = ALL;
        self.free.append(&mut self.given_up);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use weir_proto::packet::{Body, Payload};

    fn packet(id: u64) -> Packet {
        Packet {
            id,
            ..Packet::new(100, Body::Other(Payload::of_len(60)))
        }
    }

    /// Passes `packets` packets through the slab, with at most `most` in the network at a time.
    fn pass(slab: &mut Slab, used: &mut VecDeque<(u32, u64)>, most: usize, packets: u64) {
        for id in 0..packets {
            let (number, slot) = slab.next_free();
            assert!(slot.is_none(), "slot {number} is free");
            *slot = Some(packet(id));
            slab.take_free();
            used.push_back((number, id));
            while used.len() > most {
                let (number, id) = used.pop_front().expect("more than none");
                assert_eq!(slab.free(number).take().map(|packet| packet.id), Some(id));
            }
            assert_eq!(slab.used(), used.len());
        }
    }

    #[test]
    fn slots_are_used_again() {
        let (mut slab, mut used) = (Slab::default(), VecDeque::new());
        pass(&mut slab, &mut used, 0, 1000);
        assert_eq!(slab.slots.len(), 1);
    }

    #[test]
    fn the_slots_of_a_burst_are_given_back_and_no_packet_is_lost() {
        let (mut slab, mut used) = (Slab::default(), VecDeque::new());
        for burst in [500, 700] {
            pass(&mut slab, &mut used, burst, 2000);
            assert!(slab.slots.len() >= burst);
            pass(&mut slab, &mut used, 20, 100_000);
            let slots = slab.slots.len();
            assert!((21..=60).contains(&slots), "{slots}");
            assert!(slab.slots.capacity() <= 60);
        }
    }

    #[test]
    fn slots_that_were_given_up_are_used_when_packets_come_back() {
        let (mut slab, mut used) = (Slab::default(), VecDeque::new());
        pass(&mut slab, &mut used, 300, 1000);
        pass(&mut slab, &mut used, 200, 1);
        slab.shrink(30);
        pass(&mut slab, &mut used, 300, 3000);
        assert!(slab.slots.len() <= 450, "{}", slab.slots.len());
        pass(&mut slab, &mut used, 0, 1);
        assert_eq!(slab.used(), 0);
    }
}
