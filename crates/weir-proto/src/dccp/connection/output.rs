//! Builds the packets that leave.

use super::{Connection, HandshakePacket, State};
use crate::cc::EcnCapability;
use crate::dccp::ccid::SendTime;
use crate::dccp::negotiation::Location;
use crate::dccp::wire::checksum::{covered_len, data_checksum};
use crate::dccp::wire::{self, DccpOption, PacketType, SeqNum, feature};
use crate::endpoint::EndpointEvent;
use crate::event::{self, Event, EventMask, PacketContent, SndLim};
use crate::packet::{Body, Ecn, IpHeader, Packet, TraceNumber, Transit};
use crate::time::{Duration, Instant};
use std::collections::VecDeque;

/// The least time between two Syncs or two Resets (RFC 4340 §7.5.4: eight Syncs a second).
const RATE_LIMIT: Duration = Duration::from_millis(125);
/// Received acknowledgements after which this end acknowledges them, so that the peer can remove
/// its state about them.
const ACKS_PER_ANSWER: u32 = 8;
/// The most octets of Data Dropped blocks on a packet with data.
pub(super) const DROPS_WITH_DATA: usize = 12;
/// The most octets of Data Dropped blocks on a packet without data.
const DROPS_ALONE: usize = 200;

/// The content of a packet of this type.
pub(super) const fn content(kind: PacketType) -> PacketContent {
    match kind {
        PacketType::Data | PacketType::DataAck => PacketContent::Data,
        PacketType::Ack => PacketContent::Acknowledgement,
        _ => PacketContent::Control,
    }
}

impl Connection {
    /// Adds ports, checksum coverage and the IP header, and counts the packet.
    fn wrap(&mut self, now: Instant, mut body: wire::Packet) -> Packet {
        body.source_port = self.config.local_port;
        body.destination_port = self.config.remote_port;
        // RFC 4340 §9.2: the coverage cannot exceed the payload.
        let payload = body.payload.len() as usize;
        let coverage = self.config.checksum_coverage;
        let fits = covered_len(0, payload, coverage).is_some();
        body.cscov = if fits { coverage } else { 0 };
        let data = body.kind.carries_data();
        let short = matches!(
            body.kind,
            PacketType::Data | PacketType::Ack | PacketType::DataAck
        );
        body.extended = !(short && self.uses_short_numbers());
        self.echo_cookies(&mut body);
        self.option_buffers.keep(&body.options);
        let ecn = self.codepoint(body.seq, data);
        let octets = body.wire_len();
        self.sent_in_open |= self.state == State::Open;
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += u64::from(octets);
        self.statistics.data_packets_sent += u64::from(data);
        let number = body.seq.get();
        let content = content(body.kind);
        self.events
            .push(now, EventMask::PACKET, move || Event::Sent {
                number,
                size: octets,
                content,
                packet_type: event::PacketType::None,
            });
        Packet {
            id: number,
            flow: self.config.flow,
            ip: IpHeader {
                source: self.config.local,
                destination: self.config.remote,
                ecn,
                ttl: IpHeader::DEFAULT_TTL,
                ..IpHeader::default()
            },
            size: IpHeader::V4_OCTETS + octets,
            damaged_at: None,
            transit: Transit::default(),
            number: Some(TraceNumber::new(number)),
            body: Body::Dccp(body),
        }
    }

    /// The ECN codepoint of a packet: the one that the controller of its data needs; otherwise a
    /// random one if nonces are used, or the one of the settings.
    fn codepoint(&mut self, seq: SeqNum, data: bool) -> Ecn {
        let needed = self.sender.as_ref().and_then(|sender| sender.ecn());
        match needed.filter(|_| data) {
            Some(EcnCapability::Ect0) => return Ecn::Ect0,
            Some(EcnCapability::Ect1) => return Ecn::Ect1,
            Some(EcnCapability::NotEct) => return Ecn::NotEct,
            None => {}
        }
        let drawn = self.nonces.as_mut();
        match drawn.is_some_and(|nonces| nonces.draw(seq, data)) {
            true => Ecn::Ect1,
            false if data && self.config.ecn => Ecn::Ect0,
            false => Ecn::NotEct,
        }
    }

    /// Echoes the Init Cookies of the Response on all packets but Requests and Data, until the
    /// server has received one (RFC 4340 §8.1.4).
    fn echo_cookies(&self, body: &mut wire::Packet) {
        if matches!(body.kind, PacketType::Request | PacketType::Data) {
            return;
        }
        for cookie in &self.cookies {
            body.options.push(&cookie);
        }
    }

    fn uses_short_numbers(&self) -> bool {
        self.config.short_sequence_numbers
            && self.state == State::Open
            && self
                .negotiation
                .value(Location::Local, feature::ALLOW_SHORT_SEQNOS)
                == 1
    }

    fn enqueue(&mut self, now: Instant, mut body: wire::Packet) {
        if body.kind != PacketType::Reset {
            self.negotiation.write(&mut body.options);
        }
        if body.kind == PacketType::Request {
            while body.wire_len() < self.config.request_octets
                && body.options.push(&DccpOption::Padding)
            {}
        }
        let packet = self.wrap(now, body);
        self.transmit_queue.push_back(packet);
    }

