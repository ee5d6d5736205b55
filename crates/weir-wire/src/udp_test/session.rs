//! One end of a UDP test as a state machine without clock and socket.
//!
//! The sender sends at equal intervals. It stops after five seconds without a message from the
//! receiver, since there is no congestion control to keep it from flooding a path (the circuit
//! breaker of RFC 8085 §3.1.10). Messages that need an answer are repeated until it comes.

use super::reception::ReceptionTracker;
use super::traffic::{SharedTraffic, TrafficCounts, TrafficFactory, lock, take};
use super::{DEFAULT_RATE_BPS, EndReason, TestStats};
use crate::test_protocol::{
    Asked, Asking, FrameStats, Message, ReceptionStats, Report, Secret, Sent, TestConfig,
};
use weir_proto::packet::Ecn;
use weir_proto::time::{Duration, Instant};

/// From one report of the receiver to the next.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);
/// From one transmission of a message to the next while no answer comes.
const REPEAT_INTERVAL: Duration = Duration::from_millis(200);
/// How long a Request is repeated.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an End or Stop is repeated.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long no message may come from the peer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a sender without data to send reports that it is alive.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// How long a receiver stays after its last report, to repeat it.
const TIME_WAIT: Duration = Duration::from_millis(300);
/// A sender that is later than this skips the datagrams that it has missed.
const MAX_LATENESS: Duration = Duration::from_millis(100);
/// How long the host counts as the limit after the sender was late.
const HOST_LIMITED_TIME: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// A client repeats its Request.
    Requesting,
    /// Data flows.
    Running,
    /// The sender repeats its End, or the receiver its Stop.
    Closing,
    /// The receiver has sent its last report, and repeats it if the sender repeats its End.
    TimeWait,
    Ended(EndReason),
}

/// One end of a test.
pub(super) struct Session {
    id: u64,
    config: TestConfig,
    asking: Asking,
    is_sender: bool,
    phase: Phase,
    phase_began: Instant,
    /// When a receiver had the first End.
    time_wait_began: Instant,
    /// The last transmission of the phase's repeated message.
    repeated: Option<Instant>,
    /// The beginning and the end of the data.
    data_began: Option<Instant>,
    data_ended: Option<Instant>,
    last_received: Instant,
    /// The last transmission of any other message.
    last_sent: Instant,
    /// An answer to send at once.
    reply: Option<Message>,
    // ---- Sender ----
    sent: u64,
    /// Nanoseconds by which the schedule has been delayed because the sender was late.
    delay: u64,
    /// When the sender was late last.
    last_late: Option<Instant>,
    peer_report: Report,
    smoothed_rtt: Option<Duration>,
    // ---- Receiver ----
    tracker: ReceptionTracker,
    /// Arrival and timestamp of the datagram with the newest timestamp.
    newest: Option<(Instant, u64)>,
    // ---- Traffic of another protocol ----
    /// In place of datagrams at a constant rate.
    traffic: Option<SharedTraffic>,
    /// At the receiver: how many datagrams the sender has sent, by its End.
    told_sent: Option<u64>,
    /// At the receiver, after the End.
    frames: Option<FrameStats>,
}

impl Session {
    /// The client's end.
    pub(super) fn client(
        id: u64,
        config: TestConfig,
        secret: Option<Secret>,
        now: Instant,
    ) -> Self {
        Self::new(Asking::new(id, config, secret), Phase::Requesting, now)
    }

    /// The server's end for a client whose address is proven.
    pub(super) fn server(id: u64, config: TestConfig, now: Instant) -> Self {
        let mut session = Self::new(Asking::new(id, config, None), Phase::Running, now);
        session.begin(now);
        session.reply = Some(Message::Alive);
        session
    }

    fn new(asking: Asking, phase: Phase, now: Instant) -> Self {
        let is_client = matches!(phase, Phase::Requesting);
        let (id, config) = asking.test();
        Self {
            id,
            config,
            asking,
            is_sender: is_client != config.reverse,
            phase,
            phase_began: now,
            time_wait_began: now,
            repeated: None,
            data_began: None,
            data_ended: None,
            last_received: now,
            last_sent: now,
            reply: None,
            sent: 0,
            delay: 0,
            last_late: None,
            peer_report: Report::default(),
            smoothed_rtt: None,
            tracker: ReceptionTracker::new(),
            newest: None,
            traffic: None,
            told_sent: None,
            frames: None,
        }
    }

