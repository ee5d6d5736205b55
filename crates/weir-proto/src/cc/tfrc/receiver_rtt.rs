//! The receiver's estimate of the round-trip time, from window counters (RFC 4342 §8.1):
//! (T(K+D) - T(K))·4/D for D = 2, 3 or 4, preferably 4.
//!
//! The receiver keeps a reference packet. A packet whose counter is four ahead gives a sample at
//! once. A packet one to three ahead is kept as a candidate, which gives the sample if the next
//! counter is more than four ahead, as in Linux net/dccp/ccids/lib/packet_history.c, which also
//! uses D = 1 and truncates 4/D.
//!
//! After a loss of several packets in a row the counter may have wrapped: a sender whose packets
//! are more than a round trip apart moves it by five with each of them, and after four of them, 20
//! steps, it seems to have moved by four. Such a pair gives no sample. If the counter moves by five
//! with every packet, no pair meets RFC 4342 §8.1, but there is an upper bound: at least five
//! quarters of R have passed, so R is at most 4/5 of the time between the two, and a longer
//! estimate is reduced to it.

use super::profile::{Arithmetic, Profile, ReceiverRttRule};
use crate::time::{Duration, Instant};

/// The longest sample of Linux.
const MAX_SAMPLE: Duration = Duration::from_secs(3);
/// The most that the counter moves with a packet (RFC 4342 §8.1).
const MAX_STEP: u8 = 5;
/// The values of the counter (RFC 4342 §8.1).
const COUNTER_VALUES: u64 = 16;

#[derive(Clone, Copy, Debug)]
struct CounterSample {
    counter: u8,
    at: Instant,
}

/// The estimate and the packets for the next sample.
#[derive(Clone, Debug)]
pub struct ReceiverRtt {
    arithmetic: Arithmetic,
    rule: ReceiverRttRule,
    max: Duration,
    reference: Option<CounterSample>,
    candidate: Option<CounterSample>,
    /// The first packet with the newest counter; `None` if it may have been lost.
    newest: Option<CounterSample>,
    newest_counter: u8,
    /// Packets lost since the last data packet in order.
    missing: u64,
    smoothed: Option<Duration>,
    /// The sender's estimate from its RTT Estimate option (RFC 6323).
    from_sender: Option<Duration>,
}

impl ReceiverRtt {
    /// An estimator without a sample.
    pub fn new(profile: &Profile) -> Self {
        Self {
            arithmetic: profile.arithmetic,
            rule: profile.receiver_rtt,
            max: profile
                .rtt_max
                .unwrap_or(Duration::MAX)
                .min(match profile.arithmetic {
                    Arithmetic::Float => Duration::MAX,
                    Arithmetic::KernelIntegers => MAX_SAMPLE,
                }),
            reference: None,
            candidate: None,
            newest: None,
            newest_counter: 0,
            missing: 0,
            smoothed: None,
            from_sender: None,
        }
    }

    /// R: the sender's estimate, or else the receiver's own; `None` before either.
    pub fn get(&self) -> Option<Duration> {
        self.from_sender.or(self.smoothed)
    }

    /// An RTT Estimate option arrived; it replaces the receiver's own estimate (RFC 6323 §3.3).
    pub const fn on_rtt_estimate(&mut self, rtt: Duration) {
        self.from_sender = Some(rtt);
    }

    /// This many packets in a row were lost before the next one in order.
    pub const fn on_lost(&mut self, packets: u64) {
        self.missing = self.missing.saturating_add(packets);
    }

    /// A data packet arrived in order.
    pub fn on_data(&mut self, at: Instant, counter: u8, lost_before: bool) {
        if lost_before && self.rule == ReceiverRttRule::BeforeFirstLoss {
            return;
        }
        let sample = CounterSample { counter, at };
        let missing = std::mem::take(&mut self.missing);
        let wrapped = self.rule == ReceiverRttRule::Unwrapped && self.may_have_wrapped(missing);
        if self.rule == ReceiverRttRule::Unwrapped {
            self.bound_by_step(sample, missing);
        }
        let Some(reference) = self.reference.filter(|_| !wrapped) else {
            self.reference = Some(sample);
            self.candidate = None;
            return;
        };
        match counter.wrapping_sub(reference.counter) & 15 {
            0 if self.candidate.is_none() => return,
            1..=3 => {
                // The first packet with a counter value is the candidate.
                if self.candidate.is_none_or(|c| c.counter != counter) {
                    self.candidate = Some(sample);
                }
                return;
            }
            4 => self.take_sample(reference, sample, 4),
            _ => {
                if let Some(candidate) = self.candidate {
                    let distance = candidate.counter.wrapping_sub(reference.counter) & 15;
                    self.take_sample(reference, candidate, distance);
                }
            }
        }
        self.reference = Some(sample);
        self.candidate = None;
    }

