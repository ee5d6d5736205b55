//! `weir send HOST`: measures a path with DCCP in UDP, in the manner of iperf3.

use super::live_capture::LiveCapture;
use super::serve::Report;
use super::wire::{self, Request};
use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use serde_json::json;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use weir_wire::Connection;

/// Measure a path to a `weir serve`, over DCCP in UDP (RFC 6773)
#[derive(Debug, Args)]
pub struct Arguments {
    /// The server: a name or an address
    pub host: String,
    #[command(flatten)]
    pub shared: wire::Shared,
    /// How long to send: seconds, or with a unit
    #[arg(short, long, default_value = "10", value_name = "TIME", value_parser = wire::time)]
    pub time: Duration,
    /// Constant rate of payload, such as 64kbit; without it as much as congestion control allows
    #[arg(short, long, value_name = "RATE", value_parser = wire::rate)]
    pub bitrate: Option<f64>,
    /// Bytes of a datagram; 1400 or what the path takes, if it is less
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=9000))]
    pub length: Option<u16>,
    /// The server sends
    #[arg(short = 'R', long)]
    pub reverse: bool,
    /// So many connections at once
    #[arg(short = 'P', long, default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub parallel: u16,
}

/// Runs the test.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let capture = arguments.shared.start_capture("weir send")?;
    let done = runtime.block_on(measure(arguments, capture.as_ref()));
    // Nothing is sent any more.
    drop(runtime);
    let written = capture.map_or(Ok(()), LiveCapture::finish);
    done.and(written)
}

async fn measure(arguments: &Arguments, capture: Option<&LiveCapture>) -> Result<(), Failure> {
    let stop = wire::on_interrupt();
    let host = &arguments.host;
    let unknown = |why: String| Failure::Usage(format!("cannot find the host \"{host}\": {why}"));
    let to = (host.as_str(), arguments.shared.port)
        .to_socket_addrs()
        .map_err(|error| unknown(error.to_string()))?
        .next()
        .ok_or_else(|| unknown("it has no address".to_owned()))?;
    terminal::say(&format!("connecting to {to}"));
    let tests: Vec<_> = (1..=usize::from(arguments.parallel))
        .map(|number| {
            tokio::spawn(test(
                number,
                to,
                Plan::of(arguments, capture),
                Arc::clone(&stop),
            ))
        })
        .collect();
    let mut streams = Vec::new();
    for test in tests {
        let result = test
            .await
            .map_err(|error| Failure::Failed(error.to_string()))?;
        streams.push(result.map_err(|error| Failure::Failed(error.to_string()))?);
    }
    if arguments.shared.json {
        let sum = |key: &str| streams.iter().filter_map(|s| s[key].as_f64()).sum::<f64>();
        let document = json!({
            "start": { "host": host, "ccid": arguments.shared.ccid,
                       "profile": arguments.shared.profile, "reverse": arguments.reverse },
            "end": { "streams": streams,
                     "sum": { "bytes": sum("bytes"), "bits_per_second": sum("bits_per_second") } },
        });
        terminal::print(&format!("{document:#}\n"))?;
    }
    Ok(())
}

/// What a test needs of the arguments.
struct Plan {
    options: weir_wire::Options,
    request: Request,
    interval: Duration,
}

impl Plan {
    fn of(arguments: &Arguments, capture: Option<&LiveCapture>) -> Self {
        Self {
            options: arguments.shared.options(capture),
            request: Request {
                reverse: arguments.reverse,
                length: arguments.length.map_or(0, usize::from),
                rate_bps: arguments.bitrate,
                duration_s: arguments.time.as_secs_f64(),
            },
            interval: arguments.shared.interval,
        }
    }
}

/// One connection from its opening to its end.
async fn test(
    number: usize,
    to: SocketAddr,
    plan: Plan,
    stop: Arc<Notify>,
) -> Result<serde_json::Value, weir_wire::Error> {
    let mut connection = tokio::select! {
        connection = Connection::connect(to, plan.options) => connection?,
        () = stop.notified() => return Err(weir_wire::Error::Closed),
    };
    let request = plan.request.fitting(&connection);
    connection.send(&request.to_datagram()).await?;
    let started = Instant::now();
    let mut report = Report::new(number, plan.interval);
    let mut octets = 0;
    if request.reverse {
        loop {
            let due = report.due();
            tokio::select! {
                datagram = connection.receive() => match datagram {
                    Some(datagram) => octets += datagram.len() as u64,
                    None => break,
                },
                () = tokio::time::sleep_until(due) => report.tell(octets, &connection, false),
                () = stop.notified() => break,
            }
        }
    } else {
        let mut sending = std::pin::pin!(wire::send(&connection, request, &stop));
        octets = loop {
            let due = report.due();
            tokio::select! {
                sent = &mut sending => break sent? * request.length as u64,
                () = tokio::time::sleep_until(due) => {
                    report.tell(connection.status().bytes_sent, &connection, true);
                }
            }
        };
    }
    let seconds = started.elapsed().as_secs_f64();
    let status = connection.status();
    let sends = !request.reverse;
    terminal::say(&wire::line(number, (0.0, seconds), octets, &status, sends));
    wire::finish(&mut connection).await;
    Ok(wire::document(number, seconds, octets, &status))
}
