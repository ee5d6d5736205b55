//! Numbers that wrap around on the wire: sequence numbers of 16 bits (RFC 3550 §A.1) and timestamps
//! in the middle 32 bits of an NTP timestamp (RFC 3550 §4).

use crate::time::{Duration, Instant};

/// Ticks of a report timestamp in a second (RFC 3550 §4).
const TICKS_PER_SECOND: u128 = 65_536;
/// Ticks of a report timestamp in one of an arrival time offset, 1/1024 s (RFC 8888 §3.1).
pub(super) const TICKS_PER_OFFSET: u64 = 64;
const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// The extended number that is nearest to `near` and has these low 16 bits; `None` if it would be
/// less than zero.
pub(super) fn extend_sequence(near: u64, low: u16) -> Option<u64> {
    let distance = low.wrapping_sub(near as u16) as i16;
    near.checked_add_signed(i64::from(distance))
}

/// The time in ticks of 1/65536 s.
pub(super) fn ticks(now: Instant) -> u64 {
    (u128::from(now.as_nanos()) * TICKS_PER_SECOND / NANOS_PER_SECOND) as u64
}

/// `ticks` ticks as a time since the start of the clock.
pub(super) fn from_ticks(ticks: u64) -> Duration {
    let nanos = u128::from(ticks) * NANOS_PER_SECOND / TICKS_PER_SECOND;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The peer's clock, from timestamps that wrap around every 18 hours.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerClock {
    last: Option<u64>,
}

impl PeerClock {
    /// The ticks of a timestamp since the beginning of the peer's clock.
    pub(super) fn extend(&mut self, timestamp: u32) -> u64 {
        let extended = match self.last {
            None => u64::from(timestamp),
            Some(last) => {
                let distance = timestamp.wrapping_sub(last as u32) as i32;
                last.saturating_add_signed(i64::from(distance))
            }
        };
        self.last = Some(self.last.map_or(extended, |last| last.max(extended)));
        extended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_are_extended_to_the_nearest() {
        for (near, low, extended) in [
            (5, 6, Some(6)),
            (65_535, 0, Some(65_536)),
            (65_536, 65_535, Some(65_535)),
            (200_000, 200_001_u32 as u16, Some(200_001)),
            (3, 65_530, None),
        ] {
            assert_eq!(extend_sequence(near, low), extended, "{near} {low}");
        }
    }

    #[test]
    fn a_tick_is_the_65536th_part_of_a_second_and_timestamps_wrap() {
        // RFC 3550 §4: the low 16 bits are the fraction, so TICKS_PER_SECOND make one second; an
        // offset of RFC 8888 §3.1 has TICKS_PER_OFFSET of them: 1024 offsets a second.
        assert_eq!(ticks(Instant::ZERO + Duration::from_millis(1500)), 0x1_8000);
        assert_eq!(from_ticks(0x1_8000), Duration::from_millis(1500));
        assert_eq!(from_ticks(1024 * TICKS_PER_OFFSET), Duration::from_secs(1));
        let mut clock = PeerClock::default();
        assert_eq!(clock.extend(u32::MAX), u64::from(u32::MAX));
        assert_eq!(clock.extend(9), (1 << 32) + 9);
        // A report that arrived late.
        assert_eq!(clock.extend(u32::MAX), u64::from(u32::MAX));
        assert_eq!(clock.extend(10), (1 << 32) + 10);
    }
}
