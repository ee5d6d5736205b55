//! The folder whose runs the page shows. A path of a request is one of a run that was found below
//! it: relative, without links that lead out of it.

use crate::exit::Failure;
use serde_json::{Value, json};
use std::fs;
use std::path::{Component, Path, PathBuf};
use weir_lab::trace::progress_in;

/// The depth below the folder at which runs are searched, and the most runs and folders that are
/// looked at.
const MAX_DEPTH: u32 = 4;
const MAX_RUNS: usize = 2_000;
const MAX_FOLDERS: usize = 20_000;
/// The maximum size of a summary that is listed, in octets.
const MAX_SUMMARY: u64 = 8 << 20;
/// The flows of a run that are listed.
const MAX_FLOWS: usize = 8;
/// Folders that hold no runs and many files.
const SKIPPED: [&str; 2] = ["node_modules", "target"];

/// The folder.
#[derive(Clone, Debug)]
pub struct Folder {
    /// Its path without links.
    root: PathBuf,
}

/// The folders below the folder.
#[derive(Debug, Default)]
struct Found {
    runs: Vec<PathBuf>,
    others: Vec<PathBuf>,
}

impl Folder {
    /// The folder at this path.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let root = path.canonicalize().ok().filter(|root| root.is_dir());
        let root = root.ok_or_else(|| {
            let shown = path.display();
            Failure::Usage(format!("\"{shown}\" is no folder, expected one with runs"))
        })?;
        Ok(Self { root })
    }

    /// Its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The run at a path of a request; `None` if the path is no relative one of a folder below.
    pub fn run(&self, path: &str) -> Option<PathBuf> {
        let relative = Path::new(path);
        let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if path.contains(['\0', '\\']) || !relative.components().all(is_plain) {
            return None;
        }
        let found = self.root.join(relative).canonicalize().ok()?;
        let is_run = found.starts_with(&self.root) && found.join("summary.json").is_file();
        (is_run && self.holds(&found)).then_some(found)
    }

    /// True if no link in a folder of a run leads out of the folder.
    fn holds(&self, run: &Path) -> bool {
        let mut entries = fs::read_dir(run).into_iter().flatten().flatten();
        entries.all(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => self.holds(&entry.path()),
            Ok(kind) if kind.is_symlink() => {
                let target = entry.path().canonicalize();
                target.is_ok_and(|target| target.starts_with(&self.root))
            }
            other => other.is_ok(),
        })
    }

    /// All runs with what their summaries say of them, newest names last, and whether there are
    /// more.
    pub fn runs(&self) -> Value {
        let mut found = self.found();
        let is_cut = found.runs.len() > MAX_RUNS;
        found.runs.truncate(MAX_RUNS);
        let runs: Vec<Value> = found.runs.iter().map(|run| self.entry(run)).collect();
        json!({ "runs": runs, "more": is_cut })
    }

    /// What commands that write below the folder tell of their progress.
    pub fn progress(&self) -> Vec<Value> {
        let found = self.found();
        let all = std::iter::once(&self.root).chain(&found.others);
        let mut documents = Vec::new();
        for folder in all {
            for text in progress_in(folder) {
                if let Ok(Value::Object(mut document)) = serde_json::from_str(&text) {
                    document.insert("folder".to_owned(), self.relative(folder).into());
                    documents.push(Value::Object(document));
                }
            }
        }
        documents
    }

    fn relative(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.root).unwrap_or(path);
        below.to_string_lossy().into_owned()
    }

    fn found(&self) -> Found {
        let mut found = Found::default();
        if self.root.join("summary.json").is_file() {
            found.runs.push(self.root.clone());
        }
        find(&self.root, &mut found, 0);
        found
    }

    fn entry(&self, run: &Path) -> Value {
        let mut entry = json!({ "path": self.relative(run) });
        let file = run.join("summary.json");
        let size = fs::metadata(&file).map_or(0, |file| file.len());
        let text = (size <= MAX_SUMMARY).then(|| fs::read_to_string(&file).ok());
        let summary: Option<Value> = text
            .flatten()
            .and_then(|text| serde_json::from_str(&text).ok());
        let Some(summary) = summary else {
            entry["message"] = "its summary cannot be read".into();
            return entry;
        };
        for key in [
            "seed",
            "duration_s",
            "events",
            "build",
            "commit",
            "lateness_p99_s",
        ] {
            if let Some(value) = summary.pointer(&format!("/run/{key}")) {
                entry[key] = value.clone();
            }
        }
        let flows = summary.get("flows").and_then(Value::as_object);
        let names = flows.into_iter().flatten().map(|(name, _)| name.as_str());
        entry["flow_count"] = flows.map_or(0, serde_json::Map::len).into();
        entry["flows"] = names.take(MAX_FLOWS).collect();
        entry
    }
}

/// Folders below a path, in the order of their names; links are not followed.
fn find(path: &Path, found: &mut Found, depth: u32) {
    if depth >= MAX_DEPTH || found.others.len() + found.runs.len() >= MAX_FOLDERS {
        return;
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && !name.starts_with('.') && !SKIPPED.contains(&&*name)
    });
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        if folder.join("summary.json").is_file() {
            found.runs.push(folder);
        } else {
            found.others.push(folder.clone());
            find(&folder, found, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_at(path: &Path, summary: &str) {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("summary.json"), summary).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn no_path_leads_out_of_the_folder() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        run_at(&root.join("results/base-1"), "{}");
        run_at(&place.path().join("outside"), "{}");
        let link = |target: &str, path: &str| {
            std::os::unix::fs::symlink(place.path().join(target), root.join(path)).unwrap();
        };
        link("outside", "link");
        run_at(&root.join("links/flows"), "{}");
        fs::rename(
            root.join("links/flows/summary.json"),
            root.join("links/summary.json"),
        )
        .unwrap();
        link("outside/summary.json", "links/flows/notes.txt");
        let folder = Folder::open(&root).unwrap();
        assert!(folder.run("results/base-1").is_some());
        let outside = place.path().join("outside");
        for path in [
            "../outside",
            "results/../../outside",
            "results/../results/base-1",
            "./results/base-1",
            "link",
            "links",
            outside.to_str().unwrap(),
            "/",
            "results",
            "results/base-1/summary.json",
            "results\\base-1",
            "results/base-1\0",
            "%2e%2e/outside",
        ] {
            assert_eq!(folder.run(path), None, "{path}");
        }
        let runs = folder.runs();
        assert_eq!(runs["runs"].as_array().map(Vec::len), Some(2), "{runs}");
        assert_eq!(runs["runs"][1]["path"], "results/base-1");
    }

    #[test]
    fn the_folder_of_one_run_is_its_own_entry() {
        let place = tempfile::tempdir().unwrap();
        let summary = r#"{"run": {"seed": 3}, "flows": {"<b>": {}, "web": {}}}"#;
        run_at(place.path(), summary);
        let folder = Folder::open(place.path()).unwrap();
        let runs = folder.runs();
        assert_eq!(runs["runs"][0]["path"], "");
        assert_eq!(runs["runs"][0]["seed"], 3);
        assert_eq!(runs["runs"][0]["flows"], json!(["<b>", "web"]));
        assert_eq!(folder.run(""), Some(folder.root().to_owned()));
    }

    #[test]
    fn a_damaged_summary_has_its_entry_and_a_message() {
        let place = tempfile::tempdir().unwrap();
        run_at(&place.path().join("a"), "{");
        let runs = Folder::open(place.path()).unwrap().runs();
        assert!(runs["runs"][0]["message"].is_string(), "{runs}");
    }
}
