//! The page, as `scripts/page.sh` has built it from `web/`: an archive (POSIX ustar) whose files
//! are compressed with gzip one by one, so that they are sent as they are stored.

use std::collections::BTreeMap;
use std::path::Path;
use weir_lab::trace::gunzip;

static ARCHIVE: &[u8] = include_bytes!("../../../page/page.tar");

/// The length of blocks in the archive.
const BLOCK: usize = 512;
/// The maximum size of a file without compression.
const MOST: u64 = 64 << 20;
/// The member with the hash of the sources from which the page was built.
const SOURCES: &str = "SOURCES";

/// The files of the page by their paths, compressed.
pub struct Page {
    files: BTreeMap<&'static str, &'static [u8]>,
    sources: &'static str,
}

impl Page {
    /// The page in this program.
    pub fn embedded() -> Self {
        Self::of(ARCHIVE)
    }

    fn of(archive: &'static [u8]) -> Self {
        let mut files: BTreeMap<_, _> = members(archive).collect();
        let sources = files.remove(SOURCES).unwrap_or_default();
        Self {
            files,
            sources: std::str::from_utf8(sources).unwrap_or_default().trim(),
        }
    }

    /// The hash of the sources from which it was built.
    pub const fn sources(&self) -> &'static str {
        self.sources
    }

    /// The file for a path of a request, compressed. The path is compared with those of the page;
    /// no file is opened.
    pub fn get(&self, path: &str) -> Option<(&'static str, &'static [u8])> {
        let path = path.strip_prefix('/')?;
        let path = if path.is_empty() { "index.html" } else { path };
        let (path, octets) = self.files.get_key_value(path)?;
        Some((kind_of(path), octets))
    }

    /// All files: path and compressed contents.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &'static [u8])> + '_ {
        self.files.iter().map(|(path, octets)| (*path, *octets))
    }
}

/// A file without its compression.
///
/// # Errors
/// If it is damaged.
pub fn contents(compressed: &[u8]) -> std::io::Result<Vec<u8>> {
    gunzip(compressed, MOST)
}

/// The files of an archive: paths without the ending of compressed files, and contents. It ends at
/// the first block that is no header.
fn members(archive: &'static [u8]) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    let mut rest = archive;
    std::iter::from_fn(move || {
        // Offset and length of fields: name (0, 100), size in octal digits (124, 12).
        let name = rest.get(..100)?;
        let end = name
            .iter()
            .position(|octet| *octet == 0)
            .unwrap_or(name.len());
        let name = std::str::from_utf8(name.get(..end)?).ok()?;
        let size = std::str::from_utf8(rest.get(124..135)?).ok()?;
        let size = usize::from_str_radix(size.trim_matches(['\0', ' ']), 8).ok()?;
        let octets = rest.get(BLOCK..BLOCK.checked_add(size)?)?;
        rest = rest
            .get(BLOCK + size.next_multiple_of(BLOCK)..)
            .unwrap_or_default();
        let path = name.strip_prefix("./").unwrap_or(name);
        (!name.is_empty()).then(|| (path.strip_suffix(".gz").unwrap_or(path), octets))
    })
}

/// The content type of a file.
fn kind_of(path: &str) -> &'static str {
    let extension = Path::new(path)
        .extension()
        .and_then(|ending| ending.to_str());
    match extension.unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" | "map" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/vnd.microsoft.icon",
        "woff2" => "font/woff2",
        "txt" | "md" | "toml" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_page_is_whole() {
        let page = Page::embedded();
        let (kind, index) = page.get("/").expect("index.html");
        assert_eq!(kind, "text/html; charset=utf-8");
        assert!(contents(index).unwrap().starts_with(b"<!"));
        assert_eq!(page.sources().len(), 64, "{}", page.sources());
        for (path, octets) in page.files() {
            assert!(contents(octets).is_ok(), "{path}");
            assert!(!path.contains("..") && !path.starts_with('/'), "{path}");
        }
    }

    #[test]
    fn only_names_of_files_are_found() {
        let page = Page::embedded();
        for path in [
            "",
            "index.html",
            "//",
            "/../index.html",
            "/./index.html",
            "/SOURCES",
            "/%2e",
        ] {
            assert!(page.get(path).is_none(), "{path}");
        }
        assert!(page.get("/index.html").is_some());
    }

    #[test]
    fn a_damaged_archive_has_no_files_beyond_the_damage() {
        static SHORT: &[u8] = &[b'a'; 700];
        static ZEROS: &[u8] = &[0; 1024];
        for archive in [SHORT, ZEROS, &[]] {
            assert_eq!(members(archive).count(), 0);
        }
        let cut = &ARCHIVE[..=BLOCK];
        assert_eq!(members(cut).count(), 0);
    }
}
