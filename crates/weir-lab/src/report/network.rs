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
use weir_proto::settings::Variants as _;
use weir_proto::time::Duration;

/// A host, several equivalent hosts, or a medium.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NetworkNode {
    pub(super) label: String,
    /// The distance from the senders in hops.
    pub(super) column: usize,
    /// True for an 802.11 medium.
    pub(super) is_medium: bool,
}

/// A link, or the connection of a station to its medium.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NetworkEdge {
    pub(super) ends: [usize; 2],
    pub(super) words: Vec<String>,
    pub(super) is_bottleneck: bool,
}

/// Boxes, lines, and a line of text for each flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NetworkPlan {
    pub(super) nodes: Vec<NetworkNode>,
    pub(super) edges: Vec<NetworkEdge>,
    pub(super) flows: Vec<String>,
    /// The number of hosts and media that are not drawn.
    pub(super) left_out: usize,
}

/// The maximum number of boxes.
const MOST_NODES: usize = 24;

/// The number of flows that are listed.
const MOST_FLOWS: usize = 8;
/// The minimum number of equivalent hosts that are drawn as one box.
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

    /// At most this many boxes: those with the fewest hops from the bottleneck, or from the first
    /// box if there is no bottleneck.
    fn nearest(self, most: usize) -> Self {
        if self.nodes.len() <= most {
            return self;
        }
        let bottleneck = self.edges.iter().find(|edge| edge.is_bottleneck);
        let mut order = bottleneck.map_or_else(|| vec![0], |edge| edge.ends.to_vec());
        let mut next = 0;
        while let Some(&place) = order.get(next) {
            next += 1;
            let of_place = self.edges.iter().filter(|edge| edge.ends.contains(&place));
            for end in of_place.flat_map(|edge| edge.ends) {
                if !order.contains(&end) && order.len() < most {
                    order.push(end);
                }
            }
        }
        // The original order, with empty columns removed.
        order.sort_unstable();
        let columns: BTreeSet<usize> = order.iter().map(|&at| self.nodes[at].column).collect();
        let column = |of: usize| columns.iter().take_while(|column| **column < of).count();
        let nodes = order.iter().map(|&place| NetworkNode {
            column: column(self.nodes[place].column),
            ..self.nodes[place].clone()
        });
        let place = |end: usize| order.iter().position(|&kept| kept == end);
        let edges = self.edges.iter().filter_map(|edge| {
            let ends = [place(edge.ends[0])?, place(edge.ends[1])?];
            Some(NetworkEdge {
                ends,
                ..edge.clone()
            })
        });
        Self {
            nodes: nodes.collect(),
            edges: edges.collect(),
            left_out: self.nodes.len() - order.len(),
            flows: self.flows,
        }
    }

    /// The maximum number of text lines at a link.
    pub(super) fn most_words(&self) -> usize {
        self.edges
            .iter()
            .map(|edge| edge.words.len())
            .max()
            .unwrap_or(0)
    }
}

