//! Mutation testing: every operator, condition, number and result in a folder is changed, one at a
//! time, and the tests of its crate must fail.
//!
//! cargo-mutants compiles the crate once for each change, which takes hours for a folder. Here all
//! changes are compiled into one test program, each behind a switch that the environment sets
//! ([`switch`]), so that a change costs only a run of the tests. The changes are those of
//! cargo-mutants, plus changes of numbers ([`sites`]).

mod build;
mod equivalent;
mod run;
mod sites;
mod switch;

use std::collections::BTreeMap;
use std::path::Path;

use crate::source::Source;
use crate::{output, tree};

/// Folders and files with the numbers of RFCs and those on which comparisons depend, with the
/// crates whose unit tests are run, and the modules of `tests/it` that are run too. `cc/window`
/// contains `cc/window/bbr`, which can be tested separately.
const FOLDERS: [Folder; 16] = [
    ("weir-net", "crates/weir-net/src/queue", &[]),
    ("weir-proto", "crates/weir-proto/src/cc/window", &[]),
    ("weir-proto", "crates/weir-proto/src/cc/window/bbr", &[]),
    ("weir-proto", "crates/weir-proto/src/cc/tfrc", &[]),
    ("weir-proto", "crates/weir-proto/src/cc/nada", &[]),
    ("weir-proto", "crates/weir-proto/src/cc/media", &[]),
    ("weir-proto", "crates/weir-proto/src/rtp", &[]),
    ("weir-proto", "crates/weir-proto/src/tcp", &[]),
    ("weir-proto", "crates/weir-proto/src/quic", &[]),
    (
        "weir-proto",
        "crates/weir-proto/src/dccp",
        &["dccp_peer", "dccp_pair"],
    ),
    ("weir-lab", "crates/weir-lab/src/summary/statistics.rs", &[]),
    ("weir-lab", "crates/weir-lab/src/run/summarise", &[]),
    ("weir-lab", "crates/weir-lab/src/summary/transfers.rs", &[]),
    ("weir-lab", "crates/weir-lab/src/summary/link.rs", &[]),
    ("weir-lab", "crates/weir-lab/src/replication", &[]),
    ("weir-lab", "crates/weir-lab/src/comparison", &[]),
];

/// A change of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The path from the repository's root.
    path: String,
    /// The line, counted from 1.
    line: usize,
    /// The function that contains it, or the name of the constant.
    place: String,
    /// The change, such as `< made <=`.
    change: String,
    /// The text of the line.
    code: String,
}

/// The result of the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Caught,
    /// The tests exceeded the time limit, which counts as detected.
    Timeout,
    Missed,
    /// No test executes the place.
    Unreached,
}

/// `cargo xtask mutants [FOLDER…] [--only SUBSTRING]`: prints every undetected mutant and a score;
/// the full list is written to `mutants.out/`. False if a mutant was missed.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let (folders, only) = chosen(arguments)?;
    let sources = tree::sources(&tree::text_files(root)?)?;
    let list = equivalent::List::read(root)?;
    let mut none_missed = true;
    // Folders of one crate are compiled and tested together, which takes little longer than one.
    for together in folders.chunk_by(|a, b| (a.0, a.2) == (b.0, b.2)) {
        let Some((package, _, beside)) = together.first() else {
            continue;
        };
        let is_in = |path: &str| {
            together
                .iter()
                .any(|(_, folder, _)| path.starts_with(folder))
        };
        let shipped = |source: &&Source| is_in(&source.path) && !source.test;
        let files: Vec<&Source> = sources.iter().filter(shipped).collect();
        let sites = sites::find(&files, only);
        let mut program = build::Program::new(root, package, beside)?;
        let (found, judged) = program.compile(&files, &sites)?;
        let verdicts = run::judge(&program, &judged)?;
        for (_, folder, _) in together {
            let outcome = Outcome::in_folder(folder, [&found, &judged], &verdicts);
            none_missed &= report(&outcome, &list, &program.folder)?;
        }
    }
    Ok(none_missed)
}

