//! Options (RFC 4340 §5.8), kept in their wire form and read as typed values.
//!
//! Reading never fails: an option with an invalid length ends the list (it and all that follows are
//! ignored), and an option with invalid data is read as [`DccpOption::Other`], which is ignored, or
//! answered with a Reset if it is Mandatory.
//!
//! The CCID of the connection defines types 128 to 255 (RFC 4340 §10.3). They are read as options
//! of CCID 3 (RFC 4342 §8, RFC 6323 §3.2.1); other CCIDs ignore them.

use super::PacketType;
use crate::shared_buffers::SharedBuffers;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// The most octets of data of one option.
const MAX_DATA: usize = 253;

/// The most octets of options after any fixed header: 255 words less the longest fixed header.
const MAX_OCTETS: usize = 255 * 4 - 28;

/// Options 32 and above are followed by a length (RFC 4340 §5.8).
const FIRST_WITH_LENGTH: u8 = 32;

/// The greatest RTT Estimate; it stands for "longer than 16.7 s" (RFC 6323 §3.2.1).
const MAX_RTT_ESTIMATE: u32 = 0xff_ffff;

/// Octets of options for which a packet has room.
const INLINE: usize = 14;

/// The option area of a packet in wire form, without the final padding to 32 bits.
#[derive(Clone)]
pub struct Options {
    octets: Octets,
}

#[derive(Clone)]
enum Octets {
    /// In the packet.
    Inline { len: u8, octets: [u8; INLINE] },
    /// In a buffer, which the sender's [`OptionBuffers`] may share.
    Shared(Arc<Vec<u8>>),
}

/// The buffers of long options that were sent, such as the loss intervals of CCID 3. They are used
/// again once no packet in the network shares them any more.
#[derive(Clone, Debug, Default)]
pub struct OptionBuffers {
    sent: SharedBuffers<Vec<u8>>,
}

impl OptionBuffers {
    /// No options, in a free buffer of an earlier packet if there is one.
    pub fn options(&mut self) -> Options {
        let Some(mut buffer) = self.sent.take() else {
            return Options::new();
        };
        if let Some(octets) = Arc::get_mut(&mut buffer) {
            octets.clear();
        }
        Options {
            octets: Octets::Shared(buffer),
        }
    }

