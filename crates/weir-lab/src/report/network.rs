//! The network of a scenario as boxes and lines: what [`Topology`](super::topology::Topology)
//! draws.

use super::axis::with_unit;
use super::queues::by_load;
use super::subjects::PlotData;
use crate::natural_order;
use crate::scenario::{Direction, Flow, Scenario, Transport, Wifi};
use std::collections::{BTreeMap, BTreeSet};
use weir_net::wifi::Standard;
use weir_net::{QueueConfig, QueueLimit};
use weir_proto::rtp;
use weir_proto::settings::Variants as _;
use weir_proto::time::Duration;

/// A host, several hosts that are alike, or a medium.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NetworkNode {
    pub(super) label: String,
    /// Hops from the senders.
    pub(super) column: usize,
    /// True for an 802.11 medium.
    pub(super) is_medium: bool,
}

/// A link, or a station's way to its medium.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NetworkEdge {
    pub(super) ends: [usize; 2],
    pub(super) words: Vec<String>,
    pub(super) is_bottleneck: bool,
}

/// Boxes, lines, and a line of words for each flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NetworkPlan {
    pub(super) nodes: Vec<NetworkNode>,
    pub(super) edges: Vec<NetworkEdge>,
    pub(super) flows: Vec<String>,
}

/// Flows that have a line.
const MOST_FLOWS: usize = 8;
/// From this many equal hosts on they are one box.
const ALIKE: usize = 3;

impl NetworkPlan {
    pub(super) fn columns(&self) -> usize {
        let last = self.nodes.iter().map(|node| node.column + 1).max();
        last.unwrap_or(0)
    }

    pub(super) fn in_column(&self, column: usize) -> impl Iterator<Item = usize> {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .filter(move |(_, node)| node.column == column)
            .map(|(place, _)| place)
    }

    /// The most lines of words that a link has.
    pub(super) fn most_words(&self) -> usize {
        self.edges
            .iter()
            .map(|edge| edge.words.len())
            .max()
            .unwrap_or(0)
    }
}

/// The network of the run, its bottleneck thick; `None` if it has no hosts.
pub(super) fn plan(data: &PlotData) -> Option<NetworkPlan> {
    let scenario = &data.output.scenario;
    let bottleneck = by_load(data).first().and_then(|link| {
        let summary = data.output.summary.links.get(&link.name)?;
        Some((link.name.clone(), summary.utilisation))
    });
    let raw = raw_edges(scenario, bottleneck.as_ref());
    let names = boxes(&raw, scenario);
    let columns = columns(&names, &raw, scenario);
    let labels: BTreeSet<&String> = names.values().collect();
    if labels.is_empty() {
        return None;
    }
    let mut ordered: Vec<&String> = labels.into_iter().collect();
    ordered.sort_by(|a, b| {
        columns[*a]
            .cmp(&columns[*b])
            .then_with(|| natural_order(a, b))
    });
    let media: BTreeSet<String> = scenario.wifi.iter().map(medium).collect();
    let nodes = ordered.iter().map(|label| NetworkNode {
        label: (*label).clone(),
        column: columns[*label],
        is_medium: media.contains(*label),
    });
    let place = |host: &String| ordered.iter().position(|label| **label == names[host]);
    let mut edges: Vec<NetworkEdge> = Vec::new();
    for edge in &raw {
        let (Some(from), Some(to)) = (place(&edge.between[0]), place(&edge.between[1])) else {
            continue;
        };
        let ends = [from, to];
        let known = edges
            .iter_mut()
            .find(|known| known.ends == ends && known.words == edge.words);
        match known {
            Some(known) => known.is_bottleneck |= edge.is_bottleneck,
            None => edges.push(NetworkEdge {
                ends,
                words: edge.words.clone(),
                is_bottleneck: edge.is_bottleneck,
            }),
        }
    }
    Some(NetworkPlan {
        nodes: nodes.collect(),
        edges,
        flows: flows(scenario),
    })
}

/// A link by the names of its hosts.
struct RawEdge {
    between: [String; 2],
    words: Vec<String>,
    is_bottleneck: bool,
}

