//! CCID 2: TCP-like congestion control (RFC 4341).
//!
//! The sender keeps a window in packets: slow start by one packet for two acknowledged ones, one
//! packet more per window in congestion avoidance, half at a congestion event, one packet after a
//! timeout (§5). A packet is lost when three later ones have arrived (NUMDUPACK). The receiver
//! acknowledges every Ack Ratio-th data packet with an Ack Vector, and at once when a packet is
//! missing; the sender doubles the Ack Ratio when acknowledgements are lost (§6.1), and announces
//! each change by feature negotiation (§6.1.2).
//!
//! In place of this window the sender can have any controller of [`crate::cc::window`], with its
//! pacing (§5, MAY), its response to the share of marks and to spurious losses. §5.2 applies to
//! each: slow start ends when the receiver reports that it is slow or has dropped data, and each
//! packet that it had no room for reduces the window by one.
//!
//! Does not model: ECN marks on acknowledgements and, with the window of the RFC, pacing and
//! undoing a reduction after a spurious loss.

mod ack_ratio;
mod ack_summary;
mod controlled;
#[cfg(test)]
mod controlled_tests;
mod receiver;
mod sender;
mod tcp_like;
#[cfg(test)]
mod tests;
mod window;

pub use receiver::Ccid2Receiver;
pub use sender::Ccid2Sender;

use crate::cc::window::{ControllerEntry, WindowConfig};
use crate::time::Duration;

/// A window controller for CCID 2 in place of the window of RFC 4341.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerChoice {
    /// The controller.
    pub entry: &'static ControllerEntry,
    /// Its configuration; the packet size and the initial window are the connection's.
    pub config: WindowConfig,
}

/// NUMDUPACK: later packets that must arrive before a packet counts as lost (RFC 4341 §5).
const NUM_DUP_ACK: usize = 3;
/// The longest delay of an acknowledgement (RFC 4340 §11.3).
const ACK_DELAY: Duration = Duration::from_millis(200);

/// The initial window in packets of this size (RFC 4341 §5: at most four, by the rules of RFC 3390
/// §1): up to 1095 octets four packets, below 2190 three, otherwise two.
const fn initial_window(packet_size: u64) -> u32 {
    match packet_size {
        0..=1095 => 4,
        1096..2190 => 3,
        _ => 2,
    }
}
