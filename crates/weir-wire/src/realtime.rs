//! Drives endpoints in real time over one UDP socket.
//!
//! The machines are those of the simulator. Their time is the monotonic clock since the driver
//! began. A packet finds its session by the peer's address and both DCCP ports (with the UDP
//! ports: the six-tuple of RFC 6773 §3.8); a Request that finds none may open one.
//!
//! Not modelled: Init Cookies and Resets to strangers. What has no session and may open none is
//! dropped in silence, and handshakes that have not been proven are limited in number, in all and
//! from one address (see [`Limits`]).

use crate::encapsulation::{decapsulate, encapsulate};
use crate::socket::{Arrival, Departure, Socket};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use weir_proto::dccp;
use weir_proto::dccp::wire::PacketType;
use weir_proto::event::{Event, EventMask};
use weir_proto::node::{Endpoint, EndpointEvent};
use weir_proto::packet::{Body, FlowId, HostId, IpHeader, Packet};
use weir_proto::time::{Duration, Instant};

/// Names a session of a driver; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// The peer of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// Its address and UDP port.
    pub address: SocketAddr,
    /// Its DCCP port.
    pub port: u16,
    /// Our DCCP port.
    pub local_port: u16,
}

/// What a listener may be made to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions in all.
    pub sessions: usize,
    /// Sessions whose peer has not yet proven its address.
    pub handshakes: usize,
    /// Of these, from one IP address.
    pub handshakes_from_one: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sessions: 10_000,
            handshakes: 1024,
            handshakes_from_one: 256,
        }
    }
}

/// What became of datagrams that no session got, and of sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams that hold no DCCP packet.
    pub malformed: u64,
    /// Packets without a session that may not open one.
    pub strangers: u64,
    /// Requests refused because of a limit.
    pub refused: u64,
    /// Packets that the operating system did not take.
    pub unsent: u64,
}

struct Session<E> {
    endpoint: E,
    peer: Peer,
    local: Option<IpAddr>,
    due: Option<Instant>,
    proven: bool,
    over: bool,
}

type Acceptor<E> = Box<dyn FnMut(Peer) -> Option<E> + Send>;

/// A socket and the endpoints that use it.
pub struct RealTime<E> {
    socket: Socket,
    began: std::time::Instant,
    sessions: BTreeMap<SessionId, Session<E>>,
    routes: BTreeMap<Peer, SessionId>,
    timers: BTreeSet<(Instant, SessionId)>,
    unproven: BTreeMap<IpAddr, usize>,
    listener: Option<(u16, Limits, Acceptor<E>)>,
    next_id: u64,
    mask: EventMask,
    news: VecDeque<(SessionId, EndpointEvent)>,
    trace: VecDeque<(Instant, SessionId, Event)>,
    counters: Counters,
    /// Forgotten at the next turn: until then the application may ask what they have counted.
    ended: Vec<(SessionId, Peer)>,
    buffer: Vec<u8>,
}

