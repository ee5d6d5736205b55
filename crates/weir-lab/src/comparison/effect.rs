//! The difference of a measure between A and B.

use super::headline::{Better, HEADLINE, Headline};
use super::measures::{Measures, Part};
use super::pairing::Pair;
use crate::natural_order::natural_order;
use crate::replication::{Interval, Sample, student_t_quantile};
use crate::run::Summary;
use crate::verdict::Verdict;

/// The family-wise error rate of a comparison: the probability that at least one measure is called
/// different although the sides do not differ (Holm, A simple sequentially rejective multiple test
/// procedure, 1979).
pub const FAMILY_WISE_ERROR: f64 = 0.01;

/// A measure of a flow or link on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The setting of the pairs as text; empty if there is only one.
    pub setting: String,
    /// `flow`, `group`, `flows` for all flows together, or `link`.
    pub kind: &'static str,
    /// The name of the flow, group or link.
    pub name: String,
    /// The measure.
    pub measure: Headline,
    /// The values of A, one for each pair.
    pub a: Sample,
    /// The values of B in the same order.
    pub b: Sample,
    /// B − A, pair by pair.
    pub difference: Sample,
    /// Whether the difference is significant.
    pub verdict: Verdict,
}

impl Effect {
    /// The effect on a measure with the values of A and B, one for each pair, before [`judge`] sets
    /// the verdict; `None` if A and B have different numbers of values.
    pub fn paired(
        kind: &'static str,
        name: &str,
        measure: Headline,
        [a, b]: [Sample; 2],
    ) -> Option<Self> {
        Some(Self {
            setting: String::new(),
            kind,
            name: name.to_owned(),
            measure,
            difference: b.paired_differences(&a)?,
            a,
            b,
            verdict: Verdict::Equal,
        })
    }

    /// The 95 % confidence interval of the mean of B − A; `None` with fewer than two pairs.
    pub fn interval_95(&self) -> Option<Interval> {
        self.difference.interval_95()
    }

    /// The mean of B − A as a share of the mean of A; `None` if A's mean is zero.
    pub fn relative(&self) -> Option<f64> {
        let base = self.a.mean().filter(|&mean| mean != 0.0)?;
        Some(self.difference.mean()? / base.abs())
    }

    /// True if the difference is significant, or if there is only one pair and its values differ.
    pub const fn differs(&self) -> bool {
        matches!(self.verdict, Verdict::Differs | Verdict::OnePair)
    }

    /// True if the sides differ by more than this share of A. If A is zero, every difference
    /// exceeds it.
    pub fn exceeds(&self, share: f64) -> bool {
        self.differs()
            && self
                .relative()
                .is_none_or(|relative| relative.abs() > share)
    }

    /// `better` or `worse` if the sides differ; `None` if they do not or if the measure has no
    /// preferred direction.
    pub fn judgement(&self) -> Option<&'static str> {
        let mean = self.difference.mean()?;
        let is_better = match self.measure.better {
            Better::Higher => mean > 0.0,
            Better::Lower => mean < 0.0,
            Better::One | Better::Neither => return None,
        };
        self.differs()
            .then_some(if is_better { "better" } else { "worse" })
    }

    /// |t| of the paired differences: their mean divided by its standard error; infinite if all
    /// pairs differ by the same amount. `None` if no pair differs, or with fewer than two pairs.
    fn t(&self) -> Option<f64> {
        if self.difference.values().iter().all(|&value| value == 0.0) {
            return None;
        }
        let (mean, error) = (self.difference.mean()?, self.difference.standard_error()?);
        Some(if error > 0.0 {
            mean.abs() / error
        } else {
            f64::INFINITY
        })
    }
}

/// The effects on all headline measures that both sides of every pair have: of flows and of
/// transfers, of groups in place of their members, of all flows together if there are several, and
/// of links.
pub fn effects(pairs: &[Pair<&Summary>]) -> Vec<Effect> {
    let of = |pair: &Pair<&Summary>| [pair.a, pair.b].map(Measures::of);
    let sides: Vec<[Measures; 2]> = pairs.iter().map(of).collect();
    let measured = pairs.iter().zip(&sides).map(|(pair, [a, b])| Pair {
        seed: pair.seed,
        a,
        b,
    });
    let mut effects = measured_effects("", &measured.collect::<Vec<_>>());
    judge(&mut effects);
    effects
}

/// The effects on all measures that both sides of every pair of this setting have, without
/// verdicts.
pub fn measured_effects(setting: &str, pairs: &[Pair<&Measures>]) -> Vec<Effect> {
    let mut effects = Vec::new();
    let Some(first) = pairs.first() else {
        return effects;
    };
    let mut parts: Vec<&Part> = first.a.0.keys().collect();
    parts.sort_by(|a, b| a.0.cmp(b.0).then_with(|| natural_order(&a.1, &b.1)));
    for part in parts {
        let found = HEADLINE.iter().filter_map(|measure| {
            let value = |side: &Measures| side.0.get(part)?.get(measure.pointer).copied();
            let a: Option<Sample> = pairs.iter().map(|pair| value(pair.a)).collect();
            let b: Option<Sample> = pairs.iter().map(|pair| value(pair.b)).collect();
            let effect = Effect::paired(part.0, &part.1, *measure, [a?, b?])?;
            Some(Effect {
                setting: setting.to_owned(),
                ..effect
            })
        });
        effects.extend(found);
    }
    effects
}

/// Holm's procedure over all measures that differ in at least one pair: the largest |t| is compared
/// with the quantile of one test in m, the next with that of one in m − 1, and so on until one does
/// not exceed its quantile. Sets the verdict of each effect.
pub fn judge(effects: &mut [Effect]) {
    let mut tested = Vec::new();
    for (index, effect) in effects.iter_mut().enumerate() {
        match effect.t() {
            Some(t) => {
                effect.verdict = Verdict::Indistinct;
                tested.push((index, t));
            }
            None if effect.difference.mean().is_some_and(|mean| mean != 0.0) => {
                effect.verdict = Verdict::OnePair;
            }
            None => {}
        }
    }
    tested.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let family = tested.len();
    for (place, (index, t)) in tested.into_iter().enumerate() {
        let remaining = (family - place) as f64;
        let level = 1.0 - FAMILY_WISE_ERROR / (2.0 * remaining);
        let Some(effect) = effects.get_mut(index) else {
            return;
        };
        match student_t_quantile(level, effect.difference.n().saturating_sub(1)) {
            Some(quantile) if t > quantile => effect.verdict = Verdict::Differs,
            _ => return,
        }
    }
}

#[cfg(test)]
#[path = "effect_tests.rs"]
mod tests;
