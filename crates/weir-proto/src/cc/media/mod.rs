//! Controllers of the rate of media from reports on each packet (RFC 8888), and their list.
//!
//! A controller is one folder with its constants and its [`MediaController`], and the lines in this
//! file: its `mod`, its word in [`Controller`], its field in [`Constants`], and its arms in
//! [`Controller::make`], [`Controller::title`] and [`Controller::period`].
//!
//! All rates are those of the payload, because the least and the greatest rate are the encoder's.

pub mod control;
#[cfg(test)]
pub(crate) mod fixture;
pub mod gcc;
mod loss_events;
pub mod scream;
pub mod sender;

pub use control::{
    BoxedMediaController, MediaController, PacketOutcome, PacketReport, Report, feedback_deadline,
};
pub use loss_events::LossEvents;
pub use sender::MediaSender;

use crate::cc::nada::{Nada, NadaConfig};
use crate::time::Duration;
use crate::{keywords, settings};
use gcc::{Gcc, GccConfig};
use scream::{Scream, ScreamConfig};

keywords! {
    /// The congestion controller of media.
    #[derive(Default)]
    pub enum Controller {
        /// Network-Assisted Dynamic Adaptation (RFC 8698).
        #[default]
        Nada = "nada",
        /// Google Congestion Control (draft-ietf-rmcat-gcc-02, with libwebrtc's trendline).
        Gcc = "gcc",
        /// SCReAMv2, Self-Clocked Rate Adaptation for Multimedia
        /// (draft-ietf-ccwg-rfc8298bis-screamv2).
        Scream = "scream",
        /// None: media has no control of its own; the feedback is sent nevertheless.
        Uncontrolled = "none",
    }
}

settings! {
    /// The constants of the controllers of media, each under its controller's name.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Constants {
        /// The parameters of NADA.
        pub nada: NadaConfig,
        /// The constants of GCC.
        pub gcc: GccConfig,
        /// The constants of SCReAMv2.
        pub scream: ScreamConfig,
    }
}

/// What a controller is made from.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The constants of all controllers.
    pub constants: &'a Constants,
    /// From one report of the receiver to the next.
    pub feedback_interval: Duration,
    /// Packets are ECT(1), so that a mark is one of L4S (RFC 9331 §4.1).
    pub is_l4s: bool,
}

impl Controller {
    /// A controller before its first packet; `None` for [`Self::Uncontrolled`].
    pub fn make(self, setup: &Setup<'_>) -> Option<BoxedMediaController> {
        let constants = setup.constants;
        Some(match self {
            Self::Nada => Box::new(Nada::new(constants.nada, setup.feedback_interval)),
            Self::Gcc => Box::new(Gcc::new(constants.gcc)),
            Self::Scream => Box::new(Scream::new(constants.scream, setup.is_l4s)),
            Self::Uncontrolled => return None,
        })
    }

    /// Its name in texts; `None` for [`Self::Uncontrolled`].
    pub const fn title(self) -> Option<&'static str> {
        match self {
            Self::Nada => Some("NADA"),
            Self::Gcc => Some("GCC"),
            Self::Scream => Some("SCReAM"),
            Self::Uncontrolled => None,
        }
    }

    /// The longest time over which it observes the path before its rate follows, and what that is;
    /// `None` for [`Self::Uncontrolled`].
    pub fn period(self, constants: &Constants) -> Option<(Duration, &'static str)> {
        match self {
            Self::Nada => {
                let nada = &constants.nada;
                let period = nada.observation_window.max(nada.tau);
                Some((period, "the observation window of NADA"))
            }
            Self::Gcc => Some((
                constants.gcc.rate_window,
                "the window of GCC's received rate",
            )),
            Self::Scream => {
                let scream = &constants.scream;
                let calm = u64::from(scream.post_congestion_round_trips);
                Some((
                    scream.virtual_rtt * calm,
                    "the time of SCReAM's careful growth",
                ))
            }
            Self::Uncontrolled => None,
        }
    }
}
