//! The tracked files of the repository, in the order of their names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::source::Source;

/// A tracked text file.
pub struct TextFile {
    /// Relative to the repository's root, with forward slashes.
    pub path: String,
    pub text: String,
}

impl TextFile {
    pub fn new(path: &str, text: String) -> Self {
        let path = path.to_owned();
        Self { path, text }
    }
}

/// The repository's root: cargo sets the folder of this program's manifest.
pub fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| "xtask".into());
    PathBuf::from(manifest).join("..")
}

/// Reads the tracked files. Binary files, links to folders, and files that are deleted but not
/// committed are omitted.
pub fn text_files(root: &Path) -> Result<Vec<TextFile>, String> {
    let file = |path: &String| {
        let text = std::fs::read_to_string(root.join(path)).ok()?;
        Some(TextFile::new(path, text))
    };
    Ok(tracked(root)?.iter().filter_map(file).collect())
}

/// The tracked links to folders, each with its target.
pub fn folder_links(root: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let link = |path: String| {
        let to = std::fs::read_link(root.join(&path)).ok()?;
        root.join(&path).is_dir().then_some((path, to))
    };
    Ok(tracked(root)?.into_iter().filter_map(link).collect())
}

/// The tracked paths.
fn tracked(root: &Path) -> Result<BTreeSet<String>, String> {
    let listing = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("git ls-files: {error}"))?;
    if !listing.status.success() {
        return Err(format!(
            "git ls-files: {}",
            String::from_utf8_lossy(&listing.stderr).trim()
        ));
    }
    let names = String::from_utf8_lossy(&listing.stdout);
    let paths = names.split('\0').filter(|name| !name.is_empty());
    Ok(paths.map(str::to_owned).collect())
}

/// The Rust files among them, parsed; files named by `#[cfg(test)] mod NAME;` are marked.
pub fn sources(files: &[TextFile]) -> Result<Vec<Source>, String> {
    let rust = files.iter().filter(|file| has_extension(&file.path, "rs"));
    let mut sources = rust
        .map(|file| Source::new(&file.path, &file.text))
        .collect::<Result<Vec<_>, _>>()?;
    let declared: BTreeSet<String> = sources.iter().flat_map(Source::test_modules).collect();
    for source in &mut sources {
        source.test |= declared.contains(&source.path);
    }
    Ok(sources)
}

/// Whether the name has this extension.
pub fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension() == Some(extension.as_ref())
}
