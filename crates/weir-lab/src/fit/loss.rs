//! Losses that are not the queue's: of single packets, or in bursts.
//!
//! If packets are lost independently with probability p, of n lost packets about n p are followed
//! by another lost one. More of such pairs than chance gives are bursts: Gilbert's chain, whose bad
//! state loses all and lasts as long as the bursts do.

use super::observed::Sent;

/// Pairs beyond those of chance, in standard deviations and in number, that make bursts.
const DEVIATIONS: f64 = 4.0;
const LEAST_PAIRS: f64 = 3.0;

/// Losses in intervals that are fewer than these, and bursts that are shorter on average, are
/// those of chance.
const LEAST_OF_INTERVALS: f64 = 30.0;
const LEAST_LENGTH: f64 = 1.4;

/// A loss model.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Loss {
    /// None.
    None,
    /// Independent, with this probability.
    Random(f64),
    /// Gilbert's chain: probabilities per packet of a burst's begin and end.
    Bursts { to_bad: f64, to_good: f64 },
    /// The packets with these numbers: those of the trace.
    Numbers(Vec<u64>),
}

impl Loss {
    /// The model of a share of lost packets; `sent` are the packets in their order, empty if they
    /// are not known, and `is_own` tells the losses of the wire from those of the queue.
    pub(super) fn of(share: f64, sent: &[Sent], is_own: impl Fn(&Sent) -> bool) -> Self {
        if share <= 0.0 {
            return Self::None;
        }
        let lost: Vec<bool> = sent
            .iter()
            .map(|sent| sent.is_lost && is_own(sent))
            .collect();
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64;
        let expected = count * share;
        if pairs < expected + DEVIATIONS * libm::sqrt(expected) + LEAST_PAIRS {
            return Self::Random(share);
        }
        // A burst of k packets has k - 1 pairs.
        let to_good = (count - pairs) / count;
        Self::Bursts {
            to_bad: (share * to_good / (1.0 - share)).min(1.0),
            to_good,
        }
    }
}

/// The model of a share of lost packets of which only the number in each interval is known; those
/// without a loss count too.
///
/// If bursts come independently, a share e^-m of the intervals has none of the m bursts that an
/// interval has on average; the losses of an interval by m are the length of a burst.
pub(super) fn of_intervals(share: f64, counts: &[f64]) -> Loss {
    let all: f64 = counts.iter().sum();
    let without = counts.iter().filter(|count| **count <= 0.0).count() as f64;
    let intervals = counts.len() as f64;
    if share <= 0.0 {
        return Loss::None;
    }
    if without <= 0.0 || all < LEAST_OF_INTERVALS {
        return Loss::Random(share);
    }
    let bursts = -libm::log(without / intervals) * intervals;
    let length = all / bursts.max(1.0);
    if length < LEAST_LENGTH {
        return Loss::Random(share);
    }
    let to_good = 1.0 / length;
    Loss::Bursts {
        to_bad: (share * to_good / (1.0 - share)).min(1.0),
        to_good,
    }
}

/// The numbers of the packets that the wire lost, counted from 0 over those that the queue took.
pub(super) fn numbers(sent: &[Sent], is_own: impl Fn(&Sent) -> bool) -> Vec<u64> {
    let taken = sent.iter().filter(|sent| !sent.is_lost || is_own(sent));
    let numbered = taken.enumerate().filter(|(_, sent)| sent.is_lost);
    numbered
        .map(|(number, sent)| number as u64 + sent.others)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of which those with these numbers are lost.
    fn packets(count: usize, lost: impl Fn(usize) -> bool) -> Vec<Sent> {
        let packet = |number| Sent {
            at_s: number as f64,
            is_lost: lost(number),
            others: 0,
        };
        (0..count).map(packet).collect()
    }

    #[test]
    fn losses_far_apart_are_random() {
        let sent = packets(1000, |number| number % 100 == 7);
        assert_eq!(Loss::of(0.01, &sent, |_| true), Loss::Random(0.01));
        assert_eq!(Loss::of(0.0, &sent, |_| true), Loss::None);
    }

    /// 10 bursts of 4 among 2000 packets: p = 0.02, 30 pairs where chance gives 0.8. A burst ends
    /// with probability 1/4 at each packet; 0.02 = b / (b + 0.25) gives b = 0.02 * 0.25 / 0.98.
    #[test]
    fn losses_together_are_bursts_of_their_length() {
        let sent = packets(2000, |number| number % 200 < 4);
        let Loss::Bursts { to_bad, to_good } = Loss::of(0.02, &sent, |_| true) else {
            panic!("expected bursts");
        };
        assert!((to_good - 0.25).abs() < 1e-12, "{to_good}");
        assert!((to_bad - 0.005 / 0.98).abs() < 1e-12, "{to_bad}");
        // The drops of a full queue are no bursts of the wire.
        let own = |sent: &Sent| sent.at_s < 3.0;
        assert_eq!(Loss::of(0.001, &sent, own), Loss::Random(0.001));
    }

    /// 100 losses in 20 of 100 intervals: 80 % have none, so that m = -ln 0.8 = 0.2231, and a burst
    /// has 1 / 0.2231 = 4.481 packets. One in each of 50 intervals is m = 0.693 and 0.72 packets.
    #[test]
    fn losses_of_few_intervals_are_bursts() {
        let counts = |number: usize, of: f64| -> Vec<f64> {
            (0..100)
                .map(|at| if at < number { of } else { 0.0 })
                .collect()
        };
        let Loss::Bursts { to_good, .. } = of_intervals(0.01, &counts(20, 5.0)) else {
            panic!("expected bursts");
        };
        assert!((1.0 / to_good - 4.481).abs() < 1e-3, "{to_good}");
        assert_eq!(of_intervals(0.01, &counts(50, 1.0)), Loss::Random(0.01));
        assert_eq!(of_intervals(0.01, &counts(100, 1.0)), Loss::Random(0.01));
        assert_eq!(of_intervals(0.0, &[]), Loss::None);
    }
}
