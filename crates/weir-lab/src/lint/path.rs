//! The path of a flow's data over links.

use crate::scenario::{Direction, Flow, Graph, Hop, Scenario};
use weir_net::LossConfig;
use weir_proto::time::Duration;
use weir_proto::units::Rate;

/// A direction of a link on a path.
pub(crate) struct Wire<'a> {
    /// The name of the direction, as traces have it.
    pub(crate) name: String,
    pub(crate) direction: &'a Direction,
}

impl<'a> Wire<'a> {
    /// `None` for a hop over an 802.11 medium.
    fn of(hop: &Hop<'a>) -> Option<Self> {
        Some(Self {
            name: hop.trace_name()?,
            direction: hop.direction()?,
        })
    }
}

/// The slowest direction of a path.
pub(crate) struct Bottleneck<'a> {
    pub(crate) name: String,
    pub(crate) direction: &'a Direction,
    pub(crate) rate: Rate,
    /// Whether its policer determines the rate.
    pub(crate) is_policed: bool,
}

/// The links from a flow's sender to its receiver: the path with the fewest hops.
pub(crate) struct Path<'a> {
    pub(crate) hops: Vec<Wire<'a>>,
    /// The base RTT: propagation in both directions and the delays of the hosts, without queueing;
    /// random values by their means, changing ones averaged over the measured time.
    pub(crate) base_rtt: Duration,
    /// The largest packet that passes, from the IP header on.
    pub(crate) mtu: u32,
    /// The start and end of the measured time.
    span: [Duration; 2],
}

impl<'a> Path<'a> {
    /// The path of a flow; `None` if it crosses an 802.11 medium.
    pub(crate) fn of(scenario: &'a Scenario, graph: &Graph<'a>, flow: &Flow) -> Option<Self> {
        let wires = |from: &str, to: &str| -> Option<Vec<Wire<'a>>> {
            graph.path(from, to)?.iter().map(Wire::of).collect()
        };
        let there = wires(&flow.from, &flow.to)?;
        let back = wires(&flow.to, &flow.from)?;
        let span = [scenario.run.warmup, scenario.run.duration];
        let delays = there.iter().chain(&back);
        let wires: Duration = delays
            .map(|hop| hop.direction.mean_delay(span))
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
            span,
        })
    }

    /// The slowest direction; `None` if all are unlimited. The rates of wires, token buckets and
    /// policers count, including changes during the measured time.
    pub(crate) fn bottleneck(&self) -> Option<Bottleneck<'a>> {
        let rates = self.hops.iter().filter_map(|hop| {
            Some(Bottleneck {
                name: hop.name.clone(),
                direction: hop.direction,
                rate: hop.direction.mean_rate(self.span)?,
                is_policed: hop.direction.is_policed(self.span),
            })
        });
        rates.min_by(|a, b| a.rate.as_bps().total_cmp(&b.rate.as_bps()))
    }

    /// The rate of a direction in bit/s; infinite if it is unlimited.
    pub(crate) fn rate_bps(&self, direction: &Direction) -> f64 {
        let rate = direction.mean_rate(self.span);
        rate.map_or(f64::INFINITY, Rate::as_bps)
    }

    /// The probability that a packet is lost on the wire or at the sender's socket, without queue
    /// drops; `None` for a loss model that is a list of packets.
    pub(crate) fn loss(&self, flow: &Flow) -> Option<f64> {
        let wires = self.hops.iter().map(|hop| &hop.direction.loss);
        let losses = wires.chain([&flow.loss]).map(LossConfig::mean_loss);
        let arrives: Option<f64> = losses.map(|loss| Some(1.0 - loss?)).product();
        arrives.map(|share| 1.0 - share)
    }

    /// The bandwidth-delay product at the slowest link in octets; `None` without a bottleneck.
    pub(crate) fn bdp_bytes(&self) -> Option<f64> {
        let rate = self.bottleneck()?.rate;
        Some(rate.as_bytes_per_sec() * self.base_rtt.as_secs_f64())
    }
}

fn mean(range: &weir_proto::DurationRange) -> Duration {
    range.least + (range.most - range.least) / 2
}
