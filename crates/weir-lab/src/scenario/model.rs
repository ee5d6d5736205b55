//! The data of a scenario: the run, its hosts, links, media and flows, with all defaults filled in.

mod handover;
mod tunnel;

pub use handover::HandoverConfig;
pub use tunnel::{Tunnel, TunnelMode};

use super::arrivals::Arrivals;
use super::expectation::Expectations;
use super::rate_trace::RateTrace;
use super::transport::Transport;
use super::wifi::Wifi;
use std::collections::BTreeSet;
use weir_net::ack_thinning::{AckThinningConfig, ack_thinning};
use weir_net::class_delay::ClassDelayConfig;
use weir_net::ecn_faults::EcnFaultsConfig;
use weir_net::outage::OutageConfig;
use weir_net::policer::{PolicerConfig, policer};
use weir_net::shaper::{TokenBucketConfig, shaper};
use weir_net::{AppConfig, HostTiming, LinkChange, LossConfig, NetemConfig, QueueConfig};
use weir_proto::DurationRange;
use weir_proto::packet::Dscp;
use weir_proto::settings;
use weir_proto::settings::{
    Diagnostic, Field, FieldKind, Form, Kind, Presence, Raw, Reader, Settings, Spanned, Table,
    bit_rate, bytes, count, describe_field, name, natural, or_word, read_settings,
};
use weir_proto::time::Duration;

/// The maximum number of hosts or links of a scenario, including `count`.
pub(super) const MAX_NODES: u64 = 10_000;
/// The maximum number of flows of a scenario, including `count`.
pub const MAX_FLOWS: u64 = 100_000;

/// The maximum number of transfers of a scenario, each of which adds a row to its table.
pub(super) const MAX_TRANSFERS: u64 = 1_000_000;

settings! {
    /// A scenario: the run, its hosts, links and flows.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Scenario {
        /// What must hold of the summary of each run, such as "flow.video.goodput_bps > 2Mbit" or
        /// "flow.*.one_way_delay_s.p95 < 50ms"; `weir run` judges it, and ends with status 3 if
        /// something does not hold. Stands before the first table.
        pub expect: Expectations,
        /// How long to run, and the seed of its random numbers.
        pub run: Run,
        /// A host with the timing of its stack. Hosts with ideal timing need no entry: the links
        /// name them.
        pub hosts: Vec<Host> as "host",
        /// A wire between two hosts. What stands beside `forward` and `backward` is for both
        /// directions.
        pub links: Vec<Link> as "link",
        /// An 802.11 medium that its stations share.
        pub wifi: Vec<Wifi>,
        /// Data from one host to another over one connection.
        pub flows: Vec<Flow> as "flow",
        /// A hop between two hosts over an outer connection with a congestion control of its own.
        pub tunnels: Vec<Tunnel> as "tunnel",
        /// Warnings about files that lie outside the scenario's folder.
        pub outside: Vec<String> [internal],
    }
}

settings! {
    /// How long to run, and the seed of its random numbers.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Run {
        /// Virtual time of the run, such as "10s".
        pub duration: Duration [required],
        /// The summary's statistics count from this time on; traces have everything.
        pub warmup: Duration,
        /// The seed of all random numbers.
        pub seed: u64 = 1 => count(0..=i64::MAX as u64, ""),
        /// Between two rows of the tables of goodput, delay and losses over time; "auto" is 1, 2 or
        /// 5 times a power of ten: 200 to 500 rows.
        pub interval: Option<Duration> => or_word("auto", natural()),
        /// Encode and decode every packet on its way. Changes nothing but the time it takes.
        pub codec: bool,
        /// Time of the clock after which it ends with an error, such as "10min"; `weir run` counts
        /// all its runs together. The option --max-time goes before it.
        pub max_time: Option<Duration> => or_word("unlimited", natural()),
        /// Events after which it ends with an error, the same one on every machine. The option
        /// --max-events goes before it.
        pub max_events: Option<u64> => or_word("unlimited", count(1..=i64::MAX as u64, "events")),
        /// Memory of the process at which it ends with an error, such as "4GB"; "auto" is 80 % of
        /// the machine's with `weir run` and `weir sweep`, else unlimited. The option --max-memory
        /// goes before it.
        pub max_memory: Option<u64> => or_word("auto", bytes(1 << 20..=1 << 62)),
    }
}

