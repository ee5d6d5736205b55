//! zlib (RFC 1950) and raw DEFLATE (RFC 1951), for documents with such streams.

use flate2::Compression;
use flate2::write::{DeflateEncoder, ZlibEncoder};
use std::io::{self, Write as _};

/// Compresses octets; the same octets give the same result.
///
/// # Errors
/// None in practice: the output is in memory.
pub fn zlib(octets: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(octets)?;
    encoder.finish()
}

/// Compresses texts one after the other, without a header.
///
/// # Errors
/// None in practice: the output is in memory.
pub fn deflated(texts: &[&[u8]]) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    texts.iter().try_for_each(|text| encoder.write_all(text))?;
    encoder.finish()
}
