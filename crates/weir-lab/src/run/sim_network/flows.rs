//! The flows of a simulated network: their endpoints with what is around them, and their
//! applications.

use super::{Hosts, SimFlow, SimNetwork, build_error, find};
use crate::run::RunError;
use crate::run::codec::Codec;
use crate::run::endpoints::{self, FlowEnvironment};
use crate::run::recorder::WriteTrace;
use crate::run::registry::{EndpointPair, TransportRegistry};
use crate::run::shim::Shimmed;
use crate::run::tap::{TapEnd, TapShim};
use crate::run::wire_encoding::WireEncoding;
use crate::scenario::{Flow, Host, Scenario, Transport};
use std::sync::Arc;
use weir_net::app::{AppEnvironment, AppPair, Delivery};
use weir_net::{FlowConfig, Side};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::HostId;
use weir_proto::quic::wire::HeaderFormat;
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// In which form packets travel between the endpoints of a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PacketEncoding {
    /// As values of their types.
    Typed,
    /// As values, encoded and decoded on the way as a check.
    RoundTrip,
    /// As octets, as a socket takes them.
    Octets,
}

/// One flow of an entry of the scenario, which may stand for several.
struct FlowPlan<'a> {
    flow: &'a Flow,
    name: String,
    start: Instant,
    access_delay: Duration,
    ends: [(HostId, &'a Host); 2],
    path_mtu: u32,
    encoding: PacketEncoding,
    registry: TransportRegistry<'a>,
}

impl SimNetwork {
    pub(super) fn add_flows(
        &mut self,
        scenario: &Scenario,
        hosts: &Hosts<'_>,
        encoding: PacketEncoding,
        registry: TransportRegistry<'_>,
    ) -> Result<(), RunError> {
        for flow in &scenario.flows {
            let ends = [find(hosts, &flow.from)?, find(hosts, &flow.to)?];
            for (name, start) in scenario.starts_of(flow) {
                self.add_flow(FlowPlan {
                    flow,
                    start: Instant::ZERO + start,
                    access_delay: scenario.access_delay_of(flow, &name),
                    name,
                    ends,
                    path_mtu: scenario.path_mtu(flow),
                    encoding,
                    registry,
                })?;
            }
        }
        Ok(())
    }

    fn add_flow(&mut self, plan: FlowPlan<'_>) -> Result<(), RunError> {
        let (flow, name) = (plan.flow, plan.name.as_str());
        let [sender, receiver] = self.endpoints(&plan)?;
        let AppPair { source, sink } = self.applications(flow, name);
        let config = FlowConfig {
            name: name.to_owned(),
            source: plan.ends[0].0,
            target: plan.ends[1].0,
            sender,
            receiver,
            app: source,
            sink,
            loss: flow.loss.clone(),
            connects: Side::Sender,
            start: plan.start,
            access_delay: plan.access_delay,
            stop: flow.stop.map(|stop| Instant::ZERO + stop),
        };
        let id = self.network.add_flow(config).map_err(build_error)?;
        self.flows.push(SimFlow {
            id,
            name: plan.name,
            start: plan.start,
            writes: match flow.transport {
                Transport::Dccp(_) => WriteTrace::On,
                _ => WriteTrace::Off,
            },
        });
        Ok(())
    }

    /// Both endpoints, in the shims of the tap and of the encoding.
    fn endpoints(&self, plan: &FlowPlan<'_>) -> Result<EndpointPair, RunError> {
        let flow = plan.flow;
        let mut rng = Rng::stream(self.seed, &format!("flow/{}/endpoints", plan.name));
        let environment = FlowEnvironment {
            hosts: plan.ends.map(|(_, host)| host),
            path_mtu: plan.path_mtu,
            seed: rng.next_u64(),
            registry: plan.registry,
        };
        let mut pair = endpoints::pair(flow, &environment).map_err(RunError::Build)?;
        if let Some(tap) = &self.tap {
            let [sender, receiver] = pair;
            let [near, far] = TapEnd::pair(flow, self.flows.len(), plan.ends);
            pair = [(sender, near), (receiver, far)].map(
                |(endpoint, end)| -> Box<dyn Endpoint + Send> {
                    let shim = TapShim::new(end, Arc::clone(tap), self.fault.clone());
                    Box::new(Shimmed::new(endpoint, shim))
                },
            );
        }
        let header = match &flow.transport {
            Transport::Quic(quic) => quic.config.header,
            _ => HeaderFormat::RFC9000,
        };
        let encoding = match (plan.encoding, &flow.transport) {
            // A UDP datagram is its payload and quinn's packets are octets from the start: there
            // is nothing to check.
            (PacketEncoding::RoundTrip, Transport::Udp(_) | Transport::Quinn(_)) => {
                PacketEncoding::Typed
            }
            (encoding, _) => encoding,
        };
        Ok(pair.map(|endpoint| -> Box<dyn Endpoint + Send> {
            match encoding {
                PacketEncoding::Typed => endpoint,
                PacketEncoding::RoundTrip => {
                    let codec = Codec::new(header, self.fault.clone());
                    Box::new(Shimmed::new(endpoint, codec))
                }
                PacketEncoding::Octets => {
                    Box::new(Shimmed::new(endpoint, WireEncoding::new(&flow.transport)))
                }
            }
        }))
    }

    /// The applications that write and read.
    fn applications(&self, flow: &Flow, name: &str) -> AppPair {
        let delivery = match flow.transport {
            Transport::Dccp(_) | Transport::Udp(_) => Delivery::Datagrams,
            Transport::Quic(_) | Transport::Quinn(_) | Transport::Tcp(_) => Delivery::Stream,
        };
        flow.app.build(AppEnvironment {
            seed: self.seed,
            flow: name,
            delivery,
        })
    }
}
