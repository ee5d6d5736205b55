//! What a test carries in place of datagrams at a constant rate: the state machines of another
//! protocol, such as RTP, whose datagrams travel beside the control messages through one socket.

use crate::test_protocol::{FrameStats, Lie, ReceptionStats, TestConfig};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use weir_proto::packet::Ecn;
use weir_proto::time::{Duration, Instant};

/// One end of the protocol. It neither reads a clock nor owns a socket; its datagrams must not
/// begin with the magic number of the control messages.
pub trait Traffic: Any + Send {
    /// The test begins: from now on a sender writes.
    fn begin(&mut self, now: Instant);

    /// Takes a datagram of the peer, which arrived with this codepoint.
    fn receive(&mut self, now: Instant, octets: &[u8], ecn: Ecn);

    /// Appends the next datagram that is due; returns whether there was one.
    fn write(&mut self, now: Instant, out: &mut Vec<u8>) -> bool;

    /// When it has something to do even if no datagram comes.
    fn next_timeout(&self) -> Option<Instant>;

    /// What this end has counted.
    fn counts(&self) -> TrafficCounts;

    /// What the receiver has seen of a video when the data has ended; `None` without one.
    fn frames(&self, now: Instant) -> Option<FrameStats>;
}

/// What one end has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TrafficCounts {
    /// Datagrams of data that it has sent.
    pub sent: u64,
    /// Octets of application data in these.
    pub sent_octets: u64,
    /// What it has received of the peer's data.
    pub received: ReceptionStats,
    /// At the sender, once it is known.
    pub smoothed_rtt: Option<Duration>,
    /// What limits the sender's rate.
    pub limit: &'static str,
}

/// The traffic of a test, which the socket's task and the test's handle share.
pub type SharedTraffic = Arc<Mutex<dyn Traffic>>;

/// Makes the traffic of a test at the end that sends, or at the other, at this time.
pub type TrafficFactory = Arc<dyn Fn(&TestConfig, bool, Instant) -> SharedTraffic + Send + Sync>;

pub(super) fn lock(traffic: &SharedTraffic) -> MutexGuard<'_, dyn Traffic + 'static> {
    traffic.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands over a datagram of the peer of this test. Its number is a claim: one that jumps ahead says
/// how many there have been.
pub(super) fn take(
    traffic: &SharedTraffic,
    config: &TestConfig,
    now: Instant,
    (octets, ecn): (&[u8], Ecn),
) -> Result<(), Lie> {
    let mut traffic = lock(traffic);
    traffic.receive(now, octets, ecn);
    let received = traffic.counts().received;
    config.check_sent(received.expected, received.received)
}
