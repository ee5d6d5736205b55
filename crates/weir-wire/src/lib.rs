//! DCCP on real sockets: the state machines of `weir-proto`, the very same that the simulator
//! runs, driven in real time over UDP (RFC 6773, port 6511), without privileges and without a
//! kernel that knows DCCP; or over IP itself (RFC 4340, protocol 33) by raw sockets, which take
//! the capability `CAP_NET_RAW` ([`Encapsulation`]).
//!
//! A [`Listener`] or an outgoing [`Connection`] owns a socket and a task, the hub, that moves
//! packets between the socket and its connections, fires their timers and paces what they send.
//! The application sends and receives whole datagrams, unreliably and in any order, at the rate
//! that congestion control allows: [`Connection::send`] waits for room in the send queue.
//!
//! ```
//! use weir_wire::{Connection, Listener, EndpointConfig};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), weir_wire::Error> {
//! let mut listener = Listener::bind("127.0.0.1:0".parse().unwrap(), EndpointConfig::default()).await?;
//! let address = listener.local_address();
//! let client = Connection::connect(address, EndpointConfig::default()).await?;
//! client.send(b"hello").await?;
//! let mut server = listener.accept().await?;
//! assert_eq!(server.receive().await.as_deref(), Some(&b"hello"[..]));
//! client.close();
//! # Ok(())
//! # }
//! ```
//!
//! [`udp_test`] has tests at a constant rate over plain UDP. For users of the QUIC implementation
//! quinn, the module `quinn` has Weir's congestion controllers.
//!
//! What it does: IPv4 and IPv6, ECN set and read, batches of received datagrams, segmented sends
//! (GSO) of equal packets that leave at once, times of arrival as the kernel marks them, random
//! initial sequence numbers, Init Cookies under load, bounds on the number of connections, in all
//! and for each source, and on what is sent to who has not proven its address. In UDP the DCCP
//! checksum is zero and that of UDP counts (RFC 6773 §3.3); over IP it is written, and what has a
//! wrong one is dropped. What it leaves out: path-MTU discovery, segmented sends over IP.
//!
//! # Among strangers
//! A listener on the Internet hears from strangers. Against
//! - Requests from forged addresses: it remembers 64 of them and then none, for a cookie that the
//!   client brings back holds all (`cookie_threshold`);
//! - more of them than it can read: the kernel drops a share of them before they are queued
//!   (`max_requests_per_second`);
//! - its use against others: until an address is proven, it sends there one packet for a packet and
//!   three times its octets at most, or as many (`strict_amplification`), and nothing by a timer;
//! - connections that are taken and kept: it has 10,000 at most, 2,000 of a source
//!   (`max_connections`, `max_connections_per_address`);
//! - peers that go without a word: it asks after a minute and gives up after eight more
//!   (`keepalive`);
//! - guessed sequence numbers: it believes what is in the windows of RFC 4340 §7.5, answers the
//!   rest with eight Syncs a second at most, and begins with numbers from the system's randomness;
//! - packets for nobody: it sends 1024 Resets a second at most (`max_resets_per_second`).
//!
//! Nothing is encrypted or authenticated: who sees the packets can end a connection, as with TCP.
#![forbid(unsafe_code)]

mod alarm;
mod clock;
mod config;
mod connection;
mod cookie;
mod datagram;
mod encapsulation;
mod entry;
mod error;
mod events;
mod hub;
mod limits;
mod listener;
#[cfg(target_os = "linux")]
pub mod netns;
mod outbox;
#[cfg(feature = "quinn")]
pub mod quinn;
mod raw_socket;
#[cfg(target_os = "linux")]
pub mod realtime;
mod sieve;
mod socket;
mod tap;
pub mod test_protocol;
#[cfg(target_os = "linux")]
pub mod testbed;
pub mod udp_test;

pub use config::{Ccid, DEFAULT_PORT, EndpointConfig};
pub use connection::{Connection, ConnectionStats, StatsReader};
pub use encapsulation::Encapsulation;
pub use error::Error;
pub use events::EventStream;
pub use listener::{Listener, Load};
pub use tap::{Direction, Tap, TappedDatagram};
