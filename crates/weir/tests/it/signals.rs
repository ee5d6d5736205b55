//! Each command ends in the same way on a signal: with 128 plus the signal's number, and without
//! partially written files.
#![cfg(target_os = "linux")]

use crate::common::{
    PUBLISHED, Running, SCENARIO, case_head, folder_with, outcome, runs_below, weir,
};
use std::path::Path;
use std::process::{Command, Stdio};

/// Commands that run until they are ended: runs of months, and commands that wait for input.
const COMMANDS: [&[&str]; 16] = [
    &["run", "path.toml"],
    &["run", "path.toml", "--seeds", "1..3"],
    &["run", "-"],
    &["lint", "-"],
    &["decode", "-"],
    &["sweep", "plan.toml", "--out", "swept"],
    &["reproduce", ".", "--out", "reports"],
    &[
        "suite",
        "cases",
        "--controller",
        "tcp:cubic",
        "--out",
        "suite",
    ],
    &["evaluate", "tcp:cubic", "--out", "evaluation"],
    &["yearbook", "--out", "yearbook"],
    &["plot", "finished", "--out", "plots"],
    &["export", "finished", "--format", "csv", "--out", "csv"],
    &["export", "finished", "--format", "qlog", "--out", "qlog"],
    &["compare", "finished", "finished"],
    &["serve", "-p", "0"],
    &["lab", "--no-open"],
];

/// The inputs of the commands.
fn inputs() -> tempfile::TempDir {
    let long = SCENARIO.replace("3s", "8000h");
    let folder = folder_with(&long);
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    write("published.toml", PUBLISHED);
    write("plan.toml", "scenario = \"path.toml\"\n");
    let (head, flow) = long.split_at(long.find("transport =").expect("there"));
    let app = flow.split_once('\n').expect("lines").1;
    write(
        "cases/long.toml",
        &format!("{}{head}{app}", case_head("1Mbit", "10ms")),
    );
    write("short.toml", &SCENARIO.replace("3s", "30s"));
    let made = outcome(folder.path(), &["run", "short.toml", "--out", "runs"]);
    assert_eq!(made.0, Some(0), "{}", made.2);
    let run = runs_below(&folder.path().join("runs")).remove(0);
    std::fs::rename(run, folder.path().join("finished")).expect("renamed");
    folder
}

/// Waits until a process catches SIGHUP, SIGINT and SIGTERM, or has ended. It installs the handlers
/// one after the other.
fn wait_until_it_listens(id: u32) {
    const CAUGHT: u64 = 1 | 1 << 1 | 1 << 14;
    let status = format!("/proc/{id}/status");
    // The limit is many times the usual duration.
    for _ in 0..300_000 {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mask = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        };
        if mask("SigCgt:").is_none_or(|caught| caught & CAUGHT == CAUGHT)
            || text.contains("(zombie)")
        {
            return;
        }
        std::thread::yield_now();
    }
}

/// All files and folders below a folder.
fn all_below(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let all = paths.flat_map(|path| {
        let mut below = all_below(&path);
        below.push(path.display().to_string());
        below
    });
    all.collect()
}

#[test]
fn every_command_ends_with_128_and_the_signal_and_leaves_nothing_half_written() {
    for (signal, status) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        for words in COMMANDS {
            let folder = inputs();
            let mut command = weir(words);
            command.current_dir(folder.path()).stdin(Stdio::piped());
            let mut running = Running::start(command.stdout(Stdio::null()));
            wait_until_it_listens(running.child.id());
            running.signal(signal);
            let (ended, said) = running.end();
            // A short command may have completed before the signal arrives.
            let is_done = ended == Some(0) && words.contains(&"finished");
            if !is_done {
                assert_eq!(ended, Some(status), "{words:?} {signal}: {said}");
                assert!(said.contains("interrupted"), "{words:?} {signal}: {said}");
                let left = all_below(folder.path());
                let whole = left.iter().find(|path| path.ends_with("index.html"));
                assert_eq!(whole, None, "{words:?} {signal}");
            }
            assert!(!said.contains("panicked"), "{words:?} {signal}: {said}");
            let left = all_below(folder.path());
            let half = left.iter().find(|path| path.contains("/.weir-partial-"));
            assert_eq!(half, None, "{words:?} {signal}");
        }
    }
}

#[test]
fn a_document_says_that_the_command_was_ended() {
    for words in [
        &["run", "path.toml"][..],
        &["lint", "-"],
        &["plot", "finished"],
    ] {
        let folder = inputs();
        let mut command = weir(&[words, &["--json"]].concat());
        command.current_dir(folder.path()).stdin(Stdio::piped());
        let running = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut running = running.spawn().expect("it starts");
        wait_until_it_listens(running.id());
        let id = running.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        assert!(sent.expect("there is kill").success());
        // Its standard input stays open until it has ended.
        let input = running.stdin.take();
        let output = running.wait_with_output().expect("it ends");
        drop(input);
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(143), "{words:?}: {said}");
        let document: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("one document");
        assert_eq!(document["error"]["status"], 143, "{words:?}");
    }
}
