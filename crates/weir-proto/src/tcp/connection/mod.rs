//! One end of a connection: the handshake, sending within the window, loss recovery and the
//! receiver.

mod input;
mod output;

use super::receiver::Receiver;
use super::retransmission_timer::RetransmissionTimer;
use super::scoreboard::Scoreboard;
use super::sequence::wrap;
use super::wire::flag;
use crate::cc::WindowController;
use crate::endpoint::{CloseReason, Endpoint, EndpointEvent, Statistics, WriteError};
use crate::event::{Event, EventMask, Events};
use crate::packet::{Body, FlowId, HostId, Packet, Payload};
use crate::settings;
use crate::settings::{bytes, count};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// R2: expiries in a row after which the connection is closed (RFC 9293 §3.8.3).
const MAX_EXPIRIES: u32 = 15;
/// The window scale that both ends offer (RFC 7323 §2).
const WINDOW_SCALE: u8 = 10;

settings! {
    /// What an endpoint can be told.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// The flow that its packets carry.
        pub flow: FlowId [internal],
        /// This end.
        pub local: HostId [internal],
        /// The other end.
        pub remote: HostId [internal],
        /// Initial sequence number.
        pub initial_sequence: u32 [internal],
        /// SMSS in octets of payload.
        pub segment_size: u32 [internal] = 1460,
        /// Selective acknowledgements (RFC 6675); without them RFC 6582 recovers losses.
        pub sack: bool = true,
        /// Explicit congestion notification (RFC 3168).
        pub ecn: bool,
        /// Segments after which an acknowledgement leaves at once.
        pub ack_every: u32 = 2 => count(1..=1000, "segments"),
        /// The longest time that an acknowledgement waits.
        pub max_ack_delay: Duration = Duration::from_millis(40),
        /// The smallest retransmission timeout (RFC 6298 says 1 s, Linux 200 ms).
        pub rto_min: Duration = Duration::from_millis(200),
        /// Receive buffer: the window that is advertised.
        pub receive_buffer: u64 = 6_000_000 => bytes(1..=1 << 40),
        /// Bytes that the application may have waiting to be sent.
        pub send_buffer: u64 = 4_000_000 => bytes(1..=1 << 40),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
}

/// The loss recovery in progress; it ends when its point is cumulatively acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    Fast { point: u64 },
    Timeout { point: u64 },
}

/// One end of a TCP connection.
pub struct Connection {
    config: Config,
    state: State,
    controller: Box<dyn WindowController + Send>,
    timer: RetransmissionTimer,
    scoreboard: Scoreboard,
    receiver: Receiver,
    recovery: Recovery,
    /// The first outstanding octet when the retransmission timer last expired.
    expired_at: Option<u64>,
    duplicate_acks: u32,
    peer_window: u64,
    peer_sequence: u32,
    peer_window_scale: u8,
    sack: bool,
    ecn: bool,
    unsent: u64,
    retransmit_beyond_window: bool,
    handshake: Handshake,
    ece_pending: bool,
    cwr_pending: bool,
    ecn_recovery_point: u64,
    closing: bool,
    fin: Fin,
    blocked: bool,
    transmit_queue: VecDeque<Packet>,
    endpoint_events: VecDeque<EndpointEvent>,
    unread: u64,
    packets: u64,
    window_limited: bool,
    acked: Vec<(Instant, u32)>,
    statistics: Statistics,
    events: Events,
}

#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    sent_at: Instant,
    attempts: u32,
}

/// The FINs of the two directions. A FIN takes the sequence number after the last octet.
#[derive(Clone, Copy, Debug, Default)]
struct Fin {
    due: bool,
    sent: bool,
    acknowledged: bool,
    received_at: Option<u64>,
    received: bool,
}

impl Connection {
    /// An endpoint that connects actively; `controller` bounds what it sends.
    pub fn client(config: Config, controller: Box<dyn WindowController + Send>) -> Self {
        Self::new(config, controller, State::Closed)
    }

    /// An endpoint that listens.
    pub fn server(config: Config, controller: Box<dyn WindowController + Send>) -> Self {
        Self::new(config, controller, State::Listen)
    }

