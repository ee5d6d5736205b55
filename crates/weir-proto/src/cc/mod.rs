//! Congestion controllers, apart from the transports that use them.
//!
//! Two kinds, because their feedback differs in kind: a [`WindowController`] hears of every
//! acknowledged and lost packet and says how many octets may be in flight; a rate controller
//! ([`tfrc`]) hears once a round-trip time what the receiver measured and says when the next
//! packet may leave.

pub mod tfrc;
pub mod window;

use crate::event::Limit;
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// A packet left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When.
    pub now: Instant,
    /// Its octets.
    pub bytes: u64,
    /// Octets in flight, this packet included.
    pub bytes_in_flight: u64,
}

/// A packet was acknowledged for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When the acknowledgement came.
    pub now: Instant,
    /// When the packet was sent.
    pub sent_at: Instant,
    /// Its octets.
    pub bytes: u64,
    /// Octets in flight before this packet was taken off.
    pub bytes_in_flight: u64,
    /// The path's round-trip time as measured so far.
    pub rtt: Rtt,
    /// The application, not the window, limited sending.
    pub app_limited: bool,
}

/// Packets were declared lost or marked: at most one call per received acknowledgement or timer.
#[derive(Clone, Copy, Debug)]
pub struct CongestionEvent {
    /// When it was found out.
    pub now: Instant,
    /// When the latest of the lost or marked packets was sent.
    pub sent_at: Instant,
    /// Octets declared lost; zero for marks.
    pub lost_bytes: u64,
    /// Octets in flight after the lost packets were taken off.
    pub bytes_in_flight: u64,
    /// A mark (ECN), not a loss.
    pub ecn: bool,
}

/// Round-trip time as a transport knows it; all zero before the first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtt {
    /// The last sample.
    pub latest: Duration,
    /// Smoothed (RFC 9002 §5.3).
    pub smoothed: Duration,
    /// Variation (RFC 9002 §5.3).
    pub variation: Duration,
    /// The smallest sample.
    pub min: Duration,
}

/// Says how many octets may be in flight. Octets throughout, never packets.
pub trait WindowController {
    /// A packet in flight left.
    fn on_sent(&mut self, sent: &Sent);
    /// A packet was acknowledged. Called for each, in the order that the transport chooses.
    fn on_ack(&mut self, acked: &Acked);
    /// Packets were lost or marked; the controller decides whether it is a new event.
    fn on_congestion_event(&mut self, congestion: &CongestionEvent);
    /// Everything sent over a long time was lost (RFC 9002 §7.6).
    fn on_persistent_congestion(&mut self, now: Instant);
    /// All packets whose loss caused the last reduction have arrived after all.
    fn on_spurious_congestion_event(&mut self, _now: Instant) {}
    /// The congestion window in octets.
    fn window(&self) -> u64;
    /// Octets acknowledged towards the next increase; zero where the notion does not exist.
    fn partial_bytes_acked(&self) -> u64 {
        0
    }
    /// The slow-start threshold in octets, once there is one.
    fn ssthresh(&self) -> Option<u64>;
    /// A rate to pace at, if the controller asks for one.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// The datagram that may leave at the start of a recovery beyond the window (RFC 9002 §7.3.2):
    /// true once after each reduction, if the rules allow it.
    fn take_recovery_probe(&mut self) -> bool {
        false
    }
    /// `slow_start`, `recovery` or `congestion_avoidance`.
    fn state(&self) -> &'static str;
    /// What bound the window when it last changed.
    fn limit(&self) -> Limit;
    /// The largest datagram is of this many octets from now on, without IP and UDP headers.
    fn set_max_datagram_size(&mut self, octets: u64);
    /// The same controller in the same state, for a transport that keeps one for each path.
    fn clone_box(&self) -> window::BoxedController;
}
