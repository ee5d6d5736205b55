//! One end of a connection: processing packets ([`receive`]), acknowledgements and the loss timer
//! ([`recovery`]), and building packets ([`transmit`]).

mod datagram;
mod media;
mod path;
mod receive;
mod recovery;
mod stream_data;
mod transmit;

#[cfg(test)]
mod pair;
#[cfg(test)]
mod tests;

use super::ack::ReceivedPackets;
use super::config::{Config, Handshake, NewPath};
use super::datagrams::Datagrams;
use super::error::TransportError;
use super::loss::{LostPacket, PROBE_TIMEOUT, SentPackets};
use super::media::Media;
use super::streams::{Role, Streams};
use super::wire::{EcnCounts, Frame, FrameBuffers, PacketNumber, SpaceId};
use crate::cc::rtt::RttEstimator;
use crate::cc::window::BoxedController;
use crate::cc::{DeliveryRateSampler, Needs, Pacer, WindowControllerExt as _};
use crate::endpoint::{
    CloseReason, CountedFrom, Endpoint, EndpointEvent, MediaTarget, Statistics, WriteError,
};
use crate::event::{Event, EventMask, Events, Limit};
use crate::packet::{Body, HostId, Packet, Payload};
use crate::time::{Duration, Instant, earliest};
use std::collections::VecDeque;

/// The state of a connection (for its termination RFC 9000 §10.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A client before `connect`, or a server before the first packet.
    Idle,
    /// A client that waits for the server's Initial packet.
    Handshaking,
    /// Data can be sent.
    Established,
    /// This end has closed; it answers packets with CONNECTION_CLOSE until this time.
    Closing(Instant),
    /// The peer has closed; this end sends nothing.
    Draining,
    /// The connection has ended.
    Closed,
}

/// A packet-number space (RFC 9000 §12.3).
#[derive(Debug)]
struct PacketSpace {
    sent: SentPackets,
    received: ReceivedPackets,
}

/// The packet-number spaces of a connection.
#[derive(Debug)]
struct Spaces {
    /// The Initial space, until it is discarded (RFC 9002 §6.4).
    initial: Option<Box<PacketSpace>>,
    data: PacketSpace,
}

impl Spaces {
    /// The space with this id. The Initial space is not requested once it is discarded, because its
    /// packets are neither accepted nor sent then.
    #[inline]
    fn of(&mut self, id: SpaceId) -> &mut PacketSpace {
        match (id, &mut self.initial) {
            (SpaceId::Initial, Some(initial)) => initial,
            _ => &mut self.data,
        }
    }
}

/// Octets received and sent before the client's address is validated (RFC 9000 §8.1).
#[derive(Clone, Copy, Debug, Default)]
struct AmplificationBudget {
    received: u64,
    sent: u64,
}

impl AmplificationBudget {
    /// Octets that may still be sent: three times the octets received, less those sent.
    const fn left(self) -> u64 {
        (3 * self.received).saturating_sub(self.sent)
    }
}

/// The fields of CONNECTION_CLOSE.
#[derive(Clone, Copy, Debug, Default)]
struct CloseFrame {
    code: u64,
    by_application: bool,
}

/// One end of a QUIC connection.
pub struct Connection {
    config: Config,
    /// Octets of a full datagram.
    datagram_size: u32,
    role: Role,
    state: State,
    spaces: Spaces,
    /// The handshake message must be sent.
    crypto_due: bool,
    /// ACK_FREQUENCY must be sent, with the next data.
    ack_frequency_due: bool,
    /// Address validation (RFC 9000 §8.1); `None` once the peer's address is validated.
    amplification: Option<AmplificationBudget>,
    path: path::Path,
    streams: Streams,
    datagrams: Datagrams,
    media: Option<Box<Media>>,
    controller: BoxedController,
    /// The services that the controller needs.
    needs: Needs,
    rtt: RttEstimator,
    bytes_in_flight: u64,
    /// Octets delivered and lost, and the delivery rate.
    sampler: DeliveryRateSampler,
    pacer: Pacer,
    /// When the pacer releases the next packet, if it holds one back.
    paced_until: Option<Instant>,
    /// One packet may leave beyond the window at the start of recovery.
    recovery_probe: bool,
    /// Sending last stopped for lack of data.
    app_limited: bool,
    /// The window or the octets in flight have changed since they were last reported.
    window_changed: bool,
    pto_count: u32,
    probes_due: u8,
    /// No packet leaves before the next input: the last packet was an acknowledgement, and nothing
    /// else can be sent (see `rests`).
    quiet: bool,
    /// Loss events count only for packets sent from this time on.
    counted_from: Instant,
    /// The last ECN counts of the peer; `None` once ECN validation failed (RFC 9000 §13.4.2).
    peer_ecn: Option<EcnCounts>,
    /// The peer has acknowledged a packet: the path does not drop all ECN-capable packets.
    path_takes_ecn: bool,
    /// The packet that was last declared lost.
    last_lost: Option<PacketNumber>,
    /// Lost packets of this recovery period that may be spurious losses.
    spurious_candidates: Vec<PacketNumber>,
    idle_since: Instant,
    close_frame: CloseFrame,
    close_due: bool,
    /// The application has closed; the connection closes once all data is acknowledged.
    closing: bool,
    write_blocked: bool,
    readable_told: bool,
    frame_buffers: FrameBuffers,
    endpoint_events: VecDeque<EndpointEvent>,
    next_id: u64,
    events: Events,
    statistics: Statistics,
    /// Numbers that the acknowledgement in progress acknowledges for the first time.
    acked: Vec<PacketNumber>,
    lost: Vec<LostPacket>,
}

