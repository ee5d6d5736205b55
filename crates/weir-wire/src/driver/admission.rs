//! Packets that belong to no connection (RFC 4340 §8.5 step 2): Requests, acknowledgements that
//! return a cookie, and packets that are answered with a Reset.
//!
//! While few handshakes are in progress, a Request creates a connection. From
//! `EndpointConfig::cookie_threshold` handshakes on, the listener answers from a state machine that
//! it does not keep, and recreates it when the client returns the cookie (see [`crate::cookie`]).
//! Until its address is validated, a client is sent at most one packet for each of its own, of at
//! most three times the octets, and none by a timer.

use super::EndpointDriver;
use super::received::ReceivedPacket;
use crate::config::{EndpointConfig, random_iss};
use crate::connection::Connection;
use crate::connection_key::ConnectionKey;
use crate::cookie::{CookieClient, CookieKeys, HandshakeState, cookie_in};
use crate::encapsulation::Encapsulation;
use crate::error::Error;
use crate::limits::{AmplificationBudget, source_prefix};
use crate::send_queue::Destination;
use tokio::sync::mpsc;
use weir_proto::dccp;
use weir_proto::dccp::wire::{self, PacketType, SeqNum, Subheader};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, IpHeader, Packet};
use weir_proto::time::Instant;

/// Reset codes (RFC 4340 §5.6).
mod reset_code {
    pub(super) const NO_CONNECTION: u8 = 3;
    pub(super) const CONNECTION_REFUSED: u8 = 7;
    pub(super) const BAD_SERVICE_CODE: u8 = 8;
    pub(super) const TOO_BUSY: u8 = 9;
    pub(super) const BAD_INIT_COOKIE: u8 = 10;
}

/// The part of a driver that accepts connections.
pub(super) struct Acceptor {
    config: EndpointConfig,
    /// The destination of established connections.
    pub(super) sink: mpsc::Sender<Connection>,
    cookies: CookieKeys,
    /// The options of the last Request that was answered without state, and its answer.
    cached_answer: Option<(wire::Options, wire::Packet)>,
}

/// The decision on a packet that belongs to no connection.
enum Admission {
    Ignore,
    /// Answer with a Reset of this code.
    Reset(u8),
    /// Create a connection.
    Accept,
    /// Answer with an Init Cookie and keep no state.
    SendCookie,
    /// Create a connection from this cookie.
    AcceptCookie(Vec<u8>),
}

impl Acceptor {
    /// # Errors
    /// [`Error::Randomness`].
    pub(super) fn new(
        config: &EndpointConfig,
        sink: mpsc::Sender<Connection>,
        now: Instant,
    ) -> Result<Self, Error> {
        Ok(Self {
            config: config.clone(),
            sink,
            cookies: CookieKeys::new(now)?,
            cached_answer: None,
        })
    }

    /// A state machine that listens for this peer.
    fn machine(&self, key: ConnectionKey, iss: SeqNum) -> dccp::Connection {
        let overhead = self.config.encapsulation.overhead(key.peer);
        let mut config = self.config.dccp(overhead, iss);
        (config.local_port, config.remote_port) = (key.local_port, key.peer_port);
        dccp::Connection::server(config)
    }

    fn cookie_client(&self, key: ConnectionKey) -> CookieClient {
        CookieClient {
            key,
            service_code: self.config.service_code,
        }
    }

    /// A state machine's answer to a Request. The Requests of a flood have the same options, so
    /// that their answers differ only in numbers and ports: the last answer is cached.
    fn answer(
        &mut self,
        now: Instant,
        request: ReceivedPacket,
        iss: SeqNum,
    ) -> Option<wire::Packet> {
        let body = request.body()?;
        let isr = body.seq;
        if let Some((options, answer)) = &self.cached_answer
            && *options == body.options
        {
            let subheader = Subheader::AckService(isr, self.config.service_code);
            return Some(wire::Packet {
                source_port: request.key.local_port,
                destination_port: request.key.peer_port,
                seq: iss,
                subheader,
                ..answer.clone()
            });
        }
        let options = body.options.clone();
        let mut machine = self.machine(request.key, iss);
        machine.handle(now, &mut request.packet.clone());
        let Body::Dccp(answer) = machine.poll_transmit(now)?.body else {
            return None;
        };
        if answer.kind == PacketType::Response {
            self.cached_answer = Some((options, answer.clone()));
        }
        Some(answer)
    }
}

