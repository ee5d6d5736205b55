//! Ports that are UDP sockets, one for each end of each flow.

use super::PortIo;
use super::edge::Edge;
use crate::tap::Tap;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use weir_proto::packet::{Body, FlowId, HostId, Packet};

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
    flow: FlowId,
    host: HostId,
    peer: HostId,
    edge: Edge,
    to: SocketAddr,
}

/// The sockets of a topology.
pub struct FlowSockets {
    places: Vec<Place>,
    index: BTreeMap<(FlowId, HostId), usize>,
    /// The socket that is read first next time.
    turn: usize,
    buffer: Vec<u8>,
    /// Packets of the last read: the kernel may join equal ones.
    ready: VecDeque<Packet>,
    tap: Option<Arc<dyn Tap>>,
}

impl FlowSockets {
    /// These sockets.
    ///
    /// # Errors
    /// If one cannot be set up.
    pub fn new(ends: Vec<FlowSocket>) -> io::Result<Self> {
        let set_up = |end: FlowSocket| {
            Ok(Place {
                flow: end.flow,
                host: end.host,
                peer: end.peer,
                to: end.socket.peer_addr()?,
                edge: Edge::new(end.socket)?,
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

impl PortIo for FlowSockets {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.places
            .iter()
            .map(|place| place.edge.socket.as_fd())
            .collect()
    }

    fn receive(&mut self) -> Option<Packet> {
        for _ in 0..self.places.len() {
            if !self.ready.is_empty() {
                break;
            }
            let place = self.places.get(self.turn)?;
            self.turn = (self.turn + 1) % self.places.len();
            if let Some(read) = place.edge.receive(&mut self.buffer) {
                let way = (place.peer, place.host);
                read.into_packets(place.flow, way, self.tap.as_ref(), &mut self.ready);
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
        if let Some(contents) = payload.content() {
            let Place { edge, to, .. } = place;
            edge.send(*to, packet.ip.ecn, contents, self.tap.as_ref());
        }
    }
}
