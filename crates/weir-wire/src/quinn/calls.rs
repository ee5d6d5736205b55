//! What a QUIC stack tells its controller and what follows from it, in the same form for each
//! stack.

use std::time::Instant;

/// A packet was acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledgement {
    pub now: Instant,
    /// When the packet was sent.
    pub sent: Instant,
    /// Its octets.
    pub bytes: u64,
    /// Its number; 0 from a stack that does not tell it.
    pub number: u64,
    pub app_limited: bool,
}

/// Packets were lost, or one was marked as having seen congestion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Congestion {
    pub now: Instant,
    /// When the last of the packets was sent.
    pub sent: Instant,
    pub is_persistent: bool,
    pub is_ecn: bool,
    /// Octets of all packets that were lost; 0 for a mark.
    pub lost_bytes: u64,
    /// The largest number of these packets; 0 from a stack that does not tell it.
    pub largest_lost: u64,
}

/// What limited the stack's sending, as far as its controller can infer it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendBound {
    /// There was nothing to send, or the peer's address is not validated.
    NoData,
    /// The window had no room.
    Window,
    /// A datagram was delayed by pacing: by the stack's pacer, or by the controller's pacing rate
    /// if that reduces the window which the stack sees.
    Pacer,
}
