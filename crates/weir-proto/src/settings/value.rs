//! Types that are written in one way everywhere.
//!
//! Quantities with a unit are texts, and only [`units`](crate::units) parses them. A written value
//! is read back to the same value, to the last bit.

use super::diagnostic::Diagnostic;
use super::kind::Kind;
use super::raw::{Raw, Spanned};
use super::read::{Reader, Value};
use crate::time::Duration;
use crate::units::{self, Probability};

impl Value for bool {
    fn read(&mut self, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        *self = match &value.raw {
            Raw::Boolean(value) => *value,
            Raw::Text(text) if text == "on" => true,
            Raw::Text(text) if text == "off" => false,
            found => {
                let example = "true or false without quotes";
                return Err(Diagnostic::expected("true or false", found, example));
            }
        };
        Ok(())
    }

    fn write(&self) -> Raw {
        Raw::Boolean(*self)
    }

    fn kind(&self) -> Kind {
        Kind::Boolean
    }
}

impl Value for Duration {
    fn read(&mut self, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let Raw::Text(text) = &value.raw else {
            let example = "\"5ms\" or \"10s\"";
            return Err(Diagnostic::expected(
                "a duration in quotes",
                &value.raw,
                example,
            ));
        };
        *self = units::parse_duration(text)?;
        Ok(())
    }

    fn write(&self) -> Raw {
        Raw::Text(self.to_string())
    }

    fn kind(&self) -> Kind {
        Kind::Quantity(&units::DURATION)
    }
}

impl Value for Probability {
    fn read(&mut self, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let text = match &value.raw {
            Raw::Text(text) => text.clone(),
            Raw::Float(number) => number.to_string(),
            Raw::Integer(number) => number.to_string(),
            found => {
                return Err(Diagnostic::expected(
                    "a probability",
                    found,
                    "0.02 or \"2%\"",
                ));
            }
        };
        *self = units::parse_probability(&text)?;
        Ok(())
    }

    fn write(&self) -> Raw {
        Raw::Float(self.get())
    }

    fn kind(&self) -> Kind {
        Kind::Fraction
    }
}

/// A number that is not negative.
impl Value for f64 {
    fn read(&mut self, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let number = match &value.raw {
            Raw::Float(number) => *number,
            Raw::Integer(number) => *number as Self,
            found => {
                let example = "a number such as 0.5";
                return Err(Diagnostic::expected("a number", found, example));
            }
        };
        if !number.is_finite() || number < 0.0 {
            return Err(Diagnostic::new(
                format!("expected a finite number that is not negative, found {number}"),
                "write a number such as 0.5",
            ));
        }
        *self = number;
        Ok(())
    }

    fn write(&self) -> Raw {
        Raw::Float(*self)
    }

    fn kind(&self) -> Kind {
        Kind::Number {
            min: 0.0,
            max: Self::INFINITY,
            unit: "",
        }
    }
}

/// A list of whole numbers.
impl Value for Vec<u64> {
    fn read(&mut self, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let wrong = || Diagnostic::expected("a list of whole numbers", &value.raw, "[3, 17]");
        let Raw::Array(elements) = &value.raw else {
            return Err(wrong());
        };
        self.clear();
        for element in elements {
            match element.raw {
                Raw::Integer(number) if number >= 0 => self.push(number.unsigned_abs()),
                _ => return Err(wrong()),
            }
        }
        Ok(())
    }

    fn write(&self) -> Raw {
        // A file cannot contain larger numbers.
        let number = |&number: &u64| Raw::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        Raw::Array(self.iter().map(|value| number(value).into()).collect())
    }

    fn kind(&self) -> Kind {
        let (min, max, unit) = (0, i64::MAX as u64, "");
        Kind::List {
            of: Box::new(Kind::Integer { min, max, unit }),
            len: (0, None),
        }
    }
}
