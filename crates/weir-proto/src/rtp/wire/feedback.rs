//! RTCP congestion control feedback (RFC 8888 §3.1).

use super::{VERSION, take_u16, take_u32, without_padding};
use crate::ecn::Ecn;

/// RTPFB: the packet type of transport-layer feedback (RFC 8888 §3.1).
const PACKET_TYPE: u8 = 205;
/// The format of congestion control feedback (RFC 8888 §3.1).
const FORMAT: u8 = 11;
/// The low bits of the first octet, which hold the format.
const FORMAT_BITS: u8 = 0x1f;
/// Octets of header and sender's SSRC.
const HEADER_OCTETS: usize = 8;
/// Octets of a report block without its metrics.
const BLOCK_OCTETS: usize = 8;
/// Octets of the report timestamp.
const TIMESTAMP_OCTETS: usize = 4;
/// The metric blocks that a report may have: a quarter of the sequence numbers (RFC 8888 §3.1).
pub const MAX_METRICS: usize = 16_384;

/// R: the packet was received (RFC 8888 §3.1).
const RECEIVED: u16 = 0x8000;
const ECN_SHIFT: u16 = 13;
/// The bits of the arrival time offset.
const OFFSET_BITS: u16 = 0x1fff;
/// The longest offset that is reported exactly, 8189/1024 s (RFC 8888 §3.1).
const LONGEST_OFFSET: u16 = 0x1ffd;
/// A longer offset (RFC 8888 §3.1).
const OVER_RANGE: u16 = 0x1ffe;
/// An arrival time that is not known (RFC 8888 §3.1).
const UNAVAILABLE: u16 = 0x1fff;

/// How long before the report timestamp a packet arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalOffset {
    /// This many units of 1/1024 s, at most 8189.
    Ticks(u16),
    /// Longer.
    OverRange,
    /// Not known, or after the report timestamp.
    Unavailable,
}

impl ArrivalOffset {
    /// The offset of `ticks` units of 1/1024 s.
    pub fn of_ticks(ticks: u64) -> Self {
        match u16::try_from(ticks) {
            Ok(ticks) if ticks <= LONGEST_OFFSET => Self::Ticks(ticks),
            _ => Self::OverRange,
        }
    }

    const fn bits(self) -> u16 {
        match self {
            Self::Ticks(ticks) if ticks <= LONGEST_OFFSET => ticks,
            Self::Ticks(_) | Self::OverRange => OVER_RANGE,
            Self::Unavailable => UNAVAILABLE,
        }
    }

    pub(super) const fn of_bits(bits: u16) -> Self {
        match bits & OFFSET_BITS {
            UNAVAILABLE => Self::Unavailable,
            OVER_RANGE => Self::OverRange,
            ticks => Self::Ticks(ticks),
        }
    }
}

/// A packet that was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The ECN codepoint with which it arrived.
    pub ecn: Ecn,
    /// When it arrived.
    pub offset: ArrivalOffset,
}

impl Metric {
    fn bits(metric: Option<Self>) -> u16 {
        metric.map_or(0, |metric| {
            RECEIVED | u16::from(metric.ecn.bits()) << ECN_SHIFT | metric.offset.bits()
        })
    }

    /// The other bits of a packet that was not received are ignored.
    fn of_bits(bits: u16) -> Option<Self> {
        (bits & RECEIVED != 0).then(|| Self {
            ecn: Ecn::from_bits((bits >> ECN_SHIFT) as u8),
            offset: ArrivalOffset::of_bits(bits),
        })
    }
}

/// The packets of one stream that were received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportBlock {
    /// The stream.
    pub ssrc: u32,
    /// The sequence number of the first metric.
    pub begin_seq: u16,
    /// Consecutive packets, at most [`MAX_METRICS`]; `None` for one that was not received.
    pub metrics: Vec<Option<Metric>>,
}

impl ReportBlock {
    /// Octets of a block with `metrics` metrics.
    pub const fn wire_len(metrics: usize) -> usize {
        BLOCK_OCTETS + metrics.next_multiple_of(2) * 2
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let metrics = self.metrics.get(..MAX_METRICS).unwrap_or(&self.metrics);
        out.extend(self.ssrc.to_be_bytes());
        out.extend(self.begin_seq.to_be_bytes());
        out.extend((metrics.len() as u16).to_be_bytes());
        for metric in metrics {
            out.extend(Metric::bits(*metric).to_be_bytes());
        }
        if metrics.len() % 2 == 1 {
            out.extend([0; 2]);
        }
    }

    fn take(octets: &mut &[u8]) -> Option<Self> {
        let ssrc = take_u32(octets)?;
        let begin_seq = take_u16(octets)?;
        let count = usize::from(take_u16(octets)?);
        if count > MAX_METRICS {
            return None;
        }
        let (metrics, rest) = octets.split_at_checked(count.next_multiple_of(2) * 2)?;
        *octets = rest;
        let metrics = metrics.chunks_exact(2).take(count);
        Some(Self {
            ssrc,
            begin_seq,
            metrics: metrics
                .map(|bits| Metric::of_bits(u16::from_be_bytes([bits[0], bits[1]])))
                .collect(),
        })
    }
}

/// A congestion control feedback packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CcFeedback {
    /// The sender of the feedback.
    pub ssrc: u32,
    /// A block for each stream.
    pub blocks: Vec<ReportBlock>,
    /// When the report was made: the middle 32 bits of an NTP timestamp, in 1/65536 s.
    pub timestamp: u32,
}

impl CcFeedback {
    /// The metrics of one stream that fit into a packet of `octets` octets.
    pub const fn metrics_within(octets: usize) -> usize {
        let fixed = HEADER_OCTETS + BLOCK_OCTETS + TIMESTAMP_OCTETS;
        let metrics = octets.saturating_sub(fixed) / 4 * 2;
        if metrics < MAX_METRICS {
            metrics
        } else {
            MAX_METRICS
        }
    }

    /// Octets of the packet.
    pub fn wire_len(&self) -> usize {
        let blocks = self.blocks.iter();
        let blocks =
            blocks.map(|block| ReportBlock::wire_len(block.metrics.len().min(MAX_METRICS)));
        HEADER_OCTETS + TIMESTAMP_OCTETS + blocks.sum::<usize>()
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        // RFC 3550 §6.4.1: the length in 32-bit words minus one.
        let words = self.wire_len() / 4 - 1;
        out.extend([VERSION << 6 | FORMAT, PACKET_TYPE]);
        out.extend((words as u16).to_be_bytes());
        out.extend(self.ssrc.to_be_bytes());
        for block in &self.blocks {
            block.encode(out);
        }
        out.extend(self.timestamp.to_be_bytes());
    }

    pub(super) fn decode(octets: &[u8]) -> Option<Self> {
        let ([first, kind], mut length) = octets.split_first_chunk()?;
        if *kind != PACKET_TYPE || first & FORMAT_BITS != FORMAT {
            return None;
        }
        let words = usize::from(take_u16(&mut length)?);
        if octets.len() != (words + 1) * 4 {
            return None;
        }
        let mut rest = without_padding(octets)?.get(4..)?;
        let ssrc = take_u32(&mut rest)?;
        let mut blocks = Vec::new();
        while rest.len() > TIMESTAMP_OCTETS {
            blocks.push(ReportBlock::take(&mut rest)?);
        }
        let timestamp = take_u32(&mut rest)?;
        Some(Self {
            ssrc,
            blocks,
            timestamp,
        })
    }
}
