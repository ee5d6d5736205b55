//! Words and colours of what held a sender: the rules that set its window or rate (`limit`), and
//! what stopped its sending (`bound`).

use super::plot::{Colour, Strip};
use crate::table::Table;
use std::sync::Arc;
use weir_proto::event::Limit;

/// The limit's name in words.
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

/// The same for a window, whose rules have the same codes.
fn words_of_window(limit: &str) -> String {
    limit.replace('_', " ")
}

/// The limits that occur, in the order of their codes, with the number of each row's; their
/// colours are fixed, so that a limit has the same colour in every picture.
pub(super) fn categories(limits: &[Arc<str>]) -> Categories {
    named(limits, words)
}

/// Names and colours of categories, and the number of each row's.
type Categories = (Vec<(String, Colour)>, Vec<usize>);

fn named(limits: &[Arc<str>], words: fn(&str) -> String) -> Categories {
    let colour = |limit: Limit| match limit {
        Limit::OnePacketPerRtt
        | Limit::CongestionAvoidance
        | Limit::MaxInflight
        | Limit::GradualUpdate => 3,
        Limit::NofeedbackHalving | Limit::Recovery | Limit::InflightShortterm => 1,
        Limit::InitialWindow | Limit::MaximumMediaRate => 0,
        Limit::Equation | Limit::InflightLongterm => 6,
        Limit::SlowStart | Limit::AcceleratedRampUp => 4,
        Limit::TwiceReceiveRate | Limit::ApplicationLimited => 2,
        Limit::MinimumRate
        | Limit::MinimumMediaRate
        | Limit::Timeout
        | Limit::PersistentCongestion => 5,
        Limit::OscillationReduction | Limit::FlowControl => 9,
        Limit::DataLimited | Limit::ProbeRtt => 8,
        Limit::None | Limit::MinimumWindow => 7,
    };
    let seen: Vec<Limit> = Limit::ALL
        .into_iter()
        .filter(|limit| limits.iter().any(|name| &**name == limit.name()))
        .collect();
    let named = seen.iter().map(|limit| {
        let colour = Colour(Colour::RULES + colour(*limit));
        (words(limit.name()), colour)
    });
    let numbers = limits.iter().map(|name| {
        let place = seen.iter().position(|limit| limit.name() == &**name);
        place.unwrap_or(usize::MAX)
    });
    (named.collect(), numbers.collect())
}

/// What stopped the sending, with its colour; the words of the column `bound`.
const BOUNDS: [(&str, usize); 8] = [
    ("application", 0),
    ("window", 3),
    ("rate", 6),
    ("pacer", 4),
    ("receiver_credit", 5),
    ("send_buffer", 1),
    ("anti_amplification", 2),
    ("nothing", 7),
];

/// The strip below a flow's picture: what stopped its sending, or in traces without that column
/// which rule set its window or rate.
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
        let colour = Colour(Colour::RULES + colour);
        (word.replace('_', " "), colour)
    });
    let numbers = bounds.iter().map(|bound| {
        let place = BOUNDS.iter().position(|(word, _)| **word == **bound);
        place.unwrap_or(usize::MAX)
    });
    (named.collect(), numbers.collect())
}

/// From when to when each category held; it holds until the next row.
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

    #[test]
    fn a_category_holds_until_the_next_row_and_equal_ones_join() {
        let spans = spans(&[0.0, 1.0, 2.0, 5.0], &[1, 1, 0, 1]);
        assert_eq!(spans, [(0.0, 2.0, 1), (2.0, 5.0, 0), (5.0, 5.0, 1)]);
    }
}
