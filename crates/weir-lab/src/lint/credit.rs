//! Buffers and flow-control credit that limit a flow to less than its share of its path: the
//! receive window or the send buffer is smaller than a bandwidth-delay product. Then neither the
//! controller nor the queue determines its rate.

use super::Finding;
use super::view::{FlowView, View};
use weir_proto::units::{Rate, format_rate};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for shared in view.bottlenecks() {
        let flows = shared.count();
        let held = shared.flows.iter().filter(|view| view.is_held(flows));
        findings.extend(held.filter_map(|view| finding(view, flows)));
    }
    findings
}

fn finding(view: &FlowView<'_>, flows: u32) -> Option<Finding> {
    let (key, bytes) = view.flow.transport.in_flight_limit()?;
    let path = view.path.as_ref()?;
    let share = path.bdp_bytes()? / f64::from(flows.max(1));
    let most = bytes as f64 / path.base_rtt.as_secs_f64();
    let rate = format_rate(Rate::from_bytes_per_sec(most));
    Some(Finding::new(
        "credit",
        &format!("flow.{}.transport.{key}", view.flow.name),
        format!(
            "{bytes} bytes a round trip are {rate} at most, less than the flow's share of its path, \
             whatever its controller does"
        ),
        format!("write at least {:.0}", libm::ceil(share)),
    ))
}
