//! A followed direction of a DCCP connection.

use super::super::captures::Selected;
use super::super::rows::{Cell, Rows, rtt_cells};
use super::super::tables::{Events, Intervals, Losses, PacketRow, Packets, place_of};
use super::super::{ImportedFlow, Vantage};
use crate::trace::capture::DecodedPacket;
use std::collections::{BTreeMap, BTreeSet};
use weir_proto::cc::rtt::RttEstimator;
use weir_proto::dccp::wire::{DccpOption, Packet, PacketType, SeqNum};
use weir_proto::time::{Duration, Instant};

/// Packets with a higher number after which a missing one is lost (RFC 4341 §5; NDUPACK of RFC 5348
/// §5.1).
const NUMDUPACK: usize = 3;
/// The number of packets that are remembered until they are reported.
const MAX_OUTSTANDING: usize = 1 << 16;
/// A gap of more numbers is no loss of packets but another connection.
const MAX_GAP: u64 = 1 << 16;
/// Missing numbers for each packet that arrives, above which gaps are not listed: a few packets
/// must not fill the memory.
const MISSING_PER_PACKET: u64 = 16;
/// RFC 5348 §4.3: the weight of the past in the smoothed round trip.
const TFRC_WEIGHT: f64 = 0.9;
/// The unit of Elapsed Time and Timestamp Echo (RFC 4340 §13).
const TEN_MICROS: Duration = Duration::from_micros(10);

/// The smoothed round trip after a sample (RFC 5348 §4.3).
pub(super) fn smoothed(before: Option<f64>, sample: f64) -> f64 {
    let before = before.unwrap_or(sample);
    TFRC_WEIGHT * before + (1.0 - TFRC_WEIGHT) * sample
}

/// A packet that has left and is not reported.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Instant,
    size: u32,
    payload: u32,
}

/// The highest numbers that have arrived, at most NUMDUPACK.
#[derive(Debug, Default)]
struct NewestArrivals(BTreeSet<u64>);

impl NewestArrivals {
    fn add(&mut self, number: u64) {
        self.0.insert(number);
        if self.0.len() > NUMDUPACK {
            self.0.pop_first();
        }
    }

    fn highest(&self) -> Option<u64> {
        self.0.last().copied()
    }

    /// True if NUMDUPACK packets with higher numbers have arrived.
    fn shows_lost(&self, number: u64) -> bool {
        let least = self.0.first().filter(|_| self.0.len() == NUMDUPACK);
        least.is_some_and(|least| number < *least)
    }
}

/// A flow.
pub(super) struct Flow {
    selected: Selected,
    place: &'static str,
    /// The first number of each end, and the highest so far.
    first: [Option<SeqNum>; 2],
    highest: [SeqNum; 2],
    sent: BTreeMap<u64, Sent>,
    in_flight: u64,
    arrived: NewestArrivals,
    /// Beside the receiver, the numbers below the highest that have not arrived.
    missing: BTreeSet<u64>,
    /// How many more may be listed.
    listable: u64,
    delivered: u64,
    rtt: RttEstimator,
    smoothed_s: Option<f64>,
    feedback: Feedback,
    has_vector: bool,
    has_feedback: bool,
    rows: Rows,
    packets: Vec<PacketRow>,
    losses: Losses,
    intervals: Intervals,
    events: Events,
}

/// What the options of a packet report.
#[derive(Clone, Copy, Debug)]
struct Feedback {
    receive_rate_bps: f64,
    loss_event_rate: f64,
    elapsed: Duration,
}

impl Default for Feedback {
    fn default() -> Self {
        Self {
            receive_rate_bps: f64::NAN,
            loss_event_rate: f64::NAN,
            elapsed: Duration::ZERO,
        }
    }
}

