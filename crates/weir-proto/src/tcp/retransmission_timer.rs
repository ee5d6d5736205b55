//! The timers of a sender: the retransmission timer (RFC 6298 §5), and beside it the loss probe's
//! (RFC 8985 §7.2), RACK's reordering timer (RFC 8985 §6.2) and the persist timer (RFC 9293
//! §3.8.6.1).

use super::rules::{RtoFloor, RtoTimes, Rules};
use crate::cc::rtt::{Rtt, RttEstimator, TimeoutRules};
use crate::time::{Duration, Instant, earliest};

/// G of RFC 6298 §2: the granularity of the clock.
const GRANULARITY: Duration = Duration::from_millis(1);
/// The RTO when data transmission begins after a lost SYN (RFC 6298 §5.7).
const AFTER_LOST_SYN: Duration = Duration::from_secs(3);

/// The timer that expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expired {
    /// RACK's reordering timer.
    Reordering,
    /// The probe timeout, PTO.
    Probe,
    /// The persist timer.
    Persist,
    /// The retransmission timeout, RTO.
    Retransmission,
}

/// The round-trip time estimator and the timers.
#[derive(Clone, Debug)]
pub(super) struct RetransmissionTimer {
    rtt: RttEstimator,
    rules: TimeoutRules,
    backoff: u32,
    doublings: u32,
    deadline: Option<Instant>,
    probe: Option<Instant>,
    reordering: Option<Instant>,
    persist: Option<Instant>,
}

impl RetransmissionTimer {
    pub(super) fn new(times: RtoTimes, rules: &Rules) -> Self {
        let RtoTimes { initial, min, max } = times;
        let (granularity, minimum) = match rules.rto_floor {
            RtoFloor::Timeout => (GRANULARITY, min),
            RtoFloor::Variance => (min.max(GRANULARITY), Duration::ZERO),
        };
        Self {
            rtt: RttEstimator::default(),
            rules: TimeoutRules {
                initial,
                granularity,
                minimum,
                maximum: max,
            },
            backoff: 0,
            doublings: rules.rto_doublings,
            deadline: None,
            probe: None,
            reordering: None,
            persist: None,
        }
    }

    pub(super) const fn rtt(&self) -> Rtt {
        self.rtt.get()
    }

    /// When the next timer expires. The reordering timer takes the place of the RTO while it runs
    /// (RFC 8985 §8).
    pub(super) fn next(&self) -> Option<Instant> {
        match self.reordering {
            Some(_) => earliest(&[self.reordering, self.persist]),
            None => earliest(&[self.deadline, self.probe, self.persist]),
        }
    }

    /// A timer that has expired by now, and stops.
    pub(super) fn take_expired(&mut self, now: Instant) -> Option<Expired> {
        let expired = |timer: &mut Option<Instant>| timer.take_if(|at| *at <= now).is_some();
        if expired(&mut self.reordering) {
            // An RTO that was due meanwhile starts again.
            if expired(&mut self.deadline) {
                self.restart(now);
            }
            Some(Expired::Reordering)
        } else if self.reordering.is_some() {
            expired(&mut self.persist).then_some(Expired::Persist)
        } else if expired(&mut self.probe) {
            Some(Expired::Probe)
        } else if expired(&mut self.persist) {
            Some(Expired::Persist)
        } else if expired(&mut self.deadline) {
            Some(Expired::Retransmission)
        } else {
            None
        }
    }

    /// Takes a sample (RFC 6298 §2); the caller leaves out retransmitted segments (§3, Karn). It
    /// ends the back-off (§5).
    pub(super) fn on_sample(&mut self, now: Instant, sample: Duration) {
        self.rtt.on_sample(now, sample);
        self.backoff = 0;
    }

    /// The handshake is complete. If its SYN was sent again, there is no sample: the RTO starts
    /// from 3 s (RFC 6298 §5.7).
    pub(super) fn on_established(&mut self, syn_was_lost: bool) {
        self.stop();
        self.backoff = 0;
        if syn_was_lost {
            self.rules.initial = self.rules.initial.max(AFTER_LOST_SYN);
        }
    }

