//! Exports flows as qlog, one file each: the states of the sender's controller, and the fate of
//! packets.
//!
//! Two schemas: that of draft-ietf-quic-qlog-main-schema-14 with the events of
//! draft-ietf-quic-qlog-quic-events-13, and qlog 0.3, whose file and event names tools such as qvis
//! read. Both use the contained form: one JSON document. Times are virtual, in milliseconds since
//! the start of the run.
//!
//! Packets of QUIC have the type in the run's table, and their number in its packet number space;
//! those of other transports have the type `unknown`.
//!
//! Packets of Weir's QUIC that carry an acknowledgement alone have it as a frame. Other packets
//! have no list of frames: the run's table does not tell what they carry.
//!
//! Does not model: frames of data; packets, unless the run kept them (`--packets`).
//!
//! A long run has millions of events, so each is a struct without allocations, which serde writes;
//! the keys of objects are in alphabetical order.

use super::acknowledgements::{AckedRanges, acknowledgements};
use crate::run::{FlowTrace, RunOutput};
use crate::scenario::{Flow, Transport};
use crate::table::Table;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The schema of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Schema {
    /// draft-ietf-quic-qlog-main-schema-14, draft-ietf-quic-qlog-quic-events-13.
    Draft14,
    /// qlog 0.3: draft-ietf-quic-qlog-main-schema-02.
    V03,
}

/// The events of packets: the name of each in both schemas, and the vantage point that has it.
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

    fn file(self, title: String, traces: Vec<Trace<'_>>) -> Document<'_> {
        match self {
            Self::Draft14 => Document {
                file_schema: Some("urn:ietf:params:qlog:file:contained"),
                serialization_format: Some("application/qlog+json"),
                title,
                traces,
                ..Document::default()
            },
            Self::V03 => Document {
                qlog_format: Some("JSON"),
                qlog_version: Some("0.3"),
                title,
                traces,
                ..Document::default()
            },
        }
    }

    /// One end of a connection.
    fn trace<'a>(self, title: String, [name, end]: [&str; 2], events: Vec<Event<'a>>) -> Trace<'a> {
        let (common_fields, event_schemas) = match self {
            Self::Draft14 => (
                json!({
                    "time_format": "relative_to_epoch",
                    "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
                }),
                Some(["urn:ietf:params:qlog:events:quic-13"]),
            ),
            Self::V03 => (
                json!({
                    "protocol_type": ["QUIC"],
                    "time_format": "relative",
                    "reference_time": 0,
                }),
                None,
            ),
        };
        Trace {
            common_fields,
            event_schemas,
            events,
            title,
            vantage_point: json!({ "name": name, "type": end }),
        }
    }
}

/// The document.
#[derive(Default, Serialize)]
struct Document<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    file_schema: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    qlog_format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    qlog_version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    serialization_format: Option<&'static str>,
    title: String,
    traces: Vec<Trace<'a>>,
}

/// The trace of one end of a connection.
#[derive(Serialize)]
struct Trace<'a> {
    common_fields: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_schemas: Option<[&'static str; 1]>,
    events: Vec<Event<'a>>,
    title: String,
    vantage_point: Value,
}

/// An event; its time is in milliseconds.
#[derive(Serialize)]
struct Event<'a> {
    data: Data<'a>,
    name: &'static str,
    time: f64,
}

/// The data of an event.
#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Metrics(Metrics),
    State {
        /// The controller's rule: ours, beside the fields of the draft.
        #[serde(skip_serializing_if = "str::is_empty")]
        limit: &'a str,
        new: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        old: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger: Option<&'a str>,
    },
    Packet {
        #[serde(skip_serializing_if = "Option::is_none")]
        frames: Option<[AckFrame; 1]>,
        header: Header<'a>,
        raw: Size,
    },
    Lost {
        header: Header<'a>,
        trigger: &'static str,
    },
}

/// The metrics that have changed, under their names in qlog.
#[derive(Default, Serialize)]
struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing_rate: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssthresh: Option<u64>,
}

#[derive(Serialize)]
struct Header<'a> {
    packet_number: u64,
    packet_type: &'a str,
}

