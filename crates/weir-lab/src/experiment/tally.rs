//! How many rows of an experiment agree, hold and are checked: three separate counts.

use super::published::RowKind;
use super::row_result::RowResult;
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::Serialize;
use std::iter::Sum;

/// The verdicts of rows of one sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Count {
    /// Rows that have a verdict.
    pub judged: usize,
    /// Rows within their tolerance.
    pub within: usize,
    /// Rows outside it, with an explanation whose evidence holds.
    pub explained: usize,
    /// Rows within it in some variants of what the document leaves open, outside in others.
    pub undetermined: usize,
    /// Rows outside it without such an explanation.
    pub differ: usize,
    /// Rows not judged, because the machine was too busy.
    pub busy: usize,
}

/// The counts of an experiment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// Numbers that the document states and runs measure, to which no parameter was fitted: agree
    /// or differ.
    pub unfitted_numbers: Count,
    /// All numbers that the document states and runs measure.
    pub measured_numbers: Count,
    /// Numbers that the document computes by a formula: agree or differ.
    pub formula_numbers: Count,
    /// Statements of the document: hold or differ.
    pub statements: Count,
    /// Our own guards: checked or differ.
    pub checks: Count,
    /// Conditions that the document does not give: fitted or chosen.
    pub parameters: usize,
    /// Judged numbers of the document to which a parameter was fitted.
    pub fitted_numbers: usize,
}

impl Count {
    fn add(&mut self, verdict: Verdict) {
        self.judged += 1;
        match verdict {
            Verdict::Explained => self.explained += 1,
            Verdict::Undetermined => self.undetermined += 1,
            Verdict::Differs => self.differ += 1,
            Verdict::Busy => self.busy += 1,
            _ => self.within += 1,
        }
    }

    /// The counts of both.
    const fn plus(self, other: Self) -> Self {
        Self {
            judged: self.judged + other.judged,
            within: self.within + other.within,
            explained: self.explained + other.explained,
            undetermined: self.undetermined + other.undetermined,
            differ: self.differ + other.differ,
            busy: self.busy + other.busy,
        }
    }

    /// The counts as text: `33 agree, 2 explained, 1 differs`.
    pub fn words(&self, within: &str) -> String {
        let mut parts = vec![format!("{} {within}", self.within)];
        if self.explained > 0 {
            parts.push(format!("{} explained", self.explained));
        }
        if self.undetermined > 0 {
            parts.push(format!("{} undetermined", self.undetermined));
        }
        if self.differ > 0 {
            let verb = if self.differ == 1 {
                "differs"
            } else {
                "differ"
            };
            parts.push(format!("{} {verb}", self.differ));
        }
        if self.busy > 0 {
            parts.push(format!(
                "{} not judged: the machine was too busy",
                self.busy
            ));
        }
        parts.join(", ")
    }
}

impl Tally {
    /// Counts rows.
    pub fn of(rows: &[RowResult]) -> Self {
        let mut tally = Self::default();
        for row in rows {
            if row.kind == RowKind::Value && row.fitted_by.is_empty() {
                tally.unfitted_numbers.add(row.verdict);
            }
            let count = match row.kind {
                RowKind::Value => &mut tally.measured_numbers,
                RowKind::Theory => &mut tally.formula_numbers,
                RowKind::Claim => &mut tally.statements,
                RowKind::Check => &mut tally.checks,
                RowKind::Parameter => {
                    tally.parameters += 1;
                    continue;
                }
                RowKind::Quantity | RowKind::Input => continue,
            };
            count.add(row.verdict);
            let number = matches!(row.kind, RowKind::Value | RowKind::Theory);
            tally.fitted_numbers += usize::from(number && !row.fitted_by.is_empty());
        }
        tally
    }

    /// Numbers that the document states and runs measure, to which a parameter was fitted.
    pub const fn fitted(&self) -> Count {
        let (all, unfitted) = (self.measured_numbers, self.unfitted_numbers);
        Count {
            judged: all.judged - unfitted.judged,
            within: all.within - unfitted.within,
            explained: all.explained - unfitted.explained,
            undetermined: all.undetermined - unfitted.undetermined,
            differ: all.differ - unfitted.differ,
            busy: all.busy - unfitted.busy,
        }
    }

    /// All rows that have a verdict.
    pub const fn judged(&self) -> Count {
        let numbers = self.measured_numbers.plus(self.formula_numbers);
        numbers.plus(self.statements).plus(self.checks)
    }

    /// The number of judged numbers of the document.
    pub fn numbers(&self) -> usize {
        self.measured_numbers.judged + self.formula_numbers.judged
    }

    /// The ratio of parameters to judged numbers, a measure of how much a reproduction shows: `9 :
    /// 24`.
    pub fn parameters_to_numbers(&self) -> String {
        format!("{} : {}", self.parameters, self.numbers())
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |all, one| Self {
            unfitted_numbers: all.unfitted_numbers.plus(one.unfitted_numbers),
            measured_numbers: all.measured_numbers.plus(one.measured_numbers),
            formula_numbers: all.formula_numbers.plus(one.formula_numbers),
            statements: all.statements.plus(one.statements),
            checks: all.checks.plus(one.checks),
            parameters: all.parameters + one.parameters,
            fitted_numbers: all.fitted_numbers + one.fitted_numbers,
        })
    }
}
