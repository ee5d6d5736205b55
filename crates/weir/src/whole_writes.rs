//! A buffered file that ends after a complete write, even if the disk is full: blocks of a capture
//! are written in one call each, so none is truncated.

use std::fs::File;
use std::io::{self, Write};

/// The maximum number of buffered octets, unless one write is longer.
const BUFFER: usize = 1 << 16;

/// The file.
#[derive(Debug)]
pub struct WholeWrites {
    file: File,
    waiting: Vec<u8>,
    /// The end of each write in the buffer.
    ends: Vec<usize>,
    /// Octets in the file, all of complete writes.
    whole: u64,
}

impl WholeWrites {
    /// Writes to an empty file.
    pub const fn new(file: File) -> Self {
        Self {
            file,
            waiting: Vec::new(),
            ends: Vec::new(),
            whole: 0,
        }
    }
}

impl WholeWrites {
    /// Truncates the file after the last write that the disk stored completely.
    fn cut(&mut self) -> io::Result<()> {
        let taken = self.file.metadata()?.len().saturating_sub(self.whole);
        let fitting = self.ends.iter().map(|end| *end as u64);
        let fitting = fitting.take_while(|end| *end <= taken).last();
        self.whole += fitting.unwrap_or_default();
        self.file.set_len(self.whole)
    }
}

impl Write for WholeWrites {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        if !self.waiting.is_empty() && self.waiting.len() + octets.len() > BUFFER {
            self.flush()?;
        }
        self.waiting.extend_from_slice(octets);
        self.ends.push(self.waiting.len());
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let written = self.file.write_all(&self.waiting);
        match &written {
            Ok(()) => self.whole += self.waiting.len() as u64,
            // If truncation fails, the rest remains; the error is reported in either case.
            Err(_) => {
                let _ = self.cut();
            }
        }
        self.waiting.clear();
        self.ends.clear();
        written
    }
}

impl Drop for WholeWrites {
    fn drop(&mut self) {
        // Errors are reported by an explicit flush; there is nowhere to report one here.
        let _ = self.flush();
    }
}