    /// Lets the test carry the traffic that is made now.
    pub(super) fn carry(&mut self, make: &TrafficFactory, now: Instant) -> SharedTraffic {
        let traffic = make(&self.config, self.is_sender, now);
        if self.data_began.is_some() {
            lock(&traffic).begin(now);
        }
        self.traffic = Some(SharedTraffic::clone(&traffic));
        traffic
    }

    pub(super) const fn id(&self) -> u64 {
        self.id
    }

    pub(super) const fn config(&self) -> &TestConfig {
        &self.config
    }

    /// Why the test has ended, if it has.
    pub(super) const fn end_reason(&self) -> Option<EndReason> {
        match self.phase {
            Phase::Ended(reason) => Some(reason),
            _ => None,
        }
    }

    /// Whether the server has not answered the Request yet.
    pub(super) const fn is_requesting(&self) -> bool {
        matches!(self.phase, Phase::Requesting)
    }

    fn enter(&mut self, phase: Phase, now: Instant) {
        self.phase = phase;
        self.phase_began = now;
        self.repeated = None;
    }

    /// The data has begun, and the test has not ended.
    const fn goes_on(&self) -> bool {
        self.data_began.is_some() && !matches!(self.phase, Phase::Ended(_))
    }

    /// A sender repeats its End for a while, and no longer.
    fn time_wait_end(&self) -> Instant {
        let last = self.time_wait_began + CLOSE_TIMEOUT;
        (self.phase_began + TIME_WAIT).min(last)
    }

    /// Whether a receiver that is done still answers an End.
    fn is_in_time_wait(&self, now: Instant) -> bool {
        let is_done = self.phase == Phase::Ended(EndReason::Done) && self.told_sent.is_some();
        is_done && now < self.time_wait_began + CLOSE_TIMEOUT
    }

    /// When a receiver gives a sender up that does not end the test: its time is over, and it could
    /// have been told so.
    fn overdue_at(&self, began: Instant) -> Instant {
        began + Duration::from(self.config.duration) + IDLE_TIMEOUT + CLOSE_TIMEOUT
    }

    fn begin(&mut self, now: Instant) {
        self.data_began = Some(now);
        self.last_sent = now;
        self.enter(Phase::Running, now);
        if let Some(traffic) = &self.traffic {
            lock(traffic).begin(now);
        }
    }

    // ---- Input ----

    /// Handles a message of this test: a datagram of `octets`, with the codepoint CE if `marked`.
    pub(super) fn receive(&mut self, now: Instant, message: Message, octets: usize, marked: bool) {
        self.last_received = now;
        match (self.phase, message) {
            (Phase::Requesting, Message::Challenge(_) | Message::Refused(_)) => {
                match self.asking.take(&message) {
                    // The deadline stays that of the first Request.
                    Asked::Again { at_once: true } => self.repeated = None,
                    Asked::Refused(refusal) => self.end(EndReason::Declined(refusal), now),
                    Asked::Again { at_once: false } | Asked::Other => {}
                }
            }
            (Phase::Requesting, Message::Busy) => self.end(EndReason::Busy, now),
            (Phase::Requesting, Message::OtherMedia) => {
                self.end(EndReason::OtherMedia, now);
            }
            (Phase::Requesting, Message::Alive | Message::Data { .. } | Message::End { .. }) => {
                self.begin(now);
            }
            // The answer was lost.
            (Phase::Running, Message::Request(..)) => self.reply = Some(Message::Alive),
            _ => {}
        }
        if self.is_sender {
            self.receive_as_sender(now, message);
        } else {
            self.receive_as_receiver(now, message, octets, marked);
        }
    }

