//! The throughput equation (RFC 5348 §3.1) with b = 1 and t_RTO = 4R:
//!
//! ```text
//! X = s / (R f(p)),  f(p) = sqrt(2p/3) + 12 sqrt(3p/8) p (1 + 32 p^2)
//! ```
//!
//! Linux looks 10^6 f(p) up in two tables of 500 entries, in steps of 0.0001 up to p = 0.05 and
//! of 0.002 above, with p truncated to the step. The entries are round(10^6 f), so they are
//! computed here instead of stored.

use super::MAX_RATE;
use super::profile::EquationForm;
use crate::time::Duration;

/// p in the kernel's units of 10^-6.
const FINE_STEP: u32 = 100;
const COARSE_STEP: u32 = 2_000;
const FINE_LIMIT: u32 = 50_000;
const ENTRIES: u32 = 500;

/// f(p) of the equation.
pub fn response(p: f64) -> f64 {
    (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p)
}

fn entry(p: u32) -> u32 {
    (response(f64::from(p) / 1e6) * 1e6 + 0.5) as u32
}

/// 10^6 f(p) as Linux's tables have it; p in 10^-6.
pub fn kernel_response(p: u32) -> u32 {
    let p = p.min(1_000_000);
    if p <= FINE_LIMIT {
        entry(p.max(FINE_STEP) / FINE_STEP * FINE_STEP)
    } else {
        entry(p / COARSE_STEP * COARSE_STEP)
    }
}

/// The smallest tabulated p, in 10^-6, whose entry is at least `value`.
pub fn kernel_reverse_lookup(value: u32) -> u32 {
    if value <= entry(FINE_STEP) {
        return FINE_STEP;
    }
    if value > entry(COARSE_STEP * ENTRIES) {
        return 1_000_000;
    }
    let step = if value <= entry(FINE_LIMIT) {
        FINE_STEP
    } else {
        COARSE_STEP
    };
    let (mut low, mut high) = (1, ENTRIES);
    while low < high {
        let middle = u32::midpoint(low, high);
        if entry(middle * step) >= value {
            high = middle
        } else {
            low = middle + 1
        }
    }
    low * step
}

/// X_calc in octets per second, as Linux computes it: p in 10^-6, R in whole microseconds, every
/// quotient truncated, saturating at 2^32 - 1.
pub fn kernel_rate(segment_size: u32, rtt: Duration, p: u32) -> f64 {
    let micros = rtt.as_micros().max(1);
    let per_rtt = u64::from(segment_size) * 1_000_000 / micros;
    let rate = per_rtt.saturating_mul(1_000_000) / u64::from(kernel_response(p).max(1));
    rate.min(u64::from(u32::MAX)) as f64
}

/// X in octets per second by the formula.
pub fn rate(segment_size: u32, rtt: Duration, p: f64) -> f64 {
    let rate = f64::from(segment_size) / (rtt.as_secs_f64() * response(p));
    if rate.is_nan() {
        0.0
    } else {
        rate.min(MAX_RATE)
    }
}

impl EquationForm {
    /// X_calc in octets per second; p in (0, 1].
    pub(super) fn rate(self, segment_size: u32, rtt: Duration, p: f64) -> f64 {
        match self {
            Self::Formula => rate(segment_size, rtt, p),
            Self::KernelTable => kernel_rate(segment_size, rtt, (p * 1e6 + 0.5) as u32),
        }
    }

    /// The p at which the equation gives this rate; in (0, 1].
    pub(super) fn invert(self, segment_size: u32, rtt: Duration, rate: f64) -> f64 {
        match self {
            Self::Formula => loss_event_rate_for(segment_size, rtt, rate),
            Self::KernelTable => {
                // f = s * 10^6 / R * 10^6 / X, in integers.
                let per_rtt = u64::from(segment_size) * 1_000_000 / rtt.as_micros().max(1);
                let value = per_rtt.saturating_mul(1_000_000) / (rate as u64).max(1);
                let value = u32::try_from(value).unwrap_or(u32::MAX);
                f64::from(kernel_reverse_lookup(value)) / 1e6
            }
        }
    }
}

/// The p at which the formula gives this rate, by bisection; in (0, 1].
pub fn loss_event_rate_for(segment_size: u32, rtt: Duration, target: f64) -> f64 {
    let (mut low, mut high) = (1e-12, 1.0);
    if rate(segment_size, rtt, high) >= target {
        return high;
    }
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        if rate(segment_size, rtt, middle) >= target {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_entries_are_those_of_linux() {
        for (p, value) in [
            (100, 8_172),
            (2_000, 37_172),
            (50_000, 271_305),
            (1_000_000, 243_315_981),
        ] {
            assert_eq!(kernel_response(p), value, "{p}");
        }
        assert_eq!(kernel_response(1), kernel_response(100));
        assert_eq!(kernel_response(199), kernel_response(100));
        assert_eq!(kernel_response(51_999), kernel_response(50_000));
    }

    #[test]
    fn rates_of_the_published_examples() {
        let rtt = Duration::from_millis(400);
        assert!((rate(1400, rtt, 0.002) * 8.0 / 1e3 - 753.25).abs() < 0.01);
        // 3500 / 0.037172 = 94156.9, truncated.
        assert_eq!(kernel_rate(1400, rtt, 2_000), 94_156.0);
        // The table's floor of p = 0.01 % caps 1400 octets at 200 ms to 6.853 Mbit/s.
        let cap = kernel_rate(1400, Duration::from_millis(200), 1) * 8.0 / 1e6;
        assert!((cap - 6.853).abs() < 0.001, "{cap}");
    }

    #[test]
    fn lookup_and_inversion_undo_the_equation() {
        for p in [100, 700, 49_900, 52_000, 500_000, 1_000_000] {
            assert_eq!(kernel_reverse_lookup(kernel_response(p)), p);
        }
        assert_eq!(kernel_reverse_lookup(1), 100);
        assert_eq!(kernel_reverse_lookup(u32::MAX), 1_000_000);
        let rtt = Duration::from_millis(80);
        for p in [1e-6, 0.001, 0.03, 0.4] {
            let back = loss_event_rate_for(1000, rtt, rate(1000, rtt, p));
            assert!((back / p - 1.0).abs() < 1e-6, "{p} {back}");
        }
        // RFC 5348 §6.3.1: half a packet per round-trip time is p = 20.64 %, 1/p = 4.84.
        let p = loss_event_rate_for(1000, rtt, 1000.0 / 0.08 / 2.0);
        assert!((p - 0.2064).abs() < 1e-4, "{p}");
    }
}
