//! Estimates the size of a run before it starts, from rates, packet sizes and path lengths.
//!
//! The estimate is accurate to about a factor of three: it assumes that each greedy flow gets an
//! equal share of its narrowest link and that all transfers of arrivals complete, and it ignores
//! losses. Its purpose is to distinguish seconds from hours.

use super::model::{Direction, Flow, Scenario};
use super::paths::{Graph, Hop, HopMedium};
use super::transport::Transport;
use std::collections::BTreeMap;
use weir_proto::time::Duration;
use weir_proto::units::Rate;

/// Simulator events for each data packet and hop, with an acknowledgement for every other packet;
/// and for each packet at the ends of its path.
const EVENTS_PER_HOP: f64 = 1.5;
const EVENTS_AT_ENDS: f64 = 0.5;
/// The maximum octets in flight of a sender without a stated limit: about the default receive
/// buffers of TCP and QUIC.
const FLOW_CONTROL: f64 = 6e6;
/// The maximum throughput of a shared 802.11 medium in bit/s.
const MEDIUM_RATE: f64 = 30e6;
/// Packets of a sender for opening and closing a connection, plus a last packet that is not full.
const PACKETS_OF_A_CONNECTION: f64 = 3.0;
/// The size of a full packet in octets.
const FULL_PACKET: f64 = 1500.0;
/// Events that a core processes per second.
const EVENTS_PER_SECOND: f64 = 3e6;
/// The estimated seconds above which a run gets a warning.
const LONG: f64 = 120.0;

/// The size of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Data packets that the flows send.
    pub packets: f64,
    /// Events that the simulator processes.
    pub events: f64,
}

impl Estimate {
    /// The time for which one core will be busy, in seconds.
    pub fn seconds(&self) -> f64 {
        self.events / EVENTS_PER_SECOND
    }

    /// A warning as text, if the run will take minutes.
    pub fn warning(&self) -> Option<String> {
        let seconds = self.seconds();
        let time = match seconds {
            _ if seconds < LONG => return None,
            ..7_200.0 => format!("{:.0} minutes", seconds / 60.0),
            ..172_800.0 => format!("{:.0} hours", seconds / 3_600.0),
            _ => format!("{:.0} days", seconds / 86_400.0),
        };
        Some(format!(
            "about {:.0e} packets and {:.0e} events, some {time}; \
             max_time and max_events of [run] bound it, or --max-time and --max-events",
            self.packets, self.events
        ))
    }
}

