//! Records the events of a run: in the tables of its trace and in the distributions of its summary.

use super::bound_times::BoundTimes;
use super::connection_records::ConnectionRecords;
use super::flow_tables::{FlowTables, WriteTrace};
use super::link_record::LinkRecord;
use super::packet_sampling::PacketSampling;
use super::packet_stages::{StageRecorder, without_stages};
use super::row_limit::ThinningState;
use crate::run::columns::{self, FlowEventRow, LinkRow, PacketRow};
use crate::run::{FlowTrace, LinkTrace, PacketStages, RunOptions, TraceLevel};
use crate::summary::{Samples, TimeWeighted};
use crate::table::{SharedSink, Table, TableRecorder};
use std::collections::BTreeMap;
use std::sync::Arc;
use weir_proto::event::{Event, EventMask, EventSource, Probe, QueueChange};
use weir_proto::packet::FlowId;
use weir_proto::time::{Duration, Instant};

/// The number of rows of flows and links above which a trace is thinned.
const MAX_ROWS: u64 = 8_000_000;
/// Tables in memory have at most this multiple of [`MAX_ROWS`] rows: some gigabytes.
const MAX_IN_MEMORY: u64 = 4;

/// Delivered octets that end the startup of a flow: about fifty packets, more than any controller
/// sends at once.
const STARTUP_BYTES: u64 = 65_536;

/// The events of senders that the summary needs.
pub(in crate::run) const SENDER_EVENTS: EventMask = EventMask::CONTROLLER
    .union(EventMask::RTT)
    .union(EventMask::BOUND);

/// The events at both ends of a flow that its table of events holds.
pub(in crate::run) const FLOW_EVENTS: EventMask = EventMask::STATE
    .union(EventMask::TIMEOUT)
    .union(EventMask::FEEDBACK);

/// The role of an event source.
#[derive(Clone, Copy, Debug, Default)]
enum Role {
    #[default]
    Unknown,
    Sender(usize),
    Receiver(usize),
    Link(usize),
}

/// The records of a flow.
struct FlowRecord {
    id: FlowId,
    name: Arc<str>,
    /// Whether rows are kept.
    full: bool,
    rtts: Samples,
    /// The last value that the sender reported; zero before the first.
    smoothed_rtt_s: f64,
    rate: TimeWeighted,
    bounds: BoundTimes,
    /// The time of the sender's first event.
    first: Option<Instant>,
    /// The time at which [`STARTUP_BYTES`] had been delivered.
    started_up: Option<Instant>,
    /// Empty tables if the run is traced but not this flow; `None` without a trace, because there
    /// may be many flows.
    tables: Option<Box<FlowTables>>,
}

impl FlowRecord {
    /// The tables, if rows of the flow are kept.
    fn kept(&mut self) -> Option<&mut FlowTables> {
        self.tables.as_deref_mut().filter(|_| self.full)
    }
}

/// The bounds of the first interval of a thinned table, which is a round-trip time, in seconds.
const MIN_INTERVAL_S: f64 = 1e-3;
const MAX_FIRST_INTERVAL_S: f64 = 1.0;

/// Records the events of a run.
pub(in crate::run) struct Recorder {
    trace: TraceLevel,
    /// The only flow whose tables are kept with [`TraceLevel::Full`].
    traced_flow: Option<String>,
    warmup: Instant,
    roles: Vec<Role>,
    flows: Vec<FlowRecord>,
    links: Vec<LinkRecord>,
    /// The records of flows with arrivals.
    pub(in crate::run) connections: ConnectionRecords,
    packets: Option<TableRecorder<PacketRow>>,
    sampling: PacketSampling,
    stages: Option<Box<StageRecorder>>,
    sink: Option<SharedSink>,
    thinning: ThinningState,
    /// The name of packets from outside, which belong to no flow.
    outside: Arc<str>,
}

