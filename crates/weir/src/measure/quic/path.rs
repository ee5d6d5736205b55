//! One end of a test over a QUIC connection: the data stream, and the messages on the control
//! stream.

use super::super::conversation::{self, Conversation, Wire, span};
use super::super::report::{Counters, Delivery, scaled};
use super::super::test_path::{Observer, TestInfo, TestPath, Transfer, nanos};
use super::control::Control;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use bytes::Bytes;
use quinn::{Connection, ConnectionError, ConnectionStats, Endpoint};
use quinn::{ReadError, RecvStream, SendStream, WriteError};
use serde_json::json;
use std::error::Error;
use std::future::pending;
use std::sync::{Arc, OnceLock};
use tokio::time::{sleep_until, timeout, timeout_at};
use weir_lab::run::MeasuredFlow;
use weir_proto::endpoint::Statistics;
use weir_proto::time::Instant;
use weir_wire::quinn::ControllerView;
use weir_wire::test_protocol::{
    CLOSE_TIMEOUT, Message, Pacing, STREAM_DRAIN_TIMEOUT, TestConfig, TestStats,
};

/// How long a client stays after its close.
const LEAVE_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(100);

/// One end of a test over QUIC.
pub struct QuicPath {
    connection: Connection,
    /// The controller of this end.
    controller: ControllerView,
    /// The stream of control messages.
    control: Control,
    /// The endpoint of a client, closed with the connection.
    pub endpoint: Option<Endpoint>,
    info: TestInfo,
    conversation: Conversation,
    data: Data,
    /// The bound on the sender before its end, because at the end the application is the bound.
    limit: Arc<OnceLock<&'static str>>,
    /// The error that makes the connection unusable.
    broken: Option<String>,
}

/// The data stream at one end.
#[derive(Default)]
enum Data {
    /// It is not open.
    #[default]
    None,
    /// The sender writes.
    Sending(Writer),
    /// The sender waits until this time for data in transit to be acknowledged.
    Draining(SendStream, Instant),
    /// The receiver reads.
    Receiving(RecvStream),
    /// The data stream has ended.
    Ended,
}

/// The writer of a sender.
struct Writer {
    stream: SendStream,
    pacing: Pacing,
    /// The octets of a write, and the remaining ones of the current write.
    data: Bytes,
    rest: [Bytes; 1],
}

impl Writer {
    /// Writes data on schedule until all is written, or the receiver stops it.
    async fn write(&mut self, test: &Conversation) -> Result<(), WriteError> {
        loop {
            if self.rest[0].is_empty() {
                if self.pacing.is_done() {
                    return Ok(());
                }
                if let Some(due) = self.pacing.due() {
                    sleep_until(test.at(due)).await;
                }
                self.rest = [self.data.clone()];
            }
            // The written part may arrive before the rest is written.
            match self.stream.write_chunks(&mut self.rest).await {
                Ok(written) => {
                    let octets = written.bytes as u64;
                    test.session().data.counts.sent_octets += octets;
                }
                Err(WriteError::Stopped(_)) => return Ok(()),
                Err(error) => return Err(error),
            }
            if self.rest[0].is_empty() {
                self.pacing.count();
            }
        }
    }
}

impl QuicPath {
    /// A test over this connection and its control stream, with this controller.
    pub fn new(
        connection: Connection,
        control: Control,
        controller: ControllerView,
        info: TestInfo,
        conversation: Conversation,
    ) -> Self {
        Self {
            connection,
            controller,
            control,
            endpoint: None,
            info,
            conversation,
            data: Data::None,
            limit: Arc::default(),
            broken: None,
        }
    }

    /// Ends the data stream. When the time of a sender without bounds is over, its waiting data is
    /// not sent.
    fn end_data(&mut self) {
        let _ = self.limit.set(self.controller.limit());
        let Data::Sending(Writer { mut stream, .. }) =
            std::mem::replace(&mut self.data, Data::Ended)
        else {
            return;
        };
        if is_bounded(&self.info.request) && stream.finish().is_ok() {
            let end = self.conversation.now() + STREAM_DRAIN_TIMEOUT;
            self.data = Data::Draining(stream, end);
        } else {
            let _ = stream.reset(0_u8.into());
            self.conversation.session().data.counts.waiting = 0;
        }
    }
}

