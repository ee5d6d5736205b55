//! Step marking, as by data centre switches for DCTCP (RFC 8257 §3.1): first in, first out; a
//! packet of an ECN-capable transport is marked when the queue exceeds a threshold.
//!
//! A threshold in packets or octets is compared with the backlog when the packet arrives, without
//! the packet itself or the packet in transmission. A threshold in time is compared with the
//! waiting time of the packet when its transmission starts. Packets that are not ECN-capable pass,
//! unless `drop_others` is set: then they are dropped where others would be marked, as by a switch
//! that marks by RED with equal thresholds.

use super::fifo::Fifo;
use super::{Backlog, DropsAndMarks, QueueDisc, QueueDiscConfig, QueueLimit, TcName, mark};
use crate::packet_pool::PacketRef;
use weir_proto::event::DropReason;
use weir_proto::rng::Rng;
use weir_proto::settings::{
    Diagnostic, Form, Kind, Raw, Reader, Spanned, Value, bytes, count, natural,
};
use weir_proto::time::{Duration, Instant};
use weir_proto::units;

weir_proto::settings! {
    /// Marks ECN-capable packets above a threshold, as switches do for DCTCP (RFC 8257).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StepConfig {
        /// What it holds at most: packets as a number, or bytes such as "30000b".
        pub limit: QueueLimit,
        /// Above this it marks: packets as a number, bytes such as "30000b", or from this time of
        /// waiting on such as "1ms".
        pub threshold: StepThreshold [required],
        /// Drop packets that are not ECN-capable where others are marked.
        pub drop_others: bool,
    }
}

/// The threshold from which a packet is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepThreshold {
    /// The packet finds more than this many packets in the queue.
    Packets(u64),
    /// The packet finds more than this many octets in the queue.
    Bytes(u64),
    /// The packet has waited this long or longer.
    Delay(Duration),
}

impl Default for StepThreshold {
    /// 1 ms, the step of DualPI2.
    fn default() -> Self {
        Self::Delay(Duration::from_millis(1))
    }
}

const MAX_THRESHOLD: u64 = 1 << 50;

impl Value for StepThreshold {
    fn read(&mut self, value: &Spanned, reader: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let help = "write packets as a number (65), bytes (\"97500b\") or a time (\"1ms\")";
        let (mut number, mut delay) = (0_u64, Duration::ZERO);
        if value.raw.as_text().is_none() {
            let packets = count(0..=MAX_THRESHOLD, "packets").read(&mut number, value, reader);
            *self = Self::Packets(number);
            return packets.map_err(|wrong| Diagnostic::new(wrong.message, help));
        }
        if natural().read(&mut delay, value, reader).is_ok() {
            *self = Self::Delay(delay);
            return Ok(());
        }
        let octets = bytes(0..=MAX_THRESHOLD).read(&mut number, value, reader);
        *self = Self::Bytes(number);
        octets.map_err(|wrong| Diagnostic::new(wrong.message, help))
    }

    fn write(&self) -> Raw {
        match *self {
            Self::Packets(packets) => count(0..=MAX_THRESHOLD, "packets").write(&packets),
            Self::Bytes(octets) => Raw::Text(format!("{octets}b")),
            Self::Delay(delay) => natural().write(&delay),
        }
    }

    fn kind(&self) -> Kind {
        let (min, max, unit) = (0, MAX_THRESHOLD, "packets");
        Kind::AnyOf(vec![
            Kind::Integer { min, max, unit },
            Kind::Quantity(&units::SIZE),
            Kind::Quantity(&units::DURATION),
        ])
    }
}

impl QueueDiscConfig for StepConfig {
    type Disc = Box<Step>;
    /// tc has no such discipline: `red` with two equal thresholds is used instead.
    const TC_NAMES: &'static [TcName] = &[];
    const IS_RANDOM: bool = false;

    fn build(&self, _rng: Rng) -> Box<Step> {
        Box::new(Step {
            config: *self,
            fifo: Fifo::default(),
        })
    }

    fn limit(&self) -> QueueLimit {
        self.limit
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        let threshold = match rng.below(3) {
            0 => StepThreshold::Packets(rng.below(10)),
            1 => StepThreshold::Bytes(rng.below(10_000)),
            _ => StepThreshold::Delay(Duration::from_nanos(rng.below(5_000_000))),
        };
        Self {
            limit: QueueLimit::Packets(1 + rng.below(20)),
            threshold,
            drop_others: rng.chance(0.5),
        }
    }
}

