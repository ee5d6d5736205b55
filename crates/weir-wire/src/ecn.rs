//! ECN codepoints (RFC 3168 §5) between quinn's socket and the packets of `weir-proto`.

use quinn_udp::EcnCodepoint;
use weir_proto::packet::Ecn;

/// A received datagram's codepoint as packets have it.
pub(crate) fn from_udp(codepoint: Option<EcnCodepoint>) -> Ecn {
    Ecn::from_bits(codepoint.map_or(0, |codepoint| codepoint as u8))
}

/// A packet's codepoint as the socket takes it.
pub(crate) fn to_udp(ecn: Ecn) -> Option<EcnCodepoint> {
    EcnCodepoint::from_bits(ecn.bits())
}