/// True if the sender sends all its data even when its time is over. At a rate that the path can
/// carry, hardly any data waits then.
const fn is_bounded(request: &TestConfig) -> bool {
    request.rate_bps.is_some() || request.writes > 0
}

/// Moves data until the session must be informed; returns the sender's End at a receiver.
async fn move_data(
    data: &mut Data,
    connection: &Connection,
    test: &Conversation,
    request: &TestConfig,
) -> Result<Option<Message>, Box<dyn Error + Send + Sync>> {
    let (sends, runs) = {
        let session = test.session();
        (session.is_sender(), session.is_running())
    };
    match data {
        Data::None if !runs => pending().await,
        Data::None if sends => {
            // Counts as waiting until all has arrived, because the transport does not report how
            // much waits.
            test.session().data.counts.waiting = u64::from(is_bounded(request));
            *data = Data::Sending(Writer {
                stream: connection.open_uni().await?,
                pacing: Pacing::start(request, test.now()),
                data: Bytes::from(vec![0x57; usize::from(request.length)]),
                rest: [Bytes::new()],
            });
        }
        Data::None => *data = Data::Receiving(connection.accept_uni().await?),
        Data::Sending(writer) => {
            writer.write(test).await?;
            test.session().data.is_done = true;
        }
        Data::Draining(stream, end) => {
            let arrived = timeout_at(test.at(*end), stream.stopped()).await;
            if arrived.is_err() {
                let _ = stream.reset(0_u8.into());
            }
            test.session().data.counts.waiting = 0;
            *data = Data::Ended;
        }
        Data::Receiving(stream) => loop {
            match stream.read_chunk(usize::MAX, true).await {
                Ok(Some(chunk)) => {
                    let octets = chunk.bytes.len() as u64;
                    test.session().data.counts.received.octets += octets;
                }
                // A sender whose time is over resets the stream.
                Ok(None) | Err(ReadError::Reset(_)) => {
                    *data = Data::Ended;
                    return Ok(Some(Message::End { sent: 0 }));
                }
                Err(error) => return Err(error.into()),
            }
        },
        Data::Ended => pending().await,
    }
    Ok(None)
}

impl Wire for QuicPath {
    fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    fn look(&mut self) -> u64 {
        self.connection.stats().udp_rx.datagrams
    }

    /// The end of the data stream is the sender's End, and stopping it is the receiver's Stop.
    async fn say(&mut self, message: Message) -> bool {
        match message {
            Message::End { .. } => self.end_data(),
            Message::Stop => {
                if let Data::Receiving(stream) = &mut self.data {
                    let _ = stream.stop(0_u8.into());
                }
                self.data = Data::Ended;
                let now = self.conversation.now();
                self.conversation
                    .session()
                    .take(now, &Message::End { sent: 0 });
            }
            message => return self.control.write(message).await,
        }
        true
    }

    async fn step(&mut self, _until: Instant) -> bool {
        let test = &self.conversation;
        let taken = tokio::select! {
            octets = self.control.read() => match octets {
                Some(octets) => return test.session().take_octets(test.now(), &octets),
                None => return false,
            },
            moved = move_data(&mut self.data, &self.connection, test, &self.info.request) => moved,
        };
        match taken {
            Ok(Some(end)) => test.session().take(test.now(), &end),
            Ok(None) => {}
            Err(error) => self.broken = Some(error.to_string()),
        }
        self.broken.is_none()
    }

    /// The error of a task that waits on a lost connection only says that it ended.
    fn loss(&mut self) -> Option<Failure> {
        let why = match self.connection.close_reason() {
            Some(ConnectionError::TimedOut) => {
                weir_wire::Error::TimedOut(self.info.peer).to_string()
            }
            None | Some(ConnectionError::LocallyClosed | ConnectionError::ApplicationClosed(_)) => {
                return self.broken.take().map(Failure::Failed);
            }
            Some(reason) => reason.to_string(),
        };
        Some(Failure::Failed(why))
    }
}

