//! Runs the tests for each mutant: only those that execute its place, the fastest first, until one
//! fails.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::build::Program;
use super::{Mutant, Verdict};
use crate::output;

/// The limit of address space in kilobytes, because a mutant may allocate without end.
const MEMORY_KB: u32 = 6_000_000;

/// The number of mutants or tests between two progress lines.
const PROGRESS: usize = 100;

/// A test that takes longer runs in a separate process, after the faster ones.
const SLOW: Duration = Duration::from_millis(100);

/// A test of the crate, as measured without mutants.
struct Test {
    binary: PathBuf,
    name: String,
    time: Duration,
    reached: BTreeSet<usize>,
}

/// Runs the tests that reach each mutant.
pub fn judge(
    program: &Program,
    mutants: &BTreeMap<usize, Mutant>,
) -> Result<BTreeMap<usize, Verdict>, String> {
    let mut names = Vec::new();
    for binary in &program.binaries {
        let file = binary.file_name().unwrap_or_default().to_string_lossy();
        let is_beside = file.starts_with("it-");
        let judges = |name: &String| {
            let module = name.split("::").next().unwrap_or_default();
            !is_beside || program.beside.contains(&module)
        };
        let own = self::names(binary)?.into_iter().filter(judges);
        names.extend(own.map(|name| (binary, name)));
    }
    output::line(format_args!("  {} tests", names.len()));
    let list = |at| program.folder.join(format!("reached-{at}.txt"));
    let tests = on_all_cores(&names, |at, (binary, name)| {
        reached(binary, name, &list(at))
    });
    let mut tests: Vec<Test> = tests.into_iter().collect::<Result<_, String>>()?;
    tests.sort_by_key(|test| test.time);
    let ids: Vec<usize> = mutants.keys().copied().collect();
    output::line(format_args!("  {} mutants", ids.len()));
    let verdicts = on_all_cores(&ids, |_, id| {
        let reaching: Vec<&Test> = tests
            .iter()
            .filter(|test| test.reached.contains(id))
            .collect();
        verdict(&reaching, *id)
    });
    Ok(ids.into_iter().zip(verdicts).collect())
}

fn names(binary: &Path) -> Result<Vec<String>, String> {
    let list = Command::new(binary).arg("--list").output();
    let list = list.map_err(|error| format!("{}: {error}", binary.display()))?;
    let text = String::from_utf8_lossy(&list.stdout).into_owned();
    let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
    Ok(names.map(str::to_owned).collect())
}

/// Runs one test alone and returns the mutants that it reaches, which it writes to `list`.
fn reached(binary: &Path, name: &String, list: &Path) -> Result<Test, String> {
    let begin = Instant::now();
    let mut command = tests(binary, &[name]);
    let passed = command
        .env("MUTANTS_REACHED", list)
        .output()
        .map_err(|error| error.to_string())?;
    if !passed.status.success() {
        return Err(format!("{name} fails without any mutant"));
    }
    let time = begin.elapsed();
    let text = std::fs::read_to_string(list).unwrap_or_default();
    let _ = std::fs::remove_file(list);
    let reached = text.lines().filter_map(|line| line.parse().ok()).collect();
    Ok(Test {
        binary: binary.to_path_buf(),
        name: name.clone(),
        time,
        reached,
    })
}

fn tests(binary: &Path, names: &[&String]) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {MEMORY_KB}; exec \"$0\" \"$@\"");
    command
        .args(["-c", &script])
        .arg(binary)
        .args(["--test-threads=1", "--exact"])
        .args(names);
    command
        .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// The result of the tests that reach a mutant; `tests` are ordered by duration.
fn verdict(tests: &[&Test], id: usize) -> Verdict {
    if tests.is_empty() {
        return Verdict::Unreached;
    }
    let (quick, slow): (Vec<&&Test>, Vec<&&Test>) = tests.iter().partition(|test| test.time < SLOW);
    let mut quick_of: BTreeMap<&Path, Vec<&Test>> = BTreeMap::new();
    for test in quick {
        quick_of.entry(&test.binary).or_default().push(test);
    }
    let mut groups: Vec<Vec<&Test>> = quick_of.into_values().collect();
    groups.extend(slow.into_iter().map(|test| vec![*test]));
    for group in groups {
        let names: Vec<&String> = group.iter().map(|test| &test.name).collect();
        let longest = group.iter().map(|test| test.time).max();
        let limit = longest.unwrap_or_default() * 5 + Duration::from_secs(1);
        let Some(test) = group.first() else { continue };
        let verdict = one(&test.binary, &names, id, limit);
        if verdict != Verdict::Missed {
            return verdict;
        }
    }
    Verdict::Missed
}

/// Runs these tests with one mutant until one of them fails or takes longer than `limit`.
fn one(binary: &Path, names: &[&String], id: usize, limit: Duration) -> Verdict {
    let Ok(mut child) = tests(binary, names).env("MUTANT", id.to_string()).spawn() else {
        return Verdict::Unreached;
    };
    let lines = child.stdout.take().map(BufReader::new);
    // The time at which the last test ended, when it prints a line.
    let latest = Mutex::new(Instant::now());
    let latest = || latest.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        let failed = scope.spawn(|| {
            let mut lines = lines
                .into_iter()
                .flat_map(BufRead::lines)
                .map_while(Result::ok)
                .inspect(|_| *latest() = Instant::now());
            lines.any(|line| line.ends_with("... FAILED"))
        });
        while !failed.is_finished() {
            let waited = latest().elapsed();
            if waited > limit {
                end(&mut child);
                return Verdict::Timeout;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        if failed.join().unwrap_or(true) {
            end(&mut child);
            return Verdict::Caught;
        }
        match child.wait() {
            Ok(status) if status.success() => Verdict::Missed,
            _ => Verdict::Caught,
        }
    })
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// The results of `work` for all items, in their order, with occasional progress lines.
fn on_all_cores<I: Sync, R: Send>(items: &[I], work: impl Fn(usize, &I) -> R + Sync) -> Vec<R> {
    let results = Mutex::new(BTreeMap::new());
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(at) else { break };
                    let result = work(at, item);
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results.insert(at, result);
                    if results.len() % PROGRESS == 0 {
                        output::line(format_args!("  {} of {}", results.len(), items.len()));
                    }
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_values().collect()
}
