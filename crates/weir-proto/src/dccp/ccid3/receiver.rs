//! The receiver half of CCID 3: passes packets to TFRC's receiver and its feedback to options.

use crate::cc::tfrc::{ArrivedPacket, FeedbackOptions, FeedbackReport, Profile, Receiver};
use crate::dccp::ccid::{CcidReceiver, LossCounts};
use crate::dccp::nonce::NonceSums;
use crate::dccp::wire::{DccpOption, LossInterval, Options, Packet, PacketType, SeqNum};
use crate::event::{Event, EventMask, Events, FeedbackDecision};
use crate::packet::Ecn;
use crate::time::{Duration, Instant};
use std::sync::Arc;

/// The most loss intervals in feedback: I_0 to I_8 (RFC 4342 §8.6.1).
const REPORTED: usize = 9;

/// The receiver half of CCID 3.
#[derive(Clone, Debug)]
pub struct Ccid3Receiver {
    tfrc: Receiver,
    /// The greatest sequence number, and its extension beyond 48 bits.
    anchor: Option<(SeqNum, i64)>,
    nonces: NonceSums,
    /// The last decision about feedback that was returned.
    decision: Option<FeedbackDecision>,
}

impl Ccid3Receiver {
    /// A receiver with these rules.
    pub fn new(profile: impl Into<Arc<Profile>>) -> Self {
        Self {
            tfrc: Receiver::new(profile),
            anchor: None,
            nonces: NonceSums::default(),
            decision: None,
        }
    }

    /// The receiver of TFRC.
    pub const fn tfrc(&self) -> &Receiver {
        &self.tfrc
    }

    fn unwrapped(&mut self, seq: SeqNum) -> i64 {
        let (anchor, value) = self.anchor.unwrap_or((seq, 0));
        let unwrapped = value.saturating_add(seq.since(anchor));
        if unwrapped >= value {
            self.anchor = Some((seq, unwrapped));
        }
        unwrapped
    }

    fn push_intervals(&mut self, report: &FeedbackReport, options: &mut Options) {
        let mut octets = [0; REPORTED * LossInterval::OCTETS];
        let mut len = 0;
        let greatest = self.anchor.map_or(SeqNum::default(), |(seq, _)| seq);
        let mut high = greatest.sub(u64::from(report.skip));
        let slots = octets.as_chunks_mut().0.iter_mut();
        for (slot, interval) in slots.zip(self.tfrc.reported_intervals()) {
            let end = high.sub(u64::from(interval.lossless_length));
            let nonce = self.nonces.parity_of_interval(end.next(), high);
            high = end.sub(u64::from(interval.loss_length));
            *slot = LossInterval {
                lossless_length: interval.lossless_length,
                nonce: interval.lossless_length > 0 && nonce.unwrap_or(false),
                loss_length: interval.loss_length,
                data_length: interval.data_length,
            }
            .to_bytes();
            len += LossInterval::OCTETS;
        }
        options.push(&DccpOption::LossIntervals {
            skip: report.skip,
            intervals: octets.get(..len).unwrap_or(&[]),
        });
    }

    /// Dropped Packets of CCID 4: the losses of the same intervals (RFC 5622 §8.7).
    fn push_drop_counts(&self, options: &mut Options) {
        let mut octets = [0; REPORTED * 3];
        let mut len = 0;
        let slots = octets.as_chunks_mut::<3>().0.iter_mut();
        for (slot, interval) in slots.zip(self.tfrc.reported_intervals()) {
            let [_, count @ ..] = interval.drop_count.to_be_bytes();
            *slot = count;
            len += count.len();
        }
        options.push(&DccpOption::DroppedPackets(
            octets.get(..len).unwrap_or(&[]),
        ));
    }
}

impl CcidReceiver for Ccid3Receiver {
    fn on_packet(&mut self, now: Instant, packet: &Packet, ecn: Ecn, events: &mut Events) {
        let data = matches!(packet.kind, PacketType::Data | PacketType::DataAck);
        let rtt_before = self.tfrc.rtt();
        let mut ndp = 0;
        for option in &packet.options {
            match option {
                DccpOption::NdpCount(count) => ndp = count,
                // RFC 6323 §3.2.1: zero means no sample yet.
                DccpOption::RttEstimate(micros) if micros > 0 => {
                    self.tfrc
                        .on_rtt_estimate(Duration::from_micros(u64::from(micros)));
                }
                _ => {}
            }
        }
        let arrived = ArrivedPacket {
            seq: self.unwrapped(packet.seq),
            counter: packet.ccval,
            payload: data.then(|| packet.payload.len()),
            ndp,
            marked: ecn == Ecn::Ce,
        };
        let seq = arrived.seq;
        self.tfrc.on_packet(now, &arrived, |lost| {
            let numbers = lost.map(|lost| packet.seq.add((lost - seq).cast_unsigned()).get());
            events.push_missing(now, numbers);
        });
        if let Some(rtt) = self.tfrc.rtt().filter(|rtt| Some(*rtt) != rtt_before) {
            events.push(now, EventMask::FEEDBACK, || Event::ReceiverRtt(rtt));
        }
        // RFC 4342 §8.6.1: only the nonces of data packets count.
        self.nonces.record(packet.seq, data && ecn == Ecn::Ect1);
    }

    fn feedback_decision(&mut self) -> Option<FeedbackDecision> {
        let decision = self.tfrc.feedback_decision()?;
        let before = self.decision.replace(decision);
        (before != Some(decision)).then_some(decision)
    }

    fn wants_ack(&self, _now: Instant) -> bool {
        self.tfrc.wants_feedback()
    }

    fn on_ack_sent(&mut self, now: Instant, _seq: SeqNum, kind: PacketType, options: &mut Options) {
        // RFC 4342 §8: these options are not allowed on Data; feedback is an Ack or a DataAck.
        if !matches!(kind, PacketType::Ack | PacketType::DataAck) {
            return;
        }
        let Some(report) = self.tfrc.take_feedback(now) else {
            return;
        };
        let which = self.tfrc.profile().feedback_options;
        if which != FeedbackOptions::LossIntervals {
            let inverse = report.inverse_loss_event_rate;
            options.push(&DccpOption::LossEventRate(inverse));
        }
        options.push(&DccpOption::ReceiveRate(report.receive_rate));
        if which != FeedbackOptions::LossEventRate {
            let units = report.elapsed.as_micros() / 10;
            let units = units.min(u64::from(u32::MAX)) as u32;
            options.push(&DccpOption::ElapsedTime(units));
            self.push_intervals(&report, options);
            if self.tfrc.profile().small_packets.is_some() {
                self.push_drop_counts(options);
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    /// Zero if no data arrives: lost acknowledgements of the other half-connection are not losses
    /// of data.
    fn losses(&self) -> LossCounts {
        if !self.tfrc.has_data() {
            return LossCounts::default();
        }
        LossCounts {
            packets: self.tfrc.packets_lost(),
            events: self.tfrc.counted_loss_events(),
            timeouts: 0,
        }
    }

    fn count_loss_events_from(&mut self, first: SeqNum) {
        let first = self.anchor.map_or(i64::MIN, |(greatest, value)| {
            value.saturating_add(first.since(greatest))
        });
        self.tfrc.count_loss_events_from(first);
    }
}
