//! Builds the tests with all mutants of a folder: a modified copy of the repository is compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Mutant;
use super::sites::{Kind, Site};
use super::switch::{self, Mark, Numbers};
use crate::source::Source;
use crate::{output, tree};

/// The maximum number of builds in which mutants that do not compile are removed. The compiler
/// reports type errors before borrow errors.
const ROUNDS: usize = 20;

/// Mutants by their number.
type Mutants = BTreeMap<usize, Mutant>;

/// A crate with its mutants.
pub struct Program {
    /// The folder of the lists, the copy and its target folder.
    pub folder: PathBuf,
    /// The compiled tests: the unit tests, and the integration tests.
    pub binaries: Vec<PathBuf>,
    package: String,
    /// The modules of integration tests.
    pub beside: &'static [&'static str],
    copy: PathBuf,
}

impl Program {
    /// Copies the tracked text files of the work tree to `mutants.out/tree`. `beside` names modules
    /// of `tests/it` that are run in addition to the crate's own tests.
    pub fn new(
        root: &Path,
        package: &str,
        beside: &'static [&'static str],
    ) -> Result<Self, String> {
        let folder = root.join("mutants.out");
        let copy = folder.join("tree");
        for file in tree::text_files(root)? {
            write_if_changed(&copy.join(&file.path), &file.text)?;
        }
        for (path, to) in tree::folder_links(root)? {
            link(&copy.join(path), &to)?;
        }
        let module = copy.join(format!("crates/{package}/src/mutants.rs"));
        write_if_changed(&module, switch::MODULE)?;
        let home = copy.join(format!("crates/{package}/src/lib.rs"));
        let text = read(&home)?;
        write_if_changed(
            &home,
            &(text + "\n#[path = \"mutants.rs\"]\nmod mutants;\n"),
        )?;
        Ok(Self {
            folder,
            binaries: Vec::new(),
            package: package.to_owned(),
            beside,
            copy,
        })
    }

    /// Compiles the mutants; returns all mutants and those that compile, by number.
    pub fn compile(
        &mut self,
        files: &[&Source],
        sites: &[Site],
    ) -> Result<(Mutants, Mutants), String> {
        let (mut numbers, mutants) = numbered(sites);
        output::line(format_args!("{}: {} mutants", self.package, mutants.len()));
        for _ in 0..ROUNDS {
            let mut texts = BTreeMap::new();
            for file in files {
                let own = sites
                    .iter()
                    .enumerate()
                    .filter(|(_, site)| site.path == file.path);
                let text = switch::text(&file.text, own, &numbers);
                write_if_changed(&self.copy.join(&file.path), &text)?;
                texts.insert(file.path.as_str(), text);
            }
            let marks = self.build(&texts)?;
            if marks.is_empty() {
                let kept: BTreeSet<usize> = numbers.values().copied().collect();
                let mut compiled = mutants.clone();
                compiled.retain(|id, _| kept.contains(id));
                return Ok((mutants, compiled));
            }
            numbers.retain(|(site, _), id| {
                !marks.contains(&Mark::Site(*site)) && !marks.contains(&Mark::Mutant(*id))
            });
        }
        Err(format!(
            "the mutants of {} do not compile after {ROUNDS} rounds",
            self.package
        ))
    }

    /// Builds the tests; returns the marks of code that the compiler rejected.
    fn build(&mut self, texts: &BTreeMap<&str, String>) -> Result<Vec<Mark>, String> {
        let built = Command::new("cargo")
            .args([
                "test",
                "--locked",
                "--lib",
                "--no-run",
                "--message-format=json",
                "-p",
            ])
            .arg(&self.package)
            .args(
                self.beside
                    .first()
                    .map(|_| ["--test", "it"])
                    .into_iter()
                    .flatten(),
            )
            .current_dir(&self.copy)
            .env("CARGO_TARGET_DIR", self.folder.join("target"))
            .env("RUSTFLAGS", "--cap-lints=allow")
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cargo: {error}"))?;
        let mut marks = Vec::new();
        let mut unplaced = Vec::new();
        self.binaries.clear();
        for line in String::from_utf8_lossy(&built.stdout).lines() {
            let Ok(message) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            if let Some(binary) = message["executable"].as_str() {
                self.binaries.push(PathBuf::from(binary));
            }
            let told = &message["message"];
            if told["level"] != "error" {
                continue;
            }
            match place(told, texts) {
                Some(mark) => marks.push(mark),
                None => unplaced.push(told["rendered"].as_str().unwrap_or_default().to_owned()),
            }
        }
        if !built.status.success() && marks.is_empty() {
            return Err(unplaced.concat());
        }
        output::line(format_args!(
            "  {} mutants refused by the compiler",
            marks.len()
        ));
        Ok(if built.status.success() {
            Vec::new()
        } else {
            marks
        })
    }
}

/// The mark around the first place of an error that is in a mutated file.
fn place(told: &Value, texts: &BTreeMap<&str, String>) -> Option<Mark> {
    let spans = told["spans"].as_array()?;
    let primary = spans.iter().filter(|span| span["is_primary"] == true);
    primary.chain(spans).find_map(|span| {
        let text = texts.get(span["file_name"].as_str()?)?;
        switch::marked(text, usize::try_from(span["byte_start"].as_u64()?).ok()?)
    })
}

/// Numbers the mutants; all uses of a constant have the same number.
fn numbered(sites: &[Site]) -> (Numbers, Mutants) {
    let mut numbers = Numbers::new();
    let mut mutants = BTreeMap::new();
    let mut constants: BTreeMap<(String, usize), usize> = BTreeMap::new();
    for (index, site) in sites.iter().enumerate() {
        for (at, change) in site.mutants.iter().enumerate() {
            let next = mutants.len();
            let mutant = change.mutant.clone();
            let id = match site.kind {
                Kind::Constant => *constants
                    .entry((mutant.path.clone(), mutant.line))
                    .or_insert(next),
                _ => next,
            };
            numbers.insert((index, at), id);
            mutants.insert(id, mutant);
        }
    }
    (numbers, mutants)
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Creates a link to a folder, unless it exists.
fn link(path: &Path, to: &Path) -> Result<(), String> {
    if std::fs::read_link(path).is_ok_and(|old| old == to) {
        return Ok(());
    }
    let linked = std::os::unix::fs::symlink(to, path);
    linked.map_err(|error| format!("{}: {error}", path.display()))
}

/// Keeps the modification time of an unchanged file, so that cargo does not compile it again.
fn write_if_changed(path: &Path, text: &str) -> Result<(), String> {
    if read(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let fail = |error: std::io::Error| format!("{}: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    std::fs::write(path, text).map_err(fail)
}
