//! The rate of a direction of a link over time: the minimum of its wire, its token bucket and its
//! policer. All path rates and bandwidth-delay products are derived from it.
//!
//! Does not model: bursts of a bucket, and the overhead that it adds to each packet.

use super::model::Direction;
use weir_proto::time::Duration;
use weir_proto::units::Rate;

/// A start time in seconds, and the value from then until the next step.
pub(crate) type Step = (f64, f64);

impl Direction {
    /// The rate in bit/s at which packets leave the queue, by start time: that of wire, token
    /// bucket and a queue that shapes, infinite if all are unlimited. The policer is excluded,
    /// because it drops packets before the queue.
    pub(crate) fn service_rates(&self) -> Vec<Step> {
        let unlimited = |rate: Option<u64>| rate.map_or(f64::INFINITY, |rate| rate as f64);
        // A rate trace replaces the rate of the wire.
        let trace = self.rate_trace.mean_rate().map(Rate::as_bps);
        let mut wire = trace.unwrap_or_else(|| unlimited(self.rate));
        let own = unlimited(self.queue_rate());
        let mut bucket = unlimited(self.shaper.map(|shaper| shaper.rate));
        let mut rates = vec![(0.0, wire.min(bucket).min(own))];
        for change in &self.changes {
            if trace.is_none() {
                wire = change.rate.map_or(wire, unlimited);
            }
            if self.shaper.is_some() {
                bucket = change.shaper_rate.map_or(bucket, |rate| rate as f64);
            }
            let at = change.at.as_secs_f64();
            rates.retain(|rate| rate.0 < at);
            rates.push((at, wire.min(bucket).min(own)));
        }
        rates
    }

    /// The rate of a queue that shapes, unless the token bucket has a queue of its own.
    pub(crate) fn queue_rate(&self) -> Option<u64> {
        let replaced = self.shaper.and_then(|shaper| shaper.queue_limit());
        self.queue.rate().filter(|_| replaced.is_none())
    }

    /// The rate in bit/s including the policer, by start time.
    pub(crate) fn rates(&self) -> Vec<Step> {
        let policer = self
            .policer
            .map_or(f64::INFINITY, |policer| policer.rate as f64);
        let rates = self.service_rates().into_iter();
        rates.map(|(at, rate)| (at, rate.min(policer))).collect()
    }

    /// The mean rate between two times, over the part in which the rate is limited; `None` if it is
    /// never limited.
    pub fn mean_rate(&self, span: [Duration; 2]) -> Option<Rate> {
        mean(&self.rates(), span).map(Rate::from_bps)
    }

    /// The mean propagation delay between two times; the middle of a range.
    pub(crate) fn mean_delay(&self, span: [Duration; 2]) -> Duration {
        let (least, most) = (self.delay.least, self.delay.most);
        let mut delays = vec![(0.0, (least + (most - least) / 2).as_secs_f64())];
        for change in &self.changes {
            let (at, delay) = (change.at.as_secs_f64(), change.delay);
            if let Some(delay) = delay {
                delays.retain(|delay| delay.0 < at);
                delays.push((at, delay.as_secs_f64()));
            }
        }
        mean(&delays, span).map_or(Duration::ZERO, Duration::from_secs_f64)
    }

    /// True if the policer's rate is below that of wire and token bucket between two times.
    pub(crate) fn is_policed(&self, span: [Duration; 2]) -> bool {
        let served = self.mean_service_rate(span);
        let served = served.map_or(f64::INFINITY, Rate::as_bps);
        let policer = self.policer.map(|policer| policer.rate as f64);
        policer.is_some_and(|rate| rate < served)
    }

    /// The mean rate at which packets leave the queue, like [`mean_rate`](Self::mean_rate).
    pub(crate) fn mean_service_rate(&self, span: [Duration; 2]) -> Option<Rate> {
        mean(&self.service_rates(), span).map(Rate::from_bps)
    }
}

