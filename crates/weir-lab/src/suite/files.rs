//! Where a suite's files come from: the binary itself, or a folder.

use super::case::{Case, SuiteError};
use crate::scenario::error::suggestion;
#[cfg(feature = "files")]
use crate::scenario::files::read_text;

/// The cases of a suite, and what is common to them.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Its name, that of its folder.
    pub name: String,
    /// The cases in the order of their names.
    pub cases: Vec<Case>,
}

macro_rules! cases {
    ($suite:literal, [$($file:literal),* $(,)?]) => {
        &[$((
            $file,
            include_str!(concat!("../../suites/", $suite, "/", $file, ".toml")),
        )),*]
    };
}

/// The cases of BBR's draft, compiled in so that they run from any folder.
const BBR: &[(&str, &str)] = cases!(
    "bbr",
    [
        "01-startup-plateau",
        "02-startup-loss-app-limited",
        "03-drain-inflight",
        "04-drain-time",
        "05-up-plateau",
        "06-up-loss-app-limited",
        "07-app-limited-stays",
        "07b-up-app-limited-stays",
        "08-down-inflight",
        "08b-down-headroom",
        "09-down-max-time",
        "10-probe-rtt",
        "11-probe-rtt-skipped",
        "12-startup-aggregation",
        "13-cruise-aggregation",
        "14-sub-packet-bdp",
        "15-bandwidth-up",
        "16-bandwidth-down",
        "17-policer",
        "18-spurious-recovery",
        "19-spurious-timeout",
        "20-probe-rtt-in-startup",
        "21-up-loss-longterm",
        "22-refill-app-limited",
        "23-probe-wait",
        "24-min-rtt-expiry",
        "25-aggregation-ends",
        "26-startup-loss-ranges",
        "27-loss-below-threshold",
        "28-slow-growth",
        "29-reno-rounds",
        "30-probe-rtt-round",
        "31-bandwidth-up-bounded",
        "32-loss-above-threshold",
        "33-precautionary-probe",
        "34-headroom",
        "35-cruise-loss",
        "36-pause-in-up",
        "37-pause-in-probe-rtt",
        "38-timeout",
        "39-spurious-in-startup",
        "40-quantum",
        "41-small-window-losses",
        "42-least-bound",
        "43-startup-loss-share",
        "44-up-window",
        "45-wait-from-down",
        "46-down-losses",
        "47-reno-small-window",
        "48-startup-through-losses",
        "49-timeout-in-startup",
        "50-spurious-in-up",
        "51-filter-cycles",
        "52-pauses-in-startup",
        "53-least-rtt-stamp",
        "54-up-baseline",
        "55-longterm-falls",
        "56-refill-losses",
        "57-long-round-trip",
        "58-undo-raises",
        "59-undo-after-growth",
        "60-undo-once",
        "61-undo-in-probe-rtt",
        "62-undo-of-up-in-probe-rtt",
        "63-aggregation-at-probe-rtt",
        "64-app-limited-rounds",
        "65-precautionary-lost",
        "66-recovery-renewed",
        "67-small-flight-bound",
        "68-startup-aggregation-round",
        "69-rounds-drawn",
        "70-undo-in-cruise",
        "71-undo-in-round",
    ]
);

impl Suite {
    /// The names of the suites that are compiled in.
    pub const NAMES: [&'static str; 1] = ["bbr"];

    /// The suite of this name that is compiled in.
    ///
    /// # Errors
    /// An unknown name.
    pub fn embedded(name: &str) -> Result<Self, SuiteError> {
        if name != "bbr" {
            let known = suggestion(name, "suites", &Self::NAMES);
            return Err(SuiteError::Unknown(name.to_owned(), known));
        }
        let cases = BBR
            .iter()
            .map(|(name, text)| Case::parse(name, &format!("{name}.toml"), text));
        Ok(Self {
            name: name.to_owned(),
            cases: cases.collect::<Result<_, _>>()?,
        })
    }

    /// The cases on each of these paths; without rates on paths of their own rates, and so on.
    ///
    /// # Errors
    /// A rate or time that cannot be read or is zero.
    pub fn on_paths(&self, rates: &[String], rtts: &[String]) -> Result<Self, SuiteError> {
        let each = |values: &[String]| -> Vec<Option<String>> {
            match values {
                [] => vec![None],
                values => values.iter().cloned().map(Some).collect(),
            }
        };
        let (rates, rtts) = (each(rates), each(rtts));
        let mut cases = Vec::new();
        for case in &self.cases {
            for rate in &rates {
                for rtt in &rtts {
                    cases.push(case.at(rate.as_deref(), rtt.as_deref())?);
                }
            }
        }
        Ok(Self {
            name: self.name.clone(),
            cases,
        })
    }

    /// The suite in a folder: every `.toml` file is a case.
    ///
    /// # Errors
    /// A file that cannot be read, or is no case.
    #[cfg(feature = "files")]
    pub fn from_folder(folder: &std::path::Path) -> Result<Self, SuiteError> {
        let failed = |source: std::io::Error| SuiteError::File {
            path: folder.display().to_string(),
            message: source.to_string(),
        };
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|ending| ending == "toml") {
                paths.push(path);
            }
        }
        if paths.is_empty() {
            return Err(SuiteError::File {
                path: folder.display().to_string(),
                message: "the folder has no case, expected files that end in .toml".to_owned(),
            });
        }
        paths.sort();
        let cases = paths.iter().map(|path| {
            let text = read_text(path).map_err(|message| SuiteError::File {
                path: path.display().to_string(),
                message,
            })?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            Case::parse(&name, &path.display().to_string(), &text)
        });
        Ok(Self {
            name: folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            cases: cases.collect::<Result<_, _>>()?,
        })
    }
}
