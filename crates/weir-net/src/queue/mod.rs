//! The queue in front of a link: packets that wait for their transmission.
//!
//! The packet that is being transmitted is not in the queue, as with tc: a link with a limit of
//! 10 packets holds up to 11. A link takes packets out at the exact start of their transmission,
//! with that time as argument, so that disciplines which decide at dequeue (CoDel) and at enqueue
//! (RED, PIE) are one more file and one more arm here. What a discipline drops or marks, whether
//! the arriving packet or another, goes into [`DropsAndMarks`].

mod codel;
mod droptail;
mod fifo;
mod fq_codel;
mod pie;
mod red;

pub use codel::CodelConfig;
pub use droptail::QueueLimit;
pub use fq_codel::FqCodelConfig;
pub use pie::PieConfig;
pub use red::RedConfig;

use crate::packet_pool::PacketRef;
use codel::CodelQueue;
use droptail::DropTail;
use fq_codel::FqCodel;
use pie::Pie;
use red::Red;
use weir_proto::event::DropReason;
use weir_proto::packet::Ecn;
use weir_proto::rng::Rng;
use weir_proto::time::Instant;

/// Which discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QueueConfig {
    /// First in, first out; a packet that finds the queue full is dropped.
    DropTail {
        /// What the queue holds at most.
        limit: QueueLimit,
    },
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay (RFC 8289).
    Codel(CodelConfig),
    /// Flow queueing with CoDel (RFC 8290).
    FqCodel(FqCodelConfig),
    /// Proportional integral controller, enhanced (RFC 8033).
    Pie(PieConfig),
}

impl Default for QueueConfig {
    /// 1000 packets, which is the default of Linux's interfaces.
    fn default() -> Self {
        Self::DropTail {
            limit: QueueLimit::Packets(1000),
        }
    }
}

/// What a discipline did besides queueing; the link takes it out after each call.
#[derive(Debug, Default)]
pub(crate) struct DropsAndMarks {
    /// Packets that are gone.
    pub(crate) dropped: Vec<(PacketRef, DropReason)>,
    /// Sizes of packets that were marked and go on.
    pub(crate) marked: Vec<u32>,
}

impl DropsAndMarks {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.marked.is_empty()
    }
}

/// Sets congestion experienced, if the packet is capable (RFC 3168 §5); says whether it is.
fn mark(packet: &mut PacketRef, effects: &mut DropsAndMarks) -> bool {
    if packet.ip.ecn == Ecn::NotEct {
        return false;
    }
    packet.ip.ecn = Ecn::Ce;
    effects.marked.push(packet.size);
    true
}

/// A queue at work.
#[derive(Debug)]
pub(crate) enum Queue {
    DropTail(DropTail),
    Red(Box<Red>),
    Codel(Box<CodelQueue>),
    FqCodel(Box<FqCodel>),
    Pie(Box<Pie>),
}

impl Queue {
    /// An empty queue of the run with this seed; `name` is that of its random stream.
    pub(crate) fn new(config: QueueConfig, seed: u64, name: &str) -> Self {
        let rng = || Rng::stream(seed, name);
        match config {
            QueueConfig::DropTail { limit } => Self::DropTail(DropTail::new(limit)),
            QueueConfig::Red(config) => Self::Red(Box::new(Red::new(config, rng()))),
            QueueConfig::Codel(config) => Self::Codel(Box::new(CodelQueue::new(config))),
            QueueConfig::FqCodel(config) => {
                Self::FqCodel(Box::new(FqCodel::new(config, rng().next_u64())))
            }
            QueueConfig::Pie(config) => Self::Pie(Box::new(Pie::new(config, rng()))),
        }
    }

    /// Takes the packet in, or drops it, or another one for it.
    #[inline]
    pub(crate) fn enqueue(&mut self, now: Instant, packet: PacketRef, effects: &mut DropsAndMarks) {
        match self {
            Self::DropTail(queue) => {
                if let Some(packet) = queue.enqueue(packet) {
                    effects.dropped.push((packet, DropReason::QueueFull));
                }
            }
            Self::Red(queue) => queue.enqueue(now, packet, effects),
            Self::Codel(queue) => queue.enqueue(now, packet, effects),
            Self::FqCodel(queue) => queue.enqueue(now, packet, effects),
            Self::Pie(queue) => queue.enqueue(now, packet, effects),
        }
    }

    /// The packet whose transmission starts now.
    #[inline]
    pub(crate) fn dequeue(
        &mut self,
        now: Instant,
        effects: &mut DropsAndMarks,
    ) -> Option<PacketRef> {
        match self {
            Self::DropTail(queue) => queue.dequeue(),
            Self::Red(queue) => queue.dequeue(now),
            Self::Codel(queue) => queue.dequeue(now, effects),
            Self::FqCodel(queue) => queue.dequeue(now, effects),
            Self::Pie(queue) => queue.dequeue(now),
        }
    }

    /// Size of the packet that is taken out next, as far as it is known; `None` if none waits.
    #[inline]
    pub(crate) fn head_size(&self) -> Option<u32> {
        match self {
            Self::DropTail(queue) => queue.head_size(),
            Self::Red(queue) => queue.fifo().head_size(),
            Self::Codel(queue) => queue.fifo().head_size(),
            Self::FqCodel(queue) => queue.head_size(),
            Self::Pie(queue) => queue.fifo().head_size(),
        }
    }

    /// True if a packet that need not wait may go past the queue unseen: the active disciplines
    /// want to see every packet.
    #[inline]
    pub(crate) const fn can_bypass(&self) -> bool {
        matches!(self, Self::DropTail(_))
    }

    /// Packets waiting.
    #[inline]
    pub(crate) fn packets(&self) -> u64 {
        match self {
            Self::DropTail(queue) => queue.packets(),
            Self::Red(queue) => queue.fifo().packets(),
            Self::Codel(queue) => queue.fifo().packets(),
            Self::FqCodel(queue) => queue.packets(),
            Self::Pie(queue) => queue.fifo().packets(),
        }
    }

    /// Octets waiting.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::DropTail(queue) => queue.bytes(),
            Self::Red(queue) => queue.fifo().bytes(),
            Self::Codel(queue) => queue.fifo().bytes(),
            Self::FqCodel(queue) => queue.bytes(),
            Self::Pie(queue) => queue.fifo().bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::packet_pool::{PacketRef, fixture};

    pub(super) fn packet(flow: u32, size: u32) -> PacketRef {
        fixture::packet_ref(0, flow, size)
    }
}
