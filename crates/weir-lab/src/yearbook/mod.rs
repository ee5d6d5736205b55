//! The yearbook: many controllers over their transports, each by the evaluation that RFC 9743 asks
//! for and by the cases of BBR's draft, as one dated page with a matrix of controllers and
//! chapters, safety first.
//!
//! Each controller stands beside CUBIC over the same transport with the same ECN, whose runs are
//! made once. A cell links to the chapter in the controller's own page and to a qlog file: the run
//! with seed 1 of the chapter's first case, or of the first one that breaks a safety limit.

mod page;
mod qlog;
#[cfg(test)]
mod tests;

use crate::candidate::Candidate;
use crate::evaluation::{
    Chapter, ChapterResult, Evaluation, EvaluationError, Options as EvaluationOptions, Size, Suite,
    evaluate, record,
};
use crate::report::{ReportError, ReportFolder};
use crate::run::TransportRegistry;
use crate::scenario::{ForeignStack, Transport};
use crate::suite::{Suite as CaseSuite, SuiteError, run_suite};
use crate::verdict::{Outcome, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use thiserror::Error;
use weir_proto::cc::window;

/// The controller beside which the others stand.
const REFERENCE: &str = "cubic";

/// Why a yearbook could not be made. For people: lower case, no full stop.
#[derive(Debug, Error)]
pub enum YearbookError {
    /// An evaluation failed.
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    /// A case of BBR's draft failed to run.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// A file cannot be written.
    #[error(transparent)]
    Report(#[from] ReportError),
}

/// What a yearbook is made with.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Transports that are made elsewhere.
    pub registry: TransportRegistry<'a>,
    /// How much of the evaluation is run.
    pub size: Size,
    /// Only these chapters of it; all if empty.
    pub chapters: &'a [String],
    /// Seeds of each case of the evaluation.
    pub seeds: u32,
    /// Whether the cases of BBR's draft are run.
    pub cases: bool,
    /// Set to end the run under way with an error.
    pub cancel: Option<&'a AtomicBool>,
    /// Called before each controller with its name, how many are done, and of how many.
    pub progress: &'a dyn Fn(&str, usize, usize),
}

/// When and by which program a yearbook was made.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Imprint {
    /// The date, as YYYY-MM-DD.
    pub date: String,
    /// The version of the program.
    pub version: String,
    /// The commit of its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Controllers beside each other. Serialises to the same bytes each time.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Yearbook {
    /// When and by which program it was made.
    pub imprint: Imprint,
    /// How much of the evaluation was run.
    pub size: Size,
    /// Seeds of each case.
    pub seeds: u32,
    /// The chapters of the evaluation, safety first.
    pub chapters: Vec<Chapter>,
    /// The controllers in the order in which they were named.
    pub entries: Vec<Entry>,
}

/// A controller.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The controller with its transport: `tcp:cubic`.
    pub controller: String,
    /// The folder of its pages, below that of the yearbook.
    pub folder: String,
    /// The controller beside which it stands; none for that one itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// What it does that is not safe, in words, each with its section of RFC 9743.
    pub faults: Vec<String>,
    /// Its chapters, in the order of the yearbook's; without those that do not apply to it.
    pub cells: Vec<Cell>,
    /// The cases of BBR's draft; none over a transport without a choice of window controllers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cases: Option<CaseCount>,
}

/// A controller in a chapter.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The chapter's name.
    pub chapter: String,
    /// Safety limits that were tested.
    pub limits: usize,
    /// Those that it breaks.
    pub broken: usize,
    /// Measures that are better than the reference's by more than chance and a tenth.
    pub better: usize,
    /// Measures that are worse, or have no value where the reference's has one.
    pub worse: usize,
    /// Measures that are alike.
    pub alike: usize,
    /// The words of the case whose run is recorded.
    pub recorded: String,
    /// The qlog files of that run, in the controller's folder; none if the run has no flow with a
    /// trace.
    pub qlog: Vec<String>,
}

/// How many cases of a suite came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseCount {
    /// All cases.
    pub all: usize,
    /// Those that it passes.
    pub passed: usize,
    /// Those that it fails; the others say nothing of this controller.
    pub failed: usize,
}

/// All window controllers over TCP and QUIC, the CCIDs of DCCP, and the own controllers of these
/// stacks of others.
pub fn all_controllers(stacks: &[ForeignStack]) -> Vec<String> {
    let mut all = Vec::new();
    for transport in ["tcp", "quic"] {
        all.extend(window::names().map(|name| format!("{transport}:{name}")));
    }
    all.extend([2, 3, 4].map(|ccid| format!("dccp:{ccid}")));
    for stack in stacks {
        let own = stack.controllers().into_iter();
        all.extend(own.map(|own| format!("{}:{}", stack.name(), own.word)));
    }
    all
}

