//! Files, verdicts and the exit status.

use super::published::Published;
use super::reproduction::enough_seeds;
use super::row_result::judge;
use super::run_data::{Observation, RunData, Runs, Runset};
use super::runner::{parse_scenario, run_once};
use super::*;
use crate::replication::Fingerprint;
use crate::report::Drawing;
use crate::run::{FlowSummary, RunOutput, Summary, TraceLevel};
use crate::verdict::Verdict;

const HEAD: &str = "[document]\ntitle = 't'\nsource = 's'\nabout = 'a'\n\
                    [[run]]\nname = 'r'\nscenario = 'r.toml'\nabout = 'a'\n";

fn with_row(row: &str) -> String {
    format!("{HEAD}[[row]]\nid = 'one'\nplace = 'p'\ntext = 't'\n{row}\n")
}

/// The runs of one plan as the rows use them.
fn runset(published: &Published, name: &str, runs: Vec<RunData>) -> (String, Runset) {
    let plan = published
        .runs
        .iter()
        .find(|plan| plan.name == name)
        .unwrap();
    let runs = runs
        .into_iter()
        .map(|run| Observation::of(published, name, run, false));
    let runs = Runset {
        runs: runs.collect(),
        seeded: plan.seeds.is_some(),
    };
    (name.to_owned(), runs)
}

/// The fingerprint of a run with this throughput.
fn fingerprint(throughput_bps: f64) -> Fingerprint {
    let flow = FlowSummary {
        throughput_bps,
        ..FlowSummary::default()
    };
    let source = ExperimentFiles::embedded("lossy-link").unwrap();
    let text = &source.scenarios["periodic-every.toml"];
    Fingerprint::of(&RunOutput {
        transfers: Vec::new(),
        scenario: parse_scenario("periodic-every.toml", text, &[]).unwrap(),
        summary: Summary {
            flows: [("stream".to_owned(), flow)].into(),
            ..Summary::default()
        },
        flows: Vec::new(),
        links: Vec::new(),
        delays: None,
        packets: None,
        stages: None,
    })
}

/// A run with this throughput.
fn run_of(bps: f64) -> RunData {
    RunData {
        throughput_bps: bps,
        fingerprint: Some(fingerprint(bps)),
        ..RunData::default()
    }
}

fn error(text: &str) -> String {
    Published::parse("x/published.toml", text)
        .unwrap_err()
        .to_string()
}

#[test]
fn the_embedded_files_are_in_order() {
    for name in ExperimentFiles::names() {
        let source = ExperimentFiles::embedded(name).unwrap();
        let published = Published::parse(name, &source.published).unwrap();
        for run in &published.runs {
            assert!(
                source.scenarios.contains_key(&run.scenario),
                "{name}: {}",
                run.scenario
            );
        }
    }
}

#[test]
fn rows_of_random_runs_need_20_seeds() {
    let mut wrong = Vec::new();
    for name in ExperimentFiles::names() {
        let source = ExperimentFiles::embedded(name).unwrap();
        let published = Published::parse(name, &source.published).unwrap();
        if published.needs_testbed() {
            continue;
        }
        for plan in published
            .runs
            .iter()
            .filter(|plan| published.judges(&plan.name))
        {
            let text = &source.scenarios[&plan.scenario];
            let scenario = parse_scenario(&plan.scenario, text, &plan.set).unwrap();
            wrong.extend(
                enough_seeds(plan, &scenario)
                    .err()
                    .map(|wrong| format!("{name}: {wrong}")),
            );
        }
    }
    assert_eq!(wrong, [""; 0]);

    // The rule itself: the same run with random loss and one seed too few.
    let source = ExperimentFiles::embedded("lossy-link").unwrap();
    let published = Published::parse("lossy-link", &source.published).unwrap();
    let plan = published.runs.iter().find(|plan| plan.name == "rare-every");
    let mut plan = plan.unwrap().clone();
    let text = &source.scenarios[&plan.scenario];
    let scenario = parse_scenario(&plan.scenario, text, &plan.set).unwrap();
    assert_eq!(enough_seeds(&plan, &scenario), Ok(()));
    plan.seeds = Some(19);
    let wrong = enough_seeds(&plan, &scenario).unwrap_err();
    assert!(
        wrong.contains("with 19 seeds, expected at least 20"),
        "{wrong}"
    );
}

