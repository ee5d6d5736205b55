//! The room of sockets: the protocol machines of `weir-proto`, the same that the simulator runs,
//! on real sockets in real time. [`RealTime`] drives any number of endpoints over one UDP socket,
//! which carries DCCP as RFC 6773 says, over IPv4 or IPv6, with ECN read and set. It needs no
//! privilege and no thread of its own: the caller calls [`RealTime::turn`].
#![forbid(unsafe_code)]

pub mod encapsulation;
mod realtime;
mod socket;

pub use realtime::{Counters, Limits, Peer, RealTime, SessionId, initial_sequence};
