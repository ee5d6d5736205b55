//! The packets of a run as a capture on its hosts shows them: each packet as real octets, with IP
//! and UDP headers, when it leaves its sender's host and when it arrives at its receiver's.
//!
//! Host number n of the scenario has the address 10.0.0.n. A flow's sender has a port of its own
//! from 49152 on; its receiver has 443 for QUIC and 5001 for the others. A packet leaves when the
//! host's stack is done with it and arrives before the stack begins with it. What the network
//! damaged has its octet changed, so that its checksum is wrong.
//!
//! Payloads without content are zeros. QUIC packets are not encrypted, nor are their headers
//! protected: they are what `weir_proto::quic::wire` makes, with connection ids that tell the
//! flows apart, for readers find a connection by its id.
//!
//! Does not model: a capture behind the loss model of a flow, which takes packets after they are
//! seen here.

use super::codec::FirstFault;
use super::shim::Shim;
use crate::headers::{Direction, IpHeaders, IpProtocol};
use crate::scenario::{Flow, Host, Transport};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use weir_net::HostTiming;
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, HostId, IpHeader, Packet};
use weir_proto::quic::wire::{HeaderFormat, SpaceId};
use weir_proto::time::Instant;
use weir_proto::{dccp, tcp, udp};

/// RFC 6335 §6: the first dynamic port.
const FIRST_DYNAMIC_PORT: u16 = 49_152;
const DYNAMIC_PORTS: usize = 16_384;
const SERVER_PORT: u16 = 5001;
const QUIC_PORT: u16 = 443;

/// Receives the packets of a run.
pub trait Tap: Send {
    /// A packet is at a host. Calls are made in the order in which the hosts handle packets; their
    /// times differ from that order by the delays of the hosts' stacks.
    fn packet(&mut self, packet: &TappedPacket<'_>);
}

/// A tap that a run shares with its caller.
pub type SharedTap = Arc<Mutex<dyn Tap>>;

/// A packet at a host.
#[derive(Clone, Copy, Debug)]
pub struct TappedPacket<'a> {
    /// The time at which it was on the wire.
    pub at: Instant,
    /// The place of the host in [`Scenario::hosts`](crate::scenario::Scenario::hosts).
    pub host: usize,
    /// Its direction at the host.
    pub direction: Direction,
    /// The packet from its IP header on.
    pub octets: &'a [u8],
}

/// The address of the host at this place of the scenario.
pub fn address_of(host: usize) -> IpAddr {
    let number = host as u32 + 1;
    IpAddr::V4(Ipv4Addr::from_bits(10 << 24 | number & 0x00ff_ffff))
}

/// The headers of one end of a flow in a capture.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) struct TapEnd {
    host: usize,
    near: SocketAddr,
    far: SocketAddr,
    timing: HostTiming,
    /// How packets of [`Body::Other`] are carried.
    plain: IpProtocol,
    quic: HeaderFormat,
    /// The connection ids of QUIC packets to the other end, and to this one.
    ids: [u64; 2],
}

impl TapEnd {
    /// Sender and receiver of the flow with this number.
    pub(in crate::run) fn pair(
        flow: &Flow,
        number: usize,
        ends: [(HostId, &Host); 2],
    ) -> [Self; 2] {
        let (port, plain, quic) = match &flow.transport {
            Transport::Quic(quic) => (QUIC_PORT, IpProtocol::Udp, quic.config.header),
            Transport::Quinn(_) => (QUIC_PORT, IpProtocol::Udp, HeaderFormat::RFC9000),
            Transport::Udp(udp) => {
                let protocol = match udp.checksum {
                    udp::Checksum::Full => IpProtocol::Udp,
                    udp::Checksum::HeadersOnly => IpProtocol::UdpLite,
                    udp::Checksum::Absent => IpProtocol::UdpUnchecked,
                };
                (SERVER_PORT, protocol, HeaderFormat::RFC9000)
            }
            Transport::Dccp(_) | Transport::Rtp(_) | Transport::Tcp(_) => {
                (SERVER_PORT, IpProtocol::Udp, HeaderFormat::RFC9000)
            }
        };
        let near = FIRST_DYNAMIC_PORT + (number % DYNAMIC_PORTS) as u16;
        let far = port + (number / DYNAMIC_PORTS) as u16;
        let [first, second] = ends.map(|(id, _)| id.0 as usize);
        let sender = SocketAddr::new(address_of(first), near);
        let receiver = SocketAddr::new(address_of(second), far);
        let id = (number as u64 + 1) << 1;
        let sending = Self {
            host: first,
            near: sender,
            far: receiver,
            timing: ends[0].1.timing,
            plain,
            quic,
            ids: [id | 1, id],
        };
        let receiving = Self {
            host: second,
            near: receiver,
            far: sender,
            timing: ends[1].1.timing,
            ids: [id, id | 1],
            ..sending
        };
        [sending, receiving]
    }

