//! Octets that an application writes as fast as its endpoint takes them.
//!
//! An endpoint may accept writes without limit, so the size of a burst is bounded, at more than a
//! terabit per second or one write per nanosecond. The driver thus regains control within every
//! millisecond of virtual time and can check the limits of the run.

use super::Session;
use weir_proto::endpoint::Endpoint;
use weir_proto::time::{Duration, Instant};

/// The most writes in a burst.
const MAX_WRITES: u64 = 1_000_000;
/// Octets after which a burst ends.
const MAX_OCTETS: u64 = 1 << 27;
/// The time from one burst to the next.
const BURST_INTERVAL: Duration = Duration::from_millis(1);

/// The octets still to be written, in writes of at most a packet.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// Octets; `u64::MAX` stands for no limit.
    pub(super) octets: u64,
    /// When the next burst begins; `None` unless the last one was cut off.
    resumes: Option<Instant>,
}

impl Outgoing {
    /// Output of this many octets.
    pub(super) fn new(octets: u64) -> Self {
        Self {
            octets,
            resumes: None,
        }
    }

    /// Writes as much as the endpoint takes, at most a burst; true once everything is written.
    pub(super) fn write(
        &mut self,
        now: Instant,
        endpoint: &mut dyn Endpoint,
        session: &mut Session,
        packet: u32,
    ) -> bool {
        if self.resumes.is_some_and(|at| now < at) {
            return false;
        }
        self.resumes = None;
        let (mut writes, mut octets) = (0, 0);
        while self.octets > 0 {
            if !session.writable {
                return false;
            }
            if writes == MAX_WRITES || octets >= MAX_OCTETS {
                self.resumes = Some(now + BURST_INTERVAL);
                return false;
            }
            // Writes of zero octets would never finish.
            let len = self.octets.min(u64::from(packet.max(1)));
            if !session.write(now, endpoint, len as u32) {
                return false;
            }
            self.octets -= len;
            writes += 1;
            octets += len;
        }
        true
    }

    /// When [`write`](Self::write) must be called again, unless the endpoint has room earlier.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.resumes
    }
}

#[cfg(test)]
mod tests {
    use crate::app::test_stream::Stream;
    use crate::app::{App, Bulk, BulkConfig};
    use weir_proto::endpoint::EndpointEvent;
    use weir_proto::time::{Duration, Instant};

    #[test]
    fn a_burst_into_an_endpoint_without_a_limit_is_bounded() {
        // 128 MiB are 95,870 writes of 1400 octets; a million of one octet are less.
        for (packet, burst) in [(1400, 95_870 * 1400), (1, 1_000_000)] {
            let mut app = Bulk::new(BulkConfig {
                packet,
                total: Some(burst + 1),
            });
            let mut endpoint = Stream {
                events: [EndpointEvent::Connected].into(),
                room: 2_000_000,
                ..Stream::default()
            };
            let millis = |millis| Instant::ZERO + Duration::from_millis(millis);
            app.poll(Instant::ZERO, &mut endpoint);
            assert_eq!(endpoint.written, burst);
            assert_eq!(app.poll_timeout(), Some(millis(1)));
            // A `Writable` event does not start the next burst early.
            endpoint.events.push_back(EndpointEvent::Writable);
            app.poll(Instant::ZERO + Duration::from_micros(999), &mut endpoint);
            assert_eq!(endpoint.written, burst);
            app.poll(millis(1), &mut endpoint);
            assert_eq!(endpoint.written, burst + 1);
            assert_eq!(app.poll_timeout(), None);
            assert!(app.done() && endpoint.closed);
        }
    }
}
