use super::*;
use crate::verdict::Verdict;

#[test]
fn the_suite_is_whole() {
    let suite = Suite::rfc9743().unwrap_or_else(|error| panic!("{error}"));
    let suite = suite.sized(Size::Full, &OwnPaths::default()).unwrap();
    assert!(suite.chapters.len() >= 20);
    assert!(suite.chapters.is_sorted_by_key(|chapter| chapter.aspect));
    let mut ids = std::collections::BTreeSet::new();
    for chapter in &suite.chapters {
        assert!(ids.insert(&chapter.id), "{} is there twice", chapter.id);
        let figure = chapter
            .cases
            .iter()
            .filter(|case| case.measures.contains(&chapter.figure));
        assert!(figure.count() >= 1, "{}", chapter.id);
        for case in &chapter.cases {
            let scenario = Suite::scenario(case).unwrap_or_else(|error| panic!("{error}"));
            for name in &case.subject {
                let found = scenario.flows.iter().any(|flow| is_of(flow, name));
                assert!(found, "{}: there is no flow {name}", case.words);
            }
            for candidate in ["tcp:cubic", "quic:newreno", "dccp:3"] {
                let subject = Candidate::parse(candidate).unwrap();
                let rival = subject.standard(&case.rival).unwrap();
                let mut scenario = scenario.clone();
                cast(&mut scenario, case, &subject, &rival);
                let again = crate::scenario::parse(&scenario.resolved_toml(), "cast.toml");
                assert_eq!(again.unwrap_or_else(|error| panic!("{error}")), scenario);
            }
        }
    }
    let only = Suite::rfc9743().unwrap().only(&["aqm".to_owned()]).unwrap();
    assert_eq!(only.chapters.len(), 1);
    let unknown = suite.only(&["aqn".to_owned()]).unwrap_err().to_string();
    assert!(unknown.contains("aqm"), "{unknown}");
}

#[test]
fn each_scenario_of_the_folder_is_compiled_in() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/suites/rfc9743");
    let files = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "suite.toml")
        .collect();
    names.sort();
    assert_eq!(names, suite::scenario_files());
}

