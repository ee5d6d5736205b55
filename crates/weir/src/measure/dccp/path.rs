//! One end of a test over a connection of DCCP.

use super::super::conversation::{self, Conversation, Wire, span};
use super::super::failure;
use super::super::report::{Counters, Delivery, scaled};
use super::super::test_path::{Observer, Since, TestInfo, TestPath, Transfer};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{sleep, sleep_until, timeout};
use weir_lab::run::{MeasuredFlow, MeasuredTransport};
use weir_proto::time::Instant;
use weir_wire::test_protocol::{
    Admission, CLOSE_TIMEOUT, Channel, EndReason, Message, Pacing, Secret, TestConfig, TestStats,
};
use weir_wire::{Connection, ConnectionStats, Error};

/// The default datagram length in octets, if the path supports it.
const LENGTH: u16 = 1400;
/// The number of datagrams sent or received between two readings of the clock while no waiting is
/// necessary: reading the clock costs about as much as sending a datagram.
const BATCH: usize = 16;
/// The interval at which a sender checks whether its last datagrams have left.
const DRAIN_LOOK_INTERVAL: Duration = Duration::from_millis(5);

/// A DCCP connection under test.
pub struct DccpPath {
    connection: Connection,
    info: TestInfo,
    conversation: Conversation,
    /// Octets of control messages sent by this end, which are not data.
    control_octets: Arc<AtomicU64>,
    /// The send schedule and the payload of a sender.
    writer: Option<(Pacing, Arc<[u8]>)>,
    /// The number of data datagrams sent by this end.
    written: u64,
    /// The error that prevents sending.
    broken: Option<Error>,
    /// Whether the connection has ended, so that there is nothing to wait for.
    is_over: bool,
}

impl DccpPath {
    /// Requests this test, with a length that the path supports if it has none.
    pub fn ask(
        (connection, opened): (Connection, std::time::Instant),
        transport: MeasuredTransport,
        mut request: TestConfig,
        secret: Option<Secret>,
    ) -> Self {
        if request.length == 0 {
            let longest = connection.stats().max_datagram;
            request.length = u16::try_from(longest).unwrap_or(u16::MAX).min(LENGTH);
        }
        let conversation = Conversation::ask(Channel::Connection, request, secret);
        Self::new((connection, opened), transport, conversation)
    }

    /// Waits for a Request. Without a secret, a client that sends something else first, or nothing,
    /// may send without a Request.
    pub fn admit(
        connection: Connection,
        transport: MeasuredTransport,
        admission: Arc<Admission>,
    ) -> Result<Self, Error> {
        let default_test = admission.secret.is_none().then(|| TestConfig {
            length: LENGTH,
            duration: admission.max_time.unwrap_or(TestConfig::MAX_DURATION),
            ..TestConfig::default()
        });
        let conversation = Conversation::admit(Channel::Connection, admission, default_test)?;
        let opened = std::time::Instant::now();
        Ok(Self::new((connection, opened), transport, conversation))
    }

    /// A connection under test, with the CCID on which both ends agreed.
    fn new(
        (mut connection, opened): (Connection, std::time::Instant),
        mut transport: MeasuredTransport,
        conversation: Conversation,
    ) -> Self {
        if let MeasuredTransport::Dccp { ccid, .. } = &mut transport {
            *ccid = connection.stats().send_ccid;
        }
        let info = TestInfo::opening(
            connection.peer_address(),
            opened,
            transport,
            connection.events(),
        );
        Self {
            connection,
            info,
            conversation,
            control_octets: Arc::default(),
            writer: None,
            written: 0,
            broken: None,
            is_over: false,
        }
    }

    /// Passes on this datagram and some further ones that have already arrived; without a datagram,
    /// all that have arrived.
    fn take(&mut self, first: Option<Arc<[u8]>>) {
        let now = self.conversation.now();
        let mut session = self.conversation.session();
        let most = if first.is_some() { BATCH } else { usize::MAX };
        let connection = &mut self.connection;
        let waiting = std::iter::from_fn(|| connection.try_receive_shared());
        for datagram in first.into_iter().chain(waiting.take(most)) {
            session.take_datagram(now, &datagram);
        }
    }

    /// Sends until this time.
    async fn send(&mut self, until: Instant) -> Result<(), Error> {
        let (conversation, connection) = (&self.conversation, &self.connection);
        let request = &self.info.request;
        let (pacing, data) = self.writer.get_or_insert_with(|| {
            let data = vec![0x57; usize::from(request.length)].into();
            (Pacing::start(request, conversation.now()), data)
        });
        let mut has_waited = true;
        while !pacing.is_done() {
            let due = pacing.due();
            if has_waited || due.is_some() || pacing.writes().is_multiple_of(BATCH as u64) {
                let now = conversation.now();
                if now >= until {
                    return Ok(());
                }
                if let Some(due) = due.filter(|due| *due > now) {
                    sleep_until(conversation.at(due.min(until))).await;
                    continue;
                }
            }
            // Waiting costs more than checking for space in the queue, which there usually is.
            has_waited = !connection.try_send_shared(data)?;
            if has_waited {
                tokio::select! {
                    sent = connection.send_shared(data) => sent?,
                    () = sleep_until(conversation.at(until)) => return Ok(()),
                }
            }
            pacing.count();
            self.written += 1;
        }
        conversation.session().data.is_done = true;
        Ok(())
    }