impl Connection {
    /// The client.
    pub fn client(config: Config) -> Self {
        Self::new(config, Role::Client)
    }

    /// The server, which listens from the start.
    pub fn server(config: Config) -> Self {
        let mut server = Self::new(config, Role::Server);
        if server.config.handshake == Handshake::Established {
            server.state = State::Established;
            server.endpoint_events.push_back(EndpointEvent::Connected);
        }
        server
    }

    fn new(config: Config, role: Role) -> Self {
        let config = config.normalised();
        let has_initial = config.handshake == Handshake::OneRtt;
        let controller = (config.controller.make)(&config.window());
        let space = |never_delay| PacketSpace {
            sent: SentPackets::new(config.packet_threshold),
            received: ReceivedPackets::new(config.ack, never_delay),
        };
        let mut data = space(false);
        let media = config.media.clone();
        if let Some(media) = &media {
            data.received.report_arrivals(media.timestamps());
        }
        Self {
            datagram_size: config.datagram_size(),
            role,
            state: State::Idle,
            spaces: Spaces {
                initial: has_initial.then(|| Box::new(space(true))),
                data,
            },
            crypto_due: false,
            ack_frequency_due: config.ack_frequency.is_some(),
            amplification: (role == Role::Server && has_initial).then(AmplificationBudget::default),
            path: path::Path::default(),
            streams: Streams::new(role, config.flow_control),
            datagrams: Datagrams::new(config.datagrams),
            media: media.map(|media| Box::new(Media::new(media))),
            needs: controller.needs(),
            controller,
            rtt: RttEstimator::default(),
            bytes_in_flight: 0,
            sampler: DeliveryRateSampler::default(),
            pacer: Pacer::default(),
            paced_until: None,
            recovery_probe: false,
            app_limited: false,
            window_changed: false,
            pto_count: 0,
            probes_due: 0,
            quiet: false,
            counted_from: Instant::ZERO,
            peer_ecn: Some(EcnCounts::default()),
            path_takes_ecn: false,
            last_lost: None,
            spurious_candidates: Vec::new(),
            idle_since: Instant::ZERO,
            close_frame: CloseFrame::default(),
            close_due: false,
            closing: false,
            write_blocked: false,
            readable_told: false,
            frame_buffers: FrameBuffers::default(),
            endpoint_events: VecDeque::new(),
            next_id: 0,
            events: Events::default(),
            statistics: Statistics::default(),
            acked: Vec::new(),
            lost: Vec::new(),
            config,
        }
    }

    fn enter(&mut self, now: Instant, state: State) {
        self.state = state;
        let name = match state {
            State::Idle => "idle",
            State::Handshaking => "handshaking",
            State::Established => "established",
            State::Closing(_) => "closing",
            State::Draining => "draining",
            State::Closed => "closed",
        };
        self.events
            .push(now, EventMask::STATE, || Event::State(name));
    }

    fn establish(&mut self, now: Instant) {
        self.enter(now, State::Established);
        self.endpoint_events.push_back(EndpointEvent::Connected);
    }

    /// Sends CONNECTION_CLOSE and stays in the closing state for three probe timeouts (RFC 9000
    /// §10.2).
    fn close_with(&mut self, now: Instant, close_frame: CloseFrame, reason: CloseReason) {
        self.close_frame = close_frame;
        self.close_due = true;
        self.enter(now, State::Closing(now + self.probe_timeout() * 3));
        self.endpoint_events
            .push_back(EndpointEvent::Closed(reason));
    }

