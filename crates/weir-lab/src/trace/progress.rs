//! The progress of commands that write into a folder: a small file for each, which other programs
//! may read meanwhile. It lies in a temporary folder of its command, so that it disappears with it,
//! however the command ends. No result depends on it.

use super::partial::{PartialFolder, living_folders};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// The file in a temporary folder, and its name before it is complete.
const FILE: &str = "progress.json";
const INCOMPLETE: &str = "progress.part";
/// The maximum number of octets that are read of a file.
const MOST: u64 = 1 << 16;

/// The progress file of a command; it is removed with the value.
#[derive(Debug)]
pub struct ProgressFile(PartialFolder);

impl ProgressFile {
    /// The file of a command that writes into this folder, which is created if it does not exist.
    ///
    /// # Errors
    /// The system's error.
    pub fn create(folder: &Path) -> io::Result<Self> {
        PartialFolder::create(folder).map(Self)
    }

    /// Replaces the contents in one step.
    ///
    /// # Errors
    /// The system's error; then the old contents are kept.
    pub fn write(&self, text: &str) -> io::Result<()> {
        let folder = self.0.path();
        let incomplete = folder.join(INCOMPLETE);
        fs::write(&incomplete, text)?;
        fs::rename(incomplete, folder.join(FILE))
    }
}

/// The progress of all commands that are writing into this folder. Files of commands that were
/// killed do not count.
pub fn progress_in(folder: &Path) -> Vec<String> {
    let read = |partial: &Path| {
        let file = partial.join(FILE);
        if !fs::symlink_metadata(&file).ok()?.is_file() {
            return None;
        }
        let mut text = String::new();
        let file = File::open(file).ok()?;
        file.take(MOST).read_to_string(&mut text).ok()?;
        Some(text)
    };
    let folders = living_folders(folder).into_iter();
    folders.filter_map(|partial| read(&partial)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_there_while_its_command_is() {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("results");
        assert!(progress_in(&out).is_empty());
        let file = ProgressFile::create(&out).unwrap();
        assert!(progress_in(&out).is_empty());
        for text in ["{\"done\": 1}", "{}"] {
            file.write(text).unwrap();
            assert_eq!(progress_in(&out), [text]);
        }
        let other = ProgressFile::create(&out).unwrap();
        other.write("other").unwrap();
        assert_eq!(progress_in(&out).len(), 2);
        drop(file);
        assert_eq!(progress_in(&out), ["other"]);
        // Of a command that was killed the folder remains, and nobody holds its lock.
        let dead = out.join(".weir-partial-dead");
        fs::create_dir_all(&dead).unwrap();
        fs::write(dead.join("lock"), "").unwrap();
        fs::write(dead.join(FILE), "dead").unwrap();
        assert_eq!(progress_in(&out), ["other"]);
        drop(other);
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    }
}
