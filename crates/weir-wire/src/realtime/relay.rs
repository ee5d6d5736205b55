//! A UDP relay: what comes to a port here goes to a server's port through the topology, and what
//! the server answers goes back to who asked. Needs no privilege.
//!
//! Each client gets a socket of its own towards the server, as behind a network address
//! translator, so that the server tells them apart; all share the topology's links.

use super::Outside;
use crate::datagram::{codepoint, ecn_of};
use crate::tap::{Direction, Tap, TappedDatagram, canonical, ours};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use weir_proto::packet::{Body, FlowId, HostId, IpHeader, Packet, Payload};

/// Clients at the same time; the one that was silent longest gives way to a new one.
const MOST_CLIENTS: usize = 1024;

/// Clients are numbered in a circle of so many, that an answer on its way to one that gave way
/// does not go to another.
const NUMBERS: u32 = 1 << 16;

/// A socket and its state.
struct Io {
    socket: UdpSocket,
    own: SocketAddr,
    state: UdpSocketState,
}

/// A client, and the socket that speaks to the server for it.
struct Client {
    address: SocketAddr,
    far: Io,
    /// The count of datagrams when it last sent one.
    last: u64,
}

/// The relay.
pub struct Relay {
    near: Io,
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
    /// Sockets that had something to read: those of clients, or the one towards them.
    readable: VecDeque<Option<u32>>,
    ready: VecDeque<Packet>,
    tap: Option<Arc<dyn Tap>>,
}

impl Io {
    fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(1 << 22);
        let state = UdpSocketState::new((&socket).into())?;
        let own = socket.local_addr()?;
        Ok(Self { socket, own, state })
    }

    fn receive(&self, buffer: &mut [u8]) -> Option<RecvMeta> {
        let mut metas = [RecvMeta::default()];
        let mut slices = [IoSliceMut::new(buffer)];
        let read = self
            .state
            .recv((&self.socket).into(), &mut slices, &mut metas);
        let [meta] = metas;
        read.is_ok().then_some(meta)
    }

    fn send(&self, destination: SocketAddr, ecn: Option<EcnCodepoint>, contents: &[u8]) {
        let transmit = Transmit {
            destination,
            ecn,
            contents,
            segment_size: None,
            src_ip: None,
        };
        let _ = self.state.try_send((&self.socket).into(), &transmit);
    }
}

impl Relay {
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
            near: Io::bind(at)?,
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
    fn towards_server(&self) -> io::Result<Io> {
        let any = match self.server {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let mut far = Io::bind(SocketAddr::new(any, 0))?;
        far.socket.connect(self.server)?;
        far.own = far.socket.local_addr()?;
        Ok(far)
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
    pub const fn longest(&self) -> u32 {
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
        let Some(number) = socket else {
            if let Some(meta) = self.near.receive(&mut self.buffer)
                && let Some(client) = self.client(meta.addr)
            {
                let own = self.near.own;
                self.take((meta, own), client, (self.near_host, self.far_host));
            }
            return;
        };
        if let Some(client) = self.clients.get(&number)
            && let Some(meta) = client.far.receive(&mut self.buffer)
        {
            let own = client.far.own;
            self.take((meta, own), number, (self.far_host, self.near_host));
        }
    }

    /// Queues what lies in the buffer.
    fn take(&mut self, (meta, own): (RecvMeta, SocketAddr), client: u32, way: (HostId, HostId)) {
        let octets = self.buffer.get(..meta.len).unwrap_or_default();
        let headers = match meta.addr.ip().to_canonical() {
            IpAddr::V4(_) => IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS,
            IpAddr::V6(_) => 40 + IpHeader::UDP_OCTETS,
        };
        // A datagram may be empty; chunks of nothing would be none.
        let empty = octets.is_empty().then_some(octets);
        for datagram in octets.chunks(meta.stride.max(1)).chain(empty) {
            let size = headers + datagram.len() as u32;
            self.longest = self.longest.max(size);
            if let Some(tap) = &self.tap {
                tap.datagram(&TappedDatagram {
                    at: std::time::Instant::now(),
                    direction: Direction::Received,
                    from: canonical(meta.addr),
                    to: ours(own, meta.dst_ip, meta.addr),
                    ecn: ecn_of(meta.ecn),
                    octets: datagram,
                });
            }
            self.ready.push_back(Packet {
                id: 0,
                flow: FlowId(client),
                ip: IpHeader {
                    source: way.0,
                    target: way.1,
                    ecn: ecn_of(meta.ecn),
                    ttl: IpHeader::DEFAULT_TTL,
                },
                size,
                damaged_at: None,
                body: Body::Other(Payload::from_bytes(datagram)),
            });
        }
    }
}

impl Outside for Relay {
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
        let ecn = codepoint(packet.ip.ecn);
        let (io, to) = if host == self.far_host {
            (&client.far, self.server)
        } else {
            (&self.near, client.address)
        };
        io.send(to, ecn, &octets);
        if let Some(tap) = &self.tap {
            tap.datagram(&TappedDatagram {
                at: std::time::Instant::now(),
                direction: Direction::Sent,
                from: ours(io.own, None, to),
                to: canonical(to),
                ecn: packet.ip.ecn,
                octets: &octets,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_gives_way_leaves_no_answers_to_the_next() {
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let server = UdpSocket::bind(any).expect("loopback is there");
        let server = server.local_addr().expect("it is bound");
        let mut relay = Relay::bind(any, server, (HostId(0), HostId(1))).expect("it is bound");
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
