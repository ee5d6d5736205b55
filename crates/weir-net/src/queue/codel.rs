//! CoDel (RFC 8289): drops packets at the head once they have waited longer than `target` for a
//! whole `interval`, and the n-th drop in a row follows `interval / sqrt(n)` after the one before.
//!
//! With `ecn` set an ECN-capable packet is marked and sent instead of dropped, as in Linux. The
//! state is a separate type, because FQ-CoDel keeps one per queue.

use super::fifo::Fifo;
use super::{
    Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, QueueLimit, TcName, mark, max_packets,
};
use crate::packet_pool::PacketRef;
use std::ops::RangeInclusive;
use weir_proto::event::DropReason;
use weir_proto::rng::Rng;
use weir_proto::settings::duration;
use weir_proto::time::{Duration, Instant};

/// TARGET (RFC 8289 §5.3).
const TARGET: Duration = Duration::from_millis(5);
/// INTERVAL (RFC 8289 §5.3).
const INTERVAL: Duration = Duration::from_millis(100);
/// The shortest and the longest useful interval.
const INTERVALS: RangeInclusive<Duration> = Duration::from_micros(1)..=Duration::from_secs(3600);
/// Number of intervals, since the next drop was due, within which the last drop rate is resumed
/// (RFC 8289 §5.5).
const RECENT_INTERVALS: u64 = 16;

weir_proto::settings! {
    /// Controlled delay (RFC 8289).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CodelConfig {
        /// The standing delay to allow.
        pub target: Duration = TARGET,
        /// A round-trip time of the slowest expected flows.
        pub interval: Duration = INTERVAL => duration(INTERVALS),
        /// The most packets that it holds.
        pub limit: u64 = 1000 => max_packets(),
        /// Mark packets of ECN-capable transports where others would be dropped early.
        pub ecn: bool,
    }
}

impl QueueDiscConfig for CodelConfig {
    type Disc = Box<CodelQueue>;
    const TC_NAMES: &'static [TcName] = &[TcName::packets("codel")];
    const IS_RANDOM: bool = false;

    fn build(&self, _rng: Rng) -> Box<CodelQueue> {
        Box::new(CodelQueue {
            config: *self,
            state: Codel::default(),
            fifo: Fifo::default(),
            max_packet: 0,
        })
    }

    fn limit(&self) -> QueueLimit {
        QueueLimit::Packets(self.limit)
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            limit: 1 + rng.below(20),
            ecn: rng.chance(0.5),
            ..Self::default()
        }
    }
}

/// The input of CoDel, apart from the queue, when a packet is dequeued.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodelInput<'a> {
    pub(super) config: &'a CodelConfig,
    pub(super) now: Instant,
    /// The largest packet that ever entered: a queue of at most one such packet is never too long.
    pub(super) max_packet: u32,
}

/// The controller of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Codel {
    first_above: Option<Instant>,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Codel {
    /// RFC 8289 §5.6.
    fn control_law(config: &CodelConfig, from: Instant, count: u32) -> Instant {
        from + config
            .interval
            .mul_f64(1.0 / f64::from(count.max(1)).sqrt())
    }

    /// RFC 8289 §5.6, dodequeue(): the head, and whether the delay has exceeded the target for an
    /// interval.
    fn do_dequeue(&mut self, input: CodelInput<'_>, fifo: &mut Fifo) -> (Option<PacketRef>, bool) {
        let CodelInput {
            config,
            now,
            max_packet,
        } = input;
        let Some((since, packet)) = fifo.pop() else {
            self.first_above = None;
            return (None, false);
        };
        let short = now.since(since) < config.target || fifo.bytes() <= u64::from(max_packet);
        let ok_to_drop = match self.first_above {
            _ if short => {
                self.first_above = None;
                false
            }
            None => {
                self.first_above = Some(now + config.interval);
                false
            }
            Some(at) => now >= at,
        };
        (Some(packet), ok_to_drop)
    }

    /// RFC 8289 §5.5.
    pub(super) fn dequeue(
        &mut self,
        input: CodelInput<'_>,
        fifo: &mut Fifo,
        effects: &mut DropsAndMarks,
    ) -> Option<PacketRef> {
        let CodelInput { config, now, .. } = input;
        let (mut packet, mut ok_to_drop) = self.do_dequeue(input, fifo);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let Some(head) = packet else { break };
                if let Some(marked) = notify(config, head, effects) {
                    self.drop_next = Self::control_law(config, self.drop_next, self.count);
                    return Some(marked);
                }
                (packet, ok_to_drop) = self.do_dequeue(input, fifo);
                if ok_to_drop {
                    self.drop_next = Self::control_law(config, self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            packet = match packet.and_then(|head| notify(config, head, effects)) {
                Some(marked) => Some(marked),
                None => self.do_dequeue(input, fifo).0,
            };
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.last_count);
            let recent = now.since(self.drop_next) < config.interval * RECENT_INTERVALS;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = Self::control_law(config, now, self.count);
            self.last_count = self.count;
        }
        packet
    }
}

