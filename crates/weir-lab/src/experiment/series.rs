//! Numbers taken from a series of times and values.

/// Times and values.
pub(super) type Series = Vec<(f64, f64)>;

/// The time of the first largest value.
pub(super) fn time_of_max(series: &[(f64, f64)]) -> Option<f64> {
    let top = series.iter().map(|point| point.1).reduce(f64::max)?;
    Some(series.iter().find(|point| point.1 == top)?.0)
}

/// The time of the first row at which the predicate holds for it and the row before.
pub(super) fn crossing(series: &[(f64, f64)], crosses: impl Fn(f64, f64) -> bool) -> Option<f64> {
    series
        .windows(2)
        .find(|pair| crosses(pair[0].1, pair[1].1))
        .map(|pair| pair[1].0)
}

/// The times between rows.
pub(super) fn gaps(series: &[(f64, f64)]) -> Vec<f64> {
    series
        .windows(2)
        .map(|pair| pair[1].0 - pair[0].0)
        .collect()
}

/// For each fall of the value: the time until the rise with this index after it (0 is the first),
/// and the value after that rise. A fall that another fall follows before that rise is ignored.
pub(super) fn rises(series: &[(f64, f64)], number: usize) -> Vec<(f64, f64)> {
    let mut fallen: Option<(f64, usize)> = None;
    let mut found = Vec::new();
    for pair in series.windows(2) {
        if pair[1].1 < pair[0].1 {
            fallen = Some((pair[1].0, 0));
        } else if pair[1].1 > pair[0].1
            && let Some((since, rise)) = &mut fallen
        {
            if *rise == number {
                found.push((pair[1].0 - *since, pair[1].1));
            }
            *rise += 1;
        }
    }
    found
}

/// The share of cycles, from one fall of the value to the next, in which a rise comes late: the
/// first one more than `first` after the fall, or a later one more than `later` after the rise
/// before it. Cycles without a rise do not count.
pub(super) fn late_rises(series: &[(f64, f64)], first: f64, later: f64) -> Option<f64> {
    // For each cycle with a rise: whether one of its rises came late.
    let mut cycles: Vec<bool> = Vec::new();
    let mut last: Option<(f64, bool)> = None;
    for pair in series.windows(2) {
        if pair[1].1 < pair[0].1 {
            last = Some((pair[1].0, false));
        } else if pair[1].1 > pair[0].1
            && let Some((since, has_risen)) = last
        {
            if !has_risen {
                cycles.push(false);
            }
            let late = pair[1].0 - since > if has_risen { later } else { first };
            if let Some(cycle) = cycles.last_mut() {
                *cycle |= late;
            }
            last = Some((pair[1].0, true));
        }
    }
    let late = cycles.iter().filter(|late| **late).count() as f64;
    (!cycles.is_empty()).then(|| late / cycles.len() as f64)
}

/// The mean.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of a sample (n − 1).
pub(super) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// The quantile of sorted values, interpolated between neighbours.
pub(super) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share * (sorted.len().checked_sub(1)?) as f64;
    let below = libm::floor(place) as usize;
    let (low, high) = (sorted.get(below)?, sorted.get(below + 1).or(sorted.last())?);
    let part = place - below as f64;
    // Equal neighbours need no interpolation, which would give NaN for infinite values.
    Some(if part == 0.0 || low == high {
        *low
    } else {
        low + (high - low) * part
    })
}

/// The median.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

/// The series held between its rows, sampled 4096 times, and the time between two samples.
pub(super) fn held(series: &[(f64, f64)]) -> Option<(Vec<f64>, f64)> {
    const SAMPLES: usize = 4096;
    let (start, end) = (series.first()?.0, series.last()?.0);
    let step = (end - start) / SAMPLES as f64;
    if step <= 0.0 {
        return None;
    }
    let mut row = 0;
    let mut samples = Vec::with_capacity(SAMPLES);
    for sample in 0..SAMPLES {
        let time = start + sample as f64 * step;
        while series.get(row + 1).is_some_and(|next| next.0 <= time) {
            row += 1;
        }
        samples.push(series.get(row)?.1);
    }
    Some((samples, step))
}

/// The lag of the highest peak of the autocorrelation, and the coefficient there; the series is
/// held between its rows. The first peak that comes within 2 % of the highest counts, because its
/// multiples are as high.
pub(super) fn periodicity(series: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (mut samples, step) = held(series)?;
    let middle = mean(&samples)?;
    for sample in &mut samples {
        *sample -= middle;
    }
    let count = samples.len();
    let correlation: Vec<f64> = (0..count / 2)
        .map(|lag| {
            let pairs = samples.iter().zip(samples.iter().skip(lag));
            pairs.map(|(a, b)| a * b).sum::<f64>() / (count - lag) as f64
        })
        .collect();
    let variance = *correlation.first()?;
    let valley = correlation.iter().position(|value| *value < 0.0)?;
    let highest = correlation.iter().skip(valley).copied().reduce(f64::max)?;
    let near = correlation
        .iter()
        .skip(valley)
        .position(|value| *value > highest * 0.98)?
        + valley;
    let run = correlation[near..]
        .iter()
        .take_while(|value| **value > highest * 0.98)
        .count();
    let lag = (near..near + run).max_by(|a, b| correlation[*a].total_cmp(&correlation[*b]))?;
    (highest > 0.0).then_some((lag as f64 * step, correlation[lag] / variance))
}
