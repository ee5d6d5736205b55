//! Flows as qlog, a file each: what the sender's controller did, and what became of packets.
//!
//! Two schemas: that of draft-ietf-quic-qlog-main-schema-14 with the events of
//! draft-ietf-quic-qlog-quic-events-13, and qlog 0.3, whose file and event names tools such as
//! qvis read. Both are the contained form: one JSON document. Times are virtual, in
//! milliseconds since the start of the run.
//!
//! Packets of QUIC have the type that the run's table names, and their number in its space; those
//! of other transports are `unknown`.
//!
//! Does not model: frames, so that tools see which packets arrived and not what they carried;
//! packets without a run that kept them (`--packets`).

use crate::run::{FlowTrace, RunOutput};
use crate::table::Table;
use serde_json::{Map, Value, json};

/// Which names a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    /// draft-ietf-quic-qlog-main-schema-14, draft-ietf-quic-qlog-quic-events-13.
    Draft14,
    /// qlog 0.3: draft-ietf-quic-qlog-main-schema-02.
    V03,
}

/// The events of a kind of packet: its name in each schema, and the trace that has it.
const EVENTS: [(&str, [&str; 2]); 5] = [
    (
        "metrics",
        ["quic:recovery_metrics_updated", "recovery:metrics_updated"],
    ),
    (
        "state",
        [
            "quic:congestion_state_updated",
            "recovery:congestion_state_updated",
        ],
    ),
    ("sent", ["quic:packet_sent", "transport:packet_sent"]),
    (
        "received",
        ["quic:packet_received", "transport:packet_received"],
    ),
    ("lost", ["quic:packet_lost", "recovery:packet_lost"]),
];

impl Schema {
    fn event_name(self, event: &str) -> &'static str {
        let found = EVENTS.iter().find(|(name, _)| *name == event);
        let names = found.map_or(["", ""], |(_, names)| *names);
        match self {
            Self::Draft14 => names[0],
            Self::V03 => names[1],
        }
    }

    fn file(self, title: &str, traces: Vec<Value>) -> Value {
        match self {
            Self::Draft14 => json!({
                "file_schema": "urn:ietf:params:qlog:file:contained",
                "serialization_format": "application/qlog+json",
                "title": title,
                "traces": traces,
            }),
            Self::V03 => json!({
                "qlog_version": "0.3",
                "qlog_format": "JSON",
                "title": title,
                "traces": traces,
            }),
        }
    }

    /// One end of a connection.
    fn trace(self, title: &str, [name, end]: [&str; 2], events: Vec<Value>) -> Value {
        let vantage_point = json!({ "name": name, "type": end });
        match self {
            Self::Draft14 => json!({
                "title": title,
                "vantage_point": vantage_point,
                "event_schemas": ["urn:ietf:params:qlog:events:quic-13"],
                "common_fields": {
                    "time_format": "relative_to_epoch",
                    "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
                },
                "events": events,
            }),
            Self::V03 => json!({
                "title": title,
                "vantage_point": vantage_point,
                "common_fields": {
                    "protocol_type": ["QUIC"],
                    "time_format": "relative",
                    "reference_time": 0,
                },
                "events": events,
            }),
        }
    }
}

/// An event with its time in seconds.
type Timed = (f64, Value);

/// The flows of a run whose controller was traced, each with its name and its file.
pub(super) fn files(run: &RunOutput, schema: Schema) -> Vec<(&str, String)> {
    let flows = run.flows.iter().map(|flow| {
        let mut document = file_of(run, flow, schema).to_string();
        document.push('\n');
        (flow.name.as_str(), document)
    });
    flows.collect()
}

