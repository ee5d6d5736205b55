//! One DCCP packet of a capture as a row of text or JSON.

use super::{Frame, IpPayload, Timestamp, find_dccp_at};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use weir_proto::dccp::wire::checksum::{ChecksumStatus, PseudoHeader};
use weir_proto::dccp::wire::{DccpOption, Decoded, Packet, RawOption, decode_prefix};

/// A frame with a DCCP packet.
#[derive(Clone, Debug)]
pub struct ListingRow<'a> {
    /// The frame's number in the file, from 1, counting frames of all protocols.
    pub frame: u64,
    /// Time of capture, if the file has it.
    pub time: Option<Timestamp>,
    /// The interface, as in [`Frame`].
    pub interface: u32,
    /// The packet, or the reason why it cannot be decoded.
    pub content: Result<DecodedPacket<'a>, String>,
}

/// A decoded packet, its octets and the status of its checksum.
#[derive(Clone, Debug)]
pub struct DecodedPacket<'a> {
    /// Its octets and addresses.
    pub segment: IpPayload<'a>,
    /// The decoded packet.
    pub decoded: Decoded<'a>,
    /// Its checksum. [`ChecksumStatus::None`] in UDP, and if covered octets were not captured.
    pub checksum: ChecksumStatus,
}

impl<'a> ListingRow<'a> {
    /// The row of a frame; `None` if it contains no DCCP.
    pub fn of_frame(frame: &Frame<'a>, udp_port: u16) -> Option<Self> {
        let content = match find_dccp_at(udp_port, frame.link, frame.bytes) {
            Ok(segment) => DecodedPacket::of_segment(segment?),
            Err(reason) => Err(reason),
        };
        Some(Self {
            frame: frame.number,
            time: frame.time,
            interface: frame.interface,
            content,
        })
    }

    /// The row as one JSON object without line end: `frame, time_s, type, x, seq, ack, ccval,
    /// cscov, checksum, options, service_code, reset_code, payload_len, source, source_port,
    /// destination, destination_port, udp_source_port, udp_destination_port`, or `frame,
    /// malformed`. The ports are those of DCCP, and of the UDP header around it.
    ///
    /// `type` is the RFC's name without its prefix; tshark's `dccp.type` has the same names as
    /// numbers: 0 Request, 1 Response, 2 Data, 3 Ack, 4 DataAck, 5 CloseReq, 6 Close, 7 Reset, 8
    /// Sync, 9 SyncAck, 10 Listen. `time_s` is a number with every digit of the file, so a reader
    /// that needs all digits must not parse it as a float. `x` is 0 or 1. `options` has pairs of
    /// type and data in hex, without type and length octets, up to the first malformed option.
    /// Missing fields are null.
    pub fn json(&self) -> impl fmt::Display + '_ {
        Json(self)
    }
}

impl<'a> DecodedPacket<'a> {
    fn of_segment(segment: IpPayload<'a>) -> Result<Self, String> {
        let decoded =
            decode_prefix(segment.bytes, segment.length).map_err(|error| error.to_string())?;
        let checksum = if segment.udp_ports.is_some() {
            ChecksumStatus::None
        } else {
            decoded.checksum_status(segment.bytes, &segment.addresses)
        };
        Ok(Self {
            segment,
            decoded,
            checksum,
        })
    }

    /// Source and destination, with the ports of DCCP.
    pub(in crate::trace) fn addresses(&self) -> [SocketAddr; 2] {
        let packet = &self.decoded.packet;
        let (source, destination) = match self.segment.addresses {
            PseudoHeader::V4 {
                source,
                destination,
            } => (
                IpAddr::V4(Ipv4Addr::from(source)),
                IpAddr::V4(Ipv4Addr::from(destination)),
            ),
            PseudoHeader::V6 {
                source,
                destination,
            } => (
                IpAddr::V6(Ipv6Addr::from(source)),
                IpAddr::V6(Ipv6Addr::from(destination)),
            ),
        };
        [
            SocketAddr::new(source, packet.source_port),
            SocketAddr::new(destination, packet.destination_port),
        ]
    }

