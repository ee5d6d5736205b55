//! Generation of acknowledgements (RFC 9000 §13.2).
//!
//! An ACK is sent at once for every `ack_every`-th ack-eliciting packet, for a packet that arrived
//! late or after a gap, and for a packet with Congestion Experienced; otherwise within
//! `max_ack_delay`. The frame reports the newest ranges, at most `max_ranges`; packets below those
//! count as duplicates from then on.

use super::config::AckPolicy;
use super::wire::{Ack, AckRange, EcnCounts, OlderRanges};
use crate::packet::Ecn;
use crate::ranges::RangeSet;
use crate::shared_buffers::SharedBuffers;
use crate::time::Instant;
use std::sync::Arc;

/// The default ack_delay_exponent: ACK Delay counts in 2^3 microseconds (RFC 9000 §18.2).
const DELAY_EXPONENT: u32 = 3;

/// The packets received in a packet-number space, and the acknowledgement that is due.
#[derive(Clone, Debug)]
pub struct ReceivedPackets {
    policy: AckPolicy,
    /// RFC 9000 §13.2.1: Initial packets are acknowledged at once.
    never_delay: bool,
    numbers: RangeSet,
    /// Numbers below this one are no longer tracked and count as received.
    floor: u64,
    largest_at: Instant,
    largest_eliciting: Option<u64>,
    /// Ack-eliciting packets since the last acknowledgement.
    eliciting: u32,
    /// Other packets have arrived since the last acknowledgement.
    others: bool,
    ack_immediately: bool,
    deadline: Option<Instant>,
    ecn: EcnCounts,
    /// The ranges below the newest one as last built, shared with the frames sent.
    older: Option<Arc<OlderRanges>>,
    older_is_stale: bool,
    /// The lists of earlier frames, reused once no frame in the network shares them.
    former: SharedBuffers<OlderRanges>,
}

impl ReceivedPackets {
    /// A space without packets.
    pub fn new(policy: AckPolicy, never_delay: bool) -> Self {
        Self {
            policy,
            never_delay,
            numbers: RangeSet::default(),
            floor: 0,
            largest_at: Instant::ZERO,
            largest_eliciting: None,
            eliciting: 0,
            others: false,
            ack_immediately: false,
            deadline: None,
            ecn: EcnCounts::default(),
            older: None,
            older_is_stale: false,
            former: SharedBuffers::default(),
        }
    }

    /// True if a packet with this number has been processed (RFC 9000 §12.3).
    #[inline]
    pub fn is_duplicate(&self, number: u64) -> bool {
        number < self.floor || self.numbers.contains(number)
    }

    /// One more than the largest number received.
    pub fn expected(&self) -> u64 {
        self.numbers.last().map_or(self.floor, |last| last.end)
    }

