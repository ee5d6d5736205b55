//! CCID 2: TCP-like congestion control (RFC 4341).
//!
//! The sender keeps a window in packets: slow start, one packet more per round-trip time in
//! congestion avoidance, half at a congestion event, one after a timeout (§5). A data packet is
//! lost when three later ones were acknowledged (NUMDUPACK, §5). The receiver acknowledges every
//! Ack Ratio-th data packet with an Ack Vector, at once when something is missing.
//!
//! Does not model: congestion control of the acknowledgements (§6.1: the Ack Ratio stays as
//! configured), the cwnd validation of §5.1 for idle senders beyond not growing an unused window.

use super::ack_vector::{self, AckVector, Fate};
use super::ccid::{CcidReceiver, CcidSender, SendTime};
use super::wire::{DccpOption, Options, Packet, PacketType, SeqNum};
use crate::event::{DropReason, Event, EventMask, Events, Limit, WindowState};
use crate::packet::Ecn;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// RFC 4341 §5: NUMDUPACK.
const NUM_DUP_ACK: u32 = 3;
/// RFC 4341 §5: the timeout before the first sample and its bounds, as TCP's.
const INITIAL_RTO: Duration = Duration::from_secs(1);
const MIN_RTO: Duration = Duration::from_millis(200);
const MAX_RTO: Duration = Duration::from_secs(64);
/// The longest delay of an acknowledgement (RFC 4341 §6).
const ACK_DELAY: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: SeqNum,
    at: Instant,
    size: u32,
    acknowledged: bool,
    lost: bool,
}

/// The data sender.
#[derive(Debug)]
pub struct Sender {
    packet_size: u64,
    cwnd: u32,
    ssthresh: u32,
    /// Packets acknowledged towards the next increase.
    counted: u32,
    /// Data packets sent and neither acknowledged nor lost.
    pipe: u32,
    /// Window not filled when the last packet left.
    app_limited: bool,
    sent: VecDeque<Sent>,
    /// A loss of a packet up to this number belongs to the last event.
    recovery_point: Option<SeqNum>,
    smoothed_rtt: Duration,
    rtt_variation: Duration,
    latest_rtt: Duration,
    backoff: u32,
    deadline: Option<Instant>,
    limit: Limit,
    lost: u64,
    events_of_loss: u64,
}

impl Sender {
    /// A sender of packets of about this many octets, with the initial window of RFC 3390.
    pub fn new(packet_size: u32) -> Self {
        let packet_size = u64::from(packet_size.max(1));
        let initial = (4380 / packet_size).clamp(2, 4) as u32;
        Self {
            packet_size,
            cwnd: initial,
            ssthresh: u32::MAX,
            counted: 0,
            pipe: 0,
            app_limited: false,
            sent: VecDeque::with_capacity(64),
            recovery_point: None,
            smoothed_rtt: Duration::ZERO,
            rtt_variation: Duration::ZERO,
            latest_rtt: Duration::ZERO,
            backoff: 0,
            deadline: None,
            limit: Limit::InitialWindow,
            lost: 0,
            events_of_loss: 0,
        }
    }

    fn rto(&self) -> Duration {
        let base = if self.smoothed_rtt.is_zero() {
            INITIAL_RTO
        } else {
            (self.smoothed_rtt + self.rtt_variation * 4).max(MIN_RTO)
        };
        (base * (1_u64 << self.backoff.min(16))).min(MAX_RTO)
    }

    fn on_sample(&mut self, sample: Duration) {
        if self.smoothed_rtt.is_zero() {
            self.smoothed_rtt = sample;
            self.rtt_variation = sample / 2;
        } else {
            let apart = self.smoothed_rtt.max(sample) - self.smoothed_rtt.min(sample);
            self.rtt_variation = (self.rtt_variation * 3 + apart) / 4;
            self.smoothed_rtt = (self.smoothed_rtt * 7 + sample) / 8;
        }
        self.latest_rtt = sample;
    }

    /// Marks the packets from `low` to `high`; returns how many are newly acknowledged.
    fn acknowledge(&mut self, low: SeqNum, high: SeqNum) -> u32 {
        let from = self.sent.partition_point(|sent| sent.seq.is_before(low));
        let mut count = 0;
        for sent in self.sent.range_mut(from..) {
            if sent.seq.is_after(high) {
                break;
            }
            if !sent.acknowledged {
                sent.acknowledged = true;
                count += 1;
                if !sent.lost {
                    self.pipe = self.pipe.saturating_sub(1);
                }
            }
        }
        count
    }

