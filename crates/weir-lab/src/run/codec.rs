//! `[run] codec = true`: every packet is encoded and decoded on its way. Proves that typed packets
//! and wire format are the same thing: it must change nothing but the time that a run takes.
//!
//! QUIC packets travel as octets and are decoded where they arrive, because only the receiver
//! knows which packet number to expect. DCCP packets are encoded and decoded, with their
//! checksum, before they leave.

use std::sync::{Arc, Mutex};
use weir_proto::event::Events;
use weir_proto::node::{Endpoint, EndpointEvent, Node, Statistics, WriteError};
use weir_proto::packet::{Body, IpHeader, Packet, Payload};
use weir_proto::quic::wire::{HeaderFormat, SpaceId};
use weir_proto::time::Instant;
use weir_proto::{quic, tcp};

/// The first fault that any endpoint's codec found, shared by all of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Fault(Arc<Mutex<Option<String>>>);

impl Fault {
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().ok()?.take()
    }

    pub(super) fn report(&self, now: Instant, packet: &Packet, why: &str) {
        let (id, flow) = (packet.id, packet.flow.0);
        if let Ok(mut fault) = self.0.lock() {
            fault.get_or_insert_with(|| format!("packet {id} of flow {flow} at {now} s {why}"));
        }
    }
}

/// An endpoint whose packets go through their wire format.
pub(super) struct CodecEndpoint {
    inner: Box<dyn Endpoint + Send>,
    /// The header of QUIC packets.
    header: HeaderFormat,
    /// The packet number of QUIC that comes next, in the Initial and the data space.
    expected: [u64; 2],
    buffer: Vec<u8>,
    fault: Fault,
}

fn index_of(space: SpaceId) -> usize {
    match space {
        SpaceId::Initial => 0,
        SpaceId::Data => 1,
    }
}

impl CodecEndpoint {
    pub(super) fn new(inner: Box<dyn Endpoint + Send>, header: HeaderFormat, fault: Fault) -> Self {
        Self {
            inner,
            header,
            expected: [0; 2],
            buffer: Vec::new(),
            fault,
        }
    }

    /// What travels instead of the packet's body.
    fn encode(&mut self, packet: &Packet) -> Result<Body, String> {
        match &packet.body {
            Body::Dccp(dccp) => dccp
                .round_trip(&mut self.buffer)
                .map(Body::Dccp)
                .map_err(|error| error.to_string()),
            Body::Quic(quic) => {
                self.buffer.clear();
                quic.encode(&self.header, &mut self.buffer);
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
            Body::Other(payload) => Ok(Body::Other(payload.clone())),
        }
    }

    /// The body that arrived.
    fn decode(&mut self, body: Body) -> Result<Body, String> {
        let octets = match &body {
            Body::Other(payload) => payload.content(),
            _ => None,
        };
        let Some(octets) = octets else {
            return Ok(body);
        };
        let expected = self.expected;
        let packet = quic::Packet::decode(octets, &self.header, |space| expected[index_of(space)])
            .map_err(|error| format!("cannot be decoded: {error}"))?;
        let next = &mut self.expected[index_of(packet.space)];
        *next = (*next).max(packet.number + 1);
        Ok(Body::Quic(packet))
    }
}

impl Node for CodecEndpoint {
    fn handle(&mut self, now: Instant, mut packet: Packet) {
        let body = std::mem::replace(&mut packet.body, Body::Other(Payload::default()));
        match self.decode(body) {
            Ok(body) => {
                packet.body = body;
                self.inner.handle(now, packet);
            }
            Err(why) => self.fault.report(now, &packet, &why),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.inner.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let mut packet = self.inner.poll_transmit(now)?;
        match self.encode(&packet) {
            Ok(body) => packet.body = body,
            Err(why) => self.fault.report(now, &packet, &why),
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

impl Endpoint for CodecEndpoint {
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
