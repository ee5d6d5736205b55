//! TCP's throughput equation (RFC 5348 §3.1) with b = 1 and t_RTO = 4R:
//!
//!   X_calc = s / (R·f(p)),   f(p) = sqrt(2p/3) + 12·sqrt(3p/8)·p·(1 + 32p²)        (§8.1)
//!
//! and its inverse, with which a receiver computes the interval before the first loss (§6.3.1).
//!
//! Linux tabulates f(p) in two tables of 500 entries, each round(10^6·f): in steps of 0.0001 up to
//! 5 %, of 0.002 above. p is truncated to a step, and the two divisions are truncated. Here an
//! entry is computed when it is needed, which takes two square roots and no memory.
//!
//! Source of the tables' shape: Linux net/dccp/ccids/lib/tfrc_equation.c.
//!
//! Does not model: other values of b or t_RTO.

use super::MAX_RATE;
use super::profile::{Arithmetic, EquationForm, Profile};
use crate::time::Duration;

const MILLION: u64 = 1_000_000;
/// Entries of each of the kernel's tables.
const ENTRIES: u64 = 500;
/// Steps of the kernel's tables in 10^-6.
const FINE_STEP: u64 = 100;
const COARSE_STEP: u64 = 2000;
/// The last p of the fine table in 10^-6.
const FINE_END: u64 = FINE_STEP * ENTRIES;

/// f(p) (RFC 5348 §8.1).
pub fn response(p: f64) -> f64 {
    (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p)
}

fn entry(p_millionths: u64) -> u64 {
    (response(p_millionths as f64 / 1e6) * 1e6 + 0.5) as u64
}

/// 10^6·f(p) as the kernel's tables have it, for p in 10^-6; never zero.
pub fn kernel_response(p_millionths: u32) -> u64 {
    let p = u64::from(p_millionths).min(MILLION);
    let step = if p <= FINE_END {
        FINE_STEP
    } else {
        COARSE_STEP
    };
    entry((p / step).max(1) * step)
}

