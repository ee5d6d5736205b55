//! What a scenario says: the run, its hosts, links and flows, with every default filled in.

use super::document::Node;
use super::error::Problem;
use super::transport::Transport;
use super::value::{BitRate, Choice, Count, Name, Octets, OrWord};
use super::visit::{Need, Purpose, Section, Value, Variants, Visitor};
use weir_net::app::{BulkConfig, CbrConfig, WhenBlocked};
use weir_net::{Limit, LossConfig, QueueConfig, Stack, Stamp};
use weir_proto::time::Duration;
use weir_proto::units::Probability;

/// A checked scenario. [`parse`](super::parse) makes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scenario {
    /// How long, from when on statistics count, and which luck.
    pub run: Run,
    /// All hosts: those of `[[host]]` in the order of the file, then those that only links name.
    pub hosts: Vec<Host>,
    /// The links, each with two directions.
    pub links: Vec<Link>,
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
    pub stack: Stack,
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
    /// What gets lost on the wire.
    pub loss: LossConfig,
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
    pub app: Application,
    /// What the sender's packets suffer at its socket, before the wire.
    pub loss: LossConfig,
    /// When the connection is opened.
    pub start: Duration,
    /// When the sender stops writing; `None` at the end of the run.
    pub stop: Option<Duration>,
}

/// `app = { … }`: what writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Application {
    /// As much as the transport takes.
    Bulk(BulkConfig),
    /// At constant intervals.
    Cbr(CbrConfig),
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
            app: Application::default(),
            loss: LossConfig::None,
            start: Duration::ZERO,
            stop: None,
        }
    }
}

impl Default for Application {
    fn default() -> Self {
        Self::Bulk(BulkConfig {
            piece: 1400,
            total: None,
        })
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

impl Section for Host {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        v.value(
            "name",
            "The name that links and flows use.",
            Need::Required,
            &mut Name(&mut self.name),
        );
        v.value(
            "transmit_delay",
            "Time from the protocol's handing over of a packet until it enters the wire.",
            optional,
            &mut self.stack.transmit_delay,
        );
        v.value(
            "stamp",
            "Which moment the protocol takes as the time of sending: the handing over, or when \
             the packet has really left.",
            optional,
            &mut Choice {
                slot: &mut self.stack.stamp,
                words: &[
                    ("handover", Stamp::Handover),
                    ("transmitted", Stamp::Transmitted),
                ],
            },
        );
        v.value(
            "receive_delay",
            "Time from the wire until the protocol handles the packet.",
            optional,
            &mut self.stack.receive_delay,
        );
        v.value(
            "timer_hz",
            "Timers fire at ticks of this frequency, in hertz; \"ideal\" fires them exactly.",
            optional,
            &mut OrWord {
                slot: &mut self.stack.timer_hz,
                word: "ideal",
                inner: |slot| {
                    let (min, max, unit) = (1, 1_000_000_000, "hertz");
                    Box::new(Count {
                        slot,
                        min,
                        max,
                        unit,
                    })
                },
            },
        );
        v.value(
            "handshake_delay",
            "Additional time that the host takes to answer a packet of the handshake.",
            optional,
            &mut self.handshake_delay,
        );
    }
}

impl Section for Link {
    fn visit(&mut self, v: &mut dyn Visitor) {
        v.value(
            "name",
            "The name that traces and options use.",
            Need::Required,
            &mut Name(&mut self.name),
        );
        v.value(
            "between",
            "The two hosts that it joins, such as [\"server\", \"client\"].",
            Need::Required,
            &mut self.between,
        );
        if v.purpose() != Purpose::Write {
            let mut both = Direction::default();
            both.visit(v);
            self.forward = both.clone();
            self.backward = both;
        }
        v.section(
            "forward",
            "Only from the first host of `between` to the second.",
            &mut self.forward,
        );
        v.section(
            "backward",
            "Only from the second host of `between` to the first.",
            &mut self.backward,
        );
    }
}

impl Section for Direction {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        v.value(
            "rate",
            "Bits per second, such as \"10Mbit\"; \"unlimited\" transmits in no time.",
            optional,
            &mut OrWord {
                slot: &mut self.rate,
                word: "unlimited",
                inner: |slot| Box::new(BitRate(slot)),
            },
        );
        v.value(
            "delay",
            "Propagation delay, such as \"5ms\".",
            optional,
            &mut self.delay,
        );
        v.value(
            "mtu",
            "Largest packet in bytes, IP header included; larger ones are dropped.",
            optional,
            &mut Octets {
                slot: &mut self.mtu.0,
                min: 68,
                max: 65_535,
            },
        );
        v.variants(
            "queue",
            "Where packets wait for their transmission.",
            optional,
            &mut self.queue,
        );
        v.variants(
            "loss",
            "What gets lost on the wire.",
            optional,
            &mut self.loss,
        );
        if v.purpose() == Purpose::Read {
            v.variants("shaper", "", optional, &mut Shaper);
        }
    }
}

