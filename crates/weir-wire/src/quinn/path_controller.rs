//! A window controller of `weir-proto` behind quinn's controller trait.
//!
//! quinn detects losses and counts what is in flight; the controller says how large the window
//! is. quinn reports the same things as the lean endpoint of `weir-proto`, with these
//! differences:
//! - acknowledgements come before the losses that they reveal, whatever the rules say;
//! - an acknowledgement is counted before its round-trip time is, so that the first one comes
//!   with quinn's initial guess of 333 ms as the smoothed time;
//! - the variation of the round-trip time is not told, and stays zero;
//! - octets in flight are told once for each received acknowledgement; between two of them they
//!   are counted here, where packets that hold acknowledgements alone count too;
//! - a loss that turns out to be none is not told, and the datagram beyond the window at the
//!   start of a recovery is not asked for. The rules `undo_spurious`, `recovery_probe`,
//!   `losses_before_acks`, `send_gate`, `ack_first_at_once` and `pto_probes` have no effect.

use crate::error::Error;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time;
use weir_proto::cc::window::{self, BoxedController, ControllerEntry, WindowConfig};
use weir_proto::cc::{Acked, CongestionEvent, Rtt, Sent, WindowController};
use weir_proto::time::{Duration, Instant};

/// Makes a window controller for each path of a quinn connection.
#[derive(Clone, Copy, Debug)]
pub struct ControllerConfig {
    entry: &'static ControllerEntry,
    config: WindowConfig,
}

impl ControllerConfig {
    /// The controller that scenarios call by this name, such as `newreno`, `cubic` and `tfrc`.
    ///
    /// # Errors
    /// [`Error::UnknownController`] if there is none.
    pub fn named(name: &str) -> Result<Self, Error> {
        let entry = window::find(name).ok_or_else(|| Error::UnknownController(name.to_owned()))?;
        Ok(Self {
            entry,
            config: WindowConfig::default(),
        })
    }

    /// The name that scenarios call it by.
    pub const fn name(&self) -> &'static str {
        self.entry.name
    }

    /// With these rules, constants and initial window. The size of a datagram is the path's.
    #[must_use]
    pub const fn with_config(self, config: WindowConfig) -> Self {
        Self { config, ..self }
    }

    /// A controller at its initial window, for a path that carries datagrams of this size.
    pub fn start(&self, now: time::Instant, max_datagram_size: u16) -> PathController {
        let config = WindowConfig {
            max_datagram_size: u64::from(max_datagram_size),
            ..self.config
        };
        PathController {
            inner: (self.entry.make)(&config),
            initial_window: config.initial_window(),
            base: now,
            bytes_in_flight: 0,
        }
    }
}

impl ControllerFactory for ControllerConfig {
    fn build(self: Arc<Self>, now: time::Instant, mtu: u16) -> Box<dyn congestion::Controller> {
        Box::new(self.start(now, mtu))
    }
}

/// A controller at work on one path.
pub struct PathController {
    inner: BoxedController,
    initial_window: u64,
    /// Where the controller's time begins.
    base: time::Instant,
    bytes_in_flight: u64,
}

impl PathController {
    /// The controller itself.
    pub fn controller(&self) -> &dyn WindowController {
        &*self.inner
    }

    fn acknowledge(
        &mut self,
        (now, sent): (time::Instant, time::Instant),
        bytes: u64,
        app_limited: bool,
        rtt: Rtt,
    ) {
        let acked = Acked {
            now: self.at(now),
            sent_at: self.at(sent),
            bytes,
            bytes_in_flight: self.bytes_in_flight.max(bytes),
            rtt,
            app_limited,
        };
        self.inner.on_ack(&acked);
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(bytes);
    }

    /// The controller's time. What was sent before it was made was sent at its beginning.
    fn at(&self, when: time::Instant) -> Instant {
        Instant::ZERO + span(when.saturating_duration_since(self.base))
    }
}

/// A span of quinn's time in ours.
pub(super) fn span(span: time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

impl congestion::Controller for PathController {
    fn on_sent(&mut self, now: time::Instant, bytes: u64, _last_packet_number: u64) {
        self.bytes_in_flight = self.bytes_in_flight.saturating_add(bytes);
        let sent = Sent {
            now: self.at(now),
            bytes,
            bytes_in_flight: self.bytes_in_flight,
        };
        self.inner.on_sent(&sent);
    }

    fn on_ack(
        &mut self,
        now: time::Instant,
        sent: time::Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let rtt = Rtt {
            latest: span(now.saturating_duration_since(sent)),
            smoothed: span(rtt.get()),
            variation: Duration::ZERO,
            min: span(rtt.min()),
        };
        self.acknowledge((now, sent), bytes, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        _now: time::Instant,
        in_flight: u64,
        _app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        self.bytes_in_flight = in_flight;
    }

    fn on_congestion_event(
        &mut self,
        now: time::Instant,
        sent: time::Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(lost_bytes);
        let congestion = CongestionEvent {
            now: self.at(now),
            sent_at: self.at(sent),
            lost_bytes,
            bytes_in_flight: self.bytes_in_flight,
            ecn: lost_bytes == 0,
        };
        self.inner.on_congestion_event(&congestion);
        if is_persistent_congestion {
            self.inner.on_persistent_congestion(congestion.now);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.set_max_datagram_size(u64::from(new_mtu));
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.inner.window();
        metrics.ssthresh = self.inner.ssthresh();
        metrics.pacing_rate = self.inner.pacing_rate().map(|rate| rate.as_bps() as u64);
        metrics
    }

    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        Box::new(Self {
            inner: self.inner.clone_box(),
            ..*self
        })
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
#[path = "path_controller_tests.rs"]
mod tests;
