//! Checks of a `published.toml` beyond the types of its values: names are unique and exist where
//! they are used, each row can be judged, and numbers are in their valid ranges.

use super::measure::Measure;
use super::published::{Published, Row, RowKind, RunPlan, UNITS, unit_scale};
use crate::scenario::Expectation;
use crate::scenario::error::suggestion;
use crate::toml_file::Invalid;
use std::collections::BTreeSet;
use weir_proto::settings::shortened;

/// The maximum number of seeds of a run.
const MAX_SEEDS: u32 = 100_000;

impl Published {
    /// Converts `expect` of rows into measures.
    pub(super) fn resolve(&mut self) -> Result<(), Invalid> {
        for (number, row) in self.rows.iter_mut().enumerate() {
            let resolved = row.resolve().map_err(|wrong| of_row(row, wrong));
            resolved.map_err(|wrong| wrong.element("row", number))?;
        }
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        let mut runs = BTreeSet::new();
        for (number, run) in self.runs.iter().enumerate() {
            let name = run.name.as_str();
            let checked = if runs.insert(name) {
                run.check()
            } else {
                Err(Invalid::key("name", twice("runs", name)))
            };
            checked.map_err(|wrong| wrong.element("run", number))?;
        }
        self.check_variants()?;
        self.check_moments()?;
        let mut rows = BTreeSet::new();
        for (number, row) in self.rows.iter().enumerate() {
            let checked = if rows.insert(row.id.as_str()) {
                row.check(&runs).and_then(|()| self.check_row(row))
            } else {
                Err(Invalid::key("id", twice("rows", &row.id)))
            };
            checked.map_err(|wrong| of_row(row, wrong).element("row", number))?;
        }
        self.check_references(&rows)?;
        for (number, plot) in self.plots.iter().enumerate() {
            plot.check(&runs).map_err(|wrong| {
                let message = format!("plot \"{}\": {}", plot.name, wrong.message);
                Invalid { message, ..wrong }.element("plot", number)
            })?;
        }
        Ok(())
    }

    /// A variant's name is unique, runs have variants only if there are some, and the seeds of a
    /// scan judge nothing.
    fn check_variants(&self) -> Result<(), Invalid> {
        let mut names = BTreeSet::new();
        for (number, variant) in self.variants.iter().enumerate() {
            if !names.insert(variant.name.as_str()) {
                let wrong = Invalid::key("name", twice("variants", &variant.name));
                return Err(wrong.element("variant", number));
            }
        }
        let with = self.runs.iter().position(|run| run.variants);
        if let (Some(number), true) = (with, self.variants.is_empty()) {
            let message = "the file has no [[variant]] that it could have";
            return Err(Invalid::key("variants", message).element("run", number));
        }
        let judging = self.runs.iter().filter_map(|run| run.seeds).max();
        let mut scans = BTreeSet::new();
        for (number, scan) in self.scans.iter().enumerate() {
            let checked = if scans.insert(scan.name.as_str()) {
                scan.check(judging.unwrap_or(1))
            } else {
                Err(Invalid::key("name", twice("scans", &scan.name)))
            };
            checked.map_err(|wrong| wrong.element("scan", number))?;
        }
        Ok(())
    }

    /// A moment's name is unique, and a moment refers only to earlier ones.
    fn check_moments(&self) -> Result<(), Invalid> {
        let mut known = BTreeSet::new();
        for (number, moment) in self.moments.iter().enumerate() {
            let name = &moment.name;
            let wrong = |key, message| Err(Invalid::key(key, message).element("moment", number));
            let after = moment.after.as_ref();
            if let Some(after) = after.filter(|after| !known.contains(*after)) {
                let message = format!(
                    "moment \"{name}\" comes after \"{after}\", which must stand before it"
                );
                return wrong("after", message);
            }
            match (moment.rises_to, moment.falls_below) {
                (None, None) => {
                    let message = format!("moment \"{name}\" needs rises_to or falls_below");
                    return wrong("name", message);
                }
                (Some(_), Some(_)) => {
                    let message = format!(
                        "moment \"{name}\" has rises_to and falls_below, expected one of them"
                    );
                    return wrong("falls_below", message);
                }
                _ => {}
            }
            if !known.insert(name) {
                return wrong("name", twice("moments", name));
            }
        }
        Ok(())
    }