/// A key of a later version, so that its absence is explained.
struct Shaper;

impl Variants for Shaper {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    fn later(&self) -> &'static [&'static str] {
        &["tbf"]
    }
    fn kind(&self) -> &'static str {
        ""
    }
    fn set_kind(&mut self, _: &str) {}
    fn visit(&mut self, _: &mut dyn Visitor) {}
}

/// The limit of a drop-tail queue: a number of packets, or octets with their unit.
struct QueueLimit<'a>(&'a mut Limit);

impl Value for QueueLimit<'_> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let text = matches!(node.value, super::document::Value::Text(_));
        let mut number = 0_u64;
        let max = 1 << 50;
        if text {
            let slot = &mut number;
            Octets { slot, min: 1, max }.read(node)?;
            *self.0 = Limit::Bytes(number);
        } else {
            let unit = "packets";
            let slot = &mut number;
            let count = Count {
                slot,
                min: 1,
                max,
                unit,
            }
            .read(node);
            count.map_err(|problem| {
                let help = "write packets as a number (100) or bytes as a text (\"30000b\")";
                Problem::new(problem.message, help)
            })?;
            *self.0 = Limit::Packets(number);
        }
        Ok(())
    }
    fn write(&self) -> String {
        match *self.0 {
            Limit::Packets(number) => number.to_string(),
            Limit::Bytes(number) => format!("\"{number}b\""),
        }
    }
    fn describe(&self) -> serde_json::Value {
        serde_json::json!({ "anyOf": [
            { "type": "integer", "minimum": 1, "x-unit": "packets" },
            { "type": "string", "examples": ["30000b"], "x-unit": "bytes" } ] })
    }
}

impl Variants for QueueConfig {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[(
            "droptail",
            "First in, first out; a packet that finds it full is dropped.",
        )]
    }
    fn later(&self) -> &'static [&'static str] {
        &["red", "codel", "fq_codel", "pie", "tbf"]
    }
    fn kind(&self) -> &'static str {
        match self {
            Self::DropTail { .. } => "droptail",
            Self::Red(_) => "red",
            Self::Codel(_) => "codel",
            Self::FqCodel(_) => "fq_codel",
            Self::Pie(_) => "pie",
        }
    }
    fn set_kind(&mut self, _: &str) {
        *self = Self::default();
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        let Self::DropTail { limit } = self else {
            return;
        };
        v.value(
            "limit",
            "What it holds at most: packets as a number, or bytes such as \"30000b\".",
            Need::Optional,
            &mut QueueLimit(limit),
        );
    }
}

/// The rate of periodic losses: 1/rate packets are delivered, then one is dropped.
struct PeriodicRate<'a>(&'a mut u64);

