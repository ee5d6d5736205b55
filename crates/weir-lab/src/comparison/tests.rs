use super::*;
use crate::fixture::traced;
use crate::run::{
    Distribution, FlowSummary, RunOptions, RunOutput, Summary, TraceLevel, TransferSummary, run,
};
use crate::scenario::{Scenario, parse};
use crate::verdict::Verdict;

/// A summary of one flow with this goodput.
fn goodput(bps: f64) -> Summary {
    let flow = FlowSummary {
        goodput_bps: bps,
        ..FlowSummary::default()
    };
    let mut summary = Summary::default();
    summary.flows.insert("stream".to_owned(), flow);
    summary
}

fn goodputs(a: &[f64], b: &[f64]) -> Vec<Effect> {
    let sides = [a, b].map(|side| side.iter().map(|&bps| goodput(bps)).collect::<Vec<_>>());
    let pairs = sides[0].iter().zip(&sides[1]).zip(1..);
    let pairs: Vec<_> = pairs.map(|((a, b), seed)| Pair { seed, a, b }).collect();
    let effects = effects(&pairs);
    let of_goodput = |effect: &Effect| effect.measure.pointer == "goodput_bps";
    effects.into_iter().filter(of_goodput).collect()
}

#[test]
fn an_effect_is_students_paired_comparison() {
    // Student, The probable error of a mean, 1908: hours of sleep with two drugs, ten patients.
    // The difference of the means is 1.58, its 95 % interval 0.7001 to 2.4599, t = 4.0621.
    let a = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
    let b = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
    let found = goodputs(&a, &b);
    let [effect] = found.as_slice() else {
        panic!("{found:?}");
    };
    let interval = effect.interval_95().unwrap();
    assert!((effect.difference.mean().unwrap() - 1.58).abs() < 1e-9);
    assert!((interval.low - 0.700_114).abs() < 1e-5, "{interval:?}");
    assert!((interval.high - 2.459_886).abs() < 1e-5, "{interval:?}");
    assert!((effect.relative().unwrap() - 1.58 / 0.75).abs() < 1e-9);
    // t = 4.06 is beyond 3.25, the quantile of 99.5 % with 9 degrees of freedom.
    assert_eq!(effect.verdict, Verdict::Differs);
    assert_eq!(effect.judgement(), Some("better"));
    assert!(effect.exceeds(2.0) && !effect.exceeds(2.2));
}

#[test]
fn verdicts_follow_from_the_pairs() {
    for (a, b, expected) in [
        (&[1.0, 2.0][..], &[1.0, 2.0][..], Verdict::Equal),
        (&[1.0, 2.0, 3.0], &[1.5, 1.5, 3.5], Verdict::Indistinct),
        (&[1.0, 2.0, 3.0], &[2.0, 3.0, 4.0], Verdict::Differs),
        (&[1.0], &[2.0], Verdict::OnePair),
        (&[1.0], &[1.0], Verdict::Equal),
    ] {
        let found = goodputs(a, b);
        let verdicts: Vec<_> = found.iter().map(|effect| effect.verdict).collect();
        assert_eq!(verdicts, [expected], "{a:?} {b:?}");
    }
}

#[test]
fn transfers_are_compared_in_natural_order() {
    let side = |seconds: f64| {
        let mut summary = Summary::default();
        for name in ["web10", "web2"] {
            let time = Distribution {
                p99: seconds,
                ..Distribution::default()
            };
            let transfers = TransferSummary {
                completion_time_s: Some(time),
                ..TransferSummary::default()
            };
            summary.transfers.insert(name.to_owned(), transfers);
        }
        summary
    };
    let (a, b) = (side(1.0), side(2.0));
    let pair = Pair {
        seed: 1,
        a: &a,
        b: &b,
    };
    let found = effects(&[pair]).into_iter();
    let found = found.filter(|effect| effect.measure.pointer == "completion_time_s/p99");
    let found: Vec<_> = found
        .map(|effect| (effect.kind, effect.name.clone(), effect.difference.mean()))
        .collect();
    let expected = ["web2", "web10"].map(|name| ("transfers", name.to_owned(), Some(1.0)));
    assert_eq!(found, expected);
}

