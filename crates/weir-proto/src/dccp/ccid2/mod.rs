//! CCID 2: TCP-like congestion control (RFC 4341).
//!
//! The sender keeps a window in packets: slow start by one packet for two acknowledged ones, one
//! packet more per window in congestion avoidance, half at a congestion event, one packet after a
//! timeout (§5). A packet is lost when three later ones have arrived (NUMDUPACK). The receiver
//! acknowledges every Ack Ratio-th data packet with an Ack Vector, and at once when a packet is
//! missing; the sender doubles the Ack Ratio when acknowledgements are lost (§6.1), and announces
//! each change by feature negotiation (§6.1.2).
//!
//! Does not model: pacing (§5, MAY), ECN marks on acknowledgements, and undoing a reduction after a
//! spurious loss.

mod ack_ratio;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use receiver::Ccid2Receiver;
pub use sender::Ccid2Sender;

use crate::time::Duration;

/// NUMDUPACK: later packets that must arrive before a packet counts as lost (RFC 4341 §5).
const NUM_DUP_ACK: usize = 3;
/// The longest delay of an acknowledgement (RFC 4340 §11.3).
const ACK_DELAY: Duration = Duration::from_millis(200);
