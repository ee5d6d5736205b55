//! What a measure came to, and whether a controller is better or worse in it than those of the
//! standards track.

use super::measure::{CandidateSample, MeasurePlan};
use crate::replication::Interval;
use crate::summary::Better;
use crate::verdict::Verdict;
use serde::Serialize;

/// The least relative difference that counts.
const TENTH: f64 = 0.1;

/// Judges the first candidate by the others.
fn verdict(better: Better, floor: f64, candidates: &[CandidateSample]) -> Verdict {
    let Some((subject, others)) = candidates.split_first() else {
        return Verdict::Shown;
    };
    if better == Better::Neither || others.is_empty() {
        return Verdict::Shown;
    }
    if 2 * subject.missing() >= subject.runs.len() {
        let measured = |other: &CandidateSample| 2 * other.missing() < other.runs.len();
        return if others.iter().any(measured) {
            Verdict::Missing
        } else {
            Verdict::Shown
        };
    }
    let sides: Vec<_> = others
        .iter()
        .map(|other| side(better, floor, subject, other))
        .collect();
    if sides.iter().all(|side| *side > 0) {
        Verdict::Good
    } else if sides.iter().all(|side| *side < 0) {
        Verdict::Bad
    } else {
        Verdict::Alike
    }
}

/// A measure of a case: what it came to for each controller.
#[derive(Clone, Debug, Serialize)]
pub struct MeasureResult {
    /// The measure's name in the suite.
    pub name: String,
    /// What it is, in words.
    pub words: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// The direction in which it improves.
    pub better: Better,
    /// The controller first, then those that it is compared with.
    pub candidates: Vec<CandidateSample>,
    /// The controller beside the others.
    pub verdict: Verdict,
}

impl MeasureResult {
    pub(super) fn new(name: &str, plan: &MeasurePlan, candidates: Vec<CandidateSample>) -> Self {
        Self {
            name: name.to_owned(),
            words: plan.words.clone(),
            unit: plan.unit().to_owned(),
            better: plan.better(),
            verdict: verdict(plan.better(), plan.floor, &candidates),
            candidates,
        }
    }
}

/// 1 if the subject is better than the other, -1 if it is worse, 0 if they cannot be told apart:
/// the interval of the paired differences contains zero, or the difference is small.
fn side(better: Better, floor: f64, subject: &CandidateSample, other: &CandidateSample) -> i8 {
    // Nearness to one: twice and half as much are equally far from it.
    let badness = |value: f64| match better {
        Better::Higher => -value,
        Better::Lower | Better::Neither => value,
        Better::One => libm::fabs(libm::log(value.max(1e-9))),
    };
    let differences = subject.differences(other, badness);
    let (Some(mean), Some(base)) = (differences.mean(), other.mean) else {
        return 0;
    };
    let small = match better {
        Better::One => libm::log(1.0 + TENTH),
        _ => floor.max(TENTH * base.abs()),
    };
    let by_chance = |interval: Interval| interval.contains(0.0);
    if mean.abs() <= small || differences.interval_95().is_none_or(by_chance) {
        0
    } else if mean < 0.0 {
        1
    } else {
        -1
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

    type Row = (Better, f64, [[f64; 3]; 3], Verdict);

    fn check(rows: &[Row]) {
        for (better, floor, values, expected) in rows {
            let values: Vec<&[f64]> = values.iter().map(<[f64; 3]>::as_slice).collect();
            let found = verdict(*better, *floor, &samples(&values));
            assert_eq!(found, *expected, "{better:?} {values:?}");
        }
    }

    const NONE: f64 = f64::NAN;
    const NINE: [f64; 3] = [9.0, 9.1, 9.0];
    const TEN: [f64; 3] = [10.0, 10.0, 10.1];
    const TWELVE: [f64; 3] = [12.0, 12.1, 11.9];
    const THREE: [f64; 3] = [3.0, 3.1, 3.0];

    #[test]
    fn a_verdict_needs_a_difference_from_both_beyond_chance_and_a_tenth() {
        let (more, less) = (Better::Higher, Better::Lower);
        check(&[
            (more, 0.0, [TWELVE, TEN, NINE], Verdict::Good),
            (less, 0.0, [TWELVE, TEN, NINE], Verdict::Bad),
            // Better than one of them only.
            (more, 0.0, [TEN, NINE, TWELVE], Verdict::Alike),
            // Less than a tenth, or less than the floor.
            (more, 0.0, [[10.9, 10.8, 10.9], TEN, NINE], Verdict::Alike),
            (more, 5.0, [TWELVE, TEN, NINE], Verdict::Alike),
            // The means differ by half, and so do the runs of one.
            (more, 0.0, [[20.0, 5.0, 20.0], TEN, NINE], Verdict::Alike),
        ]);
    }

    #[test]
    fn runs_are_compared_by_pairs_of_a_seed() {
        // What varies in both alike does not hide what differs.
        let (subject, other) = ([13.0, 24.1, 35.0], [10.0, 21.0, 32.1]);
        let lower = [8.0, 19.0, 30.1];
        check(&[(Better::Higher, 0.0, [subject, other, lower], Verdict::Good)]);
        let mixed = [24.1, 13.0, 35.0];
        check(&[(Better::Higher, 0.0, [mixed, other, lower], Verdict::Alike)]);
    }

    #[test]
    fn a_third_and_three_times_are_equally_far_from_one() {
        let one = Better::One;
        let equal = [1.0, 1.1, 0.9];
        check(&[
            (one, 0.0, [equal, THREE, [0.3, 0.3, 0.31]], Verdict::Good),
            (one, 0.0, [THREE, equal, [0.5, 0.5, 0.51]], Verdict::Bad),
            (
                one,
                0.0,
                [THREE, [1.0 / 3.0, 0.33, 0.33], NINE],
                Verdict::Alike,
            ),
        ]);
    }

    #[test]
    fn what_is_missing_is_said_and_what_is_shown_is_not_judged() {
        let missing = [NONE, NONE, 1.0];
        check(&[
            (Better::Lower, 0.0, [missing, TEN, NINE], Verdict::Missing),
            (
                Better::Lower,
                0.0,
                [missing, missing, missing],
                Verdict::Shown,
            ),
            (Better::Neither, 0.0, [THREE, TEN, NINE], Verdict::Shown),
        ]);
        let alone = samples(&[&[1.0, 2.0]]);
        assert_eq!(verdict(Better::Higher, 0.0, &alone), Verdict::Shown);
    }
}
