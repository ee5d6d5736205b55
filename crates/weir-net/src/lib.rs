//! The network path on which a congestion controller is tested: links with rate, delay, queue and
//! loss, 802.11 media, hosts and applications, and the event loop that moves packets over them.
//!
//! The endpoints of `weir-proto` send and receive the packets; this crate models everything between
//! two endpoints. A [`Network`] holds hosts, links and flows, and [`simulate`] advances time. The
//! crate uses no clock, file, socket or thread: the same network and seed give the same events on
//! every platform.
//!
//! Start with [`simulator`], the loop that moves every packet. A link, a medium or an endpoint with
//! its application has one entry in the event queue, however many packets it holds.
//!
//! Three registries hold the models that a scenario selects by `kind`: [`queue`], [`loss`] and
//! [`app`]. Each entry is one file that declares its configuration and implements its behaviour.
#![forbid(unsafe_code)]

mod ack_facts;
pub mod ack_thinning;
mod agent;
pub mod app;
pub mod bench;
pub mod class_delay;
mod delay_meter;
pub mod ecn_faults;
pub mod event_queue;
mod handover;
pub mod histogram;
pub mod host_timing;
mod interface;
pub mod link;
pub mod loss;
pub mod netem;
pub mod network;
pub mod outage;
mod packet_pool;
pub mod policer;
mod port;
pub mod queue;
mod rate_trace;
mod routing;
pub mod shaper;
pub mod simulator;
mod stage_events;
pub mod wifi;

pub use agent::AgentCounters;
pub use app::{App, AppConfig, AppReport, AppStatistics, TunnelEnd, TunnelEndConfig};
pub use delay_meter::{DelayMeter, DelayStatistics, IntervalDelays};
pub use handover::Handover;
pub use host_timing::{HostTiming, SendTimestamp};
pub use link::{LinkChange, LinkConfig, LinkCounters};
pub use loss::LossConfig;
pub use netem::NetemConfig;
pub use network::{
    FlowConfig, FlowCounters, LinkId, MediumId, Network, NetworkError, Side, SourceKind, TunnelId,
};
pub use queue::{DropTailConfig, QueueConfig, QueueLimit};
pub use rate_trace::OCTETS as OCTETS_PER_OPPORTUNITY;
pub use simulator::{Horizon, RunCounters, Stuck, inject, simulate, simulate_to};
