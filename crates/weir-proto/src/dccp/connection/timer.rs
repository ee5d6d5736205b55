//! The timers of a connection (RFC 4340 §8.1.1–§8.4).

use super::Connection;
use crate::dccp::state::State;
use crate::endpoint::CloseReason;
use crate::event::{Event, EventMask};
use crate::time::{Duration, Instant, earliest};

/// The Request is first repeated after this time, which doubles each time (RFC 4340 §8.1.1).
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);
/// The longest time between two repetitions (RFC 4340 §8.1.1).
const MAX_INTERVAL: Duration = Duration::from_secs(64);
/// The client first repeats its Ack in PARTOPEN after this time (RFC 4340 §8.1.5).
const PARTOPEN_INTERVAL: Duration = Duration::from_millis(200);
/// Changes are first repeated after this time, at least a round-trip time (RFC 4340 §6.6.3).
const CHANGE_INTERVAL: Duration = Duration::from_secs(1);
/// The least time between two probes of a silent peer.
const SHORTEST_PROBE: Duration = Duration::from_secs(1);
/// The round-trip time before the first sample (RFC 4340 §3.4).
pub(super) const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// The timers of a connection, apart from those of its CCIDs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timers {
    /// When to repeat the Request, Close or CloseReq, the Ack in PARTOPEN, or an Ack with Changes
    /// in OPEN.
    pub(super) repeat: Option<Instant>,
    pub(super) interval: Duration,
    /// Repetitions so far of what `repeat` is for.
    repetitions: u32,
    /// When to give up, or to leave TIMEWAIT.
    pub(super) deadline: Option<Instant>,
    /// When to check whether the peer is silent.
    keepalive: Option<Instant>,
    /// When the CCID allows the next data packet.
    pub(super) next_data_at: Option<Instant>,
    /// When the CCID was last asked for that time, until an event that may change it.
    pub(super) asked_at: Option<Instant>,
}

impl Timers {
    pub(super) fn next(&self) -> Option<Instant> {
        earliest(&[
            self.repeat,
            self.deadline,
            self.keepalive,
            self.next_data_at,
        ])
    }

    /// True if the CCID was asked at this instant and allowed no data packet, and no event has
    /// occurred since.
    pub(super) fn holds_data(&self, now: Instant) -> bool {
        self.next_data_at.is_some() && self.asked_at == Some(now)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Repeats after `interval`, which doubles each time.
    pub(super) fn repeat_after(&mut self, now: Instant, interval: Duration) {
        self.interval = interval;
        self.repetitions = 0;
        self.repeat = Some(now + interval);
    }

    fn back_off(&mut self, now: Instant) {
        let repetitions = self.repetitions + 1;
        self.repeat_after(now, (self.interval * 2).min(MAX_INTERVAL));
        self.repetitions = repetitions;
    }
}

fn is_due(at: &mut Option<Instant>, now: Instant) -> bool {
    at.take_if(|at| *at <= now).is_some()
}

impl Connection {
    pub(super) fn start_requesting(&mut self, now: Instant) {
        self.timers.repeat_after(now, REQUEST_INTERVAL);
        self.timers.deadline = Some(now + self.config.connect_timeout);
    }

    pub(super) fn start_part_open(&mut self, now: Instant) {
        self.timers.clear();
        self.timers.repeat_after(now, PARTOPEN_INTERVAL);
        self.timers.deadline = Some(now + self.config.max_segment_lifetime * 4);
    }

    /// A half-open connection ends after 4 MSL (RFC 4340 §8.1.4).
    pub(super) fn start_respond(&mut self, now: Instant) {
        self.timers.deadline = Some(now + self.config.max_segment_lifetime * 4);
    }

    /// The connection entered OPEN.
    pub(super) fn start_keepalive(&mut self, now: Instant) {
        self.timers.keepalive = self.config.keepalive.map(|silence| now + silence);
        // A Change that is not confirmed yet was lost, or its Confirm was: it is repeated.
        if self.negotiation.is_changing() {
            self.start_change(now);
        }
    }

    /// A Change leaves with an acknowledgement, and again until it is confirmed (RFC 4340 §6.6.3).
    pub(super) fn start_change(&mut self, now: Instant) {
        self.ack_pending = true;
        self.timers.repeat_after(now, CHANGE_INTERVAL);
    }

