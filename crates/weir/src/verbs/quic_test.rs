//! One test over a QUIC connection, of either end: the stream of data, and the counts on the
//! other stream.

use super::live_trace::LiveTrace;
use super::send::Outcome;
use super::wire::{self, Report, Request, Stop};
use crate::terminal;
use bytes::Bytes;
use quinn::{
    Connection, ConnectionError, ReadError, ReadExactError, RecvStream, SendStream, WriteError,
};
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout};
use weir_lab::run::{MeasuredEnd, MeasuredFlow, MeasuredTransport};
use weir_proto::endpoint::Statistics;
use weir_wire::Error;
use weir_wire::quinn::{CongestionControlAlgorithm, ControllerView};

/// From one count of the receiver to the next.
const COUNTS: Duration = Duration::from_millis(50);
/// How long the rest of a constant rate may take, and the last count.
const REST: Duration = Duration::from_secs(1);
const FAREWELL: Duration = Duration::from_secs(3);

/// What a test is made of.
pub struct Parts {
    /// Which it is.
    pub number: usize,
    /// Records the controller of the end that sends.
    pub trace: LiveTrace,
    /// The connection.
    pub connection: Connection,
    /// Its controller at this end.
    pub watch: ControllerView,
    /// The controller's name.
    pub controller: CongestionControlAlgorithm,
    /// This end sends.
    pub sends: bool,
    /// What was asked for.
    pub request: Request,
    /// From one line to the next.
    pub interval: Duration,
}

/// Octets and the time that they took.
struct Transfer {
    octets: u64,
    written: u64,
    seconds: f64,
    /// What bound the sender before its end.
    limit: &'static str,
    failure: Option<String>,
    report: Report,
}

/// Runs a test to its end; the counts go over the stream that the client has asked on.
pub async fn run(parts: Parts, control: (SendStream, RecvStream), stop: &Stop) -> Outcome<String> {
    let transfer = if parts.sends {
        give(&parts, control.1, stop).await
    } else {
        take(&parts, control.0, stop).await
    };
    let span = (0.0, transfer.seconds);
    terminal::say(&line(&parts, span, transfer.octets, transfer.limit));
    let document = document(&parts, &transfer);
    let failure = lost(&parts.connection).or(transfer.failure.clone());
    let measured = measured(parts, &transfer).await;
    Outcome {
        document: transfer.report.complete(document),
        measured,
        failure,
    }
}

/// Why the connection was lost, if it was; who waits for it hears only that.
fn lost(connection: &Connection) -> Option<String> {
    match connection.close_reason()? {
        ConnectionError::LocallyClosed | ConnectionError::ApplicationClosed(_) => None,
        ConnectionError::TimedOut => Some(Error::TimedOut(connection.remote_address()).to_string()),
        reason => Some(reason.to_string()),
    }
}

// ---- The sender ----