/// An ACK frame.
#[derive(Serialize)]
struct AckFrame {
    #[serde(serialize_with = "in_order")]
    acked_ranges: AckedRanges,
    frame_type: &'static str,
}

/// Writes the ranges, of which a list cannot be shared by serde.
fn in_order<S: Serializer>(ranges: &AckedRanges, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(ranges.iter())
}

#[derive(Serialize)]
struct Size {
    length: u64,
}

/// The flows of a run whose controller was traced, each with its name and its file.
pub(super) fn files(run: &RunOutput, schema: Schema) -> Vec<(&str, String)> {
    let flows = run.flows.iter().map(|flow| {
        // A document has only text and finite numbers, which JSON can represent.
        let mut document = serde_json::to_string(&file_of(run, flow, schema)).unwrap_or_default();
        document.push('\n');
        (flow.name.as_str(), document)
    });
    flows.collect()
}

fn file_of<'a>(run: &'a RunOutput, flow: &'a FlowTrace, schema: Schema) -> Document<'a> {
    let mut declared = run.scenario.flows.iter();
    let declared = declared.find(|declared| declared.is_named(&flow.name));
    let ends = declared.map_or(["sender", "receiver"], |flow| [&flow.from, &flow.to]);
    let mut sender = controller_events(&flow.table, schema);
    let mut receiver = Vec::new();
    if let Some(packets) = &run.packets {
        let acked = acked_of(run, declared, flow);
        for (place, events) in [("sender", &mut sender), ("receiver", &mut receiver)] {
            let of_packets = packet_events(packets, [place, &flow.name], &acked, schema);
            events.extend(of_packets);
            // The sort is stable: at equal times the controller's events stay before those of
            // packets.
            events.sort_by(|a, b| a.time.total_cmp(&b.time));
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
        let title = format!("flow {} at {host}", flow.name);
        schema.trace(title, [host, end], events)
    });
    schema.file(format!("Weir: flow {}", flow.name), traces.collect())
}

fn event<'a>(schema: Schema, time_s: f64, name: &str, data: Data<'a>) -> Event<'a> {
    Event {
        data,
        name: schema.event_name(name),
        // Rounded to the nanosecond, the unit of the simulator.
        time: (time_s * 1e9).round() / 1e6,
    }
}

/// Stores a finite value, in the unit of its column, in the corresponding metric.
type Take = fn(&mut Metrics, f64);

/// Milliseconds of a time in seconds, to the nanosecond.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1e3 * 1e6).round() / 1e6
}

/// A whole number, as qlog requires for octets and rates.
const fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// The columns of the trace that are metrics.
const METRICS: [(&str, Take); 7] = [
    ("rtt_s", |m, value| {
        m.latest_rtt = Some(milliseconds(value));
    }),
    ("smoothed_rtt_s", |m, value| {
        m.smoothed_rtt = Some(milliseconds(value));
    }),
    ("cwnd_bytes", |m, value| {
        m.congestion_window = Some(whole(value));
    }),
    ("bytes_in_flight", |m, value| {
        m.bytes_in_flight = Some(whole(value));
    }),
    ("ssthresh_bytes", |m, value| {
        m.ssthresh = Some(whole(value));
    }),
    ("pacing_rate_bps", |m, value| {
        m.pacing_rate = Some(whole(value));
    }),
    // TFRC's allowed rate is its pacing rate.
    ("allowed_rate_bps", |m, value| {
        m.pacing_rate = Some(whole(value));
    }),
];

/// Changes of metrics, and of the controller's state.
/// The columns of a flow's table that its file is made from.
#[cfg(feature = "files")]
pub(crate) fn qlog_columns() -> impl Iterator<Item = &'static str> {
    let metrics = METRICS.into_iter().map(|(column, _)| column);
    ["time_s", "state", "limit"].into_iter().chain(metrics)
}

