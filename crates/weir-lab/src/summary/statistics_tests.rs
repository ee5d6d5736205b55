//! Distributions and means over time against values calculated by hand.

use super::*;

#[test]
fn the_sum_of_nothing_has_no_sign() {
    assert!(total(std::iter::empty()).is_sign_positive());
    assert_eq!(total([1.5, 2.5].into_iter()), 4.0);
}

/// The distributions of these seconds, computed by all three implementations.
fn distributions(seconds: &[u64]) -> [Option<Distribution>; 3] {
    let mut samples = Samples::default();
    let mut histogram = Histogram::default();
    for second in seconds {
        samples.push(second * 1_000_000_000);
        histogram.push(second * 1_000_000_000);
    }
    [
        samples.summary(),
        Distribution::of_histogram(&histogram),
        Distribution::of(seconds.iter().map(|&second| second as f64)),
    ]
}

#[test]
fn percentiles_are_nearest_ranks() {
    // The rank is ceil(n · percent / 100): of 100 the 50th, 95th and 99th, of 3 the second and
    // twice the third, of 21 the 11th, the 20th (19.95) and the 21st (20.79).
    for (count, p50, p95, p99) in [
        (100, 50.0, 95.0, 99.0),
        (3, 2.0, 3.0, 3.0),
        (21, 11.0, 20.0, 21.0),
        (1, 1.0, 1.0, 1.0),
    ] {
        let seconds: Vec<u64> = (1..=count).rev().collect();
        for found in distributions(&seconds) {
            let found = found.unwrap();
            assert_eq!((found.p50, found.p95, found.p99), (p50, p95, p99));
            assert_eq!((found.min, found.max), (1.0, count as f64));
        }
    }
    assert_eq!(distributions(&[]), [None; 3]);
}

#[test]
fn mean_and_deviation_are_those_of_the_population() {
    for count in [100_u64, 21, 1] {
        let seconds: Vec<u64> = (1..=count).rev().collect();
        // The variance of 1..n is (n² − 1) / 12.
        let n = count as f64;
        let deviation = ((n * n - 1.0) / 12.0).sqrt();
        for found in distributions(&seconds) {
            let found = found.unwrap();
            assert!((found.mean - f64::midpoint(n, 1.0)).abs() < 1e-12);
            assert!((found.stddev - deviation).abs() < 1e-9, "{found:?}");
        }
    }
}

fn at(secs: u64) -> Instant {
    Instant::from_nanos(secs * 1_000_000_000)
}

#[test]
fn values_weigh_as_long_as_they_hold_and_not_before_the_warmup() {
    let mut rate = TimeWeighted::default();
    rate.set(at(0), at(2), 1000.0);
    rate.set(at(1), at(2), 10.0);
    // From 2 s: 10 for 3 s, then 30 for 1 s.
    rate.set(at(5), at(2), 30.0);
    rate.advance(at(6));
    let cov = rate.summary().unwrap();
    assert_eq!(cov.mean, 15.0);
    assert!((cov.cov - 75.0_f64.sqrt() / 15.0).abs() < 1e-12);
}

#[test]
fn the_variation_of_a_value_is_that_of_all_the_time_that_it_was_known() {
    // 10 for 3 s, 30 for 1 s, 20 for 4 s: the mean is 140 / 8, the variance
    // (3 · 7.5² + 12.5² + 4 · 2.5²) / 8 = 350 / 8.
    let mut rate = TimeWeighted::default();
    for (from, value) in [(1, 10.0), (4, 30.0), (5, 20.0)] {
        rate.set(at(from), at(0), value);
    }
    // A time that has passed already, or a repeated one, adds no time.
    for until in [9, 7, 9] {
        rate.advance(at(until));
    }
    let found = rate.summary().unwrap();
    assert!((found.mean - 17.5).abs() < 1e-12);
    assert!((found.cov - 43.75_f64.sqrt() / 17.5).abs() < 1e-12);
}

#[test]
fn a_value_without_time_has_no_mean_and_one_of_nothing_no_variation() {
    let mut rate = TimeWeighted::default();
    assert_eq!(rate.summary(), None);
    rate.advance(at(1));
    rate.set(at(1), at(0), 5.0);
    rate.advance(at(1));
    assert_eq!(rate.summary(), None);
    rate.set(at(1), at(0), 0.0);
    rate.advance(at(3));
    let (mean, cov) = (0.0, 0.0);
    assert_eq!(rate.summary(), Some(MeanCov { mean, cov }));
}

#[test]
fn small_values_for_a_moment_have_their_variation() {
    // 0.1 and 0.3 for a quarter of a second each: the mean is 0.2, the deviation 0.1.
    let millis = |millis: u64| Instant::from_nanos(millis * 1_000_000);
    let mut rate = TimeWeighted::default();
    rate.set(millis(0), at(0), 0.1);
    rate.set(millis(250), at(0), 0.3);
    rate.advance(millis(500));
    let found = rate.summary().unwrap();
    assert!((found.mean - 0.2).abs() < 1e-12);
    assert!((found.cov - 0.5).abs() < 1e-12);
}
