//! The times of a test, the same for all transports.

use weir_proto::time::Duration;

/// From one look of an end at its timers to the next: the others are multiples of it.
pub(crate) const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// From one Report of the receiver to the next: so much a line about an interval may be off, and
/// the Reports take 14 kbit/s of the way back.
pub(crate) const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// From one transmission of a message to the next while no answer comes: longer than most round
/// trips.
pub(crate) const REPEAT_INTERVAL: Duration = Duration::from_millis(200);
/// How long a client asks, and how long a server waits for the Request of a connection: several
/// repetitions of a handshake, whose timers begin at a second and double.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer from which nothing has come for so long is gone. Each end says something at least every
/// two seconds, or its transport does, so that one lost packet is no silence. A sender without
/// congestion control must not flood a path for longer (the circuit breaker of RFC 8085 §3.1.10).
pub(crate) const PEER_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a sender without data and without a connection says that it is there.
pub(crate) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// How long an end waits for the peer's next step towards the end, and for its close: what a
/// message and its answer take when most of their repetitions are lost.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long what a connection has queued may take to leave after the time of the test, while it
/// leaves: those who ask for a number of datagrams want all of them.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the rest of a stream may take to arrive before it is reset: a rate that the path
/// carries has hardly anything left to send.
pub const STREAM_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a receiver without a connection stays after its last Report, to repeat it: a repeated
/// End comes every 200 ms.
pub(crate) const TIME_WAIT: Duration = Duration::from_millis(300);
