//! The QUIC packet numbers that an endpoint's decoder expects (RFC 9000 §17.1).

use weir_proto::quic::Packet;
use weir_proto::quic::wire::{HeaderFormat, SpaceId};

/// Decodes the packets that arrive at one end; decoding a truncated packet number needs the
/// expected one.
pub(in crate::run) struct QuicDecoder {
    header: HeaderFormat,
    /// The next expected number in the Initial space and in the application data space.
    expected: [u64; 2],
}

impl QuicDecoder {
    pub(in crate::run) const fn new(header: HeaderFormat) -> Self {
        Self {
            header,
            expected: [0; 2],
        }
    }

    pub(in crate::run) const fn header(&self) -> &HeaderFormat {
        &self.header
    }

    /// # Errors
    /// If the octets are not a valid packet.
    pub(in crate::run) fn decode(&mut self, octets: &[u8]) -> Result<Packet, String> {
        let index = |space: SpaceId| usize::from(space == SpaceId::Data);
        let expected = |space| self.expected[index(space)];
        let packet = Packet::decode(octets, &self.header, expected)
            .map_err(|error| format!("cannot be decoded: {error}"))?;
        let next = &mut self.expected[index(packet.space)];
        *next = (*next).max(packet.number + 1);
        Ok(packet)
    }
}
