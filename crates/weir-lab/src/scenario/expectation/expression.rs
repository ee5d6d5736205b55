//! An expectation: a number, its comparison, and the value or values with which it is compared.

use super::number::{EXAMPLE, Term};
use super::trace::{CaseWords, Ratio, Reference, TraceMeasure, When};
use std::fmt;
use weir_proto::settings::{Diagnostic, shortened};
use weir_proto::units::{self, Rate};

/// A condition on a number of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    pub(crate) subject: Subject,
    /// One comparison, or the two of a range.
    bounds: Vec<(Comparison, f64)>,
    /// The reference of which the values are multiples.
    pub(crate) reference: Option<Reference>,
    pub(crate) when: When,
    /// The text, with single spaces between words.
    written: String,
}

/// The number that is compared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Subject {
    /// A number of the summary.
    Summary(Term),
    /// A number of the trace of the flow under test.
    Trace(TraceMeasure),
}

/// A comparison operator.
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

impl Comparison {
    /// All operators, the longest first.
    const ALL: [Self; 4] = [Self::AtMost, Self::AtLeast, Self::Below, Self::Above];

    /// True if the comparison holds for the number and the value.
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

    /// The comparison with its sides exchanged.
    const fn turned(self) -> Self {
        match self {
            Self::Below => Self::Above,
            Self::AtMost => Self::AtLeast,
            Self::Above => Self::Below,
            Self::AtLeast => Self::AtMost,
        }
    }

    const fn is_upper(self) -> bool {
        matches!(self, Self::Below | Self::AtMost)
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

/// The text between the operators, and the operators.
fn split(text: &str) -> (Vec<&str>, Vec<Comparison>) {
    let (mut parts, mut signs, mut rest) = (Vec::new(), Vec::new(), text);
    while let Some(at) = rest.find(['<', '>']) {
        let mut known = Comparison::ALL.into_iter();
        let sign = known.find(|sign| rest[at..].starts_with(sign.sign()));
        let sign = sign.unwrap_or_default();
        parts.push(rest[..at].trim());
        signs.push(sign);
        rest = &rest[at + sign.sign().len()..];
    }
    parts.push(rest.trim());
    (parts, signs)
}

impl Expectation {
    /// Reads an expectation of a scenario about the summary of a run.
    pub(crate) fn parse(text: &str) -> Result<Self, Diagnostic> {
        Self::parse_with(text, None)
    }

    /// Reads a check of a suite's case about its run.
    ///
    /// # Errors
    /// The error and the advice.
    pub(crate) fn parse_case(text: &str, words: &CaseWords) -> Result<Self, Diagnostic> {
        Self::parse_with(text, Some(words))
    }

    fn parse_with(text: &str, case: Option<&CaseWords>) -> Result<Self, Diagnostic> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (parts, signs) = split(&text);
        let (lower, path, right, sign) = match (parts.as_slice(), signs.as_slice()) {
            ([path, value], [sign]) => (None, *path, *value, *sign),
            ([lower, path, value], [first, sign]) if first.is_upper() && sign.is_upper() => {
                (Some((*lower, first.turned())), *path, *value, *sign)
            }
            ([_, _, _], _) => {
                let message = format!("\"{}\" is no range", shortened(&text));
                return Err(Diagnostic::new(
                    message,
                    "write \"1Mbit <= NUMBER <= 2Mbit\"",
                ));
            }
            _ => {
                let message = format!("\"{}\" compares nothing", shortened(&text));
                return Err(Diagnostic::new(message, EXAMPLE));
            }
        };
        let subject = match case.map(|words| TraceMeasure::parse(path, words)) {
            Some(Some(measure)) => Subject::Trace(measure?),
            Some(None) | None => Subject::Summary(Term::parse(path)?),
        };
        let (value, when) = match case {
            Some(words) => When::split(right, words)?,
            None => (right, When::default()),
        };
        check_when(&when, &subject)?;
        let unit = subject.unit();
        let (upper, reference) = match case {
            Some(_) => Reference::split(value, unit)?,
            None => (value, None),
        };
        let amount = |text: &str| match reference {
            Some(_) => parse_value(text, ""),
            None => parse_value(text, unit),
        };
        let mut bounds = Vec::new();
        if let Some((lower, sign)) = lower {
            let (lower, _) = match &reference {
                Some(_) => Reference::split(lower, unit)?,
                None => (lower, None),
            };
            bounds.push((sign, amount(lower)?));
        }
        bounds.push((sign, amount(upper)?));
        let mut written = String::new();
        for (part, sign) in parts.iter().zip(&signs) {
            written.extend([part, " ", sign.sign(), " "]);
        }
        written.push_str(right);
        Ok(Self {
            subject,
            bounds,
            reference,
            when,
            written,
        })
    }

    /// The compared number of the summary; `None` for a number of the trace.
    pub const fn term(&self) -> Option<&Term> {
        match &self.subject {
            Subject::Summary(term) => Some(term),
            Subject::Trace(_) => None,
        }
    }

    /// The unit of the values: `bit/s`, `s`, `bytes`, or none.
    pub fn unit(&self) -> &'static str {
        self.subject.unit()
    }

