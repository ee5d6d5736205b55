//! `expect = ["flow.video.goodput_bps > 2Mbit"]`: what must hold of the summary of each run.
//!
//! `flow.NAME.MEASURE`, `transfers.NAME.MEASURE`, `link.NAME.MEASURE` and `group.NAME.MEASURE` name
//! a number of the summary, with points where `summary.json` has braces; `*` stands for any name,
//! and then it must hold for all. `transfers` are those of a flow with arrivals. `total.MEASURE` is
//! a number of all flows together. Values have the unit of their measure.

use super::error::suggestion;
use crate::summary::{Number, expected_of, parts};
use std::fmt;
use weir_proto::settings::{Diagnostic, Kind, Raw, Reader, Spanned, Value, shortened};
use weir_proto::units;

/// What must hold of a number of the summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// What has the number.
    pub of: ExpectedOf,
    /// The number, with points between its parts: `one_way_delay_s.p95`.
    pub measure: &'static str,
    /// How it must compare.
    pub comparison: Comparison,
    /// The value to compare with, in the unit of the measure.
    pub value: f64,
    /// The value as it was written.
    written: String,
    unit: &'static str,
}

/// All that is expected of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectations(pub Vec<Expectation>);

/// What has a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedOf {
    /// The part of the summary: `flow`, `transfers`, `link`, `group`, or `total` for all flows
    /// together.
    pub part: &'static str,
    /// The list of the summary that has it.
    pub list: &'static str,
    /// The name, in which `*` stands for any text; the total has none.
    pub name: Option<String>,
}

/// How a number must compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparison {
    /// Below the value.
    #[default]
    Below,
    /// At most the value.
    AtMost,
    /// Above the value.
    Above,
    /// At least the value.
    AtLeast,
}

const EXAMPLE: &str = "write \"flow.NAME.goodput_bps > 2Mbit\"";

impl Comparison {
    /// True if the number compares so with the value.
    pub fn holds(self, found: f64, value: f64) -> bool {
        match self {
            Self::Below => found < value,
            Self::AtMost => found <= value,
            Self::Above => found > value,
            Self::AtLeast => found >= value,
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
        }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, written) = (self.comparison.sign(), &self.written);
        write!(f, "{}.{} {sign} {written}", self.of, self.measure)
    }
}

impl fmt::Display for ExpectedOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.part)?;
        self.name.iter().try_for_each(|name| write!(f, ".{name}"))
    }
}

impl ExpectedOf {
    /// True if the name stands for this one.
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

impl Expectation {
    /// The unit of the value: `bit/s`, `s`, `bytes`, or none.
    pub const fn unit(&self) -> &'static str {
        self.unit
    }

    fn parse(text: &str) -> Result<Self, Diagnostic> {
        let Some(at) = text.find(['<', '>']) else {
            let message = format!("\"{}\" compares nothing", shortened(text));
            return Err(Diagnostic::new(message, EXAMPLE));
        };
        let (path, rest) = (text[..at].trim(), &text[at..]);
        let signs = [
            Comparison::AtMost,
            Comparison::AtLeast,
            Comparison::Below,
            Comparison::Above,
        ];
        let mut signs = signs.into_iter();
        let comparison = signs.find(|sign| rest.starts_with(sign.sign()));
        let comparison = comparison.unwrap_or_default();
        let written = rest[comparison.sign().len()..].trim();
        let (of, number) = parse_path(path)?;
        let unit = number.expected_unit();
        Ok(Self {
            of,
            measure: &number.path,
            comparison,
            value: parse_value(written, unit)?,
            unit,
            written: written.to_owned(),
        })
    }
}

fn of(number: &Number, name: Option<&str>) -> ExpectedOf {
    ExpectedOf {
        part: number.part,
        list: number.list,
        name: name.map(str::to_owned),
    }
}

fn parse_path(path: &str) -> Result<(ExpectedOf, &'static Number), Diagnostic> {
    let (part, rest) = path.split_once('.').unwrap_or((path, ""));
    if !parts().contains(&part) {
        let message = format!("there is no \"{}\" in a summary", shortened(part));
        return Err(Diagnostic::new(
            message,
            suggestion(part, "parts", &parts()),
        ));
    }
    let unknown = |measure: &str| {
        let message = format!("{part}: there is no measure \"{}\"", shortened(measure));
        Diagnostic::new(message, suggestion(measure, "measures", &measures_of(part)))
    };
    let mut known = expected_of(part);
    if part == "total" {
        let number = known.find(|number| number.path == rest);
        let number = number.ok_or_else(|| unknown(rest))?;
        return Ok((of(number, None), number));
    }
    // Names of links have points too: the measure is the longest that the path ends with.
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
    Ok((of(number, Some(name)), number))
}

