//! A UDP relay: what comes to a port here goes to a server's port through the topology, and what
//! the server answers goes back to who asked. Needs no privilege.
//!
//! Each client gets a socket of its own towards the server, as behind a network address
//! translator, so that the server tells them apart; all share the topology's links.

use super::Outside;
use crate::datagram::{codepoint, ecn_of};
use crate::tap::{Direction, Tap, TappedDatagram, canonical, ours};
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use weir_proto::packet::{Body, FlowId, HostId, IpHeader, Packet, Payload};

/// Clients at the same time; the one that was silent longest gives way to a new one.
const MOST_CLIENTS: usize = 1024;

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
    datagrams: u64,
    buffer: Vec<u8>,
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
            datagrams: 0,
            buffer: vec![0; 1 << 16],
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
            let silent = self.clients.iter().min_by_key(|(_, client)| client.last);
            let (number, address) = silent.map(|(number, client)| (*number, client.address))?;
            self.clients.remove(&number);
            self.by_address.remove(&address);
        }
        let any = match self.server {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let mut far = Io::bind(SocketAddr::new(any, 0)).ok()?;
        far.socket.connect(self.server).ok()?;
        far.own = far.socket.local_addr().ok()?;
        let free = |number: &u32| !self.clients.contains_key(number);
        let number = (0..MOST_CLIENTS as u32).find(free)?;
        let last = self.datagrams;
        let client = Client { address, far, last };
        self.clients.insert(number, client);
        self.by_address.insert(address, number);
        Some(number)
    }

    /// Queues what lies in the buffer.
    fn take(&mut self, (meta, own): (RecvMeta, SocketAddr), client: u32, way: (HostId, HostId)) {
        let octets = self.buffer.get(..meta.len).unwrap_or_default();
        let headers = match meta.addr.ip().to_canonical() {
            IpAddr::V4(_) => IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS,
            IpAddr::V6(_) => 40 + IpHeader::UDP_OCTETS,
        };
        for datagram in octets.chunks(meta.stride.max(1)) {
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
                size: headers + datagram.len() as u32,
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
        if self.ready.is_empty()
            && let Some(meta) = self.near.receive(&mut self.buffer)
            && let Some(client) = self.client(meta.addr)
        {
            let own = self.near.own;
            self.take((meta, own), client, (self.near_host, self.far_host));
        }
        if self.ready.is_empty() {
            let heard = self.clients.iter().find_map(|(number, client)| {
                let meta = client.far.receive(&mut self.buffer)?;
                Some(((meta, client.far.own), *number))
            });
            if let Some((meta, client)) = heard {
                self.take(meta, client, (self.far_host, self.near_host));
            }
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
