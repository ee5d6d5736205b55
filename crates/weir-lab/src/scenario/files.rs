//! Files that a scenario or a command refers to: read completely, up to a size limit.
//!
//! A file named in another file must be a regular file: opening a named pipe would block without
//! end, and a device has no content of its own. A file named in a command may also be a pipe that
//! the shell has opened.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Component, Path};
use std::sync::Arc;

/// The maximum size of a file in bytes: a scenario, or a file that it refers to.
pub const MAX_FILE: u64 = 32 << 20;

/// Where the files are that a scenario refers to.
#[derive(Clone, Debug, Default)]
pub enum Files {
    /// On the disk, relative to the scenario's folder.
    #[default]
    Disk,
    /// In memory, by their names in the scenario: there is no disk in a browser.
    Memory(Arc<BTreeMap<String, String>>),
}

impl Files {
    /// The text of the file of this name in a scenario of this folder.
    pub(super) fn read(&self, folder: &Path, name: &str) -> Result<String, String> {
        match self {
            Self::Disk => read_text(&folder.join(name)),
            Self::Memory(files) => {
                let text = files.get(name).cloned();
                text.ok_or_else(|| "it was not given with the scenario".to_owned())
            }
        }
    }
}

/// The text of a regular file.
///
/// # Errors
/// If the file cannot be read, is not a regular file, is larger than [`MAX_FILE`], or is not UTF-8;
/// as text.
pub fn read_text(path: &Path) -> Result<String, String> {
    let file = open_regular(path).map_err(in_words)?;
    text_of(file)
}

/// The text of a file named in a command: a regular file, or a pipe that is already open, such as
/// standard input or `<(…)` of a shell.
///
/// # Errors
/// As of [`read_text`].
pub fn read_input(path: &Path) -> Result<String, String> {
    let file = open_input(path).map_err(in_words)?;
    text_of(file)
}

/// Opens a file named in a command, as [`read_input`] does.
///
/// # Errors
/// If it cannot be opened, or is a pipe without a writer, a device or a folder.
pub fn open_input(path: &Path) -> io::Result<File> {
    if is_open_already(path) {
        return File::open(path);
    }
    open_regular(path)
}

/// Opens a regular file without blocking: a named pipe is not opened.
fn open_regular(path: &Path) -> io::Result<File> {
    must_be_regular(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    // The file may have been replaced meanwhile.
    must_be_regular(&file.metadata()?)?;
    Ok(file)
}

fn must_be_regular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let what = what_it_is(metadata);
    Err(io::Error::other(format!(
        "it is {what}, expected a regular file"
    )))
}

#[cfg(unix)]
fn what_it_is(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn what_it_is(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() {
        "a directory"
    } else {
        "no file of a disk"
    }
}

/// True for the names under which a process can reach its own open files.
fn is_open_already(path: &Path) -> bool {
    let own = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];
    own.iter().any(|own| path.starts_with(own))
}

fn in_words(error: io::Error) -> String {
    match error.kind() {
        io::ErrorKind::InvalidData => "it is no text (UTF-8)".to_owned(),
        _ => error.to_string(),
    }
}

fn text_of(file: File) -> Result<String, String> {
    let mut text = String::new();
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
    if text.len() as u64 > MAX_FILE {
        let most = MAX_FILE >> 20;
        return Err(format!("it is larger than {most} MiB"));
    }
    read.map_err(in_words)?;
    Ok(text)
}

/// True if the path leaves the folder to which it is relative.
pub(super) fn leaves_folder(name: &str) -> bool {
    let mut depth = 0_i32;
    for component in Path::new(name).components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir => depth -= 1,
            Component::RootDir | Component::Prefix(_) => return true,
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let long = folder.path().join("long");
        File::create(&long).unwrap().set_len(MAX_FILE + 1).unwrap();
        for refused in [read_text(&long), read_input(&long)] {
            assert_eq!(refused, Err("it is larger than 32 MiB".to_owned()));
        }
        assert!(read_text(Path::new("/nowhere/at/all")).is_err());
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_regular_file_is_refused_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let table = [
            (pipe.as_path(), "a named pipe"),
            (folder.path(), "a directory"),
            (Path::new("/dev/zero"), "a device"),
        ];
        for (path, what) in table {
            let refused = Err(format!("it is {what}, expected a regular file"));
            assert_eq!(read_text(path), refused);
            assert_eq!(read_input(path), refused);
        }
    }

    #[test]
    fn a_name_leads_out_of_its_folder_by_a_root_or_too_many_steps_up() {
        let table = [
            ("a.trace", false),
            ("traces/a.trace", false),
            ("traces/../a.trace", false),
            ("./a.trace", false),
            ("../a.trace", true),
            ("traces/../../a.trace", true),
            ("/etc/passwd", true),
        ];
        for (name, leaves) in table {
            assert_eq!(leaves_folder(name), leaves, "{name}");
        }
    }
}
