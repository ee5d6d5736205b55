//! The driver's state of a connection: the state machine, and the data between it, the application
//! and the socket.

use crate::connection::{Connection, ConnectionStats, SharedState};
use crate::datagram::encode;
use crate::ecn;
use crate::encapsulation::Encapsulation;
use crate::error::Error;
use crate::events::EventSink;
use crate::limits::AmplificationBudget;
use crate::send_queue::{Destination, SendQueue};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::sync::oneshot;
use weir_proto::dccp::{self, State};
use weir_proto::endpoint::{CloseReason, Endpoint};
use weir_proto::event::{Event, EventMask};
use weir_proto::packet::{Body, Packet, Payload};
use weir_proto::time::Instant;

/// The caller of `Connection::connect`, which returns at the end of the handshake.
pub(crate) struct PendingConnect {
    pub(crate) reply: oneshot::Sender<Result<Connection, Error>>,
    pub(crate) connection: Connection,
}

/// A connection of an endpoint.
pub(crate) struct ConnectionState {
    pub(crate) machine: dccp::Connection,
    pub(crate) shared: Arc<SharedState>,
    /// At a client, until the handshake is done.
    pub(crate) pending_connect: Option<PendingConnect>,
    /// At a listener, the handle for `accept`, until the handshake is done.
    pub(crate) pending_accept: Option<Connection>,
    /// Datagrams that wait for room in the state machine's send queue.
    outgoing: VecDeque<Payload>,
    /// The application has closed the connection; the state machine closes once `outgoing` is
    /// empty.
    pub(crate) closing: bool,
    /// The last report of the congestion controller.
    controller: ControllerReport,
    /// When the driver's timer for this connection is set.
    pub(crate) timeout: Option<Instant>,
    /// The latest time passed to the state machine, to which time must not run backwards.
    latest: Instant,
    encapsulation: Encapsulation,
    /// The local address to which the peer's packets were sent.
    pub(crate) local_ip: Option<IpAddr>,
    /// The connection has ended and is in TIMEWAIT.
    pub(crate) time_wait: bool,
    /// The octets that may be sent to the peer until its address is validated.
    pub(crate) amplification_budget: Option<AmplificationBudget>,
    payload_sent: u64,
    /// The destination of the state machine's events, if the application selects any.
    sink: Option<EventSink>,
}

/// The state of the congestion controller at its last event.
#[derive(Clone, Copy, Debug, Default)]
struct ControllerReport {
    allowed_rate_bps: f64,
    loss_event_rate: f64,
    limit: &'static str,
}

impl ControllerReport {
    /// The report in an event of the controller; `None` for other events.
    fn from_event(event: &Event) -> Option<Self> {
        match event {
            Event::Rate(state) => Some(Self {
                allowed_rate_bps: state.allowed_rate.as_bps(),
                loss_event_rate: state.loss_event_rate,
                limit: state.limit.name(),
            }),
            Event::Window(state) => {
                let rtt = state.smoothed_rtt.as_secs_f64();
                let bits = state.cwnd as f64 * 8.0;
                Some(Self {
                    allowed_rate_bps: if rtt > 0.0 { bits / rtt } else { 0.0 },
                    loss_event_rate: 0.0,
                    limit: state.limit.name(),
                })
            }
            _ => None,
        }
    }
}

impl ConnectionState {
    pub(crate) fn new(
        mut machine: dccp::Connection,
        shared: Arc<SharedState>,
        sink: Option<EventSink>,
        encapsulation: Encapsulation,
        now: Instant,
    ) -> Self {
        if let Some(events) = machine.events() {
            let wanted = sink.as_ref().map_or(EventMask::NONE, EventSink::mask);
            events.set_mask(EventMask::CONTROLLER.union(wanted));
        }
        Self {
            machine,
            shared,
            pending_connect: None,
            pending_accept: None,
            outgoing: VecDeque::new(),
            closing: false,
            controller: ControllerReport::default(),
            timeout: None,
            latest: now,
            encapsulation,
            local_ip: None,
            time_wait: false,
            amplification_budget: None,
            payload_sent: 0,
            sink,
        }
    }

    /// True until the peer's address is validated: at a server, before the client's
    /// acknowledgement.
    pub(crate) fn is_half_open(&self) -> bool {
        self.amplification_budget.is_some()
    }

    /// Handles a packet received at `at`, or at the latest time passed to the state machine if that
    /// is later: packets of one read are handled one after the other. Until the peer's address is
    /// validated, `budget` limits the answer.
    pub(crate) fn handle(&mut self, at: Instant, mut packet: Packet, budget: AmplificationBudget) {
        self.latest = self.latest.max(at);
        self.machine.handle(self.latest, &mut packet);
        // A refused Request also leads to TIMEWAIT.
        let unproven = matches!(
            self.machine.state(),
            State::Listen | State::Respond | State::TimeWait
        );
        self.amplification_budget = self
            .amplification_budget
            .filter(|_| unproven)
            .map(|_| budget);
    }

