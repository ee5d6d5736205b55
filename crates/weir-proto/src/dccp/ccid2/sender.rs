//! The sender half of CCID 2: the packets in flight, acknowledged and lost (RFC 4341 §5). The
//! window is that of the RFC or a controller's ([`Window`]).

use super::ack_ratio::AckRatio;
use super::ack_summary::AckSummary;
use super::controlled::Controlled;
use super::tcp_like::TcpLike;
use super::window::Window;
use super::{ACK_DELAY, ControllerChoice, NUM_DUP_ACK};
use crate::cc::EcnCapability;
use crate::cc::rtt::{RttEstimator, TimeoutRules};
use crate::dccp::ack_vector::{self, AckState};
use crate::dccp::ccid::{CcidSender, LossCounts, SendTime};
use crate::dccp::wire::{DccpOption, Packet, SeqNum};
use crate::event::{Event, EventMask, Events, LossTrigger, PacketType, SndLim};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// RFC 6298, without a granularity. RFC 4341 §5 requires no minimum; this one covers the receiver's
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
pub struct Ccid2Sender {
    window: Window,
    /// Data packets sent and neither acknowledged nor lost.
    pipe: u32,
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
    /// The next acknowledgement has a wrong nonce echo.
    nonce_mismatch: bool,
    ack_ratio: AckRatio,
    /// The window has changed since its last trace event.
    changed: bool,
    /// The window and the octets in flight of its last trace event.
    reported: (u64, u64),
    /// Octets of data packets that were acknowledged as delivered.
    delivered: u64,
    lost: u64,
    loss_events: u64,
    /// Loss events count only for packets sent from this time on.
    counted_from: Instant,
    timeouts: u64,
}

impl Ccid2Sender {
    /// A sender of packets of about this many octets, with the window of RFC 4341 §5, whose
    /// receiver begins with this Ack Ratio.
    pub fn new(packet_size: u32, ack_ratio: u16) -> Self {
        let window = Window::TcpLike(TcpLike::new(packet_size));
        Self::with_window(window, ack_ratio)
    }

    /// A sender with a window controller in place of that window.
    pub fn with_controller(packet_size: u32, ack_ratio: u16, choice: &ControllerChoice) -> Self {
        let controlled = Controlled::new(packet_size, choice);
        Self::with_window(Window::Controlled(Box::new(controlled)), ack_ratio)
    }

    fn with_window(window: Window, ack_ratio: u16) -> Self {
        Self {
            window,
            pipe: 0,
            sent: VecDeque::with_capacity(64),
            greatest_acked: [None; NUM_DUP_ACK],
            greatest_sent: None,
            last_sent_at: Instant::ZERO,
            recovery_point: None,
            sample_from: None,
            rtt: RttEstimator::default(),
            backoff: 0,
            deadline: None,
            nonce_mismatch: false,
            ack_ratio: AckRatio::new(ack_ratio),
            changed: false,
            reported: (0, 0),
            delivered: 0,
            lost: 0,
            loss_events: 0,
            counted_from: Instant::ZERO,
            timeouts: 0,
        }
    }

    fn timeout(&self) -> Duration {
        self.rtt.timeout(&TIMEOUT, self.backoff)
    }

