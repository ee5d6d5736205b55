//! Decoding and encoding of packets (RFC 4340 §5.1 to §5.7), and the checks for malformed packets
//! (§8.5 step 1).
//!
//! A [`Packet`] has the fields with a meaning. [`Decoded`] adds the reserved bits and the checksum
//! as received, so that the same octets can be written again.

use super::checksum::{ChecksumStatus, PROTOCOL, PseudoHeader, covered_len, internet_checksum};
use super::{Options, Packet, PacketType, SeqNum, Subheader};
use crate::payload::Payload;
use std::fmt;

/// Octets of the shortest header: X = 0 and no subheader (RFC 4340 §5.1).
const MIN_OCTETS: usize = 12;
/// Data Offset counts 32-bit words in eight bits.
const MAX_HEADER_OCTETS: usize = 255 * 4;
/// The longest payload of an IP packet without jumbo options.
const MAX_OCTETS: usize = 65_535;

/// The reserved fields of a header, which receivers ignore (RFC 4340 §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reserved {
    /// Res, 3 bits, before the type.
    pub before_type: u8,
    /// The octet between X = 1 and the sequence number; zero when X = 0.
    pub before_seq: u8,
    /// Before the acknowledgement number: 16 bits, or 8 when X = 0.
    pub before_ack: u16,
}

/// A packet with everything that is needed to write its octets again.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded<'a> {
    /// The packet. Its payload is a length without content; [`into_packet`](Self::into_packet) adds
    /// the content of [`payload`](Self::payload).
    pub packet: Packet,
    /// The payload, as far as it was captured.
    pub payload: &'a [u8],
    /// Reserved bits.
    pub reserved: Reserved,
    /// The checksum as received, not verified: see [`Decoded::checksum_status`].
    pub checksum: u16,
}

/// A reason why a packet is malformed; it is dropped without an answer (RFC 4340 §8.5 step 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Fewer octets than the shortest header has.
    TooShort {
        /// Octets of the packet.
        octets: usize,
    },
    /// A reserved packet type.
    ReservedType(u8),
    /// X = 0 on a type that must have 48-bit numbers.
    ShortSequenceNumbers(PacketType),
    /// Data Offset points into the fixed header.
    DataOffsetTooSmall {
        /// Type.
        kind: PacketType,
        /// Octets of header according to Data Offset.
        header: usize,
        /// Octets of its fixed part.
        fixed: usize,
    },
    /// Data Offset points beyond the packet.
    DataOffsetTooLarge {
        /// Octets of header according to Data Offset.
        header: usize,
        /// Octets of the packet.
        octets: usize,
    },
    /// CsCov exceeds the payload.
    CoverageTooLarge {
        /// CsCov.
        cscov: u8,
        /// Octets of payload.
        payload: usize,
    },
    /// A capture with a small snapshot length does not contain the whole header.
    Truncated {
        /// Octets captured.
        captured: usize,
    },
}

/// A reason why a packet has no wire form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The subheader is that of another type.
    WrongSubheader(PacketType),
    /// X = 0 on a type that must have 48-bit numbers.
    ShortSequenceNumbers(PacketType),
    /// CCVal or CsCov does not fit into four bits.
    FieldTooLarge {
        /// Its name.
        field: &'static str,
        /// Its value.
        value: u8,
    },
    /// More options than Data Offset can express.
    HeaderTooLong {
        /// Octets of header.
        octets: usize,
    },
    /// CsCov exceeds the payload.
    CoverageTooLarge {
        /// CsCov.
        cscov: u8,
        /// Octets of payload.
        payload: usize,
    },
    /// Longer than an IP packet can be.
    TooLong {
        /// Octets of packet.
        octets: usize,
    },
}

/// Reads a packet that fills `bytes`. It never panics and never reads past the end. The checksum is
/// not verified: see [`Decoded::checksum_status`].
///
/// # Errors
/// [`Malformed`] as RFC 4340 §8.5 step 1 says.
pub fn decode(bytes: &[u8]) -> Result<Decoded<'_>, Malformed> {
    decode_prefix(bytes, bytes.len())
}

