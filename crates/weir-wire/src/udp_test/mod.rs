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
mod wire;

pub use hub::{Test, TestListener};
pub use meter::ReceptionStats;
use std::time::Duration;

/// The UDP port of servers of these tests: the one after that of DCCP.
pub const DEFAULT_PORT: u16 = 6512;

/// What is to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TestConfig {
    /// The server sends.
    pub reverse: bool,
    /// Datagrams are ECN-capable.
    pub ecn: bool,
    /// Octets of a datagram, from [`TestConfig::MIN_LENGTH`] to [`TestConfig::MAX_LENGTH`].
    pub length: u16,
    /// Bits per second of datagrams, headers of IP and UDP not included.
    pub rate_bps: f64,
    /// For how long, at most a day.
    pub duration: Duration,
}

impl TestConfig {
    /// A datagram holds its number, its time and the number of its test.
    pub const MIN_LENGTH: u16 = wire::DATA as u16;
    /// What fits IPv4 and UDP.
    pub const MAX_LENGTH: u16 = 65_507;

    fn is_sane(&self) -> bool {
        (Self::MIN_LENGTH..=Self::MAX_LENGTH).contains(&self.length)
            && (1.0..=1e12).contains(&self.rate_bps)
            && self.duration <= Duration::from_hours(24)
    }
}

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
