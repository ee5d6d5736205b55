//! One end of a connection: the handshake, sending within the window, loss recovery and the
//! receiver.

mod ecn;
mod input;
mod output;
mod persist;
mod recovery;
mod trace;

use super::ecn::EcnMode;
use super::prr::Prr;
use super::rack::Rack;
use super::receive_window::{Fill, ReceiveWindow};
use super::receiver::Receiver;
use super::retransmission_timer::{Expired, RetransmissionTimer};
use super::rules::{RtoTimes, Rules};
use super::scoreboard::{Scoreboard, SentSegment};
use super::wire::flag;
use crate::cc::{
    DeliveryRateSampler, DeliverySnapshot, EcnCapability, Needs, Pacer, WindowController,
};
use crate::endpoint::{CloseReason, CountedFrom, Endpoint, EndpointEvent, Statistics, WriteError};
use crate::event::{Event, EventMask, Events};
use crate::packet::{Body, FlowId, HostId, Packet, Payload};
use crate::settings;
use crate::settings::{bytes, count, duration};
use crate::time::{Duration, Instant, earliest};
use ecn::EcnState;
use persist::Persist;
use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// R2: expiries in a row after which the connection is closed (RFC 9293 §3.8.3), as
/// `net.ipv4.tcp_retries2` has them.
const MAX_EXPIRIES: u32 = 15;
/// R2 as a time since the first of them, for timers that back off little: "at least 100 seconds"
/// (RFC 9293 §3.8.3).
const LEAST_PERSISTENCE: Duration = Duration::from_secs(100);

/// The shortest and the longest timeouts that can be set: below a millisecond, the granularity of
/// the clock, a timer would only expire again and again.
const TIMEOUTS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(86_400);

settings! {
    /// The settings of an endpoint. The defaults are those of the preset `linux`.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Config {
        /// Single rules, on top of `rules`.
        pub rules: Rules as "overrides",
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
        /// Selective acknowledgements (RFC 2018); without them RFC 6582 recovers losses.
        pub sack: bool = true,
        /// Explicit congestion notification: true is RFC 3168, "accurate" AccECN (RFC 9768). DCTCP
        /// and Prague have "accurate" whatever this says.
        pub ecn: EcnMode,
        /// Segments after which an acknowledgement leaves at once.
        pub ack_every: u32 = 2 => count(1..=1000, "segments"),
        /// The longest time that an acknowledgement waits.
        pub max_ack_delay: Duration = Duration::from_millis(40),
        /// The retransmission timeout before the first sample (RFC 6298 §2.1).
        pub rto_initial: Duration = RtoTimes::LINUX.initial => duration(TIMEOUTS),
        /// The smallest retransmission timeout, or its smallest variance term (RFC 6298 §2.4).
        pub rto_min: Duration = RtoTimes::LINUX.min,
        /// The greatest retransmission timeout, after back-off (RFC 6298 §2.5): Linux's
        /// `tcp_rto_max_ms`.
        pub rto_max: Duration = RtoTimes::LINUX.max => duration(TIMEOUTS),
        /// Receive buffer: the window that is advertised.
        pub receive_buffer: u64 = 6_000_000 => bytes(1..=1 << 40),
        /// Bytes that the application may have written and that are not acknowledged (SO_SNDBUF):
        /// a flow has no more than these in flight. The default is the bound of Linux's automatic
        /// size (`tcp_wmem`), which is more than twice the window below it and so never in its way.
        pub send_buffer: u64 = 4 << 20 => bytes(1..=1 << 40),
    }
}

