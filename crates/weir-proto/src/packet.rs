//! The packet: one concrete type, which the sender creates, the network stores in one place, and
//! the receiver reads there.
//!
//! Stages of the network read [`IpHeader`] and `size`; only endpoints read `body`. A simulated
//! payload is a length without content, so nothing is allocated per packet.

pub use crate::dscp::Dscp;
pub use crate::ecn::Ecn;
pub use crate::flow_id::FlowId;
pub use crate::payload::Payload;

use crate::time::{Duration, Instant};
use crate::{dccp, quic, rtp, tcp};
use std::num::{NonZeroU32, NonZeroU64};

/// A host: an index into the network's table of hosts, in place of an IP address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// The part of the IP header that the network acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpHeader {
    /// Source address.
    pub source: HostId,
    /// Destination address.
    pub destination: HostId,
    /// ECN codepoint.
    pub ecn: Ecn,
    /// Differentiated Services codepoint; the network writes that of the flow.
    pub dscp: Dscp,
    /// Time to live: hops left.
    pub ttl: u8,
    /// Source port, as how often a NAT has changed it.
    pub rebindings: u8,
}

impl IpHeader {
    /// Octets of an IPv4 header without options, as counted in [`Packet::size`].
    pub const V4_OCTETS: u32 = 20;
    /// Octets of a UDP header, as counted in [`Packet::size`] for QUIC and RTP.
    pub const UDP_OCTETS: u32 = 8;
    /// Initial hop limit.
    pub const DEFAULT_TTL: u8 = 64;
}

/// A packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Number that the sending endpoint gave it, unique within that endpoint; the argument of
    /// [`Endpoint::transmitted`](crate::endpoint::Endpoint::transmitted).
    pub id: u64,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// The fields that the network reads.
    pub ip: IpHeader,
    /// Octets on the wire from the IP header on.
    pub size: u32,
    /// Where the network damaged it: the offset of the first wrong octet from the start of the
    /// IP header. Never zero, because a router drops a packet with a damaged IP header.
    pub damaged_at: Option<NonZeroU32>,
    /// The network's record of its transit, for measurements; endpoints leave it empty.
    pub transit: Transit,
    /// Its number in the trace events of its transport; `None` if it came from outside.
    pub number: Option<TraceNumber>,
    /// The part that the endpoints read.
    pub body: Body,
}

impl Packet {
    /// A packet of `size` octets on the wire, without a number of an endpoint.
    pub fn new(size: u32, body: Body) -> Self {
        Self {
            id: 0,
            flow: FlowId(0),
            ip: IpHeader::default(),
            size,
            damaged_at: None,
            transit: Transit::default(),
            number: None,
            body,
        }
    }
}

/// The number of a packet in trace events; an `Option` of it has eight octets as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceNumber(NonZeroU64);

impl TraceNumber {
    /// This number, less than 2^64 - 1.
    #[inline]
    pub const fn new(number: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(number))
    }

    /// The number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0.get() - 1
    }
}

/// The network's record of the transit of a packet. No endpoint reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit {
    /// When its endpoint handed it over; in the far future if that was outside this simulation.
    pub sent_at: Instant,
    /// The time for which it has waited in queues; [`Self::UNKNOWN`] if these were outside.
    pub queued: Duration,
}

impl Transit {
    /// The time in queues of a packet whose queues were outside this simulation.
    pub const UNKNOWN: Duration = Duration::MAX;
}

impl Default for Transit {
    fn default() -> Self {
        Self {
            sent_at: Instant::FAR_FUTURE,
            queued: Duration::ZERO,
        }
    }
}

/// The transport's part of a packet.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// DCCP over IP (RFC 4340).
    Dccp(dccp::Packet),
    /// QUIC over UDP (RFC 9000).
    Quic(quic::Packet),
    /// TCP over IP (RFC 9293).
    Tcp(tcp::Packet),
    /// RTP and RTCP over UDP (RFC 3550, RFC 8888).
    Rtp(rtp::Packet),
    /// Anything else, such as plain UDP.
    Other(Payload),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rarely used options of TCP and DCCP and frames of QUIC share space in the packet, or are
    /// stored outside of it.
    #[test]
    fn a_packet_is_small_because_many_are_under_way() {
        let sizes = [
            size_of::<Packet>(),
            size_of::<Body>(),
            size_of::<dccp::Packet>(),
            size_of::<quic::Packet>(),
            size_of::<rtp::Packet>(),
            size_of::<tcp::Packet>(),
        ];
        assert!(sizes[0] <= 128, "{sizes:?}");
        assert_eq!(size_of::<Option<Packet>>(), sizes[0]);
    }

    #[test]
    fn the_number_of_a_packet_may_be_zero() {
        for number in [0, 1, u64::MAX - 1] {
            assert_eq!(TraceNumber::new(number).get(), number);
        }
        assert_eq!(size_of::<Option<TraceNumber>>(), 8);
    }
}
