//! Listens to a run: fills the columns that are wanted, and what the summary's distributions need.

use super::statistics::{Samples, TimeWeighted};
use super::tables::{FlowColumns, LinkColumns, PacketColumns};
use super::{FlowTrace, LinkTrace, RunOptions, TraceLevel};
use crate::trace::Table;
use weir_proto::event::{Event, EventMask, EventSource, Probe, RateState, WindowState};
use weir_proto::time::Instant;

/// The most rows of all tables together: about a gigabyte.
const MAX_ROWS: u64 = 8_000_000;

/// What reports under a number.
#[derive(Clone, Copy, Debug, Default)]
enum Role {
    #[default]
    Unknown,
    Sender(usize),
    Receiver(usize),
    Link(usize),
}

/// Whether the writes of a flow's application are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writes {
    Kept,
    Dropped,
}

/// A flow that is listened to.
#[derive(Default)]
struct FlowRecord {
    name: String,
    keeps_writes: bool,
    rtts: Samples,
    rate: TimeWeighted,
    last: Option<RateState>,
    /// Times and sizes of writes that the controller has not yet started for.
    early_writes: Vec<(Instant, u32)>,
    columns: FlowColumns,
    writes: FlowColumns,
}

/// A direction of a link that is listened to.
#[derive(Default)]
struct LinkRecord {
    name: String,
    columns: LinkColumns,
}

/// The listener of a run.
pub(super) struct Recorder {
    trace: TraceLevel,
    warmup: Instant,
    roles: Vec<Role>,
    flows: Vec<FlowRecord>,
    links: Vec<LinkRecord>,
    packets: Option<PacketColumns>,
    rows: u64,
}

impl Recorder {
    pub(super) fn new(options: &RunOptions<'_>, warmup: Instant) -> Self {
        Self {
            trace: options.trace,
            warmup,
            roles: Vec::new(),
            flows: Vec::new(),
            links: Vec::new(),
            packets: options.packets.then(PacketColumns::default),
            rows: 0,
        }
    }

    fn set_role(&mut self, source: EventSource, role: Role) {
        let index = source.0 as usize;
        if self.roles.len() <= index {
            self.roles.resize(index + 1, Role::Unknown);
        }
        self.roles[index] = role;
    }

    /// Listens to a flow; returns what its sender and its receiver should report. Writes are
    /// kept for datagrams, where they mean packets.
    pub(super) fn add_flow(
        &mut self,
        name: String,
        ends: [EventSource; 2],
        writes: Writes,
    ) -> [EventMask; 2] {
        let index = self.flows.len();
        self.flows.push(FlowRecord {
            name,
            keeps_writes: writes == Writes::Kept,
            ..FlowRecord::default()
        });
        self.set_role(ends[0], Role::Sender(index));
        self.set_role(ends[1], Role::Receiver(index));
        let packets = match self.packets {
            Some(_) => EventMask::PACKET.union(EventMask::DROP),
            None => EventMask::NONE,
        };
        let sender = match self.trace {
            TraceLevel::Counters => EventMask::NONE,
            TraceLevel::Summary | TraceLevel::Full => EventMask::CONTROLLER.union(EventMask::RTT),
        };
        let sender = match (self.trace, writes) {
            (TraceLevel::Full, Writes::Kept) => sender.union(EventMask::WRITE),
            _ => sender,
        };
        [sender.union(packets), packets]
    }

    /// Listens to a direction of a link; returns what it should report.
    pub(super) fn add_link(&mut self, name: String, source: EventSource) -> EventMask {
        self.set_role(source, Role::Link(self.links.len()));
        self.links.push(LinkRecord {
            name,
            ..LinkRecord::default()
        });
        match (self.trace, &self.packets) {
            (TraceLevel::Full, _) => EventMask::QUEUE.union(EventMask::DROP),
            (_, Some(_)) => EventMask::DROP,
            _ => EventMask::NONE,
        }
    }

    /// The number of rows that is too many, once there are more.
    pub(super) fn too_many_rows(&self) -> Option<u64> {
        (self.rows > MAX_ROWS).then_some(MAX_ROWS)
    }

    /// The distributions of a flow at the end of the run: round-trip times and allowed rate.
    pub(super) fn distributions(&mut self, flow: usize, end: Instant) -> (Samples, TimeWeighted) {
        match self.flows.get_mut(flow) {
            None => Default::default(),
            Some(record) => {
                record.rate.advance(end);
                (std::mem::take(&mut record.rtts), record.rate)
            }
        }
    }