#[test]
fn each_measure_has_its_unit_its_factor_and_its_direction() {
    use crate::summary::Better::{Higher, Lower, Neither, One};
    let expected = [
        ("call-delay", "ms", 1e3, Lower),
        ("call-jitter", "ms", 1e3, Lower),
        ("call-loss", "%", 100.0, Lower),
        ("delay", "ms", 1e3, Lower),
        ("finished", "s", 1.0, Lower),
        ("four", "times", 1.0, One),
        ("frozen", "s", 1.0, Lower),
        ("goodput", "Mbit/s", 1e-6, Higher),
        ("group-delay", "ms", 1e3, Lower),
        ("group-goodput", "Mbit/s", 1e-6, Higher),
        ("group-loss", "%", 100.0, Lower),
        ("jain", "", 1.0, Higher),
        ("late", "times", 1.0, One),
        ("least", "Mbit/s", 1e-6, Higher),
        ("long", "Mbit/s", 1e-6, Higher),
        ("loss", "%", 100.0, Lower),
        ("marks", "%", 100.0, Neither),
        ("others", "times", 1.0, One),
        ("rival", "Mbit/s", 1e-6, Higher),
        ("rival-delay", "ms", 1e3, Lower),
        ("rival-loss", "%", 100.0, Lower),
        ("sent-20s", "a round trip", 1.0 / 500.0, Lower),
        ("sent-30s", "a round trip", 1.0 / 750.0, Lower),
        ("sent-5s", "a round trip", 1.0 / 125.0, Lower),
        ("share", "times", 1.0, One),
        ("short", "ms", 1e3, Lower),
        ("short-late", "ms", 1e3, Lower),
        ("slowest", "ms", 1e3, Lower),
        ("timeouts", "", 1.0, Lower),
        ("video", "Mbit/s", 1e-6, Higher),
        ("video-delay", "ms", 1e3, Lower),
    ];
    let suite = Suite::rfc9743().unwrap();
    let found: Vec<_> = suite
        .measures
        .iter()
        .map(|(name, plan)| {
            (
                name.as_str(),
                plan.unit(),
                plan.scale().unwrap(),
                plan.better(),
            )
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn a_unit_that_a_number_does_not_have_is_refused() {
    let with = |unit: &str| {
        let text = format!("words = \"w\"\nvalue = \"flow.subject.goodput_bps\"\n{unit}");
        let mut plan: measure::MeasurePlan = toml::from_str(&text).unwrap();
        let checked = plan.check().map_err(|(key, wrong)| {
            assert_eq!(key, "unit");
            wrong.message
        });
        checked.and_then(|()| plan.scale())
    };
    assert_eq!(with(""), Ok(1.0));
    assert_eq!(with("unit = \"Mbit/s\""), Ok(1e-6));
    for wrong in ["kbit/s", "ms", "%", "times"] {
        let told = with(&format!("unit = \"{wrong}\"")).unwrap_err();
        assert!(told.contains("bit/s") && told.contains(wrong), "{told}");
    }
}

#[test]
fn what_only_marks_change_is_untested_without_ecn() {
    let whole = Suite::rfc9743().unwrap();
    let cases = |suite: &Suite| {
        suite
            .chapters
            .iter()
            .map(|one| one.cases.len())
            .sum::<usize>()
    };
    let reduced = whole.clone().without_ecn();
    assert_eq!(cases(&reduced), cases(&whole) - 3);
    let untested: Vec<_> = reduced
        .chapters
        .iter()
        .filter(|chapter| chapter.untested.contains("for want of ECN"))
        .map(|chapter| (chapter.id.as_str(), chapter.untested.as_str()))
        .collect();
    assert_eq!(
        untested,
        [
            (
                "misbehaving",
                "acknowledgements of data that has not arrived, and of parts of packets; a router \
                 marks every packet, for want of ECN; CoDel marks, and the ECN field is cleared on \
                 the way, for want of ECN"
            ),
            (
                "data-centre",
                "thirty answers, with marks above 65 packets, for want of ECN"
            ),
        ]
    );
    for (candidate, has_ecn) in [
        ("quic:cubic", false),
        ("quic:cubic,ecn=true", true),
        ("quic:bbr,ecn=true", false),
        ("quic:prague", true),
        ("quinn:cubic", true),
        ("quinn:bbr", false),
    ] {
        let candidate = Candidate::parse(candidate).unwrap();
        assert_eq!(candidate.uses_ecn(), has_ecn, "{}", candidate.name);
    }
}

/// A suite of one short case with one good and one bad measure for a controller that does little.
fn two_seconds() -> Suite {
    let mut suite = Suite::rfc9743().unwrap();
    suite.chapters.retain(|chapter| chapter.id == "bufferbloat");
    suite.chapters[0].cases.truncate(1);
    let case = &mut suite.chapters[0].cases[0];
    case.set
        .extend(["run.duration=6s", "run.warmup=2s"].map(str::to_owned));
    suite
}

/// Controllers of a program's own, which are in no registry until they are added.
mod own {
    use std::sync::Arc;
    use weir_proto::cc::window::added::add;
    use weir_proto::cc::window::{BoxedController, Classic, Policy};
    use weir_proto::cc::{
        Acked, CongestionEvent, ConnectionEvent, EndAcks, Lost, Needs, PacingRate, Report,
        RetransmissionTimeout, Sent, WindowController,
    };
    use weir_proto::event::Limit;
    use weir_proto::time::Instant;

    /// Adds a window of so many packets, whatever happens, to which each acknowledged packet adds
    /// `growth` packets.
    pub(super) fn add_unresponsive(name: &str, packets: u64, growth: u64) {
        let factory = move |datagram: u64| Unresponsive {
            window: packets * datagram,
            growth,
        };
        let made = Arc::new(move |config: &weir_proto::cc::window::WindowConfig| {
            Box::new(factory(config.max_datagram_size)) as BoxedController
        });
        add(name, "A window that nothing reduces", made).unwrap();
    }

    /// Adds Reno whose window is multiplied by this at a congestion event.
    pub(super) fn add_reno(name: &str, beta: f64) {
        let made = Arc::new(move |config: &weir_proto::cc::window::WindowConfig| {
            let datagram = config.max_datagram_size;
            Box::new(Classic::new(config, Reno { beta, datagram })) as BoxedController
        });
        add(name, "Reno with another reduction", made).unwrap();
    }

    #[derive(Clone)]
    struct Unresponsive {
        window: u64,
        growth: u64,
    }

    impl WindowController for Unresponsive {
        fn needs(&self) -> Needs {
            Needs::NONE
        }
        fn on_sent(&mut self, _: &Sent) {}
        fn on_ack(&mut self, acked: &Acked) {
            self.window = (self.window + self.growth * acked.bytes).min(100_000_000);
        }
        fn on_lost(&mut self, _: &Lost) {}
        fn on_end_acks(&mut self, _: &EndAcks) -> bool {
            false
        }
        fn on_congestion_event(&mut self, _: &CongestionEvent) -> bool {
            true
        }
        fn on_connection_event(&mut self, _: ConnectionEvent) {}
        fn on_spurious_congestion_event(&mut self, _: Instant) -> bool {
            false
        }
        fn on_persistent_congestion(&mut self, _: Instant) {}
        fn on_retransmission_timeout(&mut self, _: &RetransmissionTimeout) {}
        fn window(&self) -> u64 {
            self.window
        }
        fn pacing(&self) -> Option<PacingRate> {
            None
        }
        fn take_recovery_probe(&mut self) -> bool {
            false
        }
        fn report(&self) -> Report {
            Report::new("congestion_avoidance", Limit::MinimumWindow)
        }
        fn set_max_datagram_size(&mut self, _: u64) {}
        fn clone_box(&self) -> BoxedController {
            Box::new(self.clone())
        }
    }

    #[derive(Clone)]
    struct Reno {
        beta: f64,
        datagram: u64,
    }

    impl Policy for Reno {
        fn on_ack(&mut self, cwnd: u64, acked: &Acked) -> u64 {
            cwnd + (self.datagram * acked.bytes).div_ceil(cwnd)
        }
        fn on_congestion_event(&mut self, _: Instant, cwnd: u64) -> u64 {
            libm::floor(self.beta * cwnd as f64) as u64
        }
        fn set_max_datagram_size(&mut self, octets: u64) {
            self.datagram = octets;
        }
    }
}

/// What the suite finds unsafe in a controller over TCP, by the names of the limits.
fn faults(controller: &str) -> (Evaluation, Vec<String>) {
    let suite = Suite::rfc9743().unwrap();
    let suite = suite.sized(Size::Quick, &OwnPaths::default()).unwrap();
    let with_limits = suite.chapters.iter().filter(|chapter| {
        let mut cases = chapter.cases.iter();
        cases.any(|case| !case.limits.is_empty())
    });
    let chapters: Vec<_> = with_limits.map(|chapter| chapter.id.clone()).collect();
    let mut suite = suite.only(&chapters).unwrap();
    for chapter in &mut suite.chapters {
        chapter.cases.retain(|case| !case.limits.is_empty());
    }
    let subject = Candidate::parse(controller).unwrap_or_else(|error| panic!("{error}"));
    let cubic = [subject.standard("cubic").unwrap()];
    let options = Options {
        seeds: 2,
        beside: Some(&cubic),
        ..Options::default()
    };
    let evaluation = evaluate(&suite, &subject, &options).unwrap();
    let limits = evaluation.limits().into_iter();
    let broken = limits.filter(|(_, _, limit)| limit.fault.is_some());
    let broken = broken.map(|(_, _, limit)| limit.id.clone()).collect();
    (evaluation, broken)
}

#[test]
fn a_bad_controller_is_not_safe_and_the_first_line_says_why() {
    own::add_unresponsive("constant-500", 500, 0);
    own::add_unresponsive("never-backs-off", 10, 1);
    own::add_reno("ignores-losses", 1.0);
    own::add_reno("reno-beta-09", 0.9);
    for (name, limits) in [
        ("constant-500", &["half-lost", "rival-one", "own-loss"][..]),
        ("never-backs-off", &["half-lost", "own-loss"]),
        ("ignores-losses", &["rival-one", "own-loss"]),
        ("reno-beta-09", &["rival-half", "rival-four"]),
    ] {
        for transport in ["tcp", "quic"] {
            let (evaluation, broken) = faults(&format!("{transport}:{name}"));
            for limit in limits {
                assert!(
                    broken.iter().any(|one| one == limit),
                    "{name}: {limit} {broken:?}"
                );
            }
            let first = evaluation.text();
            let first = first.lines().next().unwrap();
            assert!(first.contains("is not safe"), "{first}");
            let known = evaluation.known_reasons();
            assert!(known.is_empty(), "{known:?}");
        }
    }
}

#[test]
fn a_controller_in_use_keeps_the_limits_or_has_a_reason() {
    for controller in [
        "tcp:cubic",
        "quic:newreno",
        "tcp:bbr",
        "quic:prague",
        "dccp:3",
    ] {
        let (evaluation, _) = faults(controller);
        for (_, _, limit) in evaluation.limits() {
            let has_reason = limit.fault.is_none() || limit.known.is_some();
            assert!(has_reason, "{controller}: {:?}", limit.fault);
        }
    }
}

#[test]
fn an_own_controller_is_judged_beside_cubic_and_reno() {
    own::add_unresponsive("four-packets", 4, 0);
    let subject = Candidate::parse("tcp:four-packets").unwrap();
    let options = Options {
        seeds: 3,
        ..Options::default()
    };
    let evaluation = evaluate(&two_seconds(), &subject, &options).unwrap();
    assert_eq!(
        evaluation.candidates,
        ["tcp:four-packets", "tcp:cubic", "tcp:newreno"]
    );
    let results = &evaluation.chapters[0].cases[0].results;
    let verdicts: Vec<_> = results
        .iter()
        .map(|one| (one.name.as_str(), one.verdicts.as_slice()))
        .collect();
    let both = |verdict| [verdict; 2];
    assert_eq!(
        verdicts[..2],
        [
            ("delay", &both(Verdict::Better)[..]),
            ("goodput", &both(Verdict::Worse)[..])
        ]
    );
    let goodput = results[1].candidates[0].mean.unwrap();
    // Four segments of 1460 octets in a round trip of a little more than 40 ms.
    assert!((1.0..1.2).contains(&goodput), "{goodput} Mbit/s");
    let again = evaluate(&two_seconds(), &subject, &options).unwrap();
    assert_eq!(evaluation.json(), again.json());
    let (text, html) = (evaluation.text(), evaluation.html());
    assert!(text.contains("Worse than B and C: goodput"), "{text}");
    assert!(html.contains("tcp:four-packets") && html.contains("<svg"));
    assert_eq!(evaluation.figures().len(), 2);
}

#[test]
fn a_standard_controller_is_compared_with_the_other_alone() {
    let subject = Candidate::parse("quic:cubic").unwrap();
    let options = Options {
        seeds: 2,
        ..Options::default()
    };
    let evaluation = evaluate(&two_seconds(), &subject, &options).unwrap();
    assert_eq!(evaluation.candidates, ["quic:cubic", "quic:newreno"]);
    let delay = &evaluation.chapters[0].cases[0].results[0];
    // Both fill a buffer of 670 packets, 400 ms, at least in part.
    assert!(
        delay
            .candidates
            .iter()
            .all(|one| one.mean.is_some_and(|mean| mean > 20.0))
    );
}

#[test]
fn the_limits_of_a_case_hold() {
    let mut suite = two_seconds();
    let case = &mut suite.chapters[0].cases[0];
    case.set.push("run.max_memory=\"1MiB\"".to_owned());
    let subject = Candidate::parse("tcp:cubic").unwrap();
    let registry = TransportRegistry {
        process: crate::run::ProcessWatch::Run {
            clock: || std::time::Duration::ZERO,
            memory: || Some(2 << 20),
        },
        ..TransportRegistry::default()
    };
    let options = Options {
        registry,
        seeds: 2,
        ..Options::default()
    };
    let error = evaluate(&suite, &subject, &options).unwrap_err();
    assert!(error.to_string().contains("(max_memory)"), "{error}");
}
