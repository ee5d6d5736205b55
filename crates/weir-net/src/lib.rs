//! The simulated world of Weir: links, queues, loss, hosts, applications and the event loop.
//!
//! Packets come from and go to the machines of `weir-proto`; everything between two endpoints is
//! here. A [`Topology`] holds the nodes, [`simulate`] moves time. Nothing here knows a clock, a
//! file, a socket or a thread: the same topology and seed give the same events, on every platform.
//!
//! Read [`simulator`] first: one screen that moves every packet. A node (a link, or an endpoint
//! with its application) has one entry in the event queue, however many packets it holds.
#![forbid(unsafe_code)]

mod agent;
pub mod app;
pub mod bench;
pub mod event_queue;
pub mod link;
pub mod loss;
pub mod netem;
mod opportunity;
mod parcel;
pub mod port;
pub mod queue;
mod routing;
pub mod shaper;
pub mod simulator;
pub mod stack;
pub mod topology;
pub mod wifi;

pub use agent::AgentCounters;
pub use app::{App, AppStatistics};
pub use link::{LinkChange, LinkConfig, LinkCounters};
pub use loss::LossConfig;
pub use netem::NetemConfig;
pub use opportunity::OCTETS as OCTETS_PER_OPPORTUNITY;
pub use port::inject;
pub use queue::{Limit, QueueConfig};
pub use simulator::{RunCounters, Stuck, simulate};
pub use stack::{Stack, Stamp};
pub use topology::{
    FlowConfig, FlowCounters, LinkId, MediumId, Side, SourceKind, Topology, TopologyError,
};
