//! A connection as seen by its application.

use crate::address::canonical;
use crate::connection_key::ConnectionKey;
use crate::error::Error;
use crate::events::EventStream;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, Semaphore, TryAcquireError, mpsc};
use weir_proto::endpoint::Statistics;
use weir_proto::packet::Payload;

/// State and counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ConnectionStats {
    /// The connection's state, in the terms of RFC 4340.
    pub state: &'static str,
    /// The CCID of the sending direction, as agreed with the peer.
    pub send_ccid: u8,
    /// The CCID of the receiving direction, as agreed with the peer.
    pub receive_ccid: u8,
    /// Octets of application data sent.
    pub payload_sent: u64,
    /// Received datagrams that were dropped because the receive queue was full.
    pub datagrams_dropped: u64,
    /// X of TFRC, or cwnd over the smoothed round-trip time, in bits per second.
    pub allowed_rate_bps: f64,
    /// p of TFRC, in [0, 1].
    pub loss_event_rate: f64,
    /// Octets of the longest datagram that [`Connection::send`] takes.
    pub max_datagram: u32,
    /// The last limit on the rate or window; empty before the controller's first report.
    pub limit: &'static str,
    /// The counters of the state machine: packets, octets, losses, the smoothed round-trip time.
    pub statistics: Statistics,
}

/// A request of a handle to the task that drives its connection.
pub(crate) enum Command {
    /// Datagrams wait in the shared state to be sent.
    Send(ConnectionKey),
    /// Discard the datagrams that wait to be sent, except those for which the function returns
    /// true, and reply with their number.
    Discard(
        ConnectionKey,
        fn(&[u8]) -> bool,
        tokio::sync::oneshot::Sender<u64>,
    ),
    /// Close the connection after the waiting datagrams, if the key still identifies the connection
    /// with this shared state.
    Close(ConnectionKey, Arc<SharedState>),
}

/// The state that a handle shares with the task that drives its connection.
#[derive(Debug)]
pub(crate) struct SharedState {
    stats: Mutex<ConnectionStats>,
    /// `max_datagram` of the stats, readable without a lock.
    max_datagram: AtomicU32,
    /// Datagrams from the application to the state machine.
    outgoing: Mutex<VecDeque<Payload>>,
    /// A permit for each datagram that `outgoing` has room for; closed at the connection's end.
    room: Semaphore,
    /// Datagrams from the state machine to the application, at most `max_incoming`.
    incoming: Mutex<VecDeque<Payload>>,
    max_incoming: usize,
    /// A datagram was received, or the connection has ended.
    changed: Notify,
    ended: AtomicBool,
}

impl SharedState {
    /// State with room for this many datagrams in each direction.
    pub(crate) fn new(max_outgoing: usize, max_incoming: usize) -> Self {
        Self {
            stats: Mutex::default(),
            max_datagram: AtomicU32::new(0),
            outgoing: Mutex::default(),
            room: Semaphore::new(max_outgoing),
            incoming: Mutex::default(),
            max_incoming: max_incoming.max(1),
            changed: Notify::new(),
            ended: AtomicBool::new(false),
        }
    }

    /// The datagrams that the application has handed over.
    pub(crate) fn outgoing(&self) -> MutexGuard<'_, VecDeque<Payload>> {
        self.outgoing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for `datagrams` more after the state machine has taken them.
    pub(crate) fn release_room(&self, datagrams: usize) {
        self.room.add_permits(datagrams);
    }

    /// Marks the connection as ended: sends fail, and receives return `None` after the last
    /// datagram.
    pub(crate) fn end(&self) {
        self.room.close();
        self.ended.store(true, Ordering::Release);
        self.changed.notify_one();
    }

    /// Queues received datagrams for the application; those without room are dropped and counted.
    pub(crate) fn deliver(&self, datagrams: impl Iterator<Item = Payload>) {
        let mut dropped = 0;
        let mut incoming = self.incoming();
        for datagram in datagrams {
            if incoming.len() < self.max_incoming {
                incoming.push_back(datagram);
            } else {
                dropped += 1;
            }
        }
        drop(incoming);
        self.changed.notify_one();
        if dropped > 0 {
            self.stats().datagrams_dropped += dropped;
        }
    }

    fn incoming(&self) -> MutexGuard<'_, VecDeque<Payload>> {
        self.incoming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes new stats; keeps `datagrams_dropped`, which is counted here.
    pub(crate) fn publish(&self, stats: ConnectionStats) {
        self.max_datagram
            .store(stats.max_datagram, Ordering::Relaxed);
        let mut current = self.stats();
        let datagrams_dropped = current.datagrams_dropped;
        *current = ConnectionStats {
            datagrams_dropped,
            ..stats
        };
    }

    fn stats(&self) -> MutexGuard<'_, ConnectionStats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the stats of a connection while another task receives from it.
#[derive(Clone, Debug)]
pub struct StatsReader(Arc<SharedState>);

impl StatsReader {
    /// The connection's state and counters.
    pub fn stats(&self) -> ConnectionStats {
        *self.0.stats()
    }
}

/// One end of a connection. Dropping it closes the connection as [`close`](Self::close) does.
#[derive(Debug)]
pub struct Connection {
    pub(crate) key: ConnectionKey,
    pub(crate) commands: mpsc::UnboundedSender<Command>,
    pub(crate) shared: Arc<SharedState>,
    pub(crate) events: Option<EventStream>,
}

impl Connection {
    /// The peer's UDP address, with port 0 over IP.
    pub const fn peer_address(&self) -> SocketAddr {
        canonical(self.key.peer)
    }

