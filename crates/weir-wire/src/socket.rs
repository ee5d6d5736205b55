//! A socket that reads and writes batches with ECN: of UDP, or raw for DCCP over IP.
//!
//! Raw sockets have one family each, so a listener at the unspecified IPv6 address has two of them
//! to hear both, as a UDP socket does alone.

use crate::config::EndpointConfig;
use crate::datagram::ecn_of;
use crate::encapsulation::Encapsulation;
use crate::error::Error;
use crate::outbox::{Outbox, Run};
use crate::raw_socket;
use crate::sieve::{self, Scope, Start};
use crate::tap::{Direction, Tap, TappedDatagram, canonical, ours};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Octets of a buffer: with GRO the kernel puts several datagrams into one. The surplus keeps the
/// beginnings of the buffers, where small datagrams lie, out of each other's places in the cache.
const BUFFER: usize = (1 << 16) + 1536;

/// The peer's host has said that nobody is there.
fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused || raw_socket::is_refusal(error)
}

/// The socket.
pub(crate) struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    segmentation: bool,
    tap: Option<Arc<dyn Tap>>,
    connected: bool,
    refused: bool,
    local: SocketAddr,
    encapsulation: Encapsulation,
    /// What the kernel lets in.
    scope: Scope,
    /// A raw socket for IPv4 beside one for IPv6.
    other: Option<Box<Self>>,
    /// Room for a batch, in one piece: the system gives memory only for what is written to.
    buffers: Vec<u8>,
    /// What is said of each.
    metas: [RecvMeta; BATCH_SIZE],
}

impl Socket {
    /// Reads that the kernel combines at most.
    pub(crate) const MOST_READS: usize = BATCH_SIZE;

    /// A socket of UDP, whatever the options say of DCCP.
    pub(crate) fn bind_udp(address: SocketAddr, options: &EndpointConfig) -> Result<Self, Error> {
        let options = EndpointConfig {
            encapsulation: Encapsulation::Udp,
            ..options.clone()
        };
        Self::bind(address, &options)
    }

    /// A socket at this address, port 0 for any.
    pub(crate) fn bind(address: SocketAddr, options: &EndpointConfig) -> Result<Self, Error> {
        let failed = |source| Error::Socket { address, source };
        let encapsulation = options.encapsulation;
        let raw = encapsulation == Encapsulation::RawIp;
        let socket = if raw {
            raw_socket::bind(address)?
        } else {
            std::net::UdpSocket::bind(address).map_err(failed)?
        };
        // A burst that arrives while the task is busy must fit; the kernel may allow less.
        let _ = SockRef::from(&socket).set_recv_buffer_size(1 << 22);
        socket.set_nonblocking(true).map_err(failed)?;
        let state = UdpSocketState::new((&socket).into()).map_err(failed)?;
        let local = encapsulation.peer(socket.local_addr().map_err(failed)?);
        let io = UdpSocket::from_std(socket).map_err(failed)?;
        let start = match local {
            _ if !raw => Start::At(8),
            SocketAddr::V4(_) => Start::BehindIpv4,
            SocketAddr::V6(_) => Start::At(0),
        };
        let both = raw && local.is_ipv6() && local.ip().is_unspecified();
        let v4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let other = both.then(|| Self::bind(v4, options)).transpose()?;
        Ok(Self {
            io,
            state,
            segmentation: options.segmentation && !raw,
            tap: options.tap.clone(),
            connected: false,
            refused: false,
            local,
            encapsulation,
            scope: Scope { start, port: None },
            other: other.map(Box::new),
            buffers: vec![0; BUFFER * BATCH_SIZE],
            metas: [RecvMeta::default(); BATCH_SIZE],
        })
    }

    /// Talks to this address only from now on, which makes sending cheaper.
    pub(crate) fn connect(&mut self, to: SocketAddr) -> Result<(), Error> {
        let connected = SockRef::from(&self.io).connect(&to.into());
        self.connected = true;
        // Now it is known which address of ours leads there.
        let local = self.io.local_addr();
        self.local = local.map_or(self.local, |local| self.encapsulation.peer(local));
        connected.map_err(|source| Error::Socket {
            address: to,
            source,
        })
    }

    /// Octets that may wait to be read, as the kernel counts them.
    pub(crate) fn buffer(&self) -> usize {
        SockRef::from(&self.io).recv_buffer_size().unwrap_or(0)
    }

    /// Lets one Request in two to the power of `width` in, if the kernel can choose.
    pub(crate) fn narrow(&self, width: u32) {
        // Without it the surplus is dropped after it was read.
        let _ = sieve::attach(&SockRef::from(&self.io), self.scope, width);
        if let Some(other) = &self.other {
            other.narrow(width);
        }
    }

    /// From now on the kernel lets in what is for this DCCP port, where it would give every packet
    /// of the protocol to every raw socket. Until then such packets came, and are dropped later.
    pub(crate) fn expect(&mut self, port: u16) {
        if self.encapsulation == Encapsulation::RawIp {
            self.scope.port = Some(port);
            if let Some(other) = &mut self.other {
                other.scope.port = Some(port);
            }
            self.narrow(0);
        }
    }

