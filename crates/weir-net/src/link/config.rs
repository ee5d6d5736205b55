//! The parameters of a link, and their changes over time.

use crate::loss::LossConfig;
use crate::netem::NetemConfig;
use crate::queue::QueueConfig;
use crate::shaper::TokenBucketConfig;
use weir_proto::packet::HostId;
use weir_proto::time::{Duration, Instant};

/// What a link is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkConfig {
    /// Its name, also of its random stream: `link/NAME/loss`.
    pub name: String,
    /// Where packets enter.
    pub from: HostId,
    /// Where packets arrive.
    pub to: HostId,
    /// Bits per second; `None` transmits in no time.
    pub rate: Option<u64>,
    /// Propagation delay.
    pub delay: Duration,
    /// The largest packet, IP header included; larger ones are dropped. `None` takes all.
    pub mtu: Option<u32>,
    /// The queue of packets that wait for their transmission.
    pub queue: QueueConfig,
    /// A token bucket that delays the start of transmissions.
    pub shaper: Option<TokenBucketConfig>,
    /// What gets lost on the wire.
    pub loss: LossConfig,
    /// What else happens on the wire.
    pub netem: NetemConfig,
    /// In place of `rate`: delivery opportunities in milliseconds; none if empty.
    pub rate_trace: Vec<u64>,
    /// What changes when, in order of time.
    pub changes: Vec<LinkChange>,
}

/// A change of a link's parameters; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkChange {
    /// When.
    pub at: Instant,
    /// Bits per second; `Some(None)` transmits in no time.
    pub rate: Option<Option<u64>>,
    /// Propagation delay.
    pub delay: Option<Duration>,
    /// The token bucket's bits per second, if there is one.
    pub shaper_rate: Option<u64>,
    /// What gets lost.
    pub loss: Option<LossConfig>,
    /// What else happens.
    pub netem: Option<NetemConfig>,
}
