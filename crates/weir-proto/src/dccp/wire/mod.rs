//! DCCP packets as typed values with exact sizes (RFC 4340 §5).
//!
//! Options stay in their wire form inside [`Options`] and are read one by one as [`DccpOption`].

pub mod feature;
mod loss_interval;
mod option;
mod packet;
mod packet_type;
mod sequence;

pub use loss_interval::LossInterval;
pub use option::{DccpOption, OptionIter, Options, RawOption, RawOptionIter};
pub use packet::{Packet, Subheader};
pub use packet_type::PacketType;
pub use sequence::SeqNum;
