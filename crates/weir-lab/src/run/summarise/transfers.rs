//! Transfers over separate connections: completion times and summary.

use crate::run::columns::{self, TransferRow};
use crate::run::network::{SimNetwork, SimTransfers};
use crate::run::record::connection_records::SenderRecord;
use crate::scenario::Transfer;
use crate::summary::{Distribution, FlowStatistics, TransferSummary};
use crate::table::{Table, TableRecorder};
use std::collections::BTreeMap;
use weir_net::DelayStatistics;
use weir_proto::time::{Duration, Instant};

/// The completion time of each transfer of a set.
fn completions(sim: &SimNetwork, set: &SimTransfers) -> Vec<TransferRow> {
    let row = |(transfer, completed): (Transfer, Option<Instant>)| TransferRow {
        transfer,
        completion: completed.map(|at| at.since(Instant::ZERO + transfer.start)),
    };
    sim.completions(set).map(row).collect()
}

/// The completion times in seconds of the transfers of a set that began after the warm-up.
pub(in crate::run) fn completion_times(
    sim: &SimNetwork,
    set: &SimTransfers,
    warmup: Duration,
) -> impl Iterator<Item = f64> {
    let rows = completions(sim, set).into_iter();
    let begun = rows.filter(move |row| row.transfer.start >= warmup);
    begun.filter_map(|row| Some(row.completion?.as_secs_f64()))
}

impl TransferSummary {
    /// The summary of this set, from these counters, after this warm-up and over this time.
    pub(in crate::run) fn of(
        sim: &SimNetwork,
        set: &SimTransfers,
        [before, after]: [&FlowStatistics; 2],
        [warmup, window]: [Duration; 2],
    ) -> Self {
        let rows = completions(sim, set);
        let begun = || rows.iter().filter(|row| row.transfer.start >= warmup);
        let times = || begun().filter_map(|row| row.completion);
        let rate = |of: fn(&FlowStatistics) -> u64| {
            let octets = of(after) - of(before);
            octets as f64 * 8.0 / window.as_secs_f64().max(1e-9)
        };
        Self {
            transfers: begun().count() as u64,
            completed: times().count() as u64,
            completion_time_s: Distribution::of(times().map(Duration::as_secs_f64)),
            size_bytes: Distribution::of(begun().map(|row| row.transfer.bytes as f64)),
            throughput_bps: rate(|of| of.receiver.bytes_received),
            goodput_bps: rate(|of| of.receiver.payload_received),
            packets_sent: after.sender.packets_sent - before.sender.packets_sent,
            packets_lost: after.lost_since(before),
            packets_received: after.receiver.packets_received - before.receiver.packets_received,
            retransmissions: after.sender.packets_retransmitted
                - before.sender.packets_retransmitted,
            timeouts: after.sender.timeouts - before.sender.timeouts,
            ..Self::default()
        }
    }
}

impl TransferSummary {
    /// Adds the packet delays of all its connections, if they were measured.
    pub(in crate::run) fn with_delays(self, delays: Option<&DelayStatistics>) -> Self {
        Self {
            one_way_delay_s: delays.and_then(|d| Distribution::of_histogram(&d.one_way)),
            queueing_delay_s: delays.and_then(|d| Distribution::of_histogram(&d.queueing)),
            jitter_s: delays.and_then(|d| Distribution::of_histogram(&d.jitter)),
            marks: delays.map_or(0, |delays| delays.marks),
            ..self
        }
    }

    /// Adds the records of the senders of all its connections.
    pub(in crate::run) fn with_senders(self, senders: Option<&SenderRecord>) -> Self {
        Self {
            rtt_s: senders.and_then(|of| Distribution::of_histogram(&of.rtts)),
            bound_share: senders.map_or_else(BTreeMap::new, |of| of.bounds.shares()),
            ..self
        }
    }
}

/// `transfers/NAME`: a row for each transfer.
pub(in crate::run) fn transfer_table(sim: &SimNetwork, set: &SimTransfers) -> Table {
    let mut table = TableRecorder::new(columns::TRANSFER);
    for row in completions(sim, set) {
        table.push(&row);
    }
    table.finish()
}
