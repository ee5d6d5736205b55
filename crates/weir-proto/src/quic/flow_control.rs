//! Flow control (RFC 9000 §4): a receiver limits the offset up to which a sender may send, for each
//! stream and for the connection as a whole.
//!
//! A new maximum, retired + window, is announced when maximum - retired falls to a share of the
//! window.

use super::error::TransportError;

/// The receiver's side of flow control, of a stream or of the connection.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverFlowControl {
    window: u64,
    threshold: u64,
    maximum: u64,
    retired: u64,
    /// Octets that the sender has used: the highest offset of a stream, or the sum of these.
    used: u64,
    /// The frame with the maximum must be sent again.
    repeat: bool,
    /// The value of `retired` from which on a new maximum is due.
    due_from: u64,
}

impl ReceiverFlowControl {
    /// A window of `window` octets; a new maximum is due when `threshold`, a share of it, is left.
    pub fn new(window: u64, threshold: f64) -> Self {
        let mut credit = Self {
            window,
            threshold: (window as f64 * threshold) as u64,
            maximum: window,
            retired: 0,
            used: 0,
            repeat: false,
            due_from: 0,
        };
        credit.set_due();
        credit
    }

    /// A new maximum is due when `threshold` is left of the one before, and if it is higher.
    fn set_due(&mut self) {
        let little_is_left = self.maximum.saturating_sub(self.threshold);
        let higher = self.maximum.saturating_add(1).saturating_sub(self.window);
        self.due_from = little_is_left.max(higher);
    }

    /// The sender has used `octets` further octets.
    ///
    /// # Errors
    /// FLOW_CONTROL_ERROR if it has used more than the maximum.
    pub fn consume(&mut self, octets: u64) -> Result<(), TransportError> {
        self.used = self.used.saturating_add(octets);
        if self.used > self.maximum {
            return Err(TransportError::flow_control(
                "the peer sent beyond its credit",
            ));
        }
        Ok(())
    }

    /// The application has read `octets` octets.
    pub fn retire(&mut self, octets: u64) {
        self.retired = self.retired.saturating_add(octets);
    }

    /// True if a frame with a new maximum is due.
    #[inline]
    pub const fn frame_needed(&self) -> bool {
        self.repeat || self.retired >= self.due_from
    }

    /// The new maximum to announce, if one is due.
    pub fn take_new_maximum(&mut self) -> Option<u64> {
        if !self.frame_needed() {
            return None;
        }
        self.repeat = false;
        self.maximum = self.maximum.max(self.retired.saturating_add(self.window));
        self.set_due();
        Some(self.maximum)
    }

    /// The sender reports that it is blocked at this maximum. If a higher one was announced, its
    /// frame was lost and is repeated.
    pub const fn on_blocked(&mut self, limit: u64) {
        self.repeat |= limit < self.maximum;
    }

    /// The frame with the maximum was lost.
    pub const fn frame_lost(&mut self) {
        self.repeat = true;
    }
}

/// The sender's side of flow control, of a stream or of the connection.
#[derive(Clone, Copy, Debug)]
pub struct SenderFlowControl {
    maximum: u64,
    used: u64,
    /// The maximum in the last DATA_BLOCKED or STREAM_DATA_BLOCKED frame.
    blocked_sent_at: Option<u64>,
}

impl SenderFlowControl {
    /// The initial maximum.
    pub const fn new(maximum: u64) -> Self {
        Self {
            maximum,
            used: 0,
            blocked_sent_at: None,
        }
    }

    /// The offset up to which octets may be sent.
    pub const fn maximum(&self) -> u64 {
        self.maximum
    }

    /// Octets that may still be sent.
    #[inline]
    pub const fn available(&self) -> u64 {
        self.maximum - self.used
    }

    /// `octets` octets were sent for the first time, no more than are available.
    #[inline]
    pub fn consume(&mut self, octets: u64) {
        self.used = self.used.saturating_add(octets).min(self.maximum);
    }

