//! Congestion controllers, independent of the transports that use them.
//!
//! There are two kinds, because their feedback differs: a [`WindowController`] processes every
//! acknowledged and lost packet and computes how many octets may be in flight, and, if it paces,
//! how fast they may leave; a rate controller ([`tfrc`], or one of [`media`]) processes the
//! receiver's measurements once a round-trip time or in constant intervals and computes when the
//! next packet may leave.
//!
//! For one acknowledgement a transport calls [`WindowController::on_ack`] for each packet that it
//! newly acknowledges, [`WindowController::on_lost`] for each that it shows to be lost,
//! [`WindowController::on_congestion_event`] once for all of these, and at the end
//! [`WindowController::on_end_acks`] with the sample of the delivery rate. A controller uses the
//! calls that it needs.

pub mod delivery_rate;
pub mod filter;
pub mod media;
pub mod nada;
pub mod pacer;
#[cfg(test)]
pub(crate) mod recorder;
pub mod rtt;
pub mod tfrc;
pub mod window;

pub use delivery_rate::{DeliveryRateSampler, DeliverySnapshot, RateSample, RoundCounter};
pub use pacer::Pacer;
pub use rtt::Rtt;

use crate::event::{Hold, Limit, ModelState, RateLimit, SndLim, WindowState};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// A packet was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// When it was sent.
    pub now: Instant,
    /// Its size in octets.
    pub bytes: u64,
    /// Octets in flight, this packet included.
    pub bytes_in_flight: u64,
    /// The round-trip time measured so far.
    pub rtt: Rtt,
    /// The application limited sending before this packet: C.app_limited is set (draft-bbr
    /// §4.1.2.4).
    pub app_limited: bool,
}

/// A packet was acknowledged for the first time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// When the acknowledgement arrived.
    pub now: Instant,
    /// When the packet was sent.
    pub sent_at: Instant,
    /// Its size in octets.
    pub bytes: u64,
    /// Octets in flight, this packet included.
    pub bytes_in_flight: u64,
    /// The round-trip time measured so far.
    pub rtt: Rtt,
    /// The application, not the window, limited sending (RFC 9002 §7.8).
    pub app_limited: bool,
}

/// A packet was declared lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lost {
    /// When it was declared lost.
    pub now: Instant,
    /// When it was sent.
    pub sent_at: Instant,
    /// Its size in octets.
    pub bytes: u64,
    /// P.tx_in_flight: octets in flight when it had been sent, itself included. This field,
    /// `lost_since_sent` and `app_limited` are for controllers that use the delivery rate.
    pub tx_in_flight: u64,
    /// C.lost - P.lost: octets declared lost since it was sent, itself included.
    pub lost_since_sent: u64,
    /// C.delivered: octets delivered so far.
    pub delivered: u64,
    /// P.is_app_limited: the application limited sending when it was sent.
    pub app_limited: bool,
    /// It was sent directly after the packet that was declared lost before it: both are one range
    /// of lost data.
    pub continues_range: bool,
}

/// An acknowledgement that delivered packets was processed completely.
#[derive(Clone, Copy, Debug, Default)]
pub struct EndAcks {
    /// When it arrived.
    pub now: Instant,
    /// RS.newly_acked: octets that it newly acknowledged, selectively or not.
    pub newly_acked: u64,
    /// Packets that it newly acknowledged.
    pub acked_packets: u64,
    /// RS.newly_lost: octets declared lost since the acknowledgement before it, its own losses
    /// included.
    pub newly_lost: u64,
    /// Packets that the receiver newly reports as marked with Congestion Experienced.
    pub ecn_ce: u64,
    /// Octets in flight after it.
    pub bytes_in_flight: u64,
    /// When the newest of the acknowledged packets was sent.
    pub newest_sent_at: Instant,
    /// RS.rtt: the round-trip time of the newest of the acknowledged packets; `None` if it gives no
    /// sample.
    pub rtt_sample: Option<Duration>,
    /// The round-trip time measured so far.
    pub rtt: Rtt,
    /// The sample of the delivery rate, for a controller that uses it.
    pub rate: RateSample,
}

/// Packets were declared lost or marked: at most one call per received acknowledgement or timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct CongestionEvent {
    /// When the losses or marks were detected.
    pub now: Instant,
    /// When the latest of the lost or marked packets was sent.
    pub sent_at: Instant,
    /// Octets declared lost; zero for marks.
    pub lost_bytes: u64,
    /// Octets in flight, without the lost packets.
    pub bytes_in_flight: u64,
    /// Octets sent and not cumulatively acknowledged, if the reduction starts from these when they
    /// are fewer than the window (RFC 5681 §3.1, eq. 4).
    pub flight_size: Option<u64>,
    /// ECN marks, not losses.
    pub ecn: bool,
}

/// The recovery period for controllers that keep no other: losses and marks of packets that were
/// sent up to its beginning belong to it (RFC 9002 §7.3.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct RecoveryPeriod(Option<Instant>);

