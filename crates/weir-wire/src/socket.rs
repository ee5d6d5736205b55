//! A UDP socket that reads and writes batches with ECN.

use crate::error::Error;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Octets of a buffer: with GRO the kernel puts several datagrams into one.
const BUFFER: usize = 1 << 16;

/// A datagram to leave.
pub(crate) struct Outgoing {
    pub(crate) to: SocketAddr,
    /// The address of ours that it leaves from; `None` lets the kernel choose.
    pub(crate) from: Option<IpAddr>,
    pub(crate) ecn: Option<EcnCodepoint>,
    pub(crate) octets: Vec<u8>,
}

/// The socket.
pub(crate) struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    local: SocketAddr,
    /// Room for a batch, in one piece: the system gives memory only for what is written to.
    buffers: Vec<u8>,
}

impl Socket {
    /// A socket at this address; port 0 for any.
    pub(crate) fn bind(address: SocketAddr) -> Result<Self, Error> {
        let failed = |source| Error::Socket { address, source };
        let socket = std::net::UdpSocket::bind(address).map_err(failed)?;
        // A burst that arrives while the task is busy must fit; the kernel may allow less.
        let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(1 << 22);
        socket.set_nonblocking(true).map_err(failed)?;
        let state = UdpSocketState::new((&socket).into()).map_err(failed)?;
        let local = socket.local_addr().map_err(failed)?;
        let io = UdpSocket::from_std(socket).map_err(failed)?;
        Ok(Self {
            io,
            state,
            local,
            buffers: vec![0; BUFFER * BATCH_SIZE],
        })
    }

    pub(crate) const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Waits until there is something to read.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        self.io.readable().await
    }

    /// Reads what there is; calls `take` with each datagram. False if there was none.
    pub(crate) fn read(&mut self, mut take: impl FnMut(&RecvMeta, &[u8])) -> bool {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let Self {
            io, state, buffers, ..
        } = self;
        let mut slices: Vec<IoSliceMut<'_>> =
            buffers.chunks_mut(BUFFER).map(IoSliceMut::new).collect();
        let read = io.try_io(Interest::READABLE, || {
            state.recv((&*io).into(), &mut slices, &mut metas)
        });
        let Ok(count) = read else { return false };
        for (meta, buffer) in metas.iter().zip(self.buffers.chunks(BUFFER)).take(count) {
            let octets = buffer.get(..meta.len).unwrap_or_default();
            for datagram in octets.chunks(meta.stride.max(1)) {
                take(meta, datagram);
            }
        }
        count > 0
    }

    /// Sends the datagrams in order; equal ones to the same place in one call, if the kernel can.
    /// Returns how many it took: the kernel may have no room for more. What it refuses for any
    /// other reason is lost, as on any wire.
    pub(crate) fn write(&self, outgoing: &[Outgoing]) -> usize {
        let most = self.state.max_gso_segments().clamp(1, 40);
        let mut rest = outgoing;
        while let Some(first) = rest.first() {
            let size = first.octets.len();
            let alike = |other: &&Outgoing| {
                other.to == first.to
                    && other.from == first.from
                    && other.ecn == first.ecn
                    && other.octets.len() == size
            };
            let run = rest.iter().take(most).take_while(alike).count().max(1);
            let (now, later) = rest.split_at(run);
            let contents: Vec<u8> = now.iter().flat_map(|o| &o.octets).copied().collect();
            let transmit = Transmit {
                destination: first.to,
                ecn: first.ecn,
                contents: &contents,
                segment_size: (run > 1).then_some(size),
                src_ip: first.from,
            };
            // Not by way of the runtime, which knows of a new socket's readiness too late.
            let sent = self.state.try_send((&self.io).into(), &transmit);
            if sent.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
                break;
            }
            rest = later;
        }
        outgoing.len() - rest.len()
    }
}
