//! `--trace DIR` of `serve` and `send`: a test in the form of a run's folder.

use crate::build;
use crate::exit::Failure;
use crate::terminal;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use weir_lab::run::{MEASURED_NOTE, MeasuredFlow, SenderRecorder, measured_run};
use weir_lab::trace::FolderWriter;
use weir_wire::EventStream;

/// Records the events of a sender's controller.
pub struct TraceRecorder {
    task: JoinHandle<(SenderRecorder, u64)>,
    stop: oneshot::Sender<()>,
}

impl TraceRecorder {
    /// Records the events that wait and those to come; in a thread of its own, because a sender at
    /// full speed occupies the thread of the runtime.
    pub fn start(events: EventStream, name: &str) -> Self {
        let (stop, stopped) = oneshot::channel();
        let flow = SenderRecorder::new(name);
        let runtime = Handle::current();
        let recorded = record(events, flow, stopped);
        let task = spawn_blocking(move || runtime.block_on(recorded));
        Self { task, stop }
    }

    /// Ends the recording; reports missing events on stderr.
    pub async fn finish(self, name: &str) -> Option<SenderRecorder> {
        // The recorder may have ended with its connection.
        let _ = self.stop.send(());
        let (flow, dropped) = self.task.await.ok()?;
        if dropped > 0 || flow.is_full() {
            let more = if flow.is_full() {
                ", and the last part"
            } else {
                ""
            };
            terminal::status(&format!(
                "{name}: the trace is without {dropped} events that came too fast{more}"
            ));
        }
        Some(flow)
    }
}

async fn record(
    mut events: EventStream,
    mut flow: SenderRecorder,
    mut stopped: oneshot::Receiver<()>,
) -> (SenderRecorder, u64) {
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some((at, event)) => flow.record(at, &event),
                None => break,
            },
            _ = &mut stopped => {
                while let Some((at, event)) = events.try_next() {
                    flow.record(at, &event);
                }
                break;
            }
        }
    }
    (flow, events.dropped())
}

/// Writes the folder, away from the tasks that pace packets.
pub async fn write(flows: Vec<MeasuredFlow>, path: &Path) -> Result<(), Failure> {
    let folder = path.to_owned();
    let written = spawn_blocking(move || {
        let mut run = measured_run(flows).map_err(|error| error.to_string())?;
        run.summary.run.commit = build::commit();
        FolderWriter::write(&run, MEASURED_NOTE, &folder).map_err(|error| error.to_string())
    });
    let written = written.await.map_err(|error| error.to_string());
    written
        .and_then(|written| written)
        .map_err(Failure::Failed)?;
    terminal::status(&path.display().to_string());
    Ok(())
}

/// Makes the folder with this number, or with the next that is free.
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
