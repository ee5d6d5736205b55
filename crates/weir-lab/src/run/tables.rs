//! Columns while they grow. Their names and units are those of a run's folder.

use crate::trace::{Column, Table, Values};
use std::collections::BTreeMap;
use std::sync::Arc;
use weir_proto::event::{Event, RateState, WindowState};
use weir_proto::time::{Duration, Instant};
use weir_proto::units::Rate;

/// Numbers of a flow's controller, in the order of the file.
const NUMBERS: [&str; 13] = [
    "time_s",
    "allowed_rate_bps",
    "equation_rate_bps",
    "receive_rate_bps",
    "loss_event_rate",
    "rtt_s",
    "smoothed_rtt_s",
    "ipi_s",
    "cwnd_bytes",
    "bytes_in_flight",
    "partial_bytes_acked",
    "ssthresh_bytes",
    "segment_bytes",
];

/// Those that a line of dccp_probe needs, beside the size of the write.
const PROBE_NUMBERS: [&str; 8] = [
    "time_s",
    "allowed_rate_bps",
    "equation_rate_bps",
    "receive_rate_bps",
    "loss_event_rate",
    "smoothed_rtt_s",
    "ipi_s",
    "segment_bytes",
];

type Row = [f64; NUMBERS.len()];

/// Rows of a controller's state.
#[derive(Default)]
pub(super) struct FlowColumns {
    rows: Vec<Row>,
    words: Vec<[&'static str; 2]>,
    sizes: Vec<u64>,
}

/// The gaps that a listener heard.
pub(super) fn gaps(gaps: &[(Instant, Duration)]) -> Table {
    let lengths = gaps.iter().map(|(_, length)| length.as_secs_f64());
    let silence = gaps.iter().scan(Duration::ZERO, |sum, (_, length)| {
        *sum += *length;
        Some(sum.as_secs_f64())
    });
    let column = |name: &str, values: Vec<f64>| Column {
        name: name.to_owned(),
        values: Values::F64(values),
    };
    let begun = |(at, _): &(Instant, Duration)| at.as_secs_f64();
    Table {
        columns: vec![
            column("time_s", gaps.iter().map(begun).collect()),
            column("gap_s", lengths.collect()),
            column("silence_s", silence.collect()),
        ],
    }
}

/// A time that may not be known yet.
fn seconds(span: Duration) -> f64 {
    if span.is_zero() {
        f64::NAN
    } else {
        span.as_secs_f64()
    }
}

fn row_of(at: Instant, state: &RateState) -> Row {
    let none = f64::NAN;
    [
        at.as_secs_f64(),
        state.allowed_rate.as_bps(),
        state.equation_rate.map_or(none, Rate::as_bps),
        state.receive_rate.as_bps(),
        state.loss_event_rate,
        seconds(state.rtt),
        seconds(state.smoothed_rtt),
        // Zero is a value here: kernels cut t_ipi to whole microseconds.
        state.inter_packet_interval.as_secs_f64(),
        none,
        none,
        none,
        none,
        f64::from(state.segment_size),
    ]
}

impl FlowColumns {
    pub(super) fn push_rate(&mut self, at: Instant, state: &RateState) {
        self.rows.push(row_of(at, state));
        self.words.push([state.state, state.limit.name()]);
    }

    pub(super) fn push_window(&mut self, at: Instant, state: &WindowState) {
        let none = f64::NAN;
        self.rows.push([
            at.as_secs_f64(),
            none,
            none,
            none,
            none,
            seconds(state.rtt),
            seconds(state.smoothed_rtt),
            none,
            state.cwnd as f64,
            state.bytes_in_flight as f64,
            state.partial_bytes_acked as f64,
            state.ssthresh.map_or(none, |bytes| bytes as f64),
            none,
        ]);
        self.words.push([state.state, state.limit.name()]);
    }

    /// A write of `size` octets that found the controller in this state.
    pub(super) fn push_write(&mut self, at: Instant, size: u32, state: Option<&RateState>) {
        let mut row = state.map_or([f64::NAN; NUMBERS.len()], |state| row_of(at, state));
        row[0] = at.as_secs_f64();
        self.rows.push(row);
        self.sizes.push(u64::from(size));
    }

    fn numbers(&self, name: &str) -> Column {
        let index = NUMBERS.iter().position(|number| *number == name);
        let values = match index {
            Some(index) => self.rows.iter().map(|row| row[index]).collect(),
            None => Vec::new(),
        };
        Column {
            name: name.to_owned(),
            values: Values::F64(values),
        }
    }

