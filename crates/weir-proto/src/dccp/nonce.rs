//! ECN nonces (RFC 4340 §12.2): a sender sets ECT(0) or ECT(1) on its data packets at random, and
//! the receiver echoes the one-bit sum over the packets that arrived unmarked. A receiver that
//! hides a mark or a loss must guess the nonce and is wrong half of the time.
//!
//! RFC 8311 made the nonce historic and released ECT(1) for other uses (L4S, RFC 9331). A sender
//! uses nonces only if it is configured to; a receiver always echoes them.

use super::ack_vector::{self, AckState};
use super::wire::{DccpOption, LossInterval, Packet, SeqNum};
use crate::rng::Rng;
use std::collections::VecDeque;

/// Sequence numbers whose sums are kept.
const CAPACITY: usize = 1 << 16;
/// Sums at the starts of loss intervals, which are kept for longer.
const STARTS: usize = 64;

/// NonceSum(S) of RFC 4342 §9.1: the parity of the nonces up to a sequence number.
#[derive(Clone, Debug, Default)]
pub(super) struct NonceSums {
    newest: SeqNum,
    /// The sums up to consecutive numbers, of which `newest` is the last. Empty before the first
    /// nonce of one, when all sums are zero.
    sums: VecDeque<bool>,
    /// Sums at the starts of intervals that were asked for.
    starts: VecDeque<(SeqNum, bool)>,
    /// Sums were removed for lack of space.
    forgotten: bool,
}

impl NonceSums {
    /// Records the nonce of a packet, once for each packet, in any order. The nonce of a packet
    /// that is not recorded counts as zero.
    pub(super) fn record(&mut self, seq: SeqNum, nonce: bool) {
        let Some(&last) = self.sums.back() else {
            if nonce {
                self.newest = seq;
                self.sums.push_back(true);
            }
            return;
        };
        let ahead = seq.since(self.newest);
        if ahead <= 0 {
            if nonce {
                self.flip(ahead.unsigned_abs() as usize, seq);
            }
            return;
        }
        let missing = (ahead as usize - 1).min(CAPACITY);
        self.sums.extend(std::iter::repeat_n(last, missing));
        self.sums.push_back(last ^ nonce);
        self.newest = seq;
        let surplus = self.sums.len().saturating_sub(CAPACITY);
        self.forgotten |= surplus > 0;
        self.sums.drain(..surplus);
    }

    /// A packet with a nonce of one arrived out of order.
    fn flip(&mut self, behind: usize, seq: SeqNum) {
        let len = self.sums.len();
        if behind >= len && !self.forgotten {
            // All earlier sums are zero.
            let zeros = (behind + 1 - len).min(CAPACITY.saturating_sub(len));
            (0..zeros).for_each(|_| self.sums.push_front(false));
            self.forgotten = behind >= CAPACITY;
        }
        let from = self.sums.len().saturating_sub(behind + 1);
        self.sums.iter_mut().skip(from).for_each(|sum| *sum ^= true);
        let later = self
            .starts
            .iter_mut()
            .filter(|(at, _)| at.is_at_or_after(seq));
        later.for_each(|(_, sum)| *sum ^= true);
    }

    /// The sum up to a number; `None` if it is no longer kept.
    fn sum(&self, seq: SeqNum) -> Option<bool> {
        let Some(&last) = self.sums.back() else {
            return Some(false);
        };
        let behind = self.newest.since(seq);
        if behind <= 0 {
            return Some(last);
        }
        let at = self.sums.len().checked_sub(behind as usize + 1);
        if let Some(sum) = at.and_then(|at| self.sums.get(at)) {
            return Some(*sum);
        }
        let start = self.starts.iter().find(|(start, _)| *start == seq);
        start
            .map(|(_, sum)| *sum)
            .or((!self.forgotten).then_some(false))
    }

    /// The parity of the nonces from `low` to `high`; `None` if it is no longer kept.
    pub(super) fn parity(&self, low: SeqNum, high: SeqNum) -> Option<bool> {
        Some(self.sum(low.previous())? ^ self.sum(high)?)
    }

