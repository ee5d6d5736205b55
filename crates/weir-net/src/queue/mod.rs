//! The queue in front of a link: packets that wait for their transmission.
//!
//! The packet in transmission is not in the queue, as with tc: a link with a limit of 10 packets
//! holds up to 11. A link dequeues a packet at the exact start of its transmission and passes that
//! time, because some disciplines decide at dequeue (CoDel) and some at enqueue (RED, PIE).
//!
//! A discipline is one file with a [`QueueDisc`], its configuration as [`QueueDiscConfig`] beside
//! it, and one line in the registry below. Dropped and marked packets go into [`DropsAndMarks`].

mod cake;
mod codel;
mod droptail;
mod dualpi2;
mod fifo;
mod fq;
mod fq_codel;
mod fq_pie;
mod htb;
mod pie;
mod red;
mod registry;
mod rounds;
mod step;

pub use cake::{AckFilter, CakeConfig, Diffserv, FlowMode, Framing, RttWord};
pub use codel::CodelConfig;
pub use droptail::{DropTailConfig, QueueLimit};
pub use dualpi2::DualPi2Config;
pub use fq::FqConfig;
pub use fq_codel::FqCodelConfig;
pub use fq_pie::FqPieConfig;
pub use htb::{HtbClassConfig, HtbConfig};
pub use pie::PieConfig;
pub use red::RedConfig;
pub use step::{StepConfig, StepThreshold};

use crate::ack_facts::AckFacts;
use crate::packet_pool::{PacketRef, PooledPacket};
use registry::queue_disciplines;
use std::fmt;
use weir_proto::event::{DropReason, QueueChange};
use weir_proto::packet::Ecn;
use weir_proto::rng::Rng;
use weir_proto::settings::{Form, count};
use weir_proto::time::{Duration, Instant};

queue_disciplines! {
    DropTail(DropTailConfig) = "droptail",
    Red(RedConfig) = "red",
    Codel(CodelConfig) = "codel",
    FqCodel(FqCodelConfig) = "fq_codel",
    Pie(PieConfig) = "pie",
    FqPie(FqPieConfig) = "fq_pie",
    Fq(FqConfig) = "fq",
    Cake(CakeConfig) = "cake",
    Htb(HtbConfig) = "htb",
    DualPi2(DualPi2Config) = "dualpi2",
    Step(StepConfig) = "step",
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self::DropTail(DropTailConfig::default())
    }
}

/// The state of a queue: its packets, and the decision when to drop or mark one.
pub(crate) trait QueueDisc: fmt::Debug + Send {
    /// Queues the packet, drops it, or drops another packet in its place.
    fn enqueue(&mut self, now: Instant, packet: PacketRef, effects: &mut DropsAndMarks);

    /// The packet whose transmission starts now.
    fn dequeue(&mut self, now: Instant, effects: &mut DropsAndMarks) -> Option<PacketRef>;

    /// Size of the packet that `dequeue` returns next, as far as it is known before; `None` if the
    /// queue is empty.
    fn head_size(&self) -> Option<u32>;

    /// The packets and octets in the queue.
    fn backlog(&self) -> Backlog;

    /// The earliest time at which `dequeue` may return a packet, if one waits: not before the last
    /// call, for a discipline that delays packets itself. A `dequeue` at that time returns a
    /// packet, drops one, or moves this time.
    fn ready_at(&self) -> Instant {
        Instant::ZERO
    }

    /// The time up to `now` during which packets had to wait for the rate of the discipline itself.
    fn shaping_time(&self, _now: Instant) -> Duration {
        Duration::ZERO
    }

    /// True if it decides on the TCP headers of packets: [`expect`](Self::expect) then precedes
    /// each `enqueue`.
    fn reads_acks(&self) -> bool {
        false
    }

    /// The facts of the packet that enters next; `None` unless it is a TCP segment.
    fn expect(&mut self, _facts: Option<AckFacts>) {}

    /// True if a packet that need not wait may bypass the queue, as TCQ_F_CAN_BYPASS in Linux. A
    /// discipline with active queue management measures every packet.
    fn can_bypass(&self) -> bool {
        false
    }
}

