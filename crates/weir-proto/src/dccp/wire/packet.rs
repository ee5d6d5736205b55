//! A packet as a typed value with its exact size on the wire.

use super::{Options, PacketType, SeqNum};
use crate::payload::Payload;

/// The part of a packet that depends on its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subheader {
    /// No field: Data.
    None,
    /// An acknowledgement number: Ack, DataAck, CloseReq, Close, Sync, SyncAck.
    Ack(SeqNum),
    /// A service code: Request and Listen.
    Service(u32),
    /// An acknowledgement number and a service code: Response.
    AckService(SeqNum, u32),
    /// An acknowledgement number, a reset code and its data: Reset.
    Reset(SeqNum, u8, [u8; 3]),
}

/// A DCCP packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Type.
    pub kind: PacketType,
    /// X: 48-bit sequence numbers. With X = 0 a packet carries only the low 24 bits of `seq` and of
    /// the acknowledgement number, which its receiver extends with [`SeqNum::extended_near`].
    pub extended: bool,
    /// CCVal, 4 bits: the sender's CCID may use it (CCID-3: the window counter).
    pub ccval: u8,
    /// CsCov, 4 bits: the coverage of the checksum.
    pub cscov: u8,
    /// Sequence number.
    pub seq: SeqNum,
    /// Acknowledgement number, service code, reset code.
    pub subheader: Subheader,
    /// Options.
    pub options: Options,
    /// Application data; the error text of a Reset; padding on other types.
    pub payload: Payload,
}

impl Packet {
    /// A packet of this type with 48-bit numbers, no options and no payload; ports are zero until
    /// [`with_ports`](Self::with_ports).
    fn bare(kind: PacketType, seq: SeqNum, subheader: Subheader) -> Self {
        Self {
            source_port: 0,
            destination_port: 0,
            kind,
            extended: true,
            ccval: 0,
            cscov: 0,
            seq,
            subheader,
            options: Options::new(),
            payload: Payload::of_len(0),
        }
    }

    /// A Request for a service (RFC 4340 §5.2).
    pub fn request(seq: SeqNum, service_code: u32) -> Self {
        Self::bare(PacketType::Request, seq, Subheader::Service(service_code))
    }

    /// A Response to a Request (RFC 4340 §5.3).
    pub fn response(seq: SeqNum, ack: SeqNum, service_code: u32) -> Self {
        let subheader = Subheader::AckService(ack, service_code);
        Self::bare(PacketType::Response, seq, subheader)
    }

    /// Data without an acknowledgement (RFC 4340 §5.4).
    pub fn data(seq: SeqNum, payload: Payload) -> Self {
        Self {
            payload,
            ..Self::bare(PacketType::Data, seq, Subheader::None)
        }
    }

    /// An acknowledgement without data (RFC 4340 §5.4).
    pub fn new_ack(seq: SeqNum, ack: SeqNum) -> Self {
        Self::bare(PacketType::Ack, seq, Subheader::Ack(ack))
    }

    /// Data with an acknowledgement (RFC 4340 §5.4).
    pub fn data_ack(seq: SeqNum, ack: SeqNum, payload: Payload) -> Self {
        Self {
            payload,
            ..Self::bare(PacketType::DataAck, seq, Subheader::Ack(ack))
        }
    }

    /// A CloseReq: the server asks the client to close (RFC 4340 §5.5).
    pub fn close_req(seq: SeqNum, ack: SeqNum) -> Self {
        Self::bare(PacketType::CloseReq, seq, Subheader::Ack(ack))
    }

    /// A Close (RFC 4340 §5.5).
    pub fn close(seq: SeqNum, ack: SeqNum) -> Self {
        Self::bare(PacketType::Close, seq, Subheader::Ack(ack))
    }

    /// A Reset with its code and the code's data (RFC 4340 §5.6).
    pub fn reset(seq: SeqNum, ack: SeqNum, code: u8, data: [u8; 3]) -> Self {
        Self::bare(PacketType::Reset, seq, Subheader::Reset(ack, code, data))
    }

    /// A Sync (RFC 4340 §5.7).
    pub fn sync(seq: SeqNum, ack: SeqNum) -> Self {
        Self::bare(PacketType::Sync, seq, Subheader::Ack(ack))
    }

    /// The answer to a Sync (RFC 4340 §5.7).
    pub fn sync_ack(seq: SeqNum, ack: SeqNum) -> Self {
        Self::bare(PacketType::SyncAck, seq, Subheader::Ack(ack))
    }

    /// A Listen of a server, which opens a path through its NAT (RFC 5596 §2.2.1). Its sequence
    /// number is zero.
    pub fn listen(service_code: u32) -> Self {
        Self::bare(
            PacketType::Listen,
            SeqNum::new(0),
            Subheader::Service(service_code),
        )
    }

    /// The Reset that answers this packet if it belongs to no connection (RFC 4340 §8.3.1), with
    /// the ports exchanged. `None` for a Reset, which is never answered by another.
    pub fn refusal(&self, code: u8) -> Option<Self> {
        if self.kind == PacketType::Reset {
            return None;
        }
        let whole = |seq: SeqNum| {
            if self.extended {
                seq
            } else {
                SeqNum::new(u64::from(seq.short()))
            }
        };
        let seq = self
            .ack()
            .map_or(SeqNum::default(), |ack| whole(ack.next()));
        let reset = Self::reset(seq, whole(self.seq), code, [self.kind as u8, 0, 0]);
        Some(reset.with_ports(self.destination_port, self.source_port))
    }

    /// The packet from this port to that one.
    pub fn with_ports(self, source_port: u16, destination_port: u16) -> Self {
        Self {
            source_port,
            destination_port,
            ..self
        }
    }

