//! Packets that enter and leave a simulated network through its ports.

use std::borrow::Cow;
use weir_proto::packet::{Body, Dscp, Ecn, FlowId, HostId, IpHeader, Packet, Payload};

/// The flow of entering packets, and the hosts between which they are sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) flow: FlowId,
    pub(super) source: HostId,
    pub(super) target: HostId,
    pub(super) dscp: Dscp,
}

impl Route {
    /// A packet of `size` octets on this route, with these octets as its content.
    pub(super) fn packet(self, ecn: Ecn, size: u32, octets: &[u8]) -> Packet {
        Packet {
            flow: self.flow,
            ip: IpHeader {
                source: self.source,
                destination: self.target,
                ecn,
                dscp: self.dscp,
                ttl: IpHeader::DEFAULT_TTL,
                ..IpHeader::default()
            },
            ..Packet::new(size, Body::Other(Payload::from_bytes(octets)))
        }
    }
}

/// The content of a leaving packet; `None` if it has none.
pub(super) fn content(packet: &Packet) -> Option<Cow<'_, [u8]>> {
    match &packet.body {
        Body::Other(payload) => payload.content().map(Cow::Borrowed),
        _ => None,
    }
}

/// Flips a bit of the octet at which the network has damaged a leaving packet, if it has. The
/// content follows `headers` octets: damage to these is moved to its first octet.
pub(super) fn apply_damage(packet: &Packet, headers: u32, content: &mut Cow<'_, [u8]>) {
    if let Some(at) = packet.damaged_at {
        let at = at.get().saturating_sub(headers) as usize;
        if let Some(octet) = content.to_mut().get_mut(at) {
            *octet ^= 1;
        }
    }
}