    /// The number of a packet of the handshake, recorded for its round-trip time.
    fn next_handshake_seq(&mut self) -> SeqNum {
        let seq = self.sequence.next();
        let attempts = self.handshake.map_or(0, |handshake| handshake.attempts) + 1;
        self.handshake = Some(HandshakePacket {
            seq,
            sent_at: None,
            attempts,
        });
        seq
    }

    pub(super) fn send_request(&mut self, now: Instant) {
        let seq = self.next_handshake_seq();
        let request = wire::Packet::request(seq, self.config.service_code);
        self.enqueue(now, request);
        if self.timers.repeat.is_none() {
            self.start_requesting(now);
        }
    }

    pub(super) fn send_response(&mut self, now: Instant) {
        let seq = self.next_handshake_seq();
        let response = wire::Packet::response(seq, self.sequence.gsr, self.config.service_code);
        self.enqueue(now, response);
    }

    pub(super) fn send_close(&mut self, now: Instant) {
        let close = wire::Packet::close(self.sequence.next(), self.sequence.gsr);
        self.enqueue(now, close);
    }

    pub(super) fn send_close_req(&mut self, now: Instant) {
        let close_req = wire::Packet::close_req(self.sequence.next(), self.sequence.gsr);
        self.enqueue(now, close_req);
    }

    pub(super) fn send_reset(&mut self, now: Instant, code: u8, data: [u8; 3]) {
        let seq = self.sequence.next();
        self.enqueue(now, wire::Packet::reset(seq, self.sequence.gsr, code, data));
    }

    /// The Reset of a client that gives up in REQUEST; it acknowledges nothing (RFC 4340 §8.1.1).
    pub(super) fn send_reset_of_request(&mut self, now: Instant) {
        let seq = self.sequence.next();
        self.enqueue(now, wire::Packet::reset(seq, SeqNum::default(), 2, [0; 3]));
    }

    /// A Reset for a packet that has no connection here (RFC 4340 §8.3.1).
    pub(super) fn refuse(&mut self, now: Instant, packet: &wire::Packet, code: u8) {
        if self.last_reset.is_some_and(|at| now.since(at) < RATE_LIMIT) {
            return;
        }
        let Some(mut reset) = packet.refusal(code) else {
            return;
        };
        self.last_reset = Some(now);
        // In REQUEST this end has sequence numbers of its own.
        if self.state == State::Request {
            reset.seq = self.sequence.next();
        }
        self.enqueue(now, reset);
    }

    /// A Sync in answer to a packet with invalid numbers. It acknowledges the packet's number, or
    /// GSR if the packet is a Reset (RFC 4340 §7.5.4).
    pub(super) fn send_sync(&mut self, now: Instant, packet: &wire::Packet) {
        if self.last_sync.is_some_and(|at| now.since(at) < RATE_LIMIT) {
            return;
        }
        self.last_sync = Some(now);
        let ack = if packet.kind == PacketType::Reset {
            self.sequence.gsr
        } else {
            packet.seq
        };
        let seq = self.sequence.next();
        self.enqueue(now, wire::Packet::sync(seq, ack));
    }

    /// Probes a silent peer with a Sync, which it must answer (RFC 4340 §5.7).
    pub(super) fn send_probe(&mut self, now: Instant) {
        let seq = self.sequence.next();
        self.enqueue(now, wire::Packet::sync(seq, self.sequence.gsr));
    }

    pub(super) fn send_sync_ack(&mut self, now: Instant, ack: SeqNum) {
        let seq = self.sequence.next();
        self.enqueue(now, wire::Packet::sync_ack(seq, ack));
    }

    /// The bound of data when no further packet leaves now.
    pub(super) fn bound(&self) -> SndLim {
        let open = matches!(self.state, State::PartOpen | State::Open);
        match (open, self.send_queue.is_empty()) {
            (false, _) => SndLim::Nothing,
            (true, true) if self.closing => SndLim::Nothing,
            (true, true) => SndLim::Application,
            (true, false) if self.timers.next_data_at.is_some() => {
                let sender = self.sender.as_ref();
                sender.map_or(SndLim::Rate, |sender| sender.bound_until())
            }
            // The datagram has no room for the acknowledgement that PARTOPEN requires.
            (true, false) if self.state == State::PartOpen && self.next_leaves_no_room() => {
                SndLim::Nothing
            }
            (true, false) => SndLim::Window,
        }
    }

    pub(super) fn next_packet(&mut self, now: Instant) -> Option<Packet> {
        if let Some(packet) = self.transmit_queue.pop_front() {
            self.release_empty_queue();
            return Some(packet);
        }
        if matches!(self.state, State::PartOpen | State::Open | State::CloseReq) {
            if self.asks_to_open() {
                self.asked_in_part_open = true;
                self.ack_pending = false;
                self.send_probe(now);
                return self.transmit_queue.pop_front();
            }
            if let Some(packet) = self.next_data(now) {
                return Some(packet);
            }
            if self.owes_ack(now) {
                return Some(self.make_ack(now));
            }
        }
        self.end_of_transmit(now);
        None
    }