    /// The peer announced a maximum; one below the known maximum is ignored (RFC 9000 §4.1).
    pub fn update(&mut self, maximum: u64) {
        self.maximum = self.maximum.max(maximum);
    }

    /// The maximum to report as blocking, once for each maximum (RFC 9000 §4.1).
    pub fn take_blocked_limit(&mut self) -> Option<u64> {
        if self.available() > 0 || self.blocked_sent_at == Some(self.maximum) {
            return None;
        }
        self.blocked_sent_at = Some(self.maximum);
        self.blocked_sent_at
    }

    /// True if [`take_blocked_limit`](Self::take_blocked_limit) returns a maximum.
    #[inline]
    pub fn blocked_frame_needed(&self) -> bool {
        self.available() == 0 && self.blocked_sent_at != Some(self.maximum)
    }

    /// The frame that reported it as blocking was lost.
    pub const fn frame_lost(&mut self) {
        self.blocked_sent_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_new_maximum_is_due_when_half_of_the_window_is_left() {
        let mut credit = ReceiverFlowControl::new(1000, 0.5);
        credit.retire(499);
        assert_eq!(credit.take_new_maximum(), None);
        credit.retire(1);
        assert_eq!(credit.take_new_maximum(), Some(1500));
        assert_eq!(credit.take_new_maximum(), None);
        credit.frame_lost();
        assert_eq!(credit.take_new_maximum(), Some(1500));
    }

    proptest! {
        #[test]
        fn a_new_maximum_is_due_when_the_threshold_is_left_and_it_is_higher(
            window in 0_u64..3000,
            threshold in 0.0..1.5,
            steps in proptest::collection::vec((0_u64..700, any::<bool>(), any::<bool>()), 1..60),
        ) {
            let mut credit = ReceiverFlowControl::new(window, threshold);
            let threshold = (window as f64 * threshold) as u64;
            let (mut maximum, mut retired) = (window, 0_u64);
            for (octets, lost, take) in steps {
                credit.retire(octets);
                retired += octets;
                if lost {
                    credit.frame_lost();
                }
                let left = maximum.saturating_sub(retired);
                let due = lost || (left <= threshold && retired + window > maximum);
                prop_assert_eq!(credit.frame_needed(), due);
                if take || lost {
                    let new = credit.take_new_maximum();
                    maximum = new.unwrap_or(maximum);
                    prop_assert_eq!(new, due.then(|| maximum.max(retired + window)));
                }
            }
        }
    }

    #[test]
    fn sending_beyond_the_maximum_is_an_error() {
        let mut credit = ReceiverFlowControl::new(1000, 0.5);
        assert!(credit.consume(1000).is_ok());
        assert_eq!(credit.consume(1).unwrap_err().code, 3);
        assert!(credit.consume(u64::MAX).is_err());
    }

    #[test]
    fn a_sender_reports_once_that_it_is_blocked() {
        fn reported(credit: &mut SenderFlowControl) -> Option<u64> {
            let needed = credit.blocked_frame_needed();
            let limit = credit.take_blocked_limit();
            assert_eq!(needed, limit.is_some());
            limit
        }
        // RFC 9000 §4.1: blocked with no octet left, not with one.
        let mut credit = SenderFlowControl::new(10);
        credit.consume(9);
        assert_eq!(reported(&mut credit), None);
        credit.consume(1);
        assert_eq!(reported(&mut credit), Some(10));
        assert_eq!(reported(&mut credit), None);
        credit.update(5);
        assert_eq!(credit.available(), 0);
        credit.update(12);
        assert_eq!(credit.available(), 2);
        assert_eq!(reported(&mut credit), None);
        credit.consume(2);
        assert_eq!(reported(&mut credit), Some(12));
        credit.frame_lost();
        assert_eq!(reported(&mut credit), Some(12));
    }
}