settings! {
    /// A host with the timing of its stack.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Host {
        /// The name that links and flows use.
        pub name: String [required] => name(),
        /// So many hosts of the same kind, called NAME-1, NAME-2 and so on. A link with the same
        /// count joins one each, and the flows of a count take them in turn, if they use NAME.
        pub count: u32 = 1 => count(1..=MAX_NODES, "hosts"),
        /// Delays, timestamps and ticks.
        pub timing: HostTiming [flatten],
        /// Additional time that the host takes to answer a packet of the handshake.
        pub handshake_delay: Duration,
    }
}

settings! {
    /// One direction of a link.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Direction {
        /// Bits per second, such as "10Mbit"; "unlimited" transmits in no time.
        pub rate: Option<u64> => or_word("unlimited", bit_rate()),
        /// Propagation delay, such as "5ms". A range is drawn once a run, and both directions of
        /// the link lie at the same place of their ranges.
        pub delay: DurationRange,
        /// Largest packet in bytes, IP header included; larger ones are dropped.
        pub mtu: u32 = 1500 => bytes(68..=65_535),
        /// Where packets wait for their transmission.
        pub queue: QueueConfig,
        /// What gets lost on the wire.
        pub loss: LossConfig,
        /// A token bucket with a queue of its own, in place of `queue`.
        pub shaper: Option<TokenBucketConfig> => shaper(),
        /// A token bucket that drops what comes too fast, before the queue.
        pub policer: Option<PolicerConfig> => policer(),
        /// What thins acknowledgements out, before the queue.
        pub ack_thinning: Option<AckThinningConfig> => ack_thinning(),
        /// Jitter, reordering, duplication, corruption and slots on the wire, as netem has them.
        pub netem: NetemConfig,
        /// Times in which nothing passes. Beside the link's other keys they strike both directions
        /// at the same times.
        pub outages: Vec<OutageConfig> as "outage",
        /// What the wire does to packets because of their ECN field.
        pub ecn_faults: EcnFaultsConfig,
        /// Additional delays of packets by their size and ECN field.
        pub class_delays: Vec<ClassDelayConfig> as "class_delay",
        /// In place of `rate`: a file with a delivery opportunity of 1504 bytes per line, in
        /// milliseconds, or its numbers; repeated when it ends.
        pub rate_trace: RateTrace,
        /// What changes at a time: rate, delay, shaper_rate, loss, netem.
        pub changes: Vec<LinkChange> as "change",
    }
}

settings! {
    /// Data from one host to another over one connection.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Flow {
        /// The name that traces and options use.
        pub name: String [required] => name(),
        /// So many flows of the same kind, called NAME-1, NAME-2 and so on.
        pub count: u32 = 1 => count(1..=MAX_FLOWS, "flows"),
        /// The flows that `summary.json` and the tables sum up together; those of a `count` are
        /// a group of their own name. A flow with `arrivals` is a part with all its transfers.
        pub group: Option<String> => or_word("none", name()),
        /// The host that sends the data: of requests, the server.
        pub from: String [required] => name(),
        /// The host that receives the data: of requests, the client, which opens the connection.
        pub to: String [required] => name(),
        /// The protocol that carries the data.
        pub transport: Transport [required],
        /// What writes the data. If nothing is said, bulk with packets of 1400 bytes, and video
        /// over rtp.
        pub app: AppConfig,
        /// Short flows in place of one connection: when transfers begin, each over a connection of
        /// its own, and how large they are. `app` must be bulk without `total`; `stop` ends the
        /// arrivals. `summary.json` has them together, also what held their senders back,
        /// `transfers/NAME` each, `intervals/NAME` what all of them got over time.
        pub arrivals: Arrivals,
        /// What the sender's packets suffer at its socket, before the wire.
        pub loss: LossConfig,
        /// When the connection is opened; a range is drawn for each flow of `count`.
        pub start: DurationRange,
        /// Propagation delay, each way, of an access link of the flow's own between its sender's
        /// host and the network; a range is drawn for each flow of `count`.
        pub access_delay: DurationRange,
        /// Differentiated Services codepoint of its packets, both ways: a name such as "ef" or
        /// "cs1", or a number.
        pub dscp: Dscp,
        /// How much later each next flow of `count` is opened.
        pub stagger: Duration,
        /// When the end that opens the connection changes its address, and to which: QUIC only.
        pub handovers: Vec<HandoverConfig> as "handover",
        /// When the sender stops writing; "never" before the end of the run.
        pub stop: Option<Duration> => or_word("never", natural()),
    }
}

