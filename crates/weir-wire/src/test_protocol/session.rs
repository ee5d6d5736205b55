//! One end of a test over any transport, as a state machine without clock and socket: the Request
//! and its admission, the Reports, the agreement on the end, and the timeout of a silent peer.
//!
//! The [`DataPath`] is the transport's part for the data; the [`Channel`] that carries the messages
//! determines which of them need repetition.

use super::data_path::{DataPath, DataPathCounts, TestStats};
use super::end_reason::EndReason;
use super::timeouts::{
    CHECK_INTERVAL, CLOSE_TIMEOUT, DRAIN_TIMEOUT, KEEPALIVE_INTERVAL, PEER_TIMEOUT,
    REPEAT_INTERVAL, REPORT_INTERVAL, REQUEST_TIMEOUT, TIME_WAIT,
};
use super::{
    Admission, Answer, FrameStats, Message, PendingRequest, ReceptionStats, Report, RequestOutcome,
    Secret, Sent, TestConfig, Token,
};
use crate::fault::ImplausibleValue;
use std::sync::Arc;
use weir_proto::time::{Duration, Instant};

/// The channel of a test's messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Channel {
    /// Datagrams without a connection: messages may be lost, and only a timeout detects that the
    /// peer is gone.
    #[default]
    Datagrams,
    /// Datagrams of a connection, whose end is reported: messages may be lost.
    Connection,
    /// A stream of a connection: no message is lost.
    Stream,
}

