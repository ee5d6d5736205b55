//! Ports that are UDP sockets, one for each end of each flow.

use super::Outside;
use crate::datagram::{codepoint, ecn_of};
use crate::tap::{Direction, Tap, TappedDatagram};
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use weir_proto::packet::{Body, FlowId, HostId, IpHeader, Packet, Payload};

/// Octets of IP and UDP headers before a datagram's content.
const HEADERS: u32 = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;

/// One end of a flow, and its socket.
pub struct FlowSocket {
    /// The flow.
    pub flow: FlowId,
    /// The host at this end.
    pub host: HostId,
    /// The host at the other.
    pub peer: HostId,
    /// Bound, and connected to the other end's.
    pub socket: UdpSocket,
}

struct Place {
    end: FlowSocket,
    own: SocketAddr,
    to: SocketAddr,
    state: UdpSocketState,
}

/// The sockets of a topology.
pub struct Sockets {
    places: Vec<Place>,
    index: BTreeMap<(FlowId, HostId), usize>,
    /// The socket that is read first next time.
    turn: usize,
    buffer: Vec<u8>,
    /// Packets of the last read: the kernel may join equal ones.
    ready: VecDeque<Packet>,
    tap: Option<Arc<dyn Tap>>,
}

impl Sockets {
    /// These sockets.
    ///
    /// # Errors
    /// If one cannot be set up.
    pub fn new(ends: Vec<FlowSocket>) -> io::Result<Self> {
        let set_up = |end: FlowSocket| {
            end.socket.set_nonblocking(true)?;
            // What comes while the driver is busy must find room; the kernel may allow less.
            let _ = socket2::SockRef::from(&end.socket).set_recv_buffer_size(1 << 22);
            let state = UdpSocketState::new((&end.socket).into())?;
            Ok(Place {
                own: end.socket.local_addr()?,
                to: end.socket.peer_addr()?,
                state,
                end,
            })
        };
        let named = ends.iter().enumerate();
        let index = named
            .map(|(place, end)| ((end.flow, end.host), place))
            .collect();
        Ok(Self {
            index,
            places: ends.into_iter().map(set_up).collect::<io::Result<_>>()?,
            turn: 0,
            buffer: vec![0; 1 << 16],
            ready: VecDeque::new(),
            tap: None,
        })
    }

    /// Lets somebody see every datagram.
    pub fn set_tap(&mut self, tap: Arc<dyn Tap>) {
        self.tap = Some(tap);
    }
}

impl Outside for Sockets {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.places
            .iter()
            .map(|place| place.end.socket.as_fd())
            .collect()
    }

    fn receive(&mut self) -> Option<Packet> {
        for _ in 0..self.places.len() {
            if !self.ready.is_empty() {
                break;
            }
            let Place {
                end,
                own,
                to,
                state,
            } = self.places.get(self.turn)?;
            let mut metas = [RecvMeta::default()];
            let mut slices = [IoSliceMut::new(&mut self.buffer)];
            let read = state.recv((&end.socket).into(), &mut slices, &mut metas);
            let [meta] = metas;
            self.turn = (self.turn + 1) % self.places.len();
            if read.is_err() {
                continue;
            }
            let octets = self.buffer.get(..meta.len).unwrap_or_default();
            for datagram in octets.chunks(meta.stride.max(1)) {
                if let Some(tap) = &self.tap {
                    tap.datagram(&TappedDatagram {
                        at: std::time::Instant::now(),
                        direction: Direction::Received,
                        from: *to,
                        to: *own,
                        ecn: ecn_of(meta.ecn),
                        octets: datagram,
                    });
                }
                self.ready.push_back(Packet {
                    id: 0,
                    flow: end.flow,
                    ip: IpHeader {
                        source: end.peer,
                        target: end.host,
                        ecn: ecn_of(meta.ecn),
                        ttl: IpHeader::DEFAULT_TTL,
                    },
                    size: HEADERS + datagram.len() as u32,
                    damaged_at: None,
                    body: Body::Other(Payload::from_bytes(datagram)),
                });
            }
        }
        self.ready.pop_front()
    }

    fn send(&mut self, host: HostId, packet: Packet) {
        let place = self.index.get(&(packet.flow, host));
        let Some(place) = place.and_then(|place| self.places.get(*place)) else {
            return;
        };
        let Body::Other(payload) = &packet.body else {
            return;
        };
        let Some(contents) = payload.content() else {
            return;
        };
        let transmit = Transmit {
            destination: place.to,
            ecn: codepoint(packet.ip.ecn),
            contents,
            segment_size: None,
            src_ip: None,
        };
        let _ = place.state.try_send((&place.end.socket).into(), &transmit);
        if let Some(tap) = &self.tap {
            tap.datagram(&TappedDatagram {
                at: std::time::Instant::now(),
                direction: Direction::Sent,
                from: place.own,
                to: place.to,
                ecn: packet.ip.ecn,
                octets: contents,
            });
        }
    }
}
