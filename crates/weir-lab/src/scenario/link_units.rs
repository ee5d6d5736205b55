//! Converts values in the units of `tc` to values in the units of a scenario. Text that is not a
//! valid value is passed on unchanged, so that the scenario's reader reports it.
//!
//! Units are those of `tc(8)` in upper or lower case: a rate without a unit is in bits per second,
//! a size in octets with `k` for 1024 and `kbit` for 128, a time in microseconds. Not supported are
//! rates in percent of a device's rate and in octets per second: outside of tc `mbps` means
//! megabits, so it is rejected rather than read as eight times as much.

use weir_net::QueueConfig;
use weir_proto::settings::{Kind, Raw, Table, Variants as _};
use weir_proto::units;

/// Units of time and the scenario's word for each.
const TIMES: [(&str, &str); 11] = [
    ("", "us"),
    ("s", "s"),
    ("sec", "s"),
    ("secs", "s"),
    ("ms", "ms"),
    ("msec", "ms"),
    ("msecs", "ms"),
    ("usec", "us"),
    ("usecs", "us"),
    ("nsec", "ns"),
    ("nsecs", "ns"),
];

/// Units of rate, in bits per second.
const RATES: [(&str, f64); 10] = [
    ("", 1.0),
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("tbit", 1e12),
    ("kibit", 1024.0),
    ("mibit", 1_048_576.0),
    ("gibit", 1_073_741_824.0),
    ("tibit", 1_099_511_627_776.0),
];

/// Units of size, in octets.
const SIZES: [(&str, f64); 11] = [
    ("", 1.0),
    ("b", 1.0),
    ("bit", 0.125),
    ("k", 1024.0),
    ("kb", 1024.0),
    ("kbit", 128.0),
    ("m", 1_048_576.0),
    ("mb", 1_048_576.0),
    ("mbit", 131_072.0),
    ("g", 1_073_741_824.0),
    ("gb", 1_073_741_824.0),
];

/// A number and its unit in lower case.
fn split(word: &str) -> Option<(f64, String)> {
    let digit = |c: char| c.is_ascii_digit() || c == '.';
    let (number, unit) = word.split_at(word.find(|c| !digit(c)).unwrap_or(word.len()));
    Some((number.parse().ok()?, unit.to_ascii_lowercase()))
}

/// A value passed on as text.
fn text(word: &str) -> Raw {
    let plain = |c: char| !c.is_control() && c != '"' && c != '\\';
    let plain = word.chars().map(|c| if plain(c) { c } else { '?' });
    Raw::Text(plain.collect())
}

/// A whole number, within the range of TOML.
pub(super) fn whole(number: u64) -> Raw {
    i64::try_from(number).map_or(Raw::Other("a number beyond 64 bits"), Raw::Integer)
}

/// A whole number, or text such as a value with a unit.
pub(super) fn value(word: &str) -> Raw {
    word.parse().map_or_else(|_| text(word), whole)
}

pub(super) fn time(word: &str) -> Raw {
    let known = split(word).and_then(|(number, unit)| {
        let (_, ours) = TIMES.iter().find(|(theirs, _)| *theirs == unit)?;
        Some(Raw::Text(format!("{number}{ours}")))
    });
    known.unwrap_or_else(|| text(word))
}

/// Bits per second; an error for an ambiguous unit, `None` for other text.
pub(super) fn bits_per_second(word: &str) -> Result<Option<f64>, String> {
    let Some((number, unit)) = split(word) else {
        return Ok(None);
    };
    if unit.ends_with("bps") {
        return Err(format!(
            "\"{word}\" is ambiguous: bytes per second to tc, bits per second elsewhere; write \
             \"kbit\" or \"mbit\", and eight times the number for bytes"
        ));
    }
    let known = RATES.iter().find(|(name, _)| *name == unit);
    Ok(known.map(|(_, bits)| number * bits))
}

/// A rate in bits per second, or the error for an ambiguous unit.
pub(super) fn rate(word: &str) -> Result<Raw, String> {
    let known = bits_per_second(word)?;
    Ok(known.map_or_else(|| text(word), |bits| Raw::Text(format!("{bits}bit"))))
}

/// The size in octets; `None` for other text. tc allows a cell size after a slash, which a bucket
/// here does not need.
pub(super) fn octets(word: &str) -> Option<f64> {
    let octets = word.split_once('/').map_or(word, |(octets, _)| octets);
    let (number, unit) = split(octets)?;
    let (_, factor) = SIZES.iter().find(|(name, _)| *name == unit)?;
    Some(number * factor)
}

/// A size in octets.
pub(super) fn size(word: &str) -> Raw {
    octets(word).map_or_else(|| text(word), |octets| Raw::Text(format!("{octets}b")))
}

/// The kind of value of a key of this kind of queue, if it has the key.
pub(super) fn kind_of_key(kind: &str, key: &str) -> Option<Kind> {
    let fields = QueueConfig::of_kind(kind)?.table().fields;
    let field = fields.into_iter().find(|field| field.key == key)?;
    Some(field.kind)
}

/// A value in tc's unit for a key of this kind. Of a value or a word in its place the kind of the
/// value counts, if the word is none.
pub(super) fn value_of_kind(kind: &Kind, text: &str) -> Result<Raw, String> {
    Ok(match kind {
        Kind::Bytes { .. } => size(text),
        Kind::Duration { .. } => time(text),
        Kind::Quantity(quantity) if **quantity == units::DURATION => time(text),
        Kind::Quantity(quantity) if **quantity == units::RATE => rate(text)?,
        Kind::AnyOf(kinds) if matches!(kinds.first(), Some(Kind::Keywords(_))) => {
            match kinds.last() {
                Some(kind) => value_of_kind(kind, text)?,
                None => value(text),
            }
        }
        _ => value(text),
    })
}

/// Adds a key, which must not be set yet.
pub(super) fn put(keys: &mut Table, key: &str, value: Raw) -> Result<(), String> {
    if keys.get(key).is_some() {
        return Err(format!("\"{key}\" is there twice, expected it once"));
    }
    keys.put(key, value);
    Ok(())
}

pub(super) fn word_of(text: &str) -> Raw {
    Raw::Text(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_tc() {
        for (word, same) in [
            ("100", "100us"),
            ("0.1s", "0.1s"),
            ("5msecs", "5ms"),
            ("7usec", "7us"),
            ("soon", "soon"),
        ] {
            assert_eq!(time(word).as_text(), Some(same));
        }
        for (word, same) in [
            ("1000", "1000bit"),
            ("0.5mbit", "500000bit"),
            ("1Mbit", "1000000bit"),
            ("2kibit", "2048bit"),
            ("-1mbit", "-1mbit"),
        ] {
            assert_eq!(rate(word), Ok(Raw::Text(same.to_owned())));
        }
        for (word, same) in [
            ("1600", "1600b"),
            ("32kbit", "4096b"),
            ("5kb", "5120b"),
            ("10k", "10240b"),
            ("1600/8", "1600b"),
            ("1wing", "1wing"),
        ] {
            assert_eq!(size(word).as_text(), Some(same));
        }
    }

    #[test]
    fn bits_and_octets_per_second_are_not_mixed_up() {
        for word in ["1mbps", "1Mbps", "100kbps", "5bps"] {
            assert!(rate(word).is_err_and(|why| why.contains("ambiguous")));
        }
    }
}
