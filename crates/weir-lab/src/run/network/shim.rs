//! A shim around an endpoint observes and changes the packets that pass; all other calls go to the
//! endpoint.

use weir_proto::endpoint::{
    Arrival, CountedFrom, Endpoint, EndpointEvent, MediaTarget, Statistics, WriteError,
};
use weir_proto::event::Events;
use weir_proto::packet::{HostId, Packet, Payload};
use weir_proto::time::Instant;

/// The calls that a shim handles in place of the endpoint.
pub(in crate::run) trait Shim {
    /// A packet arrives for the endpoint.
    fn handle(&mut self, inner: &mut dyn Endpoint, now: Instant, packet: &mut Packet);

    /// The time of [`poll_timeout`](Self::poll_timeout) has been reached.
    fn handle_timeout(&mut self, inner: &mut dyn Endpoint, now: Instant) {
        inner.handle_timeout(now);
    }

    /// The next packet that leaves.
    fn poll_transmit(&mut self, inner: &mut dyn Endpoint, now: Instant) -> Option<Packet> {
        inner.poll_transmit(now)
    }

    /// The time at which the shim or the endpoint must be called.
    fn poll_timeout(&self, inner: &dyn Endpoint) -> Option<Instant> {
        inner.poll_timeout()
    }

    /// The next packet that the shim delayed and that the endpoint has accepted since.
    fn poll_accepted(&mut self, inner: &mut dyn Endpoint) -> Option<Arrival> {
        inner.poll_accepted()
    }
}

/// An endpoint with a shim around it.
pub(in crate::run) struct Shimmed<L> {
    inner: Box<dyn Endpoint + Send>,
    shim: L,
}

impl<L: Shim> Shimmed<L> {
    pub(in crate::run) fn new(inner: Box<dyn Endpoint + Send>, shim: L) -> Self {
        Self { inner, shim }
    }
}

impl<L: Shim> Endpoint for Shimmed<L> {
    fn handle(&mut self, now: Instant, packet: &mut Packet) {
        self.shim.handle(&mut *self.inner, now, packet);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.shim.handle_timeout(&mut *self.inner, now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.shim.poll_transmit(&mut *self.inner, now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.shim.poll_timeout(&*self.inner)
    }

    fn events(&mut self) -> Option<&mut Events> {
        self.inner.events()
    }

    fn connect(&mut self, now: Instant) {
        self.inner.connect(now);
    }

    fn close(&mut self, now: Instant) {
        self.inner.close(now);
    }

    fn write(&mut self, now: Instant, data: Payload) -> Result<(), WriteError> {
        self.inner.write(now, data)
    }

    fn read(&mut self, now: Instant) -> Option<Payload> {
        self.inner.read(now)
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.inner.poll_event()
    }

    fn has_event(&self) -> bool {
        self.inner.has_event()
    }

    fn is_lingering(&self) -> bool {
        self.inner.is_lingering()
    }

    fn media_target(&self) -> Option<MediaTarget> {
        self.inner.media_target()
    }

    fn transmitted(&mut self, now: Instant, packet_id: u64) {
        self.inner.transmitted(now, packet_id);
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }

    fn count_loss_events_from(&mut self, from: CountedFrom) {
        self.inner.count_loss_events_from(from);
    }

    fn packets_received(&self) -> u64 {
        self.inner.packets_received()
    }

    fn change_address(&mut self, now: Instant) {
        self.inner.change_address(now);
    }

    fn peer_host(&self) -> Option<HostId> {
        self.inner.peer_host()
    }

    fn poll_accepted(&mut self) -> Option<Arrival> {
        self.shim.poll_accepted(&mut *self.inner)
    }
}
