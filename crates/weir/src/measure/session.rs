//! One test over an open path, the same for all transports and for both ends.

use super::options::TestOptions;
use super::probe::Probe;
use super::report::{Delivery, Report};
use super::test_path::{Since, TestPath, nanos};
use super::trace::TraceRecorder;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::progress::CommandProgress;
use crate::terminal;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use weir_lab::run::{MeasuredEnd, MeasuredFlow};
use weir_proto::endpoint::Statistics;

/// The measurements of a test, however it ended.
pub struct Outcome {
    /// The result as JSON for other programs.
    pub result: Value,
    /// The test as a flow of a run.
    pub flow: MeasuredFlow,
    /// Why it ended early, if it did.
    pub failure: Option<Failure>,
}

/// The outputs of a test.
#[derive(Clone)]
pub struct Recording {
    /// The interval between lines on stderr.
    pub interval: Duration,
    /// The time at the start of the test that the result omits.
    pub omit: Duration,
    /// Whether the trace is kept for a folder.
    pub trace: bool,
    /// The output for the controller's states during the test.
    pub probe: Option<Probe>,
    /// The progress for other programs, where the test leaves a folder.
    pub progress: Option<Arc<CommandProgress>>,
}

impl Recording {
    /// The outputs from the options.
    pub fn new(options: &TestOptions) -> Result<Self, Failure> {
        let probe = options.probe.as_deref().map(Probe::open);
        Ok(Self {
            interval: options.interval,
            omit: options.omit,
            trace: options.trace.is_some(),
            probe: probe.transpose()?,
            progress: None,
        })
    }

    /// Fails if the probe has lost lines.
    pub fn finish(&self) -> Result<(), Failure> {
        self.probe.as_ref().map_or(Ok(()), Probe::finish)
    }
}

/// Runs a test to its end, with a line on stderr for every interval.
pub async fn run<P: TestPath>(
    number: usize,
    mut path: P,
    recording: &Recording,
    interrupt: &Interrupt,
) -> Outcome {
    let name = format!("stream-{number}");
    let info = path.info();
    let (sends, planned) = (info.sends, info.request.duration);
    let events = info.events.take().filter(|_| sends);
    let recorder = events.map(|events| {
        TraceRecorder::start(events, &name, recording.trace, recording.probe.clone())
    });
    let mut report = Report::start(number, recording.interval, !recording.omit.is_zero());
    let mut counters = path.observer();
    let mut omitted = None;
    let transfer = {
        let mut omission = Omission::start(recording.omit, sends);
        let mut transfer = std::pin::pin!(path.transfer(interrupt));
        loop {
            tokio::select! {
                ended = &mut transfer => break ended,
                () = sleep_until(report.due()) => {
                    terminal::status(&report.interval(&counters(Since::LastInterval)));
                    if let Some(progress) = &recording.progress {
                        progress.advance(report.seconds(), planned.as_secs_f64(), "s");
                    }
                }
                () = sleep_until(omission.due), if report.is_omitting() => {
                    if omission.is_over(&counters(Since::Start).delivery) {
                        let before = counters(Since::Omitted);
                        omitted = Some((report.end_omission(&before), before));
                    }
                }
            }
        }
    };
    let mut counters = counters(Since::Start);
    let delivery = counters.delivery;
    let mut seconds = transfer.seconds;
    if let Some((omitted, before)) = omitted {
        counters = counters.since(&before);
        seconds = (seconds - omitted.as_secs_f64()).max(0.0);
    }
    let mut flow = flow(name, &mut path);
    if let Some(recorder) = recorder {
        flow.events = recorder.finish(&flow.name).await;
    }
    terminal::notice(&report.total(seconds, &counters));
    let nothing = delivery.is_nothing().then(|| match delivery.sent {
        Some(0) => nothing_sent(&mut path),
        _ => nothing_arrived(&mut path),
    });
    path.close().await;
    Outcome {
        result: report.result(seconds, counters),
        flow,
        failure: transfer.failure.or(nothing),
    }
}

/// The interval at which the end of the omitted time is checked for a new report of the receiver,
/// and the maximum number of checks: some reports come every half second.
const CHECK_INTERVAL: Duration = Duration::from_millis(2);
const MOST_LOOKS: u32 = 500;

/// The omitted time at the beginning of a test. At a sender it ends with the next report of the
/// receiver: with an older report, data that arrived after it would count as received but not as
/// sent.
struct Omission {
    due: Instant,
    sends: bool,
    received: Option<u64>,
    looks: u32,
}

impl Omission {
    fn start(omit: Duration, sends: bool) -> Self {
        Self {
            due: Instant::now() + omit,
            sends,
            received: None,
            looks: 0,
        }
    }

    /// True if the omitted time ends now, with this delivery; otherwise it is checked again later.
    fn is_over(&mut self, delivery: &Delivery) -> bool {
        if self.looks == 0 {
            self.received = delivery.received;
        }
        self.looks += 1;
        self.due += CHECK_INTERVAL;
        !self.sends || delivery.received != self.received || self.looks > MOST_LOOKS
    }
}

/// The error of a test that ended before its first datagram.
fn nothing_sent<P: TestPath>(path: &mut P) -> Failure {
    let peer = path.info().peer;
    Failure::Failed(format!(
        "nothing was sent: the test with {peer} was stopped at its start"
    ))
}

/// The error of a test without received data, although the receiver was active.
fn nothing_arrived<P: TestPath>(path: &mut P) -> Failure {
    let info = path.info();
    let (peer, length) = (info.peer, info.request.length);
    let way = if info.sends { "at" } else { "from" };
    Failure::Failed(format!(
        "nothing of what was sent has arrived {way} {peer}: does the path carry packets with \
         {length} bytes of data? (--length)"
    ))
}

/// The test as a flow of a run, without its trace.
fn flow<P: TestPath>(name: String, path: &mut P) -> MeasuredFlow {
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
