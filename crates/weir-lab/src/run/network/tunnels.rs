//! The tunnels of a simulated network.

use super::flows::{FlowPlan, PacketEncoding};
use super::registry::TransportRegistry;
use super::{Hosts, SimNetwork, TracedLink, build_error, find};
use crate::run::RunError;
use crate::scenario::{Graph, Scenario, TunnelMode};
use weir_net::{Side, TunnelEndConfig};
use weir_proto::time::{Duration, Instant};

impl SimNetwork {
    /// Adds the tunnels behind the flows. The outer connection of each is recorded like a flow, and
    /// the queues at its ends like links.
    pub(super) fn add_tunnels(
        &mut self,
        scenario: &Scenario,
        hosts: &Hosts<'_>,
        encoding: PacketEncoding,
        registry: TransportRegistry<'_>,
    ) -> Result<(), RunError> {
        let graph = Graph::of(scenario);
        for tunnel in &scenario.tunnels {
            let [first, second] = &tunnel.between;
            let path_mtu = graph.outer_mtu(tunnel).unwrap_or(0);
            let flow = tunnel.outer_flow();
            let plan = FlowPlan {
                flow: &flow,
                app: flow.app.clone(),
                stop: None,
                start: Instant::ZERO,
                access_delay: Duration::ZERO,
                name: tunnel.name.clone(),
                ends: [find(hosts, first)?, find(hosts, second)?],
                path_mtu,
                handovers: Vec::new(),
                // The number in a datagram, by which its packet is found, takes no octets.
                encoding: match tunnel.mode {
                    TunnelMode::Datagram => PacketEncoding::Typed,
                    TunnelMode::Stream => encoding,
                },
                registry,
            };
            let number = self.network.flow_ids().count();
            let outer = self.connection(&plan, number)?;
            let ends = TunnelEndConfig {
                delivery: tunnel.delivery(),
                mtu: tunnel.inner_mtu(path_mtu),
                overhead: tunnel.overhead,
                queue: tunnel.queue.clone(),
            };
            let id = (self.network.add_tunnel(outer, &ends)).map_err(build_error)?;
            self.remember(plan, self.network.flow_of_tunnel(id));
            let names = tunnel.trace_names().into_iter();
            let sides = [Side::Sender, Side::Receiver].map(|side| TracedLink::Tunnel(id, side));
            self.links.extend(names.zip(sides));
        }
        Ok(())
    }
}
