//! Receive timestamps at the end of ACK frames (draft-ietf-quic-receive-ts §4).

use super::varint::{self, Reader};
use super::{PacketNumber, WireError};

/// The largest receive_timestamps_exponent (draft-ietf-quic-receive-ts §5).
pub const LARGEST_EXPONENT: u8 = 20;

/// The receive timestamps of packets with consecutive numbers, from the largest number down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimestampRange {
    /// Delta Largest Acknowledged: the frame's Largest Acknowledged less the largest number of the
    /// range.
    pub delta_largest: u64,
    /// Timestamp Deltas in units of 2^exponent microseconds. The first of the frame is the time
    /// since the receiver's basis; each other one, by how much a packet arrived before the packet
    /// of the delta in front of it.
    pub deltas: Vec<u64>,
}

/// The field Receive Timestamps: the packet that arrived last comes first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiveTimestamps(pub Vec<TimestampRange>);

impl ReceiveTimestamps {
    /// The number of timestamps.
    pub fn count(&self) -> u64 {
        let counts = self.0.iter().map(|range| range.deltas.len() as u64);
        counts.sum()
    }

    /// Each packet with its time in units since the receiver's basis, the last arrival first; a
    /// number or time below zero ends the list.
    pub fn times(&self, largest: PacketNumber) -> impl Iterator<Item = (PacketNumber, u64)> + '_ {
        let mut last: Option<u64> = None;
        let packets = self.0.iter().flat_map(move |range| {
            let deltas = range.deltas.iter().enumerate();
            deltas.map(move |(place, delta)| (range.delta_largest + place as u64, *delta))
        });
        packets.map_while(move |(below, delta)| {
            let time = last.map_or(Some(delta), |last| last.checked_sub(delta))?;
            last = Some(time);
            Some((largest.checked_sub(below)?, time))
        })
    }

    /// Octets on the wire.
    pub(super) fn len(&self) -> u32 {
        let ranges = self.0.iter().map(|range| {
            let deltas = range.deltas.iter().copied().map(varint::len);
            let count = range.deltas.len() as u64;
            varint::len(range.delta_largest) + varint::len(count) + deltas.sum::<u32>()
        });
        varint::len(self.0.len() as u64) + ranges.sum::<u32>()
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, self.0.len() as u64);
        for range in &self.0 {
            varint::put(out, range.delta_largest);
            varint::put(out, range.deltas.len() as u64);
            for delta in &range.deltas {
                varint::put(out, *delta);
            }
        }
    }

    /// Reads the field of a frame with this Largest Acknowledged.
    pub(super) fn read(reader: &mut Reader<'_>, largest: PacketNumber) -> Result<Self, WireError> {
        let mut read = Self::default();
        for _ in 0..bounded_count(reader, 2)? {
            let delta_largest = reader.varint()?;
            let deltas = bounded_count(reader, 1)?;
            let deltas = (0..deltas).map(|_| reader.varint());
            let deltas = deltas.collect::<Result<_, _>>()?;
            read.0.push(TimestampRange {
                delta_largest,
                deltas,
            });
        }
        if read.times(largest).count() as u64 == read.count() {
            Ok(read)
        } else {
            Err(WireError::Encoding)
        }
    }
}

