//! Two connections with a constant delay between them and a closure that drops packets: the
//! fixture of the connection's tests. The path has no rate limit.

use super::transmit::DataPlan;
use super::{Connection, Spaces, State};
use crate::endpoint::{Endpoint, EndpointEvent};
use crate::event::{Event, EventMask, Limit, WindowState};
use crate::packet::{Body, Ecn, HostId, Packet, Payload};
use crate::quic::{Config, wire};
use crate::time::{Duration, Instant};
use std::collections::{BTreeMap, BTreeSet};

/// An end of the pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Client,
    Server,
}

/// Returns true for a packet of this side that is lost.
pub type Dropper = Box<dyn FnMut(Side, &Packet) -> bool>;

pub struct Pair {
    pub now: Instant,
    pub client: Connection,
    pub server: Connection,
    pub delay: Duration,
    pub drop: Dropper,
    /// The side that writes without limit, 15000 octets at a time.
    pub bulk: Option<Side>,
    /// The application of the server reads.
    pub reads: bool,
    /// The source of the client's packets: its host, and how often a NAT has changed the port.
    pub source: (HostId, u8),
    /// Every packet is encoded and decoded.
    pub codec: bool,
    /// The client's next packet gets Congestion Experienced.
    pub mark_next: bool,
    /// The path clears the ECN field of one in `bleach` packets; 0 for none.
    pub bleach: u64,
    pub endpoint_events: Vec<(Side, EndpointEvent)>,
    pub octets_read: u64,
    pub largest_window: u64,
    pub smallest_window: u64,
    /// The greatest excess of the client's octets in flight over its window after sending a packet.
    pub overshoot: u64,
    pub flight: u64,
    /// The rules that bound the client's window.
    pub limits: BTreeSet<Limit>,
    /// The states of its window that the client has reported.
    pub windows: Vec<WindowState>,
    /// Sizes of all QUIC packets that the client sent.
    pub sizes: Vec<u32>,
    in_flight: BTreeMap<(Instant, u64), (Side, Packet)>,
    sequence: u64,
    config: Config,
}

impl Pair {
    pub fn new(config: Config) -> Self {
        Self {
            now: Instant::ZERO,
            client: Connection::client(config.clone()),
            server: Connection::server(config.clone()),
            delay: Duration::from_millis(1),
            drop: Box::new(|_, _| false),
            bulk: None,
            reads: true,
            source: (HostId(1), 0),
            codec: false,
            mark_next: false,
            bleach: 0,
            endpoint_events: Vec::new(),
            octets_read: 0,
            largest_window: 0,
            smallest_window: u64::MAX,
            overshoot: 0,
            flight: 0,
            limits: BTreeSet::new(),
            windows: Vec::new(),
            sizes: Vec::new(),
            in_flight: BTreeMap::new(),
            sequence: 0,
            config,
        }
    }

    /// Connects, with the client's window traced.
    pub fn started(config: Config) -> Self {
        let mut pair = Self::new(config);
        pair.client.events.set_mask(EventMask::CONTROLLER);
        pair.client.connect(pair.now);
        pair.exchange();
        pair
    }

