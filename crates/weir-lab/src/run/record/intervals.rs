//! The delivery of each flow in each interval of a run, for every transport: the counters of its
//! ends are read at the end of each interval, and the receiver's host measures delays. A flow with
//! arrivals has the sums of its connections.

use crate::run::columns::{self, IntervalRow};
use crate::scenario::Run;
use crate::summary::FlowStatistics;
use crate::table::{Table, TableRecorder};
use weir_net::IntervalDelays;
use weir_proto::time::{Duration, Instant};

/// The minimum number of intervals if the interval is "auto".
const INTERVALS: u64 = 200;
/// The minimum length of an "auto" interval, in nanoseconds.
const SHORTEST: u64 = 1_000_000;
/// The maximum number of rows of all flows together, if the interval is "auto".
const MAX_ROWS: u64 = 1_000_000;

/// The intervals of all flows.
pub(in crate::run) struct Intervals {
    length: Duration,
    /// The end of the last interval.
    since: Instant,
    flows: Vec<FlowIntervals>,
    /// Whether they end without flows too.
    observed: bool,
}

struct FlowIntervals {
    before: FlowStatistics,
    last: IntervalRow,
    rows: TableRecorder<IntervalRow>,
}

impl Intervals {
    /// Intervals of this many flows.
    pub(in crate::run) fn new(run: &Run, flows: usize) -> Self {
        let flow = || FlowIntervals {
            before: FlowStatistics::default(),
            last: IntervalRow::default(),
            rows: TableRecorder::new(columns::INTERVAL),
        };
        Self {
            length: length_of(run, flows),
            since: Instant::ZERO,
            flows: std::iter::repeat_with(flow).take(flows).collect(),
            observed: false,
        }
    }

    /// The same intervals, which end without flows too, for an observer.
    pub(in crate::run) fn observed(self, observed: bool) -> Self {
        Self { observed, ..self }
    }

    /// The end of the current interval, or of the one that begins at this time.
    pub(in crate::run) fn next(&self, at: Instant) -> Option<Instant> {
        let number = at.as_nanos() / self.length.as_nanos() + 1;
        let end = number.checked_mul(self.length.as_nanos())?;
        (self.observed || !self.flows.is_empty()).then_some(Instant::from_nanos(end))
    }

    /// True if an interval ends at this time.
    pub(in crate::run) fn end_at(&self, at: Instant) -> bool {
        at > self.since && at.as_nanos().is_multiple_of(self.length.as_nanos())
    }

    /// Ends an interval with the counters of each flow and its delays since the last end. Returns
    /// the number of rows.
    pub(in crate::run) fn end(
        &mut self,
        at: Instant,
        flows: impl Iterator<Item = (FlowStatistics, IntervalDelays)>,
    ) -> u64 {
        let length = at.since(self.since);
        self.since = at;
        let mut rows = 0;
        for (flow, (after, delays)) in self.flows.iter_mut().zip(flows) {
            let before = std::mem::replace(&mut flow.before, after);
            flow.last = IntervalRow {
                at,
                length,
                before,
                after,
                delays,
            };
            flow.rows.push(&flow.last);
            rows += 1;
        }
        rows
    }

    /// The end of the last interval.
    pub(in crate::run) const fn since(&self) -> Instant {
        self.since
    }

    /// The last row of each flow.
    pub(in crate::run) fn last(&self) -> impl ExactSizeIterator<Item = IntervalRow> + '_ {
        self.flows.iter().map(|flow| flow.last)
    }

    /// A table for each flow.
    pub(in crate::run) fn finish(self) -> impl Iterator<Item = Table> {
        self.flows.into_iter().map(|flow| flow.rows.finish())
    }
}

/// The length of the intervals. "auto" is the largest value of the form 1, 2 or 5 times a power of
/// ten that gives at least 200 intervals, or a longer one if all flows would have more than a
/// million rows.
fn length_of(run: &Run, flows: usize) -> Duration {
    if let Some(length) = run.interval {
        return length.max(Duration::from_nanos(1));
    }
    let duration = run.duration.as_nanos();
    let steps = || (0..=18).flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)));
    let fine = (duration / INTERVALS).max(SHORTEST);
    let fine = steps().take_while(|step| *step <= fine).last();
    let coarse = duration.saturating_mul(flows as u64) / MAX_ROWS;
    let coarse = steps().find(|step| *step >= coarse);
    Duration::from_nanos(fine.max(coarse).unwrap_or(SHORTEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(duration: Duration, interval: Option<Duration>) -> Run {
        Run {
            duration,
            interval,
            ..Run::default()
        }
    }

    #[test]
    fn a_run_has_about_three_hundred_intervals_whatever_its_length() {
        let (secs, millis) = (Duration::from_secs, Duration::from_millis);
        for (duration, flows, expected) in [
            (millis(10), 1, millis(1)),
            (secs(1), 2, millis(5)),
            (secs(10), 1, millis(50)),
            (secs(60), 100, millis(200)),
            (secs(600), 1, secs(2)),
            // 100,000 flows of 60 s may have ten rows each.
            (secs(60), 100_000, secs(10)),
        ] {
            let found = length_of(&run(duration, None), flows);
            assert_eq!(found, expected, "{flows} flows of {duration}");
        }
        let given = length_of(&run(secs(60), Some(millis(7))), 100_000);
        assert_eq!(given, millis(7));
    }

    #[test]
    fn intervals_end_at_multiples_of_their_length() {
        let millis = |n| Instant::ZERO + Duration::from_millis(n);
        let run = run(Duration::from_secs(1), Some(Duration::from_millis(300)));
        let mut intervals = Intervals::new(&run, 1);
        assert_eq!(intervals.next(millis(0)), Some(millis(300)));
        assert_eq!(intervals.next(millis(300)), Some(millis(600)));
        assert_eq!(intervals.next(millis(599)), Some(millis(600)));
        assert!(!intervals.end_at(millis(0)) && intervals.end_at(millis(300)));
        let delivered = |octets| FlowStatistics {
            receiver: weir_proto::endpoint::Statistics {
                payload_received: octets,
                ..Default::default()
            },
            ..FlowStatistics::default()
        };
        for (at, octets) in [(300, 3000), (600, 3000), (1000, 8000)] {
            let flow = (delivered(octets), IntervalDelays::default());
            intervals.end(millis(at), std::iter::once(flow));
        }
        let table = intervals.finish().next().expect("a flow");
        let goodput = table.numbers("goodput_bps").expect("a column");
        assert_eq!(goodput, [80_000.0, 0.0, 100_000.0]);
        assert!(table.numbers("one_way_delay_s").expect("a column")[0].is_nan());
    }
}
