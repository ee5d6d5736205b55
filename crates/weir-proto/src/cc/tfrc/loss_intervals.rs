//! Loss intervals and their weighted mean (RFC 5348 §5.4 and §5.5).
//!
//! ```text
//! I_mean = max(sum_{i=0}^{k-1} w_i I_i, sum_{i=1}^{k} w_{i-1} I_i) / W,   p = 1 / I_mean
//! ```
//!
//! Weights are 1, 1, 1, 1, 0.8, 0.6, 0.4, 0.2. With discounting, an I_0 of more than twice the
//! mean of the others makes these count less, by DF = max(2 I_mean / I_0, threshold). Linux
//! computes in integers and truncates the mean.

use super::profile::Discounting;
use std::collections::VecDeque;

/// RFC 5348 §5.4: n, the number of closed intervals that count.
pub(super) const COUNT: usize = 8;
/// The weights in tenths.
const WEIGHTS: [u64; COUNT] = [10, 10, 10, 10, 8, 6, 4, 2];

/// A closed interval.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Closed {
    length: u64,
    /// DF_i: the discounts of the past.
    discount: f64,
    /// What the option needs beside the length.
    reported: ReportedInterval,
}

/// An interval as the Loss Intervals option (RFC 4342 §8.6) tells it, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedInterval {
    /// The lossless part's length in sequence numbers.
    pub lossless: u64,
    /// The lossy part's length in sequence numbers.
    pub loss: u64,
    /// The data packets of both; zero if unknown.
    pub data: u64,
}

/// The history of intervals.
#[derive(Clone, Debug)]
pub struct LossIntervals {
    closed: VecDeque<Closed>,
    discounting: Discounting,
    integers: bool,
}

impl LossIntervals {
    /// No loss yet.
    pub fn new(discounting: Discounting, integers: bool) -> Self {
        Self {
            closed: VecDeque::with_capacity(COUNT + 1),
            discounting,
            integers,
        }
    }

    /// True before the first loss event.
    pub fn is_empty(&self) -> bool {
        self.closed.is_empty()
    }

    /// A loss event ends the current interval with this length; for the first event it is the
    /// length made from the receive rate.
    pub fn close(&mut self, open: u64, length: u64, reported: ReportedInterval) {
        let discount = self.discount(open);
        for closed in &mut self.closed {
            closed.discount *= discount;
        }
        self.closed.push_front(Closed {
            length: length.max(1),
            discount: 1.0,
            reported,
        });
        self.closed.truncate(COUNT);
    }

    /// The closed intervals, the newest first, for the option.
    pub fn reported(&self) -> impl Iterator<Item = ReportedInterval> + '_ {
        self.closed.iter().map(|closed| closed.reported)
    }

    /// I_1 … I_k with w_0 … w_{k-1}: the sum of weighted lengths, and that of weights.
    fn closed_sums(&self) -> (f64, f64) {
        let weights = WEIGHTS.iter().map(|&weight| weight as f64 / 10.0);
        self.closed
            .iter()
            .zip(weights)
            .fold((0.0, 0.0), |(sum, total), (closed, weight)| {
                let weight = weight * closed.discount;
                (sum + weight * closed.length as f64, total + weight)
            })
    }

    /// RFC 5348 §5.5: DF for an open interval of this length.
    fn discount(&self, open: u64) -> f64 {
        let Discounting::Threshold(threshold) = self.discounting else {
            return 1.0;
        };
        let (sum, total) = self.closed_sums();
        if total == 0.0 || open as f64 <= 2.0 * sum / total {
            return 1.0;
        }
        (2.0 * sum / total / open as f64).max(threshold)
    }

    /// I_mean with an open interval of this length; `None` before the first loss event.
    pub fn mean(&self, open: u64) -> Option<f64> {
        if self.closed.is_empty() {
            return None;
        }
        if self.integers {
            return Some(self.integer_mean(open));
        }
        let (past, past_weight) = self.closed_sums();
        let (recent, recent_weight) = self.open_sums(open);
        Some((recent / recent_weight).max(past / past_weight).max(1.0))
    }

    /// I_0 … I_{k-1} with w_0 … w_{k-1}, the closed ones discounted.
    fn open_sums(&self, open: u64) -> (f64, f64) {
        let discount = self.discount(open);
        let weights = WEIGHTS[1..].iter().map(|&weight| weight as f64 / 10.0);
        let newest = self.closed.iter().take(self.closed.len() - 1);
        newest
            .zip(weights)
            .fold((open as f64, 1.0), |(sum, total), (closed, weight)| {
                let weight = weight * closed.discount * discount;
                (sum + weight * closed.length as f64, total + weight)
            })
    }

    /// Linux: integers, the mean truncated; a single interval is the mean whatever I_0 is.
    fn integer_mean(&self, open: u64) -> f64 {
        let k = self.closed.len();
        if k == 1 {
            return self.closed[0].length as f64;
        }
        let lengths = self.closed.iter().map(|closed| closed.length);
        let past: u64 = lengths
            .clone()
            .zip(WEIGHTS)
            .map(|(length, weight)| length * weight)
            .sum();
        let recent: u64 = std::iter::once(open)
            .chain(lengths)
            .take(k)
            .zip(WEIGHTS)
            .map(|(length, weight)| length.saturating_mul(weight))
            .sum();
        let total: u64 = WEIGHTS[..k].iter().sum();
        (past.max(recent) / total).max(1) as f64
    }
}

