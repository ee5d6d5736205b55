//! Only a connection of QUIC goes on at another address, to which a way leads.

use super::super::model::Flow;
use super::super::paths::Graph;
use super::super::transport::Transport;
use super::{Check, Checked};
use crate::scenario::document::Step::{Index, Key};
use weir_proto::time::Duration;

impl Check<'_> {
    /// Checks the handovers of the flow with this index.
    pub(super) fn handovers(&self, index: usize, flow: &Flow, graph: &Graph<'_>) -> Checked {
        if flow.handovers.is_empty() {
            return Ok(());
        }
        let of_flow = [Key("flow"), Index(index), Key("handover")];
        if !matches!(flow.transport, Transport::Quic(_)) {
            let message = "handover: only a connection of QUIC goes on at another address, and this \
                           transport ends with its own";
            let help = "write transport = { kind = \"quic\" }, or leave the handover out";
            return self.error(&of_flow, message.to_owned(), help);
        }
        if !flow.is_one_connection() {
            let message = "handover: each transfer of \"arrivals\" has a connection of its own";
            let help = "leave out the handover or the arrivals";
            return self.error(&of_flow, message.to_owned(), help);
        }
        let [_, server] = flow.client_and_server();
        let mut before = Duration::ZERO;
        for (n, handover) in flow.handovers.iter().enumerate() {
            let at = |key| [of_flow[0], of_flow[1], of_flow[2], Index(n), Key(key)];
            if handover.at <= before || handover.at >= self.scenario.run.duration {
                let message = format!(
                    "at: {} is not between {before} and the end of the run at {}",
                    handover.at, self.scenario.run.duration
                );
                return self.error(&at("at"), message, "write the handovers in their order");
            }
            before = handover.at;
            let Some(host) = &handover.to else { continue };
            let ways = [(host.as_str(), server), (server, host.as_str())];
            for (from, to) in ways {
                if host == server || graph.path_mtu(from, to).is_none() {
                    let message = format!("to: no way leads from \"{from}\" to \"{to}\"");
                    let help = "name a host that a [[link]] joins with the way to the peer";
                    return self.error(&at("to"), message, help);
                }
            }
        }
        Ok(())
    }
}
