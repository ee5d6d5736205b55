//! The progress of this command for other programs: `weir lab` lists it. A command that ends within
//! [`PERIOD`] writes none, and no result depends on it.

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use weir_lab::run::LiveState;
use weir_lab::trace::ProgressFile;

/// The time before the file is written, and between two states in it.
const PERIOD: Duration = Duration::from_millis(250);

/// The progress of a command that writes into a folder.
pub struct CommandProgress {
    folder: PathBuf,
    command: &'static str,
    /// What it works on, such as a scenario.
    subject: String,
    state: Mutex<State>,
}

struct State {
    file: Option<ProgressFile>,
    written: Instant,
    live: Option<Value>,
}

impl CommandProgress {
    /// The progress of a command which works on `subject` and writes into `folder`.
    pub fn new(command: &'static str, subject: &Path, folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            command,
            subject: subject.display().to_string(),
            state: Mutex::new(State {
                file: None,
                written: Instant::now(),
                live: None,
            }),
        }
    }

    /// `done` of `total`, in `unit`: runs, or seconds of a run.
    pub fn advance(&self, done: f64, total: f64, unit: &str) {
        self.update(None, done, total, unit);
    }

    /// The state of a run, in seconds of it.
    pub fn show(&self, live: &LiveState) {
        let (at, end) = (live.at.as_secs_f64(), live.end.as_secs_f64());
        self.update(Some(live), at, end, "s");
    }

    fn update(&self, live: Option<&LiveState>, done: f64, total: f64, unit: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.written.elapsed() < PERIOD {
            return;
        }
        state.written = Instant::now();
        if let Some(live) = live {
            state.live = Some(live_document(live));
        }
        if state.file.is_none() {
            state.file = ProgressFile::create(&self.folder).ok();
        }
        let document = json!({
            "version": 1,
            "command": self.command,
            "subject": self.subject,
            "done": done,
            "total": total,
            "unit": unit,
            "live": state.live,
        });
        if let Some(file) = &state.file {
            // The command itself does not need its progress.
            let _ = file.write(&document.to_string());
        }
    }
}

/// The state of a run as JSON.
pub fn live_document(live: &LiveState) -> Value {
    let flows = live.flows.iter().map(|flow| {
        json!({
            "name": flow.name,
            "goodput_bps": flow.goodput_bps,
            "one_way_delay_s": flow.one_way_delay_s,
            "packets_lost": flow.packets_lost,
        })
    });
    let links = live.links.iter().map(|link| {
        json!({
            "name": link.name,
            "rate_bps": link.rate_bps,
            "queue_bytes": link.queue_bytes,
            "packets_dropped": link.packets_dropped,
        })
    });
    json!({
        "at_s": live.at.as_secs_f64(),
        "end_s": live.end.as_secs_f64(),
        "flows": flows.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "other_flows": live.other_flows,
    })
}
