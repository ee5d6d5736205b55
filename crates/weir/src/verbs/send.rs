//! `weir send HOST`: measures a path in the manner of iperf3; here with DCCP in UDP, or over IP.

use super::live_capture::LiveCapture;
use super::live_trace::{self, LiveTrace};
use super::run::folder_failure;
use super::wire::{self, Report, Request, Stop, Transport};
use super::{quic, udp};
use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use serde_json::json;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use weir_lab::run::MeasuredFlow;
use weir_lab::trace::RunFolder;
use weir_wire::Connection;

/// Measure a path to a `weir serve`, over DCCP in UDP (RFC 6773) or another transport
#[derive(Debug, Args)]
pub struct Arguments {
    /// The server: a name or an address
    pub host: String,
    #[command(flatten)]
    pub shared: wire::Shared,
    /// How long to send: seconds, or with a unit
    #[arg(short, long, default_value = "10", value_name = "TIME", value_parser = wire::time)]
    pub time: Duration,
    /// Constant rate of payload, such as 64kbit; without it as much as congestion control allows,
    /// and with UDP 1 Mbit/s
    #[arg(short, long, value_name = "RATE", value_parser = wire::rate)]
    pub bitrate: Option<f64>,
    /// Bytes of a datagram, or of a write to the stream of QUIC; by default 1400 for a datagram, or
    /// what the path takes, if it is less
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
    arguments.shared.check()?;
    wire::raise_open_files();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let capture = arguments.shared.start_capture("weir send")?;
    let capturing = capture.as_ref();
    let done = runtime.block_on(async {
        let stop = Stop::on_interrupt();
        let to = find(arguments)?;
        if let Some(folder) = &arguments.shared.trace {
            RunFolder::check_free(folder).map_err(folder_failure)?;
        }
        match arguments.shared.transport {
            Transport::Dccp => measure(arguments, to, capturing, stop).await,
            Transport::Quic => quic::send(arguments, to, capturing, stop).await,
            Transport::Udp => udp::send(arguments, to, capturing, stop).await,
        }
    });
    // Nothing is sent any more.
    drop(runtime);
    let written = capture.map_or(Ok(()), LiveCapture::finish);
    done.and(written)
}

/// The server's address.
fn find(arguments: &Arguments) -> Result<SocketAddr, Failure> {
    let host = &arguments.host;
    let unknown = |why: String| Failure::Usage(format!("cannot find the host \"{host}\": {why}"));
    (host.as_str(), arguments.shared.port())
        .to_socket_addrs()
        .map_err(|error| unknown(error.to_string()))?
        .next()
        .ok_or_else(|| unknown("it has no address".to_owned()))
}

async fn measure(
    arguments: &Arguments,
    to: SocketAddr,
    capture: Option<&LiveCapture>,
    stop: Stop,
) -> Result<(), Failure> {
    let place = arguments.shared.place(to);
    terminal::say(&format!("connecting to {place}"));
    let tests = (1..=usize::from(arguments.parallel)).map(|number| {
        let plan = Plan::of(arguments, capture);
        let stop = stop.clone();
        tokio::spawn(async move {
            let outcome = test(number, to, plan, stop).await;
            outcome.map_err(|error| wire::failure(&error))
        })
    });
    let settings = json!({ "ccid": arguments.shared.ccid(),
                           "profile": arguments.shared.profile() });
    arguments.gather(tests.collect(), settings).await
}

/// What became of a connection.
pub struct Outcome<E = Failure> {
    /// For people's programs.
    pub document: serde_json::Value,
    /// For a run's folder.
    pub measured: MeasuredFlow,
    /// Why it ended early, if it did.
    pub failure: Option<E>,
}

