//! `weir serve`: waits for tests of `weir send`; here over DCCP in UDP, or over IP.

use super::live_capture::LiveCapture;
use super::live_trace::{self, LiveTrace};
use super::wire::{self, Report, Request, Shared, Stop, Transport};
use super::{quic, udp};
use crate::exit::Failure;
use crate::terminal;
use clap::Args;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio::task::JoinSet;
use weir_wire::{Connection, Listener};

/// Wait for tests of `weir send`, over DCCP in UDP (RFC 6773) or another transport
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    pub shared: Shared,
    /// Address to listen at
    #[arg(short = 'B', long, default_value_t = IpAddr::V6(Ipv6Addr::UNSPECIFIED))]
    pub bind: IpAddr,
    /// End after the first connection
    #[arg(short = '1', long)]
    pub one_off: bool,
}

/// Serves until Ctrl-C, or one connection.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.shared.check()?;
    wire::raise_open_files();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let capture = arguments.shared.start_capture("weir serve")?;
    let capturing = capture.as_ref();
    let done = runtime.block_on(async {
        let stop = Stop::on_interrupt();
        if let Some(folder) = &arguments.shared.trace {
            // What cannot be written is said now and not after a test.
            std::fs::create_dir_all(folder).map_err(|error| {
                let folder = folder.display();
                Failure::Usage(format!("cannot create the folder \"{folder}\": {error}"))
            })?;
        }
        match arguments.shared.transport {
            Transport::Dccp => serve(arguments, capturing, stop).await,
            Transport::Quic => quic::serve(arguments, capturing, stop).await,
            Transport::Udp => udp::serve(arguments, capturing, stop).await,
        }
    });
    // Nothing is sent any more.
    drop(runtime);
    let written = capture.map_or(Ok(()), LiveCapture::finish);
    done.and(written)
}

async fn serve(
    arguments: &Arguments,
    capture: Option<&LiveCapture>,
    stop: Stop,
) -> Result<(), Failure> {
    let shared = &arguments.shared;
    let address = arguments.address();
    let failed = |error| wire::failure(&error);
    let mut listener = Listener::bind(address, shared.options(capture))
        .await
        .map_err(failed)?;
    let place = shared.place(listener.local_address());
    terminal::say(&format!("listening at {place}"));
    let mut tests = Tests::new(arguments);
    loop {
        let connection = tokio::select! {
            connection = listener.accept() => connection.map_err(failed)?,
            () = tests.one_ended() => continue,
            () = stop.pressed() => break,
        };
        let number = tests.welcome(connection.peer_address());
        let test = test(number, connection, shared.clone(), stop.clone());
        if tests.start(test).await? {
            break;
        }
    }
    tests.finish().await;
    Ok(())
}

impl Arguments {
    /// Where to listen.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.bind, self.shared.port())
    }
}

/// The tests of a server.
pub struct Tests {
    set: JoinSet<()>,
    started: usize,
    one_off: bool,
    json: bool,
}

impl Tests {
    /// None yet.
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            set: JoinSet::new(),
            started: 0,
            one_off: arguments.one_off,
            json: arguments.shared.json,
        }
    }

    /// Gives a number to the test of this peer.
    pub fn welcome(&mut self, peer: SocketAddr) -> usize {
        self.started += 1;
        terminal::say(&match peer.port() {
            0 => format!("[{:3}] from {}", self.started, peer.ip()),
            _ => format!("[{:3}] from {peer}", self.started),
        });
        self.started
    }

    /// Waits until one has ended; for ever if there is none.
    pub async fn one_ended(&mut self) {
        if self.set.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Runs a test, beside the server or, if it is to be the only one, before it goes on. True if
    /// it was that one.
    pub async fn start(
        &mut self,
        test: impl Future<Output = Result<serde_json::Value, Failure>> + Send + 'static,
    ) -> Result<bool, Failure> {
        let json = self.json;
        if self.one_off {
            let document = test.await?;
            if json {
                terminal::print(&format!("{document:#}\n"))?;
            }
            return Ok(true);
        }
        self.set.spawn(async move {
            match test.await {
                Ok(document) if json => {
                    // A closed pipe ends the output, not the server.
                    let _ = terminal::print(&format!("{document}\n"));
                }
                Ok(_) => {}
                Err(failure) => drop(failure.report(false)),
            }
        });
        Ok(false)
    }

    /// Waits for all. Every test ends by itself after Ctrl-C, and writes what it has.
    pub async fn finish(mut self) {
        while self.set.join_next().await.is_some() {}
    }
}

/// One test: receives, or sends if the client asked for it.
async fn test(
    number: usize,
    mut connection: Connection,
    shared: Shared,
    stop: Stop,
) -> Result<serde_json::Value, Failure> {
    let started = Instant::now();
    let first = tokio::select! {
        first = connection.receive() => first,
        () = stop.pressed() => None,
    };
    let request = first.as_deref().and_then(Request::from_datagram);
    let sends = request.is_some_and(|request| request.reverse);
    let request = request.unwrap_or_default().fitting(&connection);
    let trace = LiveTrace::start(number, &mut connection, started, sends);
    let mut report = Report::new(number, shared.interval);
    let octets = if sends {
        if let Err(error) = wire::send(&connection, request, &stop).await {
            terminal::say(&format!("[{number:3}] {error}"));
        }
        connection.stats().payload_sent
    } else {
        wire::receive(&mut connection, &mut report, &stop).await
    };
    let seconds = started.elapsed().as_secs_f64();
    let status = connection.stats();
    let measured = trace.finish(&shared, &request, &connection).await;
    terminal::say(&wire::line(number, (0.0, seconds), octets, &status, sends));
    wire::finish(&mut connection).await;
    if let Some(folder) = &shared.trace {
        live_trace::write(vec![measured], &claim(folder, number)?).await?;
    }
    Ok(report.complete(wire::document(number, seconds, octets, &status)))
}

/// Makes the folder with this number, or the next that is free.
pub fn claim(folder: &Path, number: usize) -> Result<PathBuf, Failure> {
    let mut number = number;
    loop {
        let path = folder.join(number.to_string());
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            Err(error) => {
                let message = format!("cannot create the folder \"{}\": {error}", path.display());
                return Err(Failure::Failed(message));
            }
        }
    }
}
