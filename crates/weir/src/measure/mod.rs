//! Tests of a path between `weir serve` and `weir send`, similar to iperf3.
//!
//! The client opens a path and requests a test with one Request of the control protocol of
//! [`weir_wire::test_protocol`], which is the same for all transports. One end sends as specified
//! in the Request; the other counts and sends Reports. The exchange of messages is one session
//! ([`weir_wire::test_protocol::Session`]) for all transports. Each transport is a file with a
//! [`test_path::TestPath`]: [`dccp`] and [`quic`], whose session the [`conversation`] drives over a
//! connection, and [`udp`], with [`rtp`] in it, whose session a socket drives. [`client`] and
//! [`server`] run tests over any of them, [`session`] runs one test, [`report`] prints its
//! measurements.

mod bloat;
mod client;
mod conversation;
mod dccp;
mod iperf_translation;
mod iperf_words;
mod measured;
mod options;
mod probe;
mod quic;
mod report;
mod rtp;
mod server;
mod session;
mod test_path;
mod trace;
mod udp;

pub use bloat::{Arguments as BloatArguments, BloatDocument, bloat};
pub use measured::Measured;
pub use options::{ClientOptions, ServerOptions};
pub use report::scaled;

use crate::capture::PacketCapture;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::terminal;
use options::{TestOptions, TransportName};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use weir_wire::Tap;

/// Tests a path to a server.
pub fn send(options: &ClientOptions) -> Result<Measured<Value>, Failure> {
    let test = &options.test;
    let access = options.access()?;
    run(test, "weir send", async |tap, interrupt| {
        let to = client::resolve(options)?;
        client::check_trace_folder(test)?;
        match test.transport {
            TransportName::Dccp => {
                client::run(dccp::Dccp::new(test, access, tap)?, options, to, &interrupt).await
            }
            TransportName::Quic => {
                client::run(quic::Quic::new(test, access, tap)?, options, to, &interrupt).await
            }
            TransportName::Udp => {
                let udp = udp::Udp::new(test, access, tap, &udp::CONSTANT_RATE);
                client::run(udp, options, to, &interrupt).await
            }
            TransportName::Rtp => {
                let rtp = udp::Udp::new(test, access, tap, &rtp::VIDEO);
                client::run(rtp, options, to, &interrupt).await
            }
        }
    })
}

/// Serves tests until Ctrl-C, or one test.
pub fn serve(options: &ServerOptions) -> Result<(), Failure> {
    let test = &options.test;
    let access = options.access()?;
    let served = run(test, "weir serve", async |tap, interrupt| {
        server::create_trace_folder(test)?;
        match test.transport {
            TransportName::Dccp => {
                server::run(dccp::Dccp::new(test, access, tap)?, options, &interrupt).await
            }
            TransportName::Quic => {
                server::run(quic::Quic::new(test, access, tap)?, options, &interrupt).await
            }
            TransportName::Udp => {
                let udp = udp::Udp::new(test, access, tap, &udp::CONSTANT_RATE);
                server::run(udp, options, &interrupt).await
            }
            TransportName::Rtp => {
                let rtp = udp::Udp::new(test, access, tap, &rtp::VIDEO);
                server::run(rtp, options, &interrupt).await
            }
        }
    });
    // The results are on stdout already.
    served?.printed()
}

/// Runs tests in a separate runtime, with the capture of the options.
fn run<T>(
    options: &TestOptions,
    name: &str,
    tests: impl AsyncFnOnce(Option<Arc<dyn Tap>>, Interrupt) -> Result<Measured<T>, Failure>,
) -> Result<Measured<T>, Failure> {
    options.check()?;
    raise_open_files();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let start = |path: &PathBuf| PacketCapture::on_one(path, name, options.snaplen);
    let capture = options.pcap.as_ref().map(start).transpose()?;
    let tap = capture.as_ref().map(PacketCapture::tap);
    let done = runtime.block_on(async { tests(tap, Interrupt::catch()).await });
    // Dropping the runtime closes the sockets before the capture ends.
    drop(runtime);
    let captured = capture.map_or(Ok(()), PacketCapture::finish);
    Ok(done?.and(captured))
}

/// Raises the limit of open files of this process as far as the system allows: each connection has
/// a socket and a timer, and the initial limit of most systems is 1024.
fn raise_open_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // If the limit cannot be raised, it may still be enough.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// The exit status for an error of a socket or connection.
fn failure(error: weir_wire::Error) -> Failure {
    match error {
        weir_wire::Error::Privilege(_) => Failure::Unavailable(format!("{error}: leave --raw out")),
        _ => Failure::Failed(error.to_string()),
    }
}

/// The result of a task; a task that was cancelled or panicked is reported.
fn joined<T>(task: Result<T, tokio::task::JoinError>) -> Option<T> {
    let reported = task.map_err(|error| {
        let why = Failure::from(error).message();
        terminal::notice(&format!("a test has failed: {why}"));
    });
    reported.ok()
}
