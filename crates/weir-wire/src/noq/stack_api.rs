//! What is noq's own in the adapter that [`quinn`](crate::quinn) shares with it.

use super::calls::{Acknowledgement, Congestion, SendBound};
use crate::quinn::identity::PEER;
use bytes::{Bytes, BytesMut};
pub(super) use noq_proto as proto;
use noq_proto::congestion::{
    Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use noq_proto::{
    Connection, ConnectionStats, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple,
    PathId, RttEstimator, SendStream, ServerConfig, Transmit, WriteError,
};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use weir_proto::cc::{WindowController, WindowControllerExt as _};
use weir_proto::units::Rate;

/// The stack's name in scenarios.
pub(super) const STACK: &str = "noq";
/// The pacer follows the controller's pacing rate, if it has one.
pub(super) const PACES_BY_RATE: bool = true;
/// A packet may fill the window.
pub(super) const FILLS_WINDOW: bool = true;

/// Makes the configuration of a controller.
type MakeController = fn() -> Arc<dyn ControllerFactory>;

/// The stack's own controllers by their names in scenarios. noq's BBR is not one of them:
/// `Bbr3Config` has a seed for its random waits, but no function that sets it, so that they come
/// from the system.
pub(super) const OWN_CONTROLLERS: [(&str, MakeController); 2] = [
    ("noq-newreno", || Arc::new(NewRenoConfig::default())),
    ("noq-cubic", || Arc::new(CubicConfig::default())),
];

/// How noq asks for the window while it looks for something to send: if it has ack-eliciting data,
/// once for each datagram, except for the probes of a probe timeout. It says so if the window has
/// no room, and otherwise asks its pacer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowQueries {
    queries: u64,
    is_window_full: bool,
}

impl WindowQueries {
    /// The window was asked for. The flag is that of a window which is smaller than the
    /// controller's because of pacing: noq sees the controller's own.
    pub const fn on_query(&mut self, _is_paced: bool) {
        self.queries += 1;
    }

    /// A datagram was not sent because the window had no room.
    pub const fn on_window_full(&mut self) {
        self.is_window_full = true;
    }

    /// What limited sending since this was last reset.
    pub const fn bound(self) -> SendBound {
        match self.queries {
            _ if self.is_window_full => SendBound::Window,
            0 => SendBound::NoData,
            _ => SendBound::Pacer,
        }
    }
}

pub(super) fn endpoint(config: EndpointConfig, server: Option<ServerConfig>) -> Endpoint {
    Endpoint::new(Arc::new(config), server.map(Arc::new), false)
}

pub(super) fn handle(
    endpoint: &mut Endpoint,
    at: Instant,
    (ecn, data): (Option<EcnCodepoint>, BytesMut),
    reply: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(at, FourTuple::from_remote(PEER), ecn, data, reply)
}

pub(super) fn poll_transmit(
    connection: &mut Connection,
    at: Instant,
    buffer: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(at, NonZeroUsize::MIN, buffer)
}

/// Writes as much as the stack accepts, and leaves the rest.
pub(super) fn write(mut stream: SendStream<'_>, data: &mut Bytes) -> Result<(), WriteError> {
    stream
        .write_chunks(&mut std::slice::from_mut(data))
        .map(drop)
}

pub(super) fn stats(connection: &mut Connection) -> ConnectionStats {
    connection.stats()
}

/// Packets declared lost, and their octets.
pub(super) const fn lost(stats: &ConnectionStats) -> [u64; 2] {
    [stats.lost_packets, stats.lost_bytes]
}

pub(super) fn smoothed_rtt(connection: &Connection) -> Duration {
    connection.rtt(PathId::ZERO).unwrap_or_default()
}

/// The pacing rate in metrics, which have it in octets per second.
pub(super) fn pacing_rate(metrics: &ControllerMetrics) -> Option<Rate> {
    let rate = metrics.pacing_rate;
    rate.map(|octets| Rate::from_bps(octets as f64 * 8.0))
}

/// Metrics with the pacing rate of a controller of Weir, if it is to be enforced, and with its
/// quantum in octets.
pub(super) fn paced_metrics(controller: &dyn WindowController) -> ControllerMetrics {
    let pace = controller.pacer();
    let mut metrics = ControllerMetrics::default();
    metrics.pacing_rate = pace.map(|(rate, _)| rate.as_bytes_per_sec() as u64);
    metrics.send_quantum = pace.map(|(_, quantum)| quantum);
    metrics
}

/// Passes an acknowledgement to a controller of the stack.
pub(super) fn acknowledge(own: &mut dyn Controller, acked: &Acknowledgement, rtt: &RttEstimator) {
    own.on_ack(
        acked.now,
        acked.sent,
        acked.bytes,
        acked.number,
        acked.app_limited,
        rtt,
    );
}

/// Passes a congestion event to a controller of the stack.
pub(super) fn congest(own: &mut dyn Controller, event: &Congestion) {
    own.on_congestion_event(
        event.now,
        event.sent,
        event.is_persistent,
        event.is_ecn,
        event.lost_bytes,
        event.largest_lost,
    );
}