impl Scenario {
    /// The estimated size of the run; `None` if a flow's sending is not limited.
    pub fn estimate(&self) -> Option<Estimate> {
        let graph = Graph::of(self);
        let paths = self.flows.iter();
        let paths = paths.map(|flow| graph.path(&flow.from, &flow.to).unwrap_or_default());
        let paths: Vec<Vec<Hop<'_>>> = paths.collect();
        let mut greedy: BTreeMap<usize, f64> = BTreeMap::new();
        for (flow, path) in self.flows.iter().zip(&paths) {
            if flow.app.load().is_none() && flow.is_one_connection() {
                for hop in path {
                    *greedy.entry(hop.number).or_default() += f64::from(flow.count);
                }
            }
        }
        let mut total = Estimate {
            packets: 0.0,
            events: 0.0,
        };
        for (flow, path) in self.flows.iter().zip(&paths) {
            let share = |hop: &Hop<'_>| {
                bits_per_second(hop, self.run.duration)
                    / greedy.get(&hop.number).copied().unwrap_or(1.0)
            };
            let narrowest = path.iter().map(share).fold(f64::INFINITY, f64::min);
            let packets = self.packets(flow, narrowest, path)? * f64::from(flow.count);
            total.packets += packets;
            total.events += packets * (EVENTS_AT_ENDS + EVENTS_PER_HOP * path.len() as f64);
        }
        Some(total)
    }

    /// The first flow that writes without end over a path without any delay in both directions:
    /// simulated time would never advance.
    pub(super) fn timeless_flow(&self) -> Option<usize> {
        let graph = Graph::of(self);
        let host_takes_time = |name: &str| {
            let host = self.hosts.iter().find(|host| host.name == name);
            host.is_some_and(|host| {
                let timing = &host.timing;
                !timing.transmit_delay.is_zero()
                    || !timing.receive_delay.is_zero()
                    || !timing.jitter.most.is_zero()
            })
        };
        self.flows.iter().position(|flow| {
            let there = graph.path(&flow.from, &flow.to);
            let back = graph.path(&flow.to, &flow.from);
            let mut hops = there.iter().chain(&back).flatten();
            let link_takes_time = hops.any(takes_time);
            let hosts = [&flow.from, &flow.to];
            flow.app.is_endless_bulk()
                && flow.access_delay.most.is_zero()
                && !link_takes_time
                && !hosts.into_iter().any(|host| host_takes_time(host))
        })
    }

    /// Data packets of one flow with a known share of its narrowest link.
    fn packets(&self, flow: &Flow, bps: f64, path: &[Hop<'_>]) -> Option<f64> {
        let duration = self.run.duration;
        let end = flow.stop.map_or(duration, |stop| stop.min(duration));
        let active = end.saturating_sub(flow.start.least).as_secs_f64();
        if let Some(load) = flow.app.load() {
            let written = load.per_second * active;
            return Some(written.min(load.count.unwrap_or(u64::MAX) as f64));
        }
        let transfers = flow.arrivals.expected(end.saturating_sub(flow.start.least));
        if let Some((transfers, bytes)) = transfers.zip(flow.arrivals.mean_bytes()) {
            // The path limits the delivered octets.
            let octets = (transfers * bytes).min(active * bps / 8.0);
            return Some(octets / FULL_PACKET + transfers * PACKETS_OF_A_CONNECTION);
        }
        let round_trip = 2.0 * path.iter().map(delay_s).sum::<f64>()
            + 2.0 * flow.access_delay.least.as_secs_f64();
        let bps = bps.min(in_flight(&flow.transport) * 8.0 / round_trip);
        let endless = active * bps / (FULL_PACKET * 8.0);
        let total = flow.app.total().map(|bytes| bytes as f64 / FULL_PACKET);
        let packets = total.map_or(endless, |total| total.min(endless));
        packets.is_finite().then_some(packets)
    }
}

/// The octets in flight that buffers and flow-control credit allow.
fn in_flight(transport: &Transport) -> f64 {
    let limit = transport.in_flight_limit();
    limit.map_or(FLOW_CONTROL, |(_, bytes)| bytes as f64)
}

/// The rate of a hop in a run in bit/s; infinite if it is unlimited for some time.
fn bits_per_second(hop: &Hop<'_>, run: Duration) -> f64 {
    let rate = |direction: &Direction| {
        let is_limited = direction.rates().iter().all(|rate| rate.1.is_finite());
        let rate = direction.mean_rate([Duration::ZERO, run]);
        rate.filter(|_| is_limited)
            .map_or(f64::INFINITY, Rate::as_bps)
    };
    match hop.over {
        // The links below a tunnel are hops of the path too.
        HopMedium::Tunnel { .. } => f64::INFINITY,
        _ => hop.direction().map_or(MEDIUM_RATE, rate),
    }
}

/// The propagation delay in seconds, the minimum of a range.
fn delay_s(hop: &Hop<'_>) -> f64 {
    let delay = hop.direction().map(|direction| direction.delay.least);
    delay.unwrap_or_default().as_secs_f64()
}

