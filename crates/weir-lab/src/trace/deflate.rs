//! zlib compression (RFC 1950), for documents with such streams.

use flate2::Compression;
use flate2::write::ZlibEncoder;
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
