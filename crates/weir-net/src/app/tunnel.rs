//! One end of a tunnel: packets of other flows wait in a queue, travel inside an outer connection,
//! and come out at the other end.
//!
//! The end is the application of the outer connection. It hands over one packet after the other
//! for as long as the connection takes them, so that the rest waits in its queue, whose discipline
//! drops and marks. Over datagrams a packet that is lost with its datagram is lost; over a stream
//! all packets arrive in their order. The network keeps the packets themselves: only their length
//! and, in a datagram, a number travel in the connection.
//!
//! A datagram is known to be lost when no copy of it exists anywhere, which is noticed now and then
//! and whenever counters are read; the counters are therefore exact.
//!
//! A mark on an outer packet is copied to the ECN-capable packets that its datagrams carry
//! (RFC 6040 §4.2). Not modelled: marks across a stream, and the drop of packets that are not
//! ECN-capable (RFC 6040 figure 4), because the outer connection answers the mark itself.

use super::{App, AppReport, Delivery, Session};
use crate::ack_facts::AckFacts;
use crate::link::{LinkCounters, QueueMeter};
use crate::packet_pool::PacketRef;
use crate::queue::{DropsAndMarks, Queue, QueueConfig, QueueDisc};
use crate::stage_events::{StageEvent, StageEvents, Transmission};
use std::collections::VecDeque;
use weir_proto::endpoint::Endpoint;
use weir_proto::event::DropReason;
use weir_proto::packet::{Ecn, Payload};
use weir_proto::time::Instant;

/// The least number of packets on their way at which lost ones are searched for.
const FIRST_SEARCH: usize = 64;

/// The configuration of both ends of a tunnel.
#[derive(Clone, Debug)]
pub struct TunnelEndConfig {
    /// How the outer connection delivers.
    pub delivery: Delivery,
    /// The largest packet in octets, IP header included; larger ones are dropped.
    pub mtu: u32,
    /// Octets that the tunnel adds to each packet inside the outer connection.
    pub overhead: u32,
    /// The queue in front of the outer connection.
    pub queue: QueueConfig,
}

/// A packet that was handed to the outer connection and has not come out.
#[derive(Debug)]
struct Carried {
    /// The number of its datagram; over a stream the octets written up to its end.
    mark: u64,
    /// What was handed over; shared as long as the datagram exists somewhere.
    payload: Payload,
    since: Instant,
    packet: PacketRef,
}

/// What arrived at the other end of the outer connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The datagram with this number, and whether its packet was marked.
    Datagram { number: u64, marked: bool },
    /// The stream up to this octet.
    Stream { octets: u64 },
}

/// An end of a tunnel.
#[derive(Debug)]
pub struct TunnelEnd {
    config: TunnelEndConfig,
    session: Session,
    queue: Queue,
    effects: DropsAndMarks,
    /// Taken from the queue and refused by the connection, which had no room.
    head: Option<PacketRef>,
    carried: VecDeque<Carried>,
    /// The number of the next datagram, or the octets written into the stream.
    written: u64,
    /// The number of packets on their way at which lost ones are searched for.
    next_search: usize,
    /// What the outer connection delivered here and the network has not taken.
    arrivals: VecDeque<Arrival>,
    octets_read: u64,
    payloads: Vec<Payload>,
    /// The outer packet that arrived last was marked.
    outer_marked: bool,
    discarded: Vec<PacketRef>,
    counters: LinkCounters,
    meter: QueueMeter,
    events: StageEvents,
}

impl TunnelEnd {
    /// An end with an empty queue; its random stream has this name and derives from the seed.
    pub(crate) fn new(config: &TunnelEndConfig, seed: u64, stream: &str) -> Self {
        Self {
            config: config.clone(),
            session: Session::default(),
            queue: Queue::new(&config.queue, seed, stream),
            effects: DropsAndMarks::default(),
            head: None,
            carried: VecDeque::new(),
            written: 0,
            next_search: FIRST_SEARCH,
            arrivals: VecDeque::new(),
            octets_read: 0,
            payloads: Vec::new(),
            outer_marked: false,
            discarded: Vec::new(),
            counters: LinkCounters::default(),
            meter: QueueMeter::default(),
            events: StageEvents::default(),
        }
    }

