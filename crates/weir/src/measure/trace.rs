//! `--trace DIR` of `serve` and `send`: a test as the folder of a run.

use super::joined;
use super::probe::Probe;
use crate::build;
use crate::exit::Failure;
use crate::terminal;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use weir_lab::fault::{Fault, caught};
use weir_lab::run::{MEASURED_NOTE, MeasuredFlow, SenderRecorder, measured_run};
use weir_lab::trace::FolderWriter;
use weir_proto::event::Event;
use weir_proto::time::Duration;
use weir_wire::EventStream;

/// Records the events of a sender's controller.
pub struct TraceRecorder {
    task: JoinHandle<Result<(Option<SenderRecorder>, u64), Fault>>,
    stop: oneshot::Sender<()>,
}

impl TraceRecorder {
    /// Records waiting and future events, for the folder of the test if it is traced. It uses a
    /// separate thread, because a sender at full speed occupies the thread of the runtime.
    pub fn start(events: EventStream, name: &str, trace: bool, probe: Option<Probe>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let sinks = Sinks {
            name: name.to_owned(),
            flow: trace.then(|| SenderRecorder::new(name)),
            probe,
        };
        let runtime = Handle::current();
        let recorded = record(events, sinks, stopped);
        let task = spawn_blocking(move || caught(|| runtime.block_on(recorded)));
        Self { task, stop }
    }

    /// Ends the recording; reports lost events on stderr.
    pub async fn finish(self, name: &str) -> Option<SenderRecorder> {
        // The recorder may already have ended with its connection.
        let _ = self.stop.send(());
        let recorded = joined(self.task.await)?;
        let recorded = recorded.map_err(|fault| terminal::notice(&format!("{name}: {fault}")));
        let (flow, dropped) = recorded.ok()?;
        let full = flow.as_ref().is_some_and(SenderRecorder::is_full);
        if dropped > 0 || full {
            let more = if full { ", and the last part" } else { "" };
            terminal::notice(&format!(
                "{name}: the trace is without {dropped} events that came too fast{more}"
            ));
        }
        flow
    }
}

/// The destinations of events.
struct Sinks {
    name: String,
    flow: Option<SenderRecorder>,
    probe: Option<Probe>,
}

impl Sinks {
    fn record(&mut self, at: Duration, event: &Event) {
        if let Some(flow) = &mut self.flow {
            flow.record(at, event);
        }
        if let Some(probe) = &self.probe {
            probe.record(&self.name, at, event);
        }
    }

    /// Records an event and those already waiting, and flushes the probe.
    fn record_all(&mut self, first: Option<(Duration, Event)>, events: &mut EventStream) {
        let mut next = first.or_else(|| events.try_next());
        while let Some((at, event)) = next {
            self.record(at, &event);
            next = events.try_next();
        }
        if let Some(probe) = &self.probe {
            probe.flush();
        }
    }
}

async fn record(
    mut events: EventStream,
    mut sinks: Sinks,
    mut stopped: oneshot::Receiver<()>,
) -> (Option<SenderRecorder>, u64) {
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(first) => sinks.record_all(Some(first), &mut events),
                None => break,
            },
            _ = &mut stopped => {
                sinks.record_all(None, &mut events);
                break;
            }
        }
    }
    (sinks.flow, events.dropped())
}

/// Writes the folder in a thread apart from the tasks that pace packets.
pub async fn write(flows: Vec<MeasuredFlow>, path: &Path) -> Result<(), Failure> {
    let folder = path.to_owned();
    let write = move || {
        let mut run = measured_run(flows).map_err(|error| error.to_string())?;
        run.summary.run.commit = build::commit();
        FolderWriter::write(&run, MEASURED_NOTE, &folder).map_err(|error| error.to_string())
    };
    let written = spawn_blocking(move || caught(write));
    written.await??.map_err(Failure::Failed)?;
    terminal::status(&path.display().to_string());
    Ok(())
}

/// Creates the folder with this number, or with the next free one.
pub fn numbered_folder(folder: &Path, number: usize) -> Result<PathBuf, Failure> {
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
