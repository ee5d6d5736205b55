//! A station: its queue, the packet that it is trying to send, and its backoff.
//!
//! The station takes the packet at the head out of the queue when it becomes free, before it
//! contends for the medium, as a driver does; a discipline that decides at dequeue measures the
//! same delays.

use super::rate_control::{RateControl, RateControlConfig};
use super::timing::Phy;
use crate::link::LinkCounters;
use crate::packet_pool::PacketRef;
use crate::queue::{DropsAndMarks, Queue, QueueConfig, QueueDisc};
use std::collections::BTreeMap;
use weir_proto::event::{DropReason, Event, EventMask, Events};
use weir_proto::packet::HostId;
use weir_proto::settings::{bytes, count};
use weir_proto::time::{Duration, Instant};

weir_proto::settings! {
    /// A station: its queue, and how it sends.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct StationConfig {
        /// Where its packets wait; the one being sent is not in it.
        pub queue: QueueConfig,
        /// Largest packet in bytes, IP header included; larger ones are dropped.
        pub mtu: u32 = 1500 => bytes(68..=2304),
        /// How it chooses its rate.
        pub rate_control: RateControlConfig,
        /// Transmissions of a frame before it is given up.
        // IEEE 802.11: dot11ShortRetryLimit.
        pub retry_limit: u32 = 7 => count(1..=255, "transmissions"),
    }
}

/// Counters of a station since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// What it has in common with a link. `busy` is the time that its frames and their
    /// acknowledgements kept the medium; the packet being sent is in flight.
    pub link: LinkCounters,
    /// Frames sent, retries included.
    pub frames: u64,
    /// Frames that were not acknowledged.
    pub failures: u64,
    /// Of these, frames that met another station's.
    pub collisions: u64,
}

#[derive(Debug)]
pub(super) struct Station {
    pub(super) config: StationConfig,
    /// The host that it belongs to.
    pub(super) host: HostId,
    queue: Queue,
    effects: DropsAndMarks,
    /// The packet that is being sent.
    head: Option<PacketRef>,
    /// The station that a packet for this host goes to: routes do not change.
    next_hops: BTreeMap<HostId, HostId>,
    /// Slots to wait, counted from DIFS after the medium became idle.
    pub(super) backoff: u32,
    pub(super) window: u32,
    pub(super) transmissions: u32,
    pub(super) rate: RateControl,
    /// The medium had been idle for long when the packet came: no need to wait.
    pub(super) immediate_access: Option<Instant>,
    pub(super) counters: StationCounters,
    /// Up to when the integrals of the queue are counted.
    counted_to: Instant,
    events: Events,
}

impl Station {
    /// A station at rest, at a host.
    pub(super) fn new(host: HostId, config: StationConfig, phy: &Phy, queue: Queue) -> Self {
        Self {
            config,
            host,
            queue,
            effects: DropsAndMarks::default(),
            head: None,
            next_hops: BTreeMap::new(),
            backoff: 0,
            window: phy.min_window,
            transmissions: 0,
            rate: RateControl::new(config.rate_control, phy.standard),
            immediate_access: None,
            counters: StationCounters::default(),
            counted_to: Instant::ZERO,
            events: Events::default(),
        }
    }

    pub(super) const fn head(&self) -> Option<&PacketRef> {
        self.head.as_ref()
    }

    pub(super) fn events(&mut self) -> &mut Events {
        &mut self.events
    }

    /// Packets that wait or are being sent.
    pub(super) fn packets(&self) -> u64 {
        self.queue.backlog().packets + u64::from(self.head.is_some())
    }

    /// The counters at `now`.
    pub(super) fn counters(&mut self, now: Instant) -> StationCounters {
        self.count_queue(now);
        let mut counters = self.counters;
        counters.link.at = now;
        counters.link.packets_queued = self.queue.backlog().packets;
        counters.link.bytes_queued = self.queue.backlog().bytes;
        counters.link.packets_in_flight = u64::from(self.head.is_some());
        counters.link.bytes_in_flight = self.head.as_ref().map_or(0, |p| u64::from(p.size));
        counters
    }

