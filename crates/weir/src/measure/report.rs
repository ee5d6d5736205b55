//! The output of a test: a line for each interval and for the whole test on stderr, and its result
//! as JSON in the format of iperf3. It is the same for all transports, which add their own
//! counters.

use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;
use tokio::time::Instant;

/// The maximum number of intervals in a result; later ones are printed but not kept.
const MAX_INTERVALS: usize = 100_000;

/// Octets of application data that were sent by one end of a test and received by the other, as far
/// as this end knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivery {
    /// Octets sent.
    pub sent: Option<u64>,
    /// Octets received, from the latest report of the receiver.
    pub received: Option<u64>,
    /// Whether both ends agree on the numbers, so that they are final.
    pub complete: bool,
}

impl Delivery {
    /// True if the receiver reports that nothing arrived, or if nothing was sent: a test that was
    /// stopped at its start has no measurement.
    pub fn is_nothing(&self) -> bool {
        let has_nothing = self.received == Some(0);
        self.sent == Some(0) || has_nothing && (self.complete || self.sent.is_some())
    }

    fn fields(&self) -> Value {
        json!({
            "bytes_sent": self.sent,
            "bytes_received": self.received,
            "complete": self.complete,
        })
    }
}

/// The counts of one end of a test at one moment.
pub struct Counters {
    /// Octets of application data that this end has sent or received.
    pub octets: u64,
    /// The counts of both ends.
    pub delivery: Delivery,
    /// The text after the throughput in a line.
    pub details: String,
    /// The transport's own counters, which never decrease, by their names in the result.
    pub counts: Vec<(&'static str, u64)>,
    /// The transport's other fields of the result: states, and values of the whole test.
    pub fields: Value,
}

impl Counters {
    /// The counts after `before`.
    pub fn since(mut self, before: &Self) -> Self {
        // A count that was unknown then remains unknown for the difference.
        let rest = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        self.octets = self.octets.saturating_sub(before.octets);
        let (delivery, earlier) = (&mut self.delivery, &before.delivery);
        delivery.sent = rest(delivery.sent, earlier.sent);
        delivery.received = rest(delivery.received, earlier.received);
        for ((_, count), (_, earlier)) in self.counts.iter_mut().zip(&before.counts) {
            *count = count.saturating_sub(*earlier);
        }
        self
    }

    /// The transport's fields in the result.
    fn transport_fields(self) -> Value {
        let mut fields = self.fields;
        let count = |name| {
            let found = self.counts.iter().find(|(counted, _)| *counted == name);
            found.map(|(_, count)| *count as f64)
        };
        if let (Some(packets), Some(lost)) = (count("packets"), count("packets_lost")) {
            fields["lost_percent"] = (100.0 * lost / packets.max(1.0)).into();
        }
        for (name, count) in self.counts {
            fields[name] = count.into();
        }
        fields
    }
}

/// The report of one test, extended by a line in each interval.
pub struct Report {
    number: usize,
    start: Instant,
    interval: Duration,
    lines: u32,
    octets: u64,
    intervals: Vec<Value>,
    is_omitting: bool,
    /// The smallest round-trip time so far.
    least_rtt_s: Option<f64>,
}

impl Report {
    /// Starts the report of the test with this number; it has a line for every `interval`, or none
    /// if that is zero. The omitted time comes first, if there is any.
    pub fn start(number: usize, interval: Duration, omits: bool) -> Self {
        Self {
            number,
            start: Instant::now(),
            interval,
            lines: 0,
            octets: 0,
            intervals: Vec::new(),
            is_omitting: omits,
            least_rtt_s: None,
        }
    }

    /// Ends the omitted time with these counters; returns its duration.
    pub fn end_omission(&mut self, counters: &Counters) -> Duration {
        let omitted = self.start.elapsed();
        self.start += omitted;
        self.lines = 0;
        self.octets = counters.octets;
        self.is_omitting = false;
        omitted
    }

    /// True during the omitted time.
    pub const fn is_omitting(&self) -> bool {
        self.is_omitting
    }

    /// The time since the start.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// The queueing delay as text: the round-trip time beyond the smallest one so far. Empty if the
    /// transport measures none.
    fn queueing(&mut self, fields: &Value) -> String {
        let known = |key: &str| fields[key].as_f64().filter(|rtt| *rtt > 0.0);
        let Some(rtt) = known("smoothed_rtt_s") else {
            return String::new();
        };
        let all = [self.least_rtt_s, known("min_rtt_s"), Some(rtt)];
        let least = all.into_iter().flatten().fold(f64::INFINITY, f64::min);
        self.least_rtt_s = Some(least);
        format!("  queue {}", scaled(rtt - least, "s"))
    }

