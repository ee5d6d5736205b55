//! How a driver talks to a machine.
//!
//! Methods come in four kinds, and a driver calls them in this order:
//! 1. **input**: [`Node::handle`], [`Node::handle_timeout`], and for endpoints the application's
//!    [`connect`](Endpoint::connect), [`write`](Endpoint::write), [`close`](Endpoint::close) …;
//! 2. **output**: after any input, call [`Node::poll_transmit`] until it returns `None`, and for
//!    endpoints [`Endpoint::poll_event`] and [`Endpoint::read`] likewise;
//! 3. **timer**: then read [`Node::poll_timeout`] once and call `handle_timeout` at that time;
//! 4. **observation**: [`Node::events`], drained by the driver into its probe.
//!
//! Time never runs backwards. After `handle_timeout(now)` the next timeout lies later than `now`
//! or a packet is ready; the driver asserts it, so that a stuck machine fails instead of spinning.

use crate::event::Events;
use crate::packet::{Packet, Payload};
use crate::time::{Duration, Instant};

/// Anything that a packet can enter and leave: link, queue, tap, medium, endpoint.
pub trait Node {
    /// A packet arrives.
    fn handle(&mut self, now: Instant, packet: Packet);

    /// The time that [`poll_timeout`](Self::poll_timeout) named has come. A call that is too
    /// early does nothing.
    fn handle_timeout(&mut self, now: Instant);

    /// The next packet that leaves now, if any. Call until `None` after any input.
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet>;

    /// When [`handle_timeout`](Self::handle_timeout) must be called; `None` while nothing is due.
    fn poll_timeout(&self) -> Option<Instant>;

    /// What the machine has to say about itself, if it says anything.
    fn events(&mut self) -> Option<&mut Events> {
        None
    }
}

/// A node that an application uses: one end of one connection.
pub trait Endpoint: Node {
    /// Opens the connection actively. A passive endpoint is made listening and needs no call.
    fn connect(&mut self, now: Instant);

    /// Ends the connection in good order after what was written has been sent.
    fn close(&mut self, now: Instant);

    /// Hands over application data: one datagram (DCCP) or a piece of the stream (QUIC).
    ///
    /// # Errors
    /// [`WriteError::Blocked`] when the send queue is full: nothing was taken; wait for
    /// [`EndpointEvent::Writable`]. [`WriteError::TooLarge`] when a datagram cannot fit.
    /// [`WriteError::Closed`] when the connection does not take data any more.
    fn write(&mut self, now: Instant, data: Payload) -> Result<(), WriteError>;

    /// The next piece of received application data.
    fn read(&mut self, now: Instant) -> Option<Payload>;

    /// The next thing that the application should know.
    fn poll_event(&mut self) -> Option<EndpointEvent>;

    /// The packet with this id has really left the host. Its handing over (by
    /// [`Node::poll_transmit`]) may have been earlier; which of the two is recorded as its time
    /// of sending is the transport's affair.
    fn transmitted(&mut self, now: Instant, packet_id: u64);

    /// Counters since the start.
    fn statistics(&self) -> Statistics;
}

/// Why a write was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The send queue is full.
    Blocked,
    /// The datagram is larger than this path can carry; the limit in octets.
    TooLarge(u32),
    /// The connection is not open for data.
    Closed,
}

/// News for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointEvent {
    /// The handshake is done; data may be written.
    Connected,
    /// After [`WriteError::Blocked`]: there is room again.
    Writable,
    /// There is something to [`read`](Endpoint::read).
    Readable,
    /// The connection has ended.
    Closed(CloseReason),
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// In good order.
    Finished,
    /// The peer ended it with this code (DCCP reset code, QUIC error code).
    Reset(u64),
    /// The peer did not answer in time.
    TimedOut,
}

/// Counters of an endpoint since its start. All packets of the transport count, acknowledgements
/// too, unless a field says otherwise; sizes are those of the transport's packet without IP and
/// UDP headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets handed over for transmission.
    pub packets_sent: u64,
    /// Octets of these.
    pub bytes_sent: u64,
    /// Of `packets_sent`, those that carry application data.
    pub data_packets_sent: u64,
    /// Packets that arrived and were accepted.
    pub packets_received: u64,
    /// Octets of these.
    pub bytes_received: u64,
    /// Of `packets_received`, those that carry application data.
    pub data_packets_received: u64,
    /// Octets of the data packets received.
    pub data_bytes_received: u64,
    /// Octets of application data delivered for the first time.
    pub payload_received: u64,
    /// Packets of the data's direction that this endpoint found to be lost: as a sender, or with
    /// TFRC as a receiver. A flow's losses are the sum of both ends.
    pub packets_lost: u64,
    /// Loss events (TFRC, at the receiver) or congestion events (windows, at the sender).
    pub loss_events: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub smoothed_rtt: Duration,
}
