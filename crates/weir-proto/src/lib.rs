//! The protocols of Weir as sans-I/O state machines: a packet goes in, packets and the time of
//! the next timeout come out. The crate uses no clock, socket, file or thread; time and randomness
//! are arguments. The same code runs in the simulator, in the real-time emulator and on sockets.
//!
//! Start with [`endpoint`]: the trait that a driver uses. [`cc`] holds the congestion controllers
//! (TFRC and NADA for rates, NewReno and CUBIC for windows); [`dccp`], [`quic`], [`rtp`] and
//! [`tcp`] are transports that use them; [`event`] declares what they trace, [`settings`] how they
//! declare their settings.
#![forbid(unsafe_code)]

mod bound;
pub mod cc;
pub mod dccp;
mod duration_range;
mod ecn;
pub mod endpoint;
pub mod event;
mod flow_id;
mod named;
pub mod packet;
mod payload;
pub mod quic;
mod ranges;
pub mod ring;
pub mod rng;
pub mod rtp;
pub mod settings;
mod shared_buffers;
pub mod tcp;
pub mod time;
pub mod udp;
pub mod units;

pub use duration_range::DurationRange;
