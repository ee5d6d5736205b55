//! What waited in the bottleneck's queue when packets were sent.
//!
//! A packet whose round trip is longer by a time w than the smallest found in the queue what
//! arrived in the time w before it.

use super::observed::Observed;

/// A packet whose acknowledgement may have been held for a larger share of its waiting tells
/// nothing.
const HELD_SHARE: f64 = 0.2;

/// What a packet found in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Level {
    /// When it was sent, in seconds.
    pub(super) sent_s: f64,
    /// How long it waited, in seconds.
    pub(super) wait_s: f64,
    /// Octets on the wire that were before it.
    pub(super) octets: f64,
}

/// The levels of the packets with a round trip, by the time at which they were sent.
pub(super) fn levels(observed: &Observed, base_s: f64) -> Vec<Level> {
    let acks = &observed.acks;
    let mut levels: Vec<Level> = acks
        .iter()
        .filter(|ack| ack.held_s <= HELD_SHARE * (ack.rtt_s - base_s))
        .map(|ack| {
            let wait_s = ack.rtt_s - base_s;
            let octets = ack.delivered - arrived_by(observed, ack.at_s - wait_s);
            Level {
                sent_s: ack.at_s - ack.rtt_s,
                wait_s,
                octets: octets * observed.packet.overhead(),
            }
        })
        .collect();
    levels.sort_by(|a, b| a.sent_s.total_cmp(&b.sent_s));
    levels
}

/// The octets that had arrived by a time, on the straight line between two acknowledgements.
fn arrived_by(observed: &Observed, at_s: f64) -> f64 {
    let acks = &observed.acks;
    let next = acks.partition_point(|ack| ack.at_s < at_s);
    let before = next.checked_sub(1).and_then(|row| acks.get(row));
    match (before, acks.get(next)) {
        (Some(before), Some(after)) => {
            let share = (at_s - before.at_s) / (after.at_s - before.at_s).max(1e-12);
            before.delivered + share * (after.delivered - before.delivered)
        }
        (None, Some(only)) | (Some(only), None) => only.delivered,
        (None, None) => 0.0,
    }
}

/// What a packet that was sent at a time found, by the higher one of its neighbours.
pub(super) fn level_at(levels: &[Level], sent_s: f64) -> Level {
    let next = levels.partition_point(|level| level.sent_s < sent_s);
    let before = next.checked_sub(1).and_then(|row| levels.get(row));
    let neighbours = [before, levels.get(next)].into_iter().flatten();
    let highest = neighbours.max_by(|a, b| a.octets.total_cmp(&b.octets));
    highest.copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::observed::{Ack, PacketSize};
    use super::*;

    /// A thousand octets each millisecond, with 1250 on the wire; a packet that waited 10 ms was
    /// behind the ten before it.
    #[test]
    fn a_packet_found_what_arrived_while_it_waited() {
        let acks = (1..=100_u32).map(|number| {
            let rtt_s = if number > 50 { 0.05 } else { 0.04 };
            Ack::new(f64::from(number) * 1e-3, rtt_s, f64::from(number) * 1e3)
        });
        let observed = Observed {
            acks: acks.collect(),
            packet: PacketSize {
                wire: 1250.0,
                counted: 1000.0,
            },
            ..Observed::default()
        };
        let levels = levels(&observed, 0.04);
        let last = levels.last().unwrap();
        assert!((last.octets - 12_500.0).abs() < 1e-6, "{last:?}");
        assert!((last.sent_s - 0.05).abs() < 1e-12, "{last:?}");
        // Of a packet that found nothing and one that found ten, the higher one.
        let level = |sent_s, octets| Level {
            sent_s,
            wait_s: 0.0,
            octets,
        };
        let two = [level(0.0, 12_500.0), level(1.0, 0.0)];
        assert_eq!(level_at(&two, 0.9), two[0]);
        assert_eq!(level_at(&[], 1.0), Level::default());
    }
}
