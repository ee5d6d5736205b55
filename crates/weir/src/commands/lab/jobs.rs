//! Runs that the page asks for, in the native simulator: the same as `weir run`, in threads of
//! their own. Their folders are written into `results` of the folder.

use super::super::execution::Execution;
use super::super::planned_run::PlannedRun;
use super::super::run_name::RunNames;
use super::folder::Folder;
use crate::exit::Failure;
use crate::limits::LimitArguments;
use crate::progress::live_document;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::watch;
use weir_lab::fault::caught;
use weir_lab::run::{LiveObserver, TraceLevel};
use weir_lab::scenario::files::Files;
use weir_lab::scenario::{Override, Scenario, ScenarioError, parse_with_files};
use weir_lab::trace::update_index;
use weir_proto::time::Instant;

/// The folder of runs below that of the page.
const RESULTS: &str = "results";
/// The runs that may go on at the same time, and those whose ends are remembered.
const MAX_RUNNING: usize = 2;
const MAX_KNOWN: usize = 64;
/// The maximum number of overrides, and of files that a scenario names.
const MAX_PARTS: usize = 1_000;

/// What a page asks for.
#[derive(Debug, Default)]
pub struct Request {
    /// The name of the scenario, which its folder gets.
    name: String,
    toml: String,
    overrides: Vec<Override>,
    files: BTreeMap<String, String>,
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq)]
pub enum JobState {
    /// A part of it is done.
    Running(Value),
    /// It has ended with this folder, relative to that of the page.
    Done(Value),
    /// It has failed, or was ended.
    Failed(Value),
}

struct Job {
    cancel: Arc<AtomicBool>,
    state: watch::Sender<JobState>,
    thread: Option<JoinHandle<()>>,
}

/// All runs that pages have asked for.
#[derive(Default)]
pub struct Jobs(Mutex<Table>);

#[derive(Default)]
struct Table {
    last: u64,
    jobs: BTreeMap<u64, Job>,
}

impl Request {
    /// Reads a document `{ toml, name?, sets?: [[key, value]], seed?, files?: { name: text } }`.
    ///
    /// # Errors
    /// What was expected.
    pub fn read(document: &Value) -> Result<Self, &'static str> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut request = Self {
            toml: document
                .get("toml")
                .and_then(text)
                .ok_or("expected \"toml\", a scenario")?,
            name: document.get("name").and_then(text).unwrap_or_default(),
            ..Self::default()
        };
        let sets = document.get("sets").map(|sets| sets.as_array().ok_or(SETS));
        for set in sets.transpose()?.into_iter().flatten() {
            let [path, value] = set.as_array().map(Vec::as_slice).ok_or(SETS)? else {
                return Err(SETS);
            };
            request.overrides.push(Override {
                path: text(path).ok_or(SETS)?,
                value: text(value).ok_or(SETS)?,
            });
        }
        if let Some(seed) = document.get("seed").filter(|seed| !seed.is_null()) {
            let seed = seed.as_u64().ok_or("expected \"seed\", a whole number")?;
            request.overrides.push(Override {
                path: "run.seed".to_owned(),
                value: seed.to_string(),
            });
        }
        let files = document
            .get("files")
            .map(|files| files.as_object().ok_or(FILES));
        for (name, contents) in files.transpose()?.into_iter().flatten() {
            request
                .files
                .insert(name.clone(), text(contents).ok_or(FILES)?);
        }
        if request.overrides.len().max(request.files.len()) > MAX_PARTS {
            return Err("expected at most 1000 settings and files");
        }
        Ok(request)
    }

    /// The scenario; of the files that it names only those of the request are read.
    fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let files = Files::Memory(Arc::new(self.files.clone()));
        parse_with_files(&self.toml, "the scenario", &self.overrides, &files)
    }

    fn planned(&self, out: &Path) -> Result<PlannedRun, Failure> {
        let scenario = self.scenario()?;
        let hash = scenario.content_hash();
        let name = match Path::new(&self.name).file_name() {
            Some(name) => name.to_owned(),
            None => "page".into(),
        };
        Ok(PlannedRun {
            folder: RunNames::of(Path::new(&name), out).name(&self.overrides, &hash),
            overrides: self.overrides.clone(),
            scenario,
            hash,
        })
    }
}

const SETS: &str = "expected \"sets\", a list of pairs of key and value, all texts";
const FILES: &str = "expected \"files\", texts by the names of files";

