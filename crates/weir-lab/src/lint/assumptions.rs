//! Flows that the laws of `weir theory` do not describe.
//!
//! Mathis' sawtooth needs a window of which half still holds the three duplicate acknowledgements
//! of a fast retransmit: W/2 ≥ 4 packets, W = √(8/(3p)), so p ≤ 8/(3·64) = 4.2 %. It also needs a
//! path on which nothing but p limits the flow.

use super::Finding;
use super::view::{Control, FlowView, View};
use crate::scenario::Transport;
use crate::theory::mathis;
use weir_proto::units::{Probability, format_rate};

/// 8/(3·64): half of the window of Mathis' sawtooth is four packets.
const MATHIS_LIMIT: f64 = 8.0 / (3.0 * 64.0);

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for flow in &view.flows {
        findings.extend(outside(flow));
    }
    findings
}

/// The first assumption that the flow violates.
fn outside(view: &FlowView<'_>) -> Option<Finding> {
    let path = view.path.as_ref()?;
    let loss = path.loss(view.flow).filter(|&p| p > 0.0)?;
    let is_window = matches!(view.control, Control::NewReno | Control::Cubic);
    if !(is_window && view.is_bulk()) {
        return None;
    }
    let name = format!("flow.{}", view.flow.name);
    let finding = |message: String, help: &str| Finding::new("assumptions", &name, message, help);
    let percent = 100.0 * loss;
    if loss > MATHIS_LIMIT {
        return Some(finding(
            format!(
                "at a loss of {percent:.3} % timeouts rule, and the laws of Mathis and of CUBIC \
                 have none"
            ),
            "compare with `weir theory pftk`",
        ));
    }
    if path.base_rtt.is_zero() {
        return None;
    }
    let sawtooth = mathis::classic(mathis::Path {
        packet_bytes: u64::from(path.mtu),
        rtt: path.base_rtt,
        loss: Probability::new(loss)?,
    });
    if let Transport::Tcp(tcp) = &view.flow.transport {
        let window = sawtooth.window_packets * f64::from(path.mtu);
        let buffer = tcp.config.receive_buffer as f64;
        if buffer < window {
            return Some(finding(
                format!(
                    "the receive buffer of {buffer:.0} bytes is below the window of {window:.0} \
                     that a loss of {percent:.3} % allows"
                ),
                "the law is buffer over round-trip time, not Mathis",
            ));
        }
    }
    let link = path.bottleneck()?;
    (sawtooth.rate.as_bps() > link.rate.as_bps()).then(|| {
        finding(
            format!(
                "a loss of {percent:.3} % would allow {}, more than {} of {}: the queue's drops \
                 count too",
                format_rate(sawtooth.rate),
                format_rate(link.rate),
                link.name
            ),
            "laws with this p alone do not describe it",
        )
    })
}
