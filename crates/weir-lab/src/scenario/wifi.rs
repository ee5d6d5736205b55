//! `[[wifi]]`: a shared 802.11 medium, its stations, and the conditions on the air.

use super::document::{Document, Step};
use super::error::ScenarioError;
use Step::{Index, Key};
use std::collections::BTreeMap;
use weir_net::wifi::{
    Audibility, ChannelConfig, InterferenceConfig, MoveConfig, PathLossConfig, PhyConfig,
    RateControlConfig, SignalConfig, StationConfig,
};
use weir_proto::settings;
use weir_proto::settings::{Diagnostic, name, or_word};
use weir_proto::time::Duration;

settings! {
    /// An 802.11 medium that its stations share.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Wifi {
        /// The name that traces and options use.
        pub name: String [required] => name(),
        /// Rates, preambles and frame times.
        pub phy: PhyConfig [flatten],
        /// How signals weaken with the distance.
        pub path_loss: PathLossConfig [flatten],
        /// A station: a host on this medium, with its own queue.
        pub stations: Vec<Station> as "station",
        /// A station goes to another place.
        pub moves: Vec<Move> as "move",
        /// A signal-to-noise ratio from a time on, in place of that by distance.
        pub signal: Vec<Signal>,
        /// A source of bursts of interference that are not 802.11.
        pub interference: Vec<InterferenceConfig>,
    }
}

settings! {
    /// A station: a host on a medium, with its own queue.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Station {
        /// The host that it belongs to.
        pub host: String [required] => name(),
        /// Its queue, and how it sends.
        pub config: StationConfig [flatten],
    }
}

settings! {
    /// A station goes to another place.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Move {
        /// The host of the station.
        pub host: String [required] => name(),
        /// When, and where to.
        pub config: MoveConfig [flatten],
    }
}

settings! {
    /// A signal-to-noise ratio from a time on, in place of that by distance.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Signal {
        /// The host of the station whose frames, to it and from it, have this ratio; "all" for
        /// stations without a ratio of their own. Between two with their own the lower one holds.
        pub host: Option<String> => or_word("all", name()),
        /// The ratio, and from when on.
        pub config: SignalConfig [flatten],
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

    /// The conditions that frames meet on the air.
    pub fn channel(&self) -> ChannelConfig {
        let number = |host: &str| self.stations.iter().position(|s| s.host == host);
        let moves = self.moves.iter();
        let signal = |signal: &Signal| {
            let station = match &signal.host {
                Some(host) => Some(number(host)?),
                None => None,
            };
            Some((station, signal.config))
        };
        ChannelConfig {
            path_loss: self.path_loss,
            signal: self.signal.iter().filter_map(signal).collect(),
            moves: moves
                .filter_map(|to| Some((number(&to.host)?, to.config)))
                .collect(),
            interference: self.interference.clone(),
        }
    }

    /// Checks the keys that depend on each other; `index` is its index in the scenario.
    pub(super) fn check(&self, document: &Document, index: usize) -> Result<(), ScenarioError> {
        let wrong = self
            .wrong_station()
            .or_else(|| {
                let entries = self.signal.iter();
                let entries = entries.map(|entry| (entry.host.as_deref(), entry.config.at));
                self.wrong_schedule("signal", entries)
            })
            .or_else(|| {
                let entries = self.moves.iter();
                let entries = entries.map(|entry| (Some(entry.host.as_str()), entry.config.at));
                self.wrong_schedule("move", entries)
            })
            .or_else(|| self.wrong_interference());
        wrong.map_or(Ok(()), |InvalidKey { steps, diagnostic }| {
            let path = [vec![Key("wifi"), Index(index)], steps].concat();
            Err(document.diagnosed(document.place(&path), diagnostic))
        })
    }

    fn wrong_station(&self) -> Option<InvalidKey> {
        if self.stations.len() < 2 {
            let message = format!("wifi \"{}\" has fewer than two stations", self.name);
            let help = "add two [[wifi.station]] with host = \"NAME\"";
            return Some(wrong([Key("name")], message, help));
        }
        let unknown = |bps: u64| self.phy.standard.rate_of(bps).is_none();
        if self.phy.ack_rate.is_some_and(unknown) {
            let message = "ack_rate: the standard has no such rate".to_owned();
            return Some(wrong([Key("ack_rate")], message, self.rates_in_words()));
        }
        self.stations.iter().enumerate().find_map(|(n, station)| {
            let at = |key| [Key("station"), Index(n), Key(key)];
            if self.stations[..n].iter().any(|s| s.host == station.host) {
                let message = format!("host: \"{}\" has two stations here", station.host);
                return Some(wrong(at("host"), message, "name another host"));
            }
            match station.config.rate_control {
                RateControlConfig::Fixed(fixed) if unknown(fixed.rate) => {
                    let message = "rate: the standard has no such rate".to_owned();
                    let help = self.rates_in_words();
                    Some(wrong(at("rate_control"), message, help))
                }
                _ => None,
            }
        })
    }

    /// Checks a schedule: each entry names a station of the medium, and those of one station are in
    /// order of time.
    fn wrong_schedule<'a>(
        &self,
        key: &'static str,
        entries: impl Iterator<Item = (Option<&'a str>, Duration)>,
    ) -> Option<InvalidKey> {
        let mut past: BTreeMap<Option<&str>, Duration> = BTreeMap::new();
        for (n, (host, at)) in entries.enumerate() {
            if let Some(host) = host
                && !self.stations.iter().any(|station| station.host == host)
            {
                let message = format!("host: \"{host}\" has no station here");
                let help = "name the host of a [[wifi.station]]";
                return Some(wrong([Key(key), Index(n), Key("host")], message, help));
            }
            if past.insert(host, at).is_some_and(|before| at <= before) {
                let message = format!("at: {at} is not after the entry before it");
                let help = "put the entries in order of time";
                return Some(wrong([Key(key), Index(n), Key("at")], message, help));
            }
        }
        None
    }

    fn wrong_interference(&self) -> Option<InvalidKey> {
        self.interference
            .iter()
            .enumerate()
            .find_map(|(n, period)| {
                let at = |key| [Key("interference"), Index(n), Key(key)];
                if period.until <= period.from {
                    let message = format!("until: {} is not after \"from\"", period.until);
                    return Some(wrong(at("until"), message, "write a later time"));
                }
                if period.heard == Audibility::ByPower && period.power.is_none() {
                    let message = "heard: \"by_power\" needs a power".to_owned();
                    return Some(wrong(at("heard"), message, "write power = 15.0 (dBm)"));
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

/// An error in a key of a medium.
struct InvalidKey {
    /// The path from the medium to the key.
    steps: Vec<Step<'static>>,
    diagnostic: Diagnostic,
}

fn wrong<const N: usize>(
    steps: [Step<'static>; N],
    message: String,
    help: impl Into<String>,
) -> InvalidKey {
    InvalidKey {
        steps: steps.into(),
        diagnostic: Diagnostic::new(message, help),
    }
}