    fn take_sample(&mut self, from: CounterSample, to: CounterSample, distance: u8) {
        let span = self.arithmetic.time(to.at.since(from.at));
        let sample = match (self.arithmetic, distance) {
            // RFC 4342 §8.1 names D = 2, 3 and 4 only.
            (Arithmetic::Float, 0 | 1) | (_, 0) => return,
            (Arithmetic::Float, d) => span.mul_f64(4.0 / f64::from(d)),
            (Arithmetic::KernelIntegers, d) => span * u64::from(4 / d),
        };
        if sample.is_zero() {
            return;
        }
        self.smooth(sample.min(self.max));
    }

    fn smooth(&mut self, sample: Duration) {
        self.smoothed = Some(match self.smoothed {
            Some(old) => self.arithmetic.smoothed(old, sample, 0.9),
            None => sample,
        });
    }

    /// True if the counter can have passed the reference's value again while `missing` packets were
    /// lost.
    fn may_have_wrapped(&self, missing: u64) -> bool {
        let Some(reference) = self.reference else {
            return false;
        };
        let before = self.newest_counter.wrapping_sub(reference.counter) & 15;
        let steps = u64::from(MAX_STEP).saturating_mul(missing.saturating_add(1));
        steps.saturating_add(u64::from(before)) >= COUNTER_VALUES
    }

