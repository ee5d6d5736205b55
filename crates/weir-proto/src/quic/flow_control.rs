//! Credit (RFC 9000 §4): a receiver says up to which offset a sender may go, for each stream
//! and for the connection as a whole.
//!
//! New credit is due when what is left of it, maximum - consumed, falls to a share of the window;
//! the new maximum is consumed + window.

use super::error::TransportError;

/// The credit that a receiver gives.
#[derive(Clone, Copy, Debug)]
pub struct ReceiveCredit {
    window: u64,
    threshold: u64,
    maximum: u64,
    consumed: u64,
    /// Octets that the sender has used: the highest offset, or the sum of these.
    used: u64,
    /// The frame with the maximum was lost.
    repeat: bool,
}

impl ReceiveCredit {
    /// A window of so many octets, renewed when `threshold` (a share of it) is left.
    pub fn new(window: u64, threshold: f64) -> Self {
        Self {
            window,
            threshold: (window as f64 * threshold) as u64,
            maximum: window,
            consumed: 0,
            used: 0,
            repeat: false,
        }
    }

    /// The sender has used so many octets more.
    pub fn use_more(&mut self, octets: u64) -> Result<(), TransportError> {
        self.used = self.used.saturating_add(octets);
        if self.used > self.maximum {
            return Err(TransportError::flow_control(
                "the peer sent beyond its credit",
            ));
        }
        Ok(())
    }

    /// The application has taken so many octets.
    pub fn consume(&mut self, octets: u64) {
        self.consumed = self.consumed.saturating_add(octets);
    }

    /// True if the peer should hear of new credit.
    #[inline]
    pub const fn is_due(&self) -> bool {
        self.repeat
            || (self.maximum.saturating_sub(self.consumed) <= self.threshold
                && self.consumed.saturating_add(self.window) > self.maximum)
    }

    /// The maximum to announce, if it is due.
    pub fn take_update(&mut self) -> Option<u64> {
        if !self.is_due() {
            return None;
        }
        self.repeat = false;
        self.maximum = self.maximum.max(self.consumed.saturating_add(self.window));
        Some(self.maximum)
    }

    /// The sender says that it is blocked at this maximum: if it should know a higher one, the
    /// frame that announced it was lost.
    pub const fn answer_blocked(&mut self, limit: u64) {
        self.repeat |= limit < self.maximum;
    }

    /// The frame that announced the maximum was lost.
    pub const fn announce_again(&mut self) {
        self.repeat = true;
    }
}

/// The credit that a sender has.
#[derive(Clone, Copy, Debug)]
pub struct SendCredit {
    maximum: u64,
    used: u64,
    /// The maximum at which the peer was last told that we are blocked.
    told: Option<u64>,
}

impl SendCredit {
    /// A first credit.
    pub const fn new(maximum: u64) -> Self {
        Self {
            maximum,
            used: 0,
            told: None,
        }
    }

    /// Octets that may still be sent.
    #[inline]
    pub const fn left(&self) -> u64 {
        self.maximum - self.used
    }

    /// So many octets were sent for the first time, no more than were left.
    #[inline]
    pub fn spend(&mut self, octets: u64) {
        self.used = self.used.saturating_add(octets).min(self.maximum);
    }

    /// The peer announced a maximum; less than the known one means nothing (RFC 9000 §4.1).
    pub fn raise(&mut self, maximum: u64) {
        self.maximum = self.maximum.max(maximum);
    }

    /// There is data and no credit: the maximum, once for each (RFC 9000 §4.1).
    pub fn take_blocked(&mut self) -> Option<u64> {
        if self.left() > 0 || self.told == Some(self.maximum) {
            return None;
        }
        self.told = Some(self.maximum);
        self.told
    }

    /// True if [`take_blocked`](Self::take_blocked) would give something.
    #[inline]
    pub fn blocked_is_due(&self) -> bool {
        self.left() == 0 && self.told != Some(self.maximum)
    }

    /// The frame that told of it was lost.
    pub const fn tell_again(&mut self) {
        self.told = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_credit_is_due_when_half_of_it_is_left() {
        let mut credit = ReceiveCredit::new(1000, 0.5);
        credit.consume(499);
        assert_eq!(credit.take_update(), None);
        credit.consume(1);
        assert_eq!(credit.take_update(), Some(1500));
        assert_eq!(credit.take_update(), None);
        credit.announce_again();
        assert_eq!(credit.take_update(), Some(1500));
    }

    #[test]
    fn sending_beyond_the_credit_is_an_error() {
        let mut credit = ReceiveCredit::new(1000, 0.5);
        assert!(credit.use_more(1000).is_ok());
        assert_eq!(credit.use_more(1).unwrap_err().code, 3);
        assert!(credit.use_more(u64::MAX).is_err());
    }

    #[test]
    fn a_sender_tells_once_that_it_is_blocked() {
        let mut credit = SendCredit::new(10);
        assert_eq!(credit.take_blocked(), None);
        credit.spend(10);
        assert_eq!(credit.take_blocked(), Some(10));
        assert_eq!(credit.take_blocked(), None);
        credit.raise(5);
        assert_eq!(credit.left(), 0);
        credit.raise(12);
        assert_eq!(credit.left(), 2);
        credit.spend(2);
        assert_eq!(credit.take_blocked(), Some(12));
    }
}
