//! Each station of a medium belongs to one host.

use super::super::wifi::Wifi;
use super::{Check, Checked};
use crate::scenario::document::Step::{Index, Key};

impl Check<'_> {
    /// Checks the stations of the medium with this index.
    pub(super) fn stations(&self, index: usize, wifi: &Wifi) -> Checked {
        let templates = self.scenario.templates();
        for (n, station) in wifi.stations.iter().enumerate() {
            let at = |key| {
                [
                    Key("wifi"),
                    Index(index),
                    Key("station"),
                    Index(n),
                    Key(key),
                ]
            };
            self.classes(&station.config.queue, &at("queue"))?;
            let host = &station.host;
            if let Some(count) = templates.get(host) {
                let message = format!("host: \"{host}\" stands for {count} hosts");
                let help = format!("name one of them, \"{host}-1\", in a station of its own");
                return self.error(&at("host"), message, help);
            }
        }
        Ok(())
    }
}
