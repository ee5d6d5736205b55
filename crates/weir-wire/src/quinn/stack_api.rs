//! What is quinn's own in the adapter. The rest of it is one text that is compiled for quinn and,
//! with another module of this name, for its fork [noq](https://docs.rs/noq).

use super::calls::{Acknowledgement, Congestion, SendBound};
use crate::quinn::identity::PEER;
use bytes::{Bytes, BytesMut};
pub(super) use quinn_proto as proto;
use quinn_proto::congestion::{
    Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use quinn_proto::{
    Connection, ConnectionStats, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig,
    RttEstimator, SendStream, ServerConfig, Transmit, WriteError,
};
use std::sync::Arc;
use std::time::{Duration, Instant};
use weir_proto::cc::{WindowController, WindowControllerExt as _};
use weir_proto::units::Rate;

/// The stack's name in scenarios.
pub(super) const STACK: &str = "quinn";
/// The pacer follows the window and not the controller's pacing rate.
pub(super) const PACES_BY_RATE: bool = false;
/// Packets are sent only while the octets in flight stay below the window.
pub(super) const FILLS_WINDOW: bool = false;

/// Makes the configuration of a controller.
type MakeController = fn() -> Arc<dyn ControllerFactory>;

/// The stack's own controllers by their names in scenarios. quinn's BBR is not one of them, because
/// it takes random numbers from the system instead of the seed.
pub(super) const OWN_CONTROLLERS: [(&str, MakeController); 2] = [
    ("quinn-newreno", || Arc::new(NewRenoConfig::default())),
    ("quinn-cubic", || Arc::new(CubicConfig::default())),
];

/// How quinn asks for the window while it looks for something to send. It does so only if it has
/// ack-eliciting data: once for each datagram to compare the window with the octets in flight, and,
/// if there is room, once more for its pacer. If the pacer permits, it sends the datagram. For the
/// probes of a probe timeout it does not ask.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowQueries {
    queries: u64,
    is_paced: bool,
}

impl WindowQueries {
    /// The window was asked for. `is_paced`: the window has room, and what quinn sees is smaller
    /// because of the controller's pacing rate.
    pub const fn on_query(&mut self, is_paced: bool) {
        self.queries += 1;
        self.is_paced = is_paced;
    }

    /// What limited sending since this was last reset.
    pub const fn bound(self) -> SendBound {
        match self.queries {
            0 => SendBound::NoData,
            queries if queries % 2 == 1 && !self.is_paced => SendBound::Window,
            _ => SendBound::Pacer,
        }
    }
}

pub(super) fn endpoint(config: EndpointConfig, server: Option<ServerConfig>) -> Endpoint {
    Endpoint::new(Arc::new(config), server.map(Arc::new), false, None)
}

pub(super) fn handle(
    endpoint: &mut Endpoint,
    at: Instant,
    (ecn, data): (Option<EcnCodepoint>, BytesMut),
    reply: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(at, PEER, None, ecn, data, reply)
}

pub(super) fn poll_transmit(
    connection: &mut Connection,
    at: Instant,
    buffer: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(at, 1, buffer)
}

/// Writes as much as the stack accepts, and leaves the rest.
pub(super) fn write(mut stream: SendStream<'_>, data: &mut Bytes) -> Result<(), WriteError> {
    stream.write_chunks(std::slice::from_mut(data)).map(drop)
}

pub(super) fn stats(connection: &mut Connection) -> ConnectionStats {
    connection.stats()
}

/// Packets declared lost, and their octets.
pub(super) const fn lost(stats: &ConnectionStats) -> [u64; 2] {
    [stats.path.lost_packets, stats.path.lost_bytes]
}

pub(super) fn smoothed_rtt(connection: &Connection) -> Duration {
    connection.rtt()
}

/// The pacing rate in metrics, which have it in bits per second.
pub(super) fn pacing_rate(metrics: &ControllerMetrics) -> Option<Rate> {
    metrics.pacing_rate.map(|bps| Rate::from_bps(bps as f64))
}

/// Metrics with the pacing rate of a controller of Weir.
pub(super) fn paced_metrics(controller: &dyn WindowController) -> ControllerMetrics {
    let mut metrics = ControllerMetrics::default();
    metrics.pacing_rate = controller.pacing_rate().map(|rate| rate.as_bps() as u64);
    metrics
}

/// Passes an acknowledgement to a controller of the stack.
pub(super) fn acknowledge(own: &mut dyn Controller, acked: &Acknowledgement, rtt: &RttEstimator) {
    own.on_ack(acked.now, acked.sent, acked.bytes, acked.app_limited, rtt);
}

/// Passes a congestion event to a controller of the stack.
pub(super) fn congest(own: &mut dyn Controller, event: &Congestion) {
    own.on_congestion_event(event.now, event.sent, event.is_persistent, event.lost_bytes);
}
