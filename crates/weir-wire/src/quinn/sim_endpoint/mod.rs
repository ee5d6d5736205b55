//! quinn's or noq's state machine as an endpoint of the simulator: a complete QUIC implementation
//! with TLS, in addition to the minimal one of `weir-proto`.
//!
//! Both do no I/O and read no clock, so they can run in virtual time: their instants are the real
//! instant at which the endpoint was created plus virtual time. With the same seed, a stack does
//! the same things at the same times in every run. The octets differ, because TLS takes its keys
//! from the system, but not their number.
//!
//! Written data is sent on one unidirectional stream. Packets contain the encrypted datagrams. A
//! packet's number in traces is the datagram's, because the stack's packet numbers are encrypted.
//! It reports the number of lost packets and their total octets, but not which ones and why:
//! quinn's log has their numbers, but the library that writes it would change the order of all JSON
//! of a program that contains this crate. What differs between the two is in
//! [`stack_api`](super::stack_api).

mod bound;
mod endpoint;
mod probe_timeout;

use self::probe_timeout::ProbeTimeouts;
use super::calls::SendBound;
use super::observed::ControllerView;
use super::sim_config::SimConfig;
use super::stack_api;
use super::stack_api::proto::{
    self, ClientConfig, ConnectionError, ConnectionHandle, ConnectionStats, DatagramEvent, Dir,
    EcnCodepoint, FrameStats, StreamEvent, StreamId, VarInt,
};
use crate::error::Error;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::time;
use weir_proto::endpoint::{CloseReason, EndpointEvent, Statistics};
use weir_proto::event::{Event, EventMask, Events, PacketContent, PacketType, WindowState};
use weir_proto::packet::{Body, Ecn, FlowId, IpHeader, Packet, Payload, TraceNumber, Transit};
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// Octets of IP and UDP headers.
const LOWER_OCTETS: u32 = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
/// Writes below this size are collected, because the stack keeps each unacknowledged write as a
/// separate segment and iterates over all of them for each packet.
const SMALL_WRITE: u32 = 1024;
/// Collected octets that are passed to the stack at once, without waiting for the next packet.
const COLLECTED: usize = 1 << 14;
/// The data written for a payload without content.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Handshaking,
    Established,
    Closed,
}

/// What the stack has counted.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// STREAM frames.
    data_frames_sent: u64,
    data_frames_received: u64,
    ack_eliciting_frames_sent: u64,
    /// DATA_BLOCKED and STREAM_DATA_BLOCKED frames (RFC 9000 §19.12, §19.13).
    blocked_frames_sent: u64,
    /// Packets declared lost, and their octets.
    lost: [u64; 2],
}

impl Counts {
    fn of(stats: &ConnectionStats) -> Self {
        let (sent, received) = (&stats.frame_tx, &stats.frame_rx);
        Self {
            data_frames_sent: sent.stream,
            data_frames_received: received.stream,
            ack_eliciting_frames_sent: ack_eliciting(sent),
            blocked_frames_sent: sent.data_blocked + sent.stream_data_blocked,
            lost: stack_api::lost(stats),
        }
    }
}

/// An endpoint with one connection.
pub struct SimEndpoint {
    endpoint: proto::Endpoint,
    /// Only at the client, until it connects.
    client: Option<ClientConfig>,
    inner: Option<(ConnectionHandle, Box<proto::Connection>)>,
    /// The stack's instant at the start of the run.
    base: time::Instant,
    state: State,
    ecn: bool,
    send_stream: Option<StreamId>,
    receive_stream: Option<StreamId>,
    /// Data written by the application that the stack has not accepted yet.
    pending: Bytes,
    /// Small writes since data was last passed to the stack.
    collected: BytesMut,
    write_blocked: bool,
    /// BLOCKED frames sent when the stack last accepted data.
    blocked_frames_before: u64,
    /// The application has closed: the connection closes when all data has been acknowledged.
    closing: bool,
    /// The stack's responses to datagrams that belong to no connection.
    replies: VecDeque<Vec<u8>>,
    buffer: Vec<u8>,
    timeout: Option<Instant>,
    endpoint_events: VecDeque<EndpointEvent>,
    next_packet_id: u64,
    view: ControllerView,
    emitted: Option<WindowState>,
    /// The stack's counters after the last call of it that may change them.
    counts: Counts,
    /// Lost packets and their octets for which events were emitted.
    lost: [u64; 2],
    probe_timeouts: ProbeTimeouts,
    events: Events,
    statistics: Statistics,
}

