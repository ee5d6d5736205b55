//! When a trace has become so long that its tables are thinned.

use weir_proto::time::Instant;

/// How many rows there are, and since when tables are thinned.
pub(super) struct ThinningState {
    pub(super) max_rows: u64,
    /// Rows that were handed to the tables since rows were counted.
    pub(super) unseen: u64,
    /// After how many of them rows are counted.
    pub(super) look_every: u64,
    /// Rows that the tables kept, as last counted.
    pub(super) rows: u64,
    /// Rows of tables that are not recorded here.
    pub(super) others: u64,
    /// The number of rows that makes the next step due.
    pub(super) next: u64,
    pub(super) from: Option<Instant>,
}

impl ThinningState {
    pub(super) const fn new(max_rows: u64) -> Self {
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
    pub(super) fn is_due(&mut self, at: Instant) -> bool {
        let due = self.rows > self.next;
        if due {
            self.next = self.rows.saturating_add(self.max_rows / 2);
            self.from.get_or_insert(at);
        }
        due
    }
}
