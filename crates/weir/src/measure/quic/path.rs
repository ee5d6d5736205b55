//! One end of a test over a QUIC connection: the stream of data, and the Reports on the other
//! stream.

use super::super::data_path::{DataPath, Observer, TestInfo, Transfer, nanos};
use super::super::pacing::Pacing;
use super::super::report::{Counters, Delivery, scaled};
use super::{CLOSE_TIMEOUT, control};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use bytes::Bytes;
use quinn::{Connection, ConnectionError, ConnectionStats, Endpoint};
use quinn::{ReadError, ReadExactError, RecvStream, SendStream, WriteError};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::time::{interval, sleep, sleep_until, timeout};
use weir_lab::run::MeasuredFlow;
use weir_proto::endpoint::Statistics;
use weir_wire::Error;
use weir_wire::quinn::ControllerView;
use weir_wire::test_protocol::{Lie, Message, ReceptionStats, Report, Sent, TestConfig};

/// From one Report of the receiver to the next.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);
/// How long the rest of a constant rate may take to arrive.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a receiver waits after that for the end of the data.
const OVERDUE_AFTER: Duration = Duration::from_secs(10);

/// One end of a test over QUIC.
pub struct QuicPath {
    pub connection: Connection,
    /// The controller of this end.
    pub controller: ControllerView,
    /// The stream of control messages.
    pub control: (SendStream, RecvStream),
    /// Of a client, closed with the connection.
    pub endpoint: Option<Endpoint>,
    pub info: TestInfo,
    pub progress: Progress,
}

/// How far a transfer is, for those that look at it from outside.
#[derive(Clone, Default)]
pub struct Progress {
    /// Octets that the receiver has, as far as this end knows.
    delivered: Arc<AtomicU64>,
    /// Octets that this end has written.
    written: Arc<AtomicU64>,
    /// The receiver has all that it will get, and the sender knows it.
    complete: Arc<AtomicBool>,
    /// What bound the sender before its end, for at the end it is the application.
    limit: Arc<OnceLock<&'static str>>,
}

impl Progress {
    /// Takes a message of the receiver of this test.
    fn take(&self, message: &Message, request: &TestConfig) -> Result<(), Lie> {
        let Message::Report(report) = message else {
            return Ok(());
        };
        let sent = Sent {
            datagrams: 0,
            octets: self.written.load(Ordering::Relaxed),
        };
        report.validate(request, sent)?;
        let octets = report.stats.octets;
        self.delivered.fetch_max(octets, Ordering::Relaxed);
        self.complete.fetch_or(report.last, Ordering::Relaxed);
        Ok(())
    }

    fn delivery(&self, sends: bool) -> Delivery {
        let load = |octets: &AtomicU64| octets.load(Ordering::Relaxed);
        Delivery {
            sent: sends.then(|| load(&self.written)),
            received: Some(load(&self.delivered)),
            complete: self.complete.load(Ordering::Relaxed),
        }
    }
}

impl QuicPath {
    /// Sends, and counts what the receiver reports; returns how long the data took.
    async fn send(&mut self, interrupt: &Interrupt) -> (Instant, Result<(), String>) {
        let reports = &mut self.control.1;
        let peer = self.connection.remote_address();
        let followed = follow_reports(reports, &self.progress, &self.info.request);
        let mut reported = std::pin::pin!(followed);
        let mut receiver_is_done = false;
        let writer = Writer {
            connection: &self.connection,
            controller: &self.controller,
            request: &self.info.request,
            progress: &self.progress,
        };
        let lied = |lie| Error::Lied(peer, lie).to_string();
        let written = tokio::select! {
            written = writer.write(interrupt) => written,
            told = &mut reported => {
                receiver_is_done = true;
                let is_last = self.progress.complete.load(Ordering::Relaxed);
                told.map_err(lied).and_then(|()| {
                    let unfinished = || format!("{peer} has ended the test without a last report");
                    is_last.then_some(()).ok_or_else(unfinished)
                })
            }
        };
        let ended = Instant::now();
        if receiver_is_done {
            return (ended, written);
        }
        let told = timeout(CLOSE_TIMEOUT, reported).await.unwrap_or(Ok(()));
        (ended, told.map_err(lied).and(written))
    }

