//! The curves of the pictures that show all flows: one for each flow, or if there are many, one for
//! each group of flows from a `[[flow]]` with `count`.

use super::plot::Colour;
use super::selection::{PlotSelection, selects};
use crate::natural_order;
use crate::run::RunOutput;
use crate::scenario::Scenario;
use crate::table::{Table, ValueKind};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Values, each with its number of occurrences.
pub(super) type Counted = Vec<(f64, f64)>;

/// A run with the tables that pictures need.
#[derive(Clone, Debug)]
pub struct PlotData {
    /// The name of its scenario, that of the folder above the run's; empty if it is not known.
    pub name: String,
    /// Scenario, summary, and the traces of flows and links.
    pub output: RunOutput,
    /// Rates and delays over time by flow: the tables `intervals/NAME`.
    pub(super) intervals: BTreeMap<String, Table>,
    /// Finite transfers by flow: the tables `transfers/NAME`, or `requests/NAME`.
    pub transfers: BTreeMap<String, Table>,
    /// The one-way delays of each flow's packets in seconds, each with its number of packets.
    pub(super) delays: BTreeMap<String, Counted>,
    /// `summary.json`.
    pub(super) summary: Value,
    /// The time during which each flow is open.
    lives: BTreeMap<String, Life>,
    /// The numeric columns of all tables over time, including those that were not read.
    pub(super) columns: BTreeSet<String>,
    /// The time of the last row of a flow or link, in seconds.
    rows_end_s: f64,
}

/// The time during which a flow is open: from its start to the completion of its transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Life {
    /// The start in seconds.
    pub start_s: f64,
    /// The end in seconds; infinite for a flow that is open until the run ends.
    pub end_s: f64,
}

impl PlotData {
    /// A run without tables of intervals and transfers.
    pub fn new(output: RunOutput) -> Self {
        let summary = serde_json::to_value(&output.summary).unwrap_or_default();
        let scenario = &output.scenario;
        let starts = scenario
            .flows
            .iter()
            .flat_map(|flow| scenario.starts_of(flow));
        let lives = starts.map(|(name, start)| {
            let start_s = start.as_secs_f64();
            let measured = output.summary.flows.get(&name);
            let taken_s = measured.and_then(|flow| flow.completion_time_s);
            let end_s = taken_s.map_or(f64::INFINITY, |taken_s| start_s + taken_s);
            (name, Life { start_s, end_s })
        });
        let mut data = Self {
            name: String::new(),
            lives: lives.collect(),
            columns: BTreeSet::new(),
            delays: output
                .delays
                .as_ref()
                .map(delays_by_flow)
                .unwrap_or_default(),
            rows_end_s: 0.0,
            intervals: BTreeMap::new(),
            transfers: BTreeMap::new(),
            summary,
            output,
        };
        let flows = data.output.flows.iter().map(|flow| &flow.table);
        let tables = flows.chain(data.output.links.iter().map(|link| &link.table));
        let columns = tables.clone().flat_map(|table| &table.columns);
        let columns = columns.map(|column| (column.name.clone(), column.values.kind()));
        let columns: Vec<_> = columns.collect();
        let end = tables.filter_map(last_row_s).fold(0.0, f64::max);
        data.know_columns(columns);
        data.rows_end_s = end;
        data
    }

    /// A run in memory with the tables of its flows.
    pub fn of_run(output: RunOutput) -> Self {
        let flows = output.flows.iter();
        let intervals = flows.filter_map(|of| Some((of.name.clone(), of.intervals.clone()?)));
        let intervals: Vec<_> = intervals.collect();
        let requests = output.flows.iter();
        let requests = requests.filter_map(|of| Some((of.name.clone(), of.requests.clone()?)));
        let transfers = output.transfers.iter();
        let transfers = transfers.map(|of| (of.name.clone(), of.table.clone()));
        let transfers: Vec<_> = transfers.chain(requests).collect();
        let mut data = Self::new(output);
        for (name, table) in intervals {
            data.add_intervals(name, table);
        }
        data.transfers.extend(transfers);
        data
    }

    /// Adds the table `intervals/NAME` of a flow.
    pub fn add_intervals(&mut self, flow: String, table: Table) {
        let columns = table.columns.iter();
        let columns = columns.map(|column| (column.name.clone(), column.values.kind()));
        self.know_columns(columns.collect());
        self.intervals.insert(flow, table);
    }

    /// Records the numeric columns of a table over time.
    pub(super) fn know_columns(&mut self, columns: Vec<(String, ValueKind)>) {
        let numbers = columns.into_iter();
        let numbers = numbers.filter(|(name, kind)| *kind != ValueKind::Word && name != "time_s");
        self.columns.extend(numbers.map(|(name, _)| name));
    }

    /// Records the time of the last row of a flow's or a link's table.
    #[cfg(feature = "files")]
    pub(super) fn know_end(&mut self, table: &Table) {
        let end = last_row_s(table).unwrap_or(0.0);
        self.rows_end_s = self.rows_end_s.max(end);
    }

    /// The life of a flow; unlimited for a flow that is not in the scenario.
    pub(super) fn life(&self, flow: &str) -> Life {
        let always = Life {
            start_s: 0.0,
            end_s: f64::INFINITY,
        };
        self.lives.get(flow).copied().unwrap_or(always)
    }

    /// A number of a flow's summary, or of the summary of its transfers: `one_way_delay_s/p50`.
    pub(super) fn measure(&self, flow: &str, path: &str) -> Option<f64> {
        let mut parts = ["flows", "transfers"].into_iter();
        let flow = parts.find_map(|part| self.summary.get(part)?.get(flow))?;
        path.split('/')
            .try_fold(flow, |value, key| value.get(key))?
            .as_f64()
    }