async fn give(parts: &Parts, mut hear: RecvStream, stop: &Stop) -> Transfer {
    let started = Instant::now();
    let (delivered, written) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut report = Report::new(parts.number, parts.interval);
    let (mut limit, mut failure) = (None, None);
    let mut hearing = std::pin::pin!(count(&mut hear, &delivered));
    let mut heard_all = false;
    {
        let mut writing = std::pin::pin!(fill(parts, &written, stop));
        loop {
            tokio::select! {
                ended = &mut writing => {
                    match ended {
                        Ok(at_end) => limit = Some(at_end),
                        Err(error) => failure = Some(error),
                    }
                    break;
                }
                // The receiver has enough.
                () = &mut hearing => {
                    heard_all = true;
                    break;
                }
                () = tokio::time::sleep_until(report.due()) => {
                    let (span, more) = report.note(delivered.load(Ordering::Relaxed));
                    terminal::say(&line(parts, span, more, parts.watch.limit()));
                }
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    if !heard_all {
        let _ = timeout(FAREWELL, hearing).await;
    }
    Transfer {
        octets: delivered.load(Ordering::Relaxed),
        written: written.load(Ordering::Relaxed),
        seconds,
        limit: limit.unwrap_or(parts.watch.limit()),
        failure,
        report,
    }
}

/// Reads how much the receiver has, until it has all that it will have.
async fn count(hear: &mut RecvStream, delivered: &AtomicU64) {
    let mut octets = [0; 8];
    while hear.read_exact(&mut octets).await.is_ok() {
        delivered.fetch_max(u64::from_be_bytes(octets), Ordering::Relaxed);
    }
}

/// Writes as the request says until its time is over, the receiver has enough, or `stop`. Says
/// what bound it before its end, for at the end it is the application.
async fn fill(parts: &Parts, written: &AtomicU64, stop: &Stop) -> Result<&'static str, String> {
    let request = &parts.request;
    let opened = parts.connection.open_uni().await;
    let mut stream = opened.map_err(|error| error.to_string())?;
    let data = Bytes::from(vec![0x57; request.length]);
    let started = Instant::now();
    let end = started + Duration::from_secs_f64(request.duration_s);
    let gap = request
        .rate_bps
        .map(|rate| Duration::from_secs_f64(request.length as f64 * 8.0 / rate));
    let mut count = 0_u64;
    let mut stopped = std::pin::pin!(stop.pressed());
    let writing = async {
        loop {
            if let Some(gap) = gap {
                let due = started + gap.mul_f64(count as f64);
                tokio::time::sleep_until(due).await;
            }
            stream.write_chunk(data.clone()).await?;
            count += 1;
            written.fetch_add(data.len() as u64, Ordering::Relaxed);
        }
    };
    let ended: Result<(), WriteError> = tokio::select! {
        ended = writing => ended,
        () = tokio::time::sleep_until(end) => Ok(()),
        () = &mut stopped => Ok(()),
    };
    let limit = parts.watch.limit();
    match ended {
        Err(WriteError::Stopped(_)) => return Ok(limit),
        Err(error) => return Err(error.to_string()),
        Ok(()) => {}
    }
    // A rate that the path carries has hardly anything left to send.
    let complete = gap.is_some() && stream.finish().is_ok();
    if !complete || timeout(REST, stream.stopped()).await.is_err() {
        let _ = stream.reset(0_u8.into());
    }
    Ok(limit)
}

// ---- The receiver ----

async fn take(parts: &Parts, mut say: SendStream, stop: &Stop) -> Transfer {
    let started = Instant::now();
    let mut report = Report::new(parts.number, parts.interval);
    let mut octets = 0;
    let mut counts = tokio::time::interval(COUNTS);
    let mut stopped = std::pin::pin!(stop.pressed());
    let mut stream = None;
    let mut failure = None;
    loop {
        tokio::select! {
            more = next(&parts.connection, &mut stream) => match more {
                Ok(0) => break,
                Ok(more) => octets += more,
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            },
            _ = counts.tick() => {
                // The connection's end is heard of where it is read.
                let _ = say.write_all(&octets.to_be_bytes()).await;
            }
            () = tokio::time::sleep_until(report.due()) => {
                let (span, more) = report.note(octets);
                terminal::say(&line(parts, span, more, ""));
            }
            () = &mut stopped => {
                if let Some(stream) = &mut stream {
                    let _ = stream.stop(0_u8.into());
                }
                break;
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let last = async {
        say.write_all(&octets.to_be_bytes()).await.ok()?;
        say.finish().ok()?;
        say.stopped().await.ok()
    };
    let _ = timeout(FAREWELL, last).await;
    Transfer {
        octets,
        written: 0,
        seconds,
        limit: parts.watch.limit(),
        failure,
        report,
    }
}

/// Octets that have come in order; none at the end.
async fn next(connection: &Connection, stream: &mut Option<RecvStream>) -> Result<u64, String> {
    if stream.is_none() {
        let accepted = connection.accept_uni().await;
        *stream = Some(accepted.map_err(|error| error.to_string())?);
    }
    let Some(stream) = stream else { return Ok(0) };
    match stream.read_chunk(usize::MAX, true).await {
        Ok(Some(chunk)) => Ok(chunk.bytes.len() as u64),
        // Given up by a sender whose time is over.
        Ok(None) | Err(ReadError::Reset(_)) => Ok(0),
        Err(error) => Err(ReadExactError::ReadError(error).to_string()),
    }
}

// ---- Reports ----

fn line(parts: &Parts, span: (f64, f64), octets: u64, limit: &str) -> String {
    let line = wire::throughput(parts.number, span, octets);
    if !parts.sends {
        return line;
    }
    let path = parts.connection.stats().path;
    let share = path.lost_packets as f64 / path.sent_packets.max(1) as f64;
    format!(
        "{line}  rtt {}  cwnd {}  lost {} ({:.3} %)  {}",
        wire::scaled(path.rtt.as_secs_f64(), "s"),
        wire::scaled(parts.watch.window() as f64, "B"),
        path.lost_packets,
        100.0 * share,
        limit,
    )
}

/// The result of one test as JSON, in the manner of iperf3.
fn document(parts: &Parts, transfer: &Transfer) -> serde_json::Value {
    let stats = parts.connection.stats();
    json!({
        "stream": parts.number,
        "seconds": transfer.seconds,
        "bytes": transfer.octets,
        "bits_per_second": transfer.octets as f64 * 8.0 / transfer.seconds.max(1e-9),
        "sender": parts.sends,
        "packets_sent": stats.path.sent_packets,
        "packets_lost": stats.path.lost_packets,
        "congestion_events": stats.path.congestion_events,
        "udp_bytes_sent": stats.udp_tx.bytes,
        "udp_bytes_received": stats.udp_rx.bytes,
        "mtu": stats.path.current_mtu,
        "smoothed_rtt_s": stats.path.rtt.as_secs_f64(),
        "min_rtt_s": stats.path.min_rtt.as_secs_f64(),
        "congestion_window": parts.watch.window(),
        "limit": transfer.limit,
    })
}

/// The test in the form of a run.
async fn measured(parts: Parts, transfer: &Transfer) -> MeasuredFlow {
    let stats = parts.connection.stats();
    let path = stats.path;
    let end = if parts.sends {
        MeasuredEnd::Sender
    } else {
        MeasuredEnd::Receiver
    };
    let statistics = Statistics {
        packets_sent: path.sent_packets,
        bytes_sent: stats.udp_tx.bytes,
        data_packets_sent: stats.frame_tx.stream,
        packets_received: stats.udp_rx.datagrams,
        bytes_received: stats.udp_rx.bytes,
        data_packets_received: stats.frame_rx.stream,
        payload_received: if parts.sends { 0 } else { transfer.octets },
        packets_lost: if parts.sends { path.lost_packets } else { 0 },
        loss_events: if parts.sends {
            path.congestion_events
        } else {
            0
        },
        smoothed_rtt: nanos(path.rtt),
        ..Statistics::default()
    };
    let (name, opened) = (parts.trace.name().to_owned(), parts.trace.opened());
    let duration = nanos(opened.elapsed());
    MeasuredFlow {
        name,
        end,
        transport: MeasuredTransport::Quinn(parts.controller.name()),
        packet: parts.request.length.max(1) as u32,
        rate_bps: parts.request.rate_bps,
        duration,
        statistics,
        payload_sent: transfer.written,
        payload_delivered: parts.sends.then_some(transfer.octets),
        events: parts.trace.events().await,
    }
}

fn nanos(span: Duration) -> weir_proto::time::Duration {
    weir_proto::time::Duration::from_nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}