    /// RFC 4341 §5: packets below three acknowledged ones are lost. The newest of them.
    fn detect_losses(&mut self, now: Instant, events: &mut Events) -> Option<SeqNum> {
        let mut above = 0;
        let mut newest = None;
        for at in (0..self.sent.len()).rev() {
            let sent = &mut self.sent[at];
            if sent.acknowledged {
                above += 1;
            } else if above >= NUM_DUP_ACK && !sent.lost {
                sent.lost = true;
                self.pipe = self.pipe.saturating_sub(1);
                self.lost += 1;
                newest = newest.or(Some(sent.seq));
                let (number, size) = (sent.seq.get(), sent.size);
                let reason = DropReason::PacketThreshold;
                events.push(now, EventMask::PACKET, || Event::Lost {
                    number,
                    size,
                    reason,
                });
            }
        }
        while self
            .sent
            .front()
            .is_some_and(|sent| sent.acknowledged || sent.lost)
        {
            self.sent.pop_front();
        }
        newest
    }

    fn grow(&mut self, acknowledged: u32) {
        if self.app_limited {
            self.limit = Limit::ApplicationLimited;
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd = self.cwnd.saturating_add(acknowledged).min(self.ssthresh);
            self.limit = Limit::SlowStart;
            return;
        }
        self.counted += acknowledged;
        self.limit = Limit::CongestionAvoidance;
        if self.counted >= self.cwnd {
            self.counted -= self.cwnd;
            self.cwnd = self.cwnd.saturating_add(1);
        }
    }

    /// A loss or mark of packet `seq`: at most one reduction a window (§5).
    fn reduce(&mut self, seq: SeqNum, greatest_sent: SeqNum) {
        if self
            .recovery_point
            .is_some_and(|point| seq.is_at_or_before(point))
        {
            return;
        }
        self.recovery_point = Some(greatest_sent);
        self.events_of_loss += 1;
        self.cwnd = (self.cwnd / 2).max(1);
        self.ssthresh = self.cwnd.max(2);
        self.counted = 0;
        self.limit = Limit::Recovery;
    }

    fn record(&self, now: Instant, events: &mut Events) {
        events.push(now, EventMask::CONTROLLER, || {
            Event::Window(WindowState {
                cwnd: u64::from(self.cwnd) * self.packet_size,
                bytes_in_flight: u64::from(self.pipe) * self.packet_size,
                partial_bytes_acked: u64::from(self.counted) * self.packet_size,
                ssthresh: (self.ssthresh < u32::MAX)
                    .then(|| u64::from(self.ssthresh) * self.packet_size),
                rtt: self.latest_rtt,
                smoothed_rtt: self.smoothed_rtt,
                state: if self.cwnd < self.ssthresh {
                    "slow_start"
                } else {
                    "congestion_avoidance"
                },
                limit: self.limit,
            })
        });
    }
}

impl CcidSender for Sender {
    fn on_handshake_rtt(&mut self, rtt: Duration) {
        self.on_sample(rtt);
    }

    fn send_time(&mut self, _now: Instant, _payload_len: u32) -> SendTime {
        if self.pipe < self.cwnd {
            SendTime::Now
        } else {
            SendTime::Blocked
        }
    }

    fn on_handover(&mut self, now: Instant, packet: &mut Packet, _events: &mut Events) {
        let size = packet.payload.len();
        let (seq, at) = (packet.seq, now);
        self.sent.push_back(Sent {
            seq,
            at,
            size,
            acknowledged: false,
            lost: false,
        });
        self.pipe += 1;
        self.app_limited = self.pipe < self.cwnd;
        if self.deadline.is_none() {
            self.deadline = Some(now + self.rto());
        }
    }

    fn on_transmitted(&mut self, now: Instant, seq: SeqNum, data: bool) {
        if data && let Some(sent) = self.sent.iter_mut().rev().find(|sent| sent.seq == seq) {
            sent.at = now;
        }
    }

