//! One test over an open path, the same for all transports and for both ends.

use super::data_path::{DataPath, OpenTest};
use super::report::Report;
use super::trace::TraceRecorder;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::terminal;
use serde_json::Value;
use std::time::Duration;
use tokio::time::sleep_until;
use weir_lab::run::{MeasuredEnd, MeasuredFlow};

/// What a test has measured.
pub struct Outcome {
    /// The result for other programs.
    pub result: Value,
    /// The test as a flow of a run.
    pub flow: MeasuredFlow,
    /// Why it ended early, if it did.
    pub failure: Option<Failure>,
}

/// Runs a test to its end, with a line on stderr for every interval.
pub async fn run<P: DataPath>(
    number: usize,
    test: OpenTest<P>,
    interval: Duration,
    interrupt: &Interrupt,
) -> Outcome {
    let OpenTest {
        mut path,
        request,
        sends,
        events,
    } = test;
    let name = format!("stream-{number}");
    let recorder = events
        .filter(|_| sends)
        .map(|events| TraceRecorder::start(events, &name));
    let mut report = Report::start(number, interval);
    let counters = path.observer();
    let transfer = {
        let mut transfer = std::pin::pin!(path.transfer(interrupt));
        loop {
            tokio::select! {
                ended = &mut transfer => break ended,
                () = sleep_until(report.due()) => terminal::status(&report.interval(counters())),
            }
        }
    };
    let counters = counters();
    let measured = path.measured();
    let events = match recorder {
        Some(recorder) => recorder.finish(&name).await,
        None => None,
    };
    let flow = MeasuredFlow {
        name,
        end: match sends {
            true => MeasuredEnd::Sender,
            false => MeasuredEnd::Receiver,
        },
        transport: measured.transport,
        packet: u32::from(request.length.max(1)),
        rate_bps: request.rate_bps,
        duration: measured.duration,
        statistics: measured.statistics,
        payload_sent: measured.payload_sent,
        payload_delivered: measured.payload_delivered,
        events,
    };
    terminal::status(&report.total(transfer.seconds, &counters));
    path.close().await;
    Outcome {
        result: report.result(transfer.seconds, &counters),
        flow,
        failure: transfer.failure,
    }
}
