//! A law as data: its parameters by name, how to evaluate it, and its result as lines.
//!
//! Text is parsed by [`weir_proto::units`]; plain numbers are read as bytes for sizes and as ratios
//! for probabilities, because formulas are typed by hand.

use std::collections::BTreeMap;
use thiserror::Error;
use weir_proto::time::Duration;
use weir_proto::units::{self, Probability, Rate};

/// The maximum size in octets: far above any segment size, and four times it still fits into 64
/// bits.
const LARGEST_SIZE: u64 = 9_000_000_000_000_000;

/// The kind of quantity of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Octets: `1400`, `1400b`, `64kB`.
    Bytes,
    /// A duration: `400ms`.
    Time,
    /// `0.002` or `0.2%`.
    Probability,
    /// `1Mbit`.
    Rate,
    /// A plain number.
    Number,
}

/// One parameter of a law.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name on the command line, without dashes.
    pub name: &'static str,
    /// The format of its text.
    pub quantity: Quantity,
    /// The default text; `None` if the parameter is required.
    pub default: Option<&'static str>,
    /// One line of help.
    pub describe: &'static str,
}

/// One result of a law.
#[derive(Clone, Copy, Debug)]
pub struct ResultSpec {
    /// The name in JSON, with the unit last: `allowed_rate_bps`.
    pub name: &'static str,
    /// The unit of its value.
    pub unit: &'static str,
    /// One line of help.
    pub describe: &'static str,
}

/// One line of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The name in JSON, with the unit last: `allowed_rate_bps`.
    pub name: &'static str,
    /// The value in that unit.
    pub value: f64,
    /// The value as text: `753.25 kbit/s`.
    pub text: String,
    /// The description of the value.
    pub describe: &'static str,
}

/// A formula that can be called by name.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// The name on the command line.
    pub name: &'static str,
    /// One line of help.
    pub describe: &'static str,
    /// The equation in plain text.
    pub equation: &'static str,
    /// Its source.
    pub source: &'static str,
    /// Where it holds, as measured; empty if the laboratory has not measured that.
    pub valid: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Its results.
    pub results: &'static [ResultSpec],
    /// Computes the results in their order; the last ones may be missing. Called by
    /// [`Law::evaluate`], which checks the arguments.
    pub compute: fn(&Arguments) -> Vec<f64>,
}

/// Why a law could not be evaluated. Error text: lower case, no full stop.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum TheoryError {
    /// No such law.
    #[error("there is no law \"{name}\"{hint}")]
    UnknownLaw {
        /// The requested name.
        name: String,
        /// `; did you mean "mathis"?`, or the list.
        hint: String,
    },
    /// The law has no such parameter.
    #[error("{law} has no parameter \"{name}\"{hint}")]
    UnknownParameter {
        /// The law.
        law: &'static str,
        /// The name given.
        name: String,
        /// A hint with similar names.
        hint: String,
    },
    /// A parameter without default is missing.
    #[error("{law} needs --{name}: {describe}")]
    MissingParameter {
        /// The law.
        law: &'static str,
        /// The parameter.
        name: &'static str,
        /// The description of the parameter.
        describe: &'static str,
    },
    /// A value that cannot be read or is out of range.
    #[error("--{name}: {message}")]
    Bad {
        /// The parameter.
        name: &'static str,
        /// The error in its value.
        message: String,
    },
}

