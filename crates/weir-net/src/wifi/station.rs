//! A station: its queue, the packet that it is trying to send, and its backoff.
//!
//! A free station dequeues a packet before it contends for the medium, as a driver does; a
//! discipline that decides at dequeue measures the same delays.

use super::place::Place;
use super::rate_control::{RateControl, RateControlConfig};
use super::timing::{PhyRate, Standard};
use crate::ack_facts::AckFacts;
use crate::link::{LinkCounters, QueueMeter};
use crate::packet_pool::PacketRef;
use crate::queue::{DropsAndMarks, Queue, QueueConfig, QueueDisc};
use crate::stage_events::{StageEvent, StageEvents, Transmission};
use std::collections::BTreeMap;
use std::num::NonZeroU32;
use weir_proto::event::DropReason;
use weir_proto::packet::HostId;
use weir_proto::settings::{bytes, count, number};
use weir_proto::time::{Duration, Instant};

weir_proto::settings! {
    /// A station: its queue, and how it sends.
    #[derive(Clone, Debug, PartialEq)]
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
        /// Its transmit power in dBm.
        pub power: f64 = 15.0 => number(-100.0..=100.0, "dBm"),
        /// Where it is at first.
        pub place: Place [flatten],
        /// What it does with a frame that never came whole.
        pub damaged_frames: DamagedFrames,
    }
}

weir_proto::keywords! {
    /// What a station does with a frame that it received damaged until the sender gave up.
    #[derive(Default)]
    pub enum DamagedFrames {
        /// Drops it, as the frame check sequence demands.
        #[default]
        Drop = "drop",
        /// Delivers it if the IP header is whole, for transports with partial checksum coverage.
        Deliver = "deliver",
    }
}

/// Counters of a station since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// The counters that it shares with a link. `busy` is the time for which its frames and their
    /// acknowledgements occupy the medium; the packet being sent is in flight.
    pub link: LinkCounters,
    /// Frames sent, retries included.
    pub frames: u64,
    /// Frames that were not acknowledged.
    pub failures: u64,
    /// Frames among these that collided with another station's.
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
    /// The next station for a packet to this host; routes do not change.
    next_hops: BTreeMap<HostId, HostId>,
    /// When the medium becomes idle for the station: DIFS and slots count from here. In the future
    /// while it waits for EIFS, a missing acknowledgement, or the end of a transmission or burst
    /// that it hears.
    pub(super) idle_from: Instant,
    /// Slots to wait, counted from DIFS after the medium became idle.
    pub(super) backoff: u32,
    pub(super) window: u32,
    pub(super) transmissions: u32,
    /// The first damaged octet of the receiver's copy of the packet being sent.
    pub(super) damaged_copy: Option<NonZeroU32>,
    pub(super) rate: RateControl,
    /// Set if the medium had been idle for DIFS when the packet entered: it is sent without
    /// backoff.
    pub(super) immediate_access: Option<Instant>,
    pub(super) counters: StationCounters,
    /// The end of the airtime counted so far.
    on_air_until: Instant,
    meter: QueueMeter,
    events: StageEvents,
    /// The rate of the latest frame; `None` before the first.
    recorded_rate: Option<PhyRate>,
}

impl Station {
    /// An idle station at a host.
    pub(super) fn new(
        host: HostId,
        config: StationConfig,
        rate: RateControl,
        (window, queue): (u32, Queue),
    ) -> Self {
        Self {
            config,
            host,
            queue,
            effects: DropsAndMarks::default(),
            head: None,
            next_hops: BTreeMap::new(),
            idle_from: Instant::ZERO,
            backoff: 0,
            window,
            transmissions: 0,
            damaged_copy: None,
            rate,
            immediate_access: None,
            counters: StationCounters::default(),
            on_air_until: Instant::ZERO,
            meter: QueueMeter::default(),
            events: StageEvents::default(),
            recorded_rate: None,
        }
    }

    pub(super) const fn head(&self) -> Option<&PacketRef> {
        self.head.as_ref()
    }

    pub(super) fn events(&mut self) -> &mut StageEvents {
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
        // A frame's airtime is counted when it begins: subtracts the part that is still to come.
        let to_come = self.on_air_until.max(now).since(now);
        counters.link.busy = counters.link.busy.saturating_sub(to_come);
        counters
    }

    fn count_queue(&mut self, now: Instant) {
        let backlog = self.queue.backlog();
        self.meter.advance(now, backlog, &mut self.counters.link);
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
            .push(at, StageEvent::Drop(packet.pooled(), reason));
        discarded.push(packet);
    }

    fn record_drops_and_marks(&mut self, at: Instant, discarded: &mut Vec<PacketRef>) {
        let mut effects = std::mem::take(&mut self.effects);
        for (packet, reason) in effects.dropped.drain(..) {
            self.drop(at, packet, reason, discarded);
        }
        for marked in effects.marked.drain(..) {
            self.counters.link.packets_marked += 1;
            self.events.push(at, StageEvent::Mark(marked));
        }
        self.effects = effects;
    }

