//! The state of files after a program is killed, on a full disk, or with damage.
#![cfg(unix)]

use crate::common::{self, Outcome, folder_with, only_run, outcome, run, text};
use std::path::Path;
use std::process::Command;

const SCENARIO: &str = r#"
[run]
duration = "60s"

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "2Mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "30000b" }

[[flow]]
name = "stream"
from = "server"
to = "client"
transport = { kind = "quic" }
"#;

/// Runs `weir` in this folder with a limit on the size of each file, in blocks of 512 octets.
fn limited(folder: &Path, blocks: &str, arguments: &[&str]) -> Outcome {
    let weir = env!("CARGO_BIN_EXE_weir");
    let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    let command = command.args(["-c", &script, weir]).args(arguments);
    run(command.current_dir(folder))
}

/// The paths of all files below a folder, including hidden ones.
fn all_files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(all_files(&path));
        } else {
            found.push(text(&path).to_owned());
        }
    }
    found.sort();
    found
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_leaves_nothing_behind() {
    let folder = folder_with(SCENARIO);
    let here = folder.path();
    let before = all_files(here);
    let (status, _, stderr) = limited(here, "8", &["run", "path.toml"]);
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("cannot write \"results/"), "{stderr}");
    assert!(stderr.contains(".parquet\": File too large"), "{stderr}");
    assert_eq!(all_files(here), before);

    let (status, _, stderr) = limited(here, "8", &["reproduce", "loopback", "--out", "report"]);
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("cannot write \"report/"), "{stderr}");
    std::fs::remove_dir_all(here.join("report")).expect("a report");

    let plan = "scenario = \"path.toml\"\nseeds = 2\nset = [[\"run.duration\", \"1s\"]]\n";
    std::fs::write(here.join("plan.toml"), plan).expect("a plan");
    let (status, _, stderr) = limited(here, "8", &["sweep", "plan.toml", "--out", "swept"]);
    assert_eq!(status, Some(1), "{stderr}");
    let said =
        "cannot write \"swept/runs/block=000000/runs.parquet\": File too large (os error 27)\n";
    assert!(stderr.ends_with(said), "{stderr}");
    // The runs themselves are stored, and are not executed again.
    let (status, _, stderr) = outcome(here, &["sweep", "plan.toml", "--out", "swept"]);
    assert_eq!(status, Some(0), "{stderr}");
    std::fs::remove_dir_all(here.join("swept")).expect("a dataset");

    let (status, _, stderr) = outcome(here, &["run", "path.toml"]);
    assert_eq!(status, Some(0), "{stderr}");
    let (run, before) = (only_run(here), all_files(here));
    for words in [
        &["plot", &run][..],
        &["export", &run, "--format", "csv"],
        &["export", &run, "--format", "pcapng"],
    ] {
        let (status, stdout, stderr) = limited(here, "8", words);
        assert_eq!(
            (status, stdout.as_str()),
            (Some(1), ""),
            "{words:?}: {stderr}"
        );
        let said = format!("cannot write \"{run}/");
        assert!(stderr.contains(&said), "{words:?}: {stderr}");
        assert!(stderr.contains("File too large"), "{words:?}: {stderr}");
        assert_eq!(all_files(here), before, "{words:?}");
    }
}

#[test]
fn a_damaged_table_is_one_error() {
    let folder = folder_with(SCENARIO);
    let (status, _, stderr) = outcome(folder.path(), &["run", "path.toml"]);
    assert_eq!(status, Some(0), "{stderr}");
    let run = only_run(folder.path());
    let table = folder.path().join(&run).join("flows.parquet");
    let mut octets = std::fs::read(&table).expect("a table");
    let middle = octets.len() / 2;
    octets[middle] ^= 1;
    std::fs::write(&table, octets).expect("written");
    for words in [&["plot", &run][..], &["export", &run, "--format", "csv"]] {
        let (status, _, stderr) = outcome(folder.path(), words);
        assert_eq!(status, Some(1), "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        let said = "flows.parquet\": it is damaged or was changed";
        assert!(stderr.contains(said), "{stderr}");
    }
}

#[test]
fn a_table_without_end_is_an_error() {
    let folder = folder_with(SCENARIO);
    let (status, _, stderr) = outcome(folder.path(), &["run", "path.toml"]);
    assert_eq!(status, Some(0), "{stderr}");
    let results = only_run(folder.path());
    let table = folder.path().join(&results).join("flows.parquet");
    std::fs::remove_file(&table).expect("removed");
    std::os::unix::fs::symlink("/dev/zero", &table).expect("a link");
    let (status, _, stderr) = outcome(folder.path(), &["plot", &results]);
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("it is no file"), "{stderr}");
}

