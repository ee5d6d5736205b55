//! A frame, and its description in each of its packets.

use super::HEADER;
use weir_proto::packet::Payload;
use weir_proto::time::{Duration, Instant};

/// A frame at the sender or at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoFrame {
    /// Its number, from 0 on; frames that were not encoded have one too.
    pub number: u32,
    /// When it was captured.
    pub captured: Instant,
    /// Octets in all its packets.
    pub bytes: u32,
    /// Its packets; 0 for a frame that was not encoded.
    pub packets: u16,
    /// It can be decoded without other frames.
    pub is_key: bool,
    /// The time by which a pause of the source has delayed its capture; 0 at the receiver.
    pub pause: Duration,
    /// The encoder's rate, in bit/s.
    pub encoder_rate: u32,
    /// Packets that arrived; 0 at the sender.
    pub arrived: u16,
    /// When the last of its packets arrived; `None` if one is missing.
    pub completed: Option<Instant>,
}

impl VideoFrame {
    /// Packet `index` of the frame, of `len` octets.
    pub(super) fn payload(&self, index: u16, len: u32) -> Payload {
        let mut content = vec![0; len.max(HEADER) as usize];
        let fields: [&[u8]; 7] = [
            &self.number.to_be_bytes(),
            &self.bytes.to_be_bytes(),
            &self.captured.as_nanos().to_be_bytes(),
            &self.packets.to_be_bytes(),
            &index.to_be_bytes(),
            &u32::from(self.is_key).to_be_bytes(),
            &self.encoder_rate.to_be_bytes(),
        ];
        for (octet, value) in content.iter_mut().zip(fields.into_iter().flatten()) {
            *octet = *value;
        }
        Payload::from_bytes(&content)
    }

    /// The frame that the header of a packet describes, and the packet's index in it; `None` if the
    /// packet has no such header.
    pub(super) fn described(payload: &Payload) -> Option<(Self, u16)> {
        let content = payload.content().filter(|_| !payload.is_damaged())?;
        let (number, rest) = content.split_first_chunk()?;
        let (bytes, rest) = rest.split_first_chunk()?;
        let (captured, rest) = rest.split_first_chunk()?;
        let (packets, rest) = rest.split_first_chunk()?;
        let (index, rest) = rest.split_first_chunk()?;
        let (is_key, rest) = rest.split_first_chunk()?;
        let (encoder_rate, _) = rest.split_first_chunk()?;
        let frame = Self {
            number: u32::from_be_bytes(*number),
            bytes: u32::from_be_bytes(*bytes),
            captured: Instant::from_nanos(u64::from_be_bytes(*captured)),
            packets: u16::from_be_bytes(*packets),
            is_key: u32::from_be_bytes(*is_key) != 0,
            encoder_rate: u32::from_be_bytes(*encoder_rate),
            ..Self::default()
        };
        Some((frame, u16::from_be_bytes(*index)))
    }
}
