//! The counts of data that a connection carries by itself.

use super::data_path::{DataPath, DataPathCounts};
use super::{FrameStats, Session, TestConfig};
use weir_proto::time::Instant;

/// The counts of data that a connection carries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// The counts, which the owner of the connection keeps.
    pub counts: DataPathCounts,
    /// The requested number of writes has been made.
    pub is_done: bool,
}

impl DataPath for Counted {
    fn begin(&mut self, _: &TestConfig, _: Instant) {}

    fn counts(&self, _: Instant) -> DataPathCounts {
        self.counts
    }

    fn is_done(&self) -> bool {
        self.is_done
    }

    /// The connection itself writes the data.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    fn newest(&self) -> Option<(Instant, u64)> {
        None
    }

    fn frames(&self, _: Instant) -> Option<FrameStats> {
        None
    }
}

impl Session<Counted> {
    /// Handles a datagram of a connection, which is a message or data.
    pub fn take_datagram(&mut self, now: Instant, datagram: &[u8]) {
        if self.take_octets(now, datagram) || !self.take_data(now) || self.is_sender() {
            return;
        }
        let octets = datagram.len();
        let received = self.data.counts.received.received + 1;
        let known = |told| self.config.check_sent(told, received);
        let claim = self.reported_sent().map_or(Ok(()), known);
        if self.check(now, self.config.check_length(octets).and(claim)) {
            let counted = &mut self.data.counts.received;
            counted.octets += octets as u64;
            (counted.received, counted.expected) = (received, received);
        }
    }
}

#[cfg(test)]
#[path = "counted_tests.rs"]
mod tests;
