//! An agent: an endpoint, the application that uses it, and the host between them and the wire.
//!
//! The host delays packets on their way down (`transmit_delay`, then its
//! [`interface`](crate::interface)) and up (the interface, then `receive_delay`), reports to the
//! endpoint that its packet has left, fires its timers at ticks, and drops the packets that the
//! flow's loss model selects. For its endpoint a packet lost at the socket counts as sent.

use crate::app::{App, TunnelEnd};
use crate::delay_meter::{DelayMeter, DelayStatistics, IntervalDelays};
use crate::handover::{Handover, Handovers};
use crate::host_timing::{HostTiming, SendTimestamp};
use crate::interface::Interface;
use crate::loss::Loss;
use std::collections::VecDeque;
use weir_proto::endpoint::{CountedFrom, Endpoint, Statistics};
use weir_proto::event::{DropReason, Event, EventMask, Events};
use weir_proto::packet::{Dscp, FlowId, HostId, IpHeader, Packet, TraceNumber};
use weir_proto::time::{Duration, Instant, earliest};

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
    pub(crate) dscp: Dscp,
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

impl Schedule {
    fn next(&self) -> Instant {
        self.start.or(self.stop).unwrap_or(Instant::FAR_FUTURE)
    }
}

/// An agent. `repr(C)` keeps the fields in this order, so that those read for each packet share
/// cache lines.
#[repr(C)]
pub(crate) struct Agent {
    endpoint: Box<dyn Endpoint + Send>,
    app: Box<dyn App + Send>,
    /// When the application asked to be polled next.
    app_due: Instant,
    /// When the schedule must be followed next.
    scheduled: Instant,
    /// `None` if packets take no time in the host.
    path: Option<Box<HostPath>>,
    /// `None` if the socket loses nothing.
    loss: Option<Box<Loss>>,
    /// `None` unless delays are measured here.
    delays: Option<Box<DelayMeter>>,
    address: Address,
    /// The endpoint has sent a packet since the application was last polled, so its send queue may
    /// have room again.
    has_sent: bool,
    counters: AgentCounters,
    timing: HostTiming,
    schedule: Schedule,
    /// `None` if neither end changes its address.
    handovers: Option<Box<Handovers>>,
    /// Drops at the socket, which the endpoint does not report.
    events: Events,
}

/// The limits of a call that polls an agent for outgoing packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// The current time.
    pub(crate) now: Instant,
    /// The most packets that the endpoint may have handed over in all. [`Agent::poll_transmit`]
    /// does not return packets that the host delays or the socket loses, so its caller cannot bound
    /// an endless sender by counting what is returned.
    pub(crate) most_sent: u64,
}

/// Measures the packets that the endpoint had held back and accepts now; returns their number.
#[inline]
fn meter_held(now: Instant, endpoint: &mut dyn Endpoint, delays: &mut DelayMeter) -> u64 {
    let mut packets = 0;
    while let Some(packet) = endpoint.poll_accepted() {
        delays.on_packet(now, packet);
        packets += 1;
    }
    packets
}

/// The delays of the host between the endpoint and the network, and the packets in them.
struct HostPath {
    interface: Option<Box<Interface>>,
    down: VecDeque<(Instant, Packet)>,
    up: VecDeque<(Instant, Packet)>,
}

impl HostPath {
    /// When the next packet leaves.
    fn poll_timeout(&self) -> Instant {
        let interface = self.interface.as_ref().and_then(|i| i.poll_timeout());
        let first = |packets: &VecDeque<(Instant, Packet)>| packets.front().map(|(at, _)| *at);
        let due = earliest(&[first(&self.up), first(&self.down), interface]);
        due.unwrap_or(Instant::FAR_FUTURE)
    }
}

/// The endpoint of an agent and its application.
pub(crate) struct Parts {
    pub(crate) endpoint: Box<dyn Endpoint + Send>,
    pub(crate) app: Box<dyn App + Send>,
}

/// The host between the endpoint of an agent and the network.
pub(crate) struct HostSide {
    pub(crate) timing: HostTiming,
    /// `None` if packets are not delayed there.
    pub(crate) interface: Option<Box<Interface>>,
    /// `None` if no packets are lost.
    pub(crate) loss: Option<Box<Loss>>,
}

