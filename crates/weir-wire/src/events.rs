//! What a connection's machine says of itself, for whoever traces it.
//!
//! The hub never waits for who listens: events that find no room are counted and left out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc::{self, error::TrySendError};
use weir_proto::event::{Event, EventMask};
use weir_proto::time::{Duration, Instant};

/// Events that may wait for who listens.
const UNDER_WAY: usize = 1 << 16;

/// The events of a connection from its first packet on, of the kinds that
/// [`EndpointConfig::event_mask`](crate::EndpointConfig::event_mask) names.
#[derive(Debug)]
pub struct EventStream {
    receiver: mpsc::Receiver<(Duration, Event)>,
    dropped: Arc<AtomicU64>,
}

impl EventStream {
    /// The next event, and when it was, from the opening of the connection; `None` when nothing is
    /// left of the connection.
    pub async fn next(&mut self) -> Option<(Duration, Event)> {
        self.receiver.recv().await
    }

    /// The next event, if it is there already.
    pub fn try_next(&mut self) -> Option<(Duration, Event)> {
        self.receiver.try_recv().ok()
    }

    /// How many events were left out, because nobody took the earlier ones in time.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Where the hub puts them.
#[derive(Debug)]
pub(crate) struct EventSink {
    opened: Instant,
    mask: EventMask,
    sender: mpsc::Sender<(Duration, Event)>,
    dropped: Arc<AtomicU64>,
}

impl EventSink {
    /// For a connection that is opened now; `None` if nothing is wanted.
    pub(crate) fn new(mask: EventMask, now: Instant) -> Option<(Self, EventStream)> {
        if mask == EventMask::NONE {
            return None;
        }
        let (sender, receiver) = mpsc::channel(UNDER_WAY);
        let dropped = Arc::new(AtomicU64::new(0));
        let stream = EventStream {
            receiver,
            dropped: Arc::clone(&dropped),
        };
        let sink = Self {
            opened: now,
            mask,
            sender,
            dropped,
        };
        Some((sink, stream))
    }

    pub(crate) const fn mask(&self) -> EventMask {
        self.mask
    }

    pub(crate) fn push(&self, at: Instant, event: Event) {
        // The hub itself wants these, whatever the listener wants.
        let controller = matches!(event, Event::Rate(_) | Event::Window(_));
        if controller && !self.mask.intersects(EventMask::CONTROLLER) {
            return;
        }
        let item = (at.since(self.opened), event);
        if let Err(TrySendError::Full(_)) = self.sender.try_send(item) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted_and_the_rest_keeps_its_order() {
        let opened = Instant::from_nanos(1_000);
        let made = EventSink::new(EventMask::RTT, opened);
        let (sink, mut stream) = made.expect("something is wanted");
        for number in 0..UNDER_WAY as u64 + 3 {
            let at = opened + Duration::from_nanos(number);
            sink.push(at, Event::Rtt(Duration::from_nanos(number)));
        }
        assert_eq!(stream.dropped(), 3);
        for number in 0..UNDER_WAY as u64 {
            let at = Duration::from_nanos(number);
            assert_eq!(stream.try_next(), Some((at, Event::Rtt(at))));
        }
        assert_eq!(stream.try_next(), None);
        assert!(EventSink::new(EventMask::NONE, opened).is_none());
    }
}
