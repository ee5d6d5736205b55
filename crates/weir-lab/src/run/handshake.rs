//! A host that takes time to answer the first packets of a connection (`handshake_delay`).
//!
//! Setting up a connection costs a real host more than a packet of an open one: a socket is made,
//! a process wakes. The first round-trip time that a protocol measures is larger for it, and CCID-3
//! over loopback starts from that sample. Packets of the handshake (DCCP Request and Response,
//! QUIC Initial) wait before the endpoint handles them, and so do packets behind them.

use std::collections::VecDeque;
use weir_proto::dccp::wire::PacketType;
use weir_proto::event::Events;
use weir_proto::node::{Endpoint, EndpointEvent, Node, Statistics, WriteError};
use weir_proto::packet::{Body, Packet, Payload};
use weir_proto::quic::wire::SpaceId;
use weir_proto::time::{Duration, Instant};

/// An endpoint behind such a delay.
pub(super) struct SlowHandshake {
    inner: Box<dyn Endpoint + Send>,
    delay: Duration,
    waiting: VecDeque<(Instant, Packet)>,
}

impl SlowHandshake {
    pub(super) fn new(inner: Box<dyn Endpoint + Send>, delay: Duration) -> Self {
        Self {
            inner,
            delay,
            waiting: VecDeque::new(),
        }
    }

    fn release(&mut self, now: Instant) {
        while self.waiting.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, packet)) = self.waiting.pop_front() {
                self.inner.handle(now, packet);
            }
        }
    }
}

fn is_handshake(packet: &Packet) -> bool {
    match &packet.body {
        Body::Dccp(dccp) => matches!(dccp.kind, PacketType::Request | PacketType::Response),
        Body::Quic(quic) => quic.space == SpaceId::Initial,
        Body::Tcp(tcp) => tcp.syn.is_some(),
        Body::Other(_) => false,
    }
}

impl Node for SlowHandshake {
    fn handle(&mut self, now: Instant, packet: Packet) {
        self.release(now);
        let delay = if is_handshake(&packet) {
            self.delay
        } else {
            Duration::ZERO
        };
        match self.waiting.back() {
            None if delay.is_zero() => self.inner.handle(now, packet),
            // Packets keep their order.
            last => {
                let at = last.map_or(now, |(at, _)| *at).max(now + delay);
                self.waiting.push_back((at, packet));
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.release(now);
        self.inner.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.inner.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let waiting = self.waiting.front().map(|(at, _)| *at);
        waiting.into_iter().chain(self.inner.poll_timeout()).min()
    }

    fn events(&mut self) -> Option<&mut Events> {
        self.inner.events()
    }
}

impl Endpoint for SlowHandshake {
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