    fn headers(&self, packet: &Packet, direction: Direction) -> IpHeaders {
        let (source, destination) = match direction {
            Direction::Outbound => (self.near, self.far),
            Direction::Inbound => (self.far, self.near),
        };
        IpHeaders {
            source,
            destination,
            ecn: packet.ip.ecn,
            // The host sets it after the tap.
            ttl: match packet.ip.ttl {
                0 => IpHeader::DEFAULT_TTL,
                ttl => ttl,
            },
            id: packet.id as u16,
        }
    }

    /// Puts the packet as it is on the wire into `out`; `content` is room for the transport's.
    fn encode(
        &self,
        packet: &Packet,
        direction: Direction,
        [content, out]: [&mut Vec<u8>; 2],
    ) -> Result<(), String> {
        content.clear();
        out.clear();
        let headers = self.headers(packet, direction);
        let ports = (headers.source.port(), headers.destination.port());
        let protocol = match &packet.body {
            Body::Dccp(dccp) => {
                let dccp = dccp::Packet {
                    source_port: ports.0,
                    destination_port: ports.1,
                    ..dccp.clone()
                };
                dccp.encode(Some(&headers.pseudo_header()), content)
                    .map_err(|error| format!("cannot be encoded: {error}"))?;
                IpProtocol::Dccp
            }
            Body::Tcp(segment) => {
                let segment = tcp::Packet {
                    source_port: ports.0,
                    destination_port: ports.1,
                    ..segment.clone()
                };
                *content = segment.encode();
                IpProtocol::Tcp
            }
            Body::Rtp(rtp) => {
                *content = rtp.encode();
                IpProtocol::Udp
            }
            Body::Quic(quic) => {
                quic.encode(&self.quic, content);
                let [far, near] = self.ids;
                let ids = match direction {
                    Direction::Outbound => [far, near],
                    Direction::Inbound => [near, far],
                };
                set_connection_ids(content, quic.space, ids, self.quic);
                IpProtocol::Udp
            }
            Body::Other(payload) => {
                match payload.content() {
                    Some(octets) => content.extend_from_slice(octets),
                    None => content.resize(payload.len() as usize, 0),
                }
                self.plain
            }
        };
        headers
            .wrap(protocol, content, out)
            .map_err(|error| error.to_string())?;
        if out.len() != packet.size as usize {
            let (octets, size) = (out.len(), packet.size);
            return Err(format!("has {octets} octets on the wire and claims {size}"));
        }
        if let Some(octet) = packet
            .damaged_at
            .and_then(|at| out.get_mut(at.get() as usize))
        {
            *octet ^= 0xff;
        }
        Ok(())
    }
}

/// Puts ids into a QUIC packet that has zeros there: the destination's, and of a long header the
/// source's (RFC 9000 §17.2, §17.3).
fn set_connection_ids(
    octets: &mut [u8],
    space: SpaceId,
    [destination, source]: [u64; 2],
    format: HeaderFormat,
) {
    let len = usize::from(format.connection_id_len);
    // First octet, and of a long header the version and a length before each id.
    let places = match space {
        SpaceId::Data => [Some((1, destination)), None],
        SpaceId::Initial => [Some((6, destination)), Some((7 + len, source))],
    };
    for (place, id) in places.into_iter().flatten() {
        let id = id.to_be_bytes();
        let tail = id.len().saturating_sub(len);
        let id = id.get(tail..).unwrap_or_default();
        if let Some(field) = octets.get_mut(place..place + id.len()) {
            field.copy_from_slice(id);
        }
    }
}

/// The layer through which an endpoint's packets are seen.
pub(in crate::run) struct TapShim {
    end: TapEnd,
    tap: SharedTap,
    fault: FirstFault,
    content: Vec<u8>,
    octets: Vec<u8>,
}

impl TapShim {
    pub(in crate::run) const fn new(end: TapEnd, tap: SharedTap, fault: FirstFault) -> Self {
        Self {
            end,
            tap,
            fault,
            content: Vec::new(),
            octets: Vec::new(),
        }
    }

    fn show(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        let room = [&mut self.content, &mut self.octets];
        if let Err(why) = self.end.encode(packet, direction, room) {
            return self.fault.report(now, packet, &why);
        }
        let timing = &self.end.timing;
        let at = match direction {
            Direction::Outbound => now + timing.transmit_delay,
            Direction::Inbound => {
                let nanos = now.as_nanos();
                Instant::from_nanos(nanos.saturating_sub(timing.receive_delay.as_nanos()))
            }
        };
        if let Ok(mut tap) = self.tap.lock() {
            tap.packet(&TappedPacket {
                at,
                host: self.end.host,
                direction,
                octets: &self.octets,
            });
        }
    }
}

impl Shim for TapShim {
    fn handle(&mut self, inner: &mut dyn Endpoint, now: Instant, packet: &mut Packet) {
        self.show(now, Direction::Inbound, packet);
        inner.handle(now, packet);
    }

    fn poll_transmit(&mut self, inner: &mut dyn Endpoint, now: Instant) -> Option<Packet> {
        let packet = inner.poll_transmit(now)?;
        self.show(now, Direction::Outbound, &packet);
        Some(packet)
    }
}
