//! The task behind a socket: it moves packets between the socket and the connections, fires
//! their timers, and hands data to and from the applications.
//!
//! Sleeping is exact to a millisecond; what is due sooner is waited for by yielding, so that
//! pacing holds intervals far below a millisecond and an idle hub costs nothing.

use crate::clock::Clock;
use crate::connection::{Connection, Shared, Status};
use crate::datagram::{dccp_of, open, seal};
use crate::error::Error;
use crate::options::{Options, random};
use crate::socket::{Outgoing, Socket};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use weir_proto::dccp::{self, wire::PacketType};
use weir_proto::event::{Event, EventMask};
use weir_proto::node::{CloseReason, Endpoint, EndpointEvent, Node, WriteError};
use weir_proto::packet::{Packet, Payload};
use weir_proto::time::Instant;

/// What is due within this time is waited for without sleeping.
const SPIN_NANOS: u64 = 1_500_000;
/// Batches to read before timers and applications have their turn.
const READS: usize = 4;

/// Who a connection is: the peer's address, its DCCP port and ours (RFC 6773 §3.8).
pub(crate) type Key = (SocketAddr, u16, u16);

/// What an application asks for.
pub(crate) enum Command {
    /// Sends a datagram; answers when the send queue has taken it.
    Send(Key, Vec<u8>, oneshot::Sender<Result<(), Error>>),
    /// Ends a connection in good order.
    Close(Key),
    /// Opens a connection.
    Connect(
        SocketAddr,
        Box<Options>,
        oneshot::Sender<Result<Connection, Error>>,
    ),
}

/// A datagram that waits for room, and who waits with it.
type Waiting = (Vec<u8>, oneshot::Sender<Result<(), Error>>);

/// A connection at work.
struct Entry {
    machine: dccp::Connection,
    shared: Arc<Shared>,
    received: mpsc::Sender<Vec<u8>>,
    /// Of a connection that is being opened: who waits for it.
    opener: Option<(oneshot::Sender<Result<Connection, Error>>, Connection)>,
    /// Of a connection that a listener has: for `accept`, once the handshake is done.
    arrival: Option<Connection>,
    waiting: VecDeque<Waiting>,
    /// What the controller said last.
    controller: Controller,
    timer: Option<Instant>,
}

/// What a controller said of itself.
#[derive(Clone, Copy, Debug, Default)]
struct Controller {
    allowed_rate_bps: f64,
    loss_event_rate: f64,
    limit: &'static str,
}

/// The task.
pub(crate) struct Hub {
    clock: Clock,
    socket: Socket,
    connections: BTreeMap<Key, Entry>,
    timers: BTreeSet<(Instant, Key)>,
    commands: mpsc::UnboundedReceiver<Command>,
    back: mpsc::WeakUnboundedSender<Command>,
    /// Of a listener: its options, and where its connections go.
    listening: Option<(Options, mpsc::Sender<Connection>)>,
    outgoing: Vec<Outgoing>,
}

impl Hub {
    /// A hub over a socket, listening if there are options for it, and its commands.
    pub(crate) fn new(
        socket: Socket,
        listening: Option<(Options, mpsc::Sender<Connection>)>,
    ) -> (Self, mpsc::UnboundedSender<Command>) {
        let (sender, commands) = mpsc::unbounded_channel();
        let hub = Self {
            clock: Clock::start(),
            socket,
            connections: BTreeMap::new(),
            timers: BTreeSet::new(),
            commands,
            back: sender.downgrade(),
            listening,
            outgoing: Vec::new(),
        };
        (hub, sender)
    }

    /// Runs until nobody uses it any more: no handle is left and no connection is open.
    pub(crate) async fn run(mut self) {
        let mut open = true;
        while open || !self.connections.is_empty() {
            let due = self.timers.first().map(|&(at, _)| at);
            let wait = due.map(|at| at.since(self.clock.now()).as_nanos());
            if wait.is_some_and(|nanos| nanos < SPIN_NANOS) {
                tokio::task::yield_now().await;
                while let Ok(command) = self.commands.try_recv() {
                    self.handle_command(command);
                }
            } else {
                let sleep = std::time::Duration::from_nanos(wait.unwrap_or(u64::MAX >> 8));
                tokio::select! {
                    command = self.commands.recv(), if open => match command {
                        Some(command) => self.handle_command(command),
                        None => open = false,
                    },
                    _ = self.socket.readable() => {}
                    () = tokio::time::sleep(sleep.saturating_sub(std::time::Duration::from_millis(1))) => {}
                }
            }
            self.read();
            self.fire();
            self.flush();
            if !open && self.listening.is_some() {
                self.listening = None;
            }
        }
    }