impl Recorder {
    /// A recorder whose statistics begin at the end of the warm-up.
    pub(in crate::run) fn new(options: &RunOptions<'_>, warmup: Instant) -> Self {
        Self {
            trace: options.trace,
            traced_flow: options.traced_flow.map(str::to_owned),
            warmup,
            roles: Vec::new(),
            flows: Vec::new(),
            links: Vec::new(),
            connections: ConnectionRecords::new(options.trace > TraceLevel::Counters, warmup),
            packets: options
                .packets
                .then(|| TableRecorder::streaming(columns::PACKET, options.sink, "packets")),
            sampling: PacketSampling::new(options.max_rows.unwrap_or(MAX_ROWS)),
            stages: (options.stages).map(|span| Box::new(StageRecorder::new(span))),
            sink: options.sink.cloned(),
            thinning: ThinningState::new(options.max_rows.unwrap_or(MAX_ROWS)),
            outside: Arc::from(""),
        }
    }

    /// Sets the role of an event source.
    fn set_role(&mut self, source: EventSource, role: Role) {
        let index = source.0 as usize;
        if self.roles.len() <= index {
            self.roles.resize(index + 1, Role::Unknown);
        }
        self.roles[index] = role;
    }

    /// Adds a flow, whose number must be larger than those before; returns the event masks of its
    /// sender and its receiver. Writes are traced for datagrams, because each is a packet.
    pub(in crate::run) fn add_flow(
        &mut self,
        (id, name): (FlowId, &str),
        ends: [EventSource; 2],
        writes: WriteTrace,
    ) -> [EventMask; 2] {
        let index = self.flows.len();
        let full = self.trace == TraceLevel::Full
            && self.traced_flow.as_ref().is_none_or(|only| only == name);
        self.flows.push(FlowRecord {
            id,
            name: name.into(),
            full,
            rtts: Samples::default(),
            smoothed_rtt_s: 0.0,
            rate: TimeWeighted::default(),
            bounds: BoundTimes::default(),
            first: None,
            started_up: None,
            tables: (self.trace == TraceLevel::Full)
                .then(|| Box::new(FlowTables::new(name, writes, self.sink.as_ref()))),
        });
        self.set_role(ends[0], Role::Sender(index));
        self.set_role(ends[1], Role::Receiver(index));
        let packets = if self.packets.is_some() || self.stages.is_some() {
            EventMask::PACKET.union(EventMask::DROP)
        } else {
            EventMask::NONE
        };
        let [sender, receiver] = match self.trace {
            TraceLevel::Counters => [EventMask::NONE; 2],
            TraceLevel::Full if full => [SENDER_EVENTS.union(FLOW_EVENTS), FLOW_EVENTS],
            TraceLevel::Summary | TraceLevel::Full => [SENDER_EVENTS, EventMask::NONE],
        };
        let sender = match writes {
            WriteTrace::On if full => sender.union(EventMask::WRITE),
            _ => sender,
        };
        [sender, receiver].map(|mask| mask.union(packets))
    }

    /// Adds a direction of a link; returns its event mask.
    pub(in crate::run) fn add_link(&mut self, name: &str, source: EventSource) -> EventMask {
        self.set_role(source, Role::Link(self.links.len()));
        self.links.push(LinkRecord {
            name: name.into(),
            now: LinkRow::default(),
            rows: self.traces_links().then(|| {
                let path = format!("links/{name}");
                TableRecorder::streaming(columns::LINK, self.sink.as_ref(), &path)
            }),
        });
        let mask = match &self.packets {
            _ if self.traces_links() => EventMask::QUEUE.union(EventMask::DROP),
            Some(_) => EventMask::DROP,
            None => EventMask::NONE,
        };
        match self.stages {
            Some(_) => mask.union(EventMask::QUEUE).union(EventMask::STAGE),
            None => mask,
        }
    }

    /// Names a flow's packets to those who follow them; `hosts` are those of its sender and its
    /// receiver.
    pub(in crate::run) fn follow(&mut self, id: FlowId, name: &str, hosts: [u32; 2]) {
        if let Some(stages) = &mut self.stages {
            stages.add_flow(id, name.into(), hosts);
        }
    }

    fn traces_links(&self) -> bool {
        self.trace == TraceLevel::Full && self.traced_flow.is_none()
    }

