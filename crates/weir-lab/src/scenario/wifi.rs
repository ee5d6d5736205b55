//! `[[wifi]]`: a shared 802.11 medium, its stations, and what frames meet on the air.

use super::document::{Document, Node, Step};
use super::error::{Problem, ScenarioError};
use super::model::Mtu;
use super::value::{BitRate, Choice, Count, Name, Octets, OrWord};
use super::visit::{Need, Section, Value, Variants, Visitor};
use weir_net::QueueConfig;
use weir_net::wifi::{
    Audibility, ChannelConfig, InterferenceConfig, Phy, PhyRate, RateControlConfig, Standard,
};
use weir_proto::time::{Duration, Instant};

/// A medium that its stations share.
#[derive(Clone, Debug, PartialEq)]
pub struct Wifi {
    /// Its name. The traces of a station have the name `NAME.HOST`.
    pub name: String,
    /// Rates, preambles and frame times.
    pub standard: Standard,
    /// A slot; `None` as the standard has it.
    pub slot: Option<Duration>,
    /// The smallest contention window; `None` as the standard has it.
    pub min_window: Option<u32>,
    /// The fastest rate of MAC acknowledgements in bits per second; `None` the mandatory ones.
    pub ack_rate: Option<u64>,
    /// The signal-to-noise ratio at one metre in dB.
    pub snr_at_1m: f64,
    /// The exponent of the path loss.
    pub path_loss: f64,
    /// Who shares it; the first two of them are enough for a link.
    pub stations: Vec<Station>,
    /// What the signal is like, from each time on.
    pub signal: Vec<Signal>,
    /// Sources of interference.
    pub interference: Vec<Interference>,
}

/// `[[wifi.station]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Station {
    /// The host that it belongs to.
    pub host: String,
    /// Where its packets wait.
    pub queue: QueueConfig,
    /// Its largest packet.
    pub mtu: Mtu,
    /// How it chooses its rate.
    pub rate_control: RateControl,
    /// Transmissions of a frame before it is given up.
    pub retry_limit: RetryLimit,
}

/// Transmissions of a frame before it is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryLimit(pub u32);

/// How a station chooses its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateControl {
    /// Always this rate, in bits per second.
    Fixed(u64),
    /// ARF.
    Arf,
    /// AARF.
    #[default]
    Aarf,
}

/// `[[wifi.signal]]`: the path between the stations from a time on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signal {
    /// From when on.
    pub at: Duration,
    /// Signal-to-noise ratio in dB.
    pub snr: Option<f64>,
    /// Metres between the stations.
    pub distance: Option<f64>,
}

/// `[[wifi.interference]]`: bursts of something that is not 802.11.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interference {
    /// From when on.
    pub from: Duration,
    /// Until when.
    pub until: Duration,
    /// Mean length of a burst.
    pub on: Duration,
    /// Mean pause between bursts.
    pub off: Duration,
    /// Whether stations hear them.
    pub heard: Audibility,
}

impl Default for Wifi {
    fn default() -> Self {
        Self {
            name: String::new(),
            standard: Standard::G,
            slot: None,
            min_window: None,
            ack_rate: None,
            snr_at_1m: 60.0,
            path_loss: 3.0,
            stations: Vec::new(),
            signal: Vec::new(),
            interference: Vec::new(),
        }
    }
}

impl Default for RetryLimit {
    fn default() -> Self {
        Self(7)
    }
}

impl Wifi {
    /// The name of the traces of a station.
    pub fn trace_name(&self, station: &Station) -> String {
        format!("{}.{}", self.name, station.host)
    }

    /// Every ordered pair of different stations.
    pub fn pairs(&self) -> impl Iterator<Item = (&Station, &Station)> {
        let others = |near: &Station| {
            let host = near.host.clone();
            self.stations.iter().filter(move |far| far.host != host)
        };
        self.stations
            .iter()
            .flat_map(move |near| others(near).map(move |far| (near, far)))
    }

    /// The physical layer.
    pub fn phy(&self) -> Phy {
        let mut phy = Phy::from(self.standard);
        phy.slot = self.slot.unwrap_or(phy.slot);
        phy.min_window = self.min_window.unwrap_or(phy.min_window);
        phy.ack_rate = self.ack_rate.and_then(|bps| self.standard.rate_of(bps));
        phy
    }

