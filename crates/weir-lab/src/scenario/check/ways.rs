//! Every flow has a path that its packets fit and on which time passes.

use super::super::model::Flow;
use super::super::paths::Graph;
use super::super::transport::Transport;
use super::{Check, Checked};
use crate::scenario::document::Step::{self, Index, Key};
use weir_proto::packet::IpHeader;
use weir_proto::{quic, rtp};

/// The smallest datagram that every QUIC path carries (RFC 9000 §14).
const MIN_DATAGRAM: u32 = 1200;

impl Check<'_> {
    /// Every flow has a path that its packets fit.
    pub(super) fn paths(&self) -> Checked {
        let graph = Graph::of(self.scenario);
        self.paths_of_tunnels(&graph)?;
        for (flow, &index) in self.scenario.flows.iter().zip(&self.entries) {
            let Some(mtu) = graph.path_mtu(&flow.from, &flow.to) else {
                let path = [Key("flow"), Index(index), Key("to")];
                let message = format!("to: no way leads from \"{}\" to \"{}\"", flow.from, flow.to);
                return self.error(&path, message, "add a [[link]] between them");
            };
            self.packet_fits(index, flow, mtu)?;
            self.handovers(index, flow, &graph)?;
        }
        let Some(index) = self.scenario.timeless_flow() else {
            return Ok(());
        };
        let flow = &self.scenario.flows[index];
        let message = format!(
            "to: nothing on the way from \"{}\" to \"{}\" and back takes time, so that the flow \
             would write without end at one instant",
            flow.from, flow.to
        );
        let help = "give a link a rate or a delay, or the application a total";
        let entry = self.entries.get(index).copied().unwrap_or(index);
        self.error(&[Key("flow"), Index(entry), Key("to")], message, help)
    }

    fn packet_fits(&self, index: usize, flow: &Flow, mtu: u32) -> Checked {
        match &flow.transport {
            Transport::Quic(quic) => {
                let entry = [Key("flow"), Index(index)];
                self.datagram_fits(&entry, quic.config.max_datagram_size, mtu)?;
                if quic.config.media.is_none() {
                    return Ok(());
                }
            }
            Transport::Quinn(_) | Transport::Noq(_) => {
                let entry = [Key("flow"), Index(index)];
                let foreign = flow.transport.foreign();
                let size = foreign.and_then(|foreign| foreign.settings.max_datagram_size);
                return self.datagram_fits(&entry, size, mtu);
            }
            Transport::Tcp(_) => return Ok(()),
            Transport::Dccp(_) | Transport::Rtp(_) | Transport::Udp(_) => {}
        }
        let packet = flow.app.packet();
        let fits = match &flow.transport {
            Transport::Dccp(dccp) => dccp.config(mtu, 0).max_payload(),
            Transport::Quic(quic) => quic::Config {
                mtu,
                ..quic.config.clone()
            }
            .max_datagram_payload(),
            Transport::Rtp(rtp) => rtp::Config {
                mtu,
                ..(**rtp).clone()
            }
            .max_payload(),
            _ => mtu.saturating_sub(IpHeader::UDP_OCTETS + IpHeader::V4_OCTETS),
        };
        if packet <= fits {
            return Ok(());
        }
        let path = [Key("flow"), Index(index), Key("app"), Key("packet")];
        let headers = mtu - fits;
        let size = packet.saturating_add(headers);
        let message = format!(
            "packet: {packet} bytes and {headers} of headers make {size}, more than the path's MTU of {mtu}"
        );
        self.error(&path, message, format!("write at most {fits} bytes"))
    }

    /// The path carries the datagrams of QUIC; `entry` leads to the table with the transport.
    pub(super) fn datagram_fits(
        &self,
        entry: &[Step<'static>],
        size: Option<u32>,
        mtu: u32,
    ) -> Checked {
        let headers = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;
        let largest = mtu.saturating_sub(headers);
        let at = |key| [entry, &[Key("transport"), Key(key)]].concat();
        // RFC 9000 §14: QUIC must not be used on a path that does not carry 1200 octets.
        if largest < MIN_DATAGRAM {
            let message = format!(
                "transport: the path's MTU of {mtu} leaves {largest} bytes to QUIC, which needs {MIN_DATAGRAM}"
            );
            let help = format!(
                "give the links an mtu of at least {}",
                MIN_DATAGRAM + headers
            );
            return self.error(&at("kind"), message, help);
        }
        if let Some(size) = size.filter(|&size| size > largest) {
            let message = format!(
                "max_datagram_size: {size} bytes and {headers} of headers are more than the path's MTU of {mtu}"
            );
            let help = format!("write at most {largest} bytes, or \"path\"");
            return self.error(&at("max_datagram_size"), message, help);
        }
        Ok(())
    }
}
