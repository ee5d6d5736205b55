//! Loss detection (RFC 9002 §6 and appendix A).
//!
//! A packet is lost when a later one has been acknowledged and it is some packets
//! (kPacketThreshold) or 9/8 of a round-trip time (kTimeThreshold) behind. Sent packets are in a
//! ring by their number, from the oldest in flight on, so acknowledging and losing packets takes
//! time in proportion to their number.

use super::error::TransportError;
use super::wire::{Ack, AckRange, Frame, PacketNumber, StreamFrame};
use crate::cc::DeliverySnapshot;
use crate::cc::rtt::{RttEstimator, TimeoutRules};
use crate::event::LossTrigger;
use crate::ring::Ring;
use crate::time::{Duration, Instant};
use smallvec::SmallVec;

/// kGranularity (RFC 9002 §6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);
/// kInitialRtt (RFC 9002 §6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);
/// The probe timeout without the peer's delay (RFC 9002 §6.2.1). Before the first sample it is
/// that of kInitialRtt with half of it as the variation.
pub const PROBE_TIMEOUT: TimeoutRules = TimeoutRules {
    initial: Duration::from_nanos(INITIAL_RTT.as_nanos() * 3),
    granularity: GRANULARITY,
    minimum: Duration::ZERO,
    maximum: Duration::MAX,
};
/// kPacketThreshold (RFC 9002 §6.1.1).
pub const PACKET_THRESHOLD: u32 = 3;
/// kPersistentCongestionThreshold (RFC 9002 §7.6.1).
pub const PERSISTENT_THRESHOLD: u64 = 3;

/// A frame that must be sent again if its packet is lost.
#[derive(Clone, Debug, PartialEq)]
pub enum RetransmitFrame {
    /// Stream data.
    Stream(StreamFrame),
    /// The handshake message.
    Crypto,
    /// A frame of flow control; its current value is sent again.
    FlowControl(Frame),
    /// The request for other acknowledgements.
    AckFrequency,
}

/// The frames of a packet that must be sent again if it is lost: almost always one of a stream,
/// which takes 16 octets.
#[derive(Clone, Debug, Default)]
pub enum RetransmitFrames {
    /// No frame must be sent again.
    #[default]
    None,
    /// A [`StreamFrame`] whose stream has a small number.
    Stream {
        /// Its offset.
        offset: u64,
        /// Its length in octets.
        len: u32,
        /// Its stream.
        id: u16,
        /// Its stream ends with it.
        fin: bool,
    },
    /// Other frames, or more than one.
    Many(Box<SmallVec<[RetransmitFrame; 2]>>),
}

impl RetransmitFrames {
    /// Adds a frame after the others.
    #[inline]
    pub fn push(&mut self, frame: RetransmitFrame) {
        if let (
            Self::None,
            RetransmitFrame::Stream(StreamFrame {
                id,
                offset,
                len,
                fin,
            }),
        ) = (&self, &frame)
            && let Ok(id) = u16::try_from(*id)
        {
            *self = Self::Stream {
                offset: *offset,
                len: *len,
                id,
                fin: *fin,
            };
        } else {
            self.push_other(frame);
        }
    }

    #[cold]
    fn push_other(&mut self, frame: RetransmitFrame) {
        if let Self::Many(frames) = self {
            frames.push(frame);
        } else {
            let mut frames = Box::<SmallVec<_>>::default();
            self.for_each(|first| frames.push(first.clone()));
            frames.push(frame);
            *self = Self::Many(frames);
        }
    }

    /// Calls `take` for each of them, in order.
    #[inline]
    pub fn for_each(&self, mut take: impl FnMut(&RetransmitFrame)) {
        match *self {
            Self::None => {}
            Self::Stream {
                offset,
                len,
                id,
                fin,
            } => take(&RetransmitFrame::Stream(StreamFrame {
                id: u64::from(id),
                offset,
                len,
                fin,
            })),
            Self::Many(ref frames) => frames.iter().for_each(take),
        }
    }

    /// True if there is none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// The state of a sent packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum PacketState {
    /// Neither acknowledged nor declared lost.
    InFlight,
    /// Acknowledged.
    Acked,
    /// Declared lost, or not ack-eliciting.
    #[default]
    NotInFlight,
}