    /// The text of the number that is compared.
    pub(crate) fn number(&self) -> &str {
        split(&self.written)
            .0
            .get(self.bounds.len() - 1)
            .copied()
            .unwrap_or_default()
    }

    /// True if the range includes its limits, as with `<=`.
    pub(crate) fn has_limits_inside(&self) -> bool {
        let mut bounds = self.bounds.iter();
        bounds.all(|(sign, _)| matches!(sign, Comparison::AtMost | Comparison::AtLeast))
    }

    /// The lower and the upper limit, if they exist.
    pub fn limits(&self) -> [Option<f64>; 2] {
        let bound = |upper: bool| {
            let mut bounds = self.bounds.iter();
            bounds
                .find(|(sign, _)| sign.is_upper() == upper)
                .map(|(_, value)| *value)
        };
        [bound(false), bound(true)]
    }

    /// Expects the same of a path of another rate and round-trip time.
    pub(crate) fn scale(&mut self, ratio: Ratio) {
        let factor = match (&self.reference, self.subject.unit()) {
            (None, "bit/s") => ratio.rate,
            (None, "s") => ratio.time,
            (None, "bytes") => ratio.rate * ratio.time,
            _ => 1.0,
        };
        for (_, bound) in &mut self.bounds {
            *bound *= factor;
        }
        if let Some(Reference::Rate(rate, _)) = &mut self.reference {
            *rate = Rate::from_bps(rate.as_bps() * ratio.rate);
        }
        self.when.scale(ratio);
    }

    /// True if the number satisfies the expectation.
    pub fn holds(&self, found: f64) -> bool {
        let mut bounds = self.bounds.iter();
        bounds.all(|(comparison, value)| comparison.holds(found, *value))
    }
}

impl Subject {
    fn unit(&self) -> &'static str {
        match self {
            Self::Summary(term) => term.unit(),
            Self::Trace(measure) => measure.unit(),
        }
    }
}

/// Checks that the condition on time fits the number.
fn check_when(when: &When, subject: &Subject) -> Result<(), Diagnostic> {
    let wrong = |message: &str, help: &str| Err(Diagnostic::new(message, help));
    match subject {
        Subject::Summary(_) if *when != When::default() => wrong(
            "a number of the summary is that of the whole run",
            "leave out during, visit, from and until",
        ),
        Subject::Trace(of) if of.needs_state() && when.during.is_none() => wrong(
            "the number is one of a state",
            "write during STATE behind the value",
        ),
        _ if when.visit.is_some() && when.during.is_none() => {
            wrong("a visit is one of a state", "write during STATE")
        }
        _ => Ok(()),
    }
}

/// A value in a unit.
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
