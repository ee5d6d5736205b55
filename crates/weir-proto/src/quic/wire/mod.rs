//! QUIC packets as typed values with exact sizes, and their codec (RFC 9000 §16, §17, §19).
//!
//! A UDP datagram carries one packet, with one of two headers: the short header of 1-RTT packets
//!   1 octet, connection id, packet number, frames, AEAD tag
//! or the long header of Initial packets with version, both connection ids, an empty token and a
//! Length of two octets. Connection ids are zeros. Packets are not encrypted, but the octets of the
//! tag count if the [`HeaderFormat`] has one. Stream and handshake data are lengths: they are
//! written as zeros and skipped when read. Datagrams (RFC 9221) may have octets.
//!
//! A STREAM or DATAGRAM frame at the end of a packet is written without its Length field, any other
//! with it.
//!
//! Not modelled: coalesced packets, Handshake, 0-RTT, Retry and Version Negotiation packets.

mod frame;
mod frames;
pub mod timestamps;
pub mod varint;

#[cfg(test)]
pub(super) mod tests;

pub use frame::{Ack, AckFrequency, AckRange, AckRest, EcnCounts, Frame, OlderRanges, StreamFrame};
pub use frames::{FrameBuffers, Frames};
pub use timestamps::{ReceiveTimestamps, TimestampRange};

use crate::event::PacketType;
use crate::settings::count;
use crate::{keywords, settings};
use std::fmt;
use varint::Reader;

/// A packet number: 0 to 2^62 - 1, counted separately in each space (RFC 9000 §12.3).
pub type PacketNumber = u64;

/// A packet-number space, which also determines the header (RFC 9000 §12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceId {
    /// Initial packets: the handshake.
    Initial,
    /// 1-RTT packets.
    Data,
}

impl SpaceId {
    /// The type of its packets, as traces name it.
    pub(super) const fn packet_type(self) -> PacketType {
        match self {
            Self::Initial => PacketType::Initial,
            Self::Data => PacketType::OneRtt,
        }
    }
}

keywords! {
    /// How many octets a packet number takes on the wire.
    pub enum PacketNumberLen {
        /// As few as the numbers in flight allow (RFC 9000 appendix A.2).
        Minimal = "minimal",
        /// One octet.
        One = "1",
        /// Two octets.
        Two = "2",
        /// Three octets.
        Three = "3",
        /// Four octets.
        Four = "4",
    }
}

settings! {
    /// Sizes of headers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HeaderFormat {
        /// Bytes of a connection id.
        pub connection_id_len: u8 as "connection_id" = 8 => count(0..=20, "bytes"),
        /// Bytes of a packet number: "1" to "4", or as few as its place allows.
        pub number_len: PacketNumberLen as "packet_number" = PacketNumberLen::Minimal,
        /// Bytes of the AEAD tag at the end of each packet.
        pub tag_len: u8 as "tag" = 16 => count(0..=32, "bytes"),
        /// ACK frames of 1-RTT packets have receive timestamps (draft-ietf-quic-receive-ts §4).
        pub receive_timestamps: bool [internal] = false,
    }
    constant RFC9000;
}

impl HeaderFormat {
    /// The 13 octets of the INET model: 1 + 8 + 4, without a tag.
    pub const INET: Self = Self {
        connection_id_len: 8,
        number_len: PacketNumberLen::Four,
        tag_len: 0,
        receive_timestamps: false,
    };

    /// Octets of this packet number when `largest_acked` is the largest acknowledged one: twice the
    /// distance must be representable (RFC 9000 appendix A.2).
    pub fn number_len(&self, number: u64, largest_acked: Option<u64>) -> u8 {
        match self.number_len {
            PacketNumberLen::One => 1,
            PacketNumberLen::Two => 2,
            PacketNumberLen::Three => 3,
            PacketNumberLen::Four => 4,
            PacketNumberLen::Minimal => {
                let span = largest_acked.map_or(number + 1, |acked| number.saturating_sub(acked));
                match span {
                    0..0x80 => 1,
                    0x80..0x8000 => 2,
                    0x8000..0x80_0000 => 3,
                    _ => 4,
                }
            }
        }
    }

    /// Octets of header and tag with the longest packet number.
    pub fn longest_overhead(&self, space: SpaceId) -> u32 {
        self.overhead(space, self.number_len(varint::MAX, None))
    }

    /// Octets of header and tag.
    #[inline]
    pub fn overhead(&self, space: SpaceId, number_len: u8) -> u32 {
        let id = u32::from(self.connection_id_len);
        let header = match space {
            SpaceId::Data => 1 + id,
            // First octet, version, two ids with their lengths, token length, Length.
            SpaceId::Initial => 1 + 4 + 2 * (1 + id) + 1 + 2,
        };
        header + u32::from(number_len) + u32::from(self.tag_len)
    }
}

/// A reason why octets cannot be read as a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireError {
    /// The packet ends within a field.
    Truncated,
    /// The header is neither that of a 1-RTT nor that of an Initial packet.
    Header,
    /// The packet has no frame.
    NoFrames,
    /// A frame has a type that is not modelled.
    UnknownFrame(u64),
    /// A field of a frame has a value that is not allowed.
    Encoding,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "the packet ends within a field"),
            Self::Header => write!(f, "the header is neither a 1-RTT nor an Initial one"),
            Self::NoFrames => write!(f, "the packet has no frame"),
            Self::UnknownFrame(kind) => write!(f, "frame type {kind:#x} is not known"),
            Self::Encoding => write!(f, "a frame has a field with an impossible value"),
        }
    }
}

