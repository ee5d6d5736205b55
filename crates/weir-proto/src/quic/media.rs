//! Media in datagrams (RFC 9221) under a controller of media, which learns of each packet from
//! acknowledgements with receive timestamps (draft-ietf-quic-receive-ts).
//!
//! The connection's packets with datagrams are numbered for the controller in the order in which
//! they leave. A report covers the packets up to the first whose fate is not known, so that it is
//! in the order of numbers like one of RFC 8888; QUIC's loss detection says which are lost. As ACK
//! frames have counts of marks only, the newest packets of a frame count as the marked ones.

use super::arrivals::TimestampRequest;
use super::wire::timestamps::LARGEST_EXPONENT;
use super::wire::{Ack, PacketNumber};
use crate::cc::media::{
    Constants, Controller, MediaSender, PacketOutcome, PacketReport, Report, Setup,
};
use crate::settings;
use crate::settings::count;
use crate::time::{Duration, Instant, earliest};
use std::collections::VecDeque;

settings! {
    /// Media in datagrams: the controller, its feedback and the timestamps that the receiver sends.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MediaConfig {
        /// The congestion controller of media.
        pub controller: Controller,
        /// From one report to the controller to the next, at least: acknowledgements come more
        /// often.
        pub feedback_interval: Duration = Duration::from_millis(100),
        /// Nested congestion control: the window and the pacer of the connection hold datagrams
        /// back too, below the controller of media, which is the only one otherwise.
        pub nested: bool,
        /// Packets that may wait to be sent; then a write is refused.
        pub send_queue: u32 = 2000 => count(1..=1_000_000, "packets"),
        /// Receive timestamps that an ACK frame may have.
        pub max_receive_timestamps_per_ack: u32 = 64 => count(0..=128, "timestamps"),
        /// Receive timestamps count in units of 2 to this power microseconds.
        pub receive_timestamps_exponent: u8 = 0 => count(0..=LARGEST_EXPONENT.into(), ""),
        /// The constants of the controllers.
        pub constants: Constants [flatten],
    }
}

impl MediaConfig {
    /// What the receiver of media is asked for.
    pub(super) fn timestamps(&self) -> TimestampRequest {
        TimestampRequest {
            most: self.max_receive_timestamps_per_ack,
            exponent: self.receive_timestamps_exponent.min(LARGEST_EXPONENT),
        }
    }

    fn sender(&self) -> Option<MediaSender> {
        let setup = Setup {
            constants: &self.constants,
            feedback_interval: self.feedback_interval,
            is_l4s: false,
        };
        MediaSender::new(self.controller, &setup)
    }
}

/// A packet with a datagram.
#[derive(Clone, Copy, Debug)]
struct SentMedia {
    number: PacketNumber,
    sent: Instant,
    bytes: u32,
    /// `None` until the packet is acknowledged or declared lost.
    outcome: Option<PacketOutcome>,
}

/// An ACK frame that acknowledges packets for the first time.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged<'a> {
    /// When it arrived.
    pub now: Instant,
    /// The frame.
    pub ack: &'a Ack,
    /// The delay that it reports.
    pub delay: Duration,
    /// The packets, in any order.
    pub packets: &'a [PacketNumber],
    /// A sample of the round-trip time, the delay included.
    pub rtt: Option<Duration>,
    /// How many more marked packets it counts than the frame before.
    pub marks: u64,
}

/// The sender of media of a connection.
#[derive(Debug)]
pub struct Media {
    config: Box<MediaConfig>,
    /// `None` for media without a controller.
    sender: Option<MediaSender>,
    /// The packets that no report has covered, in the order of their numbers.
    packets: VecDeque<SentMedia>,
    /// What the controller calls the first of them.
    sequence: u64,
    last_report: Option<Instant>,
    /// The newest receive timestamp, by the receiver's clock.
    newest: Option<Duration>,
    /// When the last acknowledgement was made, by the receiver's clock.
    made_at: Duration,
    /// The newest sample of the round-trip time that no report has had.
    rtt: Option<Duration>,
}

impl Media {
    /// A sender before its first packet.
    pub fn new(config: Box<MediaConfig>) -> Self {
        Self {
            sender: config.sender(),
            config,
            packets: VecDeque::new(),
            sequence: 0,
            last_report: None,
            newest: None,
            made_at: Duration::ZERO,
            rtt: None,
        }
    }

    #[cfg(test)]
    pub fn set_sender(&mut self, sender: MediaSender) {
        self.sender = Some(sender);
    }

    /// The controller, if there is one.
    pub const fn sender(&self) -> Option<&MediaSender> {
        self.sender.as_ref()
    }

