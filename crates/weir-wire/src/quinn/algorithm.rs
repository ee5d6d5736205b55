//! The congestion controllers of quinn connections by name.

use super::path_controller::ControllerConfig;
use crate::error::Error;
use weir_proto::cc::window;

/// The names of quinn's own controllers.
const QUINN_NEWRENO: &str = "quinn-newreno";
const QUINN_CUBIC: &str = "quinn-cubic";

/// The congestion controller of a connection.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each connection"
)]
pub enum CongestionControlAlgorithm {
    /// A controller of Weir.
    Weir(ControllerConfig),
    /// quinn's own NewReno, with its own initial window.
    QuinnNewReno,
    /// quinn's own CUBIC, with its own initial window.
    QuinnCubic,
}

impl CongestionControlAlgorithm {
    /// The algorithm with a name from [`names`](Self::names).
    ///
    /// # Errors
    /// [`Error::UnknownController`] if there is none.
    pub fn named(name: &str) -> Result<Self, Error> {
        match name {
            QUINN_NEWRENO => Ok(Self::QuinnNewReno),
            QUINN_CUBIC => Ok(Self::QuinnCubic),
            _ => ControllerConfig::named(name).map(Self::Weir),
        }
    }

    /// The name in scenarios.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::QuinnNewReno => QUINN_NEWRENO,
            Self::QuinnCubic => QUINN_CUBIC,
            Self::Weir(controller) => controller.name(),
        }
    }

    /// False for a controller of Weir that does not react to ECN marks.
    pub fn answers_marks(&self) -> bool {
        match self {
            Self::Weir(controller) => controller.answers_marks(),
            Self::QuinnNewReno | Self::QuinnCubic => true,
        }
    }

    /// The names of all algorithms: Weir's window controllers and quinn's own. quinn's BBR is not
    /// included, because it takes random numbers from the system instead of the seed.
    pub fn names() -> impl Iterator<Item = &'static str> {
        window::names().chain([QUINN_NEWRENO, QUINN_CUBIC])
    }
}
