//! A rate that oscillates, and the rule that should reduce it.

use super::{Detector, each_flow, tfrc};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::view::{FlowView, Rows, View};

/// A rate that rises and falls with the queue.
pub(super) const OSCILLATION: Detector = Detector {
    about: &Pathology {
        kind: "rate_oscillation",
        title: "oscillating rate",
        definition: "After slow start the autocorrelation of the rate, after its first fall below zero, \
                     exceeds 0.4 again at a lag of more than 2 round trips, its coefficient of variation \
                     exceeds 0.15, and the queueing delay reaches 2 base round trips.",
        citation: "RFC 3448 §4.5; RFC 5348 §4.5",
        needs: &["allowed_rate_bps", "rtt_s"],
    },
    applies: tfrc,
    examine: |view| each_flow(view, oscillation),
};

/// Oscillation reduction that keeps the queue full.
pub(super) const HOLDS: Detector = Detector {
    about: &Pathology {
        kind: "oscillation_reduction_holds_queue",
        title: "oscillation reduction that keeps the queue full",
        definition: "After slow start the rule oscillation_reduction sets t_ipi for more than 20 % of the \
                     time, and the queueing delay that is exceeded for 95 % of the time is more than 0.3 \
                     of the median, 0.3 base round trips and 10 ms; the flow has more than half of the slowest \
                     link.",
        citation: "RFC 5348 §4.5; G. Renker, Oscillation Prevention in CCID-3, 2008",
        needs: &["rtt_s", "limit"],
    },
    applies: tfrc,
    examine: |view| each_flow(view, holds),
};

/// Oscillation reduction that slows slow start down.
pub(super) const IN_SLOW_START: Detector = Detector {
    about: &Pathology {
        kind: "oscillation_reduction_in_slow_start",
        title: "oscillation reduction in slow start",
        definition: "The rule oscillation_reduction sets t_ipi for more than 20 % of a slow start of at \
                     least 5 base round trips.",
        citation: "G. Renker, Oscillation Prevention in CCID-3, 2008, §3.3",
        needs: &["limit", "state"],
    },
    applies: tfrc,
    examine: |view| each_flow(view, in_slow_start),
};

const RULE: &str = "oscillation_reduction";

fn without_reduction(finding: Finding, flow: &FlowView<'_>) -> Finding {
    let rule = flow.setting("tfrc.oscillation");
    let start = flow.setting("tfrc.oscillation_in_slow_start");
    let modified = vec![(rule.clone(), "increase-only"), (start, "exempt")];
    finding
        .remedy(
            RemedyPlace::Sender,
            "oscillation reduction that only lengthens t_ipi, and not in slow start",
            Some(modified),
        )
        .remedy(
            RemedyPlace::Sender,
            "no oscillation reduction",
            Some(vec![(rule, "off")]),
        )
}

fn holds(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let base = flow.base.clone()?;
    let rows = flow.after_slow_start()?;
    let share = flow.main.share("limit", RULE, rows.clone())?;
    let quantile = |of| {
        flow.main
            .measure("rtt_s", rows.clone(), Statistic::Quantile(of))
    };
    let (low, middle) = (quantile(0.05)?, quantile(0.5)?);
    let (queue, median) = (low.value - base.value, middle.value - base.value);
    let is_full = queue > 0.3 * median && queue > 0.3 * base.value && queue > 0.010;
    if share.value < 0.2 || !is_full || !flow.fills_link() {
        return None;
    }
    let symptom = Statement::new(
        "The rule oscillation_reduction set t_ipi for {} of the time, and the round trip, {} without a \
         queue, took {} or more for 95 % of it and {} or more for half of it.",
        vec![share, base, low, middle],
    );
    let finding = Finding::new(HOLDS.about, flow.name, 0.8, symptom);
    Some(without_reduction(finding, flow))
}

fn in_slow_start(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let base = flow.base_s()?;
    let states = flow.main.words("state");
    let first = states.iter().position(|state| &**state == "slow_start")?;
    let end = states
        .iter()
        .skip(first)
        .position(|state| &**state == "congestion_avoidance");
    let rows = first..end.map_or(states.len(), |rows| first + rows);
    let length = flow
        .main
        .measure("time_s", rows.clone(), Statistic::Length)?;
    let share = flow.main.share("limit", RULE, rows)?;
    if share.value < 0.2 || length.value < 5.0 * base {
        return None;
    }
    let symptom = Statement::new(
        "Slow start took {}, and the rule oscillation_reduction set t_ipi for {} of it.",
        vec![length, share],
    );
    let finding = Finding::new(IN_SLOW_START.about, flow.name, 0.4, symptom);
    Some(without_reduction(finding, flow))
}

/// The number of samples from which the autocorrelation is computed.
const SAMPLES: usize = 1024;

fn oscillation(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let base = flow.base.clone()?;
    let rows = flow.after_slow_start()?;
    let measure = |column: &str, what| flow.main.measure(column, rows.clone(), what);
    let variation = measure("allowed_rate_bps", Statistic::Variation)?;
    let most = measure("rtt_s", Statistic::Most)?;
    let rtt = measure("rtt_s", Statistic::Mean)?;
    if variation.value < 0.15 || most.value - base.value < 2.0 * base.value {
        return None;
    }
    let span = [*flow.main.times().get(rows.start)?, flow.life()[1]];
    let period = period(&flow.main, span)?;
    if period.0 < 2.0 * rtt.value || period.1 < 0.4 {
        return None;
    }
    let mean = measure("allowed_rate_bps", Statistic::Mean)?;
    let severity = (2.0 * variation.value).clamp(0.45, 0.7);
    let symptom = Statement::new(
        "X varies around {} with a coefficient of variation of {}, and the round trip, {} without a \
         queue, grows to {}.",
        vec![mean, variation, base, most],
    );
    let finding = Finding::new(OSCILLATION.about, flow.name, severity, symptom);
    let set = vec![(flow.setting("tfrc.oscillation"), "full")];
    Some(finding.remedy(RemedyPlace::Sender, "oscillation reduction", Some(set)))
}

/// The lag in seconds and the height of the highest peak of the autocorrelation of X, after it has
/// first fallen below zero.
fn period(rows: &Rows<'_>, [from, to]: [f64; 2]) -> Option<(f64, f64)> {
    let (times, rate) = (rows.times(), rows.numbers("allowed_rate_bps")?);
    let step = (to - from) / SAMPLES as f64;
    let samples: Vec<f64> = (0..SAMPLES)
        .map(|number| {
            let at = from + step * number as f64;
            let row = times.partition_point(|time| *time <= at).saturating_sub(1);
            rate.get(row).copied().unwrap_or(0.0)
        })
        .collect();
    let mean = samples.iter().sum::<f64>() / SAMPLES as f64;
    let variance: f64 = samples.iter().map(|x| (x - mean) * (x - mean)).sum();
    let at_lag = |lag: usize| {
        let pairs = samples.iter().zip(samples.iter().skip(lag));
        let sum: f64 = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum();
        sum / variance * SAMPLES as f64 / (SAMPLES - lag) as f64
    };
    let fell = (1..SAMPLES / 2).find(|lag| at_lag(*lag) < 0.0)?;
    let peaks = (fell..SAMPLES / 2).map(|lag| (lag as f64 * step, at_lag(lag)));
    peaks.max_by(|a, b| a.1.total_cmp(&b.1))
}
