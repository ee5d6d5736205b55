//! TLS for simulated and measured connections. The server's certificate is self-signed (see
//! [`super::identity`]).
//!
//! A simulated client trusts that certificate. A measuring client accepts any, so that its
//! connection is encrypted but not secure against a man in the middle, unless it is given the
//! certificate's fingerprint. Measuring ends write their keys to the file named by the environment
//! variable `SSLKEYLOGFILE`, if it is set, so that captures can be decrypted.

use super::fingerprint::Fingerprint;
use super::identity;
use crate::error::Error;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WantsClientCert};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ConfigBuilder, DigitallySignedStruct, KeyLogFile, RootCertStore, ServerConfig,
    SignatureScheme, WantsVerifier,
};
use std::sync::Arc;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// A client with this verification of the server's certificate.
fn client(
    verify: impl FnOnce(
        ConfigBuilder<ClientConfig, WantsVerifier>,
    ) -> ConfigBuilder<ClientConfig, WantsClientCert>,
) -> Result<ClientConfig, Error> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(Error::tls)?;
    Ok(verify(builder).with_no_client_auth())
}

fn server() -> Result<ServerConfig, Error> {
    let identity = identity::get()?;
    ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(Error::tls)?
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate.clone()], identity.key.clone_key())
        .map_err(Error::tls)
}

/// A client that trusts the server's certificate, without session resumption.
pub(crate) fn simulated_client() -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    let certificate = identity::get()?.certificate.clone();
    roots.add(certificate).map_err(Error::tls)?;
    let mut tls = client(|builder| builder.with_root_certificates(roots))?;
    tls.resumption = Resumption::disabled();
    Ok(tls)
}

/// A server that sends no session tickets.
pub(crate) fn simulated_server() -> Result<ServerConfig, Error> {
    let mut tls = server()?;
    tls.send_tls13_tickets = 0;
    Ok(tls)
}

/// A client for this application protocol that accepts the certificate with this fingerprint, or
/// any.
pub(super) fn measuring_client(
    alpn: &str,
    pin: Option<Fingerprint>,
) -> Result<QuicClientConfig, Error> {
    let verifier = Arc::new(OwnCertificate {
        provider: provider(),
        pin,
    });
    let mut tls = client(|builder| {
        builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
    })?;
    tls.alpn_protocols = vec![alpn.into()];
    tls.key_log = Arc::new(KeyLogFile::new());
    QuicClientConfig::try_from(tls).map_err(Error::tls)
}

/// A server for this application protocol.
pub(super) fn measuring_server(alpn: &str) -> Result<QuicServerConfig, Error> {
    let mut tls = server()?;
    tls.alpn_protocols = vec![alpn.into()];
    tls.key_log = Arc::new(KeyLogFile::new());
    QuicServerConfig::try_from(tls).map_err(Error::tls)
}

/// Accepts the pinned certificate, or any, if the server proves that it has the key.
#[derive(Debug)]
struct OwnCertificate {
    provider: Arc<CryptoProvider>,
    pin: Option<Fingerprint>,
}

impl ServerCertVerifier for OwnCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match (self.pin, Fingerprint::of(end_entity)) {
            (None, _) => Ok(ServerCertVerified::assertion()),
            (Some(pin), Some(found)) if pin == found => Ok(ServerCertVerified::assertion()),
            (Some(pin), found) => {
                let found = found.map(|found| found.to_string()).unwrap_or_default();
                let message = format!("expected the certificate with SHA-256 {pin}, found {found}");
                Err(rustls::Error::General(message))
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