/// `[[link]]`: a wire with a queue at each end.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name. It is also the name of the traces in the direction `forward`; those of the other
    /// direction are called `NAME.backward`.
    pub name: String,
    /// The number of links of this entry, called NAME-1, NAME-2 and so on.
    pub count: u32,
    /// The hosts at its ends.
    pub between: [String; 2],
    /// The direction from the first host to the second.
    pub forward: Direction,
    /// The direction from the second host to the first.
    pub backward: Direction,
}

const NAME: Field = Field {
    key: "name",
    doc: "The name that traces and options use.",
    presence: Presence::Required,
};
const COUNT: Field = Field {
    key: "count",
    doc: "So many links of the same kind, called NAME-1, NAME-2 and so on: each joins one of \
          several hosts with such a count.",
    presence: Presence::Optional,
};
const BETWEEN: Field = Field {
    key: "between",
    doc: "The two hosts that it joins, such as [\"server\", \"client\"].",
    presence: Presence::Required,
};
const FORWARD: Field = Field {
    key: "forward",
    doc: "Only from the first host of `between` to the second.",
    presence: Presence::Optional,
};
const BACKWARD: Field = Field {
    key: "backward",
    doc: "Only from the second host of `between` to the first.",
    presence: Presence::Optional,
};

impl Default for Link {
    fn default() -> Self {
        Self {
            name: String::new(),
            count: 1,
            between: [const { String::new() }; 2],
            forward: Direction::default(),
            backward: Direction::default(),
        }
    }
}

/// The keys of a direction in the link's table apply to both directions; those in `forward` and
/// `backward` override them. A link is written with both directions in full.
impl Settings for Link {
    const DOC: &'static str = "A wire between two hosts.";

    fn read_fields(&mut self, reader: &mut Reader<'_>) {
        reader.field(&NAME, &name(), &mut self.name);
        reader.field(&COUNT, &count(1..=MAX_NODES, "links"), &mut self.count);
        reader.field(&BETWEEN, &TwoHosts, &mut self.between);
        let mut both = Direction::default();
        read_settings(&mut both, reader);
        self.forward.clone_from(&both);
        self.backward = both;
        reader.field(&FORWARD, &natural(), &mut self.forward);
        reader.field(&BACKWARD, &natural(), &mut self.backward);
    }

    fn write_fields(&self, table: &mut Table) {
        table.put(NAME.key, name().write(&self.name));
        table.put(COUNT.key, count(1..=MAX_NODES, "links").write(&self.count));
        table.put(BETWEEN.key, TwoHosts.write(&self.between));
        table.put(FORWARD.key, natural().write(&self.forward));
        table.put(BACKWARD.key, natural().write(&self.backward));
    }

    fn fields(&self) -> Vec<FieldKind> {
        let mut fields = vec![
            describe_field(&NAME, &name(), &self.name),
            describe_field(&COUNT, &count(1..=MAX_NODES, "links"), &self.count),
            describe_field(&BETWEEN, &TwoHosts, &self.between),
        ];
        fields.extend(self.forward.fields());
        fields.push(describe_field(&FORWARD, &natural(), &self.forward));
        fields.push(describe_field(&BACKWARD, &natural(), &self.backward));
        fields
    }
}

/// The hosts at the two ends of a link.
pub(super) struct TwoHosts;

