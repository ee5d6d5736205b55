//! From a scenario to a network: hosts, links, and the flows with their endpoints.

use super::codec::{Codec, FirstFault};
use super::endpoints::FlowEnvironment;
use super::network_segment::{NetworkSegment, SegmentEnd, SegmentShaper};
use super::recorder::{Recorder, Writes};
use super::registry::{EndpointPair, TransportRegistry};
use super::shim::Shimmed;
use super::simulation::Scope;
use super::tap::{SharedTap, TapEnd, TapShim};
use super::wire_encoding::WireEncoding;
use super::{RunError, RunOptions, endpoints, wire_encoding};
use crate::scenario::{Direction, Flow, Host, Link, Scenario, Transport, Wifi};
use std::collections::BTreeMap;
use std::sync::Arc;
use weir_net::app::{AppEnvironment, AppPair, Delivery, PlaybackReport};
use weir_net::wifi::{MediumConfig, StationCounters};
use weir_net::{FlowConfig, HostTiming, LinkConfig, LinkId, MediumId, Network, NetworkError, Side};
use weir_proto::endpoint::{CloseReason, Endpoint, Statistics};
use weir_proto::event::{EventMask, EventSource};
use weir_proto::packet::{FlowId, HostId};
use weir_proto::quic::wire::HeaderFormat;
use weir_proto::rng::Rng;
use weir_proto::time::Instant;

/// A network and the names of what is in it, in the order in which it was added.
pub(super) struct SimNetwork {
    pub(super) network: Network,
    seed: u64,
    flows: Vec<FlowId>,
    flow_names: Vec<String>,
    writes: Vec<Writes>,
    links: Vec<TracedLink>,
    link_names: Vec<String>,
    segments: Vec<NetworkSegment>,
    fault: FirstFault,
    tap: Option<SharedTap>,
}

/// What has a queue and a trace: a direction of a link, or a station of a medium.
#[derive(Clone, Copy)]
enum TracedLink {
    Link(LinkId),
    Station(MediumId, HostId),
}

/// The counters of both ends of a flow.
pub(super) struct FlowCounters {
    pub(super) sender: Statistics,
    pub(super) receiver: Statistics,
}

/// All counters at a moment.
pub(super) struct Counters {
    pub(super) flows: Vec<FlowCounters>,
    /// For a link only what it has in common with a station.
    pub(super) links: Vec<StationCounters>,
}

/// Where the flows of one entry lie.
struct FlowPath<'a> {
    ends: [(HostId, &'a Host); 2],
    path_mtu: u32,
    form: PacketEncoding,
    registry: TransportRegistry<'a>,
}

/// In which form packets travel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PacketEncoding {
    Typed,
    /// Typed, but encoded and decoded on the way.
    RoundTrip,
    /// Octets, as a socket takes them.
    Octets,
}

