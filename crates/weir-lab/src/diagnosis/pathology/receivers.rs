//! Receivers that take no more data: closed windows, unread data, full buffers.

use super::{Detector, each_flow};
use crate::diagnosis::Statistic;
use crate::diagnosis::finding::{Evidence, Finding, Pathology, RemedyPlace, Statement};
use crate::diagnosis::view::FlowView;

/// A receive window that stays closed.
pub(super) const CLOSED: Detector = Detector {
    about: &Pathology {
        kind: "closed_window",
        title: "receive window that stays closed",
        definition: "The advertised window is zero for more than 5 % of a flow's life and for 200 ms at once, the \
                     least time after which a sender probes it; or, at the last sample of a socket, data waits \
                     unsent with nothing outstanding, the receiver's window has held it for a second or more, \
                     and the timer of window probes has backed off at least twice; or the windows of both directions are zero at the end of the trace, with nothing \
                     outstanding.",
        citation: "RFC 9293 §3.8.6.1; RFC 1122 §4.2.2.17; RFC 6429",
        needs: &["receive_window_bytes"],
    },
    applies: |flow| is_tcp(flow) && flow.counter("receiver_limited_s").is_none(),
    examine: |view| each_flow(view, |_, flow| closed(flow)),
};

/// Data that has arrived and is not read.
pub(super) const UNREAD: Detector = Detector {
    about: &Pathology {
        kind: "unread_data",
        title: "data that the application does not read",
        definition: "At the last sample of a socket, more than one octet waits in its receive queue, though the \
                     last data came at least a second before.",
        citation: "RFC 9293 §3.8.6; Linux net/ipv4/tcp_diag.c, tcp_diag_get_info (Recv-Q)",
        needs: &[],
    },
    applies: is_tcp,
    examine: |view| each_flow(view, |_, flow| unread(flow)),
};

/// A receive buffer that data out of order fills.
pub(super) const OUT_OF_ORDER: Detector = Detector {
    about: &Pathology {
        kind: "out_of_order_buffer",
        title: "receive buffer full of data out of order",
        definition: "At the last sample of a socket, at least 90 % of its receive buffer is used, nothing of it can \
                     be read, and segments wait out of order: the segment that is missing finds no room.",
        citation: "Linux net/ipv4/tcp_input.c, tcp_try_rmem_schedule and tcp_prune_ofo_queue; RFC 9293 §3.8.6",
        needs: &[],
    },
    applies: is_tcp,
    examine: |view| each_flow(view, |_, flow| out_of_order(flow)),
};

/// The share of a flow's life in which its window is closed, and the least time at once.
const CLOSED_SHARE: f64 = 0.05;
const CLOSED_S: f64 = 0.2;
/// The times that the timer of window probes has backed off.
const PROBES: f64 = 2.0;
/// How long the receiver's window held a socket that probes it, in seconds.
const HELD_S: f64 = 1.0;
/// How long data waits unread.
const UNREAD_S: f64 = 1.0;
/// The share of a receive buffer that is full.
const FULL: f64 = 0.9;

fn is_tcp(flow: &FlowView<'_>) -> bool {
    flow.transport == "tcp"
}

fn closed(flow: &FlowView<'_>) -> Option<Finding> {
    let found = closed_for_long(flow).or_else(|| probing(flow));
    let found = found.or_else(|| both_closed(flow))?;
    let text = "a receiver that reads what arrives: the network does not hold this flow";
    Some(found.advice(RemedyPlace::Receiver, text))
}

fn closed_for_long(flow: &FlowView<'_>) -> Option<Finding> {
    if !is_tcp(flow) {
        return None;
    }
    let windows = flow.main.numbers("receive_window_bytes")?;
    let alive = flow.alive();
    // Before the handshake of a run there is no window yet.
    let opened = windows.iter().position(|window| *window > 0.0);
    let first = if flow.declared.is_some() { opened? } else { 0 };
    let is_closed =
        |row: usize| windows.get(row) == Some(&0.0) && row >= first && alive.contains(&row);
    let episodes = flow.main.episodes(is_closed);
    let lengths = episodes.iter().map(|rows| flow.main.length(rows));
    let total: f64 = lengths.filter(|length| *length >= CLOSED_S).sum();
    let [begin, end] = flow.life();
    let share = total / (end - begin);
    let longest = flow.main.longest(is_closed)?;
    let length = flow
        .main
        .measure("time_s", longest.clone(), Statistic::Length)?;
    if share.is_nan() || share <= CLOSED_SHARE || length.value < CLOSED_S {
        return None;
    }
    let span = length.span_s?;
    let most = flow
        .main
        .measure("receive_window_bytes", longest.clone(), Statistic::Most)?;
    let share_of = Evidence::given("derived", "closed_share", share);
    let symptom = Statement::new(
        "The receiver advertised a window of {} for {} at once, and for {} of the time in all.",
        vec![most, length, share_of],
    );
    let probes = flow.events.as_ref().and_then(|events| {
        let rows = events.within(span);
        let probes = Statistic::CountOf("window_probe".to_owned());
        events.measure("event", rows, probes)
    });
    let probes = probes.filter(|probes| probes.value > 0.0);
    let finding = Finding::new(CLOSED.about, flow.name, share, symptom).because(
        "{} probes of the window did not open it.",
        probes.map(|probes| vec![probes]),
    );
    let is_last = longest.end >= alive.end;
    let at_end = flow.main.at("receive_window_bytes", longest.end - 1);
    Some(finding.because(
        "At the end of the trace it is still {}.",
        at_end.filter(|_| is_last).map(|window| vec![window]),
    ))
}