    /// The options in their order, with the padding at the end.
    fn options(&self) -> impl Iterator<Item = RawOption<'_>> {
        let options = &self.decoded.packet.options;
        let padding = options.padded_len() - options.len();
        options.iter_raw().chain(std::iter::repeat_n(
            RawOption { kind: 0, data: &[] },
            padding,
        ))
    }
}

struct Json<'a>(&'a ListingRow<'a>);

/// A value or `null`.
struct OrNull<T>(Option<T>);

/// Octets in hexadecimal.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.0;
        write!(f, "{{\"frame\":{}", row.frame)?;
        let content = match &row.content {
            Ok(content) => content,
            Err(reason) => {
                let reason = serde_json::Value::from(reason.as_str());
                return write!(f, ",\"malformed\":{reason}}}");
            }
        };
        let Packet {
            kind,
            extended,
            ccval,
            cscov,
            seq,
            ref payload,
            ..
        } = content.decoded.packet;
        let packet = &content.decoded.packet;
        write!(f, ",\"time_s\":{},\"type\":\"{kind}\"", OrNull(row.time))?;
        write!(f, ",\"x\":{},\"seq\":{seq}", u8::from(extended))?;
        write!(
            f,
            ",\"ack\":{},\"ccval\":{ccval},\"cscov\":{cscov}",
            OrNull(packet.ack())
        )?;
        write!(
            f,
            ",\"checksum\":\"{}\",\"options\":[",
            content.checksum.name()
        )?;
        for (index, option) in content.options().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}[{},\"{}\"]", option.kind, Hex(option.data))?;
        }
        write!(f, "],\"service_code\":{}", OrNull(packet.service_code()))?;
        write!(f, ",\"reset_code\":{}", OrNull(packet.reset_code()))?;
        write!(f, ",\"payload_len\":{}", payload.len())?;
        let [source, destination] = content.addresses();
        let [udp_source, udp_destination] = match content.segment.udp_ports {
            Some(ports) => ports.map(Some),
            None => [None; 2],
        };
        write!(
            f,
            ",\"source\":\"{}\",\"source_port\":{},\"destination\":\"{}\",\
             \"destination_port\":{},\"udp_source_port\":{},\"udp_destination_port\":{}}}",
            source.ip(),
            source.port(),
            destination.ip(),
            destination.port(),
            OrNull(udp_source),
            OrNull(udp_destination),
        )
    }
}

impl fmt::Display for ListingRow<'_> {
    /// One line of text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.time {
            Some(time) => write!(f, "{:>6} {time} ", self.frame)?,
            None => write!(f, "{:>6} - ", self.frame)?,
        }
        match &self.content {
            Ok(content) => content.fmt(f),
            Err(reason) => write!(f, "malformed: {reason}"),
        }
    }
}

impl fmt::Display for DecodedPacket<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packet = &self.decoded.packet;
        let [source, destination] = self.addresses();
        write!(
            f,
            "{source} > {destination} {:<8} seq {}",
            packet.kind, packet.seq
        )?;
        if let Some(ack) = packet.ack() {
            write!(f, " ack {ack}")?;
        }
        if let Some(code) = packet.service_code() {
            write!(f, " service {code}")?;
        }
        if let Some(code) = packet.reset_code() {
            write!(
                f,
                " code {code} data {}",
                Hex(&packet.reset_data().unwrap_or_default())
            )?;
        }
        if !packet.extended {
            f.write_str(" short")?;
        }
        write!(f, " ccval {}", packet.ccval)?;
        if packet.cscov > 0 {
            write!(f, " cscov {}", packet.cscov)?;
        }
        let status = if self.segment.udp_ports.is_some() {
            "in UDP"
        } else {
            self.checksum.name()
        };
        write!(f, " checksum {status} payload {}", packet.payload.len())?;
        let shown = packet
            .options
            .iter()
            .filter(|option| *option != DccpOption::Padding);
        for (index, option) in shown.enumerate() {
            write!(f, "{} {option}", if index == 0 { " |" } else { "," })?;
        }
        Ok(())
    }
}

impl<T: fmt::Display> fmt::Display for OrNull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("null"),
        }
    }
}

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}
