//! Fingerprints of certificates, by which a client identifies a server with a self-signed
//! certificate.

use super::identity;
use crate::error::Error;
use rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use rustls::pki_types::CertificateDer;
use std::fmt;

/// The SHA-256 of a certificate in DER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    /// The fingerprint of the certificate of this process's servers.
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub fn of_this_process() -> Result<Self, Error> {
        let certificate = &identity::get()?.certificate;
        Self::of(certificate).ok_or_else(|| Error::tls("there is no SHA-256"))
    }

    /// The fingerprint of a certificate; `None` if SHA-256 is not available.
    pub(super) fn of(certificate: &CertificateDer<'_>) -> Option<Self> {
        let suite = TLS13_AES_128_GCM_SHA256.tls13()?;
        let hash = suite.common.hash_provider.hash(certificate);
        hash.as_ref().try_into().ok().map(Self)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|octet| write!(out, "{octet:02x}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_a_sha_256() {
        // FIPS 180-2, appendix B.1: the hash of "abc".
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let found = Fingerprint::of(&CertificateDer::from(&b"abc"[..]));
        assert_eq!(found.map(|found| found.to_string()), Some(hash.to_owned()));
    }
}
