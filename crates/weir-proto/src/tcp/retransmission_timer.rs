//! The retransmission timer (RFC 6298 §5). The minimum timeout is a setting, because kernels use
//! 200 ms where RFC 6298 §2.4 says 1 s.

use crate::cc::rtt::{Rtt, RttEstimator, TimeoutRules};
use crate::time::{Duration, Instant};

/// The round-trip time estimator and the timer.
#[derive(Clone, Debug)]
pub(super) struct RetransmissionTimer {
    rtt: RttEstimator,
    rules: TimeoutRules,
    backoff: u32,
    deadline: Option<Instant>,
}

impl RetransmissionTimer {
    pub(super) fn new(minimum: Duration) -> Self {
        Self {
            rtt: RttEstimator::default(),
            rules: TimeoutRules {
                // RFC 6298 §2.1, §2.5, and G of §4.
                initial: Duration::from_secs(1),
                maximum: Duration::from_secs(60),
                granularity: Duration::from_millis(1),
                minimum,
            },
            backoff: 0,
            deadline: None,
        }
    }

    pub(super) const fn rtt(&self) -> Rtt {
        self.rtt.get()
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Expiries since the last acknowledgement of new data.
    pub(super) const fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Takes a sample (RFC 6298 §2); the caller leaves out retransmitted segments (§3, Karn).
    pub(super) fn on_sample(&mut self, now: Instant, sample: Duration) {
        self.rtt.on_sample(now, sample);
    }

    fn timeout(&self) -> Duration {
        self.rtt.timeout(&self.rules, self.backoff)
    }

    /// A segment leaves: the timer runs from the first outstanding one (RFC 6298 §5.1).
    pub(super) fn start_if_idle(&mut self, now: Instant) {
        if self.deadline.is_none() {
            self.deadline = Some(now + self.timeout());
        }
    }

    /// New data was acknowledged (RFC 6298 §5.2–5.3).
    pub(super) fn on_ack(&mut self, now: Instant, outstanding: bool) {
        self.backoff = 0;
        self.deadline = outstanding.then(|| now + self.timeout());
    }

    /// The timer expired (RFC 6298 §5.5–5.6).
    pub(super) fn on_expiry(&mut self, now: Instant) {
        self.backoff += 1;
        self.deadline = Some(now + self.timeout());
    }

    pub(super) fn stop(&mut self) {
        self.deadline = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(timer: &RetransmissionTimer, start: Instant) -> u64 {
        timer.deadline().unwrap().since(start).as_nanos() / 1_000_000
    }

    #[test]
    fn backs_off_until_new_data_is_acknowledged() {
        let start = Instant::ZERO;
        let mut timer = RetransmissionTimer::new(Duration::from_millis(200));
        timer.start_if_idle(start);
        assert_eq!(after(&timer, start), 1000, "§2.1: before the first sample");
        timer.on_sample(start, Duration::from_millis(100));
        timer.on_ack(start, true);
        assert_eq!(after(&timer, start), 300, "§5.3: restarted");
        timer.on_expiry(start);
        assert_eq!(after(&timer, start), 600, "§5.5: doubled");
        for _ in 0..20 {
            timer.on_expiry(start);
        }
        assert_eq!(after(&timer, start), 60_000, "§2.5: bounded");
        timer.on_ack(start, false);
        assert_eq!(timer.deadline(), None, "§5.2: nothing outstanding");
    }

    #[test]
    fn respects_the_minimum() {
        let mut timer = RetransmissionTimer::new(Duration::from_secs(1));
        timer.on_sample(Instant::ZERO, Duration::from_millis(1));
        timer.start_if_idle(Instant::ZERO);
        assert_eq!(after(&timer, Instant::ZERO), 1000);
    }
}
