//! Congestion controllers on real sockets: DCCP, with the state machines that the simulator runs in
//! virtual time, and [`quinn`] with any window controller of `weir-proto`; simulated links between
//! real programs ([`realtime`]); tests over UDP and RTP ([`udp_test`]).
//!
//! DCCP packets travel in UDP (RFC 6773, port 6511), which needs neither privileges nor a kernel
//! with DCCP, or over IP itself (RFC 4340, protocol 33) through raw sockets, which need the
//! capability `CAP_NET_RAW` ([`Encapsulation`]).
//!
//! A [`Listener`] or an outgoing [`Connection`] owns a socket and a task, which moves packets
//! between the socket and its connections, fires their timers and paces their packets. Both are
//! configured by an [`EndpointConfig`]. Applications send and receive whole datagrams, unreliably
//! and unordered, at the rate that congestion control permits: [`Connection::send`] waits for room
//! in the send queue.
//!
//! ```
//! use weir_wire::{Connection, EndpointConfig, Listener};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), weir_wire::Error> {
//! let config = EndpointConfig::default();
//! let mut listener = Listener::bind("127.0.0.1:0".parse().unwrap(), config.clone()).await?;
//! let client = Connection::connect(listener.local_address(), config).await?;
//! client.send(b"hello").await?;
//! let mut server = listener.accept().await?;
//! assert_eq!(server.receive().await.as_deref(), Some(&b"hello"[..]));
//! client.close();
//! # Ok(())
//! # }
//! ```
//!
//! Other modules:
//! - `quinn` (feature `quinn`, on by default): Weir's congestion controllers for users of the QUIC
//!   implementation quinn, and quinn as an endpoint of the simulator;
//! - `noq` (feature `noq`): the same for noq, a fork of quinn;
//! - [`udp_test`]: throughput and loss tests over plain UDP at a constant rate, and
//!   [`test_protocol`]: the control messages of tests over any transport, and their session;
//! - `realtime`, `testbed` and `netns` (Linux): simulated networks between real sockets, TUN
//!   devices and network namespaces;
//! - `kernel_tcp` and `tcp_info` (Linux): transfers over the kernel's own TCP between them.
//!
//! Supported: IPv4 and IPv6; ECN; batches of received datagrams; segmented sends (GSO); the
//! kernel's receive timestamps; random initial sequence numbers; Init Cookies; limits on
//! connections, in all and from each source, and on data sent to addresses that are not validated.
//! In UDP the DCCP checksum is zero and the UDP checksum protects the packet (RFC 6773 §3.3); over
//! IP the DCCP checksum is written and checked. Not supported: path-MTU discovery, segmented sends
//! over IP.
//!
//! # On the public Internet
//! A listener limits the effect of:
//! - Requests from forged addresses: it keeps state for 64 of them; for further ones the client has
//!   to return a cookie that contains the state (`cookie_threshold`);
//! - more Requests than it can read: the kernel drops a share of them before they are queued
//!   (`max_requests_per_second`);
//! - use as an amplifier: until its address is validated, a peer is sent one packet for each of its
//!   own, of at most three times the octets, or as many (`strict_amplification`), and none by a
//!   timer;
//! - connections that are opened and kept: it has at most 10,000, and 2,000 from one source
//!   (`max_connections`, `max_connections_per_address`);
//! - peers that disappear: after a minute without a packet it asks for one, and after eight more
//!   minutes it ends the connection (`keepalive`);
//! - guessed sequence numbers: it accepts those in the windows of RFC 4340 §7.5, answers others
//!   with at most eight Syncs a second, and starts at a random number;
//! - packets that belong to no connection: it sends at most 1024 Resets a second
//!   (`max_resets_per_second`).
//!
//! Packets are neither encrypted nor authenticated: a host that sees the packets can end a
//! connection, as with TCP.
#![forbid(unsafe_code)]

mod address;
mod clock;
mod config;
mod connection;
mod connection_key;
mod connection_state;
mod cookie;
mod datagram;
#[cfg(target_os = "linux")]
mod device_counters;
mod driver;
mod ecn;
mod encapsulation;
mod error;
mod events;
mod fault;
#[cfg(target_os = "linux")]
pub mod kernel_tcp;
mod keyed_tag;
mod limits;
mod listener;
mod load;
#[cfg(target_os = "linux")]
pub mod netns;
#[cfg(feature = "noq")]
#[expect(
    clippy::duplicate_mod,
    reason = "one adapter for the types of two crates"
)]
pub mod noq;
#[cfg(feature = "quinn")]
pub mod quinn;
#[cfg(target_os = "linux")]
mod raw_port;
mod raw_socket;
#[cfg(target_os = "linux")]
pub mod realtime;
mod request_filter;
mod send_queue;
mod socket;
mod tap;
#[cfg(target_os = "linux")]
pub mod tcp_info;
pub mod test_protocol;
#[cfg(target_os = "linux")]
pub mod testbed;
mod timer;
pub mod udp_test;

pub use config::{Ccid, DEFAULT_PORT, EndpointConfig};
pub use connection::{Connection, ConnectionStats, StatsReader};
#[cfg(target_os = "linux")]
pub use device_counters::DeviceCounters;
pub use encapsulation::Encapsulation;
pub use error::Error;
pub use events::{EventSink, EventStream};
pub use listener::Listener;
pub use load::Load;
pub use tap::{Direction, Tap, TappedDatagram};