/// Reads a packet of `length` octets of which perhaps only the first, `bytes`, were captured.
/// Octets beyond `length`, such as the padding of Ethernet, are ignored.
///
/// # Errors
/// As [`decode`], and [`Malformed::Truncated`] if the header is incomplete.
pub fn decode_prefix(bytes: &[u8], length: usize) -> Result<Decoded<'_>, Malformed> {
    let bytes = bytes.get(..length).unwrap_or(bytes);
    if length < MIN_OCTETS {
        return Err(Malformed::TooShort { octets: length });
    }
    let truncated = Malformed::Truncated {
        captured: bytes.len(),
    };
    let (kind, extended) = read_type(*bytes.get(8).ok_or(truncated)?)?;
    let header_len = usize::from(*bytes.get(4).ok_or(truncated)?) * 4;
    let fixed_len = kind.fixed_header_len(extended);
    if header_len < fixed_len {
        return Err(Malformed::DataOffsetTooSmall {
            kind,
            header: header_len,
            fixed: fixed_len,
        });
    }
    if header_len > length {
        return Err(Malformed::DataOffsetTooLarge {
            header: header_len,
            octets: length,
        });
    }
    let (header, payload) = bytes.split_at_checked(header_len).ok_or(truncated)?;
    let decoded = read_header(header, payload, length - header_len).ok_or(truncated)?;
    let cscov = decoded.packet.cscov;
    if covered_len(header_len, length - header_len, cscov).is_none() {
        return Err(Malformed::CoverageTooLarge {
            cscov,
            payload: length - header_len,
        });
    }
    Ok(decoded)
}

/// Type and X, from the ninth octet: Res 3 bits, Type 4 bits, X 1 bit.
fn read_type(octet: u8) -> Result<(PacketType, bool), Malformed> {
    let kind = PacketType::try_from(octet >> 1 & 0xf).map_err(Malformed::ReservedType)?;
    let extended = octet & 1 == 1;
    if extended || kind.may_be_short() {
        Ok((kind, extended))
    } else {
        Err(Malformed::ShortSequenceNumbers(kind))
    }
}

/// The fields of a header whose type, X and length have been checked, so that `None` cannot occur.
fn read_header<'a>(header: &[u8], payload: &'a [u8], payload_len: usize) -> Option<Decoded<'a>> {
    let mut rest = header;
    let source_port = take::<2>(&mut rest)? as u16;
    let destination_port = take::<2>(&mut rest)? as u16;
    let _data_offset = take::<1>(&mut rest)?;
    let coverage = take::<1>(&mut rest)? as u8;
    let checksum = take::<2>(&mut rest)? as u16;
    let type_octet = take::<1>(&mut rest)? as u8;
    let (kind, extended) = read_type(type_octet).ok()?;
    let mut reserved = Reserved {
        before_type: type_octet >> 5,
        ..Reserved::default()
    };
    let seq = if extended {
        reserved.before_seq = take::<1>(&mut rest)? as u8;
        take::<6>(&mut rest)?
    } else {
        take::<3>(&mut rest)?
    };
    let mut ack = SeqNum::default();
    if kind.has_ack() {
        let octets = if extended {
            take::<8>(&mut rest)?
        } else {
            take::<4>(&mut rest)?
        };
        let bits = if extended { 48 } else { 24 };
        reserved.before_ack = (octets >> bits) as u16;
        ack = SeqNum::new(octets & ((1 << bits) - 1));
    }
    let subheader = match kind {
        PacketType::Request | PacketType::Listen => {
            Subheader::Service(take::<4>(&mut rest)? as u32)
        }
        PacketType::Response => Subheader::AckService(ack, take::<4>(&mut rest)? as u32),
        PacketType::Data => Subheader::None,
        PacketType::Reset => {
            let [code, data @ ..] = (take::<4>(&mut rest)? as u32).to_be_bytes();
            Subheader::Reset(ack, code, data)
        }
        _ => Subheader::Ack(ack),
    };
    let packet = Packet {
        source_port,
        destination_port,
        kind,
        extended,
        ccval: coverage >> 4,
        cscov: coverage & 0xf,
        seq: SeqNum::new(seq),
        subheader,
        options: Options::from_area(rest),
        payload: Payload::of_len(payload_len as u32),
    };
    Some(Decoded {
        packet,
        payload,
        reserved,
        checksum,
    })
}

