//! Packets as octets, for sockets that carry them: the form of a flow whose ends have a real
//! network between them.
//!
//! Everything travels in UDP datagrams: QUIC, quinn and UDP as they are, DCCP as RFC 6773 has
//! it, with a checksum of zero (§3.3), TCP in the same manner. For DCCP and TCP that is eight
//! octets more than over IP, which the links' MTUs are raised by. A datagram of UDP ends with its
//! number, eight octets: without it a receiver cannot count what is lost. iperf3 has the number in
//! front, where the header of an application is here.

use crate::scenario::Transport;
use weir_proto::dccp::wire::decode;
use weir_proto::event::Events;
use weir_proto::node::{Endpoint, EndpointEvent, Node, Statistics, WriteError};
use weir_proto::packet::{Body, IpHeader, Packet, Payload};
use weir_proto::quic::wire::{HeaderFormat, SpaceId};
use weir_proto::time::Instant;
use weir_proto::{quic, tcp};

/// Octets that packets may have on the wire beyond those that they count themselves.
pub(super) const ENCAPSULATION: u32 = IpHeader::UDP_OCTETS;

/// What the octets hold.
enum Kind {
    Dccp,
    Tcp,
    Udp,
    /// They are octets inside the endpoint too.
    Quinn,
    /// The header, and the packet number that comes next in the Initial and the data space.
    Quic(HeaderFormat, [u64; 2]),
}

/// An endpoint whose packets are octets outside it.
pub(super) struct WireForm {
    inner: Box<dyn Endpoint + Send>,
    kind: Kind,
    buffer: Vec<u8>,
}

impl WireForm {
    pub(super) fn new(inner: Box<dyn Endpoint + Send>, transport: &Transport) -> Self {
        let kind = match transport {
            Transport::Dccp(_) => Kind::Dccp,
            Transport::Tcp(_) => Kind::Tcp,
            Transport::Udp(_) => Kind::Udp,
            Transport::Quinn(_) => Kind::Quinn,
            Transport::Quic(quic) => Kind::Quic(quic.header, [0; 2]),
        };
        Self {
            inner,
            kind,
            buffer: Vec::new(),
        }
    }

    /// The packet's octets; none if it has no wire form.
    fn encode(&mut self, packet: &Packet) -> Option<Payload> {
        self.buffer.clear();
        match (&packet.body, &self.kind) {
            (Body::Dccp(dccp), _) => dccp.encode(None, &mut self.buffer).ok()?,
            (Body::Quic(quic), Kind::Quic(header, _)) => quic.encode(header, &mut self.buffer),
            (Body::Tcp(segment), _) => self.buffer = segment.encode(),
            (Body::Other(payload), Kind::Quinn) => return Some(payload.clone()),
            (Body::Other(payload), _) => {
                let octets = payload.content().unwrap_or_default();
                self.buffer.extend_from_slice(octets);
                self.buffer.resize(payload.len() as usize, 0);
                if let Some(number) = self.buffer.last_chunk_mut() {
                    *number = packet.id.to_be_bytes();
                }
            }
            (Body::Quic(_), _) => return None,
        }
        Some(Payload::from_bytes(&self.buffer))
    }

    /// The packet that came in these octets; none if they hold none. What comes from a socket
    /// may be anything.
    fn decode(&mut self, mut packet: Packet) -> Option<Packet> {
        let Body::Other(payload) = &packet.body else {
            return Some(packet);
        };
        let octets = payload.content()?;
        let len = octets.len() as u32;
        packet.size = IpHeader::V4_OCTETS + len;
        packet.body = match &mut self.kind {
            Kind::Dccp => Body::Dccp(decode(octets).ok()?.into_packet()),
            Kind::Tcp => Body::Tcp(tcp::Packet::decode(octets)?),
            Kind::Udp => {
                packet.id = octets.last_chunk().map_or(0, |id| u64::from_be_bytes(*id));
                packet.size += IpHeader::UDP_OCTETS;
                Body::Other(payload.clone())
            }
            Kind::Quinn => {
                packet.size += IpHeader::UDP_OCTETS;
                Body::Other(payload.clone())
            }
            Kind::Quic(header, expected) => {
                packet.size += IpHeader::UDP_OCTETS;
                let index = |space: SpaceId| usize::from(space == SpaceId::Data);
                let next = |space| expected[index(space)];
                let quic = quic::Packet::decode(octets, header, next).ok()?;
                let next = &mut expected[index(quic.space)];
                *next = (*next).max(quic.number + 1);
                Body::Quic(quic)
            }
        };
        Some(packet)
    }
}

impl Node for WireForm {
    fn handle(&mut self, now: Instant, packet: Packet) {
        if let Some(packet) = self.decode(packet) {
            self.inner.handle(now, packet);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.inner.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let mut packet = self.inner.poll_transmit(now)?;
        if let Some(octets) = self.encode(&packet) {
            packet.body = Body::Other(octets);
        }
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.inner.poll_timeout()
    }

    fn events(&mut self) -> Option<&mut Events> {
        self.inner.events()
    }
}

impl Endpoint for WireForm {
    fn connect(&mut self, now: Instant) {
        self.inner.connect(now);
    }

    fn close(&mut self, now: Instant) {
        self.inner.close(now);
    }

    fn write(&mut self, now: Instant, data: Payload) -> Result<(), WriteError> {
        self.inner.write(now, data)
    }

    fn read(&mut self, now: Instant) -> Option<Payload> {
        self.inner.read(now)
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.inner.poll_event()
    }

    fn transmitted(&mut self, now: Instant, packet_id: u64) {
        self.inner.transmitted(now, packet_id);
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}