    /// The traces.
    pub(super) fn finish(self) -> (Vec<FlowTrace>, Vec<LinkTrace>, Option<Table>) {
        if self.trace != TraceLevel::Full {
            let packets = self.packets.map(PacketColumns::into_table);
            return (Vec::new(), Vec::new(), packets);
        }
        let flows = self.flows.into_iter().map(|mut record| {
            // The controller has never started: its lines show that nothing was there.
            for (at, size) in std::mem::take(&mut record.early_writes) {
                record.writes.push_write(at, size, None);
            }
            let writes = record.keeps_writes.then(|| record.writes.into_writes());
            FlowTrace {
                name: record.name,
                table: record.columns.into_table(),
                writes,
                gaps: None,
            }
        });
        let links = self.links.into_iter().map(|record| LinkTrace {
            name: record.name,
            table: record.columns.into_table(),
        });
        (
            flows.collect(),
            links.collect(),
            self.packets.map(PacketColumns::into_table),
        )
    }

    fn record_sender(&mut self, at: Instant, flow: usize, event: &Event) {
        let full = self.trace == TraceLevel::Full;
        let Some(record) = self.flows.get_mut(flow) else {
            return;
        };
        match event {
            Event::Rate(state) => record.on_rate(at, state, (self.warmup, full)),
            Event::Window(state) => record.on_window(at, state, (self.warmup, full)),
            Event::Rtt(sample) if at >= self.warmup => record.rtts.push(sample.as_nanos()),
            Event::Write(size) if full => record.on_write(at, *size),
            _ => return,
        }
        self.rows += u64::from(full);
    }

    fn record_link(&mut self, at: Instant, link: usize, event: &Event) {
        if self.trace != TraceLevel::Full {
            return;
        }
        if let Some(record) = self.links.get_mut(link) {
            record.columns.push(at, event);
            self.rows += 1;
        }
    }

    fn record_packet(&mut self, at: Instant, role: Role, event: &Event) {
        let name = match role {
            Role::Sender(flow) | Role::Receiver(flow) => self.flows.get(flow).map(|f| &f.name),
            Role::Link(link) => self.links.get(link).map(|l| &l.name),
            Role::Unknown => None,
        };
        let place = match role {
            Role::Sender(_) => "sender",
            Role::Receiver(_) => "receiver",
            _ => "link",
        };
        if let (Some(packets), Some(name)) = (&mut self.packets, name)
            && packets.push(at, (place, name), event)
        {
            self.rows += 1;
        }
    }
}

impl Probe for Recorder {
    fn record(&mut self, at: Instant, source: EventSource, event: &Event) {
        let role = self.roles.get(source.0 as usize).copied();
        let role = role.unwrap_or_default();
        match role {
            Role::Sender(flow) => self.record_sender(at, flow, event),
            Role::Link(link) => self.record_link(at, link, event),
            Role::Receiver(_) | Role::Unknown => {}
        }
        if self.packets.is_some() {
            self.record_packet(at, role, event);
        }
    }
}

impl FlowRecord {
    fn on_rate(&mut self, at: Instant, state: &RateState, (warmup, full): (Instant, bool)) {
        self.rate.set(at, warmup, state.allowed_rate.as_bps());
        self.last = Some(*state);
        if full {
            for (at, size) in std::mem::take(&mut self.early_writes) {
                self.writes.push_write(at, size, Some(state));
            }
            self.columns.push_rate(at, state);
        }
    }

    fn on_window(&mut self, at: Instant, state: &WindowState, (warmup, full): (Instant, bool)) {
        let rtt = state.smoothed_rtt.as_secs_f64();
        if rtt > 0.0 {
            self.rate.set(at, warmup, state.cwnd as f64 * 8.0 / rtt);
        }
        if full {
            self.columns.push_window(at, state);
        }
    }

    /// Linux's dccp_probe prints a line before the write is handled; its first line shows the
    /// state after the CCID's initialisation, which the first packet causes, so that line waits.
    fn on_write(&mut self, at: Instant, size: u32) {
        match &self.last {
            Some(state) => self.writes.push_write(at, size, Some(state)),
            None => self.early_writes.push((at, size)),
        }
    }
}
