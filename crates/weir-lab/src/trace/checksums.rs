//! `BLAKE3SUMS`: the checksum of each file of a run's or a sweep's folder, in the format of
//! `b3sum`, which can verify it too (`b3sum --check BLAKE3SUMS`).
//!
//! A file that is being replaced has two lines, so that its content matches one of them whenever
//! the program is killed.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The name of the file.
pub(crate) const CHECKSUMS: &str = "BLAKE3SUMS";

/// Digits of a checksum.
const DIGITS: usize = 64;

/// The checksums of files by their path in the folder, with `/` between names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Checksums {
    files: BTreeMap<String, Vec<String>>,
}

impl Checksums {
    /// Adds a file by its content, in place of an earlier entry.
    pub(crate) fn add(&mut self, path: &str, content: &[u8]) {
        self.add_digest(path, &blake3::hash(content));
    }

    /// Adds a file by its checksum.
    pub(crate) fn add_digest(&mut self, path: &str, digest: &blake3::Hash) {
        let digest = digest.to_hex().to_string();
        self.files.insert(path.to_owned(), vec![digest]);
    }

    /// Adds an alternative content of a file.
    pub(crate) fn add_alternative(&mut self, path: &str, content: &[u8]) {
        let digest = blake3::hash(content).to_hex().to_string();
        let digests = self.files.entry(path.to_owned()).or_default();
        if !digests.contains(&digest) {
            digests.push(digest);
        }
    }

    /// Parses the file.
    ///
    /// # Errors
    /// If a line is not a checksum; the error describes the first such line.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let parts = line.split_once("  ");
            let parts = parts.filter(|(digest, path)| {
                let digit = |octet: u8| octet.is_ascii_digit() || (b'a'..=b'f').contains(&octet);
                digest.len() == DIGITS && digest.bytes().all(digit) && !path.is_empty()
            });
            let Some((digest, path)) = parts else {
                return Err(format!("line {number} is no checksum and name of a file"));
            };
            let digests = files.entry(path.to_owned()).or_default();
            digests.push(digest.to_owned());
        }
        if !text.is_empty() && !text.ends_with('\n') {
            return Err("its last line is not complete".to_owned());
        }
        Ok(Self { files })
    }

    /// The text of the file.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (path, digests) in &self.files {
            for digest in digests {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "{digest}  {path}");
            }
        }
        text
    }

    /// True if the folder has a checksum for this path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The paths of all files.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Verifies the content of a file.
    ///
    /// # Errors
    /// If the path has no checksum, or the content does not match it.
    pub(crate) fn check(&self, path: &str, content: &[u8]) -> Result<(), String> {
        self.check_digest(path, &blake3::hash(content))
    }

    /// Verifies the checksum of a file's content.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub(crate) fn check_digest(&self, path: &str, found: &blake3::Hash) -> Result<(), String> {
        let digests = self.files.get(path).map_or(&[][..], Vec::as_slice);
        let Some(expected) = digests.first() else {
            return Err(format!("{CHECKSUMS} has no checksum of it"));
        };
        let found = found.to_hex();
        if digests.iter().any(|digest| found.as_str() == digest) {
            Ok(())
        } else {
            Err(format!(
                "it is damaged or was changed after the run: its BLAKE3 is {}…, expected {}…",
                &found[..12],
                &expected[..12]
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_that_of_b3sum_and_comes_back() {
        let mut sums = Checksums::default();
        sums.add("flows.parquet", b"");
        let text = sums.text();
        // BLAKE3 of an empty input, from the test vectors of its authors.
        let empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(text, format!("{empty}  flows.parquet\n"));
        assert_eq!(Checksums::parse(&text), Ok(sums.clone()));
        assert_eq!(sums.check("flows.parquet", b""), Ok(()));
        let damaged = sums.check("flows.parquet", b"x").unwrap_err();
        assert!(damaged.contains("damaged"), "{damaged}");
        assert!(sums.check("links.parquet", b"").is_err());
        let mut either = sums.clone();
        either.add_alternative("flows.parquet", b"x");
        assert_eq!(Checksums::parse(&either.text()), Ok(either.clone()));
        assert_eq!(either.check("flows.parquet", b""), Ok(()));
        assert_eq!(either.check("flows.parquet", b"x"), Ok(()));
        assert!(either.check("flows.parquet", b"y").is_err());
        either.add("flows.parquet", b"");
        assert_eq!(either, sums);
        for broken in ["af13  a\n", "zz\n", &text[..text.len() - 1], &text[1..]] {
            assert!(Checksums::parse(broken).is_err(), "{broken}");
        }
    }
}
