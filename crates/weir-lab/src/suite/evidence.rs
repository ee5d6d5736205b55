//! What a run shows of the controller under test.

use crate::run::{RunOutput, columns};
use crate::scenario::expectation::Reference;
use crate::table::Table;
use std::sync::Arc;

/// The states by which a controller shows that it is a BBR.
pub(super) const STATES: [&str; 7] = [
    "startup",
    "drain",
    "probe_bw_down",
    "probe_bw_cruise",
    "probe_bw_refill",
    "probe_bw_up",
    "probe_rtt",
];

/// A span of the run in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Span {
    pub(super) from: f64,
    pub(super) until: f64,
}

/// One run of one flow.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    /// A row at each change of the controller.
    pub(super) table: Table,
    times: Vec<f64>,
    states: Vec<Arc<str>>,
    delivered: Vec<f64>,
    /// The bottleneck's rate at the beginning.
    pub(super) rate_bps: f64,
    /// The round-trip time without a queue.
    pub(super) rtt_s: f64,
    /// The share of a full packet's octets that the transport counts.
    pub(super) octet_share: f64,
    /// The summary of the run as JSON.
    pub(super) summary: serde_json::Value,
}

impl Evidence {
    /// What the first flow of a run shows.
    pub(super) fn of(
        output: RunOutput,
        (rate_bps, rtt_s): (f64, f64),
        header: f64,
    ) -> Option<Self> {
        let flow = output.flows.into_iter().next()?;
        // A summary has only names and numbers, which JSON can hold.
        let summary = serde_json::to_value(&output.summary).unwrap_or_default();
        let table = flow.table.rows_with("event", columns::CONTROLLER_ROW);
        let times = table.as_numbers("time_s")?.into_owned();
        let delivered = table.as_numbers("delivered_bytes")?.into_owned();
        let states = table.words("state")?.to_vec();
        Some(Self {
            table,
            times,
            states,
            delivered,
            rate_bps,
            rtt_s,
            octet_share: (1500.0 - header) / 1500.0,
            summary,
        })
    }

    /// The time of the last row.
    pub(super) fn end_s(&self) -> f64 {
        self.times.last().copied().unwrap_or_default()
    }

    /// True if the controller names states of BBR.
    pub(super) fn has_states(&self) -> bool {
        self.states.iter().any(|state| STATES.contains(&&**state))
    }

    /// All states that follow each other, with their spans.
    pub(super) fn timeline(&self) -> Vec<(Arc<str>, Span)> {
        let mut timeline: Vec<(Arc<str>, Span)> = Vec::new();
        for (state, &time) in self.states.iter().zip(&self.times) {
            match timeline.last_mut() {
                Some((last, span)) if last == state => span.until = time,
                last => {
                    if let Some((_, span)) = last {
                        span.until = time;
                    }
                    let span = Span {
                        from: time,
                        until: time,
                    };
                    timeline.push((state.clone(), span));
                }
            }
        }
        timeline
    }

    /// The visits of a state that begin in the window.
    pub(super) fn visits(&self, state: &str, window: Span) -> Vec<Span> {
        let visits = self.timeline().into_iter();
        let visits = visits.filter(|(name, span)| &**name == state && window.contains(span.from));
        visits.map(|(_, span)| span).collect()
    }

    /// The parts of a state's visits that lie in the window.
    pub(super) fn stays(&self, state: &str, window: Span) -> Vec<Span> {
        let stays = self.timeline().into_iter();
        let stays = stays.filter(|(name, span)| {
            &**name == state && span.from <= window.until && span.until >= window.from
        });
        let clipped = stays.map(|(_, span)| Span {
            from: span.from.max(window.from),
            until: span.until.min(window.until),
        });
        clipped.collect()
    }

    /// The share of the window, as far as the run reaches into it, that is spent in a state.
    pub(super) fn time_share(&self, state: &str, window: Span) -> Option<f64> {
        let length = window.until.min(self.end_s()) - window.from;
        let stays = self.stays(state, window).into_iter();
        let spent: f64 = stays.map(|stay| stay.until - stay.from).sum();
        (length > 0.0).then(|| spent / length)
    }

    /// How often a state whose name begins with `next` follows directly on another in the window.
    pub(super) fn followed_by(&self, state: &str, next: &str, window: Span) -> usize {
        let timeline = self.timeline();
        let pairs = timeline.windows(2).filter(|pair| {
            &*pair[0].0 == state && pair[1].0.starts_with(next) && window.contains(pair[1].1.from)
        });
        pairs.count()
    }

    /// True if the column has a value at any time, or is of a model that the controller reports.
    pub(super) fn shows(&self, column: &str) -> bool {
        let values = self.table.as_numbers(column);
        values.is_some_and(|values| {
            columns::is_of_model(column) || values.iter().any(|value| !value.is_nan())
        })
    }

    /// The values of a column in a span, of this state only if one is given, each with the time for
    /// which it held.
    pub(super) fn values(&self, column: &str, span: Span, state: Option<&str>) -> Vec<(f64, f64)> {
        let Some(values) = self.table.as_numbers(column) else {
            return Vec::new();
        };
        // A bound of a model that is not set is beyond all.
        let is_bound = columns::MODEL_BOUNDS.contains(&column) && self.shows(column);
        let value_of = |value: f64| {
            if value.is_nan() && is_bound {
                f64::INFINITY
            } else {
                value
            }
        };
        let ends = self.times.iter().skip(1).copied();
        let ends = ends.chain([self.end_s()]);
        let rows = self.times.iter().zip(ends).zip(values.iter());
        let rows = rows.zip(&self.states).filter(|(((from, _), _), name)| {
            span.contains(**from) && state.is_none_or(|state| state == &***name)
        });
        rows.map(|(((from, until), value), _)| (value_of(*value), until.min(span.until) - from))
            .collect()
    }

    /// Octets delivered in some spans, as a rate in bits per second.
    pub(super) fn goodput_bps(&self, spans: &[Span]) -> Option<f64> {
        let at = |time: f64| {
            let row = self.times.partition_point(|row| *row <= time);
            let value = row.checked_sub(1).and_then(|row| self.delivered.get(row));
            value.copied().filter(|value| !value.is_nan())
        };
        let (mut octets, mut length) = (0.0, 0.0);
        for span in spans {
            let (from, until) = (span.from.max(0.0), span.until.min(self.end_s()));
            octets += at(until)? - at(from).unwrap_or_default();
            length += until - from;
        }
        (length > 0.0).then(|| octets * 8.0 / length)
    }

    /// What a multiple of this is a multiple of, in its basic unit.
    pub(super) fn reference(&self, reference: &Reference) -> f64 {
        let share = self.octet_share;
        match reference {
            Reference::Link => self.rate_bps * share,
            Reference::Bdp => self.rate_bps * share * self.rtt_s / 8.0,
            Reference::Rtt => self.rtt_s,
            Reference::Rate(rate, _) => rate.as_bps() * share,
        }
    }
}

impl Span {
    fn contains(self, time: f64) -> bool {
        (self.from..=self.until).contains(&time)
    }
}
