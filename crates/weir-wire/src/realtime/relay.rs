//! A UDP relay: what comes to a port here goes to a server's port through the topology, and what
//! the server answers goes back to who asked. Needs no privilege.
//!
//! Each client gets a socket of its own towards the server, as behind a network address
//! translator, so that the server tells them apart; all share the topology's links.

use super::PortIo;
use super::edge::Edge;
use crate::tap::Tap;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use weir_proto::packet::{Body, FlowId, HostId, IpHeader, Packet};

/// Clients at the same time; the one that was silent longest gives way to a new one.
const MOST_CLIENTS: usize = 1024;

/// Clients are numbered in a circle of so many, that an answer on its way to one that gave way
/// does not go to another.
const NUMBERS: u32 = 1 << 16;

/// A client, and the socket that speaks to the server for it.
struct Client {
    address: SocketAddr,
    far: Edge,
    /// The count of datagrams when it last sent one.
    last: u64,
}

/// The relay.
pub struct UdpRelay {
    near: Edge,
    server: SocketAddr,
    near_host: HostId,
    far_host: HostId,
    clients: BTreeMap<u32, Client>,
    by_address: BTreeMap<SocketAddr, u32>,
    /// The number that the next client gets, if it is free.
    number: u32,
    datagrams: u64,
    /// The longest datagram so far, headers included.
    longest: u32,
    buffer: Vec<u8>,
    /// FlowSockets that had something to read: those of clients, or the one towards them.
    readable: VecDeque<Option<u32>>,
    ready: VecDeque<Packet>,
    tap: Option<Arc<dyn Tap>>,
}

impl UdpRelay {
    /// A relay from this address to a server's, between the ports of two hosts.
    ///
    /// # Errors
    /// If the address cannot be had.
    pub fn bind(
        at: SocketAddr,
        server: SocketAddr,
        (near_host, far_host): (HostId, HostId),
    ) -> io::Result<Self> {
        Ok(Self {
            near: Edge::new(UdpSocket::bind(at)?)?,
            server,
            near_host,
            far_host,
            clients: BTreeMap::new(),
            by_address: BTreeMap::new(),
            number: 0,
            datagrams: 0,
            longest: 0,
            buffer: vec![0; 1 << 16],
            readable: VecDeque::new(),
            ready: VecDeque::new(),
            tap: None,
        })
    }

    /// Lets somebody see every datagram that comes to the relay or leaves it.
    pub fn set_tap(&mut self, tap: Arc<dyn Tap>) {
        self.tap = Some(tap);
    }

    /// Where clients find it.
    ///
    /// # Errors
    /// If the system does not say.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.near.socket.local_addr()
    }

    /// The number of the client at this address.
    fn client(&mut self, address: SocketAddr) -> Option<u32> {
        self.datagrams += 1;
        if let Some(&number) = self.by_address.get(&address) {
            let client = self.clients.get_mut(&number)?;
            client.last = self.datagrams;
            return Some(number);
        }
        if self.clients.len() >= MOST_CLIENTS {
            self.forget();
        }
        // The system may allow fewer sockets.
        let far = self.towards_server().or_else(|_| {
            self.forget();
            self.towards_server()
        });
        let far = far.ok()?;
        let free = |number: &u32| !self.clients.contains_key(number);
        let mut numbers = (0..NUMBERS).map(|step| (self.number + step) % NUMBERS);
        let number = numbers.find(free)?;
        self.number = (number + 1) % NUMBERS;
        let last = self.datagrams;
        let client = Client { address, far, last };
        self.clients.insert(number, client);
        self.by_address.insert(address, number);
        Some(number)
    }

    /// A socket of its own for a client.
    fn towards_server(&self) -> io::Result<Edge> {
        let any = match self.server {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let far = UdpSocket::bind(SocketAddr::new(any, 0))?;
        far.connect(self.server)?;
        Edge::new(far)
    }

    /// The client that was silent longest gives way.
    fn forget(&mut self) {
        let silent = self.clients.iter().min_by_key(|(_, client)| client.last);
        if let Some((number, address)) = silent.map(|(number, client)| (*number, client.address)) {
            self.clients.remove(&number);
            self.by_address.remove(&address);
        }
    }

    /// The longest datagram that came, headers included: what it is to a link's MTU.
    pub const fn longest_packet(&self) -> u32 {
        self.longest
    }

    /// Notes which sockets have something to read. Both directions get as many turns.
    fn look(&mut self) {
        let flags = PollFlags::IN;
        let mut polled = vec![PollFd::new(&self.near.socket, flags)];
        let far = self.clients.values();
        polled.extend(far.map(|client| PollFd::new(&client.far.socket, flags)));
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        if poll(&mut polled, Some(&now)).is_err() {
            return;
        }
        let mut ready = polled.iter().map(|polled| !polled.revents().is_empty());
        let near = ready.next().unwrap_or(false).then_some(None);
        self.readable.extend(near);
        for (number, ready) in self.clients.keys().zip(ready) {
            if ready {
                self.readable.push_back(Some(*number));
                self.readable.extend(near);
            }
        }
    }

    /// Reads one socket.
    fn read(&mut self, socket: Option<u32>) {
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = match socket {
            None => self.near.receive(&mut buffer).and_then(|read| {
                let client = self.client(read.from())?;
                Some((read, client, (self.near_host, self.far_host)))
            }),
            Some(number) => self.clients.get(&number).and_then(|client| {
                let read = client.far.receive(&mut buffer)?;
                Some((read, number, (self.far_host, self.near_host)))
            }),
        };
        if let Some((read, client, way)) = read {
            let flow = FlowId(client);
            let longest = read.into_packets(flow, way, self.tap.as_ref(), &mut self.ready);
            self.longest = self.longest.max(longest);
        }
        self.buffer = buffer;
    }
}

