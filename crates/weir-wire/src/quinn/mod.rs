//! Weir and the QUIC implementation [quinn](https://docs.rs/quinn).
//!
//! [`Controller`] plugs the window controllers of `weir-proto` into quinn, where any user of
//! quinn can run them on real connections: `newreno`, `cubic`, and `tfrc`, the window that TFRC's
//! rate makes.
//!
//! ```
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), weir_wire::Error> {
//! let mut transport = quinn::TransportConfig::default();
//! let cubic = weir_wire::quinn::Controller::named("cubic")?;
//! transport.congestion_controller_factory(Arc::new(cubic));
//! # Ok(())
//! # }
//! ```
//!
//! The other way round, [`Connection`] is quinn's state machine as an endpoint of the simulator:
//! a real implementation, with TLS, beside the lean one of `weir-proto`. [`LiveSettings`] make
//! real connections whose controller can be watched, for measurements.

mod config;
mod controller;
mod endpoint;
mod identity;
mod live;
mod tls;
mod watch;

pub use config::Config;
pub use controller::{Controller, Running};
pub use endpoint::Connection;
pub use live::{Live, LiveSettings, Watch};
pub use watch::Choice;
