//! An endpoint without a protocol, which records its calls, and a recording probe.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use weir_net::{App, FlowConfig, LossConfig, Side};
use weir_net::{DropTailConfig, LinkConfig, QueueConfig, QueueLimit};
use weir_proto::endpoint::{CloseReason, Endpoint, EndpointEvent, Statistics, WriteError};
use weir_proto::event::{Event, EventMask, EventSource, Events, PacketContent, PacketType, Probe};
use weir_proto::packet::{Body, Dscp, HostId, Packet, Payload, TraceNumber};
use weir_proto::time::{Duration, Instant};

/// A recorded call of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointAction {
    HandedOver { at: u64, id: u64 },
    Transmitted { at: u64, id: u64 },
    Received { at: u64, id: u64, size: u32 },
    Timer { at: u64 },
}

/// A log that the test can read while the endpoint is inside the network.
pub type Log = Arc<Mutex<Vec<EndpointAction>>>;

/// Datagrams without handshake, acknowledgements or congestion control.
#[derive(Default)]
pub struct PlainEndpoint {
    pub log: Log,
    /// Datagrams that may wait between two calls; zero for no limit.
    pub capacity: usize,
    /// Answers each packet with one of this size.
    pub answer: Option<u32>,
    /// The most packets sent after each received packet or timeout.
    pub burst: Option<usize>,
    /// Times at which it must be called.
    pub timers: VecDeque<Instant>,
    /// A faulty endpoint whose timer never advances.
    pub never_satisfied: bool,
    /// Its internal state.
    pub state: PlainState,
}

/// The state of a [`PlainEndpoint`].
#[derive(Default)]
pub struct PlainState {
    outgoing: VecDeque<u32>,
    credit: usize,
    next_id: u64,
    inbox: VecDeque<Payload>,
    news: VecDeque<EndpointEvent>,
    blocked: bool,
    closed: bool,
    events: Events,
    statistics: Statistics,
}

impl PlainEndpoint {
    pub fn new() -> (Self, Log) {
        let plain = Self::default();
        let log = plain.log.clone();
        (plain, log)
    }

    fn note(&self, happened: EndpointAction) {
        self.log.lock().expect("one thread").push(happened);
    }

    fn refill(&mut self) {
        self.state.credit = self.burst.unwrap_or(usize::MAX);
    }
}

impl Endpoint for PlainEndpoint {
    fn handle(&mut self, now: Instant, packet: &mut Packet) {
        self.note(EndpointAction::Received {
            at: now.as_nanos(),
            id: packet.id,
            size: packet.size,
        });
        self.state
            .events
            .push(now, EventMask::PACKET, || Event::Received {
                number: packet.id,
                size: packet.size,
                content: PacketContent::Data,
                packet_type: PacketType::None,
            });
        self.state.statistics.packets_received += 1;
        self.refill();
        if let Body::Other(payload) = &mut packet.body {
            self.state.inbox.push_back(std::mem::take(payload));
            self.state.news.push_back(EndpointEvent::Readable);
        }
        self.state.outgoing.extend(self.answer);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.timers.front().is_some_and(|&at| at <= now) && !self.never_satisfied {
            self.timers.pop_front();
            self.note(EndpointAction::Timer { at: now.as_nanos() });
            self.refill();
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if self.state.credit == 0 {
            return None;
        }
        let len = self.state.outgoing.pop_front()?;
        self.state.credit -= 1;
        if std::mem::take(&mut self.state.blocked) {
            self.state.news.push_back(EndpointEvent::Writable);
        }
        let id = self.state.next_id;
        self.state.next_id += 1;
        self.state.statistics.packets_sent += 1;
        self.note(EndpointAction::HandedOver {
            at: now.as_nanos(),
            id,
        });
        self.state
            .events
            .push(now, EventMask::PACKET, || Event::Sent {
                number: id,
                size: len,
                content: PacketContent::Data,
                packet_type: PacketType::None,
            });
        Some(Packet {
            id,
            number: Some(TraceNumber::new(id)),
            ..Packet::new(len, Body::Other(Payload::of_len(len)))
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timers.front().copied()
    }

    fn events(&mut self) -> Option<&mut Events> {
        Some(&mut self.state.events)
    }

    fn connect(&mut self, _now: Instant) {
        self.refill();
        self.state.news.push_back(EndpointEvent::Connected);
    }

    fn close(&mut self, _now: Instant) {
        self.state.closed = true;
        self.state
            .news
            .push_back(EndpointEvent::Closed(CloseReason::Finished));
    }

    fn write(&mut self, _now: Instant, data: Payload) -> Result<(), WriteError> {
        if self.state.closed {
            return Err(WriteError::Closed);
        }
        if data.len() > 60_000 {
            return Err(WriteError::TooLarge(60_000));
        }
        if self.capacity > 0 && self.state.outgoing.len() >= self.capacity {
            self.state.blocked = true;
            return Err(WriteError::Blocked);
        }
        self.state.outgoing.push_back(data.len());
        Ok(())
    }

    fn read(&mut self, _now: Instant) -> Option<Payload> {
        self.state.inbox.pop_front()
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.state.news.pop_front()
    }

    fn transmitted(&mut self, now: Instant, id: u64) {
        self.note(EndpointAction::Transmitted {
            at: now.as_nanos(),
            id,
        });
    }

    fn statistics(&self) -> Statistics {
        self.state.statistics
    }
}

/// Records all events.
#[derive(Default, Debug, PartialEq)]
pub struct Recorder(pub Vec<(Instant, EventSource, Event)>);

impl Probe for Recorder {
    fn record(&mut self, at: Instant, source: EventSource, event: &Event) {
        self.0.push((at, source, *event));
    }
}

/// A flow between two plain endpoints.
pub fn plain_flow(
    name: &str,
    hosts: (HostId, HostId),
    ends: [PlainEndpoint; 2],
    app: Box<dyn App + Send>,
) -> FlowConfig {
    let ends = ends.map(|end| Box::new(end) as Box<dyn Endpoint + Send>);
    flow(name, hosts, ends, app)
}

/// A flow from the first host to the second whose sender connects at time zero.
pub fn flow(
    name: &str,
    (source, target): (HostId, HostId),
    [sender, receiver]: [Box<dyn Endpoint + Send>; 2],
    app: Box<dyn App + Send>,
) -> FlowConfig {
    FlowConfig {
        name: name.to_owned(),
        source,
        target,
        sender,
        receiver,
        app,
        sink: Box::new(weir_net::app::Sink::new()),
        loss: LossConfig::None,
        connects: Side::Sender,
        start: Instant::ZERO,
        access_delay: Duration::ZERO,
        dscp: Dscp::default(),
        stop: None,
    }
}

/// One direction of a wire with room for 1000 packets and no loss.
pub fn wire(
    name: &str,
    from: HostId,
    to: HostId,
    rate: Option<u64>,
    delay: Duration,
) -> LinkConfig {
    LinkConfig {
        name: name.to_owned(),
        from,
        to,
        rate,
        delay,
        mtu: None,
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: QueueLimit::Packets(1000),
        }),
        shaper: None,
        loss: LossConfig::None,
        ..LinkConfig::default()
    }
}

pub const fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub const fn micros(n: u64) -> Duration {
    Duration::from_micros(n)
}

pub const fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}
