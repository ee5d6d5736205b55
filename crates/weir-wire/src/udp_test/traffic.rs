//! Traffic that a test carries instead of datagrams at a constant rate: the state machines of
//! another protocol, such as RTP, whose datagrams share one socket with the control messages.

use crate::test_protocol::{DataPath, ImplausibleValue, TestConfig};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use weir_proto::packet::Ecn;
use weir_proto::time::Instant;

/// One end of the protocol. It has neither a clock nor a socket; its datagrams must not begin with
/// the magic number of the control messages.
pub trait Traffic: DataPath + Any + Send {
    /// Handles a datagram of the peer, which arrived with this ECN codepoint.
    fn receive(&mut self, now: Instant, octets: &[u8], ecn: Ecn);

    /// Appends the next datagram that is due; true if there was one.
    fn write(&mut self, now: Instant, out: &mut Vec<u8>) -> bool;
}

/// The traffic of a test, shared by the socket's task and the test's handle.
pub type SharedTraffic = Arc<Mutex<dyn Traffic>>;

/// Creates the traffic of a test at the end that sends, or at the other one, at this time.
pub type TrafficFactory = Arc<dyn Fn(&TestConfig, bool, Instant) -> SharedTraffic + Send + Sync>;

pub(super) fn lock(traffic: &SharedTraffic) -> MutexGuard<'_, dyn Traffic + 'static> {
    traffic.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes on a datagram of the peer of this test. A datagram whose number jumps ahead claims that
/// earlier ones were sent, so the count is checked.
pub(super) fn take(
    traffic: &SharedTraffic,
    config: &TestConfig,
    now: Instant,
    (octets, ecn): (&[u8], Ecn),
) -> Result<(), ImplausibleValue> {
    let mut traffic = lock(traffic);
    traffic.receive(now, octets, ecn);
    let received = traffic.counts(now).received;
    config.check_sent(received.expected, received.received)
}
