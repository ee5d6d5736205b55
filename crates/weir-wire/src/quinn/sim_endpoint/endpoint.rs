//! The simulator's trait [`Endpoint`] for a QUIC stack.

use super::super::stack_api::proto::EcnCodepoint;
use super::{COLLECTED, SMALL_WRITE, SimEndpoint, State, ZEROS, packet_type};
use crate::quinn::identity;
use bytes::{Bytes, BytesMut};
use weir_proto::endpoint::{
    CloseReason, CountedFrom, Endpoint, EndpointEvent, Statistics, WriteError,
};
use weir_proto::event::{Event, EventMask, Events, PacketContent};
use weir_proto::packet::{Body, Ecn, Packet, Payload};
use weir_proto::time::Instant;

impl Endpoint for SimEndpoint {
    fn handle(&mut self, now: Instant, packet: &mut Packet) {
        if packet.damaged_at.is_some() {
            // The UDP checksum fails.
            return;
        }
        let Body::Other(payload) = &packet.body else {
            return;
        };
        let Some(datagram) = payload.content() else {
            return;
        };
        let ecn = EcnCodepoint::from_bits(packet.ip.ecn.bits());
        let before = self.counts.data_frames_received;
        if self.receive(now, BytesMut::from(datagram), ecn) {
            let size = payload.len();
            self.count();
            let has_data = self.counts.data_frames_received > before;
            let statistics = &mut self.statistics;
            statistics.packets_received += 1;
            statistics.bytes_received += u64::from(size);
            if has_data {
                statistics.data_packets_received += 1;
                statistics.data_bytes_received += u64::from(size);
            }
            let (number, packet_type) = (packet.id, packet_type(datagram));
            let content = if has_data {
                PacketContent::Data
            } else {
                PacketContent::Acknowledgement
            };
            self.events
                .push(now, EventMask::PACKET, || Event::Received {
                    number,
                    size,
                    content,
                    packet_type,
                });
        }
        self.process_events(now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.timeout.is_none_or(|at| now < at) {
            return;
        }
        let at = self.at(now);
        if let Some((_, connection)) = &mut self.inner {
            connection.handle_timeout(at);
            self.probe_timeouts.on_timer(now);
        }
        self.process_events(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        if let Some(reply) = self.replies.pop_front() {
            return Some(self.packet(now, Ecn::NotEct, (PacketContent::Control, &reply)));
        }
        if self.pending.is_empty() {
            self.write_collected();
        }
        let sent = self.next_datagram(now);
        let buffer = std::mem::take(&mut self.buffer);
        let packet = sent.map(|(ecn, content)| self.packet(now, ecn, (content, &buffer)));
        self.buffer = buffer;
        if packet.is_none() && self.events.wants(EventMask::WHEN_QUIET) {
            let bound = self.bound();
            let bound = self.view.lock().on_bound(now, bound);
            self.events.block(now, bound);
        }
        self.process_events(now);
        packet
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timeout
    }

    fn events(&mut self) -> Option<&mut Events> {
        Some(&mut self.events)
    }

    fn connect(&mut self, now: Instant) {
        let at = self.at(now);
        let Some(config) = self.client.take() else {
            return;
        };
        match self
            .endpoint
            .connect(at, config, identity::PEER, identity::NAME)
        {
            Ok((handle, connection)) => {
                self.inner = Some((handle, Box::new(connection)));
                self.set_state(now, State::Handshaking);
            }
            Err(_) => self.end(now, CloseReason::Reset(0)),
        }
        self.process_events(now);
    }

    fn close(&mut self, now: Instant) {
        if self.closing {
            return;
        }
        self.closing = true;
        match self.state {
            State::Established => self.finish_if_done(now),
            State::Idle | State::Handshaking => self.close_connection(now),
            State::Closed => {}
        }
        self.process_events(now);
    }

    fn write(&mut self, now: Instant, data: Payload) -> Result<(), WriteError> {
        if self.closing {
            return Err(WriteError::Closed);
        }
        match self.state {
            State::Established => {}
            State::Handshaking => return Err(WriteError::Blocked),
            State::Idle | State::Closed => return Err(WriteError::Closed),
        }
        if !self.pending.is_empty() {
            self.write_blocked = true;
            return Err(WriteError::Blocked);
        }
        let len = data.len();
        if len < SMALL_WRITE {
            match data.content() {
                Some(content) => self.collected.extend_from_slice(content),
                None => self
                    .collected
                    .resize(self.collected.len() + len as usize, 0),
            }
            self.events
                .push(now, EventMask::WRITE, || Event::Write(len));
            if self.collected.len() >= COLLECTED {
                self.write_collected();
                self.process_events(now);
            }
            return Ok(());
        }
        self.write_collected();
        if !self.pending.is_empty() {
            self.write_blocked = true;
            return Err(WriteError::Blocked);
        }
        self.pending = match data.content() {
            Some(content) => Bytes::copy_from_slice(content),
            None => ZEROS
                .get(..len as usize)
                .map_or_else(|| Bytes::from(vec![0; len as usize]), Bytes::from_static),
        };
        self.events
            .push(now, EventMask::WRITE, || Event::Write(len));
        self.write_pending();
        self.process_events(now);
        Ok(())
    }

    fn read(&mut self, now: Instant) -> Option<Payload> {
        let id = self.receive_stream?;
        let (_, connection) = self.inner.as_mut()?;
        let mut stream = connection.recv_stream(id);
        let mut chunks = stream.read(true).ok()?;
        let chunk = chunks.next(usize::MAX);
        // The result tells whether to send flow-control credit, which `poll_transmit` does anyway.
        let _ = chunks.finalize();
        let payload = match chunk {
            Ok(Some(chunk)) => Some(Payload::from_bytes(&chunk.bytes)),
            Ok(None) | Err(_) => None,
        };
        if let Some(payload) = &payload {
            self.statistics.payload_received += u64::from(payload.len());
        }
        self.process_events(now);
        payload
    }

    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.endpoint_events.pop_front()
    }

    fn transmitted(&mut self, _now: Instant, _packet_id: u64) {}

    fn statistics(&self) -> Statistics {
        let loss_events = self.view.lock().congestion_events;
        Statistics {
            packets_lost: self.counts.lost[0],
            loss_events,
            smoothed_rtt: self.smoothed_rtt(),
            ..self.statistics
        }
    }

    fn count_loss_events_from(&mut self, from: CountedFrom) {
        self.view.lock().counted_from = Some(self.at(from.at));
    }

    fn packets_received(&self) -> u64 {
        self.statistics.packets_received
    }
}
