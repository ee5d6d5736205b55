//! Configurations for real quinn connections whose controller can be observed and traced.
//!
//! The controller is observed at quinn's calls. Not visible there: whether the receiver's credit or
//! quinn's send window limited sending, which looks like an application without data.

use super::algorithm::CongestionControlAlgorithm;
use super::fingerprint::Fingerprint;
use super::observed::{ControllerEvents, ControllerView, ObservedControllerFactory};
use super::tls;
use crate::error::Error;
use crate::events::{EventSink, EventStream};
use quinn_proto::{ClientConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt};
use std::sync::Arc;
use std::time::{Duration, Instant};
use weir_proto::event::{EventMask, Limit};
use weir_proto::time;

/// Octets of a stream that the receiver buffers: 10 Gbit/s over 10 ms.
const STREAM_WINDOW: u32 = 12_500_000;
/// A connection ends after this long without a packet, and a handshake without an answer: the
/// session of a test detects a missing peer earlier.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);

/// Connections of a server that wait to be accepted, and the octets buffered for one and for all of
/// them: a client's first flight is a packet or two.
const MAX_INCOMING: usize = 1024;
const INCOMING_OCTETS: u64 = 16 << 10;
const ALL_INCOMING_OCTETS: u64 = 4 << 20;
/// Streams that the peer may open: one for data, and one for control messages.
const MAX_STREAMS: u32 = 1;

/// The configuration of traced connections. All other settings are quinn's defaults.
#[derive(Clone, Debug)]
pub struct TracedConfig {
    /// The congestion controller of this end.
    pub algorithm: CongestionControlAlgorithm,
    /// Packets that may be sent together are passed to the kernel in one segmented send (GSO).
    pub segmentation: bool,
    /// The application protocol (ALPN).
    pub alpn: &'static str,
    /// The events that are traced.
    pub events: EventMask,
}

/// quinn's configuration of one connection, with its controller and events.
#[derive(Debug)]
pub struct Traced<C> {
    /// quinn's configuration.
    pub config: C,
    /// The connection's controller.
    pub controller: ControllerView,
    /// The controller's events, if the mask is not empty.
    pub events: Option<EventStream>,
}

impl ControllerView {
    /// The limit on the sender: flow control if the window exceeds the receiver's buffer, else the
    /// last limit on the window.
    pub fn limit(&self) -> &'static str {
        let limit = if self.window() > u64::from(STREAM_WINDOW) {
            Limit::FlowControl
        } else {
            self.window_limit()
        };
        limit.name()
    }
}

impl TracedConfig {
    /// The configuration of a client that accepts the certificate with this fingerprint, or any
    /// without one, because the measured data is not secret.
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub fn client(&self, pin: Option<Fingerprint>) -> Result<Traced<ClientConfig>, Error> {
        let mut config = ClientConfig::new(Arc::new(tls::measuring_client(self.alpn, pin)?));
        Ok(self.trace(|transport| {
            config.transport_config(transport);
            config
        }))
    }

    /// The configuration of one connection of a server, with a self-signed certificate of this
    /// process.
    ///
    /// # Errors
    /// [`Error::Tls`].
    pub fn server(&self) -> Result<Traced<ServerConfig>, Error> {
        let mut config = ServerConfig::with_crypto(Arc::new(tls::measuring_server(self.alpn)?));
        config
            .max_incoming(MAX_INCOMING)
            .incoming_buffer_size(INCOMING_OCTETS)
            .incoming_buffer_size_total(ALL_INCOMING_OCTETS);
        Ok(self.trace(|transport| {
            config.transport_config(transport);
            config
        }))
    }

    fn trace<C>(&self, configure: impl FnOnce(Arc<TransportConfig>) -> C) -> Traced<C> {
        let view = ControllerView::new();
        let (sink, events) = EventSink::new(self.events, time::Instant::ZERO).unzip();
        let opened = Instant::now();
        let factory = ObservedControllerFactory {
            algorithm: self.algorithm,
            view: view.clone(),
            events: sink.map(|sink| ControllerEvents {
                sink: Arc::new(sink),
                opened,
            }),
        };
        let mut transport = TransportConfig::default();
        transport
            .congestion_controller_factory(Arc::new(factory))
            .enable_segmentation_offload(self.segmentation)
            .max_concurrent_bidi_streams(VarInt::from_u32(MAX_STREAMS))
            .max_concurrent_uni_streams(VarInt::from_u32(MAX_STREAMS))
            .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
            .send_window(u64::from(STREAM_WINDOW))
            .keep_alive_interval(Some(KEEPALIVE_INTERVAL))
            .max_idle_timeout(IdleTimeout::try_from(IDLE_TIMEOUT).ok());
        Traced {
            config: configure(Arc::new(transport)),
            controller: view,
            events,
        }
    }
}