impl SimEndpoint {
    /// An endpoint that opens a connection.
    ///
    /// # Errors
    /// [`Error::Tls`] if TLS cannot be set up.
    pub fn client(config: &SimConfig, seed: u64) -> Result<Self, Error> {
        let view = ControllerView::new();
        let client = config.client(&view)?;
        let mut rng = Rng::stream(seed, &format!("{}/client", stack_api::STACK));
        let endpoint = stack_api::endpoint(config.endpoint(&mut rng), None);
        Ok(Self::new(config, endpoint, Some(client), view))
    }

    /// An endpoint that accepts a connection.
    ///
    /// # Errors
    /// [`Error::Tls`] if TLS cannot be set up.
    pub fn server(config: &SimConfig, seed: u64) -> Result<Self, Error> {
        let view = ControllerView::new();
        let server = config.server(&view)?;
        let mut rng = Rng::stream(seed, &format!("{}/server", stack_api::STACK));
        let endpoint = stack_api::endpoint(config.endpoint(&mut rng), Some(server));
        Ok(Self::new(config, endpoint, None, view))
    }

    fn new(
        config: &SimConfig,
        endpoint: proto::Endpoint,
        client: Option<ClientConfig>,
        view: ControllerView,
    ) -> Self {
        Self {
            endpoint,
            client,
            inner: None,
            base: time::Instant::now(),
            state: State::Idle,
            ecn: config.ecn && config.algorithm.answers_marks(),
            send_stream: None,
            receive_stream: None,
            pending: Bytes::new(),
            collected: BytesMut::new(),
            write_blocked: false,
            blocked_frames_before: 0,
            closing: false,
            replies: VecDeque::new(),
            buffer: Vec::new(),
            timeout: None,
            endpoint_events: VecDeque::new(),
            next_packet_id: 0,
            view,
            emitted: None,
            counts: Counts::default(),
            lost: [0; 2],
            probe_timeouts: ProbeTimeouts::default(),
            events: Events::default(),
            statistics: Statistics::default(),
        }
    }

    /// Virtual time as the stack's instant.
    fn at(&self, now: Instant) -> time::Instant {
        self.base + time::Duration::from_nanos(now.as_nanos())
    }

    /// Reads the stack's counters.
    fn count(&mut self) {
        if let Some((_, connection)) = &mut self.inner {
            self.counts = Counts::of(&stack_api::stats(connection));
        }
    }

    fn set_state(&mut self, now: Instant, state: State) {
        self.state = state;
        let name = match state {
            State::Idle => "idle",
            State::Handshaking => "handshaking",
            State::Established => "established",
            State::Closed => "closed",
        };
        self.events
            .push(now, EventMask::STATE, || Event::State(name));
    }

    fn end(&mut self, now: Instant, reason: CloseReason) {
        if self.state != State::Closed {
            self.set_state(now, State::Closed);
            self.endpoint_events
                .push_back(EndpointEvent::Closed(reason));
        }
    }

