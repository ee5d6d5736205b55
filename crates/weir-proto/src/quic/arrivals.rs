//! The times at which packets arrived, for the receive timestamps of acknowledgements
//! (draft-ietf-quic-receive-ts §4).
//!
//! An ACK frame reports packets that no earlier one has reported, the last arrival first. Packets
//! beyond the peer's maximum, and those of an ACK frame that is lost, have no timestamp: the draft
//! makes them best effort (§6.1).

use super::wire::{PacketNumber, ReceiveTimestamps, TimestampRange};
use crate::time::Instant;
use std::collections::VecDeque;

/// What the peer asks for (draft-ietf-quic-receive-ts §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampRequest {
    /// max_receive_timestamps_per_ack.
    pub most: u32,
    /// receive_timestamps_exponent: a unit is 2^exponent microseconds.
    pub exponent: u8,
}

/// The packets that arrived since the last acknowledgement.
#[derive(Clone, Debug)]
pub struct Arrivals {
    request: TimestampRequest,
    /// Number and time in units of each, in the order of arrival; at most `request.most`.
    packets: VecDeque<(PacketNumber, u64)>,
}

impl Arrivals {
    /// No packet.
    pub const fn new(request: TimestampRequest) -> Self {
        Self {
            request,
            packets: VecDeque::new(),
        }
    }

    /// A packet arrived.
    pub fn on_packet(&mut self, now: Instant, number: PacketNumber) {
        if self.packets.len() >= self.request.most as usize {
            self.packets.pop_front();
        }
        if self.request.most > 0 {
            // The basis is the beginning of this end's clock.
            let micros = now.as_nanos() / 1000;
            let units = micros >> self.request.exponent;
            self.packets.push_back((number, units));
        }
    }

    /// The field of an ACK frame with this Largest Acknowledged.
    pub fn take(&mut self, largest: PacketNumber) -> ReceiveTimestamps {
        let mut field = ReceiveTimestamps::default();
        let mut last: Option<(PacketNumber, u64)> = None;
        for (number, time) in self.packets.drain(..).rev() {
            let delta = last.map_or(time, |(_, later)| later - time);
            let continues = last.is_some_and(|(above, _)| above == number + 1);
            last = Some((number, time));
            match field.0.last_mut().filter(|_| continues) {
                Some(range) => range.deltas.push(delta),
                None => field.0.push(TimestampRange {
                    delta_largest: largest.saturating_sub(number),
                    deltas: vec![delta],
                }),
            }
        }
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

    fn ranges(field: &ReceiveTimestamps) -> Vec<(u64, &[u64])> {
        let ranges = field.0.iter();
        ranges
            .map(|range| (range.delta_largest, &*range.deltas))
            .collect()
    }

    fn arrive(arrivals: &mut Arrivals, packets: &[(u64, u64)]) {
        for &(number, micros) in packets {
            arrivals.on_packet(Instant::ZERO + Duration::from_micros(micros), number);
        }
    }

    const FIRST: [(u64, u64); 10] = [
        (87, 300),
        (88, 305),
        (89, 310),
        (90, 320),
        (91, 330),
        (96, 350),
        (97, 355),
        (98, 360),
        (99, 370),
        (100, 380),
    ];

    #[test]
    fn timestamps_are_those_of_the_examples_of_the_draft() {
        // draft-ietf-quic-receive-ts §7: packets 87 to 91 and 96 to 100, then 92 to 95 late, of
        // which the receiver may report the first range only.
        let request = TimestampRequest {
            most: 14,
            exponent: 0,
        };
        let mut arrivals = Arrivals::new(request);
        arrive(&mut arrivals, &FIRST);
        let field = arrivals.take(100);
        let first = [(0, &[380, 10, 10, 5, 5][..]), (9, &[20, 10, 10, 5, 5][..])];
        assert_eq!(ranges(&field), first);
        let mut times: Vec<_> = field.times(100).collect();
        times.reverse();
        assert_eq!(times, FIRST);
        arrive(&mut arrivals, &[(92, 390), (93, 392), (94, 394), (95, 395)]);
        assert_eq!(ranges(&arrivals.take(100)), [(5, &[395, 1, 2, 2][..])]);
        assert!(arrivals.take(100).0.is_empty());
    }

    #[test]
    fn the_newest_are_reported_up_to_the_maximum_of_the_peer_and_in_its_units() {
        // §4.1: the sum of the counts is at most max_receive_timestamps_per_ack; §5: an exponent of
        // 3 makes units of 8 microseconds. 380, 370 and 360 are 47.5, 46.25 and 45 units.
        let request = TimestampRequest {
            most: 3,
            exponent: 3,
        };
        let mut arrivals = Arrivals::new(request);
        arrive(&mut arrivals, &FIRST);
        assert_eq!(ranges(&arrivals.take(100)), [(0, &[47, 1, 1][..])]);
        let none = TimestampRequest { most: 0, ..request };
        let mut arrivals = Arrivals::new(none);
        arrive(&mut arrivals, &FIRST);
        assert!(arrivals.take(100).0.is_empty());
    }
}
