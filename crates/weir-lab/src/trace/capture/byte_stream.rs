//! The octets of a file or pipe, decompressed if they are gzip, with a count. At most one buffer is
//! read ahead.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Read};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Above this size a gzip stream must not expand more than [`MAX_EXPANSION`]-fold: real captures
/// expand about fivefold, a decompression bomb of zeros a thousandfold.
const FREE_EXPANSION_OCTETS: u64 = 1 << 30;
const MAX_EXPANSION: u64 = 100;

/// A stream of octets with a count.
pub(super) struct ByteStream {
    reader: Box<dyn Read>,
    octets: u64,
}

impl ByteStream {
    /// Decompresses the octets of `reader` if they begin with the magic number of gzip.
    pub(super) fn new(reader: impl Read + 'static) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(1 << 16, reader);
        let start = reader.fill_buf()?;
        let reader: Box<dyn Read> = if start.starts_with(&GZIP_MAGIC) {
            let packed = Counted { reader, octets: 0 };
            let decoder = MultiGzDecoder::new(packed);
            Box::new(BufReader::with_capacity(
                1 << 16,
                Unpacked { decoder, octets: 0 },
            ))
        } else {
            Box::new(reader)
        };
        Ok(Self { reader, octets: 0 })
    }

    /// The number of octets returned so far.
    pub(super) const fn octets(&self) -> u64 {
        self.octets
    }

    /// Fills `place` and returns the number of octets, which is smaller only at the end of the
    /// stream.
    pub(super) fn fill(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = place.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.reader.read(rest) {
                Ok(0) => break,
                Ok(octets) => filled += octets,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.octets += filled as u64;
        Ok(filled)
    }

    /// Replaces the content of `buffer` with the next `octets` octets, or fewer at the end of the
    /// stream. The buffer grows with the octets that arrive, not with the announced length.
    pub(super) fn read(&mut self, octets: u32, buffer: &mut Vec<u8>) -> io::Result<bool> {
        buffer.clear();
        let read = self
            .reader
            .by_ref()
            .take(u64::from(octets))
            .read_to_end(buffer)?;
        self.octets += read as u64;
        Ok(read as u64 == u64::from(octets))
    }

    /// Skips the next `octets` octets; false if the stream ends earlier.
    pub(super) fn skip(&mut self, octets: u32) -> io::Result<bool> {
        let wanted = u64::from(octets);
        let skipped = io::copy(&mut self.reader.by_ref().take(wanted), &mut io::sink())?;
        self.octets += skipped;
        Ok(skipped == wanted)
    }
}

/// Counts the compressed octets.
struct Counted<R> {
    reader: R,
    octets: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let octets = self.reader.read(place)?;
        self.octets += octets as u64;
        Ok(octets)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, octets: usize) {
        self.octets += octets as u64;
        self.reader.consume(octets);
    }
}

/// Decompresses, and rejects decompression bombs.
struct Unpacked<R> {
    decoder: MultiGzDecoder<Counted<R>>,
    octets: u64,
}

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let octets = self.decoder.read(place).map_err(|error| {
            io::Error::new(error.kind(), format!("the gzip stream is damaged: {error}"))
        })?;
        self.octets += octets as u64;
        let packed = self.decoder.get_ref().octets;
        if is_bomb(packed, self.octets) {
            return Err(io::Error::other(format!(
                "{packed} octets of gzip have become {} and there are more: this is no capture",
                self.octets
            )));
        }
        Ok(octets)
    }
}

const fn is_bomb(packed: u64, unpacked: u64) -> bool {
    unpacked > FREE_EXPANSION_OCTETS && unpacked / MAX_EXPANSION > packed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_great_expansion_of_great_files_is_a_bomb() {
        assert!(!is_bomb(1 << 20, FREE_EXPANSION_OCTETS));
        assert!(is_bomb(1 << 20, FREE_EXPANSION_OCTETS + 1));
        assert!(!is_bomb(1 << 30, 50 << 30));
        assert!(is_bomb(1 << 30, 101 << 30));
    }

    #[test]
    fn reads_what_is_there_and_says_if_it_was_less() {
        let mut source = ByteStream::new(&[1u8, 2, 3, 4, 5][..]).unwrap();
        let mut place = [0; 2];
        assert_eq!((source.fill(&mut place).unwrap(), place), (2, [1, 2]));
        assert!(source.skip(1).unwrap());
        let mut buffer = vec![9; 9];
        assert!(!source.read(u32::MAX, &mut buffer).unwrap());
        assert_eq!((buffer.as_slice(), source.octets()), (&[4, 5][..], 5));
        assert!(!source.skip(1).unwrap());
    }
}
