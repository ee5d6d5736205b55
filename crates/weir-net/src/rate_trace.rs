//! A transmitter that follows a trace of delivery opportunities, in the format of Mahimahi
//! (Netravali et al., USENIX ATC 2015): each line of the file is a time in milliseconds at which
//! 1504 octets may be sent, and the trace restarts after the time of its last line.
//!
//! A packet may use octets of several opportunities, and several packets may share one. An
//! opportunity at which no packet waits is unused.

use std::sync::Arc;
use weir_proto::time::Instant;

/// Octets of one opportunity: a packet of 1500 octets and a tunnel header of 4.
pub const OCTETS: u32 = 1504;

const MILLISECOND: u64 = 1_000_000;

/// A trace and the position in it.
#[derive(Clone, Debug)]
pub(crate) struct RateTrace {
    /// Times in milliseconds, in order; the last is the period.
    times: Arc<[u64]>,
    /// The next opportunity, counted over all repetitions.
    next: u64,
    /// When the last opportunity was used, and the octets left of it.
    left: (u64, u32),
}

impl RateTrace {
    /// `None` if there are no times, or if the last is zero.
    pub(crate) fn new(times: &Arc<[u64]>) -> Option<Self> {
        (*times.last()? > 0).then(|| Self {
            times: Arc::clone(times),
            next: 0,
            left: (0, 0),
        })
    }

    fn time_of(&self, number: u64) -> u64 {
        let len = self.times.len() as u64;
        let period = self.times.last().copied().unwrap_or(1);
        let within = self.times.get((number % len) as usize).copied();
        let millis = (number / len)
            .saturating_mul(period)
            .saturating_add(within.unwrap_or(0));
        millis.saturating_mul(MILLISECOND)
    }

    /// Moves to the first opportunity at `at` or later.
    fn skip_to(&mut self, at: u64) {
        let len = self.times.len() as u64;
        let period = self.times.last().copied().unwrap_or(1);
        let period = period.saturating_mul(MILLISECOND);
        if self.time_of(self.next) >= at {
            return;
        }
        // The first opportunity at or after `at` in the repetition that contains it.
        let round = at / period;
        let within = (at - round * period).div_ceil(MILLISECOND);
        let behind = self.times.partition_point(|&millis| millis < within) as u64;
        let mut next = self.next.max(round * len + behind);
        // The last opportunities of the previous repetition may be due at the same time.
        while next > self.next && self.time_of(next - 1) >= at {
            next -= 1;
        }
        self.next = next;
    }

    /// The end of the transmission of a packet of this size that waits from `start` on.
    pub(crate) fn end_of(&mut self, start: Instant, size: u32) -> Instant {
        let start = start.as_nanos();
        let mut need = size;
        let (at, left) = self.left;
        if at == start && left > 0 {
            let taken = left.min(need);
            self.left.1 -= taken;
            need -= taken;
        }
        if need == 0 {
            return Instant::from_nanos(start);
        }
        self.skip_to(start);
        loop {
            let time = self.time_of(self.next);
            self.next += 1;
            let taken = OCTETS.min(need);
            need -= taken;
            if need == 0 {
                self.left = (time, OCTETS - taken);
                return Instant::from_nanos(time);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(times: &[u64], packets: &[(u64, u32)]) -> Vec<u64> {
        let mut trace = RateTrace::new(&times.into()).expect("a trace");
        let mut free = 0;
        let end = |&(at, size): &(u64, u32)| {
            let start = Instant::from_nanos((at * MILLISECOND).max(free));
            free = trace.end_of(start, size).as_nanos();
            free / MILLISECOND
        };
        packets.iter().map(end).collect()
    }

    #[test]
    fn full_packets_leave_one_an_opportunity_and_the_trace_repeats() {
        let packets = [(0, 1504); 7];
        assert_eq!(ends(&[2, 5, 5, 10], &packets), [2, 5, 5, 10, 12, 15, 15]);
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_take_several() {
        // 1504 = 500 + 500 + 504; the fourth packet uses 504 octets and 1000 are left.
        let packets = [(0, 500), (0, 500), (0, 1504), (0, 504)];
        assert_eq!(ends(&[2, 5, 9], &packets), [2, 2, 5, 5]);
    }

    #[test]
    fn an_opportunity_without_a_waiting_packet_is_unused() {
        assert_eq!(
            ends(&[2, 5, 9], &[(0, 100), (3, 1504), (100, 1504)]),
            [2, 5, 101]
        );
    }

    #[test]
    fn a_trace_needs_a_period() {
        assert!(RateTrace::new(&[].into()).is_none());
        assert!(RateTrace::new(&[0, 0].into()).is_none());
    }

    #[test]
    fn the_next_opportunity_is_the_first_one_that_is_not_too_early() {
        // Compared with a search over all opportunities, for any time.
        let times = [0, 3, 3, 7, 12, 12];
        for at in (0..60 * MILLISECOND).step_by(250_000) {
            let mut trace = RateTrace::new(&times.into()).expect("a trace");
            let walked = (0..1000).find(|&number| trace.time_of(number) >= at);
            trace.skip_to(at);
            assert_eq!(Some(trace.next), walked, "{at}");
            // The position never moves back to an opportunity that was used.
            trace.next += 2;
            let used = trace.next;
            trace.skip_to(at);
            assert_eq!(trace.next, used, "{at}");
        }
    }
}
