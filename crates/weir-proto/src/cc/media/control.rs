//! What a controller of media is told and asked.

use crate::event::RateState;
use crate::time::{Duration, Instant};
use crate::units::Rate;

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

/// The time at which the rate is halved without a further report, if packets have been in flight
/// since `since` (RFC 8888 §5).
pub fn feedback_deadline(control: &dyn MediaController, since: Instant) -> Instant {
    since + (control.feedback_timeout()).max(control.smoothed_rtt() * 2)
}

/// The controller of one flow of media, at the sender.
pub trait MediaController: std::fmt::Debug {
    /// A packet was sent; its number, and the octets of its payload.
    fn on_sent(&mut self, now: Instant, sequence: u64, bytes: u32);
    /// A frame was written completely: its octets, and how long the first packet that waits has
    /// waited.
    fn on_frame(&mut self, now: Instant, bytes: u64, waited: Duration);
    /// A report has arrived.
    fn on_report(&mut self, report: &Report<'_>);
    /// No report arrived until [`feedback_deadline`] although packets are in flight.
    fn on_feedback_timeout(&mut self);
    /// The time without a report after which the rate is halved, unless two round trips are longer.
    fn feedback_timeout(&self) -> Duration;
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
