//! One packet, one concrete type: links, queues and endpoints all move [`Packet`] by value.
//!
//! Stages of the network read [`IpHeader`] and `size` and never look into `body`; only endpoints
//! do. A simulated payload is a length without content, so nothing is allocated per packet.

use crate::{dccp, quic, tcp};
use std::num::NonZeroU32;
use std::sync::Arc;

/// A host: an index into the topology's table of hosts, which stands for an IP address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// A flow: one pair of endpoints. Stands for the five-tuple by which a host finds the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// The ECN codepoint of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable transport.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 10.
    Ect0,
    /// ECN-capable, codepoint 01.
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// The part of the IP header that the network acts on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpHeader {
    /// Where the packet comes from.
    pub source: HostId,
    /// Where the packet goes to.
    pub target: HostId,
    /// Congestion notification.
    pub ecn: Ecn,
    /// Hops left.
    pub ttl: u8,
}

impl IpHeader {
    /// Octets of an IPv4 header without options, as counted in [`Packet::size`].
    pub const V4_OCTETS: u32 = 20;
    /// Octets of a UDP header, as counted in [`Packet::size`] for QUIC.
    pub const UDP_OCTETS: u32 = 8;
    /// Initial hop limit.
    pub const DEFAULT_TTL: u8 = 64;
}

/// A packet on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Number that the sending endpoint gave it, unique within that endpoint; named again in
    /// [`Endpoint::transmitted`](crate::endpoint::Endpoint::transmitted).
    pub id: u64,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// What the network reads.
    pub ip: IpHeader,
    /// Octets on the wire from the IP header on.
    pub size: u32,
    /// Where the network damaged it: the offset of the first wrong octet from the start of the
    /// IP header. Never zero, because a damaged IP header ends the way of its packet.
    pub damaged_at: Option<NonZeroU32>,
    /// What the endpoints read.
    pub body: Body,
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
    /// Anything else: plain UDP, foreign traffic. Content may be empty in simulation.
    Other(Payload),
}

/// Application data: a length, and the bytes where somebody needs them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    len: u32,
    damaged: bool,
    content: Option<Arc<[u8]>>,
}

impl Payload {
    /// `len` octets whose content does not matter; encoded as zeros.
    pub const fn of_len(len: u32) -> Self {
        Self {
            len,
            damaged: false,
            content: None,
        }
    }

    /// These octets. Lengths beyond 2^32 - 1 cannot occur on a wire and are cut.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::shared(bytes.into())
    }

    /// As [`from_bytes`](Self::from_bytes), without a copy.
    pub fn shared(bytes: Arc<[u8]>) -> Self {
        Self {
            len: bytes.len().min(u32::MAX as usize) as u32,
            damaged: false,
            content: Some(bytes),
        }
    }

    /// The same payload with some octets damaged on the way.
    #[must_use]
    pub fn damaged(self) -> Self {
        Self {
            damaged: true,
            ..self
        }
    }

    /// True if the network damaged some of the octets.
    pub const fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Number of octets.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// True if there is no octet.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The octets without a copy, or zeros if none were given.
    pub fn into_bytes(self) -> Arc<[u8]> {
        let zeros = || vec![0; self.len as usize].into();
        self.content.unwrap_or_else(zeros)
    }

    /// The octets, if they were given.
    pub fn content(&self) -> Option<&[u8]> {
        self.content.as_deref()
    }
}
