//! `[run] codec = true`: every packet is encoded and decoded in transit. This checks that typed
//! packets and the wire format are equivalent: the results of a run must not change.
//!
//! QUIC packets travel as octets and are decoded on arrival, because only the receiver knows the
//! expected packet number. DCCP packets are encoded and decoded, with their checksum, before they
//! leave.

use super::quic_decoder::QuicDecoder;
use super::shim::Shim;
use std::sync::{Arc, Mutex};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, IpHeader, Packet, Payload};
use weir_proto::quic::wire::HeaderFormat;
use weir_proto::time::Instant;
use weir_proto::{rtp, tcp};

/// The first error that any codec or tap of a run has reported.
#[derive(Clone, Debug, Default)]
pub(in crate::run) struct FirstFault(Arc<Mutex<Option<String>>>);

impl FirstFault {
    pub(in crate::run) fn take(&self) -> Option<String> {
        self.0.lock().ok()?.take()
    }

    pub(in crate::run) fn report(&self, now: Instant, packet: &Packet, why: &str) {
        let (id, flow) = (packet.id, packet.flow.0);
        if let Ok(mut fault) = self.0.lock() {
            fault.get_or_insert_with(|| format!("packet {id} of flow {flow} at {now} s {why}"));
        }
    }
}

/// The shim that encodes leaving packets and decodes arriving ones.
pub(in crate::run) struct Codec {
    /// Decodes QUIC packets.
    quic: QuicDecoder,
    buffer: Vec<u8>,
    fault: FirstFault,
}

impl Codec {
    pub(in crate::run) const fn new(header: HeaderFormat, fault: FirstFault) -> Self {
        Self {
            quic: QuicDecoder::new(header),
            buffer: Vec::new(),
            fault,
        }
    }

    /// Encodes the packet's body for transit.
    fn encode(&mut self, packet: &Packet) -> Result<Body, String> {
        match &packet.body {
            Body::Dccp(dccp) => dccp
                .round_trip(&mut self.buffer)
                .map(Body::Dccp)
                .map_err(|error| error.to_string()),
            Body::Quic(quic) => {
                self.buffer.clear();
                quic.encode(self.quic.header(), &mut self.buffer);
                let size = self.buffer.len() as u32 + IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
                if size != packet.size {
                    let claimed = packet.size;
                    return Err(format!(
                        "has {size} octets on the wire and claims {claimed}"
                    ));
                }
                Ok(Body::Other(Payload::from_bytes(&self.buffer)))
            }
            Body::Tcp(segment) => {
                let octets = segment.encode();
                match tcp::Packet::decode(&octets) {
                    Some(decoded) if decoded == *segment => Ok(Body::Tcp(decoded)),
                    _ => Err("does not survive its encoding".to_owned()),
                }
            }
            Body::Rtp(rtp) => {
                let octets = rtp.encode();
                let size = octets.len() as u32 + IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
                match rtp::Packet::decode(&octets) {
                    Some(decoded) if size == packet.size && decoded.encode() == octets => {
                        Ok(Body::Rtp(decoded))
                    }
                    _ => Err("does not survive its encoding".to_owned()),
                }
            }
            Body::Other(payload) => Ok(Body::Other(payload.clone())),
        }
    }

    /// Decodes the body on arrival.
    fn decode(&mut self, body: Body) -> Result<Body, String> {
        let octets = match &body {
            Body::Other(payload) => payload.content(),
            _ => None,
        };
        let Some(octets) = octets else {
            return Ok(body);
        };
        self.quic.decode(octets).map(Body::Quic)
    }
}

impl Shim for Codec {
    fn handle(&mut self, inner: &mut dyn Endpoint, now: Instant, packet: &mut Packet) {
        let body = std::mem::replace(&mut packet.body, Body::Other(Payload::default()));
        match self.decode(body) {
            Ok(body) => {
                packet.body = body;
                inner.handle(now, packet);
            }
            Err(why) => self.fault.report(now, packet, &why),
        }
    }

    fn poll_transmit(&mut self, inner: &mut dyn Endpoint, now: Instant) -> Option<Packet> {
        let mut packet = inner.poll_transmit(now)?;
        match self.encode(&packet) {
            Ok(body) => packet.body = body,
            Err(why) => self.fault.report(now, &packet, &why),
        }
        Some(packet)
    }
}
