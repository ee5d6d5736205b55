//! The packets that were sent, and the reports about them.

use super::clock::{PeerClock, TICKS_PER_OFFSET, extend_sequence, from_ticks};
use super::wire::{ArrivalOffset, CcFeedback, Metric};
use crate::cc::media::{PacketOutcome, PacketReport};
use crate::packet::Ecn;
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// Packets below the highest reported one that are kept, so that a packet reported missing can be
/// recognised as late.
pub(super) const REMEMBERED: usize = 1024;

/// The state of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Lost,
    Received,
}

#[derive(Clone, Copy, Debug)]
struct SentPacket {
    id: u64,
    sent: Instant,
    bytes: u32,
    state: State,
}

/// The changes from a report.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Packets that no earlier report covered, in the order of their sequence numbers.
    pub(super) packets: Vec<PacketReport>,
    /// Packets that an earlier report listed as missing.
    pub(super) late: u64,
    /// When the report was made, by the receiver's clock.
    pub(super) made_at: Duration,
    /// A sample of the round-trip time: from the last packet reported.
    pub(super) rtt: Option<Duration>,
}

/// The sent packets of a stream.
#[derive(Debug)]
pub(super) struct History {
    packets: VecDeque<SentPacket>,
    /// The number of the first of them.
    first: u64,
    clock: PeerClock,
    /// The packets that wait for a report.
    in_flight: u64,
}

impl History {
    pub(super) fn new(first: u64) -> Self {
        Self {
            packets: VecDeque::new(),
            first,
            clock: PeerClock::default(),
            in_flight: 0,
        }
    }

    /// The number of the next packet.
    pub(super) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// Packets that no report has covered.
    pub(super) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    pub(super) fn on_sent(&mut self, now: Instant, id: u64, bytes: u32) {
        self.in_flight += 1;
        self.packets.push_back(SentPacket {
            id,
            sent: now,
            bytes,
            state: State::InFlight,
        });
    }

    /// RFC 8888 §3: the time of sending is taken at the last opportunity.
    pub(super) fn on_transmitted(&mut self, now: Instant, id: u64) {
        let newest = self.packets.iter_mut().rev();
        let packet = newest
            .take_while(|packet| packet.id >= id)
            .find(|packet| packet.id == id);
        if let Some(packet) = packet {
            packet.sent = now;
        }
    }

    /// A report on the stream `ssrc` has arrived.
    pub(super) fn on_report(&mut self, now: Instant, ssrc: u32, report: &CcFeedback) -> Outcome {
        let made = self.clock.extend(report.timestamp);
        let mut outcome = Outcome {
            made_at: from_ticks(made),
            ..Outcome::default()
        };
        for block in report.blocks.iter().filter(|block| block.ssrc == ssrc) {
            let Some(begin) = extend_sequence(self.next(), block.begin_seq) else {
                continue;
            };
            for (sequence, metric) in (begin..).zip(&block.metrics) {
                self.on_metric(now, made, (sequence, *metric), &mut outcome);
            }
            self.forget(begin);
        }
        outcome
    }

    fn on_metric(
        &mut self,
        now: Instant,
        made: u64,
        (sequence, metric): (u64, Option<Metric>),
        outcome: &mut Outcome,
    ) {
        let Some(packet) = sequence
            .checked_sub(self.first)
            .and_then(|place| self.packets.get_mut(place as usize))
        else {
            return;
        };
        let is_late = packet.state == State::Lost && metric.is_some();
        outcome.late += u64::from(is_late);
        if packet.state == State::InFlight {
            self.in_flight -= 1;
            let received = metric.map(|metric| PacketOutcome::Received {
                at: arrival(made, metric),
                marked: metric.ecn == Ecn::Ce,
            });
            outcome.packets.push(PacketReport {
                sequence,
                sent: packet.sent,
                bytes: packet.bytes,
                outcome: received.unwrap_or(PacketOutcome::Lost),
            });
            if let Some(ArrivalOffset::Ticks(offset)) = metric.map(|metric| metric.offset) {
                let kept = from_ticks(u64::from(offset) * TICKS_PER_OFFSET);
                outcome.rtt = Some(now.since(packet.sent).saturating_sub(kept));
            }
        }
        match metric {
            Some(_) => packet.state = State::Received,
            None if packet.state == State::InFlight => packet.state = State::Lost,
            None => {}
        }
    }

    /// Removes packets far below a report, which no report will cover any more.
    fn forget(&mut self, reported: u64) {
        let below = reported.saturating_sub(self.first) as usize;
        let old = below.saturating_sub(REMEMBERED).min(self.packets.len());
        let gone = self.packets.drain(..old);
        let never_reported = gone
            .filter(|packet| packet.state == State::InFlight)
            .count();
        self.in_flight -= never_reported as u64;
        self.first += old as u64;
    }
}

/// When a packet arrived, by the receiver's clock.
fn arrival(made: u64, metric: Metric) -> Option<Duration> {
    let ArrivalOffset::Ticks(offset) = metric.offset else {
        return None;
    };
    let ticks = made.checked_sub(u64::from(offset) * TICKS_PER_OFFSET)?;
    Some(from_ticks(ticks))
}
