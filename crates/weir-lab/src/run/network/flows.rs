//! The flows of a simulated network: their endpoints with their shims, and their applications.

use super::codec::Codec;
use super::endpoints::{self, FlowEnvironment};
use super::registry::{EndpointPair, TransportRegistry};
use super::shim::Shimmed;
use super::tap::{TapEnd, TapShim};
use super::wire_encoding::WireEncoding;
use super::{Hosts, SimFlow, SimNetwork, build_error, find};
use crate::run::RunError;
use crate::run::record::flow_tables::WriteTrace;
use crate::scenario::{Flow, Graph, HandoverConfig, Host, Scenario, Transport};
use crate::summary::LossFinder;
use std::sync::Arc;
use weir_net::app::{AppEnvironment, AppPair, Delivery};
use weir_net::{AppConfig, FlowConfig, Handover, Side};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{FlowId, HostId};
use weir_proto::quic::wire::HeaderFormat;
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// The form of packets between the endpoints of a flow.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum PacketEncoding {
    /// Typed values.
    #[default]
    Typed,
    /// Typed values, encoded and decoded in transit as a check.
    RoundTrip,
    /// Octets, as on a socket.
    Octets,
}

/// One flow of an entry of the scenario; an entry may have several.
pub(super) struct FlowPlan<'a> {
    pub(super) flow: &'a Flow,
    pub(super) app: AppConfig,
    pub(super) stop: Option<Instant>,
    pub(super) name: String,
    pub(super) start: Instant,
    pub(super) access_delay: Duration,
    pub(super) ends: [(HostId, &'a Host); 2],
    pub(super) path_mtu: u32,
    /// Changes of the address of the end that connects.
    pub(super) handovers: Vec<Handover>,
    pub(super) encoding: PacketEncoding,
    pub(super) registry: TransportRegistry<'a>,
}

impl SimNetwork {
    pub(super) fn add_flows(
        &mut self,
        scenario: &Scenario,
        hosts: &Hosts<'_>,
        encoding: PacketEncoding,
        registry: TransportRegistry<'_>,
    ) -> Result<(), RunError> {
        let graph = Graph::of(scenario);
        for (entry, flow) in scenario.flows.iter().enumerate() {
            let ends = [find(hosts, &flow.from)?, find(hosts, &flow.to)?];
            let path_mtu = graph.mtu_both_ways(flow);
            let handover = |of: &HandoverConfig| -> Result<Handover, RunError> {
                let to = of.to.as_deref().map(|host| find(hosts, host));
                Ok(Handover {
                    at: Instant::ZERO + of.at,
                    to: to.transpose()?.map(|(id, _)| id),
                })
            };
            let handovers = flow.handovers.iter().map(handover);
            let handovers = handovers.collect::<Result<Vec<_>, _>>()?;
            for (name, start) in scenario.starts_of(flow) {
                let transfers = scenario.transfers_of(flow, &name, start);
                let plan = FlowPlan {
                    flow,
                    app: flow.app.clone(),
                    stop: flow.stop.map(|stop| Instant::ZERO + stop),
                    start: Instant::ZERO + start,
                    access_delay: scenario.access_delay_of(flow, &name),
                    name,
                    ends,
                    path_mtu,
                    handovers: handovers.clone(),
                    encoding,
                    registry,
                };
                match transfers {
                    None => self.add_flow(plan)?,
                    Some(transfers) => self.add_transfers(plan, entry, transfers)?,
                }
            }
        }
        Ok(())
    }

    fn add_flow(&mut self, plan: FlowPlan<'_>) -> Result<(), RunError> {
        let number = self.network.flow_ids().count();
        let config = self.connection(&plan, number)?;
        let client = config.connects;
        let id = self.network.add_flow(config).map_err(build_error)?;
        for handover in &plan.handovers {
            let added = self.network.add_handover(id, client, *handover);
            added.map_err(build_error)?;
        }
        self.remember(plan, id);
        Ok(())
    }

    /// Adds a flow of the network to those that are recorded and summed up.
    pub(super) fn remember(&mut self, plan: FlowPlan<'_>, id: FlowId) {
        self.flows.push(SimFlow {
            id,
            name: plan.name,
            start: plan.start,
            finder: LossFinder::of(&plan.flow.transport),
            counts_retransmissions: !matches!(plan.flow.transport, Transport::Udp(_)),
            writes: match plan.flow.transport {
                Transport::Dccp(_) => WriteTrace::On,
                _ => WriteTrace::Off,
            },
        });
    }

    /// Builds the connection of the flow with this number.
    pub(super) fn connection(
        &self,
        plan: &FlowPlan<'_>,
        number: usize,
    ) -> Result<FlowConfig, RunError> {
        let (flow, name) = (plan.flow, plan.name.as_str());
        let [sender, receiver] = self.endpoints(plan, number)?;
        let AppPair { source, sink } = self.applications(plan);
        Ok(FlowConfig {
            name: name.to_owned(),
            source: plan.ends[0].0,
            target: plan.ends[1].0,
            sender,
            receiver,
            app: source,
            sink,
            loss: flow.loss.clone(),
            connects: if flow.app.receiver_connects() {
                Side::Receiver
            } else {
                Side::Sender
            },
            start: plan.start,
            access_delay: plan.access_delay,
            dscp: plan.flow.dscp,
            stop: plan.stop,
        })
    }

    /// Both endpoints, wrapped in the shims of the tap and of the encoding.
    fn endpoints(&self, plan: &FlowPlan<'_>, number: usize) -> Result<EndpointPair, RunError> {
        let flow = plan.flow;
        let mut rng = Rng::stream(self.seed, &format!("flow/{}/endpoints", plan.name));
        let mut ends = plan.ends;
        if flow.app.receiver_connects() {
            // The first endpoint of a pair connects.
            ends.reverse();
        }
        let environment = FlowEnvironment {
            hosts: ends.map(|(_, host)| host),
            path_mtu: plan.path_mtu,
            seed: rng.next_u64(),
            registry: plan.registry,
        };
        let mut pair = endpoints::pair(flow, &environment).map_err(RunError::Build)?;
        if let Some(tap) = &self.tap {
            let [sender, receiver] = pair;
            let [near, far] = TapEnd::pair(flow, number, ends);
            pair = [(sender, near), (receiver, far)].map(
                |(endpoint, end)| -> Box<dyn Endpoint + Send> {
                    let shim = TapShim::new(end, Arc::clone(tap), self.fault.clone());
                    Box::new(Shimmed::new(endpoint, shim))
                },
            );
        }
        let header = match &flow.transport {
            Transport::Quic(quic) => quic.config.wire_format(),
            _ => HeaderFormat::RFC9000,
        };
        let encoding = match (plan.encoding, &flow.transport) {
            // UDP datagrams are payload only and the packets of quinn and noq are octets from the
            // start, so there is nothing to check.
            (
                PacketEncoding::RoundTrip,
                Transport::Udp(_) | Transport::Quinn(_) | Transport::Noq(_),
            ) => PacketEncoding::Typed,
            (encoding, _) => encoding,
        };
        if flow.app.receiver_connects() {
            pair.reverse();
        }
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
    fn applications(&self, plan: &FlowPlan<'_>) -> AppPair {
        let delivery = if plan.flow.transport.is_stream() {
            Delivery::Stream
        } else {
            Delivery::Datagrams
        };
        plan.app.build(AppEnvironment {
            seed: self.seed,
            flow: &plan.name,
            delivery,
        })
    }
}

impl LossFinder {
    /// The end that detects losses of flows with this transport.
    pub(super) const fn of(transport: &Transport) -> Self {
        match transport {
            Transport::Dccp(_) | Transport::Udp(_) => Self::Receiver,
            Transport::Quic(_)
            | Transport::Quinn(_)
            | Transport::Noq(_)
            | Transport::Rtp(_)
            | Transport::Tcp(_) => Self::Sender,
        }
    }
}
