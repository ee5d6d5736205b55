//! The load of a listener.

/// The connections of a listener, and its answers to packets that belong to no connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// All connections, including those in handshake and in TIMEWAIT.
    pub connections: usize,
    /// Connections whose handshake is not done.
    pub handshakes: usize,
    /// Connections that have ended and are in TIMEWAIT.
    pub time_wait: usize,
    /// Responses sent with an Init Cookie, for which no state was kept.
    pub cookies_sent: u64,
    /// Connections established by a cookie.
    pub cookies_accepted: u64,
    /// Cookies that were forged, changed, too old or already used.
    pub cookies_refused: u64,
    /// Resets sent to packets that belong to no connection.
    pub resets_sent: u64,
    /// Packets that were not answered because of a limit.
    pub unanswered: u64,
}
