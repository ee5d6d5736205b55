//! Floating-point and kernel integer arithmetic: all rounding is done here, so that the rules are
//! written once for both.
//!
//! A rate is an `f64` in octets per second. The kernel's rates are multiples of 1/64 octet per
//! second below 2^44, which an `f64` represents exactly; each operation of the kernel variant
//! computes in `u64` and converts back. Times of the kernel variant are whole microseconds.
//!
//! Source of the kernel's rounding: Linux net/dccp/ccids/lib/tfrc.h, ccids/ccid3.c.

use super::profile::Arithmetic;
use super::{MAX_BACKOFF, MAX_RATE};
use crate::time::Duration;

const FRACTION: f64 = 64.0;
const MICROS: u128 = 1_000_000;

impl Arithmetic {
    /// `bytes` per `span`, in octets per second; at most [`MAX_RATE`].
    pub(super) fn rate(self, bytes: f64, span: Duration) -> f64 {
        let rate = match self {
            Self::Float => bytes / span.as_secs_f64(),
            Self::KernelIntegers => {
                let scaled = (bytes * FRACTION) as u64;
                let micros = u128::from(span.as_micros().max(1));
                (u128::from(scaled) * MICROS / micros) as f64 / FRACTION
            }
        };
        // A span of zero gives infinity, or NaN for zero bytes; `min` turns both into the maximum.
        rate.min(MAX_RATE)
    }

    /// A rate divided by a number above zero.
    pub(super) fn divided(self, rate: f64, divisor: f64) -> f64 {
        let exact = rate / divisor;
        match self {
            Self::Float => exact,
            Self::KernelIntegers => ((exact * FRACTION) as u64) as f64 / FRACTION,
        }
    }

    /// t_ipi = s/X; between zero and 64 s.
    pub(super) fn interval(self, segment: f64, rate: f64) -> Duration {
        let interval = match self {
            Self::Float => Duration::from_secs_f64(segment / rate),
            Self::KernelIntegers => {
                let scaled = ((rate * FRACTION) as u64).max(1);
                let micros = u128::from((segment * FRACTION) as u64) * MICROS / u128::from(scaled);
                Duration::from_micros(micros.min(u128::from(u32::MAX)) as u64)
            }
        };
        interval.min(MAX_BACKOFF)
    }

    /// weight·average + (1 - weight)·sample.
    pub(super) fn smoothed(self, average: Duration, sample: Duration, weight: f64) -> Duration {
        match self {
            Self::Float => {
                let (old, new) = (average.as_nanos() as f64, sample.as_nanos() as f64);
                Duration::from_nanos((old * weight + new * (1.0 - weight) + 0.5) as u64)
            }
            Self::KernelIntegers => {
                let micros = smooth_integer(average.as_micros(), sample.as_micros(), weight);
                Duration::from_micros(micros)
            }
        }
    }

    /// The same filter for s, in octets.
    pub(super) fn smoothed_size(self, average: f64, sample: f64, weight: f64) -> f64 {
        match self {
            Self::Float => average * weight + sample * (1.0 - weight),
            Self::KernelIntegers => smooth_integer(average as u64, sample as u64, weight) as f64,
        }
    }

    /// A time in the resolution of this arithmetic.
    pub(super) fn time(self, span: Duration) -> Duration {
        match self {
            Self::Float => span,
            Self::KernelIntegers => Duration::from_micros(span.as_micros()),
        }
    }
}

/// floor((w·average + (1000 - w)·sample) / 1000) with the weight in thousandths. A sample that is
/// less than ten above the average does not change it, so the average stays below a constant
/// greater sample and reaches a constant smaller one exactly.
pub(super) fn smooth_integer(average: u64, sample: u64, weight: f64) -> u64 {
    let weight = ((weight * 1000.0 + 0.5) as u128).min(1000);
    let sum = u128::from(average) * weight + u128::from(sample) * (1000 - weight);
    (sum / 1000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: Arithmetic = Arithmetic::KernelIntegers;

    #[test]
    fn the_kernels_filter_falls_exactly_and_rises_short_of_the_sample() {
        let mut rtt = Duration::from_micros(63);
        let mut series = vec![63];
        while rtt.as_micros() > 3 {
            rtt = KERNEL.smoothed(rtt, Duration::from_micros(3), 0.9);
            series.push(rtt.as_micros());
        }
        let golden = [
            63, 57, 51, 46, 41, 37, 33, 30, 27, 24, 21, 19, 17, 15, 13, 12, 11, 10, 9, 8, 7, 6, 5,
            4, 3,
        ];
        assert_eq!(series, golden);

        let mut rising = Duration::from_micros(63);
        for _ in 0..1000 {
            rising = KERNEL.smoothed(rising, Duration::from_micros(100), 0.9);
        }
        assert_eq!(rising.as_micros(), 91);
    }

    #[test]
    fn the_kernels_interval_truncates_to_zero_at_high_rates() {
        let peak = KERNEL.rate(88.0, Duration::from_micros(3));
        assert_eq!(KERNEL.interval(22.0, peak), Duration::ZERO);
        assert_eq!(
            KERNEL.interval(22.0, KERNEL.rate(88.0, Duration::from_micros(63))),
            Duration::from_micros(15)
        );
    }

    #[test]
    fn extremes_stay_finite() {
        for arithmetic in [Arithmetic::Float, KERNEL] {
            for bytes in [0.0, 1.0, 4.0 * 4_294_967_295.0] {
                for span in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
                    let rate = arithmetic.rate(bytes, span);
                    assert!((0.0..=MAX_RATE).contains(&rate), "{rate}");
                    assert!(arithmetic.interval(bytes, rate) <= MAX_BACKOFF);
                }
            }
        }
    }

    #[test]
    fn the_kernel_divides_by_a_microsecond_and_64ths_of_an_octet_at_least() {
        for span in [Duration::ZERO, Duration::from_micros(1)] {
            assert_eq!(KERNEL.rate(1.0, span), 1_000_000.0, "{span}");
        }
        // An octet at 1/64 octet per second takes 64 s.
        for rate in [0.0, 1.0 / 64.0] {
            assert_eq!(
                KERNEL.interval(1.0, rate),
                Duration::from_secs(64),
                "{rate}"
            );
        }
        // floor(64/3)/64.
        assert_eq!(KERNEL.divided(1.0, 3.0), 21.0 / 64.0);
    }

    #[test]
    fn averages_and_weights_are_rounded_to_the_nearest() {
        let nano = Duration::from_nanos(1);
        for (weight, expected) in [(0.49, nano), (0.52, Duration::ZERO)] {
            let average = Arithmetic::Float.smoothed(Duration::ZERO, nano, weight);
            assert_eq!(average, expected, "{weight}");
        }
        // Weights of 900 and 1000 thousandths.
        assert_eq!(smooth_integer(0, 1000, 0.900_48), 100);
        assert_eq!(smooth_integer(10, 20, 2.0), 10);
    }
}
