//! The tests of the public interface, in one binary to save linking. Only `crowd` and `flood` are
//! separate, because they load the machine and measure the memory of their process.

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
