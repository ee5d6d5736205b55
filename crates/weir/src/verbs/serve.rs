//! `weir serve`: waits for tests of `weir send` over DCCP in UDP.

use super::live_capture::LiveCapture;
use super::wire::{self, Request};
use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use weir_wire::{Connection, Listener};

/// Wait for tests of `weir send`, over DCCP in UDP (RFC 6773)
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    pub shared: wire::Shared,
    /// Address to listen at
    #[arg(short = 'B', long, default_value_t = IpAddr::V6(Ipv6Addr::UNSPECIFIED))]
    pub bind: IpAddr,
    /// End after the first connection
    #[arg(short = '1', long)]
    pub one_off: bool,
}

/// Serves until Ctrl-C, or one connection.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let capture = arguments.shared.start_capture("weir serve")?;
    let done = runtime.block_on(serve(arguments, capture.as_ref()));
    // Nothing is sent any more.
    drop(runtime);
    let written = capture.map_or(Ok(()), LiveCapture::finish);
    done.and(written)
}

async fn serve(arguments: &Arguments, capture: Option<&LiveCapture>) -> Result<(), Failure> {
    let stop = wire::on_interrupt();
    let address = SocketAddr::new(arguments.bind, arguments.shared.port);
    let failed = |error: weir_wire::Error| Failure::Failed(error.to_string());
    let mut listener = Listener::bind(address, arguments.shared.options(capture))
        .await
        .map_err(failed)?;
    terminal::say(&format!("listening at {}", listener.local_address()));
    let mut number = 0;
    loop {
        let connection = tokio::select! {
            connection = listener.accept() => connection.map_err(failed)?,
            () = stop.notified() => return Ok(()),
        };
        number += 1;
        terminal::say(&format!("[{number:3}] from {}", connection.peer_address()));
        let interval = arguments.shared.interval;
        let test = test(number, connection, interval, Arc::clone(&stop));
        if arguments.one_off {
            let document = test.await;
            if arguments.shared.json {
                terminal::print(&format!("{document:#}\n"))?;
            }
            return Ok(());
        }
        let json = arguments.shared.json;
        tokio::spawn(async move {
            let document = test.await;
            if json {
                // A closed pipe ends the output, not the server.
                let _ = terminal::print(&format!("{document}\n"));
            }
        });
    }
}

/// One test: receives, or sends if the client asked for it.
async fn test(
    number: usize,
    mut connection: Connection,
    interval: Duration,
    stop: Arc<Notify>,
) -> serde_json::Value {
    let started = Instant::now();
    let first = connection.receive().await;
    let request = first.as_deref().and_then(Request::from_datagram);
    let mut octets = 0;
    if let Some(request) = request.filter(|request| request.reverse) {
        let request = request.fitting(&connection);
        match wire::send(&connection, request, &stop).await {
            Ok(sent) => octets = sent * request.length as u64,
            Err(error) => terminal::say(&format!("[{number:3}] {error}")),
        }
        wire::finish(&mut connection).await;
    } else {
        let mut report = Report::new(number, interval);
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
    }
    let seconds = started.elapsed().as_secs_f64();
    let status = connection.status();
    let sends = request.is_some_and(|request| request.reverse);
    terminal::say(&wire::line(number, (0.0, seconds), octets, &status, sends));
    wire::document(number, seconds, octets, &status)
}

/// Lines at equal times.
pub struct Report {
    number: usize,
    started: tokio::time::Instant,
    interval: Duration,
    told: u32,
    octets: u64,
}

impl Report {
    /// From now on, every `interval`; never if it is zero.
    pub fn new(number: usize, interval: Duration) -> Self {
        Self {
            number,
            started: tokio::time::Instant::now(),
            interval,
            told: 0,
            octets: 0,
        }
    }

    /// When the next line is due.
    pub fn due(&self) -> tokio::time::Instant {
        if self.interval.is_zero() {
            return self.started + Duration::from_hours(365 * 24);
        }
        self.started + self.interval * (self.told + 1)
    }

    /// Says what came since the last line.
    pub fn tell(&mut self, octets: u64, connection: &Connection, sends: bool) {
        let interval = self.interval.as_secs_f64();
        let from = interval * f64::from(self.told);
        self.told += 1;
        let span = (from, from + interval);
        let status = connection.status();
        let line = wire::line(self.number, span, octets - self.octets, &status, sends);
        terminal::say(&line);
        self.octets = octets;
    }
}
