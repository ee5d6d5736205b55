//! Trace events of links and stations, which identify a packet by its slot in the pool. They are
//! converted to [`Event`]s, which identify it by its sender's number, while the packet is in the
//! pool.

use crate::packet_pool::{PacketPool, PooledPacket};
use crate::queue::Backlog;
use weir_proto::event::{DropReason, Event, EventMask, EventSource, Probe};
use weir_proto::time::Instant;

/// An event in a link or a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StageEvent {
    /// The backlog of the queue has changed to this.
    Queue(Backlog),
    /// A station sends a frame at this rate in kbit/s, and sent the frame before at another.
    FrameRate(u32),
    /// A packet was dropped.
    Drop(PooledPacket, DropReason),
    /// A packet was marked with Congestion Experienced.
    Mark(PooledPacket),
    /// A packet entered.
    Enter(PooledPacket),
    /// A packet is carried.
    Carry(PooledPacket, Transmission),
}

/// When a packet is on the wire or on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// The start of its transmission.
    pub(crate) started: Instant,
    /// The end of its transmission.
    pub(crate) left: Instant,
    /// Its arrival, if it arrives.
    pub(crate) arrives: Option<Instant>,
}

impl StageEvent {
    const fn kind(self) -> EventMask {
        match self {
            Self::Queue(_) | Self::FrameRate(_) => EventMask::QUEUE,
            // Who follows packets is told of it too.
            Self::Drop(..) => EventMask::DROP.union(EventMask::STAGE),
            Self::Mark(_) => EventMask::DROP,
            Self::Enter(_) | Self::Carry(..) => EventMask::STAGE,
        }
    }

    /// The event in the form that a probe records.
    fn named(self, at: Instant, pool: &PacketPool) -> Event {
        match self {
            Self::Queue(backlog) => backlog.change_at(at).event(),
            Self::FrameRate(kbps) => Event::FrameRate { kbps },
            Self::Drop(packet, reason) => Event::Drop {
                flow: packet.flow,
                number: pool.number_of(packet),
                size: packet.size,
                reason,
            },
            Self::Mark(packet) => Event::EcnMark {
                flow: packet.flow,
                number: pool.number_of(packet),
                size: packet.size,
            },
            Self::Enter(packet) => Event::Entered(pool.identity_of(packet)),
            Self::Carry(packet, transmission) => Event::Carried {
                packet: pool.identity_of(packet),
                started: transmission.started,
                left: transmission.left,
                arrives: transmission.arrives,
            },
        }
    }

    /// The event for those who follow packets, beside that of [`named`](Self::named).
    fn on_way(self, pool: &PacketPool) -> Option<Event> {
        let Self::Drop(packet, reason) = self else {
            return None;
        };
        let packet = pool.identity_of(packet);
        Some(Event::DroppedOnWay { packet, reason })
    }
}

/// The events that a link or a station has queued for the event loop.
#[derive(Debug, Default)]
pub(crate) struct StageEvents {
    mask: EventMask,
    queue: Vec<(Instant, StageEvent)>,
}

impl StageEvents {
    /// Selects the kinds of events to queue.
    pub(crate) const fn set_mask(&mut self, mask: EventMask) {
        self.mask = mask;
    }

    /// True if events of this kind are selected.
    #[inline]
    pub(crate) const fn wants(&self, kind: EventMask) -> bool {
        self.mask.intersects(kind)
    }

    /// Queues the event, if its kind is selected.
    #[inline]
    pub(crate) fn push(&mut self, at: Instant, event: StageEvent) {
        if self.wants(event.kind()) {
            self.queue_event(at, event);
        }
    }

    #[cold]
    #[inline(never)]
    fn queue_event(&mut self, at: Instant, event: StageEvent) {
        self.queue.push((at, event));
    }

    /// True if stages of packets wait to be recorded: they name packets that are in the pool now.
    #[inline]
    pub(crate) const fn has_stages(&self) -> bool {
        self.wants(EventMask::STAGE) && !self.queue.is_empty()
    }

    /// Removes all events, oldest first; keeps the capacity.
    #[inline]
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (Instant, StageEvent)> + '_ {
        self.queue.drain(..)
    }

    /// Moves all events into the probe, oldest first, while the packets are in this pool.
    #[inline]
    pub(crate) fn record(&mut self, pool: &PacketPool, source: EventSource, probe: &mut dyn Probe) {
        let follows_packets = self.wants(EventMask::STAGE);
        for (at, event) in self.drain() {
            probe.record(at, source, &event.named(at, pool));
            if let Some(event) = event.on_way(pool).filter(|_| follows_packets) {
                probe.record(at, source, &event);
            }
        }
    }
}
