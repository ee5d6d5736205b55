//! `--transport udp` of `serve` and `send`: datagrams at a constant rate.

use super::live_capture::LiveCapture;
use super::wire::{self, Report, Shared, Stop};
use super::{live_trace, send, serve};
use crate::exit::Failure;
use crate::terminal;
use serde_json::json;
use std::fmt::Write as _;
use std::net::SocketAddr;
use weir_lab::run::{MeasuredEnd, MeasuredFlow, MeasuredTransport};
use weir_proto::endpoint::Statistics;
use weir_proto::time::Duration;
use weir_wire::udp_test::{Test, TestConfig, TestListener, TestStats};
use weir_wire::{EndpointConfig, Error};

/// Bits per second if nobody says how many, as with iperf3.
const RATE_BPS: f64 = 1e6;
/// Octets of a datagram if nobody says how many.
const LENGTH: u16 = 1400;

/// Tests against the server at this address.
pub async fn send(
    arguments: &send::Arguments,
    to: SocketAddr,
    capture: Option<&LiveCapture>,
    stop: Stop,
) -> Result<(), Failure> {
    let plan = plan(arguments)?;
    let options = arguments.shared.options(capture);
    terminal::say(&format!("connecting to {to}"));
    terminal::say(
        "nothing controls congestion: what the path does not carry is lost, for others too",
    );
    let failed = |error: Error| Failure::Failed(error.to_string());
    let tests = (1..=usize::from(arguments.parallel)).map(|number| {
        let (options, shared, stop) = (options.clone(), arguments.shared.clone(), stop.clone());
        tokio::spawn(async move {
            let test = tokio::select! {
                test = Test::connect(to, plan, &options) => test.map_err(failed)?,
                () = stop.pressed() => return Err(failed(Error::Closed)),
            };
            let (document, ended) = follow(number, &test, &shared, &stop).await;
            Ok(send::Outcome {
                document,
                measured: measured(number, &test),
                failure: ended.err().map(failed),
            })
        })
    });
    let settings = json!({ "target_bits_per_second": plan.rate_bps, "length": plan.length });
    arguments.gather(tests.collect(), settings).await
}

fn plan(arguments: &send::Arguments) -> Result<TestConfig, Failure> {
    let plan = TestConfig {
        reverse: arguments.reverse,
        ecn: arguments.shared.ecn,
        length: arguments.length.unwrap_or(LENGTH),
        rate_bps: arguments.bitrate.unwrap_or(RATE_BPS),
        duration: arguments.time,
    };
    if plan.length < TestConfig::MIN_LENGTH {
        let (length, shortest) = (plan.length, TestConfig::MIN_LENGTH);
        let message = format!("expected --length of at least {shortest} with UDP, found {length}");
        return Err(Failure::Usage(message));
    }
    Ok(plan)
}

/// Serves until Ctrl-C, or one test.
pub async fn serve(
    arguments: &serve::Arguments,
    capture: Option<&LiveCapture>,
    stop: Stop,
) -> Result<(), Failure> {
    let failed = |error: Error| Failure::Failed(error.to_string());
    let options: EndpointConfig = arguments.shared.options(capture);
    let mut listener = TestListener::bind(arguments.address(), &options)
        .await
        .map_err(failed)?;
    terminal::say(&format!("listening at {}", listener.local_address()));
    let mut tests = serve::Tests::new(arguments);
    loop {
        let test = tokio::select! {
            test = listener.accept() => test.map_err(failed)?,
            () = tests.one_ended() => continue,
            () = stop.pressed() => break,
        };
        let number = tests.welcome(test.peer_address());
        let (shared, stop) = (arguments.shared.clone(), stop.clone());
        let served = async move {
            let (document, ended) = follow(number, &test, &shared, &stop).await;
            if let Err(error) = ended {
                terminal::say(&format!("[{number:3}] {error}"));
            }
            if let Some(folder) = &shared.trace {
                let flows = vec![measured(number, &test)];
                live_trace::write(flows, &serve::claim(folder, number)?).await?;
            }
            Ok(document)
        };
        if tests.start(served).await? {
            break;
        }
    }
    tests.finish().await;
    Ok(())
}

