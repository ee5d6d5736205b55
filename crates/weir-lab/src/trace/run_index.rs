//! `runs.parquet`: all runs of a folder of results as one table, for pandas, DuckDB and other
//! tools.
//!
//! A row is a flow, all transfers of a flow with arrivals, a group of flows or a direction of a
//! link of a run: the run's folder, scenario, seed and overrides, then every number of its summary
//! under its name, such as `goodput_bps` and `rtt_s_p95`. An override is a column named by its path
//! (`flow.stream.transport.controller`), empty in runs without it. The whole file is replaced under
//! a lock, so that parallel commands lose nothing; rows of folders that no longer exist are
//! removed.

use super::folder_error::{FolderError, io_error};
use super::parquet;
use super::partial::FileSet;
use super::single_table::description_of_runs;
use crate::natural_order::{in_natural_order, natural_order};
use crate::run::{Summary, column_of_runs};
use crate::table::{Column, ColumnNote, Table, Values};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The name of the file.
const INDEX: &str = "runs.parquet";
/// The new name of a damaged file.
const DAMAGED: &str = "runs-damaged.parquet";
/// Locked while the file is replaced, because the file itself is a new one afterwards.
const LOCK: &str = ".runs.lock";

/// A run in the index.
#[derive(Clone, Debug)]
pub struct IndexEntry<'a> {
    /// Its folder, relative to that of the index.
    pub folder: &'a str,
    /// The name of its scenario's file.
    pub scenario: &'a str,
    /// The overrides: paths and values.
    pub set: Vec<(&'a str, &'a str)>,
    /// Its summary.
    pub summary: &'a Summary,
}

/// Adds runs to the index of a folder of results, in place of earlier entries with the same
/// folders. A damaged index is renamed and replaced by a new one; its new name is returned, because
/// the runs of earlier commands are missing from the new index until they are repeated.
///
/// # Errors
/// If it cannot be read or written; then the index is unchanged.
pub fn update_index(
    results: &Path,
    entries: &[IndexEntry<'_>],
) -> Result<Option<PathBuf>, FolderError> {
    let path = results.join(INDEX);
    let _guard = lock(results).map_err(io_error("write", &path))?;
    let octets = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.map_err(io_error("read", &path))?),
    };
    let known = octets.map(parquet::read);
    let damaged = match &known {
        Some(Err(_)) => {
            let damaged = results.join(DAMAGED);
            fs::rename(&path, &damaged).map_err(io_error("write", &damaged))?;
            Some(damaged)
        }
        None | Some(Ok(_)) => None,
    };
    let known = known.and_then(Result::ok).unwrap_or_default();
    let table = merged(&known, &kept(&known, results, entries), table_of(entries));
    write(results, &table).map_err(io_error("write", &path))?;
    Ok(damaged)
}

fn lock(results: &Path) -> io::Result<Option<File>> {
    let file = File::create(results.join(LOCK))?;
    // If the file system does not support locks, parallel commands may lose entries.
    Ok(file.lock().is_ok().then_some(file))
}

fn write(results: &Path, table: &Table) -> io::Result<()> {
    let mut files = FileSet::create(results)?;
    let file = files.begin(Path::new(INDEX))?;
    parquet::write_table(table, &description_of_runs(table, note_of), file)?;
    files.commit()?;
    Ok(())
}

/// The description of a column: that of a measure, or else of an override by its path.
fn note_of(column: &str) -> Option<ColumnNote> {
    column_of_runs(column).or_else(|| {
        Some(ColumnNote {
            name: column.to_owned(),
            unit: "",
            doc: format!("the value that was set for {column}, as --set has it"),
        })
    })
}

