//! The server of tests: accepts clients, runs their tests concurrently, prints the results.

use super::options::{ServerOptions, TestOptions};
use super::session::{self, Recording};
use super::test_path::{Listener, TestPath, Transport};
use super::{Measured, joined, trace};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::terminal;
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::task::JoinSet;

/// Creates the folder of `--trace`, so that errors are reported before a test.
pub fn create_trace_folder(options: &TestOptions) -> Result<(), Failure> {
    let Some(folder) = &options.trace else {
        return Ok(());
    };
    std::fs::create_dir_all(folder).map_err(|error| {
        let folder = folder.display();
        Failure::Usage(format!("cannot create the folder \"{folder}\": {error}"))
    })
}

/// Serves until Ctrl-C, which counts as a failure, or for one test.
pub async fn run<T: Transport>(
    transport: T,
    options: &ServerOptions,
    interrupt: &Interrupt,
) -> Result<Measured<()>, Failure> {
    let address = SocketAddr::new(options.bind, options.test.udp_port());
    let recording = Recording::new(&options.test)?;
    let mut listener = transport.listen(address).await?;
    let address = transport.describe(listener.local_address()?);
    terminal::status(&format!("listening at {address}"));
    if let Some(identity) = listener.identity()? {
        terminal::status(&identity);
    }
    let mut tests = JoinSet::new();
    let mut number = 0;
    loop {
        let mut path = tokio::select! {
            path = listener.accept() => path?,
            Some(test) = tests.join_next() => {
                joined(test);
                continue;
            }
            () = interrupt.pressed() => break,
        };
        number += 1;
        announce(number, path.info().peer);
        let test = serve(
            number,
            path,
            (options.test.trace.clone(), recording.clone()),
            interrupt.clone(),
        );
        if options.one_off {
            let measured = tokio::spawn(test).await?;
            options.test.output.print(&measured.document())?;
            listener.close().await;
            let interrupted = interrupt.was_pressed().then_some(Failure::Interrupted);
            let measured = Measured {
                result: (),
                failure: interrupted.or(measured.failure),
            };
            return Ok(measured.and(recording.finish()));
        }
        let json = options.test.output.json;
        tests.spawn(async move {
            let measured = test.await;
            if json {
                // A closed pipe does not end the server.
                let _ = terminal::print(&format!("{}\n", measured.document()));
            }
            if let Some(failure) = measured.failure {
                // The server continues after a failed test.
                terminal::notice(&format!("[{number:3}] {}", failure.message()));
            }
        });
    }
    // After Ctrl-C every test ends by itself and writes its measurements.
    while let Some(test) = tests.join_next().await {
        joined(test);
    }
    listener.close().await;
    let measured = Measured {
        result: (),
        failure: Some(Failure::Interrupted),
    };
    Ok(measured.and(recording.finish()))
}

fn announce(number: usize, peer: SocketAddr) {
    // Without UDP there is no port number.
    terminal::status(&match peer.port() {
        0 => format!("[{number:3}] from {}", peer.ip()),
        _ => format!("[{number:3}] from {peer}"),
    });
}

/// Runs one test; returns its result, and the reason if it failed or could not be written.
async fn serve<P: TestPath>(
    number: usize,
    path: P,
    (trace, recording): (Option<PathBuf>, Recording),
    interrupt: Interrupt,
) -> Measured<Value> {
    let outcome = session::run(number, path, &recording, &interrupt).await;
    let measured = Measured {
        result: outcome.result,
        failure: outcome.failure,
    };
    measured.and(match &trace {
        None => Ok(()),
        Some(folder) => match trace::numbered_folder(folder, number) {
            Ok(folder) => trace::write(vec![outcome.flow], &folder).await,
            Err(failure) => Err(failure),
        },
    })
}
