//! The tables of one traced flow, and the state from which their next rows are made.

use super::delivery_rate::DeliveryRate;
use crate::run::FlowTrace;
use crate::run::columns::{self, FlowEventRow, FlowRow};
use crate::table::{SharedSink, TableRecorder};
use weir_proto::event::{Event, WindowState};
use weir_proto::time::{Duration, Instant};

/// Whether a table of the application's writes is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum WriteTrace {
    On,
    Off,
}

/// The tables of one flow under construction.
pub(in crate::run) struct FlowTables {
    writes_traced: WriteTrace,
    delivery_rate: DeliveryRate,
    /// The last state of a rate controller.
    last: Option<Event>,
    /// The current state of the sender's row.
    pub(in crate::run) now: FlowRow,
    /// Times and sizes of writes before the first state of the controller.
    early_writes: Vec<(Instant, u32)>,
    states: TableRecorder<FlowRow>,
    pub(in crate::run) events: TableRecorder<FlowEventRow>,
    writes: TableRecorder<FlowRow>,
}

impl FlowTables {
    /// Empty tables of the flow of this name; their rows go to the sink if there is one.
    pub(in crate::run) fn new(name: &str, writes: WriteTrace, sink: Option<&SharedSink>) -> Self {
        let states = TableRecorder::streaming(columns::FLOW, sink, &format!("flows/{name}"));
        let events = TableRecorder::streaming(columns::EVENT, sink, &format!("events/{name}"));
        let written = TableRecorder::streaming(columns::writes(), sink, &format!("writes/{name}"));
        Self {
            writes_traced: writes,
            delivery_rate: DeliveryRate::default(),
            last: None,
            now: FlowRow::default(),
            early_writes: Vec::new(),
            states,
            events,
            writes: written,
        }
    }

    /// The number of rows of states and writes.
    pub(in crate::run) fn rows(&self) -> u64 {
        self.states.rows() + self.writes.rows()
    }

    /// The interval to which the tables are thinned, in seconds; `None` if they are not thinned.
    pub(in crate::run) fn interval_s(&self) -> Option<f64> {
        self.states.interval_s()
    }

    /// Thins the tables to the extremes of intervals of this length from now on.
    pub(in crate::run) fn thin(&mut self, interval_s: f64) {
        self.states.thin(interval_s);
        self.writes.thin(interval_s);
    }

    /// The sender reports a rate.
    #[inline(never)]
    pub(in crate::run) fn on_rate(&mut self, at: Instant, state: &Event) {
        self.last = Some(*state);
        if !self.early_writes.is_empty() {
            self.push_early_writes(Some(*state));
        }
        self.push_state(at, state);
    }

    /// The sender reports a window.
    #[inline(never)]
    pub(in crate::run) fn on_window(&mut self, at: Instant, event: &Event, window: &WindowState) {
        if let Some(octets) = window.delivered {
            let span = window.smoothed_rtt;
            self.now.delivery_rate_bps = self.delivery_rate.on_report(at, octets, span);
        }
        self.push_state(at, event);
    }

    /// The sender reports a sample of the round-trip time.
    #[inline(never)]
    pub(in crate::run) fn on_rtt(&mut self, sample: Duration) {
        let least = self.now.min_rtt.map_or(sample, |least| least.min(sample));
        self.now.min_rtt = Some(least);
    }

    fn push_state(&mut self, at: Instant, state: &Event) {
        self.now.state = Some(*state);
        self.push_row(at, columns::CONTROLLER_ROW);
    }

    /// Appends the current row of the sender, caused by this event.
    #[inline]
    pub(in crate::run) fn push_row(&mut self, at: Instant, event: &'static str) {
        (self.now.at, self.now.event) = (at, event);
        self.states.push(&self.now);
    }

    fn push_write(&mut self, at: Instant, write_bytes: u32, state: Option<Event>) {
        self.writes.push(&FlowRow {
            at,
            state,
            write_bytes,
            ..FlowRow::default()
        });
    }