    /// Options leave: keeps their buffer, if they have one.
    #[inline]
    pub fn keep(&mut self, options: &Options) {
        if let Octets::Shared(buffer) = &options.octets {
            self.sent.keep(Arc::clone(buffer));
        }
    }
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DccpOption<'a> {
    /// Type 0: fills one octet (§5.8.1).
    Padding,
    /// Type 1: the next option must be processed (§5.8.2).
    Mandatory,
    /// Type 2: the receiver cannot process data fast enough (§11.6).
    SlowReceiver,
    /// Type 32: requests a change of a feature at the sender of this option (§6.1).
    ChangeL {
        /// Feature number.
        feature: u8,
        /// The value, or the preference list.
        values: &'a [u8],
    },
    /// Type 33: answers a Change R (§6.2).
    ConfirmL {
        /// Feature number.
        feature: u8,
        /// The value and the preference list; empty for an unknown feature.
        values: &'a [u8],
    },
    /// Type 34: requests a change of a feature at the receiver of this option (§6.1).
    ChangeR {
        /// Feature number.
        feature: u8,
        /// The value, or the preference list.
        values: &'a [u8],
    },
    /// Type 35: answers a Change L (§6.2).
    ConfirmR {
        /// Feature number.
        feature: u8,
        /// The value and the preference list; empty for an unknown feature.
        values: &'a [u8],
    },
    /// Type 36: lets a server keep no state of a half-open connection (§8.1.4).
    InitCookie(&'a [u8]),
    /// Type 37: non-data packets just before this one (§7.7); 48 bits.
    NdpCount(u64),
    /// Types 38 and 39: run-length encoded history of received packets (§11.4).
    AckVector {
        /// The sum of the ECN nonces.
        nonce: bool,
        /// The cells, one octet each: two bits of state, six bits of run length less one.
        cells: &'a [u8],
    },
    /// Type 40: received but not delivered (§11.7).
    DataDropped(&'a [u8]),
    /// Type 41: units of 10 microseconds (§13.1).
    Timestamp(u32),
    /// Type 42: both in units of 10 microseconds (§13.3).
    TimestampEcho {
        /// The timestamp that is echoed.
        timestamp: u32,
        /// Time since it arrived; absent means zero.
        elapsed: Option<u32>,
    },
    /// Type 43: units of 10 microseconds since the acknowledged packet arrived (§13.2).
    ElapsedTime(u32),
    /// Type 44: CRC-32c of the payload (§9.3).
    DataChecksum(u32),
    /// Type 128 of CCID 3 (RFC 6323 §3.2.1): microseconds in 24 bits; zero before a sample.
    RttEstimate(u32),
    /// Type 192 of CCID-3 (RFC 4342 §8.5): 1/p in packets, rounded up; 2^32-1 for no loss.
    LossEventRate(u32),
    /// Type 193 of CCID-3 (RFC 4342 §8.6): at least one interval of 9 octets, newest first.
    LossIntervals {
        /// Skip Length: packets up to the acknowledgement number that are in no interval.
        skip: u8,
        /// The intervals: see [`LossInterval`](super::LossInterval).
        intervals: &'a [u8],
    },
    /// Type 194 of CCID-3 (RFC 4342 §8.3): octets per second.
    ReceiveRate(u32),
    /// Type 195 of CCID-4 (RFC 5622 §8.7): a Drop Count of 3 octets for each loss interval, newest
    /// first.
    DroppedPackets(&'a [u8]),
    /// Any other option, and an option of a known type with invalid data.
    Other {
        /// Option type.
        kind: u8,
        /// What follows the type and, for types from 32 on, the length.
        data: &'a [u8],
    },
}

/// One option in wire form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawOption<'a> {
    /// Option type.
    pub kind: u8,
    /// What follows the type and, for types from 32 on, the length.
    pub data: &'a [u8],
}

/// Reads an option area one option at a time; ends before the first option with an invalid length,
/// because it and all that follow are ignored (RFC 4340 §5.8).
#[derive(Clone, Debug)]
pub struct RawOptionIter<'a> {
    rest: &'a [u8],
}

/// Reads an option area as typed values; ends where [`RawOptionIter`] does.
#[derive(Clone, Debug)]
pub struct OptionIter<'a> {
    raw: RawOptionIter<'a>,
}

impl Options {
    /// No options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Options in wire form. They are padded to a multiple of four octets when they are sent.
    pub fn from_wire(bytes: &[u8]) -> Self {
        let mut options = Self::new();
        options.append(bytes);
        options
    }

    /// The option area of a received packet without its final padding, which is at most three
    /// octets, so that padding it again gives the same area.
    pub(super) fn from_area(area: &[u8]) -> Self {
        let mut options = RawOptionIter::new(area);
        let mut end = 0;
        while let Some(option) = options.next() {
            if option.kind != 0 {
                end = area.len() - options.rest().len();
            }
        }
        // Octets that cannot be read as options are not padding.
        let padding = if options.rest().is_empty() {
            (area.len() - end).min(3)
        } else {
            0
        };
        Self::from_wire(&area[..area.len() - padding])
    }

    /// Octets, without the final padding.
    pub fn len(&self) -> usize {
        match &self.octets {
            Octets::Inline { len, .. } => usize::from(*len),
            Octets::Shared(octets) => octets.len(),
        }
    }

    /// Octets, with the final padding.
    pub fn padded_len(&self) -> usize {
        self.len().next_multiple_of(4)
    }