#[test]
fn what_a_killed_run_leaves_is_removed_by_the_next_and_its_finished_runs_stay() {
    let folder = folder_with(SCENARIO);
    let here = folder.path();
    // The second run would take hours.
    let sweep = ["run", "path.toml", "--set", "run.duration=1s,8000h"];
    let mut command = common::weir(&sweep);
    command.env("RAYON_NUM_THREADS", "1").current_dir(here);
    command.stdout(std::process::Stdio::piped());
    let mut running = common::Running::start(&mut command);
    let mut line = String::new();
    let stdout = running.child.stdout.take().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).expect("a line");
    // The second run is in progress once it has a temporary folder.
    let partial = |name: &String| name.contains(".weir-partial-");
    while !all_files(here).iter().any(partial) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    running.child.kill().expect("killed");
    running.child.wait().expect("ended");
    let finished = only_run(here);
    let (status, _, stderr) = outcome(here, &["export", &finished, "--format", "csv"]);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(
        all_files(here).iter().any(partial),
        "the killed run left its folder"
    );
    let words = ["run", "path.toml", "--set", "run.duration=1s"];
    let (status, _, stderr) = outcome(here, &words);
    assert_eq!(status, Some(0), "{stderr}");
    let left: Vec<_> = all_files(here).into_iter().filter(partial).collect();
    assert_eq!(left, [""; 0]);
    let exported = here.join(&finished).join("csv/flows/stream.csv");
    assert!(exported.is_file(), "the export stays");
}

#[test]
fn a_full_disk_costs_the_trace_and_not_the_result() {
    let place = tempfile::tempdir().expect("a folder");
    let (server, port) = common::serve(&["-B", "127.0.0.1"]);
    let words = [
        "send",
        "127.0.0.1",
        "-p",
        &port,
        "-t",
        "1",
        "-b",
        "4Mbit",
        "--json",
    ];
    let kept = ["--trace", "trace", "--pcap", "capture"];
    let (status, stdout, stderr) = limited(place.path(), "16", &[&words[..], &kept].concat());
    server.interrupt();
    assert_eq!(status, Some(1), "{stderr}");
    let bytes = common::parse(&stdout)["end"]["sum"]["bytes"].as_f64();
    assert!(bytes > Some(100_000.0), "{stdout}");
    let said = stdout + &stderr;
    for words in [
        "trace/flows.parquet",
        "cannot write the capture",
        "File too large",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let left: Vec<_> = all_files(place.path());
    assert_eq!(left.len(), 1, "the capture: {left:?}");
    // The capture has complete blocks, as far as the limit allows.
    let capture = place.path().join("capture");
    let mut capture = weir_lab::trace::capture::Capture::open(&capture).expect("a capture");
    while capture.next_frame().expect("a whole block").is_some() {}
}

#[test]
fn the_version_and_the_summary_name_the_commit() {
    let folder = folder_with(SCENARIO);
    let (status, version, _) = outcome(folder.path(), &["--version"]);
    assert_eq!(status, Some(0));
    let words = ["run", "path.toml", "--summary-only"];
    assert_eq!(outcome(folder.path(), &words).0, Some(0));
    let summary = folder
        .path()
        .join(only_run(folder.path()))
        .join("summary.json");
    let summary = common::parse(&std::fs::read_to_string(summary).expect("a summary"));
    let number = env!("CARGO_PKG_VERSION");
    // A source tree without git has no commit.
    let expected = match summary["run"]["commit"].as_str() {
        Some(commit) => {
            assert!(commit.len() >= 12, "{commit}");
            format!("weir {number} ({commit})\n")
        }
        None => format!("weir {number}\n"),
    };
    assert_eq!(version, expected);
}
