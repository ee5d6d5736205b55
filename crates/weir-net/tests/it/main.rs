//! The tests of the public interface: one binary, because each is linked on its own. Only
//! `allocations` is another, which has an allocator of its own.

mod apps;
mod common;
mod fast_path;
mod hosts;
mod ports;
mod quic;
mod random_networks;
mod tcp;
mod tcp_throughput;
mod wifi;