    /// Handles a datagram that is no message of a test.
    pub(super) fn receive_other(&mut self, now: Instant, octets: &[u8], ecn: Ecn) {
        let Some(traffic) = self.traffic.clone() else {
            return;
        };
        self.last_received = now;
        // The first of them may overtake the answer to the Request.
        if self.is_requesting() && !self.is_sender {
            self.begin(now);
        }
        if self.data_began.is_some() && (self.is_sender || self.data_ended.is_none()) {
            let taken = take(&traffic, &self.config, now, (octets, ecn));
            taken.unwrap_or_else(|lie| self.end(EndReason::Lied(lie), now));
        }
    }

    fn receive_as_sender(&mut self, now: Instant, message: Message) {
        match message {
            Message::Stop if self.phase == Phase::Running => self.close(now),
            Message::Report(report) if self.goes_on() => {
                let sent = Sent {
                    datagrams: self.sent(),
                    octets: self.sent_octets(),
                };
                if let Err(lie) = report.validate(&self.config, sent) {
                    return self.end(EndReason::Lied(lie), now);
                }
                if report.stats.received >= self.peer_report.stats.received {
                    if report.echo > self.peer_report.echo {
                        self.sample_rtt(now, &report);
                    }
                    self.peer_report = report;
                }
                if report.last && self.phase == Phase::Closing {
                    self.end(EndReason::Done, now);
                }
            }
            _ => {}
        }
    }

    fn sample_rtt(&mut self, now: Instant, report: &Report) {
        let Some(began) = self.data_began else { return };
        let elapsed = now.since(began).as_nanos();
        let Some(sample) = elapsed.checked_sub(report.echo.saturating_add(report.held)) else {
            // The report echoes a timestamp that was never sent.
            return;
        };
        let old = self.smoothed_rtt.map_or(sample, Duration::as_nanos);
        self.smoothed_rtt = Some(Duration::from_nanos(old - old / 8 + sample / 8));
    }

    fn receive_as_receiver(&mut self, now: Instant, message: Message, octets: usize, marked: bool) {
        match message {
            Message::Data { number, sent_at } if self.goes_on() && self.data_ended.is_none() => {
                if let Err(lie) = self.config.check_data(number, sent_at, octets) {
                    return self.end(EndReason::Lied(lie), now);
                }
                self.tracker.on_datagram(now, number, sent_at, octets);
                if marked {
                    self.tracker.on_congestion_mark();
                }
                if self.newest.is_none_or(|(_, newest)| sent_at > newest) {
                    self.newest = Some((now, sent_at));
                }
            }
            Message::End { sent } if self.goes_on() || self.is_in_time_wait(now) => {
                if self.data_ended.is_none() {
                    let known = self.reception().expected;
                    if let Err(lie) = self.config.check_sent(sent, known) {
                        return self.end(EndReason::Lied(lie), now);
                    }
                    self.time_wait_began = now;
                    self.tracker.on_end(sent);
                    self.told_sent = Some(sent);
                    self.data_ended = Some(now);
                    self.frames = self.traffic.as_ref().and_then(|t| lock(t).frames(now));
                }
                self.reply = Some(self.report(now, true));
                self.enter(Phase::TimeWait, now);
            }
            _ => {}
        }
    }

    /// Ends the test at the request of this end's user.
    pub(super) fn stop(&mut self, now: Instant) {
        match self.phase {
            Phase::Requesting => self.end(EndReason::Done, now),
            Phase::Running => self.close(now),
            _ => {}
        }
    }

    /// Handles an ICMP message that says that the peer's port is unreachable.
    pub(super) fn on_refused(&mut self, now: Instant) {
        match self.phase {
            Phase::Requesting => self.end(EndReason::Refused, now),
            Phase::Running => self.end(EndReason::TimedOut, now),
            Phase::Closing => self.end(EndReason::Done, now),
            _ => {}
        }
    }

    /// Notes that the kernel has no room for datagrams that are due.
    pub(super) const fn on_socket_full(&mut self, now: Instant) {
        self.last_late = Some(now);
    }

    fn close(&mut self, now: Instant) {
        if self.is_sender {
            self.data_ended = Some(now);
        }
        self.enter(Phase::Closing, now);
    }

    fn end(&mut self, reason: EndReason, now: Instant) {
        self.data_ended = self.data_ended.or(Some(now));
        self.enter(Phase::Ended(reason), now);
    }

