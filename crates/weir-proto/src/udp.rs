//! UDP (RFC 768) as an endpoint: datagrams leave when they are written and are delivered when they
//! arrive.
//!
//! There is no handshake, no feedback and no congestion control: the baseline for media without
//! congestion control. A datagram that the network damaged fails its checksum and is dropped,
//! unless the sender omits the checksum (zero, RFC 768) or covers only the headers (UDP-Lite, RFC
//! 3828); then it is delivered damaged.
//!
//! The receiver counts the numbers missing below the highest datagram as lost, as iperf3 does; a
//! datagram that arrives late is no longer counted. A copy of a datagram that has arrived counts as
//! received, but its data is not delivered again, because programs over UDP detect copies by
//! numbers of their own.

use crate::endpoint::{CloseReason, Endpoint, EndpointEvent, Statistics, WriteError};
use crate::event::{Event, EventMask, Events, PacketContent, PacketType, SndLim};
use crate::packet::{Body, Ecn, IpHeader, Packet, Payload, TraceNumber, Transit};
use crate::ranges::RangeSet;
use crate::time::Instant;
use crate::{keywords, settings};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::ops::Range;

keywords! {
    /// What damage the checksum finds.
    #[derive(Default)]
    pub enum Checksum {
        /// In headers and payload.
        #[default]
        Full = "full",
        /// In the headers only, as UDP-Lite may have it.
        HeadersOnly = "headers",
        /// No checksum, which UDP over IPv4 may leave out.
        Absent = "none",
    }
}

settings! {
    /// The settings of a socket.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Config {
        /// The path's MTU in octets, IP header included.
        pub mtu: u32 [internal] = 1500,
        /// What it covers: damage elsewhere is delivered.
        pub checksum: Checksum,
    }
}

/// Octets of the IP and UDP headers, which are no part of a datagram's size in events and counters.
const LOWER_OCTETS: u32 = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;

/// Runs of arrived numbers that a socket keeps: as many losses may lie between a datagram and its
/// copy. Older numbers count as arrived.
const MAX_RUNS: usize = 1024;

/// A connected socket.
#[derive(Debug)]
pub struct Socket {
    config: Config,
    open: bool,
    send_queue: VecDeque<Payload>,
    receive_queue: VecDeque<Payload>,
    endpoint_events: VecDeque<EndpointEvent>,
    next_id: u64,
    /// One more than the highest number that arrived.
    expected_id: u64,
    /// The numbers that have arrived; beyond [`MAX_RUNS`] runs, also those in the oldest gaps.
    arrived: RangeSet,
    statistics: Statistics,
    events: Events,
}

impl Socket {
    /// A socket. The side that connects is connected at once, the other with its first datagram.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            open: false,
            send_queue: VecDeque::new(),
            receive_queue: VecDeque::new(),
            endpoint_events: VecDeque::new(),
            next_id: 0,
            expected_id: 0,
            arrived: RangeSet::default(),
            statistics: Statistics::default(),
            events: Events::default(),
        }
    }

    /// The largest datagram, in octets.
    pub fn max_payload(&self) -> u32 {
        self.config.mtu.saturating_sub(LOWER_OCTETS)
    }

    fn open(&mut self) {
        if !self.open {
            self.open = true;
            self.endpoint_events.push_back(EndpointEvent::Connected);
        }
    }

    /// Records the arrival of the datagram whose number is the only one in `id`; false for a copy.
    fn is_new(&mut self, id: Range<u64>) -> bool {
        let new = self.arrived.insert(id) > 0;
        if self.arrived.len() > MAX_RUNS {
            // The oldest gap closes.
            let first = self.arrived.pop_first();
            let next = self.arrived.first().map(|next| next.start);
            if let (Some(first), Some(next)) = (first, next) {
                self.arrived.insert(first.start..next);
            }
        }
        new
    }

    /// The payload to deliver: `None` if the checksum detects the damage.
    fn accept(&self, damaged_at: Option<NonZeroU32>, payload: Payload) -> Option<Payload> {
        let Some(at) = damaged_at else {
            return Some(payload);
        };
        match self.config.checksum {
            Checksum::Full => None,
            Checksum::HeadersOnly if at.get() < LOWER_OCTETS => None,
            Checksum::HeadersOnly | Checksum::Absent => Some(payload.damaged()),
        }
    }
}