    /// True if the queue decides on the TCP headers of packets.
    pub(crate) fn reads_acks(&self) -> bool {
        self.queue.reads_acks()
    }

    /// A packet enters the queue; `facts` is what the queue reads in its TCP header. True if the
    /// outer connection may take it at once.
    pub(crate) fn enter(
        &mut self,
        now: Instant,
        mut packet: PacketRef,
        facts: Option<AckFacts>,
    ) -> bool {
        self.counters.packets_in += 1;
        self.counters.bytes_in += u64::from(packet.size);
        if packet.size > self.config.mtu {
            self.drop(now, packet, DropReason::TooLarge);
            return false;
        }
        if self.queue.reads_acks() {
            self.queue.expect(facts);
        }
        self.count_queue(now);
        self.events.push(now, StageEvent::Enter(packet.pooled()));
        packet.enter_queue(now);
        self.queue.enqueue(now, packet, &mut self.effects);
        self.record_drops_and_marks(now);
        self.record_queue(now);
        QueueMeter::entered(self.queue.backlog(), &mut self.counters);
        self.session.writable
    }

    /// An outer packet with this codepoint arrives, before the connection handles it.
    pub(crate) fn on_outer_packet(&mut self, ecn: Ecn) {
        self.outer_marked = ecn == Ecn::Ce;
    }

    /// What came out here: the other end has the packets.
    pub(crate) fn poll_arrival(&mut self) -> Option<Arrival> {
        self.arrivals.pop_front()
    }

    /// The next packet that this end sent and that has arrived at the other end with this. Call
    /// until `None`.
    pub(crate) fn take_arrived(&mut self, now: Instant, arrival: Arrival) -> Option<PacketRef> {
        let index = match arrival {
            // A duplicate of a datagram carries nothing any more.
            Arrival::Datagram { number, .. } => {
                let found = self.carried.binary_search_by_key(&number, |one| one.mark);
                found.ok()?
            }
            Arrival::Stream { octets } => {
                let first = self.carried.front()?;
                (first.mark <= octets).then_some(0)?
            }
        };
        let Carried {
            since, mut packet, ..
        } = self.carried.remove(index)?;
        self.counters.packets_delivered += 1;
        self.counters.bytes_delivered += u64::from(packet.size);
        let transmission = Transmission {
            started: since,
            left: since,
            arrives: Some(now),
        };
        self.events
            .push(now, StageEvent::Carry(packet.pooled(), transmission));
        let is_marked = matches!(arrival, Arrival::Datagram { marked: true, .. });
        if is_marked && matches!(packet.ip.ecn, Ecn::Ect0 | Ecn::Ect1) {
            packet.ip.ecn = Ecn::Ce;
            self.counters.packets_marked += 1;
            self.events.push(now, StageEvent::Mark(packet.pooled()));
        }
        Some(packet)
    }

    /// The next packet that was dropped, which the network removes from the pool.
    pub(crate) fn poll_discarded(&mut self) -> Option<PacketRef> {
        self.discarded.pop()
    }

    /// The trace events of the queue.
    pub(crate) fn events(&mut self) -> &mut StageEvents {
        &mut self.events
    }

    /// The counters at `now`. Packets in flight are those in the outer connection.
    pub(crate) fn counters(&mut self, now: Instant) -> LinkCounters {
        self.count_queue(now);
        self.search_lost();
        let backlog = self.queue.backlog();
        let carried = self.carried.iter().map(|one| &one.packet);
        let inside = carried.chain(&self.head);
        let (packets, octets) = inside.fold((0, 0), |(packets, octets), packet| {
            (packets + 1, octets + u64::from(packet.size))
        });
        LinkCounters {
            at: now,
            packets_queued: backlog.packets,
            bytes_queued: backlog.bytes,
            packets_in_flight: packets,
            bytes_in_flight: octets,
            ..self.counters
        }
    }