/// Signals congestion to the packet's flow: marks and returns the packet, or drops it.
fn notify(
    config: &CodelConfig,
    mut packet: PacketRef,
    effects: &mut DropsAndMarks,
) -> Option<PacketRef> {
    if config.ecn && mark(&mut packet, effects) {
        return Some(packet);
    }
    effects.dropped.push((packet, DropReason::Aqm));
    None
}

/// A single queue under CoDel.
#[derive(Debug)]
pub(crate) struct CodelQueue {
    config: CodelConfig,
    state: Codel,
    fifo: Fifo,
    max_packet: u32,
}

impl QueueDisc for CodelQueue {
    fn enqueue(&mut self, now: Instant, packet: PacketRef, effects: &mut DropsAndMarks) {
        if self.fifo.packets() >= self.config.limit {
            effects.dropped.push((packet, DropReason::QueueFull));
            return;
        }
        self.max_packet = self.max_packet.max(packet.size);
        self.fifo.push(now, packet);
    }

    fn dequeue(&mut self, now: Instant, effects: &mut DropsAndMarks) -> Option<PacketRef> {
        let input = CodelInput {
            config: &self.config,
            now,
            max_packet: self.max_packet,
        };
        self.state.dequeue(input, &mut self.fifo, effects)
    }

    fn head_size(&self) -> Option<u32> {
        self.fifo.head_size()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;

    const MS: Duration = Duration::from_millis(1);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + MS * millis
    }