/// The next `N` octets as a number, most significant first (RFC 4340 §3.1).
fn take<const N: usize>(rest: &mut &[u8]) -> Option<u64> {
    let (octets, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(
        octets
            .iter()
            .fold(0, |sum, octet| sum << 8 | u64::from(*octet)),
    )
}

impl Decoded<'_> {
    /// Verifies the checksum of the octets that this packet was read from: the whole packet, or the
    /// captured part. [`ChecksumStatus::None`] if covered octets are missing.
    pub fn checksum_status(&self, bytes: &[u8], pseudo: &PseudoHeader) -> ChecksumStatus {
        let header_len = self.packet.header_len();
        let payload_len = self.packet.payload.len() as usize;
        let covered = covered_len(header_len, payload_len, self.packet.cscov);
        let Some(covered) = covered.and_then(|covered| bytes.get(..covered)) else {
            return ChecksumStatus::None;
        };
        // RFC 4340 §9.1 has no value for "not computed": zero is verified as any other.
        let length = self.packet.wire_len();
        match internet_checksum(pseudo, PROTOCOL, length, covered) {
            0 => ChecksumStatus::Good,
            _ => ChecksumStatus::Bad,
        }
    }

    /// The packet with a copy of its payload.
    pub fn into_packet(self) -> Packet {
        Packet {
            payload: Payload::from_bytes(self.payload),
            ..self.packet
        }
    }

    /// Appends the octets that this was read from.
    ///
    /// # Errors
    /// Only if the packet was changed after it was read.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.packet
            .write_header(self.reserved, self.checksum, out)?;
        out.extend_from_slice(self.payload);
        Ok(())
    }
}

impl Packet {
    /// Appends the wire form, with its checksum over this pseudoheader; without one the checksum
    /// is zero, as in UDP (RFC 6773 §3.3). A payload without content becomes zeros.
    ///
    /// # Errors
    /// [`EncodeError`] if the packet has no wire form; then nothing is appended.
    pub fn encode(
        &self,
        pseudo: Option<&PseudoHeader>,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let start = out.len();
        self.write_header(Reserved::default(), 0, out)?;
        match self.payload.content() {
            Some(content) => out.extend_from_slice(content),
            None => out.resize(out.len() + self.payload.len() as usize, 0),
        }
        if let Some(pseudo) = pseudo {
            let payload_len = self.payload.len() as usize;
            let covered = covered_len(self.header_len(), payload_len, self.cscov).unwrap_or(0);
            let covered = out.get(start..start + covered).unwrap_or_default();
            let checksum = internet_checksum(pseudo, PROTOCOL, self.wire_len(), covered);
            if let Some(field) = out.get_mut(start + 6..start + 8) {
                field.copy_from_slice(&checksum.to_be_bytes());
            }
        }
        Ok(())
    }

    /// Checks that the packet has a wire form.
    fn check(&self) -> Result<(), EncodeError> {
        let payload = self.payload.len() as usize;
        let octets = self.header_len();
        if !self.subheader_fits() {
            Err(EncodeError::WrongSubheader(self.kind))
        } else if !self.extended && !self.kind.may_be_short() {
            Err(EncodeError::ShortSequenceNumbers(self.kind))
        } else if self.ccval > 0xf {
            Err(EncodeError::FieldTooLarge {
                field: "CCVal",
                value: self.ccval,
            })
        } else if self.cscov > 0xf {
            Err(EncodeError::FieldTooLarge {
                field: "CsCov",
                value: self.cscov,
            })
        } else if octets > MAX_HEADER_OCTETS {
            Err(EncodeError::HeaderTooLong { octets })
        } else if covered_len(octets, payload, self.cscov).is_none() {
            Err(EncodeError::CoverageTooLarge {
                cscov: self.cscov,
                payload,
            })
        } else if octets.saturating_add(payload) > MAX_OCTETS {
            Err(EncodeError::TooLong {
                octets: octets.saturating_add(payload),
            })
        } else {
            Ok(())
        }
    }

