//! A connection as its application has it.

use crate::config::EndpointConfig;
use crate::error::Error;
use crate::events::EventStream;
use crate::hub::{Command, Hub, Key};
use crate::socket::Socket;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore, TryAcquireError, mpsc, oneshot};
use weir_proto::endpoint::Statistics;
use weir_proto::packet::Payload;

/// What a connection has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionStats {
    /// The state, in the words of RFC 4340.
    pub state: &'static str,
    /// Octets of application data that have left.
    pub payload_sent: u64,
    /// Datagrams that arrived and found no room, because the application did not receive.
    pub datagrams_dropped: u64,
    /// X of TFRC, or cwnd over the smoothed round-trip time, in bits per second.
    pub allowed_rate_bps: f64,
    /// p of TFRC, in [0, 1].
    pub loss_event_rate: f64,
    /// Octets of the longest datagram that [`Connection::send`] takes.
    pub max_datagram: u32,
    /// What bound the rate or window last; empty before the first report.
    pub limit: &'static str,
    /// The counters of the state machine: packets, octets, losses, the smoothed round-trip time.
    pub statistics: Statistics,
}

/// What the hub and the application have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    stats: Mutex<ConnectionStats>,
    /// That of the stats, without a lock.
    max_datagram: AtomicU32,
    /// Datagrams on their way to the machine.
    outgoing: Mutex<VecDeque<Payload>>,
    /// Room for more of them; closed when the connection has ended.
    room: Semaphore,
    /// Datagrams on their way to the application, at most `incoming_most`.
    incoming: Mutex<VecDeque<Payload>>,
    incoming_most: usize,
    /// Something has come, or nothing more will.
    arrival: Notify,
    ended: AtomicBool,
}

impl Shared {
    /// With room for so many datagrams to the machine, and from it.
    pub(crate) fn new(outgoing: usize, incoming: usize) -> Self {
        Self {
            stats: Mutex::default(),
            max_datagram: AtomicU32::new(0),
            outgoing: Mutex::default(),
            room: Semaphore::new(outgoing),
            incoming: Mutex::default(),
            incoming_most: incoming.max(1),
            arrival: Notify::new(),
            ended: AtomicBool::new(false),
        }
    }

    /// The datagrams that the application has handed over.
    pub(crate) fn outgoing(&self) -> MutexGuard<'_, VecDeque<Payload>> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many datagrams have been taken.
    pub(crate) fn make_room(&self, datagrams: usize) {
        self.room.add_permits(datagrams);
    }

    pub(crate) fn end(&self) {
        self.room.close();
        self.ended.store(true, Ordering::Release);
        self.arrival.notify_one();
    }

    /// Gives these datagrams to the application; what it has no room for is dropped and counted.
    pub(crate) fn deliver(&self, datagrams: impl Iterator<Item = Payload>) {
        let mut dropped = 0;
        let mut incoming = self.incoming();
        for datagram in datagrams {
            if incoming.len() < self.incoming_most {
                incoming.push_back(datagram);
            } else {
                dropped += 1;
            }
        }
        drop(incoming);
        self.arrival.notify_one();
        if dropped > 0 {
            let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
            stats.datagrams_dropped += dropped;
        }
    }

    fn incoming(&self) -> MutexGuard<'_, VecDeque<Payload>> {
        self.incoming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, stats: ConnectionStats) {
        self.max_datagram
            .store(stats.max_datagram, Ordering::Relaxed);
        let mut old = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        let datagrams_dropped = old.datagrams_dropped;
        *old = ConnectionStats {
            datagrams_dropped,
            ..stats
        };
    }

    fn get(&self) -> ConnectionStats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the counters of a connection while another task receives from it.
#[derive(Clone, Debug)]
pub struct StatsReader(Arc<Shared>);

impl StatsReader {
    /// What the connection has done so far.
    pub fn stats(&self) -> ConnectionStats {
        self.0.get()
    }
}

/// One end of a connection. Dropping it closes the connection in good order.
#[derive(Debug)]
pub struct Connection {
    key: Key,
    commands: mpsc::UnboundedSender<Command>,
    shared: Arc<Shared>,
    events: Option<EventStream>,
}

impl Connection {
    pub(crate) const fn new(
        key: Key,
        commands: mpsc::UnboundedSender<Command>,
        shared: Arc<Shared>,
        events: Option<EventStream>,
    ) -> Self {
        Self {
            key,
            commands,
            shared,
            events,
        }
    }

