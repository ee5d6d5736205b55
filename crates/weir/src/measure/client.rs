//! The client of tests: opens the connections, waits for their ends, and sums up the results.

use super::options::{ClientOptions, TestOptions};
use super::report::{extend, scaled};
use super::session::{self, Outcome, Recording};
use super::test_path::Transport;
use super::{Measured, trace};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::progress::CommandProgress;
use crate::terminal;
use serde_json::{Value, json};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use tokio::task::JoinHandle;
use weir_lab::trace::RunFolder;
use weir_wire::test_protocol::TestConfig;

/// The server's address.
pub fn resolve(options: &ClientOptions) -> Result<SocketAddr, Failure> {
    if options.test.port == Some(0) {
        let message = "--port 0: expected the server's port, 1 to 65535".to_owned();
        return Err(Failure::Usage(message));
    }
    let host = &options.host;
    let unknown = |why: String| Failure::Usage(format!("cannot find the host \"{host}\": {why}"));
    (host.as_str(), options.test.udp_port())
        .to_socket_addrs()
        .map_err(|error| unknown(error.to_string()))?
        .next()
        .ok_or_else(|| unknown("it has no address".to_owned()))
}

/// Rejects a folder of `--trace` with other contents, before the test takes its time.
pub fn check_trace_folder(options: &TestOptions) -> Result<(), Failure> {
    if let Some(folder) = &options.trace {
        RunFolder::check_free(folder)?;
    }
    Ok(())
}

/// The folder in which a folder lies.
fn beside(folder: &Path) -> &Path {
    let parent = folder
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Runs the requested tests; fails if none of them could begin.
pub async fn run<T: Transport>(
    transport: T,
    options: &ClientOptions,
    to: SocketAddr,
    interrupt: &Interrupt,
) -> Result<Measured<Value>, Failure> {
    let request = transport.request(options)?;
    let mut recording = Recording::new(&options.test)?;
    recording.progress = options.test.trace.as_deref().map(|folder| {
        let subject = Path::new(&options.host);
        Arc::new(CommandProgress::new("send", subject, beside(folder)))
    });
    terminal::status(&format!("connecting to {}", transport.describe(to)));
    if let Some(warning) = transport.warning() {
        terminal::notice(warning);
    }
    let settings = transport.settings(&request);
    terminal::detail(|| format!("asking for {request:?} with {settings}"));
    let count = usize::from(options.parallel);
    let back = if options.words.bidir { count } else { 0 };
    let tests = (1..=count + back).map(|number| {
        let (transport, interrupt) = (transport.clone(), interrupt.clone());
        let recording = recording.clone();
        let request = TestConfig {
            reverse: request.reverse || number > count,
            ..request
        };
        tokio::spawn(async move {
            let path = tokio::select! {
                path = transport.connect(to, request) => path?,
                () = interrupt.pressed() => return Err(Failure::Interrupted),
            };
            let mut outcome = session::run(number, path, &recording, &interrupt).await;
            if back > 0 {
                outcome.result["reverse"] = request.reverse.into();
            }
            Ok(outcome)
        })
    });
    let Measured { result, failure } = collect(tests.collect(), options).await?;
    let interrupted = interrupt.was_pressed().then_some(Failure::Interrupted);
    let measured = Measured {
        result: summary(options, settings, result),
        failure: interrupted.or(failure),
    };
    Ok(measured.and(recording.finish()))
}

/// Waits for all tests and writes their measurements, however they ended; returns their results and
/// the first failure. Fails if there is no result.
async fn collect(
    tests: Vec<JoinHandle<Result<Outcome, Failure>>>,
    options: &ClientOptions,
) -> Result<Measured<Vec<Value>>, Failure> {
    let (mut results, mut flows, mut failure) = (Vec::new(), Vec::new(), None);
    for test in tests {
        match test.await.unwrap_or_else(|error| Err(error.into())) {
            Ok(outcome) => {
                results.push(outcome.result);
                flows.push(outcome.flow);
                failure = failure.or(outcome.failure);
            }
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    if results.is_empty()
        && let Some(failure) = failure
    {
        return Err(failure);
    }
    let measured = Measured {
        result: results,
        failure,
    };
    Ok(measured.and(match &options.test.trace {
        Some(folder) => trace::write(flows, folder).await,
        None => Ok(()),
    }))
}

/// Sums up all tests, on stderr if there are several, and as one document. With `--bidir` those in
/// the reverse direction are summed up separately, with the names of iperf3.
fn summary(options: &ClientOptions, settings: Value, results: Vec<Value>) -> Value {
    let is_back = |result: &Value| options.words.bidir && result["reverse"] == true;
    let (back, there): (Vec<Value>, Vec<Value>) = results.into_iter().partition(is_back);
    let mut end = sums(&there);
    if options.words.bidir {
        let Value::Object(sums) = sums(&back) else {
            return end;
        };
        let sums = sums.into_iter();
        let sums = sums.map(|(key, sum)| (format!("{key}_bidir_reverse"), sum));
        extend(&mut end, Value::Object(sums.collect()));
    }
    end["streams"] = there.into_iter().chain(back).collect();
    let mut start = json!({
        "host": options.host,
        "reverse": options.reverse,
        "transport": options.test.transport.name(),
    });
    extend(&mut start, settings);
    json!({ "start": start, "end": end })
}

/// The sums of tests in one direction.
fn sums(results: &[Value]) -> Value {
    let sum = |key: &str| {
        let values = results.iter().filter_map(|result| result[key].as_f64());
        values.sum::<f64>()
    };
    let (bytes, rate) = (sum("bytes"), sum("bits_per_second"));
    // As in iperf3: sent and received octets. Null if an end does not know them.
    let end = |key: &str| {
        let values = results.iter().map(|result| {
            let bytes = result[key].as_f64()?;
            Some((bytes, bytes * 8.0 / result["seconds"].as_f64()?.max(1e-9)))
        });
        let total = values.reduce(|a, b| Some((a?.0 + b?.0, a?.1 + b?.1)));
        let total = total.flatten();
        json!({
            "bytes": total.map(|(bytes, _)| bytes),
            "bits_per_second": total.map(|(_, rate)| rate),
        })
    };
    if results.len() > 1 {
        terminal::notice(&format!(
            "all {}: {}  {}",
            results.len(),
            scaled(bytes, "B"),
            scaled(rate, "bit/s")
        ));
    }
    json!({
        "sum": { "bytes": bytes, "bits_per_second": rate },
        "sum_sent": end("bytes_sent"),
        "sum_received": end("bytes_received"),
    })
}