/// The box of a medium: its standard and its name.
fn medium(wifi: &Wifi) -> String {
    let standard = match wifi.phy.standard {
        Standard::B | Standard::BShort => "802.11b",
        Standard::G => "802.11g",
    };
    format!("{standard}: {}", wifi.name)
}

fn raw_edges(scenario: &Scenario, bottleneck: Option<&(String, f64)>) -> Vec<RawEdge> {
    let used = |traces: &[String]| {
        let (name, utilisation) = bottleneck?;
        traces.contains(name).then_some(*utilisation)
    };
    let wires = scenario.links.iter().map(|link| {
        let mut words = direction_words(&link.forward);
        let back = direction_words(&link.backward);
        if back != words {
            words.push(format!("other way: {}", back.join(", ")));
        }
        let used = used(&link.trace_names());
        if let Some(utilisation) = used {
            words.push(format!("bottleneck: {:.0} % used", utilisation * 100.0));
        }
        RawEdge {
            between: link.between.clone(),
            words,
            is_bottleneck: used.is_some(),
        }
    });
    let stations = scenario.wifi.iter().flat_map(|wifi| {
        wifi.stations.iter().map(move |station| {
            let mut words = vec![queue_words(&station.config.queue)];
            let used = used(&[wifi.trace_name(station)]);
            if let Some(utilisation) = used {
                words.push(format!(
                    "bottleneck: {:.0} % of the air",
                    utilisation * 100.0
                ));
            }
            RawEdge {
                between: [station.host.clone(), medium(wifi)],
                words,
                is_bottleneck: used.is_some(),
            }
        })
    });
    wires.chain(stations).collect()
}

/// Rate and delay, then the queue if something can wait.
fn direction_words(direction: &Direction) -> Vec<String> {
    let rate = match (&direction.shaper, direction.rate) {
        _ if !direction.rate_trace.millis.is_empty() => "rate by trace".to_owned(),
        (Some(bucket), _) => with_unit(bucket.rate as f64, "bit/s", 4),
        (None, Some(rate)) => with_unit(rate as f64, "bit/s", 4),
        (None, None) => "any rate".to_owned(),
    };
    let changes = if direction.changes.is_empty() {
        ""
    } else {
        ", changes"
    };
    let mut words = vec![format!("{rate}, {}{changes}", delay_words(direction))];
    let limit = match (&direction.shaper, direction.rate) {
        (Some(bucket), _) => {
            let wait = bucket.latency;
            let wait = wait.map(|latency| with_unit(latency.as_secs_f64(), "s", 4));
            let bytes = bucket
                .limit
                .map(|bytes| with_unit(bytes as f64, "bytes", 4));
            let limit = wait.or(bytes).unwrap_or_default();
            Some(format!("token bucket, {limit}"))
        }
        (None, None) if direction.rate_trace.millis.is_empty() => None,
        (None, _) => Some(queue_words(&direction.queue)),
    };
    words.extend(limit);
    words
}

/// The discipline of a queue and its limit.
fn queue_words(queue: &QueueConfig) -> String {
    let limit = match queue.limit() {
        QueueLimit::Packets(packets) => format!("{packets} packets"),
        QueueLimit::Bytes(bytes) => with_unit(bytes as f64, "bytes", 4),
    };
    format!("{}, {limit}", queue.word())
}

fn delay_words(direction: &Direction) -> String {
    let words = |delay: Duration| with_unit(delay.as_secs_f64(), "s", 4);
    let (least, most) = (direction.delay.least, direction.delay.most);
    if least == most {
        words(least)
    } else {
        format!("{} to {}", words(least), words(most))
    }
}