    /// The acknowledgement number, if the type has one.
    pub const fn ack(&self) -> Option<SeqNum> {
        match self.subheader {
            Subheader::Ack(ack) | Subheader::AckService(ack, _) | Subheader::Reset(ack, _, _) => {
                Some(ack)
            }
            Subheader::None | Subheader::Service(_) => None,
        }
    }

    /// The service code, if the type has one.
    pub const fn service_code(&self) -> Option<u32> {
        match self.subheader {
            Subheader::Service(code) | Subheader::AckService(_, code) => Some(code),
            _ => None,
        }
    }

    /// The reset code of a Reset.
    pub const fn reset_code(&self) -> Option<u8> {
        match self.subheader {
            Subheader::Reset(_, code, _) => Some(code),
            _ => None,
        }
    }

    /// The three octets of data that belong to a Reset's code.
    pub const fn reset_data(&self) -> Option<[u8; 3]> {
        match self.subheader {
            Subheader::Reset(_, _, data) => Some(data),
            _ => None,
        }
    }

    /// Octets from the source port to the first octet of payload: generic header, fields of the
    /// type, options and their padding to a multiple of four.
    pub fn header_len(&self) -> usize {
        self.kind.fixed_header_len(self.extended) + self.options.padded_len()
    }

    /// Octets on the wire, without IP header.
    pub fn wire_len(&self) -> u32 {
        (self.header_len() as u32).saturating_add(self.payload.len())
    }

    /// True if the subheader is that of the type.
    pub(super) const fn subheader_fits(&self) -> bool {
        matches!(
            (self.kind, self.subheader),
            (PacketType::Data, Subheader::None)
                | (
                    PacketType::Request | PacketType::Listen,
                    Subheader::Service(_)
                )
                | (PacketType::Response, Subheader::AckService(..))
                | (PacketType::Reset, Subheader::Reset(..))
                | (
                    PacketType::Ack
                        | PacketType::DataAck
                        | PacketType::CloseReq
                        | PacketType::Close
                        | PacketType::Sync
                        | PacketType::SyncAck,
                    Subheader::Ack(_)
                )
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dccp::wire::DccpOption;

    const SEQ: SeqNum = SeqNum::new(7);
    const ACK: SeqNum = SeqNum::new(9);

    #[test]
    fn accessors_return_the_fields_of_the_type() {
        let reset = Packet::reset(SEQ, ACK, 5, [1, 2, 3]);
        assert_eq!(reset.ack(), Some(ACK));
        assert_eq!(
            (reset.reset_code(), reset.reset_data()),
            (Some(5), Some([1, 2, 3]))
        );
        assert_eq!(reset.service_code(), None);
        let response = Packet::response(SEQ, ACK, 42);
        assert_eq!(
            (response.ack(), response.service_code()),
            (Some(ACK), Some(42))
        );
        assert_eq!(Packet::request(SEQ, 42).ack(), None);
        assert_eq!(Packet::listen(42).service_code(), Some(42));
        assert_eq!(Packet::data(SEQ, Payload::of_len(1)).ack(), None);
    }

    #[test]
    fn a_refusal_takes_its_numbers_from_the_packet_and_resets_have_none() {
        let (seq, ack) = (SeqNum::new(0x11_2233_4455), SeqNum::new((1 << 48) - 1));
        let mut packet = Packet::new_ack(seq, ack).with_ports(1, 2);
        let refusal = packet.refusal(3).expect("a Reset");
        assert_eq!((refusal.source_port, refusal.destination_port), (2, 1));
        assert_eq!((refusal.seq, refusal.ack()), (SeqNum::new(0), Some(seq)));
        assert_eq!(refusal.reset_data(), Some([PacketType::Ack as u8, 0, 0]));
        packet.extended = false;
        let short = packet.refusal(3).and_then(|reset| reset.ack());
        assert_eq!(short, Some(SeqNum::new(0x33_4455)));
        let request = Packet::request(seq, 7).refusal(8).expect("a Reset");
        assert_eq!(request.seq, SeqNum::default());
        assert_eq!(Packet::reset(SEQ, ACK, 1, [0; 3]).refusal(3), None);
    }

    #[test]
    fn constructors_pair_types_with_their_fields() {
        let payload = Payload::of_len(3);
        for packet in [
            Packet::request(SEQ, 1),
            Packet::response(SEQ, ACK, 1),
            Packet::data(SEQ, payload.clone()),
            Packet::new_ack(SEQ, ACK),
            Packet::data_ack(SEQ, ACK, payload),
            Packet::close_req(SEQ, ACK),
            Packet::close(SEQ, ACK),
            Packet::reset(SEQ, ACK, 1, [0; 3]),
            Packet::sync(SEQ, ACK),
            Packet::sync_ack(SEQ, ACK),
            Packet::listen(1),
        ] {
            assert!(packet.subheader_fits(), "{packet:?}");
            assert_eq!(packet.ack().is_some(), packet.kind.has_ack());
            assert_eq!(
                packet.service_code().is_some(),
                packet.kind.has_service_code()
            );
        }
    }

    #[test]
    fn sizes_count_options_with_padding_and_payload() {
        let mut packet = Packet::data_ack(SEQ, ACK, Payload::of_len(1400));
        assert_eq!((packet.header_len(), packet.wire_len()), (24, 1424));
        packet.options.push(&DccpOption::SlowReceiver);
        assert_eq!((packet.header_len(), packet.wire_len()), (28, 1428));
        packet.options.push(&DccpOption::NdpCount(1));
        assert_eq!(packet.header_len(), 28);
        packet.options.push(&DccpOption::Timestamp(0));
        assert_eq!(packet.header_len(), 24 + 12);
        packet.extended = false;
        assert_eq!(packet.header_len(), 16 + 12);
    }
}
