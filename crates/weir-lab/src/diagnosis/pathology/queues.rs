//! Queues that never empty, and senders that learn of them too late.

use super::{Detector, any, each_flow, tfrc};
use crate::diagnosis::finding::{Finding, Pathology, Statement};
use crate::diagnosis::losses::reductions;
use crate::diagnosis::statistic::Statistic;
use crate::diagnosis::view::{FlowView, LinkView, View};
use crate::lint::view::Control;
use weir_net::queue::CodelConfig;

/// A queue that never empties: bufferbloat.
pub(super) const STANDING: Detector = Detector {
    about: &Pathology {
        kind: "standing_queue",
        title: "standing queue (bufferbloat)",
        definition: "After slow start the round-trip time exceeds the base by more than 0.3 of it and more than a \
                     tenth of the median excess for 95 % of the time, and by more than 1.5 of the base and \
                     20 ms for half of the time, over at least 20 base round trips with 20 samples, in more than \
                     half of which congestion control holds the sender. Where the links have traces, the median of \
                     the fullest queue accounts for half of the median excess.",
        citation: "J. Gettys and K. Nichols, Bufferbloat: Dark Buffers in the Internet, 2011; RFC 7567 §2",
        needs: &["rtt_s"],
    },
    applies: any,
    examine: standing_queues,
};

/// Losses that tell a sender of a queue many round trips after it has grown.
pub(super) const LATE: Detector = Detector {
    about: &Pathology {
        kind: "late_notification",
        title: "late congestion notification",
        definition: "A rate-controlled sender goes on for more than 3 smoothed round trips, and for \
                     more than one and two of CoDel's intervals of 100 ms, after the queueing delay has \
                     exceeded the base round-trip time, until its loss event rate grows for the \
                     first time, and the delay then exceeds 4 base round trips.",
        citation: "G. Renker, DCCP CCID-3 over a wireless router, 2007; RFC 5348 §3.1; RFC 8289 §4.3",
        needs: &["rtt_s", "allowed_rate_bps", "loss_event_rate"],
    },
    applies: tfrc,
    examine: |view| each_flow(view, late),
};

/// Shares of the base round-trip time that the queue exceeds in a standing queue.
const LEAST_SHARE: f64 = 0.3;
const MEDIAN_SHARE: f64 = 1.5;
/// The median that a person notices, in seconds.
const MEDIAN_S: f64 = 0.020;
/// The base round trips over which a queue stands.
const ROUND_TRIPS: f64 = 20.0;

/// One finding for each queue that stands, at the flow that fills it: a controller with a model of
/// its path finds the queue there.
fn standing_queues(view: &View<'_>) -> Vec<Finding> {
    let found = view.flows.iter();
    let found = found.filter_map(|flow| Some((flow, standing(view, flow)?)));
    let mut found: Vec<(&FlowView<'_>, Finding)> = found.collect();
    found.sort_by(|(a, of_a), (b, of_b)| {
        let severity = || of_b.severity.total_cmp(&of_a.severity);
        a.has_model().cmp(&b.has_model()).then_with(severity)
    });
    let mut kept: Vec<(Option<&str>, Finding)> = Vec::new();
    for (flow, finding) in found {
        let queue = fullest(view, flow).map(|link| &*link.name);
        let mut others = kept.iter_mut();
        match others.find(|(other, _)| queue.is_some() && *other == queue) {
            Some((_, known)) => known.also.push(finding.subject),
            _ => kept.push((queue, finding)),
        }
    }
    kept.into_iter().map(|(_, finding)| finding).collect()
}

/// The samples of the round-trip time that are needed: one stays in the rows until the next.
const SAMPLES: usize = 20;

/// How often the round-trip time changes within some rows.
fn samples_in(flow: &FlowView<'_>, rows: &std::ops::Range<usize>) -> usize {
    let samples = flow.main.numbers("rtt_s").unwrap_or_default();
    let samples = samples.get(rows.clone()).unwrap_or_default();
    let changes = samples
        .windows(2)
        .filter(|pair| pair[0].to_bits() != pair[1].to_bits());
    changes.count()
}

fn standing(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let base = flow.base.clone()?;
    let rows = flow.after_slow_start()?;
    if flow.main.length(&rows) < ROUND_TRIPS * base.value || flow.control == Control::None {
        return None;
    }
    if !flow.is_controlled(&rows) || samples_in(flow, &rows) < SAMPLES {
        return None;
    }
    let quantile = |share| {
        flow.main
            .measure("rtt_s", rows.clone(), Statistic::Quantile(share))
    };
    let (least, median) = (quantile(0.05)?, quantile(0.5)?);
    let (low, mid) = (least.value - base.value, median.value - base.value);
    let stands = low > (LEAST_SHARE * base.value).max(0.1 * mid)
        && mid > (MEDIAN_SHARE * base.value).max(MEDIAN_S);
    if !stands {
        return None;
    }
    let severity = mid / (mid + 2.0 * base.value);
    let symptom = Statement::new(
        "The round trip takes {} or more for half of the time and {} or more for 95 % of it, on a \
         path of {} without a queue.",
        vec![median, least, base],
    );
    let finding = Finding::new(STANDING.about, flow.name, severity, symptom)
        .with_bbr(flow, "a controller that follows the delivery rate");
    let Some(link) = fullest(view, flow) else {
        return Some(finding);
    };
    let span = finding.span_s;
    let queue = link.rows.as_ref().and_then(|table| {
        let within = table.within(span);
        Some(vec![
            table.measure("queue_bytes", within.clone(), Statistic::Quantile(0.05))?,
            table.measure("queue_bytes", within, Statistic::Quantile(0.5))?,
        ])
    });
    if let (Some(queue), Some(rate)) = (&queue, flow.rate_bps())
        && queue[1].value * 8.0 / rate < 0.5 * mid
    {
        // What delays the packets is no queue of this link.
        return None;
    }
    let said = format!(
        "The queue of {} holds {{}} or more for 95 % of the time and {{}} for half of it.",
        link.name
    );
    let finding = finding.because(&said, queue);
    Some(with_short_queue(finding, flow, link))
}

/// The link on a flow's path whose queue held most.
fn fullest<'v>(view: &'v View<'v>, flow: &'v FlowView<'_>) -> Option<&'v LinkView<'v>> {
    let means = view
        .forward(flow)
        .filter_map(|link| Some((link, link.summary?.queue_bytes.mean)));
    let most = means.max_by(|a, b| a.1.total_cmp(&b.1));
    most.filter(|(_, mean)| *mean > 0.0).map(|(link, _)| link)
}

