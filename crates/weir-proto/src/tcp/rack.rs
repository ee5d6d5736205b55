//! RACK (RFC 8985 §6): a segment is lost if one that was sent sufficiently later has been
//! delivered. Names of variables are those of the RFC.
//!
//! RACK.min_RTT is the minimum of the whole connection, not of a window of time.

use crate::cc::rtt::Rtt;
use crate::time::{Duration, Instant};

/// Recoveries after which an enlarged reordering window returns to its initial size (RFC 8985
/// §6.2).
const REO_WND_PERSIST: u32 = 16;

/// The state of RACK, updated by acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    xmit_ts: Instant,
    end_seq: u64,
    rtt: Duration,
    /// The highest octet acknowledged or SACKed.
    fack: u64,
    reordering_seen: bool,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// Further DSACKs count once this octet is acknowledged.
    dsack_round: Option<u64>,
    delivered: bool,
}

/// What an acknowledgement delivers, in steps 2 and 3. The text takes the segments in the order of
/// time and then in that of sequence numbers; what is kept of them here does not depend on their
/// order, which is that of the blocks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Deliveries {
    /// The segment that was sent last, by time and end, of those that step 2 takes.
    newest: Option<(Instant, u64)>,
    /// The highest end.
    highest: u64,
}

/// A segment that was acknowledged or SACKed for the first time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivered {
    /// When it was last sent.
    pub(super) sent_at: Instant,
    /// The offset after its last octet.
    pub(super) end: u64,
    /// It was sent more than once.
    pub(super) retransmitted: bool,
}

/// The connection's state that the reordering window depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    /// In fast recovery, or in the recovery after a timeout.
    pub(super) recovering: bool,
    /// DupThresh segments are SACKed.
    pub(super) enough_sacked: bool,
}

/// The limits of time with which step 5 compares segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub(super) xmit_ts: Instant,
    pub(super) end_seq: u64,
    /// RACK.rtt + RACK.reo_wnd: a segment older than this is lost.
    pub(super) age: Duration,
}

impl Rack {
    pub(super) const fn new() -> Self {
        Self {
            xmit_ts: Instant::ZERO,
            end_seq: 0,
            rtt: Duration::ZERO,
            fack: 0,
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: REO_WND_PERSIST,
            dsack_round: None,
            delivered: false,
        }
    }

    /// A segment was acknowledged or SACKed for the first time (steps 2 and 3).
    pub(super) fn on_delivered(
        &mut self,
        now: Instant,
        segment: Delivered,
        min_rtt: Duration,
        deliveries: &mut Deliveries,
    ) {
        deliveries.highest = deliveries.highest.max(segment.end);
        self.reordering_seen |= segment.end < self.fack && !segment.retransmitted;
        if segment.retransmitted && now.since(segment.sent_at) < min_rtt {
            return;
        }
        let sent = Some((segment.sent_at, segment.end));
        deliveries.newest = deliveries.newest.max(sent);
    }

    /// All segments of an acknowledgement are known (steps 2 and 3).
    pub(super) fn on_ack(&mut self, now: Instant, deliveries: Deliveries) {
        self.fack = self.fack.max(deliveries.highest);
        let Some(newest) = deliveries.newest else {
            return;
        };
        self.rtt = now.since(newest.0);
        self.delivered = true;
        if newest > (self.xmit_ts, self.end_seq) {
            (self.xmit_ts, self.end_seq) = newest;
        }
    }

    /// Adapts the reordering window (step 4) to an acknowledgement: `dsack` has SND.UNA and SND.NXT
    /// if it reports a duplicate. One that enlarges the window does not count as the end of a
    /// recovery too.
    pub(super) fn adapt(&mut self, dsack: Option<(u64, u64)>, recovery_ended: bool) {
        let enlarges =
            dsack.is_some_and(|(high_ack, high_data)| self.on_dsack(high_ack, high_data));
        if recovery_ended && !enlarges {
            self.on_recovery_end();
        }
    }

    /// A DSACK arrived (step 4): the reordering window grows once in a round. True if it does.
    fn on_dsack(&mut self, high_ack: u64, high_data: u64) -> bool {
        if self.dsack_round.is_some_and(|round| high_ack < round) {
            return false;
        }
        self.dsack_round = Some(high_data);
        self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
        self.reo_wnd_persist = REO_WND_PERSIST;
        true
    }

