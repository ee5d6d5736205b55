//! The octets of a qlog file: decompressed if they are gzip, counted, and limited for each record.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BUFFER_OCTETS: usize = 1 << 16;

/// The largest record or event that is read. Real ones have at most some ten thousand octets; the
/// limit bounds the memory that a file can claim at once.
const MAX_RECORD_OCTETS: u64 = 1 << 24;

/// RFC 7464 §2.2: each JSON text of a sequence begins with a record separator.
const RECORD_SEPARATOR: u8 = 0x1e;

/// A stream of octets with its place.
pub(super) struct Input<'a> {
    reader: Box<dyn Read + 'a>,
    /// Octets that were read ahead, because the parser takes them one at a time.
    buffer: Box<[u8]>,
    /// Those of the buffer that are still to be taken.
    ahead: Range<usize>,
    octets: u64,
    line: u64,
    /// The octets that the current record or event may still have.
    left: u64,
}

impl<'a> Input<'a> {
    /// Decompresses the octets of `reader` if they begin with the magic number of gzip.
    pub(super) fn new(reader: impl Read + 'a) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(BUFFER_OCTETS, reader);
        let packed = reader.fill_buf()?.starts_with(&GZIP_MAGIC);
        let reader: Box<dyn Read + 'a> = if packed {
            Box::new(MultiGzDecoder::new(reader))
        } else {
            Box::new(reader)
        };
        Ok(Self {
            reader,
            buffer: vec![0; BUFFER_OCTETS].into(),
            ahead: 0..0,
            octets: 0,
            line: 1,
            left: MAX_RECORD_OCTETS,
        })
    }

    /// Skips white space and record separators; false at the end of the stream.
    pub(super) fn skip_to_record(&mut self) -> io::Result<bool> {
        self.begin_event();
        loop {
            let Some(octet) = self.next()? else {
                return Ok(false);
            };
            // U+FEFF at the beginning is a mark of the encoding, which editors on Windows write.
            let is_mark = self.octets < 3 && matches!(octet, 0xef | 0xbb | 0xbf);
            if !octet.is_ascii_whitespace() && octet != RECORD_SEPARATOR && !is_mark {
                return Ok(true);
            }
            self.ahead.start += 1;
            self.count(octet);
        }
    }

    /// The next octet, which is not taken; `None` at the end of the stream.
    fn next(&mut self) -> io::Result<Option<u8>> {
        while self.ahead.is_empty() {
            match self.reader.read(&mut self.buffer) {
                Ok(0) => return Ok(None),
                Ok(octets) => self.ahead = 0..octets,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.buffer.get(self.ahead.start).copied())
    }

    /// A record or event begins, which has the whole limit.
    pub(super) const fn begin_event(&mut self) {
        self.left = MAX_RECORD_OCTETS;
    }

    /// The place that was read last, in words.
    pub(super) fn place(&self) -> String {
        format!("line {}, octet {}", self.line, self.octets)
    }

    const fn count(&mut self, octet: u8) {
        self.octets += 1;
        if octet == b'\n' {
            self.line += 1;
        }
    }
}

impl Read for Input<'_> {
    /// Gives one octet, as the parser asks for them.
    fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let Some(first) = place.first_mut() else {
            return Ok(0);
        };
        let Some(octet) = self.next()? else {
            return Ok(0);
        };
        if self.left == 0 {
            let message = format!("a record is larger than {MAX_RECORD_OCTETS} octets");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        self.left -= 1;
        self.ahead.start += 1;
        self.count(octet);
        *first = octet;
        Ok(1)
    }
}