    /// Ends the back-off: the RTO follows from the samples again.
    pub(super) fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// RTO.
    pub(super) fn timeout(&self) -> Duration {
        self.rtt.timeout(&self.rules, self.backoff)
    }

    /// RTO after `doublings` doublings.
    pub(super) fn timeout_after(&self, doublings: u32) -> Duration {
        let doublings = doublings.min(self.doublings);
        self.rtt.timeout(&self.rules, doublings)
    }

    /// A segment leaves: the timer runs from the first outstanding one (RFC 6298 §5.1).
    pub(super) fn start_if_idle(&mut self, now: Instant) {
        if self.deadline.is_none() {
            self.restart(now);
        }
    }

    /// The RTO runs from now.
    pub(super) fn restart(&mut self, now: Instant) {
        self.deadline = Some(now + self.timeout());
    }

    /// New data was acknowledged (RFC 6298 §5.2–5.3).
    pub(super) fn on_ack(&mut self, now: Instant, outstanding: bool) {
        self.probe = None;
        self.deadline = outstanding.then(|| now + self.timeout());
    }

    /// The RTO expired (RFC 6298 §5.5–5.6).
    pub(super) fn on_expiry(&mut self, now: Instant) {
        self.backoff = (self.backoff + 1).min(self.doublings);
        self.probe = None;
        self.restart(now);
    }

    /// A loss probe is due after PTO, at the latest when the RTO would expire (RFC 8985 §7.2);
    /// `delay` is the longest time for which the receiver may delay an acknowledgement. None is due
    /// while the reordering timer runs.
    pub(super) fn schedule_probe(&mut self, now: Instant, delay: Duration) {
        let pto = match self.rtt.smoothed() {
            Some(smoothed) => smoothed * 2 + delay,
            None => Duration::from_secs(1),
        };
        let waits = self.reordering.is_none();
        self.probe = self
            .deadline
            .filter(|_| waits)
            .map(|rto| rto.min(now + pto));
    }

    /// Cancels the loss probe: a recovery starts, or segments are SACKed, and loss detection takes
    /// over.
    pub(super) fn cancel_probe(&mut self) {
        self.probe = None;
    }

    /// Sets or stops the reordering timer. While it runs, no loss probe is due (RFC 8985 §8).
    pub(super) fn set_reordering(&mut self, now: Instant, after: Option<Duration>) {
        self.probe.take_if(|_| after.is_some());
        self.reordering = after.map(|after| now + after);
    }

    /// Sets or stops the persist timer (RFC 9293 §3.8.6.1).
    pub(super) fn set_persist(&mut self, now: Instant, after: Option<Duration>) {
        self.persist = after.map(|after| now + after);
    }

