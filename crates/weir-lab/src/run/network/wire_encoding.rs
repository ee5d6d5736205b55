//! Packets as octets, for real sockets: the encoding of flows whose ends are connected by a real
//! network.
//!
//! All transports are carried in UDP datagrams: QUIC, quinn, noq, RTP and UDP without change, DCCP
//! as in RFC 6773 with a checksum of zero (§3.3), and TCP likewise. DCCP and TCP then have eight
//! octets more than over IP, so the MTUs of links are increased by eight. A UDP datagram ends with
//! its sequence number in eight octets, which the receiver needs to count losses. iperf3 has the
//! number at the start, where the application header is here.

use super::quic_decoder::QuicDecoder;
use super::shim::Shim;
use crate::scenario::Transport;
use weir_proto::dccp::wire::decode;
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, IpHeader, Packet, Payload};
use weir_proto::time::Instant;
use weir_proto::{rtp, tcp};

/// Octets that packets may have on the wire in addition to their own size.
pub(in crate::run) const ENCAPSULATION: u32 = IpHeader::UDP_OCTETS;

/// The format of the octets.
enum PacketFormat {
    Dccp,
    Rtp,
    Tcp,
    Udp,
    /// The endpoint itself produces octets.
    Octets,
    Quic(QuicDecoder),
}

/// The shim that converts packets to octets and back.
pub(in crate::run) struct WireEncoding {
    format: PacketFormat,
    buffer: Vec<u8>,
}

impl WireEncoding {
    pub(in crate::run) fn new(transport: &Transport) -> Self {
        let format = match transport {
            Transport::Dccp(_) => PacketFormat::Dccp,
            Transport::Rtp(_) => PacketFormat::Rtp,
            Transport::Tcp(_) => PacketFormat::Tcp,
            Transport::Udp(_) => PacketFormat::Udp,
            Transport::Quinn(_) | Transport::Noq(_) => PacketFormat::Octets,
            Transport::Quic(quic) => {
                PacketFormat::Quic(QuicDecoder::new(quic.config.wire_format()))
            }
        };
        Self {
            format,
            buffer: Vec::new(),
        }
    }

    /// The packet's octets; `None` if it has no wire format.
    fn encode(&mut self, packet: &Packet) -> Option<Payload> {
        self.buffer.clear();
        match (&packet.body, &self.format) {
            (Body::Dccp(dccp), _) => dccp.encode(None, &mut self.buffer).ok()?,
            (Body::Quic(quic), PacketFormat::Quic(decoder)) => {
                quic.encode(decoder.header(), &mut self.buffer);
            }
            (Body::Rtp(rtp), _) => self.buffer = rtp.encode(),
            (Body::Tcp(segment), _) => self.buffer = segment.encode(),
            (Body::Other(payload), PacketFormat::Octets) => return Some(payload.clone()),
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

    /// Decodes the octets of a packet; `None` if they are invalid. Octets from a socket may be
    /// arbitrary.
    fn decode(&mut self, packet: &mut Packet) -> Option<()> {
        let Body::Other(payload) = &packet.body else {
            return Some(());
        };
        let octets = payload.content()?;
        let len = octets.len() as u32;
        packet.size = IpHeader::V4_OCTETS + len;
        packet.body = match &mut self.format {
            PacketFormat::Dccp => Body::Dccp(decode(octets).ok()?.into_packet()),
            PacketFormat::Rtp => {
                packet.size += IpHeader::UDP_OCTETS;
                Body::Rtp(rtp::Packet::decode(octets)?)
            }
            PacketFormat::Tcp => Body::Tcp(tcp::Packet::decode(octets)?),
            PacketFormat::Udp => {
                packet.id = octets.last_chunk().map_or(0, |id| u64::from_be_bytes(*id));
                packet.size += IpHeader::UDP_OCTETS;
                Body::Other(payload.clone())
            }
            PacketFormat::Octets => {
                packet.size += IpHeader::UDP_OCTETS;
                Body::Other(payload.clone())
            }
            PacketFormat::Quic(decoder) => {
                packet.size += IpHeader::UDP_OCTETS;
                Body::Quic(decoder.decode(octets).ok()?)
            }
        };
        Some(())
    }
}

impl Shim for WireEncoding {
    fn handle(&mut self, inner: &mut dyn Endpoint, now: Instant, packet: &mut Packet) {
        if self.decode(packet).is_some() {
            inner.handle(now, packet);
        }
    }

    fn poll_transmit(&mut self, inner: &mut dyn Endpoint, now: Instant) -> Option<Packet> {
        let mut packet = inner.poll_transmit(now)?;
        if let Some(octets) = self.encode(&packet) {
            packet.body = Body::Other(octets);
        }
        Some(packet)
    }
}
