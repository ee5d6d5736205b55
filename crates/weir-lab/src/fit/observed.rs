//! What a trace shows of a flow, in one form whatever wrote it: acknowledgements with their round
//! trips and what had arrived by then, the packets sent with those that were lost, and the sizes of
//! packets.

use super::{FitError, Subject};
use crate::table::Table;
use crate::trace::import::Vantage;
use std::collections::BTreeMap;

/// Fewer acknowledgements with a round trip than these show no path.
pub(super) const LEAST_SAMPLES: usize = 20;
/// A receiver's timer makes a pause of more than so many usual times between acknowledgements.
const PAUSE: f64 = 3.0;
/// Times that differ by less than this are one, in seconds.
const SAME_TIME_S: f64 = 1e-6;
/// Octets of the IPv4 header, and of UDP's below QUIC.
const IP_HEADER: f64 = 20.0;
const UDP_HEADER: f64 = 8.0;
/// The usual MTU, in octets.
pub(super) const USUAL_MTU: f64 = 1500.0;
/// The header of a TCP segment with timestamps (RFC 7323), where the trace does not show it.
const TCP_HEADER: f64 = 32.0;
/// The option in it (RFC 7323 §3.2), padded.
const TIMESTAMPS: f64 = 12.0;
/// The header of a DCCP-Data packet with long sequence numbers (RFC 4340 §5.1); what arrived is
/// counted without it.
const DCCP_HEADER: f64 = 16.0;
/// The largest packet that is no bundle of the network card (TSO, GRO): a jumbo frame.
const LARGEST_PACKET: f64 = 9000.0;

/// A flow of a trace; times in seconds, sizes in octets, rates in bit/s.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    /// When the flow began: all times below count from then.
    pub(super) start_s: f64,
    /// How long it lasted.
    pub(super) length_s: f64,
    /// The acknowledgements that reported something new.
    pub(super) acks: Vec<Ack>,
    /// Packets with data in the order in which they were sent; empty if the trace has none.
    pub(super) sent: Vec<Sent>,
    /// When packets were sent that were lost, as well as the trace tells it.
    pub(super) losses: Vec<f64>,
    /// The number of losses of each interval and when its packets were sent; without packets.
    pub(super) lost_in_intervals: Vec<(f64, f64)>,
    /// The number of data packets, counted or computed.
    pub(super) packets: f64,
    /// A full packet.
    pub(super) packet: PacketSize,
    /// True if the round trips are smoothed ones, which hide the extremes.
    pub(super) is_smoothed: bool,
    /// True if the rows are samples at intervals longer than a round trip.
    pub(super) is_coarse: bool,
}

/// An acknowledgement, or a sample of the sender's state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub(super) at_s: f64,
    pub(super) rtt_s: f64,
    /// Octets that had arrived by then.
    pub(super) delivered: f64,
    /// How long a timer of the receiver may have held it back at most, in seconds.
    pub(super) held_s: f64,
}

impl Ack {
    pub(super) const fn new(at_s: f64, rtt_s: f64, delivered: f64) -> Self {
        Self {
            at_s,
            rtt_s,
            delivered,
            held_s: 0.0,
        }
    }
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at_s: f64,
    pub(super) is_lost: bool,
    /// Packets without data that were sent before it.
    pub(super) others: u64,
}

/// The size of a full packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PacketSize {
    /// From the IP header on.
    pub(super) wire: f64,
    /// What the trace counts of it as delivered.
    pub(super) counted: f64,
}

impl PacketSize {
    /// Octets on the wire for each octet that is counted.
    pub(super) fn overhead(self) -> f64 {
        self.wire / self.counted
    }
}

impl Observed {
    /// What the trace shows of this flow.
    pub(super) fn of(subject: &Subject<'_>) -> Result<Self, FitError> {
        let flow = subject.flow;
        let no_flow = || FitError::NoFlow(flow.to_owned());
        let table = subject.table("flows").ok_or_else(no_flow)?;
        let packets = subject.trace.tables.get("packets").map(AsRef::as_ref);
        let intervals = subject.table("intervals");
        // Our TCP has no timestamps.
        let timestamps = match (subject.declared, subject.transport.as_str()) {
            (Some(_), "tcp") => TIMESTAMPS,
            _ => 0.0,
        };
        let mut observed = Self {
            is_smoothed: table.numbers("rtt_s").is_none(),
            packet: PacketSize {
                wire: USUAL_MTU,
                counted: USUAL_MTU - headers(&subject.transport) + timestamps,
            },
            ..Self::default()
        };
        observed.add_acks(table, intervals);
        if let Some(packets) = packets {
            observed.add_packets(packets, flow, &subject.transport);
        }
        if observed.sent.is_empty() {
            observed.add_lost_in_intervals(intervals);
        }
        if observed.losses.is_empty() {
            observed.add_reported_losses(table);
        }
        observed.check(subject.vantage)?;
        observed.begin_at_zero();
        observed.is_coarse = observed.is_sampled();
        observed.find_delayed();
        Ok(observed)
    }