    /// Processes the stack's events until there are none left, then updates the timer and the
    /// trace.
    fn process_events(&mut self, now: Instant) {
        while let Some((handle, connection)) = &mut self.inner {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(answer);
                }
            }
            let Some(event) = connection.poll() else {
                break;
            };
            self.on_event(now, event);
        }
        self.count();
        self.update_timeout(now);
        self.emit_losses(now);
        self.emit_controller_events(now);
    }

    /// Emits an event for each packet that the stack has declared lost since the last call. The
    /// octets are known only if there is one such packet.
    fn emit_losses(&mut self, now: Instant) {
        if self.inner.is_none() || !self.events.wants(EventMask::PACKET) {
            return;
        }
        let [packets, octets] = std::mem::replace(&mut self.lost, self.counts.lost);
        let lost = self.counts.lost[0] - packets;
        let size = match lost {
            1 => u32::try_from(self.counts.lost[1] - octets).unwrap_or_default(),
            _ => 0,
        };
        for _ in 0..lost {
            let event = || Event::LostUnnamed { size };
            self.events.push(now, EventMask::PACKET, event);
        }
    }

    fn update_timeout(&mut self, now: Instant) {
        let connection = self.inner.as_mut();
        let timeout = connection.and_then(|(_, connection)| connection.poll_timeout());
        // The stack's pacer may round a delay down to zero, but virtual time must advance.
        let next = now + Duration::from_nanos(1);
        self.timeout = timeout
            .map(|at| at.saturating_duration_since(self.base))
            .map(|elapsed| (Instant::ZERO + Duration::from(elapsed)).max(next));
    }

    fn smoothed_rtt(&self) -> Duration {
        match &self.inner {
            Some((_, connection)) if self.view.lock().has_rtt() => {
                stack_api::smoothed_rtt(connection).into()
            }
            _ => Duration::ZERO,
        }
    }

    fn emit_controller_events(&mut self, now: Instant) {
        if let Some(sample) = self.view.lock().new_rtt_sample.take() {
            self.events.push(now, EventMask::RTT, || Event::Rtt(sample));
        }
        if !self.events.wants(EventMask::CONTROLLER) || self.inner.is_none() {
            return;
        }
        let smoothed_rtt = self.smoothed_rtt();
        let window = self.view.lock().window(smoothed_rtt);
        if self.emitted != Some(window) {
            self.emitted = Some(window);
            self.events
                .push(now, EventMask::CONTROLLER, || Event::Window(window));
        }
    }

    fn on_event(&mut self, now: Instant, event: proto::Event) {
        match event {
            proto::Event::Connected => {
                self.set_state(now, State::Established);
                if let Some((_, connection)) = &mut self.inner {
                    self.send_stream = connection.streams().open(Dir::Uni);
                }
                self.endpoint_events.push_back(EndpointEvent::Connected);
            }
            proto::Event::ConnectionLost { reason } => self.end(now, close_reason(&reason)),
            proto::Event::Stream(event) => self.on_stream_event(now, &event),
            _ => {}
        }
    }

    fn on_stream_event(&mut self, now: Instant, event: &StreamEvent) {
        match event {
            StreamEvent::Opened { dir: Dir::Uni } => {
                if let Some((_, connection)) = &mut self.inner {
                    self.receive_stream = connection
                        .streams()
                        .accept(Dir::Uni)
                        .or(self.receive_stream);
                }
                self.endpoint_events.push_back(EndpointEvent::Readable);
            }
            StreamEvent::Readable { .. } => self.endpoint_events.push_back(EndpointEvent::Readable),
            StreamEvent::Writable { .. } => {
                self.write_pending();
                self.finish_if_done(now);
                if self.pending.is_empty() && std::mem::take(&mut self.write_blocked) {
                    self.endpoint_events.push_back(EndpointEvent::Writable);
                }
            }
            StreamEvent::Finished { .. } | StreamEvent::Stopped { .. } if self.closing => {
                self.close_connection(now);
            }
            _ => {}
        }
    }

    /// Passes collected small writes to the stack.
    fn write_collected(&mut self) {
        if !self.collected.is_empty() {
            self.pending = self.collected.split().freeze();
            self.write_pending();
        }
    }

    /// Passes pending data to the stack, as much as it accepts.
    fn write_pending(&mut self) {
        let (Some((_, connection)), Some(id)) = (&mut self.inner, self.send_stream) else {
            return;
        };
        while !self.pending.is_empty() {
            match stack_api::write(connection.send_stream(id), &mut self.pending) {
                Ok(()) => self.blocked_frames_before = self.counts.blocked_frames_sent,
                Err(proto::WriteError::Blocked) => return,
                // The stream was stopped.
                Err(_) => self.pending = Bytes::new(),
            }
        }
    }

    /// Finishes the stream, if the application has closed and the stack has accepted all data.
    fn finish_if_done(&mut self, now: Instant) {
        if self.pending.is_empty() {
            self.write_collected();
        }
        if !self.closing || !self.pending.is_empty() || self.state != State::Established {
            return;
        }
        let finished = match (&mut self.inner, self.send_stream) {
            (Some((_, connection)), Some(id)) => connection.send_stream(id).finish().is_ok(),
            _ => false,
        };
        if !finished {
            self.close_connection(now);
        }
    }

    fn close_connection(&mut self, now: Instant) {
        let at = self.at(now);
        if let Some((_, connection)) = &mut self.inner {
            connection.close(at, VarInt::from_u32(0), Bytes::new());
        }
        self.end(now, CloseReason::Finished);
    }

    /// Handles a datagram; true if it belongs to the connection or opens it.
    fn receive(&mut self, now: Instant, data: BytesMut, ecn: Option<EcnCodepoint>) -> bool {
        let at = self.at(now);
        self.buffer.clear();
        let datagram = (ecn, data);
        let event = stack_api::handle(&mut self.endpoint, at, datagram, &mut self.buffer);
        match event {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                let Some((_, connection)) = &mut self.inner else {
                    return false;
                };
                connection.handle_event(event);
                true
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.inner.is_none() => {
                let accepted = self.endpoint.accept(incoming, at, &mut self.buffer, None);
                match accepted {
                    Ok((handle, connection)) => {
                        self.inner = Some((handle, Box::new(connection)));
                        self.set_state(now, State::Handshaking);
                        true
                    }
                    Err(error) => {
                        if error.response.is_some() {
                            self.replies.push_back(std::mem::take(&mut self.buffer));
                        }
                        false
                    }
                }
            }
            // A second connection attempt of the peer.
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.endpoint.ignore(incoming);
                false
            }
            Some(DatagramEvent::Response(_)) => {
                self.replies.push_back(std::mem::take(&mut self.buffer));
                false
            }
            None => false,
        }
    }

    /// Creates a packet with this datagram; counts and traces it as sent.
    fn packet(&mut self, now: Instant, ecn: Ecn, sent: (PacketContent, &[u8])) -> Packet {
        let (content, datagram) = sent;
        let id = self.next_packet_id;
        self.next_packet_id += 1;
        let payload = Payload::from_bytes(datagram);
        let size = payload.len();
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += u64::from(size);
        self.events.push(now, EventMask::PACKET, || Event::Sent {
            number: id,
            size,
            content,
            packet_type: packet_type(datagram),
        });
        Packet {
            id,
            flow: FlowId::default(),
            ip: IpHeader {
                ecn,
                ttl: IpHeader::DEFAULT_TTL,
                ..IpHeader::default()
            },
            size: size + LOWER_OCTETS,
            damaged_at: None,
            transit: Transit::default(),
            number: Some(TraceNumber::new(id)),
            body: Body::Other(payload),
        }
    }

    /// Writes the connection's next datagram into the buffer; returns its ECN codepoint and its
    /// content, in which retransmitted data is not identified.
    fn next_datagram(&mut self, now: Instant) -> Option<(Ecn, PacketContent)> {
        let at = self.at(now);
        let before = self.counts;
        self.buffer.clear();
        let (_, connection) = self.inner.as_mut()?;
        let mut view = self.view.lock();
        view.reset_queries();
        view.settle(now);
        drop(view);
        let transmit = stack_api::poll_transmit(connection, at, &mut self.buffer)?;
        // Before the counters, for which quinn asks for the window too.
        let bound = self.view.lock().stack_bound();
        self.count();
        let has_data = self.counts.data_frames_sent > before.data_frames_sent;
        let elicits = self.counts.ack_eliciting_frames_sent > before.ack_eliciting_frames_sent;
        self.statistics.data_packets_sent += u64::from(has_data);
        // An ECN mark on any packet may start a recovery period.
        self.statistics.control_packets_sent += u64::from(!has_data);
        if elicits {
            self.view.lock().add_in_flight(self.buffer.len() as u64);
            if bound == SendBound::NoData {
                self.on_probe(now);
            }
        }
        let ecn = transmit.ecn.filter(|_| self.ecn);
        let content = match (has_data, elicits) {
            (true, _) => PacketContent::Data,
            (false, true) => PacketContent::Control,
            (false, false) => PacketContent::Acknowledgement,
        };
        Some((Ecn::from_bits(ecn.map_or(0, |ecn| ecn as u8)), content))
    }
}

