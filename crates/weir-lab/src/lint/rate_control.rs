//! 802.11 rate control that mistakes collisions for a poor signal.

use super::{Finding, View};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let media = view.scenario.wifi.iter();
    let found = media.filter_map(|wifi| {
        let mistaken =
            |host: &&crate::scenario::Station| host.config.rate_control.mistakes_collisions();
        let station = wifi.stations.iter().find(mistaken)?;
        (wifi.stations.len() > 2).then(|| {
            Finding::new(
                "rate-control",
                &format!("wifi.{}.station.rate_control", wifi.name),
                format!(
                    "with {} stations, \"{}\" and others that use arf or aarf take collisions for \
                     a poor signal and go down to slow rates",
                    wifi.stations.len(),
                    station.host
                ),
                "minstrel does not",
            )
        })
    });
    found.collect()
}
