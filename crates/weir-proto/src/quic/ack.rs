//! Generation of acknowledgements (RFC 9000 §13.2).
//!
//! An ACK is sent at once for every `ack_every`-th ack-eliciting packet, for a packet that arrived
//! late or after a gap, and for a packet with Congestion Experienced; otherwise within
//! `max_ack_delay`. A peer may ask for other values (draft-ietf-quic-ack-frequency §6). The frame
//! reports the newest ranges, at most `max_ranges`; packets below those
//! count as duplicates from then on.

use super::arrivals::{Arrivals, TimestampRequest};
use super::config::AckPolicy;
use super::wire::{Ack, AckFrequency, AckRange, AckRest, EcnCounts, OlderRanges};
use crate::packet::Ecn;
use crate::ranges::RangeSet;
use crate::shared_buffers::SharedBuffers;
use crate::time::{Duration, Instant};
use std::sync::Arc;

/// The default ack_delay_exponent: ACK Delay counts in 2^3 microseconds (RFC 9000 §18.2).
const DELAY_EXPONENT: u32 = 3;

/// The packets received in a packet-number space, and the acknowledgement that is due.
#[derive(Clone, Debug)]
pub struct ReceivedPackets {
    policy: AckPolicy,
    /// The request of the peer that holds, if there is one.
    request: Option<Box<AckFrequency>>,
    /// The largest number that an acknowledgement has reported.
    largest_acked: Option<u64>,
    /// The last packet was marked with Congestion Experienced.
    was_marked: bool,
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
    /// The times of packets that the peer wants to know.
    arrivals: Option<Box<Arrivals>>,
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
            request: None,
            largest_acked: None,
            was_marked: false,
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
            arrivals: None,
            older: None,
            older_is_stale: false,
            former: SharedBuffers::default(),
        }
    }

    /// The peer asks for the times at which packets arrive.
    pub fn report_arrivals(&mut self, request: TimestampRequest) {
        self.arrivals = Some(Box::new(Arrivals::new(request)));
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
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.on_packet(now, number);
        }
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
        let was_marked = std::mem::replace(&mut self.was_marked, ecn == Ecn::Ce);
        let (out_of_order, marked) = match self.request.as_deref() {
            None => (out_of_order, ecn == Ecn::Ce),
            Some(request) => (
                self.is_reordered(request, out_of_order),
                // The first of several is told at once.
                ecn == Ecn::Ce && !(was_marked && request.threshold > 1),
            ),
        };
        self.ack_immediately |= self.never_delay
            || self.eliciting >= self.policy.every
            || out_of_order
            || marked
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

    /// True if the gap to a packet that no acknowledgement could report as missing yet is as large
    /// as the peer's threshold (draft-ietf-quic-ack-frequency §6.2).
    fn is_reordered(&self, request: &AckFrequency, out_of_order: bool) -> bool {
        let (threshold, Some(largest)) = (request.reordering_threshold, self.largest_eliciting)
        else {
            return false;
        };
        if threshold <= 1 {
            return threshold == 1 && out_of_order;
        }
        // One above Largest Reported Missing.
        let first = match self.largest_acked {
            Some(acked) if acked >= threshold => acked - threshold + 1,
            _ => 0,
        };
        let first = first.max(self.floor);
        let arrived = self.numbers.containing(first);
        let smallest_missing = arrived.map_or(first, |range| range.end);
        smallest_missing < largest && largest - smallest_missing >= threshold
    }

    /// The peer asks for other acknowledgements from now on; false if its request is older than one
    /// that holds already.
    pub fn on_request(&mut self, request: AckFrequency) -> bool {
        if (self.request.as_ref()).is_some_and(|before| request.sequence <= before.sequence) {
            return false;
        }
        self.request = Some(Box::new(request));
        let every = u32::try_from(request.threshold.saturating_add(1));
        self.policy.every = every.unwrap_or(u32::MAX);
        self.policy.max_delay = Duration::from_micros(request.max_ack_delay);
        self.policy.on_gap = true;
        true
    }

    /// The peer asks for an acknowledgement now.
    pub const fn ack_now(&mut self) {
        self.ack_immediately = true;
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
        self.largest_acked = Some(newest.end - 1);
        if self.older_is_stale {
            self.older_is_stale = false;
            self.renew_older(newest.start);
        }
        let delay = now.since(self.largest_at).as_micros() >> DELAY_EXPONENT;
        let largest = newest.end - 1;
        let ecn = (self.ecn != EcnCounts::default()).then_some(self.ecn);
        let arrivals = self.arrivals.as_mut();
        let timestamps = arrivals.map(|arrivals| arrivals.take(largest));
        Some(Ack {
            largest,
            smallest: newest.start,
            delay,
            older: self.older.clone(),
            rest: AckRest::new(ecn, timestamps),
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
pub fn reported_delay(ack: &Ack) -> Duration {
    Duration::from_micros(ack.delay.saturating_mul(1 << DELAY_EXPONENT))
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// A request with this threshold of reordering, which waits for a hundred packets otherwise.
    fn request(reordering_threshold: u64) -> AckFrequency {
        AckFrequency {
            sequence: 0,
            threshold: 99,
            max_ack_delay: 100_000,
            reordering_threshold,
        }
    }

    /// The packets that make an acknowledgement due after a request.
    fn due_after_request(of: AckFrequency, packets: &[(u64, Ecn)]) -> Vec<u64> {
        let mut received = ReceivedPackets::new(POLICY, false);
        assert!(received.on_request(of));
        let mut due = Vec::new();
        for &(number, ecn) in packets {
            received.on_packet(at(1), number, true, ecn);
            if received.ack_is_due(at(1)) {
                received.take_ack(at(1));
                due.push(number);
            }
        }
        due
    }

    #[test]
    fn reordered_packets_are_acknowledged_as_in_the_draft() {
        // draft-ietf-quic-ack-frequency §6.2.1: the examples with thresholds of 3 and 5; "any time
        // a packet is received and there is a missing packet" with 1; never with 0.
        let due = |threshold, numbers: &[u64]| {
            let packets: Vec<_> = numbers.iter().map(|n| (*n, Ecn::NotEct)).collect();
            due_after_request(request(threshold), &packets)
        };
        let three = [0, 1, 3, 4, 5, 8, 9, 10];
        assert_eq!(due(3, &three), [5, 9, 10]);
        assert_eq!(due(5, &[0, 1, 3, 5, 6, 7, 8, 9]), [7, 9]);
        assert_eq!(due(1, &[0, 1, 3, 4]), [3]);
        assert!(due(0, &three).is_empty());
        assert!(due(3, &[0, 1, 2, 4, 3, 5, 6, 7]).is_empty(), "3 came late");
    }

    #[test]
    fn more_packets_than_the_threshold_or_the_requested_time_make_it_due() {
        // §4: a threshold of 2 acknowledges the third; 0 each.
        let of = |threshold| AckFrequency {
            threshold,
            ..request(0)
        };
        let packets: Vec<_> = (0..6).map(|number| (number, Ecn::NotEct)).collect();
        assert_eq!(due_after_request(of(2), &packets), [2, 5]);
        assert_eq!(due_after_request(of(0), &packets[..3]), [0, 1, 2]);
        let mut received = ReceivedPackets::new(POLICY, false);
        received.on_request(of(9));
        received.on_packet(at(1), 0, true, Ecn::NotEct);
        assert_eq!(received.deadline(), Some(at(101)));
    }

    #[test]
    fn the_first_of_several_marks_is_told_at_once() {
        // §6.4: at the change to CE, if the threshold is larger than 1; each mark with 1.
        let marks = [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ce];
        let packets: Vec<_> = (0..).zip(marks).collect();
        assert_eq!(due_after_request(request(3), &packets), [1, 4]);
        let every_other = AckFrequency {
            threshold: 1,
            ..request(3)
        };
        assert_eq!(due_after_request(every_other, &packets), [1, 2, 4]);
    }

    #[test]
    fn an_older_request_is_ignored_and_the_peer_may_ask_at_once() {
        // §4: a frame whose number is not greater than the largest processed one.
        let of = |sequence, threshold| AckFrequency {
            sequence,
            threshold,
            ..request(0)
        };
        let mut received = ReceivedPackets::new(POLICY, false);
        assert!(received.on_request(of(4, 9)));
        assert!(!received.on_request(of(4, 0)));
        assert!(!received.on_request(of(3, 0)));
        received.on_packet(at(1), 0, true, Ecn::NotEct);
        assert!(!received.ack_is_due(at(1)));
        received.ack_now();
        assert!(received.ack_is_due(at(1)));
        assert!(received.on_request(of(5, 0)));
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
        assert_eq!(received.take_ack(at(1)).unwrap().ecn().unwrap().ce, 1);
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
        assert_eq!(received.take_ack(at(1)).unwrap().ecn(), Some(counts));
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
