//! A case: a scenario, and what a controller must do in it.

use super::check::Check;
use crate::scenario::{Scenario, parse};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Table, Value};
use weir_proto::time::Duration;
use weir_proto::units::{parse_duration, parse_rate};

/// Why a suite cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuiteError {
    /// There is no such suite.
    #[error("there is no suite \"{0}\"; name one of them (bbr), or a folder with cases")]
    Unknown(String),
    /// A file that cannot be read or written.
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
    /// A setting that is written wrongly.
    #[error("\"{0}\" is no setting; write KEY=VALUE with a key of the transport")]
    Setting(String),
    /// A controller under test that is written wrongly.
    #[error("\"{0}\" is no controller to test; write TRANSPORT:CONTROLLER, such as \"quic:bbr\"")]
    Controller(String),
}

/// A controller under test: `quic:bbr`.
#[derive(Clone, Debug, PartialEq)]
pub struct UnderTest {
    /// The kind of the transport: `quic`, `tcp` or `quinn`.
    pub transport: String,
    /// The controller's name in scenarios of that transport.
    pub controller: String,
    /// Other settings of the transport.
    settings: Table,
}

impl UnderTest {
    /// Reads `TRANSPORT:CONTROLLER`.
    ///
    /// # Errors
    /// A text of another form.
    pub fn parse(text: &str) -> Result<Self, SuiteError> {
        let parts = text.split_once(':');
        let known = parts.filter(|(transport, controller)| {
            ["quic", "tcp", "quinn"].contains(transport) && !controller.is_empty()
        });
        let (transport, controller) =
            known.ok_or_else(|| SuiteError::Controller(text.to_owned()))?;
        Ok(Self {
            transport: transport.to_owned(),
            controller: controller.to_owned(),
            settings: Table::new(),
        })
    }

    /// Sets a key of the transport: `bbr.beta=0.5`.
    ///
    /// # Errors
    /// A text without `=`.
    pub fn set(&mut self, text: &str) -> Result<(), SuiteError> {
        let wrong = || SuiteError::Setting(text.to_owned());
        let (path, value) = text.split_once('=').ok_or_else(wrong)?;
        let value = format!("value = {value}").parse::<Table>();
        let bare = Value::from(text.split_once('=').map_or("", |parts| parts.1));
        let value = value
            .ok()
            .and_then(|mut table| table.remove("value"))
            .unwrap_or(bare);
        let mut keys: Vec<&str> = path.split('.').collect();
        let last = keys.pop().filter(|key| !key.is_empty()).ok_or_else(wrong)?;
        let mut table = &mut self.settings;
        for key in keys {
            let entry = table.entry(key).or_insert_with(|| Table::new().into());
            table = entry.as_table_mut().ok_or_else(wrong)?;
        }
        table.insert(last.to_owned(), value);
        Ok(())
    }

    /// `TRANSPORT:CONTROLLER`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.transport, self.controller)
    }

    /// Octets of the IP and transport headers of a packet that the transport does not count.
    pub(super) fn header_octets(&self) -> f64 {
        if self.transport == "tcp" { 40.0 } else { 28.0 }
    }
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
        let under_test = UnderTest::parse("quic:bbr")?;
        case.scenario(&under_test, NEVER)?;
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

    /// The scenario with this controller, in which the change comes at `trigger`.
    pub(super) fn scenario(
        &self,
        under_test: &UnderTest,
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
        let own = self.spec.transport.get(&under_test.transport);
        let mut transport = own.cloned().unwrap_or_default();
        transport.extend(under_test.settings.clone());
        transport.insert("kind".into(), under_test.transport.clone().into());
        transport.insert("controller".into(), under_test.controller.clone().into());
        for (key, value) in ample(&under_test.transport) {
            transport.entry(*key).or_insert_with(|| (*value).into());
        }
        flow.insert("transport".into(), transport.into());
        let text = toml::to_string(&table).map_err(|error| self.error(error.to_string()))?;
        parse(&text, &format!("{}.toml", self.name)).map_err(|error| self.error(error.to_string()))
    }

    /// The bottleneck's rate in bits per second and the round-trip time in seconds.
    pub(super) fn path(&self) -> Result<(f64, f64), SuiteError> {
        let rate = parse_rate(&self.spec.rate).map_err(|error| self.error(error.to_string()))?;
        let rtt = parse_duration(&self.spec.rtt).map_err(|error| self.error(error.to_string()))?;
        Ok((rate.as_bps(), rtt.as_secs_f64()))
    }
}

/// Buffers that never limit the flow: the controller is under test, not flow control.
fn ample(transport: &str) -> &'static [(&'static str, &'static str)] {
    match transport {
        "tcp" => &[("receive_buffer", "200MB"), ("send_buffer", "100MB")],
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
