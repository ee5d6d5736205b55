//! The client of tests: opens the connections, waits for their ends, sums up.

use super::data_path::Transport;
use super::options::{ClientOptions, TestOptions};
use super::report::{extend, scaled};
use super::session::{self, Outcome};
use super::{Measured, failure, trace};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::terminal;
use serde_json::{Value, json};
use std::net::{SocketAddr, ToSocketAddrs};
use tokio::task::JoinHandle;
use weir_lab::trace::RunFolder;
use weir_wire::Error;

/// The server's address.
pub fn resolve(options: &ClientOptions) -> Result<SocketAddr, Failure> {
    let host = &options.host;
    let unknown = |why: String| Failure::Usage(format!("cannot find the host \"{host}\": {why}"));
    (host.as_str(), options.test.udp_port())
        .to_socket_addrs()
        .map_err(|error| unknown(error.to_string()))?
        .next()
        .ok_or_else(|| unknown("it has no address".to_owned()))
}

/// Refuses a folder of `--trace` that has something else in it, before the test takes its time.
pub fn check_trace_folder(options: &TestOptions) -> Result<(), Failure> {
    if let Some(folder) = &options.trace {
        RunFolder::check_free(folder)?;
    }
    Ok(())
}

/// Runs the tests that the options ask for; returns the result of all.
pub async fn run<T: Transport>(
    transport: T,
    options: &ClientOptions,
    to: SocketAddr,
    interrupt: &Interrupt,
) -> Result<Measured<Value>, Failure> {
    let request = transport.request(options)?;
    terminal::status(&format!("connecting to {}", transport.describe(to)));
    if let Some(warning) = T::WARNING {
        terminal::status(warning);
    }
    let settings = transport.settings(&request);
    let tests = (1..=usize::from(options.parallel)).map(|number| {
        let (transport, interrupt) = (transport.clone(), interrupt.clone());
        let interval = options.test.interval;
        tokio::spawn(async move {
            let path = tokio::select! {
                path = transport.connect(to, request) => path?,
                () = interrupt.pressed() => return Err(failure(Error::Closed)),
            };
            Ok(session::run(number, path, interval, &interrupt).await)
        })
    });
    let Measured { result, written } = collect(tests.collect(), options).await?;
    Ok(Measured {
        result: summary(options, settings, result),
        written,
    })
}

/// Waits for all tests and writes what they measured, however they ended; returns their results.
async fn collect(
    tests: Vec<JoinHandle<Result<Outcome, Failure>>>,
    options: &ClientOptions,
) -> Result<Measured<Vec<Value>>, Failure> {
    let (mut results, mut flows, mut failure) = (Vec::new(), Vec::new(), None);
    for test in tests {
        let joined = test
            .await
            .map_err(|error| Failure::Failed(error.to_string()))?;
        match joined {
            Ok(outcome) => {
                results.push(outcome.result);
                flows.push(outcome.flow);
                failure = failure.or(outcome.failure);
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    let written = match &options.test.trace {
        Some(folder) if !flows.is_empty() => trace::write(flows, folder).await,
        _ => Ok(()),
    };
    match (failure, written) {
        (None, written) => Ok(Measured {
            result: results,
            written,
        }),
        (Some(failure), Ok(())) => Err(failure),
        (Some(failure), Err(also)) => {
            terminal::status(&also.message());
            Err(failure)
        }
    }
}

/// Sums all tests up, on stderr if there are several, and as one document.
fn summary(options: &ClientOptions, settings: Value, results: Vec<Value>) -> Value {
    let sum = |key: &str| {
        let values = results.iter().filter_map(|result| result[key].as_f64());
        values.sum::<f64>()
    };
    let (bytes, rate) = (sum("bytes"), sum("bits_per_second"));
    if results.len() > 1 {
        terminal::status(&format!(
            "all {}: {}  {}",
            results.len(),
            scaled(bytes, "B"),
            scaled(rate, "bit/s")
        ));
    }
    let mut start = json!({
        "host": options.host,
        "reverse": options.reverse,
        "transport": options.test.transport.name(),
    });
    extend(&mut start, settings);
    json!({
        "start": start,
        "end": { "sum": { "bytes": bytes, "bits_per_second": rate }, "streams": results },
    })
}
