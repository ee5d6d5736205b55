//! The two ends of a flow, made from what its scenario says.

use super::RunError;
use crate::scenario::{Flow, Host, Scenario, Transport};
use weir_proto::node::Endpoint;

/// Sender and receiver.
pub(super) type Pair = [Box<dyn Endpoint + Send>; 2];

/// Makes the endpoints of one flow; the sender connects.
pub(super) fn pair(
    _scenario: &Scenario,
    flow: &Flow,
    _name: &str,
    _hosts: [&Host; 2],
) -> Result<Pair, RunError> {
    match &flow.transport {
        Transport::Dccp(_) => Err(RunError::Build("no dccp".into())),
        Transport::Quic(_) => Err(RunError::Build("no quic".into())),
    }
}
