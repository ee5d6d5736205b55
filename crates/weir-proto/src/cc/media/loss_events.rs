//! The loss events of a flow of media, for statistics.

use super::control::{PacketOutcome, PacketReport};
use crate::time::{Duration, Instant};

/// Losses of packets that were sent within a round-trip time are one event (RFC 5348 §5.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct LossEvents {
    /// When the first packet of the last event was sent.
    event: Option<Instant>,
    counted: u64,
    counted_from: Instant,
}

impl LossEvents {
    /// Takes the packets of a report.
    pub fn on_report(&mut self, packets: &[PacketReport], rtt: Duration) {
        let lost = packets.iter();
        for packet in lost.filter(|packet| packet.outcome == PacketOutcome::Lost) {
            if self.event.is_none_or(|sent| packet.sent > sent + rtt) {
                self.event = Some(packet.sent);
                self.counted += u64::from(packet.sent >= self.counted_from);
            }
        }
    }

    /// True if no packet was lost yet.
    pub const fn has_none(&self) -> bool {
        self.event.is_none()
    }

    /// Events so far.
    pub const fn count(&self) -> u64 {
        self.counted
    }

    /// Stops counting events of packets that were sent before `at`.
    pub const fn count_from(&mut self, at: Instant) {
        self.counted_from = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_within_a_round_trip_are_one_event() {
        let lost = |millis: u64| PacketReport {
            sequence: millis,
            sent: Instant::ZERO + Duration::from_millis(millis),
            bytes: 1200,
            outcome: PacketOutcome::Lost,
        };
        let rtt = Duration::from_millis(100);
        let mut events = LossEvents::default();
        events.on_report(&[lost(10), lost(20), lost(110)], rtt);
        assert_eq!(events.count(), 1);
        events.on_report(&[lost(111)], rtt);
        assert_eq!(events.count(), 2);
        events.count_from(Instant::ZERO + Duration::from_secs(1));
        events.on_report(&[lost(900), lost(1001)], rtt);
        assert_eq!(events.count(), 3);
    }
}
