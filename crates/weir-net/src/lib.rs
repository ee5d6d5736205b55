//! The simulated world of Weir: links, queues, loss, hosts, applications and the event loop.
//!
//! Packets come from and go to the machines of `weir-proto`; everything between two endpoints is
//! here. A [`Network`] holds the nodes, [`simulate`] moves time. Nothing here knows a clock, a
//! file, a socket or a thread: the same network and seed give the same events, on every platform.
//!
//! Read [`simulator`] first: one screen that moves every packet. A node (a link, or an endpoint
//! with its application) has one entry in the event queue, however many packets it holds.
#![forbid(unsafe_code)]

mod agent;
pub mod app;
pub mod bench;
pub mod event_queue;
pub mod host_timing;
pub mod link;
pub mod loss;
pub mod netem;
pub mod network;
mod packet_pool;
mod port;
pub mod queue;
mod rate_trace;
mod routing;
pub mod shaper;
pub mod simulator;
pub mod wifi;

pub use agent::AgentCounters;
pub use app::{App, AppConfig, AppReport, AppStatistics};
pub use host_timing::{HostTiming, SendTimestamp};
pub use link::{LinkChange, LinkConfig, LinkCounters};
pub use loss::LossConfig;
pub use netem::NetemConfig;
pub use network::{
    FlowConfig, FlowCounters, LinkId, MediumId, Network, NetworkError, Side, SourceKind,
};
pub use queue::{DropTailConfig, QueueConfig, QueueLimit};
pub use rate_trace::OCTETS as OCTETS_PER_OPPORTUNITY;
pub use simulator::{RunCounters, Stuck, inject, simulate};
