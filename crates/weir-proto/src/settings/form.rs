//! Forms of values that their type does not determine: bounds, units, words.

use super::diagnostic::{Diagnostic, Help, shortened};
use super::kind::{Keyword, Kind, TableKind, Variant};
use super::raw::{Raw, Spanned, Table};
use super::read::{Form, Reader, Value};
use super::synonym::word_here;
use super::table::{Variants, describe_variants, write_variants};
use crate::units::{self, Probability};
use std::ops::RangeInclusive;

/// The form of the value's type.
#[derive(Clone, Copy, Debug)]
pub struct Natural;

/// The form of the value's type, for use within another form.
pub const fn natural() -> Natural {
    Natural
}

impl<T: Value> Form<T> for Natural {
    fn read(
        &self,
        slot: &mut T,
        value: &Spanned,
        reader: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        slot.read(value, reader)
    }

    fn write(&self, value: &T) -> Raw {
        value.write()
    }

    fn kind(&self, default: &T) -> Kind {
        default.kind()
    }

    fn read_absent(&self, slot: &mut T, reader: &mut Reader<'_>) {
        slot.read_absent(reader);
    }
}

/// A whole number within bounds.
#[derive(Clone, Copy, Debug)]
pub struct Count {
    min: u64,
    max: u64,
    unit: &'static str,
}

/// A whole number within bounds; the unit says what is counted and is empty for a plain number.
pub const fn count(bounds: RangeInclusive<u64>, unit: &'static str) -> Count {
    Count {
        min: *bounds.start(),
        max: *bounds.end(),
        unit,
    }
}

impl Count {
    fn number(&self, raw: &Raw) -> Result<u64, Diagnostic> {
        let Self { min, max, unit } = *self;
        let wrong = |found: String| match unit {
            "" => Diagnostic::new(
                format!("expected {min} to {max}, found {found}"),
                "write a whole number without quotes",
            ),
            unit => Diagnostic::new(
                format!("expected {min} to {max} {unit}, found {found}"),
                format!("write a whole number of {unit} without quotes"),
            ),
        };
        match raw {
            Raw::Integer(number) => match u64::try_from(*number) {
                Ok(number) if (min..=max).contains(&number) => Ok(number),
                _ => Err(wrong(number.to_string())),
            },
            other => Err(wrong(other.in_words())),
        }
    }
}

fn whole<T: Copy + Into<u64>>(value: &T) -> Raw {
    // A file cannot contain larger numbers, and bounds exclude them.
    Raw::Integer(i64::try_from((*value).into()).unwrap_or(i64::MAX))
}

impl<T: Copy + TryFrom<u64> + Into<u64>> Form<T> for Count {
    fn read(&self, slot: &mut T, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        if let Ok(number) = T::try_from(self.number(&value.raw)?) {
            *slot = number;
        }
        Ok(())
    }

    fn write(&self, value: &T) -> Raw {
        whole(value)
    }

    fn kind(&self, _: &T) -> Kind {
        let Self { min, max, unit } = *self;
        Kind::Integer { min, max, unit }
    }
}

/// A number of bytes within bounds.
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    min: u64,
    max: u64,
}

/// A number of bytes within bounds: a whole number, or a text with a unit.
pub const fn bytes(bounds: RangeInclusive<u64>) -> Bytes {
    Bytes {
        min: *bounds.start(),
        max: *bounds.end(),
    }
}

impl<T: Copy + TryFrom<u64> + Into<u64>> Form<T> for Bytes {
    fn read(&self, slot: &mut T, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let Self { min, max } = *self;
        let number = match &value.raw {
            Raw::Text(text) => {
                let number = units::parse_size(text)?;
                if !(min..=max).contains(&number) {
                    return Err(Diagnostic::new(
                        format!("expected {min} to {max} bytes, found {number}"),
                        "write a number of bytes, such as 1400 or \"64kB\"",
                    ));
                }
                number
            }
            raw => count(min..=max, "bytes").number(raw)?,
        };
        if let Ok(number) = T::try_from(number) {
            *slot = number;
        }
        Ok(())
    }

    fn write(&self, value: &T) -> Raw {
        whole(value)
    }

    fn kind(&self, _: &T) -> Kind {
        let Self { min, max } = *self;
        Kind::Bytes { min, max }
    }
}

/// A positive number of bits per second.
#[derive(Clone, Copy, Debug)]
pub struct BitRate;

/// A positive number of bits per second, whole, so that links and timetables are exact.
pub const fn bit_rate() -> BitRate {
    BitRate
}

