//! Goes through the events of a connection and fills the tables of the flow in the direction in
//! which most data goes.

use super::connections::Connection;
use super::intervals::Happened;
use super::record::{APPLICATION, AckFrame, Loss, Metrics, Packet, Record, SPACES};
use super::rows::{
    BOUND, CWND, DELIVERED, DELIVERY_RATE, EventRows, FlowRows, IN_FLIGHT, LIMIT, MIN_RTT,
    PACING_RATE, PacketRow, PacketRows, RTT, SMOOTHED_RTT, SSTHRESH, STATE,
};
use super::rtt::RttEstimate;
use super::sent::{Newly, SentPackets, add_octets, content_of};
use super::traits::{TimeoutSource, Traits, is_initial_rtt};
use crate::run::DeliveryRate;
use crate::run::columns::{BOUND_ROW, CONTROLLER_ROW, TIMEOUT_ROW};
use crate::trace::import::qlog::stacks::Stack;
use std::collections::BTreeMap;
use std::sync::Arc;
use weir_proto::ranges::RangeSet;
use weir_proto::time::{Duration, Instant};

/// Probes of one timeout are sent together: within this time, in seconds.
const PROBES_WITHIN_S: f64 = 0.001;

/// Words that rows share.
struct Words {
    empty: Arc<str>,
    controller: Arc<str>,
    bound: Arc<str>,
    timeout: Arc<str>,
    state: Arc<str>,
    spurious: Arc<str>,
    application: Arc<str>,
    receiver_credit: Arc<str>,
    place: Arc<str>,
}

/// What a connection gives.
pub(super) struct Walked {
    pub(super) flow: FlowRows,
    pub(super) events: EventRows,
    pub(super) packets: PacketRows,
    pub(super) happened: Happened,
    /// Octets of data, if the file has the frames of packets.
    pub(super) data: Option<u64>,
    pub(super) place: Arc<str>,
}

pub(super) struct Walk<'a> {
    traits: &'a Traits,
    stack: Stack,
    unit_s: f64,
    words: Words,
    now_s: f64,
    sent: SentPackets,
    received: BTreeMap<u64, RangeSet>,
    rtt: RttEstimate,
    rate: DeliveryRate,
    delivered: u64,
    data: u64,
    pto_count: u32,
    last_probe_s: f64,
    app_limited: bool,
    blocked: bool,
    out: Walked,
}

impl<'a> Walk<'a> {
    pub(super) fn new(connection: &Connection, traits: &'a Traits, stack: Stack) -> Self {
        let place: Arc<str> = if traits.sends { "sender" } else { "receiver" }.into();
        Self {
            traits,
            stack,
            unit_s: connection.head.unit_s(),
            words: Words {
                empty: "".into(),
                controller: CONTROLLER_ROW.into(),
                bound: BOUND_ROW.into(),
                timeout: TIMEOUT_ROW.into(),
                state: "state".into(),
                spurious: "spurious".into(),
                application: "application".into(),
                receiver_credit: "receiver_credit".into(),
                place: Arc::clone(&place),
            },
            now_s: 0.0,
            sent: SentPackets::default(),
            received: BTreeMap::new(),
            rtt: RttEstimate::default(),
            rate: DeliveryRate::default(),
            delivered: 0,
            data: 0,
            pto_count: 0,
            last_probe_s: f64::NEG_INFINITY,
            app_limited: false,
            blocked: false,
            out: Walked {
                flow: FlowRows::new(),
                events: EventRows::default(),
                packets: PacketRows::default(),
                happened: Happened::default(),
                data: None,
                place,
            },
        }
    }

