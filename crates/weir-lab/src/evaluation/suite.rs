//! The suite: `suite.toml`, which says what is measured in which chapter, and its scenarios.

use super::EvaluationError;
use super::case::{Aspect, Case, Size};
use super::measure::MeasurePlan;
use super::paths::{OwnPaths, PathRange};
use crate::candidate::Candidate;
use crate::scenario::document::Step;
use crate::scenario::error::suggestion;
use crate::scenario::overrides::{parse_set, parse_with};
use crate::scenario::{Scenario, ScenarioError};
use crate::toml_file::TomlFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::mem::take;
use weir_proto::settings::shortened;
use weir_proto::units::UnitError;

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
    /// Limits that controllers of the registry are known to break, and why.
    #[serde(default)]
    pub(super) known: Vec<Known>,
    /// What of it is run.
    #[serde(skip)]
    pub(super) size: Size,
}

/// Why a controller of the registry breaks limits.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Known {
    /// The controllers, by name.
    pub(super) controllers: Vec<String>,
    /// The limits.
    pub(super) limits: Vec<String>,
    /// The reason, in words.
    pub(super) why: String,
}

/// A chapter of the RFC.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chapter {
    /// Its name for options and files.
    pub id: String,
    /// Its sections in RFC 9743.
    pub section: String,
    /// Its heading.
    pub title: String,
    /// What it is about.
    pub aspect: Aspect,
    /// The measure that its figure shows.
    pub figure: String,
    /// What belongs to it and is not measured, in words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub untested: String,
    /// Its cases.
    #[serde(rename = "case", default, skip_serializing)]
    #[schemars(skip)]
    pub cases: Vec<Case>,
    /// Ranges of paths, each of which is a case.
    #[serde(default, skip_serializing)]
    #[schemars(skip)]
    pub(super) paths: Vec<PathRange>,
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
    "attack.toml",
    "beside.toml",
    "cellular-evdo.toml",
    "cellular-lte.toml",
    "collapse.toml",
    "fading.toml",
    "far.toml",
    "incast.toml",
    "latecomer.toml",
    "many.toml",
    "onset.toml",
    "realtime.toml",
    "satellite.toml",
    "short.toml",
    "video.toml",
    "wifi.toml",
];

#[cfg(test)]
pub(super) fn scenario_files() -> Vec<&'static str> {
    SCENARIOS.iter().map(|(file, _)| *file).collect()
}

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
                check_limits(case, &file, &case_of(number))?;
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
        suite.chapters.sort_by_key(|chapter| chapter.aspect);
        Ok(suite)
    }

    /// The same suite with the cases of this size, over these paths where they are not empty.
    ///
    /// # Errors
    /// A path that nothing can be sent over.
    pub fn sized(mut self, size: Size, own: &OwnPaths) -> Result<Self, EvaluationError> {
        for chapter in &mut self.chapters {
            chapter.cases.retain(|case| case.size <= size);
            for range in take(&mut chapter.paths) {
                let cases = range.cases(size, own);
                let wrong = |error: UnitError| EvaluationError::Suite(error.to_string());
                chapter.cases.extend(cases.map_err(wrong)?);
            }
        }
        self.chapters.retain(|chapter| !chapter.cases.is_empty());
        self.size = size;
        Ok(self)
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

    /// What of the suite this controller can be evaluated with.
    pub(super) fn of(&self, subject: &Candidate) -> Cow<'_, Self> {
        if subject.uses_ecn() {
            Cow::Borrowed(self)
        } else {
            Cow::Owned(self.clone().without_ecn())
        }
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

    /// What tells its cases and their scenarios apart from those of another.
    pub(super) fn fingerprint(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for case in self.chapters.iter().flat_map(|chapter| &chapter.cases) {
            let text = SCENARIOS.iter().find(|(file, _)| *file == case.scenario);
            hasher.update(format!("{case:?}{text:?}").as_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    }

    /// Why a controller of the registry breaks a limit, if that is known.
    pub(super) fn reason(&self, controller: &str, limit: &str) -> Option<&str> {
        let has = |names: &[String], name| names.iter().any(|known| known == name);
        let mut known = self.known.iter();
        let known = known.find(|one| has(&one.controllers, controller) && has(&one.limits, limit));
        known.map(|one| one.why.as_str())
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

/// Looks whether the limits of a case and what it shows are of measures that it takes.
fn check_limits(case: &Case, file: &TomlFile, at: &[Step<'_>]) -> Result<(), ScenarioError> {
    let known: Vec<&str> = case.measures.iter().map(String::as_str).collect();
    let unknown = |name: &str, steps: &[Step<'_>]| {
        let message = format!("the case does not take the measure \"{}\"", shortened(name));
        let place = file.document.place(&[at, steps].concat());
        file.document
            .error(place, message, Some(suggestion(name, "measures", &known)))
    };
    for (index, name) in case.shown.iter().enumerate() {
        if !known.contains(&name.as_str()) {
            return Err(unknown(name, &[Step::Key("shown"), Step::Index(index)]));
        }
    }
    for (index, limit) in case.limits.iter().enumerate() {
        let limit_at = [Step::Key("limit"), Step::Index(index)];
        if !known.contains(&limit.measure.as_str()) {
            let steps = [&limit_at[..], &[Step::Key("measure")]].concat();
            return Err(unknown(&limit.measure, &steps));
        }
        if limit.at_most.is_none() && limit.at_least.is_none() {
            let message = format!("the limit \"{}\" has no bound", shortened(&limit.id));
            let place = file.document.place(&[at, &limit_at[..]].concat());
            let help = "write at_most or at_least".to_owned();
            return Err(file.document.error(place, message, Some(help)));
        }
    }
    Ok(())
}