#[test]
fn what_not_all_runs_measure_is_named() {
    let with = |names: &[(&'static str, &str, &[&str])]| {
        let mut measures = Measures::default();
        for (kind, name, known) in names {
            measures.insert(kind, name, |m| known.contains(&m.pointer).then_some(1.0));
        }
        measures
    };
    let (both, one) = (["goodput_bps", "startup_s"], ["goodput_bps"]);
    let a = with(&[("flow", "x", &both), ("link", "l", &one)]);
    let b = with(&[("flow", "x", &one), ("link", "m", &one)]);
    let pair = |a, b| Pair { seed: 1, a, b };
    assert!(left_out(&[pair(&a, &a)]).is_empty());
    let found: Vec<_> = left_out(&[pair(&a, &a), pair(&a, &b)])
        .into_iter()
        .collect();
    assert_eq!(found, ["flow x first 65,536 bytes in", "link l", "link m"]);
}

const QUIC: &str = "kind = \"quic\", controller = \"cubic\"";
const TCP: &str = "kind = \"tcp\", overrides = { loss_detection = \"duplicate-acks\" }";

/// A path with losses on which TCP's packets are reordered, so that its loss detection thresholds
/// matter.
fn scenario(transport: &str, seed: u64) -> Scenario {
    let keeps_order = transport != TCP && !transport.contains("dup_thresh");
    let text = format!(
        r#"
        [run]
        duration = "6s"
        seed = {seed}
        [[link]]
        name = "bottleneck"
        between = ["server", "client"]
        rate = "20Mbit"
        delay = "15ms"
        queue = {{ kind = "droptail", limit = 60 }}
        loss = {{ kind = "random", rate = 0.002 }}
        netem = {{ jitter = "2ms", keep_order = {keeps_order} }}
        [[flow]]
        name = "stream"
        from = "server"
        to = "client"
        transport = {{ {transport} }}
        "#
    );
    parse(&text, "compare.toml").unwrap()
}

fn runs(transport: &str, seeds: std::ops::RangeInclusive<u64>) -> Vec<RunOutput> {
    let options = RunOptions {
        trace: TraceLevel::Summary,
        ..RunOptions::default()
    };
    let one = |seed| run(&scenario(transport, seed), &options).unwrap();
    seeds.map(one).collect()
}

fn compared(a: &[RunOutput], b: &[RunOutput]) -> Vec<Effect> {
    let pairs = a.iter().zip(b).map(|(a, b)| Pair {
        seed: a.summary.run.seed,
        a: &a.summary,
        b: &b.summary,
    });
    effects(&pairs.collect::<Vec<_>>())
}

#[test]
fn planted_regressions_are_found_with_20_pairs() {
    let beta = format!("{QUIC}, cubic = {{ beta = 0.5 }}");
    let window = format!("{QUIC}, initial_window = \"2800b\"");
    let threshold = TCP.replace(" }", ", dup_thresh = 4 }");
    for (before, after, pointer) in [
        (QUIC, beta.as_str(), "goodput_bps"),
        (QUIC, &window, "startup_s"),
        (TCP, &threshold, "packets_lost"),
    ] {
        let effects = compared(&runs(before, 1..=20), &runs(after, 1..=20));
        let found = effects
            .iter()
            .filter(|effect| effect.verdict == Verdict::Differs);
        let found: Vec<_> = found.map(|effect| effect.measure.pointer).collect();
        assert!(found.contains(&pointer), "{after}: {found:?}");
    }
}

#[test]
fn equal_builds_raise_no_alarm() {
    // 50 comparisons of 20 pairs: first with equal seeds, then with other seeds, so that only
    // chance differs.
    let runs = runs(QUIC, 1..=60);
    for first in 0..40 {
        let a = &runs[first..first + 20];
        let effects = compared(a, a);
        assert!(
            effects
                .iter()
                .all(|effect| effect.verdict == Verdict::Equal)
        );
    }
    for shift in 20..30 {
        let effects = compared(&runs[0..20], &runs[shift..shift + 20]);
        let alarms = effects.iter().filter(|effect| effect.exceeds(0.0));
        let alarms: Vec<_> = alarms.map(|effect| effect.measure.label).collect();
        assert_eq!(alarms, [""; 0], "shifted by {shift}");
    }
}

#[test]
fn runs_are_paired_by_settings_and_seed() {
    let [one, two, three] = [1, 2, 3].map(|seed| scenario(QUIC, seed));
    let other = scenario(TCP, 2);
    let pair = |seed, a, b| Pair { seed, a, b };
    assert_eq!(
        pair_runs(&[&one, &two, &three], &[&three, &one]),
        Ok(vec![pair(1, 0, 1), pair(3, 2, 0)])
    );
    // If each side has one setting, they are paired even if they differ.
    assert_eq!(pair_runs(&[&one, &two], &[&other]), Ok(vec![pair(2, 1, 0)]));
    assert_eq!(
        pair_runs(&[&two, &other], &[&other, &two]).map(|pairs| pairs.len()),
        Ok(2)
    );
    assert!(matches!(
        pair_runs(&[&two, &other], &[&two]),
        Err(PairingError::Ambiguous {
            a: 2,
            b: 1,
            common: 1
        })
    ));
    let message = pair_runs(&[&one, &two], &[&three]).unwrap_err().to_string();
    assert!(message.contains("(1 to 2)") && message.contains("(3 to 3)"));
}

#[test]
fn changed_settings_have_the_paths_of_set() {
    let delayed = format!("{QUIC}, max_ack_delay = \"10ms\"");
    let changes = changed_settings(&scenario(QUIC, 1), &scenario(&delayed, 9));
    let paths: Vec<_> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, ["flow.stream.transport.max_ack_delay"]);
    assert_eq!(
        (changes[0].a.as_deref(), changes[0].b.as_deref()),
        (Some("25ms"), Some("10ms"))
    );
}

#[test]
fn traces_part_at_the_first_value_that_differs() {
    let traced = |transport: &str| run(&scenario(transport, 1), &traced()).unwrap();
    let small = format!("{QUIC}, initial_window = \"2800b\"");
    let (a, b) = (traced(QUIC), traced(&small));
    assert_eq!(first_divergence(&a, &a), None);
    let found = first_divergence(&a, &b).unwrap();
    // The windows differ from the first row on, at the start of the connection.
    assert_eq!((found.table.as_str(), found.row), ("flows/stream", 0));
    assert_eq!(found.column, "cwnd_bytes");
    assert_eq!(found.b.as_deref(), Some("2944"));

    let mut shorter = a.clone();
    for column in &mut shorter.flows[0].table.columns {
        match &mut column.values {
            crate::table::Values::F64(values) => values.truncate(5),
            crate::table::Values::U64(values) => values.truncate(5),
            crate::table::Values::Text(values) => values.truncate(5),
        }
    }
    let found = first_divergence(&a, &shorter).unwrap();
    assert_eq!((found.row, found.b), (5, None));
}
