//! The two ends of a flow, made from what its scenario says.

use super::RunError;
use crate::scenario::{Flow, Host, Transport};
use weir_proto::node::Endpoint;
use weir_proto::quic;

/// Sender and receiver.
pub(super) type Pair = [Box<dyn Endpoint + Send>; 2];

/// Makes the endpoints of one flow; the sender connects. `path_mtu` counts from the IP header on.
pub(super) fn pair(flow: &Flow, _hosts: [&Host; 2], path_mtu: u32) -> Result<Pair, RunError> {
    match &flow.transport {
        Transport::Dccp(_) => Err(RunError::Build("DCCP connections are missing".into())),
        Transport::Quic(quic) => {
            let config = quic.config(path_mtu);
            Ok([
                Box::new(quic::Connection::client(config.clone())),
                Box::new(quic::Connection::server(config)),
            ])
        }
    }
}
