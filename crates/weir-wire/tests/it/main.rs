//! The tests of the public interface: one binary, because each is linked on its own. Only `crowd`
//! and `flood` are others, because they load the machine and measure the memory of their process.

mod chat;
mod endpoints;
mod handshake;
mod loopback;
#[cfg(target_os = "linux")]
mod namespace;
mod namespaces;
mod quinn;
mod raw;
#[path = "../support/request.rs"]
mod request;