    fn record_queue(&mut self, at: Instant) {
        self.events
            .push(at, StageEvent::Queue(self.queue.backlog()));
    }

    /// Its frame begins.
    pub(super) fn record_rate(&mut self, now: Instant, standard: Standard) {
        let rate = self.rate.rate();
        if self.recorded_rate.replace(rate) != Some(rate) {
            let event = StageEvent::FrameRate(standard.kbps(rate));
            self.events.push(now, event);
        }
    }

    /// A packet for the station of host `to` enters the queue, or is dropped. True if the station
    /// was free and has taken it, or another packet, out again.
    pub(super) fn accept(
        &mut self,
        now: Instant,
        to: HostId,
        mut packet: PacketRef,
        discarded: &mut Vec<PacketRef>,
    ) -> bool {
        self.counters.link.packets_in += 1;
        self.counters.link.bytes_in += u64::from(packet.size);
        if packet.size > self.config.mtu {
            self.drop(now, packet, DropReason::TooLarge, discarded);
            return false;
        }
        self.next_hops.insert(packet.ip.destination, to);
        self.count_queue(now);
        self.events.push(now, StageEvent::Enter(packet.pooled()));
        packet.enter_queue(now);
        self.queue.enqueue(now, packet, &mut self.effects);
        self.record_drops_and_marks(now, discarded);
        self.record_queue(now);
        let taken = self.load_head(now, discarded);
        QueueMeter::entered(self.queue.backlog(), &mut self.counters.link);
        taken
    }

    /// True if the queue decides on TCP headers.
    pub(super) fn reads_acks(&self) -> bool {
        self.queue.reads_acks()
    }

    /// What the queue reads in the TCP header of the packet that enters next.
    pub(super) fn expect(&mut self, facts: Option<AckFacts>) {
        self.queue.expect(facts);
    }

    /// When the queue of a free station hands over its next packet, if one waits.
    pub(super) fn ready_at(&self) -> Option<Instant> {
        let waits = self.head.is_none() && self.queue.backlog().packets > 0;
        waits.then(|| self.queue.ready_at())
    }

    /// Dequeues the next packet, if the station is free; true if there is one.
    pub(super) fn load_head(&mut self, now: Instant, discarded: &mut Vec<PacketRef>) -> bool {
        if self.head.is_some() || self.queue.backlog().packets == 0 {
            return false;
        }
        self.count_queue(now);
        self.head = self.queue.dequeue(now, &mut self.effects);
        self.record_drops_and_marks(now, discarded);
        self.record_queue(now);
        if let Some(head) = &mut self.head {
            head.leave_queue(now);
            self.transmissions = 0;
            self.damaged_copy = None;
            self.rate.on_packet(now);
        }
        self.head.is_some()
    }

    /// A frame with the packet being sent was on the air in this time.
    pub(super) fn record_frame(&mut self, started: Instant, left: Instant, arrived: bool) {
        if let Some(head) = &self.head {
            let transmission = Transmission {
                started,
                left,
                arrives: arrived.then_some(left),
            };
            self.events
                .push(left, StageEvent::Carry(head.pooled(), transmission));
        }
    }

    /// The station to which the packet being sent is addressed.
    pub(super) fn receiver(&self) -> Option<HostId> {
        let packet = self.head.as_ref()?;
        self.next_hops.get(&packet.ip.destination).copied()
    }

    /// The packet has arrived and is handed to the receiving host.
    pub(super) fn deliver(&mut self) -> Option<(HostId, PacketRef)> {
        let to = self.receiver();
        let packet = self.head.take()?;
        self.counters.link.packets_delivered += 1;
        self.counters.link.bytes_delivered += u64::from(packet.size);
        Some((to?, packet))
    }

    /// The packet is dropped after its last retry; the receiver's damaged copy is delivered
    /// instead, if there is one.
    pub(super) fn give_up(
        &mut self,
        at: Instant,
        discarded: &mut Vec<PacketRef>,
    ) -> Option<(HostId, PacketRef)> {
        let Some(damaged_at) = self.damaged_copy else {
            if let Some(packet) = self.head.take() {
                self.drop(at, packet, DropReason::RetryLimit, discarded);
            }
            return None;
        };
        let (to, mut packet) = self.deliver()?;
        self.counters.link.packets_damaged += 1;
        let first = packet
            .damaged_at
            .map_or(damaged_at, |before| before.min(damaged_at));
        packet.damaged_at = Some(first);
        Some((to, packet))
    }

    /// This station's frame or its acknowledgement occupies the medium from `start` on.
    pub(super) fn on_airtime(&mut self, start: Instant, time: Duration) {
        self.counters.link.busy += time;
        self.on_air_until = start + time;
    }
}
