//! The packet types of RFC 4340 §5.1 and the Listen of RFC 5596, and what each may carry.

use crate::named::named;
use std::fmt;

named! {
    /// The type of a packet (RFC 4340 §5.1).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u8)]
    #[expect(missing_docs, reason = "the RFC's own names")]
    pub enum PacketType {
        Request = 0 => "Request",
        Response = 1 => "Response",
        Data = 2 => "Data",
        Ack = 3 => "Ack",
        DataAck = 4 => "DataAck",
        CloseReq = 5 => "CloseReq",
        Close = 6 => "Close",
        Reset = 7 => "Reset",
        Sync = 8 => "Sync",
        SyncAck = 9 => "SyncAck",
        Listen = 10 => "Listen",
    }
}

impl PacketType {
    /// The number on the wire.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// True for Data and DataAck: the packets whose payload congestion control governs. Request
    /// and Response may bring data too: see [`is_data_packet`](Self::is_data_packet).
    pub const fn carries_data(self) -> bool {
        matches!(self, Self::Data | Self::DataAck)
    }

    /// True for what RFC 4340 §7.7 calls a data packet, which ends a run of the NDP Count:
    /// Request, Response, Data and DataAck.
    pub const fn is_data_packet(self) -> bool {
        matches!(
            self,
            Self::Request | Self::Response | Self::Data | Self::DataAck
        )
    }

    /// True if there is an acknowledgement number: all but Request, Data and Listen.
    pub const fn has_ack(self) -> bool {
        !matches!(self, Self::Request | Self::Data | Self::Listen)
    }

    /// True if there is a service code: Request, Response and Listen.
    pub const fn has_service_code(self) -> bool {
        matches!(self, Self::Request | Self::Response | Self::Listen)
    }

    /// True if 24-bit sequence numbers are allowed (RFC 4340 §5.1): Data, Ack and DataAck.
    pub const fn may_be_short(self) -> bool {
        matches!(self, Self::Data | Self::Ack | Self::DataAck)
    }

    /// Octets of the header before the options.
    pub const fn fixed_header_len(self, extended: bool) -> usize {
        let (generic, ack) = if extended { (16, 8) } else { (12, 4) };
        let code = if self.has_service_code() || matches!(self, Self::Reset) {
            4
        } else {
            0
        };
        if self.has_ack() {
            generic + ack + code
        } else {
            generic + code
        }
    }
}

impl TryFrom<u8> for PacketType {
    type Error = u8;

    /// The type of this number; the number itself if it is reserved.
    fn try_from(number: u8) -> Result<Self, u8> {
        Self::ALL.get(usize::from(number)).copied().ok_or(number)
    }
}

impl fmt::Display for PacketType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_types_correspond() {
        for kind in PacketType::ALL {
            assert_eq!(PacketType::try_from(kind.number()), Ok(kind));
        }
        for reserved in 11..=u8::MAX {
            assert_eq!(PacketType::try_from(reserved), Err(reserved));
        }
    }

    /// RFC 4340 §5.2 to §5.7 and RFC 5596 §2.2.1.
    #[test]
    fn fixed_headers_have_the_sizes_of_the_rfc() {
        use PacketType::{
            Ack, Close, CloseReq, Data, DataAck, Listen, Request, Reset, Response, Sync, SyncAck,
        };
        for (kind, extended, octets) in [
            (Request, true, 20),
            (Listen, true, 20),
            (Response, true, 28),
            (Data, true, 16),
            (Data, false, 12),
            (Ack, true, 24),
            (Ack, false, 16),
            (DataAck, true, 24),
            (DataAck, false, 16),
            (CloseReq, true, 24),
            (Close, true, 24),
            (Reset, true, 28),
            (Sync, true, 24),
            (SyncAck, true, 24),
        ] {
            assert_eq!(kind.fixed_header_len(extended), octets, "{kind} {extended}");
        }
    }
}