/// The type of a datagram's first packet, from its first octet (RFC 9000 §17.2, §17.3).
fn packet_type(datagram: &[u8]) -> PacketType {
    match datagram.first() {
        Some(first) if first & 0x80 == 0 => PacketType::OneRtt,
        Some(first) if first & 0x30 == 0 => PacketType::Initial,
        Some(first) if first & 0x30 == 0x20 => PacketType::Handshake,
        // 0-RTT, Retry and Version Negotiation.
        _ => PacketType::None,
    }
}

/// The number of ack-eliciting frames (RFC 9000 §13.2.1), of the kinds that occur here.
fn ack_eliciting(frames: &FrameStats) -> u64 {
    frames.crypto
        + frames.data_blocked
        + frames.max_data
        + frames.max_stream_data
        + frames.max_streams_bidi
        + frames.max_streams_uni
        + frames.new_connection_id
        + frames.ping
        + frames.retire_connection_id
        + frames.stream_data_blocked
        + frames.stream
        + frames.ack_frequency
        + frames.immediate_ack
        + u64::from(frames.handshake_done)
}

fn close_reason(error: &ConnectionError) -> CloseReason {
    match error {
        ConnectionError::ApplicationClosed(close) if close.error_code.into_inner() == 0 => {
            CloseReason::Finished
        }
        ConnectionError::ApplicationClosed(close) => {
            CloseReason::Reset(close.error_code.into_inner())
        }
        ConnectionError::ConnectionClosed(close) => CloseReason::Reset(close.error_code.into()),
        ConnectionError::TransportError(error) => CloseReason::Reset(error.code.into()),
        ConnectionError::LocallyClosed => CloseReason::Finished,
        ConnectionError::TimedOut => CloseReason::TimedOut,
        ConnectionError::Reset
        | ConnectionError::VersionMismatch
        | ConnectionError::CidsExhausted => CloseReason::Reset(0),
    }
}

impl std::fmt::Debug for SimEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SimEndpoint")
            .field("state", &self.state)
            .field("cwnd", &self.view.window())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