    /// Receives, and reports how much; returns when the data ended.
    async fn receive(&mut self, interrupt: &Interrupt) -> (Instant, Result<(), String>) {
        let reports = &mut self.control.0;
        let mut octets = 0;
        let mut tick = interval(REPORT_INTERVAL);
        let mut interrupted = std::pin::pin!(interrupt.pressed());
        let mut stream = None;
        let most = self.info.request.duration + DRAIN_TIMEOUT + OVERDUE_AFTER;
        let mut overdue = std::pin::pin!(sleep(most));
        let received = loop {
            tokio::select! {
                () = &mut overdue => {
                    let peer = self.connection.remote_address();
                    break Err(Error::Overdue(peer).to_string());
                }
                more = next_octets(&self.connection, &mut stream) => match more {
                    Ok(0) => break Ok(()),
                    Ok(more) => {
                        octets += more;
                        self.progress.delivered.store(octets, Ordering::Relaxed);
                    }
                    Err(error) => break Err(error),
                },
                _ = tick.tick() => {
                    // The end of the connection is reported by the stream of data.
                    let _ = control::write(reports, report(octets, false)).await;
                }
                () = &mut interrupted => {
                    if let Some(stream) = &mut stream {
                        let _ = stream.stop(0_u8.into());
                    }
                    break Ok(());
                }
            }
        };
        let ended = Instant::now();
        let last = async {
            control::write(reports, report(octets, true)).await.ok()?;
            reports.finish().ok()?;
            reports.stopped().await.ok()
        };
        let _ = timeout(CLOSE_TIMEOUT, last).await;
        let complete = &self.progress.complete;
        complete.store(received.is_ok(), Ordering::Relaxed);
        (ended, received)
    }

    /// Why the connection was lost, if it was: a task that waits on it learns only that it ended.
    fn loss(&self) -> Option<String> {
        match self.connection.close_reason()? {
            ConnectionError::LocallyClosed | ConnectionError::ApplicationClosed(_) => None,
            ConnectionError::TimedOut => {
                Some(Error::TimedOut(self.connection.remote_address()).to_string())
            }
            reason => Some(reason.to_string()),
        }
    }
}

/// What a sender writes with.
struct Writer<'a> {
    connection: &'a Connection,
    controller: &'a ControllerView,
    request: &'a TestConfig,
    progress: &'a Progress,
}

impl Writer<'_> {
    /// Writes as the request says until its time is over, the receiver has enough, or Ctrl-C.
    async fn write(&self, interrupt: &Interrupt) -> Result<(), String> {
        let opened = self.connection.open_uni().await;
        let mut stream = opened.map_err(|error| error.to_string())?;
        let data = Bytes::from(vec![0x57; usize::from(self.request.length)]);
        let mut pacing = Pacing::start(self.request);
        let end = pacing.end();
        let writing = async {
            while !pacing.is_done() {
                if let Some(due) = pacing.due() {
                    sleep_until(due).await;
                }
                // A part of it may arrive before the rest is written.
                let mut rest = [data.clone()];
                while !rest[0].is_empty() {
                    let octets = stream.write_chunks(&mut rest).await?.bytes as u64;
                    self.progress.written.fetch_add(octets, Ordering::Relaxed);
                }
                pacing.count();
            }
            Ok(())
        };
        let ended: Result<(), WriteError> = tokio::select! {
            ended = writing => ended,
            () = sleep_until(end) => Ok(()),
            () = interrupt.pressed() => Ok(()),
        };
        let _ = self.progress.limit.set(self.controller.limit());
        match ended {
            Err(WriteError::Stopped(_)) => return Ok(()),
            Err(error) => return Err(error.to_string()),
            Ok(()) => {}
        }
        // A rate that the path carries has hardly anything left to send.
        let is_bounded = self.request.rate_bps.is_some() || self.request.writes > 0;
        let complete = is_bounded && stream.finish().is_ok();
        if !complete || timeout(DRAIN_TIMEOUT, stream.stopped()).await.is_err() {
            let _ = stream.reset(0_u8.into());
        }
        Ok(())
    }
}

/// Reads Reports until the last.
async fn follow_reports(
    stream: &mut RecvStream,
    progress: &Progress,
    request: &TestConfig,
) -> Result<(), Lie> {
    while let Some(message) = control::read(stream).await {
        progress.take(&message, request)?;
    }
    Ok(())
}

/// A Report of so many octets. QUIC delivers them in order and without loss, and measures the
/// round trip itself, so that there is nothing else to report.
fn report(octets: u64, last: bool) -> Message {
    Message::Report(Report {
        stats: ReceptionStats {
            octets,
            ..ReceptionStats::default()
        },
        last,
        ..Report::default()
    })
}

