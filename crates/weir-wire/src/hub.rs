//! The task behind a socket: it moves packets between the socket and the connections, fires
//! their timers, and hands data to and from the applications.
//!
//! An idle hub sleeps. What is due sooner than a sleeper wakes is waited for by yielding, so that
//! pacing holds intervals far below a millisecond.

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::connection::{Connection, Shared, Status};
use crate::datagram::{codepoint, dccp_of, open, seal};
use crate::error::Error;
use crate::options::{Options, random};
use crate::outbox::{Outbox, Way};
use crate::socket::Socket;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use weir_proto::dccp::{self, wire::PacketType};
use weir_proto::event::{Event, EventMask};
use weir_proto::node::{CloseReason, Endpoint, EndpointEvent, Node, WriteError};
use weir_proto::packet::{Packet, Payload};
use weir_proto::time::Instant;

/// How long a full socket is left alone.
const FULL_NANOS: u64 = 200_000;
/// Datagrams on their way from an application to the hub.
const UNDER_WAY: usize = 64;
/// Commands to carry out before packets and timers have their turn.
const COMMANDS: usize = 256;

/// Who a connection is: the peer's address, its DCCP port and ours (RFC 6773 §3.8).
pub(crate) type Key = (SocketAddr, u16, u16);

/// What an application asks for.
pub(crate) enum Command {
    /// There are datagrams to send.
    Send(Key),
    /// Ends a connection in good order.
    Close(Key),
    /// Opens a connection.
    Connect(
        SocketAddr,
        Box<Options>,
        oneshot::Sender<Result<Connection, Error>>,
    ),
}

