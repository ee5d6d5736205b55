//! quinn's state machine as an endpoint of the simulator: a real QUIC implementation, with TLS,
//! beside the lean one of `weir-proto`.
//!
//! quinn-proto does no input and output and reads no clock, so that it runs in virtual time: its
//! instants are one real instant, taken when the endpoint is made, and virtual time added to it.
//! By the seed, what quinn does and when is the same in every run. Octets are not, because TLS
//! draws its keys from the system; their number is.
//!
//! Data written goes into one unidirectional stream. Packets hold the real datagrams, encrypted.
//! A packet's number in traces is that of its datagram, since quinn's own are hidden from the
//! receiver; which packets quinn declares lost it does not tell either, only how many.

mod node;

use super::identity;
use super::observed::SharedControllerState;
use super::path_controller::span;
use super::sim_config::SimConfig;
use crate::error::Error;
use bytes::{Bytes, BytesMut};
use quinn_proto::{
    self as proto, ClientConfig, ConnectionError, ConnectionHandle, DatagramEvent, Dir,
    EcnCodepoint, FrameStats, StreamEvent, StreamId, VarInt,
};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time;
use weir_proto::endpoint::{CloseReason, EndpointEvent, Statistics};
use weir_proto::event::{Event, EventMask, Events, WindowState};
use weir_proto::packet::{Body, Ecn, FlowId, IpHeader, Packet, Payload};
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// Octets of IP and UDP headers.
const LOWER_OCTETS: u32 = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
/// What is written when the content does not matter.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
/// Where the peer is; quinn wants an address, the simulator has its own.
const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Handshaking,
    Established,
    Closed,
}

/// One end of one connection.
pub struct SimEndpoint {
    endpoint: proto::Endpoint,
    /// At the end that connects.
    client: Option<ClientConfig>,
    inner: Option<(ConnectionHandle, Box<proto::Connection>)>,
    /// quinn's instant at the start of the run.
    base: time::Instant,
    state: State,
    ecn: bool,
    outgoing: Option<StreamId>,
    incoming: Option<StreamId>,
    /// Written by the application, not yet taken by quinn.
    pending: Bytes,
    write_blocked: bool,
    /// The application closes once everything has arrived.
    closing: bool,
    /// Datagrams that belong to no connection.
    replies: VecDeque<Vec<u8>>,
    buffer: Vec<u8>,
    timeout: Option<Instant>,
    news: VecDeque<EndpointEvent>,
    next_id: u64,
    view: SharedControllerState,
    told: Option<WindowState>,
    events: Events,
    statistics: Statistics,
}

impl SimEndpoint {
    /// The end that connects.
    ///
    /// # Errors
    /// [`Error::Tls`] if TLS cannot be set up.
    pub fn client(config: &SimConfig, seed: u64) -> Result<Self, Error> {
        let view = SharedControllerState::new();
        let client = config.client(&view)?;
        let mut rng = Rng::stream(seed, "quinn/client");
        let endpoint = config.endpoint(&mut rng);
        let endpoint = proto::Endpoint::new(Arc::new(endpoint), None, false, None);
        Ok(Self::new(config, endpoint, Some(client), view))
    }

    /// The end that is connected to; it listens from the start.
    ///
    /// # Errors
    /// [`Error::Tls`] if TLS cannot be set up.
    pub fn server(config: &SimConfig, seed: u64) -> Result<Self, Error> {
        let view = SharedControllerState::new();
        let server = config.server(&view)?;
        let mut rng = Rng::stream(seed, "quinn/server");
        let endpoint = config.endpoint(&mut rng);
        let server = Some(Arc::new(server));
        let endpoint = proto::Endpoint::new(Arc::new(endpoint), server, false, None);
        Ok(Self::new(config, endpoint, None, view))
    }

    fn new(
        config: &SimConfig,
        endpoint: proto::Endpoint,
        client: Option<ClientConfig>,
        view: SharedControllerState,
    ) -> Self {
        Self {
            endpoint,
            client,
            inner: None,
            base: time::Instant::now(),
            state: State::Idle,
            ecn: config.ecn,
            outgoing: None,
            incoming: None,
            pending: Bytes::new(),
            write_blocked: false,
            closing: false,
            replies: VecDeque::new(),
            buffer: Vec::new(),
            timeout: None,
            news: VecDeque::new(),
            next_id: 0,
            view,
            told: None,
            events: Events::default(),
            statistics: Statistics::default(),
        }
    }

    /// quinn's time.
    fn at(&self, now: Instant) -> time::Instant {
        self.base + time::Duration::from_nanos(now.as_nanos())
    }

    fn frames(&self) -> (FrameStats, FrameStats) {
        self.inner
            .as_ref()
            .map(|(_, connection)| connection.stats())
            .map(|stats| (stats.frame_tx, stats.frame_rx))
            .unwrap_or_default()
    }

