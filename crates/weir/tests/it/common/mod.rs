//! Helpers for the tests of the command.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

/// The status, stdout and stderr of a command.
pub type Outcome = (Option<i32>, String, String);

/// A flow of CCID 3 over a link of 1 Mbit/s.
pub const SCENARIO: &str = r#"
[run]
duration = "3s"

[[link]]
name = "bottleneck"
between = ["server", "client"]
rate = "1Mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "30000b" }

[[flow]]
name = "stream"
from = "server"
to = "client"
transport = { kind = "dccp", ccid = 3, profile = "rfc5348" }
app = { kind = "bulk", packet = 1400 }
"#;

/// An experiment with one run, of `path.toml`.
pub const PUBLISHED: &str = r#"
[document]
title = "Months"
source = "none"
about = "A run that something must end."

[[run]]
name = "long"
scenario = "path.toml"
about = "Months."

[[row]]
id = "loss"
place = "check"
text = "packets lost"
kind = "check"
expected = 5
within = 2
unit = "%"
measure = { take = "loss_rate", run = "long" }
"#;

/// The head of a suite's case for a bottleneck with this rate and round-trip time, followed by a
/// scenario whose flow has no transport.
pub fn case_head(rate: &str, rtt: &str) -> String {
    format!(
        r#"
[case]
title = "Months"
source = "none"
how = "A bulk transfer."
rate = "{rate}"
rtt = "{rtt}"

[[case.check]]
says = "the link is full"
section = "1"
expect = "flow.stream.bytes_in_flight.max >= 0.5 bdp"
"#
    )
}

/// The command `weir` with these arguments.
pub fn weir(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.args(arguments);
    command
}

/// Runs a command to its end.
pub fn run(command: &mut Command) -> Outcome {
    let output = command.output().expect("it starts");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Runs `weir` in this folder.
pub fn outcome(folder: &Path, arguments: &[&str]) -> Outcome {
    run(weir(arguments).current_dir(folder))
}

/// The JSON document that a successful command prints.
pub fn json(outcome: &Outcome) -> Value {
    let (status, stdout, stderr) = outcome;
    assert_eq!(*status, Some(0), "{stdout}{stderr}");
    parse(stdout)
}

/// The single JSON document in a text.
pub fn parse(text: &str) -> Value {
    serde_json::from_str(text).expect("one JSON document")
}

/// A folder with this scenario as `path.toml`.
pub fn folder_with(scenario: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("path.toml"), scenario).expect("written");
    folder
}

/// The only run in the results of a folder, as a relative path.
pub fn only_run(folder: &Path) -> String {
    let runs = runs_below(&folder.join("results"));
    let [run] = runs.as_slice() else {
        panic!("{runs:?}");
    };
    let run = run.strip_prefix(folder).expect("below the folder");
    text(run).to_owned()
}

/// The folders of all runs below a folder.
pub fn runs_below(folder: &Path) -> Vec<PathBuf> {
    if folder.join("summary.json").is_file() {
        return vec![folder.to_owned()];
    }
    let entries = std::fs::read_dir(folder).expect("a folder");
    let entries = entries.map(|entry| entry.expect("an entry").path());
    let hidden = |path: &PathBuf| text(path).contains("/.weir-partial-");
    let folders = entries.filter(|path| path.is_dir() && !hidden(path));
    folders.flat_map(|folder| runs_below(&folder)).collect()
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a name in UTF-8")
}

/// Prints a line that is visible even if the test passes.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// The output of tshark for a capture with these arguments, by line; `None` without tshark.
pub fn tshark(capture: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let mut command = Command::new("tshark");
    let output = match command.arg("-r").arg(capture).args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            skipped(&format!("tshark cannot be started: {error}"));
            return None;
        }
    };
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(str::to_owned).collect())
}

/// The arguments for tshark to print these fields.
pub fn fields<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let names = names.iter().flat_map(|name| ["-e", *name]);
    ["-T", "fields"].into_iter().chain(names).collect()
}

/// The arguments for tshark to decode DCCP in UDP.
pub const DCCP_IN_UDP: [&str; 4] = [
    "-X",
    concat!(
        "lua_script:",
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/dccp-udp.lua"
    ),
    "-o",
    "dccp.check_checksum:FALSE",
];

/// A program that runs concurrently with the test and is killed at its end.
pub struct Running {
    pub child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts a program.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        Self { child, stderr }
    }

    /// Starts `weir` with these arguments.
    pub fn weir(arguments: &[&str]) -> Self {
        Self::start(&mut weir(arguments))
    }

    /// The next line on stderr.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    /// Sends a signal.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.expect("there is kill").success());
    }

    /// Sends SIGINT; returns the status and the rest of stderr.
    pub fn interrupt(mut self) -> (Option<i32>, String) {
        self.signal("-INT");
        self.end()
    }

    /// The status and the rest of stderr.
    pub fn end(&mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("it ends").code(), rest)
    }
}

/// Repeats a measurement at most ten times until the result is good: other load on the machine may
/// disturb some measurements, but not all of them. Fails with the last result.
pub fn undisturbed<T: std::fmt::Debug>(measure: impl FnMut() -> T, good: impl Fn(&T) -> bool) -> T {
    let mut last = None;
    for result in std::iter::repeat_with(measure).take(10) {
        if good(&result) {
            return result;
        }
        last = Some(result);
    }
    panic!("disturbed ten times, or wrong: {last:#?}");
}

/// A server at a port chosen by the system, and the port.
pub fn serve(arguments: &[&str]) -> (Running, String) {
    let mut server = Running::weir(&[&["serve", "-p", "0"], arguments].concat());
    let line = server.line();
    let port = line.rsplit(':').next().expect("an address");
    (server, port.to_owned())
}