    /// Moves the application's datagrams into the state machine, as far as it has room.
    pub(crate) fn write(&mut self, now: Instant) {
        self.latest = now;
        self.outgoing.append(&mut self.shared.outgoing());
        let before = self.outgoing.len();
        while !self.machine.send_queue_is_full()
            && let Some(data) = self.outgoing.pop_front()
        {
            // The size has been checked; after the end of the connection, the next send returns an
            // error.
            let _ = self.machine.write(now, data);
        }
        if before > self.outgoing.len() {
            self.shared.release_room(before - self.outgoing.len());
        }
        if self.closing && self.outgoing.is_empty() {
            self.closing = false;
            self.machine.close(now);
        }
    }

    /// Discards the application's waiting datagrams, except those for which `keep` returns true;
    /// returns their number.
    pub(crate) fn discard_unsent(&mut self, keep: fn(&[u8]) -> bool) -> u64 {
        let keep = |datagram: &Payload| datagram.content().is_some_and(keep);
        self.outgoing.append(&mut self.shared.outgoing());
        let before = self.outgoing.len();
        self.outgoing.retain(keep);
        let discarded = before - self.outgoing.len();
        self.shared.release_room(discarded);
        (discarded + self.machine.discard_unsent(keep)) as u64
    }

    /// Queues the packets that the state machine sends; returns whether there were any.
    pub(crate) fn transmit(&mut self, now: Instant, to: SocketAddr, queue: &mut SendQueue) -> bool {
        self.latest = now;
        let mut sent = false;
        while let Some(packet) = self.machine.poll_transmit(now) {
            sent = true;
            if self.exceeds_budget(&packet, to) {
                continue;
            }
            let destination = Destination {
                peer: to,
                local_ip: self.local_ip,
                ecn: ecn::to_udp(packet.ip.ecn),
            };
            if let Body::Dccp(dccp) = &packet.body {
                self.payload_sent += u64::from(dccp.payload.len());
            }
            let pseudo = self.encapsulation.pseudo_header(&destination);
            queue.push(|octets| encode(&packet, pseudo.as_ref(), octets).then_some(destination));
            self.machine.transmitted(now, packet.id);
        }
        // A budget applies to the answer to one packet; the rest of it expires.
        self.amplification_budget = self
            .amplification_budget
            .map(|_| AmplificationBudget::default());
        sent
    }

    fn exceeds_budget(&mut self, packet: &Packet, to: SocketAddr) -> bool {
        let size = packet.size + self.encapsulation.overhead(to);
        let budget = self.amplification_budget.as_mut();
        budget.is_some_and(|budget| !budget.take(size))
    }

    /// Delivers received datagrams to the application.
    pub(crate) fn read(&mut self, now: Instant) {
        let payloads = std::iter::from_fn(|| self.machine.read(now));
        self.shared.deliver(payloads);
    }

    /// Reports the end of the state machine to the application.
    pub(crate) fn end(&mut self, peer: SocketAddr, reason: CloseReason) {
        self.end_with(match reason {
            CloseReason::Finished => Error::Closed,
            CloseReason::Reset(code) => Error::Reset(code),
            CloseReason::TimedOut => Error::TimedOut(peer),
        });
    }

    /// Ends the connection; `error` is what a pending `connect` returns.
    pub(crate) fn end_with(&mut self, error: Error) {
        if let Some(pending) = self.pending_connect.take() {
            drop(pending.reply.send(Err(error)));
        }
        self.outgoing.clear();
        self.shared.end();
    }

    /// Forwards the state machine's events to the application and records the controller's reports.
    pub(crate) fn forward_events(&mut self) {
        let Some(events) = self.machine.events() else {
            return;
        };
        for (at, event) in events.drain() {
            if let Some(report) = ControllerReport::from_event(&event) {
                self.controller = report;
            }
            if let Some(sink) = &self.sink {
                sink.push(at, event);
            }
        }
    }

    pub(crate) fn stats(&self) -> ConnectionStats {
        ConnectionStats {
            state: self.machine.state().name(),
            send_ccid: self.machine.send_ccid(),
            receive_ccid: self.machine.receive_ccid(),
            payload_sent: self.payload_sent,
            datagrams_dropped: 0,
            allowed_rate_bps: self.controller.allowed_rate_bps,
            loss_event_rate: self.controller.loss_event_rate,
            max_datagram: self.machine.max_payload(),
            limit: self.controller.limit,
            statistics: self.machine.statistics(),
        }
    }
}
