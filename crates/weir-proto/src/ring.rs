//! A ring buffer whose capacity follows its contents.
//!
//! A ring cycles through its whole capacity. Slow start fills the rings of a connection far beyond
//! later needs, and the rings of a thousand flows with the capacity of their slow start exceed the
//! processor's caches.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

/// The length of a period in items: a constant, and a multiple of the capacity.
const PERIOD: u32 = 256;
const ROUNDS: usize = 4;
/// The capacity that is always kept.
const LEAST: usize = 16;

/// Measures how much of a capacity is needed in a period.
#[derive(Clone, Copy, Debug)]
pub struct RoomMeter {
    peak: u32,
    /// Items until the period ends.
    left: u32,
}

impl Default for RoomMeter {
    fn default() -> Self {
        Self {
            peak: 0,
            left: PERIOD,
        }
    }
}

impl RoomMeter {
    /// An item was added, so that there are `len`. True if the period ends.
    #[inline(always)]
    pub const fn on_push(&mut self, len: usize) -> bool {
        if len as u32 > self.peak {
            self.peak = len as u32;
        }
        self.counts_down()
    }

    /// Counts an item; true if the period ends.
    #[inline(always)]
    const fn counts_down(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// Ends a period and starts the next. Returns a sufficient capacity if less than two fifths of
    /// `room` were needed: a window that is halved and grows back needs no new memory.
    pub fn end_period(&mut self, room: usize) -> Option<usize> {
        let peak = self.peak as usize;
        let enough = (peak + peak / 4).max(LEAST);
        let shrinks = room > peak * 5 / 2 && room > enough;
        let next = if shrinks { enough } else { room };
        self.peak = 0;
        self.left = PERIOD.saturating_add((ROUNDS * next) as u32);
        shrinks.then_some(enough)
    }
}

/// A `VecDeque` that releases capacity that it has not needed for some time.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    items: VecDeque<T>,
    meter: RoomMeter,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
            meter: RoomMeter::default(),
        }
    }
}

impl<T> Ring<T> {
    /// Appends an item.
    #[inline(always)]
    pub fn push_back(&mut self, item: T) {
        let len = self.items.len() as u32 + 1;
        if len > self.meter.peak {
            self.on_peak(len);
        }
        self.items.push_back(item);
        if self.meter.counts_down() {
            self.end_period();
        }
    }

    /// A new maximum of this period: only then the capacity may be too small. A ring grows by a
    /// quarter, because most of a doubled capacity would stay unused.
    #[cold]
    fn on_peak(&mut self, len: u32) {
        self.meter.peak = len;
        let held = self.items.len();
        if held == self.items.capacity() {
            self.items.reserve_exact((held / 4).max(LEAST / 2));
        }
    }

    #[cold]
    fn end_period(&mut self) {
        if let Some(enough) = self.meter.end_period(self.items.capacity()) {
            self.items.shrink_to(enough);
        }
    }
}

impl<T> Deref for Ring<T> {
    type Target = VecDeque<T>;

    #[inline]
    fn deref(&self) -> &VecDeque<T> {
        &self.items
    }
}

impl<T> DerefMut for Ring<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut VecDeque<T> {
        &mut self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes `pushes` items through a ring that holds `len` of them.
    fn pass(ring: &mut Ring<u64>, len: usize, pushes: u64) {
        for item in 0..pushes {
            ring.push_back(item);
            while ring.len() > len {
                ring.pop_front();
            }
        }
    }

    #[test]
    fn the_room_of_a_burst_is_given_back_and_that_of_a_sawtooth_is_kept() {
        let mut ring = Ring::default();
        pass(&mut ring, 1000, 1000);
        assert!(ring.capacity() >= 1000);
        pass(&mut ring, 40, 100_000);
        assert!((41..=64).contains(&ring.capacity()), "{}", ring.capacity());
        let room = ring.capacity();
        for _ in 0..100 {
            pass(&mut ring, 20, 10_000);
            pass(&mut ring, 40, 100);
            assert_eq!(ring.capacity(), room);
        }
    }

    #[test]
    fn a_ring_grows_by_a_quarter() {
        let mut ring = Ring::default();
        for len in 1..=500 {
            ring.push_back(0_u64);
            let most = len + (len / 4).max(LEAST / 2);
            assert!(ring.capacity() <= most, "{len}: {}", ring.capacity());
        }
    }

    #[test]
    fn a_small_ring_stays() {
        let mut ring = Ring::default();
        pass(&mut ring, 12, 12);
        pass(&mut ring, 1, 10_000);
        assert!((12..=LEAST).contains(&ring.capacity()));
    }
}