/// The smallest tabulated p in 10^-6 whose entry is at least `response`.
pub fn kernel_reverse_lookup(response: u64) -> u32 {
    let step = if response <= entry(FINE_END) {
        FINE_STEP
    } else {
        COARSE_STEP
    };
    // Entries grow with p: find the first that is at least the value.
    let (mut low, mut high) = (1, ENTRIES);
    while low < high {
        let middle = u64::midpoint(low, high);
        if entry(middle * step) < response {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    (low * step) as u32
}

/// p with f(p) = `target`, by bisection between 10^-12 and 1; NaN gives 1.
pub fn loss_event_rate_for(target: f64) -> f64 {
    let (mut low, mut high) = (1e-12_f64, 1.0_f64);
    if target.is_nan() {
        return high;
    }
    // Bisection of the exponent: sixty halvings of 40 octaves.
    for _ in 0..60 {
        let middle = (low * high).sqrt();
        if response(middle) < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The throughput equation with the rules of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Equation {
    form: EquationForm,
    arithmetic: Arithmetic,
}

impl Equation {
    /// The form of the equation that this profile uses.
    pub fn new(profile: &Profile) -> Self {
        Self {
            form: profile.equation,
            arithmetic: profile.arithmetic,
        }
    }

    /// X_calc in octets per second for s octets, R and p > 0.
    pub fn rate(self, segment: f64, rtt: Duration, p: f64) -> f64 {
        match self.form {
            EquationForm::Formula => {
                let rate = segment / (rtt.as_secs_f64() * response(p));
                // R = 0 gives infinity; p = 0 as well.
                self.whole(rate.min(MAX_RATE))
            }
            EquationForm::KernelTable => {
                let micros = rtt.as_micros().max(1);
                let per_rtt = (segment as u64).saturating_mul(MILLION) / micros;
                let table = kernel_response((p * 1e6 + 0.5) as u32);
                let rate = per_rtt.saturating_mul(MILLION) / table;
                rate.min(u64::from(u32::MAX)) as f64
            }
        }
    }

    /// Linux keeps X_calc in whole octets per second.
    fn whole(self, rate: f64) -> f64 {
        match self.arithmetic {
            Arithmetic::Float => rate,
            Arithmetic::KernelIntegers => (rate as u64) as f64,
        }
    }

    /// The interval in packets, 1/p, for which the equation gives `rate`.
    pub fn interval_for(self, segment: f64, rtt: Duration, rate: f64) -> f64 {
        match self.form {
            EquationForm::Formula => {
                1.0 / loss_event_rate_for(segment / (rtt.as_secs_f64() * rate))
            }
            EquationForm::KernelTable => {
                let micros = rtt.as_micros().max(1);
                let per_rtt = (segment as u64).saturating_mul(MILLION) / micros;
                let target = per_rtt.saturating_mul(MILLION) / (rate as u64).max(1);
                (MILLION / u64::from(kernel_reverse_lookup(target))) as f64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equation(form: EquationForm) -> Equation {
        Equation {
            form,
            arithmetic: match form {
                EquationForm::Formula => Arithmetic::Float,
                EquationForm::KernelTable => Arithmetic::KernelIntegers,
            },
        }
    }

    #[test]
    fn tables_have_the_kernels_entries() {
        for (p, golden) in [
            (100, 8172),
            (2000, 37_172),
            // 10^6·f = 39 055.484.
            (2200, 39_055),
            (50_000, 271_305),
            (1_000_000, 243_315_981),
        ] {
            assert_eq!(kernel_response(p), golden, "p = {p}");
        }
        assert_eq!(kernel_response(0), 8172);
        assert_eq!(kernel_response(199), 8172);
        assert_eq!(kernel_response(51_999), kernel_response(50_000));
        assert_eq!(kernel_response(u32::MAX), 243_315_981);
    }

    #[test]
    fn reverse_lookup_finds_the_smallest_p_for_a_value() {
        for (value, p) in [
            (0, 100),
            (8172, 100),
            (8173, 200),
            (37_172, 2000),
            (271_305, 50_000),
            (271_306, 52_000),
            (243_315_981, 1_000_000),
            (u64::MAX, 1_000_000),
        ] {
            assert_eq!(kernel_reverse_lookup(value), p, "f = {value}");
        }
    }

    #[test]
    fn gives_the_published_rates() {
        // The WRT54G document: 753 kbit/s at s = 1400, R = 400 ms, p = 0.2 %.
        let rtt = Duration::from_millis(400);
        let formula = equation(EquationForm::Formula).rate(1400.0, rtt, 0.002) * 8.0;
        let table = equation(EquationForm::KernelTable).rate(1400.0, rtt, 0.002) * 8.0;
        assert!((formula - 753_250.0).abs() < 10.0, "{formula}");
        assert!((table - 753_256.0).abs() < 10.0, "{table}");
        // The table's least p caps X_calc: 6.853 Mbit/s at R = 200 ms.
        let rtt = Duration::from_millis(200);
        let cap = equation(EquationForm::KernelTable).rate(1400.0, rtt, 0.000_01) * 8.0;
        assert!((cap - 6.853e6).abs() < 500.0, "{cap}");
    }

    #[test]
    fn half_a_packet_per_round_trip_is_a_loss_rate_of_one_fifth() {
        // RFC 5348 §6.3.1: X = 0.5/R packets per second, so f = 2.
        let p = loss_event_rate_for(2.0);
        assert!((p - 0.2064).abs() < 1e-4, "{p}");
        let interval = equation(EquationForm::Formula).interval_for(
            1000.0,
            Duration::from_millis(100),
            5000.0,
        );
        assert!((interval - 4.844).abs() < 1e-3, "{interval}");
        let rounded = equation(EquationForm::KernelTable).interval_for(
            1000.0,
            Duration::from_millis(100),
            5000.0,
        );
        assert_eq!(rounded, 4.0);
    }

    #[test]
    fn inverse_and_equation_agree_over_their_range() {
        for exponent in 0..60 {
            let p = 1e-6 * libm::pow(1.25, f64::from(exponent));
            let back = loss_event_rate_for(response(p.min(1.0)));
            assert!((back / p.min(1.0) - 1.0).abs() < 1e-9, "{p} {back}");
        }
    }

    #[test]
    fn extremes_stay_finite() {
        for form in [EquationForm::Formula, EquationForm::KernelTable] {
            for rtt in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
                for p in [1e-300, 1e-12, 0.5, 1.0] {
                    let rate = equation(form).rate(4_294_967_295.0, rtt, p);
                    assert!((0.0..=MAX_RATE).contains(&rate), "{rate}");
                    for rate in [0.0, 1.0, MAX_RATE] {
                        let length = equation(form).interval_for(0.0, rtt, rate);
                        assert!(length >= 1.0 && length.is_finite(), "{length}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_kernels_quotients_are_truncated() {
        let table = equation(EquationForm::KernelTable);
        let millis = Duration::from_millis;
        // s/R in octets per second, times 10^6 over the table's entry: 1.4·10^12/8172 and, with
        // at least a microsecond for R, 10^12/243 315 981. p is rounded to 10^-6 before its step.
        for (segment, rtt, p, rate) in [
            (1400.0, millis(1), 0.0001, 171_316_691.0),
            (1400.0, millis(1), 0.000_199_48, 171_316_691.0),
            (1.0, Duration::from_micros(1), 1.0, 4109.0),
            (1.0, Duration::ZERO, 1.0, 4109.0),
        ] {
            assert_eq!(table.rate(segment, rtt, p), rate, "{segment} {rtt} {p}");
        }
        // f of 0.01 is reached at p = 0.02 % (f = 0.011568), f of 1 at 14.6 % (f = 1.001557).
        for (rtt, rate, packets) in [
            (Duration::from_micros(1), 1e8, 5000.0),
            (Duration::ZERO, 1e8, 5000.0),
            (Duration::from_secs(1), 1.0, 6.0),
            (Duration::from_secs(1), 0.0, 6.0),
        ] {
            assert_eq!(table.interval_for(1.0, rtt, rate), packets, "{rtt} {rate}");
        }
    }

    #[test]
    fn the_inverse_is_the_smallest_p_whose_response_is_at_least_the_value() {
        for p in [0.001, 0.25, 0.5] {
            let target = response(p);
            let found = loss_event_rate_for(target);
            assert!(response(found) >= target, "{p}");
            assert!(response(found.next_down()) < target, "{p}");
        }
        for (target, p) in [(0.0, 1e-12), (f64::INFINITY, 1.0), (f64::NAN, 1.0)] {
            let found = loss_event_rate_for(target);
            assert!((found / p - 1.0).abs() < 1e-9, "{target}: {found}");
        }
        assert_eq!(loss_event_rate_for(response(1.0)), 1.0);
    }
}