/// Reports on a test until its end; returns its result.
async fn follow(
    number: usize,
    test: &Test,
    shared: &Shared,
    stop: &Stop,
) -> (serde_json::Value, Result<(), Error>) {
    let mut report = Report::new(number, shared.interval);
    let mut before = TestStats::default();
    let mut stopped = std::pin::pin!(stop.pressed());
    let mut stopping = false;
    let mut ended = std::pin::pin!(test.ended());
    let ended = loop {
        tokio::select! {
            ended = &mut ended => break ended,
            () = tokio::time::sleep_until(report.due()) => {
                let status = test.stats();
                let (span, _) = report.note(octets(&status));
                terminal::say(&line(number, span, &before, &status));
                before = status;
            }
            () = &mut stopped, if !stopping => {
                stopping = true;
                test.stop();
            }
        }
    };
    let status = test.stats();
    let span = (0.0, status.seconds);
    terminal::say(&line(number, span, &TestStats::default(), &status));
    (report.complete(document(number, &status)), ended)
}

/// Octets of this end: what it sent, or what it received.
const fn octets(status: &TestStats) -> u64 {
    if status.sends {
        status.sent_octets
    } else {
        status.received.octets
    }
}

/// What went on between two states.
fn line(number: usize, span: (f64, f64), before: &TestStats, status: &TestStats) -> String {
    let line = wire::throughput(number, span, octets(status).saturating_sub(octets(before)));
    let [old, new] = [&before.received, &status.received];
    // What comes late can make the losses fewer.
    let lost = new.lost().saturating_sub(old.lost());
    let expected = new.expected.saturating_sub(old.expected);
    let share = 100.0 * lost as f64 / expected.max(1) as f64;
    let jitter = wire::scaled(new.jitter, "s");
    let mut line = format!("{line}  jitter {jitter}  lost {lost}/{expected} ({share:.2} %)");
    for (count, what) in [
        (new.reordered.saturating_sub(old.reordered), "reordered"),
        (new.duplicates.saturating_sub(old.duplicates), "twice"),
        (new.marked.saturating_sub(old.marked), "marked"),
    ] {
        if count > 0 {
            // Writing to a string cannot fail.
            let _ = write!(line, "  {count} {what}");
        }
    }
    if status.sends {
        let rtt = status.smoothed_rtt_s.unwrap_or_default();
        let _ = write!(line, "  rtt {}  {}", wire::scaled(rtt, "s"), status.limit);
    }
    line
}

/// The test in the form of a run: its counters, for a constant rate has no trace.
fn measured(number: usize, test: &Test) -> MeasuredFlow {
    let (plan, status) = (test.config(), test.stats());
    let received = &status.received;
    let end = if status.sends {
        MeasuredEnd::Sender
    } else {
        MeasuredEnd::Receiver
    };
    let rtt = status.smoothed_rtt_s.unwrap_or_default();
    let mut statistics = Statistics {
        packets_lost: received.lost(),
        smoothed_rtt: Duration::from_secs_f64(rtt),
        ..Statistics::default()
    };
    if status.sends {
        statistics.packets_sent = status.sent;
        statistics.data_packets_sent = status.sent;
        statistics.bytes_sent = status.sent_octets;
    } else {
        statistics.packets_received = received.received;
        statistics.data_packets_received = received.received;
        statistics.bytes_received = received.octets;
        statistics.data_bytes_received = received.octets;
        statistics.payload_received = received.octets;
    }
    MeasuredFlow {
        name: format!("stream-{number}"),
        end,
        transport: MeasuredTransport::Udp,
        packet: plan.length.into(),
        rate_bps: Some(plan.rate_bps),
        duration: Duration::from_secs_f64(status.seconds),
        statistics,
        payload_sent: status.sent_octets,
        payload_delivered: status.sends.then_some(received.octets),
        events: None,
    }
}

/// The result of one test as JSON, in the manner of iperf3.
fn document(number: usize, status: &TestStats) -> serde_json::Value {
    let received = &status.received;
    json!({
        "stream": number,
        "seconds": status.seconds,
        "bytes": octets(status),
        "bits_per_second": octets(status) as f64 * 8.0 / status.seconds.max(1e-9),
        "sender": status.sends,
        "packets": received.expected.max(status.sent),
        "packets_received": received.received,
        "bytes_received": received.octets,
        "packets_lost": received.lost(),
        "lost_percent": 100.0 * received.lost() as f64 / received.expected.max(1) as f64,
        "out_of_order": received.reordered,
        "duplicates": received.duplicates,
        "congestion_marks": received.marked,
        "jitter_s": received.jitter,
        "smoothed_rtt_s": status.smoothed_rtt_s,
        "limit": status.limit,
        "complete": status.complete,
    })
}
