//! The first difference between two traces.

use crate::run::RunOutput;
use crate::table::{Table, Values};
use std::collections::BTreeMap;

/// The first value in which two traces differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Divergence {
    /// The table, as in [`RunOutput::tables`].
    pub table: String,
    /// The row, from 0.
    pub row: usize,
    /// The time of the row in seconds, the earlier one if the times of the two rows differ; `None`
    /// for a table without times.
    pub time_s: Option<f64>,
    /// The first column that differs in this row, in the order of the table.
    pub column: String,
    /// The value of A; `None` if its table has fewer rows.
    pub a: Option<String>,
    /// The value of B; `None` if its table has fewer rows.
    pub b: Option<String>,
}

/// The earliest difference between the tables that both runs have; `None` if they are equal.
/// Columns that only one of the runs has are ignored.
pub fn first_divergence(a: &RunOutput, b: &RunOutput) -> Option<Divergence> {
    let of_b: BTreeMap<String, &Table> = b.tables().into_iter().collect();
    let tables = a.tables();
    let found = tables.iter().filter_map(|(name, table)| {
        let other = of_b.get(name)?;
        in_tables(name, table, other)
    });
    found.min_by(|x, y| {
        let time = |one: &Divergence| one.time_s.unwrap_or(f64::INFINITY);
        time(x).total_cmp(&time(y))
    })
}

fn in_tables(name: &str, a: &Table, b: &Table) -> Option<Divergence> {
    let common = a.columns.iter().filter_map(|column| {
        let other = b.column(&column.name)?;
        Some((&column.name, &column.values, other))
    });
    // If several columns differ in the same row, the first one is reported.
    let (row, (column, of_a, of_b)) = common
        .filter_map(|column| Some((first_difference(column.1, column.2)?, column)))
        .min_by_key(|(row, _)| *row)?;
    let times = [a, b].map(|table| table.numbers("time_s")?.get(row).copied());
    Some(Divergence {
        table: name.to_owned(),
        row,
        time_s: times.into_iter().flatten().min_by(f64::total_cmp),
        column: column.clone(),
        a: text(of_a, row),
        b: text(of_b, row),
    })
}

/// The first row in which the columns differ; a missing row differs from any row.
fn first_difference(a: &Values, b: &Values) -> Option<usize> {
    let shorter = a.len().min(b.len());
    let differs = match (a, b) {
        (Values::F64(a), Values::F64(b)) => {
            let mut pairs = a.iter().zip(b);
            pairs.position(|(a, b)| a.to_bits() != b.to_bits())
        }
        (Values::U64(a), Values::U64(b)) => a.iter().zip(b).position(|(a, b)| a != b),
        (Values::Text(a), Values::Text(b)) => a.iter().zip(b).position(|(a, b)| a != b),
        _ => Some(0),
    };
    differs.or((a.len() != b.len()).then_some(shorter))
}

fn text(values: &Values, row: usize) -> Option<String> {
    match values {
        Values::F64(values) => values.get(row).map(|value| {
            if value.is_nan() {
                "no value".to_owned()
            } else {
                value.to_string()
            }
        }),
        Values::U64(values) => values.get(row).map(u64::to_string),
        Values::Text(values) => values.get(row).map(ToString::to_string),
    }
}

#[cfg(test)]
#[path = "divergence_tests.rs"]
mod tests;
