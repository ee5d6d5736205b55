//! `[[wifi]]`: a shared 802.11 medium, its stations, and what frames meet on the air.

use super::document::{Document, Step};
use super::error::ScenarioError;
use Step::{Index, Key};
use weir_net::wifi::{
    ChannelConfig, InterferenceConfig, PathLossConfig, PhyConfig, RateControlConfig, SignalConfig,
    StationConfig,
};
use weir_proto::settings;
use weir_proto::settings::{Diagnostic, name};

settings! {
    /// An 802.11 medium that its stations share.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Wifi {
        /// The name that traces and options use.
        pub name: String [required] => name(),
        /// Rates, preambles and frame times.
        pub phy: PhyConfig [flatten],
        /// How the signal weakens with the distance.
        pub path_loss: PathLossConfig [flatten],
        /// A station: a host on this medium, with its own queue.
        pub stations: Vec<Station> as "station",
        /// The signal from a time on; without an entry it is perfect.
        pub signal: Vec<SignalConfig>,
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
        wrong.map_or(Ok(()), |Wrong { steps, diagnostic }| {
            let path = [vec![Key("wifi"), Index(index)], steps].concat();
            Err(document.diagnosed(document.place(&path), diagnostic))
        })
    }

    fn wrong_station(&self) -> Option<Wrong> {
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

    fn wrong_signal(&self) -> Option<Wrong> {
        self.signal.iter().enumerate().find_map(|(n, signal)| {
            let at = [Key("signal"), Index(n), Key("at")];
            if signal.snr.is_some() == signal.distance.is_some() {
                let message = "signal: expected either \"snr\" or \"distance\"".to_owned();
                let help = "write snr = 25.0 (dB) or distance = 2.5 (metres)";
                return Some(wrong(at, message, help));
            }
            if n > 0 && signal.at <= self.signal[n - 1].at {
                let message = format!("at: {} is not after the entry before it", signal.at);
                return Some(wrong(at, message, "put the entries in order of time"));
            }
            None
        })
    }

    fn wrong_interference(&self) -> Option<Wrong> {
        self.interference
            .iter()
            .enumerate()
            .find_map(|(n, period)| {
                let at = |key| [Key("interference"), Index(n), Key(key)];
                if period.until <= period.from {
                    let message = format!("until: {} is not after \"from\"", period.until);
                    return Some(wrong(at("until"), message, "write a later time"));
                }
                if period.on.is_zero() || period.off.is_zero() {
                    let message = "on, off: expected more than 0s".to_owned();
                    let help = "write mean times such as \"5ms\"";
                    return Some(wrong(at("on"), message, help));
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

/// What is wrong with a key of a medium.
struct Wrong {
    /// The way from the medium to the key.
    steps: Vec<Step<'static>>,
    diagnostic: Diagnostic,
}

fn wrong<const N: usize>(
    steps: [Step<'static>; N],
    message: String,
    help: impl Into<String>,
) -> Wrong {
    Wrong {
        steps: steps.into(),
        diagnostic: Diagnostic::new(message, help),
    }
}
