//! Arguments of the methods of a controller's class.

use pyo3::prelude::*;
use weir_proto::cc::window::WindowConfig;
use weir_proto::cc::{CongestionEvent, EndAcks};
use weir_proto::time::Duration;
use weir_proto::units::Rate;

/// The argument of a controller's constructor.
#[pyclass(frozen, get_all, module = "weirlab._weirlab")]
pub struct ControllerConfig {
    /// Bytes of the largest datagram, without IP and UDP headers.
    max_datagram_size: u64,
    /// The initial window in bytes.
    initial_window: u64,
}

/// An acknowledgement, with the data that it delivered and the losses that it revealed. Times are
/// in seconds, sizes in bytes, rates in bit/s.
#[pyclass(frozen, get_all, module = "weirlab._weirlab")]
pub struct Ack {
    /// Virtual time at which it arrived.
    now: f64,
    /// Bytes that it newly acknowledges.
    acked: u64,
    /// Packets that it newly acknowledges.
    acked_packets: u64,
    /// Bytes declared lost since the previous acknowledgement.
    lost: u64,
    /// Packets that it newly reports as marked with Congestion Experienced.
    marked: u64,
    /// Bytes in flight after it.
    in_flight: u64,
    /// The sample of the round-trip time, if it gives one.
    rtt: Option<f64>,
    /// The smoothed round-trip time.
    smoothed_rtt: f64,
    /// The smallest round-trip time so far.
    min_rtt: f64,
    /// The sample of the delivery rate, if it gives one.
    delivery_rate: Option<f64>,
    /// Whether the application limited that sample.
    app_limited: bool,
    /// Bytes delivered so far.
    delivered: u64,
    /// Bytes delivered when the newest acknowledged packet was sent: counts round trips.
    prior_delivered: u64,
}

/// Losses or marks.
#[pyclass(frozen, get_all, module = "weirlab._weirlab")]
pub struct Congestion {
    /// Virtual time.
    now: f64,
    /// When the latest of the lost or marked packets was sent.
    sent_at: f64,
    /// Bytes declared lost; zero for marks.
    lost: u64,
    /// Bytes in flight, without the lost packets.
    in_flight: u64,
    /// Whether the event is due to ECN marks and not to losses.
    ecn: bool,
}

impl From<&WindowConfig> for ControllerConfig {
    fn from(config: &WindowConfig) -> Self {
        Self {
            max_datagram_size: config.max_datagram_size,
            initial_window: config.initial_window(),
        }
    }
}

impl From<&EndAcks> for Ack {
    fn from(acks: &EndAcks) -> Self {
        Self {
            now: acks.now.as_secs_f64(),
            acked: acks.newly_acked,
            acked_packets: acks.acked_packets,
            lost: acks.newly_lost,
            marked: acks.ecn_ce,
            in_flight: acks.bytes_in_flight,
            rtt: acks.rtt_sample.map(Duration::as_secs_f64),
            smoothed_rtt: acks.rtt.smoothed.as_secs_f64(),
            min_rtt: acks.rtt.min.as_secs_f64(),
            delivery_rate: acks.rate.delivery_rate.map(Rate::as_bps),
            app_limited: acks.rate.app_limited,
            delivered: acks.rate.total_delivered,
            prior_delivered: acks.rate.prior_delivered,
        }
    }
}

impl From<&CongestionEvent> for Congestion {
    fn from(congestion: &CongestionEvent) -> Self {
        Self {
            now: congestion.now.as_secs_f64(),
            sent_at: congestion.sent_at.as_secs_f64(),
            lost: congestion.lost_bytes,
            in_flight: congestion.bytes_in_flight,
            ecn: congestion.ecn,
        }
    }
}
