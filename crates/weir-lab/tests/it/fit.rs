//! Paths fitted to exports of runs, where the truth is known: the fitted path's run is within a
//! tenth of the trace in goodput and in the 95th percentile of the round trip.

use std::fs::File;
use weir_lab::diagnosis::Trace;
use weir_lab::fit::{Fit, FitError, Subject, fit};
use weir_lab::run::{RunError, RunOptions, RunOutput, TraceLevel, run};
use weir_lab::scenario::{Scenario, parse};
use weir_lab::trace::import::{self, Imported, Vantage};
use weir_lab::trace::{CaptureOptions, Format, capture_run, export};

fn simulated(scenario: &Scenario, most: Option<u64>) -> Result<RunOutput, RunError> {
    let options = RunOptions {
        trace: TraceLevel::Full,
        packets: true,
        max_events: most,
        ..RunOptions::default()
    };
    run(scenario, &options)
}

fn runner(scenario: &Scenario, most: u64) -> Result<RunOutput, RunError> {
    simulated(scenario, Some(most))
}

/// A flow of so many seconds over one link.
fn scenario(seconds: u32, [forward, backward]: [&str; 2], flow: &str) -> Scenario {
    let text = format!(
        r#"
        run = {{ duration = "{seconds}s", seed = 5 }}
        [[link]]
        name = "wire"
        between = ["a", "b"]
        forward = {{ {forward} }}
        backward = {{ {backward} }}
        [[flow]]
        name = "bulk"
        from = "a"
        to = "b"
        {flow}
        "#
    );
    parse(&text, "test.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn tcp(controller: &str) -> String {
    format!(r#"transport = {{ kind = "tcp", controller = "{controller}" }}"#)
}

/// The capture of a run at a host.
fn captured(scenario: &Scenario, host: &str) -> Imported {
    let run = simulated(scenario, None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packets.pcapng");
    let options = CaptureOptions {
        host: Some(host),
        snap_octets: 96,
        ..CaptureOptions::default()
    };
    capture_run(
        scenario,
        &run.summary,
        &options,
        File::create(&path).unwrap(),
    )
    .unwrap();
    import::read(&path).unwrap()
}

fn fitted(imported: &Imported) -> Result<Fit, FitError> {
    let trace = Trace::of_import(imported);
    let subject = Subject::of_import(imported, &trace, None)?;
    fit(&subject, &runner)
}

/// The fit of a capture beside the sender of a run.
fn fit_of(scenario: &Scenario) -> Fit {
    fitted(&captured(scenario, "a")).unwrap_or_else(|error| panic!("{error}"))
}

/// Goodput and 95th percentile are within a tenth, without the chance of single losses if there is
/// any.
fn assert_near(fit: &Fit, what: &str) {
    let all = &fit.differences;
    let figures = all.own_losses.as_ref().unwrap_or(&all.fitted);
    let [goodput, _, p95] = figures.relative_to(&all.trace);
    let near = goodput.abs() <= 0.1 && p95.abs() <= 0.1;
    assert!(near, "{what}: {all:?}\n{}", fit.toml);
}

fn value<'f>(fit: &'f Fit, name: &str) -> &'f str {
    let mut parameters = fit.parameters.iter();
    let found = parameters.find(|parameter| parameter.name == name);
    found.map_or("", |parameter| parameter.value.as_str())
}

/// The rate of the fitted link, in bit/s.
fn rate(fit: &Fit) -> f64 {
    fit.scenario.links[0].forward.rate.unwrap_or(0) as f64
}

#[test]
fn a_fifo_is_found_with_its_rate_its_delay_and_its_limit() {
    for (mbit, millis, limit, controller) in [
        (10, 20, 100, "cubic"),
        (3, 40, 60, "newreno"),
        (20, 10, 60, "cubic"),
        (10, 20, 8, "cubic"),
        (20, 40, 20, "newreno"),
    ] {
        let forward = format!(
            r#"rate = "{mbit}Mbit", delay = "{millis}ms", queue = {{ kind = "droptail", limit = {limit} }}"#
        );
        let backward = format!(r#"rate = "{mbit}Mbit", delay = "{millis}ms""#);
        let scenario = scenario(20, [&forward, &backward], &tcp(controller));
        let fit = fit_of(&scenario);
        assert_near(&fit, &forward);
        assert!(
            (rate(&fit) / (f64::from(mbit) * 1e6) - 1.0).abs() < 0.02,
            "{}",
            fit.toml
        );
        let delay = fit.scenario.links[0].forward.delay.least.as_secs_f64();
        assert!(
            (delay * 1e3 / f64::from(millis) - 1.0).abs() < 0.06,
            "{}",
            fit.toml
        );
        let found = value(&fit, "link.path.forward.queue");
        let found: f64 = found.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((found - f64::from(limit)).abs() <= 2.0, "{found} {limit}");
        let controller = format!("tcp {controller}");
        assert_eq!(value(&fit, "flow.transport"), controller);
    }
}

#[test]
fn losses_of_the_wire_are_found_single_or_in_bursts() {
    let backward = r#"delay = "20ms""#;
    for (mbit, loss, share) in [
        (10, r#"{ kind = "random", rate = 0.01 }"#, 0.01),
        (30, r#"{ kind = "random", rate = 0.004 }"#, 0.004),
        // 0.002 / (0.002 + 0.3).
        (
            10,
            r#"{ kind = "gilbert", to_bad = 0.002, to_good = 0.3 }"#,
            0.0066,
        ),
        (
            20,
            r#"{ kind = "gilbert", to_bad = 0.001, to_good = 0.25 }"#,
            0.004,
        ),
    ] {
        let forward = format!(
            r#"rate = "{mbit}Mbit", delay = "20ms", loss = {loss}, queue = {{ kind = "droptail", limit = 300 }}"#
        );
        let fit = fit_of(&scenario(60, [&forward, backward], &tcp("cubic")));
        assert_near(&fit, &forward);
        assert!(
            (rate(&fit) / (f64::from(mbit) * 1e6) - 1.0).abs() < 0.05,
            "{}",
            fit.toml
        );
        let found = value(&fit, "link.path.forward.loss");
        let is_burst = loss.contains("gilbert");
        assert_eq!(found.starts_with("gilbert"), is_burst, "{found}");
        let mean = fit.scenario.links[0].forward.loss.mean_loss().unwrap();
        assert!((mean / share - 1.0).abs() < 0.4, "{mean} {share}");
        // Chance is what the range of runs is for.
        let [least, most] = &fit.differences.range;
        let goodput = fit.differences.trace.goodput_bps;
        let range = 0.85 * least.goodput_bps..=1.15 * most.goodput_bps;
        assert!(range.contains(&goodput), "{goodput} {range:?}");
    }
}

#[test]
fn codel_is_told_from_losses_of_the_wire() {
    for (mbit, millis, controller) in [(10, 20, "cubic"), (20, 50, "newreno"), (5, 30, "cubic")] {
        let forward =
            format!(r#"rate = "{mbit}Mbit", delay = "{millis}ms", queue = {{ kind = "codel" }}"#);
        let backward = format!(r#"delay = "{millis}ms""#);
        let fit = fit_of(&scenario(20, [&forward, &backward], &tcp(controller)));
        assert_near(&fit, &forward);
        let queue = value(&fit, "link.path.forward.queue");
        assert!(queue.starts_with("codel"), "{queue}");
    }
}

/// A rate that goes from 3 to 15 Mbit/s, another each 400 ms.
fn changing(seed: u64) -> String {
    let steps = (1..50_u64).map(|step| {
        let mbit = 3 + (step * step * seed + step) % 13;
        format!(r#"{{ at = "{}ms", rate = "{mbit}Mbit" }}"#, 400 * step)
    });
    steps.collect::<Vec<_>>().join(", ")
}

#[test]
fn a_rate_over_time_is_a_schedule() {
    for (seed, controller, limit) in [(3, "cubic", 100), (5, "newreno", 200), (7, "cubic", 60)] {
        let forward = format!(
            r#"rate = "8Mbit", delay = "20ms", queue = {{ kind = "droptail", limit = {limit} }}, change = [{}]"#,
            changing(seed)
        );
        let fit = fit_of(&scenario(
            20,
            [&forward, r#"delay = "20ms""#],
            &tcp(controller),
        ));
        assert_near(&fit, &forward);
        assert!(
            fit.scenario.links[0].forward.changes.len() > 20,
            "{}",
            fit.toml
        );
    }
}

#[test]
fn a_way_back_that_loses_acknowledgements_is_found() {
    let forward = r#"rate = "10Mbit", delay = "20ms", queue = { kind = "droptail", limit = 100 }"#;
    for (backward, least, most) in [
        (
            r#"delay = "5ms", loss = { kind = "random", rate = 0.2 }"#,
            0.12,
            0.25,
        ),
        (r#"rate = "1Mbit", delay = "50ms""#, 0.0, 0.0),
        (
            r#"delay = "10ms", ack_thinning = { kind = "every", n = 3 }"#,
            0.0,
            0.05,
        ),
    ] {
        let fit = fit_of(&scenario(20, [forward, backward], &tcp("cubic")));
        assert_near(&fit, backward);
        let mean = fit.scenario.links[0].backward.loss.mean_loss().unwrap();
        assert!((least..=most).contains(&mean), "{mean} {backward}");
    }
}

#[test]
fn a_qlog_and_the_tables_of_a_run_give_the_same_path() {
    let forward = r#"rate = "8Mbit", delay = "15ms", queue = { kind = "droptail", limit = 80 }"#;
    let flow = r#"transport = { kind = "quic", controller = "cubic" }"#;
    let scenario = scenario(20, [forward, r#"delay = "15ms""#], flow);
    let run = simulated(&scenario, None).unwrap();
    let files = export(&run, Format::Qlog).unwrap();
    let imported = import::qlog::read(std::io::Cursor::new(&files[0].content)).unwrap();
    let of_qlog = fitted(&imported).unwrap();
    assert_near(&of_qlog, "qlog");
    let trace = Trace::of_run(&run);
    let subject = Subject::of_run(&trace, None).unwrap();
    let of_run = fit(&subject, &runner).unwrap();
    assert_near(&of_run, "run");
    for fit in [of_qlog, of_run] {
        assert!((rate(&fit) / 8e6 - 1.0).abs() < 0.02, "{}", fit.toml);
        // What is written is what was run.
        assert_eq!(parse(&fit.toml, "path.toml").unwrap(), fit.scenario);
    }
}

#[test]
fn a_sender_that_its_application_holds_shows_the_least_rate_only() {
    let forward = r#"rate = "10Mbit", delay = "20ms""#;
    let flow = format!(
        "{}\napp = {{ kind = \"cbr\", rate = \"2Mbit\" }}",
        tcp("cubic")
    );
    let fit = fit_of(&scenario(20, [forward, r#"delay = "20ms""#], &flow));
    assert_near(&fit, "cbr");
    let remarks = fit.remarks.join("\n");
    assert!(remarks.contains("at least"), "{remarks}");
    assert!(value(&fit, "flow.app").starts_with("cbr"), "{}", fit.toml);
}

#[test]
fn what_shows_no_path_is_refused_with_what_to_do() {
    let forward = r#"rate = "10Mbit", delay = "20ms""#;
    let flow = format!(
        "{}\napp = {{ kind = \"bulk\", total = 15000 }}",
        tcp("cubic")
    );
    let short = scenario(2, [forward, forward], &flow);
    let error = fitted(&captured(&short, "a")).unwrap_err().to_string();
    assert!(error.contains("expected at least 20"), "{error}");
    let bulk = scenario(5, [forward, forward], &tcp("cubic"));
    let beside_receiver = captured(&bulk, "b");
    assert_eq!(beside_receiver.flows[0].vantage, Vantage::Receiver);
    let error = fitted(&beside_receiver).unwrap_err().to_string();
    assert!(error.contains("capture beside the sender"), "{error}");
    let imported = captured(&bulk, "a");
    let trace = Trace::of_import(&imported);
    let error = Subject::of_import(&imported, &trace, Some("tcp-9")).unwrap_err();
    assert!(error.to_string().contains("no flow \"tcp-9\""), "{error}");
    let mut subject = Subject::of_import(&imported, &trace, None).unwrap();
    subject.controller = Some("vegas".to_owned());
    let error = fit(&subject, &runner).unwrap_err().to_string();
    assert!(error.contains("the nearest is \"copa\""), "{error}");
}
