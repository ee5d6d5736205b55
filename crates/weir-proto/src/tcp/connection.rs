//! One end of a connection: handshake, sending under the window, recovery, and the receiver.

use super::receiver::Receiver;
use super::retransmission_timer::RetransmissionTimer;
use super::scoreboard::{Scoreboard, Segment};
use super::wire::{Packet as TcpPacket, SackBlocks, SynOptions, flag};
use crate::cc::{Acked, Congestion, Sent, WindowController};
use crate::event::{DropReason, Event, EventMask, Events, WindowState};
use crate::node::{CloseReason, Endpoint, EndpointEvent, Node, Statistics, WriteError};
use crate::packet::{Body, Ecn, FlowId, HostId, IpHeader, Packet, Payload};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// RFC 9293 §3.8.3 (R2): expiries in a row after which the connection is given up.
const MAX_EXPIRIES: u32 = 15;
/// Shift of the window field that both ends offer.
const WINDOW_SCALE: u8 = 10;

/// How an endpoint behaves.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The flow that its packets carry.
    pub flow: FlowId,
    /// This end.
    pub local: HostId,
    /// The other end.
    pub remote: HostId,
    /// Initial sequence number.
    pub initial_sequence: u32,
    /// SMSS in octets of payload.
    pub segment_size: u32,
    /// Selective acknowledgements (RFC 6675); otherwise RFC 6582.
    pub sack: bool,
    /// Explicit congestion notification (RFC 3168 §6.1).
    pub ecn: bool,
    /// Segments after which an acknowledgement leaves at once.
    pub ack_every: u32,
    /// The longest time that an acknowledgement waits.
    pub ack_delay: Duration,
    /// RFC 6298 §2.4: the smallest retransmission timeout.
    pub min_rto: Duration,
    /// Receive buffer in octets: the window that is advertised.
    pub receive_buffer: u64,
    /// Octets that the application may have waiting to be sent.
    pub send_buffer: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            flow: FlowId::default(),
            local: HostId::default(),
            remote: HostId::default(),
            initial_sequence: 0,
            segment_size: 1460,
            sack: true,
            ecn: false,
            ack_every: 2,
            ack_delay: Duration::from_millis(40),
            min_rto: Duration::from_millis(200),
            receive_buffer: 6_000_000,
            send_buffer: 4_000_000,
        }
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

/// Which loss recovery is under way; each lasts until its point is cumulatively acknowledged.
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
    board: Scoreboard,
    receiver: Receiver,
    recovery: Recovery,
    duplicates: u32,
    peer_window: u64,
    peer_sequence: u32,
    peer_scale: u8,
    sack: bool,
    ecn: bool,
    unsent: u64,
    send_one_anyway: bool,
    handshake: Handshake,
    echo_congestion: bool,
    announce_reduction: bool,
    ecn_point: u64,
    closing: bool,
    fin: Fin,
    blocked: bool,
    outbox: VecDeque<Packet>,
    news: VecDeque<EndpointEvent>,
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

/// The ends of the two streams. A FIN takes one number behind the last octet.
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
            timer: RetransmissionTimer::new(config.min_rto),
            board: Scoreboard::new(),
            receiver: Receiver::new(config.ack_every, config.ack_delay),
            recovery: Recovery::None,
            duplicates: 0,
            peer_window: 0,
            peer_sequence: 0,
            peer_scale: 0,
            sack: config.sack,
            ecn: config.ecn,
            unsent: 0,
            send_one_anyway: false,
            handshake: Handshake::default(),
            echo_congestion: false,
            announce_reduction: false,
            ecn_point: 0,
            closing: false,
            fin: Fin::default(),
            blocked: false,
            outbox: VecDeque::with_capacity(4),
            news: VecDeque::new(),
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

/// Sequence numbers: offset `o` of a stream that began with number `initial` is `initial + 1 + o`.
const fn wrap(initial: u32, offset: u64) -> u32 {
    initial.wrapping_add(1).wrapping_add(offset as u32)
}

/// The offset nearest to `near` that has this number; `None` if that lies before the stream.
fn unwrap(initial: u32, number: u32, near: u64) -> Option<u64> {
    let distance = number.wrapping_sub(wrap(initial, near)) as i32;
    near.checked_add_signed(i64::from(distance))
}

