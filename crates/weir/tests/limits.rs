//! Bounds of a run: its events, its time of the clock, its memory.

mod common;

use common::{folder_with, outcome};

/// A flow of gigabits for months.
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
        // A run of months is warned of before it starts.
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
