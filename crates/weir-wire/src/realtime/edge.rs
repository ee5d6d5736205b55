//! A UDP socket at the edge of a topology: its datagrams are packets there.

use crate::datagram::{codepoint, ecn_of};
use crate::tap::{Direction, Tap, TappedDatagram, canonical, ours};
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;
use weir_proto::packet::{Body, Ecn, FlowId, HostId, IpHeader, Packet, Payload};

/// The socket.
pub(super) struct Edge {
    pub(super) socket: UdpSocket,
    own: SocketAddr,
    state: UdpSocketState,
}

/// What came in one read: the kernel may join datagrams that are alike.
pub(super) struct Read<'a> {
    meta: RecvMeta,
    own: SocketAddr,
    octets: &'a [u8],
}

impl Edge {
    /// Takes a socket that has its addresses.
    pub(super) fn new(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        // What comes while the driver is busy must find room; the kernel may allow less.
        let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(1 << 22);
        let state = UdpSocketState::new((&socket).into())?;
        let own = socket.local_addr()?;
        Ok(Self { socket, own, state })
    }

    pub(super) fn receive<'a>(&self, buffer: &'a mut [u8]) -> Option<Read<'a>> {
        let mut metas = [RecvMeta::default()];
        let read = self.state.recv(
            (&self.socket).into(),
            &mut [IoSliceMut::new(buffer)],
            &mut metas,
        );
        let [meta] = metas;
        read.ok()?;
        Some(Read {
            meta,
            own: self.own,
            octets: buffer.get(..meta.len).unwrap_or_default(),
        })
    }

    /// Sends a datagram. What the system refuses is lost, as on any wire.
    pub(super) fn send(
        &self,
        destination: SocketAddr,
        ecn: Ecn,
        contents: &[u8],
        tap: Option<&Arc<dyn Tap>>,
    ) {
        let transmit = Transmit {
            destination,
            ecn: codepoint(ecn),
            contents,
            segment_size: None,
            src_ip: None,
        };
        let _ = self.state.try_send((&self.socket).into(), &transmit);
        if let Some(tap) = tap {
            tap.datagram(&TappedDatagram {
                at: Instant::now(),
                direction: Direction::Sent,
                from: ours(self.own, None, destination),
                to: canonical(destination),
                ecn,
                octets: contents,
            });
        }
    }
}

impl Read<'_> {
    pub(super) const fn from(&self) -> SocketAddr {
        self.meta.addr
    }

    /// Appends the packets, which go this way; returns the size of the longest.
    pub(super) fn into_packets(
        self,
        flow: FlowId,
        (source, target): (HostId, HostId),
        tap: Option<&Arc<dyn Tap>>,
        ready: &mut VecDeque<Packet>,
    ) -> u32 {
        let Self { meta, own, octets } = self;
        let headers = match meta.addr.ip().to_canonical() {
            IpAddr::V4(_) => IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS,
            IpAddr::V6(_) => 40 + IpHeader::UDP_OCTETS,
        };
        let ecn = ecn_of(meta.ecn);
        let mut longest = 0;
        // A datagram may be empty; chunks of nothing would be none.
        let empty = octets.is_empty().then_some(octets);
        for datagram in octets.chunks(meta.stride.max(1)).chain(empty) {
            let size = headers + datagram.len() as u32;
            longest = longest.max(size);
            if let Some(tap) = tap {
                tap.datagram(&TappedDatagram {
                    at: Instant::now(),
                    direction: Direction::Received,
                    from: canonical(meta.addr),
                    to: ours(own, meta.dst_ip, meta.addr),
                    ecn,
                    octets: datagram,
                });
            }
            ready.push_back(Packet {
                id: 0,
                flow,
                ip: IpHeader {
                    source,
                    destination: target,
                    ecn,
                    ttl: IpHeader::DEFAULT_TTL,
                },
                size,
                damaged_at: None,
                body: Body::Other(Payload::from_bytes(datagram)),
            });
        }
        longest
    }
}