/// Output.
impl Connection {
    fn build(&mut self, flags: u8, seq: u32, payload: Payload) -> Packet {
        let acks = self.state != State::SynSent;
        let peer_sequence = self.peer_sequence;
        let (sack, ack) = if acks && flags & flag::SYN == 0 {
            let blocks = self
                .receiver
                .on_ack_sent(|offset| wrap(peer_sequence, offset));
            let fin = u64::from(self.fin.received);
            (
                if self.sack {
                    blocks
                } else {
                    SackBlocks::default()
                },
                wrap(peer_sequence, self.receiver.next() + fin),
            )
        } else {
            (
                SackBlocks::default(),
                if acks { wrap(peer_sequence, 0) } else { 0 },
            )
        };
        let mut flags = flags | if acks { flag::ACK } else { 0 };
        let data = !payload.is_empty();
        if self.ecn && flags & flag::SYN == 0 {
            flags |= if self.echo_congestion { flag::ECE } else { 0 };
            if data && self.announce_reduction {
                flags |= flag::CWR;
                self.announce_reduction = false;
            }
        }
        let window = self.config.receive_buffer.saturating_sub(self.unread);
        let syn = flags & flag::SYN != 0;
        let scale = if syn { 0 } else { WINDOW_SCALE };
        let body = TcpPacket {
            source_port: self.config.local.0 as u16,
            destination_port: self.config.remote.0 as u16,
            seq,
            ack,
            flags,
            window: (window >> scale).min(u64::from(u16::MAX)) as u16,
            syn: syn.then(|| SynOptions {
                mss: self.config.segment_size.min(u32::from(u16::MAX)) as u16,
                window_scale: WINDOW_SCALE,
                sack_permitted: self.config.sack,
            }),
            sack,
            payload,
        };
        let octets = body.wire_len() as u32;
        self.packets += 1;
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += u64::from(octets);
        self.statistics.data_packets_sent += u64::from(data);
        Packet {
            id: self.packets,
            flow: self.config.flow,
            ip: IpHeader {
                source: self.config.local,
                target: self.config.remote,
                // RFC 3168 §6.1.1 and §6.1.4: neither SYN nor pure acknowledgements are capable.
                ecn: if self.ecn && data {
                    Ecn::Ect0
                } else {
                    Ecn::NotEct
                },
                ttl: IpHeader::DEFAULT_TTL,
            },
            size: IpHeader::V4_OCTETS + octets,
            body: Body::Tcp(body),
        }
    }

    fn build_data(&mut self, now: Instant, start: u64, len: u32) -> Packet {
        self.timer.start_if_idle(now);
        let bytes_in_flight = self.board.pipe();
        self.controller.on_sent(&Sent {
            now,
            bytes: u64::from(len),
            bytes_in_flight,
        });
        let seq = wrap(self.config.initial_sequence, start);
        let packet = self.build(0, seq, Payload::of_len(len));
        self.events.push(now, EventMask::PACKET, || Event::Sent {
            number: start,
            size: len,
        });
        packet
    }

    /// RFC 6675 §4, NextSeg(), with the window in front of it.
    fn next_data(&mut self, now: Instant) -> Option<Packet> {
        let segment = u64::from(self.config.segment_size);
        let inflation = if self.sack {
            0
        } else {
            u64::from(self.duplicates) * segment
        };
        let pipe = self.board.pipe().saturating_sub(inflation);
        let room = self.controller.window().saturating_sub(pipe) >= segment;
        self.window_limited = !room && self.unsent > 0;
        if (room || self.send_one_anyway)
            && let Some(Segment { start, len, .. }) = self.board.take_lost(now)
        {
            self.send_one_anyway = false;
            return Some(self.build_data(now, start, len));
        }
        if !room {
            return None;
        }
        let credit =
            (self.board.high_ack() + self.peer_window).saturating_sub(self.board.high_data());
        let len = self.unsent.min(segment);
        // Silly-window avoidance: a short segment only at the end of what was written.
        if len > 0 && len <= credit {
            let start = self.board.high_data();
            self.unsent -= len;
            self.board.on_sent(now, len as u32);
            self.announce_room();
            return Some(self.build_data(now, start, len as u32));
        }
        if matches!(self.recovery, Recovery::Fast { .. }) {
            let Segment { start, len, .. } = self.board.take_doubtful(now)?;
            return Some(self.build_data(now, start, len));
        }
        None
    }