/// A socket that probes a closed window.
fn probing(flow: &FlowView<'_>) -> Option<Finding> {
    let (unsent, outstanding) = (
        flow.counter("unsent_bytes")?,
        flow.counter("unacknowledged_bytes"),
    );
    let probes = flow.counter("timeouts_in_a_row")?;
    let counters = flow.counters.as_ref()?;
    let timer = counters.words("timer").last().map_or("", |timer| timer);
    let is_probing = ["", "persist"].contains(&timer)
        && outstanding.is_none_or(|octets| octets.value <= 0.0)
        && probes.value >= PROBES;
    // A window that did not hold the sender is not closed: something else keeps its packets back.
    let held = flow.counter("receiver_limited_s");
    let is_held = held.map_or(timer == "persist", |held| held.value >= HELD_S);
    if !is_probing || !is_held || unsent.value <= 0.0 {
        return None;
    }
    let symptom = Statement::new(
        "{} wait to be sent, nothing is outstanding, and the timer that probes the receiver's window has \
         backed off {} times.",
        vec![unsent, probes],
    );
    let finding = Finding::new(CLOSED.about, flow.name, 0.9, symptom);
    let since = flow.counter("since_sent_s");
    Some(finding.because(
        "The last data was sent {} before.",
        since.map(|since| vec![since]),
    ))
}

/// Both ends wait for each other.
fn both_closed(flow: &FlowView<'_>) -> Option<Finding> {
    let own = flow.counter("own_window_bytes")?;
    let outstanding = flow.counter("unacknowledged_bytes")?;
    let last = flow.main.all().end.checked_sub(1)?;
    let window = flow.main.at("receive_window_bytes", last)?;
    if own.value > 0.0 || window.value > 0.0 || outstanding.value > 0.0 {
        return None;
    }
    let symptom = Statement::new(
        "At the end of the trace the peer's window is {} and the own one {}, and {} are outstanding: each \
         end waits for the other to open its window.",
        vec![window, own, outstanding],
    );
    Some(Finding::new(CLOSED.about, flow.name, 0.5, symptom))
}

fn unread(flow: &FlowView<'_>) -> Option<Finding> {
    let unread = flow.counter("unread_bytes")?;
    let since = flow.counter("since_received_s")?;
    if unread.value <= 1.0 || since.value < UNREAD_S {
        return None;
    }
    let symptom = Statement::new(
        "{} wait in the socket and are not read, though the last data came {} before.",
        vec![unread, since],
    );
    let text = "what the application that should read does: the network has delivered its data";
    let finding = Finding::new(UNREAD.about, flow.name, 0.8, symptom);
    Some(finding.advice(RemedyPlace::Receiver, text))
}

fn out_of_order(flow: &FlowView<'_>) -> Option<Finding> {
    let used = flow.counter("receive_memory_bytes")?;
    let limit = flow.counter("receive_memory_limit_bytes")?;
    let waiting = flow.counter("out_of_order_packets")?;
    let unread = flow.counter("unread_bytes")?;
    let is_full = used.value >= FULL * limit.value && limit.value > 0.0;
    if !is_full || waiting.value < 1.0 || unread.value > 0.0 {
        return None;
    }
    let symptom = Statement::new(
        "{} of a receive buffer of {} are used by {} segments out of order, and {} of it can be read.",
        vec![used, limit, waiting, unread],
    );
    let text = "a larger receive buffer (net.ipv4.tcp_rmem, or without SO_RCVBUF)";
    let finding = Finding::new(OUT_OF_ORDER.about, flow.name, 0.9, symptom);
    Some(finding.advice(RemedyPlace::Receiver, text))
}
