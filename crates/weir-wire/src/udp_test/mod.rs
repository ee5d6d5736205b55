//! Tests over plain UDP at a constant rate, like `iperf3 -u`: paced datagrams with a number and a
//! timestamp, from which the receiver finds loss, reordering, duplicates and jitter (RFC 3550
//! §6.4.1) and the sender the round-trip time.
//!
//! A client opens a [`Test`] with [`Test::connect`]; a server takes tests from a [`TestListener`].
//! Both ends then follow it by [`Test::stats`] until [`Test::ended`]. Requests, and the messages at
//! the end of a test, are repeated until they are answered, so they survive loss.
//!
//! Instead of them a test may carry the datagrams of another protocol ([`Traffic`]), such as RTP,
//! which controls its rate by itself.
//!
//! There is no congestion control of the datagrams at a constant rate. So that a server cannot be
//! used to flood others, a client first has to return a token that was sent to its address; until
//! then it is sent one short answer to each Request. A sender stops after five seconds without a
//! message from the receiver, and a receiver eight seconds after the time of the test. What the
//! peer says is held against what can be true. Not supported: encryption.

mod address_validation;
mod driver;
mod reception;
mod session;
mod traffic;

use crate::test_protocol::{self, FrameStats, Lie, ReceptionStats, Refusal};

pub use driver::{ClientSetup, ServerSetup, Test, TestListener};
pub use traffic::{SharedTraffic, Traffic, TrafficCounts, TrafficFactory};

/// The default UDP port of servers: the one after that of DCCP.
pub const DEFAULT_PORT: u16 = 6512;

/// Octets of the shortest datagram: its number, its timestamp and the number of its test.
pub const MIN_LENGTH: u16 = test_protocol::DATA_HEADER as u16;

/// Bits per second of a test whose client names no rate, as in iperf3.
pub const DEFAULT_RATE_BPS: f64 = 1e6;

/// The progress of a test at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TestStats {
    /// The server has accepted the test.
    pub began: bool,
    /// This end sends.
    pub sends: bool,
    /// From the beginning of the data to its end, or until now.
    pub seconds: f64,
    /// Datagrams sent by this end.
    pub sent: u64,
    /// Octets of these.
    pub sent_octets: u64,
    /// What the receiver has counted; at the sender, by its last report.
    pub received: ReceptionStats,
    /// `received` is final.
    pub complete: bool,
    /// At the sender, after the first report.
    pub smoothed_rtt_s: Option<f64>,
    /// What limits the sender's rate: the `application`, or the `host` if it is too slow; or what
    /// a [`Traffic`] says.
    pub limit: &'static str,
    /// What the receiver has seen of a video, by its last report.
    pub frames: Option<FrameStats>,
}

/// Why a test has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum EndReason {
    /// The duration is over, or one end has stopped the test.
    Done,
    /// An ICMP message says that no process listens at the server's port.
    Refused,
    /// The peer has not answered, or has stopped sending messages.
    TimedOut,
    /// The server runs as many tests as it allows.
    Busy,
    /// The server's tests carry media and this one does not, or the other way round.
    OtherMedia,
    /// The server does not take the test.
    Declined(Refusal),
    /// The peer claims what cannot be true.
    Lied(Lie),
    /// The sender has not ended the test in its time.
    Overdue,
}
