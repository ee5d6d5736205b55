//! A UDP relay: datagrams to its port are sent through the simulated network to a server, and the
//! server's answers back to the client. Needs no privilege.
//!
//! Each client gets a separate socket to the server, as behind a network address translator, so
//! that the server can distinguish the clients. All clients share the network's links.

use super::PortIo;
use super::packet::{Route, apply_damage, content};
use super::port_socket::PortSocket;
use crate::address::unspecified_for;
use crate::tap::Tap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use weir_proto::packet::{Dscp, FlowId, HostId, IpHeader, Packet};

/// The most clients at a time. A further one replaces the one with the longest inactivity.
const MAX_CLIENTS: usize = 1024;

/// Client numbers wrap after this many, so that an answer to a replaced client, still in the
/// network, is not delivered to the client that has replaced it.
const CLIENT_NUMBERS: u32 = 1 << 16;

/// A client of the relay.
struct Client {
    address: SocketAddr,
    /// The client's socket to the server.
    to_server: PortSocket,
    /// The relay's count of datagrams when the client sent its last one.
    last_datagram: u64,
}

/// A socket of the relay.
#[derive(Clone, Copy)]
enum RelaySocket {
    /// The socket to which clients send.
    Clients,
    /// The socket to the server of the client with this number.
    Server(u32),
}

/// The relay.
pub struct UdpRelay {
    to_clients: PortSocket,
    server: SocketAddr,
    client_host: HostId,
    server_host: HostId,
    clients: BTreeMap<u32, Client>,
    by_address: BTreeMap<SocketAddr, u32>,
    /// The number of the next client, unless it is in use.
    next_number: u32,
    /// Datagrams received from clients.
    datagrams: u64,
    longest_packet: u32,
    buffer: Vec<u8>,
    /// Sockets that have datagrams to read.
    readable: VecDeque<RelaySocket>,
    received: VecDeque<Packet>,
    tap: Option<Arc<dyn Tap>>,
}

impl UdpRelay {
    /// A relay from the address `at` to a server. Clients are at the port of `client_host`, the
    /// server at that of `server_host`.
    ///
    /// # Errors
    /// If the address cannot be bound.
    pub fn bind(
        at: SocketAddr,
        server: SocketAddr,
        client_host: HostId,
        server_host: HostId,
    ) -> io::Result<Self> {
        Ok(Self {
            to_clients: PortSocket::new(UdpSocket::bind(at)?)?,
            server,
            client_host,
            server_host,
            clients: BTreeMap::new(),
            by_address: BTreeMap::new(),
            next_number: 0,
            datagrams: 0,
            longest_packet: 0,
            buffer: vec![0; 1 << 16],
            readable: VecDeque::new(),
            received: VecDeque::new(),
            tap: None,
        })
    }

    /// Passes a copy of every datagram of all sockets of the relay to a tap.
    pub fn set_tap(&mut self, tap: Arc<dyn Tap>) {
        self.to_clients.set_tap(Some(Arc::clone(&tap)));
        for client in self.clients.values_mut() {
            client.to_server.set_tap(Some(Arc::clone(&tap)));
        }
        self.tap = Some(tap);
    }

