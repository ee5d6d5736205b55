//! The summary of a direction of a link, or of a station of an 802.11 medium.

use super::measure::measures;
use weir_net::wifi::StationCounters;

measures! {
    /// One direction of a link, from the warm-up to the end.
    #[derive(Copy)]
    pub struct LinkSummary {
        /// Share of the time spent transmitting; behind a token bucket or a policer, if that is
        /// more, the share of the time in which tokens were missing from it, so that its rate is 1;
        /// on an 802.11 medium the station's share of the air.
        pub utilisation: f64 => unit("").higher().shown(&[("", "utilisation", 350)]),
        /// Packets dropped, for any reason.
        pub drops: u64 => unit("packets").lower().shown(&[("", "drops", 360)]),
        /// Of these, those that the queue dropped: it was full, or its active queue management
        /// chose them.
        #[serde(default)]
        pub queue_drops: u64 => unit("packets").lower().shown(&[("", "queue drops", 370)]),
        /// Of the drops, those that were lost on the wire: by the loss model, in an outage, for
        /// their ECN field, or because their IP header was damaged. The rest came too fast for the
        /// policer, were thinned out or too large for the link, or were not acknowledged on the
        /// air.
        #[serde(default)]
        pub wire_losses: u64 => unit("packets").lower().shown(&[("", "wire losses", 380)]),
        /// Packets that it marked.
        pub marks: u64 => unit("packets"),
        /// Octets in the queue.
        pub queue_bytes: QueueBytes => unit("bytes").lower().shown(&[("mean", "queue, mean", 400)]),
        /// Copies that came into being, packets that were damaged and went on, packets that were
        /// not delayed, and packets whose ECN field was cleared, where there are such.
        pub impaired: Option<ImpairmentCounts> => of_whole().expected(Expected::No),
        /// Frames on the air, for stations of an 802.11 medium.
        pub frames: Option<FrameCounts> => of_whole().expected(Expected::No),
    }
}

measures! {
    /// What netem and the faults with ECN did to packets of a direction of a link.
    #[derive(Copy, Eq)]
    pub struct ImpairmentCounts {
        /// Copies that came into being.
        pub duplicated: u64 => unit("packets"),
        /// Packets that were damaged and went on.
        pub damaged: u64 => unit("packets"),
        /// Packets that were not delayed.
        pub reordered: u64 => unit("packets"),
        /// Packets whose ECN field was cleared.
        #[serde(default)]
        pub bleached: u64 => unit("packets"),
    }
}

measures! {
    /// Frames of a station of an 802.11 medium.
    #[derive(Copy)]
    pub struct FrameCounts {
        /// 802.11 frames that the station sent, retries included.
        pub sent: u64 => unit("frames"),
        /// 802.11 frames that were not acknowledged.
        pub failed: u64 => unit("frames"),
        /// Of these, those that met another station's frame.
        pub collided: u64 => unit("frames"),
    }
}

measures! {
    /// Octets waiting in a queue.
    #[derive(Copy)]
    pub struct QueueBytes {
        /// Mean over time.
        pub mean: f64,
        /// Most at any time since the start of the run.
        pub max: u64,
    }
}

impl LinkSummary {
    /// What happened on a link between two moments.
    pub(crate) fn between(before: &StationCounters, after: &StationCounters) -> Self {
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
#[path = "link_tests.rs"]
mod tests;