    /// Rows in which more has arrived than before; the rest of them is of the sender alone.
    fn add_acks(&mut self, table: &Table, intervals: Option<&Table>) {
        let times = table.numbers("time_s").unwrap_or_default();
        let column = if self.is_smoothed {
            "smoothed_rtt_s"
        } else {
            "rtt_s"
        };
        let rtts = table.numbers(column).unwrap_or_default();
        let delivered = table.as_numbers("delivered_bytes").unwrap_or_default();
        self.start_s = times.first().copied().unwrap_or(0.0);
        let rows = times.iter().zip(rtts).zip(delivered.iter());
        for ((at_s, rtt_s), delivered) in rows {
            self.push(Ack::new(*at_s, *rtt_s, *delivered));
        }
        if self.acks.len() >= LEAST_SAMPLES {
            return;
        }
        // Without a count of what arrived, what the intervals or the receiver's reports say.
        self.acks.clear();
        let ends = intervals.and_then(|table| table.numbers("time_s"));
        let goodput = intervals.and_then(|table| table.numbers("goodput_bps"));
        let reported = table.numbers("receive_rate_bps").unwrap_or_default();
        let has_goodput = goodput.is_some_and(|rates| rates.iter().any(|rate| *rate > 0.0));
        let (ends, rates) = match (ends, goodput) {
            (Some(ends), Some(rates)) if has_goodput => (ends, rates),
            _ => (times, reported),
        };
        let (mut before, mut octets) = (0.0, 0.0);
        for (end, rate) in ends.iter().zip(rates) {
            let more = rate * (end - before) / 8.0;
            octets += if more > 0.0 { more } else { 0.0 };
            before = *end;
            let row = times.partition_point(|time| time <= end);
            if let Some(rtt_s) = row.checked_sub(1).and_then(|row| rtts.get(row)) {
                self.push(Ack::new(*end, *rtt_s, octets));
            }
        }
    }

    fn push(&mut self, ack: Ack) {
        let is_known = ack.rtt_s.is_finite() && ack.rtt_s > 0.0 && ack.delivered.is_finite();
        // Before the first data the round trip is that of the handshake, whose packets are small.
        let before = self.acks.last().map_or(0.0, |last| last.delivered);
        let is_new = ack.delivered > before;
        if is_known && is_new && ack.at_s.is_finite() {
            self.acks.push(ack);
        }
    }

    /// The packets with data that the sender sent, with those that were lost.
    fn add_packets(&mut self, packets: &Table, flow: &str, transport: &str) {
        let rows = PacketRows::of(packets, flow);
        // The last two packets that began with each number.
        let mut by_number: BTreeMap<u64, [Option<usize>; 2]> = BTreeMap::new();
        let mut sizes = Sizes::default();
        let mut others = 0;
        for row in rows.rows.iter().copied() {
            let (at_s, number) = (rows.times[row], rows.numbers[row]);
            let is_data = matches!(rows.word("content", row), "data" | "retransmission" | "");
            match (rows.word("place", row), rows.word("event", row)) {
                ("sender", "sent") if is_data && number >= 0.0 => {
                    let same = by_number.entry(number as u64).or_default();
                    *same = [Some(self.sent.len()), same[0]];
                    sizes.add(number, rows.sizes[row]);
                    self.sent.push(Sent {
                        at_s,
                        is_lost: false,
                        others,
                    });
                }
                ("sender", "sent") => others += 1,
                ("receiver", "received") if is_data => sizes.add(number, rows.sizes[row]),
                ("sender", "lost") => {
                    let found = by_number.range(..=number.max(0.0) as u64).next_back();
                    let found = found.filter(|_| number >= 0.0).map(|(_, same)| *same);
                    // Of TCP a loss is told by the retransmission, which stands before it.
                    let found = found.unwrap_or_default().into_iter().flatten();
                    let mut before = found.filter(|index| self.sent[*index].at_s < at_s);
                    match before.next() {
                        Some(index) => self.sent[index].is_lost = true,
                        None => self.mark_sent_at(at_s - self.rtt_at(at_s)),
                    }
                }
                _ => {}
            }
        }
        self.packets = self.sent.len() as f64;
        let lost = self.sent.iter().filter(|sent| sent.is_lost);
        self.losses = lost.map(|sent| sent.at_s).collect();
        if let Some(size) = sizes.full(transport) {
            self.packet = size;
        }
    }

