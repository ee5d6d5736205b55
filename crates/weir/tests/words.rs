//! The words of the command line that all commands share: suggestions, verbosity, scenarios on
//! standard input, manual pages.

mod common;

use common::{SCENARIO, folder_with, only_run, outcome, parse, run, weir};
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
