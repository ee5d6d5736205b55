//! Reads the columns that a run's pictures need from its folder, table by table; tables with more
//! than a million rows are thinned to what the pixels can show.

use super::run_pictures::detailed;
use super::selection::{PlotSelection, selects};
use super::subjects::{PlotData, subjects};
use crate::run::{FlowTrace, LinkTrace, RunOutput};
use crate::scenario::Flow;
use crate::table::{RowThinning, Table};
use crate::trace::{FolderError, RunFolder, TablePart};

/// A table with more rows than this is long.
const LONG: u64 = 1 << 20;
/// The number of time ranges of a long table in each of which the first row, the last row and the
/// extremes are kept: about ten for each pixel column of an ordinary picture.
const PIECES: f64 = 8192.0;

/// Columns of interval tables that pictures show.
const OF_INTERVALS: [&str; 2] = ["goodput_bps", "one_way_delay_s"];
/// Columns of flow tables that the pictures of all flows show.
const OF_FLOWS: [&str; 1] = ["cwnd_bytes"];
/// Columns of flow tables used if there are no interval tables.
const WITHOUT_INTERVALS: [&str; 6] = [
    "cwnd_bytes",
    "allowed_rate_bps",
    "smoothed_rtt_s",
    "rtt_s",
    "event",
    "limit",
];

impl PlotData {
    /// Reads the tables that the pictures of this selection need.
    ///
    /// # Errors
    /// If a table is damaged or cannot be read.
    pub fn read(folder: &RunFolder, selection: &PlotSelection) -> Result<Self, FolderError> {
        let mut reader = PictureReader::new(folder, selection, folder.table("delays")?);
        reader.intervals_and_transfers()?;
        let data = &reader.data;
        let chosen = || {
            data.intervals
                .iter()
                .filter(|i| selects(&selection.flows, i.0))
        };
        let lacks = |column: &&str| {
            let mut values = chosen().filter_map(|(_, table)| table.as_numbers(column));
            !values.any(|values| values.iter().any(|value| value.is_finite()))
        };
        let of_flows: &[&str] = if OF_INTERVALS.iter().any(lacks) {
            &WITHOUT_INTERVALS
        } else {
            &OF_FLOWS
        };
        for name in reader.flows() {
            if let Some(table) = reader.table(&format!("flows/{name}"), of_flows)? {
                reader.data.output.flows.push(FlowTrace::new(name, table));
            }
        }
        for name in folder.scenario().trace_names() {
            if let Some(table) = reader.whole_table(&format!("links/{name}"))? {
                reader.data.output.links.push(LinkTrace { name, table });
            }
        }
        if selection.columns.is_empty() {
            reader.details()?;
        }
        Ok(reader.data)
    }

    /// Reads the tables that comparisons of this run with others need.
    ///
    /// # Errors
    /// If a table is damaged or cannot be read.
    pub fn read_to_compare(folder: &RunFolder) -> Result<Self, FolderError> {
        let selection = PlotSelection::default();
        let mut reader = PictureReader::new(folder, &selection, folder.table("delays")?);
        reader.intervals_and_transfers()?;
        for name in reader.flows() {
            if let Some(table) = reader.table(&format!("flows/{name}"), &OF_FLOWS)? {
                reader.data.output.flows.push(FlowTrace::new(name, table));
            }
        }
        for name in folder.scenario().trace_names() {
            reader.table(&format!("links/{name}"), &[])?;
        }
        Ok(reader.data)
    }
}

/// A run's folder, and the data read from it.
struct PictureReader<'a> {
    folder: &'a RunFolder,
    selection: &'a PlotSelection,
    thinning: RowThinning,
    data: PlotData,
}

impl<'a> PictureReader<'a> {
    fn new(folder: &'a RunFolder, selection: &'a PlotSelection, delays: Option<Table>) -> Self {
        let duration_s = folder.summary().run.duration_s;
        let from = selection.from_s.unwrap_or(0.0);
        let to = selection.to_s.unwrap_or(duration_s).min(duration_s);
        let mut reader = Self {
            folder,
            selection,
            thinning: RowThinning {
                from_rows: LONG,
                span_s: (from, to),
                inside_s: (to - from) / PIECES,
                outside_s: duration_s / PIECES,
            },
            data: PlotData::new(RunOutput {
                scenario: folder.scenario().clone(),
                summary: folder.summary().clone(),
                flows: Vec::new(),
                links: Vec::new(),
                transfers: Vec::new(),
                delays,
                packets: None,
                stages: None,
            }),
        };
        let above = folder.path().parent().and_then(std::path::Path::file_name);
        let name = above.map(|name| name.to_string_lossy().into_owned());
        reader.data.name = name.unwrap_or_default();
        reader
    }

    fn flows(&self) -> Vec<String> {
        let flows = self.folder.scenario().flows.iter();
        flows.flat_map(Flow::names).collect()
    }

    fn intervals_and_transfers(&mut self) -> Result<(), FolderError> {
        for name in self.flows() {
            if let Some(table) = self.table(&format!("intervals/{name}"), &OF_INTERVALS)? {
                self.data.add_intervals(name.clone(), table);
            }
            for kind in ["transfers", "requests"] {
                let path = format!("{kind}/{name}");
                if let Some(table) = self.read(&path, &|column| column == "completion_time_s")? {
                    self.data.transfers.insert(name.clone(), table);
                }
            }
        }
        Ok(())
    }

    /// The times of a table with these columns, or with the selected columns.
    fn table(&mut self, path: &str, columns: &[&str]) -> Result<Option<Table>, FolderError> {
        let asked = &self.selection.columns;
        let wanted = |name: &str| {
            name == "time_s"
                || if asked.is_empty() {
                    columns.contains(&name)
                } else {
                    selects(asked, name)
                }
        };
        self.rows(path, &wanted)
    }

    fn whole_table(&mut self, path: &str) -> Result<Option<Table>, FolderError> {
        self.rows(path, &|_| true)
    }

    /// A table with times.
    fn rows(
        &mut self,
        path: &str,
        columns: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Table>, FolderError> {
        let part = TablePart {
            columns,
            thinning: Some(&self.thinning),
        };
        let Some(read) = self.folder.part_of_table(path, &part)? else {
            return Ok(None);
        };
        self.data.know_columns(read.columns);
        if !path.starts_with("intervals/") {
            self.data.know_end(&read.table);
        }
        Ok(Some(read.table))
    }

    /// Columns of a table without times.
    fn read(
        &self,
        path: &str,
        columns: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Table>, FolderError> {
        let part = TablePart {
            columns,
            thinning: None,
        };
        let read = self.folder.part_of_table(path, &part)?;
        Ok(read.map(|read| read.table))
    }

    /// Reads all columns of the flows that are drawn in detail.
    fn details(&mut self) -> Result<(), FolderError> {
        let (subjects, _) = subjects(&self.data, self.selection);
        for name in detailed(&self.data, self.selection, &subjects) {
            let table = self.whole_table(&format!("flows/{name}"))?;
            let frames = self.read(&format!("frames/{name}"), &|_| true)?;
            let mut flows = self.data.output.flows.iter_mut();
            let flow = flows.find(|flow| flow.name == name);
            if let (Some(flow), Some(table)) = (flow, table) {
                flow.table = table;
                flow.frames = frames;
            }
        }
        Ok(())
    }
}
