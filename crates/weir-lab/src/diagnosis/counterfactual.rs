//! Tries remedies: the same scenario and the same seeds, with the change and without it.
//!
//! A remedy of the findings is a few settings of the resolved scenario. Its run is compared with
//! the run that was explained: whether the finding is gone, what the application got before and
//! after, what else became worse by more than 5 %, and which pathologies are new. A scenario that
//! draws random numbers is run with up to five paired seeds, fewer with many remedies; a run
//! without randomness once. Every run ends after ten times the events of the explained one.

use super::{Explanation, Finding, Remedy, Trace, explain};
use crate::comparison::{Effect, Pair, effects};
use crate::lint::draws_random_numbers;
use crate::replication::in_order;
use crate::run::{RunError, RunOutput, Summary};
use crate::scenario::{Override, Scenario, parse_with};
use schemars::JsonSchema;
use serde::Serialize;

/// Runs a scenario with its whole trace; the caller knows transports and limits. The number is the
/// most events that the run may have.
pub type Runner<'a> = dyn Fn(&Scenario, u64) -> Result<RunOutput, RunError> + Sync + 'a;

/// What a remedy did.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trial {
    /// The kind of the finding that it should end.
    pub kind: &'static str,
    /// The flow or link of the finding.
    pub subject: String,
    /// The remedy.
    pub remedy: Remedy,
    /// The number of runs with the remedy in which the finding is gone, of all.
    pub gone: [usize; 2],
    /// What the application got.
    pub application: Option<Change>,
    /// The delay of the packets of the same flow.
    pub delay: Option<Change>,
    /// Measures that became worse by more than 5 %.
    pub worse: Vec<Change>,
    /// Kinds that were not found before.
    pub new_findings: Vec<&'static str>,
    /// Why the remedy could not be tried; the other fields are then empty.
    pub error: Option<String>,
}

/// A measure before and after.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The flow, group or link.
    pub of: String,
    /// The measure.
    pub measure: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The mean without the remedy.
    pub before: f64,
    /// The mean with it.
    pub after: f64,
    /// The 95 % interval of the difference; none with one run.
    pub interval: Option<[f64; 2]>,
}

/// Runs with seeds that are compared, if something is random, at most.
const SEEDS: u64 = 5;
/// Runs of all remedies and of none together: on two cores they take ten times the run's own time.
const RUNS: u64 = 20;
/// The most remedies that are tried.
const REMEDIES: usize = 8;
/// Events of a run, as a multiple of those of the run that was explained.
const EVENTS: u64 = 10;
/// The run counts as one of so many events at least, a third of a second, because a remedy that
/// fills a path can need a hundred times those of the run that did not.
const LEAST_EVENTS: u64 = 300_000;
/// The share by which a measure is worse that is told.
const WORSE: f64 = 0.05;

/// Tries the remedies of an explanation: each once, for the first finding that names it. `events`
/// is the number of events of the run that was explained.
pub fn try_remedies(
    scenario: &Scenario,
    events: u64,
    explanation: &Explanation,
    run: &Runner<'_>,
) -> Vec<Trial> {
    let mut chosen: Vec<(&Finding, &Remedy)> = Vec::new();
    for finding in &explanation.findings {
        for remedy in &finding.remedies {
            if !chosen.iter().any(|(_, other)| other.set == remedy.set) {
                chosen.push((finding, remedy));
            }
        }
    }
    chosen.truncate(REMEDIES);
    let seeds = if draws_random_numbers(scenario) {
        (RUNS / (chosen.len() as u64 + 1)).clamp(2, SEEDS)
    } else {
        1
    };
    let seeds: Vec<u64> = (0..seeds).map(|more| scenario.run.seed + more).collect();
    let text = scenario.resolved_toml();
    let most = EVENTS * events.max(LEAST_EVENTS);
    // The first set of runs has no remedy.
    let sets = std::iter::once(Vec::new());
    let sets: Vec<Vec<Override>> = sets
        .chain(chosen.iter().map(|(_, remedy)| remedy.set.clone()))
        .collect();
    let jobs: Vec<(&Vec<Override>, u64)> = sets
        .iter()
        .flat_map(|set| seeds.iter().map(move |seed| (set, *seed)))
        .collect();
    let ran = in_order(&jobs, |(set, seed)| one(&text, set, *seed, most, run));
    let mut ran = ran.chunks(seeds.len());
    let Some(before) = ran.next() else {
        return Vec::new();
    };
    let trials = chosen.into_iter().zip(ran);
    let trials =
        trials.map(|((finding, remedy), after)| trial(finding, remedy, before, after, &seeds));
    trials.collect()
}

