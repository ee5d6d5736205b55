//! Records of the connections of flows with arrivals: the bounds on their senders, and their
//! round-trip times.
//!
//! Each open connection has its own record, which is added to the sums of its flow when it is
//! closed, so that memory depends on the number of open connections only.

use super::bound_times::BoundTimes;
use std::collections::BTreeMap;
use weir_net::histogram::Histogram;
use weir_proto::event::{Event, EventMask, EventSource};
use weir_proto::time::Instant;

/// The events of these senders that the summary needs.
const SENDER_EVENTS: EventMask = EventMask::RTT.union(EventMask::BOUND);

/// The records of the senders of all connections of a flow.
#[derive(Debug, Default)]
pub(in crate::run) struct SenderRecord {
    /// Samples from the end of the warm-up on, in nanoseconds.
    pub(in crate::run) rtts: Histogram,
    /// The times of closed connections.
    pub(in crate::run) bounds: BoundTimes,
}

/// An open connection.
#[derive(Debug)]
struct OpenConnection {
    /// The index of its flow among the flows with arrivals.
    set: usize,
    bounds: BoundTimes,
}

/// The connections of all flows with arrivals.
#[derive(Debug)]
pub(in crate::run) struct ConnectionRecords {
    warmup: Instant,
    /// Whether connections are recorded.
    is_on: bool,
    /// Records by the index of the flow; the last flows are missing until they open a connection.
    sets: Vec<SenderRecord>,
    /// Open connections by their sender's event source.
    open: BTreeMap<u32, OpenConnection>,
}

impl ConnectionRecords {
    /// Empty records. Events before the end of the warm-up are not counted.
    pub(in crate::run) const fn new(is_on: bool, warmup: Instant) -> Self {
        Self {
            warmup,
            is_on,
            sets: Vec::new(),
            open: BTreeMap::new(),
        }
    }

    /// Adds an open connection of this flow; returns the event mask of its sender.
    pub(in crate::run) fn open(&mut self, set: usize, sender: EventSource) -> EventMask {
        if !self.is_on {
            return EventMask::NONE;
        }
        if self.sets.len() <= set {
            self.sets.resize_with(set + 1, SenderRecord::default);
        }
        let bounds = BoundTimes::default();
        self.open.insert(sender.0, OpenConnection { set, bounds });
        SENDER_EVENTS
    }

    /// Records events of a sender.
    pub(in crate::run) fn record(&mut self, sender: EventSource, events: &[(Instant, Event)]) {
        let Some(connection) = self.open.get_mut(&sender.0) else {
            return;
        };
        for &(at, event) in events {
            match event {
                Event::Blocked(bound) => connection.bounds.set(at, self.warmup, bound),
                Event::Rtt(sample) if at >= self.warmup => {
                    self.sets[connection.set].rtts.push(sample.as_nanos());
                }
                _ => {}
            }
        }
    }

    /// Closes the connection of this sender: its current bound counts until this time; nothing is
    /// added if the connection ended before that bound began.
    pub(in crate::run) fn close(&mut self, sender: EventSource, until: Instant) {
        if let Some(mut connection) = self.open.remove(&sender.0) {
            connection.bounds.advance(until);
            self.sets[connection.set].bounds.add(&connection.bounds);
        }
    }

    /// The records of the senders of this flow; `None` if there are none.
    pub(in crate::run) fn of(&self, set: usize) -> Option<&SenderRecord> {
        self.sets.get(set)
    }

    /// The number of open connections.
    #[cfg(test)]
    pub(in crate::run) fn open_connections(&self) -> usize {
        self.open.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::event::SndLim;
    use weir_proto::time::Duration;

    fn at(secs: u64) -> Instant {
        Instant::from_nanos(secs * 1_000_000_000)
    }

    #[test]
    fn connections_count_while_they_are_alive_and_after_the_warm_up() {
        let mut records = ConnectionRecords::new(true, at(10));
        let [first, second, third] = [0, 2, 4].map(EventSource);
        let sample = Event::Rtt(Duration::from_millis(30));
        for (sender, set) in [(first, 1), (second, 1), (third, 1)] {
            assert_eq!(records.open(set, sender), SENDER_EVENTS);
        }
        let blocked = |secs, bound| (at(secs), Event::Blocked(bound));
        let events = [
            blocked(5, SndLim::Nothing),
            (at(6), sample),
            blocked(8, SndLim::Window),
            (at(11), sample),
            // The window counts for 2 s, nothing for 4 s, and later time is not counted.
            blocked(12, SndLim::Nothing),
        ];
        records.record(first, &events);
        records.close(first, at(16));
        // The connection ended before the second event: the window counts for 3 s.
        let events = [blocked(20, SndLim::Window), blocked(23, SndLim::Nothing)];
        records.record(second, &events);
        records.close(second, at(22));
        // The connection ended during the warm-up.
        records.record(third, &[blocked(2, SndLim::Rate)]);
        records.close(third, at(9));
        assert_eq!(records.open_connections(), 0);
        // A closed connection records nothing.
        records.record(first, &[(at(17), sample)]);
        let senders = records.of(1).expect("three connections");
        assert_eq!(
            (senders.rtts.count(), senders.rtts.max()),
            (1, Some(30_000_000))
        );
        let shares = senders.bounds.shares();
        let nonzero = shares.iter().filter(|(_, share)| **share > 0.0);
        let nonzero: Vec<_> = nonzero
            .map(|(bound, share)| (bound.as_str(), *share))
            .collect();
        assert_eq!(nonzero, [("nothing", 4.0 / 9.0), ("window", 5.0 / 9.0)]);
        assert!(
            records
                .of(0)
                .is_some_and(|none| none.bounds.shares().is_empty())
        );
        assert!(records.of(2).is_none());
    }

    #[test]
    fn a_run_of_which_counters_are_kept_listens_to_no_sender() {
        let mut records = ConnectionRecords::new(false, at(0));
        assert_eq!(records.open(0, EventSource(3)), EventMask::NONE);
        records.record(EventSource(3), &[(at(1), Event::Blocked(SndLim::Window))]);
        records.close(EventSource(3), at(2));
        assert!(records.of(0).is_none());
    }
}
