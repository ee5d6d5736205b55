//! Limits of a run: its events, its wall-clock time, its memory.

use crate::common::{
    Outcome, PUBLISHED, SCENARIO, case_head, folder_with, outcome, run, runs_below,
};
use std::path::Path;
use std::process::Command;

/// The last line of [`LONG`].
const TRANSPORT: &str = "transport = { kind = \"tcp\" }\n";

/// A flow at gigabits per second for months.
const LONG: &str = r#"
[run]
duration = "8000h"

[[link]]
name = "wire"
between = ["server", "client"]
rate = "10Gbit"
delay = "1ms"

[[flow]]
name = "stream"
from = "server"
to = "client"
transport = { kind = "tcp" }
"#;

#[test]
fn a_run_at_a_bound_fails_with_a_word_and_leaves_nothing() {
    let folder = folder_with(LONG);
    for (bound, value, word) in [
        (
            "--max-events",
            "1000",
            "the run reached its limit of 1000 events at 0.0",
        ),
        ("--max-time", "100ms", "it took more than 100ms (max_time)"),
        (
            "--max-memory",
            "2MiB",
            "it held more than 2 MiB (max_memory)",
        ),
    ] {
        let words = ["run", "path.toml", "--summary-only", bound, value];
        let (status, out, err) = outcome(folder.path(), &words);
        assert_eq!((status, out.as_str()), (Some(1), ""), "{bound}: {err}");
        assert!(err.contains(word), "{bound}: {err}");
        // A warning about the long run is printed before it starts.
        assert!(
            err.contains("warning: about") && err.contains("days"),
            "{err}"
        );
        let left = std::fs::read_dir(folder.path().join("results"));
        assert_eq!(left.map_or(0, Iterator::count), 0, "{bound}");
    }
    let (status, _, err) = outcome(folder.path(), &["run", "path.toml", "--max-events", "0"]);
    assert_eq!(status, Some(2), "{err}");
}

#[test]
fn a_run_below_its_bounds_is_the_run_without_them() {
    let folder = folder_with(&LONG.replace("8000h", "20ms"));
    let bounds = ["--max-events", "1000000", "--max-time", "1h"];
    let words = ["run", "path.toml", "--json"];
    let bounded = outcome(folder.path(), &[&words[..], &bounds].concat());
    assert_eq!(bounded.0, Some(0), "{}", bounded.2);
    assert_eq!(outcome(folder.path(), &words), bounded);
}

/// The arguments of each command that simulates a scenario in a folder.
const COMMANDS: [&[&str]; 5] = [
    &["run", "path.toml"],
    &["run", "path.toml", "--seeds", "1..3"],
    &["reproduce", "."],
    &["sweep", "plan.toml", "--out", "swept"],
    &["suite", "cases", "--controller", "tcp:cubic"],
];

#[test]
fn the_limits_of_a_scenario_hold_wherever_it_is_simulated() {
    for (limit, word) in [
        ("max_time = \"100ms\"", "it took more than 100ms (max_time)"),
        (
            "max_memory = \"2MiB\"",
            "it held more than 2 MiB (max_memory)",
        ),
        ("max_events = 1000", "limit of 1000 events"),
    ] {
        let run = format!("[run]\n{limit}");
        let folder = folder_with(&LONG.replace("[run]", &run));
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        write("published.toml", PUBLISHED);
        write("plan.toml", "scenario = \"path.toml\"\n");
        let case = format!("{}{LONG}", case_head("10Gbit", "2ms")).replace(TRANSPORT, "");
        write("cases/long.toml", &case.replace("[run]", &run));
        for words in COMMANDS {
            let (status, out, err) = outcome(folder.path(), words);
            assert!(matches!(status, Some(1 | 2)), "{words:?}: {status:?} {err}");
            let said = if words[0] == "sweep" {
                assert!(err.contains("1 of 1 runs failed"), "{err}");
                error_of_the_sweep(folder.path())
            } else {
                format!("{out}{err}")
            };
            assert!(said.contains(word), "{words:?}: {said}");
        }
    }
}

#[test]
fn a_testbed_refuses_a_scenario_that_may_not_last_its_duration() {
    let limited = LONG.replace("8000h", "2s\"\nmax_time = \"1s");
    let folder = folder_with(&limited);
    let (status, out, err) = outcome(folder.path(), &["testbed", "path.toml"]);
    assert_eq!((status, out.as_str()), (Some(2), ""), "{err}");
    let said = "a testbed runs in real time, 2 s, and max_time of [run] is 1 s";
    assert!(err.contains(said), "{err}");
}

/// The reason why the sweep's only run failed.
fn error_of_the_sweep(folder: &Path) -> String {
    let file = folder.join("swept/runs/block=000000/runs.parquet");
    let table = weir_lab::trace::read_table(std::fs::read(file).expect("it is there"));
    let table = table.expect("a table");
    let errors = table.words("error").expect("a column of errors");
    errors.first().map(ToString::to_string).unwrap_or_default()
}

/// Runs `weir` in this folder with a limit on its address space, in kibibytes.
fn with_memory(folder: &Path, kibibytes: u32, arguments: &[&str]) -> Outcome {
    let script = format!("ulimit -v {kibibytes}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    let command = command.args(["-c", &script, env!("CARGO_BIN_EXE_weir")]);
    run(command
        .args(arguments)
        .current_dir(folder)
        .env("RUST_BACKTRACE", "0"))
}

#[test]
fn a_command_without_memory_ends_with_a_message_and_no_signal() {
    // Other systems have different limits or none.
    if !cfg!(target_os = "linux") {
        return;
    }
    let folder = folder_with(&SCENARIO.replace("3s", "200s"));
    let here = folder.path();
    let made = outcome(here, &["run", "path.toml", "--out", "runs"]);
    assert_eq!(made.0, Some(0), "{}", made.2);
    let finished = runs_below(&here.join("runs")).remove(0);
    std::fs::rename(finished, here.join("finished")).expect("renamed");
    std::fs::write(here.join("plan.toml"), "scenario = \"path.toml\"\n").expect("written");
    // The limit must suffice for the program itself: otherwise the loader or the kernel ends it.
    let starts = |kibibytes: &u32| with_memory(here, *kibibytes, &["--version"]).0 == Some(0);
    let first = (20_000..2_000_000).step_by(2000).find(starts);
    let first = first.expect("it starts with two gigabytes");
    let mut failed = 0;
    for more in (2000..50_000).step_by(8000) {
        let out = format!("out-{more}");
        for words in [
            &["run", "path.toml", "--out", &out][..],
            &["plot", "finished", "--out", &out],
            &["export", "finished", "--format", "csv", "--out", &out],
            &["sweep", "plan.toml", "--out", &out],
            &["compare", "finished", "finished"],
        ] {
            let (status, said, err) = with_memory(here, first + more, words);
            let all = format!("{words:?} {}: {status:?} {said}{err}", first + more);
            assert!(matches!(status, Some(0 | 1)), "{all}");
            assert!(!err.contains("panicked"), "{all}");
            if status == Some(1) {
                failed += 1;
                let allocation = err.contains("memory allocation of ");
                assert!(allocation || err.contains("weir: "), "{all}");
            }
        }
    }
    assert!(failed > 0);
}
