//! Sequence and acknowledgement numbers: 48 bits on a circle (RFC 4340 §3.1, §7.1), and the short
//! form of 24 bits that Data, Ack and DataAck may carry (§7.6).
//!
//! A number is greater if it is ahead by less than half of the circle. Two numbers exactly half a
//! circle apart have no order; [`SeqNum::since`] is -2^47 in both directions.

use std::fmt;

const BITS: u32 = 48;
const MASK: u64 = (1 << BITS) - 1;
const SHORT_MASK: u64 = (1 << 24) - 1;
const SHORT_HALF: u64 = 1 << 23;

/// A sequence or acknowledgement number: 48 bits, circular (RFC 4340 §7.1).
///
/// Numbers on a circle have no `Ord`; compare them with [`is_after`](Self::is_after) and the
/// similar methods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNum(u64);

impl SeqNum {
    /// `value` modulo 2^48.
    pub const fn new(value: u64) -> Self {
        Self(value & MASK)
    }

    /// The number in [0, 2^48).
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number after this one.
    pub const fn next(self) -> Self {
        self.add(1)
    }

    /// The number before this one.
    pub const fn previous(self) -> Self {
        self.sub(1)
    }

    /// The number `count` steps ahead.
    pub const fn add(self, count: u64) -> Self {
        Self::new(self.0.wrapping_add(count))
    }

    /// The number `count` steps behind.
    pub const fn sub(self, count: u64) -> Self {
        Self::new(self.0.wrapping_sub(count))
    }

    /// Steps from `other` to this number: positive if this one is after it; in [-2^47, 2^47).
    pub const fn since(self, other: Self) -> i64 {
        // RFC 4340 §3.1: numbers shifted to the top 48 bits compare in two's complement.
        let shift = u64::BITS - BITS;
        ((self.0.wrapping_sub(other.0) << shift) as i64) >> shift
    }

    /// Greater, on the circle.
    pub const fn is_after(self, other: Self) -> bool {
        self.since(other) > 0
    }

    /// Greater or equal, on the circle.
    pub const fn is_at_or_after(self, other: Self) -> bool {
        self.since(other) >= 0
    }

    /// Less, on the circle.
    pub const fn is_before(self, other: Self) -> bool {
        other.is_after(self)
    }

    /// Less or equal, on the circle.
    pub const fn is_at_or_before(self, other: Self) -> bool {
        other.is_at_or_after(self)
    }

    /// True from `low` to `high`, both included, going up the circle from `low`.
    pub const fn is_within(self, low: Self, high: Self) -> bool {
        self.0.wrapping_sub(low.0) & MASK <= high.0.wrapping_sub(low.0) & MASK
    }

    /// The greater of the two, on the circle.
    pub const fn max(self, other: Self) -> Self {
        if other.is_after(self) { other } else { self }
    }

    /// The low 24 bits, which a packet with X = 0 carries.
    pub const fn short(self) -> u32 {
        (self.0 & SHORT_MASK) as u32
    }

    /// The number whose low 24 bits are those of `short` and that lies nearest to `reference`
    /// (RFC 4340 §7.6: GSR for a sequence number, GSS for an acknowledgement number).
    pub const fn extend(short: u32, reference: Self) -> Self {
        let short = short as u64 & SHORT_MASK;
        let low = reference.0 & SHORT_MASK;
        let high = reference.0 >> 24;
        // The RFC's "(<)" counts a distance of exactly 2^23 as less, in either direction.
        let ahead = short.wrapping_sub(low) & SHORT_MASK <= SHORT_HALF;
        let behind = low.wrapping_sub(short) & SHORT_MASK <= SHORT_HALF;
        let high = if ahead && short < low {
            high + 1
        } else if behind && low < short {
            high.wrapping_sub(1)
        } else {
            high
        };
        Self::new(high << 24 | short)
    }

    /// This number as the receiver of a packet with X = 0 reads it: see [`extend`](Self::extend).
    pub const fn extended_near(self, reference: Self) -> Self {
        Self::extend(self.short(), reference)
    }
}