    // ---- Output ----

    /// Appends the next datagram that is due; returns whether there was one.
    pub(super) fn write(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        let Some(message) = self.next_message(now) else {
            return self.write_traffic(now, out);
        };
        let start = out.len();
        message.write(self.id, out);
        if let Message::Data { .. } = message {
            out.resize(start + usize::from(self.config.length), 0x57);
        }
        true
    }

    fn write_traffic(&mut self, now: Instant, out: &mut Vec<u8>) -> bool {
        let runs = self.phase == Phase::Running;
        let Some(traffic) = self.traffic.as_ref().filter(|_| runs) else {
            return false;
        };
        let wrote = lock(traffic).write(now, out);
        if wrote && self.is_sender {
            self.last_sent = now;
        }
        wrote
    }

    fn next_message(&mut self, now: Instant) -> Option<Message> {
        if let Some(reply) = self.reply.take() {
            self.last_sent = now;
            return Some(reply);
        }
        match self.phase {
            Phase::Requesting => {
                let request = self.asking.request();
                self.repeat(now, request, REQUEST_TIMEOUT, EndReason::TimedOut)
            }
            Phase::Running if self.is_sender => self.next_data(now),
            Phase::Running => self.next_report(now),
            Phase::Closing => {
                let message = if self.is_sender {
                    Message::End { sent: self.sent() }
                } else {
                    Message::Stop
                };
                self.repeat(now, message, CLOSE_TIMEOUT, EndReason::Done)
            }
            Phase::TimeWait => {
                if now >= self.time_wait_end() {
                    self.end(EndReason::Done, now);
                }
                None
            }
            Phase::Ended(_) => None,
        }
    }

    /// The phase's message, if it is to be sent again. Ends the test after `timeout`.
    fn repeat(
        &mut self,
        now: Instant,
        message: Message,
        timeout: Duration,
        on_timeout: EndReason,
    ) -> Option<Message> {
        if now.since(self.phase_began) >= timeout {
            self.end(on_timeout, now);
            return None;
        }
        if self
            .repeated
            .is_some_and(|last| now.since(last) < REPEAT_INTERVAL)
        {
            return None;
        }
        self.repeated = Some(now);
        Some(message)
    }

    fn next_data(&mut self, now: Instant) -> Option<Message> {
        let began = self.data_began?;
        if now.since(self.last_received) >= IDLE_TIMEOUT {
            self.end(EndReason::TimedOut, now);
            return None;
        }
        if self.config.ends_after(self.sent)
            || now.since(began) >= Duration::from(self.config.duration)
        {
            self.close(now);
            return self.next_message(now);
        }
        let due = self.next_data_at(began).filter(|due| *due <= now);
        let Some(due) = due else {
            if now.since(self.last_sent) < KEEPALIVE_INTERVAL {
                return None;
            }
            self.last_sent = now;
            return Some(Message::Alive);
        };
        let late = now.since(due);
        if late >= MAX_LATENESS {
            self.last_late = Some(now);
            self.delay += late.as_nanos();
        }
        let number = self.sent;
        self.sent += 1;
        self.last_sent = now;
        Some(Message::Data {
            number,
            sent_at: now.since(began).as_nanos(),
        })
    }

    /// When the next datagram of the constant rate is due; `None` with other traffic.
    fn next_data_at(&self, began: Instant) -> Option<Instant> {
        if self.traffic.is_some() {
            return None;
        }
        if self.config.ends_after(self.sent) {
            return Some(self.last_sent);
        }
        let rate_bps = self.config.rate_bps.unwrap_or(DEFAULT_RATE_BPS);
        let interval = f64::from(self.config.length) * 8e9 / rate_bps;
        // Those of a burst are due together.
        let before = self.sent - self.sent % u64::from(self.config.burst.max(1));
        let at = (interval * before as f64) as u64;
        Some(began + Duration::from_nanos(at.saturating_add(self.delay)))
    }