    pub(crate) const fn local(&self) -> SocketAddr {
        self.local
    }

    /// The address that packets of a raw socket leave from, which is in their checksums. That of a
    /// UDP socket is the kernel's choice.
    pub(crate) fn source(&self) -> Option<IpAddr> {
        (self.encapsulation == Encapsulation::RawIp).then_some(self.local.ip())
    }

    /// Waits until there is something to read.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        // An ICMP message makes a socket no more readable than it was.
        let something = Interest::READABLE | Interest::ERROR;
        let ready = match &self.other {
            None => self.io.ready(something).await,
            Some(other) => tokio::select! {
                ready = self.io.ready(something) => ready,
                ready = other.io.ready(something) => ready,
            },
        };
        ready.map(drop)
    }

    /// Looks whether an ICMP message has come, which a raw socket says at no other occasion.
    fn hear_refusal(&mut self) {
        let heard = self.io.try_io(Interest::ERROR, || {
            match SockRef::from(&self.io).take_error()? {
                Some(error) => Ok(is_refusal(&error)),
                // It was told already; nothing more comes until the next one.
                None => Err(io::ErrorKind::WouldBlock.into()),
            }
        });
        self.refused |= heard.is_ok_and(|refused| refused);
    }

    /// Reads what there is; calls `take` with each datagram. Says how many reads the kernel
    /// combined at most, none if there was nothing.
    pub(crate) fn read(&mut self, mut take: impl FnMut(&RecvMeta, &[u8])) -> usize {
        let count = self.read_own(&mut take);
        let other = self.other.as_mut();
        count.max(other.map_or(0, |other| other.read_own(&mut take)))
    }

    fn read_own(&mut self, take: &mut impl FnMut(&RecvMeta, &[u8])) -> usize {
        self.hear_refusal();
        let Self {
            io,
            state,
            buffers,
            metas,
            ..
        } = &mut *self;
        let read = io.try_io(Interest::READABLE, || {
            let chunks = buffers.chunks_mut(BUFFER).map(IoSliceMut::new);
            let mut slices: Vec<IoSliceMut<'_>> = chunks.collect();
            state.recv((&*io).into(), &mut slices, metas)
        });
        let count = match read {
            Ok(count) => count,
            Err(error) => {
                self.refused |= is_refusal(&error);
                return 0;
            }
        };
        for (meta, buffer) in self
            .metas
            .iter()
            .zip(self.buffers.chunks(BUFFER))
            .take(count)
        {
            let octets = buffer.get(..meta.len).unwrap_or_default();
            if self.encapsulation == Encapsulation::RawIp {
                if let Some(content) = raw_socket::content(meta.addr, octets) {
                    self.show_received(meta, content);
                    take(meta, content);
                }
                continue;
            }
            for datagram in octets.chunks(meta.stride.max(1)) {
                self.show_received(meta, datagram);
                take(meta, datagram);
            }
        }
        count
    }

    /// Shows the tap what has come.
    fn show_received(&self, meta: &RecvMeta, octets: &[u8]) {
        let Some(tap) = &self.tap else {
            return;
        };
        tap.datagram(&TappedDatagram {
            at: Instant::now(),
            direction: Direction::Received,
            from: canonical(meta.addr),
            to: ours(self.local, meta.dst_ip, meta.addr),
            ecn: ecn_of(meta.ecn),
            octets,
        });
    }

    /// Sends the datagrams in order; equal ones to the same place in one call, if the kernel can.
    /// What the kernel has no room for stays. What it refuses for any other reason is lost, as on
    /// any wire.
    pub(crate) fn write(&mut self, outbox: &mut Outbox) {
        let most = if self.segmentation {
            self.state.max_gso_segments().max(1)
        } else {
            1
        };
        while let Some(run) = outbox.run(most) {
            // Not by way of the runtime, which knows of a new socket's readiness too late.
            let socket = self.of_family(&run);
            let mut sent = socket.send(&run, outbox);
            if sent.as_ref().is_err_and(is_refusal) {
                // An answer to an earlier datagram, in whose place this one was not sent.
                sent = socket.send(&run, outbox);
                self.refused = true;
            }
            let count = match sent {
                Ok(count) => {
                    self.show(outbox, count);
                    count
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => run.count,
            };
            outbox.remove(count);
        }
    }

    /// Shows the tap what has left: the first so many datagrams.
    fn show(&self, outbox: &Outbox, count: usize) {
        let Some(tap) = &self.tap else {
            return;
        };
        for (way, octets) in outbox.iter().take(count) {
            tap.datagram(&TappedDatagram {
                at: Instant::now(),
                direction: Direction::Sent,
                from: ours(self.local, way.from, way.to),
                to: canonical(way.to),
                ecn: ecn_of(way.ecn),
                octets,
            });
        }
    }

    /// The socket that takes what goes there.
    fn of_family(&self, run: &Run<'_>) -> &Self {
        let other = self.other.as_deref();
        other.filter(|_| run.way.to.is_ipv4()).unwrap_or(self)
    }

    /// Sends a run, or more than that; says how many datagrams have left.
    fn send(&self, run: &Run<'_>, outbox: &Outbox) -> io::Result<usize> {
        if self.connected && run.count == 1 && run.way.ecn.is_none() {
            return self.send_singles(run, outbox);
        }
        let transmit = Self::transmit(run);
        self.state.try_send((&self.io).into(), &transmit)?;
        Ok(run.count)
    }

    /// Sends what goes to the peer of this socket and needs nothing but its octets: many datagrams
    /// in one call, each by itself.
    #[cfg(target_os = "linux")]
    fn send_singles(&self, run: &Run<'_>, outbox: &Outbox) -> io::Result<usize> {
        use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};
        use std::io::IoSlice;
        let singles = outbox.iter().take_while(|(way, _)| *way == run.way);
        let mut parts = [[IoSlice::new(&[])]; BATCH_SIZE];
        let mut count = 0;
        for (part, (_, octets)) in parts.iter_mut().zip(singles) {
            *part = [IoSlice::new(octets)];
            count += 1;
        }
        // With segmentation what is alike has a better way, and is not here.
        if count < 2 || self.segmentation {
            return SockRef::from(&self.io).send(run.octets).map(|_| 1);
        }
        let mut nothing: [_; BATCH_SIZE] = std::array::from_fn(|_| SendAncillaryBuffer::default());
        let both = parts.iter().zip(&mut nothing).take(count);
        let mut messages: Vec<_> = both.map(|(part, none)| MMsgHdr::new(part, none)).collect();
        Ok(sendmmsg(&self.io, &mut messages, SendFlags::empty())?)
    }

    /// Sends what goes to the peer of this socket and needs nothing but its octets.
    #[cfg(not(target_os = "linux"))]
    fn send_singles(&self, run: &Run<'_>, _outbox: &Outbox) -> io::Result<usize> {
        SockRef::from(&self.io).send(run.octets).map(|_| 1)
    }

    /// True once after the peer's host has said that nobody has the port we send to: an ICMP
    /// message, which a connected socket alone hears of.
    pub(crate) fn take_refused(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }

    fn transmit<'a>(run: &Run<'a>) -> Transmit<'a> {
        Transmit {
            destination: run.way.to,
            ecn: run.way.ecn,
            contents: run.octets,
            segment_size: (run.count > 1).then_some(run.size),
            src_ip: run.way.from,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[derive(Debug, Default)]
    struct Lengths(std::sync::Mutex<Vec<usize>>);

    impl Tap for Lengths {
        fn datagram(&self, datagram: &TappedDatagram<'_>) {
            let mut lengths = self.0.lock().expect("nobody panicked");
            lengths.push(datagram.octets.len());
        }
    }

    #[tokio::test]
    async fn without_segmentation_each_datagram_leaves_alone_and_in_order() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let peer = std::net::UdpSocket::bind(any).expect("a socket");
        let to = peer.local_addr().expect("an address");
        let tap = Arc::new(Lengths::default());
        let options = EndpointConfig {
            segmentation: false,
            tap: Some(Arc::clone(&tap) as Arc<dyn Tap>),
            ..EndpointConfig::default()
        };
        let mut socket = Socket::bind(any, &options).expect("a socket");
        socket.connect(to).expect("a way");
        let mut outbox = Outbox::default();
        // More than one call takes; some alike, and some that need the kernel's help.
        let lengths: Vec<_> = (0..100).map(|number| 1 + number / 3).collect();
        for (number, len) in lengths.iter().enumerate() {
            let ecn = (number % 10 == 7).then_some(quinn_udp::EcnCodepoint::Ect0);
            let way = crate::outbox::Way {
                to,
                from: None,
                ecn,
            };
            outbox.push(|octets| {
                octets.resize(octets.len() + len, number as u8);
                Some(way)
            });
        }
        socket.write(&mut outbox);
        assert!(outbox.is_empty());
        for (number, len) in lengths.iter().enumerate() {
            let mut octets = [0; 100];
            let read = peer.recv(&mut octets).expect("it came");
            assert_eq!((read, octets.first()), (*len, Some(&(number as u8))));
        }
        assert_eq!(*tap.0.lock().expect("nobody panicked"), lengths);
    }

    #[tokio::test]
    async fn the_kernel_says_when_a_datagram_came() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut socket = Socket::bind(any, &EndpointConfig::default()).expect("a socket");
        let peer = std::net::UdpSocket::bind(any).expect("a socket");
        let wall = || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            now.expect("it is after 1970")
        };
        let before = wall();
        peer.send_to(&[1], socket.local()).expect("it leaves");
        // Over loopback it comes while it is sent.
        let after = wall();
        let mut marks = Vec::new();
        while marks.is_empty() {
            socket.readable().await.expect("it comes");
            socket.read(|meta, _| marks.push(meta.timestamp));
        }
        let mark = marks.first().copied().flatten().expect("a mark");
        assert!(
            (before..=after).contains(&mark),
            "{before:?} {mark:?} {after:?}"
        );
    }
}
