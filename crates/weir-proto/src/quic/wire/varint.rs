//! Variable-length integers (RFC 9000 §16): two bits of length, then 6, 14, 30 or 62 bits of
//! value.

use super::WireError;

/// The largest value.
pub const MAX: u64 = (1 << 62) - 1;

/// Octets of `value`; values beyond [`MAX`] count as 8.
#[inline]
pub const fn len(value: u64) -> u32 {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Appends `value` in its shortest form; values beyond [`MAX`] are written as [`MAX`].
pub fn put(out: &mut Vec<u8>, value: u64) {
    let value = value.min(MAX);
    match len(value) {
        1 => out.push(value as u8),
        2 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        4 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Reads octets from the beginning of a packet, and never past its end.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// A reader of these octets.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Octets not read yet.
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// The next octet, which is not consumed.
    pub fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// The next `count` octets.
    pub fn take(&mut self, count: u64) -> Result<&'a [u8], WireError> {
        let count = usize::try_from(count).map_err(|_| WireError::Truncated)?;
        let (head, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    /// The next octet.
    pub fn octet(&mut self) -> Result<u8, WireError> {
        let (&first, rest) = self.rest.split_first().ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(first)
    }

    /// The next `count` octets, at most 8, as a number in network order.
    pub fn number(&mut self, count: u8) -> Result<u64, WireError> {
        let octets = self.take(u64::from(count))?;
        Ok(octets
            .iter()
            .fold(0, |value, octet| value << 8 | u64::from(*octet)))
    }

    /// The next variable-length integer.
    pub fn varint(&mut self) -> Result<u64, WireError> {
        let first = self.peek().ok_or(WireError::Truncated)?;
        let len = 1_u8 << (first >> 6);
        let value = self.number(len)?;
        Ok(value & (u64::MAX >> (66 - 8 * u32::from(len))))
    }
}