    fn next_report(&mut self, now: Instant) -> Option<Message> {
        if now.since(self.last_received) >= IDLE_TIMEOUT {
            self.end(EndReason::TimedOut, now);
            return None;
        }
        let overdue = self.data_began.map(|began| self.overdue_at(began));
        if overdue.is_some_and(|overdue| now >= overdue) {
            self.end(EndReason::Overdue, now);
            return None;
        }
        if now.since(self.last_sent) < REPORT_INTERVAL {
            return None;
        }
        self.last_sent = now;
        Some(self.report(now, false))
    }

    fn report(&self, now: Instant, last: bool) -> Message {
        let (arrived, echo) = self.newest.unwrap_or((now, 0));
        Message::Report(Report {
            stats: self.reception(),
            echo,
            held: now.since(arrived).as_nanos(),
            last,
            frames: self.frames.filter(|_| last),
        })
    }

    /// When the session has something to do even if no message comes.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let next_repeat = |timeout| {
            let end = self.phase_began + timeout;
            self.repeated
                .map_or(self.phase_began, |last| (last + REPEAT_INTERVAL).min(end))
        };
        if self.reply.is_some() {
            return Some(self.phase_began);
        }
        let traffic = self.traffic.as_ref();
        let traffic = traffic.and_then(|traffic| lock(traffic).next_timeout());
        match self.phase {
            Phase::Requesting => Some(next_repeat(REQUEST_TIMEOUT)),
            Phase::Running if self.is_sender => {
                let began = self.data_began?;
                let end = began + Duration::from(self.config.duration);
                let data = self.next_data_at(began).or(traffic).unwrap_or(end).min(end);
                let keepalive = self.last_sent + KEEPALIVE_INTERVAL;
                Some(data.min(keepalive).min(self.last_received + IDLE_TIMEOUT))
            }
            Phase::Running => {
                let report = self.last_sent + REPORT_INTERVAL;
                let report = traffic.map_or(report, |traffic| report.min(traffic));
                Some(report.min(self.last_received + IDLE_TIMEOUT))
            }
            Phase::Closing => Some(next_repeat(CLOSE_TIMEOUT)),
            Phase::TimeWait => Some(self.time_wait_end()),
            Phase::Ended(_) => None,
        }
    }

    // ---- State ----

    fn counts(&self) -> Option<TrafficCounts> {
        Some(lock(self.traffic.as_ref()?).counts())
    }

    /// Datagrams of data that this end has sent.
    fn sent(&self) -> u64 {
        self.counts().map_or(self.sent, |counts| counts.sent)
    }

    /// Octets of these.
    fn sent_octets(&self) -> u64 {
        let length = u64::from(self.config.length);
        let own = self.sent.saturating_mul(length);
        self.counts().map_or(own, |counts| counts.sent_octets)
    }

    /// What this end has received.
    fn reception(&self) -> ReceptionStats {
        match self.counts() {
            None => *self.tracker.stats(),
            Some(counts) => ReceptionStats {
                expected: self.told_sent.unwrap_or(counts.received.expected),
                ..counts.received
            },
        }
    }

    pub(super) fn stats(&self, now: Instant) -> TestStats {
        let end = self.data_ended.unwrap_or(now);
        let elapsed = self.data_began.map(|began| end.since(began));
        let (received, complete, frames) = if self.is_sender {
            let report = &self.peer_report;
            // No report of a peer that has lied is final.
            let is_final = report.last && !matches!(self.phase, Phase::Ended(EndReason::Lied(_)));
            (report.stats, is_final, report.frames)
        } else {
            let complete = matches!(self.phase, Phase::TimeWait | Phase::Ended(EndReason::Done));
            (self.reception(), complete, self.frames)
        };
        let counts = self.counts();
        TestStats {
            began: self.data_began.is_some(),
            sends: self.is_sender,
            seconds: elapsed.map_or(0.0, Duration::as_secs_f64),
            sent: self.sent(),
            sent_octets: self.sent_octets(),
            received,
            complete,
            smoothed_rtt_s: counts
                .map_or(self.smoothed_rtt, |counts| counts.smoothed_rtt)
                .map(Duration::as_secs_f64),
            limit: match self.last_late {
                Some(late) if end.since(late) < HOST_LIMITED_TIME => "host",
                _ => counts.map_or("application", |counts| counts.limit),
            },
            frames,
        }
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