/// A run, its summary and its findings, or why there is none.
type Ran = Result<(Summary, Explanation), String>;

fn one(text: &str, set: &[Override], seed: u64, most: u64, run: &Runner<'_>) -> Ran {
    let mut overrides = vec![Override {
        path: "run.seed".to_owned(),
        value: seed.to_string(),
    }];
    overrides.extend_from_slice(set);
    let scenario = parse_with(text, "the scenario of the run", &overrides);
    let scenario = scenario.map_err(|error| error.to_string())?;
    let output = run(&scenario, most).map_err(|error| error.to_string())?;
    let explanation = explain(&Trace::of_run(&output));
    Ok((output.summary, explanation))
}

fn trial(
    finding: &Finding,
    remedy: &Remedy,
    before: &[Ran],
    after: &[Ran],
    seeds: &[u64],
) -> Trial {
    let mut trial = Trial {
        kind: finding.kind,
        subject: finding.subject.clone(),
        remedy: remedy.clone(),
        gone: [0, after.len()],
        application: None,
        delay: None,
        worse: Vec::new(),
        new_findings: Vec::new(),
        error: None,
    };
    let all = |ran: &'_ [Ran]| -> Result<Vec<(Summary, Explanation)>, String> {
        ran.iter().cloned().collect()
    };
    let (before, after) = match (all(before), all(after)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(error), _) | (_, Err(error)) => {
            trial.error = Some(error);
            return trial;
        }
    };
    let has = |explanation: &Explanation, kind: &str| {
        explanation.findings.iter().any(|found| found.kind == kind)
    };
    let is_gone = |(_, explanation): &&(Summary, Explanation)| !has(explanation, finding.kind);
    trial.gone[0] = after.iter().filter(is_gone).count();
    for (_, explanation) in &after {
        for found in &explanation.findings {
            let known = before
                .iter()
                .any(|(_, explanation)| has(explanation, found.kind));
            if !known && !trial.new_findings.contains(&found.kind) {
                trial.new_findings.push(found.kind);
            }
        }
    }
    let pairs: Vec<Pair<&Summary>> = seeds
        .iter()
        .zip(before.iter().zip(&after))
        .map(|(seed, (a, b))| Pair {
            seed: *seed,
            a: &a.0,
            b: &b.0,
        })
        .collect();
    judge(&mut trial, &effects(&pairs));
    trial
}

/// What an application wants, the most telling first; pointers of the summary.
const WANTED: [&str; 5] = [
    "audio/silence_s",
    "video/frozen_s",
    "completion_time_s",
    "requests/completion_time_s/p95",
    "goodput_bps",
];
/// The delay that its packets have.
const DELAY: &str = "one_way_delay_s/p95";

fn judge(trial: &mut Trial, effects: &[Effect]) {
    // A finding at a link is about the flows over it, of which the first speaks.
    let of_subject = |effect: &&Effect| effect.kind == "flow" && effect.name == trial.subject;
    let mut of_flow: Vec<&Effect> = effects.iter().filter(of_subject).collect();
    if of_flow.is_empty() {
        let first = effects.iter().find(|effect| effect.kind == "flow");
        let is_first = |effect: &&Effect| first.is_some_and(|first| first.name == effect.name);
        let flows = effects.iter().filter(|effect| effect.kind == "flow");
        of_flow = flows.filter(is_first).collect();
    }
    let measure = |pointer: &str| {
        let mut known = of_flow.iter();
        let effect = known.find(|effect| effect.measure.pointer == pointer)?;
        change(effect)
    };
    trial.application = WANTED.iter().find_map(|pointer| measure(pointer));
    trial.delay = measure(DELAY);
    let worse = effects.iter().filter(|effect| {
        ["flow", "transfers", "group"].contains(&effect.kind)
            && effect.judgement() == Some("worse")
            && effect.exceeds(WORSE)
    });
    trial.worse = worse.filter_map(change).collect();
}

fn change(effect: &Effect) -> Option<Change> {
    Some(Change {
        of: effect.name.clone(),
        measure: effect.measure.label,
        unit: effect.measure.unit,
        before: effect.a.mean()?,
        after: effect.b.mean()?,
        interval: effect
            .interval_95()
            .map(|interval| [interval.low, interval.high]),
    })
}