    /// Ends writing, and discards datagrams that have not been sent, as iperf3 does when its time
    /// is over: on a slow path the queue may take many times the duration to send. A test with a
    /// fixed number of datagrams sends all of them.
    async fn end_data(&mut self) {
        let is_control = |datagram: &[u8]| Message::from_octets(datagram).is_some();
        if self.writer.take().is_some() && self.info.request.writes != self.written {
            let discarded = self.connection.discard_unsent(is_control).await;
            self.written -= discarded.min(self.written);
        }
    }
}

impl Wire for DccpPath {
    fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    fn look(&mut self) -> u64 {
        let stats = self.connection.stats();
        let left = data_octets(&stats, &self.control_octets);
        let length = u64::from(self.info.request.length);
        let octets = self.written.saturating_mul(length);
        let counts = &mut self.conversation.session().data.counts;
        counts.sent = self.written;
        counts.sent_octets = octets;
        counts.waiting = octets.saturating_sub(left);
        stats.statistics.packets_received
    }

    /// Important messages are repeated, so one that finds no space in the queue is treated like a
    /// lost one.
    async fn say(&mut self, mut message: Message) -> bool {
        if let Message::End { sent } = &mut message {
            self.end_data().await;
            *sent = self.written;
        }
        let octets = message.to_octets();
        let sent = self.connection.try_send(&octets);
        if let Ok(true) = sent {
            let octets = octets.len() as u64;
            self.control_octets.fetch_add(octets, Ordering::Relaxed);
        }
        sent.is_ok()
    }

    async fn step(&mut self, until: Instant) -> bool {
        let (sends, drains) = {
            let session = self.conversation.session();
            let drains = session.data.counts.waiting > 0;
            (session.is_sender() && session.is_running(), drains)
        };
        if sends {
            self.take(None);
            if self.conversation.session().is_running() {
                self.broken = self.send(until).await.err();
                self.is_over = self.broken.is_some();
            }
            return !self.is_over;
        }
        tokio::select! {
            datagram = self.connection.receive_shared() => {
                self.is_over = datagram.is_none();
                self.take(datagram);
            }
            () = sleep(DRAIN_LOOK_INTERVAL), if drains => {}
        }
        !self.is_over
    }

    fn loss(&mut self) -> Option<Failure> {
        let broken = self.broken.take();
        broken
            .filter(|error| !matches!(error, Error::Closed))
            .map(failure)
    }
}

/// Octets of data among all that have been sent.
fn data_octets(stats: &ConnectionStats, control_octets: &AtomicU64) -> u64 {
    stats
        .payload_sent
        .saturating_sub(control_octets.load(Ordering::Relaxed))
}

/// The number of datagrams sent, and the number that the receiver lacks; `None` until the two ends
/// agree.
fn lost(test: &TestStats) -> Option<(u64, u64)> {
    let received = &test.received;
    test.complete.then(|| (received.expected, received.lost()))
}

impl TestPath for DccpPath {
    fn info(&mut self) -> &mut TestInfo {
        &mut self.info
    }

    fn observer(&self) -> Observer {
        let stats = self.connection.stats_reader();
        let (conversation, control_octets) =
            (self.conversation.clone(), Arc::clone(&self.control_octets));
        let length = u64::from(self.info.request.length);
        Box::new(move |since| {
            let (stats, test) = (stats.stats(), conversation.stats());
            let sent = data_octets(&stats, &control_octets);
            let (received, lost) = (test.received.octets, lost(&test));
            let mut details = details(test.sends, &stats);
            if let Some((sent, lost)) = lost.filter(|_| since == Since::Start) {
                let share = 100.0 * lost as f64 / sent.max(1) as f64;
                // Writing to a string cannot fail.
                let _ = write!(details, "  lost {lost}/{sent} ({share:.2} %)");
            }
            let told = lost.map(|(sent, _)| sent.saturating_mul(length));
            Counters {
                octets: if test.sends { sent } else { received },
                delivery: Delivery {
                    sent: if test.sends { Some(sent) } else { told },
                    received: test.reported.then_some(received),
                    complete: test.complete,
                },
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
        conversation::transfer(self, interrupt).await
    }

    fn count(&self, flow: &mut MeasuredFlow) {
        let (stats, test) = (self.connection.stats(), self.conversation.stats());
        flow.statistics = stats.statistics;
        flow.payload_sent = data_octets(&stats, &self.control_octets);
        let statistics = &mut flow.statistics;
        if let Some((_, lost)) = lost(&test) {
            // TFRC detects losses at the receiver only, and detects none if no packet arrives.
            statistics.packets_lost = statistics.packets_lost.max(lost);
        }
        if test.sends {
            flow.payload_delivered = test.reported.then_some(test.received.octets);
        } else {
            statistics.payload_received = test.received.octets;
        }
    }

    async fn close(mut self) {
        self.connection.close();
        let ended = self.conversation.session().end_reason();
        if self.is_over || ended == Some(EndReason::TimedOut) {
            return;
        }
        // The last packets, and the peer's response to the close, are still in transit.
        let rest = async { while self.connection.receive_shared().await.is_some() {} };
        let _ = timeout(span(CLOSE_TIMEOUT), rest).await;
    }
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

/// The transport's fields of a result; `lost` is the number of datagrams that the receiver lacks,
/// if known.
fn fields(stats: &ConnectionStats, lost: Option<u64>) -> Value {
    json!({
        "packets_lost": lost.map(|lost| lost.max(stats.statistics.packets_lost)),
        "smoothed_rtt_s": stats.statistics.smoothed_rtt.as_secs_f64(),
        "allowed_rate_bps": stats.allowed_rate_bps,
        "loss_event_rate": stats.loss_event_rate,
        "limit": stats.limit,
    })
}