/// The box of each host: its own name, or that of all hosts which have the same links and no name
/// in common with flows of another kind.
fn boxes(raw: &[RawEdge], scenario: &Scenario) -> BTreeMap<String, String> {
    let hosts: BTreeSet<&String> = raw.iter().flat_map(|edge| &edge.between).collect();
    let mut alike: BTreeMap<(Vec<String>, bool, bool), Vec<&String>> = BTreeMap::new();
    for host in hosts {
        let mut links: Vec<String> = raw
            .iter()
            .filter_map(|edge| {
                let side = edge.between.iter().position(|end| end == host)?;
                let other = &edge.between[1 - side];
                Some(format!("{side} {other} {}", edge.words.join("\n")))
            })
            .collect();
        links.sort();
        let sends = scenario.flows.iter().any(|flow| flow.from == *host);
        let receives = scenario.flows.iter().any(|flow| flow.to == *host);
        alike
            .entry((links, sends, receives))
            .or_default()
            .push(host);
    }
    let mut boxes = BTreeMap::new();
    for mut hosts in alike.into_values() {
        hosts.sort_by(|a, b| natural_order(a, b));
        let together = match hosts.as_slice() {
            [first, .., last] if hosts.len() >= ALIKE => {
                Some(format!("{first} … {last} ({} hosts)", hosts.len()))
            }
            _ => None,
        };
        for host in hosts {
            let name = together.clone().unwrap_or_else(|| host.clone());
            boxes.insert(host.clone(), name);
        }
    }
    boxes
}

/// The column of each box: its hops from the hosts that only send.
fn columns(
    names: &BTreeMap<String, String>,
    raw: &[RawEdge],
    scenario: &Scenario,
) -> BTreeMap<String, usize> {
    let senders: BTreeSet<&String> = scenario.flows.iter().map(|flow| &flow.from).collect();
    let receivers: BTreeSet<&String> = scenario.flows.iter().map(|flow| &flow.to).collect();
    let mut front: Vec<&String> = senders.difference(&receivers).copied().collect();
    if front.is_empty() {
        let first = scenario.flows.first().map(|flow| &flow.from);
        front = first.or(names.keys().next()).into_iter().collect();
    }
    let mut columns: BTreeMap<String, usize> = BTreeMap::new();
    let mut column = 0;
    while !front.is_empty() {
        let mut next = Vec::new();
        for host in front {
            let Some(label) = names.get(host) else {
                continue;
            };
            columns.entry(label.clone()).or_insert(column);
            for edge in raw.iter().filter(|edge| edge.between.contains(host)) {
                let beyond = edge.between.iter().filter(|end| {
                    let label = names.get(*end);
                    label.is_some_and(|label| !columns.contains_key(label))
                });
                next.extend(beyond);
            }
        }
        next.sort();
        next.dedup();
        front = next;
        column += 1;
    }
    for label in names.values() {
        columns.entry(label.clone()).or_insert(column);
    }
    columns
}

/// A line for each flow, and how many more there are.
fn flows(scenario: &Scenario) -> Vec<String> {
    let mut flows: Vec<&Flow> = scenario.flows.iter().collect();
    flows.sort_by(|a, b| natural_order(&a.name, &b.name));
    let line = |flow: &&Flow| {
        let count = if flow.count > 1 {
            format!(" ({} flows)", flow.count)
        } else {
            String::new()
        };
        let (name, from, to) = (&flow.name, &flow.from, &flow.to);
        format!(
            "{name}{count}: {from} to {to}, {}",
            transport_words(&flow.transport)
        )
    };
    let mut lines: Vec<String> = flows.iter().take(MOST_FLOWS).map(line).collect();
    if flows.len() > MOST_FLOWS {
        lines.push(format!("and {} more flows", flows.len() - MOST_FLOWS));
    }
    lines
}

/// The transport and its controller: `TCP cubic`.
pub(super) fn transport_words(transport: &Transport) -> String {
    match transport {
        Transport::Dccp(dccp) => format!("DCCP CCID {}", dccp.ccid),
        Transport::Quic(quic) => format!("QUIC {}", quic.config.controller.name),
        Transport::Quinn(quinn) => format!("quinn {}", quinn.controller),
        Transport::Rtp(rtp) => match rtp.controller {
            rtp::Controller::Nada => "RTP NADA".to_owned(),
            rtp::Controller::Uncontrolled => "RTP".to_owned(),
        },
        Transport::Tcp(tcp) => format!("TCP {}", tcp.controller.name),
        Transport::Udp(_) => "UDP".to_owned(),
    }
}
