//! Measures on short series whose results can be verified by inspection.

use super::super::measurement::Measurement;
use super::super::run_data::RunData;
use super::super::series::{Series, late_rises, periodicity, rises};
use super::*;
use crate::table::{Column, Table, Values};
use std::collections::BTreeSet;

/// A log of seven lines: up to 8, then halved three times.
fn observation() -> RunData {
    let table = |limits: &[&str]| Table {
        columns: vec![
            Column {
                name: "time_s".to_owned(),
                values: Values::F64(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0]),
            },
            Column {
                name: "x".to_owned(),
                values: Values::F64(vec![1.0, 2.0, 4.0, 8.0, 4.0, 2.0, 1.0]),
            },
            Column {
                name: "r".to_owned(),
                values: Values::F64(vec![4.0, 2.0, 1.0, 1.0, 1.0, f64::NAN, 1.0]),
            },
            Column {
                name: "limit".to_owned(),
                values: Values::Text(limits.iter().map(|limit| (*limit).into()).collect()),
            },
        ],
    };
    RunData {
        state: table(&["up", "up", "up", "up", "down", "down", "other"]),
        log: table(&["up", "up", "up", "up", "down", "down", "other"]),
        gaps: Table::default(),
        throughput_bps: 5.0,
        packets_sent: 100,
        packets_lost: 2,
        summary: serde_json::json!({ "links": { "air.ap": { "drops": 3 } } }),
        fingerprint: None,
        explanation: None,
    }
}

fn take(text: &str) -> Option<f64> {
    let measure: Measure = toml::from_str(&format!("run = \"r\"\nof = \"x\"\n{text}")).unwrap();
    let rows = [("a", 7.0), ("b", 5.0)];
    let rows = rows.map(|(name, value)| (name.to_owned(), Measurement::One(Some(value))));
    if measure.is_of_rows() {
        return measure.of_rows(&BTreeMap::from(rows))?.value();
    }
    measure.of_run(&observation(), &moments())
}

/// The value reaches 3 at 2 s, falls below 3 at 5 s, and never reaches 9.
fn moments() -> Vec<Moment> {
    let moment = |text: &str| toml::from_str(&format!("of = 'x'\n{text}")).unwrap();
    vec![
        moment("name = 'up'\nrises_to = 3"),
        moment("name = 'down'\nfalls_below = 3\nafter = 'up'"),
        moment("name = 'never'\nrises_to = 9"),
        moment("name = 'after-never'\nfalls_below = 3\nafter = 'never'"),
    ]
}

#[test]
fn moments_are_events_of_the_run() {
    for (text, value) in [
        ("take = 'time_of'\nat = 'up'", Some(2.0)),
        ("take = 'time_of'\nat = 'down'\nat_s = 0.5", Some(5.5)),
        ("take = 'time_of'\nat = 'never'", None),
        ("take = 'time_of'\nat = 'after-never'", None),
        ("take = 'value_at'\nat = 'up'", Some(4.0)),
        ("take = 'value_at'\nat = 'up'\nat_s = -1", Some(2.0)),
        ("take = 'max'\nuntil = 'up'", Some(4.0)),
        ("take = 'max'\nfrom = 'up'\nfrom_s = 2", Some(4.0)),
        ("take = 'count'\nfrom = 'up'\nuntil = 'down'", Some(4.0)),
        ("take = 'count'\nfrom = 'never'", None),
    ] {
        assert_eq!(take(text), value, "{text}");
    }
}