#[test]
fn periodic_loss_gives_fifty_packets_in_seven_round_trips() {
    // The full chain: embedded scenario, simulator, measure.
    let source = ExperimentFiles::embedded("lossy-link").unwrap();
    let published = Published::parse("lossy-link", &source.published).unwrap();
    let plan = &published.runs[0];
    let text = source.scenarios[&plan.scenario].replace("duration = \"11s\"", "duration = \"4s\"");
    let scenario = parse_scenario(&plan.scenario, &text, &[]).unwrap();
    let run = run_once(
        &scenario,
        plan,
        TraceLevel::Full,
        false,
        Backends::default(),
    )
    .unwrap();
    let runs = Runs::from([runset(&published, &plan.name, vec![run])]);
    let rows = judge(&published.rows, &runs).unwrap();
    let throughput = rows.iter().find(|row| row.id == "periodic-every").unwrap();
    assert_eq!(throughput.verdict, Verdict::Agrees, "{throughput:?}");
    // 50 · 1252 bytes in 7 · 2 ms.
    assert!(
        (throughput.measured.unwrap() - 35.7714).abs() < 0.036,
        "{throughput:?}"
    );
}

#[test]
fn a_run_of_a_plot_is_explained_below_it() {
    let source = ExperimentFiles::embedded("loopback").unwrap();
    let published = Published::parse("loopback", &source.published).unwrap();
    let plan = &published.runs[0];
    let scenario = parse_scenario(&plan.scenario, &source.scenarios[&plan.scenario], &plan.set);
    let run = |is_drawn| {
        let scenario = scenario.as_ref().unwrap();
        run_once(
            scenario,
            plan,
            TraceLevel::Full,
            is_drawn,
            Backends::default(),
        )
        .unwrap()
    };
    assert_eq!(run(false).explanation, None);
    let runset = Runset {
        runs: vec![Observation::of(&published, &plan.name, run(true), true)],
        seeded: false,
    };
    let runs = Runs::from([(plan.name.clone(), runset)]);
    let plots = draw::plots("loopback", &published, &[], &runs);
    let rate = plots.iter().find(|plot| plot.name == "loopback-rate");
    let rate = rate.and_then(|named| named.drawing.plot()).unwrap();
    let names: Vec<&str> = rate.episodes.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["stream: sender without feedback"]);
}

#[test]
fn the_embedded_files_are_those_of_the_repository() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("experiments");
    for name in ExperimentFiles::names() {
        let folder = ExperimentFiles::from_folder(&root.join(name)).unwrap();
        assert_eq!(folder, ExperimentFiles::embedded(name).unwrap());
    }
}

#[test]
fn a_row_has_only_the_numbers_of_its_kind() {
    for (row, part) in [
        (
            "kind = 'value'\nat_least = 3\nmeasure = { take = 'throughput', run = 'r' }",
            "a value needs published",
        ),
        (
            "kind = 'check'\npublished = 3\nwithin = 1\n\
             measure = { take = 'throughput', run = 'r' }",
            "published is a number of the document",
        ),
        (
            "kind = 'parameter'\npublished = 3",
            "published is a number of the document",
        ),
        (
            "kind = 'quantity'\nat_least = 3\nmeasure = { take = 'throughput', run = 'r' }",
            "a quantity is not judged",
        ),
        (
            "kind = 'input'\npublished = 3\nfitted_on_seeds = [1, 2]",
            "only a parameter is fitted",
        ),
    ] {
        let message = error(&with_row(row));
        assert!(message.contains(part), "{row}: {message}");
    }
}