    fn write_header(
        &self,
        reserved: Reserved,
        checksum: u16,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        self.check()?;
        let header_len = self.header_len();
        let end = out.len() + header_len;
        out.reserve(header_len + self.payload.len() as usize);
        out.extend_from_slice(&self.source_port.to_be_bytes());
        out.extend_from_slice(&self.destination_port.to_be_bytes());
        out.push((header_len / 4) as u8);
        out.push(self.ccval << 4 | self.cscov);
        out.extend_from_slice(&checksum.to_be_bytes());
        out.push(reserved.before_type << 5 | self.kind.number() << 1 | u8::from(self.extended));
        let before_ack = u64::from(reserved.before_ack);
        if self.extended {
            put::<7>(u64::from(reserved.before_seq) << 48 | self.seq.get(), out);
        } else {
            put::<3>(u64::from(self.seq.short()), out);
        }
        match (self.ack(), self.extended) {
            (Some(ack), true) => put::<8>(before_ack << 48 | ack.get(), out),
            (Some(ack), false) => put::<4>(before_ack << 24 | u64::from(ack.short()), out),
            (None, _) => {}
        }
        match self.subheader {
            Subheader::Service(code) | Subheader::AckService(_, code) => {
                put::<4>(u64::from(code), out);
            }
            Subheader::Reset(_, code, [a, b, c]) => out.extend_from_slice(&[code, a, b, c]),
            Subheader::None | Subheader::Ack(_) => {}
        }
        out.extend_from_slice(self.options.as_bytes());
        // RFC 4340 §5.8.1: Padding options, which are zero octets, fill the last word.
        out.resize(end, 0);
        Ok(())
    }
}

/// Appends the low `N` octets of a number, most significant first.
fn put<const N: usize>(number: u64, out: &mut Vec<u8>) {
    let octets = number.to_be_bytes();
    out.extend_from_slice(&octets[octets.len() - N..]);
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooShort { octets } => {
                write!(
                    f,
                    "{octets} octets are too few: the shortest header has {MIN_OCTETS}"
                )
            }
            Self::ReservedType(number) => write!(f, "packet type {number} is reserved"),
            Self::ShortSequenceNumbers(kind) => {
                write!(
                    f,
                    "{kind} with short sequence numbers (X=0), which it must not have"
                )
            }
            Self::DataOffsetTooSmall {
                kind,
                header,
                fixed,
            } => write!(
                f,
                "data offset says {header} octets of header, but {kind} has at least {fixed}"
            ),
            Self::DataOffsetTooLarge { header, octets } => write!(
                f,
                "data offset says {header} octets of header, but the packet has {octets}"
            ),
            Self::CoverageTooLarge { cscov, payload } => write!(
                f,
                "checksum coverage {cscov} wants {} octets of payload, but there are {payload}",
                usize::from(cscov.saturating_sub(1)) * 4
            ),
            Self::Truncated { captured } => {
                write!(
                    f,
                    "the capture cut the packet after {captured} octets, inside its header"
                )
            }
        }
    }
}

impl std::error::Error for Malformed {}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::WrongSubheader(kind) => {
                write!(f, "{kind} with the fields of another packet type")
            }
            Self::ShortSequenceNumbers(kind) => Malformed::ShortSequenceNumbers(kind).fmt(f),
            Self::FieldTooLarge { field, value } => {
                write!(f, "{field} {value} does not fit into four bits")
            }
            Self::HeaderTooLong { octets } => {
                write!(
                    f,
                    "a header of {octets} octets; {MAX_HEADER_OCTETS} are the most"
                )
            }
            Self::CoverageTooLarge { cscov, payload } => {
                Malformed::CoverageTooLarge { cscov, payload }.fmt(f)
            }
            Self::TooLong { octets } => {
                write!(f, "a packet of {octets} octets; {MAX_OCTETS} are the most")
            }
        }
    }
}

impl std::error::Error for EncodeError {}
