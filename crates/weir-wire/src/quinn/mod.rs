//! Weir and the QUIC implementation [quinn](https://docs.rs/quinn).
//!
//! [`Controller`] plugs the window controllers of `weir-proto` into quinn, where any user of
//! quinn can run them on real connections:
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

mod controller;

pub use controller::{Controller, Running};