    /// The address to which clients send.
    ///
    /// # Errors
    /// If the system does not report it.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.to_clients.socket.local_addr()
    }

    /// The size of the longest received datagram with its headers, to compare with a link's MTU.
    pub const fn longest_packet(&self) -> u32 {
        self.longest_packet
    }

    /// The number of the client at this address, which has sent a datagram.
    fn client_number(&mut self, address: SocketAddr) -> Option<u32> {
        self.datagrams += 1;
        if let Some(&number) = self.by_address.get(&address) {
            let client = self.clients.get_mut(&number)?;
            client.last_datagram = self.datagrams;
            return Some(number);
        }
        if self.clients.len() >= MAX_CLIENTS {
            self.remove_least_recent();
        }
        // The system may permit fewer sockets.
        let to_server = self.connect_to_server().or_else(|_| {
            self.remove_least_recent();
            self.connect_to_server()
        });
        let to_server = to_server.ok()?;
        let is_free = |number: &u32| !self.clients.contains_key(number);
        let mut numbers =
            (0..CLIENT_NUMBERS).map(|step| (self.next_number + step) % CLIENT_NUMBERS);
        let number = numbers.find(is_free)?;
        self.next_number = (number + 1) % CLIENT_NUMBERS;
        let client = Client {
            address,
            to_server,
            last_datagram: self.datagrams,
        };
        self.clients.insert(number, client);
        self.by_address.insert(address, number);
        Some(number)
    }

    fn connect_to_server(&self) -> io::Result<PortSocket> {
        let socket = UdpSocket::bind(unspecified_for(self.server))?;
        socket.connect(self.server)?;
        let mut socket = PortSocket::new(socket)?;
        socket.set_tap(self.tap.clone());
        Ok(socket)
    }

    /// Removes the client with the longest inactivity.
    fn remove_least_recent(&mut self) {
        let clients = self.clients.iter();
        let silent = clients.min_by_key(|(_, client)| client.last_datagram);
        if let Some((number, address)) = silent.map(|(number, client)| (*number, client.address)) {
            self.clients.remove(&number);
            self.by_address.remove(&address);
        }
    }

    /// Records which sockets have datagrams to read. The clients' socket is listed again after each
    /// socket to the server, so that both directions are read equally often.
    fn poll_sockets(&mut self) {
        let flags = PollFlags::IN;
        let mut polled = vec![PollFd::new(&self.to_clients.socket, flags)];
        let to_server = self.clients.values().map(|client| &client.to_server.socket);
        polled.extend(to_server.map(|socket| PollFd::new(socket, flags)));
        let no_wait = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if poll(&mut polled, Some(&no_wait)).is_err() {
            return;
        }
        let mut readable = polled.iter().map(|polled| !polled.revents().is_empty());
        let clients_readable = readable.next().unwrap_or(false);
        let clients = clients_readable.then_some(RelaySocket::Clients);
        self.readable.extend(clients);
        for (number, readable) in self.clients.keys().zip(readable) {
            if readable {
                self.readable.push_back(RelaySocket::Server(*number));
                self.readable.extend(clients);
            }
        }
    }

    fn read(&mut self, socket: RelaySocket) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let (client, server) = (self.client_host, self.server_host);
        let read = match socket {
            RelaySocket::Clients => self.to_clients.receive(&mut buffer).and_then(|received| {
                let number = self.client_number(received.from())?;
                Some((received, number, client, server))
            }),
            RelaySocket::Server(number) => self.clients.get(&number).and_then(|state| {
                let received = state.to_server.receive(&mut buffer)?;
                Some((received, number, server, client))
            }),
        };
        if let Some((received, number, source, target)) = read {
            let route = Route {
                flow: FlowId(number),
                source,
                target,
                dscp: Dscp::default(),
            };
            let longest = received.into_packets(route, &mut self.received);
            self.longest_packet = self.longest_packet.max(longest);
        }
        self.buffer = buffer;
    }
}

