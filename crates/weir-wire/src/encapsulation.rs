//! DCCP in UDP (RFC 6773): a UDP datagram carries one DCCP packet from its generic header on.
//!
//! The UDP checksum protects the packet, so the DCCP checksum is sent as zero and not looked at
//! on arrival (RFC 6773 §3.3). The kernel computes and checks that of UDP.

use weir_proto::dccp;
use weir_proto::dccp::wire::{EncodeError, Malformed, decode};

/// The UDP port on which a server takes encapsulated DCCP (RFC 6773 §5.1).
pub const PORT: u16 = 6511;

/// Octets that the encapsulation takes from the path's MTU.
pub const OVERHEAD_OCTETS: u32 = 8;

/// Appends the content of the datagram that carries this packet.
///
/// # Errors
/// As [`dccp::Packet::encode`].
pub fn encapsulate(packet: &dccp::Packet, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    packet.encode(None, out)
}

/// The packet that a datagram carries.
///
/// # Errors
/// [`Malformed`]: the datagram is to be dropped in silence (RFC 4340 §8.5 step 1).
pub fn decapsulate(datagram: &[u8]) -> Result<dccp::Packet, Malformed> {
    decode(datagram).map(dccp::wire::Decoded::into_packet)
}