    /// Checks a row against the rest of the file: the moments that it names exist, and
    /// `fitted_on_seeds` are beyond the seeds of all runs.
    fn check_row(&self, row: &Row) -> Result<(), Invalid> {
        if row.required && !(row.kind.is_judged() && self.varies(row)) {
            let message = "a required row is judged and differs from variant to variant";
            return Err(Invalid::key("required", message));
        }
        let measures = [("measure", &row.measure), ("reference", &row.reference)];
        for (key, measure) in measures {
            let Some(measure) = measure else { continue };
            let named = [
                ("at", &measure.at),
                ("from", &measure.from),
                ("until", &measure.until),
            ];
            for (place, name) in named {
                let Some(name) = name else { continue };
                if self.moments.iter().all(|moment| moment.name != *name) {
                    let known: Vec<&str> = self.moments.iter().map(|m| m.name.as_str()).collect();
                    let message = format!("there is no moment {}", near(name, "moments", &known));
                    return Err(Invalid::key(place, message).below(key));
                }
            }
        }
        let most = self.runs.iter().filter_map(|run| run.seeds).max();
        match (row.fitted_on_seeds, most) {
            (Some([first, last]), Some(most)) if first <= most || last < first => {
                Err(Invalid::key(
                    "fitted_on_seeds",
                    format!(
                        "fitted_on_seeds must lie beyond the {most} seeds that judge, found \
                     [{first}, {last}]"
                    ),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Every row that is referred to exists.
    fn check_references(&self, rows: &BTreeSet<&str>) -> Result<(), Invalid> {
        let known: Vec<&str> = rows.iter().copied().collect();
        let check = |of: &str, id: &String, wrong: Invalid| {
            if rows.contains(id.as_str()) {
                Ok(())
            } else {
                let message = format!(
                    "{of} names row \"{}\", which does not exist; {}",
                    shortened(id),
                    suggestion(id, "rows", &known)
                );
                Err(Invalid { message, ..wrong })
            }
        };
        for (number, row) in self.rows.iter().enumerate() {
            let of = format!("row \"{}\"", row.id);
            let at = |key| Invalid::key(key, "").element("row", number);
            for id in &row.explained_by {
                check(&of, id, at("explained_by"))?;
            }
            for id in &row.fitted_to {
                check(&of, id, at("fitted_to"))?;
            }
            let between = row.measure.iter().flat_map(|measure| &measure.between);
            for id in between {
                let at = Invalid::key("between", "").below("measure");
                check(&of, id, at.element("row", number))?;
            }
        }
        for (number, plot) in self.plots.iter().enumerate() {
            let of = format!("plot \"{}\"", plot.name);
            for (key, id) in plot.rows() {
                check(&of, id, Invalid::key(key, "").element("plot", number))?;
            }
        }
        for (number, finding) in self.findings.iter().enumerate() {
            for id in &finding.rows {
                check(
                    "a finding",
                    id,
                    Invalid::key("rows", "").element("finding", number),
                )?;
            }
        }
        Ok(())
    }
}

impl RunPlan {
    fn check(&self) -> Result<(), Invalid> {
        match self.seeds {
            Some(seeds) if !(1..=MAX_SEEDS).contains(&seeds) => {
                let name = &self.name;
                let message = format!(
                    "run \"{name}\": seeds = {seeds}, expected 1 to {MAX_SEEDS}, or no seeds for one \
                     run"
                );
                Err(Invalid::key("seeds", message))
            }
            _ => Ok(()),
        }
    }
}

impl Row {
    /// Converts `expect` into the measure and its bounds.
    pub(super) fn resolve(&mut self) -> Result<(), Invalid> {
        let Some(text) = &self.expect else {
            let unused = self.run.is_some();
            let message =
                "a run belongs to what is expected of it; write expect, or measure = { run = … }";
            return if unused {
                Err(Invalid::key("run", message))
            } else {
                Ok(())
            };
        };
        let others = [
            ("measure", self.measure.is_some()),
            ("at_least", self.at_least.is_some()),
            ("at_most", self.at_most.is_some()),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, present)| *present) {
            let message = format!("expect says what is measured and its bounds; leave out {key}");
            return Err(Invalid::key(key, message));
        }
        if self.kind != RowKind::Check {
            let message = "only a check is expected; a number of the document has its tolerance";
            return Err(Invalid::key("expect", message));
        }
        if self.run.is_none() {
            let message = "nothing says of which run it is expected; write run";
            return Err(Invalid::key("expect", message));
        }
        let expectation = Expectation::parse(text);
        let expectation = expectation.map_err(|wrong| Invalid::diagnosed("expect", wrong))?;
        if !expectation.has_limits_inside() {
            let message = "the bounds of a row belong to it, expected <= or >=";
            return Err(Invalid::key("expect", message));
        }
        let scale = unit_scale(&self.unit).unwrap_or(1.0);
        let [least, most] = expectation.limits();
        self.at_least = least.map(|least| least / scale);
        self.at_most = most.map(|most| most / scale);
        self.measure = Some(Measure {
            run: self.run.clone(),
            of: Some(expectation.number().to_owned()),
            ..Measure::default()
        });
        Ok(())
    }

    fn check(&self, runs: &BTreeSet<&str>) -> Result<(), Invalid> {
        if unit_scale(&self.unit).is_none() {
            let known = UNITS.map(|(unit, _)| unit);
            let known: Vec<&str> = known.into_iter().filter(|unit| !unit.is_empty()).collect();
            let message = format!(
                "\"{}\" is not a unit that the report knows; {}",
                shortened(&self.unit),
                suggestion(&self.unit, "units", &known)
            );
            return Err(Invalid::key("unit", message));
        }
        self.check_numbers()?;
        let tolerance = self.tolerance_key();
        let bound = self.at_least.map(|_| "at_least");
        let bound = bound.or_else(|| self.at_most.map(|_| "at_most"));
        if !self.kind.is_measured() {
            let measured = self.measure.as_ref().map(|_| "measure");
            if let Some(key) = tolerance.or(bound).or(measured) {
                let message = format!(
                    "an input or parameter is set, so it is neither measured nor judged; leave out \
                     {key}"
                );
                return Err(Invalid::key(key, message));
            }
            return Ok(());
        }
        let Some(measure) = &self.measure else {
            let message = "it needs a measure = { take = …, run = … }, or kind = \"input\"";
            return Err(Invalid::key("measure", message));
        };
        self.check_judgement(tolerance, bound)?;
        if let Some(reference) = &self.reference {
            let checked = reference.check(runs);
            checked.map_err(|wrong| wrong.below("reference"))?;
        }
        measure.check(runs).map_err(|wrong| wrong.below("measure"))
    }

    /// The key of the first tolerance.
    fn tolerance_key(&self) -> Option<&'static str> {
        let keys = [
            ("within", self.within.is_some()),
            ("within_percent", self.within_percent.is_some()),
            ("in_band", self.in_band),
        ];
        keys.into_iter()
            .find(|(_, present)| *present)
            .map(|(key, _)| key)
    }

    /// A judged row has a measure and a tolerance or bound, and other rows have none.
    fn check_judgement(
        &self,
        tolerance: Option<&'static str>,
        bound: Option<&'static str>,
    ) -> Result<(), Invalid> {
        if let Some(key) = tolerance
            && self.target().is_none()
            && self.reference.is_none()
        {
            let message = "it has a tolerance but no number that it belongs to; write expected or \
                           reference";
            return Err(Invalid::key(key, message));
        }
        match (self.kind.is_judged(), tolerance.or(bound)) {
            (true, None) => {
                let message = "it needs within, within_percent, in_band, at_least or at_most";
                return Err(Invalid::key("kind", message));
            }
            (false, Some(key)) => {
                let message =
                    format!("a quantity is not judged, so it has no tolerance; leave out {key}");
                return Err(Invalid::key(key, message));
            }
            _ => {}
        }
        if self.explanation.is_empty() != self.explained_by.is_empty() {
            let key = if self.explanation.is_empty() {
                "explained_by"
            } else {
                "explanation"
            };
            let message = format!("explanation and explained_by belong together, found only {key}");
            return Err(Invalid::key(key, message));
        }
        Ok(())
    }

    /// `published` holds numbers of the document and nothing else.
    fn check_numbers(&self) -> Result<(), Invalid> {
        let negative = [
            ("within", self.within),
            ("within_percent", self.within_percent),
        ];
        for (key, number) in negative {
            if let Some(number) = number.filter(|number| *number < 0.0) {
                let message = format!("{key} = {number}, expected 0 or more");
                return Err(Invalid::key(key, message));
            }
        }
        let numbers = [
            ("published", self.published.is_some()),
            ("expected", self.expected.is_some()),
            ("reference", self.reference.is_some()),
        ];
        let mut present = numbers.into_iter().filter(|(_, present)| *present);
        if let (Some((first, _)), Some((second, _))) = (present.next(), present.next()) {
            let message = format!(
                "published, expected and reference exclude each other, found {first} and {second}"
            );
            return Err(Invalid::key(second, message));
        }
        if self.published.is_some() && !self.kind.may_publish() {
            let message = "published is a number of the document, for kinds value, theory and \
                           input; write expected";
            return Err(Invalid::key("published", message));
        }
        if matches!(self.kind, RowKind::Value | RowKind::Theory) && self.published.is_none() {
            let message = "a value needs published; a statement without number is a claim";
            return Err(Invalid::key("kind", message));
        }
        let fitted = !self.fitted_to.is_empty() || self.fitted_on_seeds.is_some();
        if self.kind != RowKind::Parameter && fitted {
            let key = if self.fitted_to.is_empty() {
                "fitted_on_seeds"
            } else {
                "fitted_to"
            };
            return Err(Invalid::key(
                key,
                "only a parameter is fitted, kind = \"parameter\"",
            ));
        }
        Ok(())
    }
}

impl Measure {
    /// Checks that the measure has the keys that its `take` needs, and that their names and numbers
    /// are valid.
    pub(super) fn check(&self, runs: &BTreeSet<&str>) -> Result<(), Invalid> {
        if self.divide_by == Some(0.0) {
            return Err(Invalid::key(
                "divide_by",
                "divide_by = 0, expected any other number",
            ));
        }
        self.check_keys()?;
        let Some(run) = &self.run else { return Ok(()) };
        if !runs.contains(run.as_str()) {
            let known: Vec<&str> = runs.iter().copied().collect();
            let message = format!(
                "run \"{}\" does not exist; {}",
                shortened(run),
                suggestion(run, "runs", &known)
            );
            return Err(Invalid::key("run", message));
        }
        Ok(())
    }
}

fn twice(what: &str, name: &str) -> String {
    format!(
        "two {what} are called \"{}\", expected each name once",
        shortened(name)
    )
}

/// An unknown name, and the known ones.
fn near(name: &str, what: &str, known: &[&str]) -> String {
    let known = match known {
        [] => format!("the file has no {what}"),
        known => suggestion(name, what, known),
    };
    format!("\"{}\"; {known}", shortened(name))
}

fn of_row(row: &Row, wrong: Invalid) -> Invalid {
    let message = if wrong.message.starts_with("two rows") {
        wrong.message
    } else {
        format!("row \"{}\": {}", row.id, wrong.message)
    };
    Invalid { message, ..wrong }
}
