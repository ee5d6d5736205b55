//! RTP packets (RFC 3550 §5.1) and congestion control feedback (RFC 8888 §3.1) as octets.
//!
//! Both travel over one port (RFC 5761): the second octet tells them apart, since RTCP packet types
//! from 192 to 223 are no payload types of media. The list of contributing sources, the header
//! extension and the padding of an RTP packet are skipped when read, and never written.
//!
//! RFC 8888 says that a report covers `begin_seq` to `begin_seq + num_reports` "inclusive", and
//! that zero reports have no metric block: the number of blocks is `num_reports`, so the last one
//! covered is `begin_seq + num_reports - 1`.

mod feedback;
mod media;
#[cfg(test)]
mod tests;

pub use feedback::{ArrivalOffset, CcFeedback, MAX_METRICS, Metric, ReportBlock};
pub(super) use media::HEADER_OCTETS;
pub use media::MediaPacket;

/// The version of RTP in the two highest bits (RFC 3550 §5.1).
const VERSION: u8 = 2;
/// The bit that announces padding (RFC 3550 §5.1).
const PADDING: u8 = 0x20;
/// RTCP packet types are from 192 to 223 (RFC 5761 §4).
const RTCP_TYPES: std::ops::RangeInclusive<u8> = 192..=223;

/// A packet of an RTP session.
#[derive(Clone, Debug, PartialEq)]
pub enum Packet {
    /// Media.
    Media(MediaPacket),
    /// The packets that were received, for the sender of the media.
    Feedback(CcFeedback),
}

impl Packet {
    /// Octets of the packet.
    pub fn wire_len(&self) -> usize {
        match self {
            Self::Media(media) => media.wire_len(),
            Self::Feedback(feedback) => feedback.wire_len(),
        }
    }

    /// The packet in wire form.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.wire_len());
        match self {
            Self::Media(media) => media.encode(&mut out),
            Self::Feedback(feedback) => feedback.encode(&mut out),
        }
        out
    }

    /// The packet in these octets; `None` if they are neither media nor such feedback.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let [first, kind, ..] = *octets else {
            return None;
        };
        if first >> 6 != VERSION {
            return None;
        }
        if RTCP_TYPES.contains(&kind) {
            CcFeedback::decode(octets).map(Self::Feedback)
        } else {
            MediaPacket::decode(octets).map(Self::Media)
        }
    }
}

/// The octets before the padding, whose last octet is its length (RFC 3550 §5.1).
fn without_padding(octets: &[u8]) -> Option<&[u8]> {
    if octets.first()? & PADDING == 0 {
        return Some(octets);
    }
    let padding = usize::from(*octets.last()?);
    let len = octets.len().checked_sub(padding)?;
    octets.get(..len).filter(|_| padding > 0)
}

/// Takes two octets off the front.
fn take_u16(octets: &mut &[u8]) -> Option<u16> {
    let (value, rest) = octets.split_first_chunk()?;
    *octets = rest;
    Some(u16::from_be_bytes(*value))
}

/// Takes four octets off the front.
fn take_u32(octets: &mut &[u8]) -> Option<u32> {
    let (value, rest) = octets.split_first_chunk()?;
    *octets = rest;
    Some(u32::from_be_bytes(*value))
}
