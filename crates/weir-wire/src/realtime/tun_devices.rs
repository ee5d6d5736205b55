//! Ports that are TUN devices, which carry whole IP packets.

use super::packet::{Route, apply_damage, content};
use super::{PortIo, ip_header};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use tun_rs::SyncDevice;
use weir_proto::packet::{Ecn, HostId, Packet};

/// A device as the port of a host.
struct DevicePort {
    device: SyncDevice,
    host: HostId,
    /// The host through whose port packets to an address leave.
    routes: BTreeMap<IpAddr, HostId>,
    /// The host for all other addresses.
    default_route: Option<HostId>,
}

/// The TUN devices of a network.
pub struct TunDevices {
    ports: Vec<DevicePort>,
    /// The device to read first next time, so that a busy one does not starve the others.
    next_port: usize,
    buffer: Vec<u8>,
}

impl Default for TunDevices {
    fn default() -> Self {
        Self {
            ports: Vec::new(),
            next_port: 0,
            buffer: vec![0; 1 << 16],
        }
    }
}

impl TunDevices {
    /// Adds a device as the port of a host. Packets to an address in `routes` leave through the
    /// port of the host given there, others through that of `default_route`; without one they are
    /// dropped.
    ///
    /// # Errors
    /// If the device cannot be set to non-blocking mode.
    pub fn add(
        &mut self,
        device: SyncDevice,
        host: HostId,
        routes: BTreeMap<IpAddr, HostId>,
        default_route: Option<HostId>,
    ) -> std::io::Result<()> {
        device.set_nonblocking(true)?;
        self.ports.push(DevicePort {
            device,
            host,
            routes,
            default_route,
        });
        Ok(())
    }
}

impl PortIo for TunDevices {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.ports.iter().map(|port| port.device.as_fd()).collect()
    }

    fn receive(&mut self) -> Option<Packet> {
        for _ in 0..self.ports.len() {
            let port = self.ports.get(self.next_port)?;
            self.next_port = (self.next_port + 1) % self.ports.len();
            let Ok(len) = port.device.recv(&mut self.buffer) else {
                continue;
            };
            let octets = self.buffer.get(..len)?;
            let Some(header) = ip_header::parse(octets) else {
                continue;
            };
            let route = port.routes.get(&header.target).copied();
            let target = route.or(port.default_route);
            let Some(target) = target.filter(|target| *target != port.host) else {
                continue;
            };
            let route = Route {
                flow: header.flow,
                source: port.host,
                target,
                dscp: header.dscp,
            };
            return Some(route.packet(header.ecn, len as u32, octets));
        }
        None
    }

    fn send(&mut self, host: HostId, packet: Packet) {
        let port = self.ports.iter().find(|port| port.host == host);
        let (Some(port), Some(mut octets)) = (port, content(&packet)) else {
            return;
        };
        if packet.ip.ecn == Ecn::Ce {
            ip_header::set_ce(octets.to_mut());
        }
        apply_damage(&packet, 0, &mut octets);
        // If the device's queue is full the packet is lost, as on any path.
        let _ = port.device.send(&octets);
    }
}