    /// Takes a sample from the acknowledged packet: one in each window of data (RFC 4341 §5), or
    /// one for each acknowledgement if a controller reads delays.
    fn sample(
        &mut self,
        now: Instant,
        packet: &Packet,
        ack: SeqNum,
        events: &mut Events,
    ) -> Option<Duration> {
        let settled = self
            .sample_from
            .is_some_and(|from| ack.is_at_or_before(from));
        let at = self.sent.partition_point(|sent| sent.seq.is_before(ack));
        let named = self.sent.get(at).filter(|sent| sent.seq == ack);
        let sent_at = named.filter(|sent| !settled && !sent.acknowledged)?.at;
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
            return None;
        }
        let sample = away - held;
        self.sample_from = match self.window {
            Window::TcpLike(_) => self.greatest_sent,
            Window::Controlled(_) => None,
        };
        self.rtt.on_sample(now, sample);
        events.push(now, EventMask::RTT, || Event::Rtt(sample));
        Some(sample)
    }

    /// The packets from `low` to `high` have arrived.
    fn acknowledge(
        &mut self,
        now: Instant,
        (low, high): (SeqNum, SeqNum),
        state: AckState,
        summary: &mut AckSummary,
    ) {
        if let Window::Controlled(window) = &mut self.window {
            summary.spurious |= window.on_range_acked(now, low, high, self.pipe);
        }
        let span = (high.since(low).max(0) as usize).min(NUM_DUP_ACK - 1) as u64;
        (0..=span).for_each(|behind| self.note_acked(high.sub(behind)));
        let from = self.sent.partition_point(|sent| sent.seq.is_before(low));
        for (at, sent) in self.sent.iter_mut().enumerate().skip(from) {
            if sent.seq.is_after(high) {
                break;
            }
            if sent.acknowledged {
                continue;
            }
            sent.acknowledged = true;
            if let Window::Controlled(window) = &mut self.window
                && !sent.dropped_by_receiver
            {
                window.on_acked(now, (at, sent.at), (self.pipe, self.rtt.get()));
            }
            self.pipe = self.pipe.saturating_sub(1);
            summary.acknowledged += 1;
            summary.dropped_by_receiver += u32::from(sent.dropped_by_receiver);
            if !sent.dropped_by_receiver {
                self.delivered += u64::from(sent.size);
            }
            if state == AckState::Marked {
                summary.note_mark(sent.seq, sent.at);
                summary.newly_marked += 1;
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
            if sent.acknowledged {
                self.window.forget_oldest();
            } else {
                summary.lost = Some((sent.seq, sent.at));
                self.declare_lost(now, sent, LossTrigger::PacketThreshold, events);
            }
        }
    }

    /// The oldest packet, already removed from `sent`, is lost.
    fn declare_lost(
        &mut self,
        now: Instant,
        sent: SentDataPacket,
        trigger: LossTrigger,
        events: &mut Events,
    ) {
        self.pipe = self.pipe.saturating_sub(1);
        self.lost += 1;
        if let Window::Controlled(window) = &mut self.window {
            window.on_lost(now, sent.seq, sent.at);
        }
        let (number, size) = (sent.seq.get(), sent.size);
        events.push(now, EventMask::PACKET, move || Event::Lost {
            number,
            size,
            trigger,
            packet_type: PacketType::None,
        });
    }

    /// Reads the drops that the receiver reports (RFC 4340 §11.7). Drop code 2 is recorded with the
    /// packet; codes from 3 on count as marks (§11.7.2).
    fn read_drops(&mut self, ack: SeqNum, packet: &Packet, summary: &mut AckSummary) {
        let mut high = ack;
        for option in &packet.options {
            match option {
                DccpOption::SlowReceiver => summary.slow_receiver = true,
                DccpOption::DataDropped(blocks) => {
                    summary.data_dropped = true;
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
                summary.note_mark(sent.seq, sent.at);
            }
        }
    }

    /// A loss or mark of packet `seq`, sent at `sent_at`: at most one event in each window
    /// (RFC 4341 §5).
    fn reduce(&mut self, now: Instant, (seq, sent_at): (SeqNum, Instant), ecn: bool) {
        let is_new = self.recovery_point.is_none_or(|point| seq.is_after(point));
        if is_new {
            self.recovery_point = self.greatest_sent;
            self.loss_events += u64::from(sent_at >= self.counted_from);
        }
        match &mut self.window {
            Window::TcpLike(window) if is_new => window.reduce(),
            Window::TcpLike(_) => {}
            Window::Controlled(window) => {
                window.on_congestion_event((now, sent_at), self.pipe, ecn, is_new);
            }
        }
        if is_new {
            self.ack_ratio.on_reduction(self.window.packets());
        }
    }

    /// After an idle time of one timeout the window starts again (RFC 4341 §5.1, RFC 5681 §4.1).
    fn restart_if_idle(&mut self, now: Instant) {
        if self.pipe == 0
            && self.greatest_sent.is_some()
            && now.since(self.last_sent_at) > self.timeout()
        {
            self.window.restart();
        }
    }

    /// Reports the window if it or the bound has changed: packets sent since, or an idle time, may
    /// have changed it without an acknowledgement.
    #[cold]
    fn emit_window(&mut self, now: Instant, events: &mut Events) {
        let changed = std::mem::take(&mut self.changed);
        if !changed && !events.bound_has_changed() {
            return;
        }
        let mut state = self.window.state(self.pipe, self.rtt.get());
        state.delivered = Some(self.delivered);
        let reported = (state.cwnd, state.bytes_in_flight);
        if std::mem::replace(&mut self.reported, reported) != reported || changed {
            events.push(now, EventMask::CONTROLLER, || Event::Window(state));
        }
    }
}

impl CcidSender for Ccid2Sender {
    fn on_handshake_rtt(&mut self, now: Instant, rtt: Duration) {
        self.rtt.on_sample(now, rtt);
    }

    fn send_time(&mut self, now: Instant, _payload_len: u32) -> SendTime {
        self.restart_if_idle(now);
        self.window.send_time(now, self.pipe)
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
        self.window.on_sent(now, self.pipe, self.rtt.get());
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
        let rtt_sample = self.sample(now, packet, ack, events);
        let mut summary = AckSummary {
            rtt_sample,
            ..AckSummary::default()
        };
        if std::mem::take(&mut self.nonce_mismatch) {
            summary.note_mark(ack, now);
        }
        self.read_drops(ack, packet, &mut summary);
        self.window
            .on_receiver_reports(now, &summary, self.rtt.get());
        // RFC 4340 §11.4: a second Ack Vector continues the first.
        let mut cursor = ack;
        for option in &packet.options {
            let DccpOption::AckVector { cells, .. } = option else {
                continue;
            };
            for (high, low, state) in ack_vector::read(&mut cursor, cells) {
                if state != AckState::NotReceived {
                    self.acknowledge(now, (low, high), state, &mut summary);
                }
            }
        }
        // The acknowledgement number itself acknowledges its packet.
        self.acknowledge(now, (ack, ack), AckState::Received, &mut summary);
        if summary.spurious {
            events.push(now, EventMask::TIMEOUT, || Event::Spurious);
        }
        self.find_losses(now, &mut summary, events);
        if summary.acknowledged > 0 {
            self.backoff = 0;
            self.deadline = (self.pipe > 0).then(|| now + self.timeout());
            if let Some(end) = self.greatest_sent {
                let cwnd = self.window.packets();
                self.ack_ratio.on_acknowledged(ack, end, cwnd);
            }
        }
        self.window.grow(now, &summary, self.ack_ratio.get());
        for (packet, ecn) in [(summary.lost, false), (summary.marked, true)] {
            if let Some(packet) = packet {
                self.reduce(now, packet, ecn);
            }
        }
        if let Window::Controlled(window) = &mut self.window {
            window.on_end_acks(now, &summary, self.pipe, self.rtt.get());
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
        let mut waiting = self.sent.iter().filter(|sent| !sent.acknowledged);
        let first_sent_at = waiting.next().map_or(now, |sent| sent.at);
        self.window.on_timeout(now, first_sent_at, backoff > 0);
        // RFC 4341 §5: as for TCP's timeout, all packets in flight count as lost.
        while let Some(sent) = self.sent.pop_front() {
            if sent.acknowledged {
                self.window.forget_oldest();
            } else {
                self.declare_lost(now, sent, LossTrigger::Timeout, events);
            }
        }
        self.loss_events += u64::from(first_sent_at >= self.counted_from);
        self.recovery_point = self.greatest_sent;
        self.sample_from = self.greatest_sent;
        self.pipe = 0;
        self.ack_ratio.on_reduction(self.window.packets());
        self.backoff = (self.backoff + 1).min(16);
        self.deadline = None;
        self.changed = true;
    }

    fn emit(&mut self, now: Instant, events: &mut Events) {
        self.window.on_nothing_more(now);
        if events.wants(EventMask::CONTROLLER) {
            self.emit_window(now, events);
        }
    }

    fn rtt(&self) -> Option<Duration> {
        self.rtt.smoothed()
    }

    fn ecn(&self) -> Option<EcnCapability> {
        self.window.ecn()
    }

    fn bound_until(&self) -> SndLim {
        SndLim::Pacer
    }

    fn on_bound(&mut self, now: Instant, bound: SndLim) -> SndLim {
        self.window.on_bound(now, bound, self.pipe)
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

    fn count_loss_events_from(&mut self, at: Instant) {
        self.counted_from = at;
    }

    fn on_close(&mut self) {
        self.deadline = None;
    }
}

#[cfg(test)]
#[path = "sender_tests.rs"]
mod tests;
