//! TCP for simulation: the competing traffic in measurements of TCP-friendliness.
//!
//! An endpoint is one connection with one stream: SYN handshake, cumulative and selective
//! acknowledgements (RFC 2018), loss recovery by RFC 6675 or, without SACK, by RFC 6582, the
//! retransmission timer of RFC 6298, delayed acknowledgements (RFC 5681 §4.2), flow control and
//! optionally ECN (RFC 3168 §6.1). The windows are those of [`cc::window`](crate::cc::window),
//! the same code that QUIC uses.
//!
//! Not modelled: content (payloads are lengths), timestamps, TIME-WAIT, urgent data, Nagle's
//! algorithm, tail-loss probes, RACK, path-MTU discovery. A lost retransmission is recovered by
//! the retransmission timer, as in RFC 6675.

mod connection;
mod receiver;
mod retransmission_timer;
mod scoreboard;
mod sequence;
mod wire;

pub use connection::{Config, Connection};
pub use wire::{Packet, SackBlocks, SynOptions};
