//! Tunnels join existing hosts over connections that carry packets in the mode of the tunnel.

use super::super::model::{Flow, Host, Link, Tunnel, TunnelMode};
use super::super::paths::{Graph, HopMedium};
use super::{Check, Checked};
use crate::scenario::document::Step::{Index, Key};
use crate::scenario::error::suggestion;
use std::collections::BTreeSet;
use weir_proto::settings::Variants as _;

/// The least MTU of a network (RFC 791 §3.2).
const LEAST_MTU: u32 = 68;

impl Check<'_> {
    /// Checks names, hosts and transports of all tunnels.
    pub(super) fn tunnels(&self) -> Checked {
        let tunnels = &self.scenario.tunnels;
        let names: Vec<_> = tunnels.iter().map(|one| one.name.clone()).collect();
        let names: Vec<_> = names.into_iter().enumerate().collect();
        self.unique("tunnel", &names)?;
        let links: BTreeSet<String> = (self.scenario.links.iter())
            .flat_map(Link::names)
            .chain(self.scenario.wifi.iter().map(|wifi| wifi.name.clone()))
            .collect();
        let flows: BTreeSet<String> = (self.scenario.flows.iter()).flat_map(Flow::names).collect();
        for (index, tunnel) in tunnels.iter().enumerate() {
            for (what, others) in [("link", &links), ("flow", &flows)] {
                if others.contains(&tunnel.name) {
                    let path = [Key("tunnel"), Index(index), Key("name")];
                    let message = format!("there is a {what} called \"{}\" too", tunnel.name);
                    return self.error(&path, message, "give each a name of its own");
                }
            }
            self.ends_of_tunnel(index, tunnel)?;
            self.transport_of_tunnel(index, tunnel)?;
        }
        Ok(())
    }

    fn ends_of_tunnel(&self, index: usize, tunnel: &Tunnel) -> Checked {
        let path = [Key("tunnel"), Index(index), Key("between")];
        let [first, second] = &tunnel.between;
        if first == second {
            let message = format!(
                "tunnel \"{}\" leads from \"{first}\" back to it",
                tunnel.name
            );
            return self.error(&path, message, "name two hosts");
        }
        let hosts = &self.scenario.hosts;
        let names: Vec<String> = hosts.iter().flat_map(Host::names).collect();
        for host in [first, second] {
            if !names.contains(host) {
                let message = format!("between: there is no host \"{host}\"");
                let names: Vec<&str> = names.iter().map(String::as_str).take(20).collect();
                return self.error(&path, message, suggestion(host, "hosts", &names));
            }
        }
        Ok(())
    }

    fn transport_of_tunnel(&self, index: usize, tunnel: &Tunnel) -> Checked {
        if tunnel.is_possible() {
            return Ok(());
        }
        let kind = tunnel.transport.word();
        let (message, help) = match tunnel.mode {
            TunnelMode::Datagram => (
                format!("transport: {kind} carries no datagrams of a tunnel"),
                "write kind = \"quic\", \"dccp\" or \"udp\", or mode = \"stream\"",
            ),
            TunnelMode::Stream => (
                format!("transport: {kind} carries no stream of a tunnel"),
                "write kind = \"quic\" or \"tcp\", or mode = \"datagram\"",
            ),
        };
        let path = [Key("tunnel"), Index(index), Key("transport"), Key("kind")];
        self.error(&path, message, help)
    }

    /// Every outer connection has a path that carries the largest packets of the tunnel.
    pub(super) fn paths_of_tunnels(&self, graph: &Graph<'_>) -> Checked {
        for (index, tunnel) in self.scenario.tunnels.iter().enumerate() {
            let at = |key| [Key("tunnel"), Index(index), Key(key)];
            let [from, to] = &tunnel.between;
            let (Some(mtu), Some(there)) = (graph.outer_mtu(tunnel), graph.outer_path(from, to))
            else {
                let message = format!("between: no way leads from \"{from}\" to \"{to}\"");
                return self.error(&at("between"), message, "add a [[link]] between them");
            };
            self.datagram_of_tunnel(index, tunnel, mtu)?;
            // At a host on the way, packets for one end and the outer packets for it would need
            // different routes.
            let between = there.iter().skip(1).filter_map(|hop| match hop.over {
                HopMedium::Wire { link, forward } => Some(&link.between[usize::from(!forward)]),
                HopMedium::Air(station) => Some(&station.host),
                HopMedium::Tunnel { .. } => None,
            });
            for host in between {
                let mut others = self.scenario.tunnels.iter();
                if let Some(other) = others.find(|other| other.between.contains(host)) {
                    let message = format!(
                        "between: the outer connection passes \"{host}\", an end of tunnel \"{}\"",
                        other.name
                    );
                    let help = "tunnels inside of tunnels are not modelled";
                    return self.error(&at("between"), message, help);
                }
            }
        }
        Ok(())
    }

    fn datagram_of_tunnel(&self, index: usize, tunnel: &Tunnel, mtu: u32) -> Checked {
        let entry = [Key("tunnel"), Index(index)];
        if let super::Transport::Quic(quic) = &tunnel.transport {
            self.datagram_fits(&entry, quic.config.max_datagram_size, mtu)?;
        }
        let Some(fits) = tunnel.fits_datagram(mtu) else {
            return Ok(());
        };
        let wanted = tunnel.mtu.unwrap_or(LEAST_MTU);
        if wanted <= fits {
            return Ok(());
        }
        let key = tunnel.mtu.map_or("transport", |_| "mtu");
        let message = format!(
            "{key}: a datagram of the outer connection has room for packets of {fits} bytes, \
             and not of {wanted}"
        );
        let help = if fits < LEAST_MTU {
            "give the links of the outer connection a larger mtu".to_owned()
        } else {
            format!("write mtu = {fits}, or \"auto\"")
        };
        self.error(&[Key("tunnel"), Index(index), Key(key)], message, help)
    }
}
