//! What waited in the bottleneck's queue when packets were sent.
//!
//! A packet whose round trip is longer by a time w than the smallest found in the queue what arrived
//! in the time w before it.

use super::observed::Observed;

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
        .filter(|ack| ack.is_prompt)
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
