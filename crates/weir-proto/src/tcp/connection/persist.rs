//! The behaviour of a sender while the peer's window limits it and no segment is in flight whose
//! acknowledgement could open the window: it probes a closed window (RFC 9293 §3.8.6.1), and after
//! a timeout it sends the data that a small window allows (RFC 9293 §3.8.6.2.1).

use super::output::{Content, Segment};
use super::{Connection, MAX_EXPIRIES};
use crate::endpoint::CloseReason;
use crate::event::{Event, EventMask};
use crate::tcp::sequence::wrap;
use crate::time::{Duration, Instant};

/// The override timeout is the RTO within these bounds (RFC 9293 §3.8.6.2.1: 0.1 to 1.0 s).
const OVERRIDE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));

/// Why the persist timer runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// The window is closed.
    Closed,
    /// The window is open, but too small to be worth a segment.
    Small,
}

/// The state of the persist timer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Persist {
    waiting: Option<Waiting>,
    /// The timer has expired.
    due: bool,
    /// Probes since the window was last open: the back-off.
    probes: u32,
    /// Probes since the peer last acknowledged anything.
    unanswered: u32,
    /// The offset of the octet beyond the window that probes carry. It counts as sent only when
    /// the peer acknowledges it.
    octet: Option<u64>,
}

impl Connection {
    /// U: octets that the peer's window still allows.
    fn usable_window(&self) -> u64 {
        (self.scoreboard.high_ack() + self.peer_window).saturating_sub(self.scoreboard.high_data())
    }

    /// Octets of the next segment of new data that the receiver's window allows; zero for none.
    ///
    /// Silly-window avoidance (RFC 9293 §3.8.6.2.1) without Nagle's algorithm: a full segment, all
    /// data that was written, or at least half of the largest window that the peer has ever
    /// offered.
    pub(super) fn new_data(&self) -> u64 {
        let usable = self.usable_window();
        let len = self.unsent.min(u64::from(self.config.segment_size));
        if len <= usable {
            len
        } else if usable.saturating_mul(2) >= self.largest_peer_window {
            usable
        } else {
            0
        }
    }

    /// Applies the window of an acknowledgement, unless the segment is older than the last update
    /// (RFC 9293 §3.10.7.4: SND.WL1 and SND.WL2).
    pub(super) fn update_peer_window(&mut self, sequence: Option<u64>, ack: u64, window: u64) {
        self.persist.unanswered = 0;
        let at = (sequence.unwrap_or(self.window_updated_at.0), ack);
        if at < self.window_updated_at {
            return;
        }
        self.window_updated_at = at;
        self.peer_window = window;
        self.largest_peer_window = self.largest_peer_window.max(window);
    }

    /// The peer has accepted the octet of a probe: its window has opened.
    pub(super) fn take_probe_octet(&mut self, ack: u64) {
        let Some(octet) = self.persist.octet else {
            return;
        };
        if octet == self.scoreboard.high_data() && ack == octet + 1 && self.scoreboard.is_empty() {
            self.persist.octet = None;
            self.unsent = self.unsent.saturating_sub(1);
            self.scoreboard.skip(1);
            self.notify_writable();
        }
    }

    /// True if the persist timer neither runs nor has expired.
    pub(super) const fn is_not_held(&self) -> bool {
        self.persist.waiting.is_none() && !self.persist.due
    }

    /// Starts or stops the persist timer, after all permitted segments were sent.
    pub(super) fn update_persist(&mut self, now: Instant) {
        let held = self.unsent > 0 && self.scoreboard.is_empty() && self.new_data() == 0;
        let waiting = held.then(|| match self.usable_window() {
            0 => Waiting::Closed,
            _ => Waiting::Small,
        });
        if waiting == self.persist.waiting {
            return;
        }
        self.persist.waiting = waiting;
        if waiting != Some(Waiting::Closed) {
            self.persist.probes = 0;
        }
        let after = waiting.map(|waiting| self.persist_timeout(waiting));
        self.timer.set_persist(now, after);
    }

    /// New data leaves: its acknowledgement will carry the window.
    pub(super) fn stop_persist(&mut self, now: Instant) {
        if self.persist.waiting.take().is_some() {
            self.persist.probes = 0;
            self.timer.set_persist(now, None);
        }
    }

    fn persist_timeout(&self, waiting: Waiting) -> Duration {
        match waiting {
            // The first probe after the RTO, then exponential back-off.
            Waiting::Closed => self.timer.timeout_after(self.persist.probes),
            Waiting::Small => self.timer.timeout().clamp(OVERRIDE.0, OVERRIDE.1),
        }
    }

    /// The persist timer expired. The connection stays open as long as the peer answers probes
    /// (RFC 9293 §3.8.6.1).
    pub(super) fn handle_persist_timeout(&mut self, now: Instant) {
        self.persist.due = true;
        if self.persist.unanswered >= MAX_EXPIRIES {
            self.end(now, CloseReason::TimedOut);
        }
    }

    /// The segment for which the persist timer has expired, if it has.
    pub(super) fn next_persist(&mut self, now: Instant) -> Option<Segment> {
        if !std::mem::take(&mut self.persist.due) {
            return None;
        }
        match self.persist.waiting.take()? {
            Waiting::Small => {
                let len = self.unsent.min(self.usable_window());
                self.send_new(now, len.min(u64::from(self.config.segment_size)))
            }
            Waiting::Closed => Some(self.next_zero_window_probe(now)),
        }
    }

    /// One octet beyond the window.
    fn next_zero_window_probe(&mut self, now: Instant) -> Segment {
        let octet = self.scoreboard.high_data();
        let again = self.persist.octet == Some(octet);
        self.statistics.packets_retransmitted += u64::from(again);
        self.persist.octet = Some(octet);
        let backoff = self.persist.probes;
        self.events
            .push(now, EventMask::TIMEOUT, || Event::WindowProbe { backoff });
        self.persist.probes += 1;
        self.persist.unanswered += 1;
        self.persist.waiting = Some(Waiting::Closed);
        let after = self.persist_timeout(Waiting::Closed);
        self.timer.set_persist(now, Some(after));
        Segment {
            flags: 0,
            seq: wrap(self.config.initial_sequence, octet),
            content: Content::WindowProbe,
        }
    }
}