    /// Marks the packet that was sent last before a time as lost: for losses without a number.
    fn mark_sent_at(&mut self, at_s: f64) {
        let end = self.sent.partition_point(|sent| sent.at_s <= at_s);
        let mut before = self.sent[..end].iter_mut().rev();
        if let Some(sent) = before.find(|sent| !sent.is_lost) {
            sent.is_lost = true;
        }
    }

    /// The round trip that was known at a time.
    pub(super) fn rtt_at(&self, at_s: f64) -> f64 {
        let row = self.acks.partition_point(|ack| ack.at_s <= at_s);
        let known = self.acks.get(row.saturating_sub(1));
        known.map_or(0.0, |ack| ack.rtt_s)
    }

    /// Without packets: the losses of each interval, a round trip before its middle.
    fn add_lost_in_intervals(&mut self, intervals: Option<&Table>) {
        let octets = self.acks.last().map_or(0.0, |ack| ack.delivered);
        self.packets = octets / self.packet.counted;
        let Some(table) = intervals else {
            return;
        };
        let ends = table.numbers("time_s").unwrap_or_default();
        let lost = table.as_numbers("packets_lost").unwrap_or_default();
        let mut before = 0.0;
        for (end, lost) in ends.iter().zip(lost.iter()) {
            let middle = f64::midpoint(before, *end);
            let sent = middle - self.rtt_at(middle);
            let count = if lost.is_finite() { *lost as usize } else { 0 };
            self.lost_in_intervals.push((sent, count as f64));
            self.losses
                .extend(std::iter::repeat_n(sent, count.min(MOST_LOST)));
            before = *end;
        }
        self.packets += self.losses.len() as f64;
    }

    /// Without any loss at the sender: each rise of the loss event rate that the receiver reports
    /// (RFC 5348 §5) is one, a round trip before it.
    fn add_reported_losses(&mut self, table: &Table) {
        let times = table.numbers("time_s").unwrap_or_default();
        let rates = table.numbers("loss_event_rate").unwrap_or_default();
        let rises = rates.windows(2).zip(times.iter().skip(1));
        let rises = rises.filter(|(pair, _)| pair[1] > pair[0] * 1.000_001 && pair[1] > 0.0);
        let sent: Vec<f64> = rises.map(|(_, at_s)| at_s - self.rtt_at(*at_s)).collect();
        self.losses = sent;
    }

    fn check(&self, vantage: Vantage) -> Result<(), FitError> {
        let mut values: Vec<f64> = self.acks.iter().map(|ack| ack.rtt_s).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if self.acks.len() < LEAST_SAMPLES {
            return Err(FitError::TooShort(self.acks.len()));
        }
        if values.len() < 2 && vantage == Vantage::Receiver {
            return Err(FitError::NoRoundTrips);
        }
        Ok(())
    }

    /// Moves all times so that the flow begins at zero.
    fn begin_at_zero(&mut self) {
        if let Some(first) = self.sent.first() {
            self.start_s = self.start_s.min(first.at_s);
        }
        let start = self.start_s;
        self.acks.iter_mut().for_each(|ack| ack.at_s -= start);
        self.sent.iter_mut().for_each(|sent| sent.at_s -= start);
        self.losses.iter_mut().for_each(|at_s| *at_s -= start);
        self.lost_in_intervals
            .iter_mut()
            .for_each(|(at_s, _)| *at_s -= start);
        let last = [
            self.acks.last().map(|a| a.at_s),
            self.sent.last().map(|s| s.at_s),
        ];
        self.length_s = last.into_iter().flatten().fold(0.0, f64::max);
    }

    /// The packets in the usual step of what is acknowledged, which is the receiver's habit.
    pub(super) fn usual_step(&self) -> f64 {
        let pairs = self.acks.windows(2);
        let steps = pairs.map(|pair| (pair[1].delivered - pair[0].delivered) / self.packet.counted);
        let mut steps: Vec<f64> = steps.collect();
        steps.sort_by(f64::total_cmp);
        steps
            .get(steps.len() / 2)
            .copied()
            .unwrap_or(1.0)
            .round()
            .max(1.0)
    }

