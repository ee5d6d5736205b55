//! TCP for simulation: the competing traffic in measurements of TCP-friendliness.
//!
//! An endpoint is one connection with one stream: SYN handshake, cumulative and selective
//! acknowledgements (RFC 2018, RFC 2883), loss recovery, the retransmission timer of RFC 6298,
//! delayed acknowledgements (RFC 5681 §4.2), flow control with silly-window avoidance and probes of
//! a closed window (RFC 9293 §3.8.6), and optionally ECN, classic (RFC 3168 §6.1) or accurate (RFC
//! 9768). Loss detection, recovery and timeouts follow [`Rules`] with presets: `linux` with
//! RACK-TLP and F-RTO, `rfc` with RFC 6675, `ns2-sack1`. The windows are those of
//! [`cc::window`](crate::cc::window), the same code that QUIC uses.
//!
//! Not modelled: content (payloads are lengths), timestamps, TIME-WAIT, urgent data, Nagle's
//! algorithm, path-MTU discovery, the rescue retransmission (RFC 6675 §4, NextSeg() rule 4),
//! SACK reneging, Linux's quick acknowledgements.

mod connection;
mod ecn;
mod prr;
mod rack;
mod receive_window;
mod receiver;
mod retransmission_timer;
mod rules;
mod scoreboard;
mod sequence;
mod wire;

pub use connection::{Config, Connection};
pub use ecn::{AccEcnOption, EcnMode, Order};
pub use rules::{BackoffEnd, LossDetection, RecoveryWindow, ReductionBase, RtoFloor, Rules};
pub use wire::{Packet, SackBlocks, SynOptions};
