//! The sender half of CCID 2: the window, in packets (RFC 4341 §5).

use super::ack_ratio::AckRatio;
use super::{ACK_DELAY, NUM_DUP_ACK};
use crate::cc::rtt::{RttEstimator, TimeoutRules};
use crate::dccp::ack_vector::{self, AckState};
use crate::dccp::ccid::{CcidSender, LossCounts, SendTime};
use crate::dccp::wire::{DccpOption, Packet, SeqNum};
use crate::event::{Event, EventMask, Events, Limit, LossTrigger, WindowState};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// RFC 6298, without a granularity. RFC 4341 §5 asks for no minimum; this one covers the receiver's
/// delay, so that a window of one packet does not time out before its acknowledgement.
const TIMEOUT: TimeoutRules = TimeoutRules {
    initial: Duration::from_secs(1),
    granularity: Duration::ZERO,
    minimum: Duration::from_nanos(ACK_DELAY.as_nanos() * 2),
    maximum: Duration::from_secs(64),
};

/// A data packet that is in flight or recently acknowledged.
#[derive(Clone, Copy, Debug)]
struct SentDataPacket {
    seq: SeqNum,
    at: Instant,
    size: u32,
    acknowledged: bool,
    /// The receiver dropped it for lack of buffer (drop code 2, RFC 4340 §11.7).
    dropped_by_receiver: bool,
}

/// The sender half of CCID 2.
#[derive(Clone, Debug)]
pub struct Ccid2Sender {
    packet_size: u64,
    cwnd: u32,
    ssthresh: u32,
    /// Packets acknowledged towards the next increase.
    acked_since_increase: u32,
    /// Data packets sent and neither acknowledged nor lost.
    pipe: u32,
    /// The window was not filled when the last packet left.
    app_limited: bool,
    /// In the order of sequence numbers, from the third greatest acknowledged number on.
    sent: VecDeque<SentDataPacket>,
    /// The greatest acknowledged numbers, with or without data, in descending order.
    greatest_acked: [Option<SeqNum>; NUM_DUP_ACK],
    greatest_sent: Option<SeqNum>,
    last_sent_at: Instant,
    /// A loss of a packet up to this number belongs to the last event.
    recovery_point: Option<SeqNum>,
    /// Packets up to this one give no further round-trip time sample: one in each window.
    sample_from: Option<SeqNum>,
    rtt: RttEstimator,
    backoff: u32,
    deadline: Option<Instant>,
    /// The window does not grow until then, after Slow Receiver (RFC 4340 §11.6).
    slow_until: Option<Instant>,
    /// The next acknowledgement has a wrong nonce echo.
    nonce_mismatch: bool,
    ack_ratio: AckRatio,
    limit: Limit,
    /// The window has changed since its last trace event.
    changed: bool,
    /// Octets of data packets that were acknowledged as delivered.
    delivered: u64,
    lost: u64,
    loss_events: u64,
    timeouts: u64,
}

/// The contents of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct AckSummary {
    acknowledged: u32,
    /// Of these, packets without a mark that were delivered.
    unmarked: u32,
    dropped_by_receiver: u32,
    /// The greatest number with a mark, and the greatest that was lost.
    marked: Option<SeqNum>,
    lost: Option<SeqNum>,
}

impl Ccid2Sender {
    /// A sender of packets of about this many octets, with the initial window of RFC 3390, whose
    /// receiver begins with this Ack Ratio.
    pub fn new(packet_size: u32, ack_ratio: u16) -> Self {
        let packet_size = u64::from(packet_size.max(1));
        Self {
            packet_size,
            cwnd: initial_window(packet_size),
            ssthresh: u32::MAX,
            acked_since_increase: 0,
            pipe: 0,
            app_limited: false,
            sent: VecDeque::with_capacity(64),
            greatest_acked: [None; NUM_DUP_ACK],
            greatest_sent: None,
            last_sent_at: Instant::ZERO,
            recovery_point: None,
            sample_from: None,
            rtt: RttEstimator::default(),
            backoff: 0,
            deadline: None,
            slow_until: None,
            nonce_mismatch: false,
            ack_ratio: AckRatio::new(ack_ratio),
            limit: Limit::InitialWindow,
            changed: false,
            delivered: 0,
            lost: 0,
            loss_events: 0,
            timeouts: 0,
        }
    }

    fn timeout(&self) -> Duration {
        self.rtt.timeout(&TIMEOUT, self.backoff)
    }

