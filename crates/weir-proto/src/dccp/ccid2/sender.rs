//! The data sender's half: the window, in packets (RFC 4341 §5).

use super::ACK_DELAY;
use super::ack_ratio::AckRatio;
use crate::dccp::ack_vector::{self, AckState};
use crate::dccp::ccid::{CcidSender, SendTime};
use crate::dccp::wire::{DccpOption, Packet, SeqNum};
use crate::event::{Event, EventMask, Events, Limit, LossTrigger, WindowState};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// RFC 4341 §5: NUMDUPACK.
pub(super) const NUM_DUP_ACK: usize = 3;
/// The timeout before the first sample (RFC 6298 §2).
const INITIAL_RTO: Duration = Duration::from_secs(1);
/// RFC 4341 §5 asks for no minimum. This one only covers the receiver's delay, without which a
/// window of one packet would time out before its acknowledgement.
const MIN_RTO: Duration = Duration::from_nanos(ACK_DELAY.as_nanos() * 2);
const MAX_RTO: Duration = Duration::from_secs(64);

/// A data packet that is on its way or whose state is not known.
#[derive(Clone, Copy, Debug)]
struct SentDataPacket {
    seq: SeqNum,
    at: Instant,
    size: u32,
    acknowledged: bool,
    /// The receiver had no room for it (RFC 4340 §11.7).
    dropped_by_receiver: bool,
}

/// The data sender's half of CCID 2.
#[derive(Clone, Debug)]
pub struct Ccid2Sender {
    packet_size: u64,
    cwnd: u32,
    max_cwnd: u32,
    ssthresh: u32,
    /// Packets acknowledged towards the next increase.
    acked_since_increase: u32,
    /// Data packets sent and neither acknowledged nor lost.
    pipe: u32,
    /// The window was not filled when the last packet left.
    app_limited: bool,
    /// In the order of their numbers; all beyond the third greatest acknowledged number.
    sent: VecDeque<SentDataPacket>,
    /// The greatest numbers, data or not, that have been acknowledged, falling.
    greatest_acked: [Option<SeqNum>; NUM_DUP_ACK],
    greatest_sent: Option<SeqNum>,
    last_sent_at: Instant,
    /// A loss of a packet up to this number belongs to the last event.
    recovery_point: Option<SeqNum>,
    /// No sample of the round-trip time from packets before this one: one a window.
    sample_from: Option<SeqNum>,
    smoothed_rtt: Duration,
    rtt_variation: Duration,
    latest_rtt: Duration,
    backoff: u32,
    deadline: Option<Instant>,
    /// The receiver has asked not to be sent more (RFC 4340 §11.6).
    slow_until: Option<Instant>,
    /// The next acknowledgement is not to be trusted.
    nonce_mismatch: bool,
    ack_ratio: AckRatio,
    limit: Limit,
    lost: u64,
    loss_events: u64,
}

/// What one acknowledgement says.
#[derive(Clone, Copy, Debug, Default)]
struct AckSummary {
    acknowledged: u32,
    /// Of these, unmarked and delivered.
    unmarked: u32,
    dropped_by_receiver: u32,
    /// The greatest number with a mark, and the greatest that was found lost.
    marked: Option<SeqNum>,
    lost: Option<SeqNum>,
}

impl Ccid2Sender {
    /// A sender of packets of about this many octets, with the initial window of RFC 3390.
    pub fn new(packet_size: u32) -> Self {
        let packet_size = u64::from(packet_size.max(1));
        Self {
            packet_size,
            cwnd: initial_window(packet_size),
            max_cwnd: u32::MAX,
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
            smoothed_rtt: Duration::ZERO,
            rtt_variation: Duration::ZERO,
            latest_rtt: Duration::ZERO,
            backoff: 0,
            deadline: None,
            slow_until: None,
            nonce_mismatch: false,
            ack_ratio: AckRatio::new(2),
            limit: Limit::InitialWindow,
            lost: 0,
            loss_events: 0,
        }
    }

    /// The same with this Ack Ratio at first, and never more packets in flight than `max_cwnd`, the
    /// Sequence Window (RFC 4340 §7.5.2).
    pub fn with_limits(mut self, ack_ratio: u16, max_cwnd: u64) -> Self {
        self.ack_ratio = AckRatio::new(ack_ratio);
        self.max_cwnd = u32::try_from(max_cwnd).unwrap_or(u32::MAX).max(1);
        self
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

    /// §5: one sample a window of data, from the packet that the acknowledgement names.
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
        // Held longer than it was away: the receiver is wrong.
        let away = now.since(sent_at);
        if held > away {
            return;
        }
        let sample = away - held;
        self.sample_from = self.greatest_sent;
        self.on_sample(sample);
        events.push(now, EventMask::RTT, || Event::Rtt(sample));
    }

