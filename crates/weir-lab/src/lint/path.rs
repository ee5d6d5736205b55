//! The way of a flow's data over links.

use crate::scenario::{Direction, Flow, Link, Scenario};
use std::collections::BTreeMap;
use weir_net::LossConfig;
use weir_proto::time::Duration;
use weir_proto::units::Rate;

/// Octets that mahimahi delivers at one opportunity.
const OPPORTUNITY_BYTES: f64 = 1504.0;

/// A direction of a link on a path.
pub(super) struct Hop<'a> {
    /// The name of the direction, as traces have it.
    pub(super) name: String,
    pub(super) direction: &'a Direction,
}

/// The slowest direction of a path.
pub(super) struct Bottleneck<'a> {
    pub(super) name: String,
    pub(super) direction: &'a Direction,
    pub(super) rate: Rate,
}

/// The links from a flow's sender to its receiver, the fewest that there are.
pub(super) struct Path<'a> {
    pub(super) hops: Vec<Hop<'a>>,
    /// Propagation there and back and the delays of the hosts, without any queue; means of ranges.
    pub(super) base_rtt: Duration,
    /// The largest packet that passes, from the IP header on.
    pub(super) mtu: u32,
}

impl<'a> Path<'a> {
    /// The path of a flow; `None` if it leads over an 802.11 medium.
    pub(super) fn of(scenario: &'a Scenario, flow: &Flow) -> Option<Self> {
        let there = route(scenario, &flow.from, &flow.to)?;
        let back = route(scenario, &flow.to, &flow.from)?;
        let delays = there.iter().chain(&back);
        let wires: Duration = delays
            .map(|hop| mean(&hop.direction.delay))
            .fold(mean(&flow.access_delay) * 2, |sum, delay| sum + delay);
        let ends = scenario.hosts.iter();
        let ends = ends.filter(|host| [&flow.from, &flow.to].contains(&&host.name));
        let base_rtt = ends.fold(wires, |sum, host| {
            sum + host.timing.transmit_delay + host.timing.receive_delay
        });
        let mtu = there.iter().map(|hop| hop.direction.mtu).min()?;
        Some(Self {
            hops: there,
            base_rtt,
            mtu,
        })
    }

    /// The slowest direction; `None` if all are unlimited.
    pub(super) fn bottleneck(&self) -> Option<Bottleneck<'a>> {
        let rates = self.hops.iter().filter_map(|hop| {
            Some(Bottleneck {
                name: hop.name.clone(),
                direction: hop.direction,
                rate: rate_of(hop.direction)?,
            })
        });
        rates.min_by(|a, b| a.rate.as_bps().total_cmp(&b.rate.as_bps()))
    }

    /// The probability that a packet is lost on the wire or at the sender's socket, queues apart;
    /// `None` if a model says it by its states or a list.
    pub(super) fn loss(&self, flow: &Flow) -> Option<f64> {
        let wires = self.hops.iter().map(|hop| &hop.direction.loss);
        let arrives = wires.chain([&flow.loss]).map(|loss| match loss {
            LossConfig::None => Some(1.0),
            LossConfig::Random(random) => Some(1.0 - random.rate.get()),
            LossConfig::Periodic(periodic) => Some(1.0 - 1.0 / (periodic.every as f64 + 1.0)),
            LossConfig::Gilbert(_) | LossConfig::Trace(_) => None,
        });
        let arrives: Option<f64> = arrives.product();
        arrives.map(|share| 1.0 - share)
    }

    /// Octets that keep the slowest link busy for a round-trip time; `None` without a limit.
    pub(super) fn bdp_bytes(&self) -> Option<f64> {
        let rate = self.bottleneck()?.rate;
        Some(rate.as_bytes_per_sec() * self.base_rtt.as_secs_f64())
    }
}

/// The rate at which a direction sends in the long run: that of its shaper or of its trace, if it
/// has one.
fn rate_of(direction: &Direction) -> Option<Rate> {
    let link = direction.rate.map(|bps| bps as f64);
    let shaper = direction.shaper.as_ref().map(|shaper| shaper.rate as f64);
    let millis = &direction.rate_trace.millis;
    let period = millis.last().map(|&last| last as f64 / 1e3);
    let trace = period.map(|s| millis.len() as f64 * OPPORTUNITY_BYTES * 8.0 / s.max(1e-3));
    let rates = [link, shaper, trace].into_iter().flatten();
    rates.min_by(f64::total_cmp).map(Rate::from_bps)
}

fn mean(range: &weir_proto::DurationRange) -> Duration {
    range.least + (range.most - range.least) / 2
}

/// The links between two hosts, the fewest that there are; `None` without a way over wires.
fn route<'a>(scenario: &'a Scenario, from: &str, to: &str) -> Option<Vec<Hop<'a>>> {
    let mut came: BTreeMap<&str, Option<(&str, &'a Link, bool)>> = BTreeMap::from([(from, None)]);
    let mut front = vec![from];
    while !front.is_empty() && !came.contains_key(to) {
        let mut next = Vec::new();
        for host in front {
            for link in &scenario.links {
                let [first, second] = &link.between;
                for (near, far, forward) in [(first, second, true), (second, first, false)] {
                    if near == host && !came.contains_key(far.as_str()) {
                        came.insert(far, Some((host, link, forward)));
                        next.push(far.as_str());
                    }
                }
            }
        }
        front = next;
    }
    let mut hops = Vec::new();
    let mut at = to;
    while let Some((before, link, forward)) = *came.get(at)? {
        let [there, back] = link.trace_names();
        let (name, direction) = if forward {
            (there, &link.forward)
        } else {
            (back, &link.backward)
        };
        hops.push(Hop { name, direction });
        at = before;
    }
    hops.reverse();
    Some(hops)
}
