//! Transports, clock and memory readings that the caller provides.
//!
//! This crate contains no real network stack and no clock, so that it builds for WebAssembly. The
//! caller of a run may register them, and the scenario refers to them by name.

use crate::run::ProcessWatch;
use crate::scenario::Quinn;
use weir_proto::endpoint::Endpoint;

/// Sender and receiver of a flow; the sender connects.
pub type EndpointPair = [Box<dyn Endpoint + Send>; 2];

/// The settings of a quinn flow.
#[derive(Clone, Copy, Debug)]
pub struct QuinnFlow<'a> {
    /// The scenario's settings.
    pub settings: &'a Quinn,
    /// The largest UDP payload in octets.
    pub datagram_size: u32,
    /// The flow's own seed; the same seed must give the same run.
    pub seed: u64,
}

/// Builds both ends of a flow, or returns the reason why it cannot.
pub type QuinnFactory<'a> = dyn Fn(&QuinnFlow<'_>) -> Result<EndpointPair, String> + Sync + 'a;

/// The transports that a caller provides, and the supervision of the time and memory of runs.
#[derive(Clone, Copy, Default)]
pub struct TransportRegistry<'a> {
    /// `kind = "quinn"`.
    pub quinn: Option<&'a QuinnFactory<'a>>,
    /// The supervision of `max_time` and `max_memory` of `[run]`.
    pub process: ProcessWatch,
}

impl TransportRegistry<'_> {
    pub(in crate::run) fn quinn(&self, flow: &QuinnFlow<'_>) -> Result<EndpointPair, String> {
        let make = self
            .quinn
            .ok_or("this build has no quinn: transport = { kind = \"quinn\" } cannot be run")?;
        make(flow)
    }
}
