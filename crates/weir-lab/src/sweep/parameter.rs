//! Parameters of a sweep: a path with values, or with a range of a quantity.

use crate::scenario::{Override, ScenarioError};
use crate::toml_file::Invalid;
use serde::{Deserialize, Serialize};
use weir_proto::settings::shortened;
use weir_proto::units;

/// Why a plan is invalid, as text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlanError(pub String);

impl From<ScenarioError> for PlanError {
    fn from(error: ScenarioError) -> Self {
        Self(error.to_string())
    }
}

/// A parameter that varies in a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The path in the notation of `--set`; `*` matches all names.
    pub path: String,
    /// The values, as in the scenario's file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<toml::Value>,
    /// In place of values, the minimum of a range: a number, or text with a unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<toml::Value>,
    /// The maximum of the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<toml::Value>,
    /// The division of the range.
    #[serde(default)]
    pub scale: Scale,
}

/// The division of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Equal differences are equally likely.
    #[default]
    Linear,
    /// Equal ratios are equally likely.
    Log,
}

/// A value for a path, with the column and the label by which tables show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The path and the value as TOML.
    pub set: Override,
    /// The value in tables.
    pub label: Label,
}

/// The value of a setting in tables.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// A number; for ranges in the base unit: seconds, bit/s, bytes.
    Number(f64),
    /// A word, or the short form of a table.
    Word(String),
}

/// The ends of a range in its base unit.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: f64,
    to: f64,
    unit: Unit,
}

/// The unit in which a value of a range is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Whole,
    Plain,
    Seconds,
    BitsPerSecond,
    Bytes,
}

impl Unit {
    /// The suffix of the column's name.
    const fn ending(self) -> &'static str {
        match self {
            Self::Whole | Self::Plain => "",
            Self::Seconds => "_s",
            Self::BitsPerSecond => "_bps",
            Self::Bytes => "_bytes",
        }
    }
}

impl Parameter {
    /// Checks that there are values, or a range of one quantity.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        let path = &self.path;
        let wrong =
            |key, what: &str| Err(Invalid::key(key, format!("parameter \"{path}\": {what}")));
        if path.split('.').any(|step| step.trim().is_empty()) {
            let what = "a name of the path is empty; write names separated by dots, such as \
                        link.bottleneck.rate";
            return wrong("path", what);
        }
        match (&self.from, &self.to) {
            (None, None) if self.values.is_empty() => wrong(
                "values",
                "it has no value; write values = […], or from and to",
            ),
            (None, None) if self.scale == Scale::Log => wrong(
                "scale",
                "it has values; a scale belongs to a range, from and to",
            ),
            (None, None) => Ok(()),
            (Some(_), Some(_)) if !self.values.is_empty() => {
                wrong("values", "it has values and a range; write one of them")
            }
            (Some(from), Some(to)) => {
                let range = self.range()?;
                if !(range.from < range.to && range.to.is_finite()) {
                    let what = format!("from = {from} and to = {to}, expected a greater \"to\"");
                    return wrong("to", &what);
                }
                if self.scale == Scale::Log && range.from <= 0.0 {
                    let what = format!("from = {from}, expected a positive one on a log scale");
                    return wrong("from", &what);
                }
                Ok(())
            }
            (Some(_), None) => wrong("from", "it has \"from\" and no \"to\"; a range has both"),
            (None, Some(_)) => wrong("to", "it has \"to\" and no \"from\"; a range has both"),
        }
    }

    /// True for a range, false for values.
    pub(super) const fn is_range(&self) -> bool {
        self.from.is_some()
    }

    /// The suffix of its column's name.
    pub(super) fn column_ending(&self) -> &'static str {
        let range = self.is_range().then(|| self.range().ok()).flatten();
        range.map_or("", |range| range.unit.ending())
    }

    /// The unit of its column.
    pub(super) fn column_unit(&self) -> &'static str {
        match self.column_ending() {
            "_s" => "s",
            "_bps" => "bit/s",
            "_bytes" => "bytes",
            _ => "",
        }
    }

    /// The value with this index in the list.
    pub(super) fn value(&self, number: usize) -> Option<Setting> {
        let value = self.values.get(number)?;
        Some(Setting {
            set: Override {
                path: self.path.clone(),
                value: inline(value),
            },
            label: label_of(value),
        })
    }

    /// The value at this position of the range or list, 0 to 1.
    pub(crate) fn at(&self, place: f64) -> Option<Setting> {
        if !self.is_range() {
            let number = (place * self.values.len() as f64) as usize;
            return self.value(number.min(self.values.len().checked_sub(1)?));
        }
        let Range { from, to, unit } = self.range().ok()?;
        let number = match (unit, self.scale) {
            (Unit::Whole, Scale::Linear) => (from + (to - from + 1.0) * place).floor().min(to),
            (_, Scale::Linear) => from + (to - from) * place,
            (_, Scale::Log) => from * libm::pow(to / from, place),
        };
        let number = if unit == Unit::Whole || unit == Unit::Bytes {
            number.floor()
        } else {
            number
        };
        let value = match unit {
            Unit::Whole => format!("{number:.0}"),
            // The decimal point makes it a TOML float.
            Unit::Plain => format!("{number:?}"),
            Unit::Seconds => format!("\"{:.0}ns\"", number * 1e9),
            Unit::BitsPerSecond => format!("\"{number:.0}bit\""),
            Unit::Bytes => format!("\"{number:.0}b\""),
        };
        Some(Setting {
            set: Override {
                path: self.path.clone(),
                value,
            },
            label: Label::Number(number),
        })
    }

    fn range(&self) -> Result<Range, Invalid> {
        let path = &self.path;
        let read = |key, value: &Option<toml::Value>| -> Result<(f64, Unit), Invalid> {
            let read = match value {
                Some(toml::Value::Integer(number)) => Some((*number as f64, Unit::Whole)),
                Some(toml::Value::Float(number)) if number.is_finite() => {
                    Some((*number, Unit::Plain))
                }
                Some(toml::Value::String(text)) => quantity(text),
                _ => None,
            };
            read.ok_or_else(|| {
                let found = value.as_ref().map_or_else(String::new, inline);
                let message = format!(
                    "parameter \"{path}\": {key} = {} is no end of a range; write a number, or a \
                     text with a unit of time, rate or size",
                    shortened(&found)
                );
                Invalid::key(key, message)
            })
        };
        let ((from, first), (to, second)) = (read("from", &self.from)?, read("to", &self.to)?);
        let numbers = [Unit::Whole, Unit::Plain];
        let unit = if first == second {
            first
        } else if numbers.contains(&first) && numbers.contains(&second) {
            Unit::Plain
        } else {
            let [from, to] =
                [&self.from, &self.to].map(|value| value.as_ref().map_or_else(String::new, inline));
            let message = format!(
                "parameter \"{path}\": from = {from} and to = {to}, expected the same kind of unit"
            );
            return Err(Invalid::key("to", message));
        };
        Ok(Range { from, to, unit })
    }
}

