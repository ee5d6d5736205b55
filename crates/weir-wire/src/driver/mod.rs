//! The task behind a socket: it passes packets between the socket and the connections, fires their
//! timers, and moves data between them and the applications.

mod admission;
mod connect;
mod received;
#[cfg(test)]
mod tests;
mod waiting;

use crate::clock::Clock;
use crate::config::EndpointConfig;
use crate::connection::{Command, Connection, SharedState};
use crate::connection_key::ConnectionKey;
use crate::connection_state::ConnectionState;
use crate::cookie::cookie_in;
use crate::datagram::decode;
use crate::encapsulation::Encapsulation;
use crate::error::Error;
use crate::events::EventSink;
use crate::limits::{RateLimiter, source_prefix};
use crate::load::Load;
use crate::request_filter::RequestFilter;
use crate::send_queue::SendQueue;
use crate::socket::Socket;
use crate::timer::Timer;
use admission::Acceptor;
use received::{ReceivedPacket, TimestampConverter};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::{mpsc, watch};
use weir_proto::dccp::{self, wire::PacketType};
use weir_proto::endpoint::{Endpoint, EndpointEvent};
use weir_proto::time::Instant;

/// Datagrams that an application may hand over before the driver has taken them.
const MAX_OUTGOING: usize = 64;
/// Commands processed before the next packets and timers.
const COMMANDS_PER_TURN: usize = 256;

/// The task.
pub(crate) struct EndpointDriver {
    clock: Clock,
    socket: Socket,
    connections: BTreeMap<ConnectionKey, ConnectionState>,
    timers: BTreeSet<(Instant, ConnectionKey)>,
    commands: mpsc::UnboundedReceiver<Command>,
    /// Cloned into the handles of new connections.
    command_sender: mpsc::WeakUnboundedSender<Command>,
    /// Only at a listener.
    acceptor: Option<Acceptor>,
    encapsulation: Encapsulation,
    strict_amplification: bool,
    request_filter: RequestFilter,
    reset_limiter: RateLimiter,
    load: Load,
    published_load: watch::Sender<Load>,
    send_queue: SendQueue,
    /// The buffer of `read`, reused between reads.
    received: Vec<ReceivedPacket>,
    /// The number of connections from each source.
    per_source: BTreeMap<IpAddr, usize>,
    /// A listener's connections whose handshake is not done, oldest first.
    handshakes: VecDeque<ConnectionKey>,
    /// Connections in TIMEWAIT, oldest first.
    time_wait: VecDeque<ConnectionKey>,
}

impl EndpointDriver {
    /// A driver for a socket, and the sender of its commands. With a `sink` for new connections it
    /// is a listener.
    pub(crate) fn new(
        socket: Socket,
        config: &EndpointConfig,
        sink: Option<mpsc::Sender<Connection>>,
    ) -> Result<(Self, mpsc::UnboundedSender<Command>), Error> {
        let (sender, commands) = mpsc::unbounded_channel();
        let clock = Clock::start();
        let (now, buffer) = (clock.now(), socket.receive_buffer());
        let acceptor = sink.map(|sink| Acceptor::new(config, sink, now));
        let (requests, resets) = (config.max_requests_per_second, config.max_resets_per_second);
        let driver = Self {
            clock,
            socket,
            connections: BTreeMap::new(),
            timers: BTreeSet::new(),
            commands,
            command_sender: sender.downgrade(),
            acceptor: acceptor.transpose()?,
            encapsulation: config.encapsulation,
            strict_amplification: config.strict_amplification,
            request_filter: RequestFilter::new(requests, buffer, now),
            reset_limiter: RateLimiter::new(resets, resets, now),
            load: Load::default(),
            published_load: watch::Sender::default(),
            send_queue: SendQueue::default(),
            received: Vec::new(),
            per_source: BTreeMap::new(),
            handshakes: VecDeque::new(),
            time_wait: VecDeque::new(),
        };
        Ok((driver, sender))
    }

    /// The load that the driver publishes.
    pub(crate) fn load(&self) -> watch::Receiver<Load> {
        self.published_load.subscribe()
    }

