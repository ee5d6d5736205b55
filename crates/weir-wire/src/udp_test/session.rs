//! One end of a UDP test as a state machine: no clock, no socket.
//!
//! The sender sends at equal times and stops when it has heard nothing for five seconds, for
//! nothing else keeps it from filling a path whose receiver is gone (RFC 8085 §3.1.10 calls this a
//! circuit breaker). Whoever waits for an answer asks again until it comes.

use super::meter::Meter;
use super::{DEFAULT_RATE_BPS, Ending, TestStats};
use crate::test_protocol::{Message, Report, TOKEN, TestConfig};
use weir_proto::time::{Duration, Instant};

/// From one report of the receiver to the next.
const REPORTS: Duration = Duration::from_millis(200);
/// From one question to the next while nobody answers.
const AGAIN: Duration = Duration::from_millis(200);
/// How long a Request is repeated.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an End or Stop is repeated.
const FAREWELL: Duration = Duration::from_secs(3);
/// How long a peer may be silent.
const SILENCE: Duration = Duration::from_secs(5);
/// A sender without data to send says that it is alive so often.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// A receiver that has reported stays for so long to do it again.
const LINGER: Duration = Duration::from_millis(300);
/// A sender that is later than this gives up what it has missed.
const LATEST: Duration = Duration::from_millis(100);
/// For so long it is said that the host was too slow.
const LATELY: Duration = Duration::from_secs(1);

/// What the end does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// A client asks for the test.
    Asking { token: Option<[u8; TOKEN]> },
    /// Data flows.
    Running,
    /// The sender asks what came; the receiver asks the sender to end.
    Parting,
    /// The receiver has reported and does it again if it is asked.
    Lingering,
    /// Nothing more will happen.
    Over(Ending),
}

/// One end.
#[derive(Debug)]
pub(super) struct Session {
    id: u64,
    config: TestConfig,
    sends: bool,
    phase: Phase,
    /// When this phase began, and when a question was asked in it last.
    since: Instant,
    asked: Option<Instant>,
    /// The first and the last moment of the data.
    began: Option<Instant>,
    ended: Option<Instant>,
    heard: Instant,
    /// When this end sent last, other than questions.
    spoke: Instant,
    /// An answer that is due at once.
    answer: Option<Message>,
    // ---- Sender ----
    sent: u64,
    /// Nanoseconds by which the timetable was put off.
    put_off: u64,
    /// When the timetable was not kept last.
    late: Option<Instant>,
    peer: Report,
    smoothed_rtt: Option<Duration>,
    // ---- Receiver ----
    meter: Meter,
    newest: Option<(Instant, u64)>,
}

impl Session {
    /// The client's end.
    pub(super) fn client(id: u64, config: TestConfig, now: Instant) -> Self {
        Self::new(
            id,
            config,
            now,
            !config.reverse,
            Phase::Asking { token: None },
        )
    }

    /// The server's end for a client whose address is proven.
    pub(super) fn server(id: u64, config: TestConfig, now: Instant) -> Self {
        let mut session = Self::new(id, config, now, config.reverse, Phase::Running);
        session.begin(now);
        session.answer = Some(Message::Alive);
        session
    }

    fn new(id: u64, config: TestConfig, now: Instant, sends: bool, phase: Phase) -> Self {
        Self {
            id,
            config,
            sends,
            phase,
            since: now,
            asked: None,
            began: None,
            ended: None,
            heard: now,
            spoke: now,
            answer: None,
            sent: 0,
            put_off: 0,
            late: None,
            peer: Report::default(),
            smoothed_rtt: None,
            meter: Meter::new(),
            newest: None,
        }
    }

    pub(super) const fn id(&self) -> u64 {
        self.id
    }

    pub(super) const fn config(&self) -> &TestConfig {
        &self.config
    }

    pub(super) const fn over(&self) -> Option<Ending> {
        match self.phase {
            Phase::Over(ending) => Some(ending),
            _ => None,
        }
    }

    /// True if the data has not been agreed on yet.
    pub(super) const fn is_asking(&self) -> bool {
        matches!(self.phase, Phase::Asking { .. })
    }

    fn enter(&mut self, phase: Phase, now: Instant) {
        self.phase = phase;
        self.since = now;
        self.asked = None;
    }

    fn begin(&mut self, now: Instant) {
        self.began = Some(now);
        self.spoke = now;
        self.enter(Phase::Running, now);
    }

    // ---- Input ----

