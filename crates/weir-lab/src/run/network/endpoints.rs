//! Builds the two endpoints of a flow from its scenario.

use super::handshake::SlowHandshake;
use super::registry::{EndpointPair, ForeignFlow, TransportRegistry};
use super::shim::Shimmed;
use crate::scenario::{Flow, Foreign, Host, Transport};
use weir_proto::endpoint::Endpoint;
use weir_proto::{dccp, quic, rtp, tcp, udp};

/// The inputs of a flow's endpoints other than its settings.
pub(in crate::run) struct FlowEnvironment<'a> {
    /// The hosts of the sender and the receiver.
    pub hosts: [&'a Host; 2],
    /// The maximum packet size in octets, including the IP header.
    pub path_mtu: u32,
    /// The seed of the flow.
    pub seed: u64,
    /// Transports that the caller provides.
    pub registry: TransportRegistry<'a>,
}

impl FlowEnvironment<'_> {
    /// The endpoints of a stack of others, which the caller provides.
    fn foreign(&self, transport: Foreign<'_>) -> Result<EndpointPair, String> {
        self.registry.foreign(&ForeignFlow {
            transport,
            datagram_size: transport.settings.datagram_size(self.path_mtu),
            seed: self.seed,
        })
    }
}

/// Builds the endpoints of one flow; the sender connects.
///
/// # Errors
/// If a transport of the caller cannot be built.
pub(in crate::run) fn pair(
    flow: &Flow,
    around: &FlowEnvironment<'_>,
) -> Result<EndpointPair, String> {
    let (hosts, path_mtu, seed) = (around.hosts, around.path_mtu, around.seed);
    let [sender, receiver]: EndpointPair = match &flow.transport {
        Transport::Dccp(dccp) => {
            let config = dccp.config(path_mtu, seed);
            [
                Box::new(dccp::Connection::client(config.clone())),
                Box::new(dccp::Connection::server(config)),
            ]
        }
        Transport::Tcp(tcp) => {
            let (config, controller) = tcp.config(path_mtu, seed);
            let [near, far] = [(); 2].map(|()| controller());
            [
                Box::new(tcp::Connection::client(config, near)),
                Box::new(tcp::Connection::server(config, far)),
            ]
        }
        Transport::Rtp(rtp) => {
            let config = rtp::Config {
                mtu: path_mtu,
                seed,
                ..(**rtp).clone()
            };
            [(); 2].map(|()| -> Box<dyn Endpoint + Send> {
                Box::new(rtp::Session::new(config.clone()))
            })
        }
        Transport::Udp(udp) => {
            let config = udp::Config {
                mtu: path_mtu,
                ..*udp
            };
            [(); 2].map(|()| -> Box<dyn Endpoint + Send> { Box::new(udp::Socket::new(config)) })
        }
        Transport::Quic(quic) => {
            let config = quic::Config {
                mtu: path_mtu,
                seed,
                ..quic.config.clone()
            };
            [
                Box::new(quic::Connection::client(config.clone())),
                Box::new(quic::Connection::server(config)),
            ]
        }
        Transport::Quinn(quinn) => around.foreign((&**quinn).into())?,
        Transport::Noq(noq) => around.foreign((&**noq).into())?,
    };
    Ok([slowed(sender, hosts[0]), slowed(receiver, hosts[1])])
}

/// Wraps the endpoint with the handshake delay of its host.
fn slowed(endpoint: Box<dyn Endpoint + Send>, host: &Host) -> Box<dyn Endpoint + Send> {
    if host.handshake_delay.is_zero() {
        return endpoint;
    }
    Box::new(Shimmed::new(
        endpoint,
        SlowHandshake::new(host.handshake_delay),
    ))
}