#[test]
fn errors_in_published_files_show_their_place() {
    let typo = with_row("kind = 'value'\npublisht = 3");
    assert!(
        error(&typo).starts_with("x/published.toml:14:1: unknown key \"publisht\""),
        "{}",
        error(&typo)
    );
    for (row, part) in [
        (
            "kind = 'value'\npublished = 3\nwithin = 1",
            "row \"one\": it needs a measure",
        ),
        (
            "kind = 'value'\npublished = 3\nmeasure = { take = 'throughput', run = 'r' }",
            "it needs within",
        ),
        (
            "kind = 'claim'\nwithin = 3\nmeasure = { take = 'throughput', run = 'r' }",
            "a tolerance but no number",
        ),
        (
            "kind = 'check'\nat_least = 3\nmeasure = { take = 'time_of', run = 'r', at = 'loss' }",
            "there is no moment \"loss\"",
        ),
        (
            "kind = 'input'\npublished = 3\nwithin = 1",
            "neither measured nor judged",
        ),
        (
            "kind = 'input'\npublished = 3\nunit = 'furlong'",
            "\"furlong\" is not a unit",
        ),
        (
            "kind = 'claim'\nat_least = 3\nmeasure = { take = 'throughput', run = 'q' }",
            "run \"q\" does not exist",
        ),
        (
            "kind = 'claim'\nat_least = 3\nmeasure = { take = 'throughput', run = 'r' }\n\
             explanation = 'because'\nexplained_by = ['two']",
            "row \"one\" names row \"two\", which does not exist",
        ),
        (
            "kind = 'claim'\nat_least = 3\nmeasure = { take = 'throughput', run = 'r' }\n\
             explanation = 'because'",
            "belong together",
        ),
        (
            "kind = 'input'\n[[row]]\nid = 'one'\nplace = ''\ntext = ''\nkind = 'input'",
            "two rows are called \"one\"",
        ),
    ] {
        let message = error(&with_row(row));
        assert!(message.contains(part), "{row}: {message}");
    }
}

#[test]
fn unknown_experiments_are_named_with_the_known_ones() {
    let message = ExperimentFiles::embedded("loopbak")
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "there is no experiment \"loopbak\" and no folder of this name with a published.toml; did you \
         mean \"loopback\"? known are: loopback, lossy-link, \
         oscillation, deep-fifo, cut-off, friendliness, cubic-window, rtt-fairness, dualq-coupling, \
         slow-start, rfc8867, outage, sim-vs-wire, sim-vs-kernel"
    );
}

/// Judges rows against a run with a throughput of 10 Mbit/s and seeds of 9, 10 and 11.
fn results(rows: &str) -> Vec<RowResult> {
    judged(rows).2
}

/// Like [`results`], with the file and the runs.
fn judged(rows: &str) -> (Published, Runs, Vec<RowResult>) {
    let seeded = "[[run]]\nname = 's'\nscenario = 'r.toml'\nabout = 'a'\nseeds = 3\n\
                  [[run]]\nname = 'equal'\nscenario = 'r.toml'\nabout = 'a'\nseeds = 3\n";
    let published = Published::parse("x", &format!("{HEAD}{seeded}{rows}")).unwrap();
    let runs = Runs::from([
        runset(&published, "r", vec![run_of(10e6)]),
        runset(&published, "s", [9e6, 10e6, 11e6].map(run_of).to_vec()),
        runset(&published, "equal", [12e6; 3].map(run_of).to_vec()),
    ]);
    let rows = judge(&published.rows, &runs).unwrap();
    (published, runs, rows)
}

fn verdicts(rows: &str) -> Vec<(String, Verdict)> {
    let rows = results(rows).into_iter();
    rows.map(|row| (row.id, row.verdict)).collect()
}

fn row(id: &str, judgement: &str, run: &str) -> String {
    let kind = if judgement.contains("published") {
        "value"
    } else {
        "check"
    };
    format!(
        "[[row]]\nid = '{id}'\nplace = 'p'\ntext = 't'\nkind = '{kind}'\nunit = 'Mbit/s'\n\
         measure = {{ take = 'throughput', run = '{run}' }}\n{judgement}\n"
    )
}