    /// The trace of a flow's controller.
    pub(super) fn state(&self, flow: &str) -> Option<&Table> {
        let mut flows = self.output.flows.iter();
        flows
            .find(|trace| trace.name == flow)
            .map(|trace| &trace.table)
    }

    /// The frames of a flow's video.
    pub(super) fn frames(&self, flow: &str) -> Option<&Table> {
        let mut flows = self.output.flows.iter();
        flows.find(|trace| trace.name == flow)?.frames.as_ref()
    }

    /// The completion times of a flow's finite transfers or requests, in seconds.
    pub(super) fn completion_times(&self, flow: &str) -> Vec<f64> {
        let name = "completion_time_s";
        let table = self.transfers.get(flow);
        let column = table.and_then(|table| table.as_numbers(name));
        let single = || self.measure(flow, name).into_iter().collect();
        column.map_or_else(single, |times| times.to_vec())
    }

    /// The time of the last row of any table, in seconds. Interval tables are ignored if all flows
    /// are complete: they continue to the end of the run, although nothing happens any more.
    pub(super) fn end_s(&self) -> f64 {
        let summary = &self.output.summary;
        let end = self.rows_end_s;
        let mut flows = summary.flows.values();
        let complete =
            summary.transfers.is_empty() && flows.all(|flow| flow.completion_time_s.is_some());
        let intervals = self.intervals.values().filter(|_| !complete || end == 0.0);
        let end = intervals.filter_map(last_row_s).fold(end, f64::max);
        if end > 0.0 {
            end
        } else {
            summary.run.duration_s
        }
    }
}

/// The rows of the table `delays` by flow.
fn delays_by_flow(table: &Table) -> BTreeMap<String, Counted> {
    let mut flows: BTreeMap<String, Counted> = BTreeMap::new();
    let delays = table.as_numbers("one_way_delay_s");
    let columns = table
        .words("flow")
        .zip(delays)
        .zip(table.as_numbers("packets"));
    if let Some(((names, delays), packets)) = columns {
        let values = delays.iter().copied().zip(packets.iter().copied());
        for (name, value) in names.iter().zip(values) {
            match flows.get_mut(&**name) {
                Some(of_flow) => of_flow.push(value),
                None => drop(flows.insert(name.to_string(), vec![value])),
            }
        }
    }
    flows
}

/// The time of the last row of a table, in seconds.
fn last_row_s(table: &Table) -> Option<f64> {
    table.numbers("time_s")?.last().copied()
}

/// One curve: a flow or a group of flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    /// The flow's name, or the group's name with the number of its flows.
    pub label: String,
    /// Its flows.
    pub flows: Vec<String>,
    /// Its index among the curves, which determines its colour, marks and dashes in all pictures.
    pub number: usize,
}

/// The maximum number of flows for which each has its own curve.
const MOST_CURVES: usize = 7;

impl Subject {
    pub(super) fn colour(&self) -> Colour {
        colour_of(self.number)
    }

    pub(super) fn is_group(&self) -> bool {
        self.flows.len() > 1
    }
}

/// The colour of the curve with this index.
pub(super) fn colour_of(number: usize) -> Colour {
    Colour(number % 7)
}

/// The curves of a run, in natural order of their names; and the flows without a curve.
pub(super) fn subjects(data: &PlotData, selection: &PlotSelection) -> (Vec<Subject>, Vec<String>) {
    subjects_of([&data.output.scenario], selection, MOST_CURVES)
}

/// The curves of the runs of these scenarios, one for each flow if there are at most `most`; and
/// the flows without a curve.
pub(super) fn subjects_of<'a>(
    scenarios: impl IntoIterator<Item = &'a Scenario>,
    selection: &PlotSelection,
    most: usize,
) -> (Vec<Subject>, Vec<String>) {
    let all = groups(scenarios);
    let many = all.iter().map(|(_, flows)| flows.len()).sum::<usize>() > most;
    let mut subjects = Vec::new();
    let mut missing = Vec::new();
    let mut number = 0;
    for (name, flows) in all {
        let chosen = flows.iter().filter(|flow| selects(&selection.flows, flow));
        let chosen: Vec<String> = chosen.cloned().collect();
        let apart = !many || flows.len() == 1;
        if chosen.is_empty() {
            number += if apart { flows.len() } else { 1 };
        } else if apart || (selection.is_chosen() && chosen.len() <= most) {
            for flow in chosen {
                if subjects.len() > MOST_CURVES * 2 {
                    missing.push(flow);
                    continue;
                }
                subjects.push(Subject {
                    label: flow.clone(),
                    flows: vec![flow],
                    number,
                });
                number += 1;
            }
        } else {
            subjects.push(Subject {
                label: format!("{name} ({} flows)", chosen.len()),
                flows: chosen,
                number,
            });
            number += 1;
        }
    }
    (subjects, missing)
}

/// The groups of flows, and each flow outside a group, in natural order; those of several scenarios
/// are merged.
fn groups<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let mut known = BTreeMap::new();
    let mut flows = BTreeSet::new();
    for flow in scenarios.into_iter().flat_map(|scenario| &scenario.flows) {
        let name = flow.group().unwrap_or(&flow.name);
        let index = *known.entry(name).or_insert(groups.len());
        if index == groups.len() {
            groups.push((name.to_owned(), Vec::new()));
        }
        let names = flow.names().filter(|name| flows.insert(name.clone()));
        groups[index].1.extend(names);
    }
    groups.sort_by(|a, b| natural_order(&a.0, &b.0));
    groups
}
