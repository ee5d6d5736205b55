//! Decides when a trace is long enough for its tables to be thinned.

use weir_proto::time::Instant;

/// The number of rows, and the start time of thinning.
pub(in crate::run) struct ThinningState {
    pub(in crate::run) max_rows: u64,
    /// Rows added to the tables since the last count.
    pub(in crate::run) unseen: u64,
    /// The number of added rows after which rows are counted again.
    pub(in crate::run) look_every: u64,
    /// Rows in the tables at the last count.
    pub(in crate::run) rows: u64,
    /// Rows of tables that are not recorded here.
    pub(in crate::run) others: u64,
    /// The number of rows at which the next step of thinning is due.
    pub(in crate::run) next: u64,
    pub(in crate::run) from: Option<Instant>,
}

impl ThinningState {
    pub(in crate::run) const fn new(max_rows: u64) -> Self {
        Self {
            max_rows,
            unseen: 0,
            look_every: if max_rows < 4096 { 1 } else { 4096 },
            rows: 0,
            others: 0,
            next: max_rows,
            from: None,
        }
    }

    /// True if the tables are to be thinned, or thinned further.
    pub(in crate::run) fn is_due(&mut self, at: Instant) -> bool {
        let due = self.rows > self.next;
        if due {
            self.next = self.rows.saturating_add(self.max_rows / 2);
            self.from.get_or_insert(at);
        }
        due
    }
}