/// Queue disciplines that keep the queue short.
fn with_short_queue(finding: Finding, flow: &FlowView<'_>, link: &LinkView<'_>) -> Finding {
    finding
        .with_queue(link, "codel", "CoDel in the queue")
        .with_marks(flow, link)
        .with_queue(link, "fq_codel", "FQ-CoDel in the queue")
}

/// The round trips after which a notice comes late, and the base round trips that the queue then
/// exceeds.
const LATE_ROUND_TRIPS: f64 = 3.0;
const LATE_QUEUE: f64 = 4.0;

/// The share of a flow's life, or the base round trips, from which on a late notice matters more
/// than what follows it.
const LONG: f64 = 0.03;
const LONG_ROUND_TRIPS: f64 = 100.0;

fn late(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    if !flow.is_tfrc() {
        return None;
    }
    let base = flow.base.clone()?;
    let samples = flow.main.numbers("rtt_s")?;
    let first = reductions(view, flow)
        .into_iter()
        .find(|one| one.queue_s > base.value)?;
    let grown = (0..first.row)
        .rev()
        .find(|row| samples[*row] - base.value <= base.value);
    let rows = grown.map_or(0, |row| row + 1)..first.row;
    let length = flow
        .main
        .measure("time_s", rows.clone(), Statistic::Length)?;
    let rtt = flow
        .main
        .measure("smoothed_rtt_s", rows.clone(), Statistic::Mean)?;
    let most = flow.main.measure("rtt_s", rows.clone(), Statistic::Most)?;
    // Within two intervals CoDel has told of a standing queue, also if that was once below the
    // target meanwhile.
    let managed_s = 2.0 * CodelConfig::default().interval.as_secs_f64();
    let is_late = length.value > LATE_ROUND_TRIPS * rtt.value
        && length.value > rtt.value + managed_s
        && most.value - base.value > LATE_QUEUE * base.value;
    if !is_late {
        return None;
    }
    let lateness = LATE_ROUND_TRIPS * rtt.value / length.value;
    let long_s = LONG_ROUND_TRIPS * base.value;
    let symptom = Statement::new(
        "For {} the round trip, without a queue {}, grew to {} before the first loss told the \
         sender.",
        vec![length.clone(), base, most],
    );
    let rate = |statistic| {
        flow.main
            .measure("allowed_rate_bps", rows.clone(), statistic)
    };
    let rates = rate(Statistic::First).zip(rate(Statistic::Most));
    // Three round trips are hardly late, ten are.
    let [begin, end] = flow.life();
    let is_long = length.value > (LONG * (end - begin)).min(long_s);
    let severity = if is_long { 0.8 * (1.0 - lateness) } else { 0.4 };
    let mut finding = Finding::new(LATE.about, flow.name, severity, symptom).because(
        "Meanwhile the allowed rate X rose from {} to {}, because no equation held it.",
        rates.map(|(first, most)| vec![first, most]),
    );
    if let Some(link) = fullest(view, flow) {
        finding = with_short_queue(finding, flow, link);
    }
    Some(finding)
}
