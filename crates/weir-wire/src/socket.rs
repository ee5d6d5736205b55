//! A UDP socket that reads and writes batches with ECN.

use crate::datagram::ecn_of;
use crate::error::Error;
use crate::options::Options;
use crate::outbox::{Outbox, Run};
use crate::sieve;
use crate::tap::{Direction, Tap, TappedDatagram, canonical, ours};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use socket2::SockRef;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Octets of a buffer: with GRO the kernel puts several datagrams into one.
const BUFFER: usize = 1 << 16;

fn is(result: &io::Result<()>, kind: io::ErrorKind) -> bool {
    result.as_ref().is_err_and(|error| error.kind() == kind)
}

/// The socket.
pub(crate) struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    segmentation: bool,
    tap: Option<Arc<dyn Tap>>,
    connected: bool,
    refused: AtomicBool,
    local: SocketAddr,
    /// Room for a batch, in one piece: the system gives memory only for what is written to.
    buffers: Vec<u8>,
}

impl Socket {
    /// Reads that the kernel combines at most.
    pub(crate) const MOST_READS: usize = BATCH_SIZE;

    /// A socket at this address, port 0 for any.
    pub(crate) fn bind(address: SocketAddr, options: &Options) -> Result<Self, Error> {
        let failed = |source| Error::Socket { address, source };
        let socket = std::net::UdpSocket::bind(address).map_err(failed)?;
        // A burst that arrives while the task is busy must fit; the kernel may allow less.
        let _ = SockRef::from(&socket).set_recv_buffer_size(1 << 22);
        socket.set_nonblocking(true).map_err(failed)?;
        let state = UdpSocketState::new((&socket).into()).map_err(failed)?;
        let local = socket.local_addr().map_err(failed)?;
        let io = UdpSocket::from_std(socket).map_err(failed)?;
        Ok(Self {
            io,
            state,
            segmentation: options.segmentation,
            tap: options.tap.clone(),
            connected: false,
            refused: AtomicBool::new(false),
            local,
            buffers: vec![0; BUFFER * BATCH_SIZE],
        })
    }

    /// Talks to this address only from now on, which makes sending cheaper.
    pub(crate) fn connect(&mut self, to: SocketAddr) -> Result<(), Error> {
        let connected = SockRef::from(&self.io).connect(&to.into());
        self.connected = true;
        // Now it is known which address of ours leads there.
        self.local = self.io.local_addr().unwrap_or(self.local);
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
        let _ = sieve::attach(&SockRef::from(&self.io), width);
    }

    pub(crate) const fn local(&self) -> SocketAddr {
        self.local
    }

    /// Waits until there is something to read, or an answer that the peer's port is nobody's.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        let ready = self.io.ready(Interest::READABLE | Interest::ERROR).await?;
        if ready.is_error() {
            let error = self.io.take_error()?;
            if error.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
                self.refused.store(true, Ordering::Relaxed);
            }
            // It is told once.
            let nothing = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
            let _ = self.io.try_io(Interest::ERROR, nothing);
        }
        Ok(())
    }

    /// Reads what there is; calls `take` with each datagram. Says how many reads the kernel
    /// combined, none if there was nothing.
    pub(crate) fn read(&mut self, mut take: impl FnMut(&RecvMeta, &[u8])) -> usize {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let Self {
            io, state, buffers, ..
        } = &mut *self;
        let mut slices: Vec<IoSliceMut<'_>> =
            buffers.chunks_mut(BUFFER).map(IoSliceMut::new).collect();
        let read = io.try_io(Interest::READABLE, || {
            state.recv((&*io).into(), &mut slices, &mut metas)
        });
        let count = match read {
            Ok(count) => count,
            Err(error) => {
                *self.refused.get_mut() |= error.kind() == io::ErrorKind::ConnectionRefused;
                return 0;
            }
        };
        for (meta, buffer) in metas.iter().zip(self.buffers.chunks(BUFFER)).take(count) {
            let octets = buffer.get(..meta.len).unwrap_or_default();
            for datagram in octets.chunks(meta.stride.max(1)) {
                if let Some(tap) = &self.tap {
                    tap.datagram(&TappedDatagram {
                        at: Instant::now(),
                        direction: Direction::Received,
                        from: canonical(meta.addr),
                        to: ours(self.local, meta.dst_ip, meta.addr),
                        ecn: ecn_of(meta.ecn),
                        octets: datagram,
                    });
                }
                take(meta, datagram);
            }
        }
        count
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
            let mut sent = self.send(&run);
            if is(&sent, io::ErrorKind::ConnectionRefused) {
                // An answer to an earlier datagram, in whose place this one was not sent.
                *self.refused.get_mut() = true;
                sent = self.send(&run);
            }
            if is(&sent, io::ErrorKind::WouldBlock) {
                return;
            }
            if sent.is_ok() {
                self.show(&run);
            }
            let count = run.count;
            outbox.remove(count);
        }
    }

    /// Shows the tap what has left.
    fn show(&self, run: &Run<'_>) {
        let Some(tap) = &self.tap else {
            return;
        };
        for datagram in run.octets.chunks(run.size.max(1)) {
            tap.datagram(&TappedDatagram {
                at: Instant::now(),
                direction: Direction::Sent,
                from: ours(self.local, run.way.from, run.way.to),
                to: canonical(run.way.to),
                ecn: ecn_of(run.way.ecn),
                octets: datagram,
            });
        }
    }

    fn send(&self, run: &Run<'_>) -> io::Result<()> {
        if self.connected && run.count == 1 && run.way.ecn.is_none() {
            SockRef::from(&self.io).send(run.octets).map(drop)
        } else {
            let transmit = Self::transmit(run);
            self.state.try_send((&self.io).into(), &transmit)
        }
    }

    /// True once after the peer's host has said that nobody has the port we send to: an ICMP
    /// message, which a connected socket alone hears of.
    pub(crate) fn take_refused(&mut self) -> bool {
        std::mem::take(self.refused.get_mut())
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