    /// Finds the acknowledgements that a timer of the receiver may have held back: of the last
    /// packet before a pause, as a later one that has arrived would be acknowledged too. Without
    /// packets, those that report one packet where several are usual.
    fn find_delayed(&mut self) {
        let pause = PAUSE * self.usual_time();
        let least = (self.usual_step() - 0.5).min(1.5) * self.packet.counted;
        let (mut before, mut before_s) = (0.0, 0.0);
        for ack in &mut self.acks {
            let gap = if self.sent.is_empty() {
                let is_usual = ack.delivered - before >= least;
                if is_usual { 0.0 } else { ack.at_s - before_s }
            } else {
                let sent_s = ack.at_s - ack.rtt_s;
                let next = self
                    .sent
                    .partition_point(|sent| sent.at_s <= sent_s + SAME_TIME_S);
                let next = self.sent.get(next);
                next.map_or(f64::INFINITY, |next| next.at_s - sent_s)
            };
            ack.held_s = if gap > pause { gap } else { 0.0 };
            (before, before_s) = (ack.delivered, ack.at_s);
        }
    }

    /// The time between two acknowledgements that half of them have at most, in seconds.
    pub(super) fn usual_time(&self) -> f64 {
        let pairs = self.acks.windows(2);
        let mut times: Vec<f64> = pairs.map(|pair| pair[1].at_s - pair[0].at_s).collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(0.0)
    }

    /// True if a typical row comes later than a round trip after the one before it.
    fn is_sampled(&self) -> bool {
        let late = self.acks.windows(2);
        let late = late.filter(|pair| pair[1].at_s - pair[0].at_s > pair[1].rtt_s);
        late.count() * 2 > self.acks.len()
    }
}

/// Losses of one interval that count: a trace with more is damaged.
const MOST_LOST: usize = 100_000;

/// Octets of a packet that carry no data that the trace counts, from the IP header on.
fn headers(transport: &str) -> f64 {
    match transport {
        "tcp" => IP_HEADER + TCP_HEADER,
        "dccp" => IP_HEADER,
        // What QUIC counts are its packets with their headers.
        _ => IP_HEADER + UDP_HEADER,
    }
}

/// The rows of a flow in the table of packets.
struct PacketRows<'a> {
    table: &'a Table,
    rows: Vec<usize>,
    times: &'a [f64],
    numbers: &'a [f64],
    sizes: Vec<f64>,
}

impl<'a> PacketRows<'a> {
    fn of(table: &'a Table, flow: &str) -> Self {
        let times = table.numbers("time_s").unwrap_or_default();
        let numbers = table.numbers("number").unwrap_or_default();
        let sizes = table
            .as_numbers("size_bytes")
            .unwrap_or_default()
            .into_owned();
        let flows = table.words("flow").unwrap_or_default();
        let rows = flows
            .len()
            .min(times.len())
            .min(numbers.len())
            .min(sizes.len());
        let rows = (0..rows).filter(|row| &*flows[*row] == flow).collect();
        Self {
            table,
            rows,
            times,
            numbers,
            sizes,
        }
    }

    fn word(&self, column: &str, row: usize) -> &'a str {
        let words = self.table.words(column).unwrap_or_default();
        words.get(row).map_or("", |word| word)
    }
}

/// The sizes of data packets, and how many have each.
#[derive(Debug, Default)]
struct Sizes {
    packets: BTreeMap<u64, f64>,
    /// The sizes less the data, of packets that another one follows without a hole.
    headers: BTreeMap<u64, usize>,
    before: Option<(f64, f64)>,
}

impl Sizes {
    fn add(&mut self, number: f64, size: f64) {
        *self.packets.entry(size as u64).or_default() += size;
        if let Some((before, size)) = self.before {
            let header = size - (number - before);
            if header > 0.0 && number > before {
                *self.headers.entry(header as u64).or_default() += 1;
            }
        }
        self.before = Some((number, size));
    }

    /// A full packet: the size in which most octets went; of bundles one packet of the usual MTU.
    fn full(&self, transport: &str) -> Option<PacketSize> {
        let by_octets = |(_, a): &(&u64, &f64), (_, b): &(&u64, &f64)| a.total_cmp(b);
        let (size, _) = self.packets.iter().max_by(by_octets)?;
        let size = *size as f64;
        if transport != "tcp" {
            let data = if transport == "dccp" {
                size - DCCP_HEADER
            } else {
                size
            };
            let wire = size + headers(transport);
            return (data > 0.0).then_some(PacketSize {
                wire,
                counted: data,
            });
        }
        let most = self.headers.iter().max_by_key(|(_, count)| **count);
        let header = most.map_or(TCP_HEADER, |(header, _)| *header as f64);
        // RFC 9293 §3.1: 20 to 60 octets.
        let header = if (20.0..=60.0).contains(&header) {
            header
        } else {
            TCP_HEADER
        };
        let wire = if size + IP_HEADER > LARGEST_PACKET {
            USUAL_MTU
        } else {
            size + IP_HEADER
        };
        let counted = wire - IP_HEADER - header;
        (counted > 0.0).then_some(PacketSize { wire, counted })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Column, Values};