    /// A packet that is not a duplicate arrived.
    pub fn on_packet(&mut self, now: Instant, number: u64, eliciting: bool, ecn: Ecn) {
        if number >= self.expected() {
            self.largest_at = now;
        }
        self.add(number);
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ecn.ect0 += 1,
            Ecn::Ect1 => self.ecn.ect1 += 1,
            Ecn::Ce => self.ecn.ce += 1,
        }
        if !eliciting {
            self.others = true;
            return;
        }
        self.eliciting += 1;
        let out_of_order = self.policy.on_gap && self.is_out_of_order(number);
        self.largest_eliciting = self.largest_eliciting.max(Some(number));
        self.ack_immediately |= self.never_delay
            || self.eliciting >= self.policy.every
            || out_of_order
            || ecn == Ecn::Ce
            || (number == 0 && self.policy.first_at_once);
        if self.ack_immediately {
            self.deadline = None;
        } else if self.deadline.is_none() {
            self.deadline = Some(now + self.policy.max_delay);
        }
    }

    #[inline]
    fn add(&mut self, number: u64) {
        // Only the next packet in order leaves the older ranges unchanged.
        self.older_is_stale |= self.numbers.last().is_none_or(|last| last.end != number);
        self.numbers.insert(number..number + 1);
        if self.numbers.len() > self.policy.max_ranges.max(1) as usize {
            if let Some(dropped) = self.numbers.pop_first() {
                self.floor = self.floor.max(dropped.end);
            }
            self.older_is_stale = true;
        }
    }

    /// True if the packet is older than a received ack-eliciting packet, or newer with packets
    /// missing in between (RFC 9000 §13.2.1).
    fn is_out_of_order(&self, number: u64) -> bool {
        let next = self
            .largest_eliciting
            .map_or(self.floor, |largest| largest + 1);
        if number <= next {
            return number < next;
        }
        self.numbers
            .containing(number)
            .is_some_and(|run| run.start > next)
    }

    /// True if an acknowledgement must leave now.
    #[inline]
    pub fn ack_is_due(&self, now: Instant) -> bool {
        self.ack_immediately || self.deadline.is_some_and(|at| at <= now)
    }

    /// True if ack-eliciting packets are not acknowledged yet.
    #[inline]
    pub const fn has_unacked_eliciting(&self) -> bool {
        self.eliciting > 0
    }

    /// True if packets that are not ack-eliciting are not acknowledged yet.
    #[inline]
    pub const fn has_unacked_others(&self) -> bool {
        self.others
    }

    /// When a delayed acknowledgement is due.
    #[inline]
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Builds the ACK frame; no acknowledgement is due afterwards.
    pub fn take_ack(&mut self, now: Instant) -> Option<Ack> {
        self.eliciting = 0;
        self.others = false;
        self.ack_immediately = false;
        self.deadline = None;
        let newest = self.numbers.last()?.clone();
        if self.older_is_stale {
            self.older_is_stale = false;
            self.renew_older(newest.start);
        }
        let delay = now.since(self.largest_at).as_micros() >> DELAY_EXPONENT;
        Some(Ack {
            largest: newest.end - 1,
            smallest: newest.start,
            delay,
            older: self.older.clone(),
            ecn: (self.ecn != EcnCounts::default()).then(|| Box::new(self.ecn)),
        })
    }

    #[cold]
    fn renew_older(&mut self, newest_start: u64) {
        if let Some(former) = self.older.take() {
            self.former.keep(former);
        }
        if self.numbers.len() < 2 {
            return;
        }
        let mut list = self.former.take().unwrap_or_default();
        let ranges = self.numbers.descending().skip(1).map(|range| AckRange {
            smallest: range.start,
            largest: range.end - 1,
        });
        if let Some(list) = Arc::get_mut(&mut list) {
            list.replace(newest_start, ranges);
        }
        self.older = Some(list);
    }

    /// The peer has received an acknowledgement of the packets with numbers below `end`, which need
    /// not be reported again (RFC 9000 §13.2.4).
    #[inline]
    pub fn forget_below(&mut self, end: u64) {
        if end > self.floor {
            self.raise_floor(end);
        }
    }

    fn raise_floor(&mut self, end: u64) {
        // The newest number stays, so that an ACK always has a range.
        let end = end.min(self.expected().saturating_sub(1));
        if end > self.floor {
            self.numbers.remove(0..end);
            self.floor = end;
            self.older_is_stale = true;
        }
    }
}