/// A packet that was sent: 40 octets, because a connection keeps one for each packet in its window.
#[derive(Clone, Debug, Default)]
pub struct SentPacket {
    /// When it was handed over.
    pub sent_at: Instant,
    /// Its ACK frame acknowledged packets with numbers below this one; zero if it has none.
    pub acked_below: u64,
    /// The frames to send again if it is lost.
    pub retransmit: RetransmitFrames,
    /// Octets that count as in flight.
    pub size: u32,
    /// The peer must acknowledge it.
    pub ack_eliciting: bool,
    state: PacketState,
}

impl SentPacket {
    /// A packet in flight.
    pub fn new(sent_at: Instant, size: u32) -> Self {
        Self {
            sent_at,
            size,
            state: PacketState::InFlight,
            ..Self::default()
        }
    }
}

/// A packet that was declared lost.
#[derive(Clone, Debug)]
pub struct LostPacket {
    /// Its number.
    pub number: PacketNumber,
    /// The packet.
    pub packet: SentPacket,
    /// The delivery state when it was sent, if that is kept.
    pub snapshot: Option<DeliverySnapshot>,
    /// The threshold that it exceeded.
    pub trigger: LossTrigger,
}

/// The packets that an acknowledgement acknowledged for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewlyAcked {
    /// When the largest acknowledged packet was sent, if it was newly acknowledged.
    pub largest_sent_at: Option<Instant>,
    /// An ack-eliciting packet was newly acknowledged.
    pub ack_eliciting: bool,
}

/// The sent packets of one packet-number space.
#[derive(Clone, Debug)]
pub struct SentPackets {
    packets: Ring<SentPacket>,
    /// The delivery state when each of them was sent; empty for a controller that does not use the
    /// delivery rate.
    snapshots: Ring<DeliverySnapshot>,
    /// The number of the first packet in the ring; none before it is in flight.
    base: u64,
    /// Packets behind the last one in the ring, none of which is in flight, as most packets of a
    /// receiver.
    skipped: u64,
    /// Packets at the front of the ring that are known to be no longer in flight.
    settled: usize,
    largest_acked: Option<u64>,
    loss_time: Option<Instant>,
    eliciting_in_flight: u64,
    last_eliciting_at: Instant,
    packet_threshold: u64,
}

impl SentPackets {
    /// No packets; `packet_threshold` is kPacketThreshold (RFC 9002 §6.1.1).
    pub fn new(packet_threshold: u32) -> Self {
        Self {
            packets: Ring::default(),
            snapshots: Ring::default(),
            base: 0,
            skipped: 0,
            settled: 0,
            largest_acked: None,
            loss_time: None,
            eliciting_in_flight: 0,
            last_eliciting_at: Instant::default(),
            packet_threshold: u64::from(packet_threshold),
        }
    }

    /// The number of the next packet.
    #[inline]
    pub fn next_number(&self) -> u64 {
        self.base + self.packets.len() as u64 + self.skipped
    }

    /// The largest number acknowledged.
    pub const fn largest_acked(&self) -> Option<u64> {
        self.largest_acked
    }

    /// When the time threshold declares the next packet lost.
    #[inline]
    pub const fn loss_time(&self) -> Option<Instant> {
        self.loss_time
    }

    /// True if ack-eliciting packets are in flight.
    #[inline]
    pub const fn is_waiting(&self) -> bool {
        self.eliciting_in_flight > 0
    }

    /// When the last ack-eliciting packet was sent.
    #[inline]
    pub const fn last_eliciting_at(&self) -> Instant {
        self.last_eliciting_at
    }

    /// Adds a packet in flight with the next number.
    #[inline]
    pub fn push(&mut self, packet: SentPacket, snapshot: Option<DeliverySnapshot>) {
        if packet.ack_eliciting {
            self.eliciting_in_flight += 1;
            self.last_eliciting_at = packet.sent_at;
        }
        for _ in 0..std::mem::take(&mut self.skipped) {
            self.packets.push_back(SentPacket::default());
            if snapshot.is_some() {
                self.snapshots.push_back(DeliverySnapshot::default());
            }
        }
        self.packets.push_back(packet);
        if let Some(snapshot) = snapshot {
            self.snapshots.push_back(snapshot);
        }
    }

