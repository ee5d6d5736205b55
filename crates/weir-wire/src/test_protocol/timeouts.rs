//! The times of a test, the same for all transports.

use weir_proto::time::Duration;

/// The interval at which an end checks its timers: the other times are multiples of it.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The interval of the receiver's Reports, and thus the largest error of interval results; the
/// Reports take 14 kbit/s of the return path.
pub(crate) const REPORT_INTERVAL: Duration = Duration::from_millis(100);
/// The time after which a message is repeated while no answer arrives: longer than most round-trip
/// times.
pub(crate) const REPEAT_INTERVAL: Duration = Duration::from_millis(200);
/// How long a client repeats its Request, and how long a server waits for the Request of a
/// connection: several retransmissions of a handshake, whose timers start at a second and double.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// The time without a packet after which a peer is considered gone. Each end, or its transport,
/// sends at least every two seconds, so that one lost packet causes no timeout. A sender without
/// congestion control must not flood a path for longer (the circuit breaker of RFC 8085 §3.1.10).
pub(crate) const PEER_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval of keepalives of a sender without data and without a connection.
pub(crate) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// How long an end waits for the peer's next step towards the end, and for its close: the time of a
/// message and its answer when most of their repetitions are lost.
pub const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long queued data of a connection may continue to be sent after the time of the test, so that
/// a requested number of datagrams is sent completely.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);
/// How long the rest of a stream may take to arrive before the stream is reset: at a rate that the
/// path carries hardly any data is left.
pub const STREAM_DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a receiver without a connection remains after its last Report, to repeat it: a repeated
/// End arrives every 200 ms.
pub(crate) const TIME_WAIT: Duration = Duration::from_millis(300);