impl Value for PeriodicRate<'_> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let mut rate = Probability::default();
        rate.read(node)?;
        let every = 1.0 / rate.get();
        let whole = libm::round(every);
        if !every.is_finite() || every > 1e15 {
            return Err(Problem::new(
                "a periodic loss of rate 0 never happens",
                "write { kind = \"none\" }",
            ));
        }
        if (every - whole).abs() > 1e-6 * every {
            return Err(Problem::new(
                format!(
                    "1 / {} is {every:.3}, not a whole number of packets",
                    rate.get()
                ),
                format!("{whole} packets delivered for one lost is {}", 1.0 / whole),
            ));
        }
        // `every` was checked to be at most 1e15.
        *self.0 = whole as u64;
        Ok(())
    }
    fn write(&self) -> String {
        super::value::write_float(1.0 / (*self.0).max(1) as f64)
    }
    fn describe(&self) -> serde_json::Value {
        Probability::default().describe()
    }
}

impl Variants for LossConfig {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("none", "Nothing is lost."),
            (
                "periodic",
                "1/rate packets are delivered, then one is lost.",
            ),
            (
                "random",
                "Each packet is lost with the same probability, independently.",
            ),
            (
                "gilbert",
                "Losses in bursts: a chain of a good and a bad state.",
            ),
            ("trace", "The packets with these numbers are lost."),
        ]
    }
    fn kind(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Periodic { .. } => "periodic",
            Self::Random { .. } => "random",
            Self::Gilbert { .. } => "gilbert",
            Self::Trace { .. } => "trace",
        }
    }
    fn set_kind(&mut self, kind: &str) {
        let zero = Probability::default();
        *self = match kind {
            "periodic" => Self::Periodic { every: 1 },
            "random" => Self::Random { probability: zero },
            "gilbert" => Self::Gilbert {
                to_bad: zero,
                to_good: zero,
                loss_in_good: zero,
                loss_in_bad: Probability::new(1.0).unwrap_or(zero),
            },
            "trace" => Self::Trace { drops: Vec::new() },
            _ => Self::None,
        };
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        let (required, optional) = (Need::Required, Need::Optional);
        match self {
            Self::None => {}
            Self::Periodic { every } => v.value(
                "rate",
                "1/rate packets are delivered, then one is lost; 1/rate must be whole.",
                required,
                &mut PeriodicRate(every),
            ),
            Self::Random { probability } => v.value(
                "rate",
                "The probability that a packet is lost.",
                required,
                probability,
            ),
            Self::Gilbert {
                to_bad,
                to_good,
                loss_in_good,
                loss_in_bad,
            } => {
                let doc = "Probability per packet of going from the good state to the bad one.";
                v.value("to_bad", doc, required, to_bad);
                let doc = "Probability per packet of going from the bad state to the good one.";
                v.value("to_good", doc, required, to_good);
                let doc = "Probability of loss in the good state.";
                v.value("loss_in_good", doc, optional, loss_in_good);
                let doc = "Probability of loss in the bad state.";
                v.value("loss_in_bad", doc, optional, loss_in_bad);
            }
            Self::Trace { drops } => v.value(
                "drops",
                "Numbers of the packets that are lost, counted from 0.",
                required,
                drops,
            ),
        }
    }
}

impl Section for Flow {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let (required, optional) = (Need::Required, Need::Optional);
        let doc = "The name that traces and options use.";
        v.value("name", doc, required, &mut Name(&mut self.name));
        let doc = "So many flows of the same kind, called NAME-1, NAME-2 and so on.";
        let count = &mut Count {
            slot: &mut self.count,
            min: 1,
            max: super::check::MAX_FLOWS,
            unit: "flows",
        };
        v.value("count", doc, optional, count);
        let doc = "The host that sends the data.";
        v.value("from", doc, required, &mut Name(&mut self.from));
        let doc = "The host that receives the data.";
        v.value("to", doc, required, &mut Name(&mut self.to));
        let doc = "The protocol that carries the data.";
        v.variants("transport", doc, required, &mut self.transport);
        let doc = "What writes the data. Bulk with packets of 1400 bytes if nothing is said.";
        v.variants("app", doc, optional, &mut self.app);
        let doc = "What the sender's packets suffer at its socket, before the wire.";
        v.variants("loss", doc, optional, &mut self.loss);
        let doc = "When the connection is opened.";
        v.value("start", doc, optional, &mut self.start);
        let stop = &mut OrWord {
            slot: &mut self.stop,
            word: "never",
            inner: |slot| Box::new(slot),
        };
        let doc = "When the sender stops writing; \"never\" before the end of the run.";
        v.value("stop", doc, optional, stop);
    }
}

