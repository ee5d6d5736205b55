//! The Differentiated Services codepoint of the IP header.

use crate::settings::{Diagnostic, Keyword, Kind, Raw, Reader, Spanned, Value, shortened};

/// The largest codepoint of six bits.
const MAX: u8 = 63;

/// A Differentiated Services codepoint (RFC 2474 §3): the upper six bits of IPv4's TOS octet or
/// IPv6's traffic class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

/// The names of codepoints: RFC 2474 §4.2.2, RFC 2597 §6, RFC 3246 §2.7, RFC 5865 §2, RFC 8622 §5.
const NAMES: [(&str, u8, &str); 23] = [
    ("cs0", 0, "Default forwarding."),
    ("cs1", 8, "Class selector 1."),
    ("cs2", 16, "Class selector 2."),
    ("cs3", 24, "Class selector 3."),
    ("cs4", 32, "Class selector 4."),
    ("cs5", 40, "Class selector 5."),
    ("cs6", 48, "Class selector 6."),
    ("cs7", 56, "Class selector 7."),
    ("af11", 10, "Assured forwarding 11."),
    ("af12", 12, "Assured forwarding 12."),
    ("af13", 14, "Assured forwarding 13."),
    ("af21", 18, "Assured forwarding 21."),
    ("af22", 20, "Assured forwarding 22."),
    ("af23", 22, "Assured forwarding 23."),
    ("af31", 26, "Assured forwarding 31."),
    ("af32", 28, "Assured forwarding 32."),
    ("af33", 30, "Assured forwarding 33."),
    ("af41", 34, "Assured forwarding 41."),
    ("af42", 36, "Assured forwarding 42."),
    ("af43", 38, "Assured forwarding 43."),
    ("ef", 46, "Expedited forwarding."),
    ("va", 44, "Voice admit."),
    ("le", 1, "Lower effort."),
];

impl Dscp {
    /// The codepoint of these six bits; the upper two bits of the octet are ignored.
    pub const fn new(bits: u8) -> Self {
        Self(bits & MAX)
    }

    /// The codepoint in IPv4's TOS octet or IPv6's traffic class.
    pub const fn from_octet(octet: u8) -> Self {
        Self(octet >> 2)
    }

    /// The six bits.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

impl Value for Dscp {
    fn read(&mut self, value: &Spanned, _: &mut Reader<'_>) -> Result<(), Diagnostic> {
        let help = "write a name such as \"ef\", \"af41\" or \"cs1\", or a number from 0 to 63";
        let found = match &value.raw {
            Raw::Integer(number) => u8::try_from(*number).ok().filter(|bits| *bits <= MAX),
            Raw::Text(text) => {
                let named = NAMES.iter().find(|(name, ..)| name == text);
                named.map(|(_, bits, _)| *bits)
            }
            _ => None,
        };
        let Some(bits) = found else {
            let found = shortened(&value.raw.in_words());
            return Err(Diagnostic::new(
                format!("expected a DSCP, found {found}"),
                help,
            ));
        };
        *self = Self(bits);
        Ok(())
    }

    fn write(&self) -> Raw {
        match NAMES.iter().find(|(_, bits, _)| *bits == self.0) {
            Some((name, ..)) => Raw::Text((*name).to_owned()),
            None => Raw::Integer(self.0.into()),
        }
    }

    fn kind(&self) -> Kind {
        let keyword = |&(word, _, doc): &(&'static str, u8, &'static str)| Keyword { word, doc };
        let (min, max, unit) = (0, MAX.into(), "");
        Kind::AnyOf(vec![
            Kind::Keywords(NAMES.iter().map(keyword).collect()),
            Kind::Integer { min, max, unit },
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_the_codepoints_of_the_rfcs() {
        // RFC 2597 §6: AF41 is 100010. RFC 3246 §2.7: EF is 101110. RFC 5865 §2: VOICE-ADMIT is
        // 101100. RFC 8622 §5: LE is 000001. RFC 2474 §4.2.2: class selectors are xxx000.
        for (name, bits) in [
            ("af41", 0b100_010),
            ("af13", 0b001_110),
            ("ef", 0b101_110),
            ("va", 0b101_100),
            ("le", 0b000_001),
            ("cs0", 0),
            ("cs6", 0b110_000),
        ] {
            let found = NAMES.iter().find(|(known, ..)| *known == name);
            assert_eq!(found.map(|(_, bits, _)| *bits), Some(bits), "{name}");
            assert_eq!(Dscp::new(bits).write(), Raw::Text(name.to_owned()));
        }
        assert_eq!(Dscp::new(5).write(), Raw::Integer(5));
        for class in 0..8 {
            let word = format!("cs{class}");
            assert_eq!(Dscp::new(class << 3).write(), Raw::Text(word));
        }
        for (class, drop) in [(1, 1), (2, 2), (3, 3), (4, 1)] {
            // RFC 2597 §6: AFxy is 8 x + 2 y.
            let word = format!("af{class}{drop}");
            assert_eq!(Dscp::new(8 * class + 2 * drop).write(), Raw::Text(word));
        }
    }

    #[test]
    fn the_octet_holds_the_codepoint_above_the_ecn_field() {
        assert_eq!(Dscp::from_octet(0xb8), Dscp::new(46));
        assert_eq!(Dscp::from_octet(0xbb), Dscp::new(46));
        assert_eq!(Dscp::new(0xff).bits(), 63);
    }
}
