//! The packets of a run as a capture on its hosts would show them: each packet as octets with IP
//! and UDP headers, when it leaves its sender's host and when it arrives at its receiver's.
//!
//! Host number n of the scenario has the address 10.0.0.n. A flow's sender has its own port from
//! 49152 on; its receiver has port 443 for QUIC and 5001 for the others. Outgoing packets are
//! captured after the delay of the host's stack, incoming ones before it. A packet that the network
//! damaged has the damaged octet changed, so that its checksum is wrong.
//!
//! Payloads without content are zeros. QUIC packets are neither encrypted nor header-protected:
//! they have the format of `weir_proto::quic::wire`, with connection IDs that distinguish the
//! flows, because capture tools identify connections by them.
//!
//! Does not model: a capture behind the loss model of a flow, which drops packets after they are
//! captured here.

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
    /// A packet is captured at a host. Calls are in the order in which hosts handle packets; the
    /// capture times deviate from that order by the stack delays of the hosts.
    fn packet(&mut self, packet: &TappedPacket<'_>);
}

/// A tap that a run shares with its caller.
pub type SharedTap = Arc<Mutex<dyn Tap>>;

/// A packet at a host.
#[derive(Clone, Copy, Debug)]
pub struct TappedPacket<'a> {
    /// The time at which it was at the host's interface.
    pub at: Instant,
    /// The index of the host in [`Scenario::hosts`](crate::scenario::Scenario::hosts).
    pub host: usize,
    /// Its direction at the host.
    pub direction: Direction,
    /// The packet, starting with its IP header.
    pub octets: &'a [u8],
}

/// The address of the host with this index in the scenario.
pub fn address_of(host: usize) -> IpAddr {
    let number = host as u32 + 1;
    IpAddr::V4(Ipv4Addr::from_bits(10 << 24 | number & 0x00ff_ffff))
}

/// One end of a flow in a capture.
#[derive(Clone, Copy, Debug)]
pub(in crate::run) struct TapEnd {
    host: usize,
    near: SocketAddr,
    far: SocketAddr,
    timing: HostTiming,
    /// The protocol that carries packets of [`Body::Other`].
    plain: IpProtocol,
    quic: HeaderFormat,
    /// The connection IDs of QUIC packets to the other end, and to this end.
    ids: [u64; 2],
}

impl TapEnd {
    /// The sender and the receiver of the flow with this number.
    pub(in crate::run) fn pair(
        flow: &Flow,
        number: usize,
        ends: [(HostId, &Host); 2],
    ) -> [Self; 2] {
        let (port, plain, quic) = match &flow.transport {
            Transport::Quic(quic) => (QUIC_PORT, IpProtocol::Udp, quic.config.wire_format()),
            Transport::Quinn(_) | Transport::Noq(_) => {
                (QUIC_PORT, IpProtocol::Udp, HeaderFormat::RFC9000)
            }
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
            // An outgoing packet gets its TTL from the host after the tap.
            ttl: match packet.ip.ttl {
                0 => IpHeader::DEFAULT_TTL,
                ttl => ttl,
            },
            id: packet.id as u16,
        }
    }

    /// Encodes the packet in its wire format into `out`; `content` is a buffer for the transport's
    /// octets.
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

/// Writes connection IDs into the zeros of a QUIC packet: the destination's, and in a long header
/// also the source's (RFC 9000 §17.2, §17.3).
fn set_connection_ids(
    octets: &mut [u8],
    space: SpaceId,
    [destination, source]: [u64; 2],
    format: HeaderFormat,
) {
    let len = usize::from(format.connection_id_len);
    // After the first octet, or in a long header after the version and the length of each ID.
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

/// The shim that shows an endpoint's packets to the tap.
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
