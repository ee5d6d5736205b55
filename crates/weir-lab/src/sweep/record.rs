//! The record of a run: a row for each flow, flow with arrivals, group and link, or its error.

use super::columns::{OWN_COLUMNS, measure_columns, pointers};
use super::parameter::Label;
use super::plan::{Plan, WorkItem};
use crate::natural_order::in_natural_order;
use crate::run::Summary;
use crate::table::{Column, Table, Values, interned};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A finished run, or one that failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its number in the plan.
    pub run: u64,
    /// Its seed.
    pub seed: u64,
    /// The reason why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The measures.
    #[serde(default)]
    pub rows: Vec<Row>,
}

/// The measures of a part of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// `flow`, `transfers`, `group`, `link`, `total`, or `run` for a run that failed.
    pub kind: String,
    /// The name of the flow, group or link; for transfers, that of their flow.
    pub name: String,
    /// The measures that apply, by the name of their column.
    #[serde(with = "exact")]
    pub measures: BTreeMap<String, f64>,
}

/// Numbers as text: a JSON parser may return an adjacent floating-point number, and equal runs must
/// have equal records everywhere.
mod exact {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    pub(super) fn serialize<S: Serializer>(
        measures: &BTreeMap<String, f64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let texts = measures.iter();
        let texts = texts.map(|(name, number)| (name, number.to_string()));
        texts.collect::<BTreeMap<_, _>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<BTreeMap<String, f64>, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(from)?.into_iter();
        let number = |(name, text): (String, String)| match text.parse() {
            Ok(number) => Ok((name, number)),
            Err(error) => Err(D::Error::custom(error)),
        };
        texts.map(number).collect()
    }
}

impl Record {
    /// The record of a completed run.
    pub fn of(run: u64, summary: &Summary) -> Self {
        let mut rows = rows_of("flow", &summary.flows);
        rows.extend(rows_of("transfers", &summary.transfers));
        rows.extend(rows_of("group", &summary.groups));
        rows.extend(rows_of("link", &summary.links));
        rows.push(Row::of("total", "", &summary.totals));
        Self {
            run,
            seed: summary.run.seed,
            error: None,
            rows,
        }
    }

    /// The record of a failed run.
    pub fn failed(item: &WorkItem, error: String) -> Self {
        Self {
            run: item.run,
            seed: item.seed.unwrap_or_default(),
            error: Some(error),
            rows: vec![Row {
                kind: "run".to_owned(),
                ..Row::default()
            }],
        }
    }
}

/// The rows of all parts of this kind.
fn rows_of(kind: &str, parts: &BTreeMap<String, impl Serialize>) -> Vec<Row> {
    let parts = in_natural_order(parts).into_iter();
    parts
        .map(|(name, part)| Row::of(kind, name, part))
        .collect()
}

impl Row {
    fn of(kind: &str, name: &str, part: &impl Serialize) -> Self {
        // A summary has only names and numbers, which JSON can represent.
        let part = serde_json::to_value(part).unwrap_or_default();
        let measure = |pointer: &'static str| {
            let number = part.pointer(&format!("/{pointer}"))?.as_f64()?;
            Some((pointer.replace('/', "_"), number))
        };
        Self {
            kind: kind.to_owned(),
            name: name.to_owned(),
            measures: pointers().filter_map(measure).collect(),
        }
    }
}