    /// Takes the next number for a packet that is not tracked, because it is not in flight.
    #[inline]
    pub fn skip(&mut self) {
        if self.packets.is_empty() {
            self.base += 1;
        } else {
            self.skipped += 1;
        }
    }

    /// Marks the packets that the frame acknowledges for the first time, and adds their numbers to
    /// `acked`, largest first. They stay until [`trim`](Self::trim).
    pub fn acknowledge(
        &mut self,
        ack: &Ack,
        acked: &mut Vec<PacketNumber>,
    ) -> Result<NewlyAcked, TransportError> {
        // RFC 9000 §13.1: acknowledging a packet that was not sent is an error.
        if ack.largest >= self.next_number() {
            return Err(TransportError::protocol_violation(
                "the peer acknowledged a packet that was not sent",
            ));
        }
        let mut newly_acked = NewlyAcked::default();
        self.acknowledge_range(ack, ack.newest(), acked, &mut newly_acked)?;
        if let Some(older) = &ack.older
            && older.largest() >= self.base
        {
            for range in older.ranges() {
                self.acknowledge_range(ack, range, acked, &mut newly_acked)?;
                if range.largest < self.base {
                    break;
                }
            }
        }
        self.largest_acked = self.largest_acked.max(Some(ack.largest));
        Ok(newly_acked)
    }

    /// Marks the packets of one range of the frame.
    #[inline]
    fn acknowledge_range(
        &mut self,
        ack: &Ack,
        range: AckRange,
        acked: &mut Vec<PacketNumber>,
        newly_acked: &mut NewlyAcked,
    ) -> Result<(), TransportError> {
        if range.smallest > range.largest || range.largest > ack.largest {
            return Err(TransportError::frame_encoding(
                "the ranges of an ACK are not in order",
            ));
        }
        let low = range.smallest.max(self.base) - self.base;
        let end = (range.largest + 1).saturating_sub(self.base);
        for at in (low..end).rev() {
            let Some(packet) = self.packets.get_mut(at as usize) else {
                continue;
            };
            if packet.state != PacketState::InFlight {
                continue;
            }
            packet.state = PacketState::Acked;
            let number = self.base + at;
            if number == ack.largest {
                newly_acked.largest_sent_at = Some(packet.sent_at);
            }
            newly_acked.ack_eliciting |= packet.ack_eliciting;
            self.eliciting_in_flight -= u64::from(packet.ack_eliciting);
            acked.push(number);
        }
        Ok(())
    }

    /// A packet that was not trimmed yet, and the delivery state when it was sent, if that is kept.
    #[inline]
    pub fn get(&self, number: PacketNumber) -> Option<(&SentPacket, Option<&DeliverySnapshot>)> {
        let at = number.checked_sub(self.base)? as usize;
        Some((self.packets.get(at)?, self.snapshots.get(at)))
    }

    /// True if a packet is in flight that is older than the largest acknowledged one: only then
    /// may one be lost. Otherwise the time threshold is not running.
    #[inline]
    pub fn has_gap(&mut self) -> bool {
        self.settle();
        let largest = self.largest_acked;
        let is_older = |largest| self.base + self.settled as u64 <= largest;
        let has_gap = self.settled < self.packets.len() && largest.is_some_and(is_older);
        if !has_gap {
            self.loss_time = None;
        }
        has_gap
    }

