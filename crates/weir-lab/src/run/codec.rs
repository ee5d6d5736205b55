//! `[run] codec = true`: every packet that an endpoint hands over is encoded and decoded, and what
//! was decoded goes on. Proves that typed packets and wire format are the same thing: it must
//! change nothing but the time that a run takes.

use std::sync::{Arc, Mutex};
use weir_proto::event::Events;
use weir_proto::node::{Endpoint, EndpointEvent, Node, Statistics, WriteError};
use weir_proto::packet::{Body, Packet, Payload};
use weir_proto::time::Instant;

/// The first fault that any endpoint's codec found, shared by all of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Fault(Arc<Mutex<Option<String>>>);

impl Fault {
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().ok()?.take()
    }

    fn set(&self, message: String) {
        if let Ok(mut fault) = self.0.lock() {
            fault.get_or_insert(message);
        }
    }
}

/// An endpoint whose packets go through their wire format.
pub(super) struct CodecEndpoint {
    inner: Box<dyn Endpoint + Send>,
    buffer: Vec<u8>,
    fault: Fault,
}

impl CodecEndpoint {
    pub(super) fn new(inner: Box<dyn Endpoint + Send>, fault: Fault) -> Self {
        Self {
            inner,
            buffer: Vec::new(),
            fault,
        }
    }

    fn round_trip(&mut self, body: &Body) -> Result<Body, String> {
        let buffer = &mut self.buffer;
        match body {
            Body::Dccp(packet) => packet
                .round_trip(buffer)
                .map(Body::Dccp)
                .map_err(|e| e.to_string()),
            Body::Quic(packet) => Ok(Body::Quic(packet.clone())),
            Body::Other(payload) => Ok(Body::Other(payload.clone())),
        }
    }
}

impl Node for CodecEndpoint {
    fn handle(&mut self, now: Instant, packet: Packet) {
        self.inner.handle(now, packet);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.inner.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let mut packet = self.inner.poll_transmit(now)?;
        match self.round_trip(&packet.body) {
            Ok(body) => packet.body = body,
            Err(why) => self.fault.set(format!(
                "packet {} of flow {} at {now} s {why}",
                packet.id, packet.flow.0
            )),
        }
        Some(packet)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.inner.poll_timeout()
    }

    fn events(&mut self) -> Option<&mut Events> {
        self.inner.events()
    }
}

impl Endpoint for CodecEndpoint {
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

    fn transmitted(&mut self, now: Instant, packet_id: u64) {
        self.inner.transmitted(now, packet_id);
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}
