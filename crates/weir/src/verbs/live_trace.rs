//! `--trace DIR` of `serve` and `send`: a test in the form of a run's folder.

use super::wire::{Request, Shared};
use crate::exit::Failure;
use crate::terminal;
use std::path::Path;
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use weir_lab::run::{
    MEASURED_NOTE, MeasuredEnd, MeasuredFlow, MeasuredTransport, SenderRecorder, measured_run,
};
use weir_lab::trace::RunFolder;
use weir_proto::time::Duration;
use weir_wire::{Connection, EventStream};

/// The events of a connection while they are recorded.
pub struct Recording {
    task: JoinHandle<(SenderRecorder, u64)>,
    stop: oneshot::Sender<()>,
}

/// A test while it goes on.
pub struct LiveTrace {
    name: String,
    opened: Instant,
    recording: Option<Recording>,
}

impl Recording {
    /// Records what comes from now on, and what waits already; in a thread of its own, because a
    /// sender at full speed leaves the runtime's to nobody else.
    fn start(events: EventStream, name: &str) -> Self {
        let (stop, stopped) = oneshot::channel();
        let live = SenderRecorder::new(name);
        let runtime = Handle::current();
        let recorded = record(events, live, stopped);
        let task = tokio::task::spawn_blocking(move || runtime.block_on(recorded));
        Self { task, stop }
    }

    /// What was recorded, and how many events were left out.
    async fn finish(self) -> Option<(SenderRecorder, u64)> {
        let _ = self.stop.send(());
        self.task.await.ok()
    }
}

async fn record(
    mut events: EventStream,
    mut live: SenderRecorder,
    mut stopped: oneshot::Receiver<()>,
) -> (SenderRecorder, u64) {
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some((at, event)) => live.record(at, &event),
                None => break,
            },
            _ = &mut stopped => {
                while let Some((at, event)) = events.try_next() {
                    live.record(at, &event);
                }
                break;
            }
        }
    }
    (live, events.dropped())
}

impl LiveTrace {
    /// Begins to record the connection that was opened at this time, if this end is to send.
    pub fn start(number: usize, connection: &mut Connection, opened: Instant, sends: bool) -> Self {
        Self::record(number, connection.events().filter(|_| sends), opened)
    }

    /// Records these events of a connection that was opened at this time, if there are any.
    pub fn record(number: usize, events: Option<EventStream>, opened: Instant) -> Self {
        let name = format!("stream-{number}");
        let recording = events.map(|events| Recording::start(events, &name));
        Self {
            name,
            opened,
            recording,
        }
    }

    /// The name of its flow.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// When the connection was opened.
    pub const fn opened(&self) -> Instant {
        self.opened
    }

    /// What was recorded, if anything was to be.
    pub async fn events(self) -> Option<SenderRecorder> {
        let (live, dropped) = self.recording?.finish().await?;
        if dropped > 0 || live.is_full() {
            let more = if live.is_full() {
                ", and the last part"
            } else {
                ""
            };
            terminal::say(&format!(
                "{}: the trace is without {dropped} events that came too fast{more}",
                self.name
            ));
        }
        Some(live)
    }

    /// What was measured up to now.
    pub async fn finish(
        self,
        shared: &Shared,
        request: &Request,
        connection: &Connection,
    ) -> MeasuredFlow {
        let status = connection.stats();
        let elapsed = self.opened.elapsed();
        let end = match self.recording {
            Some(_) => MeasuredEnd::Sender,
            None => MeasuredEnd::Receiver,
        };
        let name = self.name.clone();
        let events = self.events().await;
        MeasuredFlow {
            name,
            end,
            transport: MeasuredTransport::Dccp {
                ccid: shared.ccid(),
                profile: shared.profile().to_owned(),
                ecn: shared.ecn,
            },
            packet: request.length.max(1) as u32,
            rate_bps: request.rate_bps,
            duration: Duration::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)),
            statistics: status.statistics,
            payload_sent: status.payload_sent,
            payload_delivered: None,
            events,
        }
    }
}

/// Writes the folder, if there is to be one and something to write.
pub async fn write_wanted(flows: Vec<MeasuredFlow>, path: Option<&Path>) -> Result<(), Failure> {
    match path {
        Some(path) if !flows.is_empty() => write(flows, path).await,
        _ => Ok(()),
    }
}

/// Writes the folder, away from the tasks that pace packets.
pub async fn write(flows: Vec<MeasuredFlow>, path: &Path) -> Result<(), Failure> {
    let folder = path.to_owned();
    let written = tokio::task::spawn_blocking(move || {
        let run = measured_run(flows).map_err(|error| error.to_string())?;
        RunFolder::write_noted(&run, MEASURED_NOTE, &folder).map_err(|error| error.to_string())
    });
    let written = written.await.map_err(|error| error.to_string());
    match written.and_then(|written| written) {
        Ok(_) => {
            terminal::say(&path.display().to_string());
            Ok(())
        }
        Err(message) => Err(Failure::Failed(message)),
    }
}