    /// True if there is no option.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The wire form, without the final padding.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.octets {
            Octets::Inline { len, octets } => octets.get(..usize::from(*len)).unwrap_or(&[]),
            Octets::Shared(octets) => octets,
        }
    }

    /// The options in their order, with Padding options.
    pub fn iter(&self) -> OptionIter<'_> {
        OptionIter::new(self.as_bytes())
    }

    /// The options as type and data.
    pub fn iter_raw(&self) -> RawOptionIter<'_> {
        RawOptionIter::new(self.as_bytes())
    }

    /// Removes all options.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Appends an option in its smallest form. False, and nothing is written, if it has no wire
    /// form (more than 253 octets of data, data on a one-octet type) or if the header would
    /// become longer than 1020 octets.
    pub fn push(&mut self, option: &DccpOption<'_>) -> bool {
        match *option {
            DccpOption::Padding => self.write(0, &[]),
            DccpOption::Mandatory => self.write(1, &[]),
            DccpOption::SlowReceiver => self.write(2, &[]),
            DccpOption::ChangeL { feature, values } => self.write(32, &[&[feature], values]),
            DccpOption::ConfirmL { feature, values } => self.write(33, &[&[feature], values]),
            DccpOption::ChangeR { feature, values } => self.write(34, &[&[feature], values]),
            DccpOption::ConfirmR { feature, values } => self.write(35, &[&[feature], values]),
            DccpOption::InitCookie(cookie) => self.write(36, &[cookie]),
            DccpOption::NdpCount(count) => self.write(37, &[&smallest(&count.to_be_bytes(), 6)]),
            DccpOption::AckVector { nonce, cells } => self.write(38 + u8::from(nonce), &[cells]),
            DccpOption::DataDropped(blocks) => self.write(40, &[blocks]),
            DccpOption::Timestamp(time) => self.write(41, &[&time.to_be_bytes()]),
            DccpOption::TimestampEcho { timestamp, elapsed } => {
                let elapsed = elapsed.map(elapsed_octets).unwrap_or_default();
                self.write(42, &[&timestamp.to_be_bytes(), &elapsed])
            }
            DccpOption::ElapsedTime(elapsed) => self.write(43, &[&elapsed_octets(elapsed)]),
            DccpOption::DataChecksum(crc) => self.write(44, &[&crc.to_be_bytes()]),
            DccpOption::RttEstimate(micros) => {
                let micros = micros.min(MAX_RTT_ESTIMATE);
                self.write(128, &[&smallest(&micros.to_be_bytes(), 3)])
            }
            DccpOption::LossEventRate(inverse) => self.write(192, &[&inverse.to_be_bytes()]),
            DccpOption::LossIntervals { skip, intervals } => self.write(193, &[&[skip], intervals]),
            DccpOption::ReceiveRate(rate) => self.write(194, &[&rate.to_be_bytes()]),
            DccpOption::DroppedPackets(counts) => self.write(195, &[counts]),
            DccpOption::Other { kind, data } => self.write(kind, &[data]),
        }
    }

    fn write(&mut self, kind: u8, data: &[&[u8]]) -> bool {
        let data_len: usize = data.iter().map(|part| part.len()).sum();
        let has_length = kind >= FIRST_WITH_LENGTH;
        let octets = 1 + usize::from(has_length) + data_len;
        let writable = data_len <= if has_length { MAX_DATA } else { 0 };
        if !writable || self.len() + octets > MAX_OCTETS {
            return false;
        }
        self.append(&[kind]);
        if has_length {
            self.append(&[octets as u8]);
        }
        for part in data {
            self.append(part);
        }
        true
    }

    fn append(&mut self, more: &[u8]) {
        match &mut self.octets {
            Octets::Inline { len, octets } => {
                let start = usize::from(*len);
                let end = start + more.len();
                if let Some(place) = octets.get_mut(start..end) {
                    place.copy_from_slice(more);
                    *len = end as u8;
                    return;
                }
            }
            Octets::Shared(octets) => return Arc::make_mut(octets).extend_from_slice(more),
        }
        let mut octets = Vec::with_capacity((self.len() + more.len()).max(2 * INLINE));
        octets.extend_from_slice(self.as_bytes());
        octets.extend_from_slice(more);
        self.octets = Octets::Shared(Arc::new(octets));
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            octets: Octets::Inline {
                len: 0,
                octets: [0; INLINE],
            },
        }
    }
}

