//! Weir's congestion controllers in the QUIC implementation [quinn](https://docs.rs/quinn), and
//! quinn in Weir's simulator.
//!
//! [`ControllerConfig`] is a controller factory for quinn's `TransportConfig`. It runs the window
//! controllers of `weir-proto` on real connections, such as `newreno`, `cubic` and `tfrc`, whose
//! window is derived from TFRC's rate.
//!
//! ```
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), weir_wire::Error> {
//! let mut transport = quinn::TransportConfig::default();
//! let cubic = weir_wire::quinn::ControllerConfig::named("cubic")?;
//! transport.congestion_controller_factory(Arc::new(cubic));
//! # Ok(())
//! # }
//! ```
//!
//! [`SimEndpoint`] is quinn's state machine as an endpoint of the simulator: a complete
//! implementation with TLS, in addition to the minimal one of `weir-proto`. [`TracedConfig`]
//! configures real connections whose controller can be observed, for measurements.

mod algorithm;
#[expect(
    dead_code,
    reason = "numbers of packets, which noq tells its controllers"
)]
mod calls;
mod controller_impl;
mod fingerprint;
pub(crate) mod identity;
mod observed;
mod path_controller;
mod sim_config;
mod sim_endpoint;
mod stack_api;
pub(crate) mod tls;
mod traced;

pub use algorithm::{CongestionControlAlgorithm, OwnController};
pub use fingerprint::Fingerprint;
pub use observed::ControllerView;
pub use path_controller::{ControllerConfig, PathController};
pub use sim_config::SimConfig;
pub use sim_endpoint::SimEndpoint;
pub use traced::{Traced, TracedConfig};
