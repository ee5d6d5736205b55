//! A raw socket for IP protocol 33: DCCP over IP (RFC 4340).
//!
//! The kernel writes the IP headers. As with UDP, it takes the source address and the ECN codepoint
//! of each sent packet, and reports those of each received one. Received IPv4 packets begin with
//! their IP header. Weir writes and checks the DCCP checksum itself, because the kernel's option
//! for IPv6 (RFC 3542 §3.1) does not support checksum coverage (RFC 4340 §9.2). Linux reassembles
//! fragments and sends none.
//!
//! Not supported: segmented sends, which the kernel has for UDP only; path-MTU discovery.

use crate::error::Error;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use weir_proto::dccp::wire::checksum::PROTOCOL;

/// The missing privilege, and the alternative.
const PRIVILEGE: &str = "DCCP over IP needs a raw socket, for which the capability CAP_NET_RAW is \
                         missing (run as root or \"setcap cap_net_raw+ep\" the program); DCCP in \
                         UDP needs none";

/// A raw socket at this address, whose port is ignored. It has the type of a UDP socket, because
/// the same calls are used on it.
pub(crate) fn bind(address: SocketAddr) -> Result<UdpSocket, Error> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::PermissionDenied => Error::Privilege(PRIVILEGE),
        _ => Error::Socket { address, source },
    };
    if !cfg!(target_os = "linux") {
        return Err(failed(io::ErrorKind::Unsupported.into()));
    }
    let protocol = Protocol::from(i32::from(PROTOCOL));
    let socket =
        Socket::new(Domain::for_address(address), Type::RAW, Some(protocol)).map_err(failed)?;
    let address = SocketAddr::new(address.ip(), 0);
    socket.bind(&address.into()).map_err(failed)?;
    Ok(socket.into())
}

/// The payload of a packet as read from the socket: over IPv4, the octets after the IP header.
pub(crate) fn payload(peer: SocketAddr, octets: &[u8]) -> Option<&[u8]> {
    match peer {
        SocketAddr::V6(_) => Some(octets),
        SocketAddr::V4(_) => {
            let words = octets.first().filter(|first| *first >> 4 == 4)? & 0xf;
            octets.get(usize::from(words.max(5)) * 4..)
        }
    }
}

/// True if an error reports ICMP "protocol unreachable", or "unrecognized Next Header" of IPv6.
#[cfg(target_os = "linux")]
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let refusals = [Errno::NOPROTOOPT, Errno::PROTO].map(Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|os| refusals.contains(&os))
}

/// Raw sockets for DCCP are not supported on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_refusal(_error: &io::Error) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_follows_the_ipv4_header_and_its_options() {
        let v4 = SocketAddr::from(([192, 0, 2, 1], 0));
        let v6: SocketAddr = "[2001:db8::1]:0".parse().expect("an address");
        let packet = |first: u8| [&[first][..], &[0; 23], &[1, 2, 3, 4]].concat();
        assert_eq!(payload(v4, &packet(0x46)), Some(&[1, 2, 3, 4][..]));
        assert_eq!(payload(v4, &packet(0x45)).map(<[u8]>::len), Some(8));
        assert_eq!(payload(v4, &packet(0x4f)), None);
        assert_eq!(payload(v4, &packet(0x65)), None);
        assert_eq!(payload(v4, &[]), None);
        assert_eq!(payload(v6, &[0x46; 3]), Some(&[0x46; 3][..]));
    }
}