/// Text with a unit, converted to its base unit.
fn quantity(text: &str) -> Option<(f64, Unit)> {
    let seconds = |text| Some(units::parse_duration(text).ok()?.as_nanos() as f64 * 1e-9);
    let bytes = |text| Some(units::parse_size(text).ok()? as f64);
    let rate = |text| Some(units::parse_rate(text).ok()?.as_bps());
    let share = |text: &str| {
        let probability = text
            .contains('%')
            .then(|| units::parse_probability(text).ok());
        Some(probability??.get())
    };
    seconds(text)
        .map(|number| (number, Unit::Seconds))
        .or_else(|| bytes(text).map(|number| (number, Unit::Bytes)))
        .or_else(|| rate(text).map(|number| (number, Unit::BitsPerSecond)))
        .or_else(|| share(text).map(|number| (number, Unit::Plain)))
}

/// The value as TOML on one line.
fn inline(value: &toml::Value) -> String {
    value.to_string()
}

/// The short form of a value for tables: `cubic`, `codel`, `droptail(limit=250kB)`.
fn label_of(value: &toml::Value) -> Label {
    match value {
        toml::Value::String(text) => Label::Word(text.clone()),
        toml::Value::Integer(number) => Label::Number(*number as f64),
        toml::Value::Float(number) => Label::Number(*number),
        toml::Value::Table(table) => {
            let kind = table.get("kind").and_then(toml::Value::as_str);
            let others = table.iter().filter(|(key, _)| key.as_str() != "kind");
            let others = others.map(|(key, value)| match label_of(value) {
                Label::Word(word) => format!("{key}={word}"),
                Label::Number(number) => format!("{key}={number}"),
            });
            let others: Vec<String> = others.collect();
            Label::Word(match (kind, others.is_empty()) {
                (Some(kind), true) => kind.to_owned(),
                (kind, _) => format!("{}({})", kind.unwrap_or_default(), others.join(",")),
            })
        }
        other => Label::Word(other.to_string()),
    }
}
