//! The UDP socket used by quinn: it copies datagrams to a capture and reports to a client that the
//! server's port is closed, which quinn's own socket does not.

use quinn::udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};
use std::fmt::{self, Debug, Formatter};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use weir_proto::packet::Ecn;
use weir_wire::{Direction, Error, Tap, TappedDatagram};

/// The socket.
#[derive(Debug)]
pub struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    tap: Option<Arc<dyn Tap>>,
    local: SocketAddr,
    refused: Notify,
}

impl Socket {
    /// A server's socket at this address, port 0 for any.
    pub fn bind(address: SocketAddr, tap: Option<Arc<dyn Tap>>) -> Result<Arc<Self>, Error> {
        Self::open(address, None, tap).map_err(|source| Error::Socket { address, source })
    }

    /// A client's socket for this server only, at this port, 0 for any.
    pub fn connect(
        to: SocketAddr,
        port: u16,
        tap: Option<Arc<dyn Tap>>,
    ) -> Result<Arc<Self>, Error> {
        let any = match to {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        Self::open(SocketAddr::new(any, port), Some(to), tap).map_err(|source| Error::Socket {
            address: to,
            source,
        })
    }

    fn open(
        address: SocketAddr,
        to: Option<SocketAddr>,
        tap: Option<Arc<dyn Tap>>,
    ) -> io::Result<Arc<Self>> {
        let socket = std::net::UdpSocket::bind(address)?;
        // Other systems do not allow sending to an explicit address, as quinn does, on a connected
        // socket.
        if let Some(to) = to.filter(|_| cfg!(target_os = "linux")) {
            socket.connect(to)?;
        }
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new((&socket).into())?;
        // The buffer must hold a burst; the kernel may grant less.
        let _ = state.set_recv_buffer_size((&socket).into(), 1 << 22);
        Ok(Arc::new(Self {
            state,
            local: socket.local_addr()?,
            io: UdpSocket::from_std(socket)?,
            tap,
            refused: Notify::new(),
        }))
    }

    /// Waits until the peer's host reports that the port is closed.
    pub async fn refused(&self) {
        loop {
            tokio::select! {
                () = self.refused.notified() => return,
                ready = self.io.ready(Interest::ERROR) => if ready.is_err() {
                    return std::future::pending().await;
                },
            }
            // Reading the error does not wake tasks that wait for datagrams.
            match self.io.take_error() {
                Ok(Some(error)) if error.kind() == ErrorKind::ConnectionRefused => return,
                _ => {
                    let nothing = || Err::<(), _>(ErrorKind::WouldBlock.into());
                    let _ = self.io.try_io(Interest::ERROR, nothing);
                }
            }
        }
    }

    fn note_refusal(&self, error: &io::Error) {
        if error.kind() == ErrorKind::ConnectionRefused {
            self.refused.notify_one();
        }
    }

    /// Passes datagrams to the capture, if there is one.
    fn capture(&self, path: &DatagramPath, octets: &[u8], segment: usize) {
        let Some(tap) = &self.tap else { return };
        let ours = self.local.ip().to_canonical();
        let unknown = match path.peer.ip().to_canonical() {
            IpAddr::V4(_) if ours.is_unspecified() => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            _ => ours,
        };
        let ip = path.ours.map_or(unknown, |ip| ip.to_canonical());
        let ours = SocketAddr::new(ip, self.local.port());
        let peer = SocketAddr::new(path.peer.ip().to_canonical(), path.peer.port());
        let (from, to) = match path.direction {
            Direction::Sent => (ours, peer),
            Direction::Received => (peer, ours),
        };
        for octets in octets.chunks(segment.max(1)) {
            tap.datagram(&TappedDatagram {
                at: Instant::now(),
                direction: path.direction,
                from,
                to,
                ecn: match path.ecn {
                    None => Ecn::NotEct,
                    Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                    Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                    Some(EcnCodepoint::Ce) => Ecn::Ce,
                },
                octets,
            });
        }
    }
}

/// The addresses of a datagram at the socket.
struct DatagramPath {
    direction: Direction,
    peer: SocketAddr,
    ours: Option<IpAddr>,
    ecn: Option<EcnCodepoint>,
}

impl AsyncUdpSocket for Socket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Poller {
            socket: self,
            waiting: None,
        })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let send = || self.state.try_send((&self.io).into(), transmit);
        let mut sent = self.io.try_io(Interest::WRITABLE, send);
        if let Err(error) = &sent
            && error.kind() == ErrorKind::ConnectionRefused
        {
            // The kernel reports the ICMP error of an earlier datagram instead of sending this one.
            self.note_refusal(error);
            sent = self.io.try_io(Interest::WRITABLE, send);
        }
        match sent {
            Ok(()) => {
                let path = DatagramPath {
                    direction: Direction::Sent,
                    peer: transmit.destination,
                    ours: transmit.src_ip,
                    ecn: transmit.ecn,
                };
                let whole = transmit.contents.len();
                let segment = transmit.segment_size.unwrap_or(whole);
                self.capture(&path, transmit.contents, segment);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(error),
            // A datagram that the kernel rejects, for example because it is too large, is treated
            // as lost.
            Err(_) => Ok(()),
        }
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.io.poll_recv_ready(context))?;
            let received = self.io.try_io(Interest::READABLE, || {
                self.state.recv((&self.io).into(), buffers, metas)
            });
            match received {
                Ok(count) => {
                    for (meta, buffer) in metas.iter().zip(buffers.iter()).take(count) {
                        let path = DatagramPath {
                            direction: Direction::Received,
                            peer: meta.addr,
                            ours: meta.dst_ip,
                            ecn: meta.ecn,
                        };
                        let octets = buffer.get(..meta.len).unwrap_or_default();
                        self.capture(&path, octets, meta.stride);
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(error) => self.note_refusal(&error),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}

/// A task that waits for space in the socket's buffer.
struct Poller {
    socket: Arc<Socket>,
    waiting: Option<Waiting>,
}

type Waiting = Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

impl Debug for Poller {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.debug_struct("Poller").finish_non_exhaustive()
    }
}

impl UdpPoller for Poller {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let socket = Arc::clone(&self.socket);
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(async move { socket.io.writable().await }));
        let result = ready!(waiting.as_mut().poll(context));
        self.waiting = None;
        Poll::Ready(result)
    }
}
