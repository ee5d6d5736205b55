//! One end of a test over a connection of DCCP.

use super::super::data_path::{DataPath, Observer, Since, TestInfo, Transfer};
use super::super::failure;
use super::super::pacing::Pacing;
use super::super::report::{Counters, scaled};
use super::exchange::{Arrival, Exchange, Progress};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::{interval, sleep_until, timeout};
use weir_lab::run::{MeasuredFlow, MeasuredTransport};
use weir_wire::test_protocol::{
    Admission, Asked, Asking, Message, Secret, Sent, TestConfig, random_token,
};
use weir_wire::{Connection, ConnectionStats, Error};

/// Octets of a datagram by default, if the path takes them.
const LENGTH: u16 = 1400;
/// Datagrams that are sent or received between two looks at the clock, while none has to be waited
/// for: reading the clock costs about as much as sending a datagram.
const BATCH: u64 = 16;
/// From one look of a sender at the peer's messages to the next.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// From one Report of the receiver to the next.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);
/// From one transmission of a message to the next while no answer comes.
const REPEAT_INTERVAL: Duration = Duration::from_millis(200);
/// How long a Request is repeated.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an end waits for the peer's next step towards the end, and for its close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long the last control messages may take at most after the time of the test.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(15);
/// A peer from which no packet has come for so long, though it was asked every second, is gone.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection of DCCP that is measured.
pub struct DccpPath {
    connection: Connection,
    info: TestInfo,
    started: Instant,
    exchange: Arc<Mutex<Exchange>>,
    /// Datagrams of data that this end has handed over.
    written: u64,
    /// The packets of the peer, and when the last of them was seen.
    heard: (u64, Instant),
    /// The peer follows the control protocol: at a server, it began with a Request.
    is_agreed: bool,
    /// The connection has ended, or the peer is gone: there is nothing to wait for.
    is_over: bool,
}

impl DccpPath {
    /// An end that knows nothing of the test yet. The CCID is the one that both ends agreed on.
    pub fn new(
        mut connection: Connection,
        opened: Instant,
        mut transport: MeasuredTransport,
    ) -> Self {
        if let MeasuredTransport::Dccp { ccid, .. } = &mut transport {
            *ccid = connection.stats().send_ccid;
        }
        Self {
            info: TestInfo {
                request: TestConfig::default(),
                sends: false,
                opened,
                transport,
                events: connection.events(),
            },
            connection,
            started: opened,
            exchange: Arc::default(),
            written: 0,
            heard: (0, Instant::now()),
            is_agreed: false,
            is_over: false,
        }
    }

    /// Takes the request, with a length that the path carries if it has none.
    fn set_request(&mut self, mut request: TestConfig, sends: bool) {
        if request.length == 0 {
            let longest = self.connection.stats().max_datagram;
            request.length = u16::try_from(longest).unwrap_or(u16::MAX).min(LENGTH);
        }
        self.info.request = request;
        self.info.sends = sends;
        self.is_agreed = true;
        *self.exchange() = Exchange::new(self.info.request, sends);
    }

    /// Asks the server for the test until it answers.
    pub async fn ask(
        &mut self,
        request: TestConfig,
        secret: Option<Secret>,
    ) -> Result<(), Failure> {
        self.set_request(request, !request.reverse);
        let peer = self.connection.peer_address();
        let mut asking = Asking::new(0, self.info.request, secret);
        let mut repeat = interval(REPEAT_INTERVAL);
        let asked = async {
            loop {
                tokio::select! {
                    _ = repeat.tick() => self.say(&asking.request())?,
                    datagram = self.connection.receive_shared() => {
                        let datagram = datagram.ok_or(Error::Closed)?;
                        let told = Message::from_octets(&datagram);
                        match told.map(|told| (asking.take(&told), told)) {
                            Some((Asked::Again { at_once: true }, _)) => repeat.reset_immediately(),
                            Some((Asked::Refused(refusal), _)) => {
                                return Err(Error::Declined(peer, refusal));
                            }
                            Some((Asked::Again { .. }, _) | (_, Message::Challenge(_))) => {}
                            _ => {
                                self.take(&datagram);
                                return Ok(());
                            }
                        }
                    }
                }
            }
        };
        let asked = timeout(REQUEST_TIMEOUT, asked).await;
        self.started = Instant::now();
        asked.unwrap_or(Err(Error::TimedOut(peer))).map_err(failure)
    }