    /// Checks whether the peer is silent. The timer is not reset by each packet, which costs less.
    fn check_keepalive(&mut self, now: Instant) {
        let Some(interval) = self.config.keepalive.filter(|_| self.state == State::Open) else {
            return;
        };
        let due = self.last_received + interval;
        let deadline = due + self.config.max_segment_lifetime * 4;
        if now >= deadline {
            self.give_up(now);
        } else if now >= due {
            self.send_probe(now);
            self.timers.keepalive = Some((now + interval.max(SHORTEST_PROBE)).min(deadline));
        } else {
            self.timers.keepalive = Some(due);
        }
    }

    /// Close and CloseReq are first repeated after two round-trip times (RFC 4340 §8.3).
    pub(super) fn start_closing(&mut self, now: Instant) {
        let rtt = self
            .sender
            .as_ref()
            .and_then(|half| half.rtt())
            .unwrap_or(DEFAULT_RTT);
        self.timers.clear();
        self.timers
            .repeat_after(now, (rtt * 2).max(Duration::from_millis(1)));
        self.timers.deadline = Some(now + self.config.max_segment_lifetime * 4);
    }

    /// TIMEWAIT lasts 2 MSL (RFC 4340 §8.3).
    pub(super) fn start_time_wait(&mut self, now: Instant) {
        self.timers.clear();
        self.timers.deadline = Some(now + self.config.max_segment_lifetime * 2);
    }

    pub(super) fn handle_timers(&mut self, now: Instant) {
        // The send time is computed again when packets are polled.
        self.timers.asked_at = None;
        is_due(&mut self.timers.next_data_at, now);
        if is_due(&mut self.timers.repeat, now) {
            self.repeat(now);
        }
        if is_due(&mut self.timers.keepalive, now) {
            self.check_keepalive(now);
        }
        if is_due(&mut self.timers.deadline, now) {
            self.give_up(now);
        }
        if let Some(sender) = &mut self.sender
            && sender.poll_timeout().is_some_and(|at| at <= now)
        {
            sender.handle_timeout(now, &mut self.events);
            self.announce_ack_ratio(now);
        }
        if let Some(receiver) = &mut self.receiver
            && receiver.poll_timeout().is_some_and(|at| at <= now)
        {
            receiver.handle_timeout(now);
        }
    }

    fn repeat(&mut self, now: Instant) {
        match self.state {
            State::Request => {
                self.report_timeout(now);
                self.timers.back_off(now);
                self.send_request(now);
            }
            State::PartOpen => {
                self.timers.back_off(now);
                self.ack_pending = true;
            }
            State::Open if self.negotiation.is_changing() => {
                self.timers.back_off(now);
                self.ack_pending = true;
            }
            State::CloseReq => {
                self.report_timeout(now);
                self.timers.back_off(now);
                self.send_close_req(now);
            }
            State::Closing => {
                self.report_timeout(now);
                self.timers.back_off(now);
                self.send_close(now);
            }
            _ => {}
        }
    }

    /// A packet that opens or closes the connection was not answered.
    fn report_timeout(&mut self, now: Instant) {
        let backoff = self.timers.repetitions;
        self.events
            .push(now, EventMask::TIMEOUT, || Event::Timeout { backoff });
        self.statistics.timeouts += 1;
    }

    fn give_up(&mut self, now: Instant) {
        let state = self.state;
        self.timers.clear();
        match state {
            State::Request => {
                self.send_reset_of_request(now);
                self.enter(now, State::Closed);
                self.finish(CloseReason::TimedOut);
            }
            State::PartOpen | State::Open | State::CloseReq | State::Closing => {
                // RFC 4340 §8.1.5 and §8.3: code 2, Aborted.
                self.send_reset(now, 2, [0; 3]);
                self.enter(now, State::Closed);
                self.finish(CloseReason::TimedOut);
            }
            State::Respond => {
                self.enter(now, State::Closed);
                self.finish(CloseReason::TimedOut);
            }
            State::TimeWait => self.enter(now, State::Closed),
            _ => {}
        }
    }
}
