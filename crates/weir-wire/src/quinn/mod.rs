//! Weir and the QUIC implementation [quinn](https://docs.rs/quinn).
//!
//! [`ControllerConfig`] plugs the window controllers of `weir-proto` into quinn, where any user of
//! quinn can run them on real connections: `newreno`, `cubic`, and `tfrc`, the window that TFRC's
//! rate makes.
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
//! The other way round, [`SimEndpoint`] is quinn's state machine as an endpoint of the simulator:
//! a real implementation, with TLS, beside the lean one of `weir-proto`. [`TracedConfig`] make
//! real connections whose controller can be watched, for measurements.

mod identity;
mod observed;
mod path_controller;
mod sim_config;
mod sim_endpoint;
mod tls;
mod traced;

pub use observed::CongestionControlAlgorithm;
pub use path_controller::{ControllerConfig, PathController};
pub use sim_config::SimConfig;
pub use sim_endpoint::SimEndpoint;
pub use traced::{ControllerView, Traced, TracedConfig};
