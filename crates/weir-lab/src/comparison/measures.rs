//! The headline measures of a run.

use super::headline::{HEADLINE, Headline};
use super::pairing::Pair;
use crate::run::Summary;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The measures of a run by kind and name of the part that has them, and by JSON pointer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures(pub(super) BTreeMap<Part, BTreeMap<&'static str, f64>>);

/// Kind (`flow`, `transfers`, `group`, `flows` for all flows together, or `link`) and name.
pub(super) type Part = (&'static str, String);

impl Measures {
    /// The measures of flows and transfers, of groups in place of their members, of all flows
    /// together if there are several, and of links.
    pub fn of(summary: &Summary) -> Self {
        let mut all = Self::default();
        let is_member = |flow: &str| is_member(flow, |group| summary.groups.contains_key(group));
        let flows = summary.flows.iter().filter(|(name, _)| !is_member(name));
        flows.for_each(|(name, flow)| all.add("flow", name, flow));
        let transfers = summary.transfers.iter();
        let transfers = transfers.filter(|(name, _)| !is_member(name));
        transfers.for_each(|(name, of)| all.add("transfers", name, of));
        if summary.flows.len() + summary.transfers.len() > 1 {
            all.add("flows", "together", &summary.totals);
        }
        let groups = summary.groups.iter();
        groups.for_each(|(name, group)| all.add("group", name, group));
        let links = summary.links.iter();
        links.for_each(|(name, link)| all.add("link", name, link));
        all
    }

    fn add(&mut self, kind: &'static str, name: &str, of: &impl Serialize) {
        // A summary has only names and numbers, which JSON can represent.
        let json = serde_json::to_value(of).unwrap_or_default();
        self.insert(kind, name, |measure| {
            json.pointer(&format!("/{}", measure.pointer))?.as_f64()
        });
    }

    /// Adds a flow, group or link with the values of the measures that apply to it.
    pub fn insert(
        &mut self,
        kind: &'static str,
        name: &str,
        value: impl Fn(&Headline) -> Option<f64>,
    ) {
        let known = HEADLINE.iter().filter_map(|m| Some((m.pointer, value(m)?)));
        self.0.insert((kind, name.to_owned()), known.collect());
    }
}

/// True if the flow is a member of a group, whose members are numbered: `web-3` of `web`.
pub(crate) fn is_member(flow: &str, is_group: impl Fn(&str) -> bool) -> bool {
    let group = flow.rsplit_once('-').map(|(group, _)| group);
    group.is_some_and(is_group)
}

/// What some runs of the pairs measure and others do not, as text: single measures of a flow, group
/// or link, or the whole flow, group or link if no measure of it is in all runs.
pub fn left_out(pairs: &[Pair<&Measures>]) -> BTreeSet<String> {
    let runs = || pairs.iter().flat_map(|pair| [pair.a, pair.b]);
    let mut counts: BTreeMap<&Part, BTreeMap<&str, usize>> = BTreeMap::new();
    for (part, measures) in runs().flat_map(|run| &run.0) {
        let of_part = counts.entry(part).or_default();
        for pointer in measures.keys() {
            *of_part.entry(pointer).or_default() += 1;
        }
    }
    let everywhere = |count: usize| count == 2 * pairs.len();
    let mut found = BTreeSet::new();
    for ((kind, name), measures) in counts {
        if !measures.values().any(|&count| everywhere(count)) {
            found.insert(format!("{kind} {name}"));
            continue;
        }
        let missing = |m: &&Headline| measures.get(m.pointer).is_some_and(|&n| !everywhere(n));
        let missing = HEADLINE.iter().filter(missing);
        found.extend(missing.map(|m| format!("{kind} {name} {}", m.label)));
    }
    found
}