    /// A message came for this test; data with so many octets.
    pub(super) fn receive(&mut self, now: Instant, message: Message, octets: usize, marked: bool) {
        self.heard = now;
        match (self.phase, message) {
            (Phase::Asking { .. }, Message::Challenge(token)) => {
                self.enter(Phase::Asking { token: Some(token) }, now);
            }
            (Phase::Asking { .. }, Message::Busy) => self.finish(Ending::Busy, now),
            (Phase::Asking { .. }, Message::Alive | Message::Data { .. } | Message::End { .. }) => {
                self.begin(now);
            }
            // The answer was lost.
            (Phase::Running, Message::Request(..)) => self.answer = Some(Message::Alive),
            _ => {}
        }
        if self.sends {
            self.receive_as_sender(now, message);
        } else {
            self.receive_as_receiver(now, message, octets, marked);
        }
    }

    fn receive_as_sender(&mut self, now: Instant, message: Message) {
        match message {
            Message::Stop if self.phase == Phase::Running => self.part(now),
            Message::Report(report) if self.began.is_some() => {
                let newer = report.counts.received >= self.peer.counts.received;
                if newer && report.echo > self.peer.echo {
                    self.sample_rtt(now, &report);
                }
                if newer {
                    self.peer = report;
                }
                if report.last && self.phase == Phase::Parting {
                    self.finish(Ending::Done, now);
                }
            }
            _ => {}
        }
    }

    fn sample_rtt(&mut self, now: Instant, report: &Report) {
        let Some(began) = self.began else { return };
        let since = now.since(began).as_nanos();
        let Some(sample) = since.checked_sub(report.echo.saturating_add(report.held)) else {
            // No report of ours.
            return;
        };
        let old = self.smoothed_rtt.map_or(sample, Duration::as_nanos);
        self.smoothed_rtt = Some(Duration::from_nanos(old - old / 8 + sample / 8));
    }

    fn receive_as_receiver(&mut self, now: Instant, message: Message, octets: usize, marked: bool) {
        match message {
            Message::Data { number, sent_at } if self.ended.is_none() => {
                self.meter.arrived(now, number, sent_at, octets);
                if marked {
                    self.meter.marked();
                }
                if self.newest.is_none_or(|(_, newest)| sent_at > newest) {
                    self.newest = Some((now, sent_at));
                }
            }
            Message::End { sent } if self.began.is_some() => {
                if self.ended.is_none() {
                    self.meter.ended(sent);
                    self.ended = Some(now);
                }
                self.answer = Some(self.report(now, true));
                self.enter(Phase::Lingering, now);
            }
            _ => {}
        }
    }

    /// The user of this end has enough.
    pub(super) fn stop(&mut self, now: Instant) {
        match self.phase {
            Phase::Asking { .. } => self.finish(Ending::Done, now),
            Phase::Running => self.part(now),
            _ => {}
        }
    }

    /// The peer's host says that nobody is there.
    pub(super) fn refused(&mut self, now: Instant) {
        match self.phase {
            Phase::Asking { .. } => self.finish(Ending::Refused, now),
            Phase::Running => self.finish(Ending::Silent, now),
            Phase::Parting => self.finish(Ending::Done, now),
            _ => {}
        }
    }

    fn part(&mut self, now: Instant) {
        if self.sends {
            self.ended = Some(now);
        }
        self.enter(Phase::Parting, now);
    }

    fn finish(&mut self, ending: Ending, now: Instant) {
        self.ended = self.ended.or(Some(now));
        self.enter(Phase::Over(ending), now);
    }

    // ---- Output ----

    /// Appends the next datagram that is due; false if none is.
    pub(super) fn write(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        let Some(message) = self.next(now) else {
            return false;
        };
        let start = out.len();
        message.write(self.id, out);
        if let Message::Data { .. } = message {
            out.resize(start + usize::from(self.config.length), 0x57);
        }
        true
    }

    fn next(&mut self, now: Instant) -> Option<Message> {
        if let Some(answer) = self.answer.take() {
            self.spoke = now;
            return Some(answer);
        }
        match self.phase {
            Phase::Asking { token } => self.ask(
                now,
                PATIENCE,
                Ending::Silent,
                Message::Request(self.config, token),
            ),
            Phase::Running if self.sends => self.next_data(now),
            Phase::Running => self.next_report(now),
            Phase::Parting => {
                let question = if self.sends {
                    Message::End { sent: self.sent }
                } else {
                    Message::Stop
                };
                self.ask(now, FAREWELL, Ending::Done, question)
            }
            Phase::Lingering => {
                if now.since(self.since) >= LINGER {
                    self.finish(Ending::Done, now);
                }
                None
            }
            Phase::Over(_) => None,
        }
    }