impl EndpointDriver {
    /// Handles a packet that belongs to no connection, or to one in handshake if the packet returns
    /// a cookie. Returns the key of the connection to which it belongs afterwards.
    pub(super) fn handle_unmatched(&mut self, packet: ReceivedPacket) -> Option<ConnectionKey> {
        match self.admission(&packet) {
            Admission::Ignore => None,
            Admission::Reset(code) => {
                self.send_reset(&packet, code);
                None
            }
            Admission::Accept => self.accept_request(packet),
            Admission::SendCookie => {
                self.send_cookie(packet);
                None
            }
            Admission::AcceptCookie(cookie) => self.accept_cookie(packet, &cookie),
        }
    }

    fn admission(&self, packet: &ReceivedPacket) -> Admission {
        let Some(body) = packet.body() else {
            return Admission::Ignore;
        };
        let acceptor = self.acceptor.as_ref();
        let acceptor = acceptor.filter(|a| a.config.dccp_port == body.destination_port);
        match (body.kind, acceptor) {
            (PacketType::Reset | PacketType::Listen, _) => Admission::Ignore,
            // A raw socket also receives packets for other processes, which answer them.
            (_, None) if self.encapsulation == Encapsulation::RawIp => Admission::Ignore,
            (PacketType::Request, None) => Admission::Reset(reset_code::CONNECTION_REFUSED),
            (PacketType::Request, Some(Acceptor { config, .. })) => {
                if body.service_code() != Some(config.service_code) {
                    Admission::Reset(reset_code::BAD_SERVICE_CODE)
                } else if !self.has_room(packet.key, config) {
                    Admission::Reset(reset_code::TOO_BUSY)
                } else if self.handshakes.len() >= config.cookie_threshold {
                    Admission::SendCookie
                } else {
                    Admission::Accept
                }
            }
            (_, Some(_)) => cookie_in(body).map_or(
                Admission::Reset(reset_code::NO_CONNECTION),
                Admission::AcceptCookie,
            ),
            (_, None) => Admission::Reset(reset_code::NO_CONNECTION),
        }
    }

    /// Records that a connection is in TIMEWAIT. It no longer counts for the limits, so that ended
    /// connections block no client; if as many are in TIMEWAIT as there may be connections, the
    /// oldest is removed.
    pub(super) fn enter_time_wait(&mut self, key: ConnectionKey) {
        let Some(state) = self.connections.get_mut(&key) else {
            return;
        };
        if std::mem::replace(&mut state.time_wait, true) {
            return;
        }
        self.count_off_source(key);
        self.time_wait.push_back(key);
        let most = self
            .acceptor
            .as_ref()
            .map_or(1, |acceptor| acceptor.config.max_connections);
        if self.time_wait.len() > most
            && let Some(&oldest) = self.time_wait.front()
        {
            self.remove(oldest);
        }
    }

    /// The number of connections that are neither in handshake nor in TIMEWAIT.
    fn established(&self) -> usize {
        let others = self.handshakes.len() + self.time_wait.len();
        self.connections.len().saturating_sub(others)
    }

    /// True if there is room for another connection. Connections in handshake do not count, since
    /// new ones replace them.
    fn has_room(&self, key: ConnectionKey, config: &EndpointConfig) -> bool {
        let source = source_prefix(key.peer.ip());
        let of_source = self.per_source.get(&source).copied().unwrap_or(0);
        of_source < config.max_connections_per_address
            && self.established() < config.max_connections
    }

    /// Answers with a Reset, if the limits permit.
    fn send_reset(&mut self, packet: &ReceivedPacket, code: u8) {
        let reset = packet.body().and_then(|body| body.refusal(code));
        if let Some(reset) = reset {
            let budget = packet.amplification_budget(self);
            self.send_unproven(budget, packet.reply_destination(), &reset);
        }
    }

    /// Queues a packet to an address that is not validated, if the budget and the limit of Resets
    /// permit; returns whether they do.
    fn send_unproven(
        &mut self,
        mut budget: AmplificationBudget,
        destination: Destination,
        packet: &wire::Packet,
    ) -> bool {
        let overhead = self.encapsulation.overhead(destination.peer);
        let octets = IpHeader::V4_OCTETS + overhead + packet.wire_len();
        let reset = packet.kind == PacketType::Reset;
        if !budget.take(octets) || (reset && !self.reset_limiter.take(self.clock.now())) {
            self.load.unanswered += 1;
            return false;
        }
        self.load.resets_sent += u64::from(reset);
        let pseudo = self.encapsulation.pseudo_header(&destination);
        self.send_queue.push(|out| {
            let encoded = packet.encode(pseudo.as_ref(), out);
            encoded.is_ok().then_some(destination)
        });
        true
    }

