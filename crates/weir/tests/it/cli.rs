//! The command as users see it: exit statuses, streams, files.

use crate::common::{self, Running, SCENARIO, folder_with, only_run, outcome, parse, run, weir};
use std::process::Stdio;

#[test]
fn theory_says_what_the_equation_gives() {
    let folder = folder_with("");
    let words = [
        "theory", "tfrc", "--s", "1400", "--rtt", "400ms", "--p", "0.002",
    ];
    let (status, out, err) = outcome(folder.path(), &words);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.contains("753.25 kbit/s"), "{out}");
    let (status, out, _) = outcome(folder.path(), &[&words[..], &["--json"]].concat());
    let document = parse(&out);
    assert_eq!((status, &document["law"]), (Some(0), &"tfrc".into()));
}

#[test]
fn wrong_words_are_status_2_with_a_hint_on_stderr() {
    let folder = folder_with("");
    for (words, hint) in [
        (&["theory", "mathiss"][..], "did you mean \"mathis\""),
        (&["theory", "tfrc", "--s", "1400"], "tfrc needs --"),
        (&["frobnicate"], "unrecognized subcommand"),
        (&["reproduc"], "a similar subcommand exists: 'reproduce'"),
        (&["reproduce", "losy-link"], "did you mean \"lossy-link\"?"),
        (&["suite", "rfc9743"], "weir evaluate"),
        (&["evaluate", "tcp:vegas"], "the nearest is \"copa\""),
        (&["run", "."], "it is a folder, expected a scenario"),
        (&["run", "nowhere.toml"], "nowhere.toml"),
        (&["plot", "nowhere"], "nowhere"),
        (
            &["reproduce", "nothing"],
            "there is no experiment \"nothing\"",
        ),
        (&["decode", "nowhere.pcap"], "nowhere.pcap"),
        (
            &["theory", "mathis", "--p", "1%", "--p", "2%"],
            "--p is there twice, expected it once",
        ),
        (&["evaluate", "quic:cubik"], "did you mean \"cubic\"?"),
        (
            &["evaluate", "tcp:cubic,rule=rfc"],
            "did you mean \"rules\"?",
        ),
        (
            &["run", "path.toml", "--max-events", "nan"],
            "expected a whole number of events",
        ),
        (&["send", "127.0.0.1", "-p", "0"], "1 to 65535"),
        (
            &["send", "127.0.0.1", "-t", "nan"],
            "in seconds or with a unit",
        ),
        (
            &["reproduce", "slow-start", "slow-start"],
            "expected each name once",
        ),
    ] {
        let (status, out, err) = outcome(folder.path(), words);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{words:?}: {err}");
        assert!(err.contains(hint), "{words:?}: {err}");
    }
}

