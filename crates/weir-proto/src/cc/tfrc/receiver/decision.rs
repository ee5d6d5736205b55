//! Whether the receiver of TFRC sends feedback after a packet, and why or why not, for traces.

use super::{FEEDBACK_DISTANCE, FeedbackReason, Receiver};
use crate::event::FeedbackDecision;

impl Receiver {
    /// Whether feedback is due after the last packet, and why or why not; `None` before data.
    pub fn feedback_decision(&self) -> Option<FeedbackDecision> {
        match self.due {
            FeedbackReason::FirstPacket => Some(FeedbackDecision::FirstPacket),
            FeedbackReason::Periodic => Some(FeedbackDecision::Periodic),
            FeedbackReason::LossEvent => Some(FeedbackDecision::LossEvent),
            FeedbackReason::None if !self.any_data => None,
            FeedbackReason::None if self.counter_has_advanced(self.newest_counter) => {
                Some(FeedbackDecision::LossPending)
            }
            FeedbackReason::None => Some(FeedbackDecision::CounterBehind),
        }
    }

    /// True if the window counter has advanced enough since the last feedback.
    pub(super) const fn counter_has_advanced(&self, counter: u8) -> bool {
        counter.wrapping_sub(self.last_counter) & 15 >= FEEDBACK_DISTANCE
    }
}
