//! The tables of a flow of packets: of a capture or of qlog.

use super::Vantage;
use super::rows::{Cell, Rows};
use crate::table::{Column, Table};
use std::borrow::Cow;
use std::collections::VecDeque;
use weir_proto::time::{Duration, Instant};

/// The number of retransmissions that a DSACK can name.
const REMEMBERED: usize = 4096;
/// The least number of intervals.
const INTERVALS: u64 = 200;

/// A packet of any flow.
#[derive(Clone, Debug)]
pub(super) struct PacketRow {
    pub(super) at: Instant,
    pub(super) place: &'static str,
    pub(super) event: &'static str,
    pub(super) number: f64,
    pub(super) size: u32,
    pub(super) reason: Cow<'static, str>,
    pub(super) content: &'static str,
    pub(super) packet_type: &'static str,
}

/// The end beside which a flow is traced. In the network, what is seen counts as the sender's.
pub(super) const fn place_of(vantage: Vantage) -> &'static str {
    match vantage {
        Vantage::Receiver => "receiver",
        Vantage::Sender | Vantage::Network => "sender",
    }
}

impl PacketRow {
    /// A packet of the flow's sender or of its receiver, as it is captured. In the network each
    /// packet is one that its sender has sent.
    pub(super) const fn captured(
        at: Instant,
        (vantage, of_sender): (Vantage, bool),
        (number, size): (f64, u32),
    ) -> Self {
        let event = match (vantage, of_sender) {
            (Vantage::Sender, false) | (Vantage::Receiver, true) => "received",
            _ => "sent",
        };
        Self {
            at,
            place: match (vantage, of_sender) {
                (Vantage::Network, false) => "receiver",
                _ => place_of(vantage),
            },
            event,
            number,
            size,
            reason: Cow::Borrowed(""),
            content: "",
            packet_type: "",
        }
    }

    /// A packet that is lost.
    pub(super) fn lost(
        at: Instant,
        place: &'static str,
        (number, size): (f64, u32),
        reason: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            at,
            place,
            event: "lost",
            number,
            size,
            reason: reason.into(),
            content: "",
            packet_type: "",
        }
    }
}

/// The packets of all flows.
#[derive(Debug, Default)]
pub(super) struct Packets {
    rows: Vec<(PacketRow, usize)>,
    flows: Vec<String>,
}

impl Packets {
    pub(super) fn add(&mut self, flow: &str, rows: Vec<PacketRow>) {
        let number = self.flows.len();
        self.flows.push(flow.to_owned());
        self.rows.extend(rows.into_iter().map(|row| (row, number)));
    }

    pub(super) fn finish(mut self) -> Option<Table> {
        // Stable: those of one flow at one time stay in their order.
        self.rows.sort_by_key(|(row, _)| row.at);
        let mut table = Rows::default();
        for (row, flow) in &self.rows {
            let flow = self.flows.get(*flow).map_or("", String::as_str);
            table.push(&[
                ("time_s", Cell::Number(row.at.as_secs_f64())),
                ("place", Cell::Word(row.place)),
                ("name", Cell::Word(flow)),
                ("event", Cell::Word(row.event)),
                ("number", Cell::Number(row.number)),
                ("size_bytes", Cell::Count(row.size.into())),
                ("reason", Cell::Word(&row.reason)),
                ("flow", Cell::Word(flow)),
                ("content", Cell::Word(row.content)),
                ("packet_type", Cell::Word(row.packet_type)),
            ]);
        }
        table.finish_some()
    }
}

/// What was lost, and taken back if it was not.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Each with a mark whether it was lost.
    rows: Vec<(PacketRow, bool)>,
    /// The octets of retransmissions and the index of the loss, the oldest first.
    recent: VecDeque<(u64, u64, usize)>,
}

impl Losses {
    pub(super) fn add(&mut self, row: PacketRow, octets: (u64, u64)) {
        self.remember(octets, self.rows.len());
        self.rows.push((row, true));
    }

    /// Octets that were sent again although they had arrived.
    pub(super) fn add_spurious(&mut self, octets: (u64, u64)) {
        self.remember(octets, usize::MAX);
    }

    fn remember(&mut self, (start, end): (u64, u64), index: usize) {
        if self.recent.len() >= REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back((start, end, index));
    }

    /// These octets arrived twice: the last retransmission of them was for nothing. False if the
    /// sender never sent them twice, as if the network had copied them.
    pub(super) fn undo(&mut self, start: u64, end: u64) -> bool {
        let named = |(from, until, _): &(u64, u64, usize)| *from < end && start < *until;
        let Some(place) = self.recent.iter().rposition(named) else {
            return false;
        };
        let index = self
            .recent
            .remove(place)
            .map_or(usize::MAX, |found| found.2);
        if let Some((_, lost)) = self.rows.get_mut(index) {
            *lost = false;
        }
        true
    }

    /// What was lost.
    pub(super) fn finish(self) -> Vec<PacketRow> {
        let rows = self.rows.into_iter().filter(|(_, lost)| *lost);
        rows.map(|(row, _)| row).collect()
    }
}

/// The counts of the intervals of a flow.
#[derive(Debug, Default)]
pub(super) struct Intervals {
    length: Duration,
    counts: Vec<Counts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    delivered: u64,
    lost: u64,
    packets: u64,
    marks: u64,
}

impl Intervals {
    /// The largest intervals of 1, 2 or 5 times a power of ten nanoseconds of which a file has at
    /// least 200; without any for a file without a length.
    pub(super) fn new(duration: Duration) -> Self {
        let duration = duration.as_nanos();
        let steps = (0..=18).flat_map(|power| [1, 2, 5].map(|step| step * 10_u64.pow(power)));
        let length = steps
            .take_while(|step| *step <= duration / INTERVALS)
            .last();
        let Some(length) = length else {
            return Self::default();
        };
        let count = usize::try_from(duration.div_ceil(length)).unwrap_or(0);
        Self {
            length: Duration::from_nanos(length),
            counts: vec![Counts::default(); count],
        }
    }

