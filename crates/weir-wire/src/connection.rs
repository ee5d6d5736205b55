//! A connection as its application has it.

use crate::error::Error;
use crate::hub::{Command, Hub, Key};
use crate::options::Options;
use crate::socket::Socket;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// What a connection has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Status {
    /// The state, in the words of RFC 4340.
    pub state: &'static str,
    /// Packets handed over, acknowledgements included.
    pub packets_sent: u64,
    /// Octets of these, without IP and UDP headers.
    pub bytes_sent: u64,
    /// Packets that arrived and were accepted.
    pub packets_received: u64,
    /// Octets of application data that arrived.
    pub payload_received: u64,
    /// Packets found to be lost: of ours with CCID 2, of the peer's with TFRC.
    pub packets_lost: u64,
    /// The smoothed round-trip time in seconds; zero before a sample.
    pub smoothed_rtt_s: f64,
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
}

/// What the hub tells of a connection.
#[derive(Debug)]
pub(crate) struct Shared {
    status: Mutex<Status>,
    /// Room for datagrams on their way to the hub; closed when the connection has ended.
    room: Arc<Semaphore>,
}

impl Shared {
    pub(crate) fn new(datagrams: usize) -> Self {
        Self {
            status: Mutex::default(),
            room: Arc::new(Semaphore::new(datagrams)),
        }
    }

    pub(crate) fn end(&self) {
        self.room.close();
    }

    pub(crate) fn set(&self, status: Status) {
        let mut old = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        let datagrams_dropped = old.datagrams_dropped;
        *old = Status {
            datagrams_dropped,
            ..status
        };
    }

    pub(crate) fn count_overrun(&self) {
        let mut status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.datagrams_dropped += 1;
    }

    fn get(&self) -> Status {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One end of a connection. Dropping it closes the connection in good order.
#[derive(Debug)]
pub struct Connection {
    key: Key,
    commands: mpsc::UnboundedSender<Command>,
    received: mpsc::Receiver<Vec<u8>>,
    shared: Arc<Shared>,
}

impl Connection {
    pub(crate) const fn new(
        key: Key,
        commands: mpsc::UnboundedSender<Command>,
        received: mpsc::Receiver<Vec<u8>>,
        shared: Arc<Shared>,
    ) -> Self {
        Self {
            key,
            commands,
            received,
            shared,
        }
    }

    /// Opens a connection to the DCCP server behind this UDP address, from a socket of its own.
    ///
    /// # Errors
    /// [`Error::Socket`], [`Error::Reset`] if the server refuses, [`Error::TimedOut`] if nobody
    /// answers for three minutes (RFC 4340 §8.1.1).
    pub async fn connect(to: SocketAddr, options: Options) -> Result<Self, Error> {
        let any = match to {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let socket = Socket::bind(SocketAddr::new(any, 0))?;
        let (hub, commands) = Hub::new(socket, None);
        tokio::spawn(hub.run());
        let (reply, answer) = oneshot::channel();
        let command = Command::Connect(to, Box::new(options), reply);
        commands.send(command).map_err(|_| Error::Closed)?;
        answer.await.map_err(|_| Error::Closed)?
    }

    /// The peer's UDP address.
    pub const fn peer_address(&self) -> SocketAddr {
        SocketAddr::new(self.key.0.ip().to_canonical(), self.key.0.port())
    }

    /// Sends a datagram; waits while the send queue is full, which is as fast as congestion
    /// control allows.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for what does not fit a packet, [`Error::Closed`] after the end.
    pub async fn send(&self, data: &[u8]) -> Result<(), Error> {
        let limit = self.status().max_datagram;
        if data.len() > limit as usize {
            return Err(Error::TooLarge {
                octets: data.len(),
                limit,
            });
        }
        let room = Arc::clone(&self.shared.room).acquire_owned().await;
        let room = room.map_err(|_| Error::Closed)?;
        let command = Command::Send(self.key, data.to_vec(), room);
        self.commands.send(command).map_err(|_| Error::Closed)
    }

    /// The next datagram that has come; `None` when the connection has ended and all were read.
    pub async fn receive(&mut self) -> Option<Vec<u8>> {
        self.received.recv().await
    }

    /// What the connection has done so far.
    pub fn status(&self) -> Status {
        self.shared.get()
    }

    /// Ends the connection in good order, after what was sent before.
    pub fn close(&self) {
        // A hub that is gone has closed it already.
        let _ = self.commands.send(Command::Close(self.key));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}
