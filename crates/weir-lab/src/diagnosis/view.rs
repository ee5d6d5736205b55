//! A trace as detectors read it: each flow with its path and its base RTT, each link with its rate.

use super::finding::Evidence;
use super::statistic::Statistic;
use super::trace::Trace;
use crate::lint::view::{Control, FlowView as Declared, View as Declarations};
use crate::scenario::{Direction, Flow, ForeignStack, Graph, Hop, HopMedium, Scenario, inline};
use crate::summary::{FlowSummary, LinkSummary};
use crate::table::Table;
use std::ops::Range;
use std::sync::Arc;
use weir_proto::cc::tfrc::{Profile, TimerTick};
use weir_proto::settings::write;

/// The trace with what follows from its scenario.
pub(crate) struct View<'a> {
    pub(super) trace: &'a Trace<'a>,
    pub(super) flows: Vec<FlowView<'a>>,
    pub(super) links: Vec<LinkView<'a>>,
}

/// A flow.
pub(crate) struct FlowView<'a> {
    pub(super) name: &'a str,
    pub(super) transport: &'a str,
    /// The table of its controller.
    pub(super) main: Rows<'a>,
    pub(super) events: Option<Rows<'a>>,
    pub(super) intervals: Option<Rows<'a>>,
    /// Of an imported trace: counters over the life of the connection, and turns of its ends.
    pub(super) counters: Option<Rows<'a>>,
    pub(super) turns: Option<Rows<'a>>,
    /// What the scenario says of it.
    pub(super) declared: Option<&'a Flow>,
    pub(super) control: Control,
    /// Whether it sends as much as its control allows; unknown flows count as such.
    pub(super) is_bulk: bool,
    /// The round-trip time without queues, and where it is from; `None` without a sample.
    pub(super) base: Option<Evidence>,
    /// The traces of the links from its sender to its receiver, and back.
    pub(super) forward: Vec<String>,
    pub(super) backward: Vec<String>,
    /// The slowest link on its path, with its rate in bit/s.
    pub(super) bottleneck: Option<(String, f64)>,
    pub(super) summary: Option<&'a FlowSummary>,
    /// The frequency of its sender's timer, in hertz; `None` for exact timers.
    pub(super) timer_hz: Option<u32>,
}

/// A direction of a link, or a station of an 802.11 medium.
pub(crate) struct LinkView<'a> {
    pub(super) name: String,
    pub(super) rows: Option<Rows<'a>>,
    /// `None` for a station and for the queue of a tunnel.
    pub(super) direction: Option<&'a Direction>,
    /// The path of its settings, for `--set`.
    settings: String,
    pub(super) summary: Option<&'a LinkSummary>,
}

/// A table with its path.
#[derive(Clone)]
pub(crate) struct Rows<'a> {
    pub(super) path: String,
    pub(super) table: &'a Table,
    pub(super) end_s: f64,
}

impl<'a> Rows<'a> {
    fn of(trace: &'a Trace<'_>, path: String) -> Option<Self> {
        let table = trace.table(&path)?;
        // Without a time for each row nothing can be said of it.
        let times = table.numbers("time_s").map_or(0, <[f64]>::len);
        (times > 0 && times == table.rows()).then_some(Self {
            path,
            table,
            end_s: trace.duration_s,
        })
    }