#[test]
fn takes_single_values() {
    for (text, value) in [
        ("take = 'first'", 1.0),
        ("take = 'last'", 1.0),
        ("take = 'min'\nfrom_s = 1\nuntil_s = 5", 2.0),
        ("take = 'max'", 8.0),
        ("take = 'mean'", 22.0 / 7.0),
        ("take = 'median'", 2.0),
        ("take = 'count'", 7.0),
        ("take = 'value_at'\nat_s = 6.9", 2.0),
        ("take = 'time_of_max'", 3.0),
        ("take = 'mean'\ndivide_by = 22", 1.0 / 7.0),
        ("take = 'max'\nuntil_s = 2.5", 4.0),
        ("take = 'loss_rate'", 0.02),
        ("take = 'delivery_rate'", 0.98),
        ("take = 'throughput'", 5.0),
        ("take = 'difference'\nbetween = ['a', 'b']", 2.0),
        ("take = 'ratio'\nbetween = ['a', 'b']", 1.4),
    ] {
        assert_eq!(take(text), Some(value), "{text}");
    }
    let deviation = take("take = 'stddev'\nuntil_s = 2").unwrap();
    assert!((deviation - (7.0_f64 / 3.0).sqrt()).abs() < 1e-12);
}

#[test]
fn finds_crossings_and_phases() {
    for (text, value) in [
        ("take = 'crossing_up'\nlevel = 3", Some(2.0)),
        ("take = 'crossing_down'\nlevel = 3", Some(5.0)),
        ("take = 'crossing_up'\nlevel = 9", None),
        (
            "take = 'last_time'\ntimes = 'r'\nequals = 4\nbefore_max = true",
            Some(2.0),
        ),
        (
            "take = 'last_time'\nrelative_to_previous = true\nequals = 2",
            Some(3.0),
        ),
        (
            "take = 'first_time'\nrelative_to_previous = true\nequals = 0.5",
            Some(4.0),
        ),
        ("take = 'share'\nequals = 4", Some(2.0 / 7.0)),
        ("take = 'share'\nlevel = 4", Some(3.0 / 7.0)),
        ("take = 'first_time'\nequals = 3", None),
    ] {
        assert_eq!(take(text), value, "{text}");
    }
}

#[test]
fn counts_events_of_a_limit_and_the_time_between_them() {
    for (text, value) in [
        ("take = 'count'\nrows = 'falls'", Some(3.0)),
        ("take = 'count'\nrows = 'rises'", Some(3.0)),
        ("take = 'count'\nrows = 'falls'\nlimit = 'down'", Some(2.0)),
        ("take = 'count'\nrows = 'falls'\nlimit = 'never'", Some(0.0)),
        ("take = 'gap'\nrows = 'falls'\nindex = 1", Some(2.0)),
        ("take = 'gap'\nrows = 'falls'\nindex = 2", None),
        ("take = 'gap_median'\nrows = 'falls'", Some(1.5)),
        ("take = 'gap_above'\nlevel = 1.5", Some(7.0)),
        ("take = 'count'\nafter_max = true", Some(4.0)),
        ("take = 'count'\nbefore_max = true", Some(4.0)),
    ] {
        assert_eq!(take(text), value, "{text}");
    }
}

#[test]
fn rows_without_a_value_do_not_count() {
    assert_eq!(take("take = 'count'\ntimes = 'r'"), Some(6.0));
    assert_eq!(take("take = 'count'\ntimes = 'missing'"), None);
}

#[test]
fn autocorrelation_finds_the_period_of_a_sawtooth() {
    let series: Series = (0..700)
        .map(|row| (f64::from(row) * 0.002, f64::from(row % 7)))
        .collect();
    let (period, strength) = periodicity(&series).unwrap();
    assert!((period - 0.014).abs() < 0.0004, "{period}");
    assert!((0.9..1.1).contains(&strength), "{strength}");
    assert_eq!(periodicity(&[(0.0, 1.0), (1.0, 1.0)]), None);
    assert_eq!(periodicity(&[]), None);
}

#[test]
fn values_weigh_as_long_as_they_hold() {
    // 1, 2, 4, 8, 4 for a second each, 2 for two: 23 over 7 s. Squares: 109.
    let mean = take("take = \"time_mean\"").unwrap();
    assert!((mean - 23.0 / 7.0).abs() < 0.01, "{mean}");
    let cov = take("take = \"cov\"").unwrap();
    let expected = (109.0_f64 / 7.0 - (23.0_f64 / 7.0).powi(2)).sqrt() / (23.0 / 7.0);
    assert!((cov - expected).abs() < 0.01, "{cov} {expected}");
}

