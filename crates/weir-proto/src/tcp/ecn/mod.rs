//! ECN feedback in TCP: none, classic (RFC 3168), which reports once a round trip that there were
//! marks, or accurate (AccECN, RFC 9768), which counts them. RFC 9768 was read in its last draft,
//! draft-ietf-tcpm-accurate-ecn-34.
//!
//! The three flags AE, CWR and ECE of SYN and SYN-ACK negotiate which (RFC 9768 §3.1). With
//! accurate feedback they are then one field, ACE: the low three bits of the receiver's count of
//! packets with Congestion Experienced. The [`AccEcnOption`] adds counts of octets, from which a
//! sender determines how often ACE has wrapped. The [`DataReceiver`] counts, the [`DataSender`]
//! decodes.
//!
//! Not modelled: SYNs and options that middleboxes block, and the tests for these (§3.1.4.1,
//! §3.2.3.2); a field that a middlebox changes, beyond the tests of the handshake (§3.2.2.3,
//! §3.2.2.4); a reset for a handshake that offers both kinds of feedback (§3.1.5); ECN-capable SYNs
//! and pure acknowledgements.

mod data_receiver;
mod data_sender;
mod option;
#[cfg(test)]
mod tests;

pub(super) use data_receiver::DataReceiver;
pub(super) use data_sender::{DataSender, NewlyAcked};
pub use option::{AccEcnOption, Order};

use super::wire::flag;
use crate::packet::Ecn;
use crate::settings::{Diagnostic, Keyword, Kind, Raw, Reader, Spanned, Value};

/// The ECN feedback that an end offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnMode {
    /// No ECN feedback.
    #[default]
    Off,
    /// RFC 3168.
    Classic,
    /// RFC 9768, or RFC 3168 with a peer that has no more.
    Accurate,
}

const ACCURATE: Keyword = Keyword::new("accurate", "Marks are counted.");

/// A switch, or "accurate".
impl Value for EcnMode {
    fn read(&mut self, value: &Spanned, reader: &mut Reader<'_>) -> Result<(), Diagnostic> {
        if value.raw.as_text() == Some(ACCURATE.word) {
            *self = Self::Accurate;
            return Ok(());
        }
        let mut on = false;
        let read = on.read(value, reader);
        read.map_err(|wrong| wrong.or_word(ACCURATE.word))?;
        *self = if on { Self::Classic } else { Self::Off };
        Ok(())
    }

    fn write(&self) -> Raw {
        match self {
            Self::Off => Raw::Boolean(false),
            Self::Classic => Raw::Boolean(true),
            Self::Accurate => Raw::Text(ACCURATE.word.to_owned()),
        }
    }

    fn kind(&self) -> Kind {
        Kind::AnyOf(vec![Kind::Boolean, Kind::Keywords(vec![ACCURATE])])
    }
}

/// The flags AE, CWR and ECE as a number of three bits, AE the highest: the ACE field of RFC 9768
/// §3.2.2 after the handshake.
pub(super) const fn ace(flags: u16) -> u8 {
    ((flags & flag::ACE) >> flag::ACE_SHIFT) as u8
}

/// The flags of an ACE value.
pub(super) const fn ace_flags(ace: u8) -> u16 {
    ((ace & 0b111) as u16) << flag::ACE_SHIFT
}

/// (AE, CWR, ECE) of the SYN of an end that offers this (RFC 9768 §3.1.1, RFC 3168 §6.1.1).
pub(super) const fn syn_flags(offered: EcnMode) -> u16 {
    match offered {
        EcnMode::Off => 0,
        EcnMode::Classic => ace_flags(0b011),
        EcnMode::Accurate => ace_flags(0b111),
    }
}

/// The mode of a server that receives a SYN (RFC 9768, table 2).
pub(super) const fn server_mode(offered: EcnMode, syn: u16) -> EcnMode {
    match (offered, ace(syn)) {
        (EcnMode::Off, _) | (EcnMode::Accurate, 0b000) => EcnMode::Off,
        (EcnMode::Accurate, 0b011) => EcnMode::Classic,
        // RFC 9768 §3.1.3: combinations for the future count as an offer of AccECN.
        (EcnMode::Accurate, _) => EcnMode::Accurate,
        // RFC 3168 §6.1.1: both flags; a server of RFC 3168 ignores AE.
        (EcnMode::Classic, flags) if flags & 0b011 == 0b011 => EcnMode::Classic,
        (EcnMode::Classic, _) => EcnMode::Off,
    }
}

/// (AE, CWR, ECE) of the SYN-ACK of a server in this mode, with `ecn` on the SYN.
pub(super) const fn syn_ack_flags(mode: EcnMode, ecn: Ecn) -> u16 {
    match mode {
        EcnMode::Off => 0,
        EcnMode::Classic => ace_flags(0b001),
        EcnMode::Accurate => ace_flags(handshake_encoding(ecn)),
    }
}

/// The mode of a client that receives a SYN-ACK (RFC 9768, table 2).
pub(super) const fn client_mode(offered: EcnMode, syn_ack: u16) -> EcnMode {
    match (offered, ace(syn_ack)) {
        // 111: the server reflects flags that it does not support.
        (EcnMode::Off, _) | (EcnMode::Accurate, 0b000 | 0b111) => EcnMode::Off,
        (EcnMode::Accurate, 0b001) => EcnMode::Classic,
        // RFC 9768 §3.1.3: 101 is reserved and counts as AccECN.
        (EcnMode::Accurate, _) => EcnMode::Accurate,
        (EcnMode::Classic, flags) if flags & 0b001 != 0 => EcnMode::Classic,
        (EcnMode::Classic, _) => EcnMode::Off,
    }
}

/// How SYN-ACK and the acknowledgement of the SYN-ACK feed back the codepoint of the packet that
/// they answer (RFC 9768, tables 2 and 3).
pub(super) const fn handshake_encoding(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The codepoint that this stands for. SYN and SYN-ACK leave without ECT, so a reserved value means
/// that they arrived without ECT (RFC 9768 §3.1.3).
pub(super) const fn handshake_codepoint(ace: u8) -> Ecn {
    match ace {
        0b011 => Ecn::Ect1,
        0b100 => Ecn::Ect0,
        0b110 => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}
