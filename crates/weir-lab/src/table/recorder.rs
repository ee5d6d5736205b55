//! A table that grows row by row: in memory, or in batches on the way to a file.
//!
//! On the way to a file only rows are copied here; their columns are made by the thread that
//! writes them.

use super::columns::{ColumnTarget, GrowingColumn, RowBatch};
use super::thinning::Thinning;
use super::{Column, ColumnSpec, Table, ValueKind};
use std::ops::Range;
use std::sync::Arc;

/// Rows of a batch: few enough that a batch stays in a processor's cache.
const BATCH: usize = 1024;

/// Takes the rows of tables while a run goes on.
pub trait TableSink: Send + Sync {
    /// Takes the next rows of the table with this path in the run's folder. An empty batch makes
    /// a table without rows.
    fn append(&self, path: &Arc<str>, rows: Box<dyn RowBatch>);

    /// No more rows of the table with this path will come.
    fn complete(&self, path: &Arc<str>);

    /// True once a batch could not be taken: the run need not go on.
    fn is_broken(&self) -> bool;
}

/// A sink that several tables share.
pub type SharedSink = Arc<dyn TableSink>;

struct Batch<Row: 'static> {
    columns: Vec<&'static ColumnSpec<Row>>,
    rows: Vec<Row>,
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
        if let (Some(spec), Some(rows)) = (self.columns.get(place), self.rows.get(rows)) {
            spec.append_to(rows, target);
        }
    }
}

/// The columns of a table in memory while they grow.
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

/// Where the rows of a full batch go.
enum Target {
    Memory(Columns),
    Stream { sink: SharedSink, path: Arc<str> },
}

/// A table that grows row by row.
pub struct TableRecorder<Row: 'static> {
    columns: Vec<&'static ColumnSpec<Row>>,
    target: Target,
    /// Rows that wait for their columns, which are made batch by batch.
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

    /// An empty table with these columns, whose rows go to the sink under this path; in memory
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
        match &mut self.thinning {
            None => self.keep(row),
            Some(thinning) => {
                for row in thinning.push(&self.columns, row) {
                    self.keep(&row);
                }
            }
        }
    }

    /// Appends a row, or puts it in the place of the last one if that is still here and `replaces`
    /// says so of it; true if it was appended.
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

    /// A full batch is sent when the next row comes, which may replace its last one.
    #[inline]
    fn keep(&mut self, row: &Row) {
        if self.batch.len() >= BATCH {
            self.send();
        }
        self.rows += 1;
        self.batch.push(row.clone());
    }

    /// Hands the waiting rows to the table in memory or to the sink.
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
                sink.append(path, Box::new(Batch { columns, rows }));
            }
        }
    }

    /// Rows that were kept so far.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// From the next row on keeps those only that differ in a word from the row before, and of each
    /// interval of this many seconds the first, the last and the extremes of the plotted columns
    /// (of all columns, if none is plotted).
    pub fn thin(&mut self, interval_s: f64) {
        match &mut self.thinning {
            Some(thinning) => thinning.set_interval(interval_s),
            None => self.thinning = Some(Thinning::new(&self.columns, interval_s)),
        }
    }

    /// The seconds of the intervals of [`thin`](Self::thin), if the table is thinned.
    pub fn interval_s(&self) -> Option<f64> {
        self.thinning.as_ref().map(Thinning::interval_s)
    }

    /// The table of all rows; without columns if a sink has taken them.
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
                sink.append(&path, Box::new(Batch { columns, rows }));
                sink.complete(&path);
                Table::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    const ROW: &[ColumnSpec<u64>] = &[ColumnSpec::count("n", "", "a number", &|row| *row)];

    /// The rows of each batch, none where the table was said to be complete.
    #[derive(Default)]
    struct Calls(Mutex<Vec<Option<usize>>>);

    impl TableSink for Calls {
        fn append(&self, _path: &Arc<str>, rows: Box<dyn RowBatch>) {
            let rows = rows.rows();
            self.0.lock().unwrap().push(Some(rows));
        }

        fn complete(&self, _path: &Arc<str>) {
            self.0.lock().unwrap().push(None);
        }

        fn is_broken(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_sink_is_told_when_a_table_is_complete() {
        for rows in [0, 3, BATCH, BATCH + 1] {
            let calls = Arc::new(Calls::default());
            let sink: SharedSink = Arc::clone(&calls) as SharedSink;
            let mut table = TableRecorder::streaming(ROW, Some(&sink), "flows/f");
            (0..rows).for_each(|row| table.push(&(row as u64)));
            table.finish();
            let calls = calls.0.lock().unwrap();
            assert_eq!(calls.iter().flatten().sum::<usize>(), rows);
            assert_eq!(
                calls.iter().position(Option::is_none),
                Some(calls.len() - 1)
            );
        }
    }
}
