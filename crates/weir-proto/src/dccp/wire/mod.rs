//! DCCP packets as typed values with exact sizes, and their codec (RFC 4340 §5).
//!
//! Endpoints exchange a [`Packet`]. [`decode`] reads octets into a [`Decoded`], which also keeps
//! the reserved bits and the checksum as received, so that the same octets can be written again;
//! [`Packet::encode`] writes octets. Options stay in wire form in [`Options`] and are read one by
//! one as [`DccpOption`].
//!
//! Sources: RFC 4340 §5, §7.6, §9; CCID-3's options RFC 4342 §8; RTT Estimate RFC 6323 §3.2;
//! Listen RFC 5596 §2.2; in UDP RFC 6773 §3.
//!
//! Not modelled: the effect of a Data Checksum. It is computed and read here ([`checksum`]); the
//! connection drops the data.

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
pub use option::{DccpOption, OptionBuffers, OptionIter, Options, RawOption, RawOptionIter};
pub use option_rules::{ApplicableOption, ApplicableOptionIter, OptionFault};
pub use packet::{Packet, Subheader};
pub use packet_type::PacketType;
pub use round_trip::RoundTripError;
pub use sequence::SeqNum;