    /// The times of the rows, in seconds.
    pub(super) fn times(&self) -> &'a [f64] {
        self.table.numbers("time_s").unwrap_or_default()
    }

    pub(super) fn numbers(&self, column: &str) -> Option<&'a [f64]> {
        self.table.numbers(column)
    }

    pub(super) fn words(&self, column: &str) -> &'a [Arc<str>] {
        self.table.words(column).unwrap_or_default()
    }

    /// All rows.
    pub(super) fn all(&self) -> Range<usize> {
        0..self.table.rows()
    }

    /// The rows from the first time on, up to and without the second, with the row before them,
    /// which still holds then.
    pub(super) fn within(&self, [from, to]: [f64; 2]) -> Range<usize> {
        let times = self.times();
        let first = times
            .partition_point(|time| *time <= from)
            .saturating_sub(1);
        let end = times.partition_point(|time| *time < to);
        first.min(end)..end
    }

    /// A statistic of a column over these rows; `None` if it has no value there.
    pub(super) fn measure(
        &self,
        column: &str,
        rows: Range<usize>,
        statistic: Statistic,
    ) -> Option<Evidence> {
        let value = statistic.of(self.table, column, rows.clone(), self.end_s)?;
        let times = self.times();
        let until = times.get(rows.end).copied().unwrap_or(self.end_s);
        Some(Evidence {
            table: self.path.clone(),
            column: column.to_owned(),
            rows: Some([rows.start, rows.end - 1]),
            span_s: Some([*times.get(rows.start)?, until]),
            statistic: Some(statistic),
            value,
        })
    }

    /// The value of a row.
    pub(super) fn at(&self, column: &str, row: usize) -> Option<Evidence> {
        self.measure(column, row..row + 1, Statistic::First)
    }

    /// The share of the time of some rows in which a column has this word.
    pub(super) fn share(&self, column: &str, word: &str, rows: Range<usize>) -> Option<Evidence> {
        self.measure(column, rows, Statistic::ShareOf(word.to_owned()))
    }

    /// Runs of rows for which something holds, each as its range.
    pub(super) fn episodes(&self, holds: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for row in self.all().filter(|row| holds(*row)) {
            match found.last_mut() {
                Some(last) if last.end == row => last.end += 1,
                _ => found.push(row..row + 1),
            }
        }
        found
    }

    /// The longest run of rows for which something holds.
    pub(super) fn longest(&self, holds: impl Fn(usize) -> bool) -> Option<Range<usize>> {
        let runs = self.episodes(holds).into_iter();
        runs.max_by(|a, b| self.length(a).total_cmp(&self.length(b)))
    }

    /// True if a column that counts grew between two times.
    pub(super) fn grew(&self, column: &str, span: [f64; 2]) -> bool {
        let within = self.within(span);
        let counts = self.table.as_numbers(column).unwrap_or_default();
        let last = counts.get(within.end.saturating_sub(1));
        counts
            .get(within.start)
            .zip(last)
            .is_some_and(|(before, after)| after > before)
    }

    /// How long some rows hold, in seconds.
    pub(super) fn length(&self, rows: &Range<usize>) -> f64 {
        let times = self.times();
        let until = times.get(rows.end).copied().unwrap_or(self.end_s);
        times.get(rows.start).map_or(0.0, |from| until - from)
    }
}

impl<'a> View<'a> {
    /// The view of a trace.
    pub(super) fn of(trace: &'a Trace<'a>) -> Self {
        let links = trace.scenario.map(|scenario| links(trace, scenario));
        let mut view = Self {
            trace,
            flows: Vec::new(),
            links: links.unwrap_or_default(),
        };
        let declarations = trace.scenario.map(Declarations::of);
        let graph = trace.scenario.map(Graph::of);
        for flow in &trace.flows {
            let declared = declarations.as_ref().and_then(|all| {
                let mut flows = all.flows.iter();
                flows.find(|one| one.flow.is_named(&flow.name))
            });
            let Some(main) = Rows::of(trace, format!("flows/{}", flow.name)) else {
                continue;
            };
            let mut one = FlowView {
                name: &flow.name,
                transport: &flow.transport,
                events: Rows::of(trace, format!("events/{}", flow.name)),
                intervals: Rows::of(trace, format!("intervals/{}", flow.name)),
                counters: Rows::of(trace, format!("counters/{}", flow.name)),
                turns: Rows::of(trace, format!("turns/{}", flow.name)),
                declared: declared.map(|declared| declared.flow),
                control: control(declared, &main),
                is_bulk: declared.is_none_or(Declared::is_bulk),
                base: None,
                forward: Vec::new(),
                backward: Vec::new(),
                bottleneck: None,
                summary: trace.summary.and_then(|all| all.flows.get(&flow.name)),
                timer_hz: None,
                main,
            };
            if let (Some(scenario), Some(graph)) = (trace.scenario, &graph) {
                one.add_path(scenario, graph);
            }
            one.base = one.base_rtt();
            view.flows.push(one);
        }
        view
    }

