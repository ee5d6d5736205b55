//! The counts of data that a connection moves by itself.

use super::data_path::{DataPath, DataPathCounts};
use super::{FrameStats, Session, TestConfig};
use weir_proto::time::Instant;

/// What is counted of data that a connection moves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// The counts, which the owner of the connection keeps.
    pub counts: DataPathCounts,
    /// All that was asked for by its number has been written.
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

    /// The connection writes.
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
    /// Takes a datagram of a connection, which is a message or data.
    pub fn take_datagram(&mut self, now: Instant, datagram: &[u8]) {
        if self.take_octets(now, datagram) || !self.take_data(now) || self.is_sender() {
            return;
        }
        let octets = datagram.len();
        let received = self.data.counts.received.received + 1;
        let known = |told| self.config.check_sent(told, received);
        let claim = self.told_sent().map_or(Ok(()), known);
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
