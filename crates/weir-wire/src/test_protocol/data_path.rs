//! What a transport provides for a test in addition to messages: it transfers data and counts it.

use super::{FrameStats, ReceptionStats, TestConfig};
use weir_proto::time::{Duration, Instant};

/// The data of a test at one end.
pub trait DataPath {
    /// Starts the data of this test.
    fn begin(&mut self, config: &TestConfig, now: Instant);

    /// The counters of this end up to this time.
    fn counts(&self, at: Instant) -> DataPathCounts;

    /// True if the requested number of writes has been made.
    fn is_done(&self) -> bool;

    /// When the next data is due, if the session's driver has to write it.
    fn next_timeout(&self) -> Option<Instant>;

    /// Arrival and timestamp of the datagram with the newest timestamp, if they have one.
    fn newest(&self) -> Option<(Instant, u64)>;

    /// The reception of a video when the data has ended; `None` without one.
    fn frames(&self, now: Instant) -> Option<FrameStats>;
}

/// The counters of one end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DataPathCounts {
    /// Datagrams of data that it has sent or handed over: an upper limit of those received.
    pub sent: u64,
    /// Octets of application data in these, or in its stream.
    pub sent_octets: u64,
    /// Octets among these that wait to be sent.
    pub waiting: u64,
    /// The counters of the peer's data that it has received.
    pub received: ReceptionStats,
    /// At the sender, once it is known.
    pub smoothed_rtt: Option<Duration>,
    /// What limits the sender's rate.
    pub limit: &'static str,
}

/// The progress of a test at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TestStats {
    /// The server has accepted the test.
    pub began: bool,
    /// This end sends.
    pub sends: bool,
    /// From the start of the data to its end, or until now.
    pub seconds: f64,
    /// Datagrams sent by this end.
    pub sent: u64,
    /// Octets of these.
    pub sent_octets: u64,
    /// The counters of the receiver; at the sender, from its last report.
    pub received: ReceptionStats,
    /// `received` is known: the receiver has reported, or this end is the receiver.
    pub reported: bool,
    /// `received` is final.
    pub complete: bool,
    /// At the sender, after the first report.
    pub smoothed_rtt_s: Option<f64>,
    /// What limits the sender's rate: the `application`, or the `host` if it is too slow; or the
    /// limit that a [`Traffic`](crate::udp_test::Traffic) reports.
    pub limit: &'static str,
    /// The reception of a video, from the receiver's last report.
    pub frames: Option<FrameStats>,
}