/// How many octets have come next in order; none at the end.
async fn next_octets(
    connection: &Connection,
    stream: &mut Option<RecvStream>,
) -> Result<u64, String> {
    let stream = if let Some(stream) = stream {
        stream
    } else {
        let accepted = connection.accept_uni().await;
        stream.insert(accepted.map_err(|error| error.to_string())?)
    };
    match stream.read_chunk(usize::MAX, true).await {
        Ok(Some(chunk)) => Ok(chunk.bytes.len() as u64),
        // A sender whose time is over resets the stream.
        Ok(None) | Err(ReadError::Reset(_)) => Ok(0),
        Err(error) => Err(ReadExactError::ReadError(error).to_string()),
    }
}

impl DataPath for QuicPath {
    fn peer_address(&self) -> SocketAddr {
        let peer = self.connection.remote_address();
        SocketAddr::new(peer.ip().to_canonical(), peer.port())
    }

    fn info(&mut self) -> &mut TestInfo {
        &mut self.info
    }

    fn observer(&self) -> Observer {
        let (connection, controller) = (self.connection.clone(), self.controller.clone());
        let (progress, sends) = (self.progress.clone(), self.info.sends);
        Box::new(move |_| {
            let stats = connection.stats();
            let limit = progress.limit.get().copied();
            let limit = limit.unwrap_or_else(|| controller.limit());
            Counters {
                octets: progress.delivered.load(Ordering::Relaxed),
                delivery: progress.delivery(sends),
                details: if sends {
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
                    "sender": sends,
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
        let started = Instant::now();
        let (ended, result) = if self.info.sends {
            self.send(interrupt).await
        } else {
            self.receive(interrupt).await
        };
        Transfer {
            seconds: ended.duration_since(started).as_secs_f64(),
            failure: self.loss().or(result.err()).map(Failure::Failed),
        }
    }

    fn count(&self, flow: &mut MeasuredFlow) {
        let stats = self.connection.stats();
        let octets = self.progress.delivered.load(Ordering::Relaxed);
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
        flow.payload_sent = self.progress.written.load(Ordering::Relaxed);
        if self.info.sends {
            flow.statistics.packets_lost = stats.path.lost_packets;
            flow.statistics.loss_events = stats.path.congestion_events;
            flow.payload_delivered = Some(octets);
        } else {
            flow.statistics.payload_received = octets;
        }
    }

    async fn close(self) {
        let Some(endpoint) = &self.endpoint else {
            // The client closes when it has the last Report.
            let _ = timeout(CLOSE_TIMEOUT, self.connection.closed()).await;
            return self.connection.close(0_u8.into(), b"done");
        };
        self.connection.close(0_u8.into(), b"done");
        let _ = timeout(CLOSE_TIMEOUT, endpoint.wait_idle()).await;
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

#[cfg(test)]
mod tests {
    use super::super::super::lying_peer::told;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn whatever_a_receiver_reports_it_has_no_more_than_was_written(
            told in prop::collection::vec(
                told(vec![
                    report(900, false).to_octets(),
                    report(900, true).to_octets(),
                    Message::End { sent: 1 }.to_octets(),
                    Message::Stop.to_octets(),
                ]),
                1..12,
            ),
        ) {
            let request = TestConfig {
                length: 1000,
                duration: Duration::from_secs(1),
                ..TestConfig::default()
            };
            let progress = Progress::default();
            progress.written.store(1000, Ordering::Relaxed);
            let mut is_last = false;
            for message in told.iter().filter_map(|octets| Message::from_octets(octets)) {
                let taken = progress.take(&message, &request);
                if let (Ok(()), Message::Report(report)) = (&taken, &message) {
                    is_last |= report.last;
                    prop_assert!(report.stats.jitter.is_finite() && report.stats.jitter >= 0.0);
                }
                let delivery = progress.delivery(true);
                prop_assert!(delivery.received <= Some(1000), "{:?}", message);
                prop_assert_eq!(delivery.complete, is_last);
            }
        }
    }

    #[test]
    fn a_report_of_what_was_not_written_is_a_lie() {
        let request = TestConfig {
            length: 1000,
            duration: Duration::from_secs(1),
            ..TestConfig::default()
        };
        let progress = Progress::default();
        assert!(progress.take(&report(1, false), &request).is_err());
        assert!(progress.take(&report(0, true), &request).is_ok());
    }
}
