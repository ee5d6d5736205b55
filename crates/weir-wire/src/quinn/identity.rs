//! The servers' identity: a name, a key and a self-signed certificate, created once per process.
//!
//! Ed25519 keys, their signatures and this certificate have constant lengths, so that a handshake
//! takes the same number of octets in every run.

use crate::error::Error;
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::OnceLock;

/// The server's name in the certificate and the handshake.
pub(crate) const NAME: &str = "server.invalid";

/// The peer's address in the simulator. A stack needs one; the simulator addresses packets itself.
pub(crate) const PEER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 443);

/// A certificate and its key.
#[derive(Debug)]
pub(super) struct Identity {
    pub certificate: CertificateDer<'static>,
    pub key: PrivateKeyDer<'static>,
}

/// This process's identity.
pub(super) fn get() -> Result<&'static Identity, Error> {
    static IDENTITY: OnceLock<Result<Identity, String>> = OnceLock::new();
    IDENTITY
        .get_or_init(|| make().map_err(|error| error.to_string()))
        .as_ref()
        .map_err(Error::tls)
}

fn make() -> Result<Identity, rcgen::Error> {
    let key = KeyPair::generate_for(&PKCS_ED25519)?;
    let mut params = CertificateParams::new([NAME.to_owned()])?;
    // A random serial number would vary in length.
    params.serial_number = Some(1.into());
    let certificate = params.self_signed(&key)?;
    Ok(Identity {
        certificate: certificate.der().clone(),
        key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
    })
}
