//! Numbers of the summary of a run, by their names.
//!
//! `flow.NAME.MEASURE`, `transfers.NAME.MEASURE`, `link.NAME.MEASURE` and `group.NAME.MEASURE`
//! refer to a number of the summary, with points in place of the braces in `summary.json`; with `*`
//! as name, the expectation applies to all names. `transfers` are those of a flow with arrivals.
//! `total.MEASURE` is a number of all flows together.

use crate::summary::{Number, expected_of, parts};
use serde_json::Value;
use std::fmt;
use weir_proto::settings::{Diagnostic, Help, shortened};

pub(super) const EXAMPLE: &str = "write \"flow.NAME.goodput_bps > 2Mbit\"";

/// The part of the summary that has a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedOf {
    /// The kind of part: `flow`, `transfers`, `link`, `group`, or `total` for all flows together.
    pub part: &'static str,
    /// The key of the part in the summary.
    pub list: &'static str,
    /// The name, in which `*` matches any text; `None` for the total.
    pub name: Option<String>,
}

/// A number of the summary: `flow.video.goodput_bps`.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// The part that has it.
    pub of: ExpectedOf,
    /// The number, with points between its parts: `one_way_delay_s.p95`.
    pub measure: &'static str,
    /// Its unit: `bit/s`, `s`, `bytes`, or none.
    pub unit: &'static str,
}

/// A number of the summary, or one computed from several: `A`, `A / B`, `A - B / C`, in which the
/// difference is computed first.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The first number.
    pub first: Quantity,
    /// The subtracted numbers.
    pub less: Vec<Quantity>,
    /// The divisor.
    pub divisor: Option<Quantity>,
}

impl fmt::Display for ExpectedOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.part)?;
        self.name.iter().try_for_each(|name| write!(f, ".{name}"))
    }
}

impl ExpectedOf {
    fn new(number: &Number, name: Option<&str>) -> Self {
        Self {
            part: number.part,
            list: number.list,
            name: name.map(str::to_owned),
        }
    }

    /// True if the name matches this one.
    pub fn covers(&self, name: &str) -> bool {
        let Some(pattern) = self.name.as_deref() else {
            return false;
        };
        let Some((before, after)) = pattern.split_once('*') else {
            return pattern == name;
        };
        let fits = name.len() >= before.len() + after.len();
        fits && name.starts_with(before) && name.ends_with(after)
    }
}

/// The measures of a part.
pub fn measures_of(part: &str) -> Vec<&'static str> {
    let numbers = expected_of(part);
    numbers.map(|number| number.path.as_str()).collect()
}

/// The error for an unknown word, with the known words.
pub(super) fn unknown(
    message: String,
    found: &str,
    what: &'static str,
    known: Vec<&'static str>,
) -> Diagnostic {
    Diagnostic {
        message,
        help: Help::Words {
            found: found.to_owned(),
            what,
            known,
        },
    }
}

impl Quantity {
    /// Reads the name of a number.
    ///
    /// # Errors
    /// If there is no such part or measure, or the name is not valid.
    pub fn parse(path: &str) -> Result<Self, Diagnostic> {
        let (of, number) = parse_path(path.trim())?;
        Ok(Self {
            of,
            measure: &number.path,
            unit: number.expected_unit(),
        })
    }

    /// The declaration in the summary.
    pub(crate) fn declared(&self) -> Option<&'static Number> {
        expected_of(self.of.part).find(|number| number.path == self.measure)
    }

    /// The values in a summary as JSON, by flow, transfers, link or group; `None` if the summary
    /// has no such number, such as the completion time of a flow that did not complete.
    pub fn of(&self, summary: &Value) -> Vec<(String, Option<f64>)> {
        let pointer = format!("/{}", self.measure.replace('.', "/"));
        let number = |of: &Value| of.pointer(&pointer).and_then(Value::as_f64);
        let part = &summary[self.of.list];
        if self.of.name.is_none() {
            return vec![("total".to_owned(), number(part))];
        }
        let named = part.as_object().into_iter().flatten();
        named
            .filter(|(name, _)| self.of.covers(name))
            .map(|(name, of)| (name.clone(), number(of)))
            .collect()
    }

    fn one(&self, summary: &Value) -> Option<f64> {
        self.of(summary).into_iter().find_map(|(_, number)| number)
    }
}

