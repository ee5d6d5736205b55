use super::*;
use crate::fixture::stream_over;
use crate::run::{RunOptions, RunOutput, TraceLevel, run};
use crate::scenario::parse;

fn sample(values: &[f64]) -> Sample {
    values.iter().copied().collect()
}

fn near(measured: Option<f64>, expected: f64, tolerance: f64) {
    let measured = measured.unwrap();
    let off = (measured - expected).abs();
    assert!(off <= tolerance, "{measured} is not {expected}");
}

#[test]
fn quantiles_are_those_of_the_table_of_students_t() {
    // Table of the two-sided 95 % points: P(T <= t) = 0.975.
    for (freedom, t) in [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (9, 2.262),
        (19, 2.093),
        (29, 2.045),
        (59, 2.001),
        (120, 1.980),
        (100_000, 1.960),
    ] {
        near(student_t_quantile(0.975, freedom), t, 0.0005);
    }
    // The same for P(T <= t) = 0.995.
    for (freedom, t) in [(1, 63.657), (2, 9.925), (19, 2.861), (30, 2.750)] {
        near(student_t_quantile(0.995, freedom), t, 0.0005);
    }
    // Closed forms: tan(π(p − 1/2)) for one degree, (2p − 1)·√(2/(4p(1 − p))) for two.
    let one = libm::tan(core::f64::consts::PI * 0.4);
    near(student_t_quantile(0.9, 1), one, 1e-12);
    near(
        student_t_quantile(0.9, 2),
        0.8 * (2.0 / 0.36_f64).sqrt(),
        1e-12,
    );
    near(
        student_t_quantile(0.1, 2),
        -0.8 * (2.0 / 0.36_f64).sqrt(),
        1e-12,
    );
    near(student_t_quantile(0.5, 7), 0.0, 1e-12);
    assert!(student_t_quantile(0.5, 7).unwrap().is_sign_positive());
    let near_half = libm::tan(core::f64::consts::PI * 0.01);
    near(student_t_quantile(0.51, 1), near_half, 1e-12);
}

#[test]
fn a_quantile_needs_a_probability_and_a_degree_of_freedom() {
    for (probability, freedom) in [(0.975, 0), (0.0, 5), (1.0, 5), (f64::NAN, 5), (-0.1, 5)] {
        assert_eq!(student_t_quantile(probability, freedom), None);
    }
}

