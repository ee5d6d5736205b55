//! The order of findings: causes before what they cause.

use super::finding::Finding;
use super::view::View;

/// Kinds with the kinds that they cause, in the same flow or on the same path.
const CAUSES: &[(&str, &[&str])] = &[
    (
        "oscillation_reduction_holds_queue",
        &["standing_queue", "late_notification", "rate_oscillation"],
    ),
    (
        "late_notification",
        &["standing_queue", "rate_oscillation", "double_punishment"],
    ),
    ("standing_queue", &["double_punishment"]),
    ("receiver_limited", &["underused_link"]),
    ("send_buffer_limited", &["underused_link"]),
    ("application_limited", &["underused_link"]),
    ("pacer_limited", &["underused_link"]),
    (
        "random_loss",
        &["underused_link", "early_slow_start_exit", "cut_off_by_loss"],
    ),
    (
        "bursty_loss",
        &[
            "underused_link",
            "early_slow_start_exit",
            "timeout_storm",
            "cut_off_by_loss",
        ],
    ),
    (
        "policer",
        &[
            "underused_link",
            "slow_start_overshoot",
            "early_slow_start_exit",
        ],
    ),
    (
        "shallow_buffer",
        &[
            "underused_link",
            "early_slow_start_exit",
            "slow_start_overshoot",
        ],
    ),
    (
        "reordering",
        &[
            "underused_link",
            "early_slow_start_exit",
            "spurious_timeout",
        ],
    ),
    ("early_slow_start_exit", &["underused_link"]),
    (
        "timeout_storm",
        &["underused_link", "persistent_congestion"],
    ),
    (
        "persistent_congestion",
        &["underused_link", "timeout_storm"],
    ),
    (
        "ack_path_congestion",
        &["underused_link", "ack_loss", "ack_compression"],
    ),
    ("ack_loss", &["underused_link", "ack_compression"]),
    ("feedback_starvation", &["underused_link", "timeout_storm"]),
    (
        "wifi_contention",
        &["standing_queue", "late_notification", "wifi_retries"],
    ),
];

/// One finding of a kind for all flows of an entry of the scenario: the most severe, with the names
/// of the others.
pub(super) fn by_entry(view: &View<'_>, found: Vec<Finding>) -> Vec<Finding> {
    let entry = |subject: &str| {
        let mut flows = view.flows.iter();
        let flow = flows.find(|flow| flow.name == subject)?;
        Some(flow.declared?.name.clone())
    };
    let mut kept: Vec<(Option<String>, Finding)> = Vec::new();
    for finding in found {
        let of = entry(&finding.subject);
        let same = kept
            .iter_mut()
            .find(|(other, known)| known.kind == finding.kind && of.is_some() && *other == of);
        match same {
            Some((_, known)) if known.severity >= finding.severity => {
                known.also.push(finding.subject);
            }
            Some((_, known)) => {
                let before = std::mem::replace(known, finding);
                known.also = before.also;
                known.also.push(before.subject);
            }
            None => kept.push((of, finding)),
        }
    }
    kept.into_iter().map(|(_, finding)| finding).collect()
}

/// The findings in order: those without a cause first, by their severity, each followed by what it
/// causes.
pub(super) fn in_order(mut found: Vec<Finding>) -> Vec<Finding> {
    found.sort_by(|a, b| b.severity.total_cmp(&a.severity));
    for index in 0..found.len() {
        let kind = found[index].kind;
        let cause = CAUSES.iter().find(|(cause, effects)| {
            effects.contains(&kind)
                && found.iter().any(|other| {
                    // A cause that is itself an effect of this kind would be a circle.
                    other.kind == *cause && other.caused_by != Some(kind)
                })
        });
        found[index].caused_by = cause.map(|(cause, _)| *cause);
    }
    let (first, rest): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|finding| finding.caused_by.is_none());
    first.into_iter().chain(rest).collect()
}
