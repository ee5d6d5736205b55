//! Finds the IP packet in a captured frame, after link layer and VLAN tags, and DCCP in it, also in
//! UDP.

use weir_proto::dccp::wire::checksum::{PROTOCOL, PseudoHeader, internet_checksum};

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// IEEE 802.1Q, 802.1ad and the older double tags.
const ETHERTYPES_VLAN: [u16; 4] = [0x8100, 0x88a8, 0x9100, 0x9200];

const UDP: u8 = 17;
/// The port of DCCP in UDP (RFC 6773 §3.8).
pub(in crate::trace) const ENCAPSULATION_PORT: u16 = 6511;
const UDP_HEADER_OCTETS: usize = 8;
/// UDP header and the shortest DCCP header (RFC 6773 §3.3).
const MIN_UDP_OCTETS: usize = 20;

/// The payload of an IP packet with a given protocol number.
#[derive(Clone, Copy, Debug)]
pub struct IpPayload<'a> {
    /// The captured octets.
    pub bytes: &'a [u8],
    /// Its length on the wire.
    pub length: usize,
    /// Its addresses.
    pub addresses: PseudoHeader,
    /// The UDP ports of source and destination if UDP carries it; then the DCCP checksum is ignored
    /// (RFC 6773 §3.3).
    pub udp_ports: Option<[u16; 2]>,
}

/// The DCCP packet in a frame; `None` for another protocol.
///
/// # Errors
/// If the DCCP packet cannot be read, because the frame has only a fragment of it or its outer
/// headers are invalid.
pub fn find_dccp(link: u16, frame: &[u8]) -> Result<Option<IpPayload<'_>>, String> {
    find_dccp_at(ENCAPSULATION_PORT, link, frame)
}

/// Like [`find_dccp`], with DCCP in UDP at this port.
///
/// # Errors
/// As [`find_dccp`].
pub fn find_dccp_at(port: u16, link: u16, frame: &[u8]) -> Result<Option<IpPayload<'_>>, String> {
    find_ip(link, frame).map_or(Ok(None), |datagram| datagram.dccp(port))
}

/// The IP packet in a frame; `None` for another protocol.
pub(in crate::trace) fn find_ip(link: u16, frame: &[u8]) -> Option<Datagram<'_>> {
    let packet = ip_packet(link, frame)?;
    match packet.first()? >> 4 {
        4 => ipv4(packet),
        6 => ipv6(packet),
        _ => None,
    }
}

/// True for the link types that [`find_dccp`] supports.
pub(in crate::trace) const fn is_known(link: u16) -> bool {
    matches!(link, 0 | 1 | 12 | 14 | 101 | 108 | 113 | 228 | 229 | 276)
}

/// The IP packet in a frame, if any.
fn ip_packet(link: u16, frame: &[u8]) -> Option<&[u8]> {
    match link {
        // The protocol family, in the byte order of the capturing host.
        0 | 108 => frame.get(4..),
        1 => ethertype_payload(frame, 12),
        113 => ethertype_payload(frame, 14),
        276 => {
            // SLL2 has the protocol first and its payload after 20 octets.
            let payload = frame.get(20..)?;
            match number(frame, 0)? {
                kind if ETHERTYPES_VLAN.contains(&kind) => ethertype_payload(payload, 2),
                ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => Some(payload),
                _ => None,
            }
        }
        12 | 14 | 101 | 228 | 229 => Some(frame),
        _ => None,
    }
}

/// The payload of the EtherType at `place`, after any number of VLAN tags.
fn ethertype_payload(frame: &[u8], mut place: usize) -> Option<&[u8]> {
    loop {
        match number(frame, place)? {
            kind if ETHERTYPES_VLAN.contains(&kind) => place += 4,
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return frame.get(place + 2..),
            _ => return None,
        }
    }
}

/// The 16-bit number at `place`.
fn number(octets: &[u8], place: usize) -> Option<u16> {
    octets
        .get(place..)?
        .first_chunk()
        .map(|pair| u16::from_be_bytes(*pair))
}

