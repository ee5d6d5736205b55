//! DCCP packets as typed values with exact sizes, and their codec (RFC 4340 §5).
//!
//! [`Packet`] is what the machines exchange. The codec stands at the edge: [`decode`] reads bytes
//! into a [`Decoded`], which also keeps what only a faithful copy of the bytes needs (reserved
//! bits, the checksum as it was), and [`Packet::encode`] writes them. Options stay in their wire
//! form inside [`Options`] and are read one by one as [`DccpOption`].
//!
//! Sources: RFC 4340 §5, §7.6, §9; CCID-3's options RFC 4342 §8; RTT Estimate RFC 6323 §3.2;
//! Listen RFC 5596 §2.2; in UDP RFC 6773 §3.
//!
//! Not modelled: Data Checksum is computed and read ([`checksum`]), but nothing here drops a
//! packet because of it; that is the connection's decision.

pub mod checksum;
pub mod feature;
mod header;
mod loss_interval;
mod option;
mod option_rules;
mod option_text;
mod packet;
mod packet_type;
mod round_trip;
mod sequence;
#[cfg(test)]
mod tests;

pub use header::{Decoded, EncodeError, Malformed, Reserved, decode, decode_prefix};
pub use loss_interval::LossInterval;
pub use option::{DccpOption, OptionIter, Options, RawOption, RawOptionIter};
pub use option_rules::{ApplicableOption, ApplicableOptionIter, OptionFault};
pub use packet::{Packet, Subheader};
pub use packet_type::PacketType;
pub use round_trip::RoundTripError;
pub use sequence::SeqNum;
