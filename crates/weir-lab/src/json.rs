//! Results as JSON, the same for each report.

use serde::Serialize;

/// One JSON document with a line feed at its end; empty if JSON cannot represent the results, such
/// as a map whose keys are not strings.
pub(crate) fn document(results: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(results).unwrap_or_default();
    text.push('\n');
    text
}
