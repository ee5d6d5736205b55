//! One interval of the Loss Intervals option of CCID 3 (RFC 4342 §8.6): nine octets.

/// A loss interval in a Loss Intervals option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossInterval {
    /// Packets in the part without loss; 24 bits.
    pub lossless_length: u32,
    /// E: the sum of the ECN nonces over the part without loss.
    pub nonce: bool,
    /// Packets from the first to the last lost or marked one; 23 bits.
    pub loss_length: u32,
    /// Data packets in the whole interval; 24 bits.
    pub data_length: u32,
}

const BITS_24: u32 = 0xff_ffff;
const BITS_23: u32 = 0x7f_ffff;

impl LossInterval {
    /// Octets on the wire.
    pub const OCTETS: usize = 9;

    /// The wire form. A length that is too large is reported as the greatest possible one.
    pub fn to_bytes(self) -> [u8; Self::OCTETS] {
        let loss = u32::from(self.nonce) << 23 | self.loss_length.min(BITS_23);
        let fields = [
            self.lossless_length.min(BITS_24),
            loss,
            self.data_length.min(BITS_24),
        ];
        let mut octets = [0; Self::OCTETS];
        for (place, field) in octets.as_chunks_mut::<3>().0.iter_mut().zip(fields) {
            place.copy_from_slice(&field.to_be_bytes()[1..]);
        }
        octets
    }

    /// The interval with this wire form.
    pub fn from_bytes(octets: [u8; Self::OCTETS]) -> Self {
        let field = |start: usize| {
            let octets = octets.iter().skip(start).take(3);
            octets.fold(0, |sum, octet| sum << 8 | u32::from(*octet))
        };
        Self {
            lossless_length: field(0),
            nonce: field(3) > BITS_23,
            loss_length: field(3) & BITS_23,
            data_length: field(6),
        }
    }

    /// The intervals of [`DccpOption::LossIntervals`](super::DccpOption::LossIntervals), newest
    /// first.
    pub fn read_all(intervals: &[u8]) -> impl Iterator<Item = Self> + '_ {
        intervals
            .as_chunks()
            .0
            .iter()
            .map(|octets| Self::from_bytes(*octets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_three_fields_of_24_bits_and_the_nonce_in_the_second() {
        let interval = LossInterval {
            lossless_length: 0x01_0203,
            nonce: true,
            loss_length: 0x04_0506,
            data_length: 0x07_0809,
        };
        assert_eq!(interval.to_bytes(), [1, 2, 3, 0x84, 5, 6, 7, 8, 9]);
        assert_eq!(LossInterval::from_bytes(interval.to_bytes()), interval);
    }

    #[test]
    fn lengths_that_are_too_large_become_the_greatest() {
        let all = LossInterval {
            lossless_length: u32::MAX,
            nonce: false,
            loss_length: u32::MAX,
            data_length: u32::MAX,
        };
        let octets = all.to_bytes();
        assert_eq!(
            octets,
            [0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff]
        );
        assert!(!LossInterval::from_bytes(octets).nonce, "the bit above");
        assert_eq!(LossInterval::read_all(&octets).count(), 1);
        assert_eq!(LossInterval::read_all(&octets[..8]).count(), 0);
    }
}