impl Flow {
    pub(super) fn new(selected: Selected, duration: Duration) -> Self {
        Self {
            place: place_of(selected.vantage),
            selected,
            first: [None; 2],
            highest: [SeqNum::default(); 2],
            sent: BTreeMap::new(),
            arrived: NewestArrivals::default(),
            in_flight: 0,
            missing: BTreeSet::new(),
            listable: MAX_GAP,
            delivered: 0,
            rtt: RttEstimator::default(),
            smoothed_s: None,
            feedback: Feedback::default(),
            has_vector: false,
            has_feedback: false,
            rows: Rows::default(),
            packets: Vec::new(),
            losses: Losses::default(),
            intervals: Intervals::new(duration),
            events: Events::default(),
        }
    }

    /// Takes a packet of the connection that the end `side` sent.
    pub(super) fn on_packet(&mut self, now: Instant, side: usize, packet: &DecodedPacket<'_>) {
        let size = u32::try_from(packet.segment.length).unwrap_or(u32::MAX);
        let packet = &packet.decoded.packet;
        let of_sender = side == self.selected.side;
        let vantage = self.selected.vantage;
        let own = of_sender == (vantage != Vantage::Receiver);
        if let Some(state) = state_of(packet.kind, own) {
            self.events.add(now, self.place, ("state", state), None);
        }
        let Some(number) = self.number_of(usize::from(!of_sender), packet) else {
            return;
        };
        let content = match packet.kind {
            PacketType::Data | PacketType::DataAck => "data",
            PacketType::Ack => "acknowledgement",
            _ => "control",
        };
        self.packets.push(PacketRow {
            content,
            ..PacketRow::captured(now, (vantage, of_sender), (number as f64, size))
        });
        match (of_sender, vantage) {
            (true, Vantage::Receiver) => self.on_arrival(now, number, packet),
            (true, _) => self.on_departure(now, number, size, packet),
            (false, _) => self.on_report(now, packet),
        }
    }

    /// The number since the first of the end; `None` before it, or far away.
    fn number_of(&mut self, end: usize, packet: &Packet) -> Option<u64> {
        let (first, highest) = (self.first.get_mut(end)?, self.highest.get_mut(end)?);
        let seq = if packet.extended || first.is_none() {
            packet.seq
        } else {
            SeqNum::extend(packet.seq.short(), *highest)
        };
        let first = *first.get_or_insert_with(|| {
            *highest = seq;
            seq
        });
        let ahead = seq.since(*highest);
        if ahead > 0 {
            *highest = seq;
        }
        u64::try_from(seq.since(first)).ok()
    }

    fn on_departure(&mut self, now: Instant, number: u64, size: u32, packet: &Packet) {
        let payload = if packet.kind.carries_data() {
            packet.payload.len()
        } else {
            0
        };
        if self.sent.len() >= MAX_OUTSTANDING
            && let Some((_, sent)) = self.sent.pop_first()
        {
            self.in_flight -= u64::from(sent.payload);
        }
        let sent = Sent {
            at: now,
            size,
            payload,
        };
        let before = self.sent.insert(number, sent);
        self.in_flight += u64::from(payload);
        self.in_flight -= before.map_or(0, |before| u64::from(before.payload));
    }

    fn on_arrival(&mut self, now: Instant, number: u64, packet: &Packet) {
        self.intervals.add_received(now, 1);
        if packet.kind.carries_data() {
            let octets = u64::from(packet.payload.len());
            self.delivered += octets;
            self.intervals.add_delivered(now, octets);
        }
        self.missing.remove(&number);
        let last = self.arrived.highest();
        self.arrived.add(number);
        if last.is_none_or(|last| number > last) {
            let gap = last.map_or(0, |last| number - last - 1);
            if gap <= self.listable.min(MAX_GAP) {
                self.listable -= gap;
                self.missing.extend(number - gap..number);
            }
        }
        self.listable += MISSING_PER_PACKET;
        while let Some(missing) = self.missing.first().copied()
            && self.arrived.shows_lost(missing)
        {
            self.missing.remove(&missing);
            self.add_lost(now, missing, 0);
        }
    }

