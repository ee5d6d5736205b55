//! Observation of a controller inside a QUIC stack, which itself reports only the window.
//!
//! [`ObservedController`] wraps a controller, Weir's or the stack's own. It forwards every call,
//! keeps a [`ControllerState`] that others can read, and reports each change of it as an event if
//! events are selected.

use super::algorithm::CongestionControlAlgorithm;
use super::calls::{Acknowledgement, Congestion, SendBound};
use super::path_controller::PathController;
use super::stack_api::proto::RttEstimator;
use super::stack_api::proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use super::stack_api::{self, WindowQueries};
use crate::events::EventSink;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use weir_proto::cc::WindowControllerExt as _;
use weir_proto::event::{Event, EventMask, Hold, Limit, RateLimit, SndLim, WindowState};
use weir_proto::time::{self, Duration};

/// The observed state of a controller.
#[derive(Clone, Debug)]
pub(super) struct ControllerState {
    /// The window and related values, without the smoothed round-trip time.
    window: WindowState,
    /// The last round-trip time sample, until it is taken.
    pub new_rtt_sample: Option<Duration>,
    /// Losses and congestion marks that started a recovery period.
    pub congestion_events: u64,
    /// Only losses of packets sent from this time on count as congestion events; `None` for all.
    pub counted_from: Option<Instant>,
    /// What the stack has asked since it last looked for data to send.
    queries: WindowQueries,
    /// What limited the simulated endpoint.
    hold: Hold,
    /// What limited the estimate of the delivery rate from which the window is computed.
    window_limited_by: RateLimit,
}

impl ControllerState {
    /// The window for a trace, with the smoothed round-trip time that quinn knows.
    pub const fn window(&self, smoothed_rtt: Duration) -> WindowState {
        WindowState {
            smoothed_rtt,
            ..self.window
        }
    }

    /// Counts octets that the stack has sent since its last report of octets in flight.
    pub const fn add_in_flight(&mut self, octets: u64) {
        self.window.bytes_in_flight += octets;
    }

    /// Octets that were acknowledged.
    pub const fn delivered(&self) -> Option<u64> {
        self.window.delivered
    }

    fn count_delivered(&mut self, octets: u64) {
        self.window.delivered = self.window.delivered.map(|before| before + octets);
        self.hold
            .on_delivered(self.window.delivered.unwrap_or_default());
    }

    /// Called before the stack looks for data to send.
    pub fn reset_queries(&mut self) {
        self.queries = WindowQueries::default();
    }

    /// What limited the stack's sending since then.
    pub const fn stack_bound(&self) -> SendBound {
        self.queries.bound()
    }

    /// No more packets are sent now, because of this bound. Returns the underlying bound.
    pub fn on_bound(&mut self, now: time::Instant, bound: SndLim) -> SndLim {
        let limit = match bound {
            SndLim::Pacer => {
                let estimate = self.window.rate_limited_by.unwrap_or_default();
                estimate.or(self.hold.limit())
            }
            SndLim::Window => self.window_limited_by,
            _ => RateLimit::Path,
        };
        let bound = limit.behind(bound);
        let delivered = self.window.delivered.unwrap_or_default();
        self.hold
            .say(now, bound, delivered + self.window.bytes_in_flight);
        bound
    }

    /// Confirms a bound that was reported before now.
    pub fn settle(&mut self, now: time::Instant) {
        self.hold.settle(now);
    }

    /// Whether there has been a round-trip time sample.
    pub const fn has_rtt(&self) -> bool {
        !self.window.rtt.is_zero()
    }
}

/// A view of the controller of a running connection.
///
/// The controller writes it, others read it. A connection runs in one thread at a time, so that the
/// lock is rarely contended.
#[derive(Clone, Debug)]
pub struct ControllerView(Arc<Mutex<ControllerState>>);