    /// Opens a connection to the DCCP server behind this UDP address, from a socket of its own. The
    /// port means nothing if there is no UDP.
    ///
    /// # Errors
    /// [`Error::Socket`], [`Error::Privilege`], [`Error::Refused`] if the network says that nobody
    /// listens there, [`Error::Reset`] if the server refuses, [`Error::TimedOut`] if nobody answers
    /// within the options' time.
    pub async fn connect(to: SocketAddr, options: EndpointConfig) -> Result<Self, Error> {
        let to = options.encapsulation.peer(to);
        let any = match to {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let mut socket = Socket::bind(SocketAddr::new(any, 0), &options)?;
        socket.connect(to)?;
        let (hub, commands) = Hub::new(socket, &options, None)?;
        tokio::spawn(hub.run());
        let (reply, answer) = oneshot::channel();
        let command = Command::Connect(to, Box::new(options), reply);
        commands.send(command).map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }

    /// The peer's UDP address, with port 0 if there is no UDP.
    pub const fn peer_address(&self) -> SocketAddr {
        SocketAddr::new(self.key.0.ip().to_canonical(), self.key.0.port())
    }

    /// Sends a datagram; waits while the send queue is full, which is as fast as congestion
    /// control allows.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for what does not fit a packet, [`Error::Closed`] after the end.
    pub async fn send(&self, data: &[u8]) -> Result<(), Error> {
        self.check(data)?;
        self.hand_over_later(Payload::from_bytes(data)).await
    }

    /// Sends a datagram that is kept until it has left, instead of a copy of it: for what goes to
    /// many peers, or often.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_shared(&self, data: &Arc<[u8]>) -> Result<(), Error> {
        self.check(data)?;
        self.hand_over_later(Payload::shared(Arc::clone(data)))
            .await
    }

    /// Sends a datagram if there is room in the send queue; says whether there was.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn try_send(&self, data: &[u8]) -> Result<bool, Error> {
        self.check(data)?;
        self.try_hand_over(|| Payload::from_bytes(data))
    }

    /// As [`try_send`](Self::try_send), without a copy, as [`send_shared`](Self::send_shared).
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn try_send_shared(&self, data: &Arc<[u8]>) -> Result<bool, Error> {
        self.check(data)?;
        self.try_hand_over(|| Payload::shared(Arc::clone(data)))
    }

    /// Hands a datagram over when there is room.
    async fn hand_over_later(&self, datagram: Payload) -> Result<(), Error> {
        let room = self.shared.room.acquire().await;
        room.map_err(|_| Error::Closed)?.forget();
        self.hand_over(datagram)
    }

    /// Hands a datagram over if there is room; says whether there was.
    fn try_hand_over(&self, datagram: impl FnOnce() -> Payload) -> Result<bool, Error> {
        match self.shared.room.try_acquire() {
            Ok(room) => room.forget(),
            Err(TryAcquireError::NoPermits) => return Ok(false),
            Err(TryAcquireError::Closed) => return Err(Error::Closed),
        }
        self.hand_over(datagram())?;
        Ok(true)
    }

    fn check(&self, data: &[u8]) -> Result<(), Error> {
        let limit = self.shared.max_datagram.load(Ordering::Relaxed);
        if data.len() > limit as usize {
            return Err(Error::TooLarge {
                octets: data.len(),
                limit,
            });
        }
        Ok(())
    }

    fn hand_over(&self, datagram: Payload) -> Result<(), Error> {
        let mut outgoing = self.shared.outgoing();
        outgoing.push_back(datagram);
        // Who finds others waiting need not wake the hub again.
        if outgoing.len() > 1 {
            return Ok(());
        }
        drop(outgoing);
        let command = Command::Send(self.key);
        self.commands.send(command).map_err(|_| Error::Closed)
    }

    /// The next datagram that has come; `None` when the connection has ended and all were read.
    pub async fn receive(&mut self) -> Option<Vec<u8>> {
        self.receive_shared()
            .await
            .map(|datagram| datagram.to_vec())
    }

    /// As [`receive`](Self::receive), without a copy.
    pub async fn receive_shared(&mut self) -> Option<Arc<[u8]>> {
        loop {
            // In this order: what came before the end was there before it was said.
            let ended = self.shared.ended.load(Ordering::Acquire);
            let datagram = self.try_receive_shared();
            if datagram.is_some() || ended {
                return datagram;
            }
            self.shared.arrival.notified().await;
        }
    }

    /// The next datagram, if it has come already.
    pub fn try_receive(&mut self) -> Option<Vec<u8>> {
        self.try_receive_shared().map(|datagram| datagram.to_vec())
    }

    /// As [`try_receive`](Self::try_receive), without a copy.
    pub fn try_receive_shared(&mut self) -> Option<Arc<[u8]>> {
        let datagram = self.shared.incoming().pop_front();
        datagram.map(Payload::into_bytes)
    }

    /// What the connection has done so far.
    pub fn stats(&self) -> ConnectionStats {
        self.shared.get()
    }

    /// Reads the same from elsewhere.
    pub fn stats_reader(&self) -> StatsReader {
        StatsReader(Arc::clone(&self.shared))
    }

    /// The machine's events, for whoever asks first; `None` if the options want none.
    pub const fn events(&mut self) -> Option<EventStream> {
        self.events.take()
    }

    /// Ends the connection in good order, after what was sent before.
    pub fn close(&self) {
        // A hub that is gone has closed it already.
        let _ = self
            .commands
            .send(Command::Close(self.key, Arc::clone(&self.shared)));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}