impl Agent {
    pub(crate) fn new(parts: Parts, address: Address, schedule: Schedule, host: HostSide) -> Self {
        let timing = host.timing;
        let is_direct = host.interface.is_none()
            && timing.transmit_delay.is_zero()
            && timing.receive_delay.is_zero();
        let path = HostPath {
            interface: host.interface,
            down: VecDeque::new(),
            up: VecDeque::new(),
        };
        Self {
            app_due: parts.app.poll_timeout().unwrap_or(Instant::FAR_FUTURE),
            endpoint: parts.endpoint,
            app: parts.app,
            scheduled: schedule.next(),
            path: (!is_direct).then(|| Box::new(path)),
            loss: host.loss,
            delays: None,
            address,
            has_sent: false,
            timing,
            counters: AgentCounters::default(),
            schedule,
            handovers: None,
            events: Events::default(),
        }
    }

    /// Either end of the flow changes its address; this one as `own` says.
    pub(crate) fn add_handover(&mut self, own: Option<Handover>) {
        let handovers = self.handovers.get_or_insert_default();
        handovers.ahead.extend(own);
        handovers.ahead.make_contiguous().sort_by_key(|of| of.at);
        self.scheduled = self.next_scheduled();
    }

    fn next_scheduled(&self) -> Instant {
        let handovers = self.handovers.as_deref();
        let handover = handovers.and_then(|of| of.ahead.front());
        let next = self.schedule.next();
        handover.map_or(next, |of| next.min(of.at))
    }

    /// True once after a change of the own address or the peer's.
    pub(crate) fn take_moved(&mut self) -> bool {
        let handovers = self.handovers.as_deref_mut();
        handovers.is_some_and(|of| std::mem::take(&mut of.moved))
    }

    #[cold]
    fn hand_over(&mut self, now: Instant) {
        let Some(handovers) = &mut self.handovers else {
            return;
        };
        while let Some(handover) = handovers.ahead.pop_front_if(|of| of.at <= now) {
            if let Some(host) = handover.to {
                self.address.host = host;
                handovers.moved = true;
                self.endpoint.change_address(now);
            } else {
                handovers.rebindings = handovers.rebindings.wrapping_add(1);
            }
        }
    }

    /// Sends to the peer's address as the endpoint knows it.
    #[cold]
    fn follow_peer(&mut self) {
        if let (Some(peer), Some(handovers)) = (self.endpoint.peer_host(), &mut self.handovers) {
            handovers.moved |= peer != self.address.peer;
            self.address.peer = peer;
        }
    }

    pub(crate) fn statistics(&self) -> Statistics {
        self.endpoint.statistics()
    }

    pub(crate) fn count_loss_events_from(&mut self, from: CountedFrom) {
        self.endpoint.count_loss_events_from(from);
    }

    pub(crate) fn app(&self) -> &dyn App {
        &*self.app
    }

    /// The end of a tunnel that its application is, if it is one.
    pub(crate) fn tunnel(&mut self) -> Option<&mut TunnelEnd> {
        self.app.tunnel()
    }

    /// The application has something to do now.
    pub(crate) fn wake_app(&mut self, now: Instant) {
        self.app_due = self.app_due.min(now);
    }

    /// Packets that the endpoint has handed over to the host.
    #[inline]
    pub(crate) const fn packets_sent(&self) -> u64 {
        self.counters.packets_sent
    }

    pub(crate) fn counters(&self) -> AgentCounters {
        let Some(path) = &self.path else {
            return self.counters;
        };
        let interface = path.interface.as_ref();
        let [outbound, inbound] = interface.map_or([0, 0], |interface| interface.backlog());
        AgentCounters {
            packets_in_transmit: path.down.len() as u64 + outbound,
            packets_in_receive: path.up.len() as u64 + inbound,
            ..self.counters
        }
    }

    /// The least time that one packet sent and one received take in the host and its access link.
    pub(crate) fn round_trip_delay(&self) -> Duration {
        let interface = self.path.as_ref().and_then(|path| path.interface.as_ref());
        let each = interface.map_or(Duration::ZERO, |interface| interface.least_delay());
        self.timing.transmit_delay + self.timing.receive_delay + each + each
    }

    /// Starts or restarts the measurement of the delays of arriving packets.
    pub(crate) fn measure_delays(&mut self) {
        while self.endpoint.poll_accepted().is_some() {}
        self.delays.get_or_insert_default().restart();
    }

