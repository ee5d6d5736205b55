//! Slow start that ends too late or too early.

use super::{Detector, any, each_flow};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::losses::reductions;
use crate::diagnosis::view::{FlowView, View};

/// Slow start that overflows the queue.
pub(super) const OVERSHOOT: Detector = Detector {
    about: &Pathology {
        kind: "slow_start_overshoot",
        title: "slow-start overshoot",
        definition: "At the first reduction, in slow start, more than 10 % of the packets of a window, at \
                     least 10 packets and 1 % of all packets that the flow sends are lost within two \
                     smoothed round trips.",
        citation: "RFC 9406 §1; S. Ha and I. Rhee, Hybrid Slow Start, 2008",
        needs: &["cwnd_bytes"],
    },
    applies: any,
    examine: |view| each_flow(view, overshoot),
};

/// Slow start that ends before the path is full.
pub(super) const EARLY: Detector = Detector {
    about: &Pathology {
        kind: "early_slow_start_exit",
        title: "early exit from slow start",
        definition: "The first slow start of the only bulk flow over a link that is used for less than 95 % of the \
                     time ends with a window that was never half of the bandwidth-delay product, and the \
                     window stays below that for at least 10 base round trips.",
        citation: "RFC 9406 §4.3; RFC 5681 §3.1",
        needs: &["cwnd_bytes", "state"],
    },
    applies: any,
    examine: |view| each_flow(view, early),
};

/// The share of a window lost at once that is an overshoot, and the packets.
const LOST_SHARE: f64 = 0.1;
const LOST_PACKETS: f64 = 10.0;
/// The share of all packets that the loss is, below which it does not matter.
const SENT_SHARE: f64 = 0.01;

fn overshoot(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let cwnd = flow.main.numbers("cwnd_bytes")?;
    let first = reductions(view, flow).into_iter().next()?;
    let states = flow.main.words("state");
    let before = first.row.checked_sub(1)?;
    let is_start = states
        .get(before)
        .is_some_and(|state| &**state == "slow_start");
    let rtt = flow.main.numbers("smoothed_rtt_s")?.get(first.row)?;
    let intervals = flow.intervals.as_ref()?;
    let times = intervals.times();
    let from = times.partition_point(|time| *time < first.at_s);
    let until = times.partition_point(|time| *time < first.at_s + 2.0 * rtt) + 1;
    let rows = from..until.min(times.len());
    let lost = intervals.measure("packets_lost", rows, Statistic::Sum)?;
    let packets = cwnd.get(before)? / flow.packet_bytes();
    let sent = flow
        .summary
        .map_or(0.0, |summary| summary.packets_sent as f64);
    let matters = lost.value >= SENT_SHARE * sent;
    if !is_start || !matters || lost.value < LOST_PACKETS.max(LOST_SHARE * packets) {
        return None;
    }
    let window = flow.main.at("cwnd_bytes", before)?;
    let share = lost.value / packets;
    let symptom = Statement::new(
        "Slow start ended at {} with {} packets lost in two round trips.",
        vec![window, lost],
    );
    let span = [first.at_s, first.at_s + 2.0 * rtt];
    let severity = 0.09 * share.min(1.0);
    let finding = Finding::new(OVERSHOOT.about, flow.name, severity, symptom).over(span);
    let slow_start = flow.setting("overrides.search");
    let has_choice = ["tcp", "quic"].contains(&flow.transport);
    let set = has_choice.then(|| vec![(slow_start, "true")]);
    Some(finding.remedy(
        RemedyPlace::Sender,
        "slow start that ends when what arrives no longer doubles (SEARCH)",
        set,
    ))
}

fn early(view: &View<'_>, flow: &FlowView<'_>) -> Option<Finding> {
    let path = flow.bdp()?;
    let bdp = path.value;
    let cwnd = flow.main.numbers("cwnd_bytes")?;
    let states = flow.main.words("state");
    let started = states.iter().any(|state| &**state == "slow_start");
    let link = view.bottleneck(flow)?;
    let sharing = view.sharing(&link.name);
    let at = flow.slow_start_end_s();
    let row = flow
        .main
        .within([at, at])
        .end
        .min(cwnd.len().checked_sub(1)?);
    let is_small = *cwnd.get(row)? < 0.5 * bdp && cwnd[..row].iter().all(|w| *w < 0.5 * bdp);
    let is_idle = link
        .summary
        .is_none_or(|summary| summary.utilisation < 0.95);
    let alone = sharing.iter().filter(|other| other.is_bulk).count() == 1;
    if !started || !is_small || !is_idle || !alone || !flow.is_bulk || at >= flow.life()[1] {
        return None;
    }
    let grown = cwnd
        .iter()
        .skip(row)
        .position(|window| *window >= 0.5 * bdp);
    let end = grown.map_or(cwnd.len(), |rows| row + rows);
    let length = flow.main.measure("time_s", row..end, Statistic::Length)?;
    if length.value < 10.0 * flow.base_s()? {
        return None;
    }
    let window = flow.main.at("cwnd_bytes", row)?;
    let severity = (length.value / (flow.main.end_s - at)).clamp(0.1, 1.0);
    let symptom = Statement::new(
        "Slow start ended at {}, below half of the {} that the path holds, and the window stayed below \
         it for {}.",
        vec![window, path, length],
    );
    Some(Finding::new(EARLY.about, flow.name, severity, symptom))
}