fn parse_value(text: &str, unit: &str) -> Result<f64, Diagnostic> {
    match unit {
        "bit/s" => Ok(units::parse_rate(text)?.as_bps()),
        "s" => Ok(units::parse_duration(text)?.as_secs_f64()),
        "bytes" => Ok(units::parse_size(text)? as f64),
        _ => {
            let (number, scale) = match text.strip_suffix('%') {
                Some(percent) => (percent.trim_end(), 0.01),
                None => (text, 1.0),
            };
            let number = number.parse::<f64>().ok().filter(|n| n.is_finite());
            number.map(|number| number * scale).ok_or_else(|| {
                let message = format!("expected a number, found \"{}\"", shortened(text));
                Diagnostic::new(message, "write a number such as 0.95 or 95%")
            })
        }
    }
}

impl Value for Expectations {
    fn read(&mut self, value: &Spanned, reader: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let example = "[\"flow.NAME.goodput_bps > 2Mbit\"]";
        let expected = || Diagnostic::expected("a list of texts", &value.raw, example);
        let Raw::Array(elements) = &value.raw else {
            return Err(expected());
        };
        self.0.clear();
        for element in elements {
            let Raw::Text(text) = &element.raw else {
                return Err(expected());
            };
            match Expectation::parse(text) {
                Ok(expectation) => self.0.push(expectation),
                Err(mut wrong) => {
                    wrong.message = format!("expect: {}", wrong.message);
                    reader.report(element.place, wrong);
                }
            }
        }
        Ok(())
    }

    fn write(&self) -> Raw {
        let texts = self.0.iter().map(|one| Raw::Text(one.to_string()).into());
        Raw::Array(texts.collect())
    }

    fn kind(&self) -> Kind {
        Kind::List {
            of: Box::new(Kind::Text("PATH < VALUE, with <, <=, > or >=")),
            len: (0, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for (text, value, unit) in [
            ("flow.video.goodput_bps > 2Mbit", 2e6, "bit/s"),
            ("flow.*.one_way_delay_s.p95 < 50ms", 0.05, "s"),
            (
                "link.wire.backward.queue_bytes.max <= 30kB",
                30_000.0,
                "bytes",
            ),
            ("link.air.ap.utilisation >= 95%", 0.95, ""),
            ("group.burst.completion_time_s.p99 < 1s", 1.0, "s"),
            ("transfers.web.completion_time_s.p99 < 1s", 1.0, "s"),
            ("total.jain_index > 0.9", 0.9, ""),
            ("total.timeouts <= 0", 0.0, ""),
            ("flow.*.bound_share.window < 10%", 0.1, ""),
            ("flow.a.rate_bps.cov < 0.5", 0.5, ""),
        ] {
            let parsed = Expectation::parse(text).unwrap();
            assert_eq!(parsed.to_string(), text);
            assert!((parsed.value - value).abs() < 1e-9, "{text}: {parsed:?}");
            assert_eq!(parsed.unit(), unit, "{text}");
            let tight = text.replace(' ', "");
            assert_eq!(Expectation::parse(&tight).unwrap(), parsed);
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_what_was_probably_meant() {
        for (text, message, help) in [
            (
                "flow.a.goodput_bps",
                "compares nothing",
                "goodput_bps > 2Mbit",
            ),
            (
                "flw.a.goodput_bps > 1Mbit",
                "no \"flw\"",
                "did you mean \"flow\"",
            ),
            (
                "flow.a.godput_bps > 1Mbit",
                "no measure \"godput_bps\"",
                "did you mean \"goodput_bps\"",
            ),
            ("flow.a.rtt_s < 5ms", "no measure \"rtt_s\"", "rtt_s.min"),
            ("flow.a.goodput_bps > 5ms", "not a unit of rate", "10Mbit"),
            ("flow.a.goodput_bps > ", "", ""),
            ("total.jain_index > much", "expected a number", "0.95"),
            ("flow.a b.goodput_bps > 1Mbit", "not a name", ""),
            ("> 1", "no \"\"", "parts"),
        ] {
            let wrong = Expectation::parse(text).unwrap_err();
            let told = format!("{wrong:?}");
            assert!(
                told.contains(&message.replace('"', "\\\"")),
                "{text}: {told}"
            );
            assert!(told.contains(&help.replace('"', "\\\"")), "{text}: {told}");
        }
    }
}
