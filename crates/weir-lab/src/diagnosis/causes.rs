//! The order of findings: causes before what they cause.

use super::finding::Finding;
use super::view::View;

/// Kinds with the kinds that they cause, in the same flow or on the same path.
const CAUSES: &[(&str, &[&str])] = &[
    (
        "oscillation_reduction_holds_queue",
        &[
            "standing_queue",
            "late_notification",
            "rate_oscillation",
            "double_punishment",
        ],
    ),
    (
        "oscillation_reduction_in_slow_start",
        &["late_notification", "standing_queue"],
    ),
    (
        "cut_off_by_delay",
        &[
            "standing_queue",
            "late_notification",
            "rate_oscillation",
            "double_punishment",
        ],
    ),
    ("late_notification", &["standing_queue"]),
    ("rate_oscillation", &["standing_queue"]),
    ("double_punishment", &["random_loss", "standing_queue"]),
    (
        "random_loss",
        &["early_slow_start_exit", "heavy_retransmission"],
    ),
    (
        "bursty_loss",
        &[
            "early_slow_start_exit",
            "timeout_storm",
            "heavy_retransmission",
        ],
    ),
    (
        "policer",
        &[
            "slow_start_overshoot",
            "early_slow_start_exit",
            "ack_compression",
            "heavy_retransmission",
        ],
    ),
    (
        "shallow_buffer",
        &[
            "early_slow_start_exit",
            "slow_start_overshoot",
            "heavy_retransmission",
        ],
    ),
    ("slow_start_overshoot", &["heavy_retransmission"]),
    (
        "reordering",
        &["early_slow_start_exit", "heavy_retransmission"],
    ),
    (
        "spurious_timeout",
        &["reordering", "timeout_storm", "heavy_retransmission"],
    ),
    ("timeout_storm", &["heavy_retransmission"]),
    ("persistent_congestion", &["timeout_storm"]),
    (
        "out_of_order_buffer",
        &["closed_window", "heavy_retransmission"],
    ),
    ("unread_data", &["closed_window", "receiver_limited"]),
    (
        "closed_window",
        &["receiver_limited", "black_hole", "slow_server"],
    ),
    (
        "pmtu_black_hole",
        &["timeout_storm", "heavy_retransmission"],
    ),
    ("black_hole", &["timeout_storm", "heavy_retransmission"]),
    (
        "ack_path_congestion",
        &["ack_loss", "ack_compression", "timeout_storm"],
    ),
    ("ack_loss", &["ack_compression", "timeout_storm"]),
    ("ack_compression", &["reordering"]),
    ("delayed_ack_stall", &["ack_compression"]),
    (
        "feedback_starvation",
        &["timeout_storm", "rate_held_by_receive_rate", "ack_loss"],
    ),
    (
        "wifi_rate_fall",
        &[
            "standing_queue",
            "wifi_retries",
            "bursty_loss",
            "random_loss",
            "reordering",
            "early_slow_start_exit",
        ],
    ),
    (
        "wifi_retries",
        &[
            "random_loss",
            "bursty_loss",
            "slow_start_overshoot",
            "heavy_retransmission",
        ],
    ),
    (
        "wifi_contention",
        &["standing_queue", "late_notification", "wifi_retries"],
    ),
    ("timer_granularity", &["pacer_limited"]),
    ("rate_held_by_receive_rate", &["double_punishment"]),
    (
        "latecomer_starved",
        &["slow_start_overshoot", "early_slow_start_exit"],
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

/// Kinds that do not explain why a link is not filled.
const HARMLESS: [&str; 6] = [
    "slow_start_overshoot",
    "standing_queue",
    "late_notification",
    "wifi_contention",
    "rtt_bias",
    "underused_link",
];

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
        let cause = cause.map(|(cause, _)| *cause).or_else(|| {
            let mut others = found.iter().map(|other| other.kind);
            let explains = |other: &&str| !HARMLESS.contains(other);
            others.find(explains).filter(|_| kind == "underused_link")
        });
        found[index].caused_by = cause;
    }
    let (first, rest): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|finding| finding.caused_by.is_none());
    first.into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::pathologies;

    #[test]
    fn causes_and_effects_are_kinds_that_are_known() {
        let known: Vec<&str> = pathologies().map(|pathology| pathology.kind).collect();
        let named = CAUSES
            .iter()
            .flat_map(|(cause, effects)| std::iter::once(cause).chain(effects.iter()));
        for kind in named.chain(&HARMLESS) {
            assert!(known.contains(kind), "{kind}");
        }
    }
}
