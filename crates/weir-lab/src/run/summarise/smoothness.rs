//! Smoothness of delivery: the coefficient of variation of a flow's goodput over intervals of
//! several lengths, as in the evaluation of TFRC (Floyd, Handley, Padhye, Widmer, SIGCOMM 2000).
//!
//! The delivered octets of each flow are sampled every 0.1 s of virtual time from the warm-up on.

use super::recovery::recovery_s;
use std::collections::BTreeMap;
use weir_proto::time::{Duration, Instant};

/// The sampling interval.
const SAMPLE: Duration = Duration::from_millis(100);
/// Lengths of intervals in samples, with their names in seconds.
const SCALES: [(usize, &str); 6] = [
    (2, "0.2"),
    (5, "0.5"),
    (10, "1"),
    (20, "2"),
    (50, "5"),
    (100, "10"),
];
/// The minimum number of intervals for a coefficient.
const LEAST_INTERVALS: usize = 5;
/// The maximum number of stored samples.
const MAX_NUMBERS: u64 = 20_000_000;

/// The delivered octets of each flow at each sample.
#[derive(Debug, Default)]
pub(in crate::run) struct Smoothness {
    wanted: bool,
    delivered: Vec<Vec<u64>>,
}

impl Smoothness {
    /// Samples this many flows over this time, unless there would be too many samples.
    pub(in crate::run) fn new(flows: usize, window: Duration) -> Self {
        let samples = window.as_nanos() / SAMPLE.as_nanos();
        Self {
            wanted: samples.saturating_mul(flows as u64) <= MAX_NUMBERS,
            delivered: vec![Vec::new(); flows],
        }
    }

    /// The time of the next sample after `at`.
    pub(in crate::run) fn next(&self, at: Instant, warmup: Instant) -> Option<Instant> {
        if !self.wanted {
            return None;
        }
        if at < warmup {
            return Some(warmup);
        }
        let samples = at.since(warmup).as_nanos() / SAMPLE.as_nanos() + 1;
        Some(warmup + SAMPLE * samples)
    }

    /// Stores the delivered octets of each flow, if a sample is due at this time.
    pub(in crate::run) fn sample(
        &mut self,
        since_warmup: Duration,
        delivered: impl Iterator<Item = u64>,
    ) {
        if self.wanted && since_warmup.as_nanos().is_multiple_of(SAMPLE.as_nanos()) {
            for (samples, delivered) in self.delivered.iter_mut().zip(delivered) {
                samples.push(delivered);
            }
        }
    }

    /// The recovery time of a flow after its longest silence, in seconds.
    pub(in crate::run) fn recovery_s(&self, flow: usize) -> Option<f64> {
        recovery_s(self.delivered.get(flow)?)
    }

    /// The coefficients of variation of a flow by the length of the interval in seconds.
    pub(in crate::run) fn of_flow(&self, flow: usize) -> BTreeMap<String, f64> {
        let Some(samples) = self.delivered.get(flow) else {
            return BTreeMap::new();
        };
        let named = |&(length, name): &(usize, &str)| {
            let ends: Vec<u64> = samples.iter().step_by(length).copied().collect();
            let octets: Vec<f64> = ends
                .windows(2)
                .map(|pair| (pair[1] - pair[0]) as f64)
                .collect();
            Some((name.to_owned(), variation(&octets)?))
        };
        SCALES.iter().filter_map(named).collect()
    }
}

/// Standard deviation over mean; `None` with too few values, or if all are zero.
fn variation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    if values.len() < LEAST_INTERVALS || mean <= 0.0 {
        return None;
    }
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    Some((squares / count).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_alternates_is_smooth_over_twice_the_time() {
        let mut smoothness = Smoothness::new(1, Duration::from_secs(10));
        // 300 octets, then 100, every 0.2 s.
        let mut delivered = 0;
        for sample in 0..=100 {
            smoothness.delivered[0].push(delivered);
            delivered += if sample / 2 % 2 == 0 { 150 } else { 50 };
        }
        let of_flow = smoothness.of_flow(0);
        assert!((of_flow["0.2"] - 0.5).abs() < 1e-12, "{of_flow:?}");
        assert!(of_flow["2"].abs() < 1e-12, "{of_flow:?}");
        assert!(
            !of_flow.contains_key("10"),
            "a single interval says nothing"
        );
    }

    #[test]
    fn samples_are_taken_on_a_grid_from_the_warmup() {
        let smoothness = Smoothness::new(1, Duration::from_secs(1));
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        assert_eq!(smoothness.next(at(0), at(2000)), Some(at(2000)));
        assert_eq!(smoothness.next(at(2000), at(2000)), Some(at(2100)));
        assert_eq!(smoothness.next(at(2150), at(2000)), Some(at(2200)));
    }
}
