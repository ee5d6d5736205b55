//! What limited the senders, A compared with B.

use super::pairing::Pair;
use crate::natural_order::natural_order;
use crate::run::Summary;
use std::collections::BTreeMap;

/// The share of time during which a bound limited a flow, as the mean over the pairs; for a flow
/// with arrivals, over all its connections.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The flow.
    pub flow: String,
    /// The bound, by the word in the column `bound`.
    pub bound: String,
    /// The share in A, 0 to 1.
    pub a: f64,
    /// The share in B, 0 to 1.
    pub b: f64,
}

/// The shares of the bounds of all flows that both sides have, including flows with arrivals, by
/// flow and bound. A bound that is missing in a run has the share 0; a bound with the share 0 on
/// both sides is left out.
pub fn bound_shares(pairs: &[Pair<&Summary>]) -> Vec<Share> {
    let mut sums: BTreeMap<(String, String), [f64; 2]> = BTreeMap::new();
    for pair in pairs {
        for (side, summary) in [pair.a, pair.b].into_iter().enumerate() {
            for (flow, shares) in shares_of(summary) {
                if !(is_in(pair.a, flow) && is_in(pair.b, flow)) {
                    continue;
                }
                for (bound, share) in shares {
                    let sum = sums.entry((flow.to_owned(), bound.clone())).or_default();
                    sum[side] += share;
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

/// The shares of each flow of a summary.
fn shares_of(summary: &Summary) -> impl Iterator<Item = (&str, &BTreeMap<String, f64>)> {
    let flows = summary.flows.iter();
    let flows = flows.map(|(name, flow)| (name.as_str(), &flow.bound_share));
    let transfers = summary.transfers.iter();
    flows.chain(transfers.map(|(name, of)| (name.as_str(), &of.bound_share)))
}

fn is_in(summary: &Summary, flow: &str) -> bool {
    summary.flows.contains_key(flow) || summary.transfers.contains_key(flow)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{FlowSummary, TransferSummary};

    #[test]
    fn shares_of_flows_with_and_without_arrivals_are_side_by_side() {
        let side = |window: f64| {
            let bound_share: BTreeMap<_, _> = [("window", window), ("rate", 0.0)]
                .map(|(bound, share)| (bound.to_owned(), share))
                .into();
            let stream = FlowSummary {
                bound_share: bound_share.clone(),
                ..FlowSummary::default()
            };
            let web = TransferSummary {
                bound_share,
                ..TransferSummary::default()
            };
            Summary {
                flows: [("stream".to_owned(), stream)].into(),
                transfers: [("web10".to_owned(), web.clone()), ("web2".to_owned(), web)].into(),
                ..Summary::default()
            }
        };
        let (a, b) = (side(0.25), side(0.75));
        let pair = |b| Pair { seed: 1, a: &a, b };
        let shares = bound_shares(&[pair(&b), pair(&a)]);
        let expected = ["stream", "web2", "web10"].map(|flow| Share {
            flow: flow.to_owned(),
            bound: "window".to_owned(),
            a: 0.25,
            b: 0.5,
        });
        assert_eq!(shares, expected);
        // A flow that only one side has cannot be compared.
        let mut other = b.clone();
        other.transfers.remove("web2");
        let shares = bound_shares(&[pair(&other)]);
        assert!(shares.iter().all(|share| share.flow != "web2"));
        assert_eq!(shares.len(), 2);
    }

    #[test]
    fn a_bound_that_held_on_one_side_is_beside_nothing_on_the_other() {
        let side = |window: f64| {
            let stream = FlowSummary {
                bound_share: [("window".to_owned(), window)].into(),
                ..FlowSummary::default()
            };
            Summary {
                flows: [("stream".to_owned(), stream)].into(),
                ..Summary::default()
            }
        };
        let (a, b) = (side(0.0), side(0.5));
        let shares = bound_shares(&[Pair {
            seed: 1,
            a: &a,
            b: &b,
        }]);
        let found: Vec<_> = shares.iter().map(|share| (share.a, share.b)).collect();
        assert_eq!(found, [(0.0, 0.5)]);
    }
}