    fn fail(&mut self, now: Instant, error: TransportError) {
        let close_frame = CloseFrame {
            code: error.code,
            by_application: false,
        };
        self.close_with(now, close_frame, CloseReason::Reset(error.code));
    }

    /// Closes once the application has closed and all data is acknowledged.
    fn close_if_done(&mut self, now: Instant) {
        let all_sent = self.streams.all_sent() && self.datagrams.is_empty();
        if self.closing && self.state == State::Established && all_sent {
            let close_frame = CloseFrame {
                code: 0,
                by_application: true,
            };
            self.close_with(now, close_frame, CloseReason::Finished);
        }
    }

    fn end(&mut self, now: Instant, reason: CloseReason) {
        self.enter(now, State::Closed);
        self.endpoint_events
            .push_back(EndpointEvent::Closed(reason));
    }

    /// PTO without backoff (RFC 9002 §6.2.1).
    fn probe_timeout(&self) -> Duration {
        self.rtt.timeout(&PROBE_TIMEOUT, 0) + self.peer_max_ack_delay()
    }

    /// Reports the window, if it or the octets in flight have changed, and the bound. Called when
    /// no further packet leaves now, so that the octets in flight are those after the window was
    /// filled again.
    #[inline]
    fn report_state(&mut self, now: Instant) {
        let watched = self.events.wants(EventMask::WHEN_QUIET);
        if std::mem::take(&mut self.window_changed) && watched {
            self.emit_window(now);
        }
        if watched {
            let hold = self.sampler.hold();
            let bound = match self.bound() {
                bound if self.media_ignores_window() => bound,
                bound => self.controller.bound_behind(bound, hold),
            };
            self.sampler.on_bound(now, bound, self.bytes_in_flight);
            self.events.block(now, bound);
        }
    }

    #[inline]
    fn emit_window(&mut self, now: Instant) {
        // The reports of a controller of media emit its state instead.
        let by_media = self
            .media
            .as_deref()
            .is_some_and(|media| media.sender().is_some());
        if !self.events.wants(EventMask::CONTROLLER) || by_media {
            return;
        }
        let by_credit = self.app_limited && self.streams.is_blocked();
        self.emit_window_limited_by(now, by_credit.then_some(Limit::FlowControl));
    }

    /// Emits the window with this limit, or with the one that the controller reports.
    fn emit_window_limited_by(&mut self, now: Instant, limit: Option<Limit>) {
        let mut state =
            self.controller
                .snapshot(self.bytes_in_flight, self.rtt.get(), self.sampler.hold());
        state.delivered = Some(self.sampler.delivered());
        state.receive_window = Some(self.streams.receive_window());
        state.limit = limit.unwrap_or(state.limit);
        self.events
            .push(now, EventMask::CONTROLLER, || Event::Window(state));
    }

    fn idle_deadline(&self) -> Option<Instant> {
        // RFC 9000 §10.1: at least three probe timeouts, so that losses can be recovered.
        let timeout = self.config.idle_timeout?.max(self.probe_timeout() * 3);
        matches!(self.state, State::Handshaking | State::Established)
            .then(|| self.idle_since + timeout)
    }
}