    /// Sends a datagram. Waits while the send queue is full, so the caller is paced by congestion
    /// control.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the datagram does not fit into a packet, [`Error::Closed`] if the
    /// connection has ended.
    pub async fn send(&self, data: &[u8]) -> Result<(), Error> {
        self.check_size(data)?;
        self.enqueue_with_room(Payload::from_bytes(data)).await
    }

    /// Sends a shared datagram without a copy; the reference is held until it has been sent. For
    /// data that is sent to many peers or many times.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn send_shared(&self, data: &Arc<[u8]>) -> Result<(), Error> {
        self.check_size(data)?;
        self.enqueue_with_room(Payload::shared(Arc::clone(data)))
            .await
    }

    /// Sends a datagram if the send queue has room; returns whether it had.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn try_send(&self, data: &[u8]) -> Result<bool, Error> {
        self.check_size(data)?;
        self.try_enqueue(|| Payload::from_bytes(data))
    }

    /// [`try_send`](Self::try_send) without a copy, like [`send_shared`](Self::send_shared).
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn try_send_shared(&self, data: &Arc<[u8]>) -> Result<bool, Error> {
        self.check_size(data)?;
        self.try_enqueue(|| Payload::shared(Arc::clone(data)))
    }

    async fn enqueue_with_room(&self, datagram: Payload) -> Result<(), Error> {
        let room = self.shared.room.acquire().await;
        room.map_err(|_| Error::Closed)?.forget();
        self.enqueue(datagram)
    }

    fn try_enqueue(&self, datagram: impl FnOnce() -> Payload) -> Result<bool, Error> {
        match self.shared.room.try_acquire() {
            Ok(room) => room.forget(),
            Err(TryAcquireError::NoPermits) => return Ok(false),
            Err(TryAcquireError::Closed) => return Err(Error::Closed),
        }
        self.enqueue(datagram())?;
        Ok(true)
    }

    fn check_size(&self, data: &[u8]) -> Result<(), Error> {
        let limit = self.shared.max_datagram.load(Ordering::Relaxed);
        if data.len() > limit as usize {
            return Err(Error::TooLarge {
                octets: data.len(),
                limit,
            });
        }
        Ok(())
    }

    fn enqueue(&self, datagram: Payload) -> Result<(), Error> {
        let mut outgoing = self.shared.outgoing();
        outgoing.push_back(datagram);
        // The first datagram in the queue has already sent a command for all of them.
        if outgoing.len() > 1 {
            return Ok(());
        }
        drop(outgoing);
        let command = Command::Send(self.key);
        self.commands.send(command).map_err(|_| Error::Closed)
    }

    /// The next received datagram; `None` after the last one of a connection that has ended.
    pub async fn receive(&mut self) -> Option<Vec<u8>> {
        self.receive_shared()
            .await
            .map(|datagram| datagram.to_vec())
    }

    /// [`receive`](Self::receive) without a copy.
    pub async fn receive_shared(&mut self) -> Option<Arc<[u8]>> {
        loop {
            // In this order: the last datagram is queued before `ended` is set.
            let ended = self.shared.ended.load(Ordering::Acquire);
            let datagram = self.try_receive_shared();
            if datagram.is_some() || ended {
                return datagram;
            }
            self.shared.changed.notified().await;
        }
    }

    /// The next datagram, if one has been received already.
    pub fn try_receive(&mut self) -> Option<Vec<u8>> {
        self.try_receive_shared().map(|datagram| datagram.to_vec())
    }

    /// [`try_receive`](Self::try_receive) without a copy.
    pub fn try_receive_shared(&mut self) -> Option<Arc<[u8]>> {
        let datagram = self.shared.incoming().pop_front();
        datagram.map(Payload::into_bytes)
    }

    /// The connection's state and counters.
    pub fn stats(&self) -> ConnectionStats {
        *self.shared.stats()
    }

    /// A reader of the stats for another task.
    pub fn stats_reader(&self) -> StatsReader {
        StatsReader(Arc::clone(&self.shared))
    }

    /// The connection's events. Returns the stream once, then `None`; always `None` if the
    /// configuration selects no events.
    pub const fn events(&mut self) -> Option<EventStream> {
        self.events.take()
    }

    /// Discards the datagrams that have been handed over and wait to be sent, except those for
    /// which `keep` returns true. Returns their number; zero if the connection has ended.
    pub async fn discard_unsent(&self, keep: fn(&[u8]) -> bool) -> u64 {
        let (answer, discarded) = tokio::sync::oneshot::channel();
        let command = Command::Discard(self.key, keep, answer);
        if self.commands.send(command).is_err() {
            return 0;
        }
        discarded.await.unwrap_or_default()
    }

    /// Closes the connection after the datagrams that have been handed over are sent.
    pub fn close(&self) {
        // If the task has ended, so has the connection.
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
