//! Connections that stand still: nothing comes back, or large packets never arrive.

use super::{Detector, each_flow};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Evidence, Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::view::{FlowView, Rows};
use std::ops::Range;

/// Nothing that is sent is answered any more.
pub(super) const BLACK_HOLE: Detector = Detector {
    about: &Pathology {
        kind: "black_hole",
        title: "black hole: nothing is answered any more",
        definition: "To the end of an imported trace, octets are outstanding, at least 3 timeouts follow each \
                     other, or 2 after which 5 s pass, and no segment of the peer comes after the first of \
                     them; of a socket, 3 timeouts or window probes in a row, and the last acknowledgement \
                     came before the last transmission, by more than a quarter of the timeout that runs. Or, where only intervals are known, all of at least 3 s at the \
                     end carry nothing while at least 2 packets are sent again, and others before did.",
        citation: "RFC 9293 §3.8.3; RFC 1122 §4.2.3.5, R1; RFC 8899 §2",
        needs: &[],
    },
    applies: is_imported,
    examine: |view| {
        each_flow(view, |_, flow| {
            silent(flow).or_else(|| nothing_carried(flow))
        })
    },
};

/// Large packets never arrive.
pub(super) const PMTU: Detector = Detector {
    about: &Pathology {
        kind: "pmtu_black_hole",
        title: "black hole for large packets (path MTU)",
        definition: "To the end of a capture, at least 3 timeouts follow each other for a segment that is longer \
                     than every segment that was acknowledged, though shorter ones were, and segments of \
                     the peer come after the first of these timeouts.",
        citation: "RFC 2923 §2.1; RFC 4821 §1; RFC 8899 §4.3",
        needs: &[],
    },
    applies: is_imported,
    examine: |view| each_flow(view, |_, flow| large(flow)),
};

/// Timeouts in a row after which a peer counts as silent, and with a long wait after them.
const TIMEOUTS: f64 = 3.0;
const TIMEOUTS_WITH_WAIT: f64 = 2.0;
const WAIT_S: f64 = 5.0;
/// The share of the running timeout by which the last acknowledgement is older than the last
/// transmission, and the longest timeout of Linux (TCP_RTO_MAX), in seconds.
const OF_TIMEOUT: f64 = 0.25;
const LONGEST_TIMEOUT_S: f64 = 120.0;
/// The length of intervals without octets, and the packets sent again in them.
const NOTHING_S: f64 = 3.0;
const SENT_AGAIN: f64 = 2.0;

fn is_imported(flow: &FlowView<'_>) -> bool {
    flow.declared.is_none() && flow.transport == "tcp"
}

/// The rows of the counters from the first timeout of the row in which the trace ends.
fn last_timeouts(counters: &Rows<'_>) -> Option<Range<usize>> {
    let in_a_row = counters.table.as_numbers("timeouts_in_a_row")?;
    let last = in_a_row.len().checked_sub(1)?;
    let first = (0..=last)
        .rev()
        .take_while(|row| in_a_row[*row] >= 1.0)
        .last()?;
    // A row that follows a smaller count belongs to another row of timeouts.
    let begin = (first..=last).rev().find(|row| in_a_row[*row] <= 1.0);
    Some(begin.unwrap_or(first)..last + 1)
}

/// The numbers of a flow at whose end octets are outstanding after timeouts.
struct Waiting {
    rows: Range<usize>,
    outstanding: Evidence,
    timeouts: Evidence,
    since: Evidence,
}

fn waiting(flow: &FlowView<'_>) -> Option<Waiting> {
    let counters = flow.counters.as_ref().filter(|_| is_imported(flow))?;
    let octets = |column: &str| flow.counter(column).filter(|octets| octets.value > 0.0);
    let waiting = Waiting {
        rows: last_timeouts(counters)?,
        outstanding: octets("unacknowledged_bytes").or_else(|| octets("unsent_bytes"))?,
        timeouts: flow.counter("timeouts_in_a_row")?,
        since: flow.counter("since_heard_s")?,
    };
    Some(waiting)
}

/// True if the last acknowledgement of a socket came well before its last transmission.
fn is_unanswered(flow: &FlowView<'_>, waiting: &Waiting) -> Option<bool> {
    let counters = flow.counters.as_ref()?;
    let is_probing = counters.words("timer").last().map_or("", |timer| timer) == "persist";
    let timeout = flow.counter("rto_s")?.value;
    // The timer of window probes doubles a timeout that stays.
    let doubled = if is_probing {
        timeout * libm::exp2(waiting.timeouts.value)
    } else {
        timeout
    };
    let sent = flow.counter("since_sent_s").map_or(0.0, |sent| sent.value);
    let before = waiting.since.value - sent;
    Some(before >= OF_TIMEOUT * doubled.min(LONGEST_TIMEOUT_S))
}

