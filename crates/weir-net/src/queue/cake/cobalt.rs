//! COBALT, the queue management of CAKE: CoDel, which signals to a queue that stays long, and BLUE,
//! which drops from a flow that fills the whole buffer.
//!
//! CoDel here differs from RFC 8289: it has one time, at which the next signal is due, its count of
//! signals decays while the queue is short, and the last packet of a queue is never dropped (by the
//! caller). BLUE adds `P_INC` to its drop probability when the buffer overflows and takes `P_DEC`
//! when the queue is found empty, at most once per `target` each; its drops ignore ECN.

use super::super::{DropsAndMarks, mark};
use crate::packet_pool::PacketRef;
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// What an overflow adds to BLUE's probability: 1/256 of 2^32 (sch_cake, p_inc).
const P_INC: u32 = 1 << 24;
/// What an empty queue takes from it: 1/4096 of 2^32.
const P_DEC: u32 = 1 << 20;
/// Transmission times of the largest packet that a queue may always last.
const MTUS: u64 = 4;
/// Transmission times for each bulk flow that a queue may always last with `ingress`.
const MTUS_OF_FLOW: u64 = 2;

/// The times that COBALT works with, which depend on the rate of the tin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CobaltConfig {
    pub(super) target: Duration,
    pub(super) interval: Duration,
    /// The transmission time of the largest packet.
    pub(super) mtu_time: Duration,
}

/// A packet that leaves its queue, as the controller sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving<'a> {
    pub(super) config: &'a CobaltConfig,
    pub(super) now: Instant,
    /// The time for which it has waited.
    pub(super) sojourn: Duration,
    /// The bulk flows of the tin; zero without `ingress`.
    pub(super) bulk_flows: u32,
}

/// The controller of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cobalt {
    count: u32,
    dropping: bool,
    /// When the next signal is due; without signals, until when the state is kept.
    drop_next: Instant,
    blue_timer: Instant,
    /// BLUE's probability, of 2^32.
    blue: u32,
}

impl Cobalt {
    /// interval / sqrt(count) after `from`.
    fn control_law(&self, config: &CobaltConfig, from: Instant) -> Instant {
        let count = f64::from(self.count.max(1));
        from + config.interval.mul_f64(1.0 / count.sqrt())
    }

