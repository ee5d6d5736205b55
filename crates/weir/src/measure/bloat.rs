//! Round trips on an idle path and beside bulk transfers in each direction, over QUIC, and a grade.
//!
//! A probe writes 200 octets every 10 ms over a connection of its own; each acknowledgement is a
//! sample of the round trip at this end. Beside it, bulk transfers of other connections fill the
//! path, first towards this end, then away from it. The grade is that of DSLReports
//! (<https://www.dslreports.com/faq/17930>), which other tests of bufferbloat have taken over: the
//! increase of the round trip under load, the mean of both directions, below 5, 30, 60, 200 and
//! 400 ms. Here the increase is that of the medians, because single samples may wait for a program.
//!
//! Does not model: a path faster than this machine reads and writes; then the machine is measured.

use super::options::{ClientOptions, TestOptions};
use super::quic::Quic;
use super::test_path::{Since, TestPath as _, Transport as _};
use super::{client, joined, run};
use crate::arguments::{self, JsonOutput};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::measure::Measured;
use crate::terminal;
use crate::text_table::text_table;
use clap::{Args, Parser};
use schemars::JsonSchema;
use serde::Serialize;
use std::net::SocketAddr;
use std::time::Duration;
use weir_lab::theory::format_digits;
use weir_proto::event::Event;
use weir_wire::EventStream;
use weir_wire::test_protocol::TestConfig;

/// The bits per second and octets of the probe: a write every 10 ms.
const PROBE_BPS: f64 = 160_000.0;
const PROBE_OCTETS: u16 = 200;
/// The share at the beginning of a phase that is left out: the loads begin, and queues fill.
const LEFT_OUT: f64 = 0.2;

/// The arguments of the command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The server, on which `weir serve --transport quic` waits
    host: String,
    /// UDP port of the server
    #[arg(short, long)]
    port: Option<u16>,
    /// How long each of the three phases takes: idle, download, upload
    #[arg(short, long, default_value = "8", value_name = "TIME", value_parser = arguments::time)]
    time: Duration,
    /// So many transfers load the path at once
    #[arg(short = 'P', long, default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: u16,
    /// The window controller of the loads away from this end
    #[arg(short = 'C', long, default_value = "cubic", value_name = "NAME")]
    controller: String,
    #[command(flatten)]
    output: JsonOutput,
}

/// The result of the command.
#[derive(Serialize, JsonSchema)]
pub struct BloatDocument {
    host: String,
    /// Without load.
    idle: Phase,
    /// Beside transfers to this end.
    download: Phase,
    /// Beside transfers from this end.
    upload: Phase,
    /// How much longer the median round trip is under load than without, in seconds: the mean of
    /// both directions.
    increase_s: f64,
    /// A+, A, B, C, D or F.
    grade: &'static str,
}

/// A phase of the test.
#[derive(Serialize, JsonSchema)]
struct Phase {
    /// The number of samples.
    samples: usize,
    /// The median of the round trip.
    rtt_p50_s: f64,
    rtt_p95_s: f64,
    /// What the loads transferred.
    bits_per_second: f64,
}

/// The upper bounds of the increase in seconds.
const GRADES: [(f64, &str); 5] = [
    (0.005, "A+"),
    (0.03, "A"),
    (0.06, "B"),
    (0.2, "C"),
    (0.4, "D"),
];

fn grade(increase_s: f64) -> &'static str {
    let found = GRADES.iter().find(|(below, _)| increase_s < *below);
    found.map_or("F", |(_, grade)| *grade)
}

/// The options of `weir send`, from words.
#[derive(Parser)]
#[command(disable_version_flag = true)]
struct Words {
    #[command(flatten)]
    options: ClientOptions,
}

