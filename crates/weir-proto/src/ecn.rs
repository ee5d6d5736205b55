//! The ECN field of the IP header.

/// The ECN codepoint of the IP header (RFC 3168 §5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable transport.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 10.
    Ect0,
    /// ECN-capable, codepoint 01.
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The codepoint in the low two bits of IPv4's TOS octet or IPv6's traffic class.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            0b11 => Self::Ce,
            _ => Self::NotEct,
        }
    }

    /// The two bits of the codepoint.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0b00,
            Self::Ect1 => 0b01,
            Self::Ect0 => 0b10,
            Self::Ce => 0b11,
        }
    }
}