    fn announce_room(&mut self) {
        if self.blocked && self.unsent <= self.config.send_buffer / 2 {
            self.blocked = false;
            self.news.push_back(EndpointEvent::Writable);
        }
    }

    fn next_fin(&mut self, now: Instant) -> Option<Packet> {
        let ready = self.closing && self.unsent == 0 && (!self.fin.sent || self.fin.due);
        if !ready {
            return None;
        }
        (self.fin.sent, self.fin.due) = (true, false);
        self.timer.start_if_idle(now);
        let seq = wrap(self.config.initial_sequence, self.board.high_data());
        Some(self.build(flag::FIN, seq, Payload::default()))
    }

    fn send_syn(&mut self, now: Instant) {
        self.handshake.sent_at = now;
        self.handshake.attempts += 1;
        let ecn = match (self.ecn, self.state) {
            (false, _) => 0,
            (true, State::SynSent) => flag::ECE | flag::CWR,
            (true, _) => flag::ECE,
        };
        let packet = self.build(
            flag::SYN | ecn,
            self.config.initial_sequence,
            Payload::default(),
        );
        self.outbox.push_back(packet);
        self.timer.start_if_idle(now);
    }
}

/// Input.
impl Connection {
    fn enter(&mut self, now: Instant, state: State, name: &'static str) {
        self.state = state;
        self.events
            .push(now, EventMask::STATE, || Event::State(name));
    }

    fn end(&mut self, now: Instant, reason: CloseReason) {
        self.timer.stop();
        self.outbox.clear();
        self.enter(now, State::Closed, "CLOSED");
        self.news.push_back(EndpointEvent::Closed(reason));
    }

    fn handle_syn(&mut self, now: Instant, packet: &TcpPacket) {
        let Some(options) = packet.syn else { return };
        let acknowledges = packet.has(flag::ACK);
        match self.state {
            State::Listen if !acknowledges => {
                self.ecn &= packet.has(flag::ECE) && packet.has(flag::CWR);
                self.learn(packet, options);
                self.enter(now, State::SynReceived, "SYN-RECEIVED");
                self.send_syn(now);
            }
            State::SynSent if acknowledges => {
                self.ecn &= packet.has(flag::ECE);
                self.learn(packet, options);
                self.establish(now);
                self.receiver.ack_now();
            }
            // Our answer was lost.
            State::SynReceived if !acknowledges => self.send_syn(now),
            State::Established if acknowledges => self.receiver.ack_now(),
            _ => {}
        }
    }

    fn learn(&mut self, packet: &TcpPacket, options: SynOptions) {
        self.peer_sequence = packet.seq;
        self.peer_scale = options.window_scale.min(14);
        self.peer_window = u64::from(packet.window);
        self.sack &= options.sack_permitted;
        self.config.segment_size = self.config.segment_size.min(u32::from(options.mss).max(1));
    }

    fn establish(&mut self, now: Instant) {
        if self.handshake.attempts == 1 {
            self.timer.on_sample(now.since(self.handshake.sent_at));
        }
        self.timer.on_progress(now, false);
        self.enter(now, State::Established, "ESTABLISHED");
        self.news.push_back(EndpointEvent::Connected);
    }

    fn handle_established(&mut self, now: Instant, packet: &TcpPacket, ecn: Ecn) {
        if packet.has(flag::ACK) {
            self.handle_ack(now, packet);
        }
        let Some(start) = unwrap(self.peer_sequence, packet.seq, self.receiver.next()) else {
            return self.receiver.ack_now();
        };
        let len = u64::from(packet.payload.len());
        if len > 0 {
            self.handle_data(now, start, len, packet, ecn);
        }
        if packet.has(flag::FIN) {
            self.fin.received_at = Some(start + len);
            self.receiver.ack_now();
        }
        if !self.fin.received && self.fin.received_at == Some(self.receiver.next()) {
            self.fin.received = true;
            self.receiver.ack_now();
            self.closing = true;
        }
    }