impl std::error::Error for WireError {}

/// A QUIC packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Packet number.
    pub number: PacketNumber,
    /// Octets of the packet number on the wire, 1 to 4.
    pub number_len: u8,
    /// Its packet-number space, which determines its header.
    pub space: SpaceId,
    /// Its frames in their order.
    pub frames: Frames,
}

impl Packet {
    /// Octets of all frames.
    pub fn frames_len(&self) -> u32 {
        frames_len(&self.frames)
    }

    /// Octets of the whole packet, without IP and UDP headers.
    pub fn len(&self, format: &HeaderFormat) -> u32 {
        let overhead = format.overhead(self.space, self.number_len);
        self.frames_len().saturating_add(overhead)
    }

    /// True if the packet is ack-eliciting (RFC 9000 §13.2).
    pub fn is_ack_eliciting(&self) -> bool {
        self.frames.iter().any(Frame::is_ack_eliciting)
    }

    /// Appends the packet in wire form.
    pub fn encode(&self, format: &HeaderFormat, out: &mut Vec<u8>) {
        let number_len = self.number_len.clamp(1, 4);
        let id_len = usize::from(format.connection_id_len);
        match self.space {
            SpaceId::Data => {
                out.push(0x40 | (number_len - 1));
                out.resize(out.len() + id_len, 0);
            }
            SpaceId::Initial => {
                out.push(0xc0 | (number_len - 1));
                out.extend_from_slice(&1_u32.to_be_bytes());
                for _ in 0..2 {
                    out.push(format.connection_id_len);
                    out.resize(out.len() + id_len, 0);
                }
                out.push(0);
                let length = u32::from(number_len) + self.frames_len() + u32::from(format.tag_len);
                out.extend_from_slice(&(0x4000 | (length as u16 & 0x3fff)).to_be_bytes());
            }
        }
        let number = (self.number as u32).to_be_bytes();
        out.extend_from_slice(&number[usize::from(4 - number_len)..]);
        let last = self.frames.len().wrapping_sub(1);
        for (at, frame) in self.frames.iter().enumerate() {
            frame.put(out, at == last);
        }
        out.resize(out.len() + usize::from(format.tag_len), 0);
    }

    /// Reads a packet from the octets of a datagram. `expected` returns the next packet number of a
    /// space, with which the truncated number is completed (RFC 9000 appendix A.3).
    ///
    /// # Errors
    /// [`WireError`] if the octets are not a packet.
    pub fn decode(
        bytes: &[u8],
        format: &HeaderFormat,
        expected: impl Fn(SpaceId) -> u64,
    ) -> Result<Self, WireError> {
        let mut reader = Reader::new(bytes);
        let first = reader.octet()?;
        let id_len = u64::from(format.connection_id_len);
        let (space, mut end) = match first & 0xfc {
            0x40 => {
                reader.take(id_len)?;
                (SpaceId::Data, reader.remaining() as u64)
            }
            0xc0 => (SpaceId::Initial, read_long(&mut reader, id_len)?),
            _ => return Err(WireError::Header),
        };
        let number_len = (first & 3) + 1;
        let truncated = reader.number(number_len)?;
        let number = complete(expected(space), truncated, number_len);
        end = end
            .checked_sub(u64::from(number_len) + u64::from(format.tag_len))
            .ok_or(WireError::Truncated)?;
        let mut payload = Reader::new(reader.take(end)?);
        let mut frames = Frames::new();
        while payload.remaining() > 0 {
            let timestamps = format.receive_timestamps && space == SpaceId::Data;
            frames.push(Frame::read(&mut payload, timestamps)?);
        }
        if frames.is_empty() {
            return Err(WireError::NoFrames);
        }
        Ok(Self {
            number,
            number_len,
            space,
            frames,
        })
    }
}

/// Octets of all frames of a packet.
pub fn frames_len(frames: &[Frame]) -> u32 {
    let last = frames.len().wrapping_sub(1);
    let lens = frames
        .iter()
        .enumerate()
        .map(|(at, frame)| frame.len(at == last));
    lens.fold(0, u32::saturating_add)
}

/// Reads the long header after its first octet, up to the packet number; returns its Length field.
fn read_long(reader: &mut Reader<'_>, id_len: u64) -> Result<u64, WireError> {
    if reader.number(4)? != 1 {
        return Err(WireError::Header);
    }
    for _ in 0..2 {
        let len = u64::from(reader.octet()?);
        if len != id_len {
            return Err(WireError::Header);
        }
        reader.take(len)?;
    }
    let token_len = reader.varint()?;
    reader.take(token_len)?;
    let length = reader.varint()?;
    if length == reader.remaining() as u64 {
        Ok(length)
    } else {
        Err(WireError::Header)
    }
}

/// The packet number nearest to the expected one that has these low bits (RFC 9000 appendix A.3).
fn complete(expected: u64, truncated: u64, len: u8) -> u64 {
    let window = 1_u64 << (8 * u32::from(len));
    let candidate = (expected & !(window - 1)) | truncated;
    if candidate + window / 2 <= expected && candidate < (1 << 62) - window {
        candidate + window
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}