/// True if packets take time on a hop, at least sometimes.
fn takes_time(hop: &Hop<'_>) -> bool {
    if let HopMedium::Tunnel { .. } = hop.over {
        return false;
    }
    hop.direction().is_none_or(|direction| {
        // A policer passes or drops packets without delay.
        let mut served = direction.service_rates().into_iter();
        served.any(|rate| rate.1.is_finite())
            || !direction.delay.most.is_zero()
            || !direction.netem.jitter.is_zero()
            || !direction.changes.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use crate::run::{RunOptions, run};
    use crate::scenario::parse;

    fn scenario(link: &str, flow: &str) -> crate::scenario::Scenario {
        let text = format!(
            "[run]\nduration = \"2s\"\n[[link]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\n{link}\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
        );
        parse(&text, "test").expect("a valid scenario")
    }

    #[test]
    fn an_estimate_is_right_within_a_factor_of_three() {
        let tcp = "transport = { kind = \"tcp\" }";
        let quic = "transport = { kind = \"quic\" }";
        let udp = "transport = { kind = \"udp\" }\n\
                   app = { kind = \"cbr\", rate = \"2Mbit\", packet = 500 }";
        let slow = "rate = \"10Mbit\"\ndelay = \"10ms\"";
        let wide = "delay = \"50ms\"";
        let table = [
            (slow, tcp),
            (slow, quic),
            (slow, udp),
            (wide, tcp),
            (wide, udp),
        ];
        for (link, flow) in table {
            let scenario = scenario(link, flow);
            let estimate = scenario.estimate().expect("bounded");
            let output = run(&scenario, &RunOptions::default()).expect("it runs");
            let events = output.summary.run.events as f64;
            let sent = output.summary.flows["f"].packets_sent as f64;
            let ratio = estimate.packets / sent;
            assert!(
                (0.33..3.0).contains(&ratio),
                "{link} {flow}: packets {ratio}"
            );
            // Packets that arrive together, as on a link without a rate, are one event.
            let ratio = estimate.events / events;
            let most = if link == slow { 3.0 } else { f64::INFINITY };
            assert!(
                (0.33..most).contains(&ratio),
                "{link} {flow}: events {ratio}"
            );
        }
    }

    #[test]
    fn transfers_of_arrivals_are_counted_by_their_sizes() {
        let arrivals = |size: &str| {
            format!(
                "transport = {{ kind = \"tcp\" }}\n\
                 arrivals = {{ kind = \"poisson\", per_second = 50, size = {size} }}"
            )
        };
        let fast = "rate = \"1Gbit\"\ndelay = \"5ms\"";
        for size in [
            "{ kind = \"constant\", bytes = 500 }",
            "{ kind = \"exponential\", mean = 100000 }",
            "{ kind = \"cdf\", cdf = [[1000, 0.5], [90000, 1.0]] }",
        ] {
            let scenario = scenario(fast, &arrivals(size));
            let estimate = scenario.estimate().expect("bounded");
            let output = run(&scenario, &RunOptions::default()).expect("it runs");
            let sent = output.summary.transfers["f"].packets_sent as f64;
            let ratio = estimate.packets / sent;
            assert!((0.5..2.0).contains(&ratio), "{size}: packets {ratio}");
            let ratio = estimate.events / output.summary.run.events as f64;
            assert!((0.33..3.0).contains(&ratio), "{size}: events {ratio}");
        }
        // The arrivals exceed the capacity of the path, which limits the packets.
        let crowded = scenario(
            "rate = \"1Mbit\"\ndelay = \"5ms\"",
            &arrivals("{ kind = \"constant\", bytes = 1000000 }"),
        );
        let estimate = crowded.estimate().expect("bounded");
        assert!(estimate.packets < 1000.0, "{estimate:?}");
    }

    #[test]
    fn a_long_run_is_warned_of_and_one_without_bounds_has_no_estimate() {
        let tcp = "transport = { kind = \"tcp\" }";
        let short = scenario("rate = \"10Mbit\"", tcp).estimate();
        assert_eq!(short.expect("bounded").warning(), None);
        let long = scenario("rate = \"90000Gbit\"", tcp).estimate();
        let warning = long.expect("bounded").warning().expect("a warning");
        assert!(
            warning.contains("minutes") || warning.contains("hours"),
            "{warning}"
        );
        let jitter = "netem = { jitter = \"1ms\" }";
        assert_eq!(scenario(jitter, tcp).estimate(), None);
        let finite = format!("{tcp}\napp = {{ kind = \"bulk\", total = 150000 }}");
        let estimate = scenario(jitter, &finite).estimate().expect("bounded");
        assert!((estimate.packets - 100.0).abs() < 1.0, "{estimate:?}");
    }
}
