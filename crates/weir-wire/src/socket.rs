//! A UDP socket with ECN, segmentation offload on receipt, and waits shorter than a timer tick.
//!
//! The kernel wakes a sleeper up to its timer slack late (50 µs by default), which is longer than
//! t_ipi at 250 Mbit/s. A wait therefore sleeps until [`SPIN`] before its end and then asks the
//! socket again and again. An idle socket sleeps all the time.

use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};
use weir_proto::packet::Ecn;

/// How long before the end of a wait sleeping gives way to spinning.
const SPIN: Duration = Duration::from_micros(60);

/// Room for what one call may receive: datagrams that the kernel has joined.
const BUFFER_OCTETS: usize = 65_536;

/// Room that the kernel is asked for.
const KERNEL_OCTETS: usize = 4 << 20;

/// How long a full send buffer is waited for before the packet counts as lost.
const SEND_PATIENCE: Duration = Duration::from_millis(10);

/// Where a datagram came from, and how.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its sender.
    pub remote: SocketAddr,
    /// The address of ours that it was sent to, if the kernel says so.
    pub local: Option<IpAddr>,
    /// The ECN codepoint that it arrived with.
    pub ecn: Ecn,
}

/// Where a datagram goes to, and how.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Its receiver.
    pub remote: SocketAddr,
    /// The address of ours that it leaves from; `None` lets the kernel choose.
    pub local: Option<IpAddr>,
    /// The ECN codepoint that it leaves with.
    pub ecn: Ecn,
}

/// A bound UDP socket.
#[derive(Debug)]
pub struct Socket {
    udp: UdpSocket,
    state: UdpSocketState,
    buffer: Vec<u8>,
}

impl Socket {
    /// Binds to this address.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn bind(local: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(local)?;
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new((&socket).into())?;
        // More room for bursts; a system that allows less gives less.
        let _ = state.set_recv_buffer_size((&socket).into(), KERNEL_OCTETS);
        Ok(Self {
            udp: socket,
            state,
            buffer: vec![0; BUFFER_OCTETS],
        })
    }

    /// The address that it is bound to.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// Sends one datagram.
    ///
    /// # Errors
    /// What the operating system says; also if its buffer stays full.
    pub fn send(&self, departure: Departure, contents: &[u8]) -> io::Result<()> {
        let transmit = Transmit {
            destination: departure.remote,
            ecn: codepoint(departure.ecn),
            contents,
            segment_size: None,
            src_ip: departure.local,
        };
        match self.state.try_send((&self.udp).into(), &transmit) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.sleep(PollFlags::OUT, SEND_PATIENCE)?;
                self.state.try_send((&self.udp).into(), &transmit)
            }
            result => result,
        }
    }

    /// Hands what has arrived to `take`, datagram by datagram; false if there was nothing.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn receive(&mut self, mut take: impl FnMut(Arrival, &[u8])) -> io::Result<bool> {
        let mut meta = [RecvMeta::default()];
        let mut slices = [IoSliceMut::new(&mut self.buffer)];
        match self.state.recv((&self.udp).into(), &mut slices, &mut meta) {
            Ok(_) => {}
            Err(error) if is_passing(error.kind()) => return Ok(false),
            Err(error) => return Err(error),
        }
        let [meta] = meta;
        let arrival = Arrival {
            remote: meta.addr,
            local: meta.dst_ip,
            ecn: ecn_of(meta.ecn),
        };
        let octets = self.buffer.get(..meta.len).unwrap_or_default();
        for datagram in octets.chunks(meta.stride.max(1)) {
            take(arrival, datagram);
        }
        Ok(true)
    }

    /// Returns when something may be received, or at `end`, whichever comes first.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn wait(&self, end: Instant) -> io::Result<()> {
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let asleep = left.saturating_sub(SPIN);
            if self.sleep(PollFlags::IN, asleep)? || left.is_zero() {
                return Ok(());
            }
        }
    }

    fn sleep(&self, flags: PollFlags, patience: Duration) -> io::Result<bool> {
        let timeout = Timespec {
            tv_sec: i64::try_from(patience.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        };
        let mut files = [PollFd::new(&self.udp, flags)];
        match poll(&mut files, Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

/// An ICMP message about an earlier datagram is no reason to stop: it may be forged.
fn is_passing(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionRefused
    )
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

fn ecn_of(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}
