//! A connection at work: its state machine, its application's end, and what passes between them.

use crate::connection::{Connection, ConnectionStats, Shared};
use crate::datagram::{codepoint, seal};
use crate::encapsulation::Encapsulation;
use crate::error::Error;
use crate::events::EventSink;
use crate::limits::Allowance;
use crate::outbox::{Outbox, Way};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::sync::oneshot;
use weir_proto::dccp::{self, State};
use weir_proto::endpoint::{CloseReason, Endpoint};
use weir_proto::event::{Event, EventMask};
use weir_proto::packet::{Body, Packet, Payload};
use weir_proto::time::Instant;

/// A connection at work.
pub(crate) struct Entry {
    pub(crate) machine: dccp::Connection,
    pub(crate) shared: Arc<Shared>,
    /// Of a connection that is being opened: who waits for it.
    pub(crate) opener: Option<(oneshot::Sender<Result<Connection, Error>>, Connection)>,
    /// Of a connection that a listener has: for `accept`, once the handshake is done.
    pub(crate) arrival: Option<Connection>,
    /// Datagrams that wait for room in the machine's send queue.
    pub(crate) waiting: VecDeque<Payload>,
    /// The application wants the end once they are gone.
    pub(crate) closing: bool,
    /// What the controller said last.
    pub(crate) controller: Controller,
    pub(crate) timer: Option<Instant>,
    /// The last time that the machine was told.
    pub(crate) seen: Instant,
    encapsulation: Encapsulation,
    /// The address of ours that the peer used.
    pub(crate) local: Option<IpAddr>,
    /// It is over, and in TIMEWAIT.
    pub(crate) lingering: bool,
    /// Until the peer has proven its address: what it may be sent.
    pub(crate) allowance: Option<Allowance>,
    /// Octets of application data that have left.
    payload_sent: u64,
    /// Where the machine's events go, if somebody listens.
    sink: Option<EventSink>,
}

/// What a controller said of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Controller {
    pub(crate) allowed_rate_bps: f64,
    pub(crate) loss_event_rate: f64,
    pub(crate) limit: &'static str,
}

impl Entry {
    pub(crate) fn new(
        mut machine: dccp::Connection,
        shared: Arc<Shared>,
        sink: Option<EventSink>,
        encapsulation: Encapsulation,
        now: Instant,
    ) -> Self {
        if let Some(events) = machine.events() {
            let more = sink.as_ref().map_or(EventMask::NONE, EventSink::mask);
            events.set_mask(EventMask::CONTROLLER.union(more));
        }
        Self {
            machine,
            shared,
            opener: None,
            arrival: None,
            waiting: VecDeque::new(),
            closing: false,
            controller: Controller::default(),
            timer: None,
            seen: now,
            encapsulation,
            local: None,
            lingering: false,
            allowance: None,
            payload_sent: 0,
            sink,
        }
    }

    /// True for a server's end before the client's acknowledgement.
    pub(crate) fn is_half_open(&self) -> bool {
        self.allowance.is_some()
    }

    /// A packet has come at this time, or later if the machine knows of a later one: when it was
    /// read with others, to which the machine has answered already. Until the peer's address is
    /// proven, the answer may be as large as the allowance.
    pub(crate) fn handle(&mut self, at: Instant, packet: Packet, allowance: Allowance) {
        self.seen = self.seen.max(at);
        self.machine.handle(self.seen, packet);
        // TIMEWAIT follows a Request that is refused.
        let unproven = matches!(
            self.machine.state(),
            State::Listen | State::Respond | State::TimeWait
        );
        self.allowance = self.allowance.filter(|_| unproven).map(|_| allowance);
    }

    /// Gives the machine what applications wait to send.
    pub(crate) fn write(&mut self, now: Instant) {
        self.seen = now;
        self.waiting.append(&mut self.shared.outgoing());
        let before = self.waiting.len();
        while !self.machine.send_queue_is_full()
            && let Some(data) = self.waiting.pop_front()
        {
            // The size was checked, and an ended connection says so to the next caller.
            let _ = self.machine.write(now, data);
        }
        if before > self.waiting.len() {
            self.shared.make_room(before - self.waiting.len());
        }
        if std::mem::take(&mut self.closing) {
            if self.waiting.is_empty() {
                self.machine.close(now);
            } else {
                self.closing = true;
            }
        }
    }

    /// Puts what the machine sends into the outbox; true if it sent something.
    pub(crate) fn transmit(&mut self, now: Instant, to: SocketAddr, outbox: &mut Outbox) -> bool {
        self.seen = now;
        let mut sent = false;
        while let Some(packet) = self.machine.poll_transmit(now) {
            sent = true;
            if self.exceeds_allowance(&packet, to) {
                continue;
            }
            let way = Way {
                to,
                from: self.local,
                ecn: codepoint(packet.ip.ecn),
            };
            if let Body::Dccp(dccp) = &packet.body {
                self.payload_sent += u64::from(dccp.payload.len());
            }
            let pseudo = self.encapsulation.pseudo_header(&way);
            outbox.push(|octets| seal(&packet, pseudo.as_ref(), octets).then_some(way));
            self.machine.transmitted(now, packet.id);
        }
        // What was not used for an answer is not kept for later.
        self.allowance = self.allowance.map(|_| Allowance::default());
        sent
    }

    fn exceeds_allowance(&mut self, packet: &Packet, to: SocketAddr) -> bool {
        let size = packet.size + self.encapsulation.overhead(to);
        self.allowance.as_mut().is_some_and(|all| !all.take(size))
    }

    /// Gives the application what has come.
    pub(crate) fn read(&mut self, now: Instant) {
        let payloads = std::iter::from_fn(|| self.machine.read(now));
        self.shared.deliver(payloads);
    }

    pub(crate) fn end(&mut self, peer: SocketAddr, reason: CloseReason) {
        let error = match reason {
            CloseReason::Finished => Error::Closed,
            CloseReason::Reset(code) => Error::Reset(code),
            CloseReason::TimedOut => Error::TimedOut(peer),
        };
        self.end_with(error);
    }

    /// The network says that nobody is there.
    pub(crate) fn refuse(&mut self, peer: SocketAddr) {
        self.end_with(Error::Refused(peer));
    }

    fn end_with(&mut self, error: Error) {
        if let Some((reply, _)) = self.opener.take() {
            drop(reply.send(Err(error)));
        }
        self.waiting.clear();
        self.shared.end();
    }

    pub(crate) fn hear_controller(&mut self) {
        let Some(events) = self.machine.events() else {
            return;
        };
        for (at, event) in events.drain() {
            match &event {
                Event::Rate(state) => {
                    self.controller = Controller {
                        allowed_rate_bps: state.allowed_rate.as_bps(),
                        loss_event_rate: state.loss_event_rate,
                        limit: state.limit.name(),
                    }
                }
                Event::Window(state) => {
                    let rtt = state.smoothed_rtt.as_secs_f64();
                    self.controller = Controller {
                        allowed_rate_bps: if rtt > 0.0 {
                            state.cwnd as f64 * 8.0 / rtt
                        } else {
                            0.0
                        },
                        loss_event_rate: 0.0,
                        limit: state.limit.name(),
                    }
                }
                _ => {}
            }
            if let Some(sink) = &self.sink {
                sink.push(at, event);
            }
        }
    }

    pub(crate) fn stats(&self) -> ConnectionStats {
        ConnectionStats {
            state: self.machine.state().name(),
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