    fn push_early_writes(&mut self, state: Option<Event>) {
        for (at, size) in std::mem::take(&mut self.early_writes) {
            self.push_write(at, size, state);
        }
    }

    /// Linux's dccp_probe prints a line before the write is handled; its first line shows the state
    /// after the CCID's initialisation by the first packet. So writes before the first state are
    /// held back until then.
    pub(in crate::run) fn on_write(&mut self, at: Instant, size: u32) {
        match self.last {
            Some(state) => self.push_write(at, size, Some(state)),
            None => self.early_writes.push((at, size)),
        }
    }

    /// The trace of the flow of this name.
    pub(in crate::run) fn finish(mut self, name: &str) -> FlowTrace {
        // Without any state of the controller, lines have only the time and the size of the write.
        self.push_early_writes(None);
        FlowTrace {
            name: name.to_owned(),
            table: self.states.finish(),
            events: Some(self.events.finish()),
            writes: match self.writes_traced {
                WriteTrace::On => Some(self.writes.finish()),
                WriteTrace::Off => None,
            },
            gaps: None,
            frames: None,
            requests: None,
            intervals: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::columns::{FLOW, FlowRow};
    use crate::table::{ColumnTarget, RowBatch, TableRecorder, TableSink};
    use std::sync::{Arc, Mutex};
    use weir_proto::event::{Event, Limit, MediaState, RateState, WindowState};
    use weir_proto::time::Duration;
    use weir_proto::units::Rate;

    /// The numbers of all columns, as the writer thread receives them.
    #[derive(Default)]
    struct Written(Mutex<Vec<Vec<f64>>>);

    impl TableSink for Written {
        fn append(&self, _path: &Arc<str>, rows: Box<dyn RowBatch + Send>) {
            for place in 0..rows.columns().len() {
                let mut numbers = Vec::new();
                rows.append_to(place, 0..rows.rows(), ColumnTarget::Numbers(&mut numbers));
                self.0.lock().unwrap().push(numbers);
            }
        }

        fn complete(&self, path: &Arc<str>, rows: Box<dyn RowBatch + Send>) {
            self.append(path, rows);
        }

        fn is_broken(&self) -> bool {
            false
        }
    }

    /// A batch without rows for a column is skipped by the writer, so such a column must have no
    /// values.
    #[test]
    fn a_file_has_each_value_that_a_table_in_memory_has() {
        let some = Rate::from_bps(1e6);
        let rate = RateState {
            allowed_rate: some,
            equation_rate: Some(some),
            receive_rate: some,
            loss_event_rate: 0.01,
            rtt: Duration::from_millis(20),
            smoothed_rtt: Duration::from_millis(30),
            inter_packet_interval: Duration::from_millis(1),
            segment_size: 1400,
            state: "slow_start",
            limit: Limit::None,
            media: None,
        };
        let media = RateState {
            media: Some(MediaState::default()),
            ..rate
        };
        let states = [
            None,
            Some(Event::Rate(rate)),
            Some(Event::Rate(media)),
            Some(Event::Window(WindowState::default())),
        ];
        for state in states {
            let row = FlowRow {
                state,
                ..FlowRow::default()
            };
            let mut memory = TableRecorder::new(FLOW);
            memory.push(&row);
            let memory = memory.finish();
            let written = Arc::new(Written::default());
            let sink = Arc::clone(&written) as _;
            let mut file = TableRecorder::streaming(FLOW, Some(&sink), "flows/f");
            file.push(&row);
            file.finish();
            let written = written.0.lock().unwrap();
            for (column, written) in memory.columns.iter().zip(&*written) {
                let Some(numbers) = memory.numbers(&column.name) else {
                    continue;
                };
                let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect();
                let (found, expected): (Vec<u64>, Vec<u64>) = (bits(written), bits(numbers));
                assert_eq!(found, expected, "{} of {state:?}", column.name);
            }
        }
    }
}