    /// What frames meet.
    pub fn channel(&self) -> ChannelConfig {
        let snr_db = |signal: &Signal| {
            let at_distance =
                |metres| ChannelConfig::snr_at(metres, self.snr_at_1m, self.path_loss);
            signal.snr.or(signal.distance.map(at_distance))
        };
        let at = |time: Duration| Instant::ZERO + time;
        ChannelConfig {
            snr_db: self
                .signal
                .iter()
                .filter_map(|signal| Some((at(signal.at), snr_db(signal)?)))
                .collect(),
            interference: self
                .interference
                .iter()
                .map(|period| InterferenceConfig {
                    start: at(period.from),
                    stop: at(period.until),
                    mean_on: period.on,
                    mean_off: period.off,
                    heard: period.heard,
                })
                .collect(),
        }
    }

    /// How a station chooses its rate, in the standard's own numbering.
    pub fn rate_control(&self, station: &Station) -> RateControlConfig {
        match station.rate_control {
            RateControl::Arf => RateControlConfig::Arf,
            RateControl::Aarf => RateControlConfig::Aarf,
            RateControl::Fixed(bps) => {
                RateControlConfig::Fixed(self.standard.rate_of(bps).unwrap_or(PhyRate(0)))
            }
        }
    }

    /// What must hold between its keys; `index` is its place in the scenario.
    pub(super) fn check(&self, document: &Document, index: usize) -> Result<(), ScenarioError> {
        let wrong = self
            .wrong_station()
            .or_else(|| self.wrong_signal())
            .or_else(|| self.wrong_interference());
        let Some(Wrong {
            list,
            key,
            message,
            help,
        }) = wrong
        else {
            return Ok(());
        };
        let mut path = vec![Step::Key("wifi"), Step::Index(index)];
        if let Some((list, index)) = list {
            path.extend([Step::Key(list), Step::Index(index)]);
        }
        path.push(Step::Key(key));
        Err(document.error(&document.place(&path), message, Some(help)))
    }

    fn wrong_station(&self) -> Option<Wrong> {
        if self.stations.len() < 2 {
            let message = format!("wifi \"{}\" has fewer than two stations", self.name);
            return Wrong::at(
                "name",
                message,
                "add two [[wifi.station]] with host = \"NAME\"",
            );
        }
        let unknown = |bps: u64| self.standard.rate_of(bps).is_none();
        if self.ack_rate.is_some_and(unknown) {
            let message = "ack_rate: the standard has no such rate".to_owned();
            return Wrong::at("ack_rate", message, self.rates_in_words());
        }
        self.stations.iter().enumerate().find_map(|(n, station)| {
            if self.stations[..n].iter().any(|s| s.host == station.host) {
                let message = format!("host: \"{}\" has two stations here", station.host);
                return Wrong::within(("station", n), "host", message, "name another host");
            }
            match station.rate_control {
                RateControl::Fixed(bps) if unknown(bps) => {
                    let message = "rate: the standard has no such rate".to_owned();
                    let help = self.rates_in_words();
                    Wrong::within(("station", n), "rate_control", message, help)
                }
                _ => None,
            }
        })
    }

    fn wrong_signal(&self) -> Option<Wrong> {
        self.signal.iter().enumerate().find_map(|(n, signal)| {
            let entry = ("signal", n);
            if signal.snr.is_some() == signal.distance.is_some() {
                let message = "signal: expected either \"snr\" or \"distance\"".to_owned();
                let help = "write snr = 25.0 (dB) or distance = 2.5 (metres)";
                return Wrong::within(entry, "at", message, help);
            }
            if n > 0 && signal.at <= self.signal[n - 1].at {
                let message = format!("at: {} is not after the entry before it", signal.at);
                return Wrong::within(entry, "at", message, "put the entries in order of time");
            }
            None
        })
    }

    fn wrong_interference(&self) -> Option<Wrong> {
        self.interference
            .iter()
            .enumerate()
            .find_map(|(n, period)| {
                let entry = ("interference", n);
                if period.until <= period.from {
                    let message = format!("until: {} is not after \"from\"", period.until);
                    return Wrong::within(entry, "until", message, "write a later time");
                }
                if period.on.is_zero() || period.off.is_zero() {
                    let message = "on, off: expected more than 0s".to_owned();
                    return Wrong::within(entry, "on", message, "write mean times such as \"5ms\"");
                }
                None
            })
    }

