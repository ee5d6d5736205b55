//! Congestion controllers, and the transports that run them. A window controller is written once,
//! as a file of [`cc::window`], and then runs over QUIC, TCP and DCCP, in the simulator, in the
//! real-time emulator and on sockets; [`cc`] also holds the rate controllers TFRC and NADA.
//!
//! The transports [`dccp`], [`quic`], [`rtp`] and [`tcp`] are sans-I/O state machines: a packet
//! goes in, packets and the time of the next timeout come out ([`endpoint`] is the trait that a
//! driver uses). The crate uses no clock, socket, file or thread; time and randomness are
//! arguments. [`event`] declares what controllers and transports trace, [`settings`] how they
//! declare their settings.
#![forbid(unsafe_code)]

mod bound;
pub mod cc;
pub mod dccp;
mod dscp;
mod duration_range;
mod ecn;
pub mod endpoint;
pub mod event;
mod flow_id;
mod named;
pub mod packet;
mod payload;
pub mod quic;
pub mod ranges;
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
