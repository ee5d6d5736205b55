//! Features common to all commands: suggestions, verbosity, scenarios on standard input, manual
//! pages.

use crate::common::{SCENARIO, folder_with, only_run, outcome, parse, run, weir};
use std::io::Write as _;
use std::process::Stdio;

#[test]
fn letters_that_changed_places_are_understood() {
    let folder = folder_with("");
    for (word, meant) in [("rnu", "run"), ("decoed", "decode"), ("snd", "send")] {
        let (status, _, err) = outcome(folder.path(), &[word]);
        assert_eq!(status, Some(2), "{word}");
        let hint = format!("a similar subcommand exists: '{meant}'");
        assert!(err.contains(&hint), "{word}: {err}");
    }
    let (_, _, err) = outcome(folder.path(), &["frobnicate"]);
    assert!(!err.contains("similar"), "{err}");
}

#[test]
fn without_a_command_there_are_three_things_to_try() {
    let (status, out, err) = run(&mut weir(&[]));
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(out.contains("Three things to try:"), "{out}");
    assert!(out.lines().count() <= 10, "{out}");
}

#[test]
fn help_fits_a_terminal_of_80_columns() {
    let commands = [
        "",
        "new",
        "reproduce",
        "evaluate",
        "suite",
        "yearbook",
        "run",
        "sweep",
        "compare",
        "explain",
        "fit",
        "lint",
        "plot",
        "export",
        "decode",
        "schema",
        "serve",
        "send",
        "bloat",
        "testbed",
        "emulate",
        "man",
    ];
    for command in commands {
        let words: Vec<&str> = [command, "--help"]
            .into_iter()
            .filter(|w| !w.is_empty())
            .collect();
        let (status, text, _) = run(weir(&words).env("COLUMNS", "80"));
        assert_eq!(status, Some(0), "{command}");
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{command}: {line}");
        }
    }
}

#[test]
fn a_scenario_comes_from_standard_input() {
    let folder = folder_with("");
    let mut command = weir(&["run", "-", "--json"]);
    command.current_dir(folder.path()).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(SCENARIO.as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    let document = parse(&String::from_utf8_lossy(&output.stdout));
    let flow = &document["runs"][0]["summary"]["flows"]["stream"];
    assert!(flow["goodput_bps"].as_f64() > Some(5e5), "{flow}");
    only_run(folder.path());
}

#[test]
fn quiet_and_verbose_are_for_every_command_and_leave_errors_and_stdout_as_they_are() {
    let folder = folder_with(SCENARIO);
    let said = |words: &[&str]| {
        let (status, out, err) = outcome(folder.path(), words);
        assert_eq!(status, Some(0), "{words:?}: {err}");
        (out, err)
    };
    let (plain, nothing) = said(&["run", "path.toml"]);
    assert_eq!(nothing, "");
    let (out, details) = said(&["run", "path.toml", "--verbose"]);
    assert_eq!(out, plain);
    assert!(details.contains(" events in "), "{details}");
    let export = ["export", &only_run(folder.path()), "-f", "pcapng"];
    let (_, packets) = said(&export);
    assert!(packets.contains(" packets"), "{packets}");
    let (_, nothing) = said(&[&["-q"], &export[..]].concat());
    assert_eq!(nothing, "");
    let (status, _, err) = outcome(folder.path(), &["-q", "run", "nowhere.toml"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("nowhere.toml"), "{err}");
    let (status, _, _) = outcome(folder.path(), &["run", "path.toml", "-q", "-v"]);
    assert_eq!(status, Some(2));
}

#[test]
fn manual_pages_are_there_for_every_command() {
    let (status, page, err) = run(&mut weir(&["man"]));
    assert_eq!((status, err.as_str()), (Some(0), ""));
    assert!(page.contains(".TH weir 1"), "{page}");
    let folder = folder_with("");
    let (status, out, _) = outcome(folder.path(), &["man", "--out", "pages", "--json"]);
    assert_eq!(status, Some(0));
    let files = parse(&out);
    let files = files["files"].as_array().expect("files");
    for command in ["run", "send", "serve", "emulate", "reproduce"] {
        let name = format!("pages/weir-{command}.1");
        assert!(files.iter().any(|file| *file == *name), "{files:?}");
        let page = std::fs::read_to_string(folder.path().join(&name)).expect("a page");
        assert!(page.contains(&format!(".TH weir-{command} 1")), "{page}");
        assert!(page.contains("Examples:"), "{page}");
    }
}

#[test]
fn a_result_that_has_no_place_is_refused_before_the_work() {
    let folder = folder_with(SCENARIO);
    let here = folder.path();
    assert_eq!(outcome(here, &["run", "path.toml", "-q"]).0, Some(0));
    let run = only_run(here);
    std::fs::write(here.join("file"), "kept").expect("a file");
    for words in [
        &["plot", &run, "--out", "file"][..],
        &["reproduce", "friendliness", "--out", "file"],
        // This would take minutes if the evaluation ran first.
        &["evaluate", "quic:cubic", "--out", "file"],
        &["suite", "bbr", "--out", "file"],
        &["yearbook", "--out", "file"],
        &["export", &run, "-f", "csv", "--out", "file"],
    ] {
        let (status, _, err) = outcome(here, words);
        assert_eq!(status, Some(1), "{words:?}: {err}");
        let expected =
            "cannot write \"file\": a file has this name, expected a folder or a new name";
        assert!(err.contains(expected), "{words:?}: {err}");
    }
    assert_eq!(
        std::fs::read(here.join("file")).ok(),
        Some(b"kept".to_vec())
    );
    let (status, _, err) = outcome(here, &["plot", "nowhere", "--out", "new"]);
    assert_ne!(status, Some(0), "{err}");
    assert!(!here.join("nowhere").exists() && !here.join("new").exists());
    let (status, _, err) = outcome(here, &["run", "path.toml", "--max-memory", "1"]);
    assert_eq!(status, Some(2), "{err}");
    let expected = "1 bytes are less than the program itself holds; expected at least 1MiB";
    assert!(err.contains(expected), "{err}");
}

#[test]
fn a_sweep_says_why_its_runs_failed() {
    let folder = folder_with(SCENARIO);
    let here = folder.path();
    let plan = "scenario = \"path.toml\"\nseeds = 2\nmax_events = 10\n\
                [[parameter]]\npath = \"run.duration\"\nvalues = [\"1s\", \"2s\"]\n";
    std::fs::write(here.join("plan.toml"), plan).expect("a plan");
    // The pages are created first and exist already the second time.
    for _ in 0..2 {
        let (status, out, err) = outcome(here, &["sweep", "plan.toml"]);
        assert_eq!(status, Some(1), "{err}");
        assert!(out.contains("4 failed"), "{out}");
        let reason = "the run reached its limit of 10 events at ";
        let told: Vec<&str> = (err.lines())
            .filter_map(|line| line.strip_prefix("run ")?.split_once(": "))
            .map(|(_, why)| why)
            .filter(|why| why.starts_with(reason))
            .collect();
        let different: std::collections::BTreeSet<_> = told.iter().collect();
        assert!((1..=3).contains(&told.len()), "{err}");
        assert_eq!(different.len(), told.len(), "{err}");
        let first = "4 of 4 runs failed; the column error has the reason of each, the first ";
        assert!(err.contains(first), "{err}");
    }
}
