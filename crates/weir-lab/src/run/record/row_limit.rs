//! When a trace has become so long that its tables are thinned.

use weir_proto::time::Instant;

/// How many rows there are, and since when tables are thinned.
pub(in crate::run) struct ThinningState {
    pub(in crate::run) max_rows: u64,
    /// Rows that were handed to the tables since rows were counted.
    pub(in crate::run) unseen: u64,
    /// After how many of them rows are counted.
    pub(in crate::run) look_every: u64,
    /// Rows that the tables kept, as last counted.
    pub(in crate::run) rows: u64,
    /// Rows of tables that are not recorded here.
    pub(in crate::run) others: u64,
    /// The number of rows that makes the next step due.
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

    /// True when the tables are to be thinned, or thinned more.
    pub(in crate::run) fn is_due(&mut self, at: Instant) -> bool {
        let due = self.rows > self.next;
        if due {
            self.next = self.rows.saturating_add(self.max_rows / 2);
            self.from.get_or_insert(at);
        }
        due
    }
}