    fn flush(&mut self) {
        self.socket.write(&self.outgoing);
        self.outgoing.clear();
    }

    // ---- Packets ----

    fn read(&mut self) {
        for _ in 0..READS {
            let mut packets = Vec::new();
            let more = self.socket.read(|from, octets, ecn| {
                packets.extend(open(octets, ecn).map(|packet| (from, packet)));
            });
            for (from, packet) in packets {
                self.handle_packet(from, packet);
            }
            if !more {
                return;
            }
        }
    }

    fn handle_packet(&mut self, from: SocketAddr, packet: Packet) {
        let Some(body) = dccp_of(&packet) else { return };
        let key = (from, body.source_port, body.destination_port);
        if !self.connections.contains_key(&key) {
            let request = body.kind == PacketType::Request;
            if !request || !self.admit(key) {
                return;
            }
        }
        let now = self.clock.now();
        if let Some(entry) = self.connections.get_mut(&key) {
            entry.machine.handle(now, packet);
        }
        self.settle(key);
    }

    /// Makes a connection for a Request, if the listener has room for it.
    fn admit(&mut self, key: Key) -> bool {
        let Some((options, _)) = &self.listening else {
            return false;
        };
        let same = |other: &&Key| other.0.ip() == key.0.ip();
        let full = self.connections.len() >= options.max_connections
            || self.connections.keys().filter(same).count() >= options.max_connections_per_address;
        if full || key.2 != options.port {
            return false;
        }
        let options = options.clone();
        let Ok(mut config) = options.config(overhead(key.0)) else {
            return false;
        };
        (config.local_port, config.remote_port) = (key.2, key.1);
        let machine = dccp::Connection::server(config);
        let Some((mut entry, connection)) = self.entry(key, machine, options.receive_queue) else {
            return false;
        };
        entry.arrival = Some(connection);
        self.connections.insert(key, entry);
        true
    }

    fn entry(
        &self,
        key: Key,
        mut machine: dccp::Connection,
        queue: usize,
    ) -> Option<(Entry, Connection)> {
        let commands = self.back.upgrade()?;
        if let Some(events) = machine.events() {
            events.set_mask(EventMask::CONTROLLER);
        }
        let (received, receiver) = mpsc::channel(queue.max(1));
        let shared = Arc::new(Shared::default());
        let connection = Connection::new(key, commands, receiver, Arc::clone(&shared));
        let entry = Entry {
            machine,
            shared,
            received,
            opener: None,
            arrival: None,
            waiting: VecDeque::new(),
            controller: Controller::default(),
            timer: None,
        };
        Some((entry, connection))
    }

    // ---- Timers ----

    fn fire(&mut self) {
        let now = self.clock.now();
        while let Some(&(at, key)) = self.timers.first() {
            if at > now {
                return;
            }
            self.timers.pop_first();
            if let Some(entry) = self.connections.get_mut(&key) {
                entry.timer = None;
                entry.machine.handle_timeout(now);
            }
            self.settle(key);
        }
    }

    // ---- Applications ----

    fn handle_command(&mut self, command: Command) {
        match command {
            Command::Send(key, data, reply) => match self.connections.get_mut(&key) {
                Some(entry) => {
                    entry.waiting.push_back((data, reply));
                    self.settle(key);
                }
                None => drop(reply.send(Err(Error::Closed))),
            },
            Command::Close(key) => {
                let now = self.clock.now();
                if let Some(entry) = self.connections.get_mut(&key) {
                    entry.machine.close(now);
                    self.settle(key);
                }
            }
            Command::Connect(to, options, reply) => self.connect(to, &options, reply),
        }
    }

    fn connect(
        &mut self,
        to: SocketAddr,
        options: &Options,
        reply: oneshot::Sender<Result<Connection, Error>>,
    ) {
        // RFC 6056: a port that nobody guesses, above the well-known ones.
        let made = options.config(overhead(to)).and_then(|mut config| {
            config.local_port = 49_152 + (random()? % 16_384) as u16;
            config.remote_port = options.port;
            Ok(config)
        });
        let config = match made {
            Ok(config) => config,
            Err(error) => return drop(reply.send(Err(error))),
        };
        let key = (to, config.remote_port, config.local_port);
        let machine = dccp::Connection::client(config);
        let Some((mut entry, connection)) = self.entry(key, machine, options.receive_queue) else {
            return;
        };
        entry.opener = Some((reply, connection));
        entry.machine.connect(self.clock.now());
        self.connections.insert(key, entry);
        self.settle(key);
    }