type Folder = (&'static str, &'static str, &'static [&'static str]);

fn chosen<'a>(arguments: &[&'a str]) -> Result<(Vec<Folder>, &'a str), String> {
    let (names, only) = match arguments {
        [names @ .., "--only", only] => (names, *only),
        names => (names, ""),
    };
    let known = || FOLDERS.map(|(_, folder, _)| folder).join(", ");
    if let Some(unknown) = names
        .iter()
        .find(|name| FOLDERS.iter().all(|entry| entry.1 != **name))
    {
        return Err(format!(
            "{unknown}: no folder with a list of mutants; known are {}",
            known()
        ));
    }
    let is_chosen = |entry: &Folder| names.is_empty() || names.contains(&entry.1);
    Ok((FOLDERS.into_iter().filter(is_chosen).collect(), only))
}

/// The results for one folder.
struct Outcome<'a> {
    folder: &'a str,
    /// The number of mutants that do not compile.
    refused: usize,
    verdicts: Vec<(&'a Mutant, Verdict)>,
}

impl<'a> Outcome<'a> {
    /// The results for this folder, from all mutants found and tested.
    fn in_folder(
        folder: &'a str,
        [found, judged]: [&'a BTreeMap<usize, Mutant>; 2],
        verdicts: &BTreeMap<usize, Verdict>,
    ) -> Self {
        let count = |mutants: &BTreeMap<usize, Mutant>| {
            let mutants = mutants.values();
            mutants
                .filter(|mutant| mutant.path.starts_with(folder))
                .count()
        };
        let judged_here = judged
            .iter()
            .filter(|(_, mutant)| mutant.path.starts_with(folder));
        Self {
            folder,
            refused: count(found) - count(judged),
            verdicts: judged_here
                .filter_map(|(id, mutant)| Some((mutant, *verdicts.get(id)?)))
                .collect(),
        }
    }
}

/// Writes the list of a folder and prints undetected mutants. False if a mutant was missed that is
/// not in the list of equivalent ones.
fn report(outcome: &Outcome<'_>, list: &equivalent::List, to: &Path) -> Result<bool, String> {
    let Outcome {
        folder,
        refused,
        verdicts,
    } = outcome;
    let mut lines = String::new();
    let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
    let mut equivalent = 0;
    for (mutant, verdict) in verdicts {
        let is_missed = matches!(verdict, Verdict::Missed | Verdict::Unreached);
        let text = format!("{verdict:?} {mutant}");
        lines += &text;
        lines.push('\n');
        match (list.names(mutant), is_missed) {
            (true, true) => equivalent += 1,
            (listed, missed) => {
                *counts.entry(*verdict).or_default() += 1;
                if missed {
                    output::line(&text);
                } else if listed {
                    output::line(format_args!(
                        "{text}: caught, though {} lists it",
                        equivalent::PATH
                    ));
                }
            }
        }
    }
    let path = to.join(folder.replace('/', "-") + ".txt");
    std::fs::write(&path, lines).map_err(|error| format!("{}: {error}", path.display()))?;
    let of = |verdict| counts.get(&verdict).copied().unwrap_or(0);
    let caught = of(Verdict::Caught) + of(Verdict::Timeout);
    let missed = of(Verdict::Missed) + of(Verdict::Unreached);
    let share = 100.0 * caught as f64 / (caught + missed).max(1) as f64;
    output::line(format_args!(
        "{folder}: {} mutants, {refused} do not compile, {equivalent} change nothing, {caught} caught \
         ({} by running out of time), {missed} missed ({} where no test comes): {share:.1} %",
        refused + verdicts.len(),
        of(Verdict::Timeout),
        of(Verdict::Unreached),
    ));
    Ok(missed == 0)
}

impl std::fmt::Display for Mutant {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            to,
            "{}:{}: {}: {}",
            self.path, self.line, self.place, self.change
        )
    }
}
