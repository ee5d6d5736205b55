//! QUIC for simulation (RFC 9000 and RFC 9002), without TLS: exact header and frame sizes,
//! packet-number spaces, acknowledgement policy, loss detection, probe timeouts, persistent
//! congestion, streams with retransmission, flow control, unreliable datagrams (RFC 9221), and the
//! window controllers of [`cc::window`](crate::cc::window).
//!
//! [`Connection`] is one [`Endpoint`](crate::endpoint::Endpoint). Applications write on one
//! bidirectional stream at each end; wire format and flow control support several.
//!
//! Not modelled: TLS and keys (the handshake is an exchange of Initial packets of the right size,
//! or none), Retry, 0-RTT, version negotiation, migration and connection ids, path MTU discovery,
//! stateless resets, the content of streams (lengths only). A packet counts as sent when it is
//! handed over. Packets are paced if the controller has a pacing rate and a quantum.

mod ack;
mod arrivals;
mod config;
mod connection;
mod datagrams;
mod error;
mod flow_control;
mod loss;
mod media;
mod streams;
pub mod wire;

pub use config::{AckPolicy, Config, FlowControlConfig, Handshake};
pub use connection::Connection;
pub use datagrams::DatagramConfig;
pub use error::TransportError;
pub use media::MediaConfig;
pub use wire::Packet;