#[test]
fn words_find_a_number_of_the_summary() {
    let measure = |of: &str| Measure {
        run: Some("r".to_owned()),
        of: Some(of.to_owned()),
        ..Measure::default()
    };
    let value = |of: &str| measure(of).of_run(&observation(), &[]);
    assert_eq!(value("link.air.ap.drops"), Some(3.0));
    assert_eq!(value("link.air.drops"), None);
    let known = BTreeSet::from(["r"]);
    assert!(measure("link.air.drips").check(&known).is_err());
}

#[test]
fn measures_how_long_a_window_stays_low() {
    // The value falls at 2 s and 5 s; the next rises are at 4 s and 6 s.
    let series = [
        (0.0, 9.0),
        (2.0, 5.0),
        (4.0, 6.0),
        (5.0, 3.0),
        (6.0, 4.0),
        (7.0, 5.0),
    ];
    assert_eq!(rises(&series, 0), [(2.0, 6.0), (1.0, 4.0)]);
    assert_eq!(rises(&series, 1), [(2.0, 5.0)]);
    // The first rises are 2 s and 1 s after their falls, the later one 1 s after the first.
    assert_eq!(late_rises(&series, 1.5, 1.5), Some(0.5));
    assert_eq!(late_rises(&series, 2.5, 0.5), Some(0.5));
    assert_eq!(late_rises(&series, 2.5, 1.5), Some(0.0));
    assert_eq!(late_rises(&series[..2], 2.5, 1.5), None);
}

#[test]
fn a_measure_without_what_it_needs_is_refused() {
    let runs = BTreeSet::from(["r"]);
    for (text, part) in [
        ("take = 'value_at'\nrun = 'r'\nof = 'x'", "needs at or at_s"),
        ("take = 'crossing_up'\nrun = 'r'\nof = 'x'", "needs level"),
        ("take = 'last_time'\nrun = 'r'\nof = 'x'", "needs equals"),
        ("take = 'mean'\nof = 'x'", "needs run"),
        ("take = 'mean'\nrun = 'r'", "needs of"),
        (
            "take = 'mean'\nrun = 'other'\nof = 'x'",
            "run \"other\" does not exist",
        ),
        (
            "take = 'law'\nlaw = 'tfrk'\nline = 'x'",
            "did you mean \"tfrc\"",
        ),
        ("take = 'law'\nlaw = 'tfrc'", "needs line"),
        ("take = 'difference'", "needs between"),
    ] {
        let measure: Measure = toml::from_str(text).unwrap();
        let message = measure.check(&runs).unwrap_err().message;
        assert!(message.contains(part), "{text}: {message}");
    }
    assert!(toml::from_str::<Measure>("take = 'mean'\ntypo = 1").is_err());
}

#[test]
fn a_check_is_measured_and_bounded_by_what_is_expected_of_a_run() {
    let row = |text: &str| -> super::super::published::Row {
        let head = "id = 'a'\nplace = 'p'\ntext = 't'\nkind = 'check'\n";
        let mut row: super::super::published::Row =
            toml::from_str(&format!("{head}{text}")).unwrap();
        row.resolve().map_err(|wrong| wrong.message).unwrap();
        row
    };
    let percent = row("unit = '%'\nrun = 'r'\nexpect = 'link.air.ap.utilisation >= 85%'");
    assert_eq!((percent.at_least, percent.at_most), (Some(85.0), None));
    let range = row("unit = 'ms'\nrun = 'r'\nexpect = '2ms <= flow.a.rtt_s.mean <= 5ms'");
    assert_eq!((range.at_least, range.at_most), (Some(2.0), Some(5.0)));
    let measure = range.measure.unwrap();
    assert_eq!(measure.of.as_deref(), Some("flow.a.rtt_s.mean"));
    assert_eq!(measure.run.as_deref(), Some("r"));
    assert_eq!(measure.take, Statistic::Summary);
}
