//! What a fingerprint of a run depends on.

use super::*;
use crate::fixture::{output_of, table};
use crate::run::{FlowSummary, GroupSummary, LinkSummary, TransferSummary};

fn words(values: &[&str]) -> Values {
    Values::Text(values.iter().map(|&value| value.into()).collect())
}

/// The fingerprint of a run with a flow of this name that has one column.
fn of_column(flow: &str, column: &str, values: Values) -> Fingerprint {
    Fingerprint::of(&output_of(&[(flow, table(&[(column, values)]))]))
}

fn add<T>(parts: &mut BTreeMap<String, T>, name: &str, part: T) {
    parts.insert(name.to_owned(), part);
}

/// True if no two are equal.
fn all_differ<T: Ord>(all: &[T]) -> bool {
    Replicates::of(all).counting().count() == all.len()
}

#[test]
fn every_name_and_value_of_a_trace_counts_and_where_each_of_them_ends() {
    let counts = |values: &[u64]| Values::U64(values.to_vec());
    let numbers = |values: &[f64]| Values::F64(values.to_vec());
    let all = [
        of_column("x", "value", counts(&[1, 2])),
        of_column("x", "value", counts(&[2, 1])),
        of_column("x", "value", counts(&[1])),
        of_column("x", "value", numbers(&[0.0])),
        of_column("x", "value", numbers(&[-0.0])),
        of_column("x", "value", numbers(&[0.5])),
        of_column("x", "value", words(&["ab", "c"])),
        of_column("x", "value", words(&["a", "bc"])),
        of_column("x", "value", words(&["abc"])),
        of_column("xv", "alue", counts(&[1, 2])),
        of_column("y", "value", counts(&[1, 2])),
        of_column("x", "other", counts(&[1, 2])),
    ];
    assert!(all_differ(&all));
    let [one, other] = [(); 2].map(|()| of_column("x", "value", counts(&[1, 2])));
    assert_eq!(one, other);
}

#[test]
fn a_summary_counts_without_its_seed_and_what_the_seed_drew() {
    let fingerprint = |change: fn(&mut Summary)| {
        let mut output = output_of(&[]);
        change(&mut output.summary);
        let parts = FingerprintParts::default().fingerprint(&output.summary);
        [Fingerprint::of(&output), parts]
    };
    let unchanged = fingerprint(|_| ());
    for change in [
        (|summary| summary.run.seed = 7) as fn(&mut Summary),
        |summary| summary.run.scenario = "d1".to_owned(),
        |summary| {
            summary.drawn.insert("flow.x.start_s".to_owned(), 0.5);
        },
    ] {
        assert_eq!(fingerprint(change), unchanged);
    }
    let mut all = vec![unchanged[0]];
    for change in [
        (|summary| summary.run.events = 7) as fn(&mut Summary),
        |summary| summary.totals.marks = 1,
        |summary| add(&mut summary.flows, "x", FlowSummary::default()),
        |summary| add(&mut summary.flows, "y", FlowSummary::default()),
        |summary| {
            let flow = FlowSummary {
                marks: 1,
                ..FlowSummary::default()
            };
            add(&mut summary.flows, "x", flow);
        },
        |summary| add(&mut summary.links, "x", LinkSummary::default()),
        |summary| add(&mut summary.groups, "x", GroupSummary::default()),
        |summary| add(&mut summary.transfers, "x", TransferSummary::default()),
    ] {
        let [whole, parts] = fingerprint(change);
        all.push(whole);
        assert_ne!(parts, unchanged[1]);
    }
    assert!(all_differ(&all));
}

#[test]
fn parts_count_by_their_path_and_rows_in_whatever_order_they_come() {
    let of = |tables: &[(&str, &str)]| {
        let mut parts = FingerprintParts::default();
        for (path, rows) in tables {
            parts.add(path, rows.as_bytes());
        }
        parts.fingerprint(&Summary::default())
    };
    let all = [
        of(&[]),
        of(&[("a", "1")]),
        of(&[("a", "2")]),
        of(&[("b", "1")]),
        of(&[("a1", "")]),
        of(&[("a", "1"), ("b", "2")]),
        of(&[("a", "2"), ("b", "1")]),
    ];
    assert!(all_differ(&all));
    assert_eq!(of(&[("b", "2"), ("a", "1")]), all[5]);
}

#[test]
fn of_equal_runs_the_first_counts_and_the_others_name_it() {
    let found = Replicates::of(&["a", "b", "a", "c", "b", "a"]);
    assert_eq!(found.runs(), 6);
    assert_eq!(found.counting().collect::<Vec<_>>(), [0, 1, 3]);
    let equals: Vec<_> = (0..7).map(|run| found.equals(run)).collect();
    let expected = [None, None, Some(0), None, Some(1), Some(0), None];
    assert_eq!(equals, expected);
}

#[test]
fn a_note_says_how_many_seeds_do_not_count() {
    for (runs, is_random, note) in [
        (&["a"][..], true, None),
        (&["a", "b"], true, None),
        (
            &["a", "a"],
            false,
            Some("nothing here is random: 2 seeds gave the same run, which counts once"),
        ),
        (
            &["a", "a", "a"],
            false,
            Some("nothing here is random: 3 seeds gave the same run, which counts once"),
        ),
        (
            &["a", "b", "a", "a", "b"],
            true,
            Some("3 of 5 seeds gave the same run as an earlier seed and do not count"),
        ),
        (&[], true, None),
    ] {
        let found = Replicates::of(runs);
        assert_eq!(found.nothing_is_random(), !is_random, "{runs:?}");
        assert_eq!(found.note().as_deref(), note);
    }
}