    /// The time at which the next line is due.
    pub fn due(&self) -> Instant {
        if self.interval.is_zero() {
            return self.start + Duration::from_hours(365 * 24);
        }
        self.start + self.interval * (self.lines + 1)
    }

    /// Ends the current interval with these counters; returns its line.
    pub fn interval(&mut self, counters: &Counters) -> String {
        let seconds = self.interval.as_secs_f64();
        let start = seconds * f64::from(self.lines);
        let octets = counters.octets.saturating_sub(self.octets);
        if self.intervals.len() < MAX_INTERVALS {
            self.intervals.push(json!({
                "start": start,
                "end": start + seconds,
                "bytes": octets,
                "bits_per_second": rate(octets, seconds),
                "omitted": self.is_omitting,
            }));
        }
        self.lines += 1;
        self.octets = counters.octets;
        let queueing = self.queueing(&counters.fields);
        let details = format!("{}{queueing}", counters.details);
        let mut line = self.line([start, start + seconds], octets, &details);
        if self.is_omitting {
            line.push_str("  (omitted)");
        }
        line
    }

    /// The line about the whole test, which took this many seconds, with the octets received if
    /// they differ from this end's count.
    pub fn total(&self, seconds: f64, counters: &Counters) -> String {
        let mut details = counters.details.clone();
        let delivery = counters.delivery;
        let received = delivery
            .received
            .filter(|octets| *octets != counters.octets);
        if let Some(octets) = received {
            let text = scaled(octets as f64, "B");
            let share = 100.0 * octets as f64 / counters.octets.max(1) as f64;
            let so_far = if delivery.complete {
                ""
            } else {
                ", as far as reported"
            };
            // Writing to a string cannot fail.
            let _ = write!(details, "  received {} ({share:.2} %{so_far})", text.trim());
        } else if delivery.received.is_none() {
            details.push_str("  the receiver has reported nothing");
        }
        self.line([0.0, seconds], counters.octets, &details)
    }

    fn line(&self, [start, end]: [f64; 2], octets: u64, details: &str) -> String {
        format!(
            "[{:3}] {start:7.2}-{end:<7.2} s  {}  {}{details}",
            self.number,
            scaled(octets as f64, "B"),
            scaled(rate(octets, end - start), "bit/s"),
        )
    }

    /// The result of the test.
    pub fn result(self, seconds: f64, counters: Counters) -> Value {
        let mut result = json!({
            "stream": self.number,
            "seconds": seconds,
            "bytes": counters.octets,
            "bits_per_second": rate(counters.octets, seconds),
            "intervals": self.intervals,
        });
        let delivery = counters.delivery.fields();
        extend(&mut result, counters.transport_fields());
        extend(&mut result, delivery);
        result
    }
}

/// Bits per second.
fn rate(octets: u64, seconds: f64) -> f64 {
    octets as f64 * 8.0 / seconds.max(1e-9)
}

/// Adds the fields of one object to another.
pub fn extend(object: &mut Value, fields: Value) {
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
        object.extend(fields);
    }
}

/// A value with a prefix of its unit, in a constant width.
pub fn scaled(value: f64, unit: &str) -> String {
    let (scale, prefix) = match value {
        v if v >= 1e9 => (1e9, "G"),
        v if v >= 1e6 => (1e6, "M"),
        v if v >= 1e3 => (1e3, "k"),
        v if v >= 1.0 || v <= 0.0 => (1.0, ""),
        v if v >= 1e-3 => (1e-3, "m"),
        _ => (1e-6, "µ"),
    };
    format!("{:6.2} {prefix}{unit}", value / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of an interval in which the transport has measured these times.
    fn line(report: &mut Report, fields: Value) -> String {
        report.interval(&Counters {
            octets: 0,
            delivery: Delivery::default(),
            details: String::new(),
            counts: Vec::new(),
            fields,
        })
    }

    #[test]
    fn a_line_has_the_round_trip_time_beyond_the_smallest_so_far_as_the_queue() {
        let mut report = Report::start(1, Duration::from_secs(1), false);
        for (fields, expected) in [
            (json!({ "smoothed_rtt_s": 0.050 }), "queue   0.00 s"),
            (json!({ "smoothed_rtt_s": 0.040 }), "queue   0.00 s"),
            (json!({ "smoothed_rtt_s": 0.052 }), "queue  12.00 ms"),
            (
                json!({ "smoothed_rtt_s": 0.052, "min_rtt_s": 0.032 }),
                "queue  20.00 ms",
            ),
            (json!({ "smoothed_rtt_s": 0.042 }), "queue  10.00 ms"),
        ] {
            let line = line(&mut report, fields);
            assert!(line.ends_with(expected), "{expected}: {line}");
        }
        for fields in [json!({}), json!({ "smoothed_rtt_s": 0.0 })] {
            let line = line(&mut report, fields);
            assert!(!line.contains("queue"), "{line}");
        }
    }
}
