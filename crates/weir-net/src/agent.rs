//! An agent: an endpoint, the application that uses it, and the host between them and the wire.
//!
//! The host delays packets on their way down (`transmit_delay`, then its
//! [`interface`](crate::interface)) and up (the interface, then `receive_delay`), reports to the
//! endpoint that its packet has left, fires its timers at ticks, and drops the packets that the
//! flow's loss model selects. For its endpoint a packet lost at the socket counts as sent.

use crate::app::{App, AppReport, RequestRecord, VideoFrame, VideoTiming};
use crate::delay_meter::{DelayMeter, DelayStatistics, IntervalDelays};
use crate::host_timing::{HostTiming, SendTimestamp};
use crate::interface::Interface;
use crate::loss::Loss;
use std::collections::VecDeque;
use weir_proto::endpoint::{Endpoint, Statistics};
use weir_proto::event::{DropReason, Event, EventMask, Events};
use weir_proto::packet::{FlowId, HostId, IpHeader, Packet};
use weir_proto::time::{Duration, Instant};

/// Packets that one endpoint of a flow sent into the network and received from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentCounters {
    /// Packets that the endpoint handed over.
    pub packets_sent: u64,
    /// Octets of these, from the IP header on.
    pub bytes_sent: u64,
    /// Of `packets_sent`, those that the loss model dropped before the wire.
    pub packets_lost_at_socket: u64,
    /// Packets from the network that the endpoint handled.
    pub packets_delivered: u64,
    /// Octets of these, from the IP header on.
    pub bytes_delivered: u64,
    /// Packets delayed in the host and its access link on their way down.
    pub packets_in_transmit: u64,
    /// Packets delayed in the access link and the host on their way up.
    pub packets_in_receive: u64,
}

impl AgentCounters {
    /// The counters of two agents together.
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            packets_sent: self.packets_sent + other.packets_sent,
            bytes_sent: self.bytes_sent + other.bytes_sent,
            packets_lost_at_socket: self.packets_lost_at_socket + other.packets_lost_at_socket,
            packets_delivered: self.packets_delivered + other.packets_delivered,
            bytes_delivered: self.bytes_delivered + other.bytes_delivered,
            packets_in_transmit: self.packets_in_transmit + other.packets_in_transmit,
            packets_in_receive: self.packets_in_receive + other.packets_in_receive,
        }
    }
}

/// The addresses that an agent writes into the headers of its packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) flow: FlowId,
    pub(crate) host: HostId,
    pub(crate) peer: HostId,
}

/// When one end of a flow starts and stops.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Schedule {
    /// When the application starts; `None` once it has.
    pub(crate) start: Option<Instant>,
    /// When the endpoint is closed; `None` if it ends by itself, or once it has been.
    pub(crate) stop: Option<Instant>,
    /// This side opens the connection.
    pub(crate) connects: bool,
}

pub(crate) struct Agent {
    endpoint: Box<dyn Endpoint + Send>,
    app: Box<dyn App + Send>,
    address: Address,
    schedule: Schedule,
    timing: HostTiming,
    interface: Option<Box<Interface>>,
    loss: Loss,
    down: VecDeque<(Instant, Packet)>,
    up: VecDeque<(Instant, Packet)>,
    /// The endpoint has sent a packet since the application was last polled, so its send queue may
    /// have room again.
    has_sent: bool,
    counters: AgentCounters,
    /// `None` unless delays are measured here.
    delays: Option<Box<DelayMeter>>,
    /// Drops at the socket, which the endpoint does not know of.
    events: Events,
}

/// The endpoint of an agent and its application.
pub(crate) struct Parts {
    pub(crate) endpoint: Box<dyn Endpoint + Send>,
    pub(crate) app: Box<dyn App + Send>,
}

/// What is between the endpoint of an agent and the network.
pub(crate) struct HostSide {
    pub(crate) timing: HostTiming,
    /// `None` if packets take no time there.
    pub(crate) interface: Option<Box<Interface>>,
    pub(crate) loss: Loss,
}

impl Agent {
    pub(crate) fn new(parts: Parts, address: Address, schedule: Schedule, host: HostSide) -> Self {
        Self {
            endpoint: parts.endpoint,
            app: parts.app,
            address,
            schedule,
            timing: host.timing,
            interface: host.interface,
            loss: host.loss,
            down: VecDeque::new(),
            up: VecDeque::new(),
            has_sent: false,
            counters: AgentCounters::default(),
            delays: None,
            events: Events::default(),
        }
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.endpoint.statistics()
    }

    pub(crate) fn app_report(&self, now: Instant) -> AppReport {
        self.app.report(now)
    }

    pub(crate) fn frames(&self) -> &[VideoFrame] {
        self.app.frames()
    }

    pub(crate) fn requests(&self) -> &[RequestRecord] {
        self.app.requests()
    }