    fn rates_in_words(&self) -> String {
        let mbit = |&kbps: &u32| format!("{}Mbit", f64::from(kbps) / 1e3);
        let rates: Vec<_> = self.standard.rates_kbps().iter().map(mbit).collect();
        format!("it has {}", rates.join(", "))
    }
}

/// What is wrong with a key, perhaps of an entry of a list.
struct Wrong {
    list: Option<(&'static str, usize)>,
    key: &'static str,
    message: String,
    help: String,
}

impl Wrong {
    #[allow(clippy::unnecessary_wraps, reason = "callers return it as it is")]
    fn at(key: &'static str, message: String, help: impl Into<String>) -> Option<Self> {
        let (list, help) = (None, help.into());
        Some(Self {
            list,
            key,
            message,
            help,
        })
    }

    fn within(
        entry: (&'static str, usize),
        key: &'static str,
        message: String,
        help: impl Into<String>,
    ) -> Option<Self> {
        let wrong = Self::at(key, message, help)?;
        Some(Self {
            list: Some(entry),
            ..wrong
        })
    }
}

/// A number that may be negative, in the unit that its key's documentation says.
struct Signed<'a>(&'a mut f64);

impl Value for Signed<'_> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let number = match node.value {
            super::document::Value::Float(number) => number,
            super::document::Value::Integer(number) => number as f64,
            _ => f64::NAN,
        };
        if !(-1000.0..=1000.0).contains(&number) {
            let found = node.value.describe();
            let message = format!("expected a number between -1000 and 1000, found {found}");
            return Err(Problem::new(message, "write a number such as 25.0"));
        }
        *self.0 = number;
        Ok(())
    }
    fn write(&self) -> String {
        super::value::write_float(*self.0)
    }
    fn describe(&self) -> serde_json::Value {
        serde_json::json!({ "type": "number", "minimum": -1000, "maximum": 1000 })
    }
}

/// A positive distance in metres.
struct Metres<'a>(&'a mut f64);

impl Value for Metres<'_> {
    fn read(&mut self, node: &Node) -> Result<(), Problem> {
        let mut metres = 0.0;
        metres.read(node)?;
        if !(0.01..=1e5).contains(&metres) {
            let message = format!("expected 0.01 to 100000 metres, found {metres}");
            return Err(Problem::new(
                message,
                "write a number of metres such as 2.5",
            ));
        }
        *self.0 = metres;
        Ok(())
    }
    fn write(&self) -> String {
        super::value::write_float(*self.0)
    }
    fn describe(&self) -> serde_json::Value {
        serde_json::json!({ "type": "number", "minimum": 0.01, "x-unit": "metres" })
    }
}

impl Section for Wifi {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let (required, optional) = (Need::Required, Need::Optional);
        let doc = "The name that traces and options use.";
        v.value("name", doc, required, &mut Name(&mut self.name));
        let doc = "802.11b with the long preamble, 802.11b with the short one, or 802.11g.";
        let standard = &mut Choice {
            slot: &mut self.standard,
            words: &[
                ("b", Standard::B),
                ("b_short", Standard::BShort),
                ("g", Standard::G),
            ],
        };
        v.value("standard", doc, optional, standard);
        let doc = "A slot: \"standard\", or \"20us\" for a cell of g with b stations in it.";
        let slot = &mut OrWord {
            slot: &mut self.slot,
            word: "standard",
            inner: |slot| Box::new(slot),
        };
        v.value("slot", doc, optional, slot);
        let doc = "The smallest contention window as the largest number of slots drawn.";
        let window = &mut OrWord {
            slot: &mut self.min_window,
            word: "standard",
            inner: |slot| {
                let (min, max, unit) = (1, 1023, "slots");
                Box::new(Count {
                    slot,
                    min,
                    max,
                    unit,
                })
            },
        };
        v.value("min_window", doc, optional, window);
        let doc = "The fastest rate of MAC acknowledgements: the access point's basic rates.";
        let ack_rate = &mut OrWord {
            slot: &mut self.ack_rate,
            word: "mandatory",
            inner: |slot| Box::new(BitRate(slot)),
        };
        v.value("ack_rate", doc, optional, ack_rate);
        let doc = "The signal-to-noise ratio in dB at a distance of one metre.";
        v.value("snr_at_1m", doc, optional, &mut Signed(&mut self.snr_at_1m));
        let doc = "The exponent of the path loss: 2 in free space, 3 to 4 indoors.";
        v.value("path_loss", doc, optional, &mut self.path_loss);
        let doc = "A station: a host on this medium, with its own queue.";
        v.list("station", doc, &mut self.stations);
        let doc = "The signal from a time on; without an entry it is perfect.";
        v.list("signal", doc, &mut self.signal);
        let doc = "A source of bursts of interference that are not 802.11.";
        v.list("interference", doc, &mut self.interference);
    }
}