    fn input(config: &CodelConfig, millis: u64) -> CodelInput<'_> {
        CodelInput {
            config,
            now: at(millis),
            max_packet: 1000,
        }
    }

    #[test]
    fn the_delay_must_reach_the_target_for_an_interval() {
        // RFC 8289 §5.3 and §5.6, TARGET = 5 ms and INTERVAL = 100 ms: first_above_time_ is set at
        // the first sojourn of at least TARGET; ok_to_drop from 100 ms later on.
        let config = CodelConfig::default();
        assert_eq!((config.target, config.interval), (MS * 5, MS * 100));
        for (sojourn, wait, ok) in [(5, 100, true), (5, 99, false), (4, 100, false)] {
            let (mut codel, mut fifo) = (Codel::default(), Fifo::default());
            for _ in 0..10 {
                fifo.push(at(1000 - sojourn), packet(0, 1000));
            }
            assert!(!codel.do_dequeue(input(&config, 1000), &mut fifo).1);
            // The sojourn time of the next packets is longer; that of the first one counts.
            let (_, ok_to_drop) = codel.do_dequeue(input(&config, 1000 + wait), &mut fifo);
            assert_eq!(ok_to_drop, ok, "{sojourn} {wait}");
        }
    }

    #[test]
    fn a_sojourn_below_the_target_or_a_short_queue_begins_anew() {
        // RFC 8289 §5.6: sojourn_time < TARGET or bytes() <= maxpacket_ resets first_above_time_.
        let config = CodelConfig::default();
        for (octets_left, ok) in [(1000, false), (1001, true)] {
            let (mut codel, mut fifo) = (Codel::default(), Fifo::default());
            codel.first_above = Some(at(0));
            fifo.push(at(0), packet(0, 1000));
            fifo.push(at(0), packet(0, octets_left));
            let (_, ok_to_drop) = codel.do_dequeue(input(&config, 200), &mut fifo);
            assert_eq!((ok_to_drop, codel.first_above.is_some()), (ok, ok));
        }
        let (mut codel, mut fifo) = (Codel::default(), Fifo::default());
        codel.first_above = Some(at(0));
        assert!(codel.do_dequeue(input(&config, 200), &mut fifo).0.is_none());
        assert_eq!(codel.first_above, None);
    }

    /// A controller that dropped `count` packets in its last cycle enters the dropping state at 10
    /// s, `since` ms after its next drop was due; returns the new count and the time of the next
    /// drop.
    fn reentered(count: u32, last_count: u32, since: u64) -> (u32, Instant) {
        let config = CodelConfig::default();
        let mut fifo = Fifo::default();
        for _ in 0..10 {
            fifo.push(at(9000), packet(0, 1000));
        }
        let mut codel = Codel {
            first_above: Some(at(9900)),
            drop_next: at(10_000 - since),
            count,
            last_count,
            dropping: false,
        };
        let mut effects = DropsAndMarks::default();
        codel.dequeue(input(&config, 10_000), &mut fifo, &mut effects);
        assert_eq!(effects.dropped.len(), 1);
        assert!(codel.dropping && codel.last_count == codel.count);
        (codel.count, codel.drop_next)
    }

    #[test]
    fn the_rate_of_drops_is_taken_up_again_within_sixteen_intervals() {
        // RFC 8289 §5.5, RECENT_INTERVALS: count = delta if delta > 1 and now - drop_next < 1600
        // ms, and the next drop comes 100 ms/sqrt(count) later (§5.6).
        for (count, last_count, since, expected, next) in [
            (9, 5, 1599, 4, 50),
            (9, 5, 1600, 1, 100),
            (7, 5, 100, 2, 71),
            (6, 5, 100, 1, 100),
            (5, 5, 100, 1, 100),
        ] {
            let (found, drop_next) = reentered(count, last_count, since);
            assert_eq!(found, expected, "{count} {last_count} {since}");
            let after = drop_next.since(at(10_000)).as_secs_f64() * 1000.0;
            assert!((after - f64::from(next)).abs() < 0.5, "{after}");
        }
    }

    #[test]
    fn a_dequeue_drops_as_often_as_is_due_and_stops_below_the_target() {
        // RFC 8289 §5.5: `while (now >= drop_next_ && dropping_)`.
        let config = CodelConfig::default();
        let mut fifo = Fifo::default();
        for _ in 0..5 {
            fifo.push(at(0), packet(0, 1000));
        }
        for _ in 0..5 {
            fifo.push(at(998), packet(0, 1000));
        }
        let mut codel = Codel {
            first_above: Some(at(500)),
            drop_next: at(900),
            count: 3,
            last_count: 1,
            dropping: true,
        };
        let mut effects = DropsAndMarks::default();
        // Due at 900, 900 + 100/sqrt(4) = 950, 950 + 100/sqrt(5) = 994.7 and, later than now,
        // 1035.5.
        let sent = codel.dequeue(input(&config, 1000), &mut fifo, &mut effects);
        assert!(sent.is_some() && codel.dropping);
        assert_eq!((effects.dropped.len(), codel.count), (3, 6));
        // The packets of 998 ms waited less than 5 ms: the dropping state ends, count remains.
        codel.dequeue(input(&config, 1001), &mut fifo, &mut effects);
        let sent = codel.dequeue(input(&config, 1002), &mut fifo, &mut effects);
        assert!(sent.is_some() && !codel.dropping);
        assert_eq!((effects.dropped.len(), codel.count), (3, 6));
    }

    #[test]
    fn the_limit_is_the_most_that_it_holds() {
        let config = CodelConfig {
            limit: 3,
            ..CodelConfig::default()
        };
        let mut queue = config.build(Rng::stream(1, "codel"));
        let mut effects = DropsAndMarks::default();
        for _ in 0..4 {
            queue.enqueue(Instant::ZERO, packet(0, 1000), &mut effects);
        }
        assert_eq!((queue.backlog().packets, queue.backlog().bytes), (3, 3000));
        assert_eq!(effects.dropped[0].1, DropReason::QueueFull);
    }

    /// Keeps a queue of 1000-octet packets at 50 ms and dequeues one each millisecond.
    fn overloaded(ecn: bool, millis: u64) -> (Vec<u64>, u64) {
        let mut queue = (CodelConfig {
            ecn,
            ..CodelConfig::default()
        })
        .build(Rng::stream(1, "codel"));
        let mut effects = DropsAndMarks::default();
        let mut drops = Vec::new();
        let mut sent = 0;
        for at in 0..millis {
            let now = Instant::from_nanos(at * 1_000_000);
            while queue.backlog().packets < 50 {
                queue.enqueue(now, packet(0, 1000), &mut effects);
            }
            sent += u64::from(queue.dequeue(now, &mut effects).is_some());
            drops.extend(effects.dropped.drain(..).map(|_| at));
        }
        (drops, sent)
    }

    #[test]
    fn drops_follow_the_square_root_law() {
        // The delay reaches 5 ms at t = 5 and has been above it for 100 ms at t = 105; further
        // drops follow 100/sqrt(1), 100/sqrt(2), 100/sqrt(3), 100/sqrt(4) … ms later, each at the
        // next dequeue: 205, 275.7, 333.4, 383.4, 428.2, 469.0.
        let (drops, sent) = overloaded(false, 470);
        assert_eq!(drops, [105, 205, 276, 334, 384, 429, 469]);
        assert_eq!(sent, 470, "a drop at the head costs the link nothing");
    }

    #[test]
    fn leaves_a_short_queue_alone() {
        let mut queue = CodelConfig::default().build(Rng::stream(1, "codel"));
        let mut effects = DropsAndMarks::default();
        for at in 0..10_000_u64 {
            let now = Instant::from_nanos(at * 1_000_000);
            queue.enqueue(now, packet(0, 1000), &mut effects);
            queue.dequeue(now + Duration::from_millis(4), &mut effects);
        }
        assert!(effects.dropped.is_empty());
    }

    #[test]
    fn marks_and_sends_where_it_would_have_dropped() {
        let mut queue = (CodelConfig {
            ecn: true,
            ..CodelConfig::default()
        })
        .build(Rng::stream(1, "codel"));
        let mut effects = DropsAndMarks::default();
        for at in 0..300_u64 {
            let now = Instant::from_nanos(at * 1_000_000);
            while queue.backlog().packets < 50 {
                let mut capable = packet(0, 1000);
                capable.ip.ecn = weir_proto::packet::Ecn::Ect0;
                queue.enqueue(now, capable, &mut effects);
            }
            queue.dequeue(now, &mut effects);
        }
        assert!(effects.dropped.is_empty());
        assert_eq!(effects.marked.len(), 3, "at 105, 205 and 276 ms");
    }
}