    pub(super) fn into_table(self) -> Table {
        let mut columns: Vec<Column> = NUMBERS.iter().map(|name| self.numbers(name)).collect();
        for (index, name) in ["state", "limit"].into_iter().enumerate() {
            columns.push(words(name, self.words.iter().map(|words| words[index])));
        }
        Table { columns }
    }

    /// The table of writes, for dccp_probe.
    pub(super) fn into_writes(self) -> Table {
        let mut columns: Vec<Column> = PROBE_NUMBERS.iter().map(|n| self.numbers(n)).collect();
        columns.push(Column {
            name: "write_bytes".to_owned(),
            values: Values::U64(self.sizes),
        });
        Table { columns }
    }
}

/// A column of words, each kept once.
fn words<'a>(name: &str, values: impl Iterator<Item = &'a str>) -> Column {
    let mut known: BTreeMap<&str, Arc<str>> = BTreeMap::new();
    let values = values
        .map(|word| known.entry(word).or_insert_with(|| word.into()).clone())
        .collect();
    Column {
        name: name.to_owned(),
        values: Values::Text(values),
    }
}

fn times(values: &[Instant]) -> Column {
    Column {
        name: "time_s".to_owned(),
        values: Values::F64(values.iter().map(|at| at.as_secs_f64()).collect()),
    }
}

fn counts(name: &str, values: Vec<u64>) -> Column {
    Column {
        name: name.to_owned(),
        values: Values::U64(values),
    }
}

/// Rows of a link's queue.
#[derive(Default)]
pub(super) struct LinkColumns {
    times: Vec<Instant>,
    packets: Vec<u64>,
    bytes: Vec<u64>,
    drops: Vec<u64>,
    marks: Vec<u64>,
}

impl LinkColumns {
    pub(super) fn push(&mut self, at: Instant, event: &Event) {
        let last = |column: &[u64]| column.last().copied().unwrap_or(0);
        let mut queue = (last(&self.packets), last(&self.bytes));
        let mut counts = (last(&self.drops), last(&self.marks));
        match event {
            Event::Queue { packets, bytes } => queue = (u64::from(*packets), *bytes),
            Event::Drop { .. } => counts.0 += 1,
            Event::EcnMark { .. } => counts.1 += 1,
            _ => return,
        }
        self.times.push(at);
        self.packets.push(queue.0);
        self.bytes.push(queue.1);
        self.drops.push(counts.0);
        self.marks.push(counts.1);
    }

    pub(super) fn into_table(self) -> Table {
        Table {
            columns: vec![
                times(&self.times),
                counts("queue_packets", self.packets),
                counts("queue_bytes", self.bytes),
                counts("drops", self.drops),
                counts("marks", self.marks),
            ],
        }
    }
}

/// Rows of packets: sent, received and lost at endpoints, dropped and marked on links.
#[derive(Default)]
pub(super) struct PacketColumns {
    times: Vec<Instant>,
    names: Vec<Arc<str>>,
    words: Vec<[&'static str; 3]>,
    numbers: Vec<f64>,
    sizes: Vec<u64>,
    known: BTreeMap<String, Arc<str>>,
}

impl PacketColumns {
    /// Takes the event, if it is about a packet; `place` is where and at what it happened.
    pub(super) fn push(
        &mut self,
        at: Instant,
        (place, name): (&'static str, &str),
        event: &Event,
    ) -> bool {
        let (what, number, size, reason) = match *event {
            Event::Sent { number, size } => ("sent", Some(number), size, ""),
            Event::Received { number, size } => ("received", Some(number), size, ""),
            Event::Lost {
                number,
                size,
                trigger,
            } => ("lost", Some(number), size, trigger.name()),
            Event::Drop { size, reason } => ("dropped", None, size, reason.name()),
            Event::EcnMark { size } => ("marked", None, size, ""),
            _ => return false,
        };
        let name = if let Some(name) = self.known.get(name) {
            name.clone()
        } else {
            let shared: Arc<str> = name.into();
            self.known.insert(name.to_owned(), shared.clone());
            shared
        };
        self.times.push(at);
        self.names.push(name);
        self.words.push([place, what, reason]);
        self.numbers.push(number.map_or(f64::NAN, |n| n as f64));
        self.sizes.push(u64::from(size));
        true
    }

    pub(super) fn into_table(self) -> Table {
        let word = |name, index: usize| words(name, self.words.iter().map(|w| w[index]));
        let columns = vec![
            times(&self.times),
            word("place", 0),
            Column {
                name: "name".to_owned(),
                values: Values::Text(self.names),
            },
            word("event", 1),
            Column {
                name: "number".to_owned(),
                values: Values::F64(self.numbers),
            },
            counts("size_bytes", self.sizes),
            word("reason", 2),
        ];
        Table { columns }
    }
}
