//! The columns of `intervals/NAME`.

use crate::summary::FlowStatistics;
use crate::table::ColumnSpec;
use weir_net::IntervalDelays;
use weir_proto::time::{Duration, Instant};

/// A column of [`INTERVAL`].
pub type Interval = ColumnSpec<IntervalRow>;

/// A flow in one interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct IntervalRow {
    /// The end of the interval.
    pub(in crate::run) at: Instant,
    pub(in crate::run) length: Duration,
    /// Counters at its start and at its end.
    pub(in crate::run) before: FlowStatistics,
    pub(in crate::run) after: FlowStatistics,
    pub(in crate::run) delays: IntervalDelays,
}

/// `intervals/NAME`: a row for each interval of the run (`[run] interval`).
pub const INTERVAL: &[Interval] = &[
    Interval::number("time_s", "s", "the end of the interval", &|row| {
        row.at.as_secs_f64()
    }),
    Interval::number(
        "throughput_bps",
        "bit/s",
        "transport packets that the receiver got, acknowledgements included",
        &|row| row.rate(|receiver| receiver.bytes_received),
    )
    .plotted("throughput, bit/s", "throughput"),
    Interval::number(
        "goodput_bps",
        "bit/s",
        "application data delivered for the first time",
        &IntervalRow::goodput_bps,
    )
    .plotted("goodput, bit/s", "goodput"),
    Interval::number(
        "one_way_delay_s",
        "s",
        "mean one-way delay of the packets that arrived; none without a packet",
        &IntervalRow::one_way_delay_s,
    )
    .plotted("one-way delay, mean, s", "one-way delay"),
    Interval::number(
        "one_way_delay_max_s",
        "s",
        "largest one-way delay of the packets that arrived",
        &|row| known(row.delays.packets, row.delays.one_way_max),
    )
    .plotted("one-way delay, largest, s", "largest one-way delay"),
    Interval::number(
        "queueing_delay_s",
        "s",
        "mean time in queues of the packets that arrived; none without a packet",
        &|row| mean(row.delays.queueing_sum, row.delays.packets_queued),
    )
    .plotted("queueing delay, mean, s", "queueing delay"),
    Interval::number(
        "queueing_delay_max_s",
        "s",
        "longest time in queues of the packets that arrived",
        &|row| known(row.delays.packets_queued, row.delays.queueing_max),
    )
    .plotted("queueing delay, largest, s", "largest queueing delay"),
    Interval::count(
        "packets_received",
        "packets",
        "packets that the receiver got",
        &|row| row.after.receiver.packets_received - row.before.receiver.packets_received,
    ),
    Interval::count(
        "packets_lost",
        "packets",
        "packets that the transport found to be lost in this interval, also those that arrive after \
         all",
        &IntervalRow::packets_lost,
    ),
    Interval::count(
        "packets_late",
        "packets",
        "packets that arrived in this interval after they had been found to be lost (UDP, RTP): the \
         sums of packets_lost less this are packets_lost of the whole run",
        &|row| row.after.late() - row.before.late(),
    ),
    Interval::count(
        "marks",
        "packets",
        "packets that arrived with Congestion Experienced",
        &|row| row.delays.marks,
    ),
];

impl IntervalRow {
    /// The column `goodput_bps`.
    pub(in crate::run) fn goodput_bps(&self) -> f64 {
        self.rate(|receiver| receiver.payload_received)
    }

    /// The column `one_way_delay_s`.
    pub(in crate::run) fn one_way_delay_s(&self) -> f64 {
        mean(self.delays.one_way_sum, self.delays.packets)
    }

    /// The column `packets_lost`.
    pub(in crate::run) fn packets_lost(&self) -> u64 {
        self.after.found_lost() - self.before.found_lost()
    }

    fn rate(&self, octets: fn(&weir_proto::endpoint::Statistics) -> u64) -> f64 {
        let octets = octets(&self.after.receiver) - octets(&self.before.receiver);
        octets as f64 * 8.0 / self.length.as_secs_f64()
    }
}

fn mean(sum: Duration, packets: u64) -> f64 {
    // Without packets this is 0/0 = NaN, which means no value.
    sum.as_secs_f64() / packets as f64
}

/// A value of so many packets: none without a packet.
fn known(packets: u64, value: Duration) -> f64 {
    if packets > 0 {
        value.as_secs_f64()
    } else {
        f64::NAN
    }
}