impl Jobs {
    /// Begins a run; returns its number. `None` if too many go on.
    pub fn begin(&self, folder: &Folder, request: Request) -> Option<u64> {
        let mut table = self.table();
        let running = table.jobs.values().filter(|job| !job.is_over());
        if running.count() >= MAX_RUNNING {
            return None;
        }
        while table.jobs.len() >= MAX_KNOWN {
            let over = table.jobs.iter().find(|(_, job)| job.is_over())?;
            let number = *over.0;
            table.jobs.remove(&number);
        }
        let cancel = Arc::new(AtomicBool::new(false));
        let state = watch::Sender::new(JobState::Running(json!({ "share": 0.0 })));
        let (flag, sender, root) = (Arc::clone(&cancel), state.clone(), folder.root().to_owned());
        let thread = std::thread::spawn(move || {
            let ended = caught(|| execute(&request, &root, &flag, &sender));
            let ended = ended.unwrap_or_else(|fault| Err(fault.into()));
            sender.send_replace(match ended {
                Ok(path) => JobState::Done(json!({ "path": path })),
                Err(failure) => {
                    let document = serde_json::to_value(failure.document());
                    JobState::Failed(document.unwrap_or_default())
                }
            });
        });
        table.last += 1;
        let job = Job {
            cancel,
            state,
            thread: Some(thread),
        };
        let number = table.last;
        table.jobs.insert(number, job);
        Some(number)
    }

    /// The states of a run from now on.
    pub fn states(&self, number: u64) -> Option<watch::Receiver<JobState>> {
        let table = self.table();
        table.jobs.get(&number).map(|job| job.state.subscribe())
    }

    /// Ends a run early; false if there is none.
    pub fn cancel(&self, number: u64) -> bool {
        let table = self.table();
        let job = table.jobs.get(&number);
        job.inspect(|job| job.cancel.store(true, Ordering::Relaxed))
            .is_some()
    }

    /// Ends all runs, and waits until they have removed their incomplete files.
    pub fn end(&self) {
        let mut table = self.table();
        for job in table.jobs.values() {
            job.cancel.store(true, Ordering::Relaxed);
        }
        for job in table.jobs.values_mut() {
            if let Some(thread) = job.thread.take() {
                // A panic is caught in the thread.
                let _ = thread.join();
            }
        }
    }

    fn table(&self) -> std::sync::MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Job {
    fn is_over(&self) -> bool {
        !matches!(*self.state.borrow(), JobState::Running(_))
    }
}

/// Executes a run; returns its folder, relative to that of the page.
fn execute(
    request: &Request,
    root: &Path,
    cancel: &Arc<AtomicBool>,
    state: &watch::Sender<JobState>,
) -> Result<String, Failure> {
    let out: PathBuf = root.join(RESULTS);
    let run = request.planned(&out)?;
    let limits = LimitArguments::default().or_of(std::iter::once(&run.scenario.run));
    let watchdog = limits.watch(Arc::clone(cancel))?;
    let shown = Arc::new(Mutex::new(Value::Null));
    let (seen, told) = (Arc::clone(&shown), state.clone());
    let live: LiveObserver = Arc::new(move |live| {
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = live_document(live);
    });
    let progress = |at: Instant, end: Instant| {
        let (at_s, end_s) = (at.as_secs_f64(), end.as_secs_f64());
        let live = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let share = at_s / end_s.max(1e-9);
        let document = json!({ "share": share, "simulated_s": at_s, "live": live });
        told.send_replace(JobState::Running(document));
    };
    let execution = Execution {
        out: &out,
        trace: TraceLevel::Full,
        packets: false,
        max_events: None,
        progress: &progress,
        live: Some(&live),
        watchdog: &watchdog,
    };
    let finished = execution.execute(&run)?;
    let scenario = Path::new(&finished.name).parent().unwrap_or(Path::new(""));
    let scenario = format!("{}.toml", scenario.display());
    update_index(&out, &[finished.index_entry(&scenario)])?;
    Ok(format!("{RESULTS}/{}", finished.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_or_refused_with_what_was_expected() {
        let read = Request::read(&json!({
            "toml": "[run]",
            "name": "a/../b.toml",
            "sets": [["run.duration", "2s"]],
            "seed": 7,
            "files": { "lte.trace": "1\n" },
        }));
        let read = read.expect("valid");
        let texts: Vec<String> = read.overrides.iter().map(Override::text).collect();
        assert_eq!(texts, ["run.duration=2s", "run.seed=7"]);
        assert_eq!(read.files["lte.trace"], "1\n");
        for (document, expected) in [
            (json!({}), "\"toml\""),
            (json!([]), "\"toml\""),
            (json!({ "toml": 3 }), "\"toml\""),
            (json!({ "toml": "", "sets": "a=b" }), "\"sets\""),
            (json!({ "toml": "", "sets": [["a"]] }), "\"sets\""),
            (json!({ "toml": "", "sets": [["a", 1]] }), "\"sets\""),
            (json!({ "toml": "", "seed": -1 }), "\"seed\""),
            (json!({ "toml": "", "files": ["x"] }), "\"files\""),
            (json!({ "toml": "", "files": { "x": 1 } }), "\"files\""),
        ] {
            let refused = Request::read(&document).expect_err("not valid");
            assert!(refused.contains(expected), "{document}: {refused}");
        }
    }
}