impl PortIo for UdpRelay {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let to_server = self.clients.values().map(|client| &client.to_server);
        std::iter::once(&self.to_clients)
            .chain(to_server)
            .map(|socket| socket.socket.as_fd())
            .collect()
    }

    fn receive(&mut self) -> Option<Packet> {
        if self.received.is_empty() && self.readable.is_empty() {
            self.poll_sockets();
        }
        while self.received.is_empty()
            && let Some(socket) = self.readable.pop_front()
        {
            self.read(socket);
        }
        self.received.pop_front()
    }

    fn send(&mut self, host: HostId, packet: Packet) {
        let client = self.clients.get(&packet.flow.0);
        let (Some(client), Some(mut content)) = (client, content(&packet)) else {
            return;
        };
        let headers = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
        apply_damage(&packet, headers, &mut content);
        let (socket, to) = if host == self.server_host {
            (&client.to_server, self.server)
        } else {
            (&self.to_clients, client.address)
        };
        socket.send(to, packet.ip.ecn, &content);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};
    use weir_proto::packet::{Body, Ecn};

    fn loopback() -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)
    }

    fn socket() -> PortSocket {
        PortSocket::new(UdpSocket::bind(loopback()).expect("loopback is there")).expect("a socket")
    }

    /// Waits until one of these is readable.
    fn wait_for(descriptors: &[BorrowedFd<'_>]) {
        let limit = Timespec {
            tv_sec: 10,
            tv_nsec: 0,
        };
        let polled = descriptors.iter().copied();
        let mut polled: Vec<_> = polled
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
            .collect();
        let ready = poll(&mut polled, Some(&limit)).expect("poll works");
        assert!(ready > 0, "nothing comes");
    }

    /// The next packet received by a relay.
    fn received(relay: &mut UdpRelay) -> Packet {
        wait_for(&relay.descriptors());
        relay.receive().expect("a packet")
    }

    /// The next datagram received by a socket: its source, content and ECN codepoint.
    fn next(socket: &PortSocket) -> (SocketAddr, Vec<u8>, Ecn) {
        let (mut buffer, mut packets) = (vec![0; 1 << 16], VecDeque::new());
        wait_for(&[socket.socket.as_fd()]);
        let read = socket.receive(&mut buffer).expect("a datagram");
        let from = read.from();
        let route = Route {
            flow: FlowId(0),
            source: HostId(0),
            target: HostId(1),
            dscp: Dscp::default(),
        };
        read.into_packets(route, &mut packets);
        let packet = packets.pop_front().expect("a packet");
        let Body::Other(payload) = packet.body else {
            panic!("it has another body");
        };
        (from, payload.into_bytes().to_vec(), packet.ip.ecn)
    }

    #[test]
    fn each_client_gets_its_own_answers_with_ecn_marks_and_damage() {
        let server = socket();
        let to = server.socket.local_addr().expect("it is bound");
        let (near, far) = (HostId(3), HostId(5));
        let mut relay = UdpRelay::bind(loopback(), to, near, far).expect("it is bound");
        let at = relay.local_address().expect("it is bound");
        let clients = [socket(), socket(), socket()];
        let mut questions = Vec::new();
        for (number, client) in (0..).zip(&clients) {
            client.send(at, Ecn::Ect0, &[number; 40]);
            let packet = received(&mut relay);
            assert_eq!((packet.ip.source, packet.ip.destination), (near, far));
            assert_eq!((packet.size, packet.ip.ecn), (68, Ecn::Ect0));
            relay.send(far, packet.clone());
            let (from, content, ecn) = next(&server);
            assert_eq!((content, ecn), (vec![number; 40], Ecn::Ect0));
            questions.push((from, packet));
        }
        // In a different order than the requests.
        for number in [1_u8, 2, 0] {
            let (from, question) = &questions[usize::from(number)];
            server.send(*from, Ecn::NotEct, &[number, 7, 7]);
            let mut answer = received(&mut relay);
            assert_eq!((answer.flow, answer.ip.destination), (question.flow, near));
            answer.ip.ecn = Ecn::Ce;
            answer.damaged_at = std::num::NonZeroU32::new(28 + 1);
            relay.send(near, answer);
            let expected = (at, vec![number, 6, 7], Ecn::Ce);
            assert_eq!(next(&clients[usize::from(number)]), expected);
        }
    }

    #[test]
    fn a_replaced_clients_number_is_not_used_again_at_once() {
        let server = socket().socket.local_addr().expect("it is bound");
        let (near, far) = (HostId(0), HostId(1));
        let mut relay = UdpRelay::bind(loopback(), server, near, far).expect("it is bound");
        let address = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let first = relay.client_number(address(1)).expect("there is room");
        assert_eq!(relay.client_number(address(1)), Some(first));
        relay.remove_least_recent();
        let second = relay.client_number(address(2)).expect("there is room");
        assert_ne!(first, second);
        let again = relay.client_number(address(1)).expect("there is room");
        assert!(![first, second].contains(&again));
    }
}