    /// The buffer has overflowed, and a packet of this queue was dropped.
    pub(super) fn on_overflow(&mut self, config: &CobaltConfig, now: Instant) {
        if now.since(self.blue_timer) > config.target {
            self.blue = self.blue.saturating_add(P_INC);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was served and had no packet.
    pub(super) fn on_empty(&mut self, config: &CobaltConfig, now: Instant) {
        if self.blue > 0 && now.since(self.blue_timer) > config.target {
            self.blue = self.blue.saturating_sub(P_DEC);
            self.blue_timer = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.control_law(config, self.drop_next);
        }
    }

    /// True if an empty queue has a state that has not decayed yet.
    pub(super) fn is_active(&self, now: Instant) -> bool {
        self.blue > 0 || self.count > 0 || now < self.drop_next
    }

    /// True if the packet is to be dropped; it is marked instead if it is ECN-capable.
    pub(super) fn drops(
        &mut self,
        leaving: Leaving<'_>,
        packet: &mut PacketRef,
        rng: &mut Rng,
        effects: &mut DropsAndMarks,
    ) -> bool {
        let Leaving {
            config,
            now,
            sojourn,
            bulk_flows,
        } = leaving;
        let over_target = sojourn > config.target
            && sojourn > config.mtu_time * (u64::from(bulk_flows) * MTUS_OF_FLOW)
            && sojourn > config.mtu_time * MTUS;
        let mut next_due = self.count > 0 && now >= self.drop_next;
        if over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control_law(config, now);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut drop = false;
        if next_due && self.dropping {
            drop = !mark(packet, effects);
            self.count = self.count.saturating_add(1);
            self.drop_next = self.control_law(config, self.drop_next);
        } else {
            while next_due {
                self.count -= 1;
                self.drop_next = self.control_law(config, self.drop_next);
                next_due = self.count > 0 && now >= self.drop_next;
            }
        }
        if self.blue > 0 {
            drop |= (rng.next_u64() >> 32) < u64::from(self.blue);
        }
        if self.count == 0 {
            self.drop_next = now + config.interval;
        } else if now > self.drop_next && !drop {
            self.drop_next = now;
        }
        drop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::{capable, packet};
    use weir_proto::packet::Ecn;

    const MS: Duration = Duration::from_millis(1);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + MS * millis
    }

    /// The times of an unlimited link: 5 and 100 ms.
    fn config() -> CobaltConfig {
        CobaltConfig {
            target: MS * 5,
            interval: MS * 100,
            mtu_time: Duration::ZERO,
        }
    }

    fn leaving(config: &CobaltConfig, millis: u64, waited: u64) -> Leaving<'_> {
        Leaving {
            config,
            now: at(millis),
            sojourn: MS * waited,
            bulk_flows: 0,
        }
    }

    /// Serves a packet that has waited for so many milliseconds; true if it is dropped.
    fn serve(cobalt: &mut Cobalt, config: &CobaltConfig, millis: u64, waited: u64) -> bool {
        let mut effects = DropsAndMarks::default();
        let mut rng = Rng::stream(1, "cobalt");
        let leaving = leaving(config, millis, waited);
        cobalt.drops(leaving, &mut packet(0, 1000), &mut rng, &mut effects)
    }

    #[test]
    fn signals_follow_the_square_root_law_from_an_interval_on() {
        // Above 5 ms from t = 1000 on; due 100 ms later, then 100/sqrt(2) = 70.7, 100/sqrt(3) =
        // 57.7 and 100/sqrt(4) = 50 ms after the one before: 1100, 1170.7, 1228.4, 1278.4.
        let mut cobalt = Cobalt::default();
        let drops: Vec<_> = (1000..1300)
            .filter(|&millis| serve(&mut cobalt, &config(), millis, 6))
            .collect();
        assert_eq!(drops, [1100, 1171, 1229, 1279]);
    }

    #[test]
    fn the_queue_must_last_longer_than_target_and_four_packets() {
        for (mtu_time, waited, over) in [(0, 5, false), (0, 6, true), (2, 8, false), (2, 9, true)] {
            let config = CobaltConfig {
                mtu_time: MS * mtu_time,
                ..config()
            };
            let mut cobalt = Cobalt::default();
            serve(&mut cobalt, &config, 1000, waited);
            assert_eq!(cobalt.dropping, over, "{mtu_time} {waited}");
        }
    }

    #[test]
    fn with_ingress_a_queue_may_last_two_packets_of_each_bulk_flow() {
        let config = CobaltConfig {
            mtu_time: MS * 2,
            ..config()
        };
        // Five flows: 2 · 5 · 2 ms.
        for (waited, over) in [(20, false), (21, true)] {
            let mut cobalt = Cobalt::default();
            let leaving = Leaving {
                bulk_flows: 5,
                ..leaving(&config, 1000, waited)
            };
            let mut rng = Rng::stream(1, "cobalt");
            let mut effects = DropsAndMarks::default();
            cobalt.drops(leaving, &mut packet(0, 1000), &mut rng, &mut effects);
            assert_eq!(cobalt.dropping, over, "{waited}");
        }
    }

    #[test]
    fn the_count_of_signals_decays_while_the_queue_is_short() {
        let mut cobalt = Cobalt {
            count: 3,
            dropping: true,
            drop_next: at(1000),
            ..Cobalt::default()
        };
        // Due at 1000, then 70.7 ms later (count 2), then 100 ms later (count 1).
        assert!(!serve(&mut cobalt, &config(), 1100, 1));
        assert_eq!((cobalt.count, cobalt.dropping), (1, false));
        assert!(!serve(&mut cobalt, &config(), 1171, 1));
        assert_eq!(cobalt.count, 0);
        assert_eq!(
            cobalt.drop_next,
            at(1271),
            "the state is kept for an interval"
        );
        assert!(cobalt.is_active(at(1270)) && !cobalt.is_active(at(1271)));
    }

    #[test]
    fn an_empty_queue_decays_by_one_at_a_time() {
        let mut cobalt = Cobalt {
            count: 2,
            drop_next: at(1000),
            ..Cobalt::default()
        };
        for (millis, count) in [(999, 2), (1000, 1), (1099, 1), (1100, 0)] {
            cobalt.on_empty(&config(), at(millis));
            assert_eq!(cobalt.count, count, "{millis}");
        }
    }

    #[test]
    fn capable_packets_are_marked_by_codel() {
        let mut cobalt = Cobalt {
            count: 1,
            dropping: true,
            ..Cobalt::default()
        };
        let mut effects = DropsAndMarks::default();
        let config = config();
        let mut rng = Rng::stream(1, "cobalt");
        let mut packet = capable(1, 1000, Ecn::Ect0);
        let dropped = cobalt.drops(
            leaving(&config, 1000, 6),
            &mut packet,
            &mut rng,
            &mut effects,
        );
        assert!(!dropped && effects.marked.len() == 1 && cobalt.count == 2);
    }

    #[test]
    fn blue_adds_a_256th_per_overflow_and_takes_a_4096th_per_empty_queue() {
        // At most one step each within 5 ms.
        let mut cobalt = Cobalt::default();
        for (millis, steps) in [(10, 1), (15, 1), (16, 2), (22, 3)] {
            cobalt.on_overflow(&config(), at(millis));
            assert_eq!(cobalt.blue, steps * (u32::MAX / 256 + 1), "{millis}");
        }
        assert!(cobalt.dropping && cobalt.count == 1 && cobalt.drop_next == at(22));
        for (millis, steps) in [(27, 48), (28, 47), (34, 46)] {
            cobalt.on_empty(&config(), at(millis));
            assert_eq!(cobalt.blue, steps * (u32::MAX / 4096 + 1), "{millis}");
        }
        cobalt.blue = u32::MAX - 1;
        cobalt.on_overflow(&config(), at(100));
        assert_eq!(cobalt.blue, u32::MAX);
        cobalt.blue = 1;
        cobalt.on_empty(&config(), at(200));
        assert_eq!(cobalt.blue, 0);
    }

    #[test]
    fn blue_drops_its_share_even_of_capable_packets() {
        let mut cobalt = Cobalt {
            blue: 1 << 30,
            ..Cobalt::default()
        };
        let mut effects = DropsAndMarks::default();
        let mut rng = Rng::stream(1, "cobalt");
        let config = config();
        let dropped = (0..4000).filter(|&number| {
            let mut packet = capable(number, 1000, Ecn::Ect0);
            cobalt.drops(
                leaving(&config, 1000, 1),
                &mut packet,
                &mut rng,
                &mut effects,
            )
        });
        // A quarter, within five standard deviations of 27.4.
        assert!((863..1137).contains(&dropped.count()));
        assert!(effects.marked.is_empty());
    }
}
