//! Tests over plain UDP at a constant rate, like `iperf3 -u`: paced datagrams with a number and a
//! timestamp, from which the receiver computes loss, reordering, duplicates and jitter (RFC 3550
//! §6.4.1) and the sender the round-trip time.
//!
//! A client opens a [`Test`] with [`Test::connect`]; a server accepts tests from a
//! [`TestListener`]. Both ends then monitor it with [`Test::stats`] until [`Test::ended`].
//! Requests, and the messages at the end of a test, are repeated until they are answered, so that
//! the test tolerates their loss.
//!
//! Instead of these datagrams a test may carry those of another protocol ([`Traffic`]), such as
//! RTP, which controls its rate itself.
//!
//! Datagrams at a constant rate have no congestion control. So that a server cannot be used to
//! flood others, a client first has to return a token that was sent to its address; until then it
//! is sent one short answer to each Request. A sender stops after five seconds without a message
//! from the receiver, and a receiver eight seconds after the time of the test. Values reported by
//! the peer are checked for plausibility. Not supported: encryption.

mod address_validation;
mod driver;
mod reception;
mod session;
mod traffic;

use crate::test_protocol;

pub use driver::{ClientSetup, ServerSetup, Test, TestListener};
pub use traffic::{SharedTraffic, Traffic, TrafficFactory};

/// The default UDP port of servers: the one after that of DCCP.
pub const DEFAULT_PORT: u16 = 6512;

/// Octets of the shortest datagram: its number, its timestamp and the header with the number of its
/// test.
pub const MIN_LENGTH: u16 = test_protocol::DATA_HEADER as u16;

/// Bits per second of a test whose client specifies no rate, as in iperf3.
pub const DEFAULT_RATE_BPS: f64 = 1e6;
