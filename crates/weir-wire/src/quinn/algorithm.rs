//! The congestion controllers of a stack's connections by name.

use super::path_controller::ControllerConfig;
use super::stack_api::OWN_CONTROLLERS;
use super::stack_api::proto::congestion::ControllerFactory;
use crate::error::Error;
use std::sync::Arc;
use weir_proto::cc::window;

/// The congestion controller of a connection.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each connection"
)]
pub enum CongestionControlAlgorithm {
    /// A controller of Weir.
    Weir(ControllerConfig),
    /// A controller of the stack, with its own initial window.
    Own(OwnController),
}

/// A controller of the stack.
#[derive(Clone, Copy, Debug)]
pub struct OwnController {
    name: &'static str,
    make: fn() -> Arc<dyn ControllerFactory>,
}

impl OwnController {
    pub(super) fn factory(&self) -> Arc<dyn ControllerFactory> {
        (self.make)()
    }
}

impl CongestionControlAlgorithm {
    /// The algorithm with a name from [`names`](Self::names).
    ///
    /// # Errors
    /// [`Error::UnknownController`] if there is none.
    pub fn named(name: &str) -> Result<Self, Error> {
        let mut own = OWN_CONTROLLERS.into_iter();
        match own.find(|(own, _)| *own == name) {
            Some((name, make)) => Ok(Self::Own(OwnController { name, make })),
            None => ControllerConfig::named(name).map(Self::Weir),
        }
    }

    /// The name in scenarios.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Own(own) => own.name,
            Self::Weir(controller) => controller.name(),
        }
    }

    /// False for a controller of Weir that does not react to ECN marks.
    pub fn answers_marks(&self) -> bool {
        match self {
            Self::Weir(controller) => controller.answers_marks(),
            Self::Own(_) => true,
        }
    }

    /// The names of all algorithms: Weir's window controllers, and those of the stack that take no
    /// random numbers from the system.
    pub fn names() -> impl Iterator<Item = &'static str> {
        window::names().chain(OWN_CONTROLLERS.map(|(name, _)| name))
    }
}
