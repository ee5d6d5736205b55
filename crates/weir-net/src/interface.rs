//! The interface of a host and the access link behind it, as one flow sees them: each packet takes
//! the delay of the access link and a random time of its own, both ways, and keeps its order.

use std::collections::VecDeque;
use weir_proto::DurationRange;
use weir_proto::packet::Packet;
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// The delays of packets between the stack of a host and the first link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InterfaceConfig {
    /// Delay of the access link.
    pub(crate) delay: Duration,
    /// Additional delay, drawn for each packet.
    pub(crate) jitter: DurationRange,
}

/// Packets on their way in one direction.
#[derive(Debug, Default)]
struct Line {
    packets: VecDeque<(Instant, Packet)>,
    /// When the last packet leaves; later packets do not leave earlier.
    last: Instant,
}

impl Line {
    fn push(&mut self, leaves: Instant, packet: Packet) {
        self.last = self.last.max(leaves);
        self.packets.push_back((self.last, packet));
    }

    fn pop(&mut self, now: Instant) -> Option<Packet> {
        if self.due()? > now {
            return None;
        }
        self.packets.pop_front().map(|(_, packet)| packet)
    }

    fn due(&self) -> Option<Instant> {
        self.packets.front().map(|(leaves, _)| *leaves)
    }
}

/// An interface with the packets in it.
#[derive(Debug)]
pub(crate) struct Interface {
    config: InterfaceConfig,
    rng: Rng,
    outbound: Line,
    inbound: Line,
}

impl Interface {
    /// `None` if packets are not delayed.
    pub(crate) fn new(config: InterfaceConfig, rng: Rng) -> Option<Box<Self>> {
        let takes_time = !(config.delay.is_zero() && config.jitter.most.is_zero());
        takes_time.then(|| {
            Box::new(Self {
                config,
                rng,
                outbound: Line::default(),
                inbound: Line::default(),
            })
        })
    }

    fn leaves(&mut self, now: Instant) -> Instant {
        now + self.config.delay + self.config.jitter.draw(&mut self.rng)
    }

    /// The stack hands a packet over.
    pub(crate) fn send(&mut self, now: Instant, packet: Packet) {
        let leaves = self.leaves(now);
        self.outbound.push(leaves, packet);
    }

    /// The next packet for the network.
    pub(crate) fn poll_sent(&mut self, now: Instant) -> Option<Packet> {
        self.outbound.pop(now)
    }

    /// A packet arrives from the network.
    pub(crate) fn receive(&mut self, now: Instant, packet: Packet) {
        let leaves = self.leaves(now);
        self.inbound.push(leaves, packet);
    }

    /// The next packet for the stack.
    pub(crate) fn poll_received(&mut self, now: Instant) -> Option<Packet> {
        self.inbound.pop(now)
    }

    /// When the next packet leaves, in either direction.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.outbound
            .due()
            .into_iter()
            .chain(self.inbound.due())
            .min()
    }

    /// The least time that a packet takes, either way.
    pub(crate) fn least_delay(&self) -> Duration {
        self.config.delay + self.config.jitter.least
    }

    /// Packets in the interface: outbound and inbound.
    pub(crate) fn backlog(&self) -> [u64; 2] {
        [&self.outbound, &self.inbound].map(|line| line.packets.len() as u64)
    }
}
