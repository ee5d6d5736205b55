//! Writes as much as the endpoint takes, from the handshake to the end.
//!
//! For datagrams (DCCP) `packet` is the payload of a packet; for a stream (QUIC) it is only the
//! size of one write. With `total` the application writes so many octets and closes.

use super::{App, AppStatistics, Session};
use weir_proto::endpoint::Endpoint;
use weir_proto::time::Instant;

/// What to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BulkConfig {
    /// Octets of one write.
    pub packet: u32,
    /// Octets in all, then the connection is closed; `None` writes for ever.
    pub total: Option<u64>,
}

/// The application.
#[derive(Debug)]
pub struct Bulk {
    packet: u32,
    left: Option<u64>,
    session: Session,
}

impl Bulk {
    /// An application that writes nothing but whole packets, except for the last one of a total.
    pub fn new(config: BulkConfig) -> Self {
        Self {
            // A write without octets would never end.
            packet: config.packet.max(1),
            left: config.total,
            session: Session::default(),
        }
    }

    fn next_len(&self) -> u32 {
        let left = self.left.unwrap_or(u64::MAX);
        left.min(u64::from(self.packet)) as u32
    }
}

impl App for Bulk {
    fn start(&mut self, _now: Instant) {}

    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        self.session.drain(now, endpoint);
        if !self.session.writable {
            return;
        }
        loop {
            let len = self.next_len();
            if len == 0 {
                self.session.writable = false;
                endpoint.close(now);
                return;
            }
            if !self.session.write(now, endpoint, len) {
                return;
            }
            self.left = self.left.map(|left| left - u64::from(len));
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn done(&self) -> bool {
        self.left == Some(0) || self.session.ended()
    }

    fn statistics(&self) -> AppStatistics {
        self.session.statistics
    }
}
