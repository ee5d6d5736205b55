//! What a classic window controller adds to their common part.

use crate::cc::Acked;
use crate::time::Instant;

/// The part in which classic window controllers differ. Windows are in octets.
pub trait Policy {
    /// Its slow start may end by HyStart.
    const HYSTART: bool = false;
    /// It has a slow start.
    const SLOW_START: bool = true;
    /// Its window is at most a packet above the octets in flight.
    const NEAR_FLIGHT: bool = false;
    /// A packet was acknowledged, in any state. A policy measures the path here, such as its rate
    /// or its minimum round-trip time.
    fn on_delivered(&mut self, _acked: &Acked) {}
    /// The window after this packet was acknowledged in congestion avoidance.
    fn on_ack(&mut self, cwnd: u64, acked: &Acked) -> u64;
    /// The window after a congestion event, before the minimum is applied.
    fn on_congestion_event(&mut self, now: Instant, cwnd: u64) -> u64;
    /// Octets were acknowledged in recovery and count towards the next increase.
    fn count_acked(&mut self, _bytes: u64) {}
    /// Discards the octets that were counted towards the next increase.
    fn reset_acked(&mut self) {}
    /// A packet was acknowledged while the application limited sending.
    fn on_app_limited(&mut self, _now: Instant) {}
    /// The largest window in congestion avoidance that a flight of `flight` octets allows: limit()
    /// of draft-ietf-ccwg-ratelimited-increase.
    fn limit(&self, flight: u64, packet: u64) -> u64 {
        flight.saturating_add(packet)
    }
    /// Rapid Start has ended with the estimate that path and queue hold so many octets, to which a
    /// policy may grow.
    fn on_full_bdp(&mut self, _octets: f64) {}
    /// Discards the measurements of the path, after persistent congestion.
    fn reset(&mut self) {}
    /// The largest datagram has this many octets from now on.
    fn set_max_datagram_size(&mut self, octets: u64);
    /// Octets acknowledged towards the next increase; zero for a policy that counts none.
    fn counted_acked(&self) -> u64 {
        0
    }
}