impl PartialEq for Options {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Options {}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("bytes", &self.as_bytes())
            .finish()
    }
}

/// The low `most` octets of a number without leading zeros, but at least one octet.
fn smallest(number: &[u8], most: usize) -> SmallVec<[u8; 8]> {
    let low = &number[number.len() - most..];
    let zeros = low.iter().take_while(|octet| **octet == 0).count();
    SmallVec::from_slice(&low[zeros.min(most - 1)..])
}

/// An elapsed time in two octets if it fits (RFC 4340 §13.2), else in four.
fn elapsed_octets(elapsed: u32) -> SmallVec<[u8; 8]> {
    match u16::try_from(elapsed) {
        Ok(short) => SmallVec::from_slice(&short.to_be_bytes()),
        Err(_) => SmallVec::from_slice(&elapsed.to_be_bytes()),
    }
}

/// A number of up to eight octets, most significant first.
fn number(octets: &[u8]) -> u64 {
    octets
        .iter()
        .fold(0, |sum, octet| sum << 8 | u64::from(*octet))
}

impl<'a> DccpOption<'a> {
    /// The option of this type and data; [`Other`](Self::Other) if there is none.
    pub fn from_raw(raw: RawOption<'a>) -> Self {
        let data = raw.data;
        match (raw.kind, data.len()) {
            (0, _) => Self::Padding,
            (1, _) => Self::Mandatory,
            (2, _) => Self::SlowReceiver,
            (32..=35, 1..) => {
                let (feature, values) = (data[0], &data[1..]);
                match raw.kind {
                    32 => Self::ChangeL { feature, values },
                    33 => Self::ConfirmL { feature, values },
                    34 => Self::ChangeR { feature, values },
                    _ => Self::ConfirmR { feature, values },
                }
            }
            (36, _) => Self::InitCookie(data),
            (37, 1..=6) => Self::NdpCount(number(data)),
            (38 | 39, _) => Self::AckVector {
                nonce: raw.kind == 39,
                cells: data,
            },
            (40, _) => Self::DataDropped(data),
            (41, 4) => Self::Timestamp(number(data) as u32),
            (42, 4) => Self::TimestampEcho {
                timestamp: number(data) as u32,
                elapsed: None,
            },
            (42, 6 | 8) => Self::TimestampEcho {
                timestamp: number(&data[..4]) as u32,
                elapsed: Some(number(&data[4..]) as u32),
            },
            (43, 2 | 4) => Self::ElapsedTime(number(data) as u32),
            (44, 4) => Self::DataChecksum(number(data) as u32),
            (128, 1..=3) => Self::RttEstimate(number(data) as u32),
            (192, 4) => Self::LossEventRate(number(data) as u32),
            (193, 10..) if data.len() % 9 == 1 => Self::LossIntervals {
                skip: data[0],
                intervals: &data[1..],
            },
            (194, 4) => Self::ReceiveRate(number(data) as u32),
            (195, 3..) if data.len().is_multiple_of(3) => Self::DroppedPackets(data),
            (kind, _) => Self::Other { kind, data },
        }
    }

