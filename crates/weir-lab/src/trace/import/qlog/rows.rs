//! The columns of a run's tables, filled row by row.

use crate::table::{Column, Table, Values};
use std::sync::Arc;

/// The columns of numbers of `flows/NAME`, besides the time.
pub(super) const NUMBERS: [&str; 9] = [
    "rtt_s",
    "smoothed_rtt_s",
    "cwnd_bytes",
    "bytes_in_flight",
    "ssthresh_bytes",
    "pacing_rate_bps",
    "min_rtt_s",
    "delivered_bytes",
    "delivery_rate_bps",
];
pub(super) const RTT: usize = 0;
pub(super) const SMOOTHED_RTT: usize = 1;
pub(super) const CWND: usize = 2;
pub(super) const IN_FLIGHT: usize = 3;
pub(super) const SSTHRESH: usize = 4;
pub(super) const PACING_RATE: usize = 5;
pub(super) const MIN_RTT: usize = 6;
pub(super) const DELIVERED: usize = 7;
pub(super) const DELIVERY_RATE: usize = 8;

/// The columns of words of `flows/NAME`.
const WORDS: [&str; 4] = ["state", "limit", "bound", "event"];
pub(super) const STATE: usize = 0;
pub(super) const LIMIT: usize = 1;
pub(super) const BOUND: usize = 2;
const EVENT: usize = 3;

/// The rows of `flows/NAME`: a value stays until another one takes its place.
pub(super) struct FlowRows {
    pub(super) numbers: [f64; NUMBERS.len()],
    pub(super) words: [Arc<str>; WORDS.len()],
    times: Vec<f64>,
    columns: [Vec<f64>; NUMBERS.len()],
    word_columns: [Vec<Arc<str>>; WORDS.len()],
}

impl FlowRows {
    pub(super) fn new() -> Self {
        let empty: Arc<str> = "".into();
        Self {
            numbers: [f64::NAN; NUMBERS.len()],
            words: [(); WORDS.len()].map(|()| Arc::clone(&empty)),
            times: Vec::new(),
            columns: [(); NUMBERS.len()].map(|()| Vec::new()),
            word_columns: [(); WORDS.len()].map(|()| Vec::new()),
        }
    }

    /// Adds a row; one of the same event at the same time is replaced, because an acknowledgement
    /// and what it lets out are one change.
    pub(super) fn push(&mut self, time_s: f64, event: &Arc<str>) {
        let same = self.times.last() == Some(&time_s)
            && self.word_columns[EVENT]
                .last()
                .is_some_and(|last| last == event);
        if same {
            self.times.pop();
            for column in &mut self.columns {
                column.pop();
            }
            for column in &mut self.word_columns {
                column.pop();
            }
        }
        self.words[EVENT] = Arc::clone(event);
        self.times.push(time_s);
        for (column, number) in self.columns.iter_mut().zip(self.numbers) {
            column.push(number);
        }
        for (column, word) in self.word_columns.iter_mut().zip(&self.words) {
            column.push(Arc::clone(word));
        }
    }

    /// The columns that have a value.
    pub(super) fn table(self) -> Table {
        let mut columns = vec![numbers("time_s", self.times)];
        let named = NUMBERS.into_iter().zip(self.columns);
        for (name, values) in named {
            if values.iter().any(|value| value.is_finite()) {
                columns.push(numbers(name, values));
            }
        }
        for (name, values) in WORDS.into_iter().zip(self.word_columns) {
            if values.iter().any(|word| !word.is_empty()) {
                columns.push(words(name, values));
            }
        }
        Table { columns }
    }
}

/// The rows of `events/NAME`.
#[derive(Default)]
pub(super) struct EventRows {
    times: Vec<f64>,
    places: Vec<Arc<str>>,
    events: Vec<Arc<str>>,
    details: Vec<Arc<str>>,
    backoffs: Vec<f64>,
}

