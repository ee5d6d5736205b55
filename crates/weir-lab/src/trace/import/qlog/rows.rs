//! The rows of `flows/NAME`, in which a value stays until another one takes its place.

use crate::table::Table;
use crate::trace::import::rows::{Cell, Rows};
use std::sync::Arc;
use weir_proto::time::Instant;

/// The columns besides time and event. A number that is not known is NaN, a word is empty.
#[derive(Clone, Debug)]
pub(super) struct FlowRow {
    pub(super) rtt_s: f64,
    pub(super) smoothed_rtt_s: f64,
    pub(super) cwnd_bytes: f64,
    pub(super) bytes_in_flight: f64,
    pub(super) ssthresh_bytes: f64,
    pub(super) pacing_rate_bps: f64,
    pub(super) min_rtt_s: f64,
    pub(super) delivered_bytes: f64,
    pub(super) delivery_rate_bps: f64,
    pub(super) state: Arc<str>,
    pub(super) limit: Arc<str>,
    pub(super) bound: &'static str,
}

impl Default for FlowRow {
    fn default() -> Self {
        let none = f64::NAN;
        Self {
            rtt_s: none,
            smoothed_rtt_s: none,
            cwnd_bytes: none,
            bytes_in_flight: none,
            ssthresh_bytes: none,
            pacing_rate_bps: none,
            min_rtt_s: none,
            delivered_bytes: none,
            delivery_rate_bps: none,
            state: "".into(),
            limit: "".into(),
            bound: "",
        }
    }
}

/// The rows of a flow.
#[derive(Debug, Default)]
pub(super) struct FlowRows {
    /// The values of the next row.
    pub(super) current: FlowRow,
    last: Option<(Instant, &'static str)>,
    rows: Rows,
}

impl FlowRows {
    /// Adds a row; one of the same event at the same time is replaced, because an acknowledgement
    /// and what it lets out are one change.
    pub(super) fn push(&mut self, at: Instant, event: &'static str) {
        if self.last.replace((at, event)) == Some((at, event)) {
            self.rows.pop();
        }
        let row = &self.current;
        self.rows.push(&[
            ("time_s", Cell::Number(at.as_secs_f64())),
            ("rtt_s", Cell::Number(row.rtt_s)),
            ("smoothed_rtt_s", Cell::Number(row.smoothed_rtt_s)),
            ("cwnd_bytes", Cell::Number(row.cwnd_bytes)),
            ("bytes_in_flight", Cell::Number(row.bytes_in_flight)),
            ("ssthresh_bytes", Cell::Number(row.ssthresh_bytes)),
            ("pacing_rate_bps", Cell::Number(row.pacing_rate_bps)),
            ("min_rtt_s", Cell::Number(row.min_rtt_s)),
            ("delivered_bytes", Cell::Number(row.delivered_bytes)),
            ("delivery_rate_bps", Cell::Number(row.delivery_rate_bps)),
            ("state", Cell::Word(&row.state)),
            ("limit", Cell::Word(&row.limit)),
            ("bound", Cell::Word(row.bound)),
            ("event", Cell::Word(event)),
        ]);
    }

    /// The columns that have a value.
    pub(super) fn finish(self) -> Table {
        self.rows.finish()
    }
}