/// Evaluates the controllers one after the other, writes the pages of each when it is done, and
/// then the page of the yearbook. Returns it with the path of its page.
///
/// # Errors
/// A run that fails, or a file that cannot be written.
pub fn make_yearbook(
    candidates: &[Candidate],
    imprint: Imprint,
    out: &Path,
    options: &Options<'_>,
) -> Result<(Yearbook, PathBuf), YearbookError> {
    let suite = Suite::rfc9743()?.sized(options.size, &<_>::default())?;
    let suite = suite.only(options.chapters)?;
    let cases = CaseSuite::embedded("bbr")?;
    let cases = options.cases.then_some(&cases);
    let candidates = with_references(candidates)?;
    let folder = ReportFolder::create(out)?;
    let mut references = BTreeMap::new();
    let mut entries = Vec::new();
    for (done, (candidate, reference)) in candidates.iter().enumerate() {
        (options.progress)(&candidate.name, done, candidates.len());
        let alone = EvaluationOptions {
            registry: options.registry,
            beside: Some(&[]),
            seeds: options.seeds,
            cancel: options.cancel,
            ..EvaluationOptions::default()
        };
        let evaluation = evaluate(&suite, candidate, &alone)?;
        let beside = reference.as_ref().and_then(|name| references.get(name));
        let evaluation = match beside {
            None => {
                references.insert(candidate.name.clone(), evaluation.clone());
                evaluation
            }
            // Both have the cases of controllers with the same ECN, and the same seeds.
            Some(reference) => evaluation
                .with(reference, "")
                .map_err(|error| EvaluationError::Suite(error.to_string()))?,
        };
        let maker = EntryMaker {
            candidate,
            evaluation: &evaluation,
            suite: &suite,
            folder: out.join(folder_of(&candidate.name)),
            options,
        };
        entries.push(maker.make(reference.clone(), cases)?);
    }
    let yearbook = Yearbook {
        imprint,
        size: options.size,
        seeds: options.seeds,
        chapters: suite.chapters,
        entries,
    };
    let page = folder.page(&yearbook.json(), &yearbook.html())?;
    Ok((yearbook, page))
}

/// Each controller with the name of its reference, whose row comes before those that need it; none
/// for a reference itself.
fn with_references(
    candidates: &[Candidate],
) -> Result<Vec<(Candidate, Option<String>)>, EvaluationError> {
    let mut rows: Vec<(Candidate, Option<String>)> = Vec::new();
    for candidate in candidates {
        let reference = candidate.standard(REFERENCE)?;
        let known = |row: &(Candidate, Option<String>)| row.0.transport == reference.transport;
        if !rows.iter().any(known) {
            rows.push((reference.clone(), None));
        }
        if candidate.transport != reference.transport {
            rows.push((candidate.clone(), Some(reference.name)));
        }
    }
    Ok(rows)
}

/// The folder of a controller's pages.
fn folder_of(controller: &str) -> String {
    controller.replace([':', ',', '=', '/', '\\'], "-")
}

/// What the pages of a controller are made from.
struct EntryMaker<'a> {
    candidate: &'a Candidate,
    evaluation: &'a Evaluation,
    suite: &'a Suite,
    folder: PathBuf,
    options: &'a Options<'a>,
}

impl EntryMaker<'_> {
    fn make(
        &self,
        reference: Option<String>,
        cases: Option<&CaseSuite>,
    ) -> Result<Entry, YearbookError> {
        self.evaluation.write(&self.folder)?;
        let folder = ReportFolder::create(&self.folder)?;
        let cells = self.evaluation.chapters.iter();
        let cells = cells.map(|chapter| self.cell(chapter, &folder));
        Ok(Entry {
            controller: self.candidate.name.clone(),
            folder: folder_of(&self.candidate.name),
            reference,
            faults: self.evaluation.faults(),
            cells: cells.collect::<Result<_, _>>()?,
            cases: cases.map(|cases| self.cases(cases)).transpose()?.flatten(),
        })
    }

    fn cell(&self, chapter: &ChapterResult, folder: &ReportFolder) -> Result<Cell, YearbookError> {
        let limits: Vec<_> = chapter.cases.iter().flat_map(|case| &case.limits).collect();
        let mut numbered = chapter.cases.iter().enumerate();
        let breaks = numbered.find(|(_, case)| case.limits.iter().any(|one| one.fault.is_some()));
        let number = breaks.map_or(0, |(number, _)| number);
        let id = &chapter.chapter.id;
        let recorded = chapter.cases.get(number).map(|case| case.words.clone());
        Ok(Cell {
            chapter: id.clone(),
            limits: limits.len(),
            broken: limits.iter().filter(|one| one.fault.is_some()).count(),
            better: chapter.count(0, Verdict::Better),
            worse: chapter.count(0, Verdict::Worse) + chapter.count(0, Verdict::Missing),
            alike: chapter.count(0, Verdict::Alike),
            recorded: recorded.unwrap_or_default(),
            qlog: self.qlog((id, number), folder)?,
        })
    }

    /// Writes the qlog files of the case of this number in a chapter; returns their names.
    fn qlog(
        &self,
        place: (&str, usize),
        folder: &ReportFolder,
    ) -> Result<Vec<String>, YearbookError> {
        let Some(run) = record(self.suite, self.candidate, place, self.options.registry)? else {
            return Ok(Vec::new());
        };
        let files = qlog::files(run, place.0).into_iter();
        let names = files.map(|(name, content)| folder.write(&name, &content).map(|_| name));
        Ok(names.collect::<Result<_, _>>()?)
    }

    /// Runs the cases of BBR's draft; `None` over a transport without a choice of window
    /// controllers.
    fn cases(&self, cases: &CaseSuite) -> Result<Option<CaseCount>, YearbookError> {
        let transport = &self.candidate.transport;
        let has_choice = matches!(transport, Transport::Quic(_) | Transport::Tcp(_));
        if !has_choice && transport.foreign().is_none() {
            return Ok(None);
        }
        let candidates = std::slice::from_ref(self.candidate);
        let mut result = run_suite(cases, candidates, self.options.registry, &|_| {})?;
        // `weir suite` draws them; here they would be two thousand files.
        for case in &mut result.results {
            case.plot = None;
        }
        result.write(&self.folder.join("bbr"))?;
        let count = |outcome| {
            let results = result.results.iter();
            results
                .filter(|one| one.verdict.outcome() == outcome)
                .count()
        };
        Ok(Some(CaseCount {
            all: result.results.len(),
            passed: count(Outcome::Holds),
            failed: count(Outcome::Fails),
        }))
    }
}
