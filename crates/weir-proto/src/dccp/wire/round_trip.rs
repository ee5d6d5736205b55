//! Encoding and decoding of every packet, for runs that show that typed packets and wire format are
//! equivalent (`[run] codec = true`).

use super::checksum::{ChecksumStatus, PseudoHeader};
use super::{EncodeError, Malformed, Packet, decode};
use std::fmt;

/// Addresses for the pseudoheader, the same for encoding and decoding.
const ADDRESSES: PseudoHeader = PseudoHeader::V4 {
    source: [192, 0, 2, 1],
    destination: [192, 0, 2, 2],
};

/// A reason why a packet was not reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundTripError {
    /// The packet has no wire form.
    Encode(EncodeError),
    /// Its wire form is malformed.
    Decode(Malformed),
    /// Its wire form has a wrong checksum.
    Checksum,
}

impl Packet {
    /// Encodes and decodes this packet. The result equals it, except that with X = 0 its numbers
    /// have 24 bits; a payload without content stays one. `buffer` holds the octets and is reused,
    /// so that nothing is allocated here.
    ///
    /// # Errors
    /// [`RoundTripError`] for a packet that no implementation would send or accept.
    pub fn round_trip(&self, buffer: &mut Vec<u8>) -> Result<Self, RoundTripError> {
        buffer.clear();
        self.encode(Some(&ADDRESSES), buffer)
            .map_err(RoundTripError::Encode)?;
        let decoded = decode(buffer).map_err(RoundTripError::Decode)?;
        if decoded.checksum_status(buffer, &ADDRESSES) != ChecksumStatus::Good {
            return Err(RoundTripError::Checksum);
        }
        Ok(match self.payload.content() {
            Some(_) => decoded.into_packet(),
            None => decoded.packet,
        })
    }
}

impl fmt::Display for RoundTripError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encode(error) => write!(f, "cannot be encoded: {error}"),
            Self::Decode(error) => write!(f, "cannot be decoded: {error}"),
            Self::Checksum => write!(f, "is encoded with a wrong checksum"),
        }
    }
}

impl std::error::Error for RoundTripError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dccp::wire::{DccpOption, SeqNum};
    use crate::payload::Payload;

    #[test]
    fn simulated_packets_come_back_the_same() {
        let mut buffer = Vec::new();
        for payload in [
            Payload::of_len(1400),
            Payload::from_bytes(b"hello"),
            Payload::of_len(0),
        ] {
            let mut packet = Packet::data_ack(SeqNum::new(1 << 40), SeqNum::new(7), payload);
            packet.options.push(&DccpOption::ElapsedTime(100_000));
            assert_eq!(packet.round_trip(&mut buffer), Ok(packet));
        }
    }

    #[test]
    fn short_numbers_lose_their_high_bits() {
        let mut packet = Packet::new_ack(SeqNum::new(0x1_0000_0001), SeqNum::new(0x2_0000_0002));
        packet.extended = false;
        let arrived = packet.round_trip(&mut Vec::new()).unwrap();
        assert_eq!(
            (arrived.seq, arrived.ack()),
            (SeqNum::new(1), Some(SeqNum::new(2)))
        );
        assert_eq!(
            arrived.seq.extended_near(SeqNum::new(0x1_0000_0000)),
            packet.seq
        );
    }
}