    /// Waits for the Request of a client that is let in. Without a secret, one that begins with
    /// anything else, or says nothing, sends as it likes.
    pub async fn admit(&mut self, admission: &Admission) -> Result<(), Failure> {
        let judged = timeout(PEER_TIMEOUT, self.judge(admission)).await;
        self.started = Instant::now();
        let peer = self.connection.peer_address();
        let first = match judged {
            Ok(Err(failure)) => return Err(failure),
            Ok(Ok(first)) => first,
            Err(_) => None,
        };
        if self.is_agreed {
            return Ok(());
        }
        if admission.secret.is_some() {
            return Err(Failure::Failed(format!(
                "{peer} does not ask for a test with the secret"
            )));
        }
        self.info.request.length = LENGTH;
        self.info.request.duration = admission.max_time.unwrap_or(TestConfig::MAX_DURATION);
        first.map(|first| self.take(&first));
        Ok(())
    }

    /// Answers Requests until one is let in; returns the first datagram of a client that does not
    /// ask.
    async fn judge(&mut self, admission: &Admission) -> Result<Option<Arc<[u8]>>, Failure> {
        let token = random_token().map_err(failure)?;
        while let Some(first) = self.connection.receive_shared().await {
            let answer = match Message::from_octets(&first) {
                Some(Message::Request(request, answer)) => {
                    let answer = admission.judge(token, &request, answer);
                    if answer == Message::Alive {
                        self.set_request(admission.bounded(request), request.reverse);
                    }
                    answer
                }
                _ => match Message::answer_other_version(&first) {
                    Some((_, refused)) => refused,
                    None => return Ok(Some(first)),
                },
            };
            // Without an answer the client asks again.
            let _ = self.say(&answer);
            if let Message::Refused(refusal) = answer {
                let peer = self.connection.peer_address();
                return Err(Failure::Failed(format!(
                    "{peer} is told: this server {refusal}"
                )));
            }
            if self.is_agreed {
                break;
            }
        }
        Ok(None)
    }

