//! Temporary folders in which files are completed before they are renamed, and the detection and
//! removal of those left by killed programs.
//!
//! A temporary folder has a unique name and contains a file that its program keeps locked: the
//! kernel releases the lock however the program ends. The folder is created while its parent folder
//! is locked, so that no other program mistakes it for a leftover before its lock is held.

use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};
use tempfile::TempDir;

/// The prefix of the names of temporary folders.
const PREFIX: &str = ".weir-partial-";
/// Locked while the program is alive.
const LOCK: &str = "lock";
/// The new files, before they are renamed.
const NEW: &str = "new";
/// The old folder that is being replaced.
const OLD: &str = "old";
/// The path of the folder that is being replaced, relative to the parent folder.
const TARGET: &str = "target";
/// The path of the folder to which the new files are moved one by one, once all are complete.
const COMMIT: &str = "commit";
/// Octets that are written to detect a full disk.
const PROBE: [u8; 4096] = [0; 4096];

/// Locks a folder against other programs that lock it; dropping the value unlocks it. `None` if the
/// file system does not support locks; then programs are not kept apart.
pub fn lock_folder(folder: &Path) -> Option<File> {
    let handle = File::open(folder).ok()?;
    handle.lock().ok()?;
    Some(handle)
}

/// Checks that files can be written into a folder, which need not exist, and leaves nothing behind.
/// Called before work whose results go into the folder.
///
/// # Errors
/// The system's error, or that a file has the name.
pub fn check_folder(folder: &Path) -> io::Result<()> {
    let there = folder.ancestors().find(|part| part.exists());
    let there = there.unwrap_or(Path::new("."));
    remove_leftovers(there);
    let partial = PartialFolder::create(there)?;
    fs::write(partial.new_files().join("probe"), PROBE)
}

/// Removes the temporary folders that killed programs left in a folder. An interrupted replacement
/// of a run folder is completed, and so is an interrupted commit of several files. A temporary
/// folder that names a target outside of this folder is kept: a downloaded folder of results must
/// not write elsewhere.
pub fn remove_leftovers(folder: &Path) {
    let _guard = lock_folder(folder);
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_partial = name.to_str().is_some_and(|name| name.starts_with(PREFIX));
        let path = entry.path();
        if is_partial && path.is_dir() && !is_alive(&path) {
            let Ok([target, commit]) = ways_from(&path) else {
                continue;
            };
            if let Some(target) = target {
                give_name_back(&path, &folder.join(target));
            }
            if let Some(commit) = commit {
                // If a file cannot be renamed now, it cannot be recovered.
                let _ = move_files(&path.join(NEW), &folder.join(commit));
            }
            // A folder of another user remains, which is harmless.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// The temporary folders of programs that are alive, by their names.
pub(super) fn living_folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let partial = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(PREFIX))
    });
    let mut alive: Vec<PathBuf> = partial
        .map(|entry| entry.path())
        .filter(|p| is_alive(p))
        .collect();
    alive.sort();
    alive
}

fn is_alive(partial: &Path) -> bool {
    // If the file system does not support locks, every folder counts as alive.
    File::open(partial.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_err())
}

/// The contents of [`TARGET`] and [`COMMIT`] in a temporary folder.
///
/// # Errors
/// If one of them is not a path below the parent folder.
fn ways_from(partial: &Path) -> io::Result<[Option<PathBuf>; 2]> {
    let way = |name: &str| -> io::Result<Option<PathBuf>> {
        // An empty file was not written completely when its program was killed, so nothing was
        // renamed.
        let way = fs::read_to_string(partial.join(name)).unwrap_or_default();
        let way = (!way.is_empty()).then(|| PathBuf::from(way));
        let is_below =
            |part: Component<'_>| matches!(part, Component::CurDir | Component::Normal(_));
        match &way {
            Some(way) if !way.components().all(is_below) => Err(io::ErrorKind::InvalidData.into()),
            _ => Ok(way),
        }
    };
    Ok([way(TARGET)?, way(COMMIT)?])
}

/// Completes a replacement that was interrupted between its two renames.
fn give_name_back(partial: &Path, target: &Path) {
    let old = partial.join(OLD);
    if old.is_dir() && !target.exists() {
        // The new folder is complete before the old one is moved.
        if fs::rename(partial.join(NEW), target).is_err() {
            let _ = fs::rename(&old, target);
        }
    }
}

/// Renames all files below a folder to the same names below another.
fn move_files(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            move_files(&path, &target)?;
        } else {
            fs::rename(&path, &target)?;
        }
    }
    Ok(())
}

/// A temporary folder; it is removed with the value.
#[derive(Debug)]
pub struct PartialFolder {
    folder: TempDir,
    /// Held while the folder exists.
    _lock: File,
}