    /// The link with this name.
    pub(super) fn link(&self, name: &str) -> Option<&LinkView<'a>> {
        self.links.iter().find(|link| link.name == name)
    }

    /// The links from a flow's sender to its receiver.
    pub(super) fn forward<'v>(
        &'v self,
        flow: &'v FlowView<'_>,
    ) -> impl Iterator<Item = &'v LinkView<'a>> {
        flow.forward.iter().filter_map(|name| self.link(name))
    }

    /// The links from a flow's receiver to its sender.
    pub(super) fn backward<'v>(
        &'v self,
        flow: &'v FlowView<'_>,
    ) -> impl Iterator<Item = &'v LinkView<'a>> {
        flow.backward.iter().filter_map(|name| self.link(name))
    }

    /// A flow's slowest link.
    pub(super) fn bottleneck(&self, flow: &FlowView<'_>) -> Option<&LinkView<'a>> {
        self.link(&flow.bottleneck.as_ref()?.0)
    }

    /// The flows whose slowest link is this one.
    pub(super) fn sharing(&self, link: &str) -> Vec<&FlowView<'a>> {
        let flows = self.flows.iter();
        let flows = flows.filter(|flow| flow.bottleneck.as_ref().is_some_and(|b| b.0 == link));
        flows.collect()
    }
}

/// The directions of all links, the stations of all media and the queues of all tunnels.
fn links<'a>(trace: &'a Trace<'_>, scenario: &'a Scenario) -> Vec<LinkView<'a>> {
    let wires = scenario.links.iter().flat_map(|link| {
        let directions = [("forward", &link.forward), ("backward", &link.backward)];
        let named = link.trace_names().into_iter().zip(directions);
        named.map(|(name, (way, direction))| {
            (name, Some(direction), format!("link.{}.{way}", link.name))
        })
    });
    let stations = scenario.wifi.iter().flat_map(|wifi| {
        wifi.stations.iter().map(|station| {
            let settings = format!("wifi.{}.station.{}", wifi.name, station.host);
            (wifi.trace_name(station), None, settings)
        })
    });
    // Both ends have the same queue.
    let tunnels = scenario.tunnels.iter().flat_map(|tunnel| {
        let names = tunnel.trace_names().into_iter();
        names.map(|name| (name, None, format!("tunnel.{}", tunnel.name)))
    });
    let all = wires.chain(stations).chain(tunnels);
    all.map(|(name, direction, settings)| LinkView {
        rows: Rows::of(trace, format!("links/{name}")),
        direction,
        settings,
        summary: trace.summary.and_then(|all| all.links.get(&name)),
        name,
    })
    .collect()
}

/// What controls a flow: as the scenario says, else by the columns of its trace.
fn control(declared: Option<&Declared<'_>>, main: &Rows<'_>) -> Control {
    match declared {
        Some(declared) => declared.control,
        None if main.numbers("allowed_rate_bps").is_some() => Control::Tfrc,
        None => Control::Other,
    }
}