    /// The limit of rows in memory, if it is exceeded; rows sent to a sink are not counted.
    pub(in crate::run) fn too_many_rows(&self) -> Option<u64> {
        let limit = self.thinning.max_rows.saturating_mul(MAX_IN_MEMORY);
        let packets = self.packets.as_ref().map_or(0, TableRecorder::rows);
        let recorded = match self.sink {
            Some(_) => 0,
            None => self.thinning.rows + packets,
        };
        (recorded + self.thinning.others > limit).then_some(limit)
    }

    /// The time from which the trace is thinned, in seconds.
    pub(in crate::run) fn thinned_from_s(&self) -> Option<f64> {
        self.thinning.from.map(Instant::as_secs_f64)
    }

    /// The time from which packets are sampled, in seconds.
    pub(in crate::run) fn packets_left_out_from_s(&self) -> Option<f64> {
        self.sampling.from.map(Instant::as_secs_f64)
    }

    /// Counts the rows of flows and links, and thins their tables if there are too many: each
    /// flow's to the extremes of its round-trip time, and to intervals twice as long each time half
    /// as many rows have been added again.
    #[cold]
    fn thin_if_needed(&mut self, at: Instant) {
        let tables = self.flows.iter().filter_map(|flow| flow.tables.as_ref());
        let flows: u64 = tables.map(|tables| tables.rows()).sum();
        let links = self.links.iter().filter_map(|link| link.rows.as_ref());
        let links: u64 = links.map(TableRecorder::rows).sum();
        self.thinning.rows = flows + links;
        if !self.thinning.is_due(at) {
            return;
        }
        let longer = |present: Option<f64>, first: f64| present.map_or(first, |s| s * 2.0);
        let mut shortest = MAX_FIRST_INTERVAL_S;
        for flow in &mut self.flows {
            let first = flow
                .smoothed_rtt_s
                .clamp(MIN_INTERVAL_S, MAX_FIRST_INTERVAL_S);
            let Some(tables) = &mut flow.tables else {
                continue;
            };
            let interval = longer(tables.interval_s(), first);
            shortest = interval.min(shortest);
            tables.thin(interval);
        }
        for rows in self.links.iter_mut().filter_map(|link| link.rows.as_mut()) {
            rows.thin(longer(rows.interval_s(), shortest));
        }
    }

    /// Counts rows of other tables, which stay in memory.
    pub(in crate::run) fn count_rows(&mut self, rows: u64) {
        self.thinning.others += rows;
    }

    /// The distributions of a flow's round-trip times and allowed rate at the end of the run.
    pub(in crate::run) fn distributions(
        &mut self,
        flow: usize,
        end: Instant,
    ) -> (Samples, TimeWeighted) {
        match self.flows.get_mut(flow) {
            None => Default::default(),
            Some(record) => {
                record.rate.advance(end);
                (std::mem::take(&mut record.rtts), record.rate)
            }
        }
    }

    /// The share of time for which each bound limited a flow's sender.
    pub(in crate::run) fn bound_share(
        &mut self,
        flow: usize,
        end: Instant,
    ) -> BTreeMap<String, f64> {
        let Some(record) = self.flows.get_mut(flow) else {
            return BTreeMap::new();
        };
        record.bounds.advance(end);
        record.bounds.shares()
    }

    /// The time from a sender's first event until [`STARTUP_BYTES`] were delivered; `None` if fewer
    /// were delivered, or if the transport does not count them.
    pub(in crate::run) fn startup(&self, flow: usize) -> Option<Duration> {
        let record = self.flows.get(flow)?;
        Some(record.started_up?.since(record.first?))
    }

    /// The ways of packets over the links.
    pub(in crate::run) fn finish_stages(&mut self) -> Option<PacketStages> {
        let stages = self.stages.take()?;
        Some(stages.finish())
    }

