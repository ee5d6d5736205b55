//! Goes through the events of a connection and fills the tables of the flow in the direction in
//! which most data goes.

use super::clock::instant;
use super::connections::Connection;
use super::contents::{Contents, TimeoutSource, is_initial_rtt};
use super::record::{APPLICATION, AckFrame, Loss, Metrics, Packet, Record, SPACES};
use super::rows::FlowRows;
use super::sent::{NewlyAcked, SentPackets, add_octets, content_of};
use super::stacks::{Stack, UNLIMITED};
use crate::run::DeliveryRate;
use crate::run::columns::{BOUND_ROW, CONTROLLER_ROW, TIMEOUT_ROW};
use crate::table::Table;
use crate::trace::import::Vantage;
use crate::trace::import::tables::{Events, Intervals, PacketRow, place_of};
use std::borrow::Cow;
use std::collections::BTreeMap;
use weir_proto::cc::rtt::RttEstimator;
use weir_proto::ranges::RangeSet;
use weir_proto::time::{Duration, Instant};

/// Probes of one timeout are sent together: within this time.
const PROBES_WITHIN: Duration = Duration::from_millis(1);

/// The tables of a connection.
pub(super) struct BuiltFlow {
    pub(super) table: Table,
    pub(super) events: Option<Table>,
    pub(super) intervals: Option<Table>,
    pub(super) packets: Vec<PacketRow>,
    /// Octets of data, if the file has the frames of packets.
    pub(super) data: Option<u64>,
}

pub(super) struct FlowBuilder<'a> {
    contents: &'a Contents,
    stack: Stack,
    unit_s: f64,
    place: &'static str,
    now: Instant,
    sent: SentPackets,
    received: BTreeMap<u64, RangeSet>,
    rtt: RttEstimator,
    rate: DeliveryRate,
    delivered: u64,
    data: u64,
    pto_count: u32,
    last_probe: Option<Instant>,
    app_limited: bool,
    blocked: bool,
    flow: FlowRows,
    events: Events,
    packets: Vec<PacketRow>,
    intervals: Intervals,
}

impl<'a> FlowBuilder<'a> {
    pub(super) fn new(
        connection: &Connection,
        contents: &'a Contents,
        stack: Stack,
        duration: Duration,
    ) -> Self {
        Self {
            contents,
            stack,
            unit_s: connection.head.unit_s(),
            place: place_of(if contents.sends {
                Vantage::Sender
            } else {
                Vantage::Receiver
            }),
            now: Instant::ZERO,
            sent: SentPackets::default(),
            received: BTreeMap::new(),
            rtt: RttEstimator::default(),
            rate: DeliveryRate::default(),
            delivered: 0,
            data: 0,
            pto_count: 0,
            last_probe: None,
            app_limited: false,
            blocked: false,
            flow: FlowRows::default(),
            events: Events::default(),
            packets: Vec::new(),
            intervals: Intervals::new(duration),
        }
    }

