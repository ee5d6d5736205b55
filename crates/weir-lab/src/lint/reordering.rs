//! Jitter that reorders packets.

use super::{Finding, View};
use weir_net::NetemConfig;
use weir_proto::time::Duration;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let run = &view.scenario.run;
    let span = [run.warmup, run.duration];
    for link in &view.scenario.links {
        for direction in [&link.forward, &link.backward] {
            let changes = direction.changes.iter();
            let later = changes.filter_map(|change| change.netem.as_ref());
            // Uniform jitter spreads delays over twice its length, others farther.
            let spacing = direction
                .mean_service_rate(span)
                .map_or(Duration::ZERO, |rate| {
                    rate.time_for(u64::from(direction.mtu))
                });
            let reorders = |netem: &&NetemConfig| {
                !netem.keep_order && !netem.jitter.is_zero() && netem.jitter * 2 > spacing
            };
            let found = [&direction.netem].into_iter().chain(later).find(reorders);
            findings.extend(found.map(|netem| {
                Finding::new(
                    "reordering",
                    &format!("link.{}.netem.jitter", link.name),
                    format!(
                        "a jitter of {} is more than the {spacing} between two packets: they \
                         overtake each other, and senders take that for loss",
                        netem.jitter
                    ),
                    "write keep_order = true if the real path keeps the order",
                )
            }));
        }
    }
    findings.dedup();
    findings
}