/// Reads a count of items with at least `octets` each, which the packet must have.
fn bounded_count(reader: &mut Reader<'_>, octets: u64) -> Result<u64, WireError> {
    let count = reader.varint()?;
    if count > reader.remaining() as u64 / octets {
        return Err(WireError::Truncated);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quic::wire::tests::hex;
    use crate::quic::wire::{Ack, AckRange, AckRest, Frame, OlderRanges};
    use proptest::prelude::*;
    use std::sync::Arc;

    /// The first ACK frame of the examples (draft-ietf-quic-receive-ts §7), of packets 87 to 91 and
    /// 96 to 100.
    fn example() -> (Frame, Vec<u8>) {
        let ranges = [(0, vec![380, 10, 10, 5, 5]), (9, vec![20, 10, 10, 5, 5])];
        let ranges = ranges.map(|(delta_largest, deltas)| TimestampRange {
            delta_largest,
            deltas,
        });
        let older = AckRange {
            smallest: 87,
            largest: 91,
        };
        let frame = Frame::Ack(Ack {
            largest: 100,
            smallest: 96,
            delay: 0,
            older: Some(Arc::new(OlderRanges::new(96, [older]))),
            rest: AckRest::new(None, Some(ReceiveTimestamps(ranges.into()))),
        });
        let ack = "02 4064 00 01 04 03 04";
        let timestamps = "02  00 05 417c 0a 0a 05 05  09 05 14 0a 0a 05 05";
        (frame, hex(&format!("{ack} {timestamps}")))
    }

    #[test]
    fn an_ack_frame_ends_with_the_octets_of_the_draft() {
        let (frame, octets) = example();
        let mut out = Vec::new();
        frame.put(&mut out, true);
        assert_eq!(out, octets);
        assert_eq!(frame.len(true) as usize, octets.len());
        assert_eq!(Frame::read(&mut Reader::new(&octets), true), Ok(frame));
        // Without the extension the same octets are an ACK frame and PADDING or another frame.
        let mut reader = Reader::new(&octets);
        assert!(Frame::read(&mut reader, false).is_ok());
        assert_eq!(reader.remaining(), 16);
        for cut in 1..octets.len() {
            let mut reader = Reader::new(&octets[..cut]);
            assert_eq!(Frame::read(&mut reader, true), Err(WireError::Truncated));
        }
    }

    #[test]
    fn impossible_timestamps_are_errors() {
        for (octets, error) in [
            // A packet number below zero.
            ("02 05 00 00 00  01 06 01 0a", WireError::Encoding),
            ("02 05 00 00 00  01 05 02 0a 01", WireError::Encoding),
            // A time before the basis.
            ("02 05 00 00 00  01 00 02 0a 0b", WireError::Encoding),
            // More ranges and deltas than the packet has octets.
            ("02 05 00 00 00  7fff 00 00", WireError::Truncated),
            ("02 05 00 00 00  01 00 bfffffff 00", WireError::Truncated),
        ] {
            let octets = hex(octets);
            let read = Frame::read(&mut Reader::new(&octets), true);
            assert_eq!(read, Err(error), "{octets:x?}");
        }
        let last = hex("02 05 00 00 00  01 04 02 0a 0a");
        let read = Frame::read(&mut Reader::new(&last), true).expect("packets 1 and 0");
        let Frame::Ack(ack) = read else {
            panic!("{read:?}");
        };
        let times: Vec<_> = ack.timestamps().unwrap().times(5).collect();
        assert_eq!(times, [(1, 10), (0, 0)]);
    }

    proptest! {
        #[test]
        fn reading_is_the_inverse_of_writing(
            ranges in prop::collection::vec(
                (0_u64..1 << 20, prop::collection::vec(0_u64..1 << 20, 0..9)),
                0..9,
            ),
        ) {
            let mut field = ReceiveTimestamps::default();
            for (place, (delta_largest, mut deltas)) in ranges.into_iter().enumerate() {
                if let Some(first) = deltas.first_mut().filter(|_| place == 0) {
                    *first += 1 << 40;
                }
                field.0.push(TimestampRange { delta_largest, deltas });
            }
            let mut out = Vec::new();
            field.put(&mut out);
            prop_assert_eq!(out.len() as u32, field.len());
            let is_possible = field.0.first().is_none_or(|first| !first.deltas.is_empty());
            let read = ReceiveTimestamps::read(&mut Reader::new(&out), 1 << 30);
            prop_assert!(!is_possible || read == Ok(field));
        }

        #[test]
        fn no_octets_panic(octets in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = ReceiveTimestamps::read(&mut Reader::new(&octets), 7);
        }
    }
}