/// I_mean of intervals as lengths in packets, the open one first, without discounting: what a
/// sender makes of a Loss Intervals option. `None` for a single, open interval.
pub fn mean_interval(lengths: &[u64]) -> Option<f64> {
    let (&open, closed) = lengths.split_first()?;
    let mut intervals = LossIntervals::new(Discounting::Off, false);
    for &length in closed.iter().take(COUNT).rev() {
        intervals.close(0, length, ReportedInterval::default());
    }
    intervals.mean(open)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(lengths: &[u64], discounting: Discounting, integers: bool) -> LossIntervals {
        let mut intervals = LossIntervals::new(discounting, integers);
        for &length in lengths.iter().rev() {
            intervals.close(0, length, ReportedInterval::default());
        }
        intervals
    }

    #[test]
    fn weighs_intervals_as_rfc_5348_says() {
        // I_1 … I_8 = 100, 90, … 30: I_tot1 = 100+90+80+70+0.8*60+0.6*50+0.4*40+0.2*30 = 440.
        let lengths = [100, 90, 80, 70, 60, 50, 40, 30];
        let full = history(&lengths, Discounting::Off, false);
        assert!((full.mean(10).unwrap() - 440.0 / 6.0).abs() < 1e-9);
        // I_0 = 200: 200+100+90+80+0.8*70+0.6*60+0.4*50+0.2*40 = 590.
        assert!((full.mean(200).unwrap() - 590.0 / 6.0).abs() < 1e-9);
        let integers = history(&lengths, Discounting::Off, true);
        assert_eq!(integers.mean(10), Some(73.0));
        assert_eq!(integers.mean(200), Some(98.0));
    }

    #[test]
    fn a_short_history_takes_as_many_weights_as_intervals() {
        let three = history(&[10, 20, 30], Discounting::Off, false);
        assert!((three.mean(1).unwrap() - 20.0).abs() < 1e-9);
        assert!((three.mean(100).unwrap() - 130.0 / 3.0).abs() < 1e-9);
        let one = history(&[50], Discounting::Off, true);
        assert_eq!(one.mean(1_000_000), Some(50.0));
        let one = history(&[50], Discounting::Off, false);
        assert_eq!(one.mean(80), Some(80.0));
    }

    #[test]
    fn discounting_forgets_old_losses_faster() {
        let lengths = [100; 8];
        let plain = history(&lengths, Discounting::Off, false);
        let discounted = history(&lengths, Discounting::Threshold(0.25), false);
        assert_eq!(plain.mean(150), discounted.mean(150));
        // I_0 = 800: DF = 2 * 100 / 800 = 0.25: (800 + 0.25 * 500) / (1 + 0.25 * 5).
        let mean = discounted.mean(800).unwrap();
        assert!((mean - 925.0 / 2.25).abs() < 1e-9, "{mean}");
        assert!((plain.mean(800).unwrap() - 1300.0 / 6.0).abs() < 1e-9);
    }

    #[test]
    fn a_senders_mean_is_that_of_the_option() {
        assert_eq!(mean_interval(&[5]), None);
        assert_eq!(mean_interval(&[5, 10, 20, 30]), Some(20.0));
    }
}
