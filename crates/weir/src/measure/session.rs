//! One test over an open path, the same for all transports and for both ends.

use super::data_path::{DataPath, Since, nanos};
use super::options::TestOptions;
use super::probe::Probe;
use super::report::Report;
use super::trace::TraceRecorder;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::terminal;
use serde_json::Value;
use std::time::Duration;
use tokio::time::sleep_until;
use weir_lab::run::{MeasuredEnd, MeasuredFlow};
use weir_proto::endpoint::Statistics;

/// What a test has measured, however it ended.
pub struct Outcome {
    /// The result for other programs.
    pub result: Value,
    /// The test as a flow of a run.
    pub flow: MeasuredFlow,
    /// Why it ended early, if it did.
    pub failure: Option<Failure>,
}

/// What is shown and kept of a test.
#[derive(Clone)]
pub struct Recording {
    /// From one line on stderr to the next.
    pub interval: Duration,
    /// The trace is kept, for a folder.
    pub trace: bool,
    /// Shows the controller's states at once.
    pub probe: Option<Probe>,
}

impl Recording {
    /// As the options say.
    pub fn new(options: &TestOptions) -> Result<Self, Failure> {
        let probe = options.probe.as_deref().map(Probe::open);
        Ok(Self {
            interval: options.interval,
            trace: options.trace.is_some(),
            probe: probe.transpose()?,
        })
    }

    /// Fails if the probe has missed something.
    pub fn finish(&self) -> Result<(), Failure> {
        self.probe.as_ref().map_or(Ok(()), Probe::finish)
    }
}

/// Runs a test to its end, with a line on stderr for every interval.
pub async fn run<P: DataPath>(
    number: usize,
    mut path: P,
    recording: &Recording,
    interrupt: &Interrupt,
) -> Outcome {
    let name = format!("stream-{number}");
    let info = path.info();
    let events = info.events.take().filter(|_| info.sends);
    let recorder = events.map(|events| {
        TraceRecorder::start(events, &name, recording.trace, recording.probe.clone())
    });
    let mut report = Report::start(number, recording.interval);
    let mut counters = path.observer();
    let transfer = {
        let mut transfer = std::pin::pin!(path.transfer(interrupt));
        loop {
            tokio::select! {
                ended = &mut transfer => break ended,
                () = sleep_until(report.due()) => {
                    terminal::status(&report.interval(&counters(Since::LastInterval)));
                }
            }
        }
    };
    let counters = counters(Since::Start);
    let mut flow = flow(name, &mut path);
    if let Some(recorder) = recorder {
        flow.events = recorder.finish(&flow.name).await;
    }
    terminal::notice(&report.total(transfer.seconds, &counters));
    let delivery = counters.delivery;
    let nothing = delivery.is_nothing().then(|| match delivery.sent {
        Some(0) => nothing_sent(&path),
        _ => nothing_arrived(&mut path),
    });
    path.close().await;
    Outcome {
        result: report.result(transfer.seconds, counters),
        flow,
        failure: transfer.failure.or(nothing),
    }
}

/// The failure of a test that was over before its first datagram.
fn nothing_sent<P: DataPath>(path: &P) -> Failure {
    let peer = path.peer_address();
    Failure::Failed(format!(
        "nothing was sent: the test with {peer} was stopped at its start"
    ))
}

/// The failure of a test of which the receiver has nothing, though it was there.
fn nothing_arrived<P: DataPath>(path: &mut P) -> Failure {
    let length = path.info().request.length;
    let peer = path.peer_address();
    let way = if path.info().sends { "at" } else { "from" };
    Failure::Failed(format!(
        "nothing of what was sent has arrived {way} {peer}: does the path carry packets with \
         {length} bytes of data? (--length)"
    ))
}

/// The test as a flow of a run, without its trace.
fn flow<P: DataPath>(name: String, path: &mut P) -> MeasuredFlow {
    let info = path.info();
    let mut flow = MeasuredFlow {
        name,
        end: if info.sends {
            MeasuredEnd::Sender
        } else {
            MeasuredEnd::Receiver
        },
        transport: info.transport.clone(),
        packet: u32::from(info.request.length.max(1)),
        rate_bps: info.request.rate_bps,
        duration: nanos(info.opened.elapsed()),
        statistics: Statistics::default(),
        payload_sent: 0,
        payload_delivered: None,
        events: None,
    };
    path.count(&mut flow);
    flow
}