    /// Creates a connection for a Request. If there are too many handshakes, the oldest is removed
    /// without a Reset, since its Request may have been forged.
    fn accept_request(&mut self, packet: ReceivedPacket) -> Option<ConnectionKey> {
        let Acceptor { config, .. } = self.acceptor.as_ref()?;
        let max_handshakes = config.max_handshakes.max(1);
        let pending = self.handshakes.len();
        let full =
            pending >= max_handshakes || self.established() + pending >= config.max_connections;
        if full && let Some(oldest) = self.handshakes.pop_front() {
            self.remove(oldest);
        }
        self.insert_listening(packet.key, random_iss().ok()?)?;
        self.handshakes.push_back(packet.key);
        let queued = self.send_queue.len();
        let key = self.handle_matched(packet)?;
        if self.send_queue.len() == queued {
            // The answer exceeds the budget, so the handshake cannot continue.
            self.load.unanswered += 1;
            self.remove(key);
            return None;
        }
        Some(key)
    }

    /// Adds a connection in LISTEN.
    fn insert_listening(&mut self, key: ConnectionKey, iss: SeqNum) -> Option<()> {
        let acceptor = self.acceptor.as_ref()?;
        let machine = acceptor.machine(key, iss);
        let (mut state, connection) = self.new_connection(key, machine, &acceptor.config)?;
        state.pending_accept = Some(connection);
        state.amplification_budget = Some(AmplificationBudget::default());
        self.insert(key, state);
        Some(())
    }

    /// Answers a Request with an Init Cookie and keeps no state.
    fn send_cookie(&mut self, packet: ReceivedPacket) -> Option<()> {
        let now = self.clock.now();
        let (budget, destination) = (
            packet.amplification_budget(self),
            packet.reply_destination(),
        );
        let acceptor = self.acceptor.as_mut()?;
        let state = HandshakeState::of(packet.body()?, random_iss().ok()?);
        let client = acceptor.cookie_client(packet.key);
        let mut answer = acceptor.answer(now, packet, state.iss)?;
        let response = answer.kind == PacketType::Response;
        if response {
            let cookies = &mut acceptor.cookies;
            cookies
                .encode(now, client, &state, &mut answer.options)
                .then_some(())?;
        }
        let sent = self.send_unproven(budget, destination, &answer);
        self.load.cookies_sent += u64::from(sent && response);
        Some(())
    }

    /// Recreates the connection of a cookie, as if it had been kept since the Request.
    fn accept_cookie(&mut self, packet: ReceivedPacket, cookie: &[u8]) -> Option<ConnectionKey> {
        let now = self.clock.now();
        let key = packet.key;
        let acceptor = self.acceptor.as_mut()?;
        let client = acceptor.cookie_client(key);
        let Some(state) = acceptor.cookies.decode(now, client, cookie) else {
            self.load.cookies_refused += 1;
            if self.connections.contains_key(&key) {
                return self.handle_matched(packet);
            }
            self.send_reset(&packet, reset_code::BAD_INIT_COOKIE);
            return None;
        };
        if acceptor.cookies.is_completed(key, state.isr) {
            self.load.cookies_refused += 1;
            return None;
        }
        // A retransmitted Request may have created a connection in between. The client has answered
        // the Response with the cookie, so the cookie's handshake replaces the later one.
        self.remove(key);
        let config = &self.acceptor.as_ref()?.config;
        if !self.has_room(key, config) {
            self.send_reset(&packet, reset_code::TOO_BUSY);
            return None;
        }
        self.insert_listening(key, state.iss)?;
        let connection = self.connections.get_mut(&key)?;
        let mut request = Packet {
            body: Body::Dccp(state.request(client)),
            ..packet.packet.clone()
        };
        connection.machine.handle(now, &mut request);
        while connection.machine.poll_transmit(now).is_some() {}
        self.handle_matched(packet)?;
        if self.connections.get(&key)?.is_half_open() {
            // The packet's sequence numbers do not match the cookie's.
            self.remove(key);
            return None;
        }
        self.load.cookies_accepted += 1;
        let acceptor = self.acceptor.as_mut()?;
        acceptor.cookies.mark_completed(key, state.isr);
        Some(key)
    }

    /// Publishes the load of the driver.
    pub(super) fn publish_load(&mut self) {
        self.load.connections = self.connections.len();
        self.load.handshakes = self.handshakes.len();
        self.load.time_wait = self.time_wait.len();
        self.published_load.send_replace(self.load);
    }
}