    fn new(config: Config, controller: Box<dyn WindowController + Send>, state: State) -> Self {
        Self {
            state,
            controller,
            timer: RetransmissionTimer::new(config.rto_min),
            scoreboard: Scoreboard::new(),
            receiver: Receiver::new(config.ack_every, config.max_ack_delay),
            recovery: Recovery::None,
            expired_at: None,
            duplicate_acks: 0,
            peer_window: 0,
            peer_sequence: 0,
            peer_window_scale: 0,
            sack: config.sack,
            ecn: config.ecn,
            unsent: 0,
            retransmit_beyond_window: false,
            handshake: Handshake::default(),
            ece_pending: false,
            cwr_pending: false,
            ecn_recovery_point: 0,
            closing: false,
            fin: Fin::default(),
            blocked: false,
            transmit_queue: VecDeque::with_capacity(4),
            endpoint_events: VecDeque::new(),
            unread: 0,
            packets: 0,
            window_limited: false,
            acked: Vec::with_capacity(16),
            statistics: Statistics::default(),
            events: Events::default(),
            config,
        }
    }
}

impl Endpoint for Connection {
    fn handle(&mut self, now: Instant, packet: Packet) {
        if packet.damaged_at.is_some() {
            // RFC 9293 §3.1: the checksum covers header and data.
            return;
        }
        let ecn = packet.ip.ecn;
        let Body::Tcp(packet) = packet.body else {
            return;
        };
        self.statistics.packets_received += 1;
        self.statistics.bytes_received += packet.wire_len() as u64;
        if packet.has(flag::SYN) {
            return self.handle_syn(now, &packet);
        }
        if packet.has(flag::RST) {
            if self.state != State::Closed {
                self.end(now, CloseReason::Reset(0));
            }
            return;
        }
        if self.state == State::SynReceived && packet.has(flag::ACK) {
            self.establish(now);
        }
        if self.state == State::Established {
            self.handle_established(now, &packet, ecn);
            if self.fin.acknowledged && self.fin.received && !self.receiver.wants_ack(now) {
                self.end(now, CloseReason::Finished);
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self
            .timer
            .deadline()
            .is_some_and(|deadline| deadline <= now)
        {
            self.handle_expiry(now);
        }
        if self
            .receiver
            .deadline()
            .is_some_and(|deadline| deadline <= now)
        {
            self.receiver.ack_now();
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if let Some(packet) = self.transmit_queue.pop_front() {
            return Some(packet);
        }
        if self.state != State::Established {
            return None;
        }
        if let Some(packet) = self.next_data(now).or_else(|| self.next_fin(now)) {
            return Some(packet);
        }
        if self.receiver.wants_ack(now) {
            let seq = wrap(
                self.config.initial_sequence,
                self.scoreboard.high_data() + u64::from(self.fin.sent),
            );
            let packet = self.build(0, seq, Payload::default());
            if self.fin.acknowledged && self.fin.received {
                self.end(now, CloseReason::Finished);
            }
            return Some(packet);
        }
        None
    }

    fn poll_timeout(&self) -> Option<Instant> {
        match (self.timer.deadline(), self.receiver.deadline()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn events(&mut self) -> Option<&mut Events> {
        Some(&mut self.events)
    }

    fn connect(&mut self, now: Instant) {
        if self.state == State::Closed && self.handshake.attempts == 0 {
            self.enter(now, State::SynSent, "SYN-SENT");
            self.send_syn(now);
        }
    }

    fn close(&mut self, now: Instant) {
        match self.state {
            State::Established => self.closing = true,
            State::Closed => {}
            _ => self.end(now, CloseReason::Finished),
        }
    }

    fn write(&mut self, now: Instant, data: Payload) -> Result<(), WriteError> {
        if self.state != State::Established || self.closing {
            return Err(WriteError::Closed);
        }
        if self.unsent >= self.config.send_buffer {
            self.blocked = true;
            return Err(WriteError::Blocked);
        }
        self.unsent += u64::from(data.len());
        self.events
            .push(now, EventMask::WRITE, || Event::Write(data.len()));
        Ok(())
    }

    fn read(&mut self, _now: Instant) -> Option<Payload> {
        if self.unread == 0 {
            return None;
        }
        let len = self.unread.min(u64::from(u32::MAX)) as u32;
        self.unread -= u64::from(len);
        Some(Payload::of_len(len))
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.endpoint_events.pop_front()
    }

    fn transmitted(&mut self, _now: Instant, _packet_id: u64) {}

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}