    /// Runs until no handle and no connection is left.
    pub(crate) async fn run(mut self) {
        let mut has_handles = true;
        // Packets cannot be paced without a timer.
        let Ok(mut timer) = Timer::new() else { return };
        while has_handles || !self.connections.is_empty() {
            let wait = self.next_wakeup();
            if wait < Timer::MIN_SLEEP_NANOS && self.is_pacing() {
                tokio::task::yield_now().await;
            } else {
                let wait = wait.max(Timer::MIN_SLEEP_NANOS);
                tokio::select! {
                    biased;
                    command = self.commands.recv(), if has_handles => match command {
                        Some(command) => self.handle_command(command),
                        None => has_handles = false,
                    },
                    _ = self.socket.readable() => {}
                    _ = timer.sleep(wait) => {}
                }
            }
            for _ in 0..COMMANDS_PER_TURN {
                let Ok(command) = self.commands.try_recv() else {
                    break;
                };
                self.handle_command(command);
            }
            let read = self.read();
            self.fire_timers();
            self.socket.write(&mut self.send_queue);
            if self.socket.take_refused() {
                self.refuse_pending_connects();
            }
            self.publish_load();
            if let Some(drop_shift) = self.request_filter.adjust(self.clock.now()) {
                self.socket.set_drop_shift(drop_shift);
            }
            if let Some(packets) = read {
                let read_at = self.clock.now();
                // Lets applications process the data before the next read.
                tokio::task::yield_now().await;
                self.gather_dense_stream(packets, read_at);
            }
            if !has_handles && self.acceptor.is_some() {
                self.acceptor = None;
            }
        }
    }

    // ---- Packets ----

    /// Reads a batch and handles its packets; returns their number, `None` if there was nothing to
    /// read.
    fn read(&mut self) -> Option<usize> {
        let mut packets = std::mem::take(&mut self.received);
        let (encapsulation, clock, mut converter) = (self.encapsulation, &self.clock, None);
        let reads = self.socket.read(|meta, octets| {
            let pseudo = encapsulation.pseudo_header_from(meta.addr, meta.dst_ip);
            let packet = decode(octets, meta.ecn, pseudo.as_ref());
            let Some(packet) = packet else { return };
            let converter = converter.get_or_insert_with(|| TimestampConverter::new(clock));
            let at = converter.convert(meta.timestamp);
            packets.extend(ReceivedPacket::new(meta.addr, meta.dst_ip, at, packet));
        });
        let count = packets.len();
        // Consecutive packets of one connection are followed by one update of the connection.
        let mut last = None;
        for packet in packets.drain(..) {
            let key = self.handle_packet(packet);
            if let Some(previous) = last
                && last != key
            {
                self.drive_connection(previous);
            }
            last = key;
        }
        self.received = packets;
        if let Some(key) = last {
            self.drive_connection(key);
        }
        self.request_filter
            .end_read(count, reads == Socket::MAX_READS);
        (reads > 0).then_some(count)
    }

    /// Passes a packet to its connection, or creates one for it, and queues the answer. Returns the
    /// key of the connection.
    fn handle_packet(&mut self, packet: ReceivedPacket) -> Option<ConnectionKey> {
        let body = packet.body()?;
        if body.kind == PacketType::Request && !self.request_filter.admit(self.clock.now()) {
            self.load.unanswered += 1;
            return None;
        }
        match self.connections.get(&packet.key) {
            Some(state) if !state.is_half_open() || cookie_in(body).is_none() => {
                self.handle_matched(packet)
            }
            _ => self.handle_unmatched(packet),
        }
    }

    /// Passes a packet to its connection and queues the answer.
    fn handle_matched(&mut self, packet: ReceivedPacket) -> Option<ConnectionKey> {
        let now = self.clock.now();
        let budget = packet.amplification_budget(self);
        let key = packet.key;
        let state = self.connections.get_mut(&key)?;
        state.local_ip = packet.local_ip.or(state.local_ip);
        state.handle(packet.at, packet.packet, budget);
        state.transmit(now, key.peer, &mut self.send_queue);
        Some(key)
    }

    // ---- Connections ----

    /// The state and the handle of a new connection.
    fn new_connection(
        &self,
        key: ConnectionKey,
        machine: dccp::Connection,
        config: &EndpointConfig,
    ) -> Option<(ConnectionState, Connection)> {
        let commands = self.command_sender.upgrade()?;
        let shared = Arc::new(SharedState::new(MAX_OUTGOING, config.receive_queue));
        let now = self.clock.now();
        let (sink, events) = EventSink::new(config.event_mask, now).unzip();
        let connection = Connection {
            key,
            commands,
            shared: Arc::clone(&shared),
            events,
        };
        let state = ConnectionState::new(machine, shared, sink, self.encapsulation, now);
        Some((state, connection))
    }

    fn insert(&mut self, key: ConnectionKey, state: ConnectionState) {
        *self
            .per_source
            .entry(source_prefix(key.peer.ip()))
            .or_default() += 1;
        self.connections.insert(key, state);
    }

