//! Passes every datagram of a socket to an observer, as a capture on the host would.
//!
//! A sent datagram is passed on once the kernel has accepted it, a received one once it has been
//! read. Not visible: the kernel's own times, the hop limit, and how the kernel splits and combines
//! datagrams (GSO, GRO): each datagram is passed on separately.

use crate::address::{canonical, local_for};
use crate::ecn;
use crate::send_queue::Destination;
use quinn_udp::RecvMeta;
use std::fmt::Debug;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use weir_proto::packet::Ecn;

/// The direction of a datagram, seen from the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the peer to this socket.
    Received,
    /// From this socket to the peer.
    Sent,
}

/// A datagram that was sent or received.
#[derive(Clone, Copy, Debug)]
pub struct TappedDatagram<'a> {
    /// When the process read it or passed it to the kernel.
    pub at: Instant,
    /// Sent or received.
    pub direction: Direction,
    /// The source address and UDP port; the port is 0 for DCCP over IP.
    pub from: SocketAddr,
    /// The destination, in the same form. An unknown local address is unspecified.
    pub to: SocketAddr,
    /// The ECN codepoint of its IP header.
    pub ecn: Ecn,
    /// The payload of UDP or IP, such as a DCCP packet.
    pub octets: &'a [u8],
}

/// An observer of a socket's datagrams. It runs in the task that paces them, so it must be fast: an
/// observer that writes a file should pass the datagrams to a thread.
pub trait Tap: Debug + Send + Sync {
    /// A datagram was sent or received.
    fn datagram(&self, datagram: &TappedDatagram<'_>);
}

/// A socket's tap, if it has one, and the local address of its datagrams.
#[derive(Clone, Debug)]
pub(crate) struct SocketTap {
    pub(crate) tap: Option<Arc<dyn Tap>>,
    /// The socket's own address.
    pub(crate) local: SocketAddr,
}

impl SocketTap {
    /// Passes on a received datagram.
    pub(crate) fn received(&self, meta: &RecvMeta, octets: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.datagram(&TappedDatagram {
                at: Instant::now(),
                direction: Direction::Received,
                from: canonical(meta.addr),
                to: local_for(self.local, meta.dst_ip, meta.addr),
                ecn: ecn::from_udp(meta.ecn),
                octets,
            });
        }
    }

    /// Passes on a sent datagram.
    pub(crate) fn sent(&self, destination: &Destination, octets: &[u8]) {
        if let Some(tap) = &self.tap {
            tap.datagram(&TappedDatagram {
                at: Instant::now(),
                direction: Direction::Sent,
                from: local_for(self.local, destination.local_ip, destination.peer),
                to: canonical(destination.peer),
                ecn: ecn::from_udp(destination.ecn),
                octets,
            });
        }
    }
}