    /// Ends the measurement of delays; `None` if it was not running.
    pub(crate) fn take_delays(&mut self) -> Option<DelayStatistics> {
        Some(self.delays.take()?.into_statistics())
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

    /// Events of the host; the endpoint has a separate queue.
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
    #[inline(always)]
    fn receive(&mut self, now: Instant, packet: &mut Packet) {
        self.counters.packets_delivered += 1;
        self.counters.bytes_delivered += u64::from(packet.size);
        if let Some(end) = self.app.tunnel() {
            end.on_outer_packet(packet.ip.ecn);
        }
        if let Some(delays) = &mut self.delays {
            // Only packets that the transport accepts count: not damaged ones, duplicates that it
            // rejects, or packets of a closed connection.
            let before = self.endpoint.packets_received();
            self.endpoint.handle(now, packet);
            let accepted = self.endpoint.packets_received() - before;
            // Packets that were held back are accepted, and measured, before this one.
            if accepted > meter_held(now, &mut *self.endpoint, delays) {
                delays.on_packet(now, (&*packet).into());
            }
        } else {
            self.endpoint.handle(now, packet);
        }
        if self.handovers.is_some() {
            self.follow_peer();
        }
        self.notify_app(now);
    }

    /// Polls the application if the endpoint has an event for it or its own time has come; true if
    /// it was polled.
    #[inline]
    fn notify_app(&mut self, now: Instant) -> bool {
        let has_news = self.endpoint.has_event() || self.app_due <= now;
        if has_news {
            self.poll_app(now);
        }
        has_news
    }

    fn poll_app(&mut self, now: Instant) {
        self.app.poll(now, &mut *self.endpoint);
        self.app_due = self.app.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
    }

    /// Starts and stops the flow according to the schedule.
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
        self.hand_over(now);
        self.scheduled = self.next_scheduled();
    }

    /// Moves the endpoint's next packet into the free `slot`; true if there is one.
    #[inline(always)]
    fn fill(&mut self, now: Instant, slot: &mut Option<Packet>) -> bool {
        let polled = self.endpoint.poll_transmit(now);
        let is_some = polled.is_some();
        if is_some {
            // Assigning the whole `Option` moves the packet once instead of twice.
            *slot = polled;
        }
        is_some
    }

    /// Polls the endpoint for its next packet and writes it, with its addresses, into `slot`; true
    /// if there is one.
    #[inline(always)]
    fn poll_endpoint(&mut self, turn: Turn, slot: &mut Option<Packet>) -> bool {
        let now = turn.now;
        if self.counters.packets_sent >= turn.most_sent {
            return false;
        }
        if !self.fill(now, slot) {
            let may_go_on = std::mem::take(&mut self.has_sent) && self.notify_app(now);
            if !may_go_on || !self.fill(now, slot) {
                return false;
            }
        }
        let Some(packet) = slot else { return false };
        packet.flow = self.address.flow;
        packet.transit.sent_at = now;
        packet.ip.source = self.address.host;
        packet.ip.destination = self.address.peer;
        packet.ip.dscp = self.address.dscp;
        if let Some(handovers) = &self.handovers {
            packet.ip.rebindings = handovers.rebindings;
        }
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
        let lost = self.loss.as_mut().is_some_and(|loss| loss.drops_next(now));
        if lost {
            self.counters.packets_lost_at_socket += 1;
            self.events.push(now, EventMask::DROP, || Event::Drop {
                flow: packet.flow,
                number: packet.number.map(TraceNumber::get),
                size: packet.size,
                reason: DropReason::LossModel,
            });
        }
        lost
    }

    /// Moves packets from the endpoint into the transmit delay.
    #[inline(never)]
    fn send_down(&mut self, turn: Turn) {
        let now = turn.now;
        let mut slot = None;
        while self.poll_endpoint(turn, &mut slot) {
            let leaves = now + self.timing.transmit_delay;
            if let (Some(packet), Some(path)) = (slot.take(), &mut self.path) {
                if self.timing.stamp == SendTimestamp::Handover {
                    self.endpoint.transmitted(now, packet.id);
                }
                path.down.push_back((leaves, packet));
            }
        }
    }

    /// The next packet whose transmit delay is over.
    fn poll_delayed(&mut self, turn: Turn) -> Option<Packet> {
        let now = turn.now;
        loop {
            self.send_down(turn);
            let down = &mut self.path.as_mut()?.down;
            if down.front()?.0 > now {
                return None;
            }
            let (_, packet) = down.pop_front()?;
            if self.timing.stamp == SendTimestamp::Transmitted {
                self.endpoint.transmitted(now, packet.id);
            }
            if !self.loses(now, &packet) {
                return Some(packet);
            }
        }
    }

    /// Puts the next packet for the wire into `slot`; true if there is one.
    #[inline(always)]
    pub(crate) fn poll_transmit(&mut self, turn: Turn, slot: &mut Option<Packet>) -> bool {
        if self.path.is_none() {
            return self.poll_direct(turn, slot);
        }
        *slot = self.poll_path(turn);
        slot.is_some()
    }