    fn column(name: &str, values: Values) -> Column {
        Column {
            name: name.to_owned(),
            values,
        }
    }

    /// Packets of a flow: time, event, first octet and size, at its sender.
    fn packets(rows: &[(f64, &str, &str, f64, u64)]) -> Table {
        let text = |values: Vec<&str>| Values::Text(values.into_iter().map(Into::into).collect());
        let all = |word: &'static str| text(vec![word; rows.len()]);
        Table {
            columns: vec![
                column(
                    "time_s",
                    Values::F64(rows.iter().map(|row| row.0).collect()),
                ),
                column("place", all("sender")),
                column("flow", all("f")),
                column("event", text(rows.iter().map(|row| row.1).collect())),
                column("content", text(rows.iter().map(|row| row.2).collect())),
                column(
                    "number",
                    Values::F64(rows.iter().map(|row| row.3).collect()),
                ),
                column(
                    "size_bytes",
                    Values::U64(rows.iter().map(|row| row.4).collect()),
                ),
            ],
        }
    }

    /// Three segments of 1000 octets with headers of 20; the second is lost, and so is its first
    /// retransmission. A loss stands behind the retransmission that tells it, at the same time.
    #[test]
    fn a_loss_is_of_the_packet_before_the_retransmission() {
        let table = packets(&[
            (0.0, "sent", "control", 0.0, 20),
            (0.1, "sent", "data", 0.0, 1020),
            (0.2, "sent", "data", 1000.0, 1020),
            (0.3, "sent", "data", 2000.0, 1020),
            (0.4, "sent", "retransmission", 1000.0, 1020),
            (0.4, "lost", "", 1000.0, 1020),
            (0.6, "sent", "retransmission", 1000.0, 1020),
            (0.6, "lost", "", 1000.0, 1020),
        ]);
        let mut observed = Observed::default();
        observed.add_packets(&table, "f", "tcp");
        assert_eq!(observed.losses, [0.2, 0.4]);
        assert_eq!(observed.packets, 5.0);
        assert_eq!(observed.sent[0].others, 1);
        let size = PacketSize {
            wire: 1040.0,
            counted: 1000.0,
        };
        assert_eq!(observed.packet, size);
        let mut other = Observed::default();
        other.add_packets(&table, "another", "tcp");
        assert!(other.sent.is_empty());
    }

    /// Bundles of the network card (TSO) are packets of the usual MTU.
    #[test]
    fn a_bundle_is_no_packet() {
        let mut sizes = Sizes::default();
        for number in 0..4_u32 {
            sizes.add(f64::from(number) * 14_480.0, 14_512.0);
        }
        let full = sizes.full("tcp").unwrap();
        assert_eq!((full.wire, full.counted), (1500.0, 1448.0));
        assert!(Sizes::default().full("tcp").is_none());
    }

    /// Steps of two packets each 2 ms, and one of a single packet 40 ms later: a timer of the
    /// receiver. A single one in the usual time is a duplicate with a SACK block.
    #[test]
    fn a_single_packet_after_a_pause_was_held_back() {
        let steps = [(2, 2.0), (2, 2.0), (2, 1.0), (40, 1.0), (2, 2.0)];
        let (mut at_s, mut delivered) = (0.0, 0.0);
        let acks = steps.map(|(millis, packets)| {
            at_s += f64::from(millis) / 1e3;
            delivered += packets * 1000.0;
            Ack::new(at_s, 0.05, delivered)
        });
        let mut observed = Observed {
            acks: acks.to_vec(),
            packet: PacketSize {
                wire: 1040.0,
                counted: 1000.0,
            },
            ..Observed::default()
        };
        observed.find_delayed();
        let held = |observed: &Observed| -> Vec<u32> {
            let acks = observed.acks.iter();
            acks.map(|ack| (ack.held_s * 1e3).round() as u32).collect()
        };
        assert_eq!(held(&observed), [0, 0, 0, 40, 0]);
        // The packets that were sent tell it: only the one that another follows 40 ms later waits.
        let sent = [-0.048, -0.046, -0.044, -0.004, -0.002, 0.0].map(|at_s| Sent {
            at_s,
            is_lost: false,
            others: 0,
        });
        observed.sent = sent.to_vec();
        observed.find_delayed();
        assert_eq!(held(&observed), [0, 0, 40, 0, 0]);
    }
}
