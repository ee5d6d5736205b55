//! A socket that reads and writes batches with ECN: UDP, or raw for DCCP over IP.
//!
//! A raw socket has one address family. A raw listener at the unspecified IPv6 address therefore
//! has two sockets, to receive both families as one UDP socket does.

use crate::config::EndpointConfig;
use crate::encapsulation::Encapsulation;
use crate::error::Error;
use crate::raw_socket;
use crate::request_filter::{self, DccpOffset, FilterScope};
use crate::send_queue::{GsoBatch, SendQueue};
use crate::tap::SocketTap;
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Octets of a receive buffer: the kernel may combine several datagrams in one (GRO). The excess
/// over a power of two places the first octets of the buffers in different cache sets.
const BUFFER_OCTETS: usize = (1 << 16) + 1536;

/// Octets to request as the kernel's receive buffer, for bursts that arrive while the task is busy.
pub(crate) const RECEIVE_BUFFER_OCTETS: usize = 1 << 22;

/// True if an error reports an ICMP "port unreachable" or "protocol unreachable".
fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused || raw_socket::is_refusal(error)
}

/// A socket and its state in the async runtime.
pub(crate) struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    segmentation: bool,
    tap: SocketTap,
    connected: bool,
    refused: bool,
    encapsulation: Encapsulation,
    filter: FilterScope,
    /// A raw socket for IPv4 in addition to one for IPv6.
    ipv4: Option<Box<Self>>,
    /// Receive buffers for a batch, in one allocation, because untouched pages use no memory.
    buffers: Vec<u8>,
    metas: [RecvMeta; BATCH_SIZE],
}

impl Socket {
    /// The most reads that the kernel combines in one call.
    pub(crate) const MAX_READS: usize = BATCH_SIZE;

    /// A UDP socket, regardless of the configured encapsulation of DCCP.
    pub(crate) fn bind_udp(address: SocketAddr, config: &EndpointConfig) -> Result<Self, Error> {
        let config = EndpointConfig {
            encapsulation: Encapsulation::Udp,
            ..config.clone()
        };
        Self::bind(address, &config)
    }

    /// A socket at this address, port 0 for any.
    pub(crate) fn bind(address: SocketAddr, config: &EndpointConfig) -> Result<Self, Error> {
        let failed = |source| Error::Socket { address, source };
        let encapsulation = config.encapsulation;
        let raw = encapsulation == Encapsulation::RawIp;
        let socket = if raw {
            raw_socket::bind(address)?
        } else {
            std::net::UdpSocket::bind(address).map_err(failed)?
        };
        // The kernel may permit less.
        let _ = SockRef::from(&socket).set_recv_buffer_size(RECEIVE_BUFFER_OCTETS);
        socket.set_nonblocking(true).map_err(failed)?;
        let state = UdpSocketState::new((&socket).into()).map_err(failed)?;
        let local = encapsulation.peer(socket.local_addr().map_err(failed)?);
        let io = UdpSocket::from_std(socket).map_err(failed)?;
        let offset = match local {
            // The filter's data begins with the UDP header.
            _ if !raw => DccpOffset::Fixed(8),
            SocketAddr::V4(_) => DccpOffset::AfterIpv4,
            SocketAddr::V6(_) => DccpOffset::Fixed(0),
        };
        let both = raw && local.is_ipv6() && local.ip().is_unspecified();
        let any_ipv4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        let ipv4 = both.then(|| Self::bind(any_ipv4, config)).transpose()?;
        Ok(Self {
            io,
            state,
            segmentation: config.segmentation && !raw,
            tap: SocketTap {
                tap: config.tap.clone(),
                local,
            },
            connected: false,
            refused: false,
            encapsulation,
            filter: FilterScope { offset, port: None },
            ipv4: ipv4.map(Box::new),
            buffers: vec![0; BUFFER_OCTETS * BATCH_SIZE],
            metas: [RecvMeta::default(); BATCH_SIZE],
        })
    }

    /// Connects the socket to this peer, which makes sending cheaper and reports ICMP errors.
    pub(crate) fn connect(&mut self, to: SocketAddr) -> Result<(), Error> {
        let connected = SockRef::from(&self.io).connect(&to.into());
        self.connected = true;
        // Connecting selects the local address.
        if let Ok(local) = self.io.local_addr() {
            self.tap.local = self.encapsulation.peer(local);
        }
        connected.map_err(|source| Error::Socket {
            address: to,
            source,
        })
    }

    /// Octets of the kernel's receive buffer, as the kernel counts them.
    pub(crate) fn receive_buffer(&self) -> usize {
        SockRef::from(&self.io).recv_buffer_size().unwrap_or(0)
    }

    /// Passes one Request in 2^`drop_shift`, if the kernel can filter.
    pub(crate) fn set_drop_shift(&self, drop_shift: u32) {
        // Without a filter the excess is dropped after it has been read.
        let _ = request_filter::attach(&SockRef::from(&self.io), self.filter, drop_shift);
        if let Some(ipv4) = &self.ipv4 {
            ipv4.set_drop_shift(drop_shift);
        }
    }