impl EventRows {
    pub(super) fn push(&mut self, time_s: f64, place: &Arc<str>, event: [&Arc<str>; 2]) {
        self.times.push(time_s);
        self.places.push(Arc::clone(place));
        self.events.push(Arc::clone(event[0]));
        self.details.push(Arc::clone(event[1]));
        self.backoffs.push(f64::NAN);
    }

    /// Sets the number of timeouts in a row before the last event.
    pub(super) fn set_backoff(&mut self, backoff: u32) {
        if let Some(last) = self.backoffs.last_mut() {
            *last = f64::from(backoff);
        }
    }

    pub(super) fn table(self) -> Option<Table> {
        let columns = vec![
            numbers("time_s", self.times),
            words("place", self.places),
            words("event", self.events),
            words("detail", self.details),
            numbers("backoff", self.backoffs),
        ];
        let table = Table { columns };
        (table.rows() > 0).then_some(table)
    }
}

/// A row of `packets`.
pub(super) struct PacketRow {
    pub(super) time_s: f64,
    pub(super) event: &'static str,
    pub(super) number: Option<u64>,
    pub(super) size: u32,
    pub(super) reason: Arc<str>,
    pub(super) content: &'static str,
    pub(super) packet_type: &'static str,
}

/// The rows of `packets` of one end.
#[derive(Default)]
pub(super) struct PacketRows(pub(super) Vec<PacketRow>);

/// The rows of all ends, in the order of their times.
pub(super) fn packet_table(ends: Vec<([Arc<str>; 2], PacketRows)>) -> Option<Table> {
    let mut rows: Vec<(usize, PacketRow)> = Vec::new();
    let mut names = Vec::new();
    for (end, (name, of_end)) in ends.into_iter().enumerate() {
        names.push(name);
        rows.extend(of_end.0.into_iter().map(|row| (end, row)));
    }
    if rows.is_empty() {
        return None;
    }
    rows.sort_by(|a, b| a.1.time_s.total_cmp(&b.1.time_s));
    let shared = Shared::default();
    let of_end = |at: usize| {
        let words = rows.iter().filter_map(|(end, _)| names.get(*end));
        words.map(|name| Arc::clone(&name[at])).collect::<Vec<_>>()
    };
    let word = |value: fn(&PacketRow) -> &'static str| {
        rows.iter().map(|(_, row)| shared.of(value(row))).collect()
    };
    let flows = of_end(1);
    let number = |row: &PacketRow| row.number.map_or(f64::NAN, |number| number as f64);
    let columns = vec![
        numbers("time_s", rows.iter().map(|(_, row)| row.time_s).collect()),
        words("place", of_end(0)),
        words("name", flows.clone()),
        words("event", word(|row| row.event)),
        numbers("number", rows.iter().map(|(_, row)| number(row)).collect()),
        counts(
            "size_bytes",
            rows.iter().map(|(_, row)| u64::from(row.size)).collect(),
        ),
        words(
            "reason",
            rows.iter()
                .map(|(_, row)| Arc::clone(&row.reason))
                .collect(),
        ),
        words("flow", flows),
        words("content", word(|row| row.content)),
        words("packet_type", word(|row| row.packet_type)),
    ];
    Some(Table { columns })
}

/// Words that are written in this module, each once in memory.
#[derive(Default)]
struct Shared(std::cell::RefCell<std::collections::BTreeMap<&'static str, Arc<str>>>);

impl Shared {
    fn of(&self, word: &'static str) -> Arc<str> {
        let mut known = self.0.borrow_mut();
        Arc::clone(known.entry(word).or_insert_with(|| word.into()))
    }
}

pub(super) fn numbers(name: &str, values: Vec<f64>) -> Column {
    Column {
        name: name.to_owned(),
        values: Values::F64(values),
    }
}

pub(super) fn counts(name: &str, values: Vec<u64>) -> Column {
    Column {
        name: name.to_owned(),
        values: Values::U64(values),
    }
}

pub(super) fn words(name: &str, values: Vec<Arc<str>>) -> Column {
    Column {
        name: name.to_owned(),
        values: Values::Text(values),
    }
}
