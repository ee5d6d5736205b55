//! Transfers that arrive faster than their path can carry them: the number of active transfers, and
//! with it the completion times, grow with the duration of the run.

use super::Finding;
use super::view::View;
use crate::scenario::Arrivals;
use weir_proto::units::{Rate, format_rate};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let shared = view.bottlenecks();
    let findings = shared.iter().filter_map(|shared| {
        let offered = shared.flows.iter().filter_map(|view| {
            let Arrivals::Poisson(poisson) = &view.flow.arrivals else {
                return None;
            };
            let each = poisson.per_second * poisson.size.mean();
            Some((view, each * f64::from(view.flow.count)))
        });
        let offered: Vec<_> = offered.collect();
        let sum: f64 = offered.iter().map(|(_, bytes)| bytes).sum();
        let (first, _) = offered.first()?;
        let carried = shared.rate.as_bytes_per_sec();
        (sum > carried).then(|| {
            let message = format!(
                "transfers of {} on average come to {} of {}: more and more are under way, and \
                 completion times grow with the length of the run",
                format_rate(Rate::from_bytes_per_sec(sum)),
                format_rate(shared.rate),
                shared.link
            );
            let path = format!("flow.{}.arrivals", first.flow.name);
            let help = format!("let {:.2} of them come, or less", carried / sum);
            Finding::new("load", &path, message, help)
        })
    });
    findings.collect()
}
