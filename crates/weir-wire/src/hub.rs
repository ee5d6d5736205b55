//! The task behind a socket: it moves packets between the socket and the connections, fires
//! their timers, and hands data to and from the applications.

mod admission;
mod arrival;
#[cfg(test)]
mod tests;
mod waiting;

use crate::alarm::Alarm;
use crate::clock::Clock;
use crate::config::{EndpointConfig, random, random_iss};
use crate::connection::{Connection, Shared};
use crate::cookie::cookie_of;
use crate::datagram::open;
use crate::encapsulation::Encapsulation;
use crate::entry::Entry;
use crate::error::Error;
use crate::events::EventSink;
use crate::limits::{Bucket, source};
use crate::listener::{Board, Load};
use crate::outbox::Outbox;
use crate::sieve::Sieve;
use crate::socket::Socket;
use admission::Listening;
use arrival::{Arrival, Reading};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use weir_proto::dccp::{self, wire::PacketType};
use weir_proto::endpoint::{Endpoint, EndpointEvent};
use weir_proto::time::Instant;

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
    /// Ends a connection in good order, if it is still this one.
    Close(Key, Arc<Shared>),
    /// Opens a connection.
    Connect(
        SocketAddr,
        Box<EndpointConfig>,
        oneshot::Sender<Result<Connection, Error>>,
    ),
}

/// The task.
pub(crate) struct Hub {
    clock: Clock,
    socket: Socket,
    connections: BTreeMap<Key, Entry>,
    timers: BTreeSet<(Instant, Key)>,
    commands: mpsc::UnboundedReceiver<Command>,
    back: mpsc::WeakUnboundedSender<Command>,
    listening: Option<Listening>,
    encapsulation: Encapsulation,
    strict: bool,
    sieve: Sieve,
    resets: Bucket,
    load: Load,
    board: Arc<Board>,
    outbox: Outbox,
    /// What else a packet says that was read; kept for its room.
    read: Vec<Arrival>,
    /// How many connections a source has.
    census: BTreeMap<IpAddr, usize>,
    /// Connections of a listener whose handshake is not done, oldest first.
    handshakes: VecDeque<Key>,
    /// Connections in TIMEWAIT, oldest first.
    lingering: VecDeque<Key>,
}

impl Hub {
    /// A hub over a socket, and its commands; listening if its connections have somewhere to go.
    pub(crate) fn new(
        socket: Socket,
        options: &EndpointConfig,
        sink: Option<mpsc::Sender<Connection>>,
    ) -> Result<(Self, mpsc::UnboundedSender<Command>), Error> {
        let (sender, commands) = mpsc::unbounded_channel();
        let clock = Clock::start();
        let (buffer, resets) = (socket.buffer(), options.max_resets_per_second);
        let listening = sink.map(|sink| Listening::new(options, sink, clock.now()));
        let hub = Self {
            clock,
            socket,
            connections: BTreeMap::new(),
            timers: BTreeSet::new(),
            commands,
            back: sender.downgrade(),
            listening: listening.transpose()?,
            encapsulation: options.encapsulation,
            strict: options.strict_amplification,
            sieve: Sieve::new(options.max_requests_per_second, buffer, clock.now()),
            resets: Bucket::new(resets, resets, clock.now()),
            load: Load::default(),
            board: Arc::default(),
            outbox: Outbox::default(),
            read: Vec::new(),
            census: BTreeMap::new(),
            handshakes: VecDeque::new(),
            lingering: VecDeque::new(),
        };
        Ok((hub, sender))
    }

    /// Where the load is written.
    pub(crate) fn board(&self) -> Arc<Board> {
        Arc::clone(&self.board)
    }