    fn enter(&mut self, now: Instant, state: State) {
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
            self.enter(now, State::Closed);
            self.news.push_back(EndpointEvent::Closed(reason));
        }
    }

    /// Moves what quinn has to say, until it is silent; then looks at its timer and window.
    fn settle(&mut self, now: Instant) {
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
        self.look_at_timer(now);
        self.look_at_controller(now);
    }

    fn look_at_timer(&mut self, now: Instant) {
        let connection = self.inner.as_mut();
        let timeout = connection.and_then(|(_, connection)| connection.poll_timeout());
        // The pacer may round a wait down to none at all: virtual time must advance.
        let next = now + Duration::from_nanos(1);
        self.timeout = timeout
            .map(|at| (Instant::ZERO + span(at.saturating_duration_since(self.base))).max(next));
    }

    fn smoothed_rtt(&self) -> Duration {
        match &self.inner {
            Some((_, connection)) if !self.view.lock().latest_rtt.is_zero() => {
                span(connection.rtt())
            }
            _ => Duration::ZERO,
        }
    }

    fn look_at_controller(&mut self, now: Instant) {
        if let Some(sample) = self.view.lock().fresh_rtt.take() {
            self.events.push(now, EventMask::RTT, || Event::Rtt(sample));
        }
        if !self.events.wants(EventMask::CONTROLLER) || self.inner.is_none() {
            return;
        }
        let smoothed_rtt = self.smoothed_rtt();
        let view = self.view.lock();
        let state = view.window(smoothed_rtt);
        drop(view);
        if self.told != Some(state) {
            self.told = Some(state);
            self.events
                .push(now, EventMask::CONTROLLER, || Event::Window(state));
        }
    }

    fn on_event(&mut self, now: Instant, event: proto::Event) {
        match event {
            proto::Event::Connected => {
                self.enter(now, State::Established);
                if let Some((_, connection)) = &mut self.inner {
                    self.outgoing = connection.streams().open(Dir::Uni);
                }
                self.news.push_back(EndpointEvent::Connected);
            }
            proto::Event::ConnectionLost { reason } => self.end(now, reason_of(&reason)),
            proto::Event::Stream(event) => self.on_stream_event(now, &event),
            proto::Event::HandshakeDataReady
            | proto::Event::DatagramReceived
            | proto::Event::DatagramsUnblocked => {}
        }
    }

    fn on_stream_event(&mut self, now: Instant, event: &StreamEvent) {
        match event {
            StreamEvent::Opened { dir: Dir::Uni } => {
                if let Some((_, connection)) = &mut self.inner {
                    self.incoming = connection.streams().accept(Dir::Uni).or(self.incoming);
                }
                self.news.push_back(EndpointEvent::Readable);
            }
            StreamEvent::Readable { .. } => self.news.push_back(EndpointEvent::Readable),
            StreamEvent::Writable { .. } => {
                self.hand_over();
                self.finish_if_done(now);
                if self.pending.is_empty() && std::mem::take(&mut self.write_blocked) {
                    self.news.push_back(EndpointEvent::Writable);
                }
            }
            StreamEvent::Finished { .. } | StreamEvent::Stopped { .. } if self.closing => {
                self.say_farewell(now);
            }
            _ => {}
        }
    }

    /// Gives quinn what it takes of the data that waits.
    fn hand_over(&mut self) {
        let (Some((_, connection)), Some(id)) = (&mut self.inner, self.outgoing) else {
            return;
        };
        while !self.pending.is_empty() {
            let chunks = &mut [std::mem::take(&mut self.pending)];
            let result = connection.send_stream(id).write_chunks(chunks);
            let [rest] = chunks;
            self.pending = std::mem::take(rest);
            match result {
                Ok(_) => {}
                Err(proto::WriteError::Blocked) => return,
                // The stream takes nothing any more.
                Err(_) => self.pending = Bytes::new(),
            }
        }
    }

    /// The end of the stream, once the application closes and quinn has all of its data.
    fn finish_if_done(&mut self, now: Instant) {
        if !self.closing || !self.pending.is_empty() || self.state != State::Established {
            return;
        }
        let finished = match (&mut self.inner, self.outgoing) {
            (Some((_, connection)), Some(id)) => connection.send_stream(id).finish().is_ok(),
            _ => false,
        };
        if !finished {
            self.say_farewell(now);
        }
    }

    fn say_farewell(&mut self, now: Instant) {
        let at = self.at(now);
        if let Some((_, connection)) = &mut self.inner {
            connection.close(at, VarInt::from_u32(0), Bytes::new());
        }
        self.end(now, CloseReason::Finished);
    }

    /// A datagram for the connection, or one that begins it. False if it belongs to nobody.
    fn receive(&mut self, now: Instant, data: BytesMut, ecn: Option<EcnCodepoint>) -> bool {
        let at = self.at(now);
        self.buffer.clear();
        let event = self
            .endpoint
            .handle(at, PEER, None, ecn, data, &mut self.buffer);
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
                        self.enter(now, State::Handshaking);
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
            // A second attempt of the same peer: its first connection is the one that counts.
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

    fn packet(&mut self, now: Instant, ecn: Ecn, datagram: &[u8]) -> Packet {
        let id = self.next_id;
        self.next_id += 1;
        let payload = Payload::from_bytes(datagram);
        let size = payload.len();
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += u64::from(size);
        self.events
            .push(now, EventMask::PACKET, || Event::Sent { number: id, size });
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
            body: Body::Other(payload),
        }
    }

    /// The next datagram of the connection, left in the buffer.
    fn next_datagram(&mut self, now: Instant) -> Option<Ecn> {
        let at = self.at(now);
        let before = self.frames().0;
        self.buffer.clear();
        let (_, connection) = self.inner.as_mut()?;
        let transmit = connection.poll_transmit(at, 1, &mut self.buffer)?;
        let after = self.frames().0;
        self.statistics.data_packets_sent += u64::from(after.stream > before.stream);
        if eliciting(&after) > eliciting(&before) {
            self.view.lock().bytes_in_flight += self.buffer.len() as u64;
        }
        Some(match transmit.ecn {
            Some(EcnCodepoint::Ect0) if self.ecn => Ecn::Ect0,
            Some(EcnCodepoint::Ect1) if self.ecn => Ecn::Ect1,
            _ => Ecn::NotEct,
        })
    }
}

/// Frames that ask for an acknowledgement (RFC 9000 §13.2.1), of the kinds that occur here.
fn eliciting(frames: &FrameStats) -> u64 {
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

fn reason_of(error: &ConnectionError) -> CloseReason {
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
            .field("cwnd", &self.view.lock().cwnd)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
