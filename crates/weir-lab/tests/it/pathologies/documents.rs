//! The published documents, explained from trace and scenario alone: what they concluded in weeks
//! of plots is found, and comes first.

use super::score::{found, run_of};
use weir_lab::diagnosis::{Trace, explain, explanation_json, explanation_schema, try_remedies};
use weir_lab::run::{RunOptions, TraceLevel, run};
use weir_lab::scenario::{Override, parse_with};

fn scenario(file: &str, sets: &[(&str, &str)]) -> String {
    let path = format!("{}/../../experiments/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("an experiment");
    let sets = sets.iter().map(|(path, value)| Override {
        path: (*path).to_owned(),
        value: (*value).to_owned(),
    });
    let scenario = parse_with(&text, file, &sets.collect::<Vec<_>>()).expect("a scenario");
    scenario.resolved_toml()
}

/// Checks an explanation against its schema.
fn valid(explanation: &str) {
    let validator = jsonschema::validator_for(&explanation_schema()).expect("a schema");
    let document: serde_json::Value = serde_json::from_str(explanation).expect("JSON");
    let errors = validator.iter_errors(&document);
    let errors: Vec<String> = errors.map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut damaged = document;
    damaged["findings"][0]["symptom"] = serde_json::Value::Null;
    assert!(
        !validator.is_valid(&damaged),
        "a finding without its symptom"
    );
}

/// The first finding, and the remedies that end it in three of four runs or more.
fn conclusion(text: &str) -> (&'static str, Vec<String>) {
    let output = run_of(text);
    let explanation = explain(&Trace::of_run(&output));
    let first = found(&explanation)[0];
    let trials = try_remedies(
        &output.scenario,
        output.summary.run.events,
        &explanation,
        &|scenario, most| {
            let options = RunOptions {
                trace: TraceLevel::Full,
                max_events: Some(most),
                ..RunOptions::default()
            };
            run(scenario, &options)
        },
    );
    valid(&explanation_json(&explanation, Some(&trials)));
    let helped = trials
        .iter()
        .filter(|trial| trial.kind == first && 4 * trial.gone[0] >= 3 * trial.gone[1]);
    let settings = helped.map(|trial| trial.remedy.set[0].text());
    (first, settings.collect())
}

#[test]
fn loopback_starves_its_sender_until_samples_are_clamped() {
    let (first, helped) = conclusion(&scenario("loopback/failing.toml", &[]));
    assert_eq!(first, "feedback_starvation");
    assert_eq!(helped, ["flow.stream.transport.tfrc.rtt_min=5us"]);
}

/// The counter explains the silence only if it suppressed feedback then: behind the deep queue the
/// receiver sent none for the first second, and suppressed some later.
#[test]
fn a_silence_is_the_counters_only_where_that_suppressed_feedback() {
    let chain = |file: &str, sets: &[(&str, &str)]| {
        let explanation = explain(&Trace::of_run(&run_of(&scenario(file, sets))));
        let mut findings = explanation.findings.into_iter();
        let starved = findings.find(|finding| finding.kind == "feedback_starvation");
        starved.expect("starvation").chain
    };
    let [counter] = &chain("loopback/failing.toml", &[])[..] else {
        panic!("one step");
    };
    let [rtt, suppressed] = [0, 1].map(|number| counter.evidence[number].value);
    assert!(rtt < 4e-6 && suppressed == 1.0, "{counter:?}");
    let start = [("run.duration", "10s"), ("run.warmup", "0s")];
    assert_eq!(chain("deep-fifo/router.toml", &start), []);
}

#[test]
fn oscillation_reduction_holds_the_queue_until_it_is_off() {
    let on = [("flow.stream.transport.tfrc.oscillation", "full")];
    let (first, helped) = conclusion(&scenario("oscillation/tbf.toml", &on));
    assert_eq!(first, "oscillation_reduction_holds_queue");
    assert_eq!(helped, ["flow.stream.transport.tfrc.oscillation=off"]);
}

#[test]
fn a_lossy_link_loses_without_congestion() {
    // The whole run is long for a test: the same losses for 3 of its 11 seconds.
    let short = [("run.duration", "3s")];
    let text = scenario("lossy-link/random-every-other.toml", &short);
    let explanation = explain(&Trace::of_run(&run_of(&text)));
    assert_eq!(found(&explanation)[0], "random_loss");
    let acks = "flow.stream.transport.ack_every=1";
    let mut remedies = explanation
        .findings
        .iter()
        .flat_map(|finding| &finding.remedies);
    assert!(remedies.any(|remedy| remedy.set[0].text() == acks));
}

#[test]
fn a_deep_queue_tells_too_late_until_it_is_managed() {
    let minute = [("run.duration", "60s")];
    let (first, helped) = conclusion(&scenario("deep-fifo/router.toml", &minute));
    assert_eq!(first, "late_notification");
    let queues = ["codel", "codel\", ecn = true", "fq_codel"];
    for queue in queues {
        let set = format!("wifi.air.station.router.queue={{ kind = \"{queue}");
        assert!(helped.iter().any(|one| one.starts_with(&set)), "{queue}");
    }
}

#[test]
fn long_round_trips_cut_the_music_off_unless_the_equation_bounds_them() {
    let (first, helped) = conclusion(&scenario("cut-off/stream.toml", &[]));
    assert_eq!(first, "cut_off_by_delay");
    let bound = "flow.music.transport.tfrc.wireless.equation_rtt_max=";
    assert!(
        helped.iter().any(|one| one.starts_with(bound)),
        "{helped:?}"
    );
}

/// lsquic #554: over 500 Mbit/s and 100 ms a BBR sender whose credit is 63.5 Mbit/s times that
/// learns this rate, and stays in Startup. Twice the path's 6.25 MB of credit would still hold it
/// for most of the time, because a receiver renews credit when half of it is used.
#[test]
fn a_rate_that_was_learnt_from_little_credit_is_found_and_more_credit_ends_it() {
    let text = "[run]\nduration = \"5s\"\n[[link]]\nname = \"lo\"\nbetween = [\"a\", \"b\"]\n\
                rate = \"500Mbit\"\ndelay = \"50ms\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
                app = \"bulk\"\ntransport = { kind = \"quic\", controller = \"bbr\", \
                initial_max_data = 793750 }\n";
    let explanation = explain(&Trace::of_run(&run_of(text)));
    let learnt = &explanation.findings[0].chain[0];
    assert!(learnt.text.starts_with("The controller's estimate"));
    let [share] = &learnt.evidence[..] else {
        panic!("one number: {learnt:?}");
    };
    assert_eq!(share.column, "rate_limited_by");
    assert!(share.value > 0.7, "{share:?}");
    let (kind, helped) = conclusion(text);
    assert_eq!(kind, "receiver_limited");
    let credit = helped[0].strip_prefix("flow.f.transport.initial_max_data=");
    let credit: f64 = credit.expect("credit").parse().expect("octets");
    assert!((4.0 * 6.25e6..4.1 * 6.25e6).contains(&credit), "{credit}");
    // A window controller learns no rate.
    let newreno = text.replace("bbr", "newreno");
    let explanation = explain(&Trace::of_run(&run_of(&newreno)));
    let chain = explanation.findings[0].chain.iter();
    let texts: Vec<&str> = chain.map(|step| &*step.text).collect();
    assert!(
        texts.iter().all(|text| !text.contains("estimate")),
        "{texts:?}"
    );
}

/// The links of both ways drop what the sender takes for lost, and the second has another round
/// trip without a queue: neither way explains the run alone.
#[test]
fn a_handover_has_the_links_of_both_ways() {
    let text = include_str!("../../../../../examples/handover.toml");
    let rates = ["link.lte.rate=10Mbit", "link.lte.rate=80Mbit"];
    for (rate, controller) in rates
        .iter()
        .flat_map(|rate| [(rate, "cubic"), (rate, "newreno")])
    {
        let (path, value) = rate.split_once('=').expect("a path and its value");
        let controller = ("flow.upload.transport.controller", controller);
        let sets = [(path, value), controller].map(|(path, value)| Override {
            path: path.to_owned(),
            value: value.to_owned(),
        });
        let scenario = parse_with(text, "handover.toml", &sets).expect("a scenario");
        let explanation = explain(&Trace::of_run(&run_of(&scenario.resolved_toml())));
        let findings = explanation.findings.iter();
        let kinds: Vec<_> = findings.map(|finding| finding.kind).collect();
        for wrong in [
            "reordering",
            "random_loss",
            "underused_link",
            "standing_queue",
        ] {
            assert!(!kinds.contains(&wrong), "{sets:?}: {kinds:?}");
        }
    }
}

/// A sender that asks for an acknowledgement after more than ten packets gets them one by one:
/// nothing is compressed on the way.
#[test]
fn acknowledgements_of_many_packets_are_no_compression() {
    let text = include_str!("../../../../../examples/ack-frequency.toml");
    let explanation = explain(&Trace::of_run(&run_of(text)));
    let kinds: Vec<_> = (explanation.findings.iter())
        .map(|finding| finding.kind)
        .collect();
    assert!(!kinds.contains(&"ack_compression"), "{kinds:?}");
}
