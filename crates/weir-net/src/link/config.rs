//! The parameters of a link, and their changes over time.

use crate::ack_thinning::AckThinningConfig;
use crate::class_delay::ClassDelayConfig;
use crate::ecn_faults::EcnFaultsConfig;
use crate::loss::LossConfig;
use crate::netem::NetemConfig;
use crate::outage::OutageConfig;
use crate::policer::PolicerConfig;
use crate::queue::{DropTailConfig, QueueConfig, QueueLimit};
use crate::shaper::TokenBucketConfig;
use std::sync::Arc;
use weir_proto::packet::HostId;
use weir_proto::settings::{Keyword, bit_rate, natural, or_kind, or_table, or_word};
use weir_proto::time::{Duration, Instant};

/// One direction of a wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkConfig {
    /// Its name, also of its random stream: `link/NAME/loss`.
    pub name: String,
    /// The name of the wire of which it is a direction, if it differs: used for the random streams
    /// that both directions share, `link/WIRE/outage/0`.
    pub wire: Option<String>,
    /// Where packets enter.
    pub from: HostId,
    /// Where packets arrive.
    pub to: HostId,
    /// Bits per second; `None` for a transmission time of zero.
    pub rate: Option<u64>,
    /// Propagation delay.
    pub delay: Duration,
    /// The largest packet, IP header included; larger ones are dropped. `None` takes all.
    pub mtu: Option<u32>,
    /// The queue of packets that wait for transmission; a shaper's own limit replaces it.
    pub queue: QueueConfig,
    /// A token bucket that delays the start of transmissions.
    pub shaper: Option<TokenBucketConfig>,
    /// A token bucket that drops packets above its rate, before the queue.
    pub policer: Option<PolicerConfig>,
    /// Thinning of acknowledgements, before the queue.
    pub ack_thinning: Option<AckThinningConfig>,
    /// The loss model of the wire.
    pub loss: LossConfig,
    /// The other impairments of the wire.
    pub netem: NetemConfig,
    /// Periods in which all packets are lost.
    pub outages: Vec<OutageConfig>,
    /// The ECN faults of the wire.
    pub ecn_faults: EcnFaultsConfig,
    /// Additional delays of classes of packets.
    pub class_delays: Vec<ClassDelayConfig>,
    /// In place of `rate`: delivery opportunities in milliseconds; none if empty.
    pub rate_trace: Arc<[u64]>,
    /// Scheduled changes, in order of time.
    pub changes: Vec<LinkChange>,
}

impl LinkConfig {
    /// The name of the wire.
    pub(super) fn wire(&self) -> &str {
        self.wire.as_ref().unwrap_or(&self.name)
    }

    /// True without outages, faults with ECN and delays by class.
    pub(super) fn is_faultless(&self) -> bool {
        self.outages.is_empty() && self.ecn_faults.is_none() && self.class_delays.is_empty()
    }

    /// The queue in front of the transmitter: that of the shaper, if it has a limit.
    pub(super) fn queue(&self) -> QueueConfig {
        let limit = self.shaper.and_then(|shaper| shaper.queue_limit());
        limit.map_or_else(
            || self.queue.clone(),
            |octets| {
                let limit = QueueLimit::Bytes(octets);
                DropTailConfig { limit }.into()
            },
        )
    }
}

weir_proto::settings! {
    /// A change of a link's parameters; a key that is left out keeps its value.
    #[derive(Clone, Debug, PartialEq)]
    pub struct LinkChange {
        /// When it changes; what is on the wire keeps its arrival.
        pub at: Duration [required],
        /// Bits per second from then on.
        pub rate: Option<Option<u64>> => or_word("same", or_word("unlimited", bit_rate())),
        /// Propagation delay from then on.
        pub delay: Option<Duration> => or_word("same", natural()),
        /// The shaper's bits per second from then on.
        pub shaper_rate: Option<u64> => or_word("same", bit_rate()),
        /// What gets lost from then on; "same" as before.
        pub loss: Option<LossConfig> => or_kind("same", "As before."),
        /// What else happens from then on; "same" as before.
        pub netem: Option<NetemConfig> => or_table(
            Keyword { word: "same", doc: "As before." },
            Keyword { word: "netem", doc: "These impairments and no others." },
        ),
    }
}

impl LinkChange {
    /// When it changes, counted from the start of the run.
    pub(super) fn time(&self) -> Instant {
        Instant::ZERO + self.at
    }
}
