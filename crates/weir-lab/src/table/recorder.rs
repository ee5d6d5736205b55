//! Records a table row by row: in memory, or in batches for a file.
//!
//! For a file only rows are copied here; the writer thread converts them to columns.

use super::columns::{ColumnTarget, GrowingColumn, RowBatch};
use super::thinning::Thinning;
use super::{Column, ColumnSpec, RowKind, Table, ValueKind};
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

/// Rows of a batch: few enough for a batch to stay in the processor's cache.
const BATCH: usize = 1024;
/// Octets of a batch of rows of a table in memory: every flow has such tables, and rows have some
/// hundred octets.
const MEMORY_BATCH: usize = 1 << 13;
/// The initial capacity of a table in rows, and the factor by which it grows: rows are large, and
/// doubling would copy as many rows as there are in the end.
const FIRST_ROOM: usize = 16;
const GROWTH: usize = 8;

/// Receives the rows of tables during a run.
pub trait TableSink: Send + Sync {
    /// Takes the next rows of the table with this path in the run's folder, which has more.
    fn append(&self, path: &Arc<str>, rows: Box<dyn RowBatch + Send>);

    /// Takes the last rows of the table with this path; a table may have none at all.
    fn complete(&self, path: &Arc<str>, rows: Box<dyn RowBatch + Send>);

    /// True once a batch could not be stored, so that the run may end.
    fn is_broken(&self) -> bool;
}

/// A sink that several tables share.
pub type SharedSink = Arc<dyn TableSink>;

struct Batch<Row: 'static> {
    columns: Vec<&'static ColumnSpec<Row>>,
    rows: Vec<Row>,
    /// Kinds of rows that columns require and that the batch does not have.
    absent: Vec<&'static RowKind<Row>>,
}

impl<Row> Batch<Row> {
    fn new(columns: Vec<&'static ColumnSpec<Row>>, rows: Vec<Row>) -> Self {
        let mut kinds: Vec<&'static RowKind<Row>> = Vec::new();
        for kind in columns.iter().filter_map(|spec| spec.only_in) {
            if !kinds.iter().any(|known| ptr::eq(*known, kind)) {
                kinds.push(kind);
            }
        }
        kinds.retain(|kind| !kind.is_among(&rows));
        Self {
            columns,
            rows,
            absent: kinds,
        }
    }

    /// True if no row has a value in this column.
    fn is_empty(&self, spec: &ColumnSpec<Row>) -> bool {
        self.absent.iter().any(|kind| spec.is_only_in(kind))
    }
}

impl<Row: Send> RowBatch for Batch<Row> {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn columns(&self) -> Vec<(&str, ValueKind)> {
        let columns = self.columns.iter();
        columns.map(|spec| (spec.name, spec.kind())).collect()
    }

    fn append_to(&self, place: usize, rows: Range<usize>, target: ColumnTarget<'_>) {
        let (Some(spec), Some(rows)) = (self.columns.get(place), self.rows.get(rows)) else {
            return;
        };
        match target {
            ColumnTarget::Numbers(numbers) if self.is_empty(spec) => {
                numbers.resize(numbers.len() + rows.len(), f64::NAN);
            }
            target => spec.append_to(rows, target),
        }
    }
}

/// The columns of a table in memory under construction.
#[derive(Debug)]
struct Columns(Vec<GrowingColumn>);

