//! Timeouts: in a row, or for packets that only came late.

use super::{Detector, any, each_flow};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Finding, Pathology, Statement};
use crate::diagnosis::view::{FlowView, View};

/// Timeouts in a row, and the wait after them.
pub(super) const STORM: Detector = Detector {
    about: &Pathology {
        kind: "timeout_storm",
        title: "consecutive timeouts",
        definition: "At least 3 timeouts follow each other without an acknowledgement between them. Not of TFRC.",
        citation: "RFC 6298 §5.5; RFC 9002 §6.2.1",
        needs: &[],
    },
    applies: any,
    examine: |view| each_flow(view, storm),
};

/// The window starts again from its minimum.
pub(super) const PERSISTENT: Detector = Detector {
    about: &Pathology {
        kind: "persistent_congestion",
        title: "persistent congestion",
        definition: "The rule persistent_congestion set the window at least once.",
        citation: "RFC 9002 §7.6",
        needs: &["limit"],
    },
    applies: any,
    examine: |view| each_flow(view, persistent),
};

/// A timeout for packets that were not lost.
pub(super) const SPURIOUS: Detector = Detector {
    about: &Pathology {
        kind: "spurious_timeout",
        title: "spurious timeout",
        definition: "The first timeout of a row, without a drop on the path or the reverse path in the second and \
                     three smoothed round trips before, is taken back within two base round trips and a \
                     second, or a round trip in the 3 s after it is longer than twice the smoothed one. Not \
                     of TFRC.",
        citation: "RFC 5682; RFC 3522 §1; RFC 4015",
        needs: &[],
    },
    applies: any,
    examine: |view| each_flow(view, spurious),
};

/// Timeouts in a row that are a storm.
const IN_A_ROW: f64 = 3.0;

fn storm(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let events = flow.events.as_ref()?;
    let words = events.words("event");
    let backoff = events.numbers("backoff")?;
    let is_timeout = |row: &usize| words.get(*row).is_some_and(|word| &**word == "timeout");
    let deepest = events.all().filter(is_timeout);
    let deepest = deepest.max_by(|a, b| backoff[*a].total_cmp(&backoff[*b]))?;
    if flow.is_tfrc() || backoff[deepest] + 1.0 < IN_A_ROW {
        return None;
    }
    let first = (0..deepest).rev().filter(is_timeout);
    let first = first
        .take_while(|row| backoff[*row] < backoff[deepest])
        .last();
    let rows = first.unwrap_or(deepest)..deepest + 1;
    let count = Statistic::CountOf("timeout".to_owned());
    let count = events.measure("event", rows.clone(), count)?;
    let times = events.times();
    let until = after_wait(flow, times[deepest]);
    let severity = ((until - times[rows.start]) / flow.main.end_s).clamp(0.0, 1.0);
    let symptom = Statement::new(
        "{} timeouts followed each other without an acknowledgement.",
        vec![count],
    );
    let finding = Finding::new(STORM.about, flow.name, severity.max(0.2), symptom);
    Some(finding.over([times[rows.start], until]))
}

/// When the controller next changed after a time.
fn after_wait(flow: &FlowView<'_>, at_s: f64) -> f64 {
    let times = flow.main.times();
    let next = times.get(times.partition_point(|time| *time <= at_s));
    next.copied().unwrap_or(flow.main.end_s)
}

fn persistent(_: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let mut limits = flow.main.words("limit").iter();
    let first = limits.position(|limit| &**limit == "persistent_congestion")?;
    let cwnd = flow.main.at("cwnd_bytes", first)?;
    let at = flow.main.times()[first];
    let symptom = Statement::new(
        "Persistent congestion was established, and the window started again from {}.",
        vec![cwnd],
    );
    let finding = Finding::new(PERSISTENT.about, flow.name, 0.85, symptom);
    Some(finding.over([at, after_wait(flow, at)]))
}

fn spurious(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    if flow.is_tfrc() {
        return None;
    }
    let events = flow.events.as_ref()?;
    let words = events.words("event");
    let times = events.times();
    let base = flow.base_s()?;
    let mut found = None;
    let mut count = 0;
    for (row, word) in words.iter().enumerate() {
        let at = times[row];
        let is_first = events
            .numbers("backoff")
            .is_none_or(|backoff| backoff[row] < 1.0);
        if &**word != "timeout" || !is_first || dropped_before(view, flow, at) {
            continue;
        }
        let undone = words.iter().zip(times).skip(row + 1);
        let mut undone = undone.take_while(|(_, time)| **time < at + 2.0 * base + 1.0);
        let is_undone = undone.any(|(word, _)| &**word == "spurious");
        if is_undone || is_late(flow, at) {
            count += 1;
            found.get_or_insert(row);
        }
    }
    let row = found?;
    let at = times[row];
    let timeouts = Statistic::CountOf("timeout".to_owned());
    let timeout = events.measure("event", row..row + 1, timeouts)?;
    let before = flow.main.within([at, at]);
    let smoothed = flow.main.at("smoothed_rtt_s", before.start)?;
    let after = flow.main.within([at, at + 2.0 * base + 2.0]);
    let most = flow.main.measure("rtt_s", after, Statistic::Most)?;
    let symptom = Statement::new(
        "{} timeout came while the smoothed round trip was {}, without a drop on the path; a round trip \
         then took {}.",
        vec![timeout, smoothed, most],
    );
    let severity = 0.8 + 0.05 * f64::from(count.min(4));
    let finding = Finding::new(SPURIOUS.about, flow.name, severity, symptom);
    Some(finding.over([at, after_wait(flow, at)]))
}

/// True if a link on the path or the reverse path dropped a packet in the second before.
fn dropped_before(view: &View<'_>, flow: &FlowView<'_>, at_s: f64) -> bool {
    let before = flow.main.within([at_s, at_s]).start;
    let smoothed = flow
        .main
        .numbers("smoothed_rtt_s")
        .and_then(|rtts| rtts.get(before));
    let span = [at_s - 1.0 - 3.0 * smoothed.copied().unwrap_or(0.0), at_s];
    let links = view.forward(flow).chain(view.backward(flow));
    let mut tables = links.filter_map(|link| link.rows.as_ref());
    tables.any(|rows| rows.grew("drops", span))
}

/// True if the first round trips after a timeout are longer than twice the smoothed one before.
fn is_late(flow: &FlowView<'_>, at_s: f64) -> bool {
    let before = flow.main.within([at_s, at_s]).start;
    let smoothed = flow
        .main
        .numbers("smoothed_rtt_s")
        .and_then(|rtts| rtts.get(before));
    let samples = flow.main.numbers("rtt_s").unwrap_or_default();
    let after = flow.main.within([at_s, at_s + 3.0]);
    let most = samples.get(after).unwrap_or_default().iter();
    let most = most.filter(|sample| sample.is_finite());
    let most = most.fold(0.0, |a: f64, b| a.max(*b));
    smoothed.is_some_and(|smoothed| most > 2.0 * smoothed)
}