impl ControllerView {
    pub(super) fn new() -> Self {
        let window = WindowState {
            delivered: Some(0),
            state: "slow_start",
            limit: Limit::InitialWindow,
            ..WindowState::default()
        };
        Self(Arc::new(Mutex::new(ControllerState {
            window,
            new_rtt_sample: None,
            congestion_events: 0,
            counted_from: None,
            queries: WindowQueries::default(),
            hold: Hold::default(),
            window_limited_by: RateLimit::Path,
        })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ControllerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The congestion window in octets.
    pub fn window(&self) -> u64 {
        self.lock().window.cwnd
    }

    /// The last limit on the window.
    pub(super) fn window_limit(&self) -> Limit {
        self.lock().window.limit
    }
}

/// The destination of a controller's events, and the time from which they count.
#[derive(Clone)]
pub(super) struct ControllerEvents {
    pub sink: Arc<EventSink>,
    pub opened: Instant,
}

/// Creates observed controllers.
pub(super) struct ObservedControllerFactory {
    pub algorithm: CongestionControlAlgorithm,
    pub view: ControllerView,
    pub events: Option<ControllerEvents>,
}

impl ControllerFactory for ObservedControllerFactory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let inner = match self.algorithm {
            CongestionControlAlgorithm::Weir(controller) => {
                Inner::Weir(Box::new(controller.start(now, mtu)))
            }
            CongestionControlAlgorithm::Own(own) => Inner::Own(own.factory().build(now, mtu)),
        };
        let observed = ObservedController {
            inner,
            view: self.view.clone(),
            newest_acked: None,
            newest_in_batch: None,
            recovery_start: None,
            in_recovery: false,
            events: self.events.clone(),
            smoothed_rtt: Duration::ZERO,
            emitted: None,
            datagram_size: u64::from(mtu),
            in_flight: 0,
            bound: None,
            bound_since: now,
        };
        observed.update(Limit::InitialWindow);
        Box::new(observed)
    }
}

enum Inner {
    Weir(Box<PathController>),
    /// One of the stack.
    Own(Box<dyn Controller>),
}

impl Inner {
    fn get(&self) -> &dyn Controller {
        match self {
            Self::Weir(controller) => &**controller,
            Self::Own(controller) => &**controller,
        }
    }
}

pub(super) struct ObservedController {
    inner: Inner,
    view: ControllerView,
    /// When the newest acknowledged packet was sent.
    newest_acked: Option<Instant>,
    /// The same among the packets of the current acknowledgement.
    newest_in_batch: Option<Instant>,
    recovery_start: Option<Instant>,
    /// No packet sent after the start of recovery has been acknowledged so far.
    in_recovery: bool,
    events: Option<ControllerEvents>,
    smoothed_rtt: Duration,
    /// The window of the last event.
    emitted: Option<WindowState>,
    /// Octets of the largest datagram.
    datagram_size: u64,
    /// Octets in flight as of the last acknowledgement, plus those sent since.
    in_flight: u64,
    /// The bound of the last event.
    bound: Option<SndLim>,
    /// The time since which the stack has neither sent a packet nor received an acknowledgement.
    bound_since: Instant,
}

impl ObservedController {
    /// Updates the view. `limit` applies to the stack's own controllers, which do not report
    /// theirs.
    fn update(&self, limit: Limit) {
        let mut state = self.view.lock();
        let ControllerState {
            window,
            hold,
            window_limited_by,
            ..
        } = &mut *state;
        let metrics = self.inner.get().metrics();
        window.cwnd = metrics.congestion_window;
        window.ssthresh = metrics.ssthresh.filter(|&octets| octets < u64::MAX);
        window.pacing_rate = stack_api::pacing_rate(&metrics);
        if let Inner::Weir(path) = &self.inner {
            let controller = path.controller();
            let report = controller.report();
            window.pacing_rate = controller.pacing_rate();
            window.partial_bytes_acked = report.partial_bytes_acked;
            window.state = report.state;
            window.limit = report.limit;
            window.model = report.model;
            let paces = window.pacing_rate.is_some();
            window.rate_limited_by = report
                .rate_limited_by
                .or_else(|| paces.then_some(hold.limit()));
            *window_limited_by = controller.window_limited_by();
            return;
        }
        let in_slow_start = window.ssthresh.is_none_or(|octets| window.cwnd < octets);
        (window.state, window.limit) = match limit {
            _ if self.in_recovery => ("recovery", Limit::Recovery),
            Limit::CongestionAvoidance if in_slow_start => ("slow_start", Limit::SlowStart),
            limit if in_slow_start => ("slow_start", limit),
            limit => ("congestion_avoidance", limit),
        };
    }

    /// Emits events for the changes since the last call.
    fn emit(&mut self, now: Instant) {
        let Some(events) = &self.events else {
            return;
        };
        let mut state = self.view.lock();
        if let Some(sample) = state.new_rtt_sample.take()
            && events.sink.mask().intersects(EventMask::RTT)
        {
            events.push(now, Event::Rtt(sample));
        }
        let window = state.window(self.smoothed_rtt);
        drop(state);
        if self.emitted != Some(window) {
            self.emitted = Some(window);
            events.push(now, Event::Window(window));
        }
    }
}

impl ObservedController {
    /// Emits what limited the stack since it last sent a packet or received an acknowledgement. It
    /// tells its controller with an acknowledgement whether there was data to send; if there was,
    /// the limit was the window or else the pacer.
    fn emit_bound(&mut self, now: Instant, app_limited: bool) {
        let since = std::mem::replace(&mut self.bound_since, now);
        let Some(events) = &self.events else {
            return;
        };
        let window = self.inner.get().metrics().congestion_window;
        let room = window.saturating_sub(self.in_flight);
        let bound = match app_limited {
            true => SndLim::Application,
            false if room <= self.datagram_size => SndLim::Window,
            false => SndLim::Pacer,
        };
        if self.bound != Some(bound) && events.sink.mask().intersects(EventMask::BOUND) {
            self.bound = Some(bound);
            events.push(since, Event::Blocked(bound));
        }
    }
}

impl ControllerEvents {
    fn push(&self, at: Instant, event: Event) {
        let elapsed = at.saturating_duration_since(self.opened);
        let at = time::Instant::ZERO + Duration::from(elapsed);
        self.sink.push(at, event);
    }
}

/// What the stack's trait calls (see [`stack_api`]).
impl ObservedController {
    /// The stack's own controller, if it is one.
    pub(super) fn own_mut(&mut self) -> Option<&mut dyn Controller> {
        match &mut self.inner {
            Inner::Own(own) => Some(&mut **own),
            Inner::Weir(_) => None,
        }
    }