fn parse_path(path: &str) -> Result<(ExpectedOf, &'static Number), Diagnostic> {
    let (part, rest) = path.split_once('.').unwrap_or((path, ""));
    if !parts().contains(&part) {
        let message = format!("there is no \"{}\" in a summary", shortened(part));
        return Err(unknown(message, part, "parts", parts().to_vec()));
    }
    let unknown = |measure: &str| {
        let message = format!("{part}: there is no measure \"{}\"", shortened(measure));
        unknown(message, measure, "measures", measures_of(part))
    };
    let mut known = expected_of(part);
    if part == "total" {
        let number = known.find(|number| number.path == rest);
        let number = number.ok_or_else(|| unknown(rest))?;
        return Ok((ExpectedOf::new(number, None), number));
    }
    // Names of links contain points too, so the measure is the longest one with which the path
    // ends.
    let ends_with = |number: &&Number| {
        let name = rest.strip_suffix(&number.path);
        name.is_some_and(|name| name.len() > 1 && name.ends_with('.'))
    };
    let number = known
        .filter(ends_with)
        .max_by_key(|number| number.path.len());
    let Some(number) = number else {
        let measure = rest.split_once('.').map_or(rest, |(_, measure)| measure);
        return Err(unknown(measure));
    };
    let name = &rest[..rest.len() - number.path.len() - 1];
    let legal = |c: char| c.is_ascii_alphanumeric() || "_-.*".contains(c);
    if !name.chars().all(legal) || name.matches('*').count() > 1 {
        let message = format!("\"{}\" is not a name", shortened(name));
        return Err(Diagnostic::new(message, EXAMPLE));
    }
    Ok((ExpectedOf::new(number, Some(name)), number))
}

impl Term {
    /// Reads a number, or a difference or quotient of numbers, each of one name.
    ///
    /// # Errors
    /// If one of the numbers is not valid, or `*` is in more than one number.
    pub fn parse(text: &str) -> Result<Self, Diagnostic> {
        let (over, divisor) = match text.split_once(" / ") {
            Some((over, divisor)) => (over, Some(Quantity::parse(divisor)?)),
            None => (text, None),
        };
        let mut numbers = over.split(" - ").map(Quantity::parse);
        let first = numbers.next().unwrap_or_else(|| Quantity::parse(""))?;
        let less = numbers.collect::<Result<Vec<_>, _>>()?;
        let term = Self {
            first,
            less,
            divisor,
        };

        let has_pattern = |one: &Quantity| one.of.name.as_ref().is_some_and(|n| n.contains('*'));
        if term.single().is_none() && term.all().any(has_pattern) {
            let message = "\"*\" stands in a number that is computed from several";
            return Err(Diagnostic::new(message, "write each name"));
        }
        Ok(term)
    }

    /// The numbers from which it is computed.
    pub fn all(&self) -> impl Iterator<Item = &Quantity> {
        [&self.first]
            .into_iter()
            .chain(&self.less)
            .chain(&self.divisor)
    }

    /// The number, if it is not computed from several.
    pub fn single(&self) -> Option<&Quantity> {
        (self.less.is_empty() && self.divisor.is_none()).then_some(&self.first)
    }

    /// The unit; none for a quotient.
    pub fn unit(&self) -> &'static str {
        self.divisor.as_ref().map_or(self.first.unit, |_| "")
    }

    /// The values in a summary as JSON, as in [`Quantity::of`]; also `None` if the divisor is zero.
    pub fn of(&self, summary: &Value) -> Vec<(String, Option<f64>)> {
        if self.single().is_some() {
            return self.first.of(summary);
        }
        let value = || {
            let mut value = self.first.one(summary)?;
            for less in &self.less {
                value -= less.one(summary)?;
            }
            match &self.divisor {
                None => Some(value),
                Some(divisor) => {
                    let divisor = divisor.one(summary).filter(|divisor| *divisor != 0.0);
                    Some(value / divisor?)
                }
            }
        };
        let name = self.first.of.name.clone();
        vec![(name.unwrap_or_else(|| "total".to_owned()), value())]
    }
}
