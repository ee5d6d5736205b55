//! The time of a capture file, with all its digits.

use std::fmt;

const ATTOS_PER_SECOND: u64 = 1_000_000_000_000_000_000;

/// Time since 1970, exact for every decimal resolution down to 10^-18 s; times with a finer or a
/// binary resolution are rounded down to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    seconds: i64,
    attoseconds: u64,
}

impl Timestamp {
    /// Seconds and a fraction in units of 1/`per_second` s, which is at least one. A fraction of
    /// more than a second is carried over.
    pub(super) fn new(seconds: i64, part: u64, per_second: u64) -> Self {
        let per_second = per_second.clamp(1, ATTOS_PER_SECOND);
        let whole = i64::try_from(part / per_second).unwrap_or(i64::MAX);
        Self {
            seconds: seconds.saturating_add(whole),
            attoseconds: part % per_second * (ATTOS_PER_SECOND / per_second),
        }
    }

    /// Whole nanoseconds since `earlier`, negative if this time is before it; bounded by the range
    /// of the type.
    pub(in crate::trace) fn nanos_since(self, earlier: Self) -> i64 {
        let attos = |time: Self| {
            i128::from(time.seconds) * i128::from(ATTOS_PER_SECOND) + i128::from(time.attoseconds)
        };
        let nanos = (attos(self) - attos(earlier)) / 1_000_000_000;
        i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
    }

    /// `ticks` of a pcapng interface: `resolution` is its if_tsresol, `offset` its if_tsoffset.
    pub(super) fn from_ticks(ticks: u64, resolution: u8, offset: i64) -> Self {
        let exponent = u32::from(resolution & 0x7f);
        let ticks = u128::from(ticks);
        // pcapng §4.2: with the top bit a power of two, otherwise of ten.
        let attos = if resolution & 0x80 == 0 {
            match exponent {
                0..=18 => ticks * 10_u128.pow(18 - exponent),
                _ => 10_u128
                    .checked_pow(exponent - 18)
                    .map_or(0, |divisor| ticks / divisor),
            }
        } else {
            let (whole, rest) = (ticks >> exponent, ticks & ((1 << exponent) - 1));
            let attos_per_second = u128::from(ATTOS_PER_SECOND);
            whole * attos_per_second + ((rest * attos_per_second) >> exponent)
        };
        let seconds = i64::try_from(attos / u128::from(ATTOS_PER_SECOND)).unwrap_or(i64::MAX);
        Self {
            seconds: seconds.saturating_add(offset),
            attoseconds: (attos % u128::from(ATTOS_PER_SECOND)) as u64,
        }
    }
}

impl fmt::Display for Timestamp {
    /// Seconds with nine decimals, or more if the file has more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, seconds, attos) = match (self.seconds < 0, self.attoseconds) {
            (true, 1..) => (
                "-",
                (self.seconds + 1).unsigned_abs(),
                ATTOS_PER_SECOND - self.attoseconds,
            ),
            (true, 0) => ("-", self.seconds.unsigned_abs(), 0),
            (false, attos) => ("", self.seconds.unsigned_abs(), attos),
        };
        let (nanos, finer) = (attos / 1_000_000_000, attos % 1_000_000_000);
        write!(f, "{sign}{seconds}.{nanos:09}")?;
        if finer > 0 {
            f.write_str(format!("{finer:09}").trim_end_matches('0'))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_every_digit() {
        let micros = Timestamp::new(1_305_497_963, 505_397, 1_000_000);
        assert_eq!(micros.to_string(), "1305497963.505397000");
        let nanos = Timestamp::new(u32::MAX.into(), 999_999_999, 1_000_000_000);
        assert_eq!(nanos.to_string(), "4294967295.999999999");
        assert_eq!(
            Timestamp::new(7, 1_500_000, 1_000_000).to_string(),
            "8.500000000"
        );
    }

    /// pcapng §4.2: if_tsresol and if_tsoffset.
    #[test]
    fn reads_ticks_of_every_resolution() {
        for (ticks, resolution, offset, expected) in [
            (1_305_497_963_505_397, 6, 0, "1305497963.505397000"),
            (1_305_497_963_505_397_123, 9, 0, "1305497963.505397123"),
            (5, 0, 0, "5.000000000"),
            (1_000_000_000_001, 12, 0, "1.000000000001"),
            (u64::MAX, 18, 0, "18.446744073709551615"),
            (u64::MAX, 20, 0, "0.184467440737095516"),
            (u64::MAX, 127, 0, "0.000000000"),
            (3, 0x81, 0, "1.500000000"),
            (5, 0x80, 0, "5.000000000"),
            (1, 0x8a, 0, "0.0009765625"),
            (u64::MAX, 0xff, 0, "0.000000000"),
            (1_500_000, 6, -10, "-8.500000000"),
            (0, 6, -10, "-10.000000000"),
            (1_500_000, 6, i64::MAX, "9223372036854775807.500000000"),
        ] {
            let time = Timestamp::from_ticks(ticks, resolution, offset);
            assert_eq!(time.to_string(), expected, "{ticks} at {resolution:#x}");
        }
    }
}
