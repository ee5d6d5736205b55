//! [noq](https://docs.rs/noq), a fork of quinn, in Weir's simulator, and Weir's congestion
//! controllers in it.
//!
//! The adapter is that of [`quinn`](crate::quinn), compiled for noq's types: its files are read a
//! second time here, and `stack_api` and `controller_impl` have what differs between the two. noq's
//! connection has one path; its multipath extension and its NAT traversal are off, as by default.

mod controller_impl;
mod stack_api;

#[path = "../quinn/algorithm.rs"]
mod algorithm;
#[path = "../quinn/calls.rs"]
mod calls;
#[path = "../quinn/observed.rs"]
#[expect(
    dead_code,
    reason = "events of its own and the last limit are for real connections, which quinn has"
)]
mod observed;
#[path = "../quinn/path_controller.rs"]
mod path_controller;
#[path = "../quinn/sim_config.rs"]
mod sim_config;
#[path = "../quinn/sim_endpoint/mod.rs"]
mod sim_endpoint;

pub use algorithm::{CongestionControlAlgorithm, OwnController};
pub use path_controller::{ControllerConfig, PathController};
pub use sim_config::SimConfig;
pub use sim_endpoint::SimEndpoint;
