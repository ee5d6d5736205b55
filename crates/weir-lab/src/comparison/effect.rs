//! The difference of a measure between A and B.

use super::headline::{Better, HEADLINE, Headline};
use super::measures::{Measures, Part};
use super::pairing::Pair;
use crate::natural_order::natural_order;
use crate::replication::{Interval, Sample, student_t_quantile};
use crate::run::Summary;
use crate::verdict::Verdict;

/// The probability that any of the measures of one comparison is called different although both
/// sides are alike (Holm, A simple sequentially rejective multiple test procedure, 1979).
pub const FAMILY_WISE_ERROR: f64 = 0.01;

/// A measure of a flow or link on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The setting of the pairs, in words; empty if there is one only.
    pub setting: String,
    /// `flow`, `group`, `flows` for all together, or `link`.
    pub kind: &'static str,
    /// The name of the flow, group or link.
    pub name: String,
    /// What is measured.
    pub measure: Headline,
    /// The values of A, a pair each.
    pub a: Sample,
    /// The values of B in the same order.
    pub b: Sample,
    /// B − A, pair by pair.
    pub difference: Sample,
    /// Whether the pairs tell the sides apart.
    pub verdict: Verdict,
}

impl Effect {
    /// The effect of a measure with the values of A and B, a pair each, not judged yet; `None` if
    /// they differ in number.
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

    /// True if the sides differ by more than chance explains, or in the only pair.
    pub const fn differs(&self) -> bool {
        matches!(self.verdict, Verdict::Differs | Verdict::OnePair)
    }

    /// True if the sides differ, and by more than this share of A. A difference from nothing is
    /// beyond every share.
    pub fn exceeds(&self, share: f64) -> bool {
        self.differs()
            && self
                .relative()
                .is_none_or(|relative| relative.abs() > share)
    }

    /// `better`, `worse` or, for a measure that is neither, nothing; only if the sides differ.
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

    /// |t| of the paired differences: their mean in standard errors; infinite if all pairs differ
    /// by the same amount. `None` where nothing differs or with fewer than two pairs.
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

/// The effects on all measures that both sides of every pair of this setting have, not judged yet.
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

/// Holm's procedure over all measures that differ at all: the largest |t| is compared with the
/// quantile of one test in m, the next with that of one in m − 1, until one is not beyond its
/// quantile. Sets the verdict of each.
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