    /// Takes one sample in each window of data, from the acknowledged packet (RFC 4341 §5).
    fn sample(&mut self, now: Instant, packet: &Packet, ack: SeqNum, events: &mut Events) {
        let settled = self
            .sample_from
            .is_some_and(|from| ack.is_at_or_before(from));
        let at = self.sent.partition_point(|sent| sent.seq.is_before(ack));
        let named = self.sent.get(at).filter(|sent| sent.seq == ack);
        let Some(sent) = named.filter(|sent| !settled && !sent.acknowledged) else {
            return;
        };
        let sent_at = sent.at;
        let held = packet.options.iter().fold(Duration::ZERO, |held, option| {
            if let DccpOption::ElapsedTime(units) = option {
                Duration::from_micros(u64::from(units) * 10)
            } else {
                held
            }
        });
        // An Elapsed Time above the round-trip time is wrong.
        let away = now.since(sent_at);
        if held > away {
            return;
        }
        let sample = away - held;
        self.sample_from = self.greatest_sent;
        self.rtt.on_sample(now, sample);
        events.push(now, EventMask::RTT, || Event::Rtt(sample));
    }

    /// The packets from `low` to `high` have arrived.
    fn acknowledge(
        &mut self,
        low: SeqNum,
        high: SeqNum,
        state: AckState,
        summary: &mut AckSummary,
    ) {
        let span = (high.since(low).max(0) as usize).min(NUM_DUP_ACK - 1) as u64;
        (0..=span).for_each(|behind| self.note_acked(high.sub(behind)));
        let from = self.sent.partition_point(|sent| sent.seq.is_before(low));
        for sent in self.sent.range_mut(from..) {
            if sent.seq.is_after(high) {
                break;
            }
            if sent.acknowledged {
                continue;
            }
            sent.acknowledged = true;
            self.pipe = self.pipe.saturating_sub(1);
            summary.acknowledged += 1;
            summary.dropped_by_receiver += u32::from(sent.dropped_by_receiver);
            if !sent.dropped_by_receiver {
                self.delivered += u64::from(sent.size);
            }
            if state == AckState::Marked {
                summary.marked = Some(summary.marked.map_or(sent.seq, |seq| seq.max(sent.seq)));
            } else {
                summary.unmarked += u32::from(!sent.dropped_by_receiver);
            }
        }
    }

    /// Keeps the greatest acknowledged numbers.
    fn note_acked(&mut self, mut seq: SeqNum) {
        for slot in &mut self.greatest_acked {
            match slot {
                Some(known) if *known == seq => return,
                Some(known) if known.is_after(seq) => {}
                Some(known) => std::mem::swap(known, &mut seq),
                None => {
                    *slot = Some(seq);
                    return;
                }
            }
        }
    }

    /// Detects losses: a packet below the third greatest acknowledged number that is not
    /// acknowledged is lost (RFC 4341 §5). It is removed, so that a late acknowledgement does not
    /// count.
    fn find_losses(&mut self, now: Instant, summary: &mut AckSummary, events: &mut Events) {
        let [_, _, Some(third)] = self.greatest_acked else {
            return;
        };
        while let Some(sent) = self.sent.pop_front_if(|sent| sent.seq.is_before(third)) {
            if !sent.acknowledged {
                summary.lost = Some(sent.seq);
                self.declare_lost(now, sent, LossTrigger::PacketThreshold, events);
            }
        }
    }

    fn declare_lost(
        &mut self,
        now: Instant,
        sent: SentDataPacket,
        trigger: LossTrigger,
        events: &mut Events,
    ) {
        self.pipe = self.pipe.saturating_sub(1);
        self.lost += 1;
        let (number, size) = (sent.seq.get(), sent.size);
        events.push(now, EventMask::PACKET, || Event::Lost {
            number,
            size,
            trigger,
        });
    }

    /// Reads the drops that the receiver reports (RFC 4340 §11.7). Drop code 2 is recorded with the
    /// packet; codes from 3 on count as marks (§11.7.2).
    fn read_drops(&mut self, now: Instant, ack: SeqNum, packet: &Packet, summary: &mut AckSummary) {
        let mut high = ack;
        for option in &packet.options {
            match option {
                DccpOption::SlowReceiver => {
                    self.leave_slow_start();
                    // RFC 4340 §11.6: the window does not grow for about a round-trip time.
                    let rtt = self.rtt.get().smoothed.max(Duration::from_millis(1));
                    self.slow_until = Some(now + rtt);
                }
                DccpOption::DataDropped(blocks) => {
                    self.leave_slow_start();
                    for &block in blocks {
                        let (code, run) = if block & 0x80 == 0 {
                            (0, block & 0x7f)
                        } else {
                            (block >> 4 & 7, block & 0xf)
                        };
                        let low = high.sub(u64::from(run));
                        if code >= 2 {
                            self.on_dropped(low, high, code, summary);
                        }
                        high = low.previous();
                    }
                }
                _ => {}
            }
        }
    }