    fn add_lost(&mut self, now: Instant, number: u64, size: u32) {
        let row = PacketRow::lost(now, self.place, (number as f64, size), "packet_threshold");
        self.losses.add(row, (number, number + 1));
    }

    /// A packet of the data's receiver, with an acknowledgement number or without.
    fn on_report(&mut self, now: Instant, packet: &Packet) {
        let Some(ack) = packet.ack() else {
            return;
        };
        let (Some(first), highest) = (self.first[0], self.highest[0]) else {
            return;
        };
        let ack = if packet.extended {
            ack
        } else {
            SeqNum::extend(ack.short(), highest)
        };
        let Ok(ack) = u64::try_from(ack.since(first)) else {
            return;
        };
        let mut report = Feedback::default();
        let mut has_rate = false;
        for option in &packet.options {
            match option {
                DccpOption::ReceiveRate(octets) => {
                    report.receive_rate_bps = f64::from(octets) * 8.0;
                    has_rate = true;
                }
                // RFC 4342 §8.5: 2^32-1 is no loss.
                DccpOption::LossEventRate(u32::MAX) => report.loss_event_rate = 0.0,
                DccpOption::LossEventRate(packets) => {
                    report.loss_event_rate = 1.0 / f64::from(packets.max(1));
                }
                DccpOption::ElapsedTime(ticks)
                | DccpOption::TimestampEcho {
                    elapsed: Some(ticks),
                    ..
                } => report.elapsed = TEN_MICROS * u64::from(ticks),
                _ => {}
            }
        }
        if has_rate {
            self.has_feedback = true;
            let known = self.feedback.loss_event_rate;
            if report.loss_event_rate.is_nan() {
                report.loss_event_rate = known;
            }
            self.feedback = report;
        }
        if self.selected.vantage != Vantage::Receiver {
            self.take_sample(now, ack, report.elapsed);
            self.take_vectors(now, ack, packet);
        }
        self.push_row(now);
    }

    fn take_sample(&mut self, now: Instant, ack: u64, elapsed: Duration) {
        let Some(sent) = self.sent.get(&ack) else {
            return;
        };
        let passed = now.since(sent.at);
        // A receiver that says it waited longer than the round trip is not believed.
        let Some(sample) = passed.as_nanos().checked_sub(elapsed.as_nanos()) else {
            return;
        };
        let sample = Duration::from_nanos(sample);
        self.rtt.on_sample(now, sample);
        let sample = sample.as_secs_f64();
        self.smoothed_s = Some(smoothed(self.smoothed_s, sample));
        if !self.has_vector {
            // Without Ack Vectors nothing says which of the earlier packets arrived.
            self.forget_until(ack);
        }
    }

    /// RFC 4340 §11.4: cells from the acknowledgement number downwards, of a state and a run.
    fn take_vectors(&mut self, now: Instant, ack: u64, packet: &Packet) {
        let mut next = Some(ack);
        for option in &packet.options {
            let DccpOption::AckVector { cells, .. } = option else {
                continue;
            };
            self.has_vector = true;
            for cell in cells {
                let run = u64::from(cell & 0x3f) + 1;
                let is_missing = cell >> 6 == 3;
                for _ in 0..run {
                    let Some(number) = next else {
                        break;
                    };
                    next = number.checked_sub(1);
                    if !is_missing {
                        self.arrived.add(number);
                        self.deliver(now, number);
                    }
                }
            }
        }
        while let Some((&number, &sent)) = self.sent.first_key_value()
            && self.arrived.shows_lost(number)
        {
            self.sent.remove(&number);
            self.in_flight -= u64::from(sent.payload);
            self.add_lost(now, number, sent.size);
        }
    }

    fn deliver(&mut self, now: Instant, number: u64) {
        if let Some(sent) = self.sent.remove(&number) {
            let octets = u64::from(sent.payload);
            self.in_flight -= octets;
            self.delivered += octets;
            self.intervals.add_delivered(now, octets);
        }
    }