/// The content of an IP packet.
pub(in crate::trace) struct Datagram<'a> {
    /// The protocol number of its content.
    pub(in crate::trace) protocol: u8,
    /// The captured octets of its content.
    pub(in crate::trace) bytes: &'a [u8],
    /// The length of its content on the wire.
    pub(in crate::trace) length: usize,
    /// Its addresses.
    pub(in crate::trace) addresses: PseudoHeader,
    /// The two ECN bits (RFC 3168 §5).
    pub(in crate::trace) ecn: u8,
    /// IPv4's identification.
    pub(in crate::trace) id: Option<u16>,
    /// Whether it is a whole packet.
    pub(in crate::trace) fragment: Fragment,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::trace) enum Fragment {
    /// A whole packet.
    Whole,
    /// The first fragment of one.
    First,
    /// A later fragment at this offset in octets.
    Later(usize),
}

impl Fragment {
    const fn new(offset: u16, more: bool) -> Self {
        match (offset, more) {
            (0, false) => Self::Whole,
            (0, true) => Self::First,
            _ => Self::Later(offset as usize * 8),
        }
    }
}

/// RFC 791 §3.1. A total length of zero is that of a packet that the network card was to segment
/// (TSO): its length is that of the captured octets.
fn ipv4(packet: &[u8]) -> Option<Datagram<'_>> {
    let header = packet.first_chunk::<20>()?;
    let header_len = usize::from(header[0] & 0xf) * 4;
    let total = match number(header, 2)? {
        0 => packet.len(),
        total => usize::from(total),
    };
    let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *header;
    let flags = number(header, 6)?;
    if header_len < header.len() {
        return None;
    }
    Some(Datagram {
        protocol: header[9],
        bytes: packet
            .get(header_len..total.min(packet.len()))
            .unwrap_or_default(),
        length: total.saturating_sub(header_len),
        addresses: PseudoHeader::V4 {
            source: [s0, s1, s2, s3],
            destination: [d0, d1, d2, d3],
        },
        ecn: header[1] & 3,
        id: number(header, 4),
        fragment: Fragment::new(flags & 0x1fff, flags & 0x2000 != 0),
    })
}

/// RFC 8200 §3 and §4: follows the extension headers; each has a positive length, so the loop ends
/// with the packet.
fn ipv6(packet: &[u8]) -> Option<Datagram<'_>> {
    let (header, content) = packet.split_first_chunk::<40>()?;
    let length = usize::from(number(header, 4)?);
    let source = *header.get(8..)?.first_chunk()?;
    let mut destination = *header.get(24..)?.first_chunk()?;
    let mut bytes = content.get(..length).unwrap_or(content);
    let mut remaining = length;
    let mut protocol = header[6];
    let mut fragment = Fragment::Whole;
    loop {
        let octets = match protocol {
            // Hop-by-hop, routing, destination options, mobility, HIP, shim6.
            0 | 43 | 60 | 135 | 139 | 140 => (usize::from(*bytes.get(1)?) + 1) * 8,
            51 => (usize::from(*bytes.get(1)?) + 2) * 4,
            44 => 8,
            _ => break,
        };
        let (extension, rest) = bytes.split_at_checked(octets)?;
        if protocol == 43
            && let Some(last) = last_destination(extension)
        {
            destination = last;
        }
        if protocol == 44 {
            let field = number(extension, 2)?;
            fragment = Fragment::new(field >> 3, field & 1 != 0);
        }
        protocol = *extension.first()?;
        (bytes, remaining) = (rest, remaining.saturating_sub(octets));
        // A later fragment has no transport header after its fragment header.
        if matches!(fragment, Fragment::Later(_)) {
            break;
        }
    }
    let addresses = PseudoHeader::V6 {
        source,
        destination,
    };
    Some(Datagram {
        protocol,
        bytes,
        length: remaining,
        addresses,
        ecn: header[1] >> 4 & 3,
        id: None,
        fragment,
    })
}

/// RFC 8200 §8.1: before a packet with a routing header (types 0 and 2) reaches its last address,
/// its checksum uses that address.
fn last_destination(routing: &[u8]) -> Option<[u8; 16]> {
    let [_, _, kind, segments_left, ..] = *routing else {
        return None;
    };
    let has_more = matches!(kind, 0 | 2) && segments_left > 0 && routing.len() >= 24;
    has_more.then(|| routing.last_chunk().copied()).flatten()
}