/// Measures the path and prints its grade.
pub fn bloat(arguments: &Arguments) -> Result<(), Failure> {
    let options = options_of(arguments)?;
    let access = options.access()?;
    let measured = run(&options.test, "weir bloat", async |tap, interrupt| {
        let to = client::resolve(&options)?;
        let quiet = TestOptions {
            round_trips: true,
            ..options.test.clone()
        };
        let test = Test {
            probe: Quic::new(&quiet, access.clone(), tap.clone())?,
            load: Quic::new(&options.test, access, tap)?,
            to,
            seconds: arguments.time,
            parallel: arguments.parallel,
            interrupt,
        };
        let idle = test.phase("idle", None).await?;
        let download = test.phase("download", Some(true)).await?;
        let upload = test.phase("upload", Some(false)).await?;
        let increase = |phase: &Phase| (phase.rtt_p50_s - idle.rtt_p50_s).max(0.0);
        let increase_s = f64::midpoint(increase(&download), increase(&upload));
        let result = BloatDocument {
            host: arguments.host.clone(),
            grade: grade(increase_s),
            idle,
            download,
            upload,
            increase_s,
        };
        Ok(Measured {
            result,
            failure: None,
        })
    })?;
    let result = measured.result;
    if arguments.output.json {
        return arguments.output.print(&result);
    }
    terminal::print(&result.text())?;
    Ok(())
}

fn options_of(arguments: &Arguments) -> Result<ClientOptions, Failure> {
    let words = [
        "send",
        "--transport",
        "quic",
        "--interval",
        "0",
        "--controller",
    ];
    let port = arguments.port.map(|port| format!("--port={port}"));
    let words = words.into_iter().map(str::to_owned);
    let words = words.chain([arguments.controller.clone()]).chain(port);
    let words = words.chain(["--".to_owned(), arguments.host.clone()]);
    let parsed = Words::try_parse_from(words);
    let parsed = parsed.map_err(|error| Failure::Usage(error.to_string()))?;
    parsed.options.translated()
}

/// What all phases share.
struct Test {
    probe: Quic,
    load: Quic,
    to: SocketAddr,
    seconds: Duration,
    parallel: u16,
    interrupt: Interrupt,
}