#[test]
fn a_sample_has_the_statistics_of_its_values() {
    // Mean 5, squares 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32 over 7 degrees of freedom.
    let eight = sample(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
    assert_eq!(eight.n(), 8);
    near(eight.mean(), 5.0, 0.0);
    near(eight.standard_deviation(), (32.0_f64 / 7.0).sqrt(), 1e-15);
    near(eight.standard_error(), (4.0_f64 / 7.0).sqrt(), 1e-15);
    // t(0.975, 7) = 2.364624.
    let reach = 2.364_624 * (4.0_f64 / 7.0).sqrt();
    let interval = eight.interval_95().unwrap();
    near(Some(interval.low), 5.0 - reach, 1e-6);
    near(Some(interval.high), 5.0 + reach, 1e-6);
}

#[test]
fn too_few_runs_have_no_spread() {
    let none = sample(&[]);
    assert_eq!(none.mean(), None);
    assert_eq!(none.percentile_of(1.0), None);
    let one = sample(&[3.0]);
    assert_eq!(one.mean(), Some(3.0));
    assert_eq!(one.standard_deviation(), None);
    assert_eq!(one.interval_95(), None);
}

#[test]
fn pairs_are_compared_run_by_run() {
    let before = sample(&[10.0, 20.0, 30.0]);
    let after = sample(&[11.0, 22.0, 33.0]);
    let differences = after.paired_differences(&before).unwrap();
    assert_eq!(differences.values(), [1.0, 2.0, 3.0]);
    // 2 ± t(0.975, 2)/√3 = 2 ± 4.302653/1.732051.
    near(differences.interval_95().map(|i| i.low), -0.484_137, 1e-6);
    assert_eq!(after.paired_differences(&sample(&[1.0])), None);
}

#[test]
fn a_value_has_its_place_in_the_distribution() {
    let runs = sample(&[1.0, 2.0, 2.0, 4.0]);
    near(runs.percentile_of(0.5), 0.0, 0.0);
    near(runs.percentile_of(1.5), 25.0, 0.0);
    // One run is below, and half of the two equal ones count.
    near(runs.percentile_of(2.0), 50.0, 0.0);
    near(runs.percentile_of(9.0), 100.0, 0.0);
    near(sample(&[3.0]).percentile_of(3.0), 50.0, 0.0);
}

#[test]
fn results_have_the_order_of_the_jobs() {
    let jobs: Vec<u64> = (0..1000).collect();
    let doubled: Vec<u64> = jobs.iter().map(|job| job * 2).collect();
    assert_eq!(in_order(&jobs, |job| job * 2), doubled);
}

fn lossy(rate: f64) -> String {
    stream_over(
        "duration = \"2s\"",
        &format!(
            "rate = \"1Mbit\"\ndelay = \"5ms\"\nloss = {{ kind = \"random\", rate = {rate} }}"
        ),
        "transport = { kind = \"tcp\" }",
    )
}

fn output(text: &str, seed: u64, trace: TraceLevel) -> RunOutput {
    let mut scenario = parse(text, "test.toml").unwrap();
    scenario.run.seed = seed;
    let options = RunOptions {
        trace,
        ..RunOptions::default()
    };
    run(&scenario, &options).unwrap()
}

#[test]
fn runs_are_equal_if_only_their_seed_differs() {
    for trace in [TraceLevel::Counters, TraceLevel::Full] {
        let of = |text: &str| [1, 2, 3].map(|seed| Fingerprint::of(&output(text, seed, trace)));
        let equal = Replicates::of(&of(&lossy(0.0)));
        assert!(equal.nothing_is_random());
        assert_eq!(equal.counting().collect::<Vec<_>>(), [0]);
        assert_eq!((equal.equals(0), equal.equals(2)), (None, Some(0)));
        assert!(equal.note().unwrap().starts_with("nothing here is random"));
        let different = Replicates::of(&of(&lossy(0.02)));
        assert_eq!(different.counting().count(), 3);
        assert_eq!(different.note(), None);
    }
}

#[test]
fn a_trace_tells_runs_apart_that_have_one_summary() {
    let one = output(&lossy(0.02), 1, TraceLevel::Full);
    let mut other = one.clone();
    other.flows[0].table.columns[0].values = crate::table::Values::U64(vec![1]);
    assert_ne!(Fingerprint::of(&one), Fingerprint::of(&other));
}

#[test]
fn some_equal_runs_are_left_out() {
    let counted = |seed| output(&lossy(0.02), seed, TraceLevel::Counters);
    let [a, b] = [1, 2].map(|seed| Fingerprint::of(&counted(seed)));
    let some = Replicates::of(&[a, b, a, a]);
    assert_eq!(some.counting().collect::<Vec<_>>(), [0, 1]);
    assert!(!some.nothing_is_random());
    assert!(some.note().unwrap().starts_with("2 of 4 seeds"));
    assert!(!Replicates::of(&[a]).nothing_is_random());
}

#[test]
fn samples_that_are_not_paired_compare_by_welch() {
    // Student's two drugs of 1908 as independent groups: t = 1.8608, 17.776 degrees of freedom,
    // interval -0.2055 to 3.3655 with the exact degrees; 17 make it a little wider.
    let a = sample(&[0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]);
    let b = sample(&[1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]);
    near(a.welch_standard_error(&b), 1.58 / 1.860_8, 1e-4);
    let interval = a.welch_interval_95(&b).unwrap();
    near(Some(interval.low), -0.2115, 1e-3);
    near(Some(interval.high), 3.3715, 1e-3);
    assert_eq!(a.welch_interval_95(&sample(&[1.0])), None);
}

#[test]
fn welch_needs_no_spread_and_has_a_degree_of_freedom_at_least() {
    // Without variance the interval is a single value, the difference.
    let interval = |a: &[f64], b: &[f64]| sample(a).welch_interval_95(&sample(b)).unwrap();
    let (low, high) = (4.0, 4.0);
    assert_eq!(interval(&[1.0, 1.0], &[5.0, 5.0]), Interval { low, high });
    // If only one sample has variance, two runs with s²/n = 1, there is one degree of freedom: t is
    // 12.7062.
    let found = interval(&[0.0, 2.0], &[5.0, 5.0]);
    near(Some(found.low), 4.0 - 12.7062, 1e-3);
    near(Some(found.high), 4.0 + 12.7062, 1e-3);
}

#[test]
fn the_ends_of_an_interval_belong_to_it() {
    let (low, high) = (1.0, 2.0);
    let found = [0.9, 1.0, 1.5, 2.0, 2.1].map(|value| Interval { low, high }.contains(value));
    assert_eq!(found, [false, true, true, true, false]);
}

#[test]
fn measures_are_all_numbers_of_all_parts_in_the_order_of_the_runs() {
    let summary = |bps: f64, startup_s: Option<f64>| {
        let flow = crate::run::FlowSummary {
            goodput_bps: bps,
            startup_s,
            ended: Some("reset".to_owned()),
            ..Default::default()
        };
        let mut summary = crate::run::Summary::default();
        summary.flows.insert("stream".to_owned(), flow);
        summary
            .links
            .insert("wire".to_owned(), crate::run::LinkSummary::default());
        summary.totals.marks = 7;
        summary
    };
    let runs = [summary(3.0, None), summary(1.0, Some(0.5))];
    let found = measures(&runs);
    let values = |path: &str| found.get(path).map(|sample| sample.values().to_vec());
    assert_eq!(values("/flows/stream/goodput_bps"), Some(vec![3.0, 1.0]));
    assert_eq!(values("/flows/stream/startup_s"), Some(vec![0.5]));
    assert_eq!(values("/links/wire/queue_bytes/mean"), Some(vec![0.0; 2]));
    assert_eq!(values("/totals/marks"), Some(vec![7.0; 2]));
    // Words are not numbers, and the parameters of the run are not measures.
    assert_eq!(values("/flows/stream/ended"), None);
    assert!(found.keys().all(|path| !path.starts_with("/run")));
}

#[cfg(feature = "files")]
#[test]
fn as_many_jobs_run_at_a_time_as_there_are_threads_for_them() {
    assert_eq!(threads(), rayon::current_num_threads());
}
