//! Files that are either written completely or not at all.

use crate::exit::Failure;
use crate::interrupt::{Writing, was_interrupted, writing};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use weir_lab::trace::FileSet;

/// Makes writes beyond the limit of file sizes (`ulimit -f`) fail with an error instead of ending
/// the process. Programs that are started keep the default behaviour.
pub fn report_size_limit() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use signal_hook::consts::SIGXFSZ;
        let unread = std::sync::Arc::default();
        signal_hook::flag::register(SIGXFSZ, unread)?;
    }
    Ok(())
}

fn failure_at(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("cannot write \"{}\": {error}", path.display()))
}

/// Fails if files cannot be written into this folder; called before the work whose results go
/// there.
pub fn check_folder(folder: &Path) -> Result<(), Failure> {
    let _writing = writing();
    let checked = weir_lab::trace::check_folder(folder);
    checked.map_err(|error| failure_at(folder, &error))
}

/// Files below a folder that become visible together, once all of them are written.
pub struct Files {
    folder: PathBuf,
    set: FileSet,
    /// Declared after the set, so that the set is dropped first.
    writing: Writing,
}

impl Files {
    /// An empty set.
    pub fn in_folder(folder: &Path) -> Result<Self, Failure> {
        let writing = writing();
        let set = FileSet::create(folder).map_err(|error| failure_at(folder, &error))?;
        Ok(Self {
            folder: folder.to_owned(),
            set,
            writing,
        })
    }

    /// Writes a file at this path below the folder.
    pub fn write(&mut self, path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Failure> {
        if was_interrupted() {
            return Err(Failure::Interrupted);
        }
        let path = path.as_ref();
        let mut file = self.begin(path)?;
        file.write_all(bytes)
            .map_err(|error| failure_at(&self.folder.join(path), &error))
    }

    fn begin(&mut self, path: &Path) -> Result<File, Failure> {
        let begun = self.set.begin(path);
        begun.map_err(|error| failure_at(&self.folder.join(path), &error))
    }

    /// Renames all files to their names; returns their paths.
    pub fn commit(self) -> Result<Vec<String>, Failure> {
        let Self {
            folder,
            set,
            writing: _writing,
        } = self;
        let paths = set.commit().map_err(|error| failure_at(&folder, &error))?;
        Ok(paths
            .iter()
            .map(|path| path.display().to_string())
            .collect())
    }
}

/// Writes a file completely or not at all.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_with(path, |mut file| {
        file.write_all(bytes)
            .map_err(|error| failure_at(path, &error))
    })
}

/// Calls `write` with a temporary file, which is renamed if that succeeds.
pub fn write_with<T>(
    path: &Path,
    write: impl FnOnce(File) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut files = Files::in_folder(folder)?;
    let name = path.file_name().unwrap_or_default();
    let written = write(files.begin(Path::new(name))?)?;
    files.commit()?;
    Ok(written)
}