impl Endpoint for Connection {
    #[inline]
    fn handle(&mut self, now: Instant, packet: &mut Packet) {
        if packet.damaged_at.is_some() {
            // RFC 9001 §5.5: a damaged packet fails authentication and is discarded.
            return;
        }
        if let Body::Quic(quic) = &packet.body {
            self.quiet = false;
            let size = packet.size.saturating_sub(Self::LOWER_OCTETS);
            self.receive(now, quic, size, packet.ip.ecn);
            self.on_source(now, quic, size, &packet.ip);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.quiet = false;
        match self.state {
            State::Closing(until) if until <= now => self.enter(now, State::Closed),
            State::Handshaking | State::Established => {
                if self.idle_deadline().is_some_and(|at| at <= now) {
                    self.end(now, CloseReason::TimedOut);
                } else if self.loss_timer().is_some_and(|at| at <= now) {
                    self.on_loss_timer(now);
                }
                if self.path.deadline().is_some_and(|at| at <= now) {
                    self.on_path_timer(now);
                }
                if self.media_deadline().is_some_and(|at| at <= now) {
                    self.on_media_timer(now);
                }
                self.paced_until.take_if(|at| *at <= now);
            }
            _ => {}
        }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if !self.quiet
            && let Some(plan) = self.next_packet(now)
        {
            return Some(self.build(now, plan));
        }
        self.report_state(now);
        None
    }

    #[inline]
    fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Closing(until) => Some(until),
            State::Handshaking | State::Established => {
                let initial = self.spaces.initial.as_deref();
                // An acknowledgement that the limit holds back leaves with the next packet of the
                // peer, which raises the limit.
                let limited = self.amplification.is_some() && self.is_amplification_limited();
                let data = (!limited).then(|| self.spaces.data.received.deadline());
                let deadlines = [
                    initial.and_then(|space| space.received.deadline()),
                    data.flatten(),
                    self.loss_timer(),
                    self.idle_deadline(),
                    self.paced_until,
                    self.path.deadline(),
                    self.media_deadline(),
                ];
                earliest(&deadlines)
            }
            State::Idle | State::Draining | State::Closed => None,
        }
    }

    fn events(&mut self) -> Option<&mut Events> {
        Some(&mut self.events)
    }

    fn connect(&mut self, now: Instant) {
        if self.role != Role::Client || self.state != State::Idle {
            return;
        }
        self.idle_since = now;
        self.quiet = false;
        match self.config.handshake {
            Handshake::Established => self.establish(now),
            Handshake::OneRtt => {
                self.enter(now, State::Handshaking);
                self.crypto_due = true;
            }
        }
    }

    fn close(&mut self, now: Instant) {
        self.quiet = false;
        match self.state {
            State::Established => {
                self.closing = true;
                self.streams.finish();
                self.close_if_done(now);
            }
            State::Idle | State::Handshaking => self.end(now, CloseReason::Finished),
            State::Closing(_) | State::Draining | State::Closed => {}
        }
    }

    fn write(&mut self, now: Instant, data: Payload) -> Result<(), WriteError> {
        if self.config.datagrams.carry_writes {
            return self.send_datagram(now, data);
        }
        if self.closing {
            return Err(WriteError::Closed);
        }
        match self.state {
            State::Established if self.streams.unsent() < self.config.send_queue_limit => {}
            State::Established => {
                self.write_blocked = true;
                return Err(WriteError::Blocked);
            }
            State::Handshaking => return Err(WriteError::Blocked),
            _ => return Err(WriteError::Closed),
        }
        let len = data.len();
        self.quiet = false;
        self.streams
            .write(self.streams.first_local_id(), u64::from(len));
        self.events
            .push(now, EventMask::WRITE, || Event::Write(len));
        Ok(())
    }

    #[inline]
    fn read(&mut self, _now: Instant) -> Option<Payload> {
        if self.config.datagrams.carry_writes {
            let data = self.recv_datagram();
            self.readable_told &= data.is_some();
            return data;
        }
        let octets = self.streams.read(u64::from(u32::MAX));
        if octets == 0 {
            self.readable_told = false;
            return None;
        }
        self.quiet = false;
        Some(Payload::of_len(octets as u32))
    }

    #[inline]
    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.endpoint_events.pop_front()
    }

    #[inline]
    fn has_event(&self) -> bool {
        !self.endpoint_events.is_empty()
    }

    fn transmitted(&mut self, _now: Instant, _packet_id: u64) {}

    fn statistics(&self) -> Statistics {
        Statistics {
            smoothed_rtt: self.rtt.get().smoothed,
            ..self.statistics
        }
    }

    fn count_loss_events_from(&mut self, from: CountedFrom) {
        self.counted_from = from.at;
    }

    fn media_target(&self) -> Option<MediaTarget> {
        let sender = self.media.as_deref()?.sender()?;
        let buffered_bytes = self.datagrams.waiting_bytes();
        Some(MediaTarget {
            rate: sender.target_rate(buffered_bytes),
            buffered_bytes,
        })
    }

    fn change_address(&mut self, now: Instant) {
        self.move_to_new_address(now);
    }

    fn peer_host(&self) -> Option<HostId> {
        self.path.peer_host()
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("role", &self.role)
            .field("state", &self.state)
            .field("cwnd", &self.controller.window())
            .field("bytes_in_flight", &self.bytes_in_flight)
            .finish_non_exhaustive()
    }
}

/// True if the frame carries data of the application.
const fn is_application_data(frame: &Frame) -> bool {
    matches!(frame, Frame::Stream(_) | Frame::Datagram(_))
}
