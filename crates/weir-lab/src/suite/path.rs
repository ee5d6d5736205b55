//! A case on another path than its own: rates by the ratio of the rates, times by that of the
//! round-trip times, sizes by that of the bandwidth-delay products.
//!
//! What a case expects scales with it: its multiples of link, BDP and RTT as they are, its other
//! values as those of the scenario. BBR's own seconds, such as the five between two ProbeRTTs, do
//! not scale, nor do whole packets; so a case says in `[case.paths]` on which paths it holds.

use crate::scenario::expectation::Ratio;
use serde::Deserialize;
use weir_proto::settings::{Raw, Spanned, Table};
use weir_proto::time::Duration;
use weir_proto::units::{DURATION, RATE, Rate, SIZE, parse_duration, parse_rate, parse_size};

/// The table `[case.paths]`: the least and the greatest of each on which the case holds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Paths {
    rate: [String; 2],
    rtt: [String; 2],
    bdp: [String; 2],
}

impl Paths {
    /// Why the case says nothing of a path of so many bits and seconds, if it does not.
    pub(super) fn excludes(&self, (rate, rtt): (f64, f64)) -> Option<String> {
        let bps = |text: &str| parse_rate(text).ok().map(Rate::as_bps);
        let seconds = |text: &str| parse_duration(text).ok().map(Duration::as_secs_f64);
        let octets = |text: &str| parse_size(text).ok().map(|size| size as f64);
        let outside = |value: f64, [low, high]: [Option<f64>; 2]| {
            low.is_none_or(|low| value < low * 0.999)
                || high.is_none_or(|high| value > high * 1.001)
        };
        let [low, high] = &self.rate;
        if outside(rate, [bps(low), bps(high)]) {
            return Some(format!("it holds from {low} to {high}"));
        }
        let [low, high] = &self.rtt;
        if outside(rtt, [seconds(low), seconds(high)]) {
            return Some(format!("it holds for round trips of {low} to {high}"));
        }
        let [low, high] = &self.bdp;
        let bdp = rate * rtt / 8.0;
        outside(bdp, [octets(low), octets(high)])
            .then(|| format!("it holds for bandwidth-delay products of {low} to {high}"))
    }

    /// The first bound that cannot be read.
    pub(super) fn wrong(&self) -> Option<(&'static str, String)> {
        let wrong = |error: weir_proto::units::UnitError| error.to_string();
        let rate = self.rate.iter().find_map(|text| parse_rate(text).err());
        let rtt = self.rtt.iter().find_map(|text| parse_duration(text).err());
        let bdp = self.bdp.iter().find_map(|text| parse_size(text).err());
        let rate = rate.map(|error| ("rate", wrong(error)));
        rate.or_else(|| rtt.map(|error| ("rtt", wrong(error))))
            .or_else(|| bdp.map(|error| ("bdp", wrong(error))))
    }
}

/// Scales all that a table holds.
pub(super) fn scale_table(table: &mut Table, ratio: Ratio) {
    for entry in &mut table.entries {
        scale(&mut entry.value, ratio);
    }
}

/// Scales a value.
pub(super) fn scale(value: &mut Spanned, ratio: Ratio) {
    match &mut value.raw {
        Raw::Table(table) => scale_table(table, ratio),
        Raw::Array(list) => list.iter_mut().for_each(|value| scale(value, ratio)),
        Raw::Text(text) => {
            let words = text.split(' ').map(|word| scaled(word, ratio));
            *text = words.collect::<Vec<_>>().join(" ");
        }
        _ => {}
    }
}

/// A number with its unit; another word as it is. The moment of a trigger has a brace behind it.
fn scaled(word: &str, ratio: Ratio) -> String {
    let at = word.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, rest) = word.split_at(at.unwrap_or(word.len()));
    let unit = rest.trim_end_matches('}');
    let is = |mut words: Box<dyn Iterator<Item = &'static str>>| words.any(|word| word == unit);
    let factor = if is(Box::new(DURATION.unit_words())) {
        ratio.time
    } else if is(Box::new(RATE.unit_words())) {
        ratio.rate
    } else if is(Box::new(SIZE.unit_words())) {
        ratio.rate * ratio.time
    } else {
        return word.to_owned();
    };
    match number.parse::<f64>() {
        Ok(number) => format!("{}{rest}", number * factor),
        Err(_) => word.to_owned(),
    }
}
