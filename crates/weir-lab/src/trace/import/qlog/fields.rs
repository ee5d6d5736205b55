//! Numbers and words of JSON, as the programs write them: a number may be a string.

use serde_json::{Map, Value};

/// The member of this name, of an object.
pub(super) fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.as_object().and_then(|object| object.get(name))
}

/// The first of these members that is present and not null.
pub(super) fn first<'a>(object: &'a Map<String, Value>, names: &[&str]) -> Option<&'a Value> {
    let mut found = names.iter().filter_map(|name| object.get(*name));
    found.find(|value| !value.is_null())
}

/// A finite number, or a string of one: draft-ietf-quic-qlog-main-schema §10.1.1 lets a writer put
/// numbers of 64 bits into strings.
pub(super) fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number| number.is_finite())
}

/// A whole number that is not negative, also one that is written with a fraction of zero.
pub(super) fn whole(value: &Value) -> Option<u64> {
    let exact = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    // Beyond 2^53 a float does not name one whole number.
    let rounded = || number(value).filter(|number| (0.0..9.0e15).contains(number));
    exact.or_else(|| rounded().map(|number| number.round() as u64))
}

/// True, or a number other than zero.
pub(super) fn flag(value: &Value) -> bool {
    value
        .as_bool()
        .unwrap_or_else(|| number(value).is_some_and(|number| number != 0.0))
}

/// A word, or a number as one.
pub(super) fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
