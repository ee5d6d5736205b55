//! Collects the events of a file by trace and connection.

use super::event::Event;
use super::head::{FileHead, TimeFormat, TraceHead};
use super::record::{INITIAL, Record, Timed};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Most events that are kept of a file, about 4 GB in memory.
const MOST_EVENTS: u64 = 30_000_000;

/// The events of one connection at one vantage point.
pub(super) struct Connection {
    pub(super) head: TraceHead,
    /// With times in seconds from the reference of the trace, in ascending order.
    pub(super) records: Vec<(f64, Record)>,
}

/// What the file has, besides its connections.
#[derive(Default)]
pub(super) struct Oddities {
    pub(super) truncated: bool,
    /// Events without a name or data.
    pub(super) not_understood: u64,
    /// Events without a time, which were given that of the event before.
    pub(super) without_time: u64,
    /// Events that are older than the one before.
    pub(super) out_of_order: u64,
}

/// Takes the events of a file.
#[derive(Default)]
pub(super) struct Collector {
    pub(super) head: FileHead,
    traces: Vec<Trace>,
    words: BTreeSet<Arc<str>>,
    /// All events, also those that are not kept.
    read: u64,
    kept: u64,
    pub(super) oddities: Oddities,
}

/// A trace of the file.
#[derive(Default)]
struct Trace {
    head: TraceHead,
    /// By the identifier of the connection that the events have; empty for those that have none.
    connections: BTreeMap<String, Vec<Timed>>,
    last: f64,
    sum: f64,
}

impl Collector {
    /// A trace begins, to which the events belong from now on.
    pub(super) fn begin_trace(&mut self) {
        self.traces.push(Trace::default());
    }

    /// The head of the current trace.
    pub(super) fn head(&mut self) -> &mut TraceHead {
        &mut self.trace().head
    }

    fn trace(&mut self) -> &mut Trace {
        if self.traces.is_empty() {
            self.traces.push(Trace::default());
        }
        let last = self.traces.len() - 1;
        &mut self.traces[last]
    }

    /// The number of events so far.
    pub(super) const fn read(&self) -> u64 {
        self.read
    }

    /// True if an event was kept.
    pub(super) const fn has_events(&self) -> bool {
        self.kept > 0
    }

    /// The file ends within a text.
    pub(super) const fn note_truncated(&mut self) {
        self.oddities.truncated = true;
    }

    /// Takes the members of a text other than its traces: of the head, or of an event.
    pub(super) fn take_text(&mut self, members: Map<String, Value>) -> Result<(), String> {
        let text = Value::Object(members);
        if Event::new(&text, &[]).is_some() {
            return self.take_event(text);
        }
        let members = text.as_object().into_iter().flatten();
        for (name, value) in members {
            // Some writers of sequences put the members of the trace beside those of the file.
            if !self.head.take(name, value) {
                self.head().take(name, value);
            }
        }
        Ok(())
    }

    /// Takes an event.
    pub(super) fn take_event(&mut self, event: Value) -> Result<(), String> {
        self.read += 1;
        let fields = std::mem::take(&mut self.head().event_fields);
        let found = Event::new(&event, &fields);
        self.head().event_fields = fields;
        let Some(event) = found else {
            self.oddities.not_understood += 1;
            return Ok(());
        };
        let trace = self.trace();
        if event.is_delta {
            trace.head.time_format = TimeFormat::Delta;
        }
        let is_delta = trace.head.time_format == TimeFormat::Delta;
        let without = if is_delta { 0.0 } else { trace.last };
        let time = event.time.unwrap_or(without);
        trace.last = time;
        trace.sum += time;
        let sum = trace.sum;
        self.oddities.without_time += u64::from(event.time.is_none());
        let Some(record) = event.record(&mut self.words) else {
            return Ok(());
        };
        self.kept += 1;
        if self.kept > MOST_EVENTS {
            return Err(format!("the file has more than {MOST_EVENTS} events"));
        }
        let group = event.group.unwrap_or_default();
        let timed = Timed { time, sum, record };
        self.trace()
            .connections
            .entry(group)
            .or_default()
            .push(timed);
        Ok(())
    }

    /// The connections that have events, with times from the earliest of all, in the order of the
    /// file.
    pub(super) fn finish(&mut self) -> Vec<Connection> {
        let mut connections = Vec::new();
        for mut trace in std::mem::take(&mut self.traces) {
            join_ids(&mut trace);
            let multiple = trace.connections.len() > 1;
            for (group, timed) in trace.connections {
                let mut head = trace.head.clone();
                if multiple || head.group.is_none() {
                    head.group = Some(group).filter(|group| !group.is_empty());
                }
                let (unit, format) = (head.unit_s(), head.time_format);
                let mut last = f64::NEG_INFINITY;
                let mut late = 0;
                let records = timed.into_iter().map(|timed| {
                    let time = match format {
                        TimeFormat::Absolute => timed.time,
                        TimeFormat::Delta => timed.sum,
                    };
                    late += u64::from(time < last);
                    last = last.max(time);
                    (time * unit, timed.record)
                });
                let mut records: Vec<(f64, Record)> = records.collect();
                if late > 0 {
                    // The sort is stable: events of the same time stay in the order of the file.
                    records.sort_by(|a, b| a.0.total_cmp(&b.0));
                    self.oddities.out_of_order += late;
                }
                connections.push(Connection { head, records });
            }
        }
        connections
    }
}

/// Joins the two identifiers that quinn gives the connection of a client: that of its first
/// packets, and the one that the server has chosen.
fn join_ids(trace: &mut Trace) {
    let end = trace.head.vantage_type.as_deref();
    if trace.connections.len() != 2 || !matches!(end, None | Some("unknown" | "client")) {
        return;
    }
    let only_first = |events: &Vec<Timed>| {
        events.iter().all(|event| match &event.record {
            Record::Sent(packet) | Record::Received(packet) => packet.space == INITIAL,
            _ => true,
        })
    };
    let first = trace
        .connections
        .iter()
        .find(|(_, events)| only_first(events));
    let Some(first) = first.map(|(id, _)| id.clone()) else {
        return;
    };
    let Some(before) = trace.connections.remove(&first) else {
        return;
    };
    if let Some(events) = trace.connections.values_mut().next() {
        events.splice(..0, before);
    }
}
