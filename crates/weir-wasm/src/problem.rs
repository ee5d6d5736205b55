//! What is wrong with a scenario, with its place in the text.

use serde::Serialize;
use weir_lab::lint::Finding;
use weir_lab::scenario::{ScenarioError, TextSpan, place_of};

/// How much a problem matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// The scenario cannot be run.
    Error,
    /// It can be run, and lint has something to say.
    Remark,
}

/// `Problem` of `web/src/engine/types.ts`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Problem {
    severity: Severity,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
}

impl Problem {
    /// The error of a reader.
    pub(crate) fn of_error(error: &ScenarioError) -> Self {
        let (end_line, end_column) = error.end();
        Self {
            severity: Severity::Error,
            message: error.message.clone(),
            help: error.help.clone(),
            rule: None,
            path: None,
            line: error.line,
            column: error.column,
            end_line,
            end_column,
        }
    }

    /// A remark of lint about this text.
    pub(crate) fn of_finding(finding: Finding, toml: &str) -> Self {
        let nowhere = TextSpan {
            start: (1, 1),
            end: (1, 1),
        };
        let place = place_of(toml, &finding.path).unwrap_or(nowhere);
        Self {
            severity: Severity::Remark,
            message: finding.message,
            help: Some(finding.help),
            rule: Some(finding.rule),
            path: Some(finding.path),
            line: place.start.0,
            column: place.start.1,
            end_line: place.end.0,
            end_column: place.end.1,
        }
    }
}

/// Why something failed, as JSON: `{ "message", "source", "problem" }`, the last two for an error
/// that has a place.
#[derive(Debug, Serialize)]
struct Failure {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// A failure without a place.
pub(crate) fn failed(message: impl Into<String>) -> String {
    json(&Failure {
        message: message.into(),
        source: None,
        problem: None,
    })
}

/// The failure of a scenario.
pub(crate) fn wrong(error: &ScenarioError) -> String {
    json(&Failure {
        message: error.to_string(),
        source: Some(error.file.clone()),
        problem: Some(Problem::of_error(error)),
    })
}

/// As JSON; what this crate gives has text keys, so that it never fails.
pub(crate) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