    fn on_dropped(&mut self, low: SeqNum, high: SeqNum, code: u8, summary: &mut AckSummary) {
        let from = self.sent.partition_point(|sent| sent.seq.is_before(low));
        for sent in self.sent.range_mut(from..) {
            if sent.seq.is_after(high) {
                break;
            }
            if code == 2 {
                sent.dropped_by_receiver |= !sent.acknowledged;
            } else if !sent.acknowledged {
                summary.marked = Some(summary.marked.map_or(sent.seq, |seq| seq.max(sent.seq)));
            }
        }
    }

    /// Leaves slow start after Slow Receiver or Data Dropped (RFC 4341 §5.2).
    fn leave_slow_start(&mut self) {
        self.ssthresh = self.ssthresh.min(self.cwnd.max(2));
    }

    fn increase_window(&mut self, unmarked: u32) {
        if self.app_limited {
            self.limit = Limit::ApplicationLimited;
            return;
        }
        let window = self.cwnd;
        self.acked_since_increase = self.acked_since_increase.saturating_add(unmarked);
        if window < self.ssthresh {
            // RFC 4341 §5: one packet for two acknowledged, at most half the Ack Ratio for each
            // acknowledgement.
            let limit = u32::from(self.ack_ratio.get()).div_ceil(2);
            let increase = (self.acked_since_increase / 2).min(limit);
            self.acked_since_increase = (self.acked_since_increase - 2 * increase).min(1);
            self.cwnd = window.saturating_add(increase).min(self.ssthresh);
            self.limit = Limit::SlowStart;
        } else if self.acked_since_increase >= window {
            self.acked_since_increase -= window;
            self.cwnd = window.saturating_add(1);
            self.limit = Limit::CongestionAvoidance;
        } else {
            self.limit = Limit::CongestionAvoidance;
        }
    }

    /// A loss or mark of packet `seq`: at most one reduction in each window (RFC 4341 §5).
    fn reduce(&mut self, seq: SeqNum) {
        if self
            .recovery_point
            .is_some_and(|point| seq.is_at_or_before(point))
        {
            return;
        }
        self.recovery_point = self.greatest_sent;
        self.loss_events += 1;
        self.cwnd = (self.cwnd / 2).max(1);
        self.ssthresh = self.cwnd.max(2);
        self.acked_since_increase = 0;
        self.ack_ratio.on_reduction(self.cwnd);
        self.limit = Limit::Recovery;
    }

    /// After an idle time of one timeout the window starts again (RFC 4341 §5.1, RFC 5681 §4.1).
    fn restart_if_idle(&mut self, now: Instant) {
        let initial = initial_window(self.packet_size);
        if self.pipe > 0 || self.greatest_sent.is_none() || self.cwnd <= initial {
            return;
        }
        if now.since(self.last_sent_at) > self.timeout() {
            self.ssthresh = self.ssthresh.max(self.cwnd / 4 * 3);
            self.cwnd = initial;
            self.acked_since_increase = 0;
            self.limit = Limit::ApplicationLimited;
        }
    }

    fn emit_window(&self, now: Instant, events: &mut Events) {
        events.push(now, EventMask::CONTROLLER, || {
            Event::Window(WindowState {
                cwnd: u64::from(self.cwnd) * self.packet_size,
                bytes_in_flight: u64::from(self.pipe) * self.packet_size,
                partial_bytes_acked: u64::from(self.acked_since_increase) * self.packet_size,
                delivered: Some(self.delivered),
                ssthresh: (self.ssthresh < u32::MAX)
                    .then(|| u64::from(self.ssthresh) * self.packet_size),
                state: if self.cwnd < self.ssthresh {
                    "slow_start"
                } else {
                    "congestion_avoidance"
                },
                limit: self.limit,
                ..self.rtt.get().into()
            })
        });
    }
}

/// The initial window in packets of this size (RFC 4341 §5: at most four, by the rules of RFC 3390
/// §1): up to 1095 octets four packets, below 2190 three, otherwise two.
fn initial_window(packet_size: u64) -> u32 {
    match packet_size {
        0..=1095 => 4,
        1096..2190 => 3,
        _ => 2,
    }
}

