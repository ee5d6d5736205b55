//! When a flow's controller slowed down, and what the network did just before.

use super::view::{FlowView, LinkView, View};
use weir_net::{QueueConfig, QueueLimit};

/// What the network did in the round-trip times before a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Drop {
    /// A queue was full, or its active queue management chose the packet.
    Queue,
    /// A policer dropped it.
    Policer,
    /// It was lost on the wire or in the air.
    Wire,
    /// A queue marked a packet.
    Mark,
    /// No drop and no mark.
    None,
    /// The links have no trace.
    Unknown,
}

/// A reduction of the window or the rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    pub(super) row: usize,
    pub(super) at_s: f64,
    /// The largest queueing delay in the round-trip time before, in seconds.
    pub(super) queue_s: f64,
    pub(super) drop: Drop,
    pub(super) is_timeout: bool,
    /// The octets in flight before, if the trace has them.
    pub(super) flight: Option<f64>,
    /// The packets lost in the smoothed round trip from it on, of a capture.
    pub(super) lost: f64,
}

/// Octets of a packet in a queue that counts packets.
const PACKET: f64 = 1500.0;

/// The reductions of a flow, in their order.
pub(super) fn reductions(view: &View<'_>, flow: &FlowView<'_>) -> Vec<Reduction> {
    let Some(base) = flow.base_s() else {
        return Vec::new();
    };
    let times = flow.main.times();
    let samples = flow.main.numbers("rtt_s").unwrap_or_default();
    let smoothed = flow.main.numbers("smoothed_rtt_s").unwrap_or_default();
    let limits = flow.main.words("limit");
    let flights = flow.main.numbers("bytes_in_flight").unwrap_or_default();
    let lost = lost_times(view, flow);
    let rows = if lost.is_empty() {
        reduced_rows(flow)
    } else {
        let rows = lost
            .iter()
            .map(|at| times.partition_point(|time| time < at));
        rows.filter(|row| *row < times.len()).collect()
    };
    let mut found: Vec<Reduction> = Vec::new();
    for row in rows {
        let at_s = times[row];
        let rtt = smoothed.get(row).copied().unwrap_or(base).max(base);
        // A round trip has one reduction.
        if found.last().is_some_and(|last| at_s - last.at_s < rtt) {
            continue;
        }
        let before = flow.main.within([at_s - rtt, at_s]);
        let queue = samples.get(before).unwrap_or_default().iter();
        let queue = queue.filter(|sample| sample.is_finite());
        let queue = queue.map(|sample| sample - base).fold(0.0, f64::max);
        let limit = limits.get(row).map_or("", |word| word);
        found.push(Reduction {
            row,
            at_s,
            queue_s: queue,
            drop: dropped(view, flow, [at_s - 2.5 * rtt, at_s]),
            is_timeout: ["timeout", "persistent_congestion"].contains(&limit)
                || timed_out(flow, at_s, &lost),
            flight: most(flights, flow.main.within([at_s - rtt, at_s])),
            lost: lost
                .iter()
                .filter(|at| **at >= at_s && **at < at_s + rtt)
                .count() as f64,
        });
    }
    found
}

/// The largest finite number of some rows.
fn most(numbers: &[f64], rows: std::ops::Range<usize>) -> Option<f64> {
    let numbers = numbers
        .get(rows)?
        .iter()
        .filter(|number| number.is_finite());
    numbers.copied().reduce(f64::max)
}

/// When a flow's sender sent again what was lost, of a capture, which shows no window: a loss event
/// stands for a reduction.
fn lost_times(view: &View<'_>, flow: &FlowView<'_>) -> Vec<f64> {
    let is_capture = flow.declared.is_none() && flow.transport == "tcp" && !flow.has("cwnd_bytes");
    let packets = view.trace.table("packets").filter(|_| is_capture);
    let Some((packets, times)) = packets.and_then(|table| Some((table, table.numbers("time_s")?)))
    else {
        return Vec::new();
    };
    let words = |name: &str| packets.words(name).unwrap_or_default().iter();
    let rows = words("event").zip(words("flow")).zip(times);
    let rows = rows.filter(|((event, of), _)| &***event == "lost" && &***of == flow.name);
    rows.map(|(_, at)| *at).collect()
}

