//! What a scenario says: the run, its hosts, links and flows, with every default filled in.

use super::transport::Transport;
use super::value::Count;
use super::visit::{Need, Section, Visitor};
use super::wifi::Wifi;
use weir_net::shaper::TokenBucketConfig;
use weir_net::{AppConfig, HostTiming, LinkChange, LossConfig, NetemConfig, QueueConfig};
use weir_proto::time::Duration;

/// A checked scenario. [`parse`](super::parse) makes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// How long, from when on statistics count, and which luck.
    pub run: Run,
    /// All hosts: those of `[[host]]` in the order of the file, then those that only links and
    /// stations name.
    pub hosts: Vec<Host>,
    /// The links, each with two directions.
    pub links: Vec<Link>,
    /// The shared 802.11 media.
    pub wifi: Vec<Wifi>,
    /// The flows.
    pub flows: Vec<Flow>,
}

/// `[run]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Virtual time from the start to the end.
    pub duration: Duration,
    /// The summary's statistics count from here.
    pub warmup: Duration,
    /// From which all random numbers derive.
    pub seed: u64,
    /// Every packet is encoded and decoded on its way, which must change nothing.
    pub codec: bool,
}

/// `[[host]]`: what passes between a protocol and the wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Delays, stamps and ticks.
    pub timing: HostTiming,
    /// Additional time that the host takes to answer a packet of the handshake.
    pub handshake_delay: Duration,
}

/// `[[link]]`: a wire with a queue at each end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// Its name. The traces of the direction `forward` have this name, the others
    /// `NAME.backward`.
    pub name: String,
    /// The hosts at its ends.
    pub between: [String; 2],
    /// From the first host to the second.
    pub forward: Direction,
    /// From the second host to the first.
    pub backward: Direction,
}

/// One direction of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// Bits per second; `None` transmits in no time.
    pub rate: Option<u64>,
    /// Propagation delay.
    pub delay: Duration,
    /// Largest packet in octets, IP header included.
    pub mtu: Mtu,
    /// Where packets wait for their transmission.
    pub queue: QueueConfig,
    /// What delays the start of transmissions.
    pub shaper: Option<TokenBucketConfig>,
    /// What gets lost on the wire.
    pub loss: LossConfig,
    /// What else happens on the wire.
    pub netem: NetemConfig,
    /// In place of a rate: times in milliseconds at which 1504 octets may leave.
    pub rate_trace: RateTrace,
    /// What changes when.
    pub changes: Vec<LinkChange>,
}

/// Delivery opportunities, by a file or its content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RateTrace {
    /// The file that they were read from, if they were.
    pub file: Option<String>,
    /// Milliseconds, in order; none without a trace.
    pub millis: Vec<u64>,
}

/// The largest packet of a link in octets, IP header included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mtu(pub u32);

/// `[[flow]]`: data from one host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// So many of the same kind, called NAME-1, NAME-2 …; a single one is called NAME.
    pub count: u32,
    /// The host that sends.
    pub from: String,
    /// The host that receives.
    pub to: String,
    /// The protocol that carries it.
    pub transport: Transport,
    /// What writes the data.
    pub app: AppConfig,
    /// What the sender's packets suffer at its socket, before the wire.
    pub loss: LossConfig,
    /// When the connection is opened.
    pub start: Duration,
    /// How much later each next one of the same kind is opened.
    pub stagger: Duration,
    /// When the sender stops writing; `None` at the end of the run.
    pub stop: Option<Duration>,
}

impl Default for Run {
    fn default() -> Self {
        Self {
            duration: Duration::ZERO,
            warmup: Duration::ZERO,
            seed: 1,
            codec: false,
        }
    }
}

impl Default for Mtu {
    fn default() -> Self {
        Self(1500)
    }
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            name: String::new(),
            count: 1,
            from: String::new(),
            to: String::new(),
            transport: Transport::default(),
            app: AppConfig::default(),
            loss: LossConfig::None,
            start: Duration::ZERO,
            stagger: Duration::ZERO,
            stop: None,
        }
    }
}

impl Flow {
    /// The names of the flows that `count` makes.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        (1..=self.count).map(|number| {
            if self.count == 1 {
                self.name.clone()
            } else {
                format!("{}-{number}", self.name)
            }
        })
    }
}

impl Link {
    /// The name of the traces of a direction.
    pub fn trace_names(&self) -> [String; 2] {
        [self.name.clone(), format!("{}.backward", self.name)]
    }
}

impl Scenario {
    /// The names of all traces of links: both directions of each wire, and every station.
    pub fn trace_names(&self) -> impl Iterator<Item = String> + '_ {
        let wires = self.links.iter().flat_map(Link::trace_names);
        let stations = self.wifi.iter().flat_map(|wifi| {
            let names = wifi.stations.iter().map(|station| wifi.trace_name(station));
            names.collect::<Vec<_>>()
        });
        wires.chain(stations)
    }
}

impl Section for Scenario {
    fn visit(&mut self, v: &mut dyn Visitor) {
        v.section("run", "How long to run, and which luck.", &mut self.run);
        v.list(
            "host",
            "A host with the timing of its stack. Hosts with ideal timing need no entry: the \
             links name them.",
            &mut self.hosts,
        );
        v.list(
            "link",
            "A wire between two hosts. What stands beside `forward` and `backward` is for both \
             directions.",
            &mut self.links,
        );
        v.list(
            "wifi",
            "An 802.11 medium that its stations share.",
            &mut self.wifi,
        );
        v.list(
            "flow",
            "Data from one host to another over one connection.",
            &mut self.flows,
        );
    }
}

impl Section for Run {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let (required, optional) = (Need::Required, Need::Optional);
        v.value(
            "duration",
            "Virtual time of the run, such as \"10s\".",
            required,
            &mut self.duration,
        );
        v.value(
            "warmup",
            "The summary's statistics count from this time on; traces have everything.",
            optional,
            &mut self.warmup,
        );
        v.value(
            "seed",
            "From which all random numbers derive.",
            optional,
            &mut Count {
                slot: &mut self.seed,
                min: 0,
                max: i64::MAX as u64,
                unit: "",
            },
        );
        v.value(
            "codec",
            "Encode and decode every packet on its way. Changes nothing but the time that the \
             run takes.",
            optional,
            &mut self.codec,
        );
    }
}
