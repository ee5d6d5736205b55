//! Values of a resolved scenario by their paths, as numbers where they have a unit.

use super::Scenario;
use super::document::Document;
use super::edit::find;
use super::error::ScenarioError;
use super::writer::inline;
use weir_proto::settings::Raw;
use weir_proto::units::{parse_duration, parse_probability, parse_rate, parse_size};

/// A value of a scenario with all defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedValue {
    /// As it would be written, texts without their quotes: `5ms`, `true`, `cubic`.
    pub text: String,
    /// The value in its unit; none of words, lists and tables.
    pub number: Option<f64>,
    /// `s`, `bit/s`, `bytes`, or empty.
    pub unit: &'static str,
}

/// The value with this path in the notation of `--set`, such as `link.path.rate`; `None` if the
/// scenario has no such key. Of a link, what both directions have is that of `forward`.
///
/// # Errors
/// Those of the resolved scenario, which has none.
pub fn resolved_value(
    scenario: &Scenario,
    path: &str,
) -> Result<Option<ResolvedValue>, ScenarioError> {
    let document = Document::parse(&scenario.resolved_toml(), "the resolved scenario")?;
    let steps: Vec<&str> = path.split('.').map(str::trim).collect();
    let mut found = find(&document.root, &steps);
    if let (None, ["link", name, rest @ ..]) = (found, steps.as_slice()) {
        let forward = [&["link", name, "forward"], rest].concat();
        found = find(&document.root, &forward);
    }
    Ok(found.map(value_of))
}

fn value_of(raw: &Raw) -> ResolvedValue {
    let plain = |text: String, number: Option<f64>| ResolvedValue {
        text,
        number,
        unit: "",
    };
    match raw {
        Raw::Text(text) => {
            let (number, unit) = quantity(text).map_or((None, ""), |(n, unit)| (Some(n), unit));
            ResolvedValue {
                text: text.clone(),
                number,
                unit,
            }
        }
        Raw::Integer(number) => plain(inline(raw), Some(*number as f64)),
        Raw::Float(number) => plain(inline(raw), Some(*number)),
        _ => plain(inline(raw), None),
    }
}

/// The number and the unit of a text with a unit.
fn quantity(text: &str) -> Option<(f64, &'static str)> {
    if let Ok(duration) = parse_duration(text) {
        return Some((duration.as_secs_f64(), "s"));
    }
    if let Ok(rate) = parse_rate(text) {
        return Some((rate.as_bps(), "bit/s"));
    }
    if let Ok(size) = parse_size(text) {
        return Some((size as f64, "bytes"));
    }
    let probability = text.ends_with('%').then(|| parse_probability(text).ok());
    Some((probability??.get(), ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::parse;

    #[test]
    fn values_are_those_of_the_resolved_scenario() {
        let text = "[run]\nduration = \"10s\"\n[[link]]\nname = \"path\"\n\
             between = [\"a\", \"b\"]\nrate = \"1Mbit\"\ndelay = \"5ms\"\n\
             queue = { kind = \"droptail\", limit = \"30000b\" }\n\
             [link.backward]\nrate = \"2Mbit\"\n[[flow]]\nname = \"f\"\n\
             from = \"a\"\nto = \"b\"\ntransport = \"tcp\"\n";
        let scenario = parse(text, "a.toml").expect("a scenario");
        let value = |path: &str| resolved_value(&scenario, path).expect("a scenario");
        let number = |path: &str| value(path).map(|value| (value.number, value.unit));
        assert_eq!(number("run.duration"), Some((Some(10.0), "s")));
        assert_eq!(number("link.path.rate"), Some((Some(1e6), "bit/s")));
        assert_eq!(
            number("link.path.backward.rate"),
            Some((Some(2e6), "bit/s"))
        );
        assert_eq!(number("link.path.delay"), Some((Some(0.005), "s")));
        assert_eq!(
            number("link.path.queue.limit"),
            Some((Some(30_000.0), "bytes"))
        );
        assert_eq!(number("run.seed"), Some((Some(1.0), "")));
        assert_eq!(number("link.path.nothing"), None);
        let controller = value("flow.f.transport.controller").expect("a default");
        assert_eq!(
            (controller.text.as_str(), controller.number),
            ("newreno", None)
        );
    }
}
