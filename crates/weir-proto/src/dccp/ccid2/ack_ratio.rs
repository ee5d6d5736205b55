//! Congestion control of acknowledgements (RFC 4341 §6.1): the Ack Ratio R doubles after a window
//! of data in which an acknowledgement was lost, and falls by one after cwnd / (R^2 - R) windows
//! without such a loss.
//!
//! A packet of the peer is lost when three packets with greater numbers have arrived (§6.1.1);
//! every lost packet counts as an acknowledgement, as the RFC allows.

use super::NUM_DUP_ACK;
use crate::dccp::wire::SeqNum;

/// The sender's control of the receiver's Ack Ratio.
#[derive(Clone, Debug)]
pub(super) struct AckRatio {
    ratio: u16,
    /// The greatest number that arrived, and a bit for each of the 64 numbers up to it: bit n is
    /// set if greatest - n has arrived.
    greatest: Option<SeqNum>,
    came: u64,
    /// An acknowledgement was lost in this window of data.
    lost: bool,
    clean_windows: u32,
    /// The window of data ends when this number is acknowledged.
    window_end: Option<SeqNum>,
}

impl AckRatio {
    pub(super) const fn new(ratio: u16) -> Self {
        Self {
            ratio: if ratio == 0 { 1 } else { ratio },
            greatest: None,
            came: 0,
            lost: false,
            clean_windows: 0,
            window_end: None,
        }
    }

    pub(super) const fn get(&self) -> u16 {
        self.ratio
    }

    /// The window was reduced to `cwnd`: the bounds of RFC 4341 §6.1.2 apply at once. Otherwise the
    /// few packets of the window would wait for the receiver's delayed acknowledgement.
    pub(super) fn on_reduction(&mut self, cwnd: u32) {
        self.ratio = bounded(u32::from(self.ratio), cwnd);
    }

    /// A packet of the peer arrived, of any type.
    pub(super) fn on_arrival(&mut self, seq: SeqNum) {
        let Some(greatest) = self.greatest else {
            // Packets before the first one do not count as missing.
            (self.greatest, self.came) = (Some(seq), u64::MAX);
            return;
        };
        let ahead = seq.since(greatest);
        if ahead <= 0 {
            let behind = ahead.unsigned_abs();
            self.came |= if behind < 64 { 1 << behind } else { 0 };
            return;
        }
        // A number that has not arrived is lost once three greater ones have.
        let before = self.missing();
        self.came = 1 | self.came.checked_shl(ahead.min(64) as u32).unwrap_or(0);
        self.greatest = Some(seq);
        let jumped = ahead as u64 > 32;
        self.lost |= jumped || self.missing() & !before.checked_shl(ahead as u32).unwrap_or(0) != 0;
    }

    /// The numbers that have not arrived although `NUM_DUP_ACK` greater ones have.
    fn missing(&self) -> u64 {
        let mut rest = self.came;
        for _ in 1..NUM_DUP_ACK {
            rest &= rest.wrapping_sub(1);
        }
        let third = rest.trailing_zeros();
        // All numbers below the third greatest one.
        !self.came & u64::MAX.checked_shl(third).unwrap_or(0)
    }

    /// Data up to `acknowledged` was acknowledged; `next_end` is the last data packet sent. The
    /// ratio may change at the end of a window of data.
    pub(super) fn on_acknowledged(&mut self, acknowledged: SeqNum, next_end: SeqNum, cwnd: u32) {
        if self
            .window_end
            .is_some_and(|end| acknowledged.is_before(end))
        {
            return;
        }
        self.window_end = Some(next_end);
        let ratio = u32::from(self.ratio);
        let mut wanted = ratio;
        if std::mem::take(&mut self.lost) {
            wanted = ratio * 2;
            self.clean_windows = 0;
        } else {
            self.clean_windows = self.clean_windows.saturating_add(1);
            let needed = ratio * ratio - ratio;
            if needed > 0 && self.clean_windows.saturating_mul(needed) >= cwnd {
                wanted = ratio - 1;
                self.clean_windows = 0;
            }
        }
        self.ratio = bounded(wanted, cwnd);
    }
}

/// The ratio within its bounds (RFC 4341 §6.1.2): at most half the window, rounded up, though two
/// is always allowed; at least two from a window of four packets on; one up to two packets.
fn bounded(ratio: u32, cwnd: u32) -> u16 {
    let most = cwnd.div_ceil(2).max(2);
    let least = if cwnd >= 4 { 2 } else { 1 };
    let ratio = if cwnd <= 2 { 1 } else { ratio };
    ratio.clamp(least, most).min(u32::from(u16::MAX)) as u16
}

#[cfg(test)]
#[path = "ack_ratio_tests.rs"]
mod tests;
