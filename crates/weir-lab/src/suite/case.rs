//! A case: a scenario, and what a controller must do in it.

use super::check::Check;
use super::evidence::STATES;
use super::path::{Paths, scale, scale_table};
use crate::candidate::Candidate;
use crate::run::columns::FLOW;
use crate::scenario::document::{Document, Step};
use crate::scenario::expectation::{CaseWords, Moment, Ratio};
use crate::scenario::overrides::scenario_with;
use crate::scenario::{Expectation, Scenario, ScenarioError, Transport};
use crate::table::{ColumnSpec, ValueKind};
use crate::toml_file::TomlFile;
use serde::Deserialize;
use std::collections::BTreeMap;
use weir_proto::settings::{Diagnostic, Place, Raw, Spanned, Table};
use weir_proto::time::Duration;
use weir_proto::units::{UnitError, parse_duration, parse_rate};

/// Why a suite cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// There is no such suite.
    #[error(
        "there is no suite \"{0}\" and no folder of this name with cases; {1}; what RFC 9743 asks \
         is weir evaluate"
    )]
    Unknown(String, String),
    /// A file that cannot be read.
    #[error("{path}: {message}")]
    File {
        /// Its path.
        path: String,
        /// The reason.
        message: String,
    },
    /// A file that is no case, with the place.
    #[error(transparent)]
    Invalid(Box<ScenarioError>),
    /// A case that cannot be run.
    #[error("case {name}: {message}")]
    Case {
        /// The name of the case.
        name: String,
        /// What is wrong with it.
        message: String,
    },
    /// A path that cannot be.
    #[error("path: {0}")]
    Path(String),
    /// A controller that no suite can test.
    #[error("\"{0}\" cannot be tested; write quic, tcp, quinn or noq before the controller's name")]
    Transport(String),
    /// A file of the report cannot be written.
    #[cfg(feature = "files")]
    #[error(transparent)]
    Report(#[from] crate::report::ReportError),
}

impl From<ScenarioError> for SuiteError {
    fn from(error: ScenarioError) -> Self {
        Self::Invalid(Box::new(error))
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
    #[serde(default, rename = "transport")]
    _transport: BTreeMap<TransportKind, toml::Table>,
    pub(super) trigger: Option<Trigger>,
    /// On which other paths it holds.
    pub(super) paths: Option<Paths>,
    check: Vec<CheckSpec>,
}

/// The transports that can be tested.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
enum TransportKind {
    Quic,
    Tcp,
    Quinn,
    Noq,
    Rtp,
}

impl TransportKind {
    const fn word(&self) -> &'static str {
        match self {
            Self::Quic => "quic",
            Self::Tcp => "tcp",
            Self::Quinn => "quinn",
            Self::Noq => "noq",
            Self::Rtp => "rtp",
        }
    }
}

/// One entry of `[[case.check]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckSpec {
    /// What must be so, in words.
    says: String,
    /// The section that says so.
    #[serde(default)]
    section: String,
    /// The same as an expression.
    expect: String,
    /// The only transports of which it is so; empty for all.
    #[serde(default)]
    transport: Vec<TransportKind>,
    /// True if it is so on the case's own path alone.
    #[serde(default)]
    own_path: bool,
}

/// The file of a case; the rest of it is the scenario.
#[derive(Deserialize)]
struct CaseFile {
    case: Spec,
}

/// A case of a suite.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name, that of its file.
    pub name: String,
    pub(super) spec: Spec,
    pub(super) checks: Vec<Check>,
    /// The bottleneck's rate in bits per second and the round-trip time in seconds.
    pub(super) path: (f64, f64),
    /// When the change comes for a controller without the states of the trigger.
    pub(super) otherwise: Option<Duration>,
    /// Why it says nothing of this path.
    pub(super) excluded: Option<String>,
    pub(super) document: Document,
}

/// What stands in the scenario for the moment of the trigger, with a duration added or taken off:
/// `${trigger}`, `${trigger + 200ms}`, `${trigger - 5ms}`.
const PLACEHOLDER: &str = "${";
/// The moment in a rehearsal: after every run.
pub(super) const NEVER: Duration = Duration::from_secs(100_000);