impl FlowView<'_> {
    fn add_path(&mut self, scenario: &Scenario, graph: &Graph<'_>) {
        let Some(flow) = self.declared else {
            return;
        };
        let path = |from: &str, to: &str| graph.path(from, to).unwrap_or_default();
        let there = path(&flow.from, &flow.to);
        let add = |names: &mut Vec<String>, hops: &[Hop<'_>]| {
            for name in hops.iter().filter_map(|hop| trace_name(scenario, hop)) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        };
        for [from, to] in flow.ways() {
            add(&mut self.forward, &path(from, to));
            add(&mut self.backward, &path(to, from));
        }
        let mut hosts = scenario.hosts.iter();
        let sender = hosts.find(|host| host.is_named(&flow.from));
        self.timer_hz = sender
            .and_then(|host| host.timing.timer_hz)
            .or(self.tick_of_profile());
        let span = [scenario.run.warmup, scenario.run.duration];
        let rates = there.iter().filter_map(|hop| {
            let rate = hop.direction()?.mean_rate(span)?;
            Some((hop.trace_name()?, rate.as_bps()))
        });
        let slowest = rates.min_by(|a, b| a.1.total_cmp(&b.1));
        // Over the air there is no fixed rate; a station is slower than the wires beside it. What
        // passes a tunnel depends on its own congestion control. A handover leads to other links.
        let is_air = there
            .iter()
            .any(|hop| matches!(hop.over, HopMedium::Air(_) | HopMedium::Tunnel { .. }));
        self.bottleneck = slowest.filter(|_| !is_air && !flow.changes_way());
    }

    /// The round-trip time without queues: what the scenario implies, with the transmission of a
    /// packet, or the smallest sample if that is shorter or the scenario does not say. `None` for a
    /// flow that a handover leads to other links, on which it is another.
    fn base_rtt(&self) -> Option<Evidence> {
        if self.declared.is_some_and(Flow::changes_way) {
            return None;
        }
        let least = self
            .main
            .measure("rtt_s", self.main.all(), Statistic::Least)?;
        let under_load = self.summary.and_then(|summary| summary.latency_under_load);
        let is_wired = self.bottleneck.is_some();
        let Some(declared) = under_load.filter(|_| is_wired) else {
            return Some(least);
        };
        let packet = 8.0 * self.packet_bytes() / self.rate_bps().unwrap_or(f64::INFINITY);
        let path = declared.base_rtt_s + packet;
        let name = format!("flow.{}.base_rtt_s", self.name);
        Some(Evidence::given("scenario", name, path))
    }

    /// The rate of its slowest link, in bit/s.
    pub(super) fn rate_bps(&self) -> Option<f64> {
        self.bottleneck.as_ref().map(|(_, rate)| *rate)
    }

    /// The round-trip time without queues, in seconds.
    pub(super) fn base_s(&self) -> Option<f64> {
        self.base.as_ref().map(|base| base.value)
    }

    /// The bandwidth-delay product without queues, in octets.
    pub(super) fn bdp(&self) -> Option<Evidence> {
        let octets = self.rate_bps()? * self.base_s()? / 8.0;
        let name = format!("flow.{}.bdp_bytes", self.name);
        Some(Evidence::given("scenario", name, octets))
    }

    /// The last value of a counter over its life.
    pub(super) fn counter(&self, column: &str) -> Option<Evidence> {
        let counters = self.counters.as_ref()?;
        counters.measure(column, counters.all(), Statistic::Last)
    }

    /// A number of its summary.
    pub(super) fn given(&self, key: &str, value: f64) -> Evidence {
        Evidence::given("summary", format!("flows.{}.{key}", self.name), value)
    }

    /// True if it carries a stream, whose window controller a scenario chooses.
    pub(super) fn is_stream(&self) -> bool {
        ["tcp", "quic"].contains(&self.transport) || ForeignStack::named(self.transport).is_some()
    }

    /// True if its controller has a model of its path, as BBR has.
    pub(super) fn has_model(&self) -> bool {
        matches!(self.control, Control::Model { .. })
    }

    /// True if congestion control holds it for more than half of the time of these rows, or the
    /// trace does not say.
    pub(super) fn is_controlled(&self, rows: &Range<usize>) -> bool {
        let words = ["window", "rate", "pacer"].iter();
        let shares = words.filter_map(|word| self.main.share("bound", word, rows.clone()));
        !self.has("bound") || shares.map(|share| share.value).sum::<f64>() > 0.5
    }

    /// The size of a full packet, in octets with all headers.
    pub(super) fn packet_bytes(&self) -> f64 {
        match self.declared {
            Some(flow) if ["udp", "rtp", "dccp"].contains(&self.transport) => {
                f64::from(flow.app.packet()) + 44.0
            }
            _ => 1500.0,
        }
    }

    /// The time from its first row to the end of its last, in seconds.
    pub(super) fn life(&self) -> [f64; 2] {
        let from = self.main.times().first().copied().unwrap_or_default();
        let is_over = self.main.words("bound").last();
        let is_over = is_over.is_some_and(|bound| &**bound == "nothing");
        let last = self.main.times().last().copied().unwrap_or_default();
        [from, if is_over { last } else { self.main.end_s }]
    }

    /// The rows in which it lives.
    pub(super) fn alive(&self) -> Range<usize> {
        let [_, end] = self.life();
        let times = self.main.times();
        0..times.partition_point(|time| *time < end).max(1)
    }

    /// True if its trace has a column.
    pub(super) fn has(&self, column: &str) -> bool {
        self.main.table.column(column).is_some()
    }

    /// The time when slow start ended for the first time: the end of its life if it never did,
    /// and its start if the trace has no states.
    pub(super) fn slow_start_end_s(&self) -> f64 {
        if !self.has("state") {
            return self.life()[0];
        }
        let states = self.main.words("state");
        let starting = |state: &Arc<str>| {
            let starts = ["", "slow_start", "startup", "drain", "Startup", "Drain"];
            starts.contains(&&**state) || state.starts_with("no_feedback")
        };
        let first = states.iter().position(|state| !starting(state));
        let times = self.main.times();
        match first.and_then(|row| times.get(row)) {
            Some(time) => *time,
            None => self.life()[1],
        }
    }

    /// The rows after slow start; `None` if it never ends.
    pub(super) fn after_slow_start(&self) -> Option<Range<usize>> {
        let [_, end] = self.life();
        let rows = self.main.within([self.slow_start_end_s(), end]);
        (!rows.is_empty()).then_some(rows)
    }

    /// The rate that its application writes at, in bit/s; `None` for bulk data.
    pub(super) fn load_bps(&self) -> Option<f64> {
        let app = &self.declared?.app;
        let load = app.load().filter(|_| !self.is_bulk)?;
        Some(load.per_second * f64::from(app.packet()) * 8.0)
    }

    /// True if it has more than half of its slowest link, or nothing is known of others.
    pub(super) fn fills_link(&self) -> bool {
        let share = self.summary.zip(self.rate_bps());
        share.is_none_or(|(of, rate)| of.throughput_bps > 0.5 * rate)
    }

    /// The frequency of the timer that its rules of TFRC assume.
    fn tick_of_profile(&self) -> Option<u32> {
        match &self.declared?.transport {
            crate::scenario::Transport::Dccp(dccp) if dccp.ccid != 2 => {
                match dccp.tfrc.timer_tick {
                    TimerTick::Hz(hz) => Some(hz),
                    TimerTick::Ideal => None,
                }
            }
            _ => None,
        }
    }

    /// True if a loss model takes packets at its sender's socket, before the first link.
    pub(super) fn loses_at_socket(&self) -> bool {
        self.declared
            .is_some_and(|flow| flow.loss != weir_net::LossConfig::default())
    }

    /// True if TFRC controls it.
    pub(super) fn is_tfrc(&self) -> bool {
        self.control == Control::Tfrc && self.main.numbers("allowed_rate_bps").is_some()
    }

    /// The settings that its rules of TFRC lack of a preset. A resolved scenario has every rule, so
    /// that the name of the preset alone would change nothing.
    pub(super) fn rules_of(&self, preset: &str) -> Option<Vec<(String, String)>> {
        use crate::scenario::Transport;
        let Transport::Dccp(dccp) = &self.declared?.transport else {
            return None;
        };
        let wanted = Profile::named(preset)?;
        let now = write(&dccp.tfrc);
        let rules = write(&wanted).entries.into_iter();
        let differ = rules.filter(|rule| {
            let mut known = now.entries.iter();
            !known.any(|other| other.key == rule.key && other.value.raw == rule.value.raw)
        });
        let set = differ.map(|rule| {
            let path = self.setting(&format!("tfrc.{}", rule.key));
            (path, inline(&rule.value.raw))
        });
        Some(set.collect::<Vec<_>>()).filter(|set| !set.is_empty())
    }

    /// The path of a setting of its transport, for `--set`.
    pub(super) fn setting(&self, key: &str) -> String {
        let name = self.declared.map_or(self.name, |flow| flow.name.as_str());
        format!("flow.{name}.transport.{key}")
    }
}

