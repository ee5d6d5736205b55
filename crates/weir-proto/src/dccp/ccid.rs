//! What a connection asks of its congestion control (RFC 4340 §10): one half sends data, the
//! other receives it and reports. A connection owns up to one of each per direction.

use super::wire::{Options, Packet, PacketType, SeqNum};
use crate::event::Events;
use crate::packet::Ecn;
use crate::time::{Duration, Instant};

/// When the next data packet may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendTime {
    /// At once.
    Now,
    /// Not before this time; ask again then.
    At(Instant),
    /// Not before something arrives.
    Blocked,
}

/// The half-connection's data sender.
pub trait CcidSender: Send {
    /// The handshake's round-trip time, from its Request/Response or Response/Ack exchange;
    /// called at most once, before the first data packet.
    fn on_handshake_rtt(&mut self, rtt: Duration);

    /// The application is about to write this many octets. Called before the write is traced, so
    /// that the first line of a trace shows the state that the first packet finds.
    fn on_write(&mut self, _now: Instant, _payload_len: u32, _events: &mut Events) {}

    /// May a data packet with this many octets of payload leave?
    fn send_time(&mut self, now: Instant, payload_len: u32) -> SendTime;

    /// A data packet is being handed over: write its CCVal and options. The first of the two
    /// times of sending.
    fn on_handover(&mut self, now: Instant, packet: &mut Packet, events: &mut Events);

    /// A packet of this connection has really left the host: the second of the two times.
    /// `data` is true for Data and DataAck.
    fn on_transmitted(&mut self, now: Instant, seq: SeqNum, data: bool);

    /// A valid packet without an acknowledgement number arrived: the sender may want to know
    /// which numbers of the other side are missing.
    fn on_arrival(&mut self, _seq: SeqNum) {}

    /// The acknowledgement that [`on_ack`](Self::on_ack) will have next has a wrong nonce echo:
    /// the receiver may hide losses or marks. Respond as if it had reported a mark (RFC 4340
    /// §12.3).
    fn on_nonce_mismatch(&mut self);

    /// A valid packet with an acknowledgement number arrived.
    fn on_ack(&mut self, now: Instant, packet: &Packet, events: &mut Events);

    /// The next time at which [`handle_timeout`](Self::handle_timeout) must be called, apart from
    /// the [`SendTime::At`] that `send_time` has told.
    fn poll_timeout(&self) -> Option<Instant>;

    /// A timer of this half has expired.
    fn handle_timeout(&mut self, now: Instant, events: &mut Events);

    /// The smoothed round-trip time; `None` before the first sample.
    fn rtt(&self) -> Option<Duration>;

    /// The Ack Ratio that the receiver should keep (RFC 4340 §11.3), if this CCID uses it.
    fn ack_ratio(&self) -> Option<u16> {
        None
    }

    /// Data packets that this half found to be lost, and its congestion events. Zero where the
    /// receiver counts, as with TFRC.
    fn losses(&self) -> (u64, u64) {
        (0, 0)
    }

    /// The connection has closed: no timer may fire any more.
    fn on_close(&mut self);
}

/// The half-connection's data receiver.
pub trait CcidReceiver: Send {
    /// A valid packet arrived (data or not: both take part in loss detection).
    fn on_packet(&mut self, now: Instant, packet: &Packet, ecn: Ecn, events: &mut Events);

    /// True if an acknowledgement should leave now.
    fn wants_ack(&self, now: Instant) -> bool;

    /// The acknowledging packet with this number and type is about to leave: write the options
    /// that belong on it. After this call `wants_ack` is false until there is a new reason.
    fn on_ack_sent(&mut self, now: Instant, packet: (SeqNum, PacketType), options: &mut Options);

    /// The other side acknowledged one of our acknowledgements (RFC 4340 §11.4.2).
    fn on_ack_of_ack(&mut self, _now: Instant, _seq: SeqNum) {}

    /// The sender has set its Ack Ratio (RFC 4340 §11.3).
    fn on_ack_ratio(&mut self, _ratio: u16) {}

    /// The next timer of this half.
    fn poll_timeout(&self) -> Option<Instant>;

    /// A timer of this half has expired.
    fn handle_timeout(&mut self, now: Instant);

    /// The loss event rate in [0, 1] that this half measures; zero where it measures none.
    fn loss_event_rate(&self) -> f64 {
        0.0
    }

    /// Packets that this half found to be lost, and loss events; zero where the sender counts.
    fn losses(&self) -> (u64, u64) {
        (0, 0)
    }
}