    pub fn end(&mut self, side: Side) -> &mut Connection {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Runs the applications, then sends all packets that leave now.
    pub fn exchange(&mut self) {
        let now = self.now;
        for side in [Side::Client, Side::Server] {
            while let Some(event) = self.end(side).poll_event() {
                self.endpoint_events.push((side, event));
            }
            if side == Side::Client || self.reads {
                while let Some(data) = self.end(side).read(now) {
                    self.octets_read += u64::from(data.len());
                }
            }
            if self.bulk == Some(side) {
                while self.end(side).write(now, Payload::of_len(15_000)).is_ok() {}
            }
            check_rest(self.end(side), now);
            while let Some(packet) = self.end(side).poll_transmit(now) {
                self.send(side, packet);
                let client = &self.client;
                if side == Side::Client {
                    let beyond = client
                        .bytes_in_flight
                        .saturating_sub(client.controller.window());
                    self.overshoot = self.overshoot.max(beyond);
                    self.flight = client.bytes_in_flight;
                }
                check_rest(self.end(side), now);
            }
        }
        for (_, event) in self.client.events.drain() {
            if let Event::Window(window) = event {
                self.largest_window = self.largest_window.max(window.cwnd);
                self.smallest_window = self.smallest_window.min(window.cwnd);
                self.limits.insert(window.limit);
                self.windows.push(window);
            }
        }
    }

    fn send(&mut self, side: Side, mut packet: Packet) {
        let Body::Quic(quic) = &packet.body else {
            panic!("a QUIC endpoint sends QUIC");
        };
        assert_eq!(
            packet.size,
            quic.len(&self.config.wire_format()) + 28,
            "the size is that of the octets"
        );
        if side == Side::Client {
            self.sizes.push(packet.size - 28);
            (packet.ip.source, packet.ip.rebindings) = self.source;
        }
        if (self.drop)(side, &packet) {
            return;
        }
        if side == Side::Client && std::mem::take(&mut self.mark_next) {
            assert_eq!(packet.ip.ecn, Ecn::Ect0);
            packet.ip.ecn = Ecn::Ce;
        }
        self.sequence += 1;
        if self.bleach > 0 && self.sequence.is_multiple_of(self.bleach) {
            packet.ip.ecn = Ecn::NotEct;
        }
        let to = match side {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        self.in_flight
            .insert((self.now + self.delay, self.sequence), (to, packet));
    }

    fn through_codec(&mut self, to: Side, mut packet: Packet) -> Packet {
        if let Body::Quic(quic) = &packet.body {
            let header = self.config.wire_format();
            let mut octets = Vec::new();
            quic.encode(&header, &mut octets);
            assert_eq!(octets.len() as u32, packet.size - 28);
            let end = self.end(to);
            let initial = end.spaces.initial.as_deref();
            let expected = [initial, Some(&end.spaces.data)]
                .map(|space| space.map_or(0, |space| space.received.expected()));
            let read = wire::Packet::decode(&octets, &header, |space| match space {
                wire::SpaceId::Initial => expected[0],
                wire::SpaceId::Data => expected[1],
            });
            assert_eq!(read.as_ref(), Ok(quic), "the codec changes nothing");
            packet.body = Body::Quic(read.unwrap());
        }
        packet
    }

    /// Runs to this time; fails if an endpoint spins.
    pub fn run_until(&mut self, until: Instant) {
        self.exchange();
        let mut at_one_time = 0;
        loop {
            let arrival = self.in_flight.first_key_value().map(|((at, _), _)| *at);
            let timers = [self.client.poll_timeout(), self.server.poll_timeout()];
            let next = timers.into_iter().chain([arrival]).flatten().min();
            let Some(next) = next.filter(|at| *at <= until) else {
                self.now = until;
                return;
            };
            at_one_time = if next > self.now { 0 } else { at_one_time + 1 };
            assert!(at_one_time < 100_000, "stuck at {next}");
            self.now = self.now.max(next);
            if arrival == Some(next) {
                let (_, (to, packet)) = self.in_flight.pop_first().unwrap();
                let mut packet = if self.codec {
                    self.through_codec(to, packet)
                } else {
                    packet
                };
                let now = self.now;
                self.end(to).handle(now, &mut packet);
            }
            for side in [Side::Client, Side::Server] {
                let now = self.now;
                if self.end(side).poll_timeout().is_some_and(|at| at <= now) {
                    self.end(side).handle_timeout(now);
                }
            }
            self.exchange();
        }
    }

    /// When the next event occurs.
    pub fn next_at(&self) -> Instant {
        let arrival = self.in_flight.first_key_value().map(|((at, _), _)| *at);
        let timers = [self.client.poll_timeout(), self.server.poll_timeout()];
        let next = timers.into_iter().chain([arrival]).flatten().min();
        next.expect("something that happens")
    }

    pub fn run_for(&mut self, span: Duration) {
        self.run_until(self.now + span);
    }

    /// The rate in Mbit/s of QUIC packets with data at the server over a span from now.
    pub fn throughput_over(&mut self, span: Duration) -> f64 {
        let before = self.server.statistics().data_bytes_received;
        self.run_for(span);
        let octets = self.server.statistics().data_bytes_received - before;
        octets as f64 * 8.0 / span.as_secs_f64() / 1e6
    }
}

impl Spaces {
    /// Octets in flight, recounted.
    pub fn octets_in_flight(&self) -> u64 {
        let spaces = self.initial.as_deref().into_iter().chain([&self.data]);
        spaces.map(|space| space.sent.octets_in_flight()).sum()
    }
}

/// The full computation of the plan gives the same result where `rests` holds, and changes no
/// state.
fn check_rest(end: &mut Connection, now: Instant) {
    let ack_due = end.spaces.data.received.ack_is_due(now);
    if end.state == State::Established && end.rests(ack_due) {
        let plan = ack_due.then_some(DataPlan::ACK);
        end.paced_until = None;
        assert_eq!(end.plan_more(now, ack_due), plan);
        assert!(end.rests(ack_due) && end.paced_until.is_none());
    }
}

/// Drops every `period`-th datagram of the client.
pub fn periodic(period: u64) -> Dropper {
    let mut count = 0;
    Box::new(move |side, _| {
        if side == Side::Server {
            return false;
        }
        count += 1;
        count % period == 0
    })
}