/// The segments of the peer that came in the rows; `None` if the trace does not count them.
fn heard(counters: &Rows<'_>, rows: &Range<usize>) -> Option<Evidence> {
    counters.measure("heard_packets", rows.clone(), Statistic::Growth)
}

fn silent(flow: &FlowView<'_>) -> Option<Finding> {
    let counters = flow.counters.as_ref()?;
    let waiting = waiting(flow)?;
    let count = waiting.timeouts.value;
    let is_silent = match heard(counters, &waiting.rows) {
        Some(heard) => {
            let is_long = count >= TIMEOUTS_WITH_WAIT && waiting.since.value >= WAIT_S;
            heard.value <= 0.0 && (count >= TIMEOUTS || is_long)
        }
        None => count >= TIMEOUTS && is_unanswered(flow, &waiting)?,
    };
    if !is_silent {
        return None;
    }
    let [begin, end] = flow.life();
    let wait = waiting.since.value;
    let severity = (wait / (end - begin).max(wait)).clamp(0.3, 1.0);
    let symptom = Statement::new(
        "{} wait for an acknowledgement, or to be sent, after {} timeouts in a row, and nothing has come \
         from the peer for {}.",
        vec![waiting.outstanding, waiting.timeouts, waiting.since],
    );
    let lengths = lengths(flow);
    let finding = Finding::new(BLACK_HOLE.about, flow.name, severity, symptom);
    let finding = finding.over([(end - wait).max(begin), end]).because(
        "The segment that waits has {} of data, and the longest that was acknowledged {}: the path may \
         lose large packets.",
        lengths.map(<[Evidence; 2]>::into),
    );
    Some(finding.advice(
        RemedyPlace::Network,
        "whether the peer and the path live: a capture at the other end shows what arrives there",
    ))
}

/// The length of the oldest segment that waits and of the longest acknowledged, if it is longer.
fn lengths(flow: &FlowView<'_>) -> Option<[Evidence; 2]> {
    let oldest = flow.counter("oldest_bytes")?;
    let longest = flow.counter("longest_acknowledged_bytes")?;
    let is_longer = oldest.value > longest.value && longest.value > 0.0;
    is_longer.then_some([oldest, longest])
}

/// The last intervals in which nothing is carried.
fn nothing_carried(flow: &FlowView<'_>) -> Option<Finding> {
    let intervals = flow.intervals.as_ref().filter(|_| is_imported(flow))?;
    if flow.counters.is_some() {
        return None;
    }
    let carried = intervals.numbers("goodput_bps")?;
    let last = carried.iter().rposition(|rate| *rate > 0.0)?;
    let rows = last + 1..carried.len();
    let again = intervals.measure("packets_lost", rows.clone(), Statistic::Sum)?;
    let most = intervals.measure("goodput_bps", rows, Statistic::Most)?;
    // The times of intervals are their ends.
    let times = intervals.times();
    let length = times.last()? - times.get(last)?;
    if length < NOTHING_S || again.value < SENT_AGAIN {
        return None;
    }
    let span = [*times.get(last)?, *times.last()?];
    let length = Evidence::given("derived", "nothing_carried_s", length);
    let severity = length.value / flow.main.end_s;
    let symptom = Statement::new(
        "For the last {} the rate was {}, while {} packets were sent again.",
        vec![length, most, again],
    );
    let finding = Finding::new(BLACK_HOLE.about, flow.name, severity, symptom).over(span);
    Some(finding.advice(
        RemedyPlace::Network,
        "smaller packets: if a lower MTU at the sender helps, the path loses large ones; if it does \
         not, one direction of the path is broken",
    ))
}

fn large(flow: &FlowView<'_>) -> Option<Finding> {
    let counters = flow.counters.as_ref()?;
    let waiting = waiting(flow).filter(|waiting| waiting.timeouts.value >= TIMEOUTS)?;
    let heard = heard(counters, &waiting.rows).filter(|heard| heard.value > 0.0)?;
    let [oldest, longest] = lengths(flow)?;
    let span = [counters.times()[waiting.rows.start], flow.main.end_s];
    let severity = ((span[1] - span[0]) / flow.main.end_s).clamp(0.3, 1.0);
    let symptom = Statement::new(
        "{} timeouts in a row were for a segment with {} of data, while the longest that was acknowledged \
         has {}, and {} segments of the peer came meanwhile.",
        vec![waiting.timeouts, oldest, longest, heard],
    );
    let finding = Finding::new(PMTU.about, flow.name, severity, symptom).over(span);
    Some(finding.advice(
        RemedyPlace::Network,
        "a lower MTU or MSS clamping; net.ipv4.tcp_mtu_probing at the sender; let ICMP \
         \"fragmentation needed\" and \"packet too big\" pass",
    ))
}
