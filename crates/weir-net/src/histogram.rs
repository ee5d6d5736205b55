//! A distribution of nanoseconds in bounded memory.
//!
//! The first samples are stored; later all are counted in buckets whose width is 1/256 of their
//! octave, as in HdrHistogram, so that percentiles of many samples are within 0.2 %. Only the
//! buckets between the smallest and the largest sample take memory: an octave takes 2 kB, so that a
//! thousand flows take megabytes.
//!
//! Count, sum, extremes and deviation are computed from the samples themselves in integers, so that
//! they depend neither on the order of the samples nor on the order in which parts are added.

/// Samples that are stored individually.
const EXACT_SAMPLES: usize = 512;
/// The binary logarithm of the number of buckets in an octave.
const BUCKET_BITS: u32 = 8;

/// A distribution of nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    /// The sum of squares, modulo 2^128: the deviation needs only their sum around the mean.
    squares: u128,
    /// The samples, until there are too many.
    samples: Vec<u64>,
    /// From then on, the counts of the buckets from `first` on.
    buckets: Vec<u64>,
    first: usize,
}

impl Histogram {
    /// Adds a sample.
    #[inline]
    pub fn push(&mut self, nanos: u64) {
        if self.count == 0 {
            (self.min, self.max) = (nanos, nanos);
        }
        self.count += 1;
        self.sum += u128::from(nanos);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
        let square = u128::from(nanos) * u128::from(nanos);
        self.squares = self.squares.wrapping_add(square);
        if self.buckets.is_empty() {
            self.keep(nanos);
        } else {
            self.count_in_bucket(bucket_of(nanos), 1);
        }
    }

