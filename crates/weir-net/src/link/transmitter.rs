//! The transmitter of a link: one packet at a time, for size * 8 / rate seconds.
//!
//! The time at which it becomes free is exact: whole nanoseconds and a remainder in units of
//! 1/rate nanoseconds, so that a long run of packets does not drift.

use super::config::LinkConfig;
use crate::rate_trace::RateTrace;
use weir_proto::time::Instant;

/// Exact time: whole nanoseconds and a remainder in units of 1/rate nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExactTime {
    pub(super) nanos: u64,
    remainder: u64,
}

impl ExactTime {
    #[inline]
    pub(super) const fn at(time: Instant) -> Self {
        Self {
            nanos: time.as_nanos(),
            remainder: 0,
        }
    }

    #[inline]
    pub(super) fn rounded_up(self) -> Instant {
        Instant::from_nanos(self.nanos.saturating_add(u64::from(self.remainder > 0)))
    }
}

/// The state of a transmitter. `repr(C)` keeps the fields in this order, so that those read for
/// each packet share cache lines.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Transmitter {
    /// When the transmitter becomes free.
    pub(super) free: ExactTime,
    /// Size and transmission time of the last packet, a cache because most packets have one of few
    /// sizes. Zero before the first packet and with a rate trace.
    last_size: (u32, ExactTime),
    /// Bits per second; zero for a transmission time of zero.
    rate: u64,
    rate_trace: Option<Box<RateTrace>>,
}

impl Transmitter {
    pub(super) fn new(config: &LinkConfig) -> Self {
        Self {
            rate: config.rate.unwrap_or(0),
            rate_trace: RateTrace::new(&config.rate_trace).map(Box::new),
            free: ExactTime::default(),
            last_size: (0, ExactTime::default()),
        }
    }

    /// True if a transmission takes time.
    pub(super) const fn takes_time(&self) -> bool {
        self.rate > 0
    }

    /// Sets the rate; `None` for a transmission time of zero.
    pub(super) fn set_rate(&mut self, rate: Option<u64>) {
        self.rate = rate.unwrap_or(0);
        self.last_size = (0, ExactTime::default());
        // The remainder of the old rate, less than a nanosecond, is rounded up.
        self.free = ExactTime::at(self.free.rounded_up());
    }

    /// When the transmission of a packet of this size ends.
    #[inline]
    pub(super) fn end_of_transmission(&mut self, start: ExactTime, size: u32) -> ExactTime {
        let (last_size, took) = self.last_size;
        if last_size == size && start.remainder | took.remainder == 0 {
            return ExactTime {
                nanos: start.nanos.saturating_add(took.nanos),
                remainder: 0,
            };
        }
        self.find_end(start, size)
    }

    /// The end of a transmission if its time is not cached or includes a fraction of a nanosecond.
    fn find_end(&mut self, start: ExactTime, size: u32) -> ExactTime {
        if let Some(rate_trace) = &mut self.rate_trace {
            return ExactTime::at(rate_trace.end_of(start.rounded_up(), size));
        }
        if self.rate == 0 {
            return start;
        }
        if self.last_size.0 != size {
            let exact = u128::from(size) * 8 * 1_000_000_000;
            let rate = u128::from(self.rate);
            let took = ExactTime {
                nanos: u64::try_from(exact / rate).unwrap_or(u64::MAX),
                remainder: (exact % rate) as u64,
            };
            self.last_size = (size, took);
        }
        let took = self.last_size.1;
        let (mut remainder, wrapped) = start.remainder.overflowing_add(took.remainder);
        let carry = wrapped || remainder >= self.rate;
        if carry {
            remainder = remainder.wrapping_sub(self.rate);
        }
        ExactTime {
            nanos: start
                .nanos
                .saturating_add(took.nanos)
                .saturating_add(u64::from(carry)),
            remainder,
        }
    }
}