/// The delay that an ACK frame reports.
pub fn reported_delay(ack: &Ack) -> crate::time::Duration {
    crate::time::Duration::from_micros(ack.delay.saturating_mul(1 << DELAY_EXPONENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    const POLICY: AckPolicy = AckPolicy {
        every: 2,
        max_delay: Duration::from_millis(25),
        on_gap: true,
        first_at_once: false,
        max_ranges: 32,
    };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// The packets, given as (number, ack-eliciting), that make an acknowledgement due.
    fn due_after(policy: AckPolicy, packets: &[(u64, bool)]) -> Vec<u64> {
        let mut received = ReceivedPackets::new(policy, false);
        let mut due = Vec::new();
        for &(number, eliciting) in packets {
            received.on_packet(at(1), number, eliciting, Ecn::NotEct);
            if received.ack_is_due(at(1)) {
                received.take_ack(at(1));
                due.push(number);
            }
        }
        due
    }

    #[test]
    fn follows_the_table_of_policies() {
        let every = |every| AckPolicy { every, ..POLICY };
        let data = |numbers: &[u64]| numbers.iter().map(|n| (*n, true)).collect::<Vec<_>>();
        let cases = [
            ("every packet", every(1), data(&[0, 1, 2]), vec![0, 1, 2]),
            ("every other", POLICY, data(&[0, 1, 2, 3, 4]), vec![1, 3]),
            (
                "after a gap, then counted again",
                POLICY,
                data(&[0, 1, 3, 4, 5]),
                vec![1, 3, 5],
            ),
            (
                "a late packet",
                POLICY,
                data(&[0, 1, 3, 2, 4]),
                vec![1, 3, 2],
            ),
            ("the first is missing", POLICY, data(&[1, 2, 3]), vec![1, 3]),
            (
                "gaps switched off",
                AckPolicy {
                    on_gap: false,
                    ..POLICY
                },
                data(&[0, 1, 3, 2]),
                vec![1, 2],
            ),
            (
                "the first at once",
                AckPolicy {
                    first_at_once: true,
                    ..POLICY
                },
                data(&[0, 1, 2]),
                vec![0, 2],
            ),
            (
                "a gap found by a packet without need for it",
                every(10),
                vec![(0, true), (2, false), (3, true), (4, true)],
                vec![3],
            ),
            (
                "acknowledgements alone",
                every(1),
                vec![(0, false), (1, false)],
                vec![],
            ),
        ];
        for (name, policy, packets, due) in cases {
            assert_eq!(due_after(policy, &packets), due, "{name}");
        }
    }

    #[test]
    fn a_lone_packet_is_acknowledged_after_the_delay() {
        let mut received = ReceivedPackets::new(POLICY, false);
        received.on_packet(at(1), 0, true, Ecn::NotEct);
        assert_eq!(received.deadline(), Some(at(26)));
        assert!(!received.ack_is_due(at(25)));
        assert!(received.ack_is_due(at(26)));
        let ack = received.take_ack(at(26)).unwrap();
        assert_eq!(reported_delay(&ack), Duration::from_millis(25));
        assert!(!received.ack_is_due(at(100)));
    }

    #[test]
    fn congestion_experienced_is_reported_at_once() {
        let mut received = ReceivedPackets::new(POLICY, false);
        received.on_packet(at(1), 0, true, Ecn::Ce);
        assert!(received.ack_is_due(at(1)));
        assert_eq!(received.take_ack(at(1)).unwrap().ecn.unwrap().ce, 1);
    }

    #[test]
    fn each_ecn_codepoint_has_a_counter() {
        // RFC 9000 §13.4.1 and §19.3.2.
        let mut received = ReceivedPackets::new(POLICY, false);
        let arrived = [
            (Ecn::NotEct, 1),
            (Ecn::Ect0, 2),
            (Ecn::Ect1, 3),
            (Ecn::Ce, 4),
        ];
        for (ecn, packets) in arrived {
            for _ in 0..packets {
                received.on_packet(at(1), received.expected(), true, ecn);
            }
        }
        let counts = EcnCounts {
            ect0: 2,
            ect1: 3,
            ce: 4,
        };
        assert_eq!(
            received.take_ack(at(1)).unwrap().ecn,
            Some(Box::new(counts))
        );
    }

    #[test]
    fn at_least_one_range_is_reported() {
        for max_ranges in [0, 1] {
            let policy = AckPolicy {
                max_ranges,
                ..POLICY
            };
            let mut received = ReceivedPackets::new(policy, false);
            for number in [0, 2, 3] {
                received.on_packet(at(1), number, true, Ecn::NotEct);
            }
            let ack = received.take_ack(at(1)).unwrap();
            assert_eq!((ack.smallest, ack.largest, ack.older), (2, 3, None));
        }
    }

    #[test]
    fn a_packet_that_is_forgotten_is_not_missing() {
        // RFC 9000 §13.2.1: no packet is missing between 0, the largest ack-eliciting one, and 2.
        let mut received = ReceivedPackets::new(POLICY, false);
        received.on_packet(at(1), 0, true, Ecn::NotEct);
        received.on_packet(at(1), 1, false, Ecn::NotEct);
        received.take_ack(at(1));
        received.forget_below(1);
        received.on_packet(at(2), 2, true, Ecn::NotEct);
        assert!(!received.ack_is_due(at(2)));
        received.take_ack(at(2));
        received.on_packet(at(3), 4, true, Ecn::NotEct);
        assert!(received.ack_is_due(at(3)));
    }

    #[test]
    fn reports_the_newest_ranges_and_drops_older_packets_as_duplicates() {
        let policy = AckPolicy {
            max_ranges: 3,
            ..POLICY
        };
        let mut received = ReceivedPackets::new(policy, false);
        for number in [0, 2, 4, 6, 8] {
            received.on_packet(at(1), number, true, Ecn::NotEct);
        }
        let ranges: Vec<_> = received.take_ack(at(1)).unwrap().ranges().collect();
        let expected = [8, 6, 4].map(|n| AckRange {
            smallest: n,
            largest: n,
        });
        assert_eq!(ranges, expected);
        assert!(received.is_duplicate(1));
        assert!(!received.is_duplicate(5));
        received.on_packet(at(1), 5, true, Ecn::NotEct);
        received.on_packet(at(1), 9, true, Ecn::NotEct);
        let ranges: Vec<_> = received.take_ack(at(1)).unwrap().ranges().collect();
        let span = |smallest, largest| AckRange { smallest, largest };
        assert_eq!(ranges, [span(8, 9), span(4, 6)]);
    }

    #[test]
    fn ranges_that_the_peer_knows_are_not_reported_again() {
        let mut received = ReceivedPackets::new(POLICY, false);
        for number in [0, 1, 3, 4] {
            received.on_packet(at(1), number, true, Ecn::NotEct);
        }
        received.forget_below(4);
        let ranges: Vec<_> = received.take_ack(at(1)).unwrap().ranges().collect();
        assert_eq!(
            ranges,
            [AckRange {
                smallest: 4,
                largest: 4
            }]
        );
        assert!(received.is_duplicate(2));
    }
}
