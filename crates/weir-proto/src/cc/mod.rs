//! Congestion controllers, independent of the transports that use them.
//!
//! There are two kinds, because their feedback differs: a [`WindowController`] processes every
//! acknowledged and lost packet and computes how many octets may be in flight; a rate controller
//! ([`tfrc`]) processes the receiver's measurements once a round-trip time and computes when the
//! next packet may leave.

pub mod rtt;
pub mod tfrc;
pub mod window;

pub use rtt::Rtt;

use crate::event::{Limit, WindowState};
use crate::time::Instant;
use crate::units::Rate;

/// A packet was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it was sent.
    pub now: Instant,
    /// Its size in octets.
    pub bytes: u64,
    /// Octets in flight, this packet included.
    pub bytes_in_flight: u64,
}

/// A packet was acknowledged for the first time.
#[derive(Clone, Copy, Debug)]
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

/// Packets were declared lost or marked: at most one call per received acknowledgement or timer.
#[derive(Clone, Copy, Debug)]
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

/// TCP's retransmission timer expired.
#[derive(Clone, Copy, Debug)]
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

/// A window-based congestion controller. All sizes are octets.
pub trait WindowController {
    /// A packet that counts as in flight was sent.
    fn on_sent(&mut self, sent: &Sent);
    /// A packet was acknowledged. Called for each packet, in an order that the transport chooses.
    fn on_ack(&mut self, acked: &Acked);
    /// True if acknowledgements of TCP's fast recovery are wanted too, in which a window must not
    /// grow (RFC 5681 §3.2): a controller that measures a rate counts all that arrives.
    fn wants_acks_in_recovery(&self) -> bool {
        false
    }
    /// Packets were lost or marked; the controller decides whether they begin a new recovery
    /// period (RFC 9002 §7.3.2).
    fn on_congestion_event(&mut self, congestion: &CongestionEvent);
    /// Persistent congestion was established (RFC 9002 §7.6).
    fn on_persistent_congestion(&mut self, now: Instant);
    /// TCP's retransmission timer expired: the window becomes one packet (RFC 5681 §3.1).
    fn on_retransmission_timeout(&mut self, timeout: &RetransmissionTimeout);
    /// A packet of the handshake was lost: the first window is one packet (RFC 5681 §3.1).
    fn on_handshake_loss(&mut self) {}
    /// Nothing was sent for longer than a retransmission timeout (RFC 5681 §4.1).
    fn on_idle_restart(&mut self) {}
    /// All packets that were declared lost in this recovery period have been acknowledged: the
    /// losses were spurious.
    fn on_spurious_congestion_event(&mut self, _now: Instant) {}
    /// The congestion window in octets.
    fn window(&self) -> u64;
    /// Octets acknowledged towards the next increase; zero for a controller that counts none.
    fn partial_bytes_acked(&self) -> u64 {
        0
    }
    /// The slow-start threshold in octets; `None` while it is infinite.
    fn ssthresh(&self) -> Option<u64>;
    /// The pacing rate; `None` for a controller without one.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// True once after each reduction, if the rules allow one packet beyond the window at the start
    /// of recovery (RFC 9002 §7.3.2).
    fn take_recovery_probe(&mut self) -> bool {
        false
    }
    /// The state for a trace, with what the transport knows: octets in flight and round-trip time.
    fn snapshot(&self, bytes_in_flight: u64, rtt: Rtt) -> WindowState {
        WindowState {
            cwnd: self.window(),
            bytes_in_flight,
            partial_bytes_acked: self.partial_bytes_acked(),
            ssthresh: self.ssthresh(),
            state: self.state(),
            limit: self.limit(),
            ..rtt.into()
        }
    }
    /// `slow_start`, `recovery` or `congestion_avoidance`.
    fn state(&self) -> &'static str;
    /// The rule that bound the window when it last changed.
    fn limit(&self) -> Limit;
    /// The largest datagram has this many octets from now on, without IP and UDP headers.
    fn set_max_datagram_size(&mut self, octets: u64);
    /// A copy in the same state, for a transport that keeps a controller for each path.
    fn clone_box(&self) -> window::BoxedController;
}

/// What the round-trip time says about the state of a window; the rest is not known.
impl From<Rtt> for WindowState {
    fn from(rtt: Rtt) -> Self {
        Self {
            rtt: rtt.latest,
            smoothed_rtt: rtt.smoothed,
            ..Self::default()
        }
    }
}
