//! A UDP socket at a port of a simulated network: its datagrams are packets of the network.

use super::packet::Route;
use crate::ecn;
use crate::send_queue::Destination;
use crate::socket::RECEIVE_BUFFER_OCTETS;
use crate::tap::{SocketTap, Tap};
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use weir_proto::packet::{Ecn, IpHeader, Packet};

/// A UDP socket at a port.
pub(super) struct PortSocket {
    pub(super) socket: UdpSocket,
    state: UdpSocketState,
    tap: SocketTap,
}

/// The result of one read: a datagram, or several of equal length (GRO).
pub(super) struct Received<'a> {
    meta: RecvMeta,
    octets: &'a [u8],
}

impl PortSocket {
    /// Takes a bound socket.
    pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        // The kernel may allow less.
        let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(RECEIVE_BUFFER_OCTETS);
        let state = UdpSocketState::new((&socket).into())?;
        let local = socket.local_addr()?;
        let tap = SocketTap { tap: None, local };
        Ok(Self { socket, state, tap })
    }

    /// Passes a copy of every datagram to a tap from now on.
    pub(super) fn set_tap(&mut self, tap: Option<Arc<dyn Tap>>) {
        self.tap.tap = tap;
    }

    /// Reads received datagrams into the buffer; `None` if there are none.
    pub(super) fn receive<'a>(&self, buffer: &'a mut [u8]) -> Option<Received<'a>> {
        let mut metas = [RecvMeta::default()];
        let read = self.state.recv(
            (&self.socket).into(),
            &mut [IoSliceMut::new(buffer)],
            &mut metas,
        );
        let [meta] = metas;
        read.ok()?;
        let received = Received {
            meta,
            octets: buffer.get(..meta.len).unwrap_or_default(),
        };
        for datagram in received.datagrams() {
            self.tap.received(&meta, datagram);
        }
        Some(received)
    }

    /// Sends a datagram. If the system refuses it, it is lost, as on any path.
    pub(super) fn send(&self, peer: SocketAddr, ecn: Ecn, contents: &[u8]) {
        let destination = Destination {
            peer,
            local_ip: None,
            ecn: ecn::to_udp(ecn),
        };
        let transmit = Transmit {
            destination: peer,
            ecn: destination.ecn,
            contents,
            segment_size: None,
            src_ip: None,
        };
        let _ = self.state.try_send((&self.socket).into(), &transmit);
        self.tap.sent(&destination, contents);
    }
}

impl<'a> Received<'a> {
    pub(super) const fn from(&self) -> SocketAddr {
        self.meta.addr
    }

    fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let octets = self.octets;
        // An empty datagram has no chunks.
        let empty = octets.is_empty().then_some(octets);
        octets.chunks(self.meta.stride.max(1)).chain(empty)
    }

    /// Appends the datagrams as packets; returns the size of the longest.
    pub(super) fn into_packets(self, route: Route, packets: &mut VecDeque<Packet>) -> u32 {
        let headers = match self.meta.addr.ip().to_canonical() {
            IpAddr::V4(_) => IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS,
            IpAddr::V6(_) => 40 + IpHeader::UDP_OCTETS,
        };
        let ecn = ecn::from_udp(self.meta.ecn);
        let mut longest = 0;
        for datagram in self.datagrams() {
            let size = headers + datagram.len() as u32;
            longest = longest.max(size);
            packets.push_back(route.packet(ecn, size, datagram));
        }
        longest
    }
}
