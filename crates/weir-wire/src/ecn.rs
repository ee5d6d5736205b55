//! Conversion of ECN codepoints (RFC 3168 §5) between quinn's socket and `weir-proto`.

use quinn_udp::EcnCodepoint;
use weir_proto::packet::Ecn;

/// The codepoint of a received datagram, for packets.
pub(crate) fn from_udp(codepoint: Option<EcnCodepoint>) -> Ecn {
    Ecn::from_bits(codepoint.map_or(0, |codepoint| codepoint as u8))
}

/// The codepoint of a packet, for the socket.
pub(crate) fn to_udp(ecn: Ecn) -> Option<EcnCodepoint> {
    EcnCodepoint::from_bits(ecn.bits())
}
