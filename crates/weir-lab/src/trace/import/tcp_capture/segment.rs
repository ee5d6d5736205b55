//! A TCP segment as a capture shows it, also if only a part of its header was captured.
//!
//! Sources: RFC 9293 §3.1, RFC 7323 §2 and §3 (window scale, timestamps), RFC 2018 §3 (SACK), RFC
//! 3168 §6.1 (ECE, CWR). The transport's own decoder takes whole segments of our encoder, without
//! timestamps.

use crate::trace::capture::{Fragment, Frame, find_ip};
use std::net::{IpAddr, SocketAddr};
use weir_proto::dccp::wire::checksum::PseudoHeader;
use weir_proto::time::Duration;

/// The protocol number of TCP.
const TCP: u8 = 6;
/// Copies of a packet at two places of a host are at most this far apart.
pub(super) const COPY_SPAN: Duration = Duration::from_millis(10);
const HEADER_OCTETS: usize = 20;
const CONGESTION_EXPERIENCED: u8 = 3;

pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
pub(super) const ACK: u8 = 0x10;

/// A segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) source: SocketAddr,
    pub(super) destination: SocketAddr,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) flags: u8,
    /// The window field, not yet scaled.
    pub(super) window: u16,
    /// Octets of header and options.
    pub(super) header: u32,
    /// Octets of data on the wire.
    pub(super) payload: u32,
    pub(super) options: Options,
    /// IP says Congestion Experienced.
    pub(super) ce: bool,
    /// IPv4's identification.
    pub(super) id: Option<u16>,
}

/// The options of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) mss: Option<u16>,
    pub(super) window_scale: Option<u8>,
    pub(super) sack_permitted: bool,
    /// TSval and TSecr.
    pub(super) timestamps: Option<(u32, u32)>,
    sacks: [(u32, u32); 4],
    sack_count: u8,
    /// Some of the options were not captured.
    pub(super) cut: bool,
}

impl Options {
    /// The SACK blocks in their order.
    pub(super) fn sacks(&self) -> &[(u32, u32)] {
        let count = usize::from(self.sack_count);
        self.sacks.get(..count).unwrap_or_default()
    }

    /// Reads options up to the first with an impossible length.
    fn read(mut octets: &[u8]) -> Self {
        let mut options = Self::default();
        while let [kind, rest @ ..] = octets {
            match kind {
                0 => break,
                1 => {
                    octets = rest;
                    continue;
                }
                _ => {}
            }
            let length = rest.first().map_or(0, |length| usize::from(*length));
            let Some((option, after)) = octets.split_at_checked(length.max(2)) else {
                break;
            };
            options.take(*kind, option.get(2..).unwrap_or_default());
            octets = after;
        }
        options
    }

    fn take(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (2, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
            // RFC 7323 §2.3: a larger shift counts as 14.
            (3, &[shift]) => self.window_scale = Some(shift.min(14)),
            (4, []) => self.sack_permitted = true,
            (8, value) => self.timestamps = Some((word(value, 0), word(value, 4))),
            (5, blocks) => {
                for (slot, block) in self.sacks.iter_mut().zip(blocks.chunks_exact(8)) {
                    *slot = (word(block, 0), word(block, 4));
                    self.sack_count += 1;
                }
            }
            _ => {}
        }
    }
}

impl Segment {
    /// The segment in a frame; `None` if there is none, an error if its header is damaged.
    pub(super) fn of_frame(frame: &Frame<'_>) -> Result<Option<Self>, String> {
        let Some(ip) = find_ip(frame.link, frame.bytes).filter(|ip| ip.protocol == TCP) else {
            return Ok(None);
        };
        if ip.fragment != Fragment::Whole {
            return Err("a fragment of an IP packet".to_owned());
        }
        let Some((header, rest)) = ip.bytes.split_first_chunk::<HEADER_OCTETS>() else {
            return Err(format!("only {} octets of TCP's header", ip.bytes.len()));
        };
        let header_len = usize::from(header[12] >> 4) * 4;
        let (Some(option_len), Some(payload)) = (
            header_len.checked_sub(HEADER_OCTETS),
            ip.length.checked_sub(header_len),
        ) else {
            return Err(format!(
                "a header of {header_len} octets in {} of IP",
                ip.length
            ));
        };
        let mut options = Options::read(rest.get(..option_len).unwrap_or(rest));
        options.cut = rest.len() < option_len;
        let [source, destination] = addresses(&ip.addresses);
        Ok(Some(Self {
            source: SocketAddr::new(source, word(header, 0).wrapping_shr(16) as u16),
            destination: SocketAddr::new(destination, word(header, 0) as u16),
            seq: word(header, 4),
            ack: word(header, 8),
            flags: header[13],
            window: word(header, 12) as u16,
            header: header_len as u32,
            payload: u32::try_from(payload).unwrap_or(u32::MAX),
            options,
            ce: ip.ecn == CONGESTION_EXPERIENCED,
            id: ip.id,
        }))
    }

    /// True if one of these flags is set.
    pub(super) const fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Octets of header and data.
    pub(super) const fn size(&self) -> u32 {
        self.header.saturating_add(self.payload)
    }

    /// True if the other one is the same packet, captured at another place this long before.
    pub(super) fn is_copy_of(&self, other: &Self, before: Duration) -> bool {
        // RFC 6864 §4.1: the identification of an atomic packet may be anything, also always zero;
        // then only packets of the same moment are taken for one.
        let has_id = self.id.is_some_and(|id| id != 0);
        let ce = other.ce;
        before <= (if has_id { COPY_SPAN } else { Duration::ZERO })
            && Self { ce, ..*self } == *other
    }
}

/// The number of 32 bits at `place`; zero where there are no octets.
fn word(octets: &[u8], place: usize) -> u32 {
    let found = octets.get(place..).and_then(<[u8]>::first_chunk);
    found.map_or(0, |four| u32::from_be_bytes(*four))
}

fn addresses(header: &PseudoHeader) -> [IpAddr; 2] {
    match *header {
        PseudoHeader::V4 {
            source,
            destination,
        } => [IpAddr::from(source), IpAddr::from(destination)],
        PseudoHeader::V6 {
            source,
            destination,
        } => [IpAddr::from(source), IpAddr::from(destination)],
    }
}