impl<'a> Datagram<'a> {
    fn dccp(self, port: u16) -> Result<Option<IpPayload<'a>>, String> {
        match (self.protocol, self.fragment) {
            (PROTOCOL, Fragment::Whole) => Ok(Some(IpPayload {
                bytes: self.bytes,
                length: self.length,
                addresses: self.addresses,
                udp_ports: None,
            })),
            (PROTOCOL, Fragment::First) => Err(FIRST_FRAGMENT.to_owned()),
            (PROTOCOL, Fragment::Later(octet)) => Err(format!(
                "an IP fragment from octet {octet} on; fragments are not put together"
            )),
            // Only the first fragment has the ports that distinguish DCCP from other traffic.
            (UDP, Fragment::Whole | Fragment::First) => self.udp(port),
            _ => Ok(None),
        }
    }

    /// RFC 6773 §3.3: four reasons to drop a datagram; the DCCP checksum is not verified. The UDP
    /// checksum of a packet whose sender leaves it to its network card is accepted.
    fn udp(self, port: u16) -> Result<Option<IpPayload<'a>>, String> {
        let field = |place| number(self.bytes, place).map(usize::from);
        let (Some(source), Some(destination), Some(octets), Some(checksum)) =
            (field(0), field(2), field(4), field(6))
        else {
            return Ok(None);
        };
        let port = usize::from(port);
        if source != port && destination != port {
            return Ok(None);
        }
        if self.fragment == Fragment::First {
            return Err(FIRST_FRAGMENT.to_owned());
        }
        if octets < MIN_UDP_OCTETS {
            return Err(format!(
                "UDP length {octets} is less than the {MIN_UDP_OCTETS} octets that DCCP needs"
            ));
        }
        if octets > self.length {
            return Err(format!(
                "UDP length {octets} is more than IP's {}",
                self.length
            ));
        }
        if checksum == 0 {
            return Err("the UDP checksum is zero, which DCCP does not allow".to_owned());
        }
        if let Some(datagram) = self.bytes.get(..octets)
            && internet_checksum(&self.addresses, UDP, octets as u32, datagram) != 0
            && checksum != self.unfinished_checksum(octets)
        {
            return Err("the UDP checksum is wrong".to_owned());
        }
        let end = octets.min(self.bytes.len());
        Ok(Some(IpPayload {
            bytes: self.bytes.get(UDP_HEADER_OCTETS..end).unwrap_or_default(),
            length: octets - UDP_HEADER_OCTETS,
            addresses: self.addresses,
            udp_ports: Some([source, destination].map(|port| port as u16)),
        }))
    }
}

impl Datagram<'_> {
    /// The UDP checksum field of a sender that leaves the checksum to its network card: the sum
    /// over the pseudo-header. Captures on the sending host and on loopback show it.
    fn unfinished_checksum(&self, octets: usize) -> usize {
        let finished = internet_checksum(&self.addresses, UDP, octets as u32, &[]);
        usize::from(!finished)
    }
}

const FIRST_FRAGMENT: &str = "the first fragment of an IP packet; fragments are not put together";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::{IpHeaders, IpProtocol};
    use weir_proto::packet::Ecn;

    #[test]
    fn a_checksum_that_the_network_card_was_to_finish_is_no_wrong_one() {
        for (source, destination, place) in [
            ("10.0.0.1:6511", "10.0.0.2:5", 26),
            ("[2001:db8::1]:5", "[2001:db8::2]:6511", 46),
        ] {
            let headers = IpHeaders {
                source: source.parse().expect("an address"),
                destination: destination.parse().expect("an address"),
                ecn: Ecn::NotEct,
                ttl: 64,
                id: 0,
            };
            let mut packet = Vec::new();
            let wrapped = headers.wrap(IpProtocol::Udp, &[7; 16], &mut packet);
            wrapped.expect("it fits");
            assert!(matches!(find_dccp(101, &packet), Ok(Some(_))));
            // The field as Linux leaves it to the network card.
            let sum = !internet_checksum(&headers.pseudo_header(), UDP, 24, &[]);
            packet[place..place + 2].copy_from_slice(&sum.to_be_bytes());
            assert!(matches!(find_dccp(101, &packet), Ok(Some(_))));
            packet[place + 1] ^= 1;
            let wrong = find_dccp(101, &packet).expect_err("wrong");
            assert_eq!(wrong, "the UDP checksum is wrong");
        }
    }
}