impl Form<u64> for BitRate {
    fn read(&self, slot: &mut u64, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let Raw::Text(text) = &value.raw else {
            let example = "\"10Mbit\" or \"64kbit\"";
            return Err(Diagnostic::expected(
                "a rate in quotes",
                &value.raw,
                example,
            ));
        };
        let bps = units::parse_rate(text)?.as_bps();
        if bps < 1.0 {
            return Err(Diagnostic::new(
                format!("\"{}\" is less than 1 bit per second", shortened(text)),
                "write a positive rate, such as \"1Mbit\"",
            ));
        }
        if bps > 1e15 {
            return Err(Diagnostic::new(
                format!("\"{}\" is more than 1000 Tbit per second", shortened(text)),
                "write a rate that a link may have, or \"unlimited\" for the link",
            ));
        }
        // The number was checked to lie between 1 and 1e15.
        *slot = (bps + 0.5) as u64;
        Ok(())
    }

    fn write(&self, value: &u64) -> Raw {
        let (scale, unit) = match *value {
            n if n.is_multiple_of(1_000_000_000) => (1_000_000_000, "Gbit"),
            n if n.is_multiple_of(1_000_000) => (1_000_000, "Mbit"),
            n if n.is_multiple_of(1_000) => (1_000, "kbit"),
            _ => (1, "bit"),
        };
        Raw::Text(format!("{}{unit}", *value / scale))
    }

    fn kind(&self, _: &u64) -> Kind {
        Kind::Quantity(&units::RATE)
    }
}

/// A number in [0, 1].
#[derive(Clone, Copy, Debug)]
pub struct Fraction;

/// A number in [0, 1], or a text in percent.
pub const fn fraction() -> Fraction {
    Fraction
}

impl Form<f64> for Fraction {
    fn read(
        &self,
        slot: &mut f64,
        value: &Spanned,
        reader: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        let mut probability = Probability::default();
        probability.read(value, reader)?;
        *slot = probability.get();
        Ok(())
    }

    fn write(&self, value: &f64) -> Raw {
        Raw::Float(*value)
    }

    fn kind(&self, _: &f64) -> Kind {
        Kind::Fraction
    }
}

/// A finite number within bounds, which may be negative.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    min: f64,
    max: f64,
    unit: &'static str,
}

/// A finite number within bounds; the unit says what is measured.
pub const fn number(bounds: RangeInclusive<f64>, unit: &'static str) -> Number {
    Number {
        min: *bounds.start(),
        max: *bounds.end(),
        unit,
    }
}

impl Form<f64> for Number {
    fn read(&self, slot: &mut f64, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let Self { min, max, .. } = *self;
        let number = match value.raw {
            Raw::Float(number) => number,
            Raw::Integer(number) => number as f64,
            _ => f64::NAN,
        };
        if !(min..=max).contains(&number) {
            let found = value.raw.in_words();
            let message = format!("expected a number between {min} and {max}, found {found}");
            return Err(Diagnostic::new(message, "write a number such as 25.0"));
        }
        *slot = number;
        Ok(())
    }

    fn write(&self, value: &f64) -> Raw {
        Raw::Float(*value)
    }

    fn kind(&self, _: &f64) -> Kind {
        let Self { min, max, unit } = *self;
        Kind::Number { min, max, unit }
    }
}

/// A name that can be part of a path, a file name and an option.
#[derive(Clone, Copy, Debug)]
pub struct Name;

/// A name that can be part of a path, a file name and an option.
pub const fn name() -> Name {
    Name
}

impl Form<String> for Name {
    fn read(
        &self,
        slot: &mut String,
        value: &Spanned,
        _: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        let Raw::Text(text) = &value.raw else {
            let example = "a name such as \"server\"";
            return Err(Diagnostic::expected(
                "a name in quotes",
                &value.raw,
                example,
            ));
        };
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !starts || text.len() > 64 || !text.chars().all(legal) {
            return Err(Diagnostic::new(
                format!("\"{}\" is not a name", shortened(text)),
                "a name has 1 to 64 letters, digits, \"_\" and \"-\", and starts with a letter \
                 or digit",
            ));
        }
        slot.clone_from(text);
        Ok(())
    }

    fn write(&self, value: &String) -> Raw {
        Raw::Text(value.clone())
    }

    fn kind(&self, _: &String) -> Kind {
        Kind::Name
    }
}

/// The name of something in a list.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    list: fn() -> Vec<Keyword>,
}

/// The name of something in a list: of a preset, or of an entry of a registry.
pub const fn named(list: fn() -> Vec<Keyword>) -> Named {
    Named { list }
}

