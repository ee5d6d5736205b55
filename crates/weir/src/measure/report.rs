//! What a test says: a line for each interval and for the whole test on stderr, and its result as
//! JSON in the manner of iperf3. The same for all transports, which add what they alone count.

use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

/// Intervals of a result; later ones are printed and not kept.
const MAX_INTERVALS: usize = 100_000;

/// What one end of a test has counted up to one moment.
pub trait Counters: Default + Send {
    /// Octets of application data that this end has sent or received.
    fn octets(&self) -> u64;
    /// What a line says after the throughput, for the time since `before`.
    fn details(&self, before: &Self) -> String;
    /// The transport's own fields of the result.
    fn fields(&self) -> Value;
}

/// The part of a test that a line is about, in seconds from its beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Its beginning.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
}

impl Span {
    fn bits_per_second(self, octets: u64) -> f64 {
        octets as f64 * 8.0 / (self.end_s - self.start_s).max(1e-9)
    }
}

/// The report of one test, which grows by a line in each interval.
pub struct Report<C> {
    number: usize,
    start: Instant,
    interval: Duration,
    lines: u32,
    last: C,
    intervals: Vec<Value>,
}

impl<C: Counters> Report<C> {
    /// Of the test with this number, which begins now; a line for every `interval`, none if that is
    /// zero.
    pub fn start(number: usize, interval: Duration) -> Self {
        Self {
            number,
            start: Instant::now(),
            interval,
            lines: 0,
            last: C::default(),
            intervals: Vec::new(),
        }
    }

    /// When the next line is due.
    pub fn due(&self) -> Instant {
        if self.interval.is_zero() {
            return self.start + Duration::from_hours(365 * 24);
        }
        self.start + self.interval * (self.lines + 1)
    }

    /// Ends the interval that is due with these counters; returns its line.
    pub fn interval(&mut self, counters: C) -> String {
        let interval = self.interval.as_secs_f64();
        let start_s = interval * f64::from(self.lines);
        let span = Span {
            start_s,
            end_s: start_s + interval,
        };
        let octets = counters.octets().saturating_sub(self.last.octets());
        let line = self.line(span, octets, &counters.details(&self.last));
        if self.intervals.len() < MAX_INTERVALS {
            self.intervals.push(json!({
                "start": span.start_s,
                "end": span.end_s,
                "bytes": octets,
                "bits_per_second": span.bits_per_second(octets),
            }));
        }
        self.lines += 1;
        self.last = counters;
        line
    }

    /// The line about the whole test, which took so many seconds.
    pub fn total(&self, seconds: f64, counters: &C) -> String {
        let span = Span {
            start_s: 0.0,
            end_s: seconds,
        };
        self.line(span, counters.octets(), &counters.details(&C::default()))
    }

    fn line(&self, span: Span, octets: u64, details: &str) -> String {
        let Span { start_s, end_s } = span;
        format!(
            "[{:3}] {start_s:7.2}-{end_s:<7.2} s  {}  {}{details}",
            self.number,
            scaled(octets as f64, "B"),
            scaled(span.bits_per_second(octets), "bit/s"),
        )
    }

    /// The result of the test.
    pub fn result(self, seconds: f64, counters: &C) -> Value {
        let span = Span {
            start_s: 0.0,
            end_s: seconds,
        };
        let mut result = json!({
            "stream": self.number,
            "seconds": seconds,
            "bytes": counters.octets(),
            "bits_per_second": span.bits_per_second(counters.octets()),
            "intervals": self.intervals,
        });
        extend(&mut result, counters.fields());
        result
    }
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
