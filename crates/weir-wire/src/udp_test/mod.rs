//! A test at a constant rate over plain UDP, in the manner of `iperf3 -u`: paced datagrams with a
//! number and a time, from which the receiver finds loss, reordering, duplicates and jitter
//! (RFC 3550 §6.4.1), and which give the sender a round-trip time.
//!
//! Nothing controls congestion. Against its use on others a [`TestListener`] sends nothing but one
//! short answer to an address that is not proven: a client has to bring back a token first. A
//! sender that hears nothing for five seconds stops.
//!
//! What is asked, and how the end is told, survives loss, for it is repeated until it is answered.
//! What it leaves out: rates that follow the path, encryption.

mod gate;
mod hub;
mod meter;
mod session;

use crate::test_protocol::{self, ReceptionStats};
pub use hub::{Test, TestListener};

/// The UDP port of servers of these tests: the one after that of DCCP.
pub const DEFAULT_PORT: u16 = 6512;

/// Octets of the shortest datagram, which holds its number, its time and the number of its test.
pub const MIN_LENGTH: u16 = test_protocol::DATA as u16;

/// Bits per second of a test whose client names no rate, as with iperf3.
pub const DEFAULT_RATE_BPS: f64 = 1e6;

/// How far a test has come.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TestStats {
    /// Data flows, or has flown.
    pub began: bool,
    /// This end sends.
    pub sends: bool,
    /// From the beginning of the data to its end, or to now.
    pub seconds: f64,
    /// Datagrams that this end has sent.
    pub sent: u64,
    /// Octets of these.
    pub sent_octets: u64,
    /// What the receiver has; at the sender what it said last.
    pub received: ReceptionStats,
    /// `received` is all there will be.
    pub complete: bool,
    /// At the sender, after the first report.
    pub smoothed_rtt_s: Option<f64>,
    /// What binds the sender's rate: the `application`, or the `host` that is too slow for it.
    pub limit: &'static str,
}

/// Why a test has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// As planned, or because one end had enough.
    Done,
    /// Nobody listens there.
    Refused,
    /// The peer does not answer.
    Silent,
    /// The server has too many tests.
    Busy,
}
