//! What a flow had, in a trace or in a run, and the one against the other.

use super::Subject;
use super::observed::Observed;
use crate::diagnosis::Statistic;
use schemars::JsonSchema;
use serde::Serialize;

/// What a flow had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Figures {
    /// Octets that arrived, in bit/s, as the trace counts them.
    pub goodput_bps: f64,
    /// The round trip that half of the time was above, in seconds.
    pub rtt_p50_s: f64,
    /// The round trip that a twentieth of the time was above, in seconds.
    pub rtt_p95_s: f64,
    /// The share of packets that was lost.
    pub loss: f64,
}

/// The trace against runs of the fitted path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Differences {
    /// The flow of the trace.
    pub trace: Figures,
    /// The flow of the runs: of each number the middle one.
    pub fitted: Figures,
    /// The smallest and the largest of each number of the runs.
    pub range: [Figures; 2],
    /// The number of runs.
    pub runs: u64,
    /// A run in which the packets of the trace are lost in place of those of a loss model, if there
    /// is one: what is left of the difference without chance.
    pub own_losses: Option<Figures>,
}

impl Figures {
    /// The figures of a flow.
    pub(super) fn of(subject: &Subject<'_>, observed: &Observed) -> Self {
        let end_s = observed.start_s + observed.length_s;
        let quantile = |share| {
            let table = subject.table("flows")?;
            let column = if observed.is_smoothed {
                "smoothed_rtt_s"
            } else {
                "rtt_s"
            };
            let times = table.numbers("time_s")?;
            let rows = times.partition_point(|time| *time <= end_s);
            Statistic::Quantile(share).of(table, column, 0..rows, end_s)
        };
        let (first, last) = (observed.acks.first(), observed.acks.last());
        let goodput = first.zip(last).map(|(first, last)| {
            (last.delivered - first.delivered) * 8.0 / (last.at_s - first.at_s).max(1e-9)
        });
        Self {
            goodput_bps: goodput.unwrap_or(0.0),
            rtt_p50_s: quantile(0.5).unwrap_or(0.0),
            rtt_p95_s: quantile(0.95).unwrap_or(0.0),
            loss: observed.losses.len() as f64 / observed.packets.max(1.0),
        }
    }
}

impl Figures {
    /// Goodput, median and 95th percentile of the round trip.
    const fn all(&self) -> [f64; 3] {
        [self.goodput_bps, self.rtt_p50_s, self.rtt_p95_s]
    }

    /// How much more of goodput, median and 95th percentile of the round trip these have than
    /// `trace`, as shares of its own.
    pub fn relative_to(&self, trace: &Self) -> [f64; 3] {
        let (own, trace) = (self.all(), trace.all());
        [0, 1, 2].map(|at| {
            if trace[at] > 0.0 {
                own[at] / trace[at] - 1.0
            } else {
                0.0
            }
        })
    }

    /// The figures of which each is that of the run at this share, from the smallest one on.
    pub(super) fn at(all: &[Self], share: f64) -> Self {
        let of = |number: fn(&Self) -> f64| {
            let mut values: Vec<f64> = all.iter().map(number).collect();
            values.sort_by(f64::total_cmp);
            let last = values.len().saturating_sub(1);
            values
                .get((share * last as f64) as usize)
                .copied()
                .unwrap_or(0.0)
        };
        Self {
            goodput_bps: of(|figures| figures.goodput_bps),
            rtt_p50_s: of(|figures| figures.rtt_p50_s),
            rtt_p95_s: of(|figures| figures.rtt_p95_s),
            loss: of(|figures| figures.loss),
        }
    }
}

impl Differences {
    /// How much more goodput, median and 95th percentile of the round trip have in the runs, as
    /// shares of those of the trace.
    pub fn relative(&self) -> [f64; 3] {
        self.fitted.relative_to(&self.trace)
    }
}
