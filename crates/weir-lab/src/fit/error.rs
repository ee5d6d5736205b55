//! Runs of a fitted path, and how far they are from the trace.

use super::figures::{Differences, Figures};
use super::observed::Observed;
use super::path::Path;
use super::{Fit, FitError, Subject, file};
use crate::diagnosis::{Runner, Trace};
use crate::scenario::Scenario;

/// Runs of a path with random losses; the middle one of each number counts.
const SEEDS: u64 = 5;
/// Another path is taken if its distance is below this share of the first one's.
pub(super) const BETTER: f64 = 0.8;
/// What a run without any loss is further from a trace with losses, or the other way round.
const OTHER_LOSS: f64 = 0.1;
/// Three figures whose errors are this together need no other path.
pub(super) const NEAR: f64 = 0.03;
/// Events of a run for each packet of the trace, and beside them.
const EVENTS_OF_PACKET: f64 = 200.0;
const EVENTS: u64 = 2_000_000;

/// What a path is run for.
pub(super) struct Trial<'t> {
    pub(super) subject: &'t Subject<'t>,
    pub(super) observed: &'t Observed,
    pub(super) runner: &'t Runner<'t>,
}

/// A path that was run.
pub(super) struct Tried {
    pub(super) path: Path,
    pub(super) differences: Differences,
    toml: String,
    scenario: Scenario,
}

impl Trial<'_> {
    /// Runs a path with its losses, and with those of the trace.
    pub(super) fn of(&self, path: Path) -> Result<Tried, FitError> {
        let seeds = if path.is_random() { SEEDS } else { 1 };
        let toml = file::written(&path, self.subject);
        let scenario = crate::scenario::parse(&toml, "the fitted path")?;
        let runs = (1..=seeds).map(|seed| self.run(&scenario, seed));
        let all = runs.collect::<Result<Vec<_>, _>>()?;
        let own = path.with_own_losses(self.observed).map(|own| {
            let toml = file::written(&own, self.subject);
            self.run(&crate::scenario::parse(&toml, "the fitted path")?, 1)
        });
        let differences = Differences {
            trace: Figures::of(self.subject, self.observed),
            fitted: Figures::at(&all, 0.5),
            range: [0.0, 1.0].map(|share| Figures::at(&all, share)),
            runs: seeds,
            own_losses: own.transpose()?,
        };
        Ok(Tried {
            path,
            differences,
            toml,
            scenario,
        })
    }

    /// Runs a path, and again with the queue's limit corrected by what the first run shows.
    pub(super) fn with_limit_as_run(&self, path: Path) -> Result<Tried, FitError> {
        let first = self.of(path)?;
        match first.path.with_queue_as_run(&first.differences) {
            Some(corrected) => Ok(first.or_better(self.of(corrected)?, 1.0)),
            None => Ok(first),
        }
    }

    /// What a run with this seed has.
    fn run(&self, scenario: &Scenario, seed: u64) -> Result<Figures, FitError> {
        let mut scenario = scenario.clone();
        scenario.run.seed = seed;
        let most = EVENTS + (self.observed.packets * EVENTS_OF_PACKET) as u64;
        let run = (self.runner)(&scenario, most)?;
        let trace = Trace::of_run(&run);
        let rerun = Subject::of_run(&trace, None)?;
        // A run that delivered almost nothing has no figures.
        let figures = Observed::of(&rerun).map(|observed| Figures::of(&rerun, &observed));
        Ok(figures.unwrap_or_default())
    }
}

impl Tried {
    /// How far the runs are from the trace with the losses of the model. This tells one queue from
    /// another: with the trace's own losses any queue that drops less comes near.
    pub(super) fn distance(&self) -> f64 {
        self.distance_of(&self.differences.fitted)
    }

    /// How far they are with the losses that come nearer, which tells one controller from another:
    /// with the trace's own losses its run differs by no chance.
    pub(super) fn distance_without_chance(&self) -> f64 {
        let own = self.differences.own_losses.as_ref();
        let own = own.map_or(f64::INFINITY, |own| self.distance_of(own));
        own.min(self.distance())
    }

    fn distance_of(&self, figures: &Figures) -> f64 {
        let trace = &self.differences.trace;
        let shares = figures.relative_to(trace);
        let distance: f64 = shares.iter().map(|share| share.abs()).sum();
        if (figures.loss > 0.0) == (trace.loss > 0.0) {
            distance
        } else {
            distance + OTHER_LOSS
        }
    }

    /// This path, or another one of the same controller if its distance is below this share.
    pub(super) fn or_better(self, other: Self, share: f64) -> Self {
        if other.distance() < share * self.distance() {
            other
        } else {
            self
        }
    }

    /// The result.
    pub(super) fn finish(self, subject: &Subject<'_>) -> Fit {
        Fit {
            parameters: file::parameters(&self.path),
            flow: file::flow_name(subject.flow),
            toml: self.toml,
            scenario: self.scenario,
            remarks: self.path.remarks,
            differences: self.differences,
        }
    }
}
