//! Credit (RFC 9000 §4): a receiver says up to which offset a sender may go, for each stream
//! and for the connection as a whole.
//!
//! New credit is due when what is left of it, maximum - retired, falls to a share of the
//! window; the new maximum is retired + window.

use super::error::TransportError;

/// The credit that a receiver gives.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverFlowControl {
    window: u64,
    threshold: u64,
    maximum: u64,
    retired: u64,
    /// Octets that the sender has used: the highest offset, or the sum of these.
    used: u64,
    /// The frame with the maximum was lost.
    repeat: bool,
}

impl ReceiverFlowControl {
    /// A window of so many octets, renewed when `threshold` (a share of it) is left.
    pub fn new(window: u64, threshold: f64) -> Self {
        Self {
            window,
            threshold: (window as f64 * threshold) as u64,
            maximum: window,
            retired: 0,
            used: 0,
            repeat: false,
        }
    }

    /// The sender has used so many octets more.
    pub fn consume(&mut self, octets: u64) -> Result<(), TransportError> {
        self.used = self.used.saturating_add(octets);
        if self.used > self.maximum {
            return Err(TransportError::flow_control(
                "the peer sent beyond its credit",
            ));
        }
        Ok(())
    }

    /// The application has taken so many octets.
    pub fn retire(&mut self, octets: u64) {
        self.retired = self.retired.saturating_add(octets);
    }

    /// True if the peer should hear of new credit.
    #[inline]
    pub const fn frame_needed(&self) -> bool {
        self.repeat
            || (self.maximum.saturating_sub(self.retired) <= self.threshold
                && self.retired.saturating_add(self.window) > self.maximum)
    }

    /// The maximum to announce, if it is due.
    pub fn take_new_maximum(&mut self) -> Option<u64> {
        if !self.frame_needed() {
            return None;
        }
        self.repeat = false;
        self.maximum = self.maximum.max(self.retired.saturating_add(self.window));
        Some(self.maximum)
    }

    /// The sender says that it is blocked at this maximum: if it should know a higher one, the
    /// frame that announced it was lost.
    pub const fn on_blocked(&mut self, limit: u64) {
        self.repeat |= limit < self.maximum;
    }

    /// The frame that announced the maximum was lost.
    pub const fn frame_lost(&mut self) {
        self.repeat = true;
    }
}

/// The credit that a sender has.
#[derive(Clone, Copy, Debug)]
pub struct SenderFlowControl {
    maximum: u64,
    used: u64,
    /// The maximum at which the peer was last told that we are blocked.
    blocked_sent_at: Option<u64>,
}

impl SenderFlowControl {
    /// A first credit.
    pub const fn new(maximum: u64) -> Self {
        Self {
            maximum,
            used: 0,
            blocked_sent_at: None,
        }
    }

    /// Octets that may still be sent.
    #[inline]
    pub const fn available(&self) -> u64 {
        self.maximum - self.used
    }

    /// So many octets were sent for the first time, no more than are available.
    #[inline]
    pub fn consume(&mut self, octets: u64) {
        self.used = self.used.saturating_add(octets).min(self.maximum);
    }

    /// The peer announced a maximum; less than the known one means nothing (RFC 9000 §4.1).
    pub fn update(&mut self, maximum: u64) {
        self.maximum = self.maximum.max(maximum);
    }

    /// There is data and no credit: the maximum, once for each (RFC 9000 §4.1).
    pub fn take_blocked_limit(&mut self) -> Option<u64> {
        if self.available() > 0 || self.blocked_sent_at == Some(self.maximum) {
            return None;
        }
        self.blocked_sent_at = Some(self.maximum);
        self.blocked_sent_at
    }

    /// True if [`take_blocked_limit`](Self::take_blocked_limit) would give something.
    #[inline]
    pub fn blocked_frame_needed(&self) -> bool {
        self.available() == 0 && self.blocked_sent_at != Some(self.maximum)
    }

    /// The frame that reported it was lost.
    pub const fn frame_lost(&mut self) {
        self.blocked_sent_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_credit_is_due_when_half_of_it_is_left() {
        let mut credit = ReceiverFlowControl::new(1000, 0.5);
        credit.retire(499);
        assert_eq!(credit.take_new_maximum(), None);
        credit.retire(1);
        assert_eq!(credit.take_new_maximum(), Some(1500));
        assert_eq!(credit.take_new_maximum(), None);
        credit.frame_lost();
        assert_eq!(credit.take_new_maximum(), Some(1500));
    }

    #[test]
    fn sending_beyond_the_credit_is_an_error() {
        let mut credit = ReceiverFlowControl::new(1000, 0.5);
        assert!(credit.consume(1000).is_ok());
        assert_eq!(credit.consume(1).unwrap_err().code, 3);
        assert!(credit.consume(u64::MAX).is_err());
    }

    #[test]
    fn a_sender_tells_once_that_it_is_blocked() {
        let mut credit = SenderFlowControl::new(10);
        assert_eq!(credit.take_blocked_limit(), None);
        credit.consume(10);
        assert_eq!(credit.take_blocked_limit(), Some(10));
        assert_eq!(credit.take_blocked_limit(), None);
        credit.update(5);
        assert_eq!(credit.available(), 0);
        credit.update(12);
        assert_eq!(credit.available(), 2);
        credit.consume(2);
        assert_eq!(credit.take_blocked_limit(), Some(12));
    }
}