    pub(crate) fn video_timing(&self) -> Option<VideoTiming> {
        self.app.video_timing()
    }

    pub(crate) fn app_done(&self) -> bool {
        self.app.done()
    }

    pub(crate) fn counters(&self) -> AgentCounters {
        let interface = self.interface.as_ref();
        let [outbound, inbound] = interface.map_or([0, 0], |interface| interface.backlog());
        AgentCounters {
            packets_in_transmit: self.down.len() as u64 + outbound,
            packets_in_receive: self.up.len() as u64 + inbound,
            ..self.counters
        }
    }

    /// The least time that a packet down and one up take in the host and its access link.
    pub(crate) fn round_trip_delay(&self) -> Duration {
        let interface = self.interface.as_ref();
        let each = interface.map_or(Duration::ZERO, |interface| interface.least_delay());
        self.timing.transmit_delay + self.timing.receive_delay + each + each
    }

    /// Begins to measure the delays of the packets that arrive, or begins again.
    pub(crate) fn measure_delays(&mut self) {
        self.delays.get_or_insert_default().restart();
    }

    /// `None` unless delays are measured here.
    pub(crate) fn delays(&self) -> Option<&DelayStatistics> {
        self.delays.as_ref().map(|meter| meter.statistics())
    }

    /// The delays since the last call.
    pub(crate) fn take_interval_delays(&mut self) -> IntervalDelays {
        let meter = self.delays.as_mut();
        meter.map_or_else(IntervalDelays::default, |meter| meter.take_interval())
    }

    pub(crate) fn set_mask(&mut self, mask: EventMask) {
        self.events.set_mask(mask);
        if let Some(events) = self.endpoint.events() {
            events.set_mask(mask);
        }
    }

    /// Events of the host; the endpoint has a queue of its own.
    pub(crate) fn host_events(&mut self) -> &mut Events {
        &mut self.events
    }

    pub(crate) fn flow(&self) -> FlowId {
        self.address.flow
    }

    pub(crate) fn host(&self) -> HostId {
        self.address.host
    }

    pub(crate) fn peer(&self) -> HostId {
        self.address.peer
    }

    /// The endpoint handles the packet, then the application is polled.
    #[inline]
    fn receive(&mut self, now: Instant, packet: Packet) {
        self.counters.packets_delivered += 1;
        self.counters.bytes_delivered += u64::from(packet.size);
        if let Some(delays) = &mut self.delays {
            delays.on_packet(now, &packet);
        }
        self.endpoint.handle(now, packet);
        self.notify_app(now);
    }

    /// Polls the application if the endpoint has an event for it or its own time has come; true if
    /// it was polled.
    #[inline]
    fn notify_app(&mut self, now: Instant) -> bool {
        let due = || self.app.poll_timeout().is_some_and(|at| at <= now);
        let has_news = self.endpoint.has_event() || due();
        if has_news {
            self.app.poll(now, &mut *self.endpoint);
        }
        has_news
    }

    /// Starts and stops the flow at its times.
    fn follow_schedule(&mut self, now: Instant) {
        if self.schedule.start.is_some_and(|at| at <= now) {
            self.schedule.start = None;
            if self.schedule.connects {
                self.endpoint.connect(now);
            }
        }
        if self.schedule.start.is_none() && self.schedule.stop.is_some_and(|at| at <= now) {
            self.schedule.stop = None;
            self.endpoint.close(now);
        }
    }

    /// Polls the endpoint for its next packet and writes it, with its addresses, into `slot`; true
    /// if there is one.
    #[inline(always)]
    fn poll_endpoint(&mut self, now: Instant, slot: &mut Option<Packet>) -> bool {
        let mut polled = self.endpoint.poll_transmit(now);
        if polled.is_none() && std::mem::take(&mut self.has_sent) && self.notify_app(now) {
            polled = self.endpoint.poll_transmit(now);
        }
        let Some(polled) = polled else { return false };
        let packet = slot.insert(polled);
        packet.flow = self.address.flow;
        packet.transit.sent_at = Some(now);
        packet.ip.source = self.address.host;
        packet.ip.destination = self.address.peer;
        if packet.ip.ttl == 0 {
            packet.ip.ttl = IpHeader::DEFAULT_TTL;
        }
        self.has_sent = true;
        self.counters.packets_sent += 1;
        self.counters.bytes_sent += u64::from(packet.size);
        true
    }

    /// True if the loss model drops the packet before the wire.
    #[inline]
    fn loses(&mut self, now: Instant, packet: &Packet) -> bool {
        let lost = self.loss.drops_next();
        if lost {
            self.counters.packets_lost_at_socket += 1;
            self.events.push(now, EventMask::DROP, || Event::Drop {
                flow: packet.flow,
                number: packet.number,
                size: packet.size,
                reason: DropReason::LossModel,
            });
        }
        lost
    }