#[test]
fn a_folder_without_cases_is_no_suite() {
    let folder = tempfile::tempdir().expect("a folder");
    let (status, out, err) = outcome(folder.path(), &["suite", "."]);
    assert_eq!((status, out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("the folder has no case"), "{err}");
    assert!(!folder.path().join("reports").exists());
}

#[test]
fn every_command_has_help() {
    let folder = folder_with("");
    let (status, out, _) = outcome(folder.path(), &["--help"]);
    assert_eq!(status, Some(0));
    for command in [
        "reproduce",
        "run",
        "compare",
        "lint",
        "plot",
        "export",
        "decode",
        "theory",
        "schema",
        "completions",
    ] {
        assert!(out.contains(&format!("\n  {command} ")), "{command}: {out}");
        let (status, out, err) = outcome(folder.path(), &[command, "--help"]);
        assert_eq!((status, err.as_str()), (Some(0), ""), "{command}");
        assert!(out.contains(&format!("weir {command}")), "{command}: {out}");
    }
}

#[test]
fn laws_are_listed_as_text_and_as_data() {
    let folder = folder_with("");
    let (status, out, _) = outcome(folder.path(), &["theory"]);
    assert_eq!(status, Some(0));
    assert!(out.contains("\n  mathis "), "{out}");
    let (status, out, _) = outcome(folder.path(), &["theory", "--json"]);
    let document = parse(&out);
    assert_eq!(status, Some(0));
    assert_eq!(document["laws"][0]["parameters"][0]["name"], "s");
    for words in [
        ["theory", "tfrc", "--json", "--help"],
        ["theory", "tfrc", "--help", "--json"],
    ] {
        let (_, out, _) = outcome(folder.path(), &words);
        let document = parse(&out);
        assert_eq!(document["law"], "tfrc");
    }
}

#[test]
fn a_law_says_where_it_holds_if_that_was_measured() {
    let folder = folder_with("");
    let path = ["--mss", "1252", "--rtt", "2ms", "--p", "2%"];
    for (law, end) in [("mathis", "0.72 at 10 %\n"), ("mathis-b", "0.71 at 10 %\n")] {
        let (status, out, _) = outcome(folder.path(), &[&["theory", law][..], &path].concat());
        assert_eq!(status, Some(0));
        assert!(
            out.contains("RTT  length of a cycle") && out.ends_with(end),
            "{out}"
        );
        let (_, out, _) = outcome(folder.path(), &["theory", law, "--help"]);
        assert!(out.contains(end), "{out}");
    }
    let (_, out, _) = outcome(folder.path(), &["theory", "pftk", "--help"]);
    assert!(!out.contains("times this throughput"), "{out}");
}

#[test]
fn a_mistake_in_the_words_is_a_document_where_json_is_asked_for() {
    let folder = folder_with("");
    for (words, hint) in [
        (&["run", "--json"][..], "<SCENARIO>"),
        (&["plot", "a", "--jsom", "--json"], "'--jsom'"),
        (&["reproduce", "nothing", "--json"], "nothing"),
    ] {
        let (status, out, err) = outcome(folder.path(), words);
        let document = parse(&out);
        let message = document["error"]["message"].as_str().expect("a text");
        assert_eq!((status, err.as_str()), (Some(2), ""), "{words:?}");
        assert!(message.contains(hint), "{message}");
        assert!(!message.contains("Usage"), "{message}");
    }
}

#[test]
fn a_bad_scenario_names_its_place_and_writes_nothing() {
    let folder = folder_with("[run]\nduration = \"3parsec\"\n");
    let (status, out, err) = outcome(folder.path(), &["run", "path.toml"]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    assert!(err.contains("path.toml:2:"), "{err}");
    assert!(!folder.path().join("results").exists());
    let (status, out, _) = outcome(folder.path(), &["run", "path.toml", "--json"]);
    let document = parse(&out);
    assert_eq!((status, &document["error"]["line"]), (Some(2), &2.into()));
}

#[test]
fn a_run_can_be_plotted_exported_and_repeated() {
    let folder = folder_with(SCENARIO);
    let (status, out, err) = outcome(folder.path(), &["run", "path.toml"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("throughput"), "{out}");
    let run = only_run(folder.path());
    for words in [
        &["plot", &run][..],
        &["export", &run, "--format", "csv"],
        &["export", &run, "--format", "dccp-probe"],
    ] {
        let (status, out, err) = outcome(folder.path(), words);
        assert_eq!(status, Some(0), "{words:?}: {err}");
        for file in out.lines() {
            let size = std::fs::metadata(folder.path().join(file))
                .expect("it is there")
                .len();
            assert!(size > 20, "{file}");
        }
    }
    // The resolved scenario alone gives the same run and the same bytes.
    let summary =
        |path: &str| std::fs::read(folder.path().join(path).join("summary.json")).expect("read");
    let again = format!("{run}/scenario.toml");
    let (status, ..) = outcome(folder.path(), &["run", &again, "--out", "again"]);
    assert_eq!(status, Some(0));
    let repeated = run.replace("results/path", "again/scenario");
    assert_eq!(summary(&run), summary(&repeated));
}

#[test]
fn values_and_seeds_make_a_run_each_in_one_document() {
    let folder = folder_with(SCENARIO);
    let words = [
        "run",
        "path.toml",
        "--set",
        "flow.stream.transport.profile=rfc3448,linux-mainline",
        "--seeds",
        "1..3",
        "--json",
        "--summary-only",
    ];
    let (status, out, err) = outcome(folder.path(), &words);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let document = parse(&out);
    assert_eq!(document["runs"].as_array().map(Vec::len), Some(6));
    let set = &document["runs"][5]["set"];
    assert_eq!(set["flow.stream.transport.profile"], "linux-mainline");
    assert_eq!(set["run.seed"], "3");
}

#[test]
fn equal_runs_of_several_seeds_count_once() {
    let folder = folder_with(SCENARIO);
    let words = ["run", "path.toml", "--seeds", "1..3", "--summary-only"];
    let (status, out, err) = outcome(folder.path(), &words);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let said = "nothing here is random: 3 seeds gave the same run, which counts once";
    assert!(out.contains(said), "{out}");
    let index = std::fs::read_to_string(folder.path().join("results/index.json")).expect("index");
    let index = parse(&index);
    let runs = index["runs"].as_array().expect("runs");
    let seeds: Vec<_> = runs.iter().map(|run| run["seed"].as_u64()).collect();
    assert_eq!(seeds, [Some(1), Some(2), Some(3)]);
    assert_eq!(runs[0].get("equals"), None);
    assert_eq!(runs[2]["equals"], runs[0]["folder"]);
    assert_eq!(runs[2]["scenario"], "path.toml");
}

#[test]
fn seeds_give_means_with_intervals_whatever_the_number_of_threads() {
    let set = "flow.stream.transport.tfrc.oscillation=off,full";
    let words = [
        "run",
        "path.toml",
        "--set",
        "flow.stream.start=0s..1s",
        "--set",
        set,
        "--seeds",
        "1..4",
        "--summary-only",
    ];
    let with_threads = |threads: &str, json: bool| {
        let folder = folder_with(SCENARIO);
        let mut command = weir(&words);
        command.current_dir(folder.path());
        command.env("RAYON_NUM_THREADS", threads);
        if json {
            command.arg("--json");
        }
        let (status, out, err) = run(&mut command);
        assert_eq!((status, err.as_str()), (Some(0), ""));
        let index = folder.path().join("results/index.json");
        (out, std::fs::read_to_string(index).expect("an index"))
    };
    let one = with_threads("1", false);
    assert_eq!(one, with_threads("4", false));
    let table = &one.0;
    assert_eq!(table.matches("4 of 4 runs count").count(), 2, "{table}");
    assert!(
        table.contains("std. error") && table.contains("95 % interval"),
        "{table}"
    );
    let document = parse(&with_threads("2", true).0);
    let groups = document["replicated"].as_array().expect("groups");
    assert_eq!(groups.len(), 2);
    let measure = &groups[0]["measures"]["/flows/stream/throughput_bps"];
    assert_eq!(measure["n"], 4);
    let rates = document["runs"].as_array().expect("runs").iter().take(4);
    let rates = rates.map(|run| run["summary"]["flows"]["stream"]["throughput_bps"].as_f64());
    let mean = rates.map(|rate| rate.expect("a rate")).sum::<f64>() / 4.0;
    assert_eq!(measure["mean"].as_f64(), Some(mean));
    let end = |n: usize| measure["interval_95"][n].as_f64().expect("an end");
    assert!(end(0) < mean && mean < end(1), "{measure}");
}

#[test]
fn two_settings_are_compared_over_their_seeds() {
    let scenario = SCENARIO.replace(
        "transport = { kind = \"dccp\", ccid = 3, profile = \"rfc5348\" }",
        "transport = { kind = \"quic\", controller = \"cubic\" }\n\
         loss = { kind = \"random\", rate = 0.01 }",
    );
    let folder = folder_with(&scenario.replace("1Mbit", "50Mbit"));
    let beta = "flow.stream.transport.cubic.beta";
    let (set, of_a) = (format!("{beta}=0.7,0.3"), format!("{beta}=0.7"));
    let of_b = format!("{beta}=0.3");
    let sweep = ["run", "path.toml", "--set", &set, "--seeds", "1..20"];
    assert_eq!(outcome(folder.path(), &sweep).0, Some(0));
    let words = ["compare", "results", "results", "--a", &of_a, "--b", &of_b];
    let compare = |more: &[&str]| outcome(folder.path(), &[&words[..], more].concat());

    let (status, text, err) = compare(&[]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let changed = format!("{beta}: 0.7 in A, 0.3 in B");
    for line in [
        &changed,
        "20 pairs of equal seeds",
        "traces part in 20 of 20 pairs",
        "goodput",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let document = parse(&compare(&["--json"]).1);
    let effects = document["effects"].as_array().expect("effects");
    let goodput = effects
        .iter()
        .find(|effect| effect["measure"] == "goodput_bps");
    let goodput = goodput.expect("goodput");
    assert_eq!(
        (&goodput["n"], &goodput["verdict"]),
        (&20.into(), &"differs".into())
    );
    // A difference beyond the threshold gives status 3; Markdown output is a table.
    let (status, text, err) = compare(&["--threshold", "1%", "--format", "markdown"]);
    assert_eq!(status, Some(3), "{text}");
    assert!(err.contains("differ by more than 1 %"), "{err}");
    assert!(text.contains("| flow stream | A | B | B − A |"), "{text}");
    // Equal runs never differ.
    let same = [
        "compare",
        "results",
        "results",
        "--a",
        &of_a,
        "--b",
        &of_a,
        "--threshold",
        "0%",
    ];
    let (status, text, _) = outcome(folder.path(), &same);
    assert_eq!(status, Some(0), "{text}");
    assert!(
        text.contains("traces that both sides kept are equal"),
        "{text}"
    );
    let identical = [&same[..7], &["--identical"]].concat();
    assert_eq!(outcome(folder.path(), &identical).0, Some(0));
    let (status, _, err) = compare(&["--identical"]);
    assert_eq!(status, Some(3), "{err}");
    assert!(err.contains("traces part in 20 of 20 pairs"), "{err}");
    // Without conditions the runs cannot be paired.
    let (status, _, err) = outcome(folder.path(), &["compare", "results", "path.toml"]);
    assert_eq!(status, Some(2), "{err}");
}

#[test]
fn a_comparison_without_traces_says_so() {
    let scenario = SCENARIO.replace(
        "transport = { kind = \"dccp\", ccid = 3, profile = \"rfc5348\" }",
        "transport = { kind = \"quic\" }\nloss = { kind = \"random\", rate = 0.01 }",
    );
    let folder = folder_with(&scenario.replace("1Mbit", "50Mbit"));
    let threshold = |packets: u32| format!("flow.stream.transport.packet_threshold={packets}");
    for (packets, out) in [(3, "a"), (2, "b"), (3, "c")] {
        let set = threshold(packets);
        let words = [
            "run",
            "path.toml",
            "--summary-only",
            "--set",
            &set,
            "--out",
            out,
        ];
        assert_eq!(outcome(folder.path(), &words).0, Some(0));
    }
    let compare = |b| outcome(folder.path(), &["compare", "a", b, "--identical"]);
    let (status, text, err) = compare("b");
    assert_eq!(status, Some(3), "{text}");
    let why = "measures differ in 1 of 1 pair; no pair has traces on both sides";
    assert!(text.contains(why) && err.contains(why), "{text}{err}");
    let (status, text, _) = compare("c");
    assert_eq!(status, Some(0), "{text}");
    let equal = "the measures are equal in all pairs; no pair has traces on both sides";
    assert!(text.contains(equal), "{text}");
}

#[test]
fn lint_says_a_line_for_each_finding() {
    let folder = folder_with(SCENARIO);
    let (status, text, err) = outcome(folder.path(), &["lint", "path.toml", "--seeds"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(text.starts_with("path.toml: run.seed [seeds]: "), "{text}");
    // One run needs no seeds.
    let (_, text, _) = outcome(folder.path(), &["lint", "path.toml"]);
    assert!(!text.contains("[seeds]"), "{text}");
    let (status, ..) = outcome(folder.path(), &["lint", "path.toml", "--seeds", "--deny"]);
    assert_eq!(status, Some(3));
    let (_, text, _) = outcome(
        folder.path(),
        &["run", "path.toml", "--summary-only", "--seeds", "1..2"],
    );
    assert!(
        text.contains(" on the scenario: weir lint path.toml --seeds\n"),
        "{text}"
    );
    let words = [
        "run",
        "path.toml",
        "--summary-only",
        "-v",
        "--seeds",
        "1..2",
    ];
    let (_, _, err) = outcome(folder.path(), &words);
    assert!(err.contains("lint: run.seed [seeds]: "), "{err}");
    let (_, text, _) = outcome(folder.path(), &["lint", "--rules"]);
    assert!(text.contains("\nphase "), "{text}");
}

#[test]
fn an_experiment_is_reproduced_twice_to_the_same_bytes() {
    let folder = folder_with("");
    for out in ["first", "second"] {
        let words = ["reproduce", "loopback", "--json", "--out", out];
        let (status, json, err) = outcome(folder.path(), &words);
        assert_eq!(status, Some(0), "{err}");
        let document = parse(&json);
        assert_eq!(document["experiments"][0]["name"], "loopback");
        // A line when it is complete, and where the report is.
        assert!(err.contains("loopback: "), "{err}");
        assert!(err.contains(&format!("{out}/index.html")), "{err}");
    }
    for file in [
        "index.html",
        "result.json",
        "loopback-rate.svg",
        "loopback-rate.png",
    ] {
        let read =
            |out: &str| std::fs::read(folder.path().join(out).join(file)).expect("it is there");
        assert_eq!(read("first"), read("second"), "{file}");
    }
}

const RANDOM_EXPERIMENT: &str = r#"
[document]
title = "Random loss"
source = "none"
about = "Four runs, of which each loses other packets."

[[run]]
name = "lossy"
scenario = "path.toml"
set = ["flow.stream.loss.rate=0.05"]
about = "5 % random loss."
seeds = 20

[[row]]
id = "loss"
place = "check"
text = "packets lost"
kind = "check"
expected = 5
within = 2
unit = "%"
measure = { take = "loss_rate", run = "lossy" }

[[plot]]
name = "rtt"
kind = "series"
of = ["rtt_s"]
title = "Round-trip time"
caption = "Of the first seed."
runs = ["lossy"]
"#;

#[test]
fn a_reproduction_is_a_line_an_experiment_and_every_row_with_v() {
    let loss = "loss = { kind = \"random\", rate = 0.1 }\n";
    let folder = folder_with(&format!("{SCENARIO}{loss}"));
    let published = folder.path().join("published.toml");
    std::fs::write(&published, RANDOM_EXPERIMENT).expect("written");
    let (status, text, err) = outcome(folder.path(), &["reproduce", "."]);
    assert_eq!(status, Some(0), "{text}{err}");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "a head, the experiment, the legend: {text}");
    assert!(lines[1].contains("  1 of 1  "), "{text}");
    assert!(err.contains("1 of 1 own checks hold"), "{err}");
    assert!(!text.contains("packets lost"), "{text}");
    let (_, text, _) = outcome(folder.path(), &["reproduce", ".", "-v"]);
    assert!(
        text.contains("packets lost") && text.contains(lines[1]),
        "{text}"
    );
    // A row outside its tolerance is named.
    let wrong = RANDOM_EXPERIMENT.replace("expected = 5", "expected = 50");
    std::fs::write(&published, wrong).expect("written");
    let (status, text, _) = outcome(folder.path(), &["reproduce", "."]);
    assert_eq!(status, Some(3), "{text}");
    assert!(
        text.contains(" differs in loss: ") && text.contains("expected 50 % ± 2"),
        "{text}"
    );
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let loss = "loss = { kind = \"random\", rate = 0.1 }\n";
    let folder = folder_with(&format!("{SCENARIO}{loss}"));
    let published = folder.path().join("published.toml");
    std::fs::write(published, RANDOM_EXPERIMENT).expect("written");
    for threads in ["1", "5"] {
        let mut command = weir(&["reproduce", ".", "--json", "--out", threads]);
        command.env("RAYON_NUM_THREADS", threads);
        let (status, json, err) = run(command.current_dir(folder.path()));
        assert_eq!(status, Some(0), "{json}{err}");
        let row = &parse(&json)["experiments"][0]["rows"][0];
        assert_eq!(
            (&row["verdict"], &row["seeds"]["runs"]),
            (&"checked".into(), &20.into())
        );
    }
    for file in ["index.html", "result.json", "experiment-rtt.svg"] {
        let read =
            |out: &str| std::fs::read(folder.path().join(out).join(file)).expect("it is there");
        assert_eq!(read("1"), read("5"), "{file}");
    }
}

#[test]
fn a_closed_pipe_is_quiet() {
    let folder = folder_with(SCENARIO);
    for words in [
        &["schema"][..],
        &["theory"],
        &["completions", "bash"],
        &["run", "path.toml"],
        &["--help"],
    ] {
        let mut child = weir(words)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        // The pipe is closed before or during the output.
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{words:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_document_that_finds_no_room_is_an_error_on_stderr() {
    let folder = folder_with(SCENARIO);
    let full = std::fs::File::create("/dev/full").expect("the device");
    let output = weir(&["run", "path.toml", "--json"])
        .current_dir(folder.path())
        .stdout(full)
        .output()
        .expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let said = "weir: cannot write to standard output: No space left on device";
    assert!(stderr.contains(said), "{stderr}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_status_130_and_leaves_no_folder() {
    use std::io::{BufRead, BufReader};
    let folder = folder_with(SCENARIO);
    let mut command = weir(&["run", "path.toml", "--set", "run.duration=3s,8000h"]);
    command.current_dir(folder.path()).stdout(Stdio::piped());
    let mut running = Running::start(&mut command);
    // The first run has printed its summary, so the second one is in progress.
    let mut line = String::new();
    let mut stdout = BufReader::new(running.child.stdout.take().expect("a pipe"));
    stdout.read_line(&mut line).expect("a line");
    let (status, said) = running.interrupt();
    // It follows the warning about a long run.
    assert!(said.ends_with("interrupted\n"), "{said}");
    assert_eq!(status, Some(130));
    only_run(folder.path());
}

#[test]
fn runs_have_readable_names_and_one_table() {
    let folder = folder_with(SCENARIO);
    let profile = "flow.stream.transport.profile=linux-2008,rfc3448";
    let sweep = ["run", "path.toml", "--set", profile, "--seeds", "1..2"];
    let (status, _, err) = outcome(folder.path(), &sweep);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let (status, _, err) = outcome(folder.path(), &["run", "path.toml", "--summary-only"]);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let results = folder.path().join("results");
    let mut names: Vec<String> = common::runs_below(&results)
        .iter()
        .map(|run| common::text(run.strip_prefix(&results).expect("below")).to_owned())
        .collect();
    names.sort();
    let readable = |name: &str| name.rsplit_once('-').map(|(name, _)| name.to_owned());
    assert_eq!(
        names
            .iter()
            .filter_map(|name| readable(name))
            .collect::<Vec<_>>(),
        [
            "path/base",
            "path/profile=linux-2008,seed=1",
            "path/profile=linux-2008,seed=2",
            "path/profile=rfc3448,seed=1",
            "path/profile=rfc3448,seed=2",
        ]
    );
    let index = weir_lab::trace::read_index(&results).expect("an index");
    // A flow and two directions of a link for each run.
    assert_eq!(index.rows(), 15);
    let words = |name: &str, row: usize| index.words(name).expect("words")[row].to_string();
    assert_eq!(words("folder", 14), names[4]);
    assert_eq!(words("scenario", 14), "path.toml");
    assert_eq!(words("flow.stream.transport.profile", 14), "rfc3448");
    assert_eq!(words("flow.stream.transport.profile", 0), "");
    assert_eq!(
        (words("kind", 0), words("name", 0)),
        ("flow".to_owned(), "stream".to_owned())
    );
    let goodput = index.numbers("goodput_bps").expect("numbers");
    assert!(goodput[0] > 0.0 && goodput[1].is_nan(), "{goodput:?}");
    assert_eq!(index.as_numbers("seed").expect("counts")[14], 2.0);
    // A run whose folder is removed is removed from the index.
    std::fs::remove_dir_all(results.join(&names[4])).expect("removed");
    let (status, ..) = outcome(folder.path(), &["run", "path.toml", "--summary-only"]);
    assert_eq!(status, Some(0));
    assert_eq!(
        weir_lab::trace::read_index(&results)
            .expect("an index")
            .rows(),
        12
    );
}

/// The hash is computed once for a run and then passed on.
#[test]
fn the_hash_of_a_scenario_is_the_same_wherever_it_stands() {
    let folder = folder_with(SCENARIO);
    let sweep = ["run", "path.toml", "--set", "link.bottleneck.delay=5ms,9ms"];
    let (status, _, err) = outcome(folder.path(), &sweep);
    assert_eq!((status, err.as_str()), (Some(0), ""));
    let runs = common::runs_below(&folder.path().join("results"));
    assert_eq!(runs.len(), 2);
    for run in runs {
        let text = |name: &str| std::fs::read_to_string(run.join(name)).expect("text");
        let scenario = weir_lab::scenario::parse(&text("scenario.toml"), "scenario.toml");
        let hash = scenario.expect("resolved").content_hash();
        assert_eq!(parse(&text("summary.json"))["run"]["scenario"], *hash);
        let digits = common::text(&run)
            .rsplit_once('-')
            .map(|(_, digits)| digits);
        assert!(
            digits.is_some_and(|digits| hash.starts_with(digits)),
            "{run:?}"
        );
        let table = std::fs::read(run.join("flows.parquet")).expect("rows");
        assert!(
            table
                .windows(hash.len())
                .any(|octets| octets == hash.as_bytes())
        );
    }
}
