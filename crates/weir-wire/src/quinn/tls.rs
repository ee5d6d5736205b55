//! TLS between ends that do not know each other: the server's certificate is its own, the client
//! takes any. It keeps packets from being read by the way, not from an attacker in the middle.
//! Its keys are written to the file that the environment's `SSLKEYLOGFILE` names, if any, so that a
//! capture can be read.

use super::identity;
use crate::error::Error;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{DigitallySignedStruct, KeyLogFile, SignatureScheme};
use std::sync::Arc;

/// The client's side, for this protocol.
pub(super) fn client(protocol: &str) -> Result<QuicClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let anybody = Arc::new(Anybody(Arc::clone(&provider)));
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(Error::tls)?
        .dangerous()
        .with_custom_certificate_verifier(anybody)
        .with_no_client_auth();
    tls.alpn_protocols = vec![protocol.into()];
    tls.key_log = Arc::new(KeyLogFile::new());
    QuicClientConfig::try_from(tls).map_err(Error::tls)
}

/// The server's side, for this protocol.
pub(super) fn server(protocol: &str) -> Result<QuicServerConfig, Error> {
    let identity = identity::get()?;
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])
        .map_err(Error::tls)?
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate.clone()], identity.key.clone_key())
        .map_err(Error::tls)?;
    tls.alpn_protocols = vec![protocol.into()];
    tls.key_log = Arc::new(KeyLogFile::new());
    QuicServerConfig::try_from(tls).map_err(Error::tls)
}

/// Takes any certificate whose key the server has.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