type Hosts<'a> = BTreeMap<&'a str, (HostId, &'a Host)>;
type BoxedEndpoint = Box<dyn Endpoint + Send>;

impl SimNetwork {
    /// Builds what this part of the scenario names, with the options' tap on all endpoints.
    pub(super) fn build(
        scenario: &Scenario,
        part: Scope,
        options: &RunOptions<'_>,
    ) -> Result<Self, RunError> {
        let mut network = Self {
            network: Network::new(scenario.run.seed),
            seed: scenario.run.seed,
            flows: Vec::new(),
            flow_names: Vec::new(),
            writes: Vec::new(),
            links: Vec::new(),
            link_names: Vec::new(),
            segments: Vec::new(),
            fault: FirstFault::default(),
            tap: options.tap.cloned(),
        };
        match part {
            Scope::Whole => {
                let hosts = network.add_hosts(scenario);
                network.add_network(scenario, &hosts)?;
                network.add_flows(scenario, &hosts, (PacketEncoding::Typed, options.registry))?;
            }
            Scope::Flows => {
                let hosts = network.add_hosts(scenario);
                network.add_ports(&hosts)?;
                network.add_flows(scenario, &hosts, (PacketEncoding::Octets, options.registry))?;
            }
            Scope::Links => network.add_segments(scenario)?,
            Scope::Network => {
                let hosts = network.add_hosts(scenario);
                network.add_network(scenario, &hosts)?;
                network.add_ports(&hosts)?;
            }
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

    fn add_ports(&mut self, hosts: &Hosts<'_>) -> Result<(), RunError> {
        let mut ids = hosts.values().map(|(id, _)| *id);
        ids.try_for_each(|id| self.network.add_port(id).map_err(built))
    }

    fn add_network(&mut self, scenario: &Scenario, hosts: &Hosts<'_>) -> Result<(), RunError> {
        for link in &scenario.links {
            let ends = [
                find(hosts, &link.between[0])?.0,
                find(hosts, &link.between[1])?.0,
            ];
            self.add_wire(link, ends)?;
        }
        for wifi in &scenario.wifi {
            let find = |host: &String| Ok(find(hosts, host)?.0);
            let stations = wifi.stations.iter().map(|station| find(&station.host));
            self.add_wifi(wifi, &stations.collect::<Result<Vec<_>, RunError>>()?)?;
        }
        Ok(())
    }

    /// Each link and medium between hosts of its own.
    fn add_segments(&mut self, scenario: &Scenario) -> Result<(), RunError> {
        // The octets that packets of flows have more on sockets shall not change what fits.
        let more = wire_encoding::ENCAPSULATION;
        let of_kernel = |direction: &Direction| direction.changes.is_empty();
        for link in &scenario.links {
            let directions = [&link.forward, &link.backward];
            let mut ends = Vec::new();
            for (host, direction) in link.between.iter().zip(directions) {
                let shaper = direction.shaper.filter(|_| of_kernel(direction));
                ends.push(SegmentEnd {
                    host: index_of(scenario, host)?,
                    port: self.add_port(host, &link.name)?,
                    shaper: shaper.map(|bucket| SegmentShaper {
                        bucket,
                        limit: bucket.queue_limit().unwrap_or(0),
                    }),
                });
            }
            let mut rest = link.clone();
            let rests = [&mut rest.forward, &mut rest.backward];
            for (direction, end) in rests.into_iter().zip(&ends) {
                direction.shaper = direction.shaper.filter(|_| end.shaper.is_none());
                direction.mtu.0 += more;
            }
            let nothing = |direction: &Direction| {
                let mtu = direction.mtu;
                *direction
                    == Direction {
                        mtu,
                        ..Direction::default()
                    }
            };
            let plain = nothing(&rest.forward) && nothing(&rest.backward);
            if let [from, to] = ends.as_slice() {
                self.add_wire(&rest, [from.port, to.port])?;
            }
            self.segments.push(NetworkSegment {
                ends,
                mtu: rest.forward.mtu.0.max(rest.backward.mtu.0),
                plain,
            });
        }
        for wifi in &scenario.wifi {
            let mut ends = Vec::new();
            for station in &wifi.stations {
                ends.push(SegmentEnd {
                    host: index_of(scenario, &station.host)?,
                    port: self.add_port(&station.host, &wifi.name)?,
                    shaper: None,
                });
            }
            let ports: Vec<_> = ends.iter().map(|end| end.port).collect();
            let mut wifi = wifi.clone();
            for station in &mut wifi.stations {
                station.config.mtu += more;
            }
            self.add_wifi(&wifi, &ports)?;
            let mtus = wifi.stations.iter().map(|station| station.config.mtu);
            self.segments.push(NetworkSegment {
                ends,
                mtu: mtus.max().unwrap_or_default(),
                plain: false,
            });
        }
        Ok(())
    }

    /// A host for one end of a link or medium, with a port.
    fn add_port(&mut self, host: &str, of: &str) -> Result<HostId, RunError> {
        let name = format!("{host} at {of}");
        let id = self.network.add_host(&name, HostTiming::default());
        self.network.add_port(id).map_err(built)?;
        Ok(id)
    }

    fn add_flows(
        &mut self,
        scenario: &Scenario,
        hosts: &Hosts<'_>,
        (form, registry): (PacketEncoding, TransportRegistry<'_>),
    ) -> Result<(), RunError> {
        let form = match form {
            PacketEncoding::Typed if scenario.run.codec => PacketEncoding::RoundTrip,
            form => form,
        };
        for flow in &scenario.flows {
            let ends = [find(hosts, &flow.from)?, find(hosts, &flow.to)?];
            let place = FlowPath {
                ends,
                path_mtu: scenario.path_mtu(flow),
                form,
                registry,
            };
            for (number, name) in flow.names().enumerate() {
                let start = Instant::ZERO + flow.start + flow.stagger * number as u64;
                self.add_flow(flow, (name, start), &place)?;
            }
        }
        Ok(())
    }

    /// Both directions of a link.
    fn add_wire(&mut self, link: &Link, ends: [HostId; 2]) -> Result<(), RunError> {
        let [forward, backward] = link.trace_names();
        self.add_link(forward, &link.forward, (ends[0], ends[1]))?;
        self.add_link(backward, &link.backward, (ends[1], ends[0]))
    }

    fn add_link(
        &mut self,
        name: String,
        direction: &Direction,
        (from, to): (HostId, HostId),
    ) -> Result<(), RunError> {
        let config = LinkConfig {
            name: name.clone(),
            from,
            to,
            rate: direction.rate,
            shaper: direction.shaper,
            delay: direction.delay,
            mtu: Some(direction.mtu.0),
            queue: direction.queue,
            loss: direction.loss.clone(),
            netem: direction.netem,
            rate_trace: direction.rate_trace.millis.clone(),
            changes: direction.changes.clone(),
        };
        let id = self.network.add_link(config).map_err(built)?;
        self.links.push(TracedLink::Link(id));
        self.link_names.push(name);
        Ok(())
    }

    /// A medium whose stations belong to these hosts.
    fn add_wifi(&mut self, wifi: &Wifi, hosts: &[HostId]) -> Result<(), RunError> {
        let stations = wifi.stations.iter().zip(hosts);
        let stations: Vec<_> = stations.map(|(s, &host)| (host, s.config)).collect();
        let config = MediumConfig {
            name: wifi.name.clone(),
            phy: wifi.phy,
            stations,
            channel: wifi.channel(),
        };
        let id = self.network.add_medium(config).map_err(built)?;
        for (station, &host) in wifi.stations.iter().zip(hosts) {
            self.links.push(TracedLink::Station(id, host));
            self.link_names.push(wifi.trace_name(station));
        }
        Ok(())
    }

    fn source(&self, link: TracedLink) -> Option<EventSource> {
        match link {
            TracedLink::Link(id) => Some(self.network.source_of_link(id)),
            TracedLink::Station(id, host) => self.network.source_of_station(id, host),
        }
    }

    fn link_counters(&mut self, link: TracedLink) -> StationCounters {
        match link {
            TracedLink::Link(id) => StationCounters {
                link: self.network.link_counters(id),
                ..StationCounters::default()
            },
            TracedLink::Station(id, host) => {
                self.network.station_counters(id, host).unwrap_or_default()
            }
        }
    }

    fn add_flow(
        &mut self,
        flow: &Flow,
        (name, start): (String, Instant),
        place: &FlowPath<'_>,
    ) -> Result<(), RunError> {
        let seed = Rng::stream(self.seed, &format!("flow/{name}/endpoints")).next_u64();
        let around = FlowEnvironment {
            hosts: place.ends.map(|(_, host)| host),
            path_mtu: place.path_mtu,
            seed,
            registry: place.registry,
        };
        let pair = endpoints::pair(flow, &around).map_err(RunError::Build)?;
        let pair = self.tapped(pair, TapEnd::pair(flow, self.flows.len(), place.ends));
        let header = match &flow.transport {
            Transport::Quic(quic) => quic.header,
            _ => HeaderFormat::RFC9000,
        };
        let form = match (place.form, &flow.transport) {
            // A datagram of UDP is its payload, quinn's packets are octets from the start: there
            // is nothing to check.
            (PacketEncoding::RoundTrip, Transport::Udp(_) | Transport::Quinn(_)) => {
                PacketEncoding::Typed
            }
            (form, _) => form,
        };
        let [sender, receiver] = pair.map(|endpoint| -> BoxedEndpoint {
            match form {
                PacketEncoding::Typed => endpoint,
                PacketEncoding::RoundTrip => Box::new(Shimmed::new(
                    endpoint,
                    Codec::new(header, self.fault.clone()),
                )),
                PacketEncoding::Octets => {
                    Box::new(Shimmed::new(endpoint, WireEncoding::new(&flow.transport)))
                }
            }
        });
        let AppPair { source, sink } = self.apps(flow, &name);
        let config = FlowConfig {
            name: name.clone(),
            source: place.ends[0].0,
            target: place.ends[1].0,
            sender,
            receiver,
            app: source,
            sink,
            loss: flow.loss.clone(),
            connects: Side::Sender,
            start,
            stop: flow.stop.map(|stop| Instant::ZERO + stop),
        };
        let id = self.network.add_flow(config).map_err(built)?;
        self.flows.push(id);
        self.flow_names.push(name);
        self.writes.push(match flow.transport {
            Transport::Dccp(_) => Writes::Kept,
            _ => Writes::Dropped,
        });
        Ok(())
    }

    /// The endpoints with the tap on them, if there is one.
    fn tapped(&self, pair: EndpointPair, ends: [TapEnd; 2]) -> EndpointPair {
        let Some(tap) = &self.tap else {
            return pair;
        };
        let [sender, receiver] = pair;
        [(sender, ends[0]), (receiver, ends[1])].map(|(endpoint, end)| -> BoxedEndpoint {
            let fault = self.fault.clone();
            Box::new(Shimmed::new(
                endpoint,
                TapShim::new(end, Arc::clone(tap), fault),
            ))
        })
    }

    /// What writes and what reads.
    fn apps(&self, flow: &Flow, name: &str) -> AppPair {
        let delivery = match flow.transport {
            Transport::Dccp(_) | Transport::Udp(_) => Delivery::Datagrams,
            Transport::Quic(_) | Transport::Quinn(_) | Transport::Tcp(_) => Delivery::Stream,
        };
        flow.app.build(AppEnvironment {
            seed: self.seed,
            flow: name,
            delivery,
        })
    }

    /// What the listener of a flow heard, if it has one.
    pub(super) fn playback(&self, flow: usize) -> Option<PlaybackReport> {
        let id = *self.flows.get(flow)?;
        self.network.app_report(id, Side::Receiver).playback
    }

    /// How the connection of a flow ended, if not in good order: what its sender says, or else its
    /// receiver.
    pub(super) fn ended(&self, flow: usize) -> Option<String> {
        let id = *self.flows.get(flow)?;
        let closed = [Side::Sender, Side::Receiver]
            .into_iter()
            .find_map(|side| self.network.app_report(id, side).statistics.closed)?;
        match closed {
            CloseReason::Finished => None,
            CloseReason::Reset(code) => Some(format!("reset with code {code}")),
            CloseReason::TimedOut => Some("timed out".to_owned()),
        }
    }

    /// Tells every node what the recorder wants to hear.
    pub(super) fn listen(&mut self, recorder: &mut Recorder) {
        for (index, &flow) in self.flows.iter().enumerate() {
            let name = &self.flow_names[index];
            let ends =
                [Side::Sender, Side::Receiver].map(|side| self.network.source_of_flow(flow, side));
            let masks = recorder.add_flow(name.clone(), ends, self.writes[index]);
            for (source, mask) in ends.into_iter().zip(masks) {
                self.network.set_mask_of(source, mask);
            }
        }
        for index in 0..self.links.len() {
            let Some(source) = self.source(self.links[index]) else {
                continue;
            };
            let name = &self.link_names[index];
            let mask = recorder.add_link(name.clone(), source);
            if mask != EventMask::NONE {
                self.network.set_mask_of(source, mask);
            }
        }
    }

    /// Octets of application data that each flow has delivered so far.
    pub(super) fn delivered(&self) -> impl Iterator<Item = u64> + '_ {
        self.flows
            .iter()
            .map(|&id| self.network.statistics(id, Side::Receiver).payload_received)
    }

    pub(super) fn flow_ends(&self) -> Vec<(FlowId, HostId, HostId)> {
        let ends = |&flow: &FlowId| {
            let (source, target) = self.network.ends_of_flow(flow);
            (flow, source, target)
        };
        self.flows.iter().map(ends).collect()
    }

    pub(super) fn segments(&self) -> &[NetworkSegment] {
        &self.segments
    }

    pub(super) fn flow_count(&self) -> usize {
        self.flows.len()
    }

    /// All counters, now.
    pub(super) fn counters(&mut self) -> Counters {
        let flow = |&id: &FlowId| FlowCounters {
            sender: self.network.statistics(id, Side::Sender),
            receiver: self.network.statistics(id, Side::Receiver),
        };
        let flows = self.flows.iter().map(flow).collect();
        let links = self.links.clone();
        let links = links
            .into_iter()
            .map(|link| self.link_counters(link))
            .collect();
        Counters { flows, links }
    }

    pub(super) fn flow_names(&self) -> &[String] {
        &self.flow_names
    }

    pub(super) fn link_names(&self) -> &[String] {
        &self.link_names
    }

    /// What the codec found wrong, if anything.
    pub(super) fn codec_fault(&self) -> Option<String> {
        self.fault.take()
    }
}

fn built(error: NetworkError) -> RunError {
    RunError::Build(error.to_string())
}

/// The place of a host in the scenario.
fn index_of(scenario: &Scenario, name: &str) -> Result<usize, RunError> {
    let place = scenario.hosts.iter().position(|host| host.name == name);
    place.ok_or_else(|| RunError::Build(format!("there is no host \"{name}\"")))
}

fn find<'a>(hosts: &Hosts<'a>, name: &str) -> Result<(HostId, &'a Host), RunError> {
    let found = hosts.get(name).copied();
    found.ok_or_else(|| RunError::Build(format!("there is no host \"{name}\"")))
}
