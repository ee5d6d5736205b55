//! Seeds that have no effect.

use super::{Finding, View};
use crate::scenario::{Direction, Flow, Graph, Scenario, Transport};
use weir_net::outage::OutageConfig;
use weir_net::{LossConfig, NetemConfig};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    if draws_random_numbers(view.scenario) {
        return Vec::new();
    }
    vec![Finding::new(
        "seeds",
        "run.seed",
        "no setting draws a random number, so each seed gives the same run".to_owned(),
        "draw what varies in reality: start = \"0s..1s\" of flows, [[host]] jitter = \
         \"0s..100us\", a random loss",
    )]
}

/// True if a setting of the scenario draws random numbers that affect its run: a setting of a flow,
/// of a host at an end of a flow, or of a link or medium on the path of a flow.
pub fn draws_random_numbers(scenario: &Scenario) -> bool {
    if scenario.flows.is_empty() {
        // In an emulated network, packets from outside may take any path.
        let links = scenario.links.iter();
        let mut directions = links.flat_map(|link| [&link.forward, &link.backward]);
        return !scenario.wifi.is_empty() || directions.any(direction_draws);
    }
    let graph = Graph::of(scenario);
    scenario.flows.iter().any(|flow| {
        let ends = [flow.from.as_str(), flow.to.as_str()];
        let [from, to] = ends;
        let ways = [graph.path(from, to), graph.path(to, from)];
        let mut hops = ways.iter().flatten().flatten();
        let mut hosts = scenario.hosts.iter();
        flow_draws(flow)
            || hosts.any(|host| ends.contains(&&*host.name) && host.timing.jitter.is_random())
            // Stations of 802.11 draw their backoff.
            || hops.any(|hop| hop.direction().is_none_or(direction_draws))
    })
}

fn flow_draws(flow: &Flow) -> bool {
    // quinn and noq draw their connection IDs and RTP its first sequence number, which affect
    // neither sizes nor times.
    let transport = match &flow.transport {
        Transport::Dccp(_)
        | Transport::Quic(_)
        | Transport::Quinn(_)
        | Transport::Noq(_)
        | Transport::Rtp(_)
        | Transport::Tcp(_)
        | Transport::Udp(_) => false,
    };
    transport
        || flow.arrivals.is_random()
        || flow.start.is_random()
        || flow.access_delay.is_random()
        || flow.loss.is_random()
        || flow.app.is_random()
}

fn direction_draws(direction: &Direction) -> bool {
    let changes = direction.changes.iter();
    let mut changes = changes.map(|change| {
        change.loss.as_ref().is_some_and(LossConfig::is_random)
            || change.netem.as_ref().is_some_and(netem_draws)
    });
    direction.delay.is_random()
        || direction.loss.is_random()
        || netem_draws(&direction.netem)
        || direction.ecn_faults.is_random()
        || direction.outages.iter().any(OutageConfig::is_random)
        || direction.queue.is_random()
        || changes.any(|draws| draws)
}

fn netem_draws(netem: &NetemConfig) -> bool {
    !netem.is_none()
}