    fn exchange(&self) -> MutexGuard<'_, Exchange> {
        lock(&self.exchange)
    }

    /// The data that this end has handed over, of which the receiver can have no more.
    fn sent(&self) -> Sent {
        let length = u64::from(self.info.request.length);
        Sent {
            datagrams: self.written,
            octets: self.written.saturating_mul(length),
        }
    }

    /// Sends a control message if there is room; those that matter are repeated.
    fn say(&self, message: &Message) -> Result<(), Error> {
        let octets = message.to_octets();
        if self.connection.try_send(&octets)? {
            self.exchange().count_control(octets.len());
        }
        Ok(())
    }

    /// Takes a datagram of the peer, and answers what needs an answer.
    fn take(&self, datagram: &[u8]) -> Arrival {
        let mut exchange = self.exchange();
        let arrival = exchange.take(datagram, self.sent());
        let answer = match arrival {
            Arrival::Request => Some(Message::Alive),
            Arrival::End => Some(exchange.report()),
            Arrival::Data | Arrival::News => None,
        };
        drop(exchange);
        if let Some(answer) = answer {
            // An answer that cannot be sent is like one that is lost: the peer asks again.
            let _ = self.say(&answer);
        }
        arrival
    }

    /// Takes a datagram and some of those that came with it, which need not be waited for; returns
    /// whether the End was among them.
    fn take_batch(&mut self, first: Arc<[u8]>) -> bool {
        let mut has_end = self.take(&first) == Arrival::End;
        for _ in 0..BATCH {
            let Some(datagram) = self.connection.try_receive_shared() else {
                break;
            };
            has_end |= self.take(&datagram) == Arrival::End;
        }
        has_end
    }

    /// Takes what has come without waiting.
    fn take_waiting(&mut self) {
        while let Some(datagram) = self.connection.try_receive_shared() {
            self.take(&datagram);
        }
    }

    /// Fails if the peer has been silent for too long, or claims what cannot be true.
    fn check_peer(&mut self) -> Result<(), Failure> {
        self.check_claims()?;
        let packets = self.connection.stats().statistics.packets_received;
        if packets != self.heard.0 {
            self.heard = (packets, Instant::now());
        }
        if self.heard.1.elapsed() < PEER_TIMEOUT {
            return Ok(());
        }
        self.is_over = true;
        Err(failure(Error::TimedOut(self.connection.peer_address())))
    }

    fn check_claims(&self) -> Result<(), Failure> {
        let lie = self.exchange().lie();
        let peer = self.connection.peer_address();
        lie.map_or(Ok(()), |lie| Err(failure(Error::Lied(peer, lie))))
    }

    /// When a receiver gives a sender up that does not end the test.
    fn check_time(&self) -> Result<(), Failure> {
        let most = self.info.request.duration + DRAIN_TIMEOUT + PEER_TIMEOUT;
        if self.started.elapsed() < most {
            return Ok(());
        }
        Err(failure(Error::Overdue(self.connection.peer_address())))
    }

    /// What the end of the connection before that of the test means.
    fn ended_early(&mut self) -> Failure {
        self.is_over = true;
        let peer = self.connection.peer_address();
        Failure::Failed(format!(
            "{peer} ended the connection before the test was over"
        ))
    }

    /// Sends until the time is over, the receiver asks to stop, or Ctrl-C.
    async fn send(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        let data: Arc<[u8]> = vec![0x57; usize::from(self.info.request.length)].into();
        let mut pacing = Pacing::start(&self.info.request);
        let end = pacing.end();
        let mut interrupted = std::pin::pin!(interrupt.pressed());
        let mut look = tokio::time::Instant::now();
        let mut has_waited = true;
        loop {
            if pacing.is_done() {
                return Ok(());
            }
            let due = pacing.due();
            if has_waited || due.is_some() || pacing.writes().is_multiple_of(BATCH) {
                let now = tokio::time::Instant::now();
                if now >= end {
                    return Ok(());
                }
                if now >= look {
                    self.take_waiting();
                    if self.exchange().is_stopped() {
                        return Ok(());
                    }
                    self.check_peer()?;
                    look = now + LOOK_INTERVAL;
                }
            }
            has_waited = true;
            if let Some(due) = due.filter(|due| *due > tokio::time::Instant::now()) {
                tokio::select! {
                    () = sleep_until(due.min(end).min(look)) => continue,
                    () = &mut interrupted => return Ok(()),
                }
            }
            // Waiting costs more than a look whether there is room, which there mostly is.
            let sent = match self.connection.try_send_shared(&data) {
                Ok(true) => {
                    has_waited = false;
                    Ok(())
                }
                Ok(false) => tokio::select! {
                    sent = self.connection.send_shared(&data) => sent,
                    () = sleep_until(end.min(look)) => continue,
                    () = &mut interrupted => return Ok(()),
                },
                Err(error) => Err(error),
            };
            sent.map_err(|error| match error {
                Error::Closed => self.ended_early(),
                error => failure(error),
            })?;
            pacing.count();
            self.written += 1;
        }
    }

    /// Sends the End until the last Report comes; returns when the data was sent. What still waits
    /// to be sent is discarded, as iperf3 ends with the time: on a slow path the queue holds many
    /// times of it.
    async fn finish_sending(&mut self, interrupt: &Interrupt) -> (Instant, Result<(), Failure>) {
        let is_control = |datagram: &[u8]| Message::from_octets(datagram).is_some();
        // What was asked for by its number is sent to its end.
        if self.info.request.writes != self.written {
            self.written -= self
                .connection
                .discard_unsent(is_control)
                .await
                .min(self.written);
        }
        let octets = self.written * u64::from(self.info.request.length);
        let message = Message::End { sent: self.written };
        let began = Instant::now();
        let (mut data_ended, mut repeated) = (None, None::<Instant>);
        let mut progress = Progress::new(began);
        let mut look = interval(LOOK_INTERVAL / 10);
        loop {
            let sent = self
                .exchange()
                .data_octets(self.connection.stats().payload_sent);
            if sent >= octets {
                data_ended = data_ended.or_else(|| Some(Instant::now()));
            }
            let stalled = progress.stalled_for(sent, Instant::now());
            self.take_waiting();
            let ended = data_ended.unwrap_or_else(Instant::now);
            if self.exchange().is_complete() {
                return (ended, Ok(()));
            }
            let limit = if interrupt.was_pressed() {
                CLOSE_TIMEOUT
            } else {
                DRAIN_TIMEOUT
            };
            if stalled >= CLOSE_TIMEOUT || began.elapsed() >= limit {
                return (ended, Ok(()));
            }
            if let Err(failure) = self.check_peer() {
                return (ended, Err(failure));
            }
            if repeated.is_none_or(|last| last.elapsed() >= REPEAT_INTERVAL) {
                if self.say(&message).is_err() {
                    return (ended, Err(self.ended_early()));
                }
                repeated = Some(Instant::now());
            }
            look.tick().await;
        }
    }

    /// Receives, and reports, until the sender closes; after Ctrl-C asks it to end.
    async fn receive(&mut self, interrupt: &Interrupt) -> (Instant, Result<(), Failure>) {
        let mut reports = interval(REPORT_INTERVAL);
        let (mut data_ended, mut stopped) = (None::<Instant>, None::<Instant>);
        loop {
            // The sender closes when it has the last Report, which it asks for until it comes.
            let since = data_ended.or(stopped);
            if since.is_some_and(|since| since.elapsed() >= CLOSE_TIMEOUT) {
                return (data_ended.unwrap_or_else(Instant::now), Ok(()));
            }
            tokio::select! {
                datagram = self.connection.receive_shared() => {
                    let Some(datagram) = datagram else { break };
                    if self.take_batch(datagram) {
                        data_ended = data_ended.or_else(|| Some(Instant::now()));
                    }
                }
                _ = reports.tick() => {
                    let message = if stopped.is_some() {
                        Message::Stop
                    } else {
                        self.exchange().report()
                    };
                    if self.is_agreed {
                        // The end of the connection is seen above.
                        let _ = self.say(&message);
                    }
                    if let Err(failure) = self.check_peer().and(self.check_time()) {
                        return (data_ended.unwrap_or_else(Instant::now), Err(failure));
                    }
                }
                () = interrupt.pressed(), if stopped.is_none() => {
                    stopped = Some(Instant::now());
                    let _ = self.say(&Message::Stop);
                }
            }
        }
        self.is_over = true;
        match data_ended.or(stopped) {
            Some(ended) => (ended, Ok(())),
            None if !self.is_agreed => (Instant::now(), Ok(())),
            None => (Instant::now(), Err(self.ended_early())),
        }
    }
}