    /// The traces.
    pub(in crate::run) fn finish(self) -> (Vec<FlowTrace>, Vec<LinkTrace>, Option<Table>) {
        let packets = self.packets.map(TableRecorder::finish);
        let flows = self.flows.into_iter().filter_map(|record| {
            let tables = record.tables?;
            Some(tables.finish(&record.name))
        });
        let links = self.links.into_iter().filter_map(|record| {
            Some(LinkTrace {
                name: record.name.to_string(),
                table: record.rows?.finish(),
            })
        });
        (flows.collect(), links.collect(), packets)
    }

    fn record_sender(&mut self, at: Instant, flow: usize, event: &Event) {
        let Some(record) = self.flows.get_mut(flow) else {
            return;
        };
        record.first.get_or_insert(at);
        match event {
            Event::Rate(state) => {
                record.smoothed_rtt_s = state.smoothed_rtt.as_secs_f64();
                let rate = state.allowed_rate.as_bps();
                record.rate.set(at, self.warmup, rate);
                if let Some(tables) = record.kept() {
                    tables.on_rate(at, event);
                }
            }
            Event::Window(state) => {
                let delivered = state.delivered.unwrap_or_default();
                if record.started_up.is_none() && delivered >= STARTUP_BYTES {
                    record.started_up = Some(at);
                }
                record.smoothed_rtt_s = state.smoothed_rtt.as_secs_f64();
                let rtt = state.smoothed_rtt.as_secs_f64();
                if rtt > 0.0 {
                    let rate = state.cwnd as f64 * 8.0 / rtt;
                    record.rate.set(at, self.warmup, rate);
                }
                if let Some(tables) = record.kept() {
                    tables.on_window(at, event, state);
                }
            }
            Event::Rtt(sample) => {
                if let Some(tables) = record.kept() {
                    tables.on_rtt(*sample);
                }
                if at < self.warmup {
                    return;
                }
                record.rtts.push(sample.as_nanos());
            }
            Event::Blocked(bound) => {
                record.bounds.set(at, self.warmup, *bound);
                if let Some(tables) = record.kept() {
                    tables.now.bound = Some(*bound);
                    tables.push_row(at, columns::BOUND_ROW);
                }
            }
            Event::Timeout { .. } | Event::Write(_) => match (record.kept(), event) {
                (Some(tables), Event::Write(size)) => tables.on_write(at, *size),
                (Some(tables), _) => tables.push_row(at, columns::TIMEOUT_ROW),
                (None, _) => return,
            },
            _ => return,
        }
        // Without tables there is nothing to thin.
        if self.trace == TraceLevel::Full {
            self.count_row(at);
        }
    }

    /// Sets the receiver's round-trip time in the sender's rows from now on.
    fn record_receiver_rtt(&mut self, flow: usize, rtt: Duration) {
        if let Some(tables) = self.flows.get_mut(flow).and_then(FlowRecord::kept) {
            tables.now.receiver_rtt = Some(rtt);
        }
    }

    /// Records an event at an end of a flow that is not a state of its controller.
    fn record_end(&mut self, at: Instant, role: Role, event: &Event) {
        let (flow, place) = match role {
            Role::Sender(flow) => (flow, "sender"),
            Role::Receiver(flow) => (flow, "receiver"),
            Role::Link(_) | Role::Unknown => return,
        };
        let Some(tables) = self.flows.get_mut(flow).and_then(FlowRecord::kept) else {
            return;
        };
        if let Some(row) = FlowEventRow::new(at, place, event) {
            tables.events.push(&row);
            self.count_rows(1);
        }
    }

    fn record_link(&mut self, link: usize, events: &[(Instant, Event)]) {
        let record = self.links.get_mut(link);
        if let Some((at, rows)) = record.and_then(|record| record.on_events(events)) {
            self.count_rows_of_table(at, rows);
        }
    }

    fn record_changes(&mut self, link: usize, changes: &[QueueChange]) {
        let record = self.links.get_mut(link);
        if let Some((at, rows)) = record.and_then(|record| record.on_changes(changes)) {
            self.count_rows_of_table(at, rows);
        }
    }

    /// Counts rows, and checks the total from time to time.
    #[inline]
    fn count_row(&mut self, at: Instant) {
        self.count_rows_of_table(at, 1);
    }