/// The records as a table, whose columns depend only on the plan: `run`, `seed`, a column for each
/// parameter, `status` (`done` or `failed`), `error`, `kind`, `name`, then the measures.
pub(super) fn table_of(plan: &Plan, records: &[Record]) -> Table {
    let mut words = BTreeSet::new();
    let rows = || {
        records
            .iter()
            .flat_map(|r| r.rows.iter().map(move |row| (r, row)))
    };
    let count = |of: &dyn Fn(&Record) -> u64| Values::U64(rows().map(|(r, _)| of(r)).collect());
    let mut word = |of: &dyn Fn(&Record, &Row) -> String| -> Values {
        let interned = |(record, row)| interned(&mut words, &of(record, row));
        Values::Text(rows().map(interned).collect())
    };
    let [run, seed, status, error, kind, name] = OWN_COLUMNS;
    let mut columns = vec![
        (run.to_owned(), count(&|record| record.run)),
        (seed.to_owned(), count(&|record| record.seed)),
    ];
    columns.extend(setting_columns(plan, records));
    let state = |record: &Record, _: &Row| match record.error {
        Some(_) => "failed".to_owned(),
        None => "done".to_owned(),
    };
    columns.push((status.to_owned(), word(&state)));
    let why = |record: &Record, _: &Row| record.error.clone().unwrap_or_default();
    columns.push((error.to_owned(), word(&why)));
    columns.push((kind.to_owned(), word(&|_, row| row.kind.clone())));
    columns.push((name.to_owned(), word(&|_, row| row.name.clone())));
    for column in measure_columns() {
        let of = |(_, row): (&Record, &Row)| row.measures.get(&column).copied();
        let values = rows().map(|row| of(row).unwrap_or(f64::NAN)).collect();
        columns.push((column, Values::F64(values)));
    }
    let columns = columns.into_iter();
    Table {
        columns: columns
            .map(|(name, values)| Column { name, values })
            .collect(),
    }
}

/// A column for each parameter: numbers if all its values are numbers, else words.
fn setting_columns(plan: &Plan, records: &[Record]) -> Vec<(String, Values)> {
    let items: Vec<Option<WorkItem>> = records.iter().map(|record| plan.item(record.run)).collect();
    let labels = |parameter: usize| {
        records.iter().zip(&items).flat_map(move |(record, item)| {
            let setting = item.as_ref().and_then(|item| item.settings.get(parameter));
            record
                .rows
                .iter()
                .map(move |_| setting.map(|setting| &setting.label))
        })
    };
    let is_number = |value: &toml::Value| value.is_integer() || value.is_float();
    let columns = plan.parameters().iter().zip(plan.columns()).enumerate();
    let columns = columns.map(|(number, (parameter, name))| {
        let values = if parameter.values.iter().all(is_number) {
            let number_of = |label: Option<&Label>| match label {
                Some(Label::Number(number)) => *number,
                _ => f64::NAN,
            };
            Values::F64(labels(number).map(number_of).collect())
        } else {
            let word_of = |label: Option<&Label>| -> Arc<str> {
                match label {
                    Some(Label::Word(word)) => word.as_str().into(),
                    Some(Label::Number(number)) => number.to_string().into(),
                    None => "".into(),
                }
            };
            Values::Text(labels(number).map(word_of).collect())
        };
        (name.clone(), values)
    });
    columns.collect()
}

/// The records of a table written by [`table_of`].
pub(super) fn records_of(table: &Table) -> Option<Vec<Record>> {
    let counts = |name| match table.column(name)? {
        Values::U64(values) => Some(values),
        _ => None,
    };
    let (runs, seeds) = (counts("run")?, counts("seed")?);
    let (kinds, names) = (table.words("kind")?, table.words("name")?);
    let (states, errors) = (table.words("status")?, table.words("error")?);
    let measures: Vec<(String, &[f64])> = measure_columns()
        .into_iter()
        .filter_map(|name| table.numbers(&name).map(|values| (name, values)))
        .collect();
    let mut records: Vec<Record> = Vec::new();
    for row in 0..table.rows() {
        let known = measures.iter().filter(|(_, values)| !values[row].is_nan());
        let of_row = Row {
            kind: kinds[row].to_string(),
            name: names[row].to_string(),
            measures: known
                .map(|(name, values)| (name.clone(), values[row]))
                .collect(),
        };
        match records.last_mut() {
            Some(record) if record.run == runs[row] => record.rows.push(of_row),
            _ => records.push(Record {
                run: runs[row],
                seed: seeds[row],
                error: (&*states[row] == "failed").then(|| errors[row].to_string()),
                rows: vec![of_row],
            }),
        }
    }
    Some(records)
}