/// True if a timeout of a capture is the moment at which something was sent again.
fn timed_out(flow: &FlowView<'_>, at_s: f64, lost: &[f64]) -> bool {
    let events = flow.events.as_ref().filter(|_| !lost.is_empty());
    events.is_some_and(|events| {
        let words = events.words("event").iter().zip(events.times());
        let mut timeouts = words.filter(|(word, _)| &***word == "timeout");
        timeouts.any(|(_, time)| (time - at_s).abs() < 1e-3)
    })
}

/// The rows in which the controller answers to a loss or a mark.
fn reduced_rows(flow: &FlowView<'_>) -> Vec<usize> {
    if flow.is_tfrc() {
        let p = flow.main.numbers("loss_event_rate").unwrap_or_default();
        let grown = p.windows(2).enumerate();
        let grown = grown.filter(|(_, pair)| pair[1] > pair[0] * 1.000_001 && pair[1] > 0.0);
        return grown.map(|(row, _)| row + 1).collect();
    }
    let limits = flow.main.words("limit");
    let cwnd = flow.main.numbers("cwnd_bytes").unwrap_or_default();
    let is_of = |row: usize, words: &[&str]| {
        let word = limits.get(row).map_or("", |word| word);
        words.contains(&word)
    };
    let at_once = |row| is_of(row, &["recovery", "timeout", "persistent_congestion"]);
    // The windows of these fall further with acknowledgements: only their beginning counts.
    let answers = |row| at_once(row) || is_of(row, &["rapid_start", "safe_retreat"]);
    let mut rows = Vec::new();
    for row in 1..cwnd.len() {
        let fell = cwnd[row] < 0.95 * cwnd[row - 1];
        let entered = answers(row) && !answers(row - 1);
        // A trace of another program has no rules.
        let fell_for = if limits.is_empty() {
            fell
        } else {
            fell && at_once(row)
        };
        if fell_for || entered {
            rows.push(row);
        }
    }
    rows
}

/// What the links on a flow's path did between two times.
fn dropped(view: &View<'_>, flow: &FlowView<'_>, span: [f64; 2]) -> Drop {
    let (mut seen, mut marked) = (false, false);
    for link in view.forward(flow) {
        let Some(rows) = &link.rows else {
            continue;
        };
        if rows.grew("drops", span) {
            return link.kind_of_drops(rows.within(span));
        }
        seen = true;
        marked |= rows.grew("marks", span);
    }
    match (seen, marked) {
        (false, _) => Drop::Unknown,
        (true, true) => Drop::Mark,
        (true, false) => Drop::None,
    }
}

impl LinkView<'_> {
    /// The kind of the drops in these rows, in which there are some.
    fn kind_of_drops(&self, rows: std::ops::Range<usize>) -> Drop {
        let Some(summary) = self.summary else {
            return Drop::Unknown;
        };
        let others = summary
            .drops
            .saturating_sub(summary.queue_drops + summary.wire_losses);
        let policed = self.direction.is_some_and(|d| d.policer.is_some()) && others > 0;
        let table = self.rows.as_ref().map(|rows| rows.table);
        let queue = table.and_then(|table| table.as_numbers("queue_bytes"));
        let queue = queue.as_deref().unwrap_or_default();
        let highest = queue.get(rows).unwrap_or_default();
        let highest = highest.iter().fold(0.0, |a: f64, b| a.max(*b));
        let full = self
            .limit_bytes()
            .is_some_and(|limit| highest + PACKET >= 0.8 * limit);
        let by_aqm = self.is_aqm() && highest > 0.0;
        match (summary.queue_drops > 0, summary.wire_losses > 0, policed) {
            (true, false, false) => Drop::Queue,
            // The summary does not count what was dropped before its warmup ended.
            (true, _, _) | (false, false, _) if full || by_aqm => Drop::Queue,
            (_, _, true) => Drop::Policer,
            _ => Drop::Wire,
        }
    }

    /// What its queue holds, in octets.
    pub(super) fn limit_bytes(&self) -> Option<f64> {
        let direction = self.direction?;
        let shaper = direction.shaper.as_ref();
        if let Some(bytes) = shaper.and_then(|shaper| shaper.limit) {
            return Some(bytes as f64);
        }
        Some(match direction.queue.limit() {
            QueueLimit::Packets(packets) => packets as f64 * PACKET,
            QueueLimit::Bytes(bytes) => bytes as f64,
        })
    }

    /// True if its queue drops or marks before it is full.
    pub(super) fn is_aqm(&self) -> bool {
        let queue = self.direction.map(|direction| &direction.queue);
        queue.is_some_and(|queue| !matches!(queue, QueueConfig::DropTail(_)))
    }
}
