//! Labels and colours of what limited a sender: the rules that set its window or rate (`limit`),
//! and the bounds that stopped its sending (`bound`).

use super::plot::{Colour, Strip};
use crate::table::Table;
use std::sync::Arc;
use weir_proto::event::Limit;

/// The label of a limit.
fn words(limit: &str) -> String {
    match limit {
        "twice_receive_rate" => "2·X_recv".to_owned(),
        "initial_window" => "W_init/RTT".to_owned(),
        "one_packet_per_rtt" => "s/RTT".to_owned(),
        "nofeedback_halving" => "halved: no feedback".to_owned(),
        "minimum_rate" => "minimum: s/64 s".to_owned(),
        "slow_start" => "doubled: slow start".to_owned(),
        other => other.replace('_', " "),
    }
}

/// The label of a limit of a window.
fn words_of_window(limit: &str) -> String {
    limit.replace('_', " ")
}

/// The limits that occur, in the order of their codes, with the index of each row's limit. Each
/// limit has its own colour and line pattern in every picture; adjacent limits differ in both.
pub(super) fn categories(limits: &[Arc<str>]) -> Categories {
    named(limits, words)
}

/// Names and colours of categories, and the category index of each row.
type Categories = (Vec<(String, Colour)>, Vec<usize>);

fn named(limits: &[Arc<str>], words: fn(&str) -> String) -> Categories {
    let seen: Vec<Limit> = Limit::ALL
        .into_iter()
        .filter(|limit| limits.iter().any(|name| &**name == limit.name()))
        .collect();
    let named = seen
        .iter()
        .map(|limit| (words(limit.name()), colour_of(*limit)));
    let numbers = limits.iter().map(|name| {
        let place = seen.iter().position(|limit| limit.name() == &**name);
        place.unwrap_or(usize::MAX)
    });
    (named.collect(), numbers.collect())
}

/// Ten colours, each with up to four patterns. The equation's line is solid, because X_calc is
/// drawn dashed on it.
fn colour_of(limit: Limit) -> Colour {
    let place = limit as usize;
    let (hue, pattern) = (place % 10, (place + place / 10 + 3) % 4);
    Colour(Colour::LIMITS + hue + 10 * pattern)
}

/// The bounds in the notation of the column `bound`, each with its colour.
const BOUNDS: [(&str, usize); 9] = [
    ("application", 0),
    ("window", 3),
    ("rate", 6),
    ("minimum_interval", 8),
    ("pacer", 4),
    ("receiver_credit", 5),
    ("send_buffer", 1),
    ("anti_amplification", 2),
    ("nothing", 7),
];

/// The strip below a flow's picture: the bounds that stopped its sending, or in traces without that
/// column the rules that set its window or rate.
pub(super) fn strip(table: &Table) -> Option<Strip> {
    let times = table.numbers("time_s")?;
    let (name, categories, numbers) = if let Some(bounds) = table.words("bound") {
        let (categories, numbers) = bounds_of(bounds);
        ("bound", categories, numbers)
    } else {
        let (categories, numbers) = named(table.words("limit")?, words_of_window);
        ("limit", categories, numbers)
    };
    let spans = spans(times, &numbers);
    (!spans.is_empty()).then(|| Strip {
        name: name.to_owned(),
        spans,
        categories,
    })
}

fn bounds_of(bounds: &[Arc<str>]) -> Categories {
    let named = BOUNDS.iter().map(|(word, colour)| {
        let colour = Colour(Colour::BOUNDS + colour);
        (word.replace('_', " "), colour)
    });
    let numbers = bounds.iter().map(|bound| {
        let place = BOUNDS.iter().position(|(word, _)| **word == **bound);
        place.unwrap_or(usize::MAX)
    });
    (named.collect(), numbers.collect())
}

/// The start and end of each period of a category; a category holds until the next row.
fn spans(times: &[f64], numbers: &[usize]) -> Vec<(f64, f64, usize)> {
    let mut spans: Vec<(f64, f64, usize)> = Vec::new();
    let ends = times.iter().skip(1).chain(times.last());
    for ((from, to), number) in times.iter().zip(ends).zip(numbers) {
        match spans.last_mut() {
            Some(span) if span.2 == *number => span.1 = *to,
            _ => spans.push((*from, *to, *number)),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_rule_has_a_line_and_each_bound_a_colour_of_its_own() {
        let limits = Limit::ALL.map(|limit| colour_of(limit).line_class());
        let distinct: BTreeSet<&String> = limits.iter().collect();
        assert_eq!(distinct.len(), Limit::ALL.len(), "{limits:?}");
        let words: Vec<Arc<str>> = BOUNDS.iter().map(|(word, _)| (*word).into()).collect();
        let bounds: BTreeSet<usize> = bounds_of(&words).0.iter().map(|b| b.1.number()).collect();
        assert_eq!(bounds.len(), BOUNDS.len());
        let of_limits = Limit::ALL.map(|limit| colour_of(limit).number());
        assert!(of_limits.iter().all(|number| !bounds.contains(number)));
        assert_eq!(colour_of(Limit::Equation).line_class(), "s21");
    }

    #[test]
    fn a_category_holds_until_the_next_row_and_equal_ones_join() {
        let spans = spans(&[0.0, 1.0, 2.0, 5.0], &[1, 1, 0, 1]);
        assert_eq!(spans, [(0.0, 2.0, 1), (2.0, 5.0, 0), (5.0, 5.0, 1)]);
    }
}
