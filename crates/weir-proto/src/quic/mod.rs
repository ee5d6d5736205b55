//! QUIC for simulation: RFC 9000 and RFC 9002 without TLS.

/// A QUIC packet: a short-header packet's number and frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Packet number.
    pub number: u64,
}
