//! The time until a flow delivers again after its longest silence, from its delivered octets every
//! 0.1 s.

/// Samples per second.
const PER_SECOND: usize = 10;
/// The minimum number of samples without delivery that are a silence.
const SHORTEST_SILENCE: usize = PER_SECOND / 2;
/// The share of the goodput before the silence from which a flow is considered recovered.
const RECOVERED: f64 = 0.8;

/// The time in seconds from the last delivery before the longest silence to the start of the first
/// second after it in which the flow delivers 80 % of its mean rate before. `None` without a
/// silence of at least half a second, if the flow did not deliver for a second before, or if it
/// never recovered.
///
/// `delivered` are octets since the start of the run, every 0.1 s.
pub(in crate::run) fn recovery_s(delivered: &[u64]) -> Option<f64> {
    let (from, until) = longest_silence(delivered)?;
    let before = delivered.get(from)?.checked_sub(*delivered.first()?)?;
    if from < PER_SECOND || before == 0 {
        return None;
    }
    let wanted = before as f64 / from as f64 * PER_SECOND as f64 * RECOVERED;
    let after = delivered.get(until..)?;
    let second = |pair: (&u64, &u64)| (pair.1 - pair.0) as f64 >= wanted;
    let waited = after
        .iter()
        .zip(after.get(PER_SECOND..)?)
        .position(second)?;
    Some((until - from + waited) as f64 / PER_SECOND as f64)
}

/// The sample of the last delivery before the longest silence, and the last sample of the silence.
fn longest_silence(delivered: &[u64]) -> Option<(usize, usize)> {
    let mut longest = None;
    let mut from = 0;
    for (sample, pair) in delivered.windows(2).enumerate() {
        if pair[0] == pair[1] {
            continue;
        }
        let length = sample - from;
        if length >= SHORTEST_SILENCE && longest.is_none_or(|(a, b)| length > b - a) {
            longest = Some((from, sample));
        }
        from = sample + 1;
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Octets delivered in each second of a run.
    fn samples(seconds: &[u64]) -> Vec<u64> {
        let tenths = seconds.iter().flat_map(|octets| [octets / 10; 10]);
        let mut sum = 0;
        let sums = tenths.map(|octets| {
            sum += octets;
            sum
        });
        std::iter::once(0).chain(sums).collect()
    }

    #[test]
    fn a_flow_has_recovered_where_a_second_has_four_fifths_of_its_rate() {
        for (seconds, expected) in [
            // Three seconds of silence, then full recovery.
            (&[1000, 1000, 0, 0, 0, 1000, 1000][..], Some(3.0)),
            // 700 are too few; from 5.4 s on a second has six tenths of 700 and four tenths of
            // 1000, 820.
            (&[1000, 1000, 0, 0, 700, 1000][..], Some(2.4)),
            (&[1000, 1000, 0, 0, 800][..], Some(2.0)),
            (&[1000, 1000, 0, 0, 790, 790][..], None),
            (&[1000, 1000, 0, 0][..], None),
            (&[1000, 1000, 1000][..], None),
            // The longer of two silences is used.
            (&[1000, 0, 1000, 0, 0, 1000][..], Some(2.0)),
            // There is no rate before the silence.
            (&[0, 0, 1000, 1000][..], None),
        ] {
            assert_eq!(recovery_s(&samples(seconds)), expected, "{seconds:?}");
        }
    }
}