    #[inline]
    fn count_rows_of_table(&mut self, at: Instant, rows: u64) {
        self.thinning.unseen += rows;
        if self.thinning.unseen >= self.thinning.look_every {
            self.thinning.unseen = 0;
            self.thin_if_needed(at);
        }
    }

    /// Records the stages of packets, and returns the other events.
    #[cold]
    fn record_stages(&mut self, role: Role, events: &[(Instant, Event)]) -> Vec<(Instant, Event)> {
        let Some(stages) = &mut self.stages else {
            return events.to_vec();
        };
        for (at, event) in events {
            match role {
                Role::Link(link) => {
                    if let Some(record) = self.links.get(link) {
                        stages.on_link(*at, (link, &record.name), event);
                    }
                }
                Role::Sender(flow) | Role::Receiver(flow) => {
                    if let Some(record) = self.flows.get(flow) {
                        let is_sender = matches!(role, Role::Sender(_));
                        stages.on_end(*at, (record.id, is_sender), event);
                    }
                }
                Role::Unknown => {}
            }
        }
        without_stages(events)
    }

    fn record_packet(&mut self, at: Instant, role: Role, event: &Event) {
        let Some(packets) = &mut self.packets else {
            return;
        };
        let of_flow = |flow: usize| self.flows.get(flow).map(|record| &record.name);
        // Flows are recorded in the order of their numbers. Flows that are not recorded are
        // transfers.
        let of_number = |number: FlowId| {
            let known = self.flows.binary_search_by_key(&number, |record| record.id);
            known.ok().and_then(of_flow)
        };
        let named = match (role, event) {
            (Role::Sender(flow), _) => ("sender", of_flow(flow), of_flow(flow)),
            (Role::Receiver(flow), _) => ("receiver", of_flow(flow), of_flow(flow)),
            (Role::Link(link), Event::Drop { flow, .. } | Event::EcnMark { flow, .. }) => {
                let link = self.links.get(link).map(|record| &record.name);
                ("link", link, of_number(*flow))
            }
            _ => return,
        };
        let (place, Some(name), flow) = named else {
            return;
        };
        let flow = flow.unwrap_or(&self.outside);
        if let Some(row) = PacketRow::new(at, place, [name, flow], event)
            && self.sampling.keeps(at, event, packets.rows())
        {
            packets.push(&row);
        }
    }
}

/// True if the event is a row of the table of events.
const fn is_of_end(event: &Event) -> bool {
    matches!(
        event,
        Event::State(_)
            | Event::Timeout { .. }
            | Event::WindowProbe { .. }
            | Event::Spurious
            | Event::Feedback(_)
    )
}

impl Probe for Recorder {
    fn record(&mut self, at: Instant, source: EventSource, event: &Event) {
        self.record_all(source, &[(at, *event)]);
    }

    fn record_all(&mut self, source: EventSource, events: &[(Instant, Event)]) {
        let role = self.roles.get(source.0 as usize).copied();
        let role = role.unwrap_or_default();
        let followed = self.stages.is_some();
        let others = followed.then(|| self.record_stages(role, events));
        let events = others.as_deref().unwrap_or(events);
        match role {
            Role::Link(link) => self.record_link(link, events),
            Role::Sender(_) | Role::Receiver(_) => {
                for (at, event) in events {
                    if is_of_end(event) {
                        self.record_end(*at, role, event);
                    }
                    match (role, event) {
                        (Role::Sender(flow), _) => self.record_sender(*at, flow, event),
                        (Role::Receiver(flow), Event::ReceiverRtt(rtt)) => {
                            self.record_receiver_rtt(flow, *rtt);
                        }
                        _ => {}
                    }
                }
            }
            Role::Unknown => self.connections.record(source, events),
        }
        if self.packets.is_some() {
            for (at, event) in events {
                self.record_packet(*at, role, event);
            }
        }
    }

    fn record_queue(&mut self, source: EventSource, changes: &[QueueChange]) {
        if let Some(Role::Link(link)) = self.roles.get(source.0 as usize).copied() {
            self.record_changes(link, changes);
        }
    }
}
