//! Divergence of tables written by hand.

use super::*;
use crate::fixture::{output_of, table};

fn counts(values: &[u64]) -> Values {
    Values::U64(values.to_vec())
}

fn numbers(values: &[f64]) -> Values {
    Values::F64(values.to_vec())
}

fn words(values: &[&str]) -> Values {
    Values::Text(values.iter().map(|&value| value.into()).collect())
}

/// The first difference between the traces of one flow with these columns.
fn parted(a: &[(&str, Values)], b: &[(&str, Values)]) -> Option<Divergence> {
    let [a, b] = [a, b].map(|columns| output_of(&[("x", table(columns))]));
    first_divergence(&a, &b)
}

#[test]
fn values_of_every_kind_differ_by_their_bits_and_are_told_in_words() {
    for (a, b, row, told) in [
        (
            numbers(&[1.0, 0.5]),
            numbers(&[1.0, 0.25]),
            1,
            ["0.5", "0.25"],
        ),
        (numbers(&[0.0]), numbers(&[-0.0]), 0, ["0", "-0"]),
        (
            numbers(&[f64::NAN, 3.0]),
            numbers(&[f64::NAN, f64::NAN]),
            1,
            ["3", "no value"],
        ),
        (counts(&[7, 8, 9]), counts(&[7, 8, 10]), 2, ["9", "10"]),
        (
            words(&["open", "recovery"]),
            words(&["open", "loss"]),
            1,
            ["recovery", "loss"],
        ),
        // Columns of different kinds differ from the first row on.
        (counts(&[7, 8]), numbers(&[7.0, 8.0]), 0, ["7", "7"]),
    ] {
        let found = parted(&[("value", a.clone())], &[("value", b)]).unwrap();
        let values = [found.a.unwrap(), found.b.unwrap()];
        assert_eq!((found.row, values), (row, told.map(str::to_owned)));
        assert_eq!((found.table.as_str(), found.time_s), ("flows/x", None));
        assert_eq!(parted(&[("value", a.clone())], &[("value", a)]), None);
    }
}

#[test]
fn a_trace_that_ends_earlier_parts_where_it_ends_unless_it_did_before() {
    for (a, b, row, told) in [
        (counts(&[1, 2]), counts(&[1, 2, 3]), 2, (None, Some("3"))),
        (counts(&[1, 2, 3]), counts(&[1]), 1, (Some("2"), None)),
        (
            counts(&[1, 2]),
            counts(&[1, 9, 3]),
            1,
            (Some("2"), Some("9")),
        ),
        (words(&["a"]), words(&["a", "b"]), 1, (None, Some("b"))),
        (numbers(&[1.0, 2.0]), numbers(&[1.0]), 1, (Some("2"), None)),
    ] {
        let found = parted(&[("value", a)], &[("value", b)]).unwrap();
        assert_eq!(
            (found.row, (found.a.as_deref(), found.b.as_deref())),
            (row, told)
        );
    }
}

#[test]
fn the_first_column_of_the_first_row_that_differs_is_named_with_its_time() {
    let time = |values: &[f64]| ("time_s", numbers(values));
    let a = [
        time(&[0.0, 1.0, 2.0]),
        ("late", counts(&[1, 1, 1])),
        ("first", counts(&[1, 1, 1])),
        ("second", counts(&[1, 1, 1])),
    ];
    let b = [
        time(&[0.0, 1.0, 2.0]),
        ("late", counts(&[1, 1, 2])),
        ("first", counts(&[1, 3, 1])),
        ("second", counts(&[1, 4, 1])),
    ];
    let found = parted(&a, &b).unwrap();
    assert_eq!((found.column.as_str(), found.row), ("first", 1));
    assert_eq!(found.time_s, Some(1.0));
    // If the times of the row differ, the earlier one is reported.
    for (a, b) in [([1.0, 2.5], [1.0, 2.0]), ([1.0, 2.0], [1.0, 2.5])] {
        let found = parted(&[time(&a)], &[time(&b)]).unwrap();
        assert_eq!((found.column.as_str(), found.time_s), ("time_s", Some(2.0)));
    }
}

#[test]
fn of_several_tables_the_earliest_time_counts_and_one_without_times_comes_last() {
    let timed = |time: f64, value| {
        table(&[
            ("time_s", numbers(&[0.0, time])),
            ("value", counts(&[1, value])),
        ])
    };
    let untimed = |value| table(&[("value", counts(&[value]))]);
    let side = |value| {
        output_of(&[
            ("untimed", untimed(value)),
            ("late", timed(3.0, value)),
            ("early", timed(2.0, value)),
            ("between", timed(2.5, value)),
        ])
    };
    let (a, b) = (side(5), side(6));
    let found = first_divergence(&a, &b).unwrap();
    assert_eq!((found.table.as_str(), found.row), ("flows/early", 1));
    assert_eq!(found.time_s, Some(2.0));
}

#[test]
fn what_only_one_of_the_runs_has_is_no_difference() {
    let common = ("value", counts(&[1, 2]));
    let more = [("other", counts(&[5, 6])), common.clone()];
    assert_eq!(parted(&more, std::slice::from_ref(&common)), None);
    assert_eq!(parted(std::slice::from_ref(&common), &more), None);
    let one = output_of(&[("x", table(std::slice::from_ref(&common)))]);
    let two = output_of(&[("x", table(&[common])), ("y", table(&more))]);
    assert_eq!(first_divergence(&one, &two), None);
    assert_eq!(first_divergence(&two, &one), None);
}
