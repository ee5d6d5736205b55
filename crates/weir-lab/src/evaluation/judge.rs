//! What a measure came to, and whether a controller is better or worse in it than each of those
//! that it is compared with.

use super::measure::{CandidateSample, MeasurePlan};
use crate::replication::Interval;
use crate::summary::Better;
use crate::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The least relative difference that counts.
const TENTH: f64 = 0.1;

/// Judges the first candidate beside each of the others.
fn verdicts(better: Better, floor: f64, candidates: &[CandidateSample]) -> Vec<Verdict> {
    let Some((subject, others)) = candidates.split_first() else {
        return Vec::new();
    };
    let has_value = |one: &CandidateSample| 2 * one.missing() < one.runs.len();
    let verdict = |other| match (has_value(subject), has_value(other)) {
        _ if better == Better::Neither => Verdict::Shown,
        (false, true) => Verdict::Missing,
        (_, false) => Verdict::Shown,
        (true, true) => beside(better, floor, subject, other),
    };
    others.iter().map(verdict).collect()
}

/// A measure of a case: what it came to for each controller.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MeasureResult {
    /// The measure's name in the suite.
    pub name: String,
    /// What it is, in words.
    pub words: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// The direction in which it improves; neither where the case only shows it.
    pub better: Better,
    /// The least difference that counts, in the unit.
    pub floor: f64,
    /// The measure of packets that did not survive: where the controller is worse in it, being
    /// better in this one is no merit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unless: Option<String>,
    /// The controller first, then those that it is compared with.
    pub candidates: Vec<CandidateSample>,
    /// The controller beside each of the others.
    pub verdicts: Vec<Verdict>,
}

impl MeasureResult {
    pub(super) fn new(
        name: &str,
        plan: &MeasurePlan,
        is_judged: bool,
        candidates: Vec<CandidateSample>,
    ) -> Self {
        let better = if is_judged {
            plan.better()
        } else {
            Better::Neither
        };
        Self {
            name: name.to_owned(),
            words: plan.words.clone(),
            unit: plan.unit().to_owned(),
            better,
            floor: plan.floor,
            unless: plan.unless.clone(),
            candidates,
            verdicts: Vec::new(),
        }
    }

    /// True if the verdict is that beside any of the others.
    pub fn has(&self, verdict: Verdict) -> bool {
        self.verdicts.contains(&verdict)
    }
}

/// Judges the measures of a case. Few packets wait where many are dropped: a shorter delay than
/// another's counts for nothing beside more losses.
pub(super) fn judge(results: &mut [MeasureResult]) {
    for result in results.iter_mut() {
        result.verdicts = verdicts(result.better, result.floor, &result.candidates);
    }
    let of_losses: BTreeMap<String, Vec<Verdict>> = results
        .iter()
        .map(|result| (result.name.clone(), result.verdicts.clone()))
        .collect();
    for result in results {
        let losses = result.unless.as_ref().and_then(|name| of_losses.get(name));
        for (verdict, loss) in result.verdicts.iter_mut().zip(losses.into_iter().flatten()) {
            if *verdict == Verdict::Better && *loss == Verdict::Worse {
                *verdict = Verdict::Shown;
            }
        }
    }
}

