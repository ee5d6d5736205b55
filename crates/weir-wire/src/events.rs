//! The events of a connection, for traces.
//!
//! The driver never waits for the reader: events without room in the channel are dropped and
//! counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc::{self, error::TrySendError};
use weir_proto::event::{Event, EventMask};
use weir_proto::time::{Duration, Instant};

/// Events that may wait in the channel.
const MAX_QUEUED: usize = 1 << 16;

/// The events of a connection since it was opened, of the kinds in
/// [`EndpointConfig::event_mask`](crate::EndpointConfig::event_mask).
#[derive(Debug)]
pub struct EventStream {
    receiver: mpsc::Receiver<(Duration, Event)>,
    dropped: Arc<AtomicU64>,
}

impl EventStream {
    /// The next event and its time since the connection was opened; `None` when the connection has
    /// ended.
    pub async fn next(&mut self) -> Option<(Duration, Event)> {
        self.receiver.recv().await
    }

    /// The next event, if one is available.
    pub fn try_next(&mut self) -> Option<(Duration, Event)> {
        self.receiver.try_recv().ok()
    }

    /// Number of events that were dropped because earlier ones had not been read.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// The sending end of the stream.
#[derive(Debug)]
pub struct EventSink {
    opened: Instant,
    mask: EventMask,
    sender: mpsc::Sender<(Duration, Event)>,
    dropped: Arc<AtomicU64>,
}

impl EventSink {
    /// Both ends of the event stream of a connection that is opened now; `None` for an empty mask.
    pub fn new(mask: EventMask, now: Instant) -> Option<(Self, EventStream)> {
        if mask == EventMask::NONE {
            return None;
        }
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
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

    /// Forwards an event. Events of the controller are filtered by the mask; the caller must filter
    /// all others.
    pub fn push(&self, at: Instant, event: Event) {
        // The driver subscribes to controller events for the stats, whether the application selects
        // them or not.
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
    fn events_without_room_are_counted_and_the_rest_keep_their_order() {
        let opened = Instant::from_nanos(1_000);
        let made = EventSink::new(EventMask::RTT, opened);
        let (sink, mut stream) = made.expect("a mask");
        for number in 0..MAX_QUEUED as u64 + 3 {
            let at = opened + Duration::from_nanos(number);
            sink.push(at, Event::Rtt(Duration::from_nanos(number)));
        }
        assert_eq!(stream.dropped(), 3);
        for number in 0..MAX_QUEUED as u64 {
            let at = Duration::from_nanos(number);
            assert_eq!(stream.try_next(), Some((at, Event::Rtt(at))));
        }
        assert_eq!(stream.try_next(), None);
        assert!(EventSink::new(EventMask::NONE, opened).is_none());
    }
}
