//! Where the links of a scenario lie when each is built apart, between ports.

use weir_net::shaper::TokenBucketConfig;
use weir_proto::packet::HostId;

/// A link or medium, from the point of view of the hosts that it joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSegment {
    /// Its ends: two of a link, one for each station of a medium.
    pub ends: Vec<SegmentEnd>,
    /// Largest packet in octets, IP header included.
    pub mtu: u32,
    /// It does nothing to packets but what the shapers at its ends do: a kernel can stand for it.
    pub plain: bool,
}

/// One end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentEnd {
    /// The host of the scenario, by its place there.
    pub host: usize,
    /// The host that stands for this end in the run of [`Scope::Links`](super::Scope::Links).
    pub port: HostId,
    /// The token bucket that what leaves here passes first, and is not part of the run: a kernel
    /// has it.
    pub shaper: Option<SegmentShaper>,
}

/// A token bucket filter, as `tc` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentShaper {
    /// Rate, burst, peak rate.
    pub bucket: TokenBucketConfig,
    /// Octets that may wait.
    pub limit: u64,
}