    fn drop(&mut self, at: Instant, packet: PacketRef, reason: DropReason) {
        self.counters.count_drop(packet.size, reason);
        self.events
            .push(at, StageEvent::Drop(packet.pooled(), reason));
        self.discarded.push(packet);
    }

    fn count_queue(&mut self, now: Instant) {
        let backlog = self.queue.backlog();
        self.meter.advance(now, backlog, &mut self.counters);
    }

    fn record_queue(&mut self, at: Instant) {
        self.events
            .push(at, StageEvent::Queue(self.queue.backlog()));
    }

    fn record_drops_and_marks(&mut self, at: Instant) {
        if self.effects.is_empty() {
            return;
        }
        let mut effects = std::mem::take(&mut self.effects);
        for (packet, reason) in effects.dropped.drain(..) {
            self.drop(at, packet, reason);
        }
        for marked in effects.marked.drain(..) {
            self.counters.packets_marked += 1;
            self.events.push(at, StageEvent::Mark(marked));
        }
        self.effects = effects;
    }

    /// Takes the next packet out of the queue; false if none can leave it now.
    fn load_head(&mut self, now: Instant) -> bool {
        while self.head.is_none()
            && self.queue.backlog().packets > 0
            && self.queue.ready_at() <= now
        {
            self.count_queue(now);
            self.head = self.queue.dequeue(now, &mut self.effects);
            self.record_drops_and_marks(now);
            self.record_queue(now);
            if let Some(head) = &mut self.head {
                head.leave_queue(now);
            }
        }
        self.head.is_some()
    }

    /// Hands packets to the connection for as long as it takes them.
    fn send(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        while self.session.writable && self.load_head(now) {
            let Some(packet) = self.head.take() else {
                return;
            };
            let len = packet.size.saturating_add(self.config.overhead);
            let (payload, mark, written) = match self.config.delivery {
                Delivery::Datagrams => {
                    let number = self.written;
                    (Payload::labelled(len, number), number, number + 1)
                }
                Delivery::Stream => {
                    let end = self.written + u64::from(len);
                    (Payload::of_len(len), end, end)
                }
            };
            let session = &mut self.session;
            if !session.write_payload(now, endpoint, payload.clone()) {
                self.head = Some(packet);
                return;
            }
            self.written = written;
            self.carried.push_back(Carried {
                mark,
                payload,
                since: now,
                packet,
            });
            if self.carried.len() >= self.next_search {
                self.search_lost();
                self.next_search = (2 * self.carried.len()).max(FIRST_SEARCH);
            }
        }
    }

    /// Drops the packets whose datagrams no longer exist.
    fn search_lost(&mut self) {
        if self.config.delivery == Delivery::Stream {
            return;
        }
        let mut at = 0;
        while let Some(one) = self.carried.get(at) {
            if one.payload.is_shared() {
                at += 1;
            } else if let Some(lost) = self.carried.remove(at) {
                self.counters.count_outer_loss(lost.packet.size);
                self.discarded.push(lost.packet);
            }
        }
    }

    fn on_read(&mut self, payload: &Payload) {
        let arrival = match self.config.delivery {
            Delivery::Datagrams => payload.label().map(|number| Arrival::Datagram {
                number,
                marked: self.outer_marked,
            }),
            Delivery::Stream => {
                self.octets_read += u64::from(payload.len());
                let octets = self.octets_read;
                Some(Arrival::Stream { octets })
            }
        };
        self.arrivals.extend(arrival);
    }
}

impl App for TunnelEnd {
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        let mut payloads = std::mem::take(&mut self.payloads);
        self.session.drain_into(now, endpoint, &mut payloads);
        for payload in payloads.drain(..) {
            self.on_read(&payload);
        }
        self.payloads = payloads;
        self.send(now, endpoint);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let waits = self.session.writable && self.queue.backlog().packets > 0;
        waits.then(|| self.queue.ready_at())
    }

    fn done(&self) -> bool {
        self.session.ended()
    }

    fn report(&self, _now: Instant) -> AppReport<'_> {
        self.session.statistics.into()
    }

    fn tunnel(&mut self) -> Option<&mut TunnelEnd> {
        Some(self)
    }
}