    /// Releases the memory of the queue, which holds packets of the handshake and responses to
    /// invalid packets: an open connection does not need it for data.
    #[cold]
    fn release_empty_queue(&mut self) {
        if self.transmit_queue.is_empty() {
            self.transmit_queue = VecDeque::new();
        }
    }

    /// True if an acknowledgement must leave, with or without data.
    fn owes_ack(&self, now: Instant) -> bool {
        let half = self.receiver.as_ref();
        let wanted = half.is_some_and(|half| half.wants_ack(now));
        let confirms = self.negotiation.has_pending_confirm() && self.acks_received > 0;
        wanted || self.ack_pending || confirms
    }

    /// True if the next datagram is too large for a packet with an acknowledgement. The
    /// acknowledgement then leaves as a packet of its own (RFC 4340 §14).
    fn next_leaves_no_room(&self) -> bool {
        let room = self.max_payload_with_ack();
        self.send_queue
            .front()
            .is_some_and(|data| data.len() > room)
    }

    /// True if a Sync leaves in place of the client's Ack. A datagram too large for an
    /// acknowledgement waits for OPEN, because every packet in PARTOPEN carries one; the server
    /// must answer the Sync.
    fn asks_to_open(&self) -> bool {
        self.state == State::PartOpen
            && (self.ack_pending || !self.asked_in_part_open)
            && self.next_leaves_no_room()
    }

    fn next_data(&mut self, now: Instant) -> Option<Packet> {
        if self.timers.holds_data(now) {
            return None;
        }
        self.timers.next_data_at = None;
        let len = self.send_queue.front()?.len();
        if self.state == State::PartOpen && self.next_leaves_no_room() {
            return None;
        }
        match self.sender.as_mut()?.send_time(now, len) {
            SendTime::Now => {}
            SendTime::At(at) if at <= now => {}
            SendTime::At(at) => {
                (self.timers.next_data_at, self.timers.asked_at) = (Some(at), Some(now));
                return None;
            }
            SendTime::Blocked => return None,
        }
        let owes_ack = self.acks_received >= ACKS_PER_ANSWER || self.owes_ack(now);
        // RFC 4340 §8.1.5: in PARTOPEN every packet acknowledges.
        let mut acknowledges = owes_ack
            || self.state == State::PartOpen
            || self.negotiation.has_pending_confirm()
            || self.negotiation.is_changing_urgently();
        if acknowledges && self.next_leaves_no_room() {
            if owes_ack {
                return Some(self.make_ack(now));
            }
            acknowledges = false;
        }
        let payload = self.send_queue.pop_front()?;
        if self.blocked {
            self.blocked = false;
            self.endpoint_events.push_back(EndpointEvent::Writable);
        }
        let seq = self.sequence.next();
        let mut packet = if acknowledges {
            wire::Packet::data_ack(seq, self.sequence.gsr, payload)
        } else {
            wire::Packet::data(seq, payload)
        };
        if acknowledges {
            self.write_acknowledgement(now, &mut packet);
        }
        if let Some(sender) = &mut self.sender {
            sender.on_handover(now, &mut packet, &mut self.events);
        }
        if self.config.data_checksum {
            let checksum = data_checksum(&packet.payload);
            packet.options.push(&DccpOption::DataChecksum(checksum));
        }
        let packet = self.wrap(now, packet);
        self.close_when_drained(now);
        Some(packet)
    }

    fn make_ack(&mut self, now: Instant) -> Packet {
        let seq = self.sequence.next();
        let mut packet = wire::Packet::new_ack(seq, self.sequence.gsr);
        self.write_acknowledgement(now, &mut packet);
        self.wrap(now, packet)
    }

    fn write_acknowledgement(&mut self, now: Instant, packet: &mut wire::Packet) {
        packet.options = self.option_buffers.options();
        if let Some(receiver) = &mut self.receiver {
            receiver.on_ack_sent(now, packet.seq, packet.kind, &mut packet.options);
        }
        self.negotiation.write(&mut packet.options);
        let most = if packet.kind.carries_data() {
            DROPS_WITH_DATA
        } else {
            DROPS_ALONE
        };
        let gsr = self.sequence.gsr;
        let blocks = self.data_dropped.on_ack_sent(packet.seq, gsr, most);
        if !blocks.is_empty() {
            packet.options.push(&DccpOption::DataDropped(&blocks));
        }
        self.ack_pending = false;
        self.acks_received = 0;
    }

    /// Closes once the application has closed and the send queue is empty.
    pub(super) fn close_when_drained(&mut self, now: Instant) {
        if !self.closing || !self.send_queue.is_empty() || !self.state.takes_data() {
            return;
        }
        // RFC 4340 §8.3: the server sends CloseReq, so that the client holds TIMEWAIT.
        if self.server {
            self.enter(now, State::CloseReq);
            self.start_closing(now);
            self.send_close_req(now);
        } else {
            self.enter(now, State::Closing);
            self.start_closing(now);
            self.send_close(now);
        }
    }
}