/// The mean of values over time, over the part in which they are finite; for an empty time range
/// the value at its start.
fn mean(steps: &[Step], [from, until]: [Duration; 2]) -> Option<f64> {
    let (from, until) = (from.as_secs_f64(), until.as_secs_f64());
    let ends = steps.iter().skip(1).map(|step| step.0);
    let parts = steps.iter().zip(ends.chain([f64::INFINITY]));
    let (mut sum, mut time, mut first) = (0.0, 0.0, f64::INFINITY);
    for (&(begin, value), end) in parts {
        if begin <= from {
            first = value;
        }
        let lasts = end.min(until) - begin.max(from);
        if lasts > 0.0 && value.is_finite() {
            sum += value * lasts;
            time += lasts;
        }
    }
    let mean = if until > from { sum / time } else { first };
    (mean.is_finite()).then_some(mean)
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn direction(keys: &str) -> Direction {
        let text = format!(
            "[run]\nduration = \"10s\"\n[[link]]\nname = \"l\"\nbetween = [\"a\", \"b\"]\n{keys}\n\
             [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n\
             transport = {{ kind = \"udp\" }}\napp = {{ kind = \"cbr\", rate = \"1Mbit\" }}\n"
        );
        let scenario = parse(&text, "rates.toml").expect("a valid scenario");
        scenario.links[0].forward.clone()
    }

    const BUCKET: &str =
        "shaper = { kind = \"tbf\", rate = \"4Mbit\", burst = 3000, limit = 9000 }";
    const POLICER: &str = "policer = { kind = \"police\", rate = \"2Mbit\", burst = 3000 }";

    #[test]
    fn the_rate_of_a_link_is_the_least_of_wire_bucket_and_policer() {
        let change = |at: &str, keys: &str| format!("change = [{{ at = \"{at}\", {keys} }}]");
        let all = format!("rate = \"8Mbit\"\n{BUCKET}\n{POLICER}");
        for (keys, mbit) in [
            (String::new(), None),
            ("rate = \"8Mbit\"".to_owned(), Some(8.0)),
            (format!("rate = \"8Mbit\"\n{BUCKET}"), Some(4.0)),
            (all.clone(), Some(2.0)),
            (POLICER.to_owned(), Some(2.0)),
            // The rate is lowered at 6 s: 2 Mbit/s for 4 s from 2 s on, 1 Mbit/s for the rest.
            (
                format!("{all}\n{}", change("6s", "rate = \"1Mbit\"")),
                Some(1.5),
            ),
            (
                format!("{all}\n{}", change("6s", "shaper_rate = \"1Mbit\"")),
                Some(1.5),
            ),
            // The warm-up and the time after the end are excluded.
            (
                format!("{all}\n{}", change("2s", "rate = \"1Mbit\"")),
                Some(1.0),
            ),
            (
                format!("{all}\n{}", change("10s", "rate = \"1Mbit\"")),
                Some(2.0),
            ),
            // Only the time with a limited rate counts.
            (change("6s", "rate = \"1Mbit\""), Some(1.0)),
            (
                format!("rate = \"8Mbit\"\n{}", change("6s", "rate = \"unlimited\"")),
                Some(8.0),
            ),
            // 2 opportunities of 1504 octets in 2 ms; `rate` has no effect.
            (
                "rate = \"1Mbit\"\nrate_trace = [1, 2]".to_owned(),
                Some(12.032),
            ),
            (format!("rate_trace = [1, 2]\n{POLICER}"), Some(2.0)),
        ] {
            let span = [Duration::from_secs(2), Duration::from_secs(10)];
            let found = direction(&keys).mean_rate(span);
            assert_eq!(found.map(|rate| rate.as_bps() / 1e6), mbit, "{keys}");
        }
    }

    #[test]
    fn what_waits_in_a_queue_does_not_wait_for_a_policer() {
        let span = [Duration::ZERO, Duration::from_secs(1)];
        let both = direction(&format!("{BUCKET}\n{POLICER}"));
        assert_eq!(both.service_rates(), [(0.0, 4e6)]);
        assert!(both.is_policed(span) && direction(POLICER).is_policed(span));
        assert!(!direction(&format!("rate = \"1Mbit\"\n{POLICER}")).is_policed(span));
    }

    #[test]
    fn a_delay_that_changes_is_its_mean() {
        let keys = "delay = \"10ms..30ms\"\nchange = [{ at = \"4s\", delay = \"60ms\" }]";
        let span = [Duration::from_secs(2), Duration::from_secs(10)];
        // 20 ms for 2 s, 60 ms for 6 s.
        assert_eq!(direction(keys).mean_delay(span), Duration::from_millis(50));
        let now = [Duration::from_secs(4), Duration::from_secs(4)];
        assert_eq!(direction(keys).mean_delay(now), Duration::from_millis(60));
    }
}