impl Channel {
    /// The time for data that still waits to be sent after the end of the test.
    const fn drain_timeout(self) -> Duration {
        match self {
            Self::Datagrams => CLOSE_TIMEOUT,
            Self::Connection | Self::Stream => DRAIN_TIMEOUT,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    /// A server waits for an acceptable Request.
    #[default]
    Admitting,
    /// A client repeats its Request.
    Requesting,
    /// Data is transferred.
    Running,
    /// The sender repeats its End, or the receiver its Stop.
    Closing,
    /// The receiver has sent its last report, and repeats it if the sender repeats its End.
    TimeWait,
    Ended(EndReason),
}

/// How a test starts at one end.
pub enum Opening {
    /// A client requests it, with the secret that it shares with the server.
    Ask(TestConfig, Option<Secret>),
    /// A server waits for a Request over a connection.
    Admit(Admitting),
    /// A server has accepted it.
    Accept(TestConfig),
}

/// How a server admits a client over a connection.
pub struct Admitting {
    /// The tests that it admits.
    pub admission: Arc<Admission>,
    /// The connection's token.
    pub token: Token,
    /// The test of a client that sends without a Request; `None` if such a client is not admitted.
    pub default_test: Option<TestConfig>,
}

/// One end of a test.
#[derive(Default)]
pub struct Session<D> {
    /// The test's number, zero if it has its own connection.
    pub id: u64,
    /// The test; at a server valid once it has begun.
    pub config: TestConfig,
    /// The transport's part for the data.
    pub data: D,
    channel: Channel,
    /// At a client.
    asking: Option<PendingRequest>,
    /// At a server over a connection, until it has admitted the client.
    admitting: Option<Admitting>,
    is_sender: bool,
    phase: Phase,
    phase_began: Instant,
    /// The last transmission of the phase's repeated message.
    repeated: Option<Instant>,
    /// The last check for a message that is due.
    checked_at: Instant,
    /// The start and the end of the data.
    data_began: Option<Instant>,
    data_ended: Option<Instant>,
    /// When a message or data last arrived from the peer.
    last_heard: Instant,
    /// The last transmission except for the phase's repeated message.
    last_sent: Instant,
    /// An answer to send at once.
    reply: Option<Message>,
    /// The user of this end has stopped it.
    is_stopped: bool,
    // ---- Sender ----
    peer_report: Option<Report>,
    smoothed_rtt: Option<Duration>,
    /// While data drains: the smallest amount that waited, and since when.
    drained: (u64, Instant),
    // ---- Receiver ----
    /// The number of datagrams sent, from the sender's End, and when that first arrived.
    reported_sent: Option<(u64, Instant)>,
    frames: Option<FrameStats>,
}

impl<D: DataPath + Default> Session<D> {
    /// The end of the test with this number.
    pub fn new(id: u64, opening: Opening, channel: Channel, now: Instant) -> Self {
        let mut session = Self {
            id,
            channel,
            phase_began: now,
            last_heard: now,
            ..Self::default()
        };
        match opening {
            Opening::Ask(config, secret) => {
                session.asking = Some(PendingRequest::new(id, config, secret));
                session.phase = Phase::Requesting;
                session.config = config;
                session.is_sender = !config.reverse;
            }
            Opening::Admit(admitting) => session.admitting = Some(admitting),
            Opening::Accept(config) => session.accept(config, now),
        }
        session
    }
}

impl<D: DataPath> Session<D> {
    // ---- State ----

    /// This end sends.
    pub const fn is_sender(&self) -> bool {
        self.is_sender
    }

    /// The reason why the test has ended, if it has.
    pub const fn end_reason(&self) -> Option<EndReason> {
        match self.phase {
            Phase::Ended(reason) => Some(reason),
            _ => None,
        }
    }

    /// True until the client and the server have agreed on the test.
    pub const fn is_requesting(&self) -> bool {
        matches!(self.phase, Phase::Requesting | Phase::Admitting)
    }

    /// True if data may be sent now.
    pub const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    /// True if the data of the test has started and not ended.
    pub(crate) const fn has_data(&self) -> bool {
        self.is_measuring() && (self.is_sender || self.data_ended.is_none())
    }

    /// At a receiver: the number of datagrams sent, from the sender's End.
    pub(super) fn reported_sent(&self) -> Option<u64> {
        self.reported_sent.map(|(sent, _)| sent)
    }

    /// True if the peer has to follow the protocol, unlike a client that sends without a Request.
    fn is_agreed(&self) -> bool {
        let admitting = self.admitting.as_ref();
        admitting.is_none_or(|admitting| admitting.default_test.is_none())
    }

    /// The data has started, and the test has not ended.
    const fn is_measuring(&self) -> bool {
        self.data_began.is_some() && !matches!(self.phase, Phase::Ended(_))
    }

    /// The progress and the counters of the test.
    pub fn stats(&self, now: Instant) -> TestStats {
        let end = self.data_ended.unwrap_or(now);
        let elapsed = self.data_began.map(|began| end.since(began));
        let counts = self.data.counts(end);
        let is_implausible = matches!(self.phase, Phase::Ended(EndReason::Implausible(_)));
        let (received, frames, is_final) = if self.is_sender {
            let report = self.peer_report.unwrap_or_default();
            (report.stats, report.frames, report.last)
        } else {
            (
                self.reception(&counts),
                self.frames,
                self.reported_sent.is_some(),
            )
        };
        TestStats {
            began: self.data_began.is_some(),
            sends: self.is_sender,
            seconds: elapsed.map_or(0.0, Duration::as_secs_f64),
            sent: counts.sent,
            sent_octets: counts.sent_octets,
            received,
            reported: !self.is_sender || self.peer_report.is_some(),
            // No report is final if the peer has reported an impossible value.
            complete: is_final && !is_implausible,
            smoothed_rtt_s: counts
                .smoothed_rtt
                .or(self.smoothed_rtt)
                .map(Duration::as_secs_f64),
            limit: counts.limit,
            frames,
        }
    }

    /// The data that this end has received.
    fn reception(&self, counts: &DataPathCounts) -> ReceptionStats {
        ReceptionStats {
            expected: self.reported_sent().unwrap_or(counts.received.expected),
            ..counts.received
        }
    }

    fn enter(&mut self, phase: Phase, now: Instant) {
        self.phase = phase;
        self.phase_began = now;
        self.repeated = None;
    }

    fn begin(&mut self, now: Instant) {
        self.data_began = Some(now);
        self.last_sent = now;
        self.enter(Phase::Running, now);
        self.data.begin(&self.config, now);
    }

    /// Starts the test at a server.
    fn accept(&mut self, config: TestConfig, now: Instant) {
        self.config = config;
        self.is_sender = config.reverse;
        self.begin(now);
        self.reply = Some(Message::Alive);
    }

    // ---- Input ----

    /// Records that the peer is alive.
    pub const fn on_packet(&mut self, now: Instant) {
        self.last_heard = now;
    }

    /// Handles a possible message of a test with its own connection; true if it is one.
    pub fn take_octets(&mut self, now: Instant, octets: &[u8]) -> bool {
        if let Some(message) = Message::from_octets(octets) {
            self.take(now, &message);
            return true;
        }
        match (self.phase, Message::answer_other_version(octets)) {
            (Phase::Admitting, Some((_, refused))) => self.refuse(refused, now),
            _ => return false,
        }
        true
    }

    /// Handles a message of this test.
    pub fn take(&mut self, now: Instant, message: &Message) {
        self.on_packet(now);
        match (self.phase, message) {
            (Phase::Admitting, Message::Request(config, answer)) => {
                self.judge(now, *config, *answer);
            }
            (Phase::Admitting, _) => self.begin_unasked(now),
            (Phase::Requesting, _) => self.take_answer(now, message),
            // The answer was lost.
            (Phase::Running, Message::Request(..)) => self.reply = Some(Message::Alive),
            _ => {}
        }
        if !self.is_sender {
            if let Message::End { sent } = message {
                self.take_end(now, *sent);
            }
        } else if let Message::Report(report) = message {
            self.take_report(now, report);
        } else if matches!(message, Message::Stop) && self.is_running() {
            self.close(now);
        }
    }

    /// Decides on a Request over a connection.
    fn judge(&mut self, now: Instant, config: TestConfig, answer: Option<Answer>) {
        let Some(admitting) = &self.admitting else {
            return;
        };
        let admission = Arc::clone(&admitting.admission);
        match admission.judge(admitting.token, &config, answer) {
            Message::Alive => {
                self.admitting = None;
                self.accept(admission.bounded(config), now);
            }
            answer => self.refuse(answer, now),
        }
    }

    /// Sends this answer; if it is a refusal, the test ends.
    fn refuse(&mut self, answer: Message, now: Instant) {
        self.reply = Some(answer);
        if let Message::Refused(refusal) = answer {
            self.end(EndReason::Rejected(refusal), now);
        }
    }

    /// Starts the test of a client that sends without a Request, if there is such a test.
    fn begin_unasked(&mut self, now: Instant) {
        let default_test = self
            .admitting
            .as_ref()
            .and_then(|admitting| admitting.default_test);
        match default_test {
            Some(config) => {
                self.config = config;
                self.begin(now);
            }
            None => self.end(EndReason::NoRequest, now),
        }
    }

    /// Handles a possible answer to the Request.
    fn take_answer(&mut self, now: Instant, message: &Message) {
        match (
            self.asking.as_mut().map(|asking| asking.take(message)),
            message,
        ) {
            // The deadline remains that of the first Request.
            (Some(RequestOutcome::Again { at_once: true }), _) => self.repeated = None,
            (Some(RequestOutcome::Again { .. }), _) => {}
            (Some(RequestOutcome::Refused(refusal)), _) => {
                self.end(EndReason::Declined(refusal), now);
            }
            (_, Message::Busy) => self.end(EndReason::Busy, now),
            (_, Message::OtherMedia) => self.end(EndReason::OtherMedia, now),
            // Later messages may overtake the answer.
            (_, Message::Alive | Message::Data { .. } | Message::End { .. }) => self.begin(now),
            _ => {}
        }
    }

    fn take_report(&mut self, now: Instant, report: &Report) {
        if !self.is_measuring() {
            return;
        }
        let counts = self.data.counts(now);
        let sent = Sent {
            datagrams: counts.sent,
            octets: counts.sent_octets,
        };
        if !self.check(now, report.validate(&self.config, sent)) {
            return;
        }
        let old = self.peer_report.unwrap_or_default();
        // Reports may overtake each other.
        if report.stats.received >= old.stats.received {
            if report.echo > old.echo {
                self.sample_rtt(now, report);
            }
            self.peer_report = Some(*report);
        }
        if !report.last {
            return;
        }
        match self.phase {
            Phase::Closing => self.end(EndReason::Done, now),
            // The receiver has ended the test early.
            Phase::Running => self.close(now),
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

    fn take_end(&mut self, now: Instant, sent: u64) {
        // An end that is done still answers an End.
        let is_done = self.phase == Phase::Ended(EndReason::Done) && self.reported_sent.is_some();
        if !self.is_measuring() && !is_done {
            return;
        }
        if self.reported_sent.is_none() {
            let known = self.data.counts(now).received.expected;
            if !self.check(now, self.config.check_sent(sent, known)) {
                return;
            }
            self.reported_sent = Some((sent, now));
            self.data_ended = Some(now);
            self.frames = self.data.frames(now);
        }
        self.reply = Some(self.report(now, true));
        self.enter(Phase::TimeWait, now);
    }

    /// Records the arrival of data, which may overtake the answer to the Request; true if the test
    /// continues.
    pub fn take_data(&mut self, now: Instant) -> bool {
        self.on_packet(now);
        match self.phase {
            Phase::Requesting if !self.is_sender => self.begin(now),
            Phase::Admitting => self.begin_unasked(now),
            _ => {}
        }
        self.is_measuring()
    }

    /// Ends the test and returns false if a value reported by the peer is impossible. The values of
    /// a client that sends without a Request are not limited.
    pub fn check(&mut self, now: Instant, claim: Result<(), ImplausibleValue>) -> bool {
        let lie = claim.err().filter(|_| self.is_agreed());
        if let Some(lie) = lie {
            self.end(EndReason::Implausible(lie), now);
        }
        lie.is_none()
    }

    /// Ends the test at the request of this end's user.
    pub fn stop(&mut self, now: Instant) {
        self.is_stopped = true;
        match self.phase {
            Phase::Requesting | Phase::Admitting => self.end(EndReason::Done, now),
            Phase::Running => self.close(now),
            _ => {}
        }
    }

    /// Handles the end of the connection, or an ICMP message that reports that the peer's port is
    /// unreachable.
    pub fn on_gone(&mut self, now: Instant) {
        if self.phase == Phase::Admitting {
            self.begin_unasked(now);
        }
        let [unanswered, early] = match self.channel {
            Channel::Datagrams => [EndReason::Refused, EndReason::TimedOut],
            Channel::Connection | Channel::Stream => [EndReason::Closed, EndReason::EndedEarly],
        };
        // Without a connection the peer ends some time after its last Report.
        let lacks_report = self.is_sender
            && self.channel != Channel::Datagrams
            && !self.peer_report.is_some_and(|report| report.last);
        match self.phase {
            Phase::Requesting => self.end(unanswered, now),
            Phase::Running if self.is_agreed() => self.end(early, now),
            Phase::Closing if lacks_report => self.end(early, now),
            Phase::Running | Phase::Closing | Phase::TimeWait => self.end(EndReason::Done, now),
            Phase::Admitting | Phase::Ended(_) => {}
        }
    }

    fn close(&mut self, now: Instant) {
        if self.is_sender {
            self.data_ended = Some(now);
            self.drained = (u64::MAX, now);
        }
        self.enter(Phase::Closing, now);
    }

    fn end(&mut self, reason: EndReason, now: Instant) {
        self.data_ended = self.data_ended.or(Some(now));
        self.enter(Phase::Ended(reason), now);
    }

    // ---- Output ----

    /// The next message that is due.
    pub fn next_message(&mut self, now: Instant) -> Option<Message> {
        self.checked_at = now;
        if let Some(reply) = self.reply.take() {
            self.last_sent = now;
            return Some(reply);
        }
        let spent = now.since(self.phase_began);
        match (self.phase, &self.asking) {
            (Phase::Admitting, _) if spent >= REQUEST_TIMEOUT => self.begin_unasked(now),
            (Phase::Requesting, _) if spent >= REQUEST_TIMEOUT => {
                self.end(EndReason::TimedOut, now);
            }
            (Phase::Requesting, Some(asking)) => {
                let request = asking.request();
                return self.repeat(now, request);
            }
            (Phase::Running | Phase::Closing, _) if self.is_silent(now) => {
                self.end(EndReason::TimedOut, now);
            }
            (Phase::Running, _) if self.is_sender => return self.next_of_sender(now),
            (Phase::Running, _) => return self.next_report(now),
            (Phase::Closing, _) => return self.next_close(now),
            (Phase::TimeWait, _) if self.has_waited(now) => self.end(EndReason::Done, now),
            _ => {}
        }
        None
    }

    /// When the session must be called even if no message arrives.
    pub fn next_timeout(&self) -> Option<Instant> {
        let look = match self.phase {
            _ if self.reply.is_some() => self.phase_began,
            Phase::Ended(_) => return None,
            _ => self.checked_at + CHECK_INTERVAL,
        };
        let data = self.data.next_timeout().filter(|_| self.is_running());
        let end = self.data_end().filter(|_| self.is_running());
        Some(look.min(data.unwrap_or(look)).min(end.unwrap_or(look)))
    }

    /// Records that data is sent now.
    pub const fn on_sent(&mut self, now: Instant) {
        self.last_sent = now;
    }

    /// When the sending time of a sender ends.
    fn data_end(&self) -> Option<Instant> {
        let began = self.data_began.filter(|_| self.is_sender)?;
        Some(began + Duration::from(self.config.duration))
    }

    /// True if the peer is gone. At the end of a test without a connection it has no messages to
    /// send.
    fn is_silent(&self, now: Instant) -> bool {
        let speaks = self.is_running() || self.channel != Channel::Datagrams;
        speaks && now.since(self.last_heard) >= PEER_TIMEOUT
    }

    fn next_of_sender(&mut self, now: Instant) -> Option<Message> {
        if self.data.is_done() || self.data_end().is_some_and(|end| now >= end) {
            self.close(now);
            return self.next_message(now);
        }
        if self.channel != Channel::Datagrams || now.since(self.last_sent) < KEEPALIVE_INTERVAL {
            return None;
        }
        self.last_sent = now;
        Some(Message::Alive)
    }

    fn next_report(&mut self, now: Instant) -> Option<Message> {
        if self.overdue_at().is_some_and(|overdue| now >= overdue) {
            self.end(EndReason::Overdue, now);
            return None;
        }
        if now.since(self.last_sent) < REPORT_INTERVAL || !self.is_agreed() {
            return None;
        }
        self.last_sent = now;
        Some(self.report(now, false))
    }

    /// The End of a sender, or the Stop of a receiver, until the answer arrives; the wait is
    /// extended while data is still being sent.
    fn next_close(&mut self, now: Instant) -> Option<Message> {
        let counts = self.data.counts(now);
        // Once everything has drained the data has ended: a waiting End would count as data.
        if self.drained.0 > 0 {
            self.data_ended = Some(now);
            if counts.waiting < self.drained.0 {
                self.drained = (counts.waiting, now);
            }
        }
        let (_, progress_at) = self.drained;
        let most = if self.is_stopped {
            CLOSE_TIMEOUT
        } else {
            self.channel.drain_timeout()
        };
        let since_progress = now.since(progress_at.max(self.phase_began));
        if since_progress >= CLOSE_TIMEOUT || now.since(self.phase_began) >= most {
            self.end(EndReason::Done, now);
            return None;
        }
        let message = if self.is_sender {
            Message::End { sent: counts.sent }
        } else {
            Message::Stop
        };
        self.repeat(now, message)
    }

    /// True if a receiver need not expect another End. A sender without a connection repeats it for
    /// a limited time; with a connection it closes the connection.
    fn has_waited(&self, now: Instant) -> bool {
        let is_long_ago = |(_, first)| now.since(first) >= CLOSE_TIMEOUT;
        let is_quiet = now.since(self.phase_began) >= TIME_WAIT;
        is_quiet && self.channel == Channel::Datagrams
            || self.reported_sent.is_some_and(is_long_ago)
    }

    /// The phase's message, if it is due again.
    fn repeat(&mut self, now: Instant, message: Message) -> Option<Message> {
        let again = |last| self.channel != Channel::Stream && now.since(last) >= REPEAT_INTERVAL;
        self.repeated.is_none_or(again).then(|| {
            self.repeated = Some(now);
            message
        })
    }

    /// When a receiver gives up on a sender that does not end the test: the time of the test and
    /// the time for an End to arrive have elapsed.
    fn overdue_at(&self) -> Option<Instant> {
        let most = Duration::from(self.config.duration) + PEER_TIMEOUT;
        Some(self.data_began? + most + self.channel.drain_timeout())
    }

    fn report(&self, now: Instant, last: bool) -> Message {
        let (arrived, echo) = self.data.newest().unwrap_or((now, 0));
        Message::Report(Report {
            stats: self.reception(&self.data.counts(now)),
            echo,
            held: now.since(arrived).as_nanos(),
            last,
            frames: self.frames.filter(|_| last),
        })
    }
}