    /// Moves packets from the endpoint into the transmit delay.
    #[inline(never)]
    fn send_down(&mut self, now: Instant) {
        let mut slot = None;
        while self.poll_endpoint(now, &mut slot) {
            let leaves = now + self.timing.transmit_delay;
            if let Some(packet) = slot.take() {
                if self.timing.stamp == SendTimestamp::Handover {
                    self.endpoint.transmitted(now, packet.id);
                }
                self.down.push_back((leaves, packet));
            }
        }
    }

    /// The next packet whose transmit delay is over.
    fn poll_delayed(&mut self, now: Instant) -> Option<Packet> {
        loop {
            self.send_down(now);
            if self.down.front()?.0 > now {
                return None;
            }
            let (_, packet) = self.down.pop_front()?;
            if self.timing.stamp == SendTimestamp::Transmitted {
                self.endpoint.transmitted(now, packet.id);
            }
            if !self.loses(now, &packet) {
                return Some(packet);
            }
        }
    }

    /// Puts the next packet for the wire into `slot`; true if there is one.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant, slot: &mut Option<Packet>) -> bool {
        if self.interface.is_none() {
            return self.poll_stack(now, slot);
        }
        while self.poll_stack(now, slot) {
            if let (Some(interface), Some(packet)) = (&mut self.interface, slot.take()) {
                interface.send(now, packet);
            }
        }
        let interface = self.interface.as_mut();
        *slot = interface.and_then(|interface| interface.poll_sent(now));
        slot.is_some()
    }

    /// Puts the next packet that leaves the stack into `slot`; true if there is one.
    #[inline]
    fn poll_stack(&mut self, now: Instant, slot: &mut Option<Packet>) -> bool {
        if !self.timing.transmit_delay.is_zero() {
            *slot = self.poll_delayed(now);
            return slot.is_some();
        }
        while self.poll_endpoint(now, slot) {
            if let Some(packet) = slot {
                self.endpoint.transmitted(now, packet.id);
                if !self.loses(now, packet) {
                    return true;
                }
            }
        }
        false
    }

    /// The packet in `slot` arrives at the host.
    #[inline]
    pub(crate) fn handle(&mut self, now: Instant, slot: &mut Option<Packet>) {
        // Each move of a packet costs as much as a link's work on it.
        let Some(packet) = slot.take() else { return };
        match &mut self.interface {
            Some(interface) => interface.receive(now, packet),
            None => self.enter_stack(now, packet),
        }
    }

    /// A packet arrives at the stack.
    #[inline]
    fn enter_stack(&mut self, now: Instant, packet: Packet) {
        if self.timing.receive_delay.is_zero() {
            self.receive(now, packet);
        } else {
            self.up.push_back((now + self.timing.receive_delay, packet));
        }
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let scheduled = self.schedule.start.or(self.schedule.stop);
        let scheduled = scheduled.is_some_and(|at| at <= now);
        if scheduled {
            self.follow_schedule(now);
        }
        while let Some(packet) = (self.interface.as_mut()).and_then(|i| i.poll_received(now)) {
            self.enter_stack(now, packet);
        }
        while self.up.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, packet)) = self.up.pop_front() {
                self.receive(now, packet);
            }
        }
        if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
        }
        if scheduled {
            self.app.poll(now, &mut *self.endpoint);
        } else {
            self.notify_app(now);
        }
    }

    /// When the agent must be called.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let timer = self.endpoint.poll_timeout();
        let endpoint = timer.map_or(Instant::FAR_FUTURE, |at| self.timing.tick_at(at));
        let due = endpoint.min(self.poll_host_timeout());
        (due < Instant::FAR_FUTURE).then_some(due)
    }

    /// True if nothing can happen at this end until a packet arrives.
    pub(crate) fn is_quiet(&self) -> bool {
        let waits = self.endpoint.is_lingering() || self.endpoint.poll_timeout().is_none();
        waits && self.poll_host_timeout() == Instant::FAR_FUTURE
    }

    /// When the application, the schedule or the host's stack must be called.
    fn poll_host_timeout(&self) -> Instant {
        let mut due = Instant::FAR_FUTURE;
        let mut count = |at: Option<Instant>| due = due.min(at.unwrap_or(Instant::FAR_FUTURE));
        count(self.app.poll_timeout());
        count(self.schedule.start.or(self.schedule.stop));
        count(self.up.front().map(|(at, _)| *at));
        count(self.down.front().map(|(at, _)| *at));
        if let Some(interface) = &self.interface {
            count(interface.poll_timeout());
        }
        due
    }

    /// The trace events of the endpoint.
    pub(crate) fn endpoint_events(&mut self) -> Option<&mut Events> {
        self.endpoint.events()
    }
}