#[test]
fn a_row_is_judged_by_its_tolerance() {
    use Verdict::{Agrees, Checked, Differs};
    for (judgement, run, verdict) in [
        ("published = 10.2\nwithin_percent = 2", "r", Agrees),
        ("published = 10.3\nwithin_percent = 2", "r", Differs),
        ("published = 9.5\nwithin = 0.5", "r", Agrees),
        ("published = 9.4\nwithin = 0.5", "r", Differs),
        ("at_least = 10\nat_most = 10", "r", Checked),
        ("published = 10.4\nwithin = 0.5", "s", Agrees),
        ("published = 10.6\nwithin = 0.5", "s", Differs),
        ("at_least = 10.1", "r", Differs),
        ("at_most = 9.9", "r", Differs),
        ("published = 10.9\nin_band = true", "s", Agrees),
        ("published = 11.1\nin_band = true", "s", Differs),
        ("published = 10\nin_band = true", "r", Differs),
    ] {
        assert_eq!(
            verdicts(&row("one", judgement, run))[0].1,
            verdict,
            "{judgement}"
        );
    }
}

#[test]
fn numbers_statements_and_checks_are_counted_apart() {
    use Verdict::{Agrees, Differs, Holds, Parameter};
    let statement = row("two", "at_least = 1", "r").replace("check", "claim");
    let formula = "[[row]]\nid = 'four'\nplace = 'p'\ntext = 't'\nkind = 'theory'\n\
                   published = 1\nwithin = 0\nmeasure = { take = 'law', law = 'mathis', \
                   line = 'cycle_rtts', arguments = { mss = '1', rtt = '1s', p = '1' } }\n";
    let parameter = "[[row]]\nid = 'five'\nplace = 'p'\ntext = 't'\nkind = 'parameter'\n\
                     expected = 3\nfitted_to = ['one']\nfitted_on_seeds = [11, 20]\n";
    let rows = row("one", "published = 10\nwithin = 1", "r")
        + &statement
        + &row("three", "at_least = 99", "r")
        + formula
        + parameter;
    let rows = results(&rows);
    let words: Vec<Verdict> = rows.iter().map(|row| row.verdict).collect();
    // The cycle of Mathis' sawtooth at p = 1 is sqrt(8/3)/2 = 0.82, not 1.
    assert_eq!(words, [Agrees, Holds, Differs, Differs, Parameter]);
    let tally = Tally::of(&rows);
    assert_eq!(
        (tally.measured_numbers.within, tally.measured_numbers.judged),
        (1, 1)
    );
    assert_eq!(
        (tally.formula_numbers.differ, tally.formula_numbers.judged),
        (1, 1)
    );
    assert_eq!((tally.statements.within, tally.checks.differ), (1, 1));
    assert_eq!(tally.parameters_to_numbers(), "1 : 2");
    assert_eq!(tally.fitted_numbers, 1);
    assert_eq!(
        rows[4].fit.as_deref(),
        Some("fitted to one, on seeds 11 to 20")
    );
}

#[test]
fn a_fit_on_the_seeds_that_judge_is_refused() {
    let seeds = "[[run]]\nname = 's'\nscenario = 'r.toml'\nabout = 'a'\nseeds = 20\n";
    let judged = row("two", "published = 10\nwithin = 1", "s");
    let text = |first: u32| {
        let row = with_row(&format!(
            "kind = 'parameter'\nexpected = 3\nfitted_to = ['two']\nfitted_on_seeds = [{first}, 40]"
        ));
        format!("{row}{seeds}{judged}")
    };
    let message = error(&text(20));
    assert!(
        message.contains("beyond the 20 seeds that judge"),
        "{message}"
    );
    assert!(Published::parse("x", &text(21)).is_ok());
}

#[test]
fn a_row_over_seeds_has_mean_deviation_share_and_percentile() {
    let found = results(&row("one", "published = 10.5\nwithin = 0.6", "s")).remove(0);
    let seeds = found.seeds.unwrap();
    // 9, 10 and 11: deviation 1, standard error 1/sqrt(3); 10 and 11 lie within 9.9 to 11.1.
    assert_eq!(
        (found.measured, found.verdict),
        (Some(10.0), Verdict::Agrees)
    );
    assert!((seeds.standard_deviation - 1.0).abs() < 1e-12);
    assert!((seeds.standard_error - 3.0_f64.sqrt().recip()).abs() < 1e-12);
    assert_eq!(seeds.share_within, Some(2.0 / 3.0));
    assert_eq!(seeds.percentile, Some(200.0 / 3.0));
    assert_eq!(found.measured_text(), "10 ± 0.58 Mbit/s");
    assert_eq!(found.share_text(), "2 of 3");
}

