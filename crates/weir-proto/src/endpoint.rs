//! The interface between a driver and a transport endpoint.
//!
//! Methods come in four kinds, and a driver calls them in this order:
//! 1. **input**: [`Endpoint::handle`], [`Endpoint::handle_timeout`] and the application's calls
//!    [`connect`](Endpoint::connect), [`write`](Endpoint::write) and [`close`](Endpoint::close);
//! 2. **output**: after any input, call [`Endpoint::poll_transmit`] until it returns `None`, and
//!    [`Endpoint::poll_event`] and [`Endpoint::read`] likewise;
//! 3. **timer**: then read [`Endpoint::poll_timeout`] once and call `handle_timeout` at that time;
//! 4. **tracing**: drain [`Endpoint::events`] into the driver's probe.
//!
//! Time never runs backwards. After `handle_timeout(now)` the next timeout lies later than `now`
//! or a packet is ready. The driver asserts this, so that a faulty endpoint fails instead of
//! spinning.

use crate::event::Events;
use crate::packet::{Ecn, HostId, Packet, Payload, Transit};
use crate::time::{Duration, Instant};
use crate::units::Rate;

/// One end of one connection, without I/O: packets and time go in, packets and timeouts come out.
pub trait Endpoint {
    /// A packet arrives. The endpoint may move parts out of its body, and leaves the rest of the
    /// packet unchanged, so that the packet is not copied.
    fn handle(&mut self, now: Instant, packet: &mut Packet);

    /// The time returned by [`poll_timeout`](Self::poll_timeout) has been reached. A call before
    /// that time does nothing.
    fn handle_timeout(&mut self, now: Instant);

    /// The next packet that leaves now, if any. Call until `None` after any input.
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet>;

    /// When [`handle_timeout`](Self::handle_timeout) must be called; `None` while no timer runs.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The queue of trace events; `None` for an endpoint that traces nothing.
    fn events(&mut self) -> Option<&mut Events> {
        None
    }

    /// Opens the connection actively. A passive endpoint listens from the start and needs no call.
    fn connect(&mut self, now: Instant);

    /// Closes the connection gracefully after all written data has been sent.
    fn close(&mut self, now: Instant);

    /// Hands over application data: one datagram (DCCP, RTP, UDP) or the next octets of the stream
    /// (QUIC, TCP).
    ///
    /// # Errors
    /// [`WriteError::Blocked`] when the send queue is full: nothing was taken; wait for
    /// [`EndpointEvent::Writable`]. [`WriteError::TooLarge`] when a datagram cannot fit.
    /// [`WriteError::Closed`] when the connection is not open for data.
    fn write(&mut self, now: Instant, data: Payload) -> Result<(), WriteError>;

    /// The next received application data.
    fn read(&mut self, now: Instant) -> Option<Payload>;

    /// The next event for the application.
    fn poll_event(&mut self) -> Option<EndpointEvent>;

    /// False if [`poll_event`](Self::poll_event) returns `None`: a driver need not call the
    /// application before there is an event or the application's own timer expires.
    fn has_event(&self) -> bool {
        true
    }

    /// True if the connection has ended and this end only waits for late packets, as in TIMEWAIT.
    fn is_lingering(&self) -> bool {
        false
    }

    /// The rate that the transport requests from a source of media; `None` if the application
    /// chooses its own rate.
    fn media_target(&self) -> Option<MediaTarget> {
        None
    }

    /// The packet with this id has left the host. [`poll_transmit`](Self::poll_transmit) may have
    /// handed it over earlier; each transport decides which of the two it records as the time of
    /// sending.
    fn transmitted(&mut self, now: Instant, packet_id: u64);

    /// Counters since the start.
    fn statistics(&self) -> Statistics;

    /// From now on [`Statistics::loss_events`] counts only events whose first lost or marked packet
    /// is sent from now on. They are then events of the packets sent in the same period, and their
    /// ratio is at most 1.
    fn count_loss_events_from(&mut self, _from: CountedFrom) {}

    /// [`Statistics::packets_received`] alone, because drivers read it for each packet.
    fn packets_received(&self) -> u64 {
        self.statistics().packets_received
    }

    /// This end has another address from now on, on another path. A transport that cannot change
    /// its address has no use for it.
    fn change_address(&mut self, _now: Instant) {}

    /// The peer's host, once that is not the one at the start.
    fn peer_host(&self) -> Option<HostId> {
        None
    }

    /// The next packet, without its body, that the endpoint held back after
    /// [`handle`](Self::handle) and has accepted since.
    fn poll_accepted(&mut self) -> Option<Arrival> {
        None
    }
}

/// The data about a packet that arrived, kept until the endpoint accepts the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The network's record of its transit.
    pub transit: Transit,
    /// Its codepoint.
    pub ecn: Ecn,
}

impl From<&Packet> for Arrival {
    fn from(packet: &Packet) -> Self {
        Self {
            transit: packet.transit,
            ecn: packet.ip.ecn,
        }
    }
}

/// The start of the period in which loss events count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedFrom {
    /// The time; packets sent at it count.
    pub at: Instant,
    /// The packets that the sender of the data had handed over before
    /// ([`Statistics::packets_sent`]), for a receiver that does not know when they were sent.
    pub packets_sent: u64,
}

/// The rate that a transport requests from a source of media.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MediaTarget {
    /// The rate that the encoder should reach, in payload bits per second.
    pub rate: Rate,
    /// Octets that were written and wait to be sent.
    pub buffered_bytes: u64,
}

/// Why a write was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// The send queue is full.
    Blocked,
    /// The datagram is larger than this path can carry; the limit in octets.
    TooLarge(u32),
    /// The connection is not open for data.
    Closed,
}

/// An event for the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointEvent {
    /// The handshake is complete; data may be written.
    Connected,
    /// After [`WriteError::Blocked`]: the send queue has room again.
    Writable,
    /// [`read`](Endpoint::read) returns data.
    Readable,
    /// The connection has ended.
    Closed(CloseReason),
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// Both ends closed gracefully.
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
    /// Of `packets_sent`, those without application data whose loss or mark may be a congestion
    /// event: those of QUIC that elicit acknowledgements, all of quinn.
    pub control_packets_sent: u64,
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
    /// Packets in the direction of the data that this endpoint detected as lost: as a sender, or
    /// with TFRC as a receiver. A flow's losses are the sum of both ends. Packets that arrive later
    /// are subtracted if the transport identifies them (UDP, RTP), as RFC 3550 §6.4.1 counts.
    pub packets_lost: u64,
    /// Packets that were subtracted from `packets_lost` because they arrived late.
    pub packets_late: u64,
    /// Packets whose data was sent before (TCP, QUIC).
    pub packets_retransmitted: u64,
    /// Of these, segments presumed lost by a timeout and not by an acknowledgement (TCP).
    pub packets_retransmitted_by_timeout: u64,
    /// Expiries of timers that wait for acknowledgements or feedback, one for each
    /// [`Event::Timeout`](crate::event::Event::Timeout): the retransmission timer (TCP, CCID 2),
    /// the probe timeout (QUIC), the nofeedback timer (TFRC, NADA), and the timers of packets that
    /// open or close a connection.
    pub timeouts: u64,
    /// Loss events (TFRC, at the receiver) or congestion events (windows, at the sender).
    pub loss_events: u64,
    /// Smoothed round-trip time; zero before the first sample.
    pub smoothed_rtt: Duration,
}
