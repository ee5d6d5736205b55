//! The tests of the public interface, in one binary to save linking. Only `allocations` is
//! separate, because it has its own allocator.

mod apps;
mod common;
mod fast_path;
mod handover;
mod hosts;
mod ports;
mod quic;
mod random_networks;
mod tcp;
mod tcp_throughput;
mod wifi;