    /// Runs until nobody uses it any more: no handle is left and no connection is open.
    pub(crate) async fn run(mut self) {
        let mut open = true;
        // Without a timer nothing can be paced, and nothing is.
        let Ok(mut alarm) = Alarm::new() else { return };
        while open || !self.connections.is_empty() {
            let wait = self.patience();
            if wait < Alarm::SHORTEST_NANOS && self.is_pacing() {
                tokio::task::yield_now().await;
            } else {
                let wait = wait.max(Alarm::SHORTEST_NANOS);
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
            if self.socket.take_refused() {
                self.give_up_requests();
            }
            self.publish();
            if let Some(width) = self.sieve.adjust(self.clock.now()) {
                self.socket.narrow(width);
            }
            if let Some(packets) = came {
                let read_at = self.clock.now();
                // Applications read before more comes.
                tokio::task::yield_now().await;
                self.let_gather(packets, read_at);
            }
            if !open && self.listening.is_some() {
                self.listening = None;
            }
        }
    }

    // ---- Packets ----

    /// Reads a batch; says how many packets came, if anything did.
    fn read(&mut self) -> Option<usize> {
        let mut packets = std::mem::take(&mut self.read);
        let (encapsulation, clock, mut reading) = (self.encapsulation, &self.clock, None);
        let reads = self.socket.read(|meta, octets| {
            let pseudo = encapsulation.pseudo_header_from(meta.addr, meta.dst_ip);
            let packet = open(octets, meta.ecn, pseudo.as_ref());
            let Some(packet) = packet else { return };
            let reading = reading.get_or_insert_with(|| Reading::at(clock));
            let at = reading.time_of(meta.timestamp);
            packets.extend(Arrival::new(meta.addr, meta.dst_ip, at, packet));
        });
        let count = packets.len();
        let mut last = None;
        for arrival in packets.drain(..) {
            let key = self.handle_packet(arrival);
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
        self.sieve.end_read(count, reads == Socket::MOST_READS);
        (reads > 0).then_some(count)
    }

    /// Gives a packet to its connection, which it names, and sends what that says to it.
    fn handle_packet(&mut self, arrival: Arrival) -> Option<Key> {
        let body = arrival.body()?;
        if body.kind == PacketType::Request && !self.sieve.admit(self.clock.now()) {
            self.load.unanswered += 1;
            return None;
        }
        match self.connections.get(&arrival.key) {
            Some(entry) if !entry.is_half_open() || cookie_of(body).is_none() => self.give(arrival),
            _ => self.meet(arrival),
        }
    }

    /// Gives a packet to a connection that there is.
    fn give(&mut self, arrival: Arrival) -> Option<Key> {
        let now = self.clock.now();
        let allowance = arrival.allowance(self);
        let key = arrival.key;
        let entry = self.connections.get_mut(&key)?;
        entry.local = arrival.local.or(entry.local);
        entry.handle(arrival.at, arrival.packet, allowance);
        entry.transmit(now, key.0, &mut self.outbox);
        Some(key)
    }

    fn insert(&mut self, key: Key, entry: Entry) {
        *self.census.entry(source(key.0.ip())).or_default() += 1;
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
        if entry.lingering {
            self.lingering.retain(|other| *other != key);
        } else {
            self.uncount(key);
        }
    }

    /// The source has one connection less.
    fn uncount(&mut self, key: Key) {
        let source = source(key.0.ip());
        if let Some(count) = self.census.get_mut(&source) {
            *count -= 1;
            if *count == 0 {
                self.census.remove(&source);
            }
        }
    }

    fn entry(
        &self,
        key: Key,
        machine: dccp::Connection,
        options: &EndpointConfig,
    ) -> Option<(Entry, Connection)> {
        let commands = self.back.upgrade()?;
        let shared = Arc::new(Shared::new(UNDER_WAY, options.receive_queue));
        let now = self.clock.now();
        let (sink, stream) = EventSink::new(options.event_mask, now).unzip();
        let connection = Connection::new(key, commands, Arc::clone(&shared), stream);
        let entry = Entry::new(machine, shared, sink, self.encapsulation, now);
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
            Command::Close(key, shared) => {
                if let Some(entry) = self.connections.get_mut(&key)
                    && Arc::ptr_eq(&entry.shared, &shared)
                {
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
        options: &EndpointConfig,
        reply: oneshot::Sender<Result<Connection, Error>>,
    ) {
        // RFC 6056: a port that nobody guesses, above the well-known ones.
        let made = random_iss().and_then(|iss| {
            let mut config = options.config(options.encapsulation.overhead(to), iss)?;
            config.local_port = 49_152 + (random()? % 16_384) as u16;
            config.remote_port = options.dccp_port;
            Ok(config)
        });
        let config = match made {
            Ok(config) => config,
            Err(error) => return drop(reply.send(Err(error))),
        };
        let key = (to, config.remote_port, config.local_port);
        self.socket.expect(config.local_port);
        let machine = dccp::Connection::client(config);
        let Some((mut entry, connection)) = self.entry(key, machine, options) else {
            return;
        };
        entry.opener = Some((reply, connection));
        entry.local = self.socket.source();
        entry.machine.connect(self.clock.now());
        self.insert(key, entry);
        self.settle(key);
    }

    /// Nobody is there, says the network. Who has heard from the peer knows better: anybody can
    /// send such a message (RFC 5927), and a peer that has gone shows it by its silence.
    fn give_up_requests(&mut self) {
        let asking = |entry: &Entry| entry.machine.state() == dccp::State::Request;
        let keys = self.connections.iter().filter(|(_, entry)| asking(entry));
        for key in keys.map(|(key, _)| *key).collect::<Vec<_>>() {
            if let Some(entry) = self.connections.get_mut(&key) {
                entry.refuse(key.0);
            }
            self.forget(key);
        }
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
                        if let (Some(connection), Some(Listening { sink, .. })) =
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
        entry.shared.set(entry.stats());
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
        // Nothing is remembered of who has not proven its address.
        let gone = ended.is_some() && (due.is_none() || entry.is_half_open());
        if gone || entry.machine.state() == dccp::State::Closed {
            self.forget(key);
        } else if ended.is_some() {
            self.linger(key);
        }
    }
}
