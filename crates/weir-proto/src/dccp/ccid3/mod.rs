//! CCID 3: TFRC congestion control (RFC 4342) over [`cc::tfrc`](crate::cc::tfrc).
//!
//! The sender writes the window counter into CCVal and reads feedback from the options Receive
//! Rate, Loss Event Rate or Loss Intervals and Elapsed Time; the receiver writes them. Which of
//! them it sends is a rule of the profile, as is everything else in which revisions differ.
//!
//! Does not model: the sender's check of Loss Event Rate against Loss Intervals, nonces (historic,
//! RFC 8311 §3.3), Data Dropped.

mod receiver;
mod sender;

pub use receiver::Receiver;
pub use sender::Sender;

/// The octets of one interval in Loss Intervals (RFC 4342 §8.6).
const INTERVAL_OCTETS: usize = 9;