impl DataPath for DccpPath {
    fn peer_address(&self) -> SocketAddr {
        self.connection.peer_address()
    }

    fn info(&mut self) -> &mut TestInfo {
        &mut self.info
    }

    fn observer(&self) -> Observer {
        let stats = self.connection.stats_reader();
        let exchange = Arc::clone(&self.exchange);
        let length = self.info.request.length;
        let sends = self.info.sends;
        Box::new(move |since| {
            let stats = stats.stats();
            let exchange = *lock(&exchange);
            let sent = exchange.data_octets(stats.payload_sent);
            let received = exchange.received().unwrap_or_default();
            let lost = exchange.lost(sent / u64::from(length.max(1)));
            let mut details = details(sends, &stats);
            if let Some((sent, lost)) = lost.filter(|_| since == Since::Start) {
                let share = 100.0 * lost as f64 / sent.max(1) as f64;
                // Writing to a string cannot fail.
                let _ = write!(details, "  lost {lost}/{sent} ({share:.2} %)");
            }
            Counters {
                octets: if sends { sent } else { received.octets },
                delivery: exchange.delivery(length, stats.payload_sent),
                details,
                counts: vec![
                    ("packets_sent", stats.statistics.packets_sent),
                    ("packets_received", stats.statistics.packets_received),
                    ("datagrams_dropped", stats.datagrams_dropped),
                ],
                fields: fields(&stats, lost.map(|(_, lost)| lost)),
            }
        })
    }