/// A queue that marks above a threshold.
#[derive(Debug)]
pub(crate) struct Step {
    config: StepConfig,
    fifo: Fifo,
}

impl Step {
    /// Marks the packet if it is ECN-capable; returns it unless it must be dropped.
    fn signal(&self, mut packet: PacketRef, effects: &mut DropsAndMarks) -> Option<PacketRef> {
        if !mark(&mut packet, effects) && self.config.drop_others {
            effects.dropped.push((packet, DropReason::Aqm));
            return None;
        }
        Some(packet)
    }
}

impl QueueDisc for Step {
    fn enqueue(&mut self, now: Instant, packet: PacketRef, effects: &mut DropsAndMarks) {
        let Backlog { packets, bytes } = self.fifo.backlog();
        let full = match self.config.limit {
            QueueLimit::Packets(limit) => packets >= limit,
            QueueLimit::Bytes(limit) => bytes + u64::from(packet.size) > limit,
        };
        if full {
            effects.dropped.push((packet, DropReason::QueueFull));
            return;
        }
        let above = match self.config.threshold {
            StepThreshold::Packets(threshold) => packets > threshold,
            StepThreshold::Bytes(threshold) => bytes > threshold,
            StepThreshold::Delay(_) => false,
        };
        let packet = if above {
            self.signal(packet, effects)
        } else {
            Some(packet)
        };
        if let Some(packet) = packet {
            self.fifo.push(now, packet);
        }
    }

    fn dequeue(&mut self, now: Instant, effects: &mut DropsAndMarks) -> Option<PacketRef> {
        loop {
            let (since, packet) = self.fifo.pop()?;
            match self.config.threshold {
                StepThreshold::Delay(threshold) if now.since(since) >= threshold => {
                    if let Some(packet) = self.signal(packet, effects) {
                        return Some(packet);
                    }
                }
                _ => return Some(packet),
            }
        }
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
    use crate::packet_pool::fixture::number_of;
    use crate::queue::tests::capable;
    use weir_proto::packet::Ecn;

    /// The numbers of the packets that are marked, and of those that are dropped, when six packets
    /// of 1000 octets, of which every third is not ECN-capable, enter at once and leave a
    /// millisecond apart.
    fn outcome(threshold: StepThreshold, drop_others: bool) -> [Vec<u64>; 2] {
        let config = StepConfig {
            limit: QueueLimit::Packets(5),
            threshold,
            drop_others,
        };
        let mut queue = config.build(Rng::stream(1, "step"));
        let mut effects = DropsAndMarks::default();
        for number in 0..6 {
            let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][number as usize % 3];
            queue.enqueue(Instant::ZERO, capable(number, 1000, ecn), &mut effects);
        }
        let mut marked = Vec::new();
        for tick in 0..6 {
            let now = Instant::ZERO + Duration::from_millis(1) * tick;
            if let Some(packet) = queue.dequeue(now, &mut effects)
                && packet.ip.ecn == Ecn::Ce
            {
                marked.push(number_of(&packet));
            }
        }
        assert_eq!(queue.backlog(), Backlog::default());
        assert_eq!(effects.marked.len(), marked.len());
        let dropped = effects.dropped.iter();
        [
            marked,
            dropped.map(|(packet, _)| number_of(packet)).collect(),
        ]
    }

    #[test]
    fn marks_above_its_threshold_and_drops_only_when_full_or_configured() {
        let delay = |micros| StepThreshold::Delay(Duration::from_micros(micros));
        for (threshold, drop_others, marked, dropped) in [
            // Packet n finds n packets: those from 2 on find more than one.
            (StepThreshold::Packets(1), false, vec![2, 4], vec![5]),
            (StepThreshold::Packets(4), false, vec![], vec![5]),
            // Packet 3 is not ECN-capable and is dropped, so there is room for packet 5, which
            // finds four.
            (StepThreshold::Packets(1), true, vec![2, 4, 5], vec![3]),
            (StepThreshold::Bytes(1000), false, vec![2, 4], vec![5]),
            (StepThreshold::Bytes(999), false, vec![1, 2, 4], vec![5]),
            // Packet n waits n ms.
            (delay(2000), false, vec![2, 4], vec![5]),
            (delay(2001), false, vec![4], vec![5]),
            // Packet 3 is dropped at 3 ms, and packet 4 is sent in its place.
            (delay(2000), true, vec![2, 4], vec![5, 3]),
        ] {
            let found = outcome(threshold, drop_others);
            assert_eq!(found, [marked, dropped], "{threshold:?} {drop_others}");
        }
    }
}
