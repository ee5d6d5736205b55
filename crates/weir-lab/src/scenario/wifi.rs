//! `[[wifi]]`: a shared 802.11 medium, its stations, and what frames meet on the air.

use super::document::{Document, Node, Step};
use super::error::{Problem, ScenarioError};
use super::value::{BitRate, Choice, Count, Name, Octets, OrWord};
use super::visit::{Need, Section, Value, Variants, Visitor};
use weir_net::wifi::{
    Audibility, ChannelConfig, FixedRateConfig, InterferenceConfig, PathLossConfig, PhyConfig,
    RateControlConfig, SignalConfig, Standard, StationConfig,
};

/// A medium that its stations share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wifi {
    /// Its name. The traces of a station have the name `NAME.HOST`.
    pub name: String,
    /// Rates, preambles and frame times.
    pub phy: PhyConfig,
    /// How the signal weakens with the distance.
    pub path_loss: PathLossConfig,
    /// The stations that share it.
    pub stations: Vec<Station>,
    /// The signal, from each time on.
    pub signal: Vec<SignalConfig>,
    /// Sources of interference.
    pub interference: Vec<InterferenceConfig>,
}

/// `[[wifi.station]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Station {
    /// The host that it belongs to.
    pub host: String,
    /// Its queue, and how it sends.
    pub config: StationConfig,
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

    /// What frames meet on the air.
    pub fn channel(&self) -> ChannelConfig {
        ChannelConfig {
            path_loss: self.path_loss,
            signal: self.signal.clone(),
            interference: self.interference.clone(),
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
        let unknown = |bps: u64| self.phy.standard.rate_of(bps).is_none();
        if self.phy.ack_rate.is_some_and(unknown) {
            let message = "ack_rate: the standard has no such rate".to_owned();
            return Wrong::at("ack_rate", message, self.rates_in_words());
        }
        self.stations.iter().enumerate().find_map(|(n, station)| {
            if self.stations[..n].iter().any(|s| s.host == station.host) {
                let message = format!("host: \"{}\" has two stations here", station.host);
                return Wrong::within(("station", n), "host", message, "name another host");
            }
            match station.config.rate_control {
                RateControlConfig::Fixed(fixed) if unknown(fixed.rate) => {
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
        let rates: Vec<_> = self.phy.standard.rates_kbps().iter().map(mbit).collect();
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
            slot: &mut self.phy.standard,
            words: &[
                ("b", Standard::B),
                ("b_short", Standard::BShort),
                ("g", Standard::G),
            ],
        };
        v.value("standard", doc, optional, standard);
        let doc = "A slot: \"standard\", or \"20us\" for a cell of g with b stations in it.";
        let slot = &mut OrWord {
            slot: &mut self.phy.slot,
            word: "standard",
            inner: |slot| Box::new(slot),
        };
        v.value("slot", doc, optional, slot);
        let doc = "The smallest contention window as the largest number of slots drawn.";
        let window = &mut OrWord {
            slot: &mut self.phy.min_window,
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
            slot: &mut self.phy.ack_rate,
            word: "mandatory",
            inner: |slot| Box::new(BitRate(slot)),
        };
        v.value("ack_rate", doc, optional, ack_rate);
        let doc = "The signal-to-noise ratio in dB at a distance of one metre.";
        v.value(
            "snr_at_1m",
            doc,
            optional,
            &mut Signed(&mut self.path_loss.snr_at_1m),
        );
        let doc = "The exponent of the path loss: 2 in free space, 3 to 4 indoors.";
        v.value("path_loss", doc, optional, &mut self.path_loss.exponent);
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
        v.variants("queue", doc, optional, &mut self.config.queue);
        let doc = "Largest packet in bytes, IP header included; larger ones are dropped.";
        let mtu = &mut Octets {
            slot: &mut self.config.mtu,
            min: 68,
            max: 2304,
        };
        v.value("mtu", doc, optional, mtu);
        let doc = "How it chooses its rate.";
        v.variants("rate_control", doc, optional, &mut self.config.rate_control);
        let doc = "Transmissions of a frame before it is given up.";
        let limit = &mut Count {
            slot: &mut self.config.retry_limit,
            min: 1,
            max: 255,
            unit: "transmissions",
        };
        v.value("retry_limit", doc, optional, limit);
    }
}

impl Variants for RateControlConfig {
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
            "fixed" => Self::Fixed(FixedRateConfig::default()),
            "arf" => Self::Arf,
            _ => Self::Aarf,
        };
    }
    fn visit(&mut self, v: &mut dyn Visitor) {
        if let Self::Fixed(fixed) = self {
            let doc = "A rate of the standard, such as \"11Mbit\".";
            v.value("rate", doc, Need::Required, &mut BitRate(&mut fixed.rate));
        }
    }
}

impl Section for SignalConfig {
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

impl Section for InterferenceConfig {
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