/// The values of a law's parameters, checked: times and sizes are positive, probabilities lie in
/// (0, 1].
#[derive(Clone, Debug, Default)]
pub struct Arguments(BTreeMap<&'static str, f64>);

impl Arguments {
    fn number(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }

    /// Octets.
    pub(super) fn bytes(&self, name: &str) -> u64 {
        self.number(name) as u64
    }

    /// A duration.
    pub(super) fn time(&self, name: &str) -> Duration {
        Duration::from_nanos(self.number(name) as u64)
    }

    /// A probability.
    pub(super) fn probability(&self, name: &str) -> Probability {
        Probability::new(self.number(name)).unwrap_or_default()
    }

    /// A rate.
    pub(super) fn rate(&self, name: &str) -> Rate {
        Rate::from_bps(self.number(name))
    }

    /// A plain number.
    pub(super) fn plain(&self, name: &str) -> f64 {
        self.number(name)
    }

    /// True if the parameter was given or has a default.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

impl Parameter {
    /// Parses and checks one value; durations are in nanoseconds.
    fn read(&self, text: &str) -> Result<f64, TheoryError> {
        let bad = |message: String| TheoryError::Bad {
            name: self.name,
            message,
        };
        let from_unit = |error: units::UnitError| bad(error.to_string());
        let value = match self.quantity {
            Quantity::Bytes => match text.trim().parse::<u64>() {
                Ok(bytes) if bytes <= LARGEST_SIZE => bytes as f64,
                Ok(_) => return Err(bad(format!("\"{text}\" is too large"))),
                Err(_) => units::parse_size(text).map_err(from_unit)? as f64,
            },
            Quantity::Time => units::parse_duration(text).map_err(from_unit)?.as_nanos() as f64,
            Quantity::Probability => units::parse_probability(text).map_err(from_unit)?.get(),
            Quantity::Rate => units::parse_rate(text).map_err(from_unit)?.as_bps(),
            Quantity::Number => text
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|number| number.is_finite() && *number >= 0.0)
                .ok_or_else(|| {
                    bad(format!(
                        "\"{text}\" is not a number; write a number that is not negative"
                    ))
                })?,
        };
        if value == 0.0 && self.quantity != Quantity::Number {
            return Err(bad(format!("\"{text}\" is zero; it must be positive")));
        }
        Ok(value)
    }
}

impl Law {
    /// The law as data, as `weir theory LAW --help --json` prints it; a parameter whose default is
    /// null is required.
    pub fn description(&self) -> serde_json::Value {
        let parameters = self.parameters.iter().map(|parameter| {
            serde_json::json!({
                "name": parameter.name,
                "describe": parameter.describe,
                "default": parameter.default,
            })
        });
        serde_json::json!({
            "law": self.name,
            "describe": self.describe,
            "equation": self.equation,
            "source": self.source,
            "valid": self.valid,
            "parameters": parameters.collect::<Vec<_>>(),
        })
    }

    /// Evaluates the law with text values such as `("rtt", "400ms")`.
    ///
    /// # Errors
    /// If a parameter is unknown or missing, or a value is invalid.
    pub fn evaluate(&self, arguments: &[(&str, &str)]) -> Result<Vec<Line>, TheoryError> {
        for (name, _) in arguments {
            if !self.parameters.iter().any(|known| known.name == *name) {
                return Err(TheoryError::UnknownParameter {
                    law: self.name,
                    name: (*name).to_owned(),
                    hint: closest(name, self.parameters.iter().map(|known| known.name)),
                });
            }
        }
        let mut values = BTreeMap::new();
        for parameter in self.parameters {
            let given = arguments
                .iter()
                .rev()
                .find(|(name, _)| *name == parameter.name)
                .map(|(_, text)| *text);
            match given.or(parameter.default) {
                // An empty default means that the parameter is optional, and the law handles its
                // absence.
                Some("") => {}
                Some(text) => {
                    values.insert(parameter.name, parameter.read(text)?);
                }
                None => {
                    return Err(TheoryError::MissingParameter {
                        law: self.name,
                        name: parameter.name,
                        describe: parameter.describe,
                    });
                }
            }
        }
        let values = (self.compute)(&Arguments(values));
        let line = |(result, value): (&ResultSpec, f64)| Line {
            name: result.name,
            value,
            text: match (self.name, value.is_nan()) {
                ("tfrc-inverse", true) => "none: even p = 1 allows more".to_owned(),
                _ => format_value(value, result.unit),
            },
            describe: result.describe,
        };
        Ok(self.results.iter().zip(values).map(line).collect())
    }
}

/// A hint with the closest of the known names, or all of them.
pub(super) fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let best = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), *candidate))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((score, candidate)) if score > 0.75 => format!("; did you mean \"{candidate}\"?"),
        _ => format!("; known are {}", known.join(", ")),
    }
}

/// A value with five significant digits and a suitable prefix.
pub fn format_value(value: f64, unit: &str) -> String {
    format_digits(value, unit, 5)
}

/// Prefixes of the units that have them, the largest first.
pub(crate) fn prefixes(unit: &str) -> &'static [(f64, &'static str)] {
    match unit {
        "bit/s" => &[
            (1e9, "Gbit/s"),
            (1e6, "Mbit/s"),
            (1e3, "kbit/s"),
            (1.0, "bit/s"),
        ],
        "s" => &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")],
        "bytes" => &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")],
        _ => &[],
    }
}

/// The factor and the name of the prefixed unit in which numbers up to `largest` are short.
pub(crate) fn prefixed(unit: &str, largest: f64) -> (f64, &str) {
    let prefixes = prefixes(unit);
    let fits = |scale: f64| largest.abs() >= scale * 0.999_995;
    let found = prefixes.iter().find(|(scale, _)| fits(*scale));
    let found = found.or(prefixes.last());
    found.map_or((1.0, unit), |(scale, name)| (*scale, *name))
}

/// A number with its unit: `12.5 Mbit/s`.
pub(crate) fn with_unit(value: f64, unit: &str, digits: i32) -> String {
    let (scale, unit) = prefixed(unit, value);
    let number = significant(value / scale, digits);
    if unit.is_empty() {
        number
    } else {
        format!("{number} {unit}")
    }
}

/// Like [`format_value`], with this many significant digits. Windows and packets stay in bytes, as
/// in the documents.
pub fn format_digits(value: f64, unit: &str, digits: i32) -> String {
    if unit == "bytes" {
        return format!("{} {unit}", significant(value, digits));
    }
    with_unit(value, unit, digits)
}

/// A number with this many significant digits, without trailing zeros.
pub fn significant(value: f64, digits: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 {
            "0".to_owned()
        } else {
            value.to_string()
        };
    }
    let magnitude = libm::floor(libm::log10(value.abs())) as i32;
    if value.abs() < LEAST_PLAIN || magnitude > 9 {
        return scientific(value, digits);
    }
    let text = format!("{value:.*}", (digits - 1 - magnitude).max(0) as usize);
    without_zeros(&text).to_owned()
}

/// The smallest number that is written without an exponent.
pub(crate) const LEAST_PLAIN: f64 = 1e-5;

/// A number in scientific notation with this many significant digits, without trailing zeros.
pub(crate) fn scientific(value: f64, digits: i32) -> String {
    let text = format!("{value:.*e}", (digits - 1).max(0) as usize);
    match text.split_once('e') {
        Some((number, power)) => format!("{}e{power}", without_zeros(number)),
        None => text,
    }
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    }
}