    /// Reduces an estimate that is longer than a step of five allows.
    fn bound_by_step(&mut self, sample: CounterSample, missing: u64) {
        if missing == 0 && sample.counter == self.newest_counter && self.reference.is_some() {
            return;
        }
        if let Some(newest) = self.newest.filter(|_| missing == 0)
            && sample.counter.wrapping_sub(newest.counter) & 15 == MAX_STEP
        {
            // RFC 4342 §8.1: it moves by min(floor(4·t/R), 5).
            let longest = sample
                .at
                .since(newest.at)
                .mul_f64(4.0 / f64::from(MAX_STEP));
            if self.smoothed.is_some_and(|rtt| rtt > longest) {
                self.smooth(longest);
            }
        }
        self.newest_counter = sample.counter;
        self.newest = (missing == 0).then_some(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(profile: &Profile, packets: &[(u64, u8)]) -> Option<u64> {
        let mut rtt = ReceiverRtt::new(profile);
        for (millis, counter) in packets {
            let at = Instant::ZERO + Duration::from_millis(*millis);
            rtt.on_data(at, *counter, false);
        }
        rtt.get().map(Duration::as_micros)
    }

    #[test]
    fn four_counters_apart_is_a_round_trip() {
        for profile in [Profile::rfc5348(), Profile::linux_2008()] {
            let packets = [(0, 14), (5, 15), (10, 15), (15, 0), (20, 2)];
            assert_eq!(estimate(&profile, &packets), Some(20_000));
        }
    }

    #[test]
    fn fewer_counters_are_scaled_when_the_next_packet_is_too_far() {
        // RFC 4342 §8.1: (T(K+D) - T(K))·4/D.
        let packets = [(0, 0), (10, 2), (40, 7)];
        assert_eq!(estimate(&Profile::rfc5348(), &packets), Some(20_000));
        let packets = [(0, 0), (15, 3), (40, 8)];
        assert_eq!(estimate(&Profile::rfc5348(), &packets), Some(20_000));
        // Linux truncates 4/3 to 1.
        assert_eq!(estimate(&Profile::linux_2008(), &packets), Some(15_000));
        assert_eq!(estimate(&Profile::rfc5348(), &[(0, 0), (9, 5)]), None);
    }

    #[test]
    fn the_rtt_estimate_option_replaces_the_estimate() {
        let mut rtt = ReceiverRtt::new(&Profile::rfc5348());
        rtt.on_rtt_estimate(Duration::from_millis(7));
        rtt.on_data(Instant::ZERO, 0, false);
        rtt.on_data(Instant::ZERO + Duration::from_millis(50), 4, false);
        assert_eq!(rtt.get(), Some(Duration::from_millis(7)));
    }

    #[test]
    fn the_first_packet_with_a_counter_gives_the_sample() {
        // T(K+2) is 10 ms: 10·4/2 = 20 ms, when the counter is far ahead or has wrapped to K.
        let table: [&[(u64, u8)]; 3] = [
            &[(0, 0), (10, 2), (14, 2), (40, 7)],
            &[(0, 0), (5, 1), (10, 2), (40, 7)],
            &[(0, 0), (10, 2), (90, 0)],
        ];
        for packets in table {
            for profile in [Profile::rfc5348(), Profile::linux_2008()] {
                assert_eq!(estimate(&profile, packets), Some(20_000), "{packets:?}");
            }
        }
        // RFC 4342 §8.1 takes no sample of D = 1; Linux does: 5·4/1 = 20 ms.
        let packets = [(0, 0), (5, 1), (40, 7)];
        assert_eq!(estimate(&Profile::rfc5348(), &packets), None);
        assert_eq!(estimate(&Profile::linux_2008(), &packets), Some(20_000));
    }

    #[test]
    fn samples_are_filtered_with_nine_tenths_and_in_mainline_until_the_first_loss() {
        let packets = [(0, 0), (20, 4), (60, 8)];
        // 0.9·20 + 0.1·40 ms.
        assert_eq!(estimate(&Profile::rfc5348(), &packets), Some(22_000));
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        for (profile, expected) in [
            (Profile::rfc5348(), Some(Duration::from_millis(20))),
            (Profile::linux_mainline(), None),
        ] {
            let mut rtt = ReceiverRtt::new(&profile);
            rtt.on_data(at(0), 0, false);
            rtt.on_data(at(20), 4, true);
            assert_eq!(rtt.get(), expected);
        }
    }

    #[test]
    fn a_counter_that_may_have_wrapped_gives_no_sample() {
        // RFC 4342 §8.1, MAX_STEP and COUNTER_VALUES: each packet moves the counter, which has 16
        // values, by five at most. n lost packets and the next one may have moved it by 5·(n + 1):
        // four packets a second apart, three of them lost, moved it by 20, which looks like 4 in
        // one round trip of 30 ms.
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        for (lost, before, sampled) in [
            (0, 0, true),
            (2, 0, true),
            (3, 0, false),
            // The packet before is three ahead of the reference: 3 + 5·2 = 13, 3 + 5·3 = 18.
            (1, 3, true),
            (2, 3, false),
        ] {
            let mut rtt = ReceiverRtt::new(&Profile::rfc5348());
            rtt.on_data(at(0), 0, false);
            if before > 0 {
                rtt.on_data(at(10), before, false);
            }
            rtt.on_lost(lost);
            rtt.on_data(at(4000), 4, false);
            let expected = sampled.then_some(Duration::from_secs(4));
            assert_eq!(rtt.get(), expected, "{lost} lost, {before} before");
        }
        let mut linux = ReceiverRtt::new(&Profile::linux_2008());
        linux.on_data(at(0), 0, false);
        linux.on_lost(3);
        linux.on_data(at(2000), 4, false);
        assert_eq!(linux.get(), Some(Duration::from_secs(2)));
    }

    #[test]
    fn a_step_of_five_brings_a_longer_estimate_down() {
        // RFC 4342 §8.1: five quarters of R have passed at least, so R is at most 4/5 of 100 ms.
        let long = [(0, 0), (1000, 4)];
        let with = |more: &[(u64, u8)]| {
            let packets: Vec<_> = long.iter().chain(more).copied().collect();
            estimate(&Profile::rfc5348(), &packets)
        };
        // 0.9·1000 + 0.1·80 ms, and once more: 0.9·908 + 8.
        assert_eq!(with(&[(1100, 9)]), Some(908_000));
        assert_eq!(with(&[(1100, 9), (1200, 14)]), Some(825_200));
        // From the first packet with the counter on: 0.8·200 ms.
        assert_eq!(with(&[(1100, 4), (1200, 9)]), Some(916_000));
        // 0.8·1250 ms is no less than the estimate; four steps are a sample.
        assert_eq!(with(&[(2250, 9)]), Some(1_000_000));
        assert_eq!(with(&[(1100, 8)]), Some(910_000));
        // Linux does not use the bound.
        let packets = [(0, 0), (1000, 4), (1100, 9)];
        assert_eq!(estimate(&Profile::linux_2008(), &packets), Some(1_000_000));
        // A packet was lost in between: the difference of five may be two steps.
        let mut rtt = ReceiverRtt::new(&Profile::rfc5348());
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        rtt.on_data(at(0), 0, false);
        rtt.on_data(at(1000), 4, false);
        rtt.on_lost(1);
        rtt.on_data(at(1100), 9, false);
        // Nor is it known when the counter became nine.
        rtt.on_data(at(1110), 14, false);
        assert_eq!(rtt.get(), Some(Duration::from_secs(1)));
        rtt.on_data(at(1210), 3, false);
        assert_eq!(rtt.get(), Some(Duration::from_millis(908)));
    }
}
