//! What a capture beside the receiver shows: what arrived, gaps that retransmissions fill, and
//! round trips from timestamps that the data echoes (RFC 7323 §4).

use super::super::rows::{Cell, Rows, rtt_cells};
use super::super::tables::PacketRow;
use super::records::{Acknowledgement, Data, FlowSetup, Log};
use crate::run::DeliveryRate;
use crate::table::Table;
use std::collections::{BTreeMap, VecDeque};
use weir_proto::cc::rtt::RttEstimator;
use weir_proto::time::{Duration, Instant};

/// The reordering timeout if no round trip is known, which is Wireshark's.
const DEFAULT_REORDERING_TIMEOUT: Duration = Duration::from_millis(3);
/// The number of timestamps whose echo is waited for.
const MAX_ECHOES: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct Receiver {
    next: u64,
    /// What has not arrived below `next`: its end, and when the data after it did.
    gaps: BTreeMap<u64, (u64, Instant)>,
    window: Option<u64>,
    rtt: RttEstimator,
    rate: DeliveryRate,
    rate_bps: Option<f64>,
    delivered: u64,
    /// Values of timestamps that acknowledge new data, and when they left first.
    echoes: VecDeque<(u32, Instant)>,
    last_value: Option<u32>,
    acknowledged: u64,
    rows: Rows,
}

impl Receiver {
    pub(super) fn new(setup: &FlowSetup) -> Self {
        let mut rtt = RttEstimator::default();
        if let Some(sample) = setup.handshake {
            rtt.on_sample(Instant::ZERO, sample);
        }
        Self {
            next: 0,
            gaps: BTreeMap::new(),
            window: None,
            rtt,
            rate: DeliveryRate::default(),
            rate_bps: None,
            delivered: 0,
            echoes: VecDeque::new(),
            last_value: None,
            acknowledged: 0,
            rows: Rows::default(),
        }
    }

    /// The end of the data that has arrived.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Data arrives; returns its kind: at the receiver all is data.
    pub(super) fn on_data(&mut self, now: Instant, data: &Data, log: &mut Log) -> &'static str {
        log.intervals.add_received(now, 1);
        if data.ce {
            log.intervals.add_mark(now);
        }
        if let Some(echo) = data.echo {
            self.on_echo(now, echo);
        }
        let mut new = 0;
        if data.start < self.next {
            let (octets, since) = self.fill(data.start, data.end.min(self.next));
            new += octets;
            let is_late = since.is_some_and(|since| now.since(since) >= self.reordering_timeout());
            if is_late {
                let segment = (data.start as f64, data.size);
                let row = PacketRow::lost(now, log.place, segment, "");
                log.losses.add(row, (data.start, data.end));
            }
        }
        if data.start > self.next {
            self.gaps.insert(self.next, (data.start, now));
        }
        if data.end > self.next {
            new += data.end - self.next.max(data.start);
            self.next = data.end;
        }
        self.delivered += new;
        log.intervals.add_delivered(now, new);
        "data"
    }

    /// A gap that is filled earlier is reordering: a retransmission takes a round trip at least.
    fn reordering_timeout(&self) -> Duration {
        let min = self.rtt.get().min;
        if min.is_zero() {
            DEFAULT_REORDERING_TIMEOUT
        } else {
            min * 4 / 5
        }
    }

    /// Takes these octets from the gaps: their number, and when the oldest of the gaps was found.
    fn fill(&mut self, start: u64, end: u64) -> (u64, Option<Instant>) {
        let (mut octets, mut since) = (0, None);
        while let Some((&from, &(until, found))) = self.gaps.range(..end).next_back()
            && until > start
        {
            self.gaps.remove(&from);
            if until > end {
                self.gaps.insert(end, (until, found));
            }
            if from < start {
                self.gaps.insert(from, (start, found));
            }
            octets += until.min(end) - from.max(start);
            since = Some(since.map_or(found, |since: Instant| since.min(found)));
        }
        (octets, since)
    }

    fn on_echo(&mut self, now: Instant, echo: u32) {
        while let Some((value, since)) = self.echoes.front().copied() {
            match echo.wrapping_sub(value) as i32 {
                0 => {
                    self.rtt.on_sample(now, now.since(since));
                    self.echoes.pop_front();
                    return;
                }
                1.. => self.echoes.pop_front(),
                _ => return,
            };
        }
    }

    /// An acknowledgement leaves.
    pub(super) fn on_ack(&mut self, now: Instant, ack: &Acknowledgement<'_>, log: &mut Log) {
        self.window = ack.window;
        if let (Some(&(start, end)), second) = (ack.sacks.first(), ack.sacks.get(1)) {
            let within = second.is_some_and(|second| start >= second.0 && end <= second.1);
            // RFC 2883 §4.
            if (end <= ack.ack || within) && log.losses.undo(start, end) {
                log.events.add(now, log.place, ("spurious", ""), None);
            }
        }
        let advances = ack.ack > self.acknowledged;
        self.acknowledged = self.acknowledged.max(ack.ack);
        if let Some(value) = ack
            .timestamp
            .filter(|value| self.last_value != Some(*value))
        {
            self.last_value = Some(value);
            // Only new data releases data that echoes the timestamp at once.
            if advances && self.echoes.len() < MAX_ECHOES {
                self.echoes.push_back((value, now));
            }
        }
        let span = self.rtt.smoothed().unwrap_or_default();
        self.rate_bps = self.rate.on_report(now, self.delivered, span);
        self.push_row(now);
    }

    fn push_row(&mut self, at: Instant) {
        let [rtt, smoothed_rtt, min_rtt] = rtt_cells(&self.rtt);
        let window = self.window.map(|window| window as f64);
        self.rows.push(&[
            ("time_s", Cell::Number(at.as_secs_f64())),
            ("rtt_s", rtt),
            ("smoothed_rtt_s", smoothed_rtt),
            ("receive_window_bytes", Cell::optional(window)),
            ("min_rtt_s", min_rtt),
            ("delivered_bytes", Cell::Number(self.delivered as f64)),
            ("delivery_rate_bps", Cell::optional(self.rate_bps)),
            ("event", Cell::Word("controller")),
        ]);
    }

    pub(super) fn finish(mut self) -> (Table, u64) {
        if self.rows.is_empty() {
            self.push_row(Instant::ZERO);
        }
        (self.rows.finish(), self.delivered)
    }
}
