//! The summary of one acknowledgement.

use crate::dccp::wire::SeqNum;
use crate::time::{Duration, Instant};

/// The contents of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckSummary {
    pub(super) acknowledged: u32,
    /// Of these, packets without a mark that were delivered.
    pub(super) unmarked: u32,
    /// Of these, packets with a mark.
    pub(super) newly_marked: u32,
    pub(super) dropped_by_receiver: u32,
    /// The greatest number with a mark, and the greatest that was lost, and when they were sent.
    pub(super) marked: Option<(SeqNum, Instant)>,
    pub(super) lost: Option<(SeqNum, Instant)>,
    /// The option Slow Receiver is present, or Data Dropped.
    pub(super) slow_receiver: bool,
    pub(super) data_dropped: bool,
    /// All packets that were declared lost have arrived.
    pub(super) spurious: bool,
    pub(super) rtt_sample: Option<Duration>,
}

impl AckSummary {
    /// The packet has a mark.
    pub(super) fn note_mark(&mut self, seq: SeqNum, sent_at: Instant) {
        if self
            .marked
            .is_none_or(|(greatest, _)| seq.is_after(greatest))
        {
            self.marked = Some((seq, sent_at));
        }
    }
}
