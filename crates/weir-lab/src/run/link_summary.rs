//! The summary of a direction of a link, or of a station of an 802.11 medium.

use serde::{Deserialize, Serialize};
use weir_net::wifi::StationCounters;

/// One direction of a link, from the warm-up to the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Share of the time spent transmitting; behind a token bucket or a policer, if that is more,
    /// the share of the time in which tokens were missing from it, so that its rate is 1; on an
    /// 802.11 medium the station's share of the air.
    pub utilisation: f64,
    /// Packets dropped, for any reason.
    pub drops: u64,
    /// Of these, those that the queue dropped: it was full, or its active queue management chose
    /// them.
    #[serde(default)]
    pub queue_drops: u64,
    /// Of these, those that were lost on the wire: by the loss model, in an outage, for their ECN
    /// field, or because their IP header was damaged. The rest came too fast for the
    /// policer, were thinned out or too large for the link, or were not acknowledged on the air.
    #[serde(default)]
    pub wire_losses: u64,
    /// Packets marked.
    pub marks: u64,
    /// Octets in the queue.
    pub queue_bytes: QueueBytes,
    /// Copies that came into being, packets that were damaged and went on, packets that were not
    /// delayed, and packets whose ECN field was cleared, where there are such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impaired: Option<ImpairmentCounts>,
    /// Frames on the air, for stations of an 802.11 medium.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<FrameCounts>,
}

/// What netem and the faults with ECN did to packets of a direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImpairmentCounts {
    /// Copies that came into being.
    pub duplicated: u64,
    /// Packets that were damaged and went on.
    pub damaged: u64,
    /// Packets that were not delayed.
    pub reordered: u64,
    /// Packets whose ECN field was cleared.
    #[serde(default)]
    pub bleached: u64,
}

/// Frames of a station of an 802.11 medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameCounts {
    /// Transmissions, retries included.
    pub sent: u64,
    /// Transmissions that were not acknowledged.
    pub failed: u64,
    /// Of these, those that met another station's frame.
    pub collided: u64,
}

/// Octets waiting in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueBytes {
    /// Mean over time.
    pub mean: f64,
    /// Most at any time since the start of the run.
    pub max: u64,
}

impl LinkSummary {
    /// What happened on a link between two moments.
    pub(super) fn between(before: &StationCounters, after: &StationCounters) -> Self {
        let frames = FrameCounts {
            sent: after.frames - before.frames,
            failed: after.failures - before.failures,
            collided: after.collisions - before.collisions,
        };
        let (before, after) = (&before.link, &after.link);
        let impaired = ImpairmentCounts {
            duplicated: after.packets_duplicated - before.packets_duplicated,
            damaged: after.packets_damaged - before.packets_damaged,
            reordered: after.packets_reordered - before.packets_reordered,
            bleached: after.packets_bleached - before.packets_bleached,
        };
        Self {
            impaired: (impaired != ImpairmentCounts::default()).then_some(impaired),
            frames: (frames.sent > 0).then_some(frames),
            utilisation: after.utilisation_since(before),
            drops: after.packets_dropped() - before.packets_dropped(),
            queue_drops: after.dropped_by_queue() - before.dropped_by_queue(),
            wire_losses: after.lost_on_wire() - before.lost_on_wire(),
            marks: after.packets_marked - before.packets_marked,
            queue_bytes: QueueBytes {
                mean: after.mean_bytes_queued_since(before),
                max: after.max_bytes_queued,
            },
        }
    }
}

#[cfg(test)]
#[path = "link_summary_tests.rs"]
mod tests;