impl Case {
    /// Reads a case; `file` is only used in errors.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Self, SuiteError> {
        let (CaseFile { case: spec }, file) = TomlFile::read(file, text)?;
        let unit = |keys: &[&str], error: UnitError| {
            let steps: Vec<_> = ["case"]
                .iter()
                .chain(keys)
                .map(|key| Step::Key(key))
                .collect();
            file.key_error(&steps, &keys.join("."), error.into())
        };
        let rate = parse_rate(&spec.rate).map_err(|error| unit(&["rate"], error))?;
        let rtt = parse_duration(&spec.rtt).map_err(|error| unit(&["rtt"], error))?;
        if let Some((key, wrong)) = spec.paths.as_ref().and_then(Paths::wrong) {
            let wrong = Diagnostic::new(format!("{key}: {wrong}"), "write [LEAST, GREATEST]");
            let steps = [Step::Key("case"), Step::Key("paths"), Step::Key(key)];
            return Err(file.key_error(&steps, "paths", wrong).into());
        }
        let trigger = spec.trigger.as_ref();
        let otherwise = trigger.map(|trigger| parse_duration(&trigger.otherwise));
        let otherwise = otherwise.transpose();
        let otherwise = otherwise.map_err(|error| unit(&["trigger", "otherwise"], error))?;
        let case = Self {
            name: name.to_owned(),
            checks: checks(&spec, &file)?,
            spec,
            path: (rate.as_bps(), rtt.as_secs_f64()),
            otherwise,
            excluded: None,
            document: file.document,
        };
        case.scenario(None, NEVER)?;
        Ok(case)
    }

    /// The case on a path of this rate and round-trip time; `None` leaves one as it is.
    ///
    /// # Errors
    /// A rate or time that cannot be read or is zero.
    pub(super) fn at(&self, rate: Option<&str>, rtt: Option<&str>) -> Result<Self, SuiteError> {
        let wrong = |error: UnitError| SuiteError::Path(error.to_string());
        let mut case = self.clone();
        if let Some(rate) = rate {
            case.path.0 = parse_rate(rate).map_err(wrong)?.as_bps();
        }
        if let Some(rtt) = rtt {
            case.path.1 = parse_duration(rtt).map_err(wrong)?.as_secs_f64();
        }
        if case.path.0 <= 0.0 || case.path.1 <= 0.0 {
            return Err(SuiteError::Path(
                "a path has a rate and a time above zero".to_owned(),
            ));
        }
        for part in [rate, rtt].into_iter().flatten() {
            case.name = format!("{}-{part}", case.name);
        }
        if case.path == self.path {
            return Ok(case);
        }
        case.excluded = match &case.spec.paths {
            Some(paths) => paths.excludes(case.path),
            None => Some("it holds on its own path alone".to_owned()),
        };
        let ratio = Ratio {
            rate: case.path.0 / self.path.0,
            time: case.path.1 / self.path.1,
        };
        case.otherwise = case.otherwise.map(|time| time.mul_f64(ratio.time));
        case.checks.retain(|check| !check.own_path);
        for check in &mut case.checks {
            check.expect.scale(ratio);
        }
        for entry in &mut case.document.root.entries {
            if entry.key != "case" {
                scale(&mut entry.value, ratio);
            }
        }
        case.transports(|own| scale_table(own, ratio));
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

    /// Changes the settings that transports have of their own.
    pub(super) fn transports(&mut self, change: impl FnOnce(&mut Table)) {
        let mut table = &mut self.document.root;
        for key in ["case", "transport"] {
            let mut entries = table.entries.iter_mut();
            let entry = entries.find(|entry| entry.key == key);
            let Some(Raw::Table(inner)) = entry.map(|entry| &mut entry.value.raw) else {
                return;
            };
            table = inner;
        }
        change(table);
    }

    pub(super) fn error(&self, message: String) -> SuiteError {
        SuiteError::Case {
            name: self.name.clone(),
            message,
        }
    }

    /// The scenario with this controller, or the default one, in which the change comes at
    /// `trigger`.
    pub(super) fn scenario(
        &self,
        candidate: Option<&Candidate>,
        trigger: Duration,
    ) -> Result<Scenario, SuiteError> {
        let mut document = self.document.clone();
        let of_case = self.document.root.get("case");
        document.root.entries.retain(|entry| entry.key != "case");
        let kind = candidate.map_or(Ok("quic"), kind_of)?;
        let own = of_case.and_then(|case| {
            let transports = case.value.raw.as_table()?.get("transport")?;
            transports
                .value
                .raw
                .as_table()?
                .get(kind)?
                .value
                .raw
                .as_table()
        });
        let flow = first_flow(&mut document.root)
            .ok_or_else(|| self.error("it has no flow".to_owned()))?;
        let overrides = candidate.map(|candidate| {
            let name = flow.get("name").and_then(|name| name.value.raw.as_text());
            candidate.overrides(name.unwrap_or_default())
        });
        let transport = transport(kind, own.cloned().unwrap_or_default());
        flow.entries.retain(|entry| entry.key != "transport");
        flow.put("transport", Raw::Table(transport));
        let trigger = self.spec.trigger.as_ref().map(|_| trigger);
        at_trigger(&mut document.root, trigger)
            .map_err(|(place, diagnostic)| self.document.diagnosed(place, diagnostic))?;
        let scenario = scenario_with(document, &overrides.unwrap_or_default());
        Ok(scenario?)
    }
}