    /// A recovery ended (step 4).
    fn on_recovery_end(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// RACK.reo_wnd (step 4).
    fn reordering_window(&self, rtt: Rtt, situation: Situation) -> Duration {
        if !self.reordering_seen && (situation.recovering || situation.enough_sacked) {
            return Duration::ZERO;
        }
        (rtt.min * u64::from(self.reo_wnd_mult) / 4).min(rtt.smoothed)
    }

    /// When RACK.segment was sent, and the offset after its last octet; `None` before the first
    /// delivery.
    pub(super) fn newest(&self) -> Option<(Instant, u64)> {
        self.delivered.then_some((self.xmit_ts, self.end_seq))
    }

    /// The limits of step 5; `None` before the first delivery.
    pub(super) fn deadline(&self, rtt: Rtt, situation: Situation) -> Option<Deadline> {
        self.delivered.then(|| Deadline {
            xmit_ts: self.xmit_ts,
            end_seq: self.end_seq,
            age: self.rtt + self.reordering_window(rtt, situation),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + MS(millis)
    }

    fn rtt() -> Rtt {
        Rtt {
            latest: MS(100),
            smoothed: MS(110),
            variation: MS(5),
            min: MS(80),
        }
    }

    const OPEN: Situation = Situation {
        recovering: false,
        enough_sacked: false,
    };

    fn delivered(rack: &mut Rack, now: u64, sent: u64, start: u64, retransmitted: bool) {
        let segment = Delivered {
            sent_at: at(sent),
            end: start + 100,
            retransmitted,
        };
        let mut deliveries = Deliveries::default();
        rack.on_delivered(at(now), segment, MS(80), &mut deliveries);
        rack.on_ack(at(now), deliveries);
    }

    /// One acknowledgement of these segments of 100 octets, in this order: when each was sent, its
    /// start, and whether it was retransmitted.
    fn acknowledged(rack: &mut Rack, now: u64, segments: &[(u64, u64, bool)]) {
        let mut deliveries = Deliveries::default();
        for &(sent, start, retransmitted) in segments {
            let segment = Delivered {
                sent_at: at(sent),
                end: start + 100,
                retransmitted,
            };
            rack.on_delivered(at(now), segment, MS(80), &mut deliveries);
        }
        rack.on_ack(at(now), deliveries);
    }

    #[test]
    fn the_order_of_blocks_is_no_reordering() {
        // RFC 8985 §6.2 step 3 takes the segments of an acknowledgement in ascending order of their
        // ends. Blocks come with the latest first (RFC 2018 §4): the block of 100 arrives with that
        // of 300 if the acknowledgement that reported it first was lost.
        for (blocks, seen) in [
            (&[(10, 300, false), (10, 100, false)][..], false),
            (&[(10, 100, false), (10, 300, false)], false),
        ] {
            let mut rack = Rack::new();
            acknowledged(&mut rack, 110, blocks);
            assert_eq!(rack.reordering_seen, seen, "{blocks:?}");
        }
        // Between the two by a later acknowledgement: below RACK.fack = 400.
        let mut rack = Rack::new();
        acknowledged(&mut rack, 110, &[(10, 300, false), (10, 100, false)]);
        acknowledged(&mut rack, 112, &[(10, 200, false)]);
        assert!(rack.reordering_seen);
    }

    #[test]
    fn the_round_trip_time_is_that_of_the_segment_sent_last() {
        // RFC 8985 §6.2 step 2 takes the segments in ascending order of the times at which they
        // left: RACK.rtt = 200 - 100 = 100 ms of the retransmission, not 200 - 20 = 180 ms.
        let mut rack = Rack::new();
        acknowledged(&mut rack, 200, &[(100, 0, true), (20, 100, false)]);
        let deadline = rack.deadline(rtt(), OPEN).unwrap();
        assert_eq!((deadline.xmit_ts, deadline.end_seq), (at(100), 100));
        assert_eq!(deadline.age, MS(100 + 20));
        // RACK.rtt is that of the last delivery, though an older segment does not become
        // RACK.segment.
        acknowledged(&mut rack, 210, &[(30, 200, false)]);
        let deadline = rack.deadline(rtt(), OPEN).unwrap();
        assert_eq!((deadline.xmit_ts, deadline.end_seq), (at(100), 100));
        assert_eq!(deadline.age, MS(180 + 20));
        // Of segments that left together, the one that ends last is RACK.segment.
        acknowledged(&mut rack, 300, &[(200, 400, false), (200, 300, false)]);
        assert_eq!(rack.newest(), Some((at(200), 500)));
    }

    #[test]
    fn the_reordering_window_is_a_quarter_of_the_minimum_until_losses_are_certain() {
        let mut rack = Rack::new();
        assert!(rack.deadline(rtt(), OPEN).is_none());
        delivered(&mut rack, 100, 0, 0, false);
        // §6.2 step 4: min_RTT / 4 = 20 ms beyond RACK.rtt = 100 ms.
        let age = |rack: &Rack, situation| rack.deadline(rtt(), situation).unwrap().age;
        assert_eq!(age(&rack, OPEN), MS(120));
        let enough_sacked = Situation {
            enough_sacked: true,
            ..OPEN
        };
        assert_eq!(age(&rack, enough_sacked), MS(100), "DupThresh reached");
        let recovering = Situation {
            recovering: true,
            ..OPEN
        };
        assert_eq!(age(&rack, recovering), MS(100));
        // A never-retransmitted segment below RACK.fack: reordering was seen.
        delivered(&mut rack, 110, 10, 300, false);
        delivered(&mut rack, 110, 10, 100, false);
        assert_eq!(age(&rack, recovering), MS(120));
    }

    #[test]
    fn each_round_with_a_dsack_adds_a_quarter_for_sixteen_recoveries() {
        let mut rack = Rack::new();
        delivered(&mut rack, 100, 0, 0, false);
        rack.on_dsack(100, 1000);
        rack.on_dsack(200, 1100);
        let window = |rack: &Rack| rack.reordering_window(rtt(), OPEN);
        assert_eq!(window(&rack), MS(40), "once in a round");
        rack.on_dsack(1000, 2000);
        assert_eq!(window(&rack), MS(60));
        for _ in 0..15 {
            rack.on_recovery_end();
        }
        assert_eq!(window(&rack), MS(60), "15 recoveries keep it");
        rack.on_recovery_end();
        assert_eq!(window(&rack), MS(20), "the 16th does not");
        for round in 1..100 {
            rack.on_dsack(round * 10_000, round * 10_000 + 1000);
        }
        assert_eq!(window(&rack), MS(110), "at most SRTT");
    }

    #[test]
    fn a_retransmission_that_fills_a_gap_is_no_reordering() {
        // RFC 8985 §6.2 step 3: only a segment that was never retransmitted shows it.
        let mut rack = Rack::new();
        delivered(&mut rack, 100, 0, 300, false);
        delivered(&mut rack, 200, 100, 100, true);
        let recovering = Situation {
            recovering: true,
            ..OPEN
        };
        assert_eq!(rack.deadline(rtt(), recovering).unwrap().age, MS(100));
    }

    #[test]
    fn a_further_dsack_keeps_the_window_for_sixteen_recoveries_more() {
        // RFC 8985 §6.2 step 4: RACK.reo_wnd_persist = 16 with each DSACK.
        let mut rack = Rack::new();
        delivered(&mut rack, 100, 0, 0, false);
        for (high_ack, recoveries) in [(100, 10), (1000, 15)] {
            rack.on_dsack(high_ack, high_ack + 900);
            (0..recoveries).for_each(|_| rack.on_recovery_end());
        }
        assert_eq!(rack.reordering_window(rtt(), OPEN), MS(60));
    }

    #[test]
    fn an_acknowledgement_that_enlarges_the_window_ends_no_recovery() {
        // RFC 8985 §6.2 step 4, "Else if exiting": a multiplier of 3 becomes 4, though this is the
        // 16th recovery that ends; a DSACK of the same round leaves the Else, and the 16 count on.
        for (high_ack, window) in [(2000, 80), (1999, 20)] {
            let mut rack = Rack::new();
            delivered(&mut rack, 100, 0, 0, false);
            rack.on_dsack(0, 1000);
            rack.on_dsack(1000, 2000);
            (0..15).for_each(|_| rack.on_recovery_end());
            rack.adapt(Some((high_ack, 3000)), true);
            assert_eq!(
                rack.reordering_window(rtt(), OPEN),
                MS(window),
                "{high_ack}"
            );
            // 16 more recoveries keep the larger window, of which none has ended.
            (0..15).for_each(|_| rack.on_recovery_end());
            assert_eq!(rack.reordering_window(rtt(), OPEN), MS(window));
        }
    }

    #[test]
    fn an_impossibly_fast_retransmission_is_the_original_arriving() {
        let mut rack = Rack::new();
        delivered(&mut rack, 100, 0, 0, false);
        // 79 ms after its retransmission, less than min_RTT = 80 ms: ignored.
        delivered(&mut rack, 179, 100, 100, true);
        assert_eq!(rack.deadline(rtt(), OPEN).unwrap().xmit_ts, at(0));
        delivered(&mut rack, 180, 100, 200, true);
        assert_eq!(rack.deadline(rtt(), OPEN).unwrap().xmit_ts, at(100));
    }
}
