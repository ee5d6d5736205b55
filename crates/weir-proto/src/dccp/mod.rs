//! The Datagram Congestion Control Protocol (RFC 4340): typed packets and their codec, feature
//! negotiation, connection states, and the CCIDs that say when a packet may leave.

pub mod ccid;
pub mod ccid3;
pub mod wire;

pub use wire::Packet;