    /// Adds all samples of another histogram.
    pub fn add(&mut self, other: &Self) {
        if other.buckets.is_empty() {
            other.samples.iter().for_each(|&nanos| self.push(nanos));
            return;
        }
        if self.count == 0 {
            self.clone_from(other);
            return;
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
        self.squares = self.squares.wrapping_add(other.squares);
        for nanos in std::mem::take(&mut self.samples) {
            self.count_in_bucket(bucket_of(nanos), 1);
        }
        let counted = (other.first..).zip(&other.buckets);
        for (bucket, &count) in counted.filter(|(_, count)| **count > 0) {
            self.count_in_bucket(bucket, count);
        }
    }

    /// Samples so far.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The smallest sample; `None` without one.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest sample; `None` without one.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The mean; `None` without a sample.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The standard deviation of the population; `None` without a sample.
    pub fn standard_deviation(&self) -> Option<f64> {
        let count = u128::from(self.count);
        let whole = self.sum.checked_div(count)?;
        // The sum of (x - whole)^2 is small, and therefore exact even if its terms overflow.
        let mixed = whole.wrapping_mul(self.sum).wrapping_mul(2);
        let squares = self.squares.wrapping_sub(mixed);
        let squares = squares.wrapping_add(count.wrapping_mul(whole * whole));
        let count = self.count as f64;
        let beyond = (self.sum % u128::from(self.count)) as f64 / count;
        let variance = squares as f64 / count - beyond * beyond;
        Some(variance.max(0.0).sqrt())
    }

    /// The percentile by nearest rank: the smallest sample that at least `percent` of all do not
    /// exceed; `None` without a sample.
    pub fn percentile(&self, percent: u32) -> Option<u64> {
        let rank = u128::from(self.count) * u128::from(percent.min(100));
        let rank = (rank.div_ceil(100) as u64).max(1);
        if self.buckets.is_empty() {
            let mut sorted = self.samples.clone();
            sorted.sort_unstable();
            return sorted.get(rank as usize - 1).copied();
        }
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(middle_of(self.first + bucket).clamp(self.min, self.max))
    }

    /// The values in ascending order, each with the number of its samples: exact while samples are
    /// stored individually, then the midpoints of buckets.
    pub fn values(&self) -> Vec<(u64, u64)> {
        let mut sorted = self.samples.clone();
        sorted.sort_unstable();
        let kept = sorted.chunk_by(|a, b| a == b);
        let kept = kept.filter_map(|equal| Some((*equal.first()?, equal.len() as u64)));
        let counted = (self.first..).zip(&self.buckets);
        let counted = counted.filter(|(_, count)| **count > 0);
        let middle = |bucket| middle_of(bucket).clamp(self.min, self.max);
        kept.chain(counted.map(|(bucket, &count)| (middle(bucket), count)))
            .collect()
    }

    fn keep(&mut self, nanos: u64) {
        self.samples.push(nanos);
        if self.samples.len() > EXACT_SAMPLES {
            for nanos in std::mem::take(&mut self.samples) {
                self.count_in_bucket(bucket_of(nanos), 1);
            }
        }
    }

    #[inline]
    fn count_in_bucket(&mut self, bucket: usize, samples: u64) {
        let place = bucket.wrapping_sub(self.first);
        match self.buckets.get_mut(place) {
            Some(count) => *count += samples,
            None => self.grow_to(bucket, samples),
        }
    }

    /// Makes room for a bucket, and counts samples in it.
    #[cold]
    fn grow_to(&mut self, bucket: usize, samples: u64) {
        if self.buckets.is_empty() {
            self.first = bucket;
        } else if bucket < self.first {
            let missing = self.first - bucket;
            self.buckets.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = bucket;
        }
        let place = bucket - self.first;
        if self.buckets.len() <= place {
            self.buckets.resize(place + 1, 0);
        }
        self.buckets[place] += samples;
    }
}

/// The bucket of a value: small values have one each, larger values share 1/256 of an octave.
#[inline]
const fn bucket_of(nanos: u64) -> usize {
    let octave = (nanos | 1).ilog2();
    if octave <= BUCKET_BITS {
        return nanos as usize;
    }
    let shift = octave - BUCKET_BITS;
    ((shift as usize) << BUCKET_BITS) + (nanos >> shift) as usize
}

/// The midpoint of the values that share a bucket.
const fn middle_of(bucket: usize) -> u64 {
    let shift = (bucket >> BUCKET_BITS).saturating_sub(1) as u32;
    let least = ((bucket - ((shift as usize) << BUCKET_BITS)) as u64) << shift;
    least + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_values_within_a_five_hundredth() {
        let mut nanos = 0_u64;
        let mut last = 0;
        while nanos < 1 << 60 {
            let bucket = bucket_of(nanos);
            assert!(bucket >= last, "{nanos}: {bucket} after {last}");
            let off = middle_of(bucket).abs_diff(nanos) as f64;
            assert!(off <= nanos as f64 / 500.0, "{nanos} in bucket {bucket}");
            last = bucket;
            nanos += 1 + nanos / 3001;
        }
        assert!(middle_of(bucket_of(u64::MAX)) > u64::MAX / 512 * 511);
    }

    #[test]
    fn few_samples_are_exact_and_many_within_a_five_hundredth() {
        for count in [1_u64, 7, 512, 513, 20_000] {
            let mut histogram = Histogram::default();
            // Every value once, in a shuffled order.
            let step = 7_919;
            let value = |n: u64| 1_000_000 + (n * step % count) * 1000;
            for n in 0..count {
                histogram.push(value(n));
            }
            let exact = |percent: u64| 1_000_000 + ((count * percent).div_ceil(100) - 1) * 1000;
            for percent in [1, 50, 95, 99, 100] {
                let (found, exact) = (histogram.percentile(percent), exact(percent.into()));
                let found = found.expect("there are samples");
                let off = found.abs_diff(exact) as f64 / exact as f64;
                assert!(off <= 0.002, "{percent} % of {count}: {found} for {exact}");
                assert!(count > 512 || off == 0.0, "{percent} % of {count}");
            }
            let mean = 1_000_000.0 + (count - 1) as f64 * 500.0;
            assert!((histogram.mean().expect("samples") - mean).abs() < 1e-3);
            let deviation = 1000.0 * (((count * count - 1) as f64) / 12.0).sqrt();
            let found = histogram.standard_deviation().expect("samples");
            assert!((found - deviation).abs() < 1e-6 * deviation.max(1.0));
            assert_eq!(histogram.min(), Some(1_000_000));
            assert_eq!(histogram.max(), Some(1_000_000 + (count - 1) * 1000));
            let (values, mut seen) = (histogram.values(), 0);
            assert!(values.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let median = values.iter().find(|(_, samples)| {
                seen += samples;
                seen * 2 >= count
            });
            assert_eq!(median.map(|value| value.0), histogram.percentile(50));
            assert_eq!(values.iter().map(|value| value.1).sum::<u64>(), count);
        }
        assert_eq!(Histogram::default().percentile(50), None);
        assert_eq!(Histogram::default().mean(), None);
    }

    #[test]
    fn parts_that_are_added_are_the_whole() {
        let value = |n: u64| 5_000_000 + (n * 7_919 % 3_000) * 1000;
        // One part with stored samples and one with buckets, added in both orders.
        for ends in [[0, 0], [0, 3_000], [100, 3_000], [2_900, 3_000], [200, 400]] {
            let mut parts = [Histogram::default(), Histogram::default()];
            let mut whole = Histogram::default();
            for n in 0..ends[1] {
                parts[usize::from(n >= ends[0])].push(value(n));
                whole.push(value(n));
            }
            let [mut sum, other] = parts;
            sum.add(&other);
            assert_eq!((sum.count(), sum.min()), (whole.count(), whole.min()));
            assert_eq!((sum.max(), sum.mean()), (whole.max(), whole.mean()));
            for percent in [1, 50, 95, 99] {
                assert_eq!(
                    sum.percentile(percent),
                    whole.percentile(percent),
                    "{ends:?}"
                );
            }
            let deviation = |of: &Histogram| of.standard_deviation().unwrap_or_default();
            let off = (deviation(&sum) - deviation(&whole)).abs();
            assert!(off <= 1e-9 * deviation(&whole), "{ends:?}");
        }
    }

    /// 3,000 delays of up to 3 s; the sum of their squares exceeds the 53 bits of a float.
    #[test]
    fn the_deviation_does_not_depend_on_the_order_of_samples_and_of_parts() {
        let value = |n: u64| n * 7_919 * 1_234_577 % 3_000_000_017;
        let of = |numbers: &mut dyn Iterator<Item = u64>| {
            let mut histogram = Histogram::default();
            numbers.for_each(|n| histogram.push(value(n)));
            histogram
        };
        let deviation = |of: &Histogram| of.standard_deviation().unwrap_or_default().to_bits();
        let whole = of(&mut (0..3_000));
        assert_eq!(deviation(&of(&mut (0..3_000).rev())), deviation(&whole));
        for end in [1, 400, 1_500, 2_999] {
            let (first, second) = (of(&mut (0..end)), of(&mut (end..3_000)));
            for (part, other) in [(&first, &second), (&second, &first)] {
                let mut sum = part.clone();
                sum.add(other);
                assert_eq!(deviation(&sum), deviation(&whole), "{end}");
            }
        }
    }

    #[test]
    fn a_smaller_sample_than_all_before_finds_room() {
        let mut histogram = Histogram::default();
        for nanos in (0..1000).rev() {
            histogram.push(nanos * 1_000_000);
        }
        histogram.push(5);
        assert_eq!(histogram.min(), Some(0));
        assert_eq!(histogram.count(), 1001);
        assert_eq!(histogram.percentile(0), Some(0));
    }
}