    fn on_ack(&mut self, now: Instant, packet: &Packet, events: &mut Events) {
        let Some(ack) = packet.ack() else { return };
        let greatest = self.sent.back().map_or(ack, |sent| sent.seq);
        let mut elapsed = Duration::ZERO;
        for option in &packet.options {
            if let DccpOption::ElapsedTime(units) = option {
                elapsed = Duration::from_micros(u64::from(units) * 10);
            }
        }
        // The number itself says that this packet arrived.
        let at = self.sent.partition_point(|sent| sent.seq.is_before(ack));
        if let Some(sent) = self
            .sent
            .get(at)
            .filter(|sent| sent.seq == ack && !sent.acknowledged)
        {
            let sample = now.since(sent.at) - elapsed;
            self.on_sample(sample);
            events.push(now, EventMask::RTT, || Event::Rtt(sample));
        }
        let mut acknowledged = self.acknowledge(ack, ack);
        let mut marked = None;
        for option in &packet.options {
            if let DccpOption::AckVector { cells, .. } = option {
                for (high, low, fate) in ack_vector::read(ack, cells) {
                    if fate != Fate::NotReceived {
                        acknowledged += self.acknowledge(low, high);
                    }
                    if fate == Fate::Marked {
                        marked = marked.or(Some(high));
                    }
                }
            }
        }
        if acknowledged > 0 {
            self.backoff = 0;
            self.grow(acknowledged);
        }
        let lost = self.detect_losses(now, events);
        for seq in [lost, marked].into_iter().flatten() {
            self.reduce(seq, greatest);
        }
        if acknowledged > 0 {
            self.deadline = (self.pipe > 0).then(|| now + self.rto());
        }
        self.record(now, events);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    fn handle_timeout(&mut self, now: Instant, events: &mut Events) {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        // §5: as TCP's timeout. What is out counts as lost.
        let outstanding = self
            .sent
            .iter()
            .filter(|sent| !sent.acknowledged && !sent.lost)
            .count();
        self.lost += outstanding as u64;
        self.events_of_loss += 1;
        self.recovery_point = self
            .sent
            .back()
            .map(|sent| sent.seq)
            .or(self.recovery_point);
        self.sent.clear();
        self.pipe = 0;
        self.ssthresh = (self.cwnd / 2).max(2);
        self.cwnd = 1;
        self.counted = 0;
        self.backoff += 1;
        self.deadline = None;
        self.limit = Limit::Timeout;
        self.record(now, events);
    }

    fn rtt(&self) -> Option<Duration> {
        (!self.smoothed_rtt.is_zero()).then_some(self.smoothed_rtt)
    }

    fn losses(&self) -> (u64, u64) {
        (self.lost, self.events_of_loss)
    }

    fn on_close(&mut self) {
        self.deadline = None;
    }
}

/// The data receiver.
#[derive(Debug)]
pub struct Receiver {
    ack_ratio: u32,
    vector: AckVector,
    greatest: Option<SeqNum>,
    arrived_at: Instant,
    unacknowledged: u32,
    deadline: Option<Instant>,
    at_once: bool,
    cells: Vec<u8>,
}

impl Receiver {
    /// A receiver that acknowledges every `ack_ratio`-th data packet.
    pub fn new(ack_ratio: u32) -> Self {
        Self {
            ack_ratio: ack_ratio.max(1),
            vector: AckVector::default(),
            greatest: None,
            arrived_at: Instant::ZERO,
            unacknowledged: 0,
            deadline: None,
            at_once: false,
            cells: Vec::with_capacity(ack_vector::MAX_CELLS),
        }
    }
}

impl CcidReceiver for Receiver {
    fn on_packet(&mut self, now: Instant, packet: &Packet, ecn: Ecn, _events: &mut Events) {
        self.vector.on_packet(packet.seq, ecn);
        let in_order = self
            .greatest
            .is_none_or(|greatest| packet.seq == greatest.next());
        if self
            .greatest
            .is_none_or(|greatest| packet.seq.is_after(greatest))
        {
            self.greatest = Some(packet.seq);
            self.arrived_at = now;
        }
        if packet.kind.carries_data() {
            self.unacknowledged += 1;
            self.at_once |= !in_order || self.unacknowledged >= self.ack_ratio;
            self.deadline.get_or_insert(now + ACK_DELAY);
        }
    }

    fn wants_ack(&self, now: Instant) -> bool {
        self.unacknowledged > 0
            && (self.at_once || self.deadline.is_some_and(|deadline| deadline <= now))
    }

    fn on_ack_sent(
        &mut self,
        now: Instant,
        (seq, _kind): (SeqNum, PacketType),
        options: &mut Options,
    ) {
        self.vector.on_ack_sent(seq, &mut self.cells);
        options.push(&DccpOption::AckVector {
            nonce: false,
            cells: &self.cells,
        });
        // RFC 4341 §6: how long the acknowledgement number's packet has been here.
        let held = now.since(self.arrived_at).as_micros() / 10;
        if held > 0 {
            options.push(&DccpOption::ElapsedTime(
                u32::try_from(held).unwrap_or(u32::MAX),
            ));
        }
        self.unacknowledged = 0;
        self.at_once = false;
        self.deadline = None;
    }

    fn on_ack_of_ack(&mut self, _now: Instant, seq: SeqNum) {
        self.vector.on_ack_of_ack(seq);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
            .filter(|_| self.unacknowledged > 0 && !self.at_once)
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            self.at_once = self.unacknowledged > 0;
        }
    }
}
