//! Counters of a link or a station: packets and octets in, out, waiting and dropped.

use crate::queue::Backlog;
use weir_proto::event::DropReason;
use weir_proto::time::{Duration, Instant};

/// Integrates the backlog of a queue over time, for a link or a station.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueMeter {
    /// The time up to which the integrals are counted.
    counted_to: Instant,
}

impl QueueMeter {
    /// Adds the time since the last change, during which the queue has held `backlog`, to the
    /// integrals.
    #[inline]
    pub(crate) fn advance(&mut self, now: Instant, backlog: Backlog, counters: &mut LinkCounters) {
        let nanos = u128::from(now.since(self.counted_to).as_nanos());
        self.counted_to = self.counted_to.max(now);
        counters.packet_nanos_queued += nanos * u128::from(backlog.packets);
        counters.byte_nanos_queued += nanos * u128::from(backlog.bytes);
    }

    /// Records the backlog after a packet has entered and, if the transmitter was idle, has been
    /// taken out again: it may be a new maximum.
    #[inline]
    pub(crate) fn entered(backlog: Backlog, counters: &mut LinkCounters) {
        counters.max_packets_queued = counters.max_packets_queued.max(backlog.packets);
        counters.max_bytes_queued = counters.max_bytes_queued.max(backlog.bytes);
    }
}

/// Counters of a link since its start, and its content when they are read. The counters of each
/// packet come first, so that they share cache lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct LinkCounters {
    /// Packets that entered the link.
    pub packets_in: u64,
    /// Octets of these.
    pub bytes_in: u64,
    /// Time spent transmitting.
    pub busy: Duration,
    /// The time at which the counters were read.
    pub at: Instant,
    /// Integral of the waiting packets over time, in packet nanoseconds.
    pub packet_nanos_queued: u128,
    /// Integral of the waiting octets over time, in octet nanoseconds.
    pub byte_nanos_queued: u128,
    /// The most packets that waited at one time.
    pub max_packets_queued: u64,
    /// The most octets that waited at one time.
    pub max_bytes_queued: u64,
    /// Packets that arrived at the other end.
    pub packets_delivered: u64,
    /// Octets of these.
    pub bytes_delivered: u64,
    /// Packets dropped because the queue was full.
    pub dropped_queue_full: u64,
    /// Packets dropped by active queue management, though there was room.
    pub dropped_aqm: u64,
    /// Packets that the loss model dropped.
    pub dropped_loss_model: u64,
    /// Packets lost in an outage.
    pub dropped_outage: u64,
    /// Packets dropped for their ECN field.
    pub dropped_ecn_black_hole: u64,
    /// Packets that the policer dropped.
    pub dropped_policed: u64,
    /// Acknowledgements that were thinned out.
    pub dropped_thinned: u64,
    /// Packets larger than the MTU.
    pub dropped_too_large: u64,
    /// Packets whose IP header was damaged.
    pub dropped_damaged: u64,
    /// Packets dropped after their last retry; only stations of a shared medium retry.
    pub dropped_retry_limit: u64,
    /// Packets that a tunnel's outer connection lost; only tunnels have one.
    pub dropped_outer: u64,
    /// Octets of all dropped packets.
    pub bytes_dropped: u64,
    /// Packets marked with congestion experienced.
    pub packets_marked: u64,
    /// Packets whose ECN field was cleared.
    pub packets_bleached: u64,
    /// Copies that the wire made.
    pub packets_duplicated: u64,
    /// Octets of these.
    pub bytes_duplicated: u64,
    /// Packets that were damaged and went on.
    pub packets_damaged: u64,
    /// Packets that were not delayed, so that they may have overtaken others.
    pub packets_reordered: u64,
    /// Packets that wait in the queue.
    pub packets_queued: u64,
    /// Octets of these.
    pub bytes_queued: u64,
    /// Packets being transmitted or propagated.
    pub packets_in_flight: u64,
    /// Octets of these.
    pub bytes_in_flight: u64,
    /// Time in which tokens were missing from the link's token bucket.
    pub shaper_busy: Duration,
    /// Time in which tokens were missing from the link's policer.
    pub policer_busy: Duration,
}

impl LinkCounters {
    /// Packets dropped for any reason.
    pub const fn packets_dropped(&self) -> u64 {
        self.dropped_queue_full
            + self.dropped_aqm
            + self.dropped_loss_model
            + self.dropped_outage
            + self.dropped_ecn_black_hole
            + self.dropped_policed
            + self.dropped_thinned
            + self.dropped_too_large
            + self.dropped_retry_limit
            + self.dropped_outer
            + self.dropped_damaged
    }

    /// Packets dropped by the queue, because it was full or by active queue management.
    pub const fn dropped_by_queue(&self) -> u64 {
        self.dropped_queue_full + self.dropped_aqm
    }

    /// Packets lost on the wire: by the loss model, in an outage, for their ECN field, because
    /// their IP header was damaged, or with a packet of the outer connection.
    pub const fn lost_on_wire(&self) -> u64 {
        self.dropped_loss_model
            + self.dropped_outage
            + self.dropped_ecn_black_hole
            + self.dropped_damaged
            + self.dropped_outer
    }

    /// Counts a packet of `size` octets that was lost with a packet of the outer connection.
    pub(crate) const fn count_outer_loss(&mut self, size: u32) {
        self.dropped_outer += 1;
        self.bytes_dropped += size as u64;
    }

    /// Counts the drop of a packet of `size` octets.
    pub(crate) fn count_drop(&mut self, size: u32, reason: DropReason) {
        match reason {
            DropReason::LossModel => self.dropped_loss_model += 1,
            DropReason::Outage => self.dropped_outage += 1,
            DropReason::EcnBlackHole => self.dropped_ecn_black_hole += 1,
            DropReason::Aqm => self.dropped_aqm += 1,
            DropReason::Policed => self.dropped_policed += 1,
            DropReason::Thinned => self.dropped_thinned += 1,
            DropReason::TooLarge => self.dropped_too_large += 1,
            DropReason::RetryLimit => self.dropped_retry_limit += 1,
            DropReason::Damaged => self.dropped_damaged += 1,
            _ => self.dropped_queue_full += 1,
        }
        self.bytes_dropped += u64::from(size);
    }

    /// The share of the time since `earlier` spent transmitting or, if that is more, waiting for
    /// tokens of the shaper or the policer: the largest of the three.
    pub fn utilisation_since(&self, earlier: &Self) -> f64 {
        let wire = self.busy.saturating_sub(earlier.busy);
        let shaper = self.shaper_busy.saturating_sub(earlier.shaper_busy);
        let policer = self.policer_busy.saturating_sub(earlier.policer_busy);
        let busy = wire.max(shaper).max(policer).as_nanos() as f64;
        busy / (self.at.since(earlier.at).as_nanos() as f64).max(1.0)
    }

    /// The mean number of octets waiting since `earlier`.
    pub fn mean_bytes_queued_since(&self, earlier: &Self) -> f64 {
        let integral = self.byte_nanos_queued - earlier.byte_nanos_queued;
        integral as f64 / (self.at.since(earlier.at).as_nanos() as f64).max(1.0)
    }

    /// The mean number of packets waiting since `earlier`.
    pub fn mean_packets_queued_since(&self, earlier: &Self) -> f64 {
        let integral = self.packet_nanos_queued - earlier.packet_nanos_queued;
        integral as f64 / (self.at.since(earlier.at).as_nanos() as f64).max(1.0)
    }
}