/// The subject beside another. They are alike if the interval of the paired differences contains
/// zero, or the difference is small.
fn beside(
    better: Better,
    floor: f64,
    subject: &CandidateSample,
    other: &CandidateSample,
) -> Verdict {
    // Nearness to one: twice and half as much are equally far from it.
    let badness = |value: f64| match better {
        Better::Higher => -value,
        Better::Lower | Better::Neither => value,
        Better::One => libm::fabs(libm::log(value.max(1e-9))),
    };
    let differences = subject.differences(other, badness);
    let (Some(mean), Some(base)) = (differences.mean(), other.mean) else {
        return Verdict::Alike;
    };
    let small = match better {
        Better::One => libm::log(1.0 + TENTH),
        _ => floor.max(TENTH * base.abs()),
    };
    let by_chance = |interval: Interval| interval.contains(0.0);
    if mean.abs() <= small || differences.interval_95().is_none_or(by_chance) {
        Verdict::Alike
    } else if mean < 0.0 {
        Verdict::Better
    } else {
        Verdict::Worse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(rows: &[&[f64]]) -> Vec<CandidateSample> {
        let sample = |row: &&[f64]| {
            let runs = row.iter().map(|&v| v.is_finite().then_some(v)).collect();
            CandidateSample::new("x", runs, 1.0)
        };
        rows.iter().map(sample).collect()
    }

    type Row = (Better, f64, [[f64; 3]; 3], [Verdict; 2]);

    fn check(rows: &[Row]) {
        for (better, floor, values, expected) in rows {
            let values: Vec<&[f64]> = values.iter().map(<[f64; 3]>::as_slice).collect();
            let found = verdicts(*better, *floor, &samples(&values));
            assert_eq!(found, *expected, "{better:?} {values:?}");
        }
    }

    use Verdict::{Alike, Missing, Shown, Worse};
    const BETTER: Verdict = Verdict::Better;
    const NONE: f64 = f64::NAN;
    const NINE: [f64; 3] = [9.0, 9.1, 9.0];
    const TEN: [f64; 3] = [10.0, 10.0, 10.1];
    const TWELVE: [f64; 3] = [12.0, 12.1, 11.9];
    const THREE: [f64; 3] = [3.0, 3.1, 3.0];

    #[test]
    fn a_verdict_needs_a_difference_beyond_chance_and_a_tenth() {
        let (more, less) = (Better::Higher, Better::Lower);
        check(&[
            (more, 0.0, [TWELVE, TEN, NINE], [BETTER, BETTER]),
            (less, 0.0, [TWELVE, TEN, NINE], [Worse, Worse]),
            // Each of the others has its own verdict.
            (more, 0.0, [TEN, THREE, TWELVE], [BETTER, Worse]),
            (more, 0.0, [TEN, TEN, TWELVE], [Alike, Worse]),
            // Less than a tenth, or less than the floor.
            (more, 0.0, [[10.9, 10.8, 10.9], TEN, THREE], [Alike, BETTER]),
            (more, 5.0, [TWELVE, TEN, THREE], [Alike, BETTER]),
            // The means differ by half, and so do the runs of one.
            (more, 0.0, [[20.0, 5.0, 20.0], TEN, NINE], [Alike, Alike]),
        ]);
    }

    #[test]
    fn runs_are_compared_by_pairs_of_a_seed() {
        // What varies in both alike does not hide what differs.
        let (subject, other) = ([13.0, 24.1, 35.0], [10.0, 21.0, 32.1]);
        let lower = [8.0, 19.0, 30.1];
        let more = Better::Higher;
        check(&[(more, 0.0, [subject, other, lower], [BETTER, BETTER])]);
        let mixed = [24.1, 13.0, 35.0];
        check(&[(more, 0.0, [mixed, other, lower], [Alike, Alike])]);
    }

    #[test]
    fn a_third_and_three_times_are_equally_far_from_one() {
        let one = Better::One;
        let equal = [1.0, 1.1, 0.9];
        let third = [1.0 / 3.0, 0.33, 0.33];
        check(&[
            (one, 0.0, [equal, THREE, [0.3, 0.3, 0.31]], [BETTER, BETTER]),
            (one, 0.0, [THREE, equal, [0.5, 0.5, 0.51]], [Worse, Worse]),
            (one, 0.0, [THREE, third, NINE], [Alike, BETTER]),
        ]);
    }

    #[test]
    fn what_is_missing_is_said_and_what_is_shown_is_not_judged() {
        let missing = [NONE, NONE, 1.0];
        let less = Better::Lower;
        check(&[
            (less, 0.0, [missing, TEN, NINE], [Missing, Missing]),
            (less, 0.0, [missing, missing, TEN], [Shown, Missing]),
            (less, 0.0, [TEN, missing, NINE], [Shown, Worse]),
            (Better::Neither, 0.0, [THREE, TEN, NINE], [Shown, Shown]),
        ]);
        let alone = samples(&[&[1.0, 2.0]]);
        assert_eq!(verdicts(Better::Higher, 0.0, &alone), []);
    }

    #[test]
    fn a_short_delay_is_no_merit_beside_more_losses() {
        let result = |name: &str, unless: Option<&str>, rows: &[&[f64]]| MeasureResult {
            name: name.to_owned(),
            words: name.to_owned(),
            unit: String::new(),
            better: Better::Lower,
            floor: 0.0,
            unless: unless.map(str::to_owned),
            candidates: samples(rows),
            verdicts: Vec::new(),
        };
        let (losses, delays) = ([&TEN[..], &THREE, &TWELVE], [&THREE[..], &TEN, &NINE]);
        let mut results = [
            result("delay", Some("loss"), &delays),
            result("loss", None, &losses),
            result("jitter", None, &delays),
            result("late", Some("loss"), &[&TWELVE, &NINE, &NINE]),
        ];
        judge(&mut results);
        let found = results.map(|result| result.verdicts);
        let expected = [
            [Shown, BETTER],
            [Worse, BETTER],
            [BETTER, BETTER],
            [Worse, Worse],
        ];
        assert_eq!(found.concat(), expected.concat());
    }
}