    fn handle_data(&mut self, now: Instant, start: u64, len: u64, packet: &TcpPacket, ecn: Ecn) {
        if packet.has(flag::CWR) {
            self.echo_congestion = false;
        }
        if self.ecn && ecn == Ecn::Ce {
            self.echo_congestion = true;
            self.receiver.ack_now();
        }
        self.statistics.data_packets_received += 1;
        self.statistics.data_bytes_received += packet.wire_len() as u64;
        let room = self.config.receive_buffer.saturating_sub(self.unread);
        if start.saturating_add(len) > self.receiver.next() + room {
            return self.receiver.ack_now();
        }
        let delivered = self.receiver.on_segment(now, start, len);
        self.statistics.payload_received += delivered;
        if delivered > 0 {
            if self.unread == 0 {
                self.news.push_back(EndpointEvent::Readable);
            }
            self.unread += delivered;
        }
        let size = packet.wire_len() as u32;
        self.events
            .push(now, EventMask::PACKET, || Event::Received {
                number: start,
                size,
            });
    }

    fn handle_ack(&mut self, now: Instant, packet: &TcpPacket) {
        let initial = self.config.initial_sequence;
        let Some(ack) = unwrap(initial, packet.ack, self.board.high_ack()) else {
            return;
        };
        let high_data = self.board.high_data();
        if ack > high_data + u64::from(self.fin.sent) {
            return self.receiver.ack_now();
        }
        let window = u64::from(packet.window) << self.peer_scale;
        let advanced = ack > self.board.high_ack();
        let duplicate = ack == self.board.high_ack()
            && packet.payload.is_empty()
            && window == self.peer_window
            && !self.board.is_empty();
        self.peer_window = window;
        if ack > high_data && !self.fin.acknowledged {
            self.fin.acknowledged = true;
            self.timer.on_progress(now, false);
        }
        let in_flight = self.board.pipe();
        self.take_acknowledged(ack.min(high_data), packet);
        self.tell_acknowledged(now, in_flight);
        if advanced {
            let outstanding = !self.board.is_empty() || (self.fin.sent && !self.fin.acknowledged);
            self.timer.on_progress(now, outstanding);
        }
        self.recover(now, advanced, duplicate);
        self.handle_echo(now, packet, ack);
        self.record_window(now);
    }

    /// Updates the scoreboard and notes which segments are newly acknowledged.
    fn take_acknowledged(&mut self, ack: u64, packet: &TcpPacket) {
        let Self {
            board,
            acked,
            config,
            ..
        } = self;
        acked.clear();
        let near = board.high_ack();
        // A segment that was sent twice gives no sample: its length is noted with time zero.
        let mut note = |segment: &Segment| {
            let sent_at = if segment.resent {
                Instant::ZERO
            } else {
                segment.sent_at
            };
            acked.push((sent_at, segment.len));
        };
        board.on_cumulative_ack(ack, &mut note);
        for &(start, end) in packet.sack.as_slice() {
            let bounds = (
                unwrap(config.initial_sequence, start, near),
                unwrap(config.initial_sequence, end, near),
            );
            if let (Some(start), Some(end)) = bounds
                && start < end
                && end <= board.high_data()
            {
                board.on_sack(start, end, &mut note);
            }
        }
    }

    fn tell_acknowledged(&mut self, now: Instant, mut bytes_in_flight: u64) {
        let newest = self.acked.iter().map(|&(sent_at, _)| sent_at).max();
        if let Some(sent_at) = newest.filter(|&at| at > Instant::ZERO) {
            let sample = now.since(sent_at);
            self.timer.on_sample(sample);
            self.events.push(now, EventMask::RTT, || Event::Rtt(sample));
        }
        let rtt = self.timer.rtt();
        self.statistics.smoothed_rtt = rtt.smoothed;
        let app_limited = !self.window_limited;
        for &(sent_at, len) in &self.acked {
            let bytes = u64::from(len);
            let sent_at = match self.recovery {
                // RFC 5681 §3.2: no growth before recovery is over.
                Recovery::Fast { .. } => None,
                // RFC 5681 §3.1: after a timeout the window grows by slow start again.
                Recovery::Timeout { .. } => Some(now),
                Recovery::None => Some(sent_at).filter(|&at| at > Instant::ZERO),
            };
            if let Some(sent_at) = sent_at {
                let acked = Acked {
                    now,
                    sent_at,
                    bytes,
                    bytes_in_flight,
                    rtt,
                    app_limited,
                };
                self.controller.on_ack(&acked);
            }
            bytes_in_flight = bytes_in_flight.saturating_sub(bytes);
        }
    }