impl Section for Station {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let optional = Need::Optional;
        let doc = "The host that it belongs to.";
        v.value("host", doc, Need::Required, &mut Name(&mut self.host));
        let doc = "Where its packets wait; the one being sent is not in it.";
        v.variants("queue", doc, optional, &mut self.queue);
        let doc = "Largest packet in bytes, IP header included; larger ones are dropped.";
        let mtu = &mut Octets {
            slot: &mut self.mtu.0,
            min: 68,
            max: 2304,
        };
        v.value("mtu", doc, optional, mtu);
        let doc = "How it chooses its rate.";
        v.variants("rate_control", doc, optional, &mut self.rate_control);
        let doc = "Transmissions of a frame before it is given up.";
        let limit = &mut Count {
            slot: &mut self.retry_limit.0,
            min: 1,
            max: 255,
            unit: "transmissions",
        };
        v.value("retry_limit", doc, optional, limit);
    }
}

impl Variants for RateControl {
    fn kinds(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "aarf",
                "Adaptive ARF: waits longer after each rise that failed.",
            ),
            ("arf", "Up after ten successes, down after two failures."),
            ("fixed", "Always the same `rate`."),
        ]
    }
    fn kind(&self) -> &'static str {
        match self {
            Self::Fixed(_) => "fixed",
            Self::Arf => "arf",
            Self::Aarf => "aarf",
        }
    }
    fn set_kind(&mut self, kind: &str) {
        *self = match kind {
            "fixed" => Self::Fixed(0),
            "arf" => Self::Arf,
            _ => Self::Aarf,
        };
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        if let Self::Fixed(rate) = self {
            let doc = "A rate of the standard, such as \"11Mbit\".";
            v.value("rate", doc, Need::Required, &mut BitRate(rate));
        }
    }
}

impl Section for Signal {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let doc = "From when on it holds.";
        v.value("at", doc, Need::Required, &mut self.at);
        let doc = "Signal-to-noise ratio in dB; \"by_distance\" if `distance` says it.";
        let snr = &mut OrWord {
            slot: &mut self.snr,
            word: "by_distance",
            inner: |slot| Box::new(Signed(slot)),
        };
        v.value("snr", doc, Need::Optional, snr);
        let doc = "Metres between the stations; \"by_snr\" if `snr` says it.";
        let distance = &mut OrWord {
            slot: &mut self.distance,
            word: "by_snr",
            inner: |slot| Box::new(Metres(slot)),
        };
        v.value("distance", doc, Need::Optional, distance);
    }
}

impl Section for Interference {
    fn visit(&mut self, v: &mut dyn Visitor) {
        let required = Need::Required;
        v.value("from", "When it begins.", required, &mut self.from);
        v.value("until", "When it ends.", required, &mut self.until);
        let doc = "Mean length of a burst, exponentially distributed.";
        v.value("on", doc, required, &mut self.on);
        let doc = "Mean pause between bursts, exponentially distributed.";
        v.value("off", doc, required, &mut self.off);
        let heard = &mut Choice {
            slot: &mut self.heard,
            words: &[
                ("everywhere", Audibility::Everywhere),
                ("at_receivers", Audibility::AtReceivers),
            ],
        };
        let doc = "Whether stations hear it and wait, or only receivers, so that frames fail.";
        v.value("heard", doc, Need::Optional, heard);
    }
}
