//! Whether a controller is better or worse than those of the standards track.

use super::measure::{Better, CandidateSample};
use crate::replication::Interval;
use serde::Serialize;

/// The least relative difference that counts.
const TENTH: f64 = 0.1;

/// A measure of a controller beside the same of CUBIC and Reno.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better than each of the others.
    Good,
    /// Worse than each of the others.
    Bad,
    /// Neither: between them, or not told apart from one of them.
    Alike,
    /// It is not judged.
    Shown,
    /// The controller has no value where others have one, in half of the runs or more.
    Missing,
}

impl Verdict {
    /// The word in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Alike => "alike",
            Self::Shown => "",
            Self::Missing => "no value",
        }
    }

    /// Judges the first candidate by the others.
    pub(super) fn of(better: Better, floor: f64, candidates: &[CandidateSample]) -> Self {
        let Some((subject, others)) = candidates.split_first() else {
            return Self::Shown;
        };
        if better == Better::Shown || others.is_empty() {
            return Self::Shown;
        }
        if 2 * subject.missing() >= subject.runs.len() {
            let measured = |other: &CandidateSample| 2 * other.missing() < other.runs.len();
            return if others.iter().any(measured) {
                Self::Missing
            } else {
                Self::Shown
            };
        }
        let sides: Vec<_> = others
            .iter()
            .map(|other| side(better, floor, subject, other))
            .collect();
        if sides.iter().all(|side| *side > 0) {
            Self::Good
        } else if sides.iter().all(|side| *side < 0) {
            Self::Bad
        } else {
            Self::Alike
        }
    }
}

/// 1 if the subject is better than the other, -1 if it is worse, 0 if they cannot be told apart:
/// the interval of the paired differences contains zero, or the difference is small.
fn side(better: Better, floor: f64, subject: &CandidateSample, other: &CandidateSample) -> i8 {
    // Nearness to one: twice and half as much are equally far from it.
    let badness = |value: f64| match better {
        Better::More => -value,
        Better::Less | Better::Shown => value,
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

    #[test]
    fn a_verdict_needs_a_difference_from_both_beyond_chance_and_a_tenth() {
        const NONE: f64 = f64::NAN;
        let (more, less, one) = (Better::More, Better::Less, Better::One);
        for (better, floor, rows, expected) in [
            (
                more,
                0.0,
                [[12.0, 12.1, 11.9], [10.0, 10.0, 10.1], [9.0, 9.1, 9.0]],
                Verdict::Good,
            ),
            (
                less,
                0.0,
                [[12.0, 12.1, 11.9], [10.0, 10.0, 10.1], [9.0, 9.1, 9.0]],
                Verdict::Bad,
            ),
            // Better than one of them only.
            (
                more,
                0.0,
                [[12.0, 12.1, 11.9], [10.0, 10.0, 10.1], [15.0, 15.1, 15.0]],
                Verdict::Alike,
            ),
            // Less than a tenth, or less than the floor.
            (
                more,
                0.0,
                [[10.9, 10.8, 10.9], [10.0, 10.0, 10.1], [9.0, 9.1, 9.0]],
                Verdict::Alike,
            ),
            (
                more,
                5.0,
                [[12.0, 12.1, 11.9], [10.0, 10.0, 10.1], [9.0, 9.1, 9.0]],
                Verdict::Alike,
            ),
            // The means differ by half, and so do the runs of one.
            (
                more,
                0.0,
                [[20.0, 5.0, 20.0], [10.0, 10.0, 10.1], [9.0, 9.1, 9.0]],
                Verdict::Alike,
            ),
            // Pairs of the same seed: what varies in both does not hide what differs.
            (
                more,
                0.0,
                [[12.0, 24.0, 47.0], [9.0, 18.0, 36.0], [6.0, 12.0, 25.0]],
                Verdict::Alike,
            ),
            (
                more,
                0.0,
                [[13.0, 14.0, 15.0], [10.0, 11.0, 12.1], [8.0, 9.0, 10.0]],
                Verdict::Good,
            ),
            // A third and three times are equally far from one.
            (
                one,
                0.0,
                [[1.0, 1.1, 0.9], [3.0, 3.1, 3.0], [0.3, 0.3, 0.31]],
                Verdict::Good,
            ),
            (
                one,
                0.0,
                [[3.0, 3.1, 3.0], [1.0, 1.1, 0.9], [0.5, 0.5, 0.51]],
                Verdict::Bad,
            ),
            (
                one,
                0.0,
                [[3.0, 3.1, 3.0], [1.0 / 3.0, 0.33, 0.33], [9.0, 9.0, 9.1]],
                Verdict::Alike,
            ),
            (
                less,
                0.0,
                [[NONE, NONE, 1.0], [10.0, 10.0, 10.1], [9.0, 9.1, 9.0]],
                Verdict::Missing,
            ),
            (
                Better::Shown,
                0.0,
                [[1.0, 1.0, 1.1], [9.0, 9.0, 9.1], [9.0, 9.1, 9.0]],
                Verdict::Shown,
            ),
        ] {
            let rows: Vec<&[f64]> = rows.iter().map(<[f64; 3]>::as_slice).collect();
            let found = Verdict::of(better, floor, &samples(&rows));
            assert_eq!(found, expected, "{better:?} {rows:?}");
        }
        assert_eq!(
            Verdict::of(more, 0.0, &samples(&[&[1.0, 2.0]])),
            Verdict::Shown
        );
    }
}
