//! What a controller inside quinn does, made visible: quinn itself tells only the window.
//!
//! [`ObservedController`] stands between quinn and a controller, ours or one of quinn's own, passes every
//! call on and keeps a [`ControllerState`] that the endpoint reads.

use super::path_controller::{ControllerConfig, PathController, span};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use weir_proto::event::{Limit, WindowState};
use weir_proto::time::Duration;

/// Which controller a connection has.
#[derive(Clone, Copy, Debug)]
pub enum CongestionControlAlgorithm {
    /// One of ours.
    Weir(ControllerConfig),
    /// quinn's own NewReno, at its own initial window.
    NewReno,
    /// quinn's own CUBIC, at its own initial window.
    Cubic,
}

/// What is known of a controller.
#[derive(Clone, Debug)]
pub(super) struct ControllerState {
    pub cwnd: u64,
    pub bytes_in_flight: u64,
    pub partial_bytes_acked: u64,
    pub ssthresh: Option<u64>,
    pub state: &'static str,
    pub limit: Limit,
    /// The last round-trip time sample; zero before the first.
    pub latest_rtt: Duration,
    /// The same, until somebody takes it.
    pub fresh_rtt: Option<Duration>,
    /// Losses and marks that began a recovery.
    pub congestion_events: u64,
}

impl ControllerState {
    /// What a trace tells, with the smoothed round-trip time that quinn knows.
    pub fn window(&self, smoothed_rtt: Duration) -> WindowState {
        WindowState {
            cwnd: self.cwnd,
            bytes_in_flight: self.bytes_in_flight,
            partial_bytes_acked: self.partial_bytes_acked,
            ssthresh: self.ssthresh,
            rtt: self.latest_rtt,
            smoothed_rtt,
            state: self.state,
            limit: self.limit,
        }
    }
}

/// A view that quinn's side and ours share. One thread at a time runs a connection, so that it is
/// never waited for.
#[derive(Clone, Debug)]
pub(super) struct SharedControllerState(Arc<Mutex<ControllerState>>);

impl SharedControllerState {
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(ControllerState {
            cwnd: 0,
            bytes_in_flight: 0,
            partial_bytes_acked: 0,
            ssthresh: None,
            state: "slow_start",
            limit: Limit::InitialWindow,
            latest_rtt: Duration::ZERO,
            fresh_rtt: None,
            congestion_events: 0,
        })))
    }

    pub fn lock(&self) -> MutexGuard<'_, ControllerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes watched controllers.
pub(super) struct ObservedControllerFactory {
    pub algorithm: CongestionControlAlgorithm,
    pub view: SharedControllerState,
}

impl ControllerFactory for ObservedControllerFactory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn congestion::Controller> {
        let theirs = |factory: Arc<dyn ControllerFactory>| Inner::Theirs(factory.build(now, mtu));
        let inner = match self.algorithm {
            CongestionControlAlgorithm::Weir(controller) => Inner::Ours(controller.start(now, mtu)),
            CongestionControlAlgorithm::NewReno => {
                theirs(Arc::new(congestion::NewRenoConfig::default()))
            }
            CongestionControlAlgorithm::Cubic => {
                theirs(Arc::new(congestion::CubicConfig::default()))
            }
        };
        let watched = ObservedController {
            inner,
            view: self.view.clone(),
            newest_acked: None,
            newest_in_batch: None,
            recovery_start: None,
            recovering: false,
        };
        watched.look(Limit::InitialWindow);
        Box::new(watched)
    }
}

enum Inner {
    Ours(PathController),
    Theirs(Box<dyn congestion::Controller>),
}

impl Inner {
    fn get(&self) -> &dyn congestion::Controller {
        match self {
            Self::Ours(running) => running,
            Self::Theirs(controller) => &**controller,
        }
    }

    fn get_mut(&mut self) -> &mut dyn congestion::Controller {
        match self {
            Self::Ours(running) => running,
            Self::Theirs(controller) => &mut **controller,
        }
    }
}

struct ObservedController {
    inner: Inner,
    view: SharedControllerState,
    /// When the newest packet was sent that has been acknowledged.
    newest_acked: Option<Instant>,
    /// The same for the acknowledgement that is being read.
    newest_in_batch: Option<Instant>,
    recovery_start: Option<Instant>,
    /// No packet sent after the start of recovery has been acknowledged yet.
    recovering: bool,
}

impl ObservedController {
    /// Brings the view up to date. `limit` is for controllers that do not tell theirs.
    fn look(&self, limit: Limit) {
        let mut view = self.view.lock();
        let metrics = self.inner.get().metrics();
        view.cwnd = metrics.congestion_window;
        view.ssthresh = metrics.ssthresh.filter(|&octets| octets < u64::MAX);
        if let Inner::Ours(running) = &self.inner {
            let controller = running.controller();
            view.partial_bytes_acked = controller.partial_bytes_acked();
            view.state = controller.state();
            view.limit = controller.limit();
            return;
        }
        let in_slow_start = view.ssthresh.is_none_or(|octets| view.cwnd < octets);
        (view.state, view.limit) = match limit {
            _ if self.recovering => ("recovery", Limit::Recovery),
            Limit::CongestionAvoidance if in_slow_start => ("slow_start", Limit::SlowStart),
            limit if in_slow_start => ("slow_start", limit),
            limit => ("congestion_avoidance", limit),
        };
    }
}

impl congestion::Controller for ObservedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.inner.get_mut().on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.inner
            .get_mut()
            .on_ack(now, sent, bytes, app_limited, rtt);
        self.recovering &= self.recovery_start.is_some_and(|start| sent <= start);
        self.newest_in_batch = self.newest_in_batch.max(Some(sent));
        self.look(if app_limited {
            Limit::ApplicationLimited
        } else {
            Limit::CongestionAvoidance
        });
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        self.inner
            .get_mut()
            .on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
        let newest = self.newest_in_batch.take();
        let mut view = self.view.lock();
        view.bytes_in_flight = in_flight;
        // RFC 9002 §5.1: a sample comes from a packet newer than all acknowledged before.
        if let Some(sent) = newest.filter(|&sent| Some(sent) > self.newest_acked) {
            let sample = span(now.saturating_duration_since(sent));
            view.latest_rtt = sample;
            view.fresh_rtt = Some(sample);
            self.newest_acked = Some(sent);
        }
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.inner
            .get_mut()
            .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        let mut view = self.view.lock();
        view.bytes_in_flight = view.bytes_in_flight.saturating_sub(lost_bytes);
        let begins = self.recovery_start.is_none_or(|start| sent > start);
        view.congestion_events += u64::from(begins);
        drop(view);
        if begins {
            self.recovery_start = Some(now);
            self.recovering = true;
        }
        self.look(Limit::Recovery);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.get_mut().on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.get().window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.get().metrics()
    }

    /// The copy for another path is not watched: the endpoint shows one path.
    fn clone_box(&self) -> Box<dyn congestion::Controller> {
        self.inner.get().clone_box()
    }

    fn initial_window(&self) -> u64 {
        self.inner.get().initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