/// The words that the checks of a case know; `None` without a flow that has a name.
fn words(document: &Document, has_trigger: bool) -> Option<CaseWords> {
    let Raw::Array(flows) = &document.root.get("flow")?.value.raw else {
        return None;
    };
    let name = flows.first()?.raw.as_table()?.get("name")?;
    let columns = FLOW.iter().map(ColumnSpec::info);
    let numbers = columns.filter(|column| column.kind != ValueKind::Word);
    Some(CaseWords {
        flow: name.value.raw.as_text()?.to_owned(),
        columns: numbers.map(|column| (column.name, column.unit)).collect(),
        states: STATES.to_vec(),
        has_trigger,
    })
}

fn first_flow(root: &mut Table) -> Option<&mut Table> {
    let mut entries = root.entries.iter_mut();
    match &mut entries.find(|entry| entry.key == "flow")?.value.raw {
        Raw::Array(flows) => match &mut flows.first_mut()?.raw {
            Raw::Table(flow) => Some(flow),
            _ => None,
        },
        _ => None,
    }
}

/// The settings of a transport, with buffers that never limit the flow.
fn transport(kind: &str, mut own: Table) -> Table {
    for (key, value) in ample(kind).iter().chain(&[("kind", kind)]) {
        if own.get(key).is_none() {
            own.put(key, Raw::Text((*value).to_owned()));
        }
    }
    own
}

fn checks(spec: &Spec, file: &TomlFile) -> Result<Vec<Check>, ScenarioError> {
    let words = words(&file.document, spec.trigger.is_some()).ok_or_else(|| {
        let help = "write [[flow]] with name, from and to";
        let without_flow = Diagnostic::new("the case has no flow with a name", help);
        file.document.diagnosed(Place::default(), without_flow)
    })?;
    let checks = spec.check.iter().enumerate().map(|(index, check)| {
        let expect = Expectation::parse_case(&check.expect, &words).map_err(|diagnostic| {
            let check = [Step::Key("case"), Step::Key("check"), Step::Index(index)];
            file.key_error(
                &[&check[..], &[Step::Key("expect")]].concat(),
                "expect",
                diagnostic,
            )
        })?;
        Ok(Check {
            says: check.says.clone(),
            section: check.section.clone(),
            expect,
            transports: check.transport.iter().map(TransportKind::word).collect(),
            own_path: check.own_path,
        })
    });
    checks.collect()
}

/// The kind of a candidate's transport, which has a window to test.
pub(super) fn kind_of(candidate: &Candidate) -> Result<&'static str, SuiteError> {
    match candidate.transport {
        Transport::Quic(_) => Ok("quic"),
        Transport::Tcp(_) => Ok("tcp"),
        Transport::Quinn(_) => Ok("quinn"),
        Transport::Noq(_) => Ok("noq"),
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
        "quinn" | "noq" => &[("stream_window", "12MB"), ("send_window", "100MB")],
        _ => &[
            ("initial_max_data", "200MB"),
            ("initial_max_stream_data", "200MB"),
        ],
    }
}

/// Puts the moment, if the case has one, in the places that stand for it.
fn at_trigger(table: &mut Table, trigger: Option<Duration>) -> Result<(), (Place, Diagnostic)> {
    let mut entries = table.entries.iter_mut();
    entries.try_for_each(|entry| value_at_trigger(&mut entry.value, trigger))
}

fn value_at_trigger(
    value: &mut Spanned,
    trigger: Option<Duration>,
) -> Result<(), (Place, Diagnostic)> {
    match &mut value.raw {
        Raw::Table(table) => at_trigger(table, trigger),
        Raw::Array(list) => {
            let mut values = list.iter_mut();
            values.try_for_each(|value| value_at_trigger(value, trigger))
        }
        Raw::Text(text) => {
            let Some(moment) = text.strip_prefix(PLACEHOLDER) else {
                return Ok(());
            };
            let time = moment.strip_suffix('}').ok_or_else(|| {
                let message = format!("\"{text}\" has no end");
                (
                    value.place,
                    Diagnostic::new(message, "write \"}\" behind it"),
                )
            })?;
            let moment = Moment::parse(time, trigger.is_some());
            let moment = moment.map_err(|wrong| (value.place, wrong))?;
            *text = format!("{}ns", moment.time(trigger.unwrap_or(NEVER)).as_nanos());
            Ok(())
        }
        _ => Ok(()),
    }
}