    fn count_queue(&mut self, now: Instant) {
        let nanos = u128::from(now.since(self.counted_to).as_nanos());
        self.counted_to = self.counted_to.max(now);
        let counters = &mut self.counters.link;
        counters.packet_nanos_queued += nanos * u128::from(self.queue.backlog().packets);
        counters.byte_nanos_queued += nanos * u128::from(self.queue.backlog().bytes);
    }

    /// Counts a dropped packet and adds it to `discarded`.
    pub(super) fn drop(
        &mut self,
        at: Instant,
        packet: PacketRef,
        reason: DropReason,
        discarded: &mut Vec<PacketRef>,
    ) {
        let size = packet.size;
        self.counters.link.count_drop(size, reason);
        self.events
            .push(at, EventMask::DROP, || Event::Drop { size, reason });
        discarded.push(packet);
    }

    fn record_drops_and_marks(&mut self, at: Instant, discarded: &mut Vec<PacketRef>) {
        let mut effects = std::mem::take(&mut self.effects);
        for (packet, reason) in effects.dropped.drain(..) {
            self.drop(at, packet, reason, discarded);
        }
        for size in effects.marked.drain(..) {
            self.counters.link.packets_marked += 1;
            self.events
                .push(at, EventMask::DROP, || Event::EcnMark { size });
        }
        self.effects = effects;
    }

    fn record_queue(&mut self, at: Instant) {
        let (packets, bytes) = (self.queue.backlog().packets, self.queue.backlog().bytes);
        self.events.push(at, EventMask::QUEUE, || Event::Queue {
            packets: packets as u32,
            bytes,
        });
    }

    /// A packet for the station of host `to` enters the queue, or is dropped.
    pub(super) fn accept(
        &mut self,
        now: Instant,
        to: HostId,
        packet: PacketRef,
        discarded: &mut Vec<PacketRef>,
    ) {
        self.counters.link.packets_in += 1;
        self.counters.link.bytes_in += u64::from(packet.size);
        if packet.size > self.config.mtu {
            return self.drop(now, packet, DropReason::TooLarge, discarded);
        }
        self.next_hops.insert(packet.ip.destination, to);
        self.count_queue(now);
        self.queue.enqueue(now, packet, &mut self.effects);
        self.record_drops_and_marks(now, discarded);
        let counters = &mut self.counters.link;
        counters.max_packets_queued = counters
            .max_packets_queued
            .max(self.queue.backlog().packets);
        counters.max_bytes_queued = counters.max_bytes_queued.max(self.queue.backlog().bytes);
        self.record_queue(now);
    }

    /// Takes the next packet out of the queue, if the station is free; true if there is a new one.
    pub(super) fn load_head(&mut self, now: Instant, discarded: &mut Vec<PacketRef>) -> bool {
        if self.head.is_some() || self.queue.backlog().packets == 0 {
            return false;
        }
        self.count_queue(now);
        self.head = self.queue.dequeue(now, &mut self.effects);
        self.record_drops_and_marks(now, discarded);
        self.record_queue(now);
        self.head.is_some()
    }

    /// The packet has been acknowledged: it leaves for the next host.
    pub(super) fn deliver(&mut self) -> Option<(HostId, PacketRef)> {
        let packet = self.head.take()?;
        self.counters.link.packets_delivered += 1;
        self.counters.link.bytes_delivered += u64::from(packet.size);
        let to = self.next_hops.get(&packet.ip.destination).copied()?;
        Some((to, packet))
    }

    /// The packet is given up after its last retry.
    pub(super) fn give_up(&mut self, at: Instant, discarded: &mut Vec<PacketRef>) {
        if let Some(packet) = self.head.take() {
            self.drop(at, packet, DropReason::RetryLimit, discarded);
        }
    }

    /// The medium was kept for this station's frame, up to the end of the acknowledgement.
    pub(super) fn on_airtime(&mut self, time: Duration) {
        self.counters.link.busy += time;
    }
}
