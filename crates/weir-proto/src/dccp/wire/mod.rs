//! DCCP packets as typed values with exact sizes, and their codec (RFC 4340 §5).

mod option;

pub use option::{DccpOption, OptionIter, Options};

use crate::packet::Payload;

/// A sequence or acknowledgement number: 48 bits, circular (RFC 4340 §7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SeqNum(u64);

/// The type of a packet (RFC 4340 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the RFC's own names")]
pub enum PacketType {
    Request = 0,
    Response = 1,
    Data = 2,
    Ack = 3,
    DataAck = 4,
    CloseReq = 5,
    Close = 6,
    Reset = 7,
    Sync = 8,
    SyncAck = 9,
    Listen = 10,
}

/// The part of a packet that depends on its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subheader {
    /// Nothing: Data.
    None,
    /// An acknowledgement number: Ack, DataAck, CloseReq, Close, Sync, SyncAck.
    Ack(SeqNum),
    /// A service code: Request and Listen.
    Service(u32),
    /// Both: Response.
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
    /// X: 48-bit sequence numbers.
    pub extended: bool,
    /// CCVal, 4 bits: the sender's CCID may use it (CCID-3: the window counter).
    pub ccval: u8,
    /// CsCov, 4 bits: what the checksum covers.
    pub cscov: u8,
    /// Sequence number.
    pub seq: SeqNum,
    /// Acknowledgement number, service code, reset code.
    pub subheader: Subheader,
    /// Options.
    pub options: Options,
    /// Application data.
    pub payload: Payload,
}