    /// Restricts a raw socket to packets for this DCCP port; otherwise the kernel delivers every
    /// packet of the protocol to every raw socket. Packets for other ports that are already queued
    /// are ignored later.
    pub(crate) fn restrict_to_port(&mut self, port: u16) {
        if self.encapsulation == Encapsulation::RawIp {
            self.filter.port = Some(port);
            if let Some(ipv4) = &mut self.ipv4 {
                ipv4.filter.port = Some(port);
            }
            self.set_drop_shift(0);
        }
    }

    pub(crate) const fn local(&self) -> SocketAddr {
        self.tap.local
    }

    /// The source address of a raw socket's packets, which their checksums cover. `None` for UDP,
    /// where the kernel selects it.
    pub(crate) fn source_ip(&self) -> Option<IpAddr> {
        (self.encapsulation == Encapsulation::RawIp).then_some(self.local().ip())
    }

    /// Waits until there is something to read.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        // An ICMP error does not make a socket readable.
        let interest = Interest::READABLE | Interest::ERROR;
        let ready = match &self.ipv4 {
            None => self.io.ready(interest).await,
            Some(ipv4) => tokio::select! {
                ready = self.io.ready(interest) => ready,
                ready = ipv4.io.ready(interest) => ready,
            },
        };
        ready.map(drop)
    }

    /// Takes a pending ICMP error, which no other call reports for a raw socket.
    fn check_refused(&mut self) {
        let refused = self.io.try_io(Interest::ERROR, || {
            match SockRef::from(&self.io).take_error()? {
                Some(error) => Ok(is_refusal(&error)),
                // Makes the runtime wait for the next error.
                None => Err(io::ErrorKind::WouldBlock.into()),
            }
        });
        self.refused |= refused.is_ok_and(|refused| refused);
    }

    /// Reads a batch and calls `take` with each datagram. Returns the number of reads that the
    /// kernel combined, 0 if there was nothing to read.
    pub(crate) fn read(&mut self, mut take: impl FnMut(&RecvMeta, &[u8])) -> usize {
        let count = self.read_own(&mut take);
        let ipv4 = self.ipv4.as_mut();
        count.max(ipv4.map_or(0, |ipv4| ipv4.read_own(&mut take)))
    }

    fn read_own(&mut self, take: &mut impl FnMut(&RecvMeta, &[u8])) -> usize {
        self.check_refused();
        let Self {
            io,
            state,
            buffers,
            metas,
            ..
        } = &mut *self;
        let read = io.try_io(Interest::READABLE, || {
            let chunks = buffers.chunks_mut(BUFFER_OCTETS).map(IoSliceMut::new);
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
        let buffers = self.buffers.chunks(BUFFER_OCTETS);
        for (meta, buffer) in self.metas.iter().zip(buffers).take(count) {
            let octets = buffer.get(..meta.len).unwrap_or_default();
            if self.encapsulation == Encapsulation::RawIp {
                if let Some(payload) = raw_socket::payload(meta.addr, octets) {
                    self.tap.received(meta, payload);
                    take(meta, payload);
                }
                continue;
            }
            for datagram in octets.chunks(meta.stride.max(1)) {
                self.tap.received(meta, datagram);
                take(meta, datagram);
            }
        }
        count
    }

    /// Sends the queued datagrams in order, equal ones in one call if the kernel supports it.
    /// Datagrams for which the kernel has no room stay queued; those that it refuses for another
    /// reason are lost, as on any path.
    pub(crate) fn write(&mut self, queue: &mut SendQueue) {
        let max_segments = if self.segmentation {
            self.state.max_gso_segments().max(1)
        } else {
            1
        };
        while let Some(batch) = queue.next_batch(max_segments) {
            // Not through the runtime, which detects too late that a new socket is writable.
            let socket = self.of_family(&batch);
            let mut sent = socket.send(&batch, queue);
            if sent.as_ref().is_err_and(is_refusal) {
                // The kernel returned the ICMP error of an earlier datagram instead of sending.
                sent = socket.send(&batch, queue);
                self.refused = true;
            }
            let count = match sent {
                Ok(count) => {
                    for (destination, octets) in queue.iter().take(count) {
                        self.tap.sent(&destination, octets);
                    }
                    count
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => batch.count,
            };
            queue.remove(count);
        }
    }

    /// The socket for the batch's address family.
    fn of_family(&self, batch: &GsoBatch<'_>) -> &Self {
        let ipv4 = self.ipv4.as_deref();
        ipv4.filter(|_| batch.destination.peer.is_ipv4())
            .unwrap_or(self)
    }

    /// Sends the batch, or more of the queue; returns the number of datagrams sent.
    fn send(&self, batch: &GsoBatch<'_>, queue: &SendQueue) -> io::Result<usize> {
        if self.connected && batch.count == 1 && batch.destination.ecn.is_none() {
            return self.send_plain(batch, queue);
        }
        self.state.try_send((&self.io).into(), &batch.transmit())?;
        Ok(batch.count)
    }

    /// Sends datagrams to the connected peer without ancillary data: several in one call, each as a
    /// separate packet.
    #[cfg(target_os = "linux")]
    fn send_plain(&self, batch: &GsoBatch<'_>, queue: &SendQueue) -> io::Result<usize> {
        use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};
        use std::io::IoSlice;
        let same = |(destination, _): &(_, &[u8])| *destination == batch.destination;
        let mut slices = [[IoSlice::new(&[])]; BATCH_SIZE];
        let mut count = 0;
        for (slice, (_, octets)) in slices.iter_mut().zip(queue.iter().take_while(same)) {
            *slice = [IoSlice::new(octets)];
            count += 1;
        }
        // With segmentation, the following datagrams of equal length form a separate batch.
        if count < 2 || self.segmentation {
            return SockRef::from(&self.io).send(batch.octets).map(|_| 1);
        }
        let mut control: [_; BATCH_SIZE] = std::array::from_fn(|_| SendAncillaryBuffer::default());
        let pairs = slices.iter().zip(&mut control).take(count);
        let mut messages: Vec<_> = pairs
            .map(|(slice, control)| MMsgHdr::new(slice, control))
            .collect();
        Ok(sendmmsg(&self.io, &mut messages, SendFlags::empty())?)
    }

    /// Sends a datagram to the connected peer without ancillary data.
    #[cfg(not(target_os = "linux"))]
    fn send_plain(&self, batch: &GsoBatch<'_>, _queue: &SendQueue) -> io::Result<usize> {
        SockRef::from(&self.io).send(batch.octets).map(|_| 1)
    }

    /// True once for each ICMP message that reports that no process has the peer's port; only a
    /// connected socket receives such messages.
    pub(crate) fn take_refused(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::tap::{Tap, TappedDatagram};
    use std::sync::Arc;
    use std::time::Duration;

    #[derive(Debug, Default)]
    struct Lengths(std::sync::Mutex<Vec<usize>>);

    impl Tap for Lengths {
        fn datagram(&self, datagram: &TappedDatagram<'_>) {
            let mut lengths = self.0.lock().expect("not poisoned");
            lengths.push(datagram.octets.len());
        }
    }

    #[tokio::test]
    async fn without_segmentation_each_datagram_leaves_alone_and_in_order() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let peer = std::net::UdpSocket::bind(any).expect("a socket");
        let to = peer.local_addr().expect("an address");
        let tap = Arc::new(Lengths::default());
        let config = EndpointConfig {
            segmentation: false,
            tap: Some(Arc::clone(&tap) as Arc<dyn Tap>),
            ..EndpointConfig::default()
        };
        let mut socket = Socket::bind(any, &config).expect("a socket");
        socket.connect(to).expect("a route");
        let mut send_queue = SendQueue::default();
        // More than one call can send; some of equal length, some with an ECN codepoint.
        let lengths: Vec<_> = (0..100).map(|number| 1 + number / 3).collect();
        for (number, len) in lengths.iter().enumerate() {
            let ecn = (number % 10 == 7).then_some(quinn_udp::EcnCodepoint::Ect0);
            let destination = crate::send_queue::Destination {
                peer: to,
                local_ip: None,
                ecn,
            };
            send_queue.push(|octets| {
                octets.resize(octets.len() + len, number as u8);
                Some(destination)
            });
        }
        socket.write(&mut send_queue);
        assert!(send_queue.is_empty());
        for (number, len) in lengths.iter().enumerate() {
            let mut octets = [0; 100];
            let read = peer.recv(&mut octets).expect("it came");
            assert_eq!((read, octets.first()), (*len, Some(&(number as u8))));
        }
        assert_eq!(*tap.0.lock().expect("not poisoned"), lengths);
    }

    #[tokio::test]
    async fn received_datagrams_have_the_kernels_timestamp() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut socket = Socket::bind(any, &EndpointConfig::default()).expect("a socket");
        let peer = std::net::UdpSocket::bind(any).expect("a socket");
        // Two datagrams wait in the kernel and are read together. Their timestamps differ by at
        // least the pause between their arrivals; the times of reading would not. Linux enables
        // timestamps some time after the socket requests them, and the system clock may be set in
        // between: one pair suffices.
        let pause = Duration::from_millis(20);
        for _ in 0..100 {
            peer.send_to(&[1], socket.local()).expect("it leaves");
            std::thread::sleep(pause);
            peer.send_to(&[2], socket.local()).expect("it leaves");
            let mut timestamps = Vec::new();
            while timestamps.len() < 2 {
                socket.readable().await.expect("it comes");
                socket.read(|meta, _| timestamps.push(meta.timestamp.expect("a timestamp")));
            }
            let [first, second] = timestamps[..] else {
                panic!("{timestamps:?}");
            };
            // The clock of the pause may run slightly faster than the system's.
            if second
                .checked_sub(first)
                .is_some_and(|apart| apart > pause / 2)
            {
                return;
            }
        }
        panic!("no two datagrams had the times of their arrival");
    }
}
