//! `cargo xtask notices`: writes `crates/weir/THIRD-PARTY-NOTICES`, the licences of the packages
//! contained in the command `weir`, from the files in the packages; `--check` compares.
//!
//! Packages for all platforms count, build scripts and procedural macros do not. Of a package that
//! lets its user choose, the notice is that of MIT, if there is one.

use crate::output;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const FILE: &str = "crates/weir/THIRD-PARTY-NOTICES";
/// The package whose dependencies count.
const ROOT: &str = "weirlab";
/// How the names of files begin that state licences, in capital letters.
const NAMES: [&str; 8] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
    "OFL",
    "UFL",
];
/// Folders in a package in which such files lie, beside its root.
const FOLDERS: [&str; 4] = ["", "fonts", "licenses", "LICENSES"];
/// The longest file that is taken for a licence, in octets.
const MAX_OCTETS: u64 = 100_000;
const RULE: &str =
    "--------------------------------------------------------------------------------";

/// Writes the file, or compares it; false if it is out of date.
pub fn run(root: &Path, check: bool) -> Result<bool, String> {
    let text = notices(&metadata(root)?)?;
    let path = root.join(FILE);
    if !check {
        std::fs::write(&path, text).map_err(|error| format!("{FILE}: {error}"))?;
        return Ok(true);
    }
    let current = std::fs::read_to_string(&path).is_ok_and(|found| found == text);
    if !current {
        output::line(format!("{FILE}: is out of date: run `cargo xtask notices`"));
    }
    Ok(current)
}

/// What cargo knows of the workspace and its dependencies.
fn metadata(root: &Path) -> Result<Value, String> {
    let words = ["metadata", "--format-version", "1", "--locked"];
    let cargo = Command::new("cargo").args(words).current_dir(root).output();
    let cargo = cargo.map_err(|error| format!("cargo: {error}"))?;
    if !cargo.status.success() {
        return Err(String::from_utf8_lossy(&cargo.stderr).into_owned());
    }
    serde_json::from_slice(&cargo.stdout).map_err(|error| error.to_string())
}

/// A package that is in the command.
struct Package {
    title: String,
    license: String,
    repository: String,
    folder: PathBuf,
}

impl Package {
    fn new(value: &Value) -> Option<Self> {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        let manifest = PathBuf::from(text("manifest_path"));
        // A package of the workspace is no third party's.
        value["source"].as_str()?;
        Some(Self {
            title: format!("{} {}", text("name"), text("version")),
            license: text("license"),
            repository: text("repository"),
            folder: manifest.parent()?.to_owned(),
        })
    }

    /// The texts of its licences, each once.
    fn texts(&self) -> Result<BTreeSet<String>, String> {
        let (mut files, mut fonts) = (Vec::new(), Vec::new());
        for folder in FOLDERS {
            let Ok(entries) = std::fs::read_dir(self.folder.join(folder)) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = entry.file_name().to_string_lossy().to_uppercase();
                let length = entry.metadata().map_or(0, |file| file.len());
                let states = NAMES.iter().any(|begin| name.starts_with(begin));
                if !entry.path().is_file() || length > MAX_OCTETS {
                    continue;
                }
                // Each font has a licence of its own, in a text that is named like it.
                if folder == "fonts" && Path::new(&name).extension().is_some_and(|end| end == "TXT")
                {
                    fonts.push((name, entry.path()));
                } else if states {
                    files.push((name, entry.path()));
                }
            }
        }
        let has_choice = self.license.contains(" OR ") || self.license.contains('/');
        let is_mit = |name: &str| name.contains("MIT");
        if has_choice && files.iter().any(|(name, _)| is_mit(name)) {
            files.retain(|(name, _)| is_mit(name) || name.starts_with("NOTICE"));
        }
        files.append(&mut fonts);
        let read = |(_, path): &(String, PathBuf)| {
            let octets = std::fs::read(path);
            let octets = octets.map_err(|error| format!("{}: {error}", path.display()))?;
            Ok(plain(&String::from_utf8_lossy(&octets)))
        };
        files.iter().map(read).collect()
    }
}