impl PortIo for UdpRelay {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let far = self
            .clients
            .values()
            .map(|client| client.far.socket.as_fd());
        std::iter::once(self.near.socket.as_fd())
            .chain(far)
            .collect()
    }

    fn receive(&mut self) -> Option<Packet> {
        if self.ready.is_empty() && self.readable.is_empty() {
            self.look();
        }
        while self.ready.is_empty()
            && let Some(socket) = self.readable.pop_front()
        {
            self.read(socket);
        }
        self.ready.pop_front()
    }

    fn send(&mut self, host: HostId, packet: Packet) {
        let Some(client) = self.clients.get(&packet.flow.0) else {
            return;
        };
        let Body::Other(payload) = &packet.body else {
            return;
        };
        let mut octets = payload.content().unwrap_or_default().to_vec();
        if let Some(at) = packet.damaged_at {
            // The headers are not here to be damaged: the first octet of the content stands for
            // them.
            let headers = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
            let at = at.get().saturating_sub(headers) as usize;
            if let Some(octet) = octets.get_mut(at) {
                *octet ^= 1;
            }
        }
        let (edge, to) = if host == self.far_host {
            (&client.far, self.server)
        } else {
            (&self.near, client.address)
        };
        edge.send(to, packet.ip.ecn, &octets, self.tap.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::packet::Ecn;

    fn loopback() -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0)
    }

    fn edge() -> Edge {
        Edge::new(UdpSocket::bind(loopback()).expect("loopback is there")).expect("a socket")
    }

    /// Waits until there is something to read in one of these.
    fn wait_for(descriptors: &[BorrowedFd<'_>]) {
        let limit = Timespec {
            tv_sec: 10,
            tv_nsec: 0,
        };
        let polled = descriptors.iter().copied();
        let mut polled: Vec<_> = polled
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
            .collect();
        let ready = poll(&mut polled, Some(&limit)).expect("it can wait");
        assert!(ready > 0, "nothing comes");
    }

    /// The next packet that has come to a relay.
    fn received(relay: &mut UdpRelay) -> Packet {
        wait_for(&relay.descriptors());
        relay.receive().expect("a packet")
    }

    /// The next packet that has come here: who it is from, its content and its mark.
    fn next(edge: &Edge) -> (SocketAddr, Vec<u8>, Ecn) {
        let (mut buffer, mut packets) = (vec![0; 1 << 16], VecDeque::new());
        wait_for(&[edge.socket.as_fd()]);
        let read = edge.receive(&mut buffer).expect("a datagram");
        let from = read.from();
        read.into_packets(FlowId(0), (HostId(0), HostId(1)), None, &mut packets);
        let packet = packets.pop_front().expect("a packet");
        let Body::Other(payload) = packet.body else {
            panic!("it has another body");
        };
        (from, payload.into_bytes().to_vec(), packet.ip.ecn)
    }

    #[test]
    fn each_client_gets_its_own_answers_with_their_marks_and_damage() {
        let server = edge();
        let to = server.socket.local_addr().expect("it is bound");
        let (near, far) = (HostId(3), HostId(5));
        let mut relay = UdpRelay::bind(loopback(), to, (near, far)).expect("it is bound");
        let at = relay.local_address().expect("it is bound");
        let clients = [edge(), edge(), edge()];
        let mut asked = Vec::new();
        for (number, client) in (0..).zip(&clients) {
            client.send(at, Ecn::Ect0, &[number; 40], None);
            let packet = received(&mut relay);
            assert_eq!((packet.ip.source, packet.ip.destination), (near, far));
            assert_eq!((packet.size, packet.ip.ecn), (68, Ecn::Ect0));
            relay.send(far, packet.clone());
            let (from, content, ecn) = next(&server);
            assert_eq!((content, ecn), (vec![number; 40], Ecn::Ect0));
            asked.push((from, packet));
        }
        // In another order than they asked.
        for number in [1_u8, 2, 0] {
            let (from, question) = &asked[usize::from(number)];
            server.send(*from, Ecn::NotEct, &[number, 7, 7], None);
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
    fn who_gives_way_leaves_no_answers_to_the_next() {
        let server = edge().socket.local_addr().expect("it is bound");
        let hosts = (HostId(0), HostId(1));
        let mut relay = UdpRelay::bind(loopback(), server, hosts).expect("it is bound");
        let address = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        let first = relay.client(address(1)).expect("there is room");
        assert_eq!(relay.client(address(1)), Some(first));
        relay.forget();
        let second = relay.client(address(2)).expect("there is room");
        assert_ne!(first, second);
        let again = relay.client(address(1)).expect("there is room");
        assert!(![first, second].contains(&again));
    }
}