    fn at(&mut self, now: Instant) -> Option<&mut Counts> {
        let place = now.as_nanos().checked_div(self.length.as_nanos())?;
        // What happens at the very end belongs to the last interval.
        let last = self.counts.len().checked_sub(1)?;
        self.counts.get_mut(usize::try_from(place).ok()?.min(last))
    }

    pub(super) fn add_delivered(&mut self, now: Instant, octets: u64) {
        if let Some(counts) = self.at(now) {
            counts.delivered = counts.delivered.saturating_add(octets);
        }
    }

    pub(super) fn add_received(&mut self, now: Instant, packets: u64) {
        if let Some(counts) = self.at(now) {
            counts.packets = counts.packets.saturating_add(packets);
        }
    }

    pub(super) fn add_mark(&mut self, now: Instant) {
        if let Some(counts) = self.at(now) {
            counts.marks += 1;
        }
    }

    /// The table, with the losses among the packets of the flow, and without the columns that are
    /// not known.
    pub(super) fn finish(mut self, packets: &[PacketRow], unknown: &[&str]) -> Option<Table> {
        for row in packets.iter().filter(|row| row.event == "lost") {
            if let Some(counts) = self.at(row.at) {
                counts.lost += 1;
            }
        }
        let mut table = Rows::default();
        let length = self.length.as_secs_f64();
        for (number, counts) in self.counts.iter().enumerate() {
            let end = (number as u64 + 1).saturating_mul(self.length.as_nanos());
            let goodput = counts.delivered as f64 * 8.0 / length;
            table.push(&[
                (
                    "time_s",
                    Cell::Number(Instant::from_nanos(end).as_secs_f64()),
                ),
                ("goodput_bps", Cell::Number(goodput)),
                ("packets_lost", Cell::Count(counts.lost)),
                ("packets_received", Cell::Count(counts.packets)),
                ("marks", Cell::Count(counts.marks)),
            ]);
        }
        let mut table = table.finish_some()?;
        let is_known = |column: &Column| !unknown.contains(&column.name.as_str());
        table.columns.retain(is_known);
        Some(table)
    }
}

/// The events of a flow.
#[derive(Debug, Default)]
pub(super) struct Events {
    rows: Rows,
}

impl Events {
    pub(super) fn add(
        &mut self,
        at: Instant,
        place: &str,
        (event, detail): (&str, &str),
        backoff: Option<u32>,
    ) {
        self.rows.push(&[
            ("time_s", Cell::Number(at.as_secs_f64())),
            ("place", Cell::Word(place)),
            ("event", Cell::Word(event)),
            ("detail", Cell::Word(detail)),
            ("backoff", Cell::Number(backoff.map_or(f64::NAN, f64::from))),
        ]);
    }

    pub(super) fn finish(self) -> Option<Table> {
        self.rows.finish_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_have_round_lengths_and_a_number_that_a_plot_can_show() {
        let micros = [
            (4_000_000, 20_000),
            (5_828_000, 20_000),
            (298_000, 1000),
            (26_700_000, 100_000),
            (100_000_000, 500_000),
        ];
        for (duration, expected) in micros {
            let intervals = Intervals::new(Duration::from_micros(duration));
            let expected = Duration::from_micros(expected);
            assert_eq!(intervals.length, expected, "{duration}");
        }
        for exponent in -50..90 {
            let seconds = 10_f64.powf(f64::from(exponent) / 10.0);
            let rows = Intervals::new(Duration::from_secs_f64(seconds))
                .counts
                .len();
            assert!((200..=501).contains(&rows), "{seconds}: {rows}");
        }
    }

    /// 500 octets in the second of 200 intervals of 20 ms are 4000 bits in 0.02 s: 200 kbit/s. What
    /// happens at the end of the last interval belongs to it, and at the end of another to the
    /// next.
    #[test]
    fn what_happens_is_counted_in_its_interval() {
        let at = |millis: u64| Instant::from_nanos(millis * 1_000_000);
        let table = |unknown: &[&str]| {
            let mut intervals = Intervals::new(Duration::from_secs(4));
            intervals.add_delivered(at(20), 300);
            intervals.add_delivered(at(39), 200);
            intervals.add_received(at(0), 1);
            intervals.add_received(at(4000), 2);
            intervals.add_mark(at(40));
            let lost = PacketRow::lost(at(4000), "sender", (1.0, 100), "");
            let sent = PacketRow {
                event: "sent",
                ..lost.clone()
            };
            intervals.finish(&[lost.clone(), sent, lost], unknown)
        };
        let all = table(&[]).unwrap();
        assert_eq!(all.rows(), 200);
        let column = |name: &str| all.as_numbers(name).unwrap();
        assert_eq!(column("goodput_bps")[..3], [0.0, 200_000.0, 0.0]);
        let counts = [
            ("packets_lost", 199, 2.0, 2.0),
            ("packets_received", 199, 2.0, 3.0),
            ("marks", 2, 1.0, 1.0),
        ];
        for (name, row, value, sum) in counts {
            let values = column(name);
            assert_eq!((values[row], values.iter().sum()), (value, sum), "{name}");
        }
        let without = table(&["goodput_bps", "marks"]).unwrap();
        let names = without.columns.iter().map(|column| column.name.as_str());
        let names: Vec<_> = names.collect();
        assert_eq!(names, ["time_s", "packets_lost", "packets_received"]);
        assert!(Intervals::new(Duration::ZERO).finish(&[], &[]).is_none());
    }
}
