//! A case: a scenario, and what a controller must do in it.

use super::check::Check;
use crate::candidate::Candidate;
use crate::scenario::overrides::parse_with;
use crate::scenario::{Scenario, Transport};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Table, Value};
use weir_proto::time::Duration;
use weir_proto::units::{parse_duration, parse_rate};

/// Why a suite cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// There is no such suite.
    #[error("there is no suite \"{0}\"; name one of them (bbr), or a folder with cases")]
    Unknown(String),
    /// A file that cannot be read.
    #[error("{path}: {message}")]
    File {
        /// Its path.
        path: String,
        /// The reason.
        message: String,
    },
    /// A file that is no case.
    #[error("case {name}: {message}")]
    Case {
        /// The name of the case.
        name: String,
        /// What is wrong with it.
        message: String,
    },
    /// A controller that no suite can test.
    #[error("\"{0}\" cannot be tested; write quic, tcp or quinn before the controller's name")]
    Transport(String),
    /// A file of the report cannot be written.
    #[cfg(feature = "files")]
    #[error(transparent)]
    Report(#[from] crate::report::ReportError),
}

/// The moment at which something changes: a rehearsal without the change finds it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trigger {
    /// The state whose beginning it is.
    pub(super) state: String,
    /// Which visit of the state, from 1 on.
    #[serde(default = "first")]
    pub(super) visit: usize,
    /// When it is, for a controller without such states.
    pub(super) otherwise: String,
}

const fn first() -> usize {
    1
}

/// The table `[case]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    pub(super) title: String,
    /// Where the document has it.
    pub(super) source: String,
    /// What makes it happen here.
    pub(super) how: String,
    /// The bottleneck's rate at the beginning.
    pub(super) rate: String,
    /// The round-trip time without a queue.
    pub(super) rtt: String,
    /// Settings that only this transport has, by transport.
    #[serde(default)]
    pub(super) transport: BTreeMap<String, Table>,
    pub(super) trigger: Option<Trigger>,
    pub(super) check: Vec<Check>,
}

/// A case of a suite.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name, that of its file.
    pub name: String,
    pub(super) spec: Spec,
    text: String,
}

/// What stands in the file for the moment of the trigger, with a duration added or taken off:
/// `${trigger}`, `${trigger + 200ms}`, `${trigger - 5ms}`.
const PLACEHOLDER: &str = "${trigger";
/// The moment in a rehearsal: after every run.
const NEVER: Duration = Duration::from_secs(100_000);

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn parse(name: &str, text: &str) -> Result<Self, SuiteError> {
        let mut case = Self {
            name: name.to_owned(),
            spec: spec_of(name, text, NEVER)?,
            text: text.to_owned(),
        };
        case.scenario(None, NEVER)?;
        for check in &case.spec.check {
            check.validate().map_err(|message| case.error(message))?;
        }
        case.spec.check.retain(|check| !check.says.is_empty());
        Ok(case)
    }

    /// Its title.
    pub fn title(&self) -> &str {
        &self.spec.title
    }

    /// Where the document has it.
    pub fn source(&self) -> &str {
        &self.spec.source
    }

    pub(super) fn error(&self, message: String) -> SuiteError {
        SuiteError::Case {
            name: self.name.clone(),
            message,
        }
    }

    /// The checks, with the moment of the trigger.
    pub(super) fn spec_at(&self, trigger: Option<Duration>) -> Result<Spec, SuiteError> {
        spec_of(&self.name, &self.text, trigger.unwrap_or(NEVER))
    }

    /// The scenario with this controller, or the default one, in which the change comes at
    /// `trigger`.
    pub(super) fn scenario(
        &self,
        candidate: Option<&Candidate>,
        trigger: Duration,
    ) -> Result<Scenario, SuiteError> {
        let mut table = table_of(&self.name, &self.text, trigger)?;
        table.remove("case");
        let flow = table
            .get_mut("flow")
            .and_then(Value::as_array_mut)
            .and_then(|flows| flows.first_mut())
            .and_then(Value::as_table_mut);
        let flow = flow.ok_or_else(|| self.error("it has no flow".to_owned()))?;
        let name = flow.get("name").and_then(Value::as_str).unwrap_or_default();
        let overrides = candidate.map(|candidate| candidate.overrides(name));
        let kind = candidate.map_or(Ok("quic"), kind_of)?;
        let own = self.spec.transport.get(kind);
        let mut transport = own.cloned().unwrap_or_default();
        transport.insert("kind".into(), kind.into());
        for (key, value) in ample(kind) {
            transport.entry(*key).or_insert_with(|| (*value).into());
        }
        flow.insert("transport".into(), transport.into());
        let text = toml::to_string(&table).map_err(|error| self.error(error.to_string()))?;
        let file = format!("{}.toml", self.name);
        parse_with(&text, &file, &overrides.unwrap_or_default())
            .map_err(|error| self.error(error.to_string()))
    }

    /// The bottleneck's rate in bits per second and the round-trip time in seconds.
    pub(super) fn path(&self) -> Result<(f64, f64), SuiteError> {
        let rate = parse_rate(&self.spec.rate).map_err(|error| self.error(error.to_string()))?;
        let rtt = parse_duration(&self.spec.rtt).map_err(|error| self.error(error.to_string()))?;
        Ok((rate.as_bps(), rtt.as_secs_f64()))
    }
}

