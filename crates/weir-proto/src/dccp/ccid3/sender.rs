//! The data sender's half.

use crate::cc::tfrc::{self, Feedback, Profile, RttOption};
use crate::dccp::ccid::{CcidSender, SendTime};
use crate::dccp::wire::{DccpOption, LossInterval, Packet, PacketType, SeqNum};
use crate::event::Events;
use crate::packet::Ecn;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Packets remembered for round-trip times: many round trips at any sensible window.
const MAX_HISTORY: usize = 1 << 16;
/// RFC 4342 §8.6: more are never needed.
const MAX_INTERVALS: usize = 10;

/// A data packet on its way.
#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: SeqNum,
    /// When it left the host; until that is known, when it was handed over.
    at: Instant,
    ccval: u8,
}

/// The data sender's half of CCID 3.
#[derive(Debug)]
pub struct Sender {
    tfrc: tfrc::Sender,
    history: VecDeque<Sent>,
    ecn: Ecn,
    rtt_option: RttOption,
    loss_events: u64,
    last_p: f64,
}

/// The options of a feedback packet.
#[derive(Clone, Copy, Debug, Default)]
struct Options {
    receive_rate: Option<u32>,
    inverse_loss_rate: Option<u32>,
    mean_interval: Option<f64>,
    has_intervals: bool,
    elapsed: Duration,
}

impl Sender {
    /// A sender of packets with at most this many octets of payload.
    pub fn new(profile: &Profile, maximum_segment: u32, ecn: Ecn) -> Self {
        Self {
            tfrc: tfrc::Sender::new(profile, maximum_segment),
            history: VecDeque::with_capacity(64),
            ecn,
            rtt_option: profile.rtt_option,
            loss_events: 0,
            last_p: 0.0,
        }
    }

    /// The acknowledged packet; it and older ones are forgotten.
    fn take_acknowledged(&mut self, ack: SeqNum) -> Option<Sent> {
        let at = self.history.partition_point(|sent| sent.seq.is_before(ack));
        let found = self
            .history
            .get(at)
            .filter(|sent| sent.seq == ack)
            .copied()?;
        self.history.drain(..=at);
        Some(found)
    }
}

impl Options {
    fn read(packet: &Packet) -> Self {
        let mut options = Self::default();
        for option in &packet.options {
            match option {
                DccpOption::ReceiveRate(rate) => options.receive_rate = Some(rate),
                DccpOption::LossEventRate(inverse) => options.inverse_loss_rate = Some(inverse),
                DccpOption::ElapsedTime(units) => {
                    options.elapsed = Duration::from_micros(u64::from(units) * 10);
                }
                DccpOption::LossIntervals { intervals, .. } => {
                    options.has_intervals = true;
                    options.mean_interval = mean_of(intervals);
                }
                _ => {}
            }
        }
        options
    }

    /// p; `None` if the packet is no feedback.
    fn loss_event_rate(&self) -> Option<f64> {
        match self.inverse_loss_rate {
            Some(u32::MAX) => Some(0.0),
            Some(0) => Some(1.0),
            Some(inverse) => Some(1.0 / f64::from(inverse)),
            None if self.has_intervals => Some(self.mean_interval.map_or(0.0, |mean| 1.0 / mean)),
            None => None,
        }
    }
}

/// I_mean of a Loss Intervals option (RFC 4342 §8.6); `None` without a closed interval.
fn mean_of(intervals: &[u8]) -> Option<f64> {
    let mut lengths = [0; MAX_INTERVALS];
    let mut count = 0;
    for (slot, interval) in lengths.iter_mut().zip(LossInterval::read_all(intervals)) {
        *slot = u64::from(interval.data_length).max(1);
        count += 1;
    }
    tfrc::mean_interval(&lengths[..count])
}

impl CcidSender for Sender {
    fn on_handshake_rtt(&mut self, rtt: Duration) {
        self.tfrc.on_handshake_rtt(rtt);
    }

    fn send_time(&mut self, now: Instant, _payload_len: u32) -> SendTime {
        let at = self.tfrc.next_send(now);
        if at <= now {
            SendTime::Now
        } else {
            SendTime::At(at)
        }
    }

    fn on_handover(&mut self, now: Instant, packet: &mut Packet, events: &mut Events) {
        let ccval = self.tfrc.on_send(now, packet.payload.len(), events);
        packet.ccval = ccval;
        if let (RttOption::Send, Some(rtt)) = (self.rtt_option, self.tfrc.rtt()) {
            // RFC 6323 §3.2.1: in microseconds, rounded up; three octets.
            let micros = rtt.as_nanos().div_ceil(1_000).clamp(1, 0xff_ffff);
            packet.options.push(&DccpOption::RttEstimate(micros as u32));
        }
        if self.history.len() >= MAX_HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(Sent {
            seq: packet.seq,
            at: now,
            ccval,
        });
    }

    fn on_transmitted(&mut self, now: Instant, seq: SeqNum, _data: bool) {
        let at = self.history.partition_point(|sent| sent.seq.is_before(seq));
        if let Some(sent) = self.history.get_mut(at).filter(|sent| sent.seq == seq) {
            sent.at = now;
        }
    }

    fn on_ack(&mut self, now: Instant, packet: &Packet, events: &mut Events) {
        // RFC 4342 §6: only Ack and DataAck are feedback.
        if !matches!(packet.kind, PacketType::Ack | PacketType::DataAck) {
            return;
        }
        let options = Options::read(packet);
        let (Some(receive_rate), Some(loss_event_rate)) =
            (options.receive_rate, options.loss_event_rate())
        else {
            return;
        };
        // What acknowledges nothing that we remember is no feedback.
        let Some(sent) = packet.ack().and_then(|ack| self.take_acknowledged(ack)) else {
            return;
        };
        let since = now.since(sent.at).as_nanos() as i64;
        if loss_event_rate > self.last_p {
            self.loss_events += 1;
        }
        self.last_p = loss_event_rate;
        let feedback = Feedback {
            rtt_nanos: since.saturating_sub_unsigned(options.elapsed.as_nanos()),
            receive_rate: f64::from(receive_rate),
            loss_event_rate,
            covered_until: sent.at,
            ccval: sent.ccval,
        };
        self.tfrc.on_feedback(now, &feedback, events);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.tfrc.nofeedback_at()
    }

    fn handle_timeout(&mut self, now: Instant, events: &mut Events) {
        self.tfrc.on_nofeedback(now, events);
    }

    fn ecn(&self) -> Ecn {
        self.ecn
    }

    fn rtt(&self) -> Option<Duration> {
        self.tfrc.rtt()
    }

    fn losses(&self) -> (u64, u64) {
        (0, self.loss_events)
    }

    fn on_close(&mut self) {
        self.tfrc.stop();
    }
}