    /// After anything that happened to a connection: tells the application, sends what is to be
    /// sent, and sets the timer.
    fn settle(&mut self, key: Key) {
        let now = self.clock.now();
        let Some(entry) = self.connections.get_mut(&key) else {
            return;
        };
        let mut ended = None;
        loop {
            entry.write(now);
            let mut quiet = true;
            while let Some(packet) = entry.machine.poll_transmit(now) {
                quiet = false;
                if let Some((octets, ecn)) = seal(&packet) {
                    let to = key.0;
                    self.outgoing.push(Outgoing { to, ecn, octets });
                }
                entry.machine.transmitted(now, packet.id);
            }
            while let Some(event) = entry.machine.poll_event() {
                quiet = false;
                match event {
                    EndpointEvent::Connected => {
                        if let Some((reply, connection)) = entry.opener.take() {
                            drop(reply.send(Ok(connection)));
                        }
                        if let (Some(connection), Some((_, sink))) =
                            (entry.arrival.take(), &self.listening)
                        {
                            // A listener that does not accept loses its connections.
                            drop(sink.try_send(connection));
                        }
                    }
                    EndpointEvent::Readable => entry.read(now),
                    EndpointEvent::Writable => {}
                    EndpointEvent::Closed(reason) => ended = Some(reason),
                }
            }
            if quiet {
                break;
            }
        }
        entry.hear_controller();
        entry.shared.set(entry.status());
        let due = entry.machine.poll_timeout();
        if due != entry.timer {
            if let Some(old) = entry.timer {
                self.timers.remove(&(old, key));
            }
            entry.timer = due;
            self.timers.extend(due.map(|at| (at, key)));
        }
        if let Some(reason) = ended {
            entry.end(key.0, reason);
        }
        if entry.machine.state() == dccp::State::Closed || (ended.is_some() && due.is_none()) {
            if let Some(at) = entry.timer.take() {
                self.timers.remove(&(at, key));
            }
            self.connections.remove(&key);
        }
    }
}

impl Entry {
    /// Gives the machine what applications wait to send.
    fn write(&mut self, now: Instant) {
        while let Some((data, _)) = self.waiting.front() {
            let written = self.machine.write(now, Payload::from_bytes(data));
            let answer = match written {
                Ok(()) => Ok(()),
                Err(WriteError::Blocked) => return,
                Err(WriteError::TooLarge(limit)) => Err(Error::TooLarge {
                    octets: data.len(),
                    limit,
                }),
                Err(WriteError::Closed) => Err(Error::Closed),
            };
            if let Some((_, reply)) = self.waiting.pop_front() {
                drop(reply.send(answer));
            }
        }
    }

    /// Gives the application what has come; what it has no room for is dropped.
    fn read(&mut self, now: Instant) {
        while let Some(payload) = self.machine.read(now) {
            let octets = match payload.content() {
                Some(content) => content.to_vec(),
                None => vec![0; payload.len() as usize],
            };
            if self.received.try_send(octets).is_err() {
                self.shared.count_overrun();
            }
        }
    }

    fn end(&mut self, peer: SocketAddr, reason: CloseReason) {
        let error = match reason {
            CloseReason::Finished => Error::Closed,
            CloseReason::Reset(code) => Error::Reset(code),
            CloseReason::TimedOut => Error::TimedOut(peer),
        };
        if let Some((reply, _)) = self.opener.take() {
            drop(reply.send(Err(error)));
        }
        for (_, reply) in self.waiting.drain(..) {
            drop(reply.send(Err(Error::Closed)));
        }
        // The application's `receive` ends when the sender is gone.
        let (closed, _) = mpsc::channel(1);
        self.received = closed;
    }

    fn hear_controller(&mut self) {
        let Some(events) = self.machine.events() else {
            return;
        };
        for (_, event) in events.drain() {
            match event {
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
        }
    }

    fn status(&self) -> Status {
        let statistics = self.machine.statistics();
        Status {
            state: self.machine.state().name(),
            packets_sent: statistics.packets_sent,
            bytes_sent: statistics.bytes_sent,
            packets_received: statistics.packets_received,
            payload_received: statistics.payload_received,
            packets_lost: statistics.packets_lost,
            smoothed_rtt_s: statistics.smoothed_rtt.as_secs_f64(),
            datagrams_dropped: 0,
            allowed_rate_bps: self.controller.allowed_rate_bps,
            loss_event_rate: self.controller.loss_event_rate,
            limit: self.controller.limit,
        }
    }
}

/// Octets of IP and UDP headers beyond the twenty of IPv4 that the machine counts itself.
const fn overhead(peer: SocketAddr) -> u32 {
    match peer {
        SocketAddr::V4(_) => 8,
        SocketAddr::V6(_) => 20 + 8,
    }
}
