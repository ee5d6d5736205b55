//! The queue in front of a link: packets that wait for their transmission.
//!
//! The packet that is being transmitted is not in the queue, as with tc: a link with a limit of
//! 10 packets holds up to 11. A link takes packets out at the exact start of their transmission,
//! with that time as argument, so that disciplines which decide at dequeue (CoDel, PIE) or at
//! enqueue (RED) are one more file and one more arm here. A dequeue may return a later packet
//! than the oldest, and fewer than were enqueued.

mod droptail;

pub use droptail::Limit;

use droptail::DropTail;
use weir_proto::packet::Packet;
use weir_proto::time::Instant;

/// Which discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueConfig {
    /// First in, first out; a packet that finds the queue full is dropped.
    DropTail {
        /// What the queue holds at most.
        limit: Limit,
    },
}

impl Default for QueueConfig {
    /// 1000 packets, which is the default of Linux's interfaces.
    fn default() -> Self {
        Self::DropTail {
            limit: Limit::Packets(1000),
        }
    }
}

/// A queue at work.
#[derive(Debug)]
pub(crate) enum Queue {
    DropTail(DropTail),
}

impl Queue {
    pub(crate) fn new(config: QueueConfig) -> Self {
        match config {
            QueueConfig::DropTail { limit } => Self::DropTail(DropTail::new(limit)),
        }
    }

    /// Takes the packet in, or gives it back if there is no room.
    #[inline]
    pub(crate) fn enqueue(&mut self, _now: Instant, packet: Packet) -> Result<(), Packet> {
        match self {
            Self::DropTail(queue) => queue.enqueue(packet),
        }
    }

    /// The packet whose transmission starts now.
    #[inline]
    pub(crate) fn dequeue(&mut self, _now: Instant) -> Option<Packet> {
        match self {
            Self::DropTail(queue) => queue.dequeue(),
        }
    }

    /// Packets waiting.
    #[inline]
    pub(crate) fn packets(&self) -> u64 {
        match self {
            Self::DropTail(queue) => queue.packets(),
        }
    }

    /// Octets waiting.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::DropTail(queue) => queue.bytes(),
        }
    }
}
