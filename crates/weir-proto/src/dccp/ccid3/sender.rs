//! The sender half of CCID 3: CCVal and options on data packets, feedback from Acks.

use super::transmit_history::{SentRecord, TransmitHistory};
use crate::cc::tfrc::{Feedback, Profile, RttOption, Sender, mean_interval};
use crate::dccp::ccid::{CcidSender, LossCounts, SendTime};
use crate::dccp::wire::{DccpOption, LossInterval, Packet, PacketType, SeqNum};
use crate::event::{Events, SndLim};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;
use std::sync::Arc;

/// The RTT Estimate for "more than 16.7 seconds" (RFC 6323 §3.2.1).
const RTT_TOO_LONG: u64 = 0xff_ffff;
/// The unit of Elapsed Time (RFC 4340 §13.2).
const TEN_MICROS: Duration = Duration::from_micros(10);

/// Loss intervals in the computation of p, with the open one.
const INTERVALS: usize = 9;

/// The sender half of CCID 3.
#[derive(Clone, Debug)]
pub struct Ccid3Sender {
    tfrc: Sender,
    history: TransmitHistory,
    closed: bool,
    /// The first lost packet of the newest loss interval that was reported.
    loss_start: Option<SeqNum>,
    /// The next acknowledgement has a wrong nonce echo.
    nonce_mismatch: bool,
    /// The acknowledgement numbers of acknowledgements with a wrong nonce echo, ascending, at most
    /// [`INTERVALS`].
    mismatched_acks: VecDeque<SeqNum>,
}

/// The feedback options of an Ack.
#[derive(Default)]
struct Options<'a> {
    receive_rate: Option<u32>,
    inverse_loss_event_rate: Option<u32>,
    intervals: Option<(u8, &'a [u8])>,
    elapsed: Option<u32>,
}

impl Ccid3Sender {
    /// A sender with these rules; `maximum_segment_size` is in octets of payload.
    pub fn new(profile: impl Into<Arc<Profile>>, maximum_segment_size: u32) -> Self {
        Self {
            tfrc: Sender::new(profile, maximum_segment_size),
            history: TransmitHistory::default(),
            closed: false,
            loss_start: None,
            nonce_mismatch: false,
            mismatched_acks: VecDeque::new(),
        }
    }

    /// The rate controller.
    pub const fn tfrc(&self) -> &Sender {
        &self.tfrc
    }

    fn loss_event_rate(&self, options: &Options) -> f64 {
        let profile = self.tfrc.profile();
        if let Some(inverse) = options.inverse_loss_event_rate {
            return profile.loss_event_rate(inverse);
        }
        let Some((_, intervals)) = options.intervals else {
            return self.tfrc.loss_event_rate();
        };
        // RFC 4342 §6: the sender computes p from the data lengths.
        let lengths = LossInterval::read_all(intervals).map(|interval| interval.data_length);
        self.rate_of(lengths)
    }

    /// True if the newest loss interval begins after all that were reported before (RFC 4342 §8.6).
    fn take_new_loss_event(&mut self, ack: SeqNum, options: &Options) -> bool {
        let Some((skip, intervals)) = options.intervals else {
            return false;
        };
        let Some(newest) = LossInterval::read_all(intervals).next() else {
            return false;
        };
        if newest.loss_length == 0 {
            return false;
        }
        let length = u64::from(newest.lossless_length) + u64::from(newest.loss_length);
        let start = ack.sub(u64::from(skip) + length).next();
        let is_new = self.loss_start.is_none_or(|last| start.is_after(last));
        if is_new {
            self.loss_start = Some(start);
        }
        is_new
    }

    /// p if each acknowledgement with a wrong nonce echo is counted as a mark.
    fn mismatch_rate(&self, ack: SeqNum) -> f64 {
        let marks = std::iter::once(ack).chain(self.mismatched_acks.iter().rev().copied());
        let earlier = marks.clone().skip(1);
        let lengths = marks
            .zip(earlier)
            .map(|(end, start)| end.since(start) as u32);
        self.rate_of(lengths)
    }

    fn rate_of(&self, lengths: impl Iterator<Item = u32>) -> f64 {
        let floor = self.tfrc.profile().loss_event_rate_floor;
        mean_interval(lengths).map_or(0.0, |mean| (1.0 / mean).clamp(floor, 1.0))
    }
}

impl CcidSender for Ccid3Sender {
    fn on_handshake_rtt(&mut self, _now: Instant, rtt: Duration) {
        self.tfrc.on_handshake_rtt(rtt);
    }

    fn on_write(&mut self, now: Instant, payload_len: u32, events: &mut Events) {
        // Before the handshake is complete there is no state to trace.
        if self.tfrc.smoothed_rtt().is_some() {
            self.tfrc.start(now, payload_len);
            self.tfrc.emit(now, events);
        }
    }

    fn send_time(&mut self, now: Instant, payload_len: u32) -> SendTime {
        let at = self.tfrc.next_send(now, payload_len);
        if at <= now {
            SendTime::Now
        } else {
            SendTime::At(at)
        }
    }