/// The name of the trace of a hop.
fn trace_name(scenario: &Scenario, hop: &Hop<'_>) -> Option<String> {
    match hop.over {
        HopMedium::Wire { .. } | HopMedium::Tunnel { .. } => hop.trace_name(),
        HopMedium::Air(sender) => {
            let mut media = scenario.wifi.iter();
            let of = media.find(|wifi| {
                let mut stations = wifi.stations.iter();
                stations.any(|station| std::ptr::eq(station, sender))
            });
            of.map(|wifi| wifi.trace_name(sender))
        }
    }
}

impl LinkView<'_> {
    /// A number of its summary.
    pub(super) fn given(&self, key: &str, value: f64) -> Evidence {
        Evidence::given("summary", format!("links.{}.{key}", self.name), value)
    }

    /// The path of a setting of its queue, for `--set`: `queue` or a key of it.
    pub(super) fn queue_setting(&self, key: &str) -> String {
        format!("{}.{key}", self.settings)
    }

    /// The path of a setting of its wire, for `--set`; `None` for what is not a link's direction.
    pub(super) fn wire_setting(&self, key: &str) -> Option<String> {
        self.direction.map(|_| format!("{}.{key}", self.settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Override, parse, parse_with};

    const SCENARIO: &str = r#"
[run]
duration = "1s"

[[link]]
name = "wire"
between = ["server", "router"]
rate = "10Mbit"

[[wifi]]
name = "air"
standard = "g"
station = [{ host = "router" }, { host = "laptop" }]

[[tunnel]]
name = "vpn"
between = ["server", "router"]
transport = { kind = "quic" }

[[flow]]
name = "file"
from = "server"
to = "laptop"
transport = { kind = "tcp", controller = "cubic" }
"#;

    /// True if remedies, which change the resolved scenario, can set this path.
    fn is_setting(scenario: &Scenario, path: &str, value: &str) -> bool {
        let (path, value) = (path.to_owned(), value.to_owned());
        let set = [Override { path, value }];
        parse_with(&scenario.resolved_toml(), "t.toml", &set).is_ok()
    }

    #[test]
    fn the_settings_of_every_queue_and_wire_can_be_set() {
        let scenario = parse(SCENARIO, "t.toml").unwrap();
        let trace = Trace::default();
        let views = links(&trace, &scenario);
        assert_eq!(views.len(), 6, "two directions, two stations, two ends");
        for link in &views {
            let limit = link.queue_setting("queue.limit");
            assert!(is_setting(&scenario, &limit, "77"), "{limit}");
        }
        let wires = views.iter().filter_map(|link| link.wire_setting("loss"));
        let wires: Vec<_> = wires.collect();
        assert_eq!(wires, ["link.wire.forward.loss", "link.wire.backward.loss"]);
        let none = r#"{ kind = "none" }"#;
        assert!(wires.iter().all(|path| is_setting(&scenario, path, none)));
        assert!(!is_setting(&scenario, "tunnel.vpn.loss", none));
    }
}