    /// Takes all events of the connection.
    pub(super) fn build(mut self, records: Vec<(f64, Record)>) -> BuiltFlow {
        for (seconds, record) in records {
            self.now = self.now.max(instant(seconds));
            self.take(record);
        }
        let contents = self.contents;
        let has_data = if contents.sends {
            contents.sent_frames && contents.acknowledgements
        } else {
            contents.received_frames
        };
        let unknown: &[&str] = if has_data {
            &["marks"]
        } else {
            &["marks", "goodput_bps"]
        };
        let intervals = self.intervals.finish(&self.packets, unknown);
        BuiltFlow {
            table: self.flow.finish(),
            events: self.events.finish(),
            intervals: intervals.filter(|_| contents.packets),
            packets: self.packets,
            data: has_data.then_some(self.data),
        }
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Metrics(metrics) => self.on_metrics(&metrics),
            Record::Congestion(state) if self.contents.sends => {
                self.app_limited = state
                    .new
                    .to_ascii_lowercase()
                    .contains("application_limited");
                self.flow.current.state = state.new;
                self.flow.current.limit = state.trigger;
                self.update_bound();
                self.flow.push(self.now, CONTROLLER_ROW);
            }
            Record::Sent(packet) => self.on_sent(&packet),
            Record::Received(packet) => self.on_received(&packet),
            Record::Lost(loss) => self.on_lost(&loss),
            Record::Acked(acked) if self.contents.sends => {
                let ranges: Vec<_> = acked.numbers.iter().map(|one| (*one, *one)).collect();
                let newly = self.sent.on_acked(acked.space, &ranges);
                self.on_newly_acked(newly, None);
            }
            Record::TimerExpired => self.on_timeout(None),
            Record::Connection(state) => {
                self.events
                    .add(self.now, self.place, ("state", &state), None);
            }
            Record::Spurious => self
                .events
                .add(self.now, self.place, ("spurious", ""), None),
            Record::AppLimited(limited) => {
                self.app_limited = limited;
                self.push_bound();
            }
            Record::Blocked(blocked) => {
                self.blocked = blocked;
                self.push_bound();
            }
            Record::Congestion(_) | Record::Acked(_) => {}
        }
    }

    fn on_metrics(&mut self, metrics: &Metrics) {
        if let Some(count) = metrics.pto_count {
            if self.contents.timeouts == TimeoutSource::Count && count > self.pto_count {
                self.on_timeout(Some(count - 1));
            }
            self.pto_count = count;
        }
        if !self.contents.sends {
            return;
        }
        let in_seconds = self.contents.rtt_in_seconds;
        let rtt_unit = if in_seconds { 1.0 } else { self.unit_s };
        let pacing_unit = if self.stack.paces_in_octets() {
            8.0
        } else {
            1.0
        };
        // Writers give zero to a round-trip time that has not been measured. Rounded to the
        // picosecond, which takes away the error of the unit.
        let set_rtt = |place: &mut f64, rtt: Option<f64>| {
            let rtt = rtt.filter(|rtt| !(in_seconds && is_initial_rtt(*rtt)) && *rtt > 0.0);
            *place = rtt.map_or(*place, |rtt| (rtt * rtt_unit * 1e12).round() / 1e12);
        };
        let set = |place: &mut f64, value: Option<f64>| {
            *place = value.filter(|value| *value >= 0.0).unwrap_or(*place);
        };
        let row = &mut self.flow.current;
        set_rtt(&mut row.rtt_s, metrics.latest_rtt);
        set_rtt(&mut row.smoothed_rtt_s, metrics.smoothed_rtt);
        set_rtt(&mut row.min_rtt_s, metrics.min_rtt);
        set(&mut row.cwnd_bytes, metrics.congestion_window);
        set(&mut row.bytes_in_flight, metrics.bytes_in_flight);
        let ssthresh = metrics.ssthresh.filter(|octets| *octets < UNLIMITED);
        set(&mut row.ssthresh_bytes, ssthresh);
        let pacing_rate = metrics.pacing_rate.map(|rate| rate * pacing_unit);
        set(&mut row.pacing_rate_bps, pacing_rate);
        if !self.contents.min_rtt {
            row.min_rtt_s = row.min_rtt_s.min(row.rtt_s);
        }
        if let Some(limited) = metrics.app_limited {
            self.app_limited = limited;
            self.update_bound();
        }
        self.flow.push(self.now, CONTROLLER_ROW);
    }

    fn on_sent(&mut self, packet: &Packet) {
        let content = self.sent.on_sent(self.now, packet);
        self.push_packet("sent", packet, content);
        if packet.is_probe && self.contents.timeouts == TimeoutSource::Probes {
            let since_probe = self.last_probe.map(|last| self.now.since(last));
            if since_probe.is_none_or(|since| since > PROBES_WITHIN) {
                self.on_timeout(None);
            }
            self.last_probe = Some(self.now);
        }
        if packet.frames.as_ref().is_some_and(|frames| frames.blocked) {
            self.blocked = true;
            self.push_bound();
        }
        self.push_flight();
    }

    /// Adds a row of the octets in flight if they come from packets, because no metric has them.
    fn push_flight(&mut self) {
        if self.computes_flight() {
            self.flow.current.bytes_in_flight = self.sent.in_flight() as f64;
            self.flow.push(self.now, CONTROLLER_ROW);
        }
    }

    const fn computes_flight(&self) -> bool {
        let contents = self.contents;
        contents.sends
            && contents.acknowledgements
            && contents.sent_sizes
            && !contents.bytes_in_flight
    }

    fn on_received(&mut self, packet: &Packet) {
        self.push_packet("received", packet, content_of(packet));
        let Some(frames) = &packet.frames else {
            if !self.contents.sends {
                self.on_arrived(packet, 0);
            }
            return;
        };
        if frames.credit && self.blocked {
            self.blocked = false;
            self.push_bound();
        }
        if self.contents.sends {
            for ack in &frames.acks {
                let newly = self.sent.on_acked(ack.space, &ack.ranges);
                self.on_newly_acked(newly, Some(ack));
            }
        } else {
            let streams = add_octets(&mut self.received, &frames.streams);
            self.on_arrived(packet, streams.saturating_add(frames.datagram_octets));
        }
    }

    /// Packets have arrived, at the traced receiver or as the traced sender is told, with octets
    /// that had not arrived before.
    fn add_delivered(&mut self, packets: u64, data: u64) {
        self.data = self.data.saturating_add(data);
        self.intervals.add_delivered(self.now, data);
        self.intervals.add_received(self.now, packets);
    }

    /// A packet has arrived at the traced receiver.
    fn on_arrived(&mut self, packet: &Packet, data: u64) {
        self.add_delivered(1, data);
        if let Some(size) = packet.size {
            self.delivered = self.delivered.saturating_add(u64::from(size));
            self.flow.current.delivered_bytes = self.delivered as f64;
        }
        self.flow.push(self.now, "");
    }

    /// An acknowledgement has arrived at the traced sender.
    fn on_newly_acked(&mut self, newly: NewlyAcked, ack: Option<&AckFrame>) {
        if newly.packets == 0 {
            return;
        }
        self.add_delivered(newly.packets, newly.data);
        if let Some(sent_at) = newly.largest_sent_at {
            self.take_rtt(self.now.since(sent_at), ack);
        }
        if self.contents.sent_sizes {
            self.delivered = self.delivered.saturating_add(newly.octets);
            let row = &mut self.flow.current;
            row.delivered_bytes = self.delivered as f64;
            let reported = Some(row.smoothed_rtt_s).filter(|rtt| rtt.is_finite());
            let reported = reported.map(Duration::from_secs_f64);
            if let Some(span) = reported.or(self.rtt.smoothed()) {
                let rate = self.rate.on_report(self.now, self.delivered, span);
                row.delivery_rate_bps = rate.unwrap_or(row.delivery_rate_bps);
            }
        }
        if self.computes_flight() {
            self.flow.current.bytes_in_flight = self.sent.in_flight() as f64;
        }
        self.flow.push(self.now, CONTROLLER_ROW);
    }

    /// Takes the time from sending a packet to its acknowledgement (RFC 9002 §5). The delay is not
    /// limited to max_ack_delay, which few files have.
    fn take_rtt(&mut self, sample: Duration, ack: Option<&AckFrame>) {
        if sample.is_zero() {
            return;
        }
        let is_1rtt = ack.is_none_or(|ack| ack.space % SPACES == APPLICATION);
        let delay = ack.and_then(|ack| ack.delay).filter(|_| is_1rtt);
        let delay = delay.filter(|_| !self.stack.has_raw_ack_delay());
        let delay = Duration::from_secs_f64(delay.unwrap_or_default() * self.unit_s);
        let adjusted = self.rtt.on_delayed_sample(self.now, sample, delay);
        if self.contents.latest_rtt {
            return;
        }
        let row = &mut self.flow.current;
        row.rtt_s = adjusted.as_secs_f64();
        if !self.contents.min_rtt {
            row.min_rtt_s = row.min_rtt_s.min(row.rtt_s);
        }
    }

    fn on_lost(&mut self, loss: &Loss) {
        let number = loss.number;
        let size = number.and_then(|number| self.sent.on_lost(loss.space, number));
        let number = number.map_or(f64::NAN, |number| number as f64);
        for _ in 0..loss.packets {
            let of_packet = (number, size.unwrap_or_default());
            let reason = Cow::Owned(loss.trigger.to_string());
            let row = PacketRow::lost(self.now, self.place, of_packet, reason);
            self.packets.push(PacketRow {
                packet_type: loss.packet_type,
                ..row
            });
        }
        self.push_flight();
    }

    fn on_timeout(&mut self, backoff: Option<u32>) {
        self.events
            .add(self.now, self.place, ("timeout", ""), backoff);
        if self.contents.sends {
            self.flow.push(self.now, TIMEOUT_ROW);
        }
    }

    fn push_packet(&mut self, event: &'static str, packet: &Packet, content: &'static str) {
        self.packets.push(PacketRow {
            at: self.now,
            place: self.place,
            event,
            number: packet.number.map_or(f64::NAN, |number| number as f64),
            size: packet.size.unwrap_or_default(),
            reason: Cow::Borrowed(""),
            content,
            packet_type: packet.type_name,
        });
    }

    /// Sets the bound; false if it is the same as before.
    fn update_bound(&mut self) -> bool {
        let bound = if self.blocked {
            "receiver_credit"
        } else if self.app_limited {
            "application"
        } else {
            ""
        };
        std::mem::replace(&mut self.flow.current.bound, bound) != bound
    }

    fn push_bound(&mut self) {
        if self.contents.sends && self.update_bound() {
            self.flow.push(self.now, BOUND_ROW);
        }
    }
}
