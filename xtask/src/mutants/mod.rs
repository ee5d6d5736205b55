//! Mutation testing: every operator, condition, number and result of a folder is changed, one at a
//! time, and the tests of its crate must notice.
//!
//! cargo-mutants compiles the crate once for each change, which takes hours for a folder. Here all
//! changes are compiled into one test program, each behind a switch that the environment sets
//! ([`switch`]), so that a change costs a run of the tests and no build. The changes are those of
//! cargo-mutants, and the numbers too ([`sites`]).

mod build;
mod equivalent;
mod run;
mod sites;
mod switch;

use std::collections::BTreeMap;
use std::path::Path;

use crate::source::Source;
use crate::{output, tree};

/// Folders and files that hold the numbers of RFCs and those that a comparison rests on, with the
/// crates whose unit tests judge them, and the modules of `tests/it` that do so too. `cc/window`
/// holds `cc/window/bbr`, which can be judged alone.
const FOLDERS: [Folder; 15] = [
    ("weir-net", "crates/weir-net/src/queue", &[]),
    ("weir-proto", "crates/weir-proto/src/cc/window", &[]),
    ("weir-proto", "crates/weir-proto/src/cc/window/bbr", &[]),
    ("weir-proto", "crates/weir-proto/src/cc/tfrc", &[]),
    ("weir-proto", "crates/weir-proto/src/cc/nada", &[]),
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

/// One change of one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// Relative to the repository's root.
    path: String,
    /// Counted from 1.
    line: usize,
    /// The function that holds it; of a constant its name.
    place: String,
    /// What it does, such as `< made <=`.
    change: String,
    /// The line's text.
    code: String,
}

/// What the tests said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Caught,
    /// The tests did not end in time, which a reader would notice.
    Timeout,
    Missed,
    /// No test executes the place.
    Unreached,
}

/// `cargo xtask mutants [FOLDER…] [--only SUBSTRING]`: prints every mutant that was not caught and
/// a score; the whole list goes to `mutants.out/`. False if one was missed.
pub fn run(root: &Path, arguments: &[&str]) -> Result<bool, String> {
    let (folders, only) = chosen(arguments)?;
    let sources = tree::sources(&tree::text_files(root)?)?;
    let list = equivalent::List::read(root)?;
    let mut none_missed = true;
    // Folders of one crate are compiled and judged together, which takes little longer than one.
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

/// What was judged in one folder.
struct Outcome<'a> {
    folder: &'a str,
    /// Those that do not compile.
    refused: usize,
    verdicts: Vec<(&'a Mutant, Verdict)>,
}

impl<'a> Outcome<'a> {
    /// Of all mutants that were found and judged, those in this folder.
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

/// Writes the list of a folder and prints what was not caught. False if a mutant was missed that
/// the list of equivalent ones does not name.
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
