//! What measures need of a run: the flow's trace in two views, and a few totals.

use crate::trace::{Table, Values};
use std::borrow::Cow;

/// One run, or one seed of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Observation {
    /// A row at each change of the controller; empty if the run was not traced.
    pub state: Table,
    /// A line at each write of the application with the state before it.
    pub log: Table,
    /// Throughput in the run's window: octets of data packets that arrived, as the transport
    /// counts them.
    pub throughput_bps: f64,
    /// Data packets sent.
    pub packets_sent: u64,
    /// Packets that the sender found to be lost.
    pub packets_lost: u64,
}

impl Observation {
    /// A column of numbers; counts become numbers.
    pub fn numbers<'a>(&self, table: &'a Table, name: &str) -> Option<Cow<'a, [f64]>> {
        match table.column(name)? {
            Values::F64(values) => Some(Cow::Borrowed(values)),
            Values::U64(values) => Some(values.iter().map(|value| *value as f64).collect()),
            Values::Text(_) => None,
        }
    }
}