    /// The parity of a loss interval, whose start is kept because the interval grows at its end.
    pub(super) fn parity_of_interval(&mut self, low: SeqNum, high: SeqNum) -> Option<bool> {
        let before = low.previous();
        let start = self.sum(before)?;
        if !self.starts.iter().any(|(at, _)| *at == before) {
            self.starts.push_back((before, start));
            if self.starts.len() > STARTS {
                self.starts.pop_front();
            }
        }
        Some(start ^ self.sum(high)?)
    }

    /// The nonce echo of an Ack Vector whose first cell begins with `newest`.
    pub(super) fn echo(&self, newest: SeqNum, cells: &[u8]) -> Option<bool> {
        if self.sums.is_empty() {
            return Some(false);
        }
        let mut cursor = newest;
        ack_vector::read(&mut cursor, cells)
            .filter(|(_, _, state)| *state == AckState::Received)
            .try_fold(false, |echo, (high, low, _)| {
                Some(echo ^ self.parity(low, high)?)
            })
    }
}

/// The nonces of a sender.
#[derive(Clone, Debug)]
pub(super) struct SentNonces {
    rng: Rng,
    sums: NonceSums,
}

impl SentNonces {
    /// Nonces from the random stream of this seed, which must be unknown to the peer.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::stream(seed, "dccp/nonce"),
            sums: NonceSums::default(),
        }
    }

    /// The nonce of a packet that leaves; zero for a packet without data.
    pub(super) fn draw(&mut self, seq: SeqNum, data: bool) -> bool {
        let nonce = data && self.rng.next_u64() >> 63 == 1;
        self.sums.record(seq, nonce);
        nonce
    }

    /// True if the nonce echoes of a packet that acknowledges `ack` are right (RFC 4342 §9.1). An
    /// echo over packets that are no longer kept counts as right.
    pub(super) fn echoes_match(&mut self, ack: SeqNum, packet: &Packet) -> bool {
        let mut vector = ack;
        let mut interval = None;
        packet.options.iter().all(|option| match option {
            DccpOption::AckVector { nonce, cells } => {
                let newest = vector;
                ack_vector::read(&mut vector, cells).for_each(drop);
                self.sums.echo(newest, cells).is_none_or(|sum| sum == nonce)
            }
            DccpOption::LossIntervals { skip, intervals } => {
                let mut high = interval.unwrap_or_else(|| ack.sub(u64::from(skip)));
                let right = LossInterval::read_all(intervals).all(|reported| {
                    let end = high.sub(u64::from(reported.lossless_length));
                    let sum = match reported.lossless_length {
                        0 => Some(false),
                        _ => self.sums.parity_of_interval(end.add(1), high),
                    };
                    high = end.sub(u64::from(reported.loss_length));
                    sum.is_none_or(|sum| sum == reported.nonce)
                });
                interval = Some(high);
                right
            }
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_ack_vector_echoes_the_parity_of_its_unmarked_packets() {
        let mut sums = NonceSums::default();
        for (number, nonce) in [(100, true), (101, false), (103, true), (104, true)] {
            sums.record(SeqNum::new(number), nonce);
        }
        // 104 and 103 received, 102 not, 101 received, 100 marked by the network.
        let cells = [0x01, 0xc0, 0x00, 0x40];
        assert_eq!(sums.echo(SeqNum::new(104), &cells), Some(false));
        assert_eq!(sums.echo(SeqNum::new(104), &[0x00, 0x40]), Some(true));
        assert_eq!(
            NonceSums::default().echo(SeqNum::new(104), &cells),
            Some(false)
        );
    }

    #[test]
    fn parities_of_two_runs_and_of_two_sums_cancel_out() {
        // RFC 4342 §9.1: sums are modulo two.
        let mut sums = NonceSums::default();
        for number in [10, 12, 20] {
            sums.record(SeqNum::new(number), true);
        }
        // 12 and 10 received, 11 not.
        assert_eq!(sums.echo(SeqNum::new(12), &[0x00, 0xc0, 0x00]), Some(false));
        let mut parity = |low, high| {
            let [low, high] = [low, high].map(SeqNum::new);
            sums.parity_of_interval(low, high)
        };
        // The sums up to 10 and up to 11 are one, up to 12 zero, up to 20 one.
        assert_eq!(parity(11, 11), Some(false));
        assert_eq!(parity(11, 12), Some(true));
        assert_eq!(parity(13, 20), Some(true));
        assert_eq!(parity(11, 20), Some(false));
    }

    #[test]
    fn the_starts_of_the_last_64_intervals_are_kept_once_each() {
        let mut sums = NonceSums::default();
        sums.record(SeqNum::new(10), true);
        sums.record(SeqNum::new(200), false);
        let kept = (20..85).map(|low| {
            for _ in 0..2 {
                sums.parity_of_interval(SeqNum::new(low), SeqNum::new(200));
            }
            sums.starts.len()
        });
        assert!(kept.eq((1..=64).chain([64])));
        let oldest = sums.starts.front().map(|(before, _)| before.get());
        assert_eq!(oldest, Some(20));
    }

    #[test]
    fn a_packet_without_data_has_no_nonce() {
        // RFC 4340 §12.2: nonces are those of data packets.
        let mut nonces = SentNonces::new(7);
        let ones = |nonces: &mut SentNonces, data| {
            let drawn = (0..100).map(|number| nonces.draw(SeqNum::new(number), data));
            drawn.filter(|&one| one).count()
        };
        assert_eq!(ones(&mut nonces, false), 0);
        assert!((20..80).contains(&ones(&mut nonces, true)));
    }

    #[test]
    fn a_loss_interval_echoes_its_part_without_loss_only() {
        // RFC 4342 §9.1: E is the sum over the lossless part: 7 packets up to 20 with nonces of one
        // at its ends, then a part of 4 with losses, then a lossless part of zero packets.
        let reported = |lossless_length, nonce| LossInterval {
            lossless_length,
            nonce,
            loss_length: 4,
            data_length: 11,
        };
        for (first, second, right) in [
            ((7, false), (0, false), true),
            ((7, true), (0, false), false),
            ((7, false), (0, true), false),
            ((6, true), (0, false), true),
            ((8, true), (0, false), true),
        ] {
            let mut nonces = SentNonces::new(7);
            for number in [13, 14, 20] {
                nonces.sums.record(SeqNum::new(number), true);
            }
            let intervals = [first, second].map(|(length, nonce)| reported(length, nonce));
            let intervals: Vec<u8> = intervals.iter().flat_map(|one| one.to_bytes()).collect();
            let mut packet = Packet::new_ack(SeqNum::new(1), SeqNum::new(22));
            packet.options.push(&DccpOption::LossIntervals {
                skip: 2,
                intervals: &intervals,
            });
            let found = nonces.echoes_match(SeqNum::new(22), &packet);
            assert_eq!(found, right, "{first:?} {second:?}");
        }
    }

    #[test]
    fn the_start_of_a_long_interval_is_kept() {
        let mut sums = NonceSums::default();
        sums.record(SeqNum::new(10), true);
        sums.record(SeqNum::new(20), true);
        let parity = |sums: &mut NonceSums, high: u64| {
            sums.parity_of_interval(SeqNum::new(20), SeqNum::new(high))
        };
        assert_eq!(parity(&mut sums, 20), Some(true));
        for number in 21..200_000 {
            sums.record(SeqNum::new(number), false);
        }
        assert_eq!(parity(&mut sums, 199_999), Some(true));
        assert_eq!(sums.parity(SeqNum::new(30), SeqNum::new(40)), None);
        assert_eq!(sums.sums.len(), CAPACITY);
    }

    proptest! {
        #[test]
        fn sums_do_not_depend_on_the_order_of_arrival(
            nonces in proptest::collection::vec(any::<bool>(), 1..60),
            swaps in proptest::collection::vec((0_usize..60, 0_usize..60), 0..20),
            (low, len) in (0_u64..60, 0_u64..60),
        ) {
            let base = (1 << 48) - 20;
            let mut order: Vec<usize> = (0..nonces.len()).collect();
            for (a, b) in swaps {
                let count = order.len();
                order.swap(a % count, b % count);
            }
            let mut sums = NonceSums::default();
            for at in order {
                sums.record(SeqNum::new(base).add(at as u64), nonces[at]);
            }
            let high = low + len;
            let ones = nonces.iter().enumerate();
            let ones = ones.filter(|(at, one)| **one && (low..=high).contains(&(*at as u64)));
            let parity = sums.parity(SeqNum::new(base).add(low), SeqNum::new(base).add(high));
            prop_assert_eq!(parity, Some(ones.count() % 2 == 1));
        }
    }
}