/// A text without the spaces and line ends in which copies differ.
fn plain(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// The packages that are in the command, by their titles.
fn packages(metadata: &Value) -> Result<Vec<Package>, String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let id = |value: &Value| value["id"].as_str().unwrap_or_default().to_owned();
    let all: BTreeMap<_, _> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (id(&package), package))
        .collect();
    let nodes: BTreeMap<_, _> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (id(&node), list(&node["deps"])))
        .collect();
    let is_macro = |package: &Value| {
        let kinds = list(&package["targets"]).into_iter();
        kinds
            .flat_map(|target| list(&target["kind"]))
            .any(|kind| kind == "proc-macro")
    };
    let root = all.iter().find(|(_, package)| package["name"] == ROOT);
    let mut waiting = vec![root.ok_or_else(|| format!("no package {ROOT}"))?.0.clone()];
    let mut reached = BTreeSet::new();
    while let Some(next) = waiting.pop() {
        if all.get(&next).is_none_or(is_macro) || !reached.insert(next.clone()) {
            continue;
        }
        for dependency in nodes.get(&next).into_iter().flatten() {
            let kinds = list(&dependency["dep_kinds"]);
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                waiting.extend(dependency["pkg"].as_str().map(str::to_owned));
            }
        }
    }
    let mut packages: Vec<_> = reached
        .iter()
        .filter_map(|id| Package::new(all.get(id)?))
        .collect();
    packages.sort_by(|a, b| a.title.cmp(&b.title));
    Ok(packages)
}

/// The text of the file: all packages, and each licence with those that have it.
fn notices(metadata: &Value) -> Result<String, String> {
    let packages = packages(metadata)?;
    let mut by_text: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut out = String::from(
        "The command weir contains the following packages of others, under the licences that \
         they name.\nWritten by `cargo xtask notices`.\n\n",
    );
    for package in &packages {
        let Package {
            title,
            license,
            repository,
            ..
        } = package;
        let texts = package.texts()?;
        let without = if texts.is_empty() {
            " (its package has no file with the text)"
        } else {
            ""
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{title}: {license}{without}  {repository}");
        for text in texts {
            by_text.entry(text).or_default().push(title);
        }
    }
    let mut texts: Vec<_> = by_text.into_iter().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (text, titles) in texts {
        let _ = writeln!(out, "\n{RULE}\n{}\n{RULE}\n\n{text}", titles.join("\n"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, kind: &str) -> Value {
        json!({
            "id": name, "name": name, "version": "1.0.0", "source": "registry",
            "license": "MIT OR Apache-2.0", "manifest_path": "/nowhere/Cargo.toml",
            "targets": [{ "kind": [kind] }],
        })
    }

    #[test]
    fn what_is_compiled_in_counts_and_tools_of_the_build_do_not() {
        let edge = |to: &str, kind: Value| json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [
                package(ROOT, "bin"), package("used", "lib"), package("deep", "lib"),
                package("derive", "proc-macro"), package("tool", "lib"), package("test", "lib"),
            ],
            "resolve": { "nodes": [
                { "id": ROOT, "deps": [
                    edge("used", Value::Null), edge("derive", Value::Null),
                    edge("tool", json!("build")), edge("test", json!("dev")),
                ]},
                { "id": "used", "deps": [edge("deep", Value::Null)] },
                { "id": "deep", "deps": [edge("used", Value::Null)] },
            ]},
        });
        let packages = packages(&metadata).expect("a root");
        let titles: Vec<_> = packages.iter().map(|package| &*package.title).collect();
        assert_eq!(titles, ["deep 1.0.0", "used 1.0.0", "weirlab 1.0.0"]);
    }

    #[test]
    fn of_licences_to_choose_from_the_notice_of_mit_is_taken_and_copies_are_one() {
        let folder = std::env::temp_dir().join(format!("weir-notices-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("fonts")).expect("a folder");
        for (name, text) in [
            ("LICENSE-MIT", "MIT \r\ntext\r\n"),
            ("LICENSE-APACHE", "Apache"),
            ("fonts/LICENSE-MIT.txt", "\nMIT\ntext\n"),
            ("fonts/Font.txt", "a font"),
            ("NOTICE", "a notice"),
            ("README", "no licence"),
        ] {
            std::fs::write(folder.join(name), text).expect("written");
        }
        let mut package = Package {
            title: String::new(),
            license: "MIT OR Apache-2.0".to_owned(),
            repository: String::new(),
            folder: folder.clone(),
        };
        let texts = |package: &Package| -> Vec<String> {
            package.texts().expect("readable").into_iter().collect()
        };
        assert_eq!(texts(&package), ["MIT\ntext", "a font", "a notice"]);
        package.license = "MIT AND Apache-2.0".to_owned();
        assert_eq!(
            texts(&package),
            ["Apache", "MIT\ntext", "a font", "a notice"]
        );
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
