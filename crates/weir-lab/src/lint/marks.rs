//! Flows whose controller does not receive the ECN marks that it responds to, or has no response to
//! marks.

use super::{Finding, View};
use crate::scenario::Transport;
use weir_proto::cc::EcnCapability;
use weir_proto::cc::window::{self, ControllerEntry, WindowConfig};
use weir_proto::tcp::EcnMode;

pub(super) fn check(view: &View<'_>) -> Vec<Finding> {
    let flows = view.scenario.flows.iter();
    let findings = flows.filter_map(|flow| {
        let (message, help) = of(&flow.transport)?;
        let path = format!("flow.{}.transport", flow.name);
        Some(Finding::new("marks", &path, message, help))
    });
    findings.collect()
}

/// The finding and the advice.
fn of(transport: &Transport) -> Option<(String, &'static str)> {
    if let Some(foreign) = transport.foreign() {
        let entry = window::find(foreign.controller)?;
        let counts = matches!(
            capability(entry),
            Some(EcnCapability::Ect0 | EcnCapability::Ect1)
        );
        return counts.then(|| {
            let message = format!(
                "{} sends ECT(0) and does not say how many packets were marked: {} takes marks \
                 for losses",
                foreign.stack.name(),
                entry.name
            );
            (
                message,
                "its answer to marks needs kind = \"quic\" or \"tcp\"",
            )
        });
    }
    let (entry, ecn) = match transport {
        Transport::Quic(quic) => (quic.config.controller, quic.config.ecn),
        Transport::Tcp(tcp) => (tcp.controller, tcp.config.ecn != EcnMode::Off),
        Transport::Dccp(dccp) => (dccp.controller()?, dccp.config.ecn),
        Transport::Quinn(_) | Transport::Noq(_) | Transport::Rtp(_) | Transport::Udp(_) => {
            return None;
        }
    };
    let ignores = ecn && capability(entry) == Some(EcnCapability::NotEct);
    ignores.then(|| {
        let message = format!(
            "{} has no answer to marks: its packets are Not-ECT, and a queue drops them",
            entry.name
        );
        (message, "leave ecn out")
    })
}

fn capability(entry: &ControllerEntry) -> Option<EcnCapability> {
    (entry.make)(&WindowConfig::default()).needs().ecn
}
