//! Authentication tags for tokens that a peer returns: a BLAKE3 keyed hash of the peer's address
//! and the content of the token, truncated to 128 bits.

use crate::error::Error;
use std::net::{IpAddr, SocketAddr};

/// Octets of a tag.
pub(crate) const TAG_OCTETS: usize = 16;

/// A secret key from the system's random numbers.
pub(crate) struct TagKey([u8; 32]);

impl TagKey {
    /// # Errors
    /// [`Error::Randomness`].
    pub(crate) fn random() -> Result<Self, Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| Error::Randomness(error.to_string()))?;
        Ok(Self(key))
    }

    /// The tag over the peer's address and these octets. All parts but the last have a fixed
    /// length, so that different lists of parts never yield the same input.
    pub(crate) fn tag(&self, peer: SocketAddr, parts: &[&[u8]]) -> [u8; TAG_OCTETS] {
        let ip = match peer.ip().to_canonical() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&ip.octets());
        hasher.update(&peer.port().to_be_bytes());
        for part in parts {
            hasher.update(part);
        }
        let mut tag = [0; TAG_OCTETS];
        hasher.finalize_xof().fill(&mut tag);
        tag
    }
}

/// Compares all octets of two tags, so that the time taken does not reveal where they differ.
pub(crate) fn tags_match(expected: &[u8; TAG_OCTETS], tag: &[u8; TAG_OCTETS]) -> bool {
    let pairs = expected.iter().zip(tag);
    pairs.fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}
