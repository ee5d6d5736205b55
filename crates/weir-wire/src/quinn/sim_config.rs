//! What a quinn connection in the simulator is made from.

use super::identity;
use super::observed::{
    CongestionControlAlgorithm, ObservedControllerFactory, SharedControllerState,
};
use super::path_controller::ControllerConfig;
use crate::error::Error;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, EndpointConfig, IdleTimeout, ServerConfig, TransportConfig,
    ValidationTokenConfig, VarInt,
};
use rustls::RootCertStore;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::version::TLS13;
use std::sync::Arc;
use std::time;
use weir_proto::cc::window;
use weir_proto::rng::Rng;
use weir_proto::time::Duration;

/// The settings of both ends. What is not here is quinn's default.
#[derive(Clone, Copy, Debug)]
pub struct SimConfig {
    /// The congestion controller.
    pub algorithm: CongestionControlAlgorithm,
    /// Octets of the largest datagram without IP and UDP headers, at least 1200; the path's MTU
    /// is not searched for.
    pub max_datagram_size: u16,
    /// Ack-eliciting packets for each acknowledgement, asked of the receiver by
    /// draft-ietf-quic-ack-frequency; `None` leaves it to the receiver.
    pub ack_every: Option<u32>,
    /// Octets of a stream that the receiver takes in advance.
    pub stream_window: u64,
    /// Octets that the application may have unacknowledged.
    pub send_window: u64,
    /// Packets are ECN-capable.
    pub ecn: bool,
    /// Ends the connection after so long without a packet; `None` never does.
    pub idle_timeout: Option<Duration>,
}

impl SimConfig {
    /// quinn's defaults for all but the controller and the size of a datagram.
    pub const fn new(algorithm: CongestionControlAlgorithm, max_datagram_size: u16) -> Self {
        Self {
            algorithm,
            max_datagram_size,
            ack_every: None,
            // What quinn takes for 100 Mbit/s over 100 ms, and eight times as much to send.
            stream_window: 1_250_000,
            send_window: 10_000_000,
            ecn: true,
            idle_timeout: Some(Duration::from_secs(30)),
        }
    }

    fn transport(&self, view: &SharedControllerState) -> TransportConfig {
        let mut transport = TransportConfig::default();
        let factory = ObservedControllerFactory {
            algorithm: self.algorithm,
            view: view.clone(),
        };
        let variable = |octets| VarInt::from_u64(octets).unwrap_or(VarInt::MAX);
        let idle = self.idle_timeout.and_then(|span| {
            IdleTimeout::try_from(time::Duration::from_nanos(span.as_nanos())).ok()
        });
        transport
            .congestion_controller_factory(Arc::new(factory))
            .initial_mtu(self.max_datagram_size)
            .mtu_discovery_config(None)
            .enable_segmentation_offload(false)
            .stream_receive_window(variable(self.stream_window))
            .send_window(self.send_window)
            .max_idle_timeout(idle);
        if let Some(every) = self.ack_every {
            let mut frequency = AckFrequencyConfig::default();
            frequency.ack_eliciting_threshold(VarInt::from_u32(every.saturating_sub(1)));
            transport.ack_frequency_config(Some(frequency));
        }
        transport
    }

    pub(super) fn client(&self, view: &SharedControllerState) -> Result<ClientConfig, Error> {
        let identity = identity::get()?;
        let mut roots = RootCertStore::empty();
        roots
            .add(identity.certificate.clone())
            .map_err(Error::tls)?;
        let mut tls = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(Error::tls)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.resumption = Resumption::disabled();
        let crypto = QuicClientConfig::try_from(tls).map_err(Error::tls)?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::new(self.transport(view)));
        Ok(config)
    }

    pub(super) fn server(&self, view: &SharedControllerState) -> Result<ServerConfig, Error> {
        let identity = identity::get()?;
        let mut tls = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(Error::tls)?
            .with_no_client_auth()
            .with_single_cert(vec![identity.certificate.clone()], identity.key.clone_key())
            .map_err(Error::tls)?;
        tls.send_tls13_tickets = 0;
        let crypto = QuicServerConfig::try_from(tls).map_err(Error::tls)?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config
            .transport_config(Arc::new(self.transport(view)))
            .validation_token_config(tokens);
        Ok(config)
    }

    /// Every choice that quinn makes by chance comes from these random numbers.
    pub(super) fn endpoint(&self, rng: &mut Rng) -> EndpointConfig {
        let mut seed = [0; 32];
        for octets in seed.chunks_exact_mut(8) {
            octets.copy_from_slice(&rng.next_u64().to_be_bytes());
        }
        let mut config = EndpointConfig::default();
        config.rng_seed(Some(seed));
        let size = self.max_datagram_size.clamp(1200, 65_527);
        if config.max_udp_payload_size(size).is_err() {
            unreachable!("sizes from 1200 to 65527 are allowed");
        }
        config
    }
}

impl CongestionControlAlgorithm {
    /// All names: those of Weir's controllers and of quinn's own.
    pub fn names() -> impl Iterator<Item = &'static str> {
        window::names().chain([Self::NewReno.name(), Self::Cubic.name()])
    }

    /// A controller by the name that scenarios use: one of ours, `quinn-newreno`, or
    /// `quinn-cubic`. quinn's BBR is not among them, because it draws from the system's random
    /// numbers and not from the seed.
    ///
    /// # Errors
    /// [`Error::UnknownController`] if there is none.
    pub fn named(name: &str) -> Result<Self, Error> {
        match name {
            "quinn-newreno" => Ok(Self::NewReno),
            "quinn-cubic" => Ok(Self::Cubic),
            _ => ControllerConfig::named(name).map(Self::Weir),
        }
    }

    /// That name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NewReno => "quinn-newreno",
            Self::Cubic => "quinn-cubic",
            Self::Weir(controller) => controller.name(),
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