#[test]
fn equal_runs_of_different_seeds_count_once() {
    let found = results(&row("one", "published = 12\nwithin = 1", "equal")).remove(0);
    assert_eq!((found.measured, found.seeds), (Some(12.0), None));
    assert_eq!(found.measured_text(), "12 Mbit/s");
}

#[test]
fn a_curve_says_how_many_runs_its_points_have() {
    for (first, second, label) in [
        ("r", "equal", "c"),
        ("s", "s", "c, mean and 95 % interval, n = 3"),
        ("r", "s", "c, mean and 95 % interval, n = 1 to 3"),
    ] {
        let (published, runs, rows) = judged(
            &(row("one", "at_least = 1", first)
                + &row("two", "at_least = 1", second)
                + "[[plot]]\nname = 'p'\nkind = 'sweep'\ntitle = 't'\ncaption = 'c'\n\
                   x = [1, 2]\nx_label = 'x'\ny_label = 'y'\n\
                   [[plot.curves]]\nlabel = 'c'\nrows = ['one', 'two']\n"),
        );
        let plots = draw::plots("x", &published, &rows, &runs);
        let Drawing::Plot(plot) = &plots[0].drawing else {
            panic!("not a plot")
        };
        assert_eq!(plot.layers[0].name, label, "{first}, {second}");
    }
}

#[test]
fn a_ratio_of_rows_is_taken_seed_by_seed() {
    let rows = row("one", "at_least = 1", "s")
        + &row("two", "at_least = 1", "equal")
        + "[[row]]\nid = 'r'\nplace = 'p'\ntext = 't'\nkind = 'check'\nat_most = 0.9\n\
           measure = { take = 'ratio', between = ['one', 'two'] }\n";
    let found = results(&rows).remove(2);
    assert_eq!(found.values, [9.0 / 12.0, 10.0 / 12.0, 11.0 / 12.0]);
    assert_eq!(found.seeds.unwrap().share_within, Some(2.0 / 3.0));
}

#[test]
fn an_explanation_counts_only_while_its_evidence_holds() {
    let explained = "published = 20\nwithin = 1\nexplanation = 'because'\nexplained_by = ['two']";
    let one = row("one", explained, "r");
    let holds = one.clone() + &row("two", "at_least = 1", "r");
    assert_eq!(verdicts(&holds)[0].1, Verdict::Explained);
    let fails = one + &row("two", "at_least = 100", "r");
    assert_eq!(verdicts(&fails)[0].1, Verdict::Differs);
}

#[test]
fn a_value_that_the_run_does_not_hold_differs() {
    let absent = "[[row]]\nid = 'one'\nplace = 'p'\ntext = 't'\nkind = 'check'\nat_least = 0\n\
                  measure = { take = 'mean', run = 'r', of = 'allowed_rate_bps' }\n";
    assert_eq!(verdicts(absent)[0].1, Verdict::Differs);
}

fn reproduction(rows: &str) -> Reproduction {
    let rows = results(rows);
    Reproduction {
        experiments: vec![ExperimentResult {
            name: "x".to_owned(),
            title: "A & B".to_owned(),
            source: String::new(),
            about: String::new(),
            variants: Vec::new(),
            tally: Tally::of(&rows),
            rows,
            findings: Vec::new(),
            runs: Vec::new(),
            plots: Vec::new(),
        }],
    }
}

#[test]
fn the_exit_status_is_3_only_when_a_judged_row_differs() {
    let good = reproduction(&row("one", "published = 10\nwithin = 1", "r"));
    assert_eq!((good.exit_status(), good.holds()), (0, true));
    let bad = reproduction(&row("one", "published = 20\nwithin = 1", "r"));
    assert_eq!((bad.exit_status(), bad.holds()), (3, false));
    let input = "[[row]]\nid = 'i'\nplace = 'p'\ntext = 't'\nkind = 'input'\npublished = 99\n";
    assert_eq!(reproduction(input).exit_status(), 0);
}

