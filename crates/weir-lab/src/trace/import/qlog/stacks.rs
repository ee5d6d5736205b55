//! The programs that write qlog, and where they depart from its drafts.

use super::head::{FileHead, TraceHead};

/// A slow-start threshold from here on means that there is none; some programs write the largest
/// number that they have.
pub(super) const UNLIMITED: f64 = 4_294_967_295.0;

/// A program, as far as its departures are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stack {
    Quiche,
    Picoquic,
    Other,
}

impl Stack {
    /// The program, by what the file says of itself.
    pub(super) fn of(file: &FileHead, trace: &TraceHead) -> Self {
        let said = [&file.title, &trace.title, &trace.vantage_name];
        let says = |name: &str| {
            let mut texts = said.iter().filter_map(|text| text.as_deref());
            texts.any(|text| text.to_ascii_lowercase().contains(name))
        };
        if says("picoquic") {
            Self::Picoquic
        } else if says("quiche") {
            Self::Quiche
        } else {
            Self::Other
        }
    }

    /// quiche writes octets per second, where qlog has bits.
    pub(super) const fn paces_in_octets(self) -> bool {
        matches!(self, Self::Quiche)
    }

    /// picoquic writes the number in the ACK frame, without the peer's exponent.
    pub(super) const fn has_raw_ack_delay(self) -> bool {
        matches!(self, Self::Picoquic)
    }
}