impl Endpoint for Socket {
    fn handle(&mut self, now: Instant, packet: &mut Packet) {
        let (id, size) = (packet.id, packet.size.saturating_sub(LOWER_OCTETS));
        // No sender reaches the last number, but octets from a socket may contain it.
        let Some(next_id) = id.checked_add(1) else {
            return;
        };
        let Body::Other(payload) = &mut packet.body else {
            return;
        };
        let payload = std::mem::take(payload);
        let Some(payload) = self.accept(packet.damaged_at, payload) else {
            return;
        };
        self.open();
        let new = self.is_new(id..next_id);
        let statistics = &mut self.statistics;
        if id >= self.expected_id {
            let missing = self.expected_id..id;
            self.expected_id = next_id;
            if !missing.is_empty() {
                statistics.packets_lost += id - missing.start;
                self.events.push_missing(now, missing);
            }
        } else if new {
            statistics.packets_lost = statistics.packets_lost.saturating_sub(1);
            statistics.packets_late += 1;
        }
        statistics.packets_received += 1;
        statistics.bytes_received += u64::from(size);
        statistics.data_packets_received += 1;
        statistics.data_bytes_received += u64::from(size);
        if new {
            statistics.payload_received += u64::from(payload.len());
            self.receive_queue.push_back(payload);
            self.endpoint_events.push_back(EndpointEvent::Readable);
        }
        self.events
            .push(now, EventMask::PACKET, move || Event::Received {
                number: id,
                size,
                content: PacketContent::Data,
                packet_type: PacketType::None,
            });
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let Some(payload) = self.send_queue.pop_front() else {
            let bound = if self.open {
                SndLim::Application
            } else {
                SndLim::Nothing
            };
            self.events.block(now, bound);
            return None;
        };
        let id = self.next_id;
        self.next_id += 1;
        let size = payload.len();
        let statistics = &mut self.statistics;
        statistics.packets_sent += 1;
        statistics.bytes_sent += u64::from(size);
        statistics.data_packets_sent += 1;
        self.events
            .push(now, EventMask::PACKET, move || Event::Sent {
                number: id,
                size,
                content: PacketContent::Data,
                packet_type: PacketType::None,
            });
        Some(Packet {
            id,
            flow: crate::packet::FlowId::default(),
            ip: IpHeader {
                ecn: Ecn::NotEct,
                ..IpHeader::default()
            },
            size: size + LOWER_OCTETS,
            damaged_at: None,
            transit: Transit::default(),
            number: Some(TraceNumber::new(id)),
            body: Body::Other(payload),
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn events(&mut self) -> Option<&mut Events> {
        Some(&mut self.events)
    }

    fn connect(&mut self, _now: Instant) {
        self.open();
    }

    fn close(&mut self, _now: Instant) {
        if self.open {
            self.open = false;
            self.endpoint_events
                .push_back(EndpointEvent::Closed(CloseReason::Finished));
        }
    }

    fn write(&mut self, now: Instant, data: Payload) -> Result<(), WriteError> {
        if !self.open {
            return Err(WriteError::Closed);
        }
        if data.len() > self.max_payload() {
            return Err(WriteError::TooLarge(self.max_payload()));
        }
        let len = data.len();
        self.events
            .push(now, EventMask::WRITE, || Event::Write(len));
        self.send_queue.push_back(data);
        Ok(())
    }

    fn read(&mut self, _now: Instant) -> Option<Payload> {
        self.receive_queue.pop_front()
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.endpoint_events.pop_front()
    }

    fn transmitted(&mut self, _now: Instant, _packet_id: u64) {}

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::MAX_MISSING;
    use std::num::NonZeroU32;

    fn socket(checksum: Checksum) -> Socket {
        let mut socket = Socket::new(Config {
            mtu: 1500,
            checksum,
        });
        socket.connect(Instant::ZERO);
        socket
    }

    fn datagrams(count: u32) -> Vec<Packet> {
        let mut sender = socket(Checksum::Full);
        for n in 1..=count {
            sender.write(Instant::ZERO, Payload::of_len(n)).unwrap();
        }
        std::iter::from_fn(|| sender.poll_transmit(Instant::ZERO)).collect()
    }

    #[test]
    fn counts_gaps_as_losses_and_corrects_for_late_datagrams() {
        let packets = datagrams(5);
        assert_eq!(packets[4].size, 5 + 28);
        let mut receiver = socket(Checksum::Full);
        for index in [0, 3, 1, 4] {
            receiver.handle(Instant::ZERO, &mut packets[index].clone());
        }
        let statistics = receiver.statistics();
        assert_eq!(
            (statistics.packets_received, statistics.packets_lost),
            (4, 1)
        );
        assert_eq!(statistics.packets_late, 1);
        assert_eq!(statistics.payload_received, 1 + 4 + 2 + 5);
    }

    #[test]
    fn datagrams_that_are_missing_are_named() {
        let packets = datagrams(6);
        let mut receiver = socket(Checksum::Full);
        receiver.events.set_mask(EventMask::PACKET);
        for index in [1, 4, 2, 5] {
            receiver.handle(Instant::ZERO, &mut packets[index].clone());
        }
        let lost = receiver
            .events
            .drain()
            .filter_map(|(_, event)| match event {
                Event::Lost { number, size, .. } => Some((number, size)),
                _ => None,
            });
        assert_eq!(lost.collect::<Vec<_>>(), [(0, 0), (2, 0), (3, 0)]);
        // A number far ahead does not create an endless list.
        let mut far = packets[0].clone();
        far.id = u64::MAX - 1;
        receiver.handle(Instant::ZERO, &mut far);
        assert_eq!(receiver.events.drain().count(), MAX_MISSING + 1);
    }

    #[test]
    fn a_copy_takes_no_loss_back_and_is_delivered_once() {
        let packets = datagrams(5);
        let mut receiver = socket(Checksum::Full);
        // The second is lost; copies of the first, the third and the last follow theirs.
        for index in [0, 0, 2, 3, 2, 4, 4] {
            receiver.handle(Instant::ZERO, &mut packets[index].clone());
        }
        let statistics = receiver.statistics();
        assert_eq!(
            (statistics.packets_received, statistics.packets_lost),
            (7, 1)
        );
        assert_eq!(statistics.payload_received, 1 + 3 + 4 + 5);
        let read = std::iter::from_fn(|| receiver.read(Instant::ZERO));
        assert_eq!(read.map(|p| p.len()).collect::<Vec<_>>(), [1, 3, 4, 5]);
    }

    #[test]
    fn the_last_number_is_refused() {
        let mut packet = datagrams(1).remove(0);
        let mut receiver = socket(Checksum::Full);
        packet.id = u64::MAX;
        receiver.handle(Instant::ZERO, &mut packet.clone());
        assert_eq!(receiver.statistics().packets_received, 0);
        packet.id = u64::MAX - 1;
        receiver.handle(Instant::ZERO, &mut packet);
        let statistics = receiver.statistics();
        assert_eq!(
            (statistics.packets_received, statistics.packets_lost),
            (1, u64::MAX - 1)
        );
    }

    #[test]
    fn the_memory_of_what_arrived_is_bounded() {
        let mut sender = socket(Checksum::Full);
        for _ in 0..5000 {
            sender.write(Instant::ZERO, Payload::of_len(1)).unwrap();
        }
        let packets = std::iter::from_fn(|| sender.poll_transmit(Instant::ZERO));
        let packets: Vec<Packet> = packets.collect();
        let mut receiver = socket(Checksum::Full);
        for packet in packets.iter().step_by(2) {
            receiver.handle(Instant::ZERO, &mut packet.clone());
        }
        assert_eq!(receiver.arrived.len(), MAX_RUNS);
        assert_eq!(receiver.statistics().packets_lost, 2499);
        // A late datagram within the runs that are kept is recognised, an older one is not.
        receiver.handle(Instant::ZERO, &mut packets[4001].clone());
        receiver.handle(Instant::ZERO, &mut packets[1].clone());
        assert_eq!(receiver.statistics().packets_lost, 2498);
    }

    #[test]
    fn the_checksum_coverage_determines_delivery_of_damaged_datagrams() {
        for (checksum, at, delivered) in [
            (Checksum::Full, 500, None),
            (Checksum::HeadersOnly, 500, Some(true)),
            (Checksum::HeadersOnly, 25, None),
            (Checksum::Absent, 25, Some(true)),
        ] {
            let mut packet = datagrams(1).remove(0);
            packet.damaged_at = NonZeroU32::new(at);
            let mut receiver = socket(checksum);
            receiver.handle(Instant::ZERO, &mut packet);
            let read = receiver.read(Instant::ZERO);
            assert_eq!(read.map(|p| p.is_damaged()), delivered, "{checksum:?} {at}");
        }
    }

    #[test]
    fn a_datagram_must_fit_and_the_socket_be_open() {
        let mut socket = socket(Checksum::Full);
        let write = |socket: &mut Socket, len| socket.write(Instant::ZERO, Payload::of_len(len));
        assert_eq!(write(&mut socket, 1473), Err(WriteError::TooLarge(1472)));
        assert_eq!(write(&mut socket, 1472), Ok(()));
        socket.close(Instant::ZERO);
        assert_eq!(write(&mut socket, 1), Err(WriteError::Closed));
    }
}
