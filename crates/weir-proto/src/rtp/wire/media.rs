//! The RTP header (RFC 3550 §5.1) and the parts after it.

use super::{VERSION, take_u16, take_u32, without_padding};
use crate::payload::Payload;

/// Octets of the fixed header (RFC 3550 §5.1).
pub(in super::super) const HEADER_OCTETS: u32 = 12;
/// The bit that announces a header extension.
const EXTENSION: u8 = 0x10;
/// The bits that count contributing sources.
const SOURCES: u8 = 0x0f;
/// The marker bit.
const MARKER: u8 = 0x80;

/// A packet of media.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaPacket {
    /// The last packet of a frame, as video payload formats have it (RFC 6184 §5.1).
    pub marker: bool,
    /// The format of the payload, in 0..128.
    pub payload_type: u8,
    /// The low 16 bits of the sequence number.
    pub sequence: u16,
    /// When the frame was captured, in ticks of the media's clock.
    pub timestamp: u32,
    /// The stream that it belongs to.
    pub ssrc: u32,
    /// The media.
    pub payload: Payload,
}

impl MediaPacket {
    /// Octets of header and payload.
    pub const fn wire_len(&self) -> usize {
        HEADER_OCTETS as usize + self.payload.len() as usize
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let marker = if self.marker { MARKER } else { 0 };
        out.push(VERSION << 6);
        out.push(marker | self.payload_type & !MARKER);
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.timestamp.to_be_bytes());
        out.extend(self.ssrc.to_be_bytes());
        match self.payload.content() {
            Some(content) => out.extend_from_slice(content),
            None => out.resize(out.len() + self.payload.len() as usize, 0),
        }
    }

    pub(super) fn decode(octets: &[u8]) -> Option<Self> {
        let mut rest = without_padding(octets)?;
        let ([flags, kind], after) = rest.split_first_chunk()?;
        rest = after;
        let sequence = take_u16(&mut rest)?;
        let timestamp = take_u32(&mut rest)?;
        let ssrc = take_u32(&mut rest)?;
        rest = rest.get(usize::from(flags & SOURCES) * 4..)?;
        if flags & EXTENSION != 0 {
            // RFC 3550 §5.3.1: a profile's word, then the length in words.
            take_u16(&mut rest)?;
            let words = usize::from(take_u16(&mut rest)?);
            rest = rest.get(words * 4..)?;
        }
        Some(Self {
            marker: kind & MARKER != 0,
            payload_type: kind & !MARKER,
            sequence,
            timestamp,
            ssrc,
            payload: Payload::from_bytes(rest),
        })
    }
}