impl Config {
    /// The names of the presets: those of the rules.
    pub const NAMES: [&'static str; 3] = Rules::NAMES;

    /// The preset of this name: the rules, the times of the retransmission timer, and how often
    /// the receiver acknowledges.
    pub fn named(name: &str) -> Option<Self> {
        let times = RtoTimes::named(name);
        let standard = Self::default();
        Some(Self {
            rules: Rules::named(name)?,
            rto_initial: times.initial,
            rto_min: times.min,
            rto_max: times.max,
            // Agent/TCPSink/Sack1 acknowledges every packet.
            ack_every: if name == "ns2-sack1" {
                1
            } else {
                standard.ack_every
            },
            ..standard
        })
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

/// A loss probe that is not acknowledged (RFC 8985 §7.3).
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// TLP.end_seq.
    end: u64,
    /// TLP.is_retrans.
    is_retransmission: bool,
}

/// The ECN mode that a connection with this controller offers: a controller that responds to the
/// share of marks needs accurate feedback.
fn offered_ecn(controller: &dyn WindowController, configured: EcnMode) -> EcnMode {
    match controller.needs().ecn {
        Some(EcnCapability::NotEct) => EcnMode::Off,
        Some(EcnCapability::Ect0 | EcnCapability::Ect1) => EcnMode::Accurate,
        None => configured,
    }
}

/// The state for detecting that a recovery was spurious.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    /// The octets that were in flight when it began.
    flight: (u64, u64),
    /// Retransmissions since then that no DSACK has reported.
    retransmissions: u32,
}

/// One end of a TCP connection.
pub struct Connection {
    config: Config,
    state: State,
    controller: Box<dyn WindowController + Send>,
    /// The services that the controller needs.
    needs: Needs,
    timer: RetransmissionTimer,
    scoreboard: Scoreboard,
    receiver: Receiver,
    rack: Rack,
    recovery: Recovery,
    /// Proportional rate reduction, in fast recovery.
    prr: Option<Prr>,
    /// When the latest of the lost segments that have caused no reaction yet was sent.
    newest_lost: Option<Instant>,
    /// The time from which on loss events count, and HighData at that time: octets beyond it were
    /// sent later.
    counted_from: (Instant, u64),
    undo: Undo,
    /// F-RTO has not yet decided whether the timeout was spurious.
    f_rto: bool,
    probe: Option<Probe>,
    probe_due: bool,
    /// A round-trip time was measured since the last probe.
    sampled_since_probe: bool,
    last_sent: Instant,
    /// Expiries of the retransmission timer since new data was acknowledged.
    expiries: u32,
    /// When the first of them was.
    expiring_since: Instant,
    /// The first outstanding octet when the retransmission timer last expired.
    expired_at: Option<u64>,
    duplicate_acks: u32,
    peer_window: u64,
    /// Max(SND.WND) of RFC 9293 §3.8.6.2.1.
    largest_peer_window: u64,
    /// SND.WL1 and SND.WL2 as offsets: the segment that last updated the window.
    window_updated_at: (u64, u64),
    persist: Persist,
    receive_window: ReceiveWindow,
    peer_sequence: u32,
    peer_window_scale: u8,
    sack: bool,
    ecn: EcnState,
    unsent: u64,
    retransmit_beyond_window: bool,
    handshake: Handshake,
    closing: bool,
    fin: Fin,
    blocked: bool,
    transmit_queue: VecDeque<Packet>,
    endpoint_events: VecDeque<EndpointEvent>,
    unread: u64,
    packets: u64,
    window_limited: bool,
    /// The window has changed since its last trace event.
    window_changed: bool,
    /// The window and the octets in flight of its last trace event.
    reported_window: (u64, u64),
    /// Octets delivered and lost, and the delivery rate.
    sampler: DeliveryRateSampler,
    pacer: Pacer,
    /// When the pacer releases the next segment, if it holds one back.
    paced_until: Option<Instant>,
    /// The end of the segment that was last declared lost.
    last_lost_end: Option<u64>,
    /// The end of the data that was reported as sent.
    traced_up_to: u64,
    statistics: Statistics,
    events: Events,
    /// Segments that loss detection has just found; empty between calls.
    lost: Vec<(SentSegment, Option<DeliverySnapshot>)>,
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
        let offered = offered_ecn(&*controller, config.ecn);
        let needs = controller.needs();
        // RFC 9768 §3.1.1: SACK beside AccECN has to report duplicates.
        let dsack = config.rules.dsack || offered == EcnMode::Accurate;
        Self {
            state,
            controller,
            needs,
            timer: RetransmissionTimer::new(
                RtoTimes {
                    initial: config.rto_initial,
                    min: config.rto_min,
                    max: config.rto_max,
                },
                &config.rules,
            ),
            scoreboard: Scoreboard::new(needs.delivery_rate),
            receiver: Receiver::new(config.ack_every, config.max_ack_delay, dsack),
            rack: Rack::new(),
            recovery: Recovery::None,
            prr: None,
            newest_lost: None,
            counted_from: (Instant::ZERO, 0),
            undo: Undo::default(),
            f_rto: false,
            probe: None,
            probe_due: false,
            sampled_since_probe: true,
            last_sent: Instant::ZERO,
            expiries: 0,
            expiring_since: Instant::ZERO,
            expired_at: None,
            duplicate_acks: 0,
            peer_window: 0,
            largest_peer_window: 0,
            window_updated_at: (0, 0),
            persist: Persist::default(),
            receive_window: ReceiveWindow::new(config.receive_buffer),
            peer_sequence: 0,
            peer_window_scale: 0,
            sack: config.sack,
            ecn: EcnState::new(offered),
            unsent: 0,
            retransmit_beyond_window: false,
            handshake: Handshake::default(),
            closing: false,
            fin: Fin::default(),
            blocked: false,
            transmit_queue: VecDeque::new(),
            endpoint_events: VecDeque::new(),
            unread: 0,
            packets: 0,
            window_limited: false,
            window_changed: false,
            reported_window: (0, 0),
            sampler: DeliveryRateSampler::default(),
            pacer: Pacer::default(),
            paced_until: None,
            last_lost_end: None,
            traced_up_to: 0,
            statistics: Statistics::default(),
            events: Events::default(),
            lost: Vec::new(),
            config,
        }
    }