impl Arguments {
    /// Waits for all connections, keeps what they measured, however they ended, and says what they
    /// did; `settings` are those of the transport.
    pub async fn gather(
        &self,
        tests: Vec<JoinHandle<Result<Outcome, Failure>>>,
        settings: serde_json::Value,
    ) -> Result<(), Failure> {
        let (mut streams, mut flows, mut failure) = (Vec::new(), Vec::new(), None);
        for test in tests {
            let joined = test
                .await
                .map_err(|error| Failure::Failed(error.to_string()))?;
            match joined {
                Ok(outcome) => {
                    streams.push(outcome.document);
                    flows.push(outcome.measured);
                    failure = failure.or(outcome.failure);
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        live_trace::write_wanted(flows, self.shared.trace.as_deref()).await?;
        match failure {
            Some(failure) => Err(failure),
            None => self.print_document(settings, streams),
        }
    }

    /// Says what all connections did together, and prints it if that is wanted.
    fn print_document(
        &self,
        settings: serde_json::Value,
        streams: Vec<serde_json::Value>,
    ) -> Result<(), Failure> {
        let sum = |key: &str| streams.iter().filter_map(|s| s[key].as_f64()).sum::<f64>();
        if streams.len() > 1 {
            terminal::say(&format!(
                "all {}: {}  {}",
                streams.len(),
                wire::scaled(sum("bytes"), "B"),
                wire::scaled(sum("bits_per_second"), "bit/s")
            ));
        }
        if !self.shared.json {
            return Ok(());
        }
        let mut start = json!({ "host": self.host, "reverse": self.reverse,
                                "transport": self.shared.transport.name() });
        if let (Some(start), Some(settings)) = (start.as_object_mut(), settings.as_object()) {
            start.extend(settings.clone());
        }
        let document = json!({
            "start": start,
            "end": { "sum": { "bytes": sum("bytes"), "bits_per_second": sum("bits_per_second") },
                     "streams": streams },
        });
        terminal::print(&format!("{document:#}\n"))?;
        Ok(())
    }
}

/// What a test needs of the arguments.
struct Plan {
    options: weir_wire::EndpointConfig,
    request: Request,
    shared: wire::Shared,
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
            shared: arguments.shared.clone(),
        }
    }
}

/// One connection from its opening to its end.
async fn test(
    number: usize,
    to: SocketAddr,
    plan: Plan,
    stop: Stop,
) -> Result<Outcome, weir_wire::Error> {
    let opened = Instant::now();
    let mut connection = tokio::select! {
        connection = Connection::connect(to, plan.options) => connection?,
        () = stop.pressed() => return Err(weir_wire::Error::Closed),
    };
    let sends = !plan.request.reverse;
    let trace = LiveTrace::start(number, &mut connection, opened, sends);
    let request = plan.request.fitting(&connection);
    let first = request.to_datagram();
    connection.send(&first).await?;
    let started = Instant::now();
    let mut report = Report::new(number, plan.shared.interval);
    let mut failure = None;
    let octets = if request.reverse {
        wire::receive(&mut connection, &mut report, &stop).await
    } else {
        // The request is not part of what it asks for.
        let sent = |connection: &Connection| {
            let octets = connection.stats().payload_sent;
            octets.saturating_sub(first.len() as u64)
        };
        let mut sending = std::pin::pin!(wire::send(&connection, request, &stop));
        loop {
            let due = report.due();
            tokio::select! {
                ended = &mut sending => {
                    failure = ended.err();
                    break;
                }
                () = tokio::time::sleep_until(due) => {
                    report.tell(sent(&connection), &connection, true);
                }
            }
        }
        sent(&connection)
    };
    let seconds = started.elapsed().as_secs_f64();
    let status = connection.stats();
    let measured = trace.finish(&plan.shared, &request, &connection).await;
    terminal::say(&wire::line(number, (0.0, seconds), octets, &status, sends));
    wire::finish(&mut connection).await;
    Ok(Outcome {
        document: report.complete(wire::document(number, seconds, octets, &status)),
        measured,
        failure: failure.map(|error| wire::failure(&error)),
    })
}
