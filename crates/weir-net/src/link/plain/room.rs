//! Room for what a plain link has booked.
//!
//! Packets that other links hold leave no trace when they arrive: their entries stay until the room
//! is full and are then forgotten together, which costs a packet less than looking for one entry
//! with each that comes.

use super::{Arrival, Booked, Bookings};
use weir_proto::time::Instant;

/// Entries that fit into a room beside those that are needed, at least.
const SPARE: usize = 8;

impl Bookings {
    /// Makes room for one more entry, where there is none: forgets what arrived before this time,
    /// and lets the room follow the need.
    #[cold]
    pub(super) fn make_room(&mut self, passed: Instant) {
        self.forget_passed(passed);
        let (needed, room) = (self.booked.len(), self.booked.capacity());
        let spare = (needed / 8).max(SPARE);
        if room < needed + spare {
            self.booked.reserve_exact(spare);
        }
        if self.meter.on_pushes(needed, spare.max(room - needed))
            && let Some(enough) = self.meter.end_period(room)
            && enough + 2 * spare < room
        {
            self.booked.shrink_to(enough.max(needed) + spare);
        }
    }

    /// Forgets the first packets, which arrived before this time and which other links hold.
    fn forget_passed(&mut self, before: Instant) {
        let is_passed = |booked: &Booked| !booked.is_held() && booked.times.arrives < before;
        let passed = self.booked.iter().take_while(|&booked| is_passed(booked));
        let passed = passed.count();
        let Some(last) = passed.checked_sub(1) else {
            return;
        };
        while self.booked.len() - passed < self.waiting.packets as usize {
            // Some of them count as waiting still. No others are looked at: packets that entered
            // before their transmission started may not be booked yet.
            self.settle(self.next_start);
        }
        self.gone = self.arrival_of(last);
        self.booked.drain(..passed);
    }

    /// When the packet at this place arrived, and since when that was known.
    fn arrival_of(&self, place: usize) -> Arrival {
        let arrives = |place: usize| self.booked[place].times.arrives;
        let earlier = (0..place).rev();
        let together = earlier
            .take_while(|&before| arrives(before) == arrives(place))
            .count();
        let first = place - together;
        let before = match first.checked_sub(1) {
            None => self.gone,
            // Since when that was known does not matter for one that arrived later.
            Some(before) => Arrival {
                at: arrives(before),
                since: Instant::ZERO,
            },
        };
        self.booked[first].times.arrival(before)
    }
}

#[cfg(test)]
mod tests {
    use super::super::HELD;
    use crate::link::{Link, LinkConfig};
    use crate::packet_pool::fixture::packet_ref;
    use proptest::prelude::*;
    use weir_proto::time::{Duration, Instant};

    /// A link that has taken packets, each so long after the one before it; every `held`th stays
    /// with it.
    fn link(rate: Option<u64>, gaps: &[u64], held: usize) -> Link {
        let config = LinkConfig {
            rate,
            delay: Duration::from_nanos(1000),
            ..LinkConfig::default()
        };
        let mut link = Link::new(&config, 1);
        let mut now = Instant::ZERO;
        for (number, &gap) in gaps.iter().enumerate() {
            now += Duration::from_nanos(gap);
            let mut packet = packet_ref(number as u64, 0, 100);
            let next = if number % held == held - 1 { HELD } else { 7 };
            let taken = link.take(now, now, &mut packet, next);
            if let (Ok(arrival), HELD) = (taken, next) {
                link.hold(arrival, packet);
            }
        }
        link
    }

    proptest! {
        #[test]
        fn forgetting_many_at_once_leaves_what_forgetting_one_after_the_other_does(
            rate in prop::option::of(100_000_000_u64..2_000_000_000),
            gaps in prop::collection::vec(0_u64..3, 1..8),
            apart in prop_oneof![Just(1_u64), Just(700)],
            held in 3_usize..12,
            popped in 0_usize..3,
            before in 0_u64..8000,
        ) {
            let gaps: Vec<u64> = gaps.iter().map(|gap| gap * apart).collect();
            let before = Instant::from_nanos(before);
            let (mut many, mut each) = (link(rate, &gaps, held), link(rate, &gaps, held));
            let many = many.service.bookings_mut().expect("it books");
            let each = each.service.bookings_mut().expect("it books");
            for plain in [&mut *many, &mut *each] {
                (0..popped).for_each(|_| _ = plain.pop_first());
            }
            many.forget_passed(before);
            while each
                .booked
                .front()
                .is_some_and(|first| !first.is_held() && first.times.arrives < before)
            {
                each.pop_first();
            }
            let state = |plain: &super::Bookings| {
                let of = |at: super::Arrival| (at.at, at.since);
                (plain.booked.len(), of(plain.gone), plain.waiting, plain.next_start)
            };
            prop_assert_eq!(state(many), state(each));
        }
    }

    #[test]
    fn the_room_of_a_link_that_holds_nothing_follows_what_is_on_the_way() {
        // One packet in a hundred delays: two are never on the way together.
        let link = link(None, &[100_000; 2000], usize::MAX);
        let plain = link.service.bookings().expect("it books");
        let room = plain.booked.capacity();
        assert!(room <= 2 * super::SPARE, "{room}");
    }
}
