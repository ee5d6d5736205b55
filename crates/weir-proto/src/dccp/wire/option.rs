//! Options (RFC 4340 §5.8), kept in their wire form and read as typed values.

use smallvec::SmallVec;

/// The option area of a packet in wire form, without the final padding to 32 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    bytes: SmallVec<[u8; 48]>,
}

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "to be completed")]
pub enum DccpOption<'a> {
    Padding,
    Mandatory,
    SlowReceiver,
    ChangeL {
        feature: u8,
        values: &'a [u8],
    },
    ConfirmL {
        feature: u8,
        values: &'a [u8],
    },
    ChangeR {
        feature: u8,
        values: &'a [u8],
    },
    ConfirmR {
        feature: u8,
        values: &'a [u8],
    },
    InitCookie(&'a [u8]),
    NdpCount(u64),
    AckVector {
        nonce: bool,
        cells: &'a [u8],
    },
    DataDropped(&'a [u8]),
    /// Units of 10 microseconds.
    Timestamp(u32),
    /// Both in units of 10 microseconds.
    TimestampEcho {
        timestamp: u32,
        elapsed: Option<u32>,
    },
    /// Units of 10 microseconds.
    ElapsedTime(u32),
    DataChecksum(u32),
    /// RFC 6323 option 128, microseconds.
    RttEstimate(u32),
    /// RFC 4342 §8.5 option 192: 1/p in packets, rounded up; 2^32-1 for no loss.
    LossEventRate(u32),
    /// RFC 4342 §8.6 option 193: raw intervals of 9 octets.
    LossIntervals {
        skip: u8,
        intervals: &'a [u8],
    },
    /// RFC 4342 §8.3 option 194: octets per second.
    ReceiveRate(u32),
    /// Anything else, with its data.
    Other {
        kind: u8,
        data: &'a [u8],
    },
}

/// Reads an option area one option at a time; ends before the first option whose length makes
/// no sense, because the RFC says to ignore it and all that follows.
#[derive(Clone, Debug)]
pub struct OptionIter<'a> {
    rest: &'a [u8],
}

impl Options {
    /// Octets, without the final padding.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// True if there is no option.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl<'a> OptionIter<'a> {
    /// Options in wire form.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}