    fn on_handover(&mut self, now: Instant, packet: &mut Packet, events: &mut Events) {
        let counter = self.tfrc.on_sent(now, packet.payload.len());
        packet.ccval = counter;
        self.history.push(SentRecord {
            seq: packet.seq,
            sent_at: now,
            counter: Some(counter),
        });
        if self.tfrc.profile().rtt_option == RttOption::Send {
            // RFC 6323 §3.2.1: rounded up to microseconds; zero without a sample.
            let rtt = self.tfrc.measured_rtt().unwrap_or_default();
            let micros = rtt.as_nanos().div_ceil(1000).min(RTT_TOO_LONG);
            packet.options.push(&DccpOption::RttEstimate(micros as u32));
        }
        self.tfrc.emit(now, events);
    }

    fn on_transmitted(&mut self, now: Instant, seq: SeqNum) {
        self.history.set_sent_at(now, seq);
    }

    fn on_nonce_mismatch(&mut self) {
        self.nonce_mismatch = true;
    }

    fn on_ack(&mut self, now: Instant, packet: &Packet, events: &mut Events) {
        // RFC 4342 §6: Acks and DataAcks carry feedback.
        if self.closed || !matches!(packet.kind, PacketType::Ack | PacketType::DataAck) {
            return;
        }
        let Some(ack) = packet.ack() else { return };
        let nonce_mismatch = std::mem::take(&mut self.nonce_mismatch);
        if nonce_mismatch
            && self
                .mismatched_acks
                .back()
                .is_none_or(|last| ack.is_after(*last))
        {
            self.mismatched_acks.push_back(ack);
            if self.mismatched_acks.len() > INTERVALS {
                self.mismatched_acks.pop_front();
            }
        }
        let Some(entry) = self.history.acknowledge(ack) else {
            return;
        };
        if let Some(counter) = entry.counter {
            self.tfrc.on_acked_counter(counter);
        }
        let options = read_options(packet);
        let Some(receive_rate) = options.receive_rate else {
            return;
        };
        let loss_event_rate = self.loss_event_rate(&options);
        let loss_event_rate = loss_event_rate.max(self.mismatch_rate(ack));
        let feedback = Feedback {
            sent_at: entry.sent_at,
            elapsed_time: TEN_MICROS * u64::from(options.elapsed.unwrap_or(0)),
            receive_rate,
            loss_event_rate,
            new_loss_event: self.take_new_loss_event(ack, &options) || nonce_mismatch,
        };
        self.tfrc.on_feedback(now, &feedback, events);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.tfrc.poll_timeout()
    }

    fn handle_timeout(&mut self, now: Instant, events: &mut Events) {
        self.tfrc.handle_timeout(now, events);
    }

    fn bound_until(&self) -> SndLim {
        if self.tfrc.is_at_least_interval() {
            SndLim::MinimumInterval
        } else {
            SndLim::Rate
        }
    }

    fn rtt(&self) -> Option<Duration> {
        self.tfrc.smoothed_rtt()
    }

    /// The receiver counts the losses.
    fn losses(&self) -> LossCounts {
        LossCounts {
            timeouts: self.tfrc.timeouts(),
            ..LossCounts::default()
        }
    }

    fn on_close(&mut self) {
        self.closed = true;
        self.tfrc.stop();
    }
}

fn read_options(packet: &Packet) -> Options<'_> {
    let mut read = Options::default();
    for option in &packet.options {
        match option {
            DccpOption::ReceiveRate(rate) => read.receive_rate = Some(rate),
            DccpOption::LossEventRate(inverse) => read.inverse_loss_event_rate = Some(inverse),
            // RFC 4342 §8.6.1: the first option has the newest intervals.
            DccpOption::LossIntervals { skip, intervals } if read.intervals.is_none() => {
                read.intervals = Some((skip, intervals));
            }
            DccpOption::ElapsedTime(elapsed) => read.elapsed = Some(elapsed),
            DccpOption::TimestampEcho { elapsed, .. } if read.elapsed.is_none() => {
                read.elapsed = elapsed;
            }
            _ => {}
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_interval_that_begins_later_is_a_new_loss_event() {
        let mut sender = Ccid3Sender::new(Profile::rfc5348(), 1000);
        // Acknowledgement, Skip Length, lossless length and loss length of the newest interval.
        let table = [
            // No loss so far.
            ((100, 0, 90, 0), false),
            // 110 - 2 - 5 - 3 packets, so the loss begins at 101.
            ((110, 2, 5, 3), true),
            // The same loss, later.
            ((150, 0, 47, 3), false),
            // The same loss event with more losses.
            ((155, 1, 20, 34), false),
            ((160, 0, 10, 1), true),
            // An older acknowledgement.
            ((150, 0, 47, 3), false),
        ];
        for ((ack, skip, lossless_length, loss_length), expected) in table {
            let newest = LossInterval {
                lossless_length,
                loss_length,
                ..LossInterval::default()
            };
            let options = Options {
                intervals: Some((skip, &newest.to_bytes())),
                ..Options::default()
            };
            let is_new = sender.take_new_loss_event(SeqNum::new(ack), &options);
            assert_eq!(is_new, expected, "{ack} {lossless_length}");
        }
        let rate_only = Options::default();
        assert!(!sender.take_new_loss_event(SeqNum::new(200), &rate_only));
    }
}