    /// Moves the packets that are lost by now into `lost`, oldest first. Returns true if they
    /// establish persistent congestion, whose duration is `persistent_after` (RFC 9002 §7.6).
    pub fn detect_lost(
        &mut self,
        now: Instant,
        rtt: &RttEstimator,
        persistent_after: Duration,
        lost: &mut Vec<LostPacket>,
    ) -> bool {
        self.loss_time = None;
        let Some(largest) = self.largest_acked else {
            return false;
        };
        let (delay, threshold) = (loss_delay(rtt), self.packet_threshold);
        let mut period = PersistentCongestionPeriod::new(rtt.first_sample_at(), persistent_after);
        let mut number = self.base + self.settled as u64;
        while number <= largest {
            let at = (number - self.base) as usize;
            let Some(packet) = self.packets.get_mut(at) else {
                break;
            };
            match packet.state {
                PacketState::Acked => period.interrupt(),
                PacketState::NotInFlight => {}
                PacketState::InFlight => {
                    let trigger = if largest >= number + threshold {
                        LossTrigger::PacketThreshold
                    } else if packet.sent_at + delay <= now {
                        LossTrigger::TimeThreshold
                    } else {
                        // Later packets were sent later and are not lost either.
                        self.loss_time = Some(packet.sent_at + delay);
                        break;
                    };
                    let taken = std::mem::take(packet);
                    self.eliciting_in_flight -= u64::from(taken.ack_eliciting);
                    period.extend(&taken);
                    lost.push(LostPacket {
                        number,
                        packet: taken,
                        snapshot: self.snapshots.get(at).copied(),
                        trigger,
                    });
                }
            }
            number += 1;
        }
        self.settle();
        period.is_persistent
    }

    /// Skips the packets at the front that are no longer in flight.
    #[inline]
    fn settle(&mut self) {
        let settled = |packet: &SentPacket| packet.state != PacketState::InFlight;
        while self.packets.get(self.settled).is_some_and(settled) {
            self.settled += 1;
        }
    }

    /// Removes the packets at the front that [`has_gap`](Self::has_gap) or
    /// [`detect_lost`](Self::detect_lost) found to be no longer in flight.
    #[inline]
    pub fn trim(&mut self) {
        let settled = std::mem::take(&mut self.settled);
        self.base += settled as u64;
        for _ in 0..settled {
            self.packets.pop_front();
        }
        if !self.snapshots.is_empty() {
            for _ in 0..settled {
                self.snapshots.pop_front();
            }
        }
        if self.packets.is_empty() {
            self.base += std::mem::take(&mut self.skipped);
        }
    }

    /// The frames of the oldest packet in flight, to be sent again as a probe.
    pub fn oldest_retransmit(&self) -> RetransmitFrames {
        let mut open = self
            .packets
            .iter()
            .filter(|packet| packet.state == PacketState::InFlight);
        open.find(|packet| !packet.retransmit.is_empty())
            .map_or(RetransmitFrames::None, |packet| packet.retransmit.clone())
    }

    /// The octets in flight.
    pub fn octets_in_flight(&self) -> u64 {
        let open = self
            .packets
            .iter()
            .filter(|packet| packet.state == PacketState::InFlight);
        open.map(|packet| u64::from(packet.size)).sum()
    }
}

/// The time threshold of loss detection (RFC 9002 §6.1.2): 9/8 of the round-trip time.
#[inline]
fn loss_delay(rtt: &RttEstimator) -> Duration {
    let known = rtt.get();
    let rtt = match rtt.first_sample_at() {
        Some(_) => known.latest.max(known.smoothed),
        None => INITIAL_RTT,
    };
    (rtt + rtt / 8).max(GRANULARITY)
}

/// A period of lost packets without an acknowledged one in between.
struct PersistentCongestionPeriod {
    first_sample_at: Option<Instant>,
    persistent_after: Duration,
    start: Option<Instant>,
    is_persistent: bool,
}

impl PersistentCongestionPeriod {
    const fn new(first_sample_at: Option<Instant>, persistent_after: Duration) -> Self {
        Self {
            first_sample_at,
            persistent_after,
            start: None,
            is_persistent: false,
        }
    }

    const fn interrupt(&mut self) {
        self.start = None;
    }

    /// Adds a lost packet. Both ends of the period must be ack-eliciting and sent after the first
    /// sample of the round-trip time (RFC 9002 §7.6.2).
    fn extend(&mut self, packet: &SentPacket) {
        let eligible = packet.ack_eliciting
            && self
                .first_sample_at
                .is_some_and(|first| packet.sent_at > first);
        if !eligible {
            return;
        }
        let start = *self.start.get_or_insert(packet.sent_at);
        self.is_persistent |= packet.sent_at.since(start) > self.persistent_after;
    }
}

#[cfg(test)]
mod tests;