    fn forget_until(&mut self, number: u64) {
        while let Some(entry) = self
            .sent
            .first_entry()
            .filter(|entry| *entry.key() <= number)
        {
            self.in_flight -= u64::from(entry.remove().payload);
        }
    }

    fn push_row(&mut self, at: Instant) {
        let [rtt, of_acks, min_rtt] = rtt_cells(&self.rtt);
        let smoothed_rtt = if self.has_vector {
            of_acks
        } else {
            Cell::optional(self.smoothed_s)
        };
        let of_vector = |octets: u64| Cell::optional(self.has_vector.then_some(octets as f64));
        self.rows.push(&[
            ("time_s", Cell::Number(at.as_secs_f64())),
            (
                "receive_rate_bps",
                Cell::Number(self.feedback.receive_rate_bps),
            ),
            (
                "loss_event_rate",
                Cell::Number(self.feedback.loss_event_rate),
            ),
            ("rtt_s", rtt),
            ("smoothed_rtt_s", smoothed_rtt),
            ("bytes_in_flight", of_vector(self.in_flight)),
            ("min_rtt_s", min_rtt),
            ("delivered_bytes", of_vector(self.delivered)),
            // Of TFRC it is X_recv.
            (
                "delivery_rate_bps",
                Cell::Number(self.feedback.receive_rate_bps),
            ),
            ("event", Cell::Word("controller")),
        ]);
    }

    pub(super) fn finish(mut self, packets: &mut Packets) -> ImportedFlow {
        if self.rows.is_empty() {
            self.push_row(Instant::ZERO);
        }
        let Selected { name, vantage, .. } = self.selected;
        self.packets.extend(self.losses.finish());
        let at_receiver = vantage == Vantage::Receiver;
        let unknown: &[&str] = if at_receiver {
            &["marks"]
        } else {
            &["packets_received", "marks"]
        };
        let knows = self.has_vector || at_receiver;
        let intervals = self.intervals.finish(&self.packets, unknown);
        packets.add(&name, self.packets);
        let mut flow = ImportedFlow::new((name, "dccp"), vantage, self.rows.finish());
        flow.trace.events = self.events.finish();
        flow.trace.intervals = intervals.filter(|_| knows);
        flow.controller = self.has_feedback.then(|| "tfrc".to_owned());
        flow.delivered_bytes = knows.then_some(self.delivered as f64);
        flow
    }
}

/// The state of RFC 4340 §8.1 and §8.3 that an end enters with a packet that it sends (`own`) or
/// gets.
const fn state_of(kind: PacketType, own: bool) -> Option<&'static str> {
    match (kind, own) {
        (PacketType::Request, true) => Some("REQUEST"),
        (PacketType::Response, true) => Some("RESPOND"),
        (PacketType::Response, false) => Some("PARTOPEN"),
        (PacketType::Close, true) => Some("CLOSING"),
        (PacketType::CloseReq, true) => Some("CLOSEREQ"),
        (PacketType::Reset, false) => Some("TIMEWAIT"),
        (PacketType::Reset, true) => Some("CLOSED"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4340 §13.2: 1000 units of 10 µs, which the receiver waited, are no part of the 60 ms
    /// between packet and report.
    #[test]
    fn the_elapsed_time_is_not_part_of_the_round_trip() {
        let selected = Selected {
            name: "dccp-1".to_owned(),
            index: 0,
            side: 0,
            vantage: Vantage::Sender,
        };
        let mut flow = Flow::new(selected, Duration::from_secs(1));
        let number = SeqNum::new(100);
        (flow.first[0], flow.highest[0]) = (Some(number), number);
        let sent = Sent {
            at: Instant::ZERO,
            size: 100,
            payload: 0,
        };
        flow.sent.insert(0, sent);
        let mut report = Packet::new_ack(SeqNum::new(5), number);
        report.options.push(&DccpOption::ElapsedTime(1000));
        flow.on_report(Instant::from_nanos(60_000_000), &report);
        assert_eq!(flow.rtt.get().latest, Duration::from_millis(50));
    }
}