impl TestPath for QuicPath {
    fn info(&mut self) -> &mut TestInfo {
        &mut self.info
    }

    fn observer(&self) -> Observer {
        let (connection, controller) = (self.connection.clone(), self.controller.clone());
        let (conversation, limit) = (self.conversation.clone(), Arc::clone(&self.limit));
        Box::new(move |_| {
            let (stats, test) = (connection.stats(), conversation.stats());
            let limit = limit.get().copied();
            let limit = limit.unwrap_or_else(|| controller.limit());
            Counters {
                octets: test.received.octets,
                delivery: delivery(&test),
                details: if test.sends {
                    details(&stats, controller.window(), limit)
                } else {
                    String::new()
                },
                counts: vec![
                    ("packets_sent", stats.path.sent_packets),
                    ("packets_lost", stats.path.lost_packets),
                    ("congestion_events", stats.path.congestion_events),
                    ("udp_bytes_sent", stats.udp_tx.bytes),
                    ("udp_bytes_received", stats.udp_rx.bytes),
                ],
                fields: json!({
                    "sender": test.sends,
                    "mtu": stats.path.current_mtu,
                    "smoothed_rtt_s": stats.path.rtt.as_secs_f64(),
                    "min_rtt_s": stats.path.min_rtt.as_secs_f64(),
                    "congestion_window": controller.window(),
                    "limit": limit,
                }),
            }
        })
    }

    async fn transfer(&mut self, interrupt: &Interrupt) -> Transfer {
        conversation::transfer(self, interrupt).await
    }

    fn count(&self, flow: &mut MeasuredFlow) {
        let (stats, test) = (self.connection.stats(), self.conversation.stats());
        flow.statistics = Statistics {
            packets_sent: stats.path.sent_packets,
            bytes_sent: stats.udp_tx.bytes,
            data_packets_sent: stats.frame_tx.stream,
            packets_received: stats.udp_rx.datagrams,
            bytes_received: stats.udp_rx.bytes,
            data_packets_received: stats.frame_rx.stream,
            smoothed_rtt: nanos(stats.path.rtt),
            ..Statistics::default()
        };
        flow.payload_sent = test.sent_octets;
        if test.sends {
            flow.statistics.packets_lost = stats.path.lost_packets;
            flow.statistics.loss_events = stats.path.congestion_events;
            flow.payload_delivered = Some(test.received.octets);
        } else {
            flow.statistics.payload_received = test.received.octets;
        }
    }

    async fn close(self) {
        let Some(endpoint) = &self.endpoint else {
            // The client closes the connection after the last Report.
            let _ = timeout(span(CLOSE_TIMEOUT), self.connection.closed()).await;
            return self.connection.close(0_u8.into(), b"done");
        };
        self.connection.close(0_u8.into(), b"done");
        // The result is known: the endpoint stays until the close is on its way, and not for three
        // timeouts of a path whose queue is full (RFC 9000 §10.2). A server whose close was lost
        // waits for [`CLOSE_TIMEOUT`].
        let _ = timeout(LEAVE_TIMEOUT, endpoint.wait_idle()).await;
    }
}

/// The octets of both ends. A receiver does not know how many were sent.
fn delivery(test: &TestStats) -> Delivery {
    Delivery {
        sent: test.sends.then_some(test.sent_octets),
        received: Some(test.received.octets),
        complete: test.complete,
    }
}

/// The text of a line of a sender.
fn details(stats: &ConnectionStats, window: u64, limit: &str) -> String {
    let path = &stats.path;
    let share = path.lost_packets as f64 / path.sent_packets.max(1) as f64;
    format!(
        "  rtt {}  cwnd {}  lost {} ({:.3} %)  {limit}",
        scaled(path.rtt.as_secs_f64(), "s"),
        scaled(window as f64, "B"),
        path.lost_packets,
        100.0 * share,
    )
}