impl PartialFolder {
    /// Creates one in this folder, which is created if it does not exist.
    ///
    /// # Errors
    /// The system's error, or that a file has the folder's name.
    pub fn create(inside: &Path) -> io::Result<Self> {
        if inside.is_file() {
            let message = "a file has this name, expected a folder or a new name";
            return Err(io::Error::new(io::ErrorKind::NotADirectory, message));
        }
        fs::create_dir_all(inside)?;
        let _guard = lock_folder(inside);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(inside)?;
        let lock = File::create(folder.path().join(LOCK))?;
        // It fails if the file system does not support locks: see `is_alive`.
        let _ = lock.try_lock();
        fs::create_dir(folder.path().join(NEW))?;
        Ok(Self {
            folder,
            _lock: lock,
        })
    }

    /// The folder in which files are completed.
    pub fn new_files(&self) -> PathBuf {
        self.folder.path().join(NEW)
    }

    /// The folder itself.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Records the target of files for the next program, in case this one is killed: the path
    /// relative to the parent folder.
    fn note(&self, name: &str, target: &Path) -> io::Result<()> {
        let own = self.folder.path();
        let around = own.parent().unwrap_or(Path::new("."));
        let (around, target) = (std::path::absolute(around)?, std::path::absolute(target)?);
        let way = target.strip_prefix(&around).map_err(io::Error::other)?;
        let way = Path::new(".").join(way);
        fs::write(own.join(name), way.to_string_lossy().as_bytes())
    }

    /// Renames the new folder to its name. An existing folder of this name is moved away first, and
    /// removed when this value is dropped. The caller holds the lock of the parent folder.
    ///
    /// # Errors
    /// The system's error; then the existing folder has its name again.
    pub(super) fn replace(&self, target: &Path) -> io::Result<()> {
        let old = self.folder.path().join(OLD);
        let moved = target.exists();
        if moved {
            self.note(TARGET, target)?;
            fs::rename(target, &old)?;
        }
        let renamed = fs::rename(self.new_files(), target);
        if renamed.is_err() && moved {
            fs::rename(&old, target)?;
        }
        renamed
    }
}

/// Files that are renamed together, once all of them are complete.
#[derive(Debug)]
pub struct FileSet {
    folder: PathBuf,
    /// The target does not exist: the folder of new files is renamed to it.
    is_new: bool,
    partial: PartialFolder,
    /// Paths below the folder.
    files: Vec<PathBuf>,
}

impl FileSet {
    /// A set of files below this folder.
    ///
    /// # Errors
    /// The system's error.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let is_new = !folder.exists();
        let beside = match folder.parent() {
            _ if !is_new => folder,
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        remove_leftovers(beside);
        Ok(Self {
            folder: folder.to_owned(),
            is_new,
            partial: PartialFolder::create(beside)?,
            files: Vec::new(),
        })
    }

    /// Creates a file at this path below the folder.
    ///
    /// # Errors
    /// The system's error.
    pub fn begin(&mut self, path: &Path) -> io::Result<File> {
        let temporary = self.partial.new_files().join(path);
        if let Some(parent) = temporary.parent() {
            fs::create_dir_all(parent)?;
        }
        let file = File::create(&temporary)?;
        self.files.push(path.to_owned());
        Ok(file)
    }

