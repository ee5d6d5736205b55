//! The protocols of Weir as sans-I/O state machines: a packet goes in, packets and the time of
//! the next timeout come out. Nothing here knows a clock, a socket, a file or a thread; time and
//! randomness are arguments. So the very same code runs in the simulator, in the real-time
//! emulator and on real sockets.
//!
//! Start with [`endpoint`]: the trait by which a driver talks to a machine. [`cc`] holds the
//! congestion controllers (TFRC for rates, NewReno and CUBIC for windows); [`dccp`] and [`quic`]
//! are transports that use them; [`event`] is what all of them may say about themselves;
//! [`settings`] is how all of them declare what can be set.
#![forbid(unsafe_code)]

pub mod cc;
pub mod dccp;
pub mod endpoint;
pub mod event;
pub mod packet;
pub mod quic;
pub mod rng;
pub mod settings;
pub mod tcp;
pub mod time;
pub mod udp;
pub mod units;