#[test]
fn a_page_has_no_empty_table_and_tells_points_from_percent() {
    let heading = "Conditions of the document, set and not judged";
    let points = row("one", "published = 10\nwithin = 1", "r").replace("Mbit/s", "%");
    let page = reproduction(&points).html();
    assert!(page.contains("± 1 percentage points"), "{page}");
    assert!(!page.contains(heading), "{page}");
    let input = "[[row]]\nid = 'i'\nplace = 'p'\ntext = 't'\nkind = 'input'\npublished = 99\n";
    let page = reproduction(input).html();
    assert!(page.contains(heading), "{page}");
    let percent = "published = 10\nwithin_percent = 1";
    let page = reproduction(&row("one", percent, "r")).html();
    assert!(page.contains("± 1 %"), "{page}");
}

#[test]
fn json_has_the_table_and_the_page_has_every_row() {
    let result = reproduction(&row("one", "published = 20\nwithin = 1", "r"));
    let json: serde_json::Value = serde_json::from_str(&result.json()).unwrap();
    let row = &json["experiments"][0]["rows"][0];
    assert_eq!(row["published"], 20.0);
    assert_eq!(row["measured"], 10.0);
    assert_eq!(row["deviation"], -0.5);
    assert_eq!(row["verdict"], "differs");
    let page = result.html();
    assert!(page.contains("A &amp; B") && page.contains("No explanation is known."));
    assert!(page.contains("−50.00 %"));
    for word in ["http:", "https:", "<script", "@import", "<link"] {
        let page = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn a_row_with_a_reference_is_judged_by_another_run_unless_the_machine_was_busy() {
    let text = with_row(
        "kind = 'check'\nunit = 'Mbit/s'\nwithin_percent = 10\n\
         reference = { take = 'throughput', run = 'r' }\n\
         measure = { take = 'throughput', run = 'w' }",
    );
    let wire = "[[run]]\nname = 'w'\nscenario = 'r.toml'\nabout = 'a'\ntestbed = true\n";
    let published = Published::parse("x", &format!("{text}{wire}")).unwrap();
    assert!(published.needs_testbed());
    let endpoints = |written: &str| {
        let wire = wire.replace("true", written);
        let published = Published::parse("x", &format!("{text}{wire}"));
        published.map(|published| published.runs.last().and_then(|run| run.testbed))
    };
    assert_eq!(endpoints("true").unwrap(), Some(Testbed::Sockets));
    assert_eq!(endpoints("'kernel-tcp'").unwrap(), Some(Testbed::KernelTcp));
    assert_eq!(endpoints("false").unwrap(), None);
    let error = endpoints("'kernel'").unwrap_err().to_string();
    assert!(
        error.contains("expected true, false or \"kernel-tcp\""),
        "{error}"
    );
    for (megabits, late_s, verdict) in [
        (4.8, 0.0001, Verdict::Checked),
        (4.0, 0.0001, Verdict::Differs),
        (4.8, 0.004, Verdict::Busy),
    ] {
        let run = |megabits: f64, late_s: f64| RunData {
            throughput_bps: megabits * 1e6,
            summary: serde_json::json!({ "run": { "lateness_p99_s": late_s } }),
            ..RunData::default()
        };
        let runs = Runs::from([
            runset(&published, "r", vec![run(5.0, 0.0)]),
            runset(&published, "w", vec![run(megabits, late_s)]),
        ]);
        let row = judge(&published.rows, &runs).unwrap().remove(0);
        assert_eq!(
            (row.verdict, row.published, row.expected),
            (verdict, None, Some(5.0))
        );
    }
}

#[test]
fn no_run_starts_once_the_watcher_wants_the_end() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    struct AfterOne(AtomicUsize);
    impl Watcher for AfterOne {
        fn progress(&self, _: Progress) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        fn finished(&self, _: &ExperimentResult) {}
        fn is_over(&self) -> bool {
            self.0.load(Ordering::Relaxed) > 0
        }
    }
    let source = ExperimentFiles::embedded("slow-start").unwrap();
    let watcher = AfterOne(AtomicUsize::new(0));
    let ended = reproduce(&[source], Options::default(), &watcher);
    assert!(
        matches!(ended, Err(ExperimentError::Cancelled)),
        "{ended:?}"
    );
    let made = watcher.0.into_inner();
    // Only the runs that had started, one for each thread, were made.
    assert!(made <= rayon::current_num_threads(), "{made}");
}