impl Columns {
    fn new<Row>(columns: &[&'static ColumnSpec<Row>]) -> Self {
        let kinds = columns.iter().map(|spec| spec.kind());
        Self(kinds.map(GrowingColumn::new).collect())
    }

    /// Appends rows, column after column.
    fn extend<Row>(&mut self, columns: &[&'static ColumnSpec<Row>], rows: &[Row]) {
        for (spec, column) in columns.iter().zip(&mut self.0) {
            spec.append_to(rows, column.target());
        }
    }

    fn finish<Row>(self, columns: &[&'static ColumnSpec<Row>]) -> Table {
        let column = |(spec, values): (&&ColumnSpec<Row>, GrowingColumn)| Column {
            name: spec.name.to_owned(),
            values: values.finish(),
        };
        Table {
            columns: columns.iter().zip(self.0).map(column).collect(),
        }
    }
}

/// The target of a full batch.
enum Target {
    Memory(Columns),
    Stream { sink: SharedSink, path: Arc<str> },
}

/// A table that grows row by row.
pub struct TableRecorder<Row: 'static> {
    columns: Vec<&'static ColumnSpec<Row>>,
    target: Target,
    /// Rows that have not been converted to columns yet.
    batch: Vec<Row>,
    thinning: Option<Thinning<Row>>,
    rows: u64,
}

impl<Row: Clone + Send> TableRecorder<Row> {
    /// An empty table with these columns, in memory.
    pub fn new(columns: impl IntoIterator<Item = &'static ColumnSpec<Row>>) -> Self {
        let columns: Vec<_> = columns.into_iter().collect();
        let target = Target::Memory(Columns::new(&columns));
        Self {
            columns,
            target,
            batch: Vec::new(),
            thinning: None,
            rows: 0,
        }
    }

    /// An empty table with these columns, whose rows go to the sink under this path, or to memory
    /// without a sink.
    pub fn streaming(
        columns: impl IntoIterator<Item = &'static ColumnSpec<Row>>,
        sink: Option<&SharedSink>,
        path: &str,
    ) -> Self {
        let mut table = Self::new(columns);
        if let Some(sink) = sink {
            table.target = Target::Stream {
                sink: Arc::clone(sink),
                path: path.into(),
            };
        }
        table
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: &Row) {
        if self.thinning.is_none() {
            self.keep(row);
        } else {
            self.push_thinned(row);
        }
    }

    #[cold]
    fn push_thinned(&mut self, row: &Row) {
        let Some(thinning) = &mut self.thinning else {
            return;
        };
        for row in thinning.push(&self.columns, row) {
            self.keep(&row);
        }
    }

    /// Appends a row, or replaces the last one if that is still in the batch and `replaces` accepts
    /// it; true if the row was appended.
    #[inline]
    pub fn push_or_replace(&mut self, row: &Row, replaces: impl FnOnce(&Row) -> bool) -> bool {
        match self.batch.last_mut() {
            Some(last) if self.thinning.is_none() && replaces(last) => {
                last.clone_from(row);
                false
            }
            _ => {
                self.push(row);
                true
            }
        }
    }

    /// A full batch is sent only with the next row, because until then its last row may be
    /// replaced.
    #[inline]
    fn keep(&mut self, row: &Row) {
        if self.batch.len() == self.batch.capacity() {
            self.make_room();
        }
        self.rows += 1;
        self.batch.push(row.clone());
    }

    /// Makes room for the next row.
    #[cold]
    fn make_room(&mut self) {
        let held = self.batch.len();
        let most = match self.target {
            Target::Memory(_) => (MEMORY_BATCH / size_of::<Row>().max(1)).clamp(FIRST_ROOM, BATCH),
            Target::Stream { .. } => BATCH,
        };
        if held >= most {
            self.send();
        } else {
            let room = (held * GROWTH).clamp(FIRST_ROOM, most);
            self.batch.reserve_exact(room - held);
        }
    }

    /// Moves the rows of the batch to the table in memory or to the sink.
    #[cold]
    fn send(&mut self) {
        match &mut self.target {
            Target::Memory(table) => {
                table.extend(&self.columns, &self.batch);
                self.batch.clear();
            }
            Target::Stream { sink, path } => {
                let rows = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
                let columns = self.columns.clone();
                sink.append(path, Box::new(Batch::new(columns, rows)));
            }
        }
    }

    /// The number of rows kept so far.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// From the next row on keeps only rows that differ in a word from the row before, and in each
    /// interval of this many seconds the first row, the last one and the extremes of the plotted
    /// columns (of all columns, if none is plotted).
    pub fn thin(&mut self, interval_s: f64) {
        match &mut self.thinning {
            Some(thinning) => thinning.set_interval(interval_s),
            None => self.thinning = Some(Thinning::new(&self.columns, interval_s)),
        }
    }

    /// The interval of [`thin`](Self::thin) in seconds, if the table is thinned.
    pub fn interval_s(&self) -> Option<f64> {
        self.thinning.as_ref().map(Thinning::interval_s)
    }

    /// The table of all rows; without columns if a sink has received them.
    pub fn finish(mut self) -> Table {
        if let Some(mut thinning) = self.thinning.take() {
            thinning
                .end(&self.columns)
                .iter()
                .for_each(|row| self.keep(row));
        }
        match self.target {
            Target::Memory(mut table) => {
                table.extend(&self.columns, &self.batch);
                table.finish(&self.columns)
            }
            Target::Stream { sink, path } => {
                let (columns, rows) = (self.columns, self.batch);
                sink.complete(&path, Box::new(Batch::new(columns, rows)));
                Table::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Values;
    use std::sync::Mutex;

    const ROW: &[ColumnSpec<u64>] = &[ColumnSpec::count("n", "", "a number", &|row| *row)];

    /// The rows of each batch, and whether it completes the table.
    #[derive(Default)]
    struct Calls(Mutex<Vec<(usize, bool)>>);

    impl TableSink for Calls {
        fn append(&self, _path: &Arc<str>, rows: Box<dyn RowBatch + Send>) {
            self.0.lock().unwrap().push((rows.rows(), false));
        }

        fn complete(&self, _path: &Arc<str>, rows: Box<dyn RowBatch + Send>) {
            self.0.lock().unwrap().push((rows.rows(), true));
        }

        fn is_broken(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_sink_is_told_when_a_table_is_complete() {
        for rows in [0, 3, BATCH, BATCH + 1, 4 * BATCH] {
            let calls = Arc::new(Calls::default());
            let sink: SharedSink = Arc::clone(&calls) as SharedSink;
            let mut table = TableRecorder::streaming(ROW, Some(&sink), "flows/f");
            (0..rows).for_each(|row| table.push(&(row as u64)));
            table.finish();
            let calls = calls.0.lock().unwrap();
            assert_eq!(calls.iter().map(|(rows, _)| rows).sum::<usize>(), rows);
            assert!(calls.iter().all(|(rows, _)| *rows <= BATCH));
            assert_eq!(calls.len(), rows.div_ceil(BATCH).max(1));
            let last = calls.iter().position(|(_, is_last)| *is_last);
            assert_eq!(last, Some(calls.len() - 1));
        }
    }

    #[test]
    fn tables_in_memory_hold_few_rows_without_columns() {
        type Row = [u64; 64];
        const COLUMN: &[ColumnSpec<Row>] =
            &[ColumnSpec::count("n", "", "a number", &|row: &Row| row[0])];
        let mut table = TableRecorder::new(COLUMN);
        for number in 0..1000 {
            table.push(&[number; 64]);
            let held = table.batch.capacity() * size_of::<Row>();
            assert!(held <= 8192, "{held} octets after {number} rows");
        }
        let table = table.finish();
        let expected: Vec<u64> = (0..1000).collect();
        assert_eq!(table.columns[0].values, Values::U64(expected));
    }

    /// Even numbers only.
    static EVEN: RowKind<u64> = RowKind::new(|rows| rows.iter().any(|row| row % 2 == 0));

    fn half(row: u64) -> f64 {
        if row.is_multiple_of(2) {
            row as f64 / 2.0
        } else {
            f64::NAN
        }
    }

    const HALVES: &[ColumnSpec<u64>] = &[
        ColumnSpec::number("half", "", "half of an even number", &|row| half(*row)).only_in(&EVEN),
        ColumnSpec::number("same", "", "the same", &|row| half(*row)),
    ];

    /// The numbers of each column of each batch.
    #[derive(Default)]
    struct Numbers(Mutex<[Vec<f64>; 2]>);

    impl TableSink for Numbers {
        fn append(&self, _path: &Arc<str>, rows: Box<dyn RowBatch + Send>) {
            for (place, numbers) in self.0.lock().unwrap().iter_mut().enumerate() {
                rows.append_to(place, 0..rows.rows(), ColumnTarget::Numbers(numbers));
            }
        }

        fn complete(&self, path: &Arc<str>, rows: Box<dyn RowBatch + Send>) {
            self.append(path, rows);
        }

        fn is_broken(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_column_is_empty_only_where_none_of_its_rows_are() {
        let numbers = Arc::new(Numbers::default());
        let sink: SharedSink = Arc::clone(&numbers) as SharedSink;
        let mut table = TableRecorder::streaming(HALVES, Some(&sink), "flows/f");
        // Odd numbers with one even number among them.
        let rows = (0..3000).map(|row| if row == 700 { 700 } else { 2 * row + 1 });
        rows.for_each(|row| table.push(&row));
        table.finish();
        let [found, expected] = &*numbers.0.lock().unwrap();
        assert_eq!(found.len(), 3000);
        let there = |numbers: &[f64]| {
            numbers
                .iter()
                .map(|x| (!x.is_nan()).then_some(*x))
                .collect()
        };
        let (found, expected): (Vec<_>, Vec<_>) = (there(found), there(expected));
        assert_eq!(found, expected);
        assert_eq!(found[700], Some(350.0));
    }
}