    fn remove(&mut self, key: ConnectionKey) {
        let Some(state) = self.connections.remove(&key) else {
            return;
        };
        if let Some(at) = state.timeout {
            self.timers.remove(&(at, key));
        }
        if state.pending_accept.is_some() {
            self.handshakes.retain(|other| *other != key);
        }
        if state.time_wait {
            self.time_wait.retain(|other| *other != key);
        } else {
            self.count_off_source(key);
        }
    }

    /// Decrements the number of connections from the source of this key.
    fn count_off_source(&mut self, key: ConnectionKey) {
        let source = source_prefix(key.peer.ip());
        if let Some(count) = self.per_source.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.per_source.remove(&source);
            }
        }
    }

    /// Ends clients' handshakes on an ICMP "port unreachable" or "protocol unreachable". Open
    /// connections ignore it: any host can forge such a message (RFC 5927, RFC 6773 §3.6), and the
    /// keepalive detects peers that are unreachable.
    fn refuse_pending_connects(&mut self) {
        let requesting = |state: &ConnectionState| state.machine.state() == dccp::State::Request;
        let keys = self
            .connections
            .iter()
            .filter(|(_, state)| requesting(state));
        for key in keys.map(|(key, _)| *key).collect::<Vec<_>>() {
            if let Some(state) = self.connections.get_mut(&key) {
                state.end_with(Error::Refused(key.peer));
            }
            self.remove(key);
        }
    }

    // ---- Timers and commands ----

    fn fire_timers(&mut self) {
        let now = self.clock.now();
        while let Some(&(at, key)) = self.timers.first() {
            if at > now {
                return;
            }
            self.timers.pop_first();
            if let Some(state) = self.connections.get_mut(&key) {
                state.timeout = None;
                state.machine.handle_timeout(now);
            }
            self.drive_connection(key);
        }
    }

    fn handle_command(&mut self, command: Command) {
        match command {
            Command::Send(key) => self.drive_connection(key),
            Command::Discard(key, keep, answer) => {
                let state = self.connections.get_mut(&key);
                let discarded = state.map_or(0, |state| state.discard_unsent(keep));
                // The caller may have stopped waiting.
                let _ = answer.send(discarded);
                self.drive_connection(key);
            }
            Command::Close(key, shared) => {
                if let Some(state) = self.connections.get_mut(&key)
                    && Arc::ptr_eq(&state.shared, &shared)
                {
                    state.closing = true;
                    self.drive_connection(key);
                }
            }
        }
    }

    /// Updates a connection after a packet, a timer or a command: moves data and events between it
    /// and the application, queues its packets and sets its timer.
    fn drive_connection(&mut self, key: ConnectionKey) {
        let now = self.clock.now();
        let Some(state) = self.connections.get_mut(&key) else {
            return;
        };
        let mut closed = None;
        loop {
            state.write(now);
            let mut idle = !state.transmit(now, key.peer, &mut self.send_queue);
            while let Some(event) = state.machine.poll_event() {
                idle = false;
                match event {
                    EndpointEvent::Connected => {
                        if let Some(pending) = state.pending_connect.take() {
                            drop(pending.reply.send(Ok(pending.connection)));
                        }
                        if let (Some(connection), Some(acceptor)) =
                            (state.pending_accept.take(), &self.acceptor)
                        {
                            self.handshakes.retain(|other| *other != key);
                            // If the backlog is full, dropping the handle closes the connection.
                            drop(acceptor.sink.try_send(connection));
                        }
                    }
                    EndpointEvent::Readable => state.read(now),
                    EndpointEvent::Writable => {}
                    EndpointEvent::Closed(reason) => closed = Some(reason),
                }
            }
            if idle {
                break;
            }
        }
        state.forward_events();
        state.shared.publish(state.stats());
        let timeout = state.machine.poll_timeout();
        if timeout != state.timeout {
            if let Some(old) = state.timeout {
                self.timers.remove(&(old, key));
            }
            state.timeout = timeout;
            self.timers.extend(timeout.map(|at| (at, key)));
        }
        if let Some(reason) = closed {
            state.end(key.peer, reason);
        }
        // No TIMEWAIT for a peer whose address is not validated.
        let finished = closed.is_some() && (timeout.is_none() || state.is_half_open());
        if finished || state.machine.state() == dccp::State::Closed {
            self.remove(key);
        } else if closed.is_some() {
            self.enter_time_wait(key);
        }
    }
}
