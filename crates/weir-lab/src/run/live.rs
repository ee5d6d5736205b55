//! What a run in progress shows at the end of each of its intervals: the values of the interval
//! tables, and the differences of the links' counters. Observing a run does not change it.

use crate::run::columns::IntervalRow;
use std::sync::Arc;
use weir_net::LinkCounters;
use weir_proto::time::{Duration, Instant};

/// The flows and the links of a state: the first ones of the scenario, because there may be many.
pub(in crate::run) const SHOWN: usize = 16;

/// Receives the states of a run, one after the other.
pub type LiveObserver = Arc<dyn Fn(&LiveState) + Send + Sync>;

/// A run in progress, over its last interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveState {
    /// The end of the interval.
    pub at: Instant,
    /// The end of the run.
    pub end: Instant,
    /// The first flows of the scenario.
    pub flows: Vec<LiveFlow>,
    /// The first directions of links and stations of the scenario.
    pub links: Vec<LiveLink>,
    /// The number of other flows.
    pub other_flows: usize,
}

/// A flow over an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveFlow {
    /// Its name.
    pub name: String,
    /// As the column of `intervals/NAME`.
    pub goodput_bps: f64,
    /// As the column; `None` without a packet.
    pub one_way_delay_s: Option<f64>,
    /// Packets that were found to be lost.
    pub packets_lost: u64,
}

/// A direction of a link, or a station of a medium, over an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveLink {
    /// Its name in traces.
    pub name: String,
    /// What arrived at the other end.
    pub rate_bps: f64,
    /// Mean octets in the queue.
    pub queue_bytes: f64,
    /// Packets that were dropped, for any reason.
    pub packets_dropped: u64,
}

/// An observer with the counters of the links at the end of the last interval.
pub(in crate::run) struct LiveView {
    observer: LiveObserver,
    end: Instant,
    since: Instant,
    links: Vec<LinkCounters>,
}

impl LiveView {
    /// A view of a run until this time.
    pub(in crate::run) fn new(observer: &LiveObserver, end: Instant) -> Self {
        Self {
            observer: Arc::clone(observer),
            end,
            since: Instant::ZERO,
            links: Vec::new(),
        }
    }

    /// Shows the interval that ends at this time: the names and the last rows of flows, and the
    /// names and the counters of links.
    pub(in crate::run) fn show<'a>(
        &mut self,
        at: Instant,
        mut flows: impl Iterator<Item = (&'a str, IntervalRow)>,
        links: impl Iterator<Item = (&'a str, LinkCounters)>,
    ) {
        let length = at.since(self.since);
        self.since = at;
        let mut state = LiveState {
            at,
            end: self.end,
            flows: flows.by_ref().take(SHOWN).map(flow).collect(),
            other_flows: flows.count(),
            ..LiveState::default()
        };
        for (number, (name, now)) in links.enumerate() {
            let before = if let Some(known) = self.links.get_mut(number) {
                std::mem::replace(known, now)
            } else {
                self.links.push(now);
                LinkCounters::default()
            };
            state.links.push(link(name, length, &before, &now));
        }
        (self.observer)(&state);
    }
}

fn flow((name, row): (&str, IntervalRow)) -> LiveFlow {
    LiveFlow {
        name: name.to_owned(),
        goodput_bps: row.goodput_bps(),
        one_way_delay_s: Some(row.one_way_delay_s()).filter(|delay| !delay.is_nan()),
        packets_lost: row.packets_lost(),
    }
}

fn link(name: &str, length: Duration, before: &LinkCounters, now: &LinkCounters) -> LiveLink {
    let nanos = length.as_nanos().max(1) as f64;
    let delivered = now.bytes_delivered.saturating_sub(before.bytes_delivered);
    let queued = (now.byte_nanos_queued).saturating_sub(before.byte_nanos_queued);
    LiveLink {
        name: name.to_owned(),
        rate_bps: delivered as f64 * 8e9 / nanos,
        queue_bytes: queued as f64 / nanos,
        packets_dropped: now
            .packets_dropped()
            .saturating_sub(before.packets_dropped()),
    }
}