impl Variants for Application {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("bulk", "Writes as much as the transport takes."),
            (
                "cbr",
                "Writes at constant intervals of packet * 8 / rate seconds.",
            ),
        ]
    }
    fn later(&self) -> &'static [&'static str] {
        &["onoff", "on_off", "audio", "trace"]
    }
    fn kind(&self) -> &'static str {
        match self {
            Self::Bulk(_) => "bulk",
            Self::Cbr(_) => "cbr",
        }
    }
    fn set_kind(&mut self, kind: &str) {
        *self = match kind {
            "cbr" => Self::Cbr(CbrConfig {
                packet: 1400,
                rate: 1,
                offset: Duration::ZERO,
                count: None,
                when_blocked: WhenBlocked::default(),
            }),
            _ => Self::default(),
        };
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        match self {
            Self::Bulk(bulk) => visit_bulk(bulk, v),
            Self::Cbr(cbr) => visit_cbr(cbr, v),
        }
    }
}

/// Bytes of one write.
fn packet(slot: &mut u32) -> Octets<'_, u32> {
    Octets {
        slot,
        min: 1,
        max: 65_535,
    }
}

fn visit_bulk(bulk: &mut BulkConfig, v: &mut dyn Visitor) {
    let doc = "Bytes of one write: the payload of a datagram, or a piece of a stream.";
    v.value("packet", doc, Need::Optional, &mut packet(&mut bulk.piece));
    let doc = "Bytes in all, then the connection is closed; \"endless\" never closes it.";
    let total = &mut OrWord {
        slot: &mut bulk.total,
        word: "endless",
        inner: |slot| {
            let (min, max) = (1, 1 << 62);
            Box::new(Octets { slot, min, max })
        },
    };
    v.value("total", doc, Need::Optional, total);
}

fn visit_cbr(cbr: &mut CbrConfig, v: &mut dyn Visitor) {
    let (required, optional) = (Need::Required, Need::Optional);
    let doc = "Bytes of one write: the payload of a datagram, or a piece of a stream.";
    v.value("packet", doc, optional, &mut packet(&mut cbr.packet));
    let doc = "Payload bits per second, such as \"64kbit\".";
    v.value("rate", doc, required, &mut BitRate(&mut cbr.rate));
    let doc = "Time from the handshake to the first write.";
    v.value("offset", doc, optional, &mut cbr.offset);
    let doc = "Number of writes, then the connection is closed; \"endless\" never closes it.";
    let count = &mut OrWord {
        slot: &mut cbr.count,
        word: "endless",
        inner: |slot| {
            let (min, max, unit) = (1, 1 << 62, "writes");
            Box::new(Count {
                slot,
                min,
                max,
                unit,
            })
        },
    };
    v.value("count", doc, optional, count);
    let doc = "When the transport has no room: \"skip\" the write, \"shift\" it and all later \
               ones, or \"catch_up\" with the timetable.";
    let when_blocked = &mut Choice {
        slot: &mut cbr.when_blocked,
        words: &[
            ("skip", WhenBlocked::Skip),
            ("shift", WhenBlocked::Shift),
            ("catch_up", WhenBlocked::CatchUp),
        ],
    };
    v.value("when_blocked", doc, optional, when_blocked);
}
