//! Ports that are network devices: each hands over and takes whole IP packets (TUN).

use super::{PortIo, ip};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use tun_rs::SyncDevice;
use weir_proto::packet::{Body, Ecn, HostId, IpHeader, Packet, Payload};

/// Where the packets of one device go.
struct Place {
    device: SyncDevice,
    /// The host whose port it is.
    host: HostId,
    /// Which host is asked to pass on what goes to an address.
    next: BTreeMap<IpAddr, HostId>,
    /// Which passes on everything else.
    other: Option<HostId>,
}

/// The devices of a topology.
pub struct TunDevices {
    places: Vec<Place>,
    /// The device that is read first next time.
    turn: usize,
    buffer: Vec<u8>,
}

impl Default for TunDevices {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            turn: 0,
            buffer: vec![0; 1 << 16],
        }
    }
}

impl TunDevices {
    /// Adds a device as the port of a host. What goes to one of these addresses leaves through
    /// the port of the host named with it, everything else through that of `other`, if any.
    ///
    /// # Errors
    /// If the device cannot be made not to block.
    pub fn add(
        &mut self,
        device: SyncDevice,
        host: HostId,
        next: BTreeMap<IpAddr, HostId>,
        other: Option<HostId>,
    ) -> std::io::Result<()> {
        device.set_nonblocking(true)?;
        self.places.push(Place {
            device,
            host,
            next,
            other,
        });
        Ok(())
    }
}

impl PortIo for TunDevices {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.places
            .iter()
            .map(|place| place.device.as_fd())
            .collect()
    }

    fn receive(&mut self) -> Option<Packet> {
        for _ in 0..self.places.len() {
            let place = self.places.get(self.turn)?;
            // Each in its turn: one that is never silent shall not keep the others waiting.
            self.turn = (self.turn + 1) % self.places.len();
            let Ok(len) = place.device.recv(&mut self.buffer) else {
                continue;
            };
            let octets = self.buffer.get(..len)?;
            let Some(header) = ip::read(octets) else {
                continue;
            };
            let next = place.next.get(&header.target).copied().or(place.other);
            let Some(target) = next.filter(|target| *target != place.host) else {
                continue;
            };
            return Some(Packet {
                id: 0,
                flow: header.flow,
                ip: IpHeader {
                    source: place.host,
                    destination: target,
                    ecn: header.ecn,
                    ttl: IpHeader::DEFAULT_TTL,
                },
                size: len as u32,
                damaged_at: None,
                body: Body::Other(Payload::from_bytes(octets)),
            });
        }
        None
    }

    fn send(&mut self, host: HostId, packet: Packet) {
        let Body::Other(payload) = &packet.body else {
            return;
        };
        let place = self.places.iter().find(|place| place.host == host);
        let (Some(place), Some(octets)) = (place, payload.content()) else {
            return;
        };
        if packet.ip.ecn != Ecn::Ce && packet.damaged_at.is_none() {
            let _ = place.device.send(octets);
            return;
        }
        let mut octets = octets.to_vec();
        if packet.ip.ecn == Ecn::Ce {
            ip::mark(&mut octets);
        }
        if let Some(at) = packet.damaged_at
            && let Some(octet) = octets.get_mut(at.get() as usize)
        {
            *octet ^= 1;
        }
        let _ = place.device.send(&octets);
    }
}
