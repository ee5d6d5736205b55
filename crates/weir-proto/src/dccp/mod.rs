//! The Datagram Congestion Control Protocol (RFC 4340): typed packets and their codec, feature
//! negotiation, connection states, and the CCIDs, which determine when a packet may leave.

mod ack_vector;
pub mod ccid;
pub mod ccid2;
pub mod ccid3;
mod connection;
mod data_dropped;
mod negotiation;
mod nonce;
mod sequence;
mod state;
pub mod wire;

pub use connection::{Ccid, Config, Connection};
pub use state::State;
pub use wire::Packet;