impl RecoveryPeriod {
    /// True if the losses or marks begin a new period.
    pub fn begins(&mut self, event: &CongestionEvent) -> bool {
        let begins = self.0.is_none_or(|start| event.sent_at > start);
        if begins {
            self.0 = Some(event.now);
        }
        begins
    }
}

/// TCP's retransmission timer expired.
#[derive(Clone, Copy, Debug, Default)]
pub struct RetransmissionTimeout {
    /// When it expired.
    pub now: Instant,
    /// When the first outstanding packet was last sent.
    pub sent_at: Instant,
    /// As in [`CongestionEvent`].
    pub flight_size: Option<u64>,
    /// It expired for the same segment before, so ssthresh is kept (RFC 5681 §3.1).
    pub repeated: bool,
}

/// The ECN codepoint of a controller's packets, which follows from its response to marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnCapability {
    /// Not-ECT: the controller does not respond to marks, so queues drop its packets instead of
    /// marking them (RFC 3168 §5).
    NotEct,
    /// ECT(0): the controller responds to a mark as to a loss (RFC 3168), or as DCTCP does.
    Ect0,
    /// ECT(1): the controller responds to the share of marked packets (RFC 9331).
    Ect1,
}

impl EcnCapability {
    /// True if packets are ECN-capable: as `capability` requires, or else as the transport's
    /// settings say (`by_settings`).
    pub fn is_used(capability: Option<Self>, by_settings: bool) -> bool {
        capability.map_or(by_settings, |capability| capability != Self::NotEct)
    }
}

/// The services of the transport that a window controller needs beyond the calls that every
/// controller gets. A transport omits those that it does not need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Samples of the delivery rate, for which a transport keeps the state of the connection at the
    /// sending of each packet. Otherwise samples have no rate, and the fields of [`Lost`] that hold
    /// that state are zero.
    pub delivery_rate: bool,
    /// Calls of [`WindowController::on_end_acks`].
    pub end_acks: bool,
    /// Calls of [`WindowController::on_ack`] in TCP's fast recovery too, in which a window must not
    /// grow (RFC 5681 §3.2): a controller that measures a rate counts every acknowledged packet.
    pub acks_in_recovery: bool,
    /// Its own window in recovery, which no other rule, such as TCP's proportional rate reduction
    /// (RFC 6937), replaces.
    pub window_in_recovery: bool,
    /// Packets that fill the window. The window of LEDBAT is at most a packet above the flight, and
    /// BBR raises `inflight_longterm` only while the window limits the sender: with a sender that
    /// never fills it, the window would not grow.
    pub filled_window: bool,
    /// The ECN codepoint of its packets, for a controller that needs ECN or does not respond to
    /// marks; `None` leaves the choice to the transport's settings.
    pub ecn: Option<EcnCapability>,
}

impl Needs {
    /// No service.
    pub const NONE: Self = Self {
        delivery_rate: false,
        end_acks: false,
        acks_in_recovery: false,
        window_in_recovery: false,
        filled_window: false,
        ecn: None,
    };
}

/// An event of a connection other than acknowledgements, losses and marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// A packet of the handshake was lost: the first window is one packet (RFC 5681 §3.1).
    HandshakeLoss,
    /// Nothing was sent for longer than a retransmission timeout (RFC 5681 §4.1).
    IdleRestart,
    /// The receiver has reported that it is slow, or that it has dropped data: slow start ends (RFC
    /// 4341 §5.2).
    SlowReceiver,
}

/// The pacing of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacingRate {
    /// The rate.
    pub rate: Rate,
    /// The largest burst in octets that may leave at once; `None` if only the window limits
    /// sending, and the rate is for the trace.
    pub quantum: Option<u64>,
}

impl PacingRate {
    /// A rate in octets per second with bursts of `quantum` octets.
    pub(crate) fn of(octets_per_s: f64, quantum: f64) -> Self {
        Self {
            rate: Rate::from_bps(octets_per_s * 8.0),
            quantum: Some(quantum as u64),
        }
    }
}

/// The state of a controller for traces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// `slow_start`, `recovery` or `congestion_avoidance`, or a state of the controller's own.
    pub state: &'static str,
    /// The rule that bound the window when it last changed.
    pub limit: Limit,
    /// The slow-start threshold in octets; `None` while it is infinite.
    pub ssthresh: Option<u64>,
    /// Octets acknowledged towards the next increase; zero for a controller that counts none.
    pub partial_bytes_acked: u64,
    /// For a controller whose pacing rate follows from an estimate of the delivery rate: the limit
    /// of the sample behind the current estimate.
    pub rate_limited_by: Option<RateLimit>,
    /// What it knows of the path, if it has a model.
    pub model: Option<ModelState>,
    /// It sets its own window in this recovery, as [`Needs::window_in_recovery`] says of all.
    pub window_in_recovery: bool,
}

impl Report {
    /// A report of a controller without a threshold, a count of octets or an estimate of the rate.
    pub const fn new(state: &'static str, limit: Limit) -> Self {
        Self {
            state,
            limit,
            ssthresh: None,
            partial_bytes_acked: 0,
            rate_limited_by: None,
            model: None,
            window_in_recovery: false,
        }
    }
}

