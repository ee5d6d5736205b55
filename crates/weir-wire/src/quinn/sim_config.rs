//! The configuration of a stack's connections in the simulator.

use super::algorithm::CongestionControlAlgorithm;
use super::observed::{ControllerView, ObservedControllerFactory};
use super::stack_api::proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use super::stack_api::proto::{
    AckFrequencyConfig, ClientConfig, EndpointConfig, IdleTimeout, ServerConfig, TransportConfig,
    ValidationTokenConfig, VarInt,
};
use crate::error::Error;
use crate::quinn::tls;
use std::sync::Arc;
use std::time;
use weir_proto::rng::Rng;
use weir_proto::time::Duration;

/// The configuration of both ends. All other settings are the stack's defaults.
#[derive(Clone, Copy, Debug)]
pub struct SimConfig {
    /// The congestion controller.
    pub algorithm: CongestionControlAlgorithm,
    /// Octets of the largest datagram without IP and UDP headers, at least 1200. There is no path
    /// MTU discovery.
    pub max_datagram_size: u16,
    /// Ack-eliciting packets for each acknowledgement, requested from the receiver by the extension
    /// of draft-ietf-quic-ack-frequency; `None` leaves it to the receiver.
    pub ack_every: Option<u32>,
    /// Octets of a stream that the receiver buffers.
    pub stream_window: u64,
    /// Octets of data that the sender may have unacknowledged.
    pub send_window: u64,
    /// Packets are ECN-capable.
    pub ecn: bool,
    /// The time for which the connection stays open without a packet; `None` for ever.
    pub idle_timeout: Option<Duration>,
}

impl SimConfig {
    /// The stack's defaults with this controller and datagram size.
    pub const fn new(algorithm: CongestionControlAlgorithm, max_datagram_size: u16) -> Self {
        Self {
            algorithm,
            max_datagram_size,
            ack_every: None,
            // The window of quinn and noq for 100 Mbit/s over 100 ms, and a send window eight times
            // as large.
            stream_window: 1_250_000,
            send_window: 10_000_000,
            ecn: true,
            idle_timeout: Some(Duration::from_secs(30)),
        }
    }

    fn transport(&self, view: &ControllerView) -> TransportConfig {
        let mut transport = TransportConfig::default();
        let factory = ObservedControllerFactory {
            algorithm: self.algorithm,
            view: view.clone(),
            events: None,
        };
        let var_int = |octets| VarInt::from_u64(octets).unwrap_or(VarInt::MAX);
        let idle_timeout = self.idle_timeout.and_then(|timeout| {
            IdleTimeout::try_from(time::Duration::from_nanos(timeout.as_nanos())).ok()
        });
        transport
            .congestion_controller_factory(Arc::new(factory))
            .initial_mtu(self.max_datagram_size)
            .mtu_discovery_config(None)
            .enable_segmentation_offload(false)
            .stream_receive_window(var_int(self.stream_window))
            .send_window(self.send_window)
            .max_idle_timeout(idle_timeout);
        if let Some(every) = self.ack_every {
            let mut frequency = AckFrequencyConfig::default();
            frequency.ack_eliciting_threshold(VarInt::from_u32(every.saturating_sub(1)));
            transport.ack_frequency_config(Some(frequency));
        }
        transport
    }

    pub(super) fn client(&self, view: &ControllerView) -> Result<ClientConfig, Error> {
        let tls = QuicClientConfig::try_from(tls::simulated_client()?).map_err(Error::tls)?;
        let mut config = ClientConfig::new(Arc::new(tls));
        config.transport_config(Arc::new(self.transport(view)));
        Ok(config)
    }

    pub(super) fn server(&self, view: &ControllerView) -> Result<ServerConfig, Error> {
        let tls = QuicServerConfig::try_from(tls::simulated_server()?).map_err(Error::tls)?;
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config
            .transport_config(Arc::new(self.transport(view)))
            .validation_token_config(tokens);
        Ok(config)
    }

    /// The endpoint's configuration, in which `rng` seeds all random choices of the stack.
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
