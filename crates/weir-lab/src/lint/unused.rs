//! Settings that another one makes ineffective.

use super::{Finding, View};
use crate::scenario::{Direction, Run};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for link in &view.scenario.links {
        for direction in [&link.forward, &link.backward] {
            let path = format!("link.{}", link.name);
            findings.extend(traced_rate(&path, direction));
            findings.extend(late_change(&path, direction, &view.scenario.run));
        }
    }
    // Both directions of a link mostly have the same settings.
    findings.dedup();
    findings
}

fn traced_rate(path: &str, direction: &Direction) -> Option<Finding> {
    let is_traced = !direction.rate_trace.millis.is_empty();
    (is_traced && direction.rate.is_some()).then(|| {
        let message = "the link sends by its rate_trace, and its rate says nothing".to_owned();
        Finding::new(
            "unused",
            &format!("{path}.rate"),
            message,
            "leave one of them out",
        )
    })
}

fn late_change(path: &str, direction: &Direction, run: &Run) -> Option<Finding> {
    let mut changes = direction.changes.iter();
    let late = changes.find(|change| change.at >= run.duration)?;
    let message = format!(
        "a change at {} comes after the run of {}",
        late.at, run.duration
    );
    let help = "run longer, or leave it out";
    Some(Finding::new(
        "unused",
        &format!("{path}.change"),
        message,
        help,
    ))
}