fn file_of(run: &RunOutput, flow: &FlowTrace, schema: Schema) -> Value {
    let mut declared = run.scenario.flows.iter();
    let declared = declared.find(|declared| declared.names().any(|name| name == flow.name));
    let ends = declared.map_or(["sender", "receiver"], |flow| [&flow.from, &flow.to]);
    let mut sender = controller_events(&flow.table, schema);
    let mut receiver = Vec::new();
    if let Some(packets) = &run.packets {
        for (place, events) in [("sender", &mut sender), ("receiver", &mut receiver)] {
            let of_packets = packet_events(packets, [place, &flow.name], schema);
            events.extend(of_packets);
            // Stable: at one time the controller's events stay before those of packets.
            events.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
    }
    let mut roles = ["client", "server"];
    if declared.is_some_and(|flow| flow.app.receiver_connects()) {
        roles.reverse();
    }
    let sides = [(ends[0], roles[0], sender), (ends[1], roles[1], receiver)];
    let sides = sides
        .into_iter()
        .filter(|(_, _, events)| !events.is_empty());
    let traces = sides.map(|(host, end, events)| {
        let events = events.into_iter().map(|(_, event)| event).collect();
        let title = format!("flow {} at {host}", flow.name);
        schema.trace(&title, [host, end], events)
    });
    schema.file(&format!("Weir: flow {}", flow.name), traces.collect())
}

fn event(schema: Schema, time_s: f64, name: &str, data: Value) -> Timed {
    let name = schema.event_name(name);
    // Rounded to the nanosecond, the unit of the simulator.
    let time_ms = (time_s * 1e9).round() / 1e6;
    (
        time_s,
        json!({ "time": time_ms, "name": name, "data": data }),
    )
}

/// What a metric is in the trace: its name in qlog, its column, the factor to qlog's unit, and
/// whether qlog wants a whole number.
const METRICS: [(&str, &str, f64, bool); 7] = [
    ("latest_rtt", "rtt_s", 1e3, false),
    ("smoothed_rtt", "smoothed_rtt_s", 1e3, false),
    ("congestion_window", "cwnd_bytes", 1.0, true),
    ("bytes_in_flight", "bytes_in_flight", 1.0, true),
    ("ssthresh", "ssthresh_bytes", 1.0, true),
    ("pacing_rate", "pacing_rate_bps", 1.0, true),
    // TFRC sends at the rate that it allows.
    ("pacing_rate", "allowed_rate_bps", 1.0, true),
];

/// Changes of metrics, and of the controller's state.
fn controller_events(table: &Table, schema: Schema) -> Vec<Timed> {
    let times = table.numbers("time_s").unwrap_or_default();
    let columns = METRICS.map(|(_, column, ..)| table.as_numbers(column));
    let (states, limits) = (table.words("state"), table.words("limit"));
    let mut last = [f64::NAN; METRICS.len()];
    let mut state = String::new();
    let mut events = Vec::new();
    for (row, &time) in times.iter().enumerate() {
        let mut changed = Map::new();
        for (number, (name, _, factor, whole)) in METRICS.into_iter().enumerate() {
            let values = columns[number].as_ref();
            let value = values.and_then(|values| values.get(row).copied());
            let value = value.filter(|value| value.is_finite() && *value != last[number]);
            if let Some(value) = value {
                last[number] = value;
                let scaled = value * factor;
                let value = if whole {
                    json!(scaled.round() as u64)
                } else {
                    json!((scaled * 1e6).round() / 1e6)
                };
                changed.insert(name.to_owned(), value);
            }
        }
        if !changed.is_empty() {
            events.push(event(schema, time, "metrics", Value::Object(changed)));
        }
        let word = |words: Option<&[std::sync::Arc<str>]>| {
            let word = words.and_then(|words| words.get(row));
            word.map_or("", |word| word).to_owned()
        };
        let new = word(states);
        if new != state {
            let mut data = json!({ "new": new, "trigger": word(limits) });
            if !state.is_empty() {
                data["old"] = json!(state);
            }
            events.push(event(schema, time, "state", data));
            state = new;
        }
    }
    events
}

/// Packets sent, received and declared lost at an end of a flow.
fn packet_events(packets: &Table, [place, flow]: [&str; 2], schema: Schema) -> Vec<Timed> {
    let words = |name| packets.words(name).unwrap_or_default();
    let numbers = |name| packets.as_numbers(name).unwrap_or_default();
    let (times, sequence, sizes) = (numbers("time_s"), numbers("number"), numbers("size_bytes"));
    let (places, names) = (words("place"), words("name"));
    let (kinds, reasons) = (words("event"), words("reason"));
    let types = words("packet_type");
    let mut events = Vec::new();
    let rows = packets.rows();
    let columns = [
        times.len(),
        sequence.len(),
        sizes.len(),
        places.len(),
        names.len(),
    ];
    if columns
        .into_iter()
        .chain([kinds.len(), reasons.len()])
        .any(|len| len != rows)
    {
        return events;
    }
    for row in 0..rows {
        if &*places[row] != place || &*names[row] != flow || !sequence[row].is_finite() {
            continue;
        }
        // Only packets of QUIC have a type.
        let of_type = types.get(row).filter(|name| !name.is_empty());
        let header = json!({
            "packet_type": of_type.map_or("unknown", |name| name),
            "packet_number": sequence[row] as u64,
        });
        let raw = json!({ "length": sizes[row] as u64 });
        let data = match &*kinds[row] {
            "sent" | "received" => json!({ "header": header, "raw": raw }),
            "lost" => json!({ "header": header, "trigger": loss_trigger(&reasons[row]) }),
            _ => continue,
        };
        events.push(event(schema, times[row], &kinds[row], data));
    }
    events
}

/// The name that qlog has for what made a sender declare a packet lost.
fn loss_trigger(reason: &str) -> &str {
    match reason {
        "packet_threshold" => "reordering_threshold",
        "time_threshold" => "time_threshold",
        _ => "pto_expired",
    }
}