impl Form<[String; 2]> for TwoHosts {
    fn read(
        &self,
        slot: &mut [String; 2],
        value: &Spanned,
        reader: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        let example = "[\"server\", \"client\"]";
        let Raw::Array(hosts) = &value.raw else {
            return Err(Diagnostic::expected(
                "a list of two hosts",
                &value.raw,
                example,
            ));
        };
        let [first, second] = hosts.as_slice() else {
            return Err(Diagnostic::new(
                format!("expected two hosts, found {}", hosts.len()),
                format!("write {example}"),
            ));
        };
        name().read(&mut slot[0], first, reader)?;
        name().read(&mut slot[1], second, reader)
    }

    fn write(&self, hosts: &[String; 2]) -> Raw {
        Raw::Array(hosts.iter().map(|host| name().write(host).into()).collect())
    }

    fn kind(&self, _: &[String; 2]) -> Kind {
        Kind::List {
            of: Box::new(Kind::Name),
            len: (2, Some(2)),
        }
    }
}

/// The names of an entry with a count: its own name if the count is one.
pub(super) fn numbered(name: &str, count: u32) -> impl Iterator<Item = String> + '_ {
    (1..=count).map(move |number| match count {
        1 => name.to_owned(),
        _ => format!("{name}-{number}"),
    })
}

/// True for the names of [`numbered`]; none is made, so that one is found among 100,000.
fn is_numbered(entry: &str, count: u32, name: &str) -> bool {
    if count == 1 {
        return name == entry;
    }
    let digits = name
        .strip_prefix(entry)
        .and_then(|rest| rest.strip_prefix('-'));
    let digits = digits.filter(|digits| !digits.starts_with(['0', '+']));
    let number = digits.and_then(|digits| digits.parse().ok());
    number.is_some_and(|number: u32| (1..=count).contains(&number))
}

impl Flow {
    /// The names of the flows of this entry.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        numbered(&self.name, self.count)
    }

    /// True if a flow of this entry has this name.
    pub fn is_named(&self, name: &str) -> bool {
        is_numbered(&self.name, self.count, name)
    }

    /// True unless the flow has arrivals, each of which has a separate connection.
    pub fn is_one_connection(&self) -> bool {
        self.arrivals == Arrivals::Once
    }

    /// The group to which its flows belong; `None` if they have none.
    pub fn group(&self) -> Option<&str> {
        let own = (self.count > 1).then_some(&self.name);
        self.group.as_ref().or(own).map(String::as_str)
    }
}

impl Host {
    /// The names of the hosts of this entry.
    pub(crate) fn names(&self) -> impl Iterator<Item = String> + '_ {
        numbered(&self.name, self.count)
    }

    /// True if a host of this entry has this name.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        is_numbered(&self.name, self.count, name)
    }
}

impl Link {
    /// The names of the links of this entry.
    pub(super) fn names(&self) -> impl Iterator<Item = String> + '_ {
        numbered(&self.name, self.count)
    }

    /// The name of the traces of a direction.
    pub fn trace_names(&self) -> [String; 2] {
        [self.name.clone(), format!("{}.backward", self.name)]
    }
}

impl Scenario {
    /// The names of all groups of flows.
    pub fn group_names(&self) -> BTreeSet<String> {
        let groups = self.flows.iter().filter_map(Flow::group);
        groups.map(str::to_owned).collect()
    }

    /// The names of all traces of links: both directions of each link and tunnel, and every
    /// station.
    pub fn trace_names(&self) -> impl Iterator<Item = String> + '_ {
        let wires = self.links.iter().flat_map(Link::trace_names);
        let stations = self.wifi.iter().flat_map(|wifi| {
            let names = wifi.stations.iter().map(|station| wifi.trace_name(station));
            names.collect::<Vec<_>>()
        });
        let tunnels = self.tunnels.iter().flat_map(Tunnel::trace_names);
        wires.chain(stations).chain(tunnels)
    }

    /// The names of everything that is recorded as one connection: flows without arrivals, and
    /// tunnels.
    pub fn connection_names(&self) -> impl Iterator<Item = String> + '_ {
        let flows = self.flows.iter().filter(|flow| flow.is_one_connection());
        let tunnels = self.tunnels.iter().map(|tunnel| tunnel.name.clone());
        flows.flat_map(Flow::names).chain(tunnels)
    }
}