fn controller_events(table: &Table, schema: Schema) -> Vec<Event<'_>> {
    let times = table.numbers("time_s").unwrap_or_default();
    let columns = METRICS.map(|(column, _)| table.as_numbers(column));
    let (states, limits) = (table.words("state"), table.words("limit"));
    let mut last = [f64::NAN; METRICS.len()];
    let mut state = "";
    let mut events = Vec::new();
    for (row, &time) in times.iter().enumerate() {
        let mut metrics = Metrics::default();
        let mut changed = false;
        for (number, (_, take)) in METRICS.into_iter().enumerate() {
            let values = columns[number].as_ref();
            let value = values.and_then(|values| values.get(row).copied());
            let value = value.filter(|value| value.is_finite() && *value != last[number]);
            if let Some(value) = value {
                last[number] = value;
                take(&mut metrics, value);
                changed = true;
            }
        }
        if changed {
            events.push(event(schema, time, "metrics", Data::Metrics(metrics)));
        }
        let new = word_of(states, row);
        if new != state {
            let limit = word_of(limits, row);
            let data = Data::State {
                limit,
                new,
                old: Some(state).filter(|state| !state.is_empty()),
                // The draft knows this trigger and "ecn".
                trigger: Some(limit).filter(|limit| *limit == "persistent_congestion"),
            };
            events.push(event(schema, time, "state", data));
            state = new;
        }
    }
    events
}

/// The word of a row; empty without one.
fn word_of(words: Option<&[Arc<str>]>, row: usize) -> &str {
    words
        .and_then(|words| words.get(row))
        .map_or("", |word| word)
}

/// The acknowledgements of a flow by their rows. None of those that sampling has left gaps in, and
/// none of other transports: the numbers of quinn are those of datagrams.
fn acked_of(
    run: &RunOutput,
    declared: Option<&Flow>,
    flow: &FlowTrace,
) -> BTreeMap<usize, AckedRanges> {
    let (
        Some(packets),
        Some(Flow {
            transport: Transport::Quic(quic),
            ..
        }),
    ) = (&run.packets, declared)
    else {
        return BTreeMap::new();
    };
    if run.summary.run.packets_left_out_from_s.is_some() {
        return BTreeMap::new();
    }
    acknowledgements(packets, &flow.name, quic.config.ack.max_ranges as usize)
}

/// Packets sent, received and declared lost at an end of a flow.
fn packet_events<'a>(
    packets: &'a Table,
    [place, flow]: [&str; 2],
    acked: &BTreeMap<usize, AckedRanges>,
    schema: Schema,
) -> Vec<Event<'a>> {
    let words = |name| packets.words(name).unwrap_or_default();
    let numbers = |name| packets.as_numbers(name).unwrap_or_default();
    let (times, sequence, sizes) = (numbers("time_s"), numbers("number"), numbers("size_bytes"));
    let (places, names) = (words("place"), words("name"));
    let kinds = words("event");
    // A trace without losses has no reasons.
    let reasons = packets.words("reason");
    let types = words("packet_type");
    let mut events = Vec::new();
    let rows = packets.rows();
    let columns = [
        times.len(),
        sequence.len(),
        sizes.len(),
        places.len(),
        names.len(),
        kinds.len(),
    ];
    if columns.into_iter().any(|len| len != rows) {
        return events;
    }
    for row in 0..rows {
        if &*places[row] != place || &*names[row] != flow || !sequence[row].is_finite() {
            continue;
        }
        // Only packets of QUIC have a type.
        let of_type = types.get(row).filter(|name| !name.is_empty());
        let header = Header {
            packet_number: sequence[row] as u64,
            packet_type: of_type.map_or("unknown", |name| name),
        };
        let data = match &*kinds[row] {
            "sent" | "received" => Data::Packet {
                frames: acked.get(&row).map(|ranges| {
                    [AckFrame {
                        acked_ranges: Arc::clone(ranges),
                        frame_type: "ack",
                    }]
                }),
                header,
                raw: Size {
                    length: sizes[row] as u64,
                },
            },
            "lost" => Data::Lost {
                header,
                trigger: loss_trigger(word_of(reasons, row)),
            },
            _ => continue,
        };
        events.push(event(schema, times[row], &kinds[row], data));
    }
    events
}

/// The qlog name of the reason for which a sender declared a packet lost.
fn loss_trigger(reason: &str) -> &'static str {
    match reason {
        "packet_threshold" => "reordering_threshold",
        "time_threshold" => "time_threshold",
        _ => "pto_expired",
    }
}