    fn fill(&self) -> Fill {
        Fill {
            next: self.receiver.next(),
            unread: self.unread,
            segment_size: self.config.segment_size,
        }
    }
}

impl Endpoint for Connection {
    fn handle(&mut self, now: Instant, packet: &mut Packet) {
        if packet.damaged_at.is_some() {
            // RFC 9293 §3.1: the checksum covers header and data.
            return;
        }
        let ecn = packet.ip.ecn;
        let Body::Tcp(packet) = &packet.body else {
            return;
        };
        self.statistics.packets_received += 1;
        self.statistics.bytes_received += packet.wire_len() as u64;
        if self.events.wants(EventMask::PACKET) {
            self.trace_received(now, packet);
        }
        if packet.has(flag::SYN) {
            return self.handle_syn(now, packet, ecn);
        }
        if packet.has(flag::RST) {
            if self.state != State::Closed {
                self.end(now, CloseReason::Reset(0));
            }
            return;
        }
        if self.state == State::SynReceived && packet.has(flag::ACK) {
            self.ecn.on_handshake_ack(packet);
            self.establish(now);
        }
        if self.state == State::Established {
            self.handle_established(now, packet, ecn);
            if self.fin.acknowledged && self.fin.received && !self.receiver.wants_ack(now) {
                self.end(now, CloseReason::Finished);
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.paced_until.take_if(|at| *at <= now);
        while let Some(expired) = self.timer.take_expired(now) {
            match expired {
                Expired::Reordering => self.handle_reordering_timer(now),
                Expired::Probe => self.handle_probe_timeout(now),
                Expired::Persist => self.handle_persist_timeout(now),
                Expired::Retransmission => self.handle_expiry(now),
            }
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
        if self.events.wants(EventMask::PACKET) {
            return self.next_traced_packet(now);
        }
        self.next_packet(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        earliest(&[
            self.timer.next(),
            self.receiver.deadline(),
            self.paced_until,
        ])
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
        if self.buffered() >= self.config.send_buffer {
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
        if self.state == State::Established && self.receive_window.wants_update(self.fill()) {
            self.receiver.ack_now();
        }
        Some(Payload::of_len(len))
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.endpoint_events.pop_front()
    }

    #[inline]
    fn has_event(&self) -> bool {
        !self.endpoint_events.is_empty()
    }

    fn transmitted(&mut self, _now: Instant, _packet_id: u64) {}

    fn statistics(&self) -> Statistics {
        self.statistics
    }

    fn count_loss_events_from(&mut self, from: CountedFrom) {
        self.counted_from = (from.at, self.scoreboard.high_data());
    }
}

#[cfg(test)]
mod tests;