/// The indices of rows to keep: those of other folders that exist.
fn kept(known: &Table, results: &Path, entries: &[IndexEntry<'_>]) -> Vec<usize> {
    let ours: BTreeSet<&str> = entries.iter().map(|entry| entry.folder).collect();
    let mut there: BTreeMap<&str, bool> = BTreeMap::new();
    let folders = known.words("folder").unwrap_or_default();
    let rows = folders.iter().enumerate().filter(|(_, folder)| {
        let folder: &str = folder;
        let there = there.entry(folder);
        let is_there = *there.or_insert_with(|| results.join(folder).is_dir());
        is_there && !ours.contains(folder)
    });
    rows.map(|(row, _)| row).collect()
}

/// A cell of a row.
enum Cell<'a> {
    Number(f64),
    Count(u64),
    Word(&'a str),
}

/// A table that is filled cell by cell; it may have a row for each of a hundred thousand flows.
struct Rows {
    table: Table,
    /// The index of each column by its name.
    places: BTreeMap<String, usize>,
    /// The total number of rows.
    count: usize,
    /// The current row.
    row: usize,
    /// The column after the last one that was set: that of the next cell in most rows.
    next: usize,
}

impl Rows {
    fn set(&mut self, name: &str, cell: Cell<'_>) {
        let next = self.table.columns.get(self.next);
        let place = match next.filter(|column| column.name == name) {
            Some(_) => self.next,
            None => match self.places.get(name) {
                Some(&place) => place,
                None => self.begin(name, &cell),
            },
        };
        self.next = place + 1;
        let (row, column) = (self.row, self.table.columns.get_mut(place));
        match (column.map(|column| &mut column.values), cell) {
            (Some(Values::F64(values)), Cell::Number(number)) => values[row] = number,
            (Some(Values::U64(values)), Cell::Count(count)) => values[row] = count,
            (Some(Values::Text(values)), Cell::Word(word)) => {
                // The words of a run are the same in all of its rows.
                let above = values[..row].last().filter(|above| &***above == word);
                values[row] = above.cloned().unwrap_or_else(|| word.into());
            }
            // A name has values of the same kind in all summaries.
            _ => {}
        }
    }

    /// Adds a column that is empty in all rows.
    fn begin(&mut self, name: &str, cell: &Cell<'_>) -> usize {
        let values = match cell {
            Cell::Number(_) => Values::F64(vec![f64::NAN; self.count]),
            Cell::Count(_) => Values::U64(vec![0; self.count]),
            Cell::Word(_) => Values::Text(vec!["".into(); self.count]),
        };
        let (place, name) = (self.table.columns.len(), name.to_owned());
        self.places.insert(name.clone(), place);
        self.table.columns.push(Column { name, values });
        place
    }

    fn set_run(&mut self, entry: &IndexEntry<'_>) {
        let run = &entry.summary.run;
        let words = [
            ("folder", entry.folder),
            ("scenario", entry.scenario),
            ("scenario_hash", run.scenario.as_str()),
            ("build", run.build.as_str()),
            ("commit", run.commit.as_deref().unwrap_or_default()),
        ];
        for (name, word) in words.into_iter().chain(entry.set.iter().copied()) {
            self.set(name, Cell::Word(word));
        }
        self.set("seed", Cell::Count(run.seed));
        self.set("duration_s", Cell::Number(run.duration_s));
        self.set("warmup_s", Cell::Number(run.warmup_s));
    }

    /// Adds a row for each part, one after the other, because all parts as JSON would take
    /// gigabytes with many flows.
    fn add_parts(
        &mut self,
        entry: &IndexEntry<'_>,
        kind: &str,
        parts: &BTreeMap<String, impl Serialize>,
    ) {
        for (name, part) in in_natural_order(parts) {
            self.set_run(entry);
            self.set("kind", Cell::Word(kind));
            self.set("name", Cell::Word(name));
            // A summary has only names and numbers, which JSON can represent.
            let part = serde_json::to_value(part).unwrap_or_default();
            self.set_part(&part, &mut String::new());
            self.row += 1;
        }
    }

    /// Sets the numbers and words of a part of a summary, named by their paths.
    fn set_part(&mut self, value: &Value, name: &mut String) {
        match value {
            Value::Number(number) => {
                self.set(name, Cell::Number(number.as_f64().unwrap_or(f64::NAN)));
            }
            Value::String(word) => self.set(name, Cell::Word(word)),
            Value::Object(inner) => {
                let before = name.len();
                for (key, value) in inner {
                    if !name.is_empty() {
                        name.push('_');
                    }
                    name.push_str(key);
                    self.set_part(value, name);
                    name.truncate(before);
                }
            }
            Value::Null | Value::Bool(_) | Value::Array(_) => {}
        }
    }
}

/// The rows of these runs.
fn table_of(entries: &[IndexEntry<'_>]) -> Table {
    let rows = entries.iter().map(|entry| {
        let Summary {
            flows,
            links,
            groups,
            transfers,
            ..
        } = entry.summary;
        flows.len() + links.len() + groups.len() + transfers.len()
    });
    let mut rows = Rows {
        table: Table::default(),
        places: BTreeMap::new(),
        count: rows.sum(),
        row: 0,
        next: 0,
    };
    for entry in entries {
        let summary = entry.summary;
        rows.add_parts(entry, "flow", &summary.flows);
        rows.add_parts(entry, "transfers", &summary.transfers);
        rows.add_parts(entry, "link", &summary.links);
        rows.add_parts(entry, "group", &summary.groups);
    }
    rows.table
}

/// The kept rows of the existing table and all new ones, in the natural order of their folders.
fn merged(known: &Table, kept: &[usize], new: Table) -> Table {
    let rows = kept.len() + new.rows();
    let mut names: Vec<&str> = new
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    for column in &known.columns {
        if !names.contains(&column.name.as_str()) {
            names.push(&column.name);
        }
    }
    // The columns that identify a run come first, then its overrides, then the measures.
    names.sort_by_key(|name| (rank(name), *name));
    let folders = |table: &Table, rows: &mut dyn Iterator<Item = usize>| -> Vec<String> {
        let folders = table.words("folder").unwrap_or_default();
        rows.filter_map(|row| folders.get(row).map(ToString::to_string))
            .collect()
    };
    let mut order = folders(known, &mut kept.iter().copied());
    order.extend(folders(&new, &mut (0..new.rows())));
    let mut sorted: Vec<usize> = (0..rows).collect();
    sorted.sort_by(|&a, &b| natural_order(&order[a], &order[b]));
    let columns = names.into_iter().map(|name| {
        let (old, new) = (known.column(name), new.column(name));
        Column {
            name: name.to_owned(),
            values: joined(old, kept, new, &sorted),
        }
    });
    Table {
        columns: columns.collect(),
    }
}

/// The columns that identify a run, in their order.
const FIRST: [&str; 10] = [
    "folder",
    "scenario",
    "seed",
    "kind",
    "name",
    "duration_s",
    "warmup_s",
    "scenario_hash",
    "build",
    "commit",
];

fn rank(name: &str) -> usize {
    match FIRST.iter().position(|first| *first == name) {
        Some(position) => position,
        // Columns that are not measures are overrides.
        None if column_of_runs(name).is_none() => FIRST.len(),
        None => FIRST.len() + 1,
    }
}

/// A column of the kept old rows and of the new ones, in this order.
fn joined(old: Option<&Values>, kept: &[usize], new: Option<&Values>, order: &[usize]) -> Values {
    let cell = |row: usize| match kept.get(row) {
        Some(&row) => old.map(|old| (old, row)),
        None => new.map(|new| (new, row - kept.len())),
    };
    match new.or(old) {
        Some(Values::U64(_)) => Values::U64(
            order
                .iter()
                .map(|&row| match cell(row) {
                    Some((Values::U64(values), row)) => values.get(row).copied().unwrap_or(0),
                    _ => 0,
                })
                .collect(),
        ),
        Some(Values::Text(_)) => Values::Text(
            order
                .iter()
                .map(|&row| match cell(row) {
                    Some((Values::Text(values), row)) => values.get(row).cloned(),
                    _ => None,
                })
                .map(|word| word.unwrap_or_else(|| "".into()))
                .collect(),
        ),
        _ => Values::F64(
            order
                .iter()
                .map(|&row| match cell(row) {
                    Some((Values::F64(values), row)) => values.get(row).copied(),
                    _ => None,
                })
                .map(|value| value.unwrap_or(f64::NAN))
                .collect(),
        ),
    }
}

/// Reads the index of a folder of results.
///
/// # Errors
/// If there is none, or it cannot be read.
pub fn read_index(results: &Path) -> Result<Table, FolderError> {
    let path = results.join(INDEX);
    let octets = fs::read(&path).map_err(io_error("read", &path))?;
    parquet::read(octets).map_err(|error| FolderError::Malformed {
        path,
        message: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{FlowSummary, TransferSummary};
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    fn summary(seed: u64, goodput_bps: f64) -> Summary {
        let mut summary = Summary::default();
        summary.run.seed = seed;
        for name in ["a", "b"] {
            let flow = FlowSummary {
                goodput_bps,
                ..FlowSummary::default()
            };
            summary.flows.insert(name.to_owned(), flow);
        }
        summary
    }

    fn update(
        results: &Path,
        folder: &str,
        set: &[(&str, &str)],
        summary: &Summary,
    ) -> Option<PathBuf> {
        fs::create_dir_all(results.join(folder)).unwrap();
        let entry = IndexEntry {
            folder,
            scenario: "path.toml",
            set: set.to_vec(),
            summary,
        };
        update_index(results, &[entry]).unwrap()
    }

    #[test]
    fn runs_are_added_replaced_and_dropped_with_their_folders() {
        let place = tempfile::tempdir().unwrap();
        let results = place.path();
        update(
            results,
            "path/2",
            &[("flow.a.start", "1s")],
            &summary(2, 2.0),
        );
        update(results, "path/1", &[], &summary(1, 1.0));
        update(
            results,
            "path/2",
            &[("flow.a.start", "1s")],
            &summary(2, 20.0),
        );
        let index = read_index(results).unwrap();
        assert_eq!(index.rows(), 4);
        let words = |name: &str| -> Vec<String> {
            let words = index.words(name).unwrap().iter();
            words.map(ToString::to_string).collect()
        };
        assert_eq!(words("folder"), ["path/1", "path/1", "path/2", "path/2"]);
        assert_eq!(words("name"), ["a", "b", "a", "b"]);
        assert_eq!(words("flow.a.start"), ["", "", "1s", "1s"]);
        assert_eq!(
            index.numbers("goodput_bps").unwrap(),
            [1.0, 1.0, 20.0, 20.0]
        );
        let seeds = index.as_numbers("seed").unwrap();
        assert_eq!(*seeds, [1.0, 1.0, 2.0, 2.0]);
        let names: Vec<_> = index
            .columns
            .iter()
            .map(|column| &column.name)
            .take(6)
            .collect();
        assert_eq!(
            names,
            ["folder", "scenario", "seed", "kind", "name", "duration_s"]
        );
        fs::remove_dir(results.join("path/2")).unwrap();
        update(results, "path/3", &[], &summary(3, 3.0));
        let folders = read_index(results).unwrap();
        let folders = folders.words("folder").unwrap();
        assert!(folders.iter().all(|folder| &**folder != "path/2"));
    }

    #[test]
    fn a_damaged_index_is_kept_under_another_name_and_one_that_cannot_be_read_stays() {
        let place = tempfile::tempdir().unwrap();
        let results = place.path();
        assert_eq!(update(results, "path/1", &[], &summary(1, 1.0)), None);
        fs::write(results.join(INDEX), "no index").unwrap();
        let damaged = update(results, "path/4", &[], &summary(4, 4.0));
        assert_eq!(damaged, Some(results.join(DAMAGED)));
        assert_eq!(read_index(results).unwrap().rows(), 2);
        assert_eq!(fs::read(results.join(DAMAGED)).unwrap(), b"no index");
        // The index is replaced by a folder, which cannot be read as a file.
        fs::remove_file(results.join(INDEX)).unwrap();
        fs::create_dir(results.join(INDEX)).unwrap();
        let summary = summary(5, 5.0);
        let entry = IndexEntry {
            folder: "path/5",
            scenario: "path.toml",
            set: Vec::new(),
            summary: &summary,
        };
        let error = update_index(results, &[entry]).unwrap_err();
        assert!(error.to_string().starts_with("cannot read"), "{error}");
    }

    #[test]
    fn transfers_have_rows_and_names_are_in_natural_order() {
        let place = tempfile::tempdir().unwrap();
        let mut of = Summary::default();
        for name in ["f10", "f2"] {
            of.flows.insert(name.to_owned(), FlowSummary::default());
            let transfers = TransferSummary {
                completed: 7,
                ..TransferSummary::default()
            };
            of.transfers.insert(format!("web-{name}"), transfers);
        }
        update(place.path(), "path/1", &[], &of);
        let index = read_index(place.path()).unwrap();
        let words = |name: &str| -> Vec<String> {
            let words = index.words(name).unwrap().iter();
            words.map(ToString::to_string).collect()
        };
        assert_eq!(words("kind"), ["flow", "flow", "transfers", "transfers"]);
        assert_eq!(words("name"), ["f2", "f10", "web-f2", "web-f10"]);
        assert_eq!(index.as_numbers("completed").unwrap()[3], 7.0);
        let written = serde_json::to_string(&of).unwrap();
        assert!(
            written.find("\"f2\"") < written.find("\"f10\""),
            "{written}"
        );
        assert!(written.find("\"web-f2\"") < written.find("\"web-f10\""));
    }

    #[test]
    fn each_column_says_what_it_is() {
        let place = tempfile::tempdir().unwrap();
        let set = [("flow.a.start", "1s")];
        update(place.path(), "path/1", &set, &summary(1, 1.0));
        let file = File::open(place.path().join(INDEX)).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        for field in reader.schema().fields() {
            let description = field.metadata().get("description");
            assert!(description.is_some_and(|doc| !doc.is_empty()), "{field}");
        }
        let goodput = reader.schema().field_with_name("goodput_bps").unwrap();
        assert_eq!(goodput.metadata()["unit"], "bit/s");
        let start = reader.schema().field_with_name("flow.a.start").unwrap();
        assert!(start.metadata()["description"].contains("set for flow.a.start"));
        let properties = reader.metadata().file_metadata().key_value_metadata();
        let mut properties = properties.unwrap().iter();
        assert!(properties.any(|property| property.key == "weir.format"));
    }

    #[test]
    fn commands_beside_each_other_lose_nothing() {
        let place = tempfile::tempdir().unwrap();
        let results = place.path();
        std::thread::scope(|scope| {
            for number in 0..8_u64 {
                scope.spawn(move || {
                    for run in 0..4 {
                        let folder = format!("path/{number}-{run}");
                        update(results, &folder, &[], &summary(number, 1.0));
                    }
                });
            }
        });
        assert_eq!(read_index(results).unwrap().rows(), 8 * 4 * 2);
    }
}
