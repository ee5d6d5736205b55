//! CCID-3 (RFC 4342): TFRC over DCCP. The window counter travels in CCVal; feedback is an Ack
//! with Receive Rate and, as the profile says, Loss Event Rate, Loss Intervals and Elapsed Time.
//!
//! A packet has two times of sending. When it is handed over, its CCVal and the nominal time of the
//! next packet are set. When it has left, its time in the transmit history is set, from which the
//! round-trip time counts. On Linux's loopback the second time is 47 µs after the first, and the
//! feedback arrives 3 µs after the second: R is 3 µs, while the window counter is 50 µs old when
//! feedback arrives.
//!
//! Does not model: Slow Receiver and Data Dropped (RFC 4342 §5.2), and Loss Intervals options that
//! leave out acknowledged intervals (all nine are sent each time).

mod receiver;
mod sender;
mod transmit_history;

pub use receiver::Ccid3Receiver;
pub use sender::Ccid3Sender;

#[cfg(test)]
mod loopback_tests;
#[cfg(test)]
mod tests;