    /// The next packet that leaves a host in which packets take time.
    #[inline(never)]
    fn poll_path(&mut self, turn: Turn) -> Option<Packet> {
        let now = turn.now;
        while let Some(packet) = self.poll_stack(turn) {
            match &mut self.path.as_mut()?.interface {
                Some(interface) => interface.send(now, packet),
                None => return Some(packet),
            }
        }
        let interface = self.path.as_mut()?.interface.as_mut()?;
        interface.poll_sent(now)
    }

    /// The next packet that leaves the stack.
    fn poll_stack(&mut self, turn: Turn) -> Option<Packet> {
        if !self.timing.transmit_delay.is_zero() {
            return self.poll_delayed(turn);
        }
        let mut slot = None;
        self.poll_direct(turn, &mut slot);
        slot
    }

    /// Puts the next packet that the endpoint sends, and the socket does not lose, into `slot`;
    /// true if there is one.
    #[inline(always)]
    fn poll_direct(&mut self, turn: Turn, slot: &mut Option<Packet>) -> bool {
        let now = turn.now;
        while self.poll_endpoint(turn, slot) {
            if let Some(packet) = slot {
                self.endpoint.transmitted(now, packet.id);
                if !self.loses(now, packet) {
                    return true;
                }
                *slot = None;
            }
        }
        false
    }

    /// The packet in `slot` arrives at the host.
    #[inline]
    pub(crate) fn handle(&mut self, now: Instant, slot: &mut Option<Packet>) {
        if self.path.is_none() {
            // Moving a packet costs as much as a link's work on it, so it is read in place.
            if let Some(packet) = slot {
                self.receive(now, packet);
            }
            *slot = None;
        } else if let Some(packet) = slot.take() {
            self.enter_path(now, packet);
        }
    }

    /// A packet arrives at a host that delays packets.
    #[inline(never)]
    fn enter_path(&mut self, now: Instant, packet: Packet) {
        let path = self.path.as_mut();
        match path.and_then(|path| path.interface.as_mut()) {
            Some(interface) => interface.receive(now, packet),
            None => self.enter_stack(now, packet),
        }
    }

    /// A packet arrives at the stack.
    fn enter_stack(&mut self, now: Instant, mut packet: Packet) {
        match &mut self.path {
            Some(path) if !self.timing.receive_delay.is_zero() => {
                path.up.push_back((now + self.timing.receive_delay, packet));
            }
            _ => self.receive(now, &mut packet),
        }
    }

    /// Delivers the packets whose delays in the interface and the host have elapsed.
    fn receive_delayed(&mut self, now: Instant) {
        let next = |path: &mut HostPath| path.interface.as_mut()?.poll_received(now);
        while let Some(packet) = self.path.as_deref_mut().and_then(next) {
            self.enter_stack(now, packet);
        }
        while let Some((_, mut packet)) = self.path.as_mut().and_then(|path| {
            let arrived = |(at, _): &mut (Instant, Packet)| *at <= now;
            path.up.pop_front_if(arrived)
        }) {
            self.receive(now, &mut packet);
        }
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let scheduled = self.scheduled <= now;
        if scheduled {
            self.follow_schedule(now);
        }
        if self.path.is_some() {
            self.receive_delayed(now);
        }
        // Does nothing before the endpoint's own timer is due.
        self.endpoint.handle_timeout(now);
        if let Some(delays) = &mut self.delays {
            meter_held(now, &mut *self.endpoint, delays);
        }
        if scheduled {
            self.poll_app(now);
        } else {
            self.notify_app(now);
        }
    }

    /// When the agent must be called; the far future if it need not be.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Instant {
        let timer = self.endpoint.poll_timeout();
        let endpoint = timer.map_or(Instant::FAR_FUTURE, |at| self.timing.tick_at(at));
        endpoint.min(self.poll_host_timeout())
    }

    /// True if nothing can happen at this end until a packet arrives.
    pub(crate) fn is_quiet(&self) -> bool {
        let waits = self.endpoint.is_lingering() || self.endpoint.poll_timeout().is_none();
        waits && self.poll_host_timeout() == Instant::FAR_FUTURE
    }

    /// When the application, the schedule or the host's stack must be called.
    #[inline]
    fn poll_host_timeout(&self) -> Instant {
        let due = self.app_due.min(self.scheduled);
        match &self.path {
            Some(path) => due.min(path.poll_timeout()),
            None => due,
        }
    }

    /// The trace events of the endpoint.
    pub(crate) fn endpoint_events(&mut self) -> Option<&mut Events> {
        self.endpoint.events()
    }
}
