//! A stream of packets so dense that it does not pay to sleep between them.
//!
//! A sleeper has to be woken, and the waking is paid for by who sends: over loopback it takes more
//! of the sender's time than the packet does. So who has just read something, and read something
//! shortly before it too, looks again for a while before it sleeps.

use weir_proto::time::{Duration, Instant};

/// Reads that are closer than this make a stream, and so long after the last one it has ended.
const GAP: Duration = Duration::from_micros(20);

/// What is known of it.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    last: Option<Instant>,
    dense: bool,
}

impl Stream {
    /// Something was read.
    pub(crate) fn hear(&mut self, now: Instant) {
        self.dense = self.last.is_some_and(|last| now.since(last) < GAP);
        self.last = Some(now);
    }

    /// Will there be more in a moment?
    pub(crate) fn flows(&self, now: Instant) -> bool {
        self.dense && self.last.is_some_and(|last| now.since(last) < GAP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_begins_with_two_reads_that_are_close_and_ends_with_a_gap() {
        let at = |micros: u64| Instant::from_nanos(micros * 1_000);
        let mut stream = Stream::default();
        assert!(!stream.flows(at(0)));
        stream.hear(at(100));
        assert!(!stream.flows(at(101)));
        stream.hear(at(119));
        assert!(stream.flows(at(120)) && stream.flows(at(138)) && !stream.flows(at(139)));
        stream.hear(at(140));
        assert!(!stream.flows(at(141)));
    }
}