    /// The controller, if there is one, to tell it something.
    pub const fn sender_mut(&mut self) -> Option<&mut MediaSender> {
        self.sender.as_mut()
    }

    /// True if the connection's window and pacer apply to datagrams.
    pub const fn is_nested(&self) -> bool {
        self.config.nested || self.sender.is_none()
    }

    /// The controller begins anew on another path.
    pub fn begin_path(&mut self) {
        self.sender = self.config.sender();
        self.sequence += self.packets.len() as u64;
        self.packets.clear();
        self.rtt = None;
    }

    /// A packet leaves with a datagram of `bytes`, which are part of the `buffered` ones.
    pub fn on_sent(&mut self, now: Instant, number: PacketNumber, bytes: u32, buffered: u64) {
        let sequence = self.sequence + self.packets.len() as u64;
        if let Some(sender) = &mut self.sender {
            sender.on_sent(now, sequence, bytes, buffered);
            self.packets.push_back(SentMedia {
                number,
                sent: now,
                bytes,
                outcome: None,
            });
        }
    }

    /// A packet was declared lost.
    pub fn on_lost(&mut self, number: PacketNumber) {
        self.decide(number, PacketOutcome::Lost);
    }

    fn decide(&mut self, number: PacketNumber, outcome: PacketOutcome) {
        let packets = &mut self.packets;
        if let Ok(place) = packets.binary_search_by_key(&number, |packet| packet.number)
            && let Some(packet) = packets.get_mut(place)
        {
            packet.outcome.get_or_insert(outcome);
        }
    }

    /// An ACK frame has been processed.
    pub fn on_ack(&mut self, acked: &Acknowledged<'_>) {
        let ack = acked.ack;
        let exponent = self.config.timestamps().exponent;
        let time = |units: u64| Duration::from_micros(units.saturating_mul(1 << exponent));
        let times = ack.timestamps().into_iter();
        let times = times.flat_map(|timestamps| timestamps.times(ack.largest));
        let mut times: Vec<_> = times.map(|(number, units)| (number, time(units))).collect();
        self.newest = self.newest.max(times.first().map(|(_, at)| *at));
        // Without any timestamp the own clock serves for the rate at which packets arrive.
        let own = acked.now.since(Instant::ZERO);
        self.made_at = self.newest.map_or(own, |newest| newest + acked.delay);
        let sample = acked.rtt.map(|rtt| rtt.saturating_sub(acked.delay));
        self.rtt = sample.or(self.rtt);
        times.sort_unstable();
        let marked_from = nth_largest(acked.packets, acked.marks);
        for &number in acked.packets {
            let place = times.binary_search_by_key(&number, |(number, _)| *number);
            let at = place.ok().and_then(|place| times.get(place));
            let outcome = PacketOutcome::Received {
                at: at.map(|(_, at)| *at),
                marked: marked_from.is_some_and(|from| number >= from),
            };
            self.decide(number, outcome);
        }
    }

    /// When the next report is due, if there is something to report.
    fn report_due(&self) -> Option<Instant> {
        self.packets.front()?.outcome?;
        let last = self.last_report;
        Some(last.map_or(Instant::ZERO, |last| last + self.config.feedback_interval))
    }

    /// When a report is due, or the rate is halved without one.
    pub fn deadline(&self) -> Option<Instant> {
        let halving = self.sender.as_ref()?.deadline();
        earliest(&[self.report_due(), halving])
    }

    /// Reports the packets whose fate is known, if a report is due; true if it was.
    pub fn report(&mut self, now: Instant) -> bool {
        if self.report_due().is_none_or(|due| due > now) {
            return false;
        }
        let Some(sender) = &mut self.sender else {
            return false;
        };
        let mut reports = Vec::new();
        while let Some(packet) = self.packets.front()
            && let Some(outcome) = packet.outcome
        {
            reports.push(PacketReport {
                sequence: self.sequence,
                sent: packet.sent,
                bytes: packet.bytes,
                outcome,
            });
            self.sequence += 1;
            self.packets.pop_front();
        }
        self.last_report = Some(now);
        let report = Report {
            now,
            made_at: self.made_at,
            rtt: self.rtt.take(),
            packets: &reports,
        };
        sender.on_report(&report, !self.packets.is_empty());
        true
    }
}

/// The smallest of the `count` largest numbers; `None` of no number.
fn nth_largest(numbers: &[PacketNumber], count: u64) -> Option<PacketNumber> {
    if count == 0 {
        return None;
    }
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable_by(|one, other| other.cmp(one));
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    sorted.get(count.min(sorted.len()).checked_sub(1)?).copied()
}
