//! DEFLATE (RFC 1951) for pictures in a page, zlib (RFC 1950) for documents with such streams, and
//! gzip (RFC 1952) for files that are kept in it.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::{DeflateEncoder, ZlibEncoder};
use std::io::{self, Read as _, Write as _};

/// Compresses octets; the same octets give the same result.
///
/// # Errors
/// None in practice: the output is in memory.
pub fn zlib(octets: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(octets)?;
    encoder.finish()
}

/// Compresses octets as well as it can, without head and checksum; the same octets give the same
/// result.
///
/// # Errors
/// None in practice: the output is in memory.
pub fn deflate(octets: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(octets)?;
    encoder.finish()
}

/// The contents of a file in gzip.
///
/// # Errors
/// If it is damaged, or its contents have more octets than `most`.
pub fn gunzip(octets: &[u8], most: u64) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    let mut decoder = GzDecoder::new(octets).take(most.saturating_add(1));
    decoder.read_to_end(&mut contents)?;
    if contents.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} octets")));
    }
    Ok(contents)
}
