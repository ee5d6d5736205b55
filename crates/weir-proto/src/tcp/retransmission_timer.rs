//! The retransmission timeout (RFC 6298): `RTO = SRTT + max(G, 4 RTTVAR)`, doubled at each
//! expiry. The minimum is a setting, because kernels use 200 ms where §2.4 says 1 s.

use crate::cc::Rtt;
use crate::time::{Duration, Instant};

/// RFC 6298 §2.1: before there is a sample.
const INITIAL: Duration = Duration::from_secs(1);
/// RFC 6298 §2.5.
const MAXIMUM: Duration = Duration::from_secs(60);
/// RFC 6298 §4: the clock granularity G.
const GRANULARITY: Duration = Duration::from_millis(1);

/// Estimator and timer.
#[derive(Clone, Debug)]
pub(super) struct RetransmissionTimer {
    rtt: Rtt,
    minimum: Duration,
    backoff: u32,
    deadline: Option<Instant>,
}

impl RetransmissionTimer {
    pub(super) fn new(minimum: Duration) -> Self {
        Self {
            rtt: Rtt::default(),
            minimum,
            backoff: 0,
            deadline: None,
        }
    }

    pub(super) const fn rtt(&self) -> Rtt {
        self.rtt
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// How often the timer has expired since something was last acknowledged.
    pub(super) const fn backoff(&self) -> u32 {
        self.backoff
    }

    /// RFC 6298 §2.2–2.3; the caller leaves out retransmitted segments (Karn).
    pub(super) fn on_sample(&mut self, sample: Duration) {
        let rtt = &mut self.rtt;
        if rtt.smoothed.is_zero() {
            rtt.smoothed = sample;
            rtt.variation = sample / 2;
            rtt.min = sample;
        } else {
            let (longer, shorter) = (rtt.smoothed.max(sample), rtt.smoothed.min(sample));
            rtt.variation = (rtt.variation * 3 + (longer - shorter)) / 4;
            rtt.smoothed = (rtt.smoothed * 7 + sample) / 8;
            rtt.min = rtt.min.min(sample);
        }
        rtt.latest = sample;
    }

    fn timeout(&self) -> Duration {
        let base = if self.rtt.smoothed.is_zero() {
            INITIAL
        } else {
            self.rtt.smoothed + GRANULARITY.max(self.rtt.variation * 4)
        };
        let doubled = base.max(self.minimum) * (1_u64 << self.backoff.min(16));
        doubled.min(MAXIMUM)
    }

    /// RFC 6298 §5.1: runs from the first outstanding segment.
    pub(super) fn start_if_idle(&mut self, now: Instant) {
        if self.deadline.is_none() {
            self.deadline = Some(now + self.timeout());
        }
    }

    /// RFC 6298 §5.2–5.3: something new was acknowledged.
    pub(super) fn on_ack(&mut self, now: Instant, outstanding: bool) {
        self.backoff = 0;
        self.deadline = outstanding.then(|| now + self.timeout());
    }

    /// RFC 6298 §5.5–5.6.
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
    fn follows_the_estimator_of_rfc_6298() {
        let start = Instant::ZERO;
        let mut timer = RetransmissionTimer::new(Duration::from_millis(200));
        timer.start_if_idle(start);
        assert_eq!(
            after(&timer, start),
            1000,
            "§2.1: 1 s before the first sample"
        );

        timer.on_sample(Duration::from_millis(100));
        timer.on_ack(start, true);
        assert_eq!(after(&timer, start), 300, "§2.2: 100 + 4 * 50");

        timer.on_sample(Duration::from_millis(140));
        timer.on_ack(start, true);
        // RTTVAR = 3/4 * 50 + 1/4 * 40 = 47.5; SRTT = 7/8 * 100 + 1/8 * 140 = 105.
        assert_eq!(after(&timer, start), 295);

        timer.on_expiry(start);
        assert_eq!(after(&timer, start), 590, "§5.5: doubled");
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
        timer.on_sample(Duration::from_millis(1));
        timer.start_if_idle(Instant::ZERO);
        assert_eq!(after(&timer, Instant::ZERO), 1000);
    }
}
