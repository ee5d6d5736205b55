//! Values that a run draws once from its seed: starts of flows, arrivals and sizes of transfers,
//! delays of access links and of links.
//!
//! Each value has its own random stream, so that an additional range changes no other value.

use super::arrivals::Transfer;
use super::{Flow, Link, Scenario};
use std::collections::BTreeMap;
use weir_proto::DurationRange;
use weir_proto::rng::Rng;
use weir_proto::time::Duration;

impl Scenario {
    fn draw(&self, range: DurationRange, stream: &str) -> Duration {
        range.draw(&mut Rng::stream(self.run.seed, stream))
    }

    /// The start time of each flow of a `count`, with its name.
    pub fn starts_of(&self, flow: &Flow) -> impl Iterator<Item = (String, Duration)> {
        flow.names().enumerate().map(|(number, name)| {
            let drawn = self.draw(flow.start, &format!("flow/{name}/start"));
            (name, drawn + flow.stagger * number as u64)
        })
    }

    /// The transfers of the flow of this name, which starts at this time: those that begin before
    /// it stops and before the run ends. `None` for a single connection.
    pub fn transfers_of(&self, flow: &Flow, name: &str, start: Duration) -> Option<Vec<Transfer>> {
        let end = flow.stop.unwrap_or(self.run.duration);
        let stream = |what: &str| Rng::stream(self.run.seed, &format!("flow/{name}/{what}"));
        let streams = ["arrivals", "sizes"].map(stream);
        let span = [start, end.min(self.run.duration)];
        flow.arrivals.transfers(span, streams)
    }

    /// The delay of the access link of the flow of this name, in each direction.
    pub fn access_delay_of(&self, flow: &Flow, name: &str) -> Duration {
        self.draw(flow.access_delay, &format!("flow/{name}/access_delay"))
    }

    /// The delays of a link, forward and backward. Both directions draw the same number, so that
    /// equal ranges give equal delays.
    pub fn delays_of(&self, link: &Link) -> [Duration; 2] {
        let stream = format!("link/{}/delay", link.name);
        [&link.forward, &link.backward].map(|direction| self.draw(direction.delay, &stream))
    }

    /// All random values in seconds, by flow or link and key: `flow.NAME.start_s`,
    /// `flow.NAME.access_delay_s`, `link.NAME.delay_s`.
    pub fn drawn(&self) -> BTreeMap<String, f64> {
        let mut drawn = BTreeMap::new();
        for flow in &self.flows {
            for (name, start) in self.starts_of(flow) {
                if flow.start.is_random() {
                    drawn.insert(format!("flow.{name}.start_s"), start.as_secs_f64());
                }
                if flow.access_delay.is_random() {
                    let delay = self.access_delay_of(flow, &name);
                    drawn.insert(format!("flow.{name}.access_delay_s"), delay.as_secs_f64());
                }
            }
        }
        for link in &self.links {
            let directions = [&link.forward, &link.backward].into_iter();
            let delays = directions.zip(self.delays_of(link)).zip(link.trace_names());
            for ((direction, delay), name) in delays {
                if direction.delay.is_random() {
                    drawn.insert(format!("link.{name}.delay_s"), delay.as_secs_f64());
                }
            }
        }
        drawn
    }
}