    /// The numbers from `low` to `high` have arrived.
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

    /// §5: what is not acknowledged below the third greatest acknowledged number is lost. It is
    /// forgotten, so that a late acknowledgement cannot count it twice.
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

    /// RFC 4340 §11.7: what the receiver says it has thrown away. Drop code 2 is noted with the
    /// packet; codes from 3 on count as marks (§11.7.2).
    fn read_drops(&mut self, now: Instant, ack: SeqNum, packet: &Packet, summary: &mut AckSummary) {
        let mut high = ack;
        for option in &packet.options {
            match option {
                DccpOption::SlowReceiver => {
                    self.leave_slow_start();
                    // RFC 4340 §11.6: for about a round-trip time.
                    let rtt = self.smoothed_rtt.max(Duration::from_millis(1));
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

    /// RFC 4341 §5.2.
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
            // §5: one for two, at most half the Ack Ratio for one acknowledgement.
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
        self.cwnd = self.cwnd.min(self.max_cwnd);
    }

    /// A loss or mark of packet `seq`: at most one reduction a window (§5).
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
        self.limit = Limit::Recovery;
    }

    /// §5.1 and RFC 5681 §4.1: after a timeout's time without data the window starts again.
    fn restart_if_idle(&mut self, now: Instant) {
        let initial = initial_window(self.packet_size);
        if self.pipe > 0 || self.greatest_sent.is_none() || self.cwnd <= initial {
            return;
        }
        if now.since(self.last_sent_at) > self.rto() {
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

/// RFC 3390, in packets of this size.
fn initial_window(packet_size: u64) -> u32 {
    (4380 / packet_size).clamp(2, 4) as u32
}

impl CcidSender for Ccid2Sender {
    fn on_handshake_rtt(&mut self, rtt: Duration) {
        self.on_sample(rtt);
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
            self.deadline = Some(now + self.rto());
        }
    }

    fn on_transmitted(&mut self, now: Instant, seq: SeqNum, _data: bool) {
        let at = self.sent.partition_point(|sent| sent.seq.is_before(seq));
        if let Some(sent) = self.sent.get_mut(at).filter(|sent| sent.seq == seq) {
            sent.at = now;
        }
    }

    fn on_arrival(&mut self, seq: SeqNum) {
        self.ack_ratio.on_arrival(seq);
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
        // RFC 4340 §11.4: a second vector begins where the first left off.
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
        // The number itself says that its packet has arrived, if no vector has said how.
        self.acknowledge(ack, ack, AckState::Received, &mut summary);
        self.find_losses(now, &mut summary, events);
        if summary.acknowledged > 0 {
            self.backoff = 0;
            self.deadline = (self.pipe > 0).then(|| now + self.rto());
            if let Some(end) = self.greatest_sent {
                self.ack_ratio.on_acknowledged(ack, end, self.cwnd);
            }
        }
        if self.slow_until.is_none_or(|until| until <= now) && summary.unmarked > 0 {
            self.increase_window(summary.unmarked);
        }
        // RFC 4341 §5.2: one packet less for each that the receiver had no room for.
        self.cwnd = self.cwnd.saturating_sub(summary.dropped_by_receiver).max(1);
        for seq in [summary.lost, summary.marked].into_iter().flatten() {
            self.reduce(seq);
        }
        self.emit_window(now, events);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    fn handle_timeout(&mut self, now: Instant, events: &mut Events) {
        if self.deadline.is_none_or(|deadline| deadline > now) {
            return;
        }
        // §5: as TCP's timeout; what is out counts as lost.
        while let Some(sent) = self.sent.pop_front() {
            if !sent.acknowledged {
                self.declare_lost(now, sent, LossTrigger::TimeThreshold, events);
            }
        }
        self.loss_events += 1;
        self.recovery_point = self.greatest_sent;
        self.sample_from = self.greatest_sent;
        self.pipe = 0;
        self.ssthresh = (self.cwnd / 2).max(2);
        self.cwnd = 1;
        self.acked_since_increase = 0;
        self.backoff = (self.backoff + 1).min(16);
        self.deadline = None;
        self.limit = Limit::Timeout;
        self.emit_window(now, events);
    }

    fn ack_ratio(&self) -> Option<u16> {
        Some(self.ack_ratio.get())
    }

    fn rtt(&self) -> Option<Duration> {
        (!self.smoothed_rtt.is_zero()).then_some(self.smoothed_rtt)
    }

    fn losses(&self) -> (u64, u64) {
        (self.lost, self.loss_events)
    }

    fn on_close(&mut self) {
        self.deadline = None;
    }
}