    fn recover(&mut self, now: Instant, advanced: bool, duplicate: bool) {
        if let Recovery::Fast { point } | Recovery::Timeout { point } = self.recovery
            && self.board.high_ack() >= point
        {
            self.recovery = Recovery::None;
            self.duplicates = 0;
        }
        let mut latest = None;
        let Self {
            board,
            statistics,
            events,
            ..
        } = self;
        let mut note = |segment: &Segment| {
            statistics.packets_lost += 1;
            latest = latest.max(Some(segment.sent_at));
            let (number, size) = (segment.start, segment.len);
            events.push(now, EventMask::PACKET, || Event::Lost {
                number,
                size,
                reason: DropReason::PacketThreshold,
            });
        };
        if self.sack {
            board.detect_losses(&mut note);
        } else {
            // RFC 6582 §3.2: three duplicates, then one segment per partial acknowledgement.
            let fast = matches!(self.recovery, Recovery::Fast { .. });
            self.duplicates = if advanced {
                0
            } else {
                self.duplicates + u32::from(duplicate)
            };
            let third = self.duplicates == 3 && self.recovery == Recovery::None;
            if (third || (fast && advanced))
                && let Some(segment) = board.lose_first()
            {
                note(&segment);
            }
        }
        if let (Some(sent_at), Recovery::None) = (latest, self.recovery) {
            self.recovery = Recovery::Fast {
                point: self.board.high_data(),
            };
            self.send_one_anyway = true;
            self.reduce(now, sent_at, false);
        } else if latest.is_some() && !self.sack {
            self.send_one_anyway = true;
        }
    }

    fn reduce(&mut self, now: Instant, sent_at: Instant, ecn: bool) {
        self.statistics.loss_events += 1;
        let bytes_in_flight = self.board.pipe();
        let lost_bytes = if ecn {
            0
        } else {
            u64::from(self.config.segment_size)
        };
        self.controller.on_congestion(&Congestion {
            now,
            sent_at,
            lost_bytes,
            bytes_in_flight,
            ecn,
        });
    }

    /// RFC 3168 §6.1.2: at most one reduction per window of data.
    fn handle_echo(&mut self, now: Instant, packet: &TcpPacket, ack: u64) {
        if self.ecn
            && packet.has(flag::ECE)
            && ack > self.ecn_point
            && self.recovery == Recovery::None
        {
            self.ecn_point = self.board.high_data();
            self.announce_reduction = true;
            self.reduce(now, now, true);
        }
    }

    fn record_window(&mut self, now: Instant) {
        let Self {
            controller,
            board,
            timer,
            ..
        } = self;
        self.events.push(now, EventMask::CONTROLLER, || {
            Event::Window(WindowState {
                cwnd: controller.window(),
                bytes_in_flight: board.pipe(),
                partial_bytes_acked: controller.partial_bytes_acked(),
                ssthresh: controller.ssthresh(),
                rtt: timer.rtt().latest,
                smoothed_rtt: timer.rtt().smoothed,
                state: controller.state(),
                limit: controller.limit(),
            })
        });
    }

    fn handle_expiry(&mut self, now: Instant) {
        self.timer.on_expiry(now);
        if self.timer.backoff() > MAX_EXPIRIES {
            return self.end(now, CloseReason::TimedOut);
        }
        if self.state != State::Established {
            return self.send_syn(now);
        }
        if self.board.is_empty() {
            self.fin.due = self.fin.sent && !self.fin.acknowledged;
            return;
        }
        let first = self.board.first_sent_at().unwrap_or(now);
        let Self {
            board, statistics, ..
        } = self;
        board.lose_all(|_| statistics.packets_lost += 1);
        if !matches!(self.recovery, Recovery::Timeout { .. }) {
            self.reduce(now, first, false);
        }
        self.controller.on_persistent_congestion(now);
        self.recovery = Recovery::Timeout {
            point: self.board.high_data(),
        };
        self.duplicates = 0;
        self.send_one_anyway = true;
        self.record_window(now);
    }
}

impl Node for Connection {
    fn handle(&mut self, now: Instant, packet: Packet) {
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
        if let Some(packet) = self.outbox.pop_front() {
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
                self.board.high_data() + u64::from(self.fin.sent),
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
}

impl Endpoint for Connection {
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
        self.news.pop_front()
    }

    fn transmitted(&mut self, _now: Instant, _packet_id: u64) {}

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}