    /// Changes what is known of the stack's search for data.
    pub(super) fn with_queries(&self, change: impl FnOnce(&mut WindowQueries)) {
        change(&mut self.view.lock().queries);
    }

    /// One or more packets with these octets were sent.
    pub(super) fn send(&mut self, now: Instant, bytes: u64) {
        if let Inner::Weir(path) = &mut self.inner {
            path.set_hold(self.view.lock().hold);
            path.send(now, bytes);
        }
        self.in_flight = self.in_flight.saturating_add(bytes);
        self.bound_since = now;
    }

    pub(super) fn acknowledge(&mut self, acked: &Acknowledgement, rtt: &RttEstimator) {
        let Acknowledgement {
            now,
            sent,
            bytes,
            app_limited,
            ..
        } = *acked;
        if self.newest_in_batch.is_none() {
            self.emit_bound(now, app_limited);
        }
        match &mut self.inner {
            Inner::Weir(path) => path.acknowledge(acked, rtt),
            Inner::Own(own) => stack_api::acknowledge(&mut **own, acked, rtt),
        }
        self.in_recovery &= self.recovery_start.is_some_and(|start| sent <= start);
        self.newest_in_batch = self.newest_in_batch.max(Some(sent));
        self.smoothed_rtt = rtt.get().into();
        self.view.lock().count_delivered(bytes);
        self.update(if app_limited {
            Limit::ApplicationLimited
        } else {
            Limit::CongestionAvoidance
        });
    }

    /// All acknowledgements of a packet have been reported.
    pub(super) fn end_acknowledgement(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        if let Inner::Weir(path) = &mut self.inner {
            path.end_acknowledgement(now, in_flight, app_limited);
            self.update(Limit::None);
        }
        self.in_flight = in_flight;
        let newest = self.newest_in_batch.take();
        let mut state = self.view.lock();
        state.window.bytes_in_flight = in_flight;
        // RFC 9002 §5.1: a sample requires a packet newer than all those acknowledged before.
        if let Some(sent) = newest.filter(|&sent| Some(sent) > self.newest_acked) {
            let sample = Duration::from(now.saturating_duration_since(sent));
            state.window.rtt = sample;
            state.new_rtt_sample = Some(sample);
            self.newest_acked = Some(sent);
        }
        drop(state);
        self.emit(now);
    }

    pub(super) fn congest(&mut self, event: &Congestion) {
        let Congestion {
            now,
            sent,
            lost_bytes,
            ..
        } = *event;
        match &mut self.inner {
            Inner::Weir(path) => path.congest(event),
            Inner::Own(own) => stack_api::congest(&mut **own, event),
        }
        self.in_flight = self.in_flight.saturating_sub(lost_bytes);
        let mut state = self.view.lock();
        let window = &mut state.window;
        window.bytes_in_flight = window.bytes_in_flight.saturating_sub(lost_bytes);
        let begins_recovery = self.recovery_start.is_none_or(|start| sent > start);
        let counts = state.counted_from.is_none_or(|from| sent >= from);
        state.congestion_events += u64::from(begins_recovery && counts);
        drop(state);
        if begins_recovery {
            self.recovery_start = Some(now);
            self.in_recovery = true;
        }
        self.update(Limit::Recovery);
        self.emit(now);
    }

    pub(super) fn set_mtu(&mut self, new_mtu: u16) {
        self.datagram_size = u64::from(new_mtu);
        match &mut self.inner {
            Inner::Weir(path) => path.set_mtu(new_mtu),
            Inner::Own(own) => own.on_mtu_update(new_mtu),
        }
    }

    /// The window that the stack sees.
    pub(super) fn visible_window(&self) -> u64 {
        let is_paced = match &self.inner {
            Inner::Weir(path) => path.is_paced(),
            Inner::Own(_) => false,
        };
        self.with_queries(|queries| queries.on_query(is_paced));
        self.inner.get().window()
    }

    pub(super) fn visible_metrics(&self) -> ControllerMetrics {
        self.inner.get().metrics()
    }

    /// The copy for another path is not observed, because the view covers one path.
    pub(super) fn copy(&self) -> Box<dyn Controller> {
        self.inner.get().clone_box()
    }

    pub(super) fn first_window(&self) -> u64 {
        self.inner.get().initial_window()
    }
}

impl fmt::Debug for ObservedController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObservedController")
            .field("window", &self.inner.get().window())
            .finish_non_exhaustive()
    }
}