impl<T: QueueDisc> QueueDisc for Box<T> {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: PacketRef, effects: &mut DropsAndMarks) {
        (**self).enqueue(now, packet, effects);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, effects: &mut DropsAndMarks) -> Option<PacketRef> {
        (**self).dequeue(now, effects)
    }

    #[inline]
    fn head_size(&self) -> Option<u32> {
        (**self).head_size()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        (**self).backlog()
    }

    #[inline]
    fn ready_at(&self) -> Instant {
        (**self).ready_at()
    }

    #[inline]
    fn shaping_time(&self, now: Instant) -> Duration {
        (**self).shaping_time(now)
    }

    #[inline]
    fn reads_acks(&self) -> bool {
        (**self).reads_acks()
    }

    fn expect(&mut self, facts: Option<AckFacts>) {
        (**self).expect(facts);
    }

    #[inline]
    fn can_bypass(&self) -> bool {
        (**self).can_bypass()
    }
}

/// The backlog of a queue, as shown by `tc -s qdisc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backlog {
    /// Packets that wait.
    pub(crate) packets: u64,
    /// Octets of these, from the IP header on.
    pub(crate) bytes: u64,
}

impl Backlog {
    /// The event that the queue holds this backlog from `at` on.
    #[inline(always)]
    pub(crate) const fn change_at(self, at: Instant) -> QueueChange {
        QueueChange {
            at,
            packets: self.packets as u32,
            bytes: self.bytes,
        }
    }
}

/// The name of a queue discipline in tc. Its options have the names of the configuration's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcName {
    /// The word after `tc qdisc add`.
    pub name: &'static str,
    /// A limit without a unit counts octets instead of packets.
    pub limit_in_octets: bool,
}

impl TcName {
    /// The name of a discipline whose limit counts packets.
    const fn packets(name: &'static str) -> Self {
        Self {
            name,
            limit_in_octets: false,
        }
    }

    /// The name of a discipline whose limit counts octets.
    const fn octets(name: &'static str) -> Self {
        Self {
            name,
            limit_in_octets: true,
        }
    }
}

/// A queue discipline of tc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcQueue {
    /// The word of the configuration's `kind`.
    pub kind: &'static str,
    /// Its name in tc.
    pub name: TcName,
}

/// A limit in packets.
const fn max_packets() -> impl Form<u64> + Copy {
    count(1..=1 << 32, "packets")
}

/// The configuration of a queue discipline.
pub(crate) trait QueueDiscConfig {
    /// The names of the discipline in tc.
    const TC_NAMES: &'static [TcName];

    /// It uses random numbers, for drops or for hashing flows.
    const IS_RANDOM: bool;

    /// The discipline; boxed if it is large, so that a link with a drop-tail queue stays small.
    type Disc: QueueDisc;

    /// An empty queue with this random stream.
    fn build(&self, rng: Rng) -> Self::Disc;

    /// The capacity of the queue.
    fn limit(&self) -> QueueLimit;

    /// Bits per second at which the discipline itself lets packets pass; `None` if it never holds
    /// one back for its rate.
    fn rate(&self) -> Option<u64> {
        None
    }

    /// A configuration for property tests: a short queue, any options.
    fn arbitrary(rng: &mut Rng) -> Self;
}

/// Packets that a discipline dropped or marked in one call; the link empties it after each call.
#[derive(Debug, Default)]
pub(crate) struct DropsAndMarks {
    /// Dropped packets, each with its reason.
    pub(crate) dropped: Vec<(PacketRef, DropReason)>,
    /// Marked packets that are still in the queue or on their way.
    pub(crate) marked: Vec<PooledPacket>,
}

impl DropsAndMarks {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.marked.is_empty()
    }
}

/// The flow and direction of a packet, in place of the five-tuple of its headers.
const fn flow_key(packet: &PacketRef) -> u64 {
    (packet.flow.0 as u64) << 32 | packet.ip.source.0 as u64
}

/// Marks a packet of an ECN-capable transport with CE (RFC 3168 §5); false if it is not capable.
pub(crate) fn mark(packet: &mut PacketRef, effects: &mut DropsAndMarks) -> bool {
    if packet.ip.ecn == Ecn::NotEct {
        return false;
    }
    packet.ip.ecn = Ecn::Ce;
    effects.marked.push(packet.pooled());
    true
}

#[cfg(test)]
pub(crate) mod all_disciplines;

#[cfg(test)]
mod tests {
    use crate::packet_pool::{PacketRef, fixture};
    use weir_proto::packet::Ecn;

    pub(super) fn packet(flow: u32, size: u32) -> PacketRef {
        fixture::packet_ref(0, flow, size)
    }

    /// A packet with this number and ECN field.
    pub(super) fn capable(number: u64, size: u32, ecn: Ecn) -> PacketRef {
        let mut packet = fixture::packet_ref(number, 0, size);
        packet.ip.ecn = ecn;
        packet
    }
}
