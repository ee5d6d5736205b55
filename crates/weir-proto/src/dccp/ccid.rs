//! The interface between a connection and its congestion control (RFC 4340 §10): a sender half for
//! the data sent and a receiver half for the data received.

use super::wire::{Options, Packet, PacketType, SeqNum};
use crate::cc::EcnCapability;
use crate::event::{Events, FeedbackDecision, SndLim};
use crate::packet::Ecn;
use crate::time::{Duration, Instant};

/// When the next data packet may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendTime {
    /// At once.
    Now,
    /// Not before this time; the connection asks again then.
    At(Instant),
    /// Not before an acknowledgement or a timeout.
    Blocked,
}

/// Losses that one half of a CCID has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCounts {
    /// Data packets lost.
    pub packets: u64,
    /// Loss events or congestion events.
    pub events: u64,
    /// Expiries of a window's retransmission timer, or of TFRC's nofeedback timer.
    pub timeouts: u64,
}

/// The sender half of a CCID.
pub trait CcidSender: Send {
    /// The handshake's round-trip time, from its Request/Response or Response/Ack exchange;
    /// called at most once, before the first data packet.
    fn on_handshake_rtt(&mut self, now: Instant, rtt: Duration);

    /// The application is about to write this many octets. Called before the write is traced, so
    /// that the first line of a trace shows the state that the first packet finds.
    fn on_write(&mut self, _now: Instant, _payload_len: u32, _events: &mut Events) {}

    /// When a data packet with this many octets of payload may leave.
    fn send_time(&mut self, now: Instant, payload_len: u32) -> SendTime;

    /// A data packet is handed over, the first of the two times of sending: writes its CCVal and
    /// options.
    fn on_handover(&mut self, now: Instant, packet: &mut Packet, events: &mut Events);

    /// A packet of this connection has left the host, the second of the two times of sending.
    fn on_transmitted(&mut self, now: Instant, seq: SeqNum);

    /// The acknowledgement of the next [`on_ack`](Self::on_ack) has a wrong nonce echo, because the
    /// receiver may hide losses or marks. The sender responds as to a mark (RFC 4340 §12.3).
    fn on_nonce_mismatch(&mut self);

    /// A valid packet with an acknowledgement number arrived.
    fn on_ack(&mut self, now: Instant, packet: &Packet, events: &mut Events);

    /// Called when no further packet leaves now, after the bound was recorded. A half that defers
    /// its reports reports its changes here, so that the octets in flight are those after the
    /// window was filled again.
    fn emit(&mut self, _now: Instant, _events: &mut Events) {}

    /// The next time at which [`handle_timeout`](Self::handle_timeout) must be called, apart from
    /// the [`SendTime::At`] of `send_time`.
    fn poll_timeout(&self) -> Option<Instant>;

    /// A timer of this half has expired.
    fn handle_timeout(&mut self, now: Instant, events: &mut Events);

    /// The smoothed round-trip time; `None` before the first sample.
    fn rtt(&self) -> Option<Duration>;

    /// The ECN codepoint of data packets, for a controller that needs one; `None` leaves the choice
    /// to the connection's settings.
    fn ecn(&self) -> Option<EcnCapability> {
        None
    }

    /// The bound of a packet that waits for a [`SendTime::At`]: the allowed rate of a rate
    /// controller, or the pacer of a window controller.
    fn bound_until(&self) -> SndLim {
        SndLim::Rate
    }

    /// Called when no further packet leaves now because of `bound`. Returns the bound behind it:
    /// the limit of the rate from which the pacer or window of a window controller follows.
    fn on_bound(&mut self, _now: Instant, bound: SndLim) -> SndLim {
        bound
    }

    /// The Ack Ratio that the peer's receiver should use (RFC 4340 §11.3); `None` for a CCID
    /// without one.
    fn ack_ratio(&self) -> Option<u16> {
        None
    }

    /// The losses that this half detected; zero if the receiver detects them, as in TFRC.
    fn losses(&self) -> LossCounts {
        LossCounts::default()
    }

    /// Stops counting loss events of packets that were sent before `at`.
    fn count_loss_events_from(&mut self, _at: Instant) {}

    /// The connection has closed: all timers stop.
    fn on_close(&mut self);
}

/// The receiver half of a CCID.
pub trait CcidReceiver: Send {
    /// A valid packet arrived, with or without data: both count in loss detection.
    fn on_packet(&mut self, now: Instant, packet: &Packet, ecn: Ecn, events: &mut Events);

    /// The decision about feedback after the last packet, if it differs from the decision before;
    /// for TFRC.
    fn feedback_decision(&mut self) -> Option<FeedbackDecision> {
        None
    }

    /// True if an acknowledgement should leave now.
    fn wants_ack(&self, now: Instant) -> bool;

    /// An acknowledgement with this number and type is about to leave: writes its options.
    /// Afterwards `wants_ack` is false until a further acknowledgement is due.
    fn on_ack_sent(&mut self, now: Instant, seq: SeqNum, kind: PacketType, options: &mut Options);

    /// The peer acknowledged one of this end's acknowledgements (RFC 4340 §11.4.2).
    fn on_ack_of_ack(&mut self, _seq: SeqNum) {}

    /// The peer has announced this Ack Ratio (RFC 4340 §11.3).
    fn set_ack_ratio(&mut self, _ratio: u16) {}

    /// Stops counting loss events of packets before the number `first`.
    fn count_loss_events_from(&mut self, _first: SeqNum) {}

    /// When the next timer of this half expires.
    fn poll_timeout(&self) -> Option<Instant>;

    /// A timer of this half has expired.
    fn handle_timeout(&mut self, now: Instant);

    /// The losses that this half detected; zero if the sender detects them.
    fn losses(&self) -> LossCounts {
        LossCounts::default()
    }
}