/// A connection at work.
struct Entry {
    machine: dccp::Connection,
    shared: Arc<Shared>,
    /// Of a connection that is being opened: who waits for it.
    opener: Option<(oneshot::Sender<Result<Connection, Error>>, Connection)>,
    /// Of a connection that a listener has: for `accept`, once the handshake is done.
    arrival: Option<Connection>,
    /// Datagrams that wait for room in the machine's send queue.
    waiting: VecDeque<Payload>,
    /// The application wants the end once they are gone.
    closing: bool,
    /// What the controller said last.
    controller: Controller,
    timer: Option<Instant>,
    /// The address of ours that the peer used.
    local: Option<IpAddr>,
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
    outbox: Outbox,
    /// What else a packet says that was read; kept for its room.
    read: Vec<(SocketAddr, Option<IpAddr>, Packet)>,
    /// How many connections an IP address has.
    census: BTreeMap<IpAddr, usize>,
    /// Connections of a listener whose handshake is not done, oldest first.
    handshakes: VecDeque<Key>,
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
            outbox: Outbox::default(),
            read: Vec::new(),
            census: BTreeMap::new(),
            handshakes: VecDeque::new(),
        };
        (hub, sender)
    }

    /// Runs until nobody uses it any more: no handle is left and no connection is open.
    pub(crate) async fn run(mut self) {
        let mut open = true;
        // Without a timer nothing can be paced, and nothing is.
        let Ok(alarm) = Alarm::new() else { return };
        while open || !self.connections.is_empty() {
            let due = self.timers.first().map(|&(at, _)| at);
            let mut wait = due.map_or(u64::MAX >> 8, |at| at.since(self.clock.now()).as_nanos());
            if !self.outbox.is_empty() {
                wait = wait.min(FULL_NANOS);
            }
            if wait < Alarm::SHORTEST_NANOS {
                tokio::task::yield_now().await;
            } else {
                tokio::select! {
                    biased;
                    command = self.commands.recv(), if open => match command {
                        Some(command) => self.handle_command(command),
                        None => open = false,
                    },
                    _ = self.socket.readable() => {}
                    _ = alarm.sleep(wait) => {}
                }
            }
            for _ in 0..COMMANDS {
                let Ok(command) = self.commands.try_recv() else {
                    break;
                };
                self.handle_command(command);
            }
            let came = self.read();
            self.fire();
            self.socket.write(&mut self.outbox);
            if came {
                // Applications read before more comes.
                tokio::task::yield_now().await;
            }
            if !open && self.listening.is_some() {
                self.listening = None;
            }
        }
    }

    // ---- Packets ----

    /// Reads a batch; true if something came.
    fn read(&mut self) -> bool {
        let mut packets = std::mem::take(&mut self.read);
        let came = self.socket.read(|meta, octets| {
            let packet = open(octets, meta.ecn);
            packets.extend(packet.map(|packet| (meta.addr, meta.dst_ip, packet)));
        });
        let mut last = None;
        for (from, to, packet) in packets.drain(..) {
            let key = self.handle_packet(from, to, packet);
            if let Some(former) = last
                && last != key
            {
                self.settle(former);
            }
            last = key;
        }
        self.read = packets;
        if let Some(key) = last {
            self.settle(key);
        }
        came
    }

    /// Gives a packet to its connection, which it names, and sends what that says to it.
    fn handle_packet(
        &mut self,
        from: SocketAddr,
        to: Option<IpAddr>,
        packet: Packet,
    ) -> Option<Key> {
        let body = dccp_of(&packet)?;
        let key = (from, body.source_port, body.destination_port);
        if !self.connections.contains_key(&key) {
            let request = body.kind == PacketType::Request;
            if !request || !self.admit(key) {
                return None;
            }
        }
        let now = self.clock.now();
        let entry = self.connections.get_mut(&key)?;
        entry.local = to.or(entry.local);
        entry.machine.handle(now, packet);
        entry.transmit(now, key.0, &mut self.outbox);
        Some(key)
    }

    /// Makes a connection for a Request, if the listener has room for it.
    fn admit(&mut self, key: Key) -> bool {
        let Some((options, _)) = &self.listening else {
            return false;
        };
        let same = self.census.get(&key.0.ip()).copied().unwrap_or(0);
        if key.2 != options.port || same >= options.max_connections_per_address {
            return false;
        }
        let options = options.clone();
        // Nothing is said to who gives way: it may never have asked.
        if self.handshakes.len() >= options.max_handshakes.max(1)
            && let Some(oldest) = self.handshakes.pop_front()
        {
            self.forget(oldest);
        }
        if self.connections.len() >= options.max_connections {
            return false;
        }
        let Ok(mut config) = options.config(overhead(key.0)) else {
            return false;
        };
        (config.local_port, config.remote_port) = (key.2, key.1);
        let machine = dccp::Connection::server(config);
        let Some((mut entry, connection)) = self.entry(key, machine, options.receive_queue) else {
            return false;
        };
        entry.arrival = Some(connection);
        self.insert(key, entry);
        self.handshakes.push_back(key);
        true
    }

    fn insert(&mut self, key: Key, entry: Entry) {
        *self.census.entry(key.0.ip()).or_default() += 1;
        self.connections.insert(key, entry);
    }

    fn forget(&mut self, key: Key) {
        let Some(entry) = self.connections.remove(&key) else {
            return;
        };
        if let Some(at) = entry.timer {
            self.timers.remove(&(at, key));
        }
        if entry.arrival.is_some() {
            self.handshakes.retain(|other| *other != key);
        }
        if let Some(count) = self.census.get_mut(&key.0.ip()) {
            *count -= 1;
            if *count == 0 {
                self.census.remove(&key.0.ip());
            }
        }
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
        let shared = Arc::new(Shared::new(UNDER_WAY, queue));
        let connection = Connection::new(key, commands, Arc::clone(&shared));
        let entry = Entry {
            machine,
            shared,
            opener: None,
            arrival: None,
            waiting: VecDeque::new(),
            closing: false,
            controller: Controller::default(),
            timer: None,
            local: None,
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
            Command::Send(key) => self.settle(key),
            Command::Close(key) => {
                if let Some(entry) = self.connections.get_mut(&key) {
                    entry.closing = true;
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
        self.insert(key, entry);
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
            let mut quiet = !entry.transmit(now, key.0, &mut self.outbox);
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
                            self.handshakes.retain(|other| *other != key);
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
            self.forget(key);
        }
    }
}

impl Entry {
    /// Gives the machine what applications wait to send.
    fn write(&mut self, now: Instant) {
        self.waiting.append(&mut self.shared.outgoing());
        let before = self.waiting.len();
        while let Some(data) = self.waiting.front() {
            match self.machine.write(now, data.clone()) {
                Err(WriteError::Blocked) => break,
                // The size was checked, and an ended connection says so to the next caller.
                Ok(()) | Err(WriteError::TooLarge(_) | WriteError::Closed) => {}
            }
            self.waiting.pop_front();
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
    fn transmit(&mut self, now: Instant, to: SocketAddr, outbox: &mut Outbox) -> bool {
        let mut sent = false;
        while let Some(packet) = self.machine.poll_transmit(now) {
            sent = true;
            let way = Way {
                to,
                from: self.local,
                ecn: codepoint(packet.ip.ecn),
            };
            outbox.push(|octets| seal(&packet, octets).then_some(way));
            self.machine.transmitted(now, packet.id);
        }
        sent
    }

    /// Gives the application what has come.
    fn read(&mut self, now: Instant) {
        let payloads = std::iter::from_fn(|| self.machine.read(now));
        self.shared
            .deliver(payloads.map(|payload| match payload.content() {
                Some(content) => content.to_vec(),
                None => vec![0; payload.len() as usize],
            }));
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
        self.waiting.clear();
        self.shared.end();
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
            max_datagram: self.machine.max_payload(),
            limit: self.controller.limit,
        }
    }
}

/// Octets of IP and UDP headers beyond the twenty of IPv4 that the machine counts itself.
const fn overhead(peer: SocketAddr) -> u32 {
    match peer.ip().to_canonical() {
        IpAddr::V4(_) => 8,
        IpAddr::V6(_) => 20 + 8,
    }
}