impl Test {
    /// The round trips of the probe beside loads in one direction, or without.
    async fn phase(&self, name: &str, reverse: Option<bool>) -> Result<Phase, Failure> {
        terminal::status(&format!("{name}: {} s", self.seconds.as_secs_f64()));
        let probe = TestConfig {
            length: PROBE_OCTETS,
            rate_bps: Some(PROBE_BPS),
            duration: self.seconds,
            ..TestConfig::default()
        };
        let load = TestConfig {
            length: LOAD_OCTETS,
            duration: self.seconds,
            reverse: reverse.unwrap_or_default(),
            ..TestConfig::default()
        };
        let count = reverse.map_or(0, |_| self.parallel);
        let loads = (0..count).map(|_| {
            let (quic, to, interrupt) = (self.load.clone(), self.to, self.interrupt.clone());
            tokio::spawn(async move { transferred(quic, to, load, &interrupt).await })
        });
        let loads: Vec<_> = loads.collect();
        let samples = round_trips(&self.probe, self.to, probe, &self.interrupt).await;
        let mut bits_per_second = 0.0;
        let mut failure = None;
        for load in loads {
            match joined(load.await) {
                Some(Ok(rate)) => bits_per_second += rate,
                Some(Err(error)) => failure = failure.or(Some(error)),
                None => {}
            }
        }
        let samples = samples?;
        if self.interrupt.was_pressed() {
            return Err(Failure::Interrupted);
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        let from = self.seconds.mul_f64(LEFT_OUT);
        let counted = samples.iter().filter(|(at, _)| *at >= from);
        let mut seconds: Vec<f64> = counted.map(|(_, rtt)| rtt.as_secs_f64()).collect();
        seconds.sort_by(f64::total_cmp);
        let (Some(rtt_p50_s), Some(rtt_p95_s)) = (rank(&seconds, 0.5), rank(&seconds, 0.95)) else {
            let to = self.to;
            return Err(Failure::Failed(format!(
                "{name}: no packet of the probe to {to} was acknowledged"
            )));
        };
        Ok(Phase {
            samples: seconds.len(),
            rtt_p50_s,
            rtt_p95_s,
            bits_per_second,
        })
    }
}

/// Octets of a write of a load.
const LOAD_OCTETS: u16 = 65_000;

/// The value at this share of sorted values, by nearest rank.
fn rank(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// The samples of a connection's round trip, with their times.
async fn round_trips(
    quic: &Quic,
    to: SocketAddr,
    request: TestConfig,
    interrupt: &Interrupt,
) -> Result<Vec<(Duration, Duration)>, Failure> {
    let mut path = quic.connect(to, request).await?;
    let opened = path.info().opened.elapsed();
    let events = path.info().events.take();
    let samples = events.map(|events| tokio::spawn(collected(events)));
    let transfer = path.transfer(interrupt).await;
    path.close().await;
    if let Some(failure) = transfer.failure {
        return Err(failure);
    }
    let samples = match samples {
        Some(samples) => joined(samples.await).unwrap_or_default(),
        None => Vec::new(),
    };
    let of_test = samples.into_iter().filter(|(at, _)| *at >= opened);
    Ok(of_test
        .map(|(at, rtt)| (at.saturating_sub(opened), rtt))
        .collect())
}

/// The samples until the connection ends.
async fn collected(mut events: EventStream) -> Vec<(Duration, Duration)> {
    let mut samples = Vec::new();
    while let Some((at, event)) = events.next().await {
        if let Event::Rtt(rtt) = event {
            let std = |time: weir_proto::time::Duration| Duration::from_nanos(time.as_nanos());
            samples.push((std(at), std(rtt)));
        }
    }
    samples
}

/// The bits per second that a load transferred.
async fn transferred(
    quic: Quic,
    to: SocketAddr,
    request: TestConfig,
    interrupt: &Interrupt,
) -> Result<f64, Failure> {
    let mut path = quic.connect(to, request).await?;
    let mut counters = path.observer();
    let transfer = path.transfer(interrupt).await;
    let received = counters(Since::Start).delivery.received;
    path.close().await;
    match transfer.failure {
        Some(failure) => Err(failure),
        None => Ok(received.unwrap_or(0) as f64 * 8.0 / transfer.seconds.max(1e-9)),
    }
}

impl BloatDocument {
    fn text(&self) -> String {
        let head = ["", "round trip p50", "p95", "transfers"];
        let row = |name: &str, phase: &Phase| {
            let rate = match phase.bits_per_second {
                0.0 => String::new(),
                rate => format_digits(rate, "bit/s", 3),
            };
            let time = |seconds| format_digits(seconds, "s", 3);
            let times = [time(phase.rtt_p50_s), time(phase.rtt_p95_s)];
            let cells = [name.to_owned()].into_iter().chain(times);
            cells.chain([rate]).collect::<Vec<String>>()
        };
        let rows = [
            head.map(str::to_owned).to_vec(),
            row("idle", &self.idle),
            row("download", &self.download),
            row("upload", &self.upload),
        ];
        let increase = format_digits(self.increase_s, "s", 3);
        text_table(&rows, "<>")
            + &format!(
                "grade {}: under load a round trip takes {increase} longer (A+ below 5 ms, A 30, \
                 B 60, C 200, D 400)\n",
                self.grade
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grades_have_the_bounds_of_dslreports() {
        let bounds = [4.9, 5.0, 29.9, 30.0, 59.0, 60.0, 199.0, 200.0, 399.0, 400.0];
        let grades = bounds.map(|ms| grade(ms / 1e3));
        assert_eq!(grades, ["A+", "A", "A", "B", "B", "C", "C", "D", "D", "F"]);
    }

    #[test]
    fn ranks_are_the_nearest() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(
            (rank(&sorted, 0.5), rank(&sorted, 0.95)),
            (Some(2.0), Some(4.0))
        );
        assert_eq!(rank(&[], 0.5), None);
    }
}
