//! Transports, clock and memory readings that the caller provides.
//!
//! This crate contains no real network stack and no clock, so that it builds for WebAssembly. The
//! caller of a run may register them, and the scenario refers to them by name.

use crate::run::ProcessWatch;
use crate::scenario::Foreign;
use weir_proto::endpoint::Endpoint;

/// Sender and receiver of a flow; the sender connects.
pub type EndpointPair = [Box<dyn Endpoint + Send>; 2];

/// A flow of a QUIC implementation of others.
#[derive(Clone, Copy, Debug)]
pub struct ForeignFlow<'a> {
    /// The stack and the scenario's settings.
    pub transport: Foreign<'a>,
    /// The largest UDP payload in octets.
    pub datagram_size: u32,
    /// The flow's own seed; the same seed must give the same run.
    pub seed: u64,
}

/// Builds both ends of a flow, or returns the reason why it cannot.
pub type ForeignFactory<'a> = dyn Fn(&ForeignFlow<'_>) -> Result<EndpointPair, String> + Sync + 'a;

/// The transports that a caller provides, and the supervision of the time and memory of runs.
#[derive(Clone, Copy, Default)]
pub struct TransportRegistry<'a> {
    /// The QUIC implementations of others: `kind = "quinn"` and `kind = "noq"`.
    pub foreign: Option<&'a ForeignFactory<'a>>,
    /// The supervision of `max_time` and `max_memory` of `[run]`.
    pub process: ProcessWatch,
}

impl TransportRegistry<'_> {
    pub(in crate::run) fn foreign(&self, flow: &ForeignFlow<'_>) -> Result<EndpointPair, String> {
        let Some(make) = self.foreign else {
            let name = flow.transport.stack.name();
            return Err(format!(
                "this build has no {name}: transport = {{ kind = \"{name}\" }} cannot be run"
            ));
        };
        make(flow)
    }
}
