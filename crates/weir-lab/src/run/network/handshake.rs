//! A host that delays the first packets of a connection (`handshake_delay`).
//!
//! On a real host, opening a connection takes more time than handling a packet of an open one: a
//! socket is created and a process is woken. This increases the first round-trip time sample, from
//! which CCID-3 starts over loopback. Packets of the handshake (DCCP Request and Response, QUIC
//! Initial, TCP SYN) wait before the endpoint handles them, and so do later packets behind them.
//! They count as received after the delay, so that it is part of their one-way delay.

use super::shim::Shim;
use std::collections::VecDeque;
use weir_proto::dccp::wire::PacketType;
use weir_proto::endpoint::{Arrival, Endpoint};
use weir_proto::packet::{Body, Packet};
use weir_proto::quic::wire::SpaceId;
use weir_proto::time::{Duration, Instant};

/// The shim that delays packets of the handshake.
pub(in crate::run) struct SlowHandshake {
    delay: Duration,
    waiting: VecDeque<(Instant, Packet)>,
    /// Delayed packets that the endpoint has accepted and that were not yet reported by
    /// `poll_accepted`.
    accepted: VecDeque<Arrival>,
}

impl SlowHandshake {
    pub(in crate::run) const fn new(delay: Duration) -> Self {
        Self {
            delay,
            waiting: VecDeque::new(),
            accepted: VecDeque::new(),
        }
    }

    fn release(&mut self, inner: &mut dyn Endpoint, now: Instant) {
        while self.waiting.front().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, mut packet)) = self.waiting.pop_front() {
                let before = inner.packets_received();
                inner.handle(now, &mut packet);
                if inner.packets_received() > before {
                    self.accepted.push_back((&packet).into());
                }
            }
        }
    }
}

fn is_handshake(packet: &Packet) -> bool {
    match &packet.body {
        Body::Dccp(dccp) => matches!(dccp.kind, PacketType::Request | PacketType::Response),
        Body::Quic(quic) => quic.space == SpaceId::Initial,
        Body::Tcp(tcp) => tcp.syn.is_some(),
        Body::Rtp(_) | Body::Other(_) => false,
    }
}

impl Shim for SlowHandshake {
    fn handle(&mut self, inner: &mut dyn Endpoint, now: Instant, packet: &mut Packet) {
        self.release(inner, now);
        let delay = if is_handshake(packet) {
            self.delay
        } else {
            Duration::ZERO
        };
        match self.waiting.back() {
            None if delay.is_zero() => inner.handle(now, packet),
            // A delayed packet also delays those behind it, to keep the order.
            last => {
                let at = last.map_or(now, |(at, _)| *at).max(now + delay);
                self.waiting.push_back((at, packet.clone()));
            }
        }
    }

    fn handle_timeout(&mut self, inner: &mut dyn Endpoint, now: Instant) {
        self.release(inner, now);
        inner.handle_timeout(now);
    }

    fn poll_timeout(&self, inner: &dyn Endpoint) -> Option<Instant> {
        let waiting = self.waiting.front().map(|(at, _)| *at);
        waiting.into_iter().chain(inner.poll_timeout()).min()
    }

    fn poll_accepted(&mut self, _inner: &mut dyn Endpoint) -> Option<Arrival> {
        self.accepted.pop_front()
    }
}