impl<E: Endpoint> RealTime<E> {
    /// A driver whose socket is bound to this address.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn bind(local: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            socket: Socket::bind(local)?,
            began: std::time::Instant::now(),
            sessions: BTreeMap::new(),
            routes: BTreeMap::new(),
            timers: BTreeSet::new(),
            unproven: BTreeMap::new(),
            listener: None,
            next_id: 0,
            mask: EventMask::NONE,
            news: VecDeque::new(),
            trace: VecDeque::new(),
            counters: Counters::default(),
            ended: Vec::new(),
            buffer: Vec::new(),
        })
    }

    /// The address that the socket is bound to.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_address()
    }

    /// The machines' time.
    pub fn now(&self) -> Instant {
        let nanos = self.began.elapsed().as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Which events of sessions opened from now on are kept for [`Self::poll_trace`].
    pub fn set_mask(&mut self, mask: EventMask) {
        self.mask = mask;
    }

    /// Takes Requests for this DCCP port; `accept` makes an endpoint for a new peer or refuses it.
    pub fn listen(
        &mut self,
        port: u16,
        limits: Limits,
        accept: impl FnMut(Peer) -> Option<E> + Send + 'static,
    ) {
        self.listener = Some((port, limits, Box::new(accept)));
    }

    /// Opens a session actively.
    pub fn connect(&mut self, peer: Peer, endpoint: E) -> SessionId {
        let now = self.now();
        let id = self.insert(peer, (endpoint, None), true);
        if let Some(session) = self.sessions.get_mut(&id) {
            session.endpoint.connect(now);
        }
        self.pump(id);
        id
    }

    /// Lets the application use an endpoint: write, read, close, ask. `None` once it has gone.
    pub fn with<T>(&mut self, id: SessionId, act: impl FnOnce(Instant, &mut E) -> T) -> Option<T> {
        let now = self.now();
        let result = act(now, &mut self.sessions.get_mut(&id)?.endpoint);
        self.pump(id);
        Some(result)
    }

    /// News for the application, oldest first.
    pub fn poll_event(&mut self) -> Option<(SessionId, EndpointEvent)> {
        self.news.pop_front()
    }

    /// What the machines have said about themselves, oldest first.
    pub fn poll_trace(&mut self) -> Option<(Instant, SessionId, Event)> {
        self.trace.pop_front()
    }

    /// Sessions that are open, opening or closing.
    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// What became of the rest.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Waits for a packet or a timer, for at most `patience`, and does what is due.
    ///
    /// # Errors
    /// What the operating system says about the socket.
    pub fn turn(&mut self, patience: Duration) -> io::Result<()> {
        for (id, peer) in self.ended.drain(..) {
            self.sessions.remove(&id);
            self.routes.remove(&peer);
        }
        let end = self.now() + patience;
        let due = self.timers.first().map_or(end, |(due, _)| (*due).min(end));
        let due = std::time::Duration::from_nanos(due.as_nanos());
        self.socket.wait(self.began + due)?;
        self.receive_all()?;
        let now = self.now();
        while let Some((due, id)) = self.timers.first().copied().filter(|(due, _)| *due <= now) {
            self.timers.remove(&(due, id));
            if let Some(session) = self.sessions.get_mut(&id) {
                session.due = None;
                session.endpoint.handle_timeout(now);
            }
            self.pump(id);
        }
        Ok(())
    }

    /// Receives what is there, but not for ever: timers wait meanwhile.
    fn receive_all(&mut self) -> io::Result<()> {
        let mut arrived = Vec::new();
        for _ in 0..64 {
            let malformed = &mut self.counters.malformed;
            let more = self
                .socket
                .receive(|arrival, datagram| match decapsulate(datagram) {
                    Ok(packet) => arrived.push((arrival, packet)),
                    Err(_) => *malformed += 1,
                })?;
            if !more {
                break;
            }
        }
        for (arrival, packet) in arrived {
            self.handle(arrival, packet);
        }
        Ok(())
    }

    fn handle(&mut self, arrival: Arrival, packet: dccp::Packet) {
        let peer = Peer {
            address: arrival.remote,
            port: packet.source_port,
            local_port: packet.destination_port,
        };
        let Some(id) = self
            .routes
            .get(&peer)
            .copied()
            .or_else(|| self.accept(peer, &arrival, packet.kind))
        else {
            return;
        };
        let now = self.now();
        let packet = Packet {
            id: packet.seq.get(),
            flow: FlowId::default(),
            ip: IpHeader {
                source: HostId::default(),
                target: HostId::default(),
                ecn: arrival.ecn,
                ttl: IpHeader::DEFAULT_TTL,
            },
            size: IpHeader::V4_OCTETS + packet.wire_len(),
            damaged_at: None,
            body: Body::Dccp(packet),
        };
        if let Some(session) = self.sessions.get_mut(&id) {
            session.endpoint.handle(now, packet);
        }
        self.pump(id);
    }

    /// A session for a stranger, if it asks for one and the limits allow it.
    fn accept(&mut self, peer: Peer, arrival: &Arrival, kind: PacketType) -> Option<SessionId> {
        let open = matches!(&self.listener, Some((port, ..)) if *port == peer.local_port);
        if kind != PacketType::Request || !open {
            self.counters.strangers += 1;
            return None;
        }
        let (_, limits, accept) = self.listener.as_mut()?;
        let from_one = self.unproven.get(&peer.address.ip()).copied().unwrap_or(0);
        let full = self.sessions.len() >= limits.sessions
            || self.unproven.values().sum::<usize>() >= limits.handshakes
            || from_one >= limits.handshakes_from_one;
        let Some(endpoint) = (!full).then(|| accept(peer)).flatten() else {
            self.counters.refused += 1;
            return None;
        };
        Some(self.insert(peer, (endpoint, arrival.local), false))
    }

    fn insert(
        &mut self,
        peer: Peer,
        (mut endpoint, local): (E, Option<IpAddr>),
        proven: bool,
    ) -> SessionId {
        let id = SessionId(self.next_id);
        self.next_id += 1;
        if let Some(events) = endpoint.events() {
            events.set_mask(self.mask);
        }
        if !proven {
            *self.unproven.entry(peer.address.ip()).or_default() += 1;
        }
        self.routes.insert(peer, id);
        self.sessions.insert(
            id,
            Session {
                endpoint,
                peer,
                local,
                due: None,
                proven,
                over: false,
            },
        );
        id
    }

    /// After any input: everything that the endpoint has to send and to say, and its timer.
    fn pump(&mut self, id: SessionId) {
        let now = self.now();
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        while let Some(packet) = session.endpoint.poll_transmit(now) {
            let departure = Departure {
                remote: session.peer.address,
                local: session.local,
                ecn: packet.ip.ecn,
            };
            self.buffer.clear();
            let encoded = match &packet.body {
                Body::Dccp(dccp) => encapsulate(dccp, &mut self.buffer).is_ok(),
                _ => false,
            };
            if !encoded || self.socket.send(departure, &self.buffer).is_err() {
                self.counters.unsent += 1;
            }
            let nanos = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let left_at = Instant::from_nanos(nanos);
            session.endpoint.transmitted(left_at, packet.id);
        }
        if let Some(events) = session.endpoint.events() {
            self.trace
                .extend(events.drain().map(|(at, event)| (at, id, event)));
        }
        let was_proven = session.proven;
        while let Some(news) = session.endpoint.poll_event() {
            session.proven |= matches!(news, EndpointEvent::Connected);
            session.over |= matches!(news, EndpointEvent::Closed(_));
            self.news.push_back((id, news));
        }
        let due = session.endpoint.poll_timeout();
        // A stranger whose Request opened nothing leaves nothing behind.
        let ended = due.is_none() && (session.over || !session.proven);
        let peer = session.peer;
        if !was_proven && (session.proven || ended) {
            session.proven = true;
            self.forget_handshake(peer.address.ip());
        }
        self.set_timer(id, due);
        if ended {
            self.ended.push((id, peer));
        }
    }

    fn set_timer(&mut self, id: SessionId, due: Option<Instant>) {
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        if session.due == due {
            return;
        }
        if let Some(old) = std::mem::replace(&mut session.due, due) {
            self.timers.remove(&(old, id));
        }
        self.timers.extend(due.map(|due| (due, id)));
    }

    fn forget_handshake(&mut self, address: IpAddr) {
        if let Some(count) = self.unproven.get_mut(&address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.unproven.remove(&address);
            }
        }
    }
}

/// An initial sequence number that nobody can guess (RFC 4340 §7.2), from the system's randomness.
///
/// # Errors
/// If the system has none.
pub fn initial_sequence() -> io::Result<u64> {
    let mut octets = [0; 8];
    getrandom::fill(&mut octets).map_err(io::Error::other)?;
    Ok(u64::from_be_bytes(octets) >> 16)
}
