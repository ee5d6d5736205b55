//! The simulated network of a scenario: hosts, links, media, and flows with their endpoints.

mod arrivals;
pub(super) mod codec;
mod endpoints;
mod flows;
mod handshake;
mod quic_decoder;
pub(super) mod registry;
mod segments;
mod shim;
pub(super) mod tap;
mod tunnels;
pub(super) mod wire_encoding;

pub(in crate::run) use arrivals::SimTransfers;
pub use segments::{NetworkSegment, SegmentEnd, SegmentShaper};

use crate::run::record::flow_tables::WriteTrace;
use crate::run::record::recorder::Recorder;
use crate::run::{RunError, RunOptions};
use crate::scenario::{Direction, Host, Link, Scenario, Station, Wifi};
use crate::summary::{FlowStatistics, LossFinder, joined};
use codec::FirstFault;
use flows::PacketEncoding;
use std::collections::BTreeMap;
use std::sync::Arc;
use tap::SharedTap;
use weir_net::app::{VideoFrame, VideoTiming};
use weir_net::wifi::{MediumConfig, StationCounters};
use weir_net::{
    DelayStatistics, IntervalDelays, LinkConfig, LinkId, MediumId, Network, NetworkError, Side,
    TunnelId,
};
use weir_proto::endpoint::{CloseReason, Statistics};
use weir_proto::event::EventMask;
use weir_proto::packet::{FlowId, HostId};
use weir_proto::time::{Duration, Instant};

/// The part of a scenario that a simulation contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of it: no packet enters or leaves.
    Whole,
    /// The flows. Each host has a port; packets are octets, as on a socket.
    Flows,
    /// The links and media as separate segments: every end has its own host and port. Token buckets
    /// are left to a kernel, except those of links whose settings change.
    Links,
    /// The hosts, links and media as one network. Each host has a port.
    Network,
}

/// The simulated network, with names for its reports.
pub(in crate::run) struct SimNetwork {
    pub(in crate::run) network: Network,
    /// In the order of the scenario.
    pub(in crate::run) flows: Vec<SimFlow>,
    /// The flows with arrivals, in the order of the scenario.
    pub(in crate::run) transfers: Vec<SimTransfers>,
    /// Whether delays of newly opened connections are measured.
    measures_delays: bool,
    /// The number of open connections of transfers at which finished ones are searched for.
    next_sweep: usize,
    /// Links and stations with a queue and a trace, by their names in traces, in the order of the
    /// scenario.
    pub(in crate::run) links: Vec<(String, TracedLink)>,
    /// The segments of [`Scope::Links`].
    pub(in crate::run) segments: Vec<NetworkSegment>,
    /// The first error of a codec or tap.
    pub(in crate::run) fault: FirstFault,
    seed: u64,
    tap: Option<SharedTap>,
}

/// A flow of the simulated network.
pub(in crate::run) struct SimFlow {
    pub(in crate::run) id: FlowId,
    pub(in crate::run) name: String,
    /// The time at which its connection is opened.
    pub(in crate::run) start: Instant,
    writes: WriteTrace,
    finder: LossFinder,
    pub(in crate::run) counts_retransmissions: bool,
}

/// A direction of a link, a station of a medium, or the queue of a tunnel.
#[derive(Clone, Copy)]
pub(in crate::run) enum TracedLink {
    Link(LinkId),
    Station(MediumId, HostId),
    /// The queue of a tunnel at this side of its outer connection.
    Tunnel(TunnelId, Side),
}

/// All counters at a moment.
pub(in crate::run) struct Counters {
    pub(in crate::run) flows: Vec<FlowStatistics>,
    /// The summed counters of all connections of flows with arrivals.
    pub(in crate::run) transfers: Vec<FlowStatistics>,
    /// For a link, only the counters that it shares with a station are set.
    pub(in crate::run) links: Vec<StationCounters>,
}