    /// The option type.
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Padding => 0,
            Self::Mandatory => 1,
            Self::SlowReceiver => 2,
            Self::ChangeL { .. } => 32,
            Self::ConfirmL { .. } => 33,
            Self::ChangeR { .. } => 34,
            Self::ConfirmR { .. } => 35,
            Self::InitCookie(_) => 36,
            Self::NdpCount(_) => 37,
            Self::AckVector { nonce: false, .. } => 38,
            Self::AckVector { nonce: true, .. } => 39,
            Self::DataDropped(_) => 40,
            Self::Timestamp(_) => 41,
            Self::TimestampEcho { .. } => 42,
            Self::ElapsedTime(_) => 43,
            Self::DataChecksum(_) => 44,
            Self::RttEstimate(_) => 128,
            Self::LossEventRate(_) => 192,
            Self::LossIntervals { .. } => 193,
            Self::ReceiveRate(_) => 194,
            Self::DroppedPackets(_) => 195,
            Self::Other { kind, .. } => *kind,
        }
    }

    /// True if a packet of this type may carry the option. On other packets it must be ignored, and
    /// so must Mandatory on Data (RFC 4340 §5.8, table 3).
    pub const fn is_allowed_on(&self, packet: PacketType) -> bool {
        // RFC 5596 §2.2.1: clients ignore all options of a Listen.
        if matches!(packet, PacketType::Listen) {
            return false;
        }
        match self.kind() {
            // RFC 4340 §11.4, §11.7, §13.2, RFC 4342 §8.6.1: these refer to an acknowledgement
            // number.
            38..=40 | 43 | 193 => packet.has_ack(),
            // RFC 4340 §8.1.4: a Request has no cookie yet.
            36 => !matches!(packet, PacketType::Request | PacketType::Data),
            1 | 32..=35 | 192 | 194 => !matches!(packet, PacketType::Data),
            _ => true,
        }
    }
}

impl RawOption<'_> {
    /// The name in RFC 4340 table 3, RFC 4342 table 1, RFC 6323 table 1 or RFC 5622 §8.7.
    pub const fn name(&self) -> Option<&'static str> {
        Some(match self.kind {
            0 => "Padding",
            1 => "Mandatory",
            2 => "Slow Receiver",
            32 => "Change L",
            33 => "Confirm L",
            34 => "Change R",
            35 => "Confirm R",
            36 => "Init Cookie",
            37 => "NDP Count",
            38 => "Ack Vector [Nonce 0]",
            39 => "Ack Vector [Nonce 1]",
            40 => "Data Dropped",
            41 => "Timestamp",
            42 => "Timestamp Echo",
            43 => "Elapsed Time",
            44 => "Data Checksum",
            128 => "RTT Estimate",
            192 => "Loss Event Rate",
            193 => "Loss Intervals",
            194 => "Receive Rate",
            195 => "Dropped Packets",
            _ => return None,
        })
    }
}

impl<'a> RawOptionIter<'a> {
    /// Options in wire form.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The octets that are not read yet.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for RawOptionIter<'a> {
    type Item = RawOption<'a>;

    fn next(&mut self) -> Option<RawOption<'a>> {
        let (&kind, after_kind) = self.rest.split_first()?;
        if kind < FIRST_WITH_LENGTH {
            self.rest = after_kind;
            return Some(RawOption { kind, data: &[] });
        }
        // RFC 4340 §5.8: a length below two or beyond the area ends the list.
        let data_len = usize::from(*after_kind.first()?).checked_sub(2)?;
        let data = after_kind.get(1..)?.get(..data_len)?;
        self.rest = &after_kind[1 + data_len..];
        Some(RawOption { kind, data })
    }
}

impl<'a> OptionIter<'a> {
    /// Options in wire form.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self {
            raw: RawOptionIter::new(bytes),
        }
    }

    /// The octets that are not read yet.
    pub const fn rest(&self) -> &'a [u8] {
        self.raw.rest()
    }
}

impl<'a> Iterator for OptionIter<'a> {
    type Item = DccpOption<'a>;

    fn next(&mut self) -> Option<DccpOption<'a>> {
        self.raw.next().map(DccpOption::from_raw)
    }
}

impl<'a> IntoIterator for &'a Options {
    type Item = DccpOption<'a>;
    type IntoIter = OptionIter<'a>;

    fn into_iter(self) -> OptionIter<'a> {
        self.iter()
    }
}
