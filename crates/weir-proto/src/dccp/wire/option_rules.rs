//! The options of a packet that apply to its type, and which of them are Mandatory (RFC 4340 §5.8,
//! table 3, and §5.8.2).
//!
//! Padding and options that are not allowed on the packet type are left out, and Mandatory is
//! combined with the option after it. A connection ignores an unknown option, or answers it with
//! [`OptionFault::mandatory`] if it is Mandatory.

use super::{DccpOption, Options, PacketType, RawOption, RawOptionIter};

/// An option that applies to its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApplicableOption<'a> {
    /// The option.
    pub option: DccpOption<'a>,
    /// Mandatory precedes it: a host that cannot process it must reset the connection.
    pub mandatory: bool,
    /// The option in wire form.
    pub raw: RawOption<'a>,
}

/// A reason to end the connection because of an option: a reset code and its data (RFC 4340 §5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionFault {
    /// 5, "Option Error", or 6, "Mandatory Error".
    pub reset_code: u8,
    /// The option's type and the first two octets of its data.
    pub data: [u8; 3],
}

/// Reads the applicable options; see [`Options::applicable_to`]. Ends after a fault.
#[derive(Clone, Debug)]
pub struct ApplicableOptionIter<'a> {
    raw: RawOptionIter<'a>,
    packet: PacketType,
    mandatory: bool,
    ended: bool,
}

impl OptionFault {
    const OPTION_ERROR: u8 = 5;
    const MANDATORY_ERROR: u8 = 6;

    /// The answer to a Mandatory option that cannot be processed.
    pub fn mandatory(raw: RawOption<'_>) -> Self {
        Self::new(Self::MANDATORY_ERROR, raw)
    }

    /// The answer to an option that is an error according to its section.
    pub fn option(raw: RawOption<'_>) -> Self {
        Self::new(Self::OPTION_ERROR, raw)
    }

    fn new(reset_code: u8, raw: RawOption<'_>) -> Self {
        let octet = |index| raw.data.get(index).copied().unwrap_or(0);
        Self {
            reset_code,
            data: [raw.kind, octet(0), octet(1)],
        }
    }
}

impl Options {
    /// The options that apply to a packet of this type.
    pub fn applicable_to(&self, packet: PacketType) -> ApplicableOptionIter<'_> {
        let raw = self.iter_raw();
        ApplicableOptionIter {
            raw,
            packet,
            mandatory: false,
            ended: false,
        }
    }
}

impl<'a> Iterator for ApplicableOptionIter<'a> {
    type Item = Result<ApplicableOption<'a>, OptionFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let mandatory_itself = RawOption { kind: 1, data: &[] };
        while !self.ended {
            let Some(raw) = self.raw.next() else {
                self.ended = true;
                // RFC 4340 §5.8.2: Mandatory as the last option is an error. If an option with an
                // invalid length follows, the list ends there and Mandatory has no effect.
                let dangling = self.mandatory && self.raw.rest().is_empty();
                return dangling.then(|| Err(OptionFault::option(mandatory_itself)));
            };
            let mandatory = std::mem::take(&mut self.mandatory);
            let option = DccpOption::from_raw(raw);
            match option {
                // Mandatory followed by Padding has no effect (RFC 4340 §5.8.2).
                DccpOption::Padding => {}
                // Mandatory is ignored on Data, so that a guessed number cannot cause a Reset.
                DccpOption::Mandatory if !option.is_allowed_on(self.packet) => {}
                DccpOption::Mandatory if mandatory => {
                    self.ended = true;
                    return Some(Err(OptionFault::option(mandatory_itself)));
                }
                DccpOption::Mandatory => self.mandatory = true,
                _ if option.is_allowed_on(self.packet) => {
                    return Some(Ok(ApplicableOption {
                        option,
                        mandatory,
                        raw,
                    }));
                }
                // Options that do not apply cannot be processed.
                _ if mandatory => {
                    self.ended = true;
                    return Some(Err(OptionFault::mandatory(raw)));
                }
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = Result<(u8, bool), (u8, [u8; 3])>;

    fn outcomes(octets: &[u8], packet: PacketType) -> Vec<Outcome> {
        let options = Options::from_wire(octets);
        options
            .applicable_to(packet)
            .map(|result| match result {
                Ok(option) => Ok((option.raw.kind, option.mandatory)),
                Err(fault) => Err((fault.reset_code, fault.data)),
            })
            .collect()
    }

    #[test]
    fn mandatory_marks_the_next_option_only() {
        let octets = [2, 1, 34, 4, 6, 1, 37, 3, 9];
        let expected = [Ok((2, false)), Ok((34, true)), Ok((37, false))];
        assert_eq!(outcomes(&octets, PacketType::Ack), expected);
    }

    /// B3.
    #[test]
    fn mandatory_at_the_end_or_twice_is_an_option_error() {
        assert_eq!(
            outcomes(&[2, 1], PacketType::Ack),
            [Ok((2, false)), Err((5, [1, 0, 0]))]
        );
        assert_eq!(outcomes(&[1, 1, 2], PacketType::Ack), [Err((5, [1, 0, 0]))]);
        assert_eq!(outcomes(&[2, 1], PacketType::Data), [Ok((2, false))]);
        assert_eq!(outcomes(&[1, 1, 2], PacketType::Data), [Ok((2, false))]);
    }

    /// B4: an unknown option is reported as Mandatory, except on Data.
    #[test]
    fn mandatory_before_an_unknown_option_is_reported() {
        assert_eq!(outcomes(&[1, 99, 3, 7], PacketType::Ack), [Ok((99, true))]);
        assert_eq!(
            outcomes(&[1, 99, 3, 7], PacketType::Data),
            [Ok((99, false))]
        );
        let unknown = RawOption {
            kind: 99,
            data: &[7],
        };
        let fault = OptionFault {
            reset_code: 6,
            data: [99, 7, 0],
        };
        assert_eq!(OptionFault::mandatory(unknown), fault);
    }

    /// B5.
    #[test]
    fn mandatory_padding_has_no_effect() {
        assert_eq!(outcomes(&[1, 0, 2, 0], PacketType::Ack), [Ok((2, false))]);
        assert_eq!(outcomes(&[1, 0], PacketType::Ack), []);
    }

    /// B1 with a Mandatory before it.
    #[test]
    fn nothing_is_mandatory_after_the_end_of_the_list() {
        assert_eq!(outcomes(&[2, 1, 32, 1], PacketType::Ack), [Ok((2, false))]);
    }

    /// B8: an Ack Vector on Request or Data is ignored; a Mandatory one on Request is an error.
    #[test]
    fn options_on_the_wrong_type_are_ignored() {
        let octets = [38, 3, 0x40, 43, 4, 0, 1, 2];
        for packet in [PacketType::Request, PacketType::Data] {
            assert_eq!(outcomes(&octets, packet), [Ok((2, false))]);
        }
        assert_eq!(outcomes(&octets, PacketType::Ack).len(), 3);
        let marked = outcomes(&[1, 38, 3, 0x40, 2], PacketType::Request);
        assert_eq!(marked, [Err((6, [38, 0x40, 0]))]);
        assert_eq!(outcomes(&[2, 2], PacketType::Listen), []);
    }
}
