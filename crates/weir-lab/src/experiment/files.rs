//! The source of an experiment's files: the binary itself, or a folder.

use super::{ExperimentError, Published};
use crate::scenario::error::suggestion;
use crate::scenario::files::read_text;
use std::collections::BTreeMap;
use std::path::Path;

/// The files of an experiment as text.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentFiles {
    /// The name of the experiment and of its folder.
    pub name: String,
    /// The text of `published.toml`.
    pub published: String,
    /// The scenario files by name.
    pub scenarios: BTreeMap<String, String>,
}

macro_rules! folder {
    ($name:literal, [$($file:literal),* $(,)?]) => {
        Embedded {
            name: $name,
            published: include_str!(concat!("../../experiments/", $name, "/published.toml")),
            scenarios: &[$((
                $file,
                include_str!(concat!("../../experiments/", $name, "/", $file)),
            )),*],
        }
    };
}

struct Embedded {
    name: &'static str,
    published: &'static str,
    scenarios: &'static [(&'static str, &'static str)],
}

/// The repository's experiments, compiled in so that `reproduce` works from any folder.
const EMBEDDED: &[Embedded] = &[
    folder!(
        "loopback",
        [
            "failing.toml",
            "always-idle.toml",
            "unclamped.toml",
            "clamp-4us.toml",
            "delay-1ms.toml",
            "delay-0.5ms.toml",
            "delay-1ms-always-idle.toml",
        ]
    ),
    folder!(
        "lossy-link",
        [
            "periodic-every.toml",
            "periodic-every-other.toml",
            "random-every.toml",
            "random-every-other.toml",
            "inet-now-every.toml",
            "inet-now-every-other.toml",
            "quinn-every.toml",
        ]
    ),
    folder!("oscillation", ["tbf.toml", "wifi.toml"]),
    folder!("deep-fifo", ["router.toml"]),
    folder!("cut-off", ["stream.toml"]),
    folder!("friendliness", ["dumbbell.toml"]),
    folder!("cubic-window", ["loss.toml"]),
    folder!("rtt-fairness", ["two-flows.toml"]),
    folder!("dualq-coupling", ["two-classes.toml"]),
    folder!("slow-start", ["exit.toml", "long.toml"]),
    folder!(
        "rfc8867",
        [
            "variable-one.toml",
            "variable-two.toml",
            "both-ways.toml",
            "three-flows.toml",
            "round-trips.toml",
            "long-tcp.toml",
            "short-tcp.toml",
            "pause-resume.toml",
        ]
    ),
    folder!("outage", ["paths.toml"]),
    folder!("sim-vs-wire", ["tbf.toml", "loopback.toml", "quic.toml"]),
    folder!("sim-vs-kernel", ["path.toml"]),
];

impl ExperimentFiles {
    /// The names of the experiments that are compiled in.
    pub fn names() -> Vec<&'static str> {
        EMBEDDED.iter().map(|folder| folder.name).collect()
    }

    /// The experiment of this name that is compiled in.
    ///
    /// # Errors
    /// If the name is unknown.
    pub fn embedded(name: &str) -> Result<Self, ExperimentError> {
        let folder = EMBEDDED.iter().find(|folder| folder.name == name);
        let folder = folder.ok_or_else(|| ExperimentError::Unknown {
            name: name.to_owned(),
            known: suggestion(name, "known are", &Self::names()),
        })?;
        Ok(Self {
            name: folder.name.to_owned(),
            published: folder.published.to_owned(),
            scenarios: folder
                .scenarios
                .iter()
                .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()))
                .collect(),
        })
    }

    /// True if some of its runs are in real time and need a testbed.
    ///
    /// # Errors
    /// If `published.toml` is invalid.
    pub fn needs_testbed(&self) -> Result<bool, ExperimentError> {
        let file = format!("{}/published.toml", self.name);
        Ok(Published::parse(&file, &self.published)?.needs_testbed())
    }

    /// The experiment in a folder: `published.toml` and the other `.toml` files beside it.
    ///
    /// # Errors
    /// If the folder or a file cannot be read.
    pub fn from_folder(folder: &Path) -> Result<Self, ExperimentError> {
        let failed = |path: &Path| {
            let path = path.display().to_string();
            |source| ExperimentError::File { path, source }
        };
        let read = |path: &Path| {
            let unread =
                |message| ExperimentError::Published(format!("{}: {message}", path.display()));
            read_text(path).map_err(unread)
        };
        let published = read(&folder.join("published.toml"))?;
        let mut scenarios = BTreeMap::new();
        for entry in std::fs::read_dir(folder).map_err(failed(folder))? {
            let path = entry.map_err(failed(folder))?.path();
            let Some(file) = path.file_name().and_then(|file| file.to_str()) else {
                continue;
            };
            if file != "published.toml" && path.extension().is_some_and(|end| end == "toml") {
                scenarios.insert(file.to_owned(), read(&path)?);
            }
        }
        let name = folder.file_name().and_then(|name| name.to_str());
        Ok(Self {
            name: name.unwrap_or("experiment").to_owned(),
            published,
            scenarios,
        })
    }
}
