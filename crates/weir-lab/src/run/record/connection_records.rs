//! What is recorded of the connections of flows with arrivals: what held their senders back, and
//! their round-trip times.
//!
//! A sender is recorded by itself while its connection is open, and added to the sums of its flow
//! when that is closed, so that memory follows the open ones and not their number.

use super::bound_times::BoundTimes;
use std::collections::BTreeMap;
use weir_net::histogram::Histogram;
use weir_proto::event::{Event, EventMask, EventSource};
use weir_proto::time::Instant;

/// The events of such senders that the summary needs.
const SENDER_EVENTS: EventMask = EventMask::RTT.union(EventMask::BOUND);

/// What the senders of all connections of a flow have reported.
#[derive(Debug, Default)]
pub(in crate::run) struct SenderRecord {
    /// From the end of the warm-up on, in nanoseconds.
    pub(in crate::run) rtts: Histogram,
    /// Of the connections that were closed.
    pub(in crate::run) bounds: BoundTimes,
}

/// A connection that is open.
#[derive(Debug)]
struct OpenConnection {
    /// The index of its flow among those with arrivals.
    set: usize,
    bounds: BoundTimes,
}

/// The connections of all flows with arrivals.
#[derive(Debug)]
pub(in crate::run) struct ConnectionRecords {
    warmup: Instant,
    /// False if nothing is recorded.
    is_on: bool,
    /// By the index of the flow; shorter if none of the last ones has opened a connection.
    sets: Vec<SenderRecord>,
    /// By the number of the sender's events.
    open: BTreeMap<u32, OpenConnection>,
}

impl ConnectionRecords {
    /// Of no connection yet. What happens before the end of the warm-up does not count.
    pub(in crate::run) const fn new(is_on: bool, warmup: Instant) -> Self {
        Self {
            warmup,
            is_on,
            sets: Vec::new(),
            open: BTreeMap::new(),
        }
    }

    /// A connection of this flow is opened; returns the event mask of its sender.
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

    /// The sender has reported these events.
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

    /// The connection of this sender is closed: its present bound has held until this time, or to
    /// no purpose if the connection was over before it began to hold.
    pub(in crate::run) fn close(&mut self, sender: EventSource, until: Instant) {
        if let Some(mut connection) = self.open.remove(&sender.0) {
            connection.bounds.advance(until);
            self.sets[connection.set].bounds.add(&connection.bounds);
        }
    }

    /// What the senders of this flow have reported; `None` if none was recorded.
    pub(in crate::run) fn of(&self, set: usize) -> Option<&SenderRecord> {
        self.sets.get(set)
    }

    /// Connections that are open.
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
            // The window for 2 s; nothing for 4 s, and for more that do not count.
            blocked(12, SndLim::Nothing),
        ];
        records.record(first, &events);
        records.close(first, at(16));
        // It was over before it said so: the window for 3 s.
        let events = [blocked(20, SndLim::Window), blocked(23, SndLim::Nothing)];
        records.record(second, &events);
        records.close(second, at(22));
        // It was over in the warm-up.
        records.record(third, &[blocked(2, SndLim::Rate)]);
        records.close(third, at(9));
        assert_eq!(records.open_connections(), 0);
        // What is closed records nothing.
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