    pub(super) fn stop(&mut self) {
        (self.deadline, self.probe) = (None, None);
        (self.reordering, self.persist) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn timer(floor: RtoFloor, min: u64) -> RetransmissionTimer {
        let times = RtoTimes {
            initial: MS(1000),
            min: MS(min),
            max: MS(60_000),
        };
        let rules = Rules {
            rto_floor: floor,
            ..Rules::RFC
        };
        RetransmissionTimer::new(times, &rules)
    }

    fn after(timer: &RetransmissionTimer, start: Instant) -> u64 {
        timer.deadline.unwrap().since(start).as_nanos() / 1_000_000
    }

    #[test]
    fn backs_off_until_a_new_sample() {
        let start = Instant::ZERO;
        let mut timer = timer(RtoFloor::Timeout, 200);
        timer.start_if_idle(start);
        assert_eq!(after(&timer, start), 1000, "§2.1: before the first sample");
        timer.on_sample(start, MS(100));
        timer.on_ack(start, true);
        assert_eq!(after(&timer, start), 300, "§5.3: restarted, 100 + 4 * 50");
        timer.on_expiry(start);
        assert_eq!(after(&timer, start), 600, "§5.5: doubled");
        timer.on_ack(start, true);
        assert_eq!(after(&timer, start), 600, "§5: no sample, no way back");
        for _ in 0..20 {
            timer.on_expiry(start);
        }
        assert_eq!(after(&timer, start), 60_000, "§2.5: bounded");
        timer.on_sample(start, MS(100));
        timer.on_ack(start, false);
        assert_eq!(timer.next(), None, "§5.2: nothing outstanding");
        timer.start_if_idle(start);
        // RTTVAR = 3/4 * 50 = 37.5: 100 + 150.
        assert_eq!(
            after(&timer, start),
            250,
            "§5: the sample ended the back-off"
        );
    }

    #[test]
    fn the_floor_holds_for_the_timeout_or_for_its_variance_term() {
        // RTTVAR has gone to zero: 600 + G, and 600 + 200.
        for (floor, rto) in [(RtoFloor::Timeout, 601), (RtoFloor::Variance, 800)] {
            let mut timer = timer(floor, 200);
            for _ in 0..200 {
                timer.on_sample(Instant::ZERO, MS(600));
            }
            timer.start_if_idle(Instant::ZERO);
            assert_eq!(after(&timer, Instant::ZERO), rto, "{floor:?}");
        }
        let mut timer = timer(RtoFloor::Timeout, 1000);
        timer.on_sample(Instant::ZERO, MS(1));
        timer.start_if_idle(Instant::ZERO);
        assert_eq!(after(&timer, Instant::ZERO), 1000, "§2.4");
    }

    #[test]
    fn a_lost_syn_leaves_three_seconds() {
        let mut timer = timer(RtoFloor::Timeout, 1000);
        timer.start_if_idle(Instant::ZERO);
        timer.on_expiry(Instant::ZERO);
        timer.on_established(true);
        timer.start_if_idle(Instant::ZERO);
        assert_eq!(after(&timer, Instant::ZERO), 3000, "§5.7");
    }

    #[test]
    fn the_reordering_timer_takes_the_place_of_probe_and_timeout() {
        // RFC 8985 §8: the timers exclude each other. The RTO of 300 ms is not due before the
        // reordering timer at 400 ms, and starts again then.
        let start = Instant::ZERO;
        let mut timer = timer(RtoFloor::Variance, 200);
        timer.on_sample(start, MS(100));
        timer.start_if_idle(start);
        timer.schedule_probe(start, Duration::ZERO);
        timer.set_reordering(start, Some(MS(400)));
        timer.set_reordering(start, None);
        assert_eq!(timer.next(), Some(start + MS(300)), "no probe at 200 ms");
        timer.set_reordering(start, Some(MS(400)));
        timer.schedule_probe(start, Duration::ZERO);
        assert_eq!(timer.next(), Some(start + MS(400)));
        assert_eq!(timer.take_expired(start + MS(350)), None);
        let expired = timer.take_expired(start + MS(400));
        assert_eq!(expired, Some(Expired::Reordering));
        assert_eq!(timer.take_expired(start + MS(400)), None);
        assert_eq!(timer.next(), Some(start + MS(700)));
        // One that is not due yet runs on, and so does the persist timer beside.
        timer.set_reordering(start + MS(400), Some(MS(100)));
        timer.set_persist(start + MS(400), Some(MS(50)));
        assert_eq!(timer.next(), Some(start + MS(450)));
        let expired = timer.take_expired(start + MS(450));
        assert_eq!(expired, Some(Expired::Persist));
        let expired = timer.take_expired(start + MS(500));
        assert_eq!(expired, Some(Expired::Reordering));
        assert_eq!(timer.next(), Some(start + MS(700)));
    }

    #[test]
    fn a_probe_is_due_after_two_round_trips_and_before_the_timeout() {
        let start = Instant::ZERO;
        let mut timer = timer(RtoFloor::Variance, 200);
        timer.on_sample(start, MS(100));
        timer.start_if_idle(start);
        timer.schedule_probe(start, Duration::ZERO);
        // RFC 8985 §7.2: PTO = 2 * SRTT; the RTO is 100 + max(4 * 50, 200) = 300.
        assert_eq!(timer.next(), Some(start + MS(200)));
        timer.schedule_probe(start, MS(150));
        assert_eq!(timer.next(), Some(start + MS(300)), "not after the RTO");
        assert_eq!(timer.take_expired(start + MS(300)), Some(Expired::Probe));
        let rest = timer.take_expired(start + MS(300));
        assert_eq!(rest, Some(Expired::Retransmission));
        assert_eq!(timer.next(), None);
    }
}
