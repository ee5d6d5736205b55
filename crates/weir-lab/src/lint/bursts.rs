//! Bursts of losses counted in packets, of which a sender in back-off sends few.
//!
//! The chain of a `gilbert` loss advances with each packet. A sender whose timer has expired sends
//! one packet for each timeout (RFC 6298 §5.5, RFC 9002 §6.2.1), so that a burst continues with q =
//! (1 - `to_good`)·`loss_in_bad` from one of these packets to the next, while timeouts double: six
//! of them take 1 + 2 + … + 32 = 63 times the first. If more than a tenth of the bursts met by a
//! timeout outlast six of them, q⁶ > 0.1, long silences are an artefact of the model and not a
//! property of the path. Packets of other flows on the link advance the chain too: n connections
//! take q⁶ⁿ, and a sender without back-off or arriving transfers end a burst at once.

use super::Finding;
use super::view::{Control, FlowView, View};
use crate::scenario::{Direction, Graph, Transport};
use std::collections::BTreeMap;
use weir_net::LossConfig;
use weir_net::loss::GilbertLossConfig;

/// Timeouts that a burst has to outlast.
const TIMEOUTS: f64 = 6.0;
/// The share of bursts above which the rule reports them.
const SHARE: f64 = 0.1;

/// The senders over a direction of a link.
struct Senders<'a> {
    link: &'a str,
    direction: &'a Direction,
    /// The number of connections that back off.
    connections: u32,
    /// Whether some sender does not back off.
    others: bool,
}

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let graph = Graph::of(view.scenario);
    let mut hops: BTreeMap<usize, Senders<'_>> = BTreeMap::new();
    let mut findings = Vec::new();
    for flow in &view.flows {
        let [from, to] = [&*flow.flow.from, &*flow.flow.to];
        for (near, far) in [(from, to), (to, from)] {
            for hop in graph.path(near, far).unwrap_or_default() {
                let Some((link, direction)) = hop.link().zip(hop.direction()) else {
                    continue;
                };
                let senders = hops.entry(hop.number).or_insert(Senders {
                    link: &link.name,
                    direction,
                    connections: 0,
                    others: false,
                });
                senders.connections += flow.flow.count;
                senders.others |= !backs_off(flow);
            }
        }
        // Only the flow's own packets pass the loss model at its socket.
        if backs_off(flow) {
            let path = format!("flow.{}.loss", flow.flow.name);
            findings.extend(outlasting([&flow.flow.loss].into_iter(), 1, &path));
        }
    }
    for senders in hops.into_values().filter(|senders| !senders.others) {
        let changes = senders.direction.changes.iter();
        let later = changes.filter_map(|change| change.loss.as_ref());
        let losses = [&senders.direction.loss].into_iter().chain(later);
        let path = format!("link.{}.loss", senders.link);
        findings.extend(outlasting(losses, senders.connections, &path));
    }
    // Both directions of a link usually have the same settings.
    findings.dedup();
    findings
}

/// True if the sender reduces its rate further and further without acknowledgements.
fn backs_off(flow: &FlowView<'_>) -> bool {
    let transport = &flow.flow.transport;
    let repeats = !matches!(transport, Transport::Udp(_)) && transport.media().is_none();
    repeats && flow.control != Control::None && flow.flow.is_one_connection()
}

/// The first of these models whose bursts outlast the timeouts of this many connections.
fn outlasting<'a>(
    losses: impl Iterator<Item = &'a LossConfig>,
    connections: u32,
    path: &str,
) -> Option<Finding> {
    let mut bursts = losses.filter_map(|loss| match loss {
        LossConfig::Gilbert(config) if config.to_bad.get() > 0.0 => Some(config),
        _ => None,
    });
    let outlasts = |config: &&GilbertLossConfig| {
        let goes_on = (1.0 - config.to_good.get()) * config.loss_in_bad.get();
        goes_on.powf(TIMEOUTS * f64::from(connections)) > SHARE
    };
    let config = bursts.find(outlasts)?;
    let packets = match config.to_good.get() {
        0.0 => "without end".to_owned(),
        to_good => format!("of {:.1} packets", 1.0 / to_good),
    };
    let message = format!(
        "bursts {packets} step with packets, and a sender in back-off sends one a timeout: a burst \
         can last minutes"
    );
    let help = "write kind = \"gilbert_time\" with mean_good and mean_bad, if bursts last a time";
    Some(Finding::new("bursts", path, message, help))
}