/// The hosts of the network by their names.
type Hosts<'a> = BTreeMap<&'a str, (HostId, &'a Host)>;

impl SimNetwork {
    /// Builds this part of the scenario, with the tap of the options at all endpoints.
    pub(in crate::run) fn build(
        scenario: &Scenario,
        scope: Scope,
        options: &RunOptions<'_>,
    ) -> Result<Self, RunError> {
        let mut network = Self {
            network: Network::new(scenario.run.seed),
            flows: Vec::new(),
            transfers: Vec::new(),
            measures_delays: false,
            next_sweep: arrivals::FIRST_SWEEP,
            links: Vec::new(),
            segments: Vec::new(),
            fault: FirstFault::default(),
            seed: scenario.run.seed,
            tap: options.tap.cloned(),
        };
        // A capture has its packets in order, and a program may decide for several flows.
        if network.tap.is_some() || weir_proto::cc::window::added::any() {
            network.network.call_in_order();
        }
        if scope != Scope::Whole && !scenario.tunnels.is_empty() {
            let why = "a tunnel exists only in a simulation of the whole scenario";
            return Err(RunError::Build(why.to_owned()));
        }
        if scope == Scope::Links {
            network.add_segments(scenario)?;
            return Ok(network);
        }
        let hosts = network.add_hosts(scenario);
        if scope != Scope::Flows {
            network.add_links(scenario, &hosts)?;
        }
        if scope != Scope::Whole {
            for (id, _) in hosts.values() {
                network.network.add_port(*id).map_err(build_error)?;
            }
        }
        let encoding = match scope {
            Scope::Flows => PacketEncoding::Octets,
            _ if scenario.run.codec => PacketEncoding::RoundTrip,
            _ => PacketEncoding::Typed,
        };
        if scope != Scope::Network {
            network.add_flows(scenario, &hosts, encoding, options.registry)?;
            network.add_tunnels(scenario, &hosts, encoding, options.registry)?;
        }
        Ok(network)
    }

    fn add_hosts<'a>(&mut self, scenario: &'a Scenario) -> Hosts<'a> {
        let mut hosts = BTreeMap::new();
        for host in &scenario.hosts {
            let id = self.network.add_host(&host.name, host.timing);
            hosts.insert(host.name.as_str(), (id, host));
        }
        hosts
    }

    fn add_links(&mut self, scenario: &Scenario, hosts: &Hosts<'_>) -> Result<(), RunError> {
        for link in &scenario.links {
            let [from, to] = &link.between;
            let ends = [find(hosts, from)?.0, find(hosts, to)?.0];
            self.add_link(link, ends, scenario.delays_of(link))?;
        }
        for wifi in &scenario.wifi {
            let stations = wifi.stations.iter();
            let hosts = stations.map(|station| Ok(find(hosts, &station.host)?.0));
            self.add_wifi(wifi, &hosts.collect::<Result<Vec<_>, RunError>>()?)?;
        }
        Ok(())
    }

    /// Adds both directions of a link.
    fn add_link(
        &mut self,
        link: &Link,
        [from, to]: [HostId; 2],
        delays: [Duration; 2],
    ) -> Result<(), RunError> {
        let [forward, backward] = link.trace_names();
        let wire = Some(link.name.clone());
        let forward = config_of(forward, &link.forward, delays[0]);
        let backward = config_of(backward, &link.backward, delays[1]);
        self.add_direction(LinkConfig {
            from,
            to,
            wire: wire.clone(),
            ..forward
        })?;
        self.add_direction(LinkConfig {
            from: to,
            to: from,
            wire,
            ..backward
        })
    }

    fn add_direction(&mut self, config: LinkConfig) -> Result<(), RunError> {
        let name = config.name.clone();
        let id = self.network.add_link(config).map_err(build_error)?;
        self.links.push((name, TracedLink::Link(id)));
        Ok(())
    }

    /// Adds a medium whose stations are these hosts.
    fn add_wifi(&mut self, wifi: &Wifi, hosts: &[HostId]) -> Result<(), RunError> {
        let stations = wifi.stations.iter().zip(hosts);
        let config = |(station, &host): (&Station, &HostId)| (host, station.config.clone());
        let config = MediumConfig {
            name: wifi.name.clone(),
            phy: wifi.phy,
            stations: stations.clone().map(config).collect(),
            channel: wifi.channel(),
        };
        let id = self.network.add_medium(config).map_err(build_error)?;
        let traced = |(station, &host)| (wifi.trace_name(station), TracedLink::Station(id, host));
        self.links.extend(stations.map(traced));
        Ok(())
    }

    /// Sets the event masks of all sources to the events that the recorder needs.
    pub(in crate::run) fn listen(&mut self, recorder: &mut Recorder) {
        for flow in &self.flows {
            let source = |side| self.network.source_of_flow(flow.id, side);
            let (Some(sender), Some(receiver)) = (source(Side::Sender), source(Side::Receiver))
            else {
                continue;
            };
            let (from, to) = self.network.ends_of_flow(flow.id);
            recorder.follow(flow.id, &flow.name, [from.0, to.0]);
            let ends = [sender, receiver];
            let masks = recorder.add_flow((flow.id, &flow.name), ends, flow.writes);
            for (source, mask) in ends.into_iter().zip(masks) {
                self.network.set_mask_of(source, mask);
            }
        }
        for (name, link) in &self.links {
            let source = match *link {
                TracedLink::Link(id) => Some(self.network.source_of_link(id)),
                TracedLink::Station(id, host) => self.network.source_of_station(id, host),
                TracedLink::Tunnel(id, side) => Some(self.network.source_of_tunnel(id, side)),
            };
            let Some(source) = source else { continue };
            let mask = recorder.add_link(name, source);
            if mask != EventMask::NONE {
                self.network.set_mask_of(source, mask);
            }
        }
    }

    /// All counters at the current time.
    pub(in crate::run) fn counters(&mut self) -> Counters {
        let flows = self.flows.iter().map(|flow| self.flow_statistics(flow));
        let flows = flows.collect();
        let links = self.link_counters(usize::MAX);
        let sum = |set: &SimTransfers| {
            set.statistics(|flow| FlowStatistics::new(self.statistics(flow), set.finder))
        };
        let transfers = self.transfers.iter().map(sum).collect();
        Counters {
            flows,
            transfers,
            links,
        }
    }

    /// The counters of the first links and stations.
    pub(in crate::run) fn link_counters(&mut self, most: usize) -> Vec<StationCounters> {
        let link = |(_, link): &(String, TracedLink)| match *link {
            TracedLink::Link(id) => StationCounters {
                link: self.network.link_counters(id),
                ..StationCounters::default()
            },
            TracedLink::Station(id, host) => {
                self.network.station_counters(id, host).unwrap_or_default()
            }
            TracedLink::Tunnel(id, side) => StationCounters {
                link: self.network.tunnel_counters(id, side),
                ..StationCounters::default()
            },
        };
        self.links.iter().take(most).map(link).collect()
    }

    fn flow_statistics(&self, flow: &SimFlow) -> FlowStatistics {
        FlowStatistics::new(self.statistics(flow.id), flow.finder)
    }

    /// The statistics of the sender and of the receiver.
    fn statistics(&self, flow: FlowId) -> [Statistics; 2] {
        [Side::Sender, Side::Receiver].map(|side| self.network.statistics(flow, side))
    }

    /// Restricts the count of loss events to packets sent from this time on.
    pub(in crate::run) fn count_loss_events_from(&mut self, at: Instant) {
        for flow in &self.flows {
            self.network.count_loss_events_from(flow.id, at);
        }
    }

    /// Starts or restarts measuring the delays of all flows.
    pub(in crate::run) fn measure_delays(&mut self) {
        self.measures_delays = true;
        for flow in &self.flows {
            self.network.measure_delays(flow.id, Side::Receiver);
        }
        self.measure_transfers();
    }

    /// Ends measuring: the delays of each flow, if they were measured.
    pub(in crate::run) fn take_delays(&mut self) -> Vec<Option<DelayStatistics>> {
        let ids = self.flows.iter().map(|flow| flow.id);
        ids.map(|id| self.network.take_delays(id, Side::Receiver))
            .collect()
    }

    /// The counters of each flow, and its delays since the last call; flows with arrivals come
    /// after the others.
    pub(in crate::run) fn intervals(
        &mut self,
    ) -> impl Iterator<Item = (FlowStatistics, IntervalDelays)> + '_ {
        let transfers = self.intervals_of_transfers();
        let flows = (0..self.flows.len()).map(|index| {
            let id = self.flows[index].id;
            let delays = self.network.take_interval_delays(id, Side::Receiver);
            (self.flow_statistics(&self.flows[index]), delays)
        });
        flows.chain(transfers)
    }

    /// Octets of application data delivered so far, for each flow.
    pub(in crate::run) fn delivered(&self) -> impl Iterator<Item = u64> + '_ {
        let receivers = self.flows.iter();
        let statistics = receivers.map(|flow| self.network.statistics(flow.id, Side::Receiver));
        statistics.map(|statistics| statistics.payload_received)
    }

    /// The frames of a flow's video and their timing; `None` without video.
    pub(in crate::run) fn video(&self, flow: FlowId) -> Option<(Vec<VideoFrame>, VideoTiming)> {
        let [source, sink] =
            [Side::Sender, Side::Receiver].map(|side| self.network.app_report(flow, side));
        Some((joined(source.frames, sink.frames), source.video_timing?))
    }

    /// The reason of an abnormal end of a flow's connection, as reported by its sender, or else by
    /// its receiver.
    pub(in crate::run) fn ended(&self, flow: FlowId) -> Option<String> {
        let closed = [Side::Sender, Side::Receiver]
            .into_iter()
            .find_map(|side| self.network.app_report(flow, side).statistics.closed)?;
        match closed {
            CloseReason::Finished => None,
            CloseReason::Reset(code) => Some(format!("reset with code {code}")),
            CloseReason::TimedOut => Some("timed out".to_owned()),
        }
    }
}

/// The configuration of a direction of a link with its name in traces.
fn config_of(name: String, direction: &Direction, delay: Duration) -> LinkConfig {
    LinkConfig {
        name,
        rate: direction.rate,
        shaper: direction.shaper,
        policer: direction.policer,
        ack_thinning: direction.ack_thinning,
        delay,
        mtu: Some(direction.mtu),
        queue: direction.queue.clone(),
        loss: direction.loss.clone(),
        netem: direction.netem,
        outages: direction.outages.clone(),
        ecn_faults: direction.ecn_faults,
        class_delays: direction.class_delays.clone(),
        rate_trace: Arc::clone(&direction.rate_trace.millis),
        changes: direction.changes.clone(),
        ..LinkConfig::default()
    }
}

fn build_error(error: NetworkError) -> RunError {
    RunError::Build(error.to_string())
}

fn no_host(name: &str) -> RunError {
    RunError::Build(format!("there is no host \"{name}\""))
}

fn find<'a>(hosts: &Hosts<'a>, name: &str) -> Result<(HostId, &'a Host), RunError> {
    hosts.get(name).copied().ok_or_else(|| no_host(name))
}
