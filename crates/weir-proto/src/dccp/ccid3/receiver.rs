//! The data receiver's half.

use super::INTERVAL_OCTETS;
use crate::cc::tfrc::{self, Arrival, FeedbackOptions, Profile, ReportedInterval};
use crate::dccp::ccid::CcidReceiver;
use crate::dccp::wire::{DccpOption, LossInterval, Options, Packet, PacketType, SeqNum};
use crate::event::Events;
use crate::packet::Ecn;
use crate::time::{Duration, Instant};

/// RFC 4342 §8.6: the open interval and eight closed ones.
const INTERVALS: usize = 9;
/// Intervals are 24 bits long, their lossy parts 23.
const MAX_LENGTH: u64 = (1 << 24) - 1;
const MAX_LOSS: u64 = (1 << 23) - 1;
/// RFC 4342 §8.6.1: the newest packets may still be reordered.
const SKIP: u8 = 3;

/// The data receiver's half of CCID 3.
#[derive(Debug)]
pub struct Receiver {
    tfrc: tfrc::Receiver,
    options: FeedbackOptions,
    /// The first number and the count from it, so that the history sees no wrap.
    origin: Option<(SeqNum, u64)>,
}

impl Receiver {
    /// A receiver under these rules.
    pub fn new(profile: &Profile) -> Self {
        Self {
            tfrc: tfrc::Receiver::new(profile),
            options: profile.feedback_options,
            origin: None,
        }
    }

    /// The number, counted without wrapping.
    fn unwrapped(&mut self, seq: SeqNum) -> u64 {
        // Room below, for packets that precede the first one.
        let (near, count) = *self.origin.get_or_insert((seq, 1 << 32));
        let distance = seq.since(near);
        let number = count.saturating_add_signed(distance);
        if distance > 0 {
            self.origin = Some((seq, number));
        }
        number
    }

    fn write_intervals(&self, options: &mut Options) {
        let mut bytes = [0; INTERVALS * INTERVAL_OCTETS];
        let mut len = 0;
        for interval in self.tfrc.reported_intervals().take(INTERVALS) {
            let ReportedInterval {
                lossless,
                loss,
                data,
            } = interval;
            let encoded = LossInterval {
                lossless_length: lossless.min(MAX_LENGTH) as u32,
                nonce: false,
                loss_length: loss.min(MAX_LOSS) as u32,
                data_length: data.min(MAX_LENGTH) as u32,
            };
            bytes[len..len + INTERVAL_OCTETS].copy_from_slice(&encoded.to_bytes());
            len += INTERVAL_OCTETS;
        }
        if len == 0 {
            // No loss yet: one interval without a lossy part, data length zero for unknown.
            let whole = LossInterval {
                lossless_length: 1,
                nonce: false,
                loss_length: 0,
                data_length: 0,
            };
            bytes[..INTERVAL_OCTETS].copy_from_slice(&whole.to_bytes());
            len = INTERVAL_OCTETS;
        }
        options.push(&DccpOption::LossIntervals {
            skip: SKIP,
            intervals: &bytes[..len],
        });
    }
}

impl CcidReceiver for Receiver {
    fn on_packet(&mut self, now: Instant, packet: &Packet, ecn: Ecn, _events: &mut Events) {
        let seq = self.unwrapped(packet.seq);
        let data = packet.kind.carries_data();
        let (mut ndp, mut rtt) = (None, None);
        if !packet.options.is_empty() {
            for option in &packet.options {
                match option {
                    DccpOption::NdpCount(count) => ndp = Some(count),
                    DccpOption::RttEstimate(0) => {}
                    DccpOption::RttEstimate(micros) => {
                        rtt = Some(Duration::from_micros(u64::from(micros)));
                    }
                    _ => {}
                }
            }
        }
        self.tfrc.on_packet(&Arrival {
            now,
            seq,
            ccval: packet.ccval,
            payload: data.then(|| packet.payload.len()),
            ndp,
            marked: data && ecn == Ecn::Ce,
            rtt,
        });
    }

    fn wants_ack(&self, _now: Instant) -> bool {
        self.tfrc.wants_feedback()
    }

    fn on_ack_sent(&mut self, now: Instant, _packet: (SeqNum, PacketType), options: &mut Options) {
        // Only feedback that is due ends a measurement; other acknowledgements say nothing.
        if !self.tfrc.wants_feedback() {
            return;
        }
        let report = self.tfrc.take_report(now);
        let told = self.options;
        if matches!(told, FeedbackOptions::LossEventRate | FeedbackOptions::Both) {
            options.push(&DccpOption::LossEventRate(report.inverse_loss_rate));
        }
        if matches!(told, FeedbackOptions::LossIntervals | FeedbackOptions::Both) {
            self.write_intervals(options);
            let units = report.elapsed.as_micros() / 10;
            options.push(&DccpOption::ElapsedTime(
                u32::try_from(units).unwrap_or(u32::MAX),
            ));
        }
        options.push(&DccpOption::ReceiveRate(report.receive_rate));
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn loss_event_rate(&self) -> f64 {
        self.tfrc.loss_event_rate()
    }

    fn loss_events(&self) -> u64 {
        self.tfrc.loss_events()
    }
}
