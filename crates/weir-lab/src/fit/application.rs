//! What the application wrote: as much as the transport took, or less.

use super::Subject;
use super::observed::Observed;
use super::rate::Rate;
use crate::diagnosis::Statistic;

/// The application held the sender if it did so for this share of the time.
const HELD_SHARE: f64 = 0.1;
/// A pause is longer than so many round trips and than this, in seconds.
const PAUSE_ROUND_TRIPS: f64 = 4.0;
const LEAST_PAUSE_S: f64 = 0.2;
/// So many pauses are a pattern.
const LEAST_PAUSES: usize = 3;
/// The receiver's window held the sender if it did so for this share of the time.
const CREDIT_SHARE: f64 = 0.05;

/// So much of the largest window is in flight where it holds the sender.
const USED_WINDOW: f64 = 0.5;

/// What the application wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Application {
    /// As much as the transport took.
    Bulk,
    /// At this rate, in bit/s of data.
    Constant(f64),
    /// At this rate for a time, then a pause; mean lengths in seconds.
    OnOff {
        rate_bps: f64,
        on_s: f64,
        off_s: f64,
    },
}

impl Application {
    /// What a flow shows of it.
    pub(super) fn of(subject: &Subject<'_>, observed: &Observed, rate: &Rate) -> Self {
        let is_named = share_of(subject, "application") > HELD_SHARE;
        let is_free = !rate.is_filled && observed.losses.is_empty();
        if !(is_named || is_free) || is_credit_bound(subject) {
            return Self::Bulk;
        }
        let octets = observed.acks.last().map_or(0.0, |ack| ack.delivered);
        let data_bps = |seconds: f64| octets * 8.0 / seconds.max(1e-9);
        let pauses = pauses(observed);
        let paused: f64 = pauses.iter().sum();
        if pauses.len() < LEAST_PAUSES {
            return Self::Constant(data_bps(observed.length_s));
        }
        let periods = pauses.len() as f64;
        let on = (observed.length_s - paused).max(1e-3);
        Self::OnOff {
            rate_bps: data_bps(on),
            on_s: on / periods,
            off_s: paused / periods,
        }
    }
}

/// The largest window of the receiver, in octets, if it held the sender.
pub(super) fn receive_window(subject: &Subject<'_>) -> Option<f64> {
    if !is_credit_bound(subject) {
        return None;
    }
    let table = subject.table("flows")?;
    let columns = ["receive_window_bytes", "bytes_in_flight"].into_iter();
    let mut most = columns.filter_map(|column| {
        Statistic::Most.of(table, column, 0..table.rows(), subject.trace.duration_s)
    });
    most.find(|most| *most > 0.0)
}

/// True if the receiver's window held the sender, and as much was in flight.
fn is_credit_bound(subject: &Subject<'_>) -> bool {
    let most = |column: &str| {
        let table = subject.table("flows")?;
        Statistic::Most.of(table, column, 0..table.rows(), subject.trace.duration_s)
    };
    let is_used = match (most("bytes_in_flight"), most("receive_window_bytes")) {
        (Some(flight), Some(window)) => flight >= USED_WINDOW * window,
        _ => true,
    };
    is_used && share_of(subject, "receiver_credit") > CREDIT_SHARE
}

/// The share of the time in which this held the sender.
fn share_of(subject: &Subject<'_>, bound: &str) -> f64 {
    let share = Statistic::ShareOf(bound.to_owned());
    let share = subject
        .table("flows")
        .and_then(|table| share.of(table, "bound", 0..table.rows(), subject.trace.duration_s));
    share.unwrap_or(0.0)
}

/// The lengths of the times in which nothing was sent, in seconds.
fn pauses(observed: &Observed) -> Vec<f64> {
    let times: Vec<f64> = if observed.sent.is_empty() {
        observed.acks.iter().map(|ack| ack.at_s).collect()
    } else {
        observed.sent.iter().map(|sent| sent.at_s).collect()
    };
    let gaps = times.windows(2).map(|pair| (pair[1], pair[1] - pair[0]));
    let is_pause = |(at_s, gap): &(f64, f64)| {
        *gap > LEAST_PAUSE_S.max(PAUSE_ROUND_TRIPS * observed.rtt_at(*at_s))
    };
    gaps.filter(is_pause).map(|(_, gap)| gap).collect()
}
