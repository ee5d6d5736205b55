//! Files that a scenario names: read whole, and never more than a stated number of bytes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path};

/// The largest file that is read, in bytes: a scenario, or what it names.
pub const MAX_FILE: u64 = 32 << 20;

/// The text of a file, or of a pipe.
///
/// # Errors
/// In words: it cannot be read, is larger than [`MAX_FILE`], or is no UTF-8.
pub fn read_text(path: &Path) -> Result<String, String> {
    let in_words = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData => "it is no text (UTF-8)".to_owned(),
        _ => error.to_string(),
    };
    let mut text = String::new();
    let file = File::open(path).map_err(in_words)?;
    let read = file.take(MAX_FILE + 1).read_to_string(&mut text);
    if text.len() as u64 > MAX_FILE {
        let most = MAX_FILE >> 20;
        return Err(format!("it is larger than {most} MiB"));
    }
    read.map_err(in_words)?;
    Ok(text)
}

/// True if the name leads out of the folder that it is relative to.
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
        let refused = read_text(Path::new("/dev/zero"));
        assert_eq!(refused, Err("it is larger than 32 MiB".to_owned()));
        assert!(read_text(Path::new("/nowhere/at/all")).is_err());
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
