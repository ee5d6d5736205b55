//! Processes arriving packets (RFC 9000 §12.3, §12.4 and §13).

use super::{Connection, State, is_application_data};
use crate::endpoint::{CloseReason, EndpointEvent};
use crate::event::{Event, EventMask, PacketContent};
use crate::packet::Ecn;
use crate::quic::config::ACK_DELAYS;
use crate::quic::error::TransportError;
use crate::quic::streams::Role;
use crate::quic::wire::{Frame, Packet, SpaceId};
use crate::time::{Duration, Instant};

impl Connection {
    /// A packet of `size` octets arrived.
    pub(super) fn receive(&mut self, now: Instant, packet: &Packet, size: u32, ecn: Ecn) {
        match self.state {
            State::Closing(_) => {
                // RFC 9000 §10.2.1: the closing endpoint repeats CONNECTION_CLOSE.
                self.close_due |= !has_connection_close(packet);
                return;
            }
            State::Draining | State::Closed => return,
            State::Idle | State::Handshaking | State::Established => {}
        }
        if !self.accepts(packet) {
            return;
        }
        self.count_received(now, packet, size);
        let eliciting = packet.is_ack_eliciting();
        let (number, space) = (packet.number, packet.space);
        if let Err(error) = self.process(now, packet) {
            self.fail(now, error);
            return;
        }
        self.spaces
            .of(space)
            .received
            .on_packet(now, number, eliciting, ecn);
        let readable = self.streams.is_readable() || self.datagrams.is_readable();
        if !self.readable_told && readable {
            self.readable_told = true;
            self.endpoint_events.push_back(EndpointEvent::Readable);
        }
        self.close_if_done(now);
    }

    /// False for packets that are discarded: duplicates, and those of a space without keys.
    fn accepts(&mut self, packet: &Packet) -> bool {
        let has_keys = match packet.space {
            SpaceId::Initial => self.spaces.initial.is_some(),
            SpaceId::Data => self.state == State::Established,
        };
        has_keys
            && !self
                .spaces
                .of(packet.space)
                .received
                .is_duplicate(packet.number)
    }

    fn count_received(&mut self, now: Instant, packet: &Packet, size: u32) {
        self.idle_since = now;
        if let Some(budget) = &mut self.amplification {
            budget.received += u64::from(size);
        }
        let statistics = &mut self.statistics;
        statistics.packets_received += 1;
        statistics.bytes_received += u64::from(size);
        if carries_data(packet) {
            statistics.data_packets_received += 1;
            statistics.data_bytes_received += u64::from(size);
        }
        let (number, packet_type) = (packet.number, packet.space.packet_type());
        self.events
            .push(now, EventMask::PACKET, move || Event::Received {
                number,
                size,
                content: content(packet),
                packet_type,
            });
    }

    fn process(&mut self, now: Instant, packet: &Packet) -> Result<(), TransportError> {
        let space = packet.space;
        if space == SpaceId::Data && self.spaces.initial.is_some() {
            // RFC 9000 §8.1 and RFC 9002 §6.4: a protected packet validates the address, and
            // Initial packets are no longer used.
            self.amplification = None;
            self.discard_initial();
        }
        for frame in &packet.frames {
            if space == SpaceId::Initial && !is_allowed_in_initial(frame) {
                return Err(TransportError::protocol_violation(
                    "an Initial packet carries a frame that it must not",
                ));
            }
            self.process_frame(now, space, frame)?;
            if !matches!(
                self.state,
                State::Idle | State::Handshaking | State::Established
            ) {
                break;
            }
        }
        Ok(())
    }

    fn process_frame(
        &mut self,
        now: Instant,
        space: SpaceId,
        frame: &Frame,
    ) -> Result<(), TransportError> {
        match frame {
            Frame::Stream(frame) => {
                self.statistics.payload_received += self.streams.on_stream_frame(frame)?;
            }
            Frame::Datagram(data) => self.on_datagram(data)?,
            Frame::Ack(ack) => self.on_ack(now, space, ack)?,
            Frame::Crypto { .. } => self.on_crypto(now),
            Frame::MaxData(_)
            | Frame::MaxStreamData { .. }
            | Frame::DataBlocked(_)
            | Frame::StreamDataBlocked { .. } => self.streams.on_flow_control_frame(frame)?,
            Frame::ConnectionClose {
                code, frame_type, ..
            } => {
                let reason = if *code == 0 && frame_type.is_none_or(|kind| kind == 0) {
                    CloseReason::Finished
                } else {
                    CloseReason::Reset(*code)
                };
                // RFC 9000 §10.2.2: nothing is sent from now on. The draining state needs no timer,
                // because a draining and a closed connection behave alike.
                self.enter(now, State::Draining);
                self.endpoint_events
                    .push_back(EndpointEvent::Closed(reason));
            }
            Frame::HandshakeDone if self.role == Role::Server => {
                return Err(TransportError::protocol_violation(
                    "a client says HANDSHAKE_DONE",
                ));
            }
            Frame::AckFrequency(request) => {
                let delay = Duration::from_micros(request.max_ack_delay);
                if !ACK_DELAYS.contains(&delay) {
                    return Err(TransportError::protocol_violation(
                        "the peer asks for a delay of acknowledgements beyond its bounds",
                    ));
                }
                self.spaces.of(space).received.on_request(*request);
            }
            Frame::PathChallenge(data) => self.path.on_challenge(*data),
            Frame::PathResponse(data) => self.on_path_response(now, *data),
            Frame::ImmediateAck => self.spaces.of(space).received.ack_now(),
            Frame::Padding(_) | Frame::Ping | Frame::HandshakeDone => {}
        }
        Ok(())
    }

    /// The peer's handshake message arrived: the server responds, the client may send.
    fn on_crypto(&mut self, now: Instant) {
        if matches!(self.state, State::Idle | State::Handshaking) {
            self.crypto_due = self.role == Role::Server;
            self.establish(now);
        }
    }
}

fn has_connection_close(packet: &Packet) -> bool {
    let mut frames = packet.frames.iter();
    frames.any(|frame| matches!(frame, Frame::ConnectionClose { .. }))
}

/// True if the packet carries application data.
pub(super) fn carries_data(packet: &Packet) -> bool {
    packet.frames.iter().any(is_application_data)
}

fn content(packet: &Packet) -> PacketContent {
    if carries_data(packet) {
        PacketContent::Data
    } else if packet.is_ack_eliciting() || has_connection_close(packet) {
        PacketContent::Control
    } else {
        PacketContent::Acknowledgement
    }
}

/// True if an Initial packet may carry the frame (RFC 9000 §17.2.2).
const fn is_allowed_in_initial(frame: &Frame) -> bool {
    matches!(
        frame,
        Frame::Padding(_)
            | Frame::Ping
            | Frame::Ack(_)
            | Frame::Crypto { .. }
            | Frame::ConnectionClose {
                frame_type: Some(_),
                ..
            }
    )
}