impl fmt::Display for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOP: u64 = (1 << 48) - 1;

    fn seq(value: u64) -> SeqNum {
        SeqNum::new(value)
    }

    #[test]
    fn wraps_at_48_bits() {
        assert_eq!(seq(TOP).next(), seq(0));
        assert_eq!(seq(0).previous(), seq(TOP));
        assert_eq!(seq(1 << 48), seq(0));
        assert_eq!(seq(5).add(u64::MAX), seq(4));
        assert_eq!(seq(5).sub(u64::MAX), seq(6));
    }

    #[test]
    fn order_survives_the_wrap() {
        assert!(seq(0).is_after(seq(TOP)));
        assert!(seq(TOP).is_before(seq(3)));
        assert_eq!(seq(2).since(seq(TOP)), 3);
        assert_eq!(seq(TOP).since(seq(2)), -3);
        assert_eq!(seq(TOP).max(seq(1)), seq(1));
        assert!(!seq(7).is_after(seq(7)) && seq(7).is_at_or_after(seq(7)));
        assert!(seq(7).is_at_or_before(seq(7)) && !seq(7).is_before(seq(7)));
    }

    #[test]
    fn half_a_circle_apart_neither_is_after() {
        let (a, b) = (seq(10), seq(10 + (1 << 47)));
        assert_eq!((a.since(b), b.since(a)), (-(1 << 47), -(1 << 47)));
        assert!(!a.is_after(b) && !b.is_after(a));
        assert_eq!(seq(10 + (1 << 47) - 1).since(a), (1 << 47) - 1);
    }

    #[test]
    fn a_window_may_span_the_wrap() {
        let (low, high) = (seq(TOP - 1), seq(2));
        for inside in [TOP - 1, TOP, 0, 1, 2] {
            assert!(seq(inside).is_within(low, high), "{inside}");
        }
        for outside in [TOP - 2, 3, 1 << 47] {
            assert!(!seq(outside).is_within(low, high), "{outside}");
        }
        assert!(seq(5).is_within(seq(5), seq(5)));
    }

    /// Short number, reference, result: RFC 4340 §7.6 worked by hand near both edges.
    #[test]
    fn extends_short_numbers_towards_the_reference() {
        for (short, reference, expected) in [
            (0x00_0001, 0x0000_0000_0000, 0x0000_0000_0001),
            (0x00_0000, 0x0000_01ff_ffff, 0x0000_0200_0000),
            (0xff_ffff, 0x0000_0200_0000, 0x0000_01ff_ffff),
            (0xff_ffff, 0x0000_0000_0000, 0xffff_ffff_ffff),
            (0x00_0000, 0xffff_ffff_ffff, 0x0000_0000_0000),
            (0x7f_ffff, 0x0000_0100_0000, 0x0000_017f_ffff),
            // Exactly 2^23 away the number moves to the side where the low bits wrapped.
            (0x80_0000, 0x0000_0100_0000, 0x0000_0080_0000),
            (0x00_0000, 0x0000_0180_0000, 0x0000_0200_0000),
            (0x80_0001, 0x0000_0100_0000, 0x0000_0080_0001),
            (0x12_3456, 0x0042_0012_3456, 0x0042_0012_3456),
        ] {
            assert_eq!(
                SeqNum::extend(short, seq(reference)),
                seq(expected),
                "{short:#08x} near {reference:#014x}"
            );
        }
    }

    #[test]
    fn every_short_number_extends_to_the_nearest_at_the_edges() {
        for reference in [
            0,
            1,
            TOP,
            TOP - 1,
            0xff_ffff,
            0x100_0000,
            0x80_0000,
            0x7f_ffff,
        ] {
            for short in (0..=0xff_ffffu32)
                .step_by(4093)
                .chain([0, 1, 0x7f_ffff, 0x80_0000])
            {
                let extended = SeqNum::extend(short, seq(reference));
                assert_eq!(extended.short(), short);
                assert!(extended.since(seq(reference)).abs() <= 1 << 23);
            }
        }
    }

    proptest! {
        #[test]
        fn a_number_within_2_pow_23_comes_back_whole(
            start in 0..=TOP,
            step in -0x7f_ffffi64..=0x7f_ffff,
        ) {
            let reference = seq(start);
            let number = seq(start.wrapping_add_signed(step));
            prop_assert_eq!(number.extended_near(reference), number);
            prop_assert_eq!(number.since(reference), step);
        }
    }
}