    /// Renames all files to their names and returns their paths. Without it none of them becomes
    /// visible. A new folder is renamed in one step. In an existing folder files are renamed one by
    /// one, because its other files must be kept and no system call renames several files. If the
    /// program is killed meanwhile, [`remove_leftovers`] renames the remaining files.
    ///
    /// # Errors
    /// The system's error.
    pub fn commit(self) -> io::Result<Vec<PathBuf>> {
        let paths = self.files.iter().map(|file| self.folder.join(file));
        // The rename fails if another program has created the folder and written into it.
        if self.is_new && fs::rename(self.partial.new_files(), &self.folder).is_ok() {
            return Ok(paths.collect());
        }
        self.partial.note(COMMIT, &self.folder)?;
        let mut paths = Vec::new();
        for file in &self.files {
            let path = self.folder.join(file);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::rename(self.partial.new_files().join(file), &path)?;
            paths.push(path);
        }
        Ok(paths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// A folder left by a killed program: it is not locked.
    fn leftover(inside: &Path, name: &str) -> PathBuf {
        let path = inside.join(format!("{PREFIX}{name}"));
        fs::create_dir_all(path.join(NEW)).unwrap();
        File::create(path.join(LOCK)).unwrap();
        path
    }

    #[test]
    fn leftovers_of_the_dead_go_and_folders_of_the_living_stay() {
        let place = tempfile::tempdir().unwrap();
        leftover(place.path(), "dead");
        fs::create_dir(place.path().join(".other-partial")).unwrap();
        let alive = PartialFolder::create(place.path()).unwrap();
        remove_leftovers(place.path());
        assert!(alive.new_files().is_dir());
        assert_eq!(names(place.path()).len(), 2);
        drop(alive);
        assert_eq!(names(place.path()), [".other-partial"]);
    }

    #[test]
    fn a_name_that_was_lost_between_two_renamings_comes_back() {
        for complete in [true, false] {
            let place = tempfile::tempdir().unwrap();
            let left = leftover(place.path(), "x");
            fs::create_dir(left.join(OLD)).unwrap();
            fs::write(left.join(OLD).join("which"), "old").unwrap();
            fs::write(left.join(NEW).join("which"), "new").unwrap();
            fs::write(left.join(TARGET), "run").unwrap();
            if !complete {
                fs::remove_dir_all(left.join(NEW)).unwrap();
            }
            remove_leftovers(place.path());
            let which = fs::read_to_string(place.path().join("run/which")).unwrap();
            assert_eq!(which, if complete { "new" } else { "old" });
            assert_eq!(names(place.path()), ["run"]);
        }
    }

    #[test]
    fn files_of_which_a_killed_program_had_named_some_all_get_their_names() {
        for committed in [true, false] {
            let place = tempfile::tempdir().unwrap();
            for name in ["a", "b", "other"] {
                fs::write(place.path().join(name), "old").unwrap();
            }
            // The first of three new files had been renamed.
            let left = leftover(place.path(), "x");
            fs::create_dir(left.join(NEW).join("deep")).unwrap();
            fs::write(left.join(NEW).join("b"), "new").unwrap();
            fs::write(left.join(NEW).join("deep/c"), "new").unwrap();
            if committed {
                fs::write(place.path().join("a"), "new").unwrap();
                fs::write(left.join(COMMIT), "./").unwrap();
            }
            remove_leftovers(place.path());
            let read = |name: &str| fs::read_to_string(place.path().join(name)).ok();
            let expected = if committed { "new" } else { "old" };
            assert_eq!(read("a").as_deref(), Some(expected));
            assert_eq!(read("b").as_deref(), Some(expected));
            assert_eq!(read("other").as_deref(), Some("old"));
            assert_eq!(read("deep/c").is_some(), committed);
            let left = names(place.path());
            assert_eq!(left.iter().filter(|name| name.starts_with('.')).count(), 0);
        }
    }

    #[test]
    fn a_way_that_leads_elsewhere_is_not_taken() {
        let outside = tempfile::tempdir().unwrap();
        let place = outside.path().join("results");
        for (name, way) in [
            (COMMIT, ".."),
            (COMMIT, "./a/../.."),
            (COMMIT, outside.path().to_str().unwrap()),
            (TARGET, "../run"),
        ] {
            let left = leftover(&place, "x");
            fs::create_dir(left.join(OLD)).unwrap();
            fs::write(left.join(NEW).join("file"), "new").unwrap();
            fs::write(left.join(name), way).unwrap();
            remove_leftovers(&place);
            assert_eq!(names(outside.path()), ["results"], "{name} {way}");
            assert!(left.join(NEW).join("file").is_file(), "{name} {way}");
            fs::remove_dir_all(left).unwrap();
        }
    }

    #[test]
    fn a_program_leaves_the_way_to_where_its_files_go() {
        let place = tempfile::tempdir().unwrap();
        let partial = PartialFolder::create(place.path()).unwrap();
        let own = partial.folder.path();
        partial.note(COMMIT, place.path()).unwrap();
        partial
            .note(TARGET, &place.path().join("path/run"))
            .unwrap();
        let ways = ways_from(own).unwrap();
        assert_eq!(
            ways,
            ["path/run", "."].map(|way| Some(Path::new(".").join(way)))
        );
        partial.note(TARGET, Path::new("/elsewhere")).unwrap_err();
    }

    #[test]
    fn a_folder_is_checked_before_it_is_there_and_nothing_is_left() {
        let place = tempfile::tempdir().unwrap();
        check_folder(&place.path().join("deep/er")).unwrap();
        assert_eq!(names(place.path()), [""; 0]);
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        for path in [file.clone(), file.join("below")] {
            let error = check_folder(&path).unwrap_err().to_string();
            assert_eq!(
                error,
                "a file has this name, expected a folder or a new name"
            );
        }
    }

    #[test]
    fn a_new_folder_gets_its_files_in_one_step() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("deep/csv");
        let mut set = FileSet::create(&target).unwrap();
        set.begin(Path::new("a")).unwrap();
        set.begin(Path::new("links/b")).unwrap();
        // Until the commit the folder does not exist; the next program removes leftovers of a
        // killed one.
        assert!(!target.exists());
        let paths = set.commit().unwrap();
        assert_eq!(paths, [target.join("a"), target.join("links/b")]);
        assert_eq!(names(&target), ["a", "links"]);
        assert_eq!(names(&place.path().join("deep")), ["csv"]);
    }

    #[test]
    fn files_of_a_set_are_seen_together_or_never() {
        let place = tempfile::tempdir().unwrap();
        for commit in [false, true] {
            let mut set = FileSet::create(place.path()).unwrap();
            set.begin(Path::new("a")).unwrap();
            set.begin(Path::new("deep/b")).unwrap();
            if commit {
                set.commit().unwrap();
            } else {
                drop(set);
            }
            let expected: &[&str] = if commit { &["a", "deep"] } else { &[] };
            assert_eq!(names(place.path()), expected);
        }
    }
}