    /// Takes all events of the connection.
    pub(super) fn run(mut self, records: Vec<(f64, Record)>) -> Walked {
        for (time_s, record) in records {
            self.now_s = time_s;
            self.take(record);
        }
        let frames = if self.traits.sends {
            self.traits.sent_frames && self.traits.acknowledgements
        } else {
            self.traits.received_frames
        };
        self.out.data = frames.then_some(self.data);
        self.out
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Metrics(metrics) => self.on_metrics(&metrics),
            Record::Congestion(state) if self.traits.sends => {
                self.app_limited = state
                    .new
                    .to_ascii_lowercase()
                    .contains("application_limited");
                self.out.flow.words[STATE] = state.new;
                self.out.flow.words[LIMIT] = state.trigger;
                self.update_bound();
                self.push_row();
            }
            Record::Sent(packet) => self.on_sent(&packet),
            Record::Received(packet) => self.on_received(&packet),
            Record::Lost(loss) => self.on_lost(&loss),
            Record::Acked(acked) if self.traits.sends => {
                let ranges: Vec<_> = acked.numbers.iter().map(|one| (*one, *one)).collect();
                let newly = self.sent.on_acked(acked.space, &ranges);
                self.on_newly(newly, None);
            }
            Record::TimerExpired => self.on_timeout(None),
            Record::Connection(state) => {
                let event = [&self.words.state, &state];
                self.out.events.push(self.now_s, &self.words.place, event);
            }
            Record::Spurious => {
                let event = [&self.words.spurious, &self.words.empty];
                self.out.events.push(self.now_s, &self.words.place, event);
            }
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
            if self.traits.timeouts == TimeoutSource::Count && count > self.pto_count {
                self.on_timeout(Some(count - 1));
            }
            self.pto_count = count;
        }
        if !self.traits.sends {
            return;
        }
        let rtt_unit = if self.traits.rtt_in_seconds {
            1.0
        } else {
            self.unit_s
        };
        let pacing_unit = if self.stack.paces_in_octets() {
            8.0
        } else {
            1.0
        };
        // To the picosecond, which takes away the error of the unit.
        let initial = |rtt: &f64| self.traits.rtt_in_seconds && is_initial_rtt(*rtt);
        let seconds = |rtt: Option<f64>| {
            let rtt = rtt.filter(|rtt| !initial(rtt))?;
            Some((rtt * rtt_unit * 1e12).round() / 1e12)
        };
        let values = [
            (RTT, seconds(metrics.latest_rtt)),
            (SMOOTHED_RTT, seconds(metrics.smoothed_rtt)),
            (MIN_RTT, seconds(metrics.min_rtt)),
            (CWND, metrics.congestion_window),
            (IN_FLIGHT, metrics.bytes_in_flight),
            (
                SSTHRESH,
                metrics
                    .ssthresh
                    .filter(|octets| *octets < super::stacks::UNLIMITED),
            ),
            (
                PACING_RATE,
                metrics.pacing_rate.map(|rate| rate * pacing_unit),
            ),
        ];
        let numbers = &mut self.out.flow.numbers;
        for (column, value) in values {
            // Writers give zero to a round-trip time that has not been measured.
            let is_rtt = matches!(column, RTT | SMOOTHED_RTT | MIN_RTT);
            let value = value.filter(|value| *value > 0.0 || !is_rtt && *value == 0.0);
            numbers[column] = value.unwrap_or(numbers[column]);
        }
        if !self.traits.min_rtt {
            numbers[MIN_RTT] = numbers[MIN_RTT].min(numbers[RTT]);
        }
        if let Some(limited) = metrics.app_limited {
            self.app_limited = limited;
            self.update_bound();
        }
        self.push_row();
    }

    fn on_sent(&mut self, packet: &Packet) {
        let content = self.sent.on_sent(self.now_s, packet);
        self.push_packet("sent", packet, content);
        if packet.is_probe && self.traits.timeouts == TimeoutSource::Probes {
            if self.now_s - self.last_probe_s > PROBES_WITHIN_S {
                self.on_timeout(None);
            }
            self.last_probe_s = self.now_s;
        }
        if packet.frames.as_ref().is_some_and(|frames| frames.blocked) {
            self.blocked = true;
            self.push_bound();
        }
        if self.computes_flight() {
            self.out.flow.numbers[IN_FLIGHT] = self.sent.in_flight() as f64;
            self.push_row();
        }
    }

    /// True if the octets in flight come from packets, because no metric has them.
    const fn computes_flight(&self) -> bool {
        let traits = self.traits;
        traits.sends && traits.acknowledgements && traits.sent_sizes && !traits.bytes_in_flight
    }

    fn on_received(&mut self, packet: &Packet) {
        self.push_packet("received", packet, content_of(packet));
        let Some(frames) = &packet.frames else {
            if !self.traits.sends {
                self.on_arrived(packet, 0);
            }
            return;
        };
        if frames.credit && self.blocked {
            self.blocked = false;
            self.push_bound();
        }
        if self.traits.sends {
            for ack in &frames.acks {
                let newly = self.sent.on_acked(ack.space, &ack.ranges);
                self.on_newly(newly, Some(ack));
            }
        } else {
            let streams = add_octets(&mut self.received, &frames.streams);
            self.on_arrived(packet, streams.saturating_add(frames.datagram_octets));
        }
    }

    /// A packet has arrived at the traced receiver, with octets that had not arrived before.
    fn on_arrived(&mut self, packet: &Packet, data: u64) {
        self.data = self.data.saturating_add(data);
        self.out.happened.data.push((self.now_s, data));
        self.out.happened.arrived.push((self.now_s, 1));
        if let Some(size) = packet.size {
            self.delivered = self.delivered.saturating_add(u64::from(size));
            self.out.flow.numbers[DELIVERED] = self.delivered as f64;
        }
        let event = Arc::clone(&self.words.empty);
        self.out.flow.push(self.now_s, &event);
    }

    /// An acknowledgement has arrived at the traced sender.
    fn on_newly(&mut self, newly: Newly, ack: Option<&AckFrame>) {
        if newly.packets == 0 {
            return;
        }
        self.data = self.data.saturating_add(newly.data);
        self.out.happened.data.push((self.now_s, newly.data));
        self.out.happened.arrived.push((self.now_s, newly.packets));
        if let Some(sent_s) = newly.largest_sent_s {
            let is_1rtt = ack.is_none_or(|ack| ack.space % SPACES == APPLICATION);
            let delay = ack.and_then(|ack| ack.delay).filter(|_| is_1rtt);
            let delay = delay.filter(|_| !self.stack.has_raw_ack_delay());
            self.rtt
                .on_sample(self.now_s - sent_s, delay.unwrap_or_default() * self.unit_s);
        }
        let numbers = &mut self.out.flow.numbers;
        if !self.traits.latest_rtt {
            numbers[RTT] = self.rtt.adjusted_s.unwrap_or(numbers[RTT]);
            if !self.traits.min_rtt {
                numbers[MIN_RTT] = numbers[MIN_RTT].min(numbers[RTT]);
            }
        }
        if self.traits.sent_sizes {
            self.delivered = self.delivered.saturating_add(newly.octets);
            numbers[DELIVERED] = self.delivered as f64;
            // A round-trip time of the metrics may be that before the first sample.
            let reported = Some(numbers[SMOOTHED_RTT]).filter(|rtt| rtt.is_finite());
            if let Some(span_s) = reported.or(self.rtt.smoothed_s) {
                let at = Instant::from_nanos((self.now_s * 1e9) as u64);
                let span = Duration::from_secs_f64(span_s);
                let rate = self.rate.on_report(at, self.delivered, span);
                numbers[DELIVERY_RATE] = rate.unwrap_or(numbers[DELIVERY_RATE]);
            }
        }
        if self.computes_flight() {
            self.out.flow.numbers[IN_FLIGHT] = self.sent.in_flight() as f64;
        }
        self.push_row();
    }

    fn on_lost(&mut self, loss: &Loss) {
        let size = loss
            .number
            .and_then(|number| self.sent.on_lost(loss.space, number));
        self.out
            .happened
            .lost
            .push((self.now_s, u64::from(loss.packets)));
        for _ in 0..loss.packets {
            self.out.packets.0.push(PacketRow {
                time_s: self.now_s,
                event: "lost",
                number: loss.number,
                size: size.unwrap_or_default(),
                reason: Arc::clone(&loss.trigger),
                content: "",
                packet_type: loss.packet_type,
            });
        }
        if self.computes_flight() {
            self.out.flow.numbers[IN_FLIGHT] = self.sent.in_flight() as f64;
            self.push_row();
        }
    }

    fn on_timeout(&mut self, backoff: Option<u32>) {
        let event = [&self.words.timeout, &self.words.empty];
        self.out.events.push(self.now_s, &self.words.place, event);
        if let Some(backoff) = backoff {
            self.out.events.set_backoff(backoff);
        }
        if self.traits.sends {
            let event = Arc::clone(&self.words.timeout);
            self.out.flow.push(self.now_s, &event);
        }
    }

    fn push_packet(&mut self, event: &'static str, packet: &Packet, content: &'static str) {
        self.out.packets.0.push(PacketRow {
            time_s: self.now_s,
            event,
            number: packet.number,
            size: packet.size.unwrap_or_default(),
            reason: Arc::clone(&self.words.empty),
            content,
            packet_type: packet.type_name,
        });
    }

    fn push_row(&mut self) {
        let event = Arc::clone(&self.words.controller);
        self.out.flow.push(self.now_s, &event);
    }

    /// Sets the bound; false if it is the same as before.
    fn update_bound(&mut self) -> bool {
        let bound = if self.blocked {
            &self.words.receiver_credit
        } else if self.app_limited {
            &self.words.application
        } else {
            &self.words.empty
        };
        let changed = self.out.flow.words[BOUND] != *bound;
        self.out.flow.words[BOUND] = Arc::clone(bound);
        changed
    }

    fn push_bound(&mut self) {
        if self.traits.sends && self.update_bound() {
            let event = Arc::clone(&self.words.bound);
            self.out.flow.push(self.now_s, &event);
        }
    }
}