/// A window-based congestion controller. All sizes are octets. [`WindowControllerExt`] holds the
/// values that a transport derives from it.
pub trait WindowController {
    /// The services of the transport that it needs; they do not change.
    fn needs(&self) -> Needs;
    /// A packet that counts as in flight was sent.
    fn on_sent(&mut self, sent: &Sent);
    /// A packet was acknowledged. Called for each packet, in an order that the transport chooses.
    fn on_ack(&mut self, acked: &Acked);
    /// A packet was declared lost. Called for each, before
    /// [`on_congestion_event`](Self::on_congestion_event) for all of them, which is enough for a
    /// controller that has no model of the path.
    fn on_lost(&mut self, lost: &Lost);
    /// An acknowledgement was processed completely: all its packets and the losses that it showed
    /// have been reported. Returns true while the controller itself keeps the sending rate below
    /// the capacity of the path, so that samples of the delivery rate count as limited by the
    /// application (draft-bbr §5.3.4.3).
    fn on_end_acks(&mut self, acks: &EndAcks) -> bool;
    /// Packets were lost or marked. True if they begin a new recovery period (RFC 9002 §7.3.2), to
    /// which the controller reacts once: a loss event in statistics.
    fn on_congestion_event(&mut self, congestion: &CongestionEvent) -> bool;
    /// Persistent congestion was established (RFC 9002 §7.6).
    fn on_persistent_congestion(&mut self, now: Instant);
    /// TCP's retransmission timer expired: the window becomes one packet (RFC 5681 §3.1).
    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout);
    /// All packets that were declared lost in this recovery period have been acknowledged: the
    /// losses were spurious. Returns true if the controller undoes its reaction to them.
    fn on_spurious_congestion_event(&mut self, now: Instant) -> bool;
    /// Another event of the connection.
    fn on_connection_event(&mut self, event: ConnectionEvent);
    /// The largest datagram has this many octets from now on, without IP and UDP headers.
    fn set_max_datagram_size(&mut self, octets: u64);
    /// The congestion window in octets.
    fn window(&self) -> u64;
    /// The pacing; `None` for a controller without a rate.
    fn pacing(&self) -> Option<PacingRate>;
    /// True once after each reduction, if the rules allow one packet beyond the window at the start
    /// of recovery (RFC 9002 §7.3.2).
    fn take_recovery_probe(&mut self) -> bool;
    /// The state for traces.
    fn report(&self) -> Report;
    /// A copy in the same state, for a transport that keeps a controller for each path.
    fn clone_box(&self) -> window::BoxedController;
}

/// Values that follow from the methods of a [`WindowController`].
pub trait WindowControllerExt: WindowController {
    /// The pacing rate; `None` for a controller without one.
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing().map(|pacing| pacing.rate)
    }
    /// The pacing rate and the largest burst under it in octets; `None` if only the window limits
    /// sending.
    fn pacer(&self) -> Option<(Rate, u64)> {
        let PacingRate { rate, quantum } = self.pacing()?;
        Some((rate, quantum?))
    }
    /// The limit of the sample behind the current window; [`RateLimit::Path`] if the window does
    /// not follow from a sample.
    fn window_limited_by(&self) -> RateLimit {
        let report = self.report();
        match report.limit {
            Limit::MaxInflight | Limit::ProbeRtt => report.rate_limited_by.unwrap_or_default(),
            _ => RateLimit::Path,
        }
    }
    /// The bound of a sender that this pacer or window limits, according to the source of its value
    /// (see [`SndLim`]). A pacer whose rate comes from the path or from a window only spreads the
    /// packets that `hold` allows.
    fn bound_behind(&self, bound: SndLim, hold: &Hold) -> SndLim {
        let limit = match bound {
            SndLim::Pacer => {
                let estimate = self.report().rate_limited_by;
                estimate.unwrap_or_default().or(hold.limit())
            }
            SndLim::Window => self.window_limited_by(),
            _ => RateLimit::Path,
        };
        limit.behind(bound)
    }
    /// The state for a trace, with values that the transport knows: octets in flight, round-trip
    /// time and hold.
    fn snapshot(&self, bytes_in_flight: u64, rtt: Rtt, hold: &Hold) -> WindowState {
        let (report, pacing_rate) = (self.report(), self.pacing_rate());
        let by_hold = || pacing_rate.map(|_| hold.limit());
        WindowState {
            cwnd: self.window(),
            bytes_in_flight,
            partial_bytes_acked: report.partial_bytes_acked,
            ssthresh: report.ssthresh,
            pacing_rate,
            rate_limited_by: report.rate_limited_by.or_else(by_hold),
            state: report.state,
            limit: report.limit,
            model: report.model,
            ..rtt.into()
        }
    }
}

impl<C: WindowController + ?Sized> WindowControllerExt for C {}

/// Sets the fields that follow from the round-trip time; the others have their defaults.
impl From<Rtt> for WindowState {
    fn from(rtt: Rtt) -> Self {
        Self {
            rtt: rtt.latest,
            smoothed_rtt: rtt.smoothed,
            ..Self::default()
        }
    }
}
