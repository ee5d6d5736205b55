//! The inputs of a comparison: the measures of runs, their pairs, and the settings that differ.

use super::*;
use crate::fixture::stream_over;
use crate::run::{FlowSummary, GroupSummary, LinkSummary, Summary, TransferSummary};
use crate::scenario::parse;
use std::collections::BTreeMap;

/// Maps of a default value for each name.
fn named<T: Default>(names: &[&str]) -> BTreeMap<String, T> {
    let entries = names.iter().map(|&name| (name.to_owned(), T::default()));
    entries.collect()
}

/// Kind and name of each part that has measures.
fn parts(summary: &Summary) -> Vec<(&'static str, String)> {
    Measures::of(summary).0.into_keys().collect()
}

#[test]
fn groups_stand_for_their_members_and_several_flows_are_also_measured_together() {
    let mut summary = Summary {
        flows: named::<FlowSummary>(&["stream", "web-1", "web-2", "other-1", "web"]),
        transfers: named::<TransferSummary>(&["web-3", "files"]),
        groups: named::<GroupSummary>(&["web"]),
        links: named::<LinkSummary>(&["wire"]),
        ..Summary::default()
    };
    let expected = [
        ("flow", "other-1"),
        ("flow", "stream"),
        ("flow", "web"),
        ("flows", "together"),
        ("group", "web"),
        ("link", "wire"),
        ("transfers", "files"),
    ];
    assert_eq!(
        parts(&summary),
        expected.map(|(kind, name)| (kind, name.to_owned()))
    );
    // `flows` is absent for a single flow, and present for a flow beside transfers.
    for (flows, transfers, together) in [(1, 0, false), (0, 1, false), (1, 1, true), (2, 0, true)] {
        summary = Summary {
            flows: named::<FlowSummary>(&["a", "b"][..flows]),
            transfers: named::<TransferSummary>(&["c"][..transfers]),
            ..Summary::default()
        };
        let found = parts(&summary).iter().any(|(kind, _)| *kind == "flows");
        assert_eq!(found, together, "{flows} {transfers}");
    }
}

#[test]
fn a_measure_is_the_number_that_its_pointer_finds() {
    let stream = FlowSummary {
        goodput_bps: 5e6,
        startup_s: Some(0.25),
        ..FlowSummary::default()
    };
    let summary = Summary {
        flows: [("stream".to_owned(), stream)].into(),
        ..Summary::default()
    };
    let measures = Measures::of(&summary).0;
    let of_stream = &measures[&("flow", "stream".to_owned())];
    let values = ["goodput_bps", "startup_s", "recovery_s"].map(|of| of_stream.get(of).copied());
    assert_eq!(values, [Some(5e6), Some(0.25), None]);
}

/// Runs of these settings and seeds.
fn runs(of: &[(&str, u64)]) -> Vec<(String, u64)> {
    let runs = of.iter().map(|&(setting, seed)| (setting.to_owned(), seed));
    runs.collect()
}

#[test]
fn pairs_have_one_setting_and_seed_and_come_in_their_order() {
    let pair = |seed, a, b| Pair { seed, a, b };
    let a = runs(&[("y", 2), ("x", 1), ("x", 2), ("x", 1)]);
    let b = runs(&[("x", 2), ("y", 2), ("x", 1)]);
    // If a side has two runs with the same setting and seed, the first one is used.
    let pairs = [pair(1, 1, 2), pair(2, 2, 0), pair(2, 0, 1)];
    assert_eq!(pair_settings(&a, &b), Ok(pairs.to_vec()));
    // If each side has one setting, they are paired even if they differ.
    let (a, b) = (runs(&[("x", 4), ("x", 3)]), runs(&[("z", 5), ("z", 4)]));
    assert_eq!(pair_settings(&a, &b), Ok(vec![pair(4, 0, 1)]));
}

#[test]
fn settings_that_one_side_lacks_leave_no_pairs() {
    for (of_a, of_b, common) in [
        (&["x", "y"][..], &["x", "z"][..], 1),
        (&["x"], &["x", "y"], 1),
        (&["x", "y"], &["x"], 1),
        (&["x", "y"], &["v", "w"], 0),
        (&["x"], &["v", "w"], 0),
        (&[], &["v"], 0),
        (&[], &[], 0),
    ] {
        let side = |of: &[&str]| of.iter().map(|&s| (s.to_owned(), 1)).collect::<Vec<_>>();
        let expected = PairingError::Ambiguous {
            a: of_a.len(),
            b: of_b.len(),
            common,
        };
        assert_eq!(pair_settings(&side(of_a), &side(of_b)), Err(expected));
    }
}

#[test]
fn seeds_that_do_not_meet_are_told_from_the_least_to_the_most() {
    let a = runs(&[("x", 9), ("y", 3), ("x", 7)]);
    let b = runs(&[("x", 1), ("y", 2)]);
    let expected = PairingError::NoCommonSeed {
        a: "3 to 9".to_owned(),
        b: "1 to 2".to_owned(),
    };
    assert_eq!(pair_settings(&a, &b), Err(expected));
}

#[test]
fn settings_have_the_paths_of_set_also_in_lists_with_and_without_names() {
    let scenario = |seed: u64, link: &str| {
        let run = format!("duration = \"7s\"\nseed = {seed}");
        let link = format!("rate = \"1Mbit\"\n{link}");
        let text = stream_over(&run, &link, "transport = { kind = \"tcp\" }");
        parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
    };
    let changing = "forward = { change = [{ at = \"2s\", rate = \"2Mbit\" }, \
                    { at = \"3s\", rate = \"3Mbit\" }] }";
    let (plain, changes) = (scenario(1, ""), scenario(2, changing));
    let settings = settings_of(&changes);
    for (path, value) in [
        ("run.duration", "7s"),
        ("run.seed", "2"),
        ("link.wire.forward.rate", "1Mbit"),
        ("link.wire.between", "[\"server\", \"client\"]"),
        ("link.wire.forward.change.1.rate", "3Mbit"),
        ("flow.stream.transport.kind", "tcp"),
    ] {
        let found = settings.get(path).map(String::as_str);
        assert_eq!(found, Some(value), "{path}");
    }
    let under = "link.wire.forward.change.";
    let of_changes = ["0.at", "0.rate", "1.at", "1.rate"].map(|path| format!("{under}{path}"));
    for (sides, is_of_b) in [([&plain, &changes], true), ([&changes, &plain], false)] {
        let mut found = changed_settings(sides[0], sides[1]);
        found.retain(|change| {
            let last = change.path.rsplit('.').next();
            change.path.starts_with(under) && matches!(last, Some("at" | "rate"))
        });
        let paths: Vec<&str> = found.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, of_changes);
        let lacks_one = |change: &SettingChange| {
            (change.a.is_none(), change.b.is_none()) == (is_of_b, !is_of_b)
        };
        assert!(found.iter().all(lacks_one), "{found:?}");
    }
    // The seed is not reported as a difference.
    assert_eq!(changed_settings(&plain, &scenario(2, "")), []);
}