impl CcidSender for Ccid2Sender {
    fn on_handshake_rtt(&mut self, now: Instant, rtt: Duration) {
        self.rtt.on_sample(now, rtt);
    }

    fn send_time(&mut self, now: Instant, _payload_len: u32) -> SendTime {
        self.restart_if_idle(now);
        if self.pipe < self.cwnd {
            SendTime::Now
        } else {
            SendTime::Blocked
        }
    }

    fn on_handover(&mut self, now: Instant, packet: &mut Packet, _events: &mut Events) {
        self.sent.push_back(SentDataPacket {
            seq: packet.seq,
            at: now,
            size: packet.payload.len(),
            acknowledged: false,
            dropped_by_receiver: false,
        });
        self.greatest_sent = Some(packet.seq);
        self.last_sent_at = now;
        self.pipe += 1;
        self.app_limited = self.pipe < self.cwnd;
        if self.deadline.is_none() {
            self.deadline = Some(now + self.timeout());
        }
    }

    fn on_transmitted(&mut self, now: Instant, seq: SeqNum) {
        let at = self.sent.partition_point(|sent| sent.seq.is_before(seq));
        if let Some(sent) = self.sent.get_mut(at).filter(|sent| sent.seq == seq) {
            sent.at = now;
        }
    }

    fn on_nonce_mismatch(&mut self) {
        self.nonce_mismatch = true;
    }

    fn on_ack(&mut self, now: Instant, packet: &Packet, events: &mut Events) {
        let Some(ack) = packet.ack() else { return };
        self.ack_ratio.on_arrival(packet.seq);
        self.sample(now, packet, ack, events);
        let mut summary = AckSummary::default();
        if std::mem::take(&mut self.nonce_mismatch) {
            summary.marked = Some(ack);
        }
        self.read_drops(now, ack, packet, &mut summary);
        // RFC 4340 §11.4: a second Ack Vector continues the first.
        let mut cursor = ack;
        for option in &packet.options {
            let DccpOption::AckVector { cells, .. } = option else {
                continue;
            };
            for (high, low, state) in ack_vector::read(&mut cursor, cells) {
                if state != AckState::NotReceived {
                    self.acknowledge(low, high, state, &mut summary);
                }
            }
        }
        // The acknowledgement number itself acknowledges its packet.
        self.acknowledge(ack, ack, AckState::Received, &mut summary);
        self.find_losses(now, &mut summary, events);
        if summary.acknowledged > 0 {
            self.backoff = 0;
            self.deadline = (self.pipe > 0).then(|| now + self.timeout());
            if let Some(end) = self.greatest_sent {
                self.ack_ratio.on_acknowledged(ack, end, self.cwnd);
            }
        }
        if self.slow_until.is_none_or(|until| until <= now) && summary.unmarked > 0 {
            self.increase_window(summary.unmarked);
        }
        // RFC 4341 §5.2: one packet less for each with drop code 2.
        self.cwnd = self.cwnd.saturating_sub(summary.dropped_by_receiver).max(1);
        for seq in [summary.lost, summary.marked].into_iter().flatten() {
            self.reduce(seq);
        }
        self.changed = true;
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    fn handle_timeout(&mut self, now: Instant, events: &mut Events) {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        let backoff = self.backoff;
        events.push(now, EventMask::TIMEOUT, || Event::Timeout { backoff });
        self.timeouts += 1;
        // RFC 4341 §5: as for TCP's timeout, all packets in flight count as lost.
        while let Some(sent) = self.sent.pop_front() {
            if !sent.acknowledged {
                self.declare_lost(now, sent, LossTrigger::Timeout, events);
            }
        }
        self.loss_events += 1;
        self.recovery_point = self.greatest_sent;
        self.sample_from = self.greatest_sent;
        self.pipe = 0;
        self.ssthresh = (self.cwnd / 2).max(2);
        self.cwnd = 1;
        self.ack_ratio.on_reduction(self.cwnd);
        self.acked_since_increase = 0;
        self.backoff = (self.backoff + 1).min(16);
        self.deadline = None;
        self.limit = Limit::Timeout;
        self.changed = true;
    }

    fn emit(&mut self, now: Instant, events: &mut Events) {
        if std::mem::take(&mut self.changed) {
            self.emit_window(now, events);
        }
    }

    fn rtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    fn ack_ratio(&self) -> Option<u16> {
        Some(self.ack_ratio.get())
    }

    fn losses(&self) -> LossCounts {
        LossCounts {
            packets: self.lost,
            events: self.loss_events,
            timeouts: self.timeouts,
        }
    }

    fn on_close(&mut self) {
        self.deadline = None;
    }
}
