//! Flows of CCID 4 whose minimum interval between packets limits them to less than their share of
//! the path: 100 packets per second, whatever the equation allows (RFC 5622 §5).

use super::Finding;
use super::view::{FlowView, View};
use crate::scenario::Transport;
use weir_net::AppConfig;
use weir_proto::cc::tfrc::SmallPackets;
use weir_proto::units::{Rate, format_rate};

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for shared in view.bottlenecks() {
        let share = shared.rate.as_bps() / f64::from(shared.count().max(1));
        findings.extend(shared.flows.iter().filter_map(|view| finding(view, share)));
    }
    findings
}

/// The finding for a flow whose share of its path is this many bits per second.
fn finding(view: &FlowView<'_>, share: f64) -> Option<Finding> {
    let (Transport::Dccp(dccp), AppConfig::Bulk(bulk)) = (&view.flow.transport, &view.flow.app)
    else {
        return None;
    };
    let interval = SmallPackets::CCID4.min_interval;
    let most = f64::from(bulk.packet) / interval.as_secs_f64();
    if dccp.ccid != 4 || 8.0 * most >= share {
        return None;
    }
    let rate = format_rate(Rate::from_bytes_per_sec(most));
    let share = format_rate(Rate::from_bps(share));
    Some(Finding::new(
        "interval",
        &format!("flow.{}.transport.ccid", view.flow.name),
        format!(
            "CCID 4 leaves {interval} between two packets, so that packets of {} bytes are {rate} at \
             most, where the flow's share of its path is {share}",
            bulk.packet
        ),
        "ccid = 3 has no such interval",
    ))
}