impl Form<&'static str> for Named {
    fn read(
        &self,
        slot: &mut &'static str,
        value: &Spanned,
        _: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        let list = (self.list)();
        *slot = find_name(&list, &value.raw)?;
        Ok(())
    }

    fn write(&self, value: &&'static str) -> Raw {
        Raw::Text((*value).to_owned())
    }

    fn kind(&self, _: &&'static str) -> Kind {
        Kind::Keywords((self.list)())
    }
}

/// The word among `keywords` that the value names, in the word of this or of another program.
pub fn find_name(keywords: &[Keyword], raw: &Raw) -> Result<&'static str, Diagnostic> {
    let here = raw.as_text().map(word_here);
    let found = keywords.iter().find(|keyword| Some(keyword.word) == here);
    found.map_or_else(|| find_keyword(keywords, raw), |keyword| Ok(keyword.word))
}

/// The word among `keywords` that the value names.
pub fn find_keyword(keywords: &[Keyword], raw: &Raw) -> Result<&'static str, Diagnostic> {
    let words: Vec<&'static str> = keywords.iter().map(|keyword| keyword.word).collect();
    let Raw::Text(text) = raw else {
        let example = format!("one of {}", words.join(", "));
        return Err(Diagnostic::expected("a word in quotes", raw, &example));
    };
    let found = words.iter().find(|word| *word == text).copied();
    found.ok_or_else(|| Diagnostic {
        message: format!("there is no \"{}\" here", shortened(text)),
        help: Help::Words {
            found: shortened(text),
            what: "expected one of",
            known: words,
        },
    })
}

/// A value, or a word that stands for `None`.
#[derive(Clone, Copy, Debug)]
pub struct OrKeyword<F> {
    word: &'static str,
    inner: F,
}

/// A value, or a word that stands for `None`.
pub const fn or_word<F>(word: &'static str, inner: F) -> OrKeyword<F> {
    OrKeyword { word, inner }
}

impl<T: Default, F: Form<T>> Form<Option<T>> for OrKeyword<F> {
    fn read(
        &self,
        slot: &mut Option<T>,
        value: &Spanned,
        reader: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        if value.raw.as_text() == Some(self.word) {
            *slot = None;
            return Ok(());
        }
        let mut inner = T::default();
        let read = self.inner.read(&mut inner, value, reader);
        read.map_err(|diagnostic| diagnostic.or_word(self.word))?;
        *slot = Some(inner);
        Ok(())
    }

    fn write(&self, value: &Option<T>) -> Raw {
        let word = || Raw::Text(self.word.to_owned());
        value
            .as_ref()
            .map_or_else(word, |value| self.inner.write(value))
    }

    fn kind(&self, _: &Option<T>) -> Kind {
        let word = Keyword {
            word: self.word,
            doc: "",
        };
        let mut kinds = vec![Kind::Keywords(vec![word])];
        match self.inner.kind(&T::default()) {
            Kind::AnyOf(more) => kinds.extend(more),
            kind => kinds.push(kind),
        }
        Kind::AnyOf(kinds)
    }
}

/// A table with a `kind`, of which one kind stands for `None`.
#[derive(Clone, Copy, Debug)]
pub struct OrKind {
    none: Keyword,
}

/// A table with a `kind`, of which one kind without keys stands for `None`.
pub const fn or_kind(word: &'static str, doc: &'static str) -> OrKind {
    OrKind {
        none: Keyword { word, doc },
    }
}

impl<V: Variants> Form<Option<V>> for OrKind {
    fn read(
        &self,
        slot: &mut Option<V>,
        value: &Spanned,
        reader: &mut Reader<'_>,
    ) -> Result<(), Diagnostic> {
        let mut keywords = vec![self.none];
        keywords.extend(V::keywords());
        reader.kind_section(value, V::ALONE, &mut |inner| {
            let Some(word) = inner.kind(&keywords) else {
                return;
            };
            if slot.as_ref().map_or(self.none.word, V::word) != word {
                *slot = V::of_kind(word);
            }
            if let Some(slot) = slot {
                slot.read_fields(inner);
            }
        });
        Ok(())
    }

    fn write(&self, value: &Option<V>) -> Raw {
        let mut none = Table::default();
        none.put("kind", Raw::Text(self.none.word.to_owned()));
        Raw::Table(value.as_ref().map_or(none, write_variants))
    }

    fn kind(&self, _: &Option<V>) -> Kind {
        let mut variants = vec![Variant {
            keyword: self.none,
            table: TableKind::default(),
            alone: None,
        }];
        variants.extend(describe_variants::<V>());
        Kind::Variants(variants)
    }
}
