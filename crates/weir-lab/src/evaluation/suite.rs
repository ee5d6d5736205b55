//! The suite: `suite.toml`, which says what is measured in which chapter, and its scenarios.

use super::EvaluationError;
use super::measure::MeasurePlan;
use crate::scenario::document::Step;
use crate::scenario::error::suggestion;
use crate::scenario::overrides::{parse_set, parse_with};
use crate::scenario::{Scenario, ScenarioError};
use crate::toml_file::TomlFile;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::mem::take;
use weir_proto::settings::shortened;

/// Chapters, their cases, and the measures that these name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    /// The heading.
    pub title: String,
    /// The measures by name.
    #[serde(rename = "measure")]
    pub(super) measures: BTreeMap<String, MeasurePlan>,
    /// The chapters in the order of the page.
    #[serde(rename = "chapter")]
    pub chapters: Vec<Chapter>,
}

/// A chapter of the RFC.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Chapter {
    /// Its name for options and files.
    pub id: String,
    /// Its sections in RFC 9743.
    pub section: String,
    /// Its heading.
    pub title: String,
    /// The measure that its figure shows.
    pub figure: String,
    /// What belongs to it and is not measured, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub untested: String,
    /// Its cases.
    #[serde(rename = "case", skip_serializing)]
    pub cases: Vec<Case>,
}

/// A scenario with values replaced, and what is measured in it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it is, in words.
    pub words: String,
    /// The file of its scenario.
    pub scenario: String,
    /// Values as `--set` has them, one each.
    #[serde(default)]
    pub set: Vec<String>,
    /// The flows that have the controller under evaluation.
    #[serde(default = "subject")]
    pub subject: Vec<String>,
    /// The controller of the others.
    #[serde(default = "cubic")]
    pub rival: String,
    /// Only marks make it what it is: a flow without ECN would not notice.
    #[serde(default)]
    pub needs_ecn: bool,
    /// The names of its measures.
    pub measures: Vec<String>,
}

fn subject() -> Vec<String> {
    vec!["subject".to_owned()]
}

fn cubic() -> String {
    "cubic".to_owned()
}

macro_rules! files {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("../../suites/rfc9743/", $file)))),*]
    };
}

/// The scenarios of the suite, compiled in.
const SCENARIOS: &[(&str, &str)] = files![
    "alone.toml",
    "among.toml",
    "beside.toml",
    "collapse.toml",
    "fading.toml",
    "incast.toml",
    "onset.toml",
    "realtime.toml",
    "satellite.toml",
    "far.toml",
    "short.toml",
    "wifi.toml",
];

const SUITE: &str = include_str!("../../suites/rfc9743/suite.toml");

impl Suite {
    /// The suite of RFC 9743.
    ///
    /// # Errors
    /// What is wrong with its file; a test makes sure that nothing is.
    pub fn rfc9743() -> Result<Self, EvaluationError> {
        Ok(Self::parse("suite.toml", SUITE)?)
    }

    /// Reads a suite; `file` is only used in errors.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let (mut suite, file): (Self, _) = TomlFile::read(file, text)?;
        for (name, measure) in &mut suite.measures {
            measure.check().map_err(|(key, wrong)| {
                let steps = [Step::Key("measure"), Step::Key(name), Step::Key(key)];
                file.key_error(&steps, key, wrong)
            })?;
        }
        let known: Vec<&str> = suite.measures.keys().map(String::as_str).collect();
        for (at, chapter) in suite.chapters.iter().enumerate() {
            let case_of = |case| {
                let chapter = [Step::Key("chapter"), Step::Index(at)];
                [chapter, [Step::Key("case"), Step::Index(case)]].concat()
            };
            for (number, case) in chapter.cases.iter().enumerate() {
                let mut names = case.measures.iter().enumerate();
                if let Some((index, name)) = names.find(|(_, name)| !known.contains(&name.as_str()))
                {
                    let message = format!("there is no measure \"{}\"", shortened(name));
                    let help = suggestion(name, "measures", &known);
                    let at = [Step::Key("measures"), Step::Index(index)];
                    let steps = [case_of(number).as_slice(), &at].concat();
                    let place = file.document.place(&steps);
                    return Err(file.document.error(place, message, Some(help)));
                }
            }
        }
        Ok(suite)
    }

    /// The same suite with these chapters only.
    ///
    /// # Errors
    /// A chapter that it does not have.
    pub fn only(mut self, ids: &[String]) -> Result<Self, EvaluationError> {
        let known: Vec<_> = self
            .chapters
            .iter()
            .map(|chapter| chapter.id.clone())
            .collect();
        if let Some(id) = ids.iter().find(|id| !known.contains(id)) {
            let known = known.join(", ");
            let message = format!("there is no chapter \"{id}\"; known are {known}");
            return Err(EvaluationError::Chapter(message));
        }
        if !ids.is_empty() {
            self.chapters.retain(|chapter| ids.contains(&chapter.id));
        }
        Ok(self)
    }

    /// The same suite for a controller whose packets are not ECN-capable: what it cannot notice
    /// counts as untested.
    #[must_use]
    pub(super) fn without_ecn(mut self) -> Self {
        for chapter in &mut self.chapters {
            let (needing, others) = take(&mut chapter.cases)
                .into_iter()
                .partition::<Vec<_>, _>(|case| case.needs_ecn);
            chapter.cases = others;
            let sentences = needing
                .iter()
                .map(|case| format!("{}, for want of ECN", case.words));
            let known = (!chapter.untested.is_empty()).then(|| take(&mut chapter.untested));
            chapter.untested = known
                .into_iter()
                .chain(sentences)
                .collect::<Vec<_>>()
                .join("; ");
        }
        self
    }

    /// The scenario of a case, whose flows still have the transports of its file.
    pub(super) fn scenario(case: &Case) -> Result<Scenario, EvaluationError> {
        let wrong =
            |message: String| EvaluationError::Suite(format!("case \"{}\": {message}", case.words));
        let text = SCENARIOS.iter().find(|(file, _)| *file == case.scenario);
        let (file, text) = text.ok_or_else(|| wrong(format!("there is no {}", case.scenario)))?;
        let mut overrides = Vec::new();
        for argument in &case.set {
            overrides.extend(parse_set(argument).map_err(|error| wrong(error.to_string()))?);
        }
        parse_with(text, file, &overrides).map_err(|error| wrong(error.to_string()))
    }
}
