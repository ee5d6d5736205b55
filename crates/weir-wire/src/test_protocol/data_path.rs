//! What a transport does for a test beside its messages: it moves data and counts it.

use super::{FrameStats, ReceptionStats, TestConfig};
use weir_proto::time::{Duration, Instant};

/// The data of a test at one end.
pub trait DataPath {
    /// The data of this test begins.
    fn begin(&mut self, config: &TestConfig, now: Instant);

    /// What this end has counted up to this time.
    fn counts(&self, at: Instant) -> DataPathCounts;

    /// All that was asked for by its number has been written.
    fn is_done(&self) -> bool;

    /// When the next data is due, if the session's driver has to write it.
    fn next_timeout(&self) -> Option<Instant>;

    /// Arrival and timestamp of the datagram with the newest timestamp, if they have one.
    fn newest(&self) -> Option<(Instant, u64)>;

    /// What the receiver has seen of a video when the data has ended; `None` without one.
    fn frames(&self, now: Instant) -> Option<FrameStats>;
}

/// What one end has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DataPathCounts {
    /// Datagrams of data that it has sent or handed over: the receiver can have no more.
    pub sent: u64,
    /// Octets of application data in these, or in its stream.
    pub sent_octets: u64,
    /// Of these, those that wait to be sent.
    pub waiting: u64,
    /// What it has received of the peer's data.
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
    /// From the beginning of the data to its end, or until now.
    pub seconds: f64,
    /// Datagrams sent by this end.
    pub sent: u64,
    /// Octets of these.
    pub sent_octets: u64,
    /// What the receiver has counted; at the sender, by its last report.
    pub received: ReceptionStats,
    /// `received` is known: the receiver has reported, or this end is the receiver.
    pub reported: bool,
    /// `received` is final.
    pub complete: bool,
    /// At the sender, after the first report.
    pub smoothed_rtt_s: Option<f64>,
    /// What limits the sender's rate: the `application`, or the `host` if it is too slow; or what
    /// a [`Traffic`](crate::udp_test::Traffic) says.
    pub limit: &'static str,
    /// What the receiver has seen of a video, by its last report.
    pub frames: Option<FrameStats>,
}