    async fn transfer(&mut self, interrupt: &Interrupt) -> Transfer {
        let (ended, result) = if self.info.sends {
            match self.send(interrupt).await {
                Ok(()) => self.finish_sending(interrupt).await,
                Err(failure) => (Instant::now(), Err(failure)),
            }
        } else {
            self.receive(interrupt).await
        };
        Transfer {
            seconds: ended.duration_since(self.started).as_secs_f64(),
            failure: result.and(self.check_claims()).err(),
        }
    }

    fn count(&self, flow: &mut MeasuredFlow) {
        let stats = self.connection.stats();
        let exchange = *self.exchange();
        let sent = exchange.data_octets(stats.payload_sent);
        let lost = exchange.lost(sent / u64::from(self.info.request.length.max(1)));
        flow.statistics = stats.statistics;
        flow.payload_sent = sent;
        let statistics = &mut flow.statistics;
        if let Some((_, lost)) = lost {
            // Of the two ends, TFRC detects losses at the receiver only, and none where nothing
            // arrives.
            statistics.packets_lost = statistics.packets_lost.max(lost);
        }
        if self.info.sends {
            flow.payload_delivered = exchange.received().map(|received| received.octets);
        } else {
            statistics.payload_received = exchange.received().unwrap_or_default().octets;
        }
    }

    async fn close(mut self) {
        self.connection.close();
        if self.is_over {
            return;
        }
        // What was sent last is still under way, and so is the peer's answer to the close.
        let rest = async { while self.connection.receive_shared().await.is_some() {} };
        let _ = timeout(CLOSE_TIMEOUT, rest).await;
    }
}

fn lock(exchange: &Mutex<Exchange>) -> MutexGuard<'_, Exchange> {
    exchange.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The text of a line: at a sender the state of its controller.
fn details(sends: bool, stats: &ConnectionStats) -> String {
    if sends {
        return format!(
            "  rtt {}  X {}  p {:.3} %  {}",
            scaled(stats.statistics.smoothed_rtt.as_secs_f64(), "s"),
            scaled(stats.allowed_rate_bps, "bit/s"),
            stats.loss_event_rate * 100.0,
            stats.limit
        );
    }
    match stats.datagrams_dropped {
        0 => String::new(),
        dropped => format!("  {dropped} datagrams came too fast to be read"),
    }
}

/// The transport's fields of a result; `lost` are the datagrams that the receiver does not have, if
/// that is known.
fn fields(stats: &ConnectionStats, lost: Option<u64>) -> Value {
    json!({
        "packets_lost": lost.map(|lost| lost.max(stats.statistics.packets_lost)),
        "smoothed_rtt_s": stats.statistics.smoothed_rtt.as_secs_f64(),
        "allowed_rate_bps": stats.allowed_rate_bps,
        "loss_event_rate": stats.loss_event_rate,
        "limit": stats.limit,
    })
}
