//! A panic inside a run gives one clear message with the name of the run, in every function that
//! executes runs. A child process of each test shows the output on stderr, with backtraces enabled.

use std::fs;
use std::process::Command;
use weir_lab::fault::{caught, silence_caught_panics};
use weir_lab::replication::in_order;
use weir_lab::run::{EndpointPair, ForeignFlow, RunError, RunOptions, TransportRegistry, run};
use weir_lab::scenario::parse;
use weir_lab::sweep::{Plan, Store, SweepOptions, sweep};

const SCENARIO: &str = r#"
[run]
duration = "1s"
[[link]]
name = "wire"
between = ["server", "client"]
rate = "1Mbit"
[[flow]]
name = "stream"
from = "server"
to = "client"
transport = { kind = "quinn" }
"#;

/// Set in the child process.
const CHILD: &str = "WEIR_TEST_OF_FAULTS";

fn planted(_: &ForeignFlow<'_>) -> Result<EndpointPair, String> {
    panic!("planted");
}

fn registry() -> TransportRegistry<'static> {
    TransportRegistry {
        foreign: Some(&planted),
        ..TransportRegistry::default()
    }
}

/// Runs only the test of this name in a child process and returns its stderr; `None` in the child.
fn stderr_of(name: &str) -> Option<String> {
    if std::env::var_os(CHILD).is_some() {
        silence_caught_panics();
        return None;
    }
    let program = std::env::current_exe().unwrap();
    let child = Command::new(program)
        .args([
            "--exact",
            &format!("faults::{name}"),
            "--nocapture",
            "--test-threads=1",
        ])
        .envs([(CHILD, "1"), ("RUST_BACKTRACE", "1")])
        .output()
        .unwrap();
    let said = String::from_utf8(child.stderr).unwrap();
    let out = String::from_utf8(child.stdout).unwrap();
    assert!(
        child.status.success() && out.contains("1 passed"),
        "{out}{said}"
    );
    Some(said)
}

#[test]
fn a_run_says_what_and_where() {
    if let Some(said) = stderr_of("a_run_says_what_and_where") {
        assert_eq!(said, "");
        return;
    }
    let scenario = parse(SCENARIO, "test.toml").unwrap();
    let options = RunOptions {
        registry: registry(),
        ..RunOptions::default()
    };
    let error = run(&scenario, &options).unwrap_err();
    assert!(matches!(error, RunError::Fault(_)), "{error}");
    let said = error.to_string();
    let (before, after) = said.split_once("tests/it/faults.rs:").unwrap();
    assert!(
        before.starts_with("a fault of the program: planted ("),
        "{said}"
    );
    assert!(after.ends_with("); please report it"), "{said}");
}

#[test]
fn a_sweep_names_the_run() {
    if let Some(said) = stderr_of("a_sweep_names_the_run") {
        assert_eq!(said, "");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scenario.toml"), SCENARIO).unwrap();
    let plan = folder.path().join("plan.toml");
    fs::write(&plan, "scenario = \"scenario.toml\"\nseeds = 3\n").unwrap();
    let store = Store::open(&folder.path().join("out"), Plan::load(&plan).unwrap()).unwrap();
    let options = SweepOptions {
        registry: registry(),
        threads: Some(1),
        ..SweepOptions::default()
    };
    let outcome = sweep(&store, &options).unwrap();
    assert_eq!((outcome.done, outcome.failed), (3, 3));
    let errors = store.errors();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].starts_with("run 0: a fault of the program: planted ("),
        "{errors:?}"
    );
}

#[test]
fn a_job_of_another_thread_is_the_callers_fault() {
    if let Some(said) = stderr_of("a_job_of_another_thread_is_the_callers_fault") {
        assert_eq!(said, "");
        return;
    }
    let jobs: Vec<u32> = (0..100).collect();
    let work = |job: &u32| {
        assert!(*job < 90, "job {job}");
        *job
    };
    let fault = caught(|| in_order(&jobs, work)).unwrap_err();
    assert_eq!(fault.message, "job 90");
    assert!(fault.place.unwrap().contains("tests/it/faults.rs:"));
}
