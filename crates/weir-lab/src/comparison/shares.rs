//! What held the senders back, side by side.

use super::pairing::Pair;
use crate::natural_order::natural_order;
use crate::run::Summary;
use std::collections::BTreeMap;

/// The share of a flow's time that one bound had, as the mean over the pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The flow.
    pub flow: String,
    /// The bound, in the words of the column `bound`.
    pub bound: String,
    /// In A, 0 to 1.
    pub a: f64,
    /// In B, 0 to 1.
    pub b: f64,
}

/// The shares of the bounds of all flows that both sides have, by flow and word. A bound that a run
/// does not name had none of its time, and one that never held on either side is left out.
pub fn bound_shares(pairs: &[Pair<&Summary>]) -> Vec<Share> {
    let mut sums: BTreeMap<(String, String), [f64; 2]> = BTreeMap::new();
    for pair in pairs {
        for (side, summary) in [pair.a, pair.b].into_iter().enumerate() {
            // A summary has only names and numbers, which JSON can hold.
            let document = serde_json::to_value(summary).unwrap_or_default();
            for (flow, measures) in document["flows"].as_object().into_iter().flatten() {
                if !(pair.a.flows.contains_key(flow) && pair.b.flows.contains_key(flow)) {
                    continue;
                }
                let shares = measures["bound_share"].as_object().into_iter().flatten();
                for (bound, share) in shares {
                    let sum = sums.entry((flow.clone(), bound.clone())).or_default();
                    sum[side] += share.as_f64().unwrap_or_default();
                }
            }
        }
    }
    let n = pairs.len().max(1) as f64;
    let held = sums.into_iter().filter(|(_, [a, b])| a + b > 0.0);
    let shares = held.map(|((flow, bound), [a, b])| Share {
        flow,
        bound,
        a: a / n,
        b: b / n,
    });
    let mut shares: Vec<Share> = shares.collect();
    shares.sort_by(|a, b| natural_order(&a.flow, &b.flow));
    shares
}
