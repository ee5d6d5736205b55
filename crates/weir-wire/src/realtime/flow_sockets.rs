//! Ports that are UDP sockets, one for each end of each flow.

use super::PortIo;
use super::packet::{Route, content};
use super::port_socket::PortSocket;
use super::sent_times::SentTimes;
use crate::tap::Tap;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use weir_proto::packet::{Dscp, FlowId, HostId, Packet, Transit};

/// One end of a flow, and its socket.
pub struct FlowSocket {
    /// The flow.
    pub flow: FlowId,
    /// The host at this end.
    pub host: HostId,
    /// The host at the other end.
    pub peer: HostId,
    /// The socket, bound and connected to that of the other end.
    pub socket: UdpSocket,
}

struct FlowPort {
    /// The flow and the hosts of received packets.
    route: Route,
    socket: PortSocket,
    peer_address: SocketAddr,
}

/// The sockets of a network's flows.
pub struct FlowSockets {
    ports: Vec<FlowPort>,
    index: BTreeMap<(FlowId, HostId), usize>,
    /// The socket to read first next time, so that a busy one does not starve the others.
    next_port: usize,
    buffer: Vec<u8>,
    /// Packets of the last read that have not been taken yet.
    received: VecDeque<Packet>,
    sent: SentTimes,
}

impl FlowSockets {
    /// Takes the sockets of both ends of all flows.
    ///
    /// # Errors
    /// If a socket cannot be set up.
    pub fn new(ends: Vec<FlowSocket>) -> io::Result<Self> {
        let port = |end: FlowSocket| {
            Ok(FlowPort {
                route: Route {
                    flow: end.flow,
                    source: end.peer,
                    target: end.host,
                    dscp: Dscp::default(),
                },
                peer_address: end.socket.peer_addr()?,
                socket: PortSocket::new(end.socket)?,
            })
        };
        let numbered = ends.iter().enumerate();
        let index = numbered
            .map(|(number, end)| ((end.flow, end.host), number))
            .collect();
        Ok(Self {
            index,
            ports: ends.into_iter().map(port).collect::<io::Result<_>>()?,
            next_port: 0,
            buffer: vec![0; 1 << 16],
            received: VecDeque::new(),
            sent: SentTimes::default(),
        })
    }

    /// Passes a copy of every datagram to a tap.
    pub fn set_tap(&mut self, tap: &Arc<dyn Tap>) {
        for port in &mut self.ports {
            port.socket.set_tap(Some(Arc::clone(tap)));
        }
    }
}

impl PortIo for FlowSockets {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let sockets = self.ports.iter().map(|port| &port.socket.socket);
        sockets.map(AsFd::as_fd).collect()
    }

    fn receive(&mut self) -> Option<Packet> {
        for _ in 0..self.ports.len() {
            if !self.received.is_empty() {
                break;
            }
            let port = self.ports.get(self.next_port)?;
            self.next_port = (self.next_port + 1) % self.ports.len();
            if let Some(received) = port.socket.receive(&mut self.buffer) {
                received.into_packets(port.route, &mut self.received);
            }
        }
        let mut packet = self.received.pop_front()?;
        let sent_at = content(&packet)
            .and_then(|octets| self.sent.take(packet.flow, packet.ip.destination, &octets));
        if let Some(sent_at) = sent_at {
            packet.transit = Transit {
                sent_at,
                queued: Transit::UNKNOWN,
            };
        }
        Some(packet)
    }

    fn send(&mut self, host: HostId, packet: Packet) {
        let port = self.index.get(&(packet.flow, host));
        let port = port.and_then(|number| self.ports.get(*number));
        if let (Some(port), Some(content)) = (port, content(&packet)) {
            let (flow, target) = (packet.flow, packet.ip.destination);
            self.sent
                .sent(packet.transit.sent_at, flow, target, &content);
            port.socket.send(port.peer_address, packet.ip.ecn, &content);
        }
    }
}