/// The network of the run, with a thick line at its bottleneck; `None` if it has no hosts.
pub(super) fn plan(data: &PlotData) -> Option<NetworkPlan> {
    let scenario = &data.output.scenario;
    let bottleneck = by_load(data).first().and_then(|link| {
        let summary = data.output.summary.links.get(&link.name)?;
        Some((link.name.clone(), summary.utilisation))
    });
    let raw = raw_edges(scenario, bottleneck.as_ref());
    let mut names = boxes(&raw, scenario, &same_links(&raw));
    if names.values().collect::<BTreeSet<_>>().len() > MOST_NODES {
        names = boxes(&raw, scenario, &same_kind(&raw, scenario));
    }
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
        if from == to {
            continue;
        }
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
    let plan = NetworkPlan {
        nodes: nodes.collect(),
        edges,
        flows: flows(scenario, &names),
        left_out: 0,
    };
    Some(plan.nearest(MOST_NODES))
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

/// Rate and delay, then the queue if packets can wait.
fn direction_words(direction: &Direction) -> Vec<String> {
    let own = direction.queue_rate();
    let rate = own.map_or(direction.rate, |own| {
        Some(direction.rate.map_or(own, |wire| wire.min(own)))
    });
    let rate = match (&direction.shaper, rate) {
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
        (None, None) if direction.rate_trace.millis.is_empty() && own.is_none() => None,
        (None, _) => Some(queue_words(&direction.queue)),
    };
    words.extend(limit);
    words.extend(direction.policer.map(|policer| {
        let rate = with_unit(policer.rate as f64, "bit/s", 4);
        format!(
            "policer, {rate}, {}",
            with_unit(policer.burst as f64, "bytes", 4)
        )
    }));
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

/// For each host the key by which hosts are equivalent.
type Kinds = BTreeMap<String, Vec<String>>;

/// The links at each host.
fn links_at(raw: &[RawEdge]) -> BTreeMap<&str, Vec<(usize, &RawEdge)>> {
    let mut links: BTreeMap<&str, Vec<(usize, &RawEdge)>> = BTreeMap::new();
    for edge in raw {
        for (side, host) in edge.between.iter().enumerate() {
            links.entry(host).or_default().push((side, edge));
        }
    }
    links
}

/// Hosts are equivalent if they have the same links to the same hosts.
fn same_links(raw: &[RawEdge]) -> Kinds {
    let hosts = links_at(raw).into_iter().map(|(host, links)| {
        let links = links.into_iter().map(|(side, edge)| {
            let other = &edge.between[1 - side];
            format!("{side} {other} {}", edge.words.join("\n"))
        });
        let mut links: Vec<String> = links.collect();
        links.sort();
        (host.to_owned(), links)
    });
    hosts.collect()
}

/// Iterations of the colour refinement.
const ROUNDS: usize = 8;

/// Hosts are equivalent if they have the same links to equivalent hosts, such as the hosts of a
/// template that are linked to hosts of another template; hosts with a link to an equivalent host
/// are kept separate. This is colour refinement (Weisfeiler and Leman 1968), over a few hops.
fn same_kind(raw: &[RawEdge], scenario: &Scenario) -> Kinds {
    let links = links_at(raw);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    let senders: BTreeSet<&str> = scenario.flows.iter().map(|flow| &*flow.from).collect();
    let receivers: BTreeSet<&str> = scenario.flows.iter().map(|flow| &*flow.to).collect();
    for host in links.keys() {
        let kind = usize::from(senders.contains(host)) + 2 * usize::from(receivers.contains(host));
        kinds.insert(host, kind);
    }
    for _ in 0..ROUNDS {
        let signed = links.iter().map(|(host, links)| {
            let links = links.iter().map(|(side, edge)| {
                let other = kinds[edge.between[1 - side].as_str()];
                (*side, other, &edge.words)
            });
            let mut links: Vec<_> = links.collect();
            links.sort();
            ((kinds[host], links), *host)
        });
        let mut signed: Vec<_> = signed.collect();
        signed.sort();
        let before = kinds.values().collect::<BTreeSet<_>>().len();
        let mut number = 0;
        let mut next = BTreeMap::new();
        for (place, (signature, host)) in signed.iter().enumerate() {
            if place > 0 && signed[place - 1].0 != *signature {
                number += 1;
            }
            next.insert(*host, number);
        }
        kinds = next;
        if number + 1 == before {
            break;
        }
    }
    let kind = |host: &str| kinds.get(host).copied();
    let joined = raw
        .iter()
        .filter(|edge| kind(&edge.between[0]) == kind(&edge.between[1]));
    let joined: BTreeSet<usize> = joined.filter_map(|edge| kind(&edge.between[0])).collect();
    let hosts = kinds.iter().map(|(host, kind)| {
        let own = joined.contains(kind).then(|| (*host).to_owned());
        let kind = vec![kind.to_string()].into_iter().chain(own);
        ((*host).to_owned(), kind.collect())
    });
    hosts.collect()
}

/// The box of each host: its own name, or that of all equivalent hosts with the same roles as
/// sender and receiver.
fn boxes(raw: &[RawEdge], scenario: &Scenario, kinds: &Kinds) -> BTreeMap<String, String> {
    let hosts: BTreeSet<&String> = raw.iter().flat_map(|edge| &edge.between).collect();
    let senders: BTreeSet<&String> = scenario.flows.iter().map(|flow| &flow.from).collect();
    let receivers: BTreeSet<&String> = scenario.flows.iter().map(|flow| &flow.to).collect();
    let mut alike: BTreeMap<_, Vec<&String>> = BTreeMap::new();
    for host in hosts {
        let kind = (
            kinds.get(host),
            senders.contains(host),
            receivers.contains(host),
        );
        alike.entry(kind).or_default().push(host);
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

/// The column of each box: its distance in hops from the hosts that only send.
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

/// A line for each flow, or for the flows of a group between the same boxes, and the number of
/// flows not listed.
fn flows(scenario: &Scenario, boxes: &BTreeMap<String, String>) -> Vec<String> {
    let mut groups: Vec<(&str, String, u32)> = Vec::new();
    let mut known: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let mut flows: Vec<&Flow> = scenario.flows.iter().collect();
    flows.sort_by(|a, b| natural_order(&a.name, &b.name));
    for flow in flows {
        let name = flow.group().unwrap_or(&flow.name);
        let end = |host: &String| boxes.get(host).unwrap_or(host).clone();
        let way = format!(
            "{} to {}, {}",
            end(&flow.from),
            end(&flow.to),
            transport_words(&flow.transport)
        );
        let place = *known.entry((name, way.clone())).or_insert(groups.len());
        if place == groups.len() {
            groups.push((name, way, 0));
        }
        groups[place].2 += flow.count;
    }
    let line = |(name, way, count): &(&str, String, u32)| {
        let count = if *count > 1 {
            format!(" ({count} flows)")
        } else {
            String::new()
        };
        format!("{name}{count}: {way}")
    };
    let mut lines: Vec<String> = groups.iter().take(MOST_FLOWS).map(line).collect();
    let more: u32 = groups.iter().skip(MOST_FLOWS).map(|group| group.2).sum();
    if more > 0 {
        lines.push(format!("and {more} more flows"));
    }
    lines
}

/// The transport and its controller: `TCP cubic`.
pub(super) fn transport_words(transport: &Transport) -> String {
    match transport {
        Transport::Dccp(dccp) => format!("DCCP CCID {}", dccp.ccid),
        Transport::Quic(quic) => {
            let window = quic.config.controller.name;
            match (quic.config.sole_media_controller(), transport.media_title()) {
                (Some(title), _) => format!("QUIC datagrams {title}"),
                (None, Some(title)) => format!("QUIC datagrams {title} above {window}"),
                (None, None) => format!("QUIC {window}"),
            }
        }
        Transport::Quinn(quinn) => format!("quinn {}", quinn.controller),
        Transport::Noq(noq) => format!("noq {}", noq.controller),
        Transport::Rtp(rtp) => match rtp.controller.title() {
            Some(title) => format!("RTP {title}"),
            None => "RTP".to_owned(),
        },
        Transport::Tcp(tcp) => format!("TCP {}", tcp.controller.name),
        Transport::Udp(_) => "UDP".to_owned(),
    }
}
