//! Ensures that there is only one listener for a DCCP port over IP. The kernel delivers a packet to
//! every raw socket of its protocol, so it does not refuse a second listener at a port, and both
//! would answer. The listeners of Weir therefore bind a name that only one of them can have: that
//! of an abstract Unix socket, which belongs to the network namespace as ports do, and is released
//! when the process ends.

use crate::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixDatagram};

/// The prefix of all names.
const PREFIX: &str = "weir-dccp";
/// The kernel's list of Unix sockets in this network namespace; `@` precedes abstract names.
const UNIX_SOCKETS: &str = "/proc/thread-self/net/unix";

/// A lock on a DCCP port, held until it is dropped.
#[derive(Debug)]
pub(crate) struct RawPort {
    _name: UnixDatagram,
}

impl RawPort {
    /// Locks the port at this address.
    ///
    /// # Errors
    /// [`Error::PortInUse`] if another process has locked it, for this address or for all
    /// addresses.
    pub(crate) fn take(ip: IpAddr, port: u16) -> Result<Self, Error> {
        let taken = |_| Error::PortInUse {
            address: SocketAddr::new(ip, 0),
            port,
        };
        let name = UnixAddress::from_abstract_name(name(ip, port)).map_err(taken)?;
        let held = UnixDatagram::bind_addr(&name).map_err(taken)?;
        // Without the list only equal addresses are detected.
        let list = std::fs::read_to_string(UNIX_SOCKETS).unwrap_or_default();
        if others(&list, port).any(|other| overlap(ip, other)) {
            return Err(taken(std::io::ErrorKind::AddrInUse.into()));
        }
        Ok(Self { _name: held })
    }
}

fn name(ip: IpAddr, port: u16) -> String {
    format!("{PREFIX} {port} {ip}")
}

/// The addresses at which listeners have this port, according to the kernel's list.
fn others(list: &str, port: u16) -> impl Iterator<Item = IpAddr> {
    list.lines().filter_map(move |line| {
        let (_, name) = line.split_once(&format!("@{PREFIX} "))?;
        let (of, ip) = name.split_once(' ')?;
        let same = of.parse() == Ok(port);
        ip.trim().parse().ok().filter(|_| same)
    })
}

/// True if a packet may be delivered to both of two different addresses. A listener at all IPv6
/// addresses has a socket for IPv4 too.
fn overlap(ours: IpAddr, other: IpAddr) -> bool {
    let covers =
        |all: IpAddr, one: IpAddr| all.is_unspecified() && (all.is_ipv6() || one.is_ipv4());
    ours != other && (covers(ours, other) || covers(other, ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ports_at_addresses_that_overlap_exclude_each_other() {
        // Tests that run at the same time on this host must use other ports.
        let port = (20_000 + std::process::id() % 20_000) as u16;
        let ip = |text: &str| -> IpAddr { text.parse().expect("an address") };
        for (first, second, both) in [
            ("127.0.0.1", "127.0.0.1", false),
            ("127.0.0.1", "127.0.0.2", true),
            ("127.0.0.1", "0.0.0.0", false),
            ("0.0.0.0", "127.0.0.1", false),
            ("::", "127.0.0.1", false),
            ("::", "::1", false),
            ("0.0.0.0", "::1", true),
            ("0.0.0.0", "::", false),
        ] {
            let held = RawPort::take(ip(first), port).expect("it is free");
            let second = RawPort::take(ip(second), port);
            assert_eq!(second.is_ok(), both, "{first} {second:?}");
            if let Err(error) = second {
                let text = error.to_string();
                assert!(text.contains(&format!("DCCP port {port}")), "{text}");
            }
            let other = RawPort::take(ip(first), port + 1);
            assert!(other.is_ok(), "another port");
            drop(held);
            assert!(RawPort::take(ip(first), port).is_ok(), "free again");
        }
    }
}
