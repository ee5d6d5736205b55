//! The numbers of summaries, each over several runs.

use super::Sample;
use crate::run::Summary;
use serde_json::Value;
use std::collections::BTreeMap;

/// Every number of the flows, links and groups of the summaries and of their totals, over the runs
/// that have it, by its JSON pointer in the summary: `/flows/stream/throughput_bps`.
pub fn measures<'a>(summaries: impl IntoIterator<Item = &'a Summary>) -> BTreeMap<String, Sample> {
    let mut measures = BTreeMap::new();
    for summary in summaries {
        // A summary has only names and numbers, which JSON can represent.
        let value = serde_json::to_value(summary).unwrap_or_default();
        for part in ["flows", "links", "groups", "transfers", "totals"] {
            if let Some(inner) = value.get(part) {
                collect(inner, &format!("/{part}"), &mut measures);
            }
        }
    }
    measures
}

fn collect(value: &Value, path: &str, measures: &mut BTreeMap<String, Sample>) {
    if let Some(number) = value.as_f64() {
        let sample = measures.entry(path.to_owned()).or_default();
        sample.values.push(number);
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        collect(inner, &format!("{path}/{key}"), measures);
    }
}
