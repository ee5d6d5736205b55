//! Controllers of the rate of media from reports on each packet (RFC 8888), and their list.
//!
//! A controller is one folder with its constants and its [`MediaController`], and the lines in this
//! file: its `mod`, its word in [`Controller`], its field in [`Constants`], and its arms in
//! [`Controller::make`], [`Controller::title`] and [`Controller::period`].
//!
//! All rates are those of the payload, because the least and the greatest rate are the encoder's.

pub mod gcc;
mod loss_events;
pub mod scream;

pub use loss_events::LossEvents;

use crate::cc::nada::{Nada, NadaConfig};
use crate::event::RateState;
use crate::time::{Duration, Instant};
use crate::units::Rate;
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
        /// None: packets leave when they are written; the feedback is sent nevertheless.
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

    /// True if this is the word of a controller of media.
    pub fn is_of_media(word: &str) -> bool {
        let none = settings::Value::write(&Self::Uncontrolled);
        let mut words = Self::keywords().into_iter();
        words.any(|keyword| keyword.word == word) && none.as_text() != Some(word)
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

/// The feedback about one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketReport {
    /// Its number; consecutive packets have consecutive numbers.
    pub sequence: u64,
    /// When it was sent, by the sender's clock.
    pub sent: Instant,
    /// Octets of its payload.
    pub bytes: u32,
    /// Whether it was received, and how.
    pub outcome: PacketOutcome,
}

/// Whether a packet was received, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutcome {
    /// It was not received.
    Lost,
    /// It was received.
    Received {
        /// When it was received, by the receiver's clock; `None` if that is not known.
        at: Option<Duration>,
        /// With Congestion Experienced.
        marked: bool,
    },
}

/// A report of the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// When it arrived.
    pub now: Instant,
    /// When it was made, by the receiver's clock.
    pub made_at: Duration,
    /// The round-trip time that it measures, without the receiver's delay.
    pub rtt: Option<Duration>,
    /// Packets that no earlier report covered, in the order of their sequence numbers.
    pub packets: &'a [PacketReport],
}

/// A controller as an object.
pub type BoxedMediaController = Box<dyn MediaController + Send + Sync>;

/// The controller of one flow of media, at the sender.
pub trait MediaController: std::fmt::Debug {
    /// A packet was sent; its number, and the octets of its payload.
    fn on_sent(&mut self, now: Instant, sequence: u64, bytes: u32);
    /// A frame was written completely: its octets, and how long the first packet that waits has
    /// waited.
    fn on_frame(&mut self, now: Instant, bytes: u64, waited: Duration);
    /// A report has arrived.
    fn on_report(&mut self, report: &Report<'_>);
    /// No report arrived until [`feedback_deadline`](Self::feedback_deadline) although packets are
    /// in flight.
    fn on_feedback_timeout(&mut self);
    /// The time at which the rate is halved without a further report, if packets have been in
    /// flight since `since`.
    fn feedback_deadline(&self, since: Instant) -> Instant;
    /// True if a packet with this payload may leave: a controller without a window bounds the rate
    /// only.
    fn may_send(&self, bytes: u32) -> bool;
    /// The target rate of the encoder while `buffered` octets wait to be sent.
    fn target_rate(&self, buffered: u64) -> Rate;
    /// The rate at which packets leave while `buffered` octets wait to be sent.
    fn send_rate(&self, buffered: u64) -> Rate;
    /// Loss events so far (RFC 5348 §5.2).
    fn loss_events(&self) -> u64;
    /// Stops counting loss events of packets that were sent before `at`.
    fn count_loss_events_from(&mut self, at: Instant);
    /// The smoothed round-trip time; zero before the first sample.
    fn smoothed_rtt(&self) -> Duration;
    /// The values for traces, while `buffered` octets wait and packets have this payload.
    fn state(&self, buffered: u64, packet_bytes: u32) -> RateState;
}