    /// A question, if it is to be asked again.
    fn ask(
        &mut self,
        now: Instant,
        patience: Duration,
        otherwise: Ending,
        question: Message,
    ) -> Option<Message> {
        if now.since(self.since) >= patience {
            self.finish(otherwise, now);
            return None;
        }
        if self.asked.is_some_and(|asked| now.since(asked) < AGAIN) {
            return None;
        }
        self.asked = Some(now);
        Some(question)
    }

    fn next_data(&mut self, now: Instant) -> Option<Message> {
        let began = self.began?;
        if now.since(self.heard) >= SILENCE {
            self.finish(Ending::Silent, now);
            return None;
        }
        if now.since(began) >= nanos(self.config.duration) {
            self.part(now);
            return self.next(now);
        }
        let due = self.due_data(began);
        if due > now {
            if now.since(self.spoke) < HEARTBEAT {
                return None;
            }
            self.spoke = now;
            return Some(Message::Alive);
        }
        let late = now.since(due);
        if late >= LATEST {
            self.late = Some(now);
            self.put_off += late.as_nanos();
        }
        let number = self.sent;
        self.sent += 1;
        self.spoke = now;
        Some(Message::Data {
            number,
            sent_at: now.since(began).as_nanos(),
        })
    }

    fn due_data(&self, began: Instant) -> Instant {
        let rate = self.config.rate_bps.unwrap_or(DEFAULT_RATE_BPS);
        let gap = f64::from(self.config.length) * 8e9 / rate;
        let at = (gap * self.sent as f64) as u64;
        began + Duration::from_nanos(at.saturating_add(self.put_off))
    }

    fn next_report(&mut self, now: Instant) -> Option<Message> {
        if now.since(self.heard) >= SILENCE {
            self.finish(Ending::Silent, now);
            return None;
        }
        if now.since(self.spoke) < REPORTS {
            return None;
        }
        self.spoke = now;
        Some(self.report(now, false))
    }

    fn report(&self, now: Instant, last: bool) -> Message {
        let (came, echo) = self.newest.unwrap_or((now, 0));
        Message::Report(Report {
            counts: *self.meter.counts(),
            echo,
            held: now.since(came).as_nanos(),
            last,
        })
    }

    /// When there is something to do, if nothing comes.
    pub(super) fn due(&self) -> Option<Instant> {
        let again = |patience| {
            let end = self.since + patience;
            self.asked
                .map_or(self.since, |asked| (asked + AGAIN).min(end))
        };
        if self.answer.is_some() {
            return Some(self.since);
        }
        match self.phase {
            Phase::Asking { .. } => Some(again(PATIENCE)),
            Phase::Running if self.sends => {
                let began = self.began?;
                let end = began + nanos(self.config.duration);
                let data = self.due_data(began).min(end);
                Some(data.min(self.spoke + HEARTBEAT).min(self.heard + SILENCE))
            }
            Phase::Running => Some((self.spoke + REPORTS).min(self.heard + SILENCE)),
            Phase::Parting => Some(again(FAREWELL)),
            Phase::Lingering => Some(self.since + LINGER),
            Phase::Over(_) => None,
        }
    }

    // ---- State ----

    pub(super) fn stats(&self, now: Instant) -> TestStats {
        let end = self.ended.unwrap_or(now);
        let seconds = self
            .began
            .map_or(0.0, |began| end.since(began).as_secs_f64());
        TestStats {
            began: self.began.is_some(),
            sends: self.sends,
            seconds,
            sent: self.sent,
            sent_octets: self.sent * u64::from(self.config.length),
            received: if self.sends {
                self.peer.counts
            } else {
                *self.meter.counts()
            },
            complete: if self.sends {
                self.peer.last
            } else {
                self.phase == Phase::Lingering || self.phase == Phase::Over(Ending::Done)
            },
            smoothed_rtt_s: self.smoothed_rtt.map(Duration::as_secs_f64),
            limit: match self.late {
                Some(late) if end.since(late) < LATELY => "host",
                _ => "application",
            },
        }
    }

    /// The kernel has no room for what is due.
    pub(super) const fn blocked(&mut self, now: Instant) {
        self.late = Some(now);
    }
}

fn nanos(span: std::time::Duration) -> Duration {
    Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
