//! The two ways to compute: floating point, and the kernel's integers.
//!
//! Rates are kept as octets per second in `f64` either way. Linux keeps them in whole 1/64
//! octets, which an `f64` holds exactly, and truncates every quotient; times are whole
//! microseconds there.

use super::profile::Arithmetic;
use super::{MAX_BACKOFF, MAX_RATE};
use crate::time::Duration;

/// Linux's fixed point: six fractional bits.
const KERNEL_SCALE: f64 = 64.0;
const MICROS: f64 = 1e6;

impl Arithmetic {
    /// True for the kernel's integers.
    pub(super) const fn is_kernel(self) -> bool {
        matches!(self, Self::KernelIntegers)
    }

    /// A span as this arithmetic keeps it.
    pub(super) fn time(self, span: Duration) -> Duration {
        match self {
            Self::Float => span,
            Self::KernelIntegers => Duration::from_micros(span.as_micros()),
        }
    }

    /// A rate as this arithmetic keeps it.
    pub(super) fn rate(self, rate: f64) -> f64 {
        // NaN becomes zero.
        let rate = rate.clamp(0.0, MAX_RATE);
        let rate = if rate.is_nan() { 0.0 } else { rate };
        match self {
            Self::Float => rate,
            Self::KernelIntegers => (rate * KERNEL_SCALE).floor() / KERNEL_SCALE,
        }
    }

    /// Octets per time.
    pub(super) fn per(self, octets: f64, time: Duration) -> f64 {
        match self {
            Self::Float if time.is_zero() => MAX_RATE,
            Self::Float => self.rate(octets / time.as_secs_f64()),
            Self::KernelIntegers => match time.as_micros() {
                0 => MAX_RATE,
                micros => self
                    .rate((octets * KERNEL_SCALE * MICROS / micros as f64).floor() / KERNEL_SCALE),
            },
        }
    }

    /// The time that so many octets take: t_ipi. In the kernel it may be zero.
    pub(super) fn interval(self, octets: u32, rate: f64) -> Duration {
        match self {
            Self::Float => Duration::from_secs_f64(f64::from(octets) / rate),
            Self::KernelIntegers => {
                let scaled = (rate * KERNEL_SCALE) as u64;
                let micros = u64::from(octets) * 64 * 1_000_000 / scaled.max(1);
                Duration::from_micros(micros.min(u64::from(u32::MAX)))
            }
        }
    }

    /// The least rate: one segment in 64 seconds (RFC 5348 §4.3).
    pub(super) fn minimum(self, segment_size: u32) -> f64 {
        self.per(f64::from(segment_size), MAX_BACKOFF)
    }

    /// `weight` of the old value and the rest of the new one.
    pub(super) fn average(self, old: Duration, new: Duration, weight: f64) -> Duration {
        match self {
            Self::Float => Duration::from_secs_f64(
                weight * old.as_secs_f64() + (1.0 - weight) * new.as_secs_f64(),
            ),
            Self::KernelIntegers => {
                Duration::from_micros(kernel_ewma(old.as_micros(), new.as_micros(), weight))
            }
        }
    }
}

/// Linux's `tfrc_ewma`: the weight in tenths, truncated; the first value is taken as it is.
pub(super) fn kernel_ewma(old: u64, new: u64, weight: f64) -> u64 {
    if old == 0 {
        return new;
    }
    let weight = ((weight * 10.0 + 0.5) as u64).min(10);
    (weight * old + (10 - weight) * new) / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converge(start: u64, sample: u64, steps: usize) -> Vec<u64> {
        let step = |average: &u64| Some(kernel_ewma(*average, sample, 0.9));
        std::iter::successors(Some(start), step)
            .take(steps + 1)
            .collect()
    }

    #[test]
    fn the_kernels_average_converges_downwards_exactly_and_upwards_not() {
        let down = converge(63, 3, 26);
        let expected = [
            63, 57, 51, 46, 41, 37, 33, 30, 27, 24, 21, 19, 17, 15, 13, 12, 11, 10, 9, 8, 7, 6, 5,
            4, 3, 3, 3,
        ];
        assert_eq!(down, expected);
        assert_eq!(converge(63, 100, 100).last(), Some(&91));
    }

    #[test]
    fn kernel_quotients_are_truncated() {
        let kernel = Arithmetic::KernelIntegers;
        // 88 octets in 63 us: 64 * 88 * 10^6 / 63 = 89396825.4 sixty-fourths.
        assert_eq!(
            kernel.per(88.0, Duration::from_micros(63)),
            89_396_825.0 / 64.0
        );
        assert_eq!(kernel.interval(22, 1e9), Duration::ZERO);
        assert_eq!(kernel.minimum(22), 22.0 / 64.0);
    }
}