/// The kind of a candidate's transport, which has a window to test.
fn kind_of(candidate: &Candidate) -> Result<&'static str, SuiteError> {
    match candidate.transport {
        Transport::Quic(_) => Ok("quic"),
        Transport::Tcp(_) => Ok("tcp"),
        Transport::Quinn(_) => Ok("quinn"),
        Transport::Rtp(_) => Ok("rtp"),
        Transport::Dccp(_) | Transport::Udp(_) => {
            Err(SuiteError::Transport(candidate.name.clone()))
        }
    }
}

/// Buffers that never limit the flow: the controller is under test, not flow control.
fn ample(transport: &str) -> &'static [(&'static str, &'static str)] {
    match transport {
        "tcp" => &[("receive_buffer", "200MB"), ("send_buffer", "100MB")],
        "rtp" => &[],
        "quinn" => &[("stream_window", "12MB"), ("send_window", "100MB")],
        _ => &[
            ("initial_max_data", "200MB"),
            ("initial_max_stream_data", "200MB"),
        ],
    }
}

fn table_of(name: &str, text: &str, trigger: Duration) -> Result<Table, SuiteError> {
    let wrong = |message: String| SuiteError::Case {
        name: name.to_owned(),
        message,
    };
    let text = with_trigger(text, trigger).map_err(wrong)?;
    text.parse()
        .map_err(|error: toml::de::Error| wrong(error.to_string()))
}

fn spec_of(name: &str, text: &str, trigger: Duration) -> Result<Spec, SuiteError> {
    let wrong = |message: String| SuiteError::Case {
        name: name.to_owned(),
        message,
    };
    let mut table = table_of(name, text, trigger)?;
    let case = table
        .remove("case")
        .ok_or_else(|| wrong("it has no [case]".to_owned()))?;
    case.try_into()
        .map_err(|error: toml::de::Error| wrong(error.to_string()))
}

/// The text with the moment in the places that stand for it.
fn with_trigger(text: &str, trigger: Duration) -> Result<String, String> {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(PLACEHOLDER) {
        result.push_str(&rest[..start]);
        let after = &rest[start + PLACEHOLDER.len()..];
        let end = after
            .find('}')
            .ok_or_else(|| format!("\"{PLACEHOLDER}\" has no end; write \"}}\" behind it"))?;
        let moment = after[..end].trim();
        let (earlier, by) = match moment.strip_prefix('-') {
            Some(by) => (true, by),
            None => (false, moment.trim_start_matches('+')),
        };
        let by = match by.trim() {
            "" => Duration::ZERO,
            by => parse_duration(by).map_err(|error| error.to_string())?,
        };
        let moment = if earlier {
            trigger.saturating_sub(by)
        } else {
            trigger + by
        };
        result.push_str(&moment.as_nanos().to_string());
        result.push_str("ns");
        rest = &after[end + 1..];
    }
    result.push_str(rest);
    Ok(result)
}
