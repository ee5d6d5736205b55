//! The reports of a connection: packets, the window, and the bound of the sender.

use super::{Connection, State};
use crate::cc::WindowControllerExt as _;
use crate::event::{Event, EventMask, PacketContent, PacketType, SndLim, WindowState};
use crate::packet::{Body, Packet, TraceNumber};
use crate::tcp::sequence::unwrap;
use crate::tcp::wire::{Packet as TcpPacket, flag};
use crate::time::Instant;

impl Connection {
    /// The next segment that leaves now, reported. Segments are not examined without a trace,
    /// because that would copy them.
    #[cold]
    pub(super) fn next_traced_packet(&mut self, now: Instant) -> Option<Packet> {
        let mut packet = self.next_packet(now);
        if let Some(packet) = &mut packet {
            self.trace_sent(now, packet);
        }
        packet
    }

    /// Reports the window and the bound when no further segment leaves now.
    #[inline]
    pub(super) fn report_state(&mut self, now: Instant) {
        if self.events.wants(EventMask::WHEN_QUIET) {
            self.report_watched_state(now);
        }
    }

    #[cold]
    fn report_watched_state(&mut self, now: Instant) {
        let bound = self
            .controller
            .bound_behind(self.bound(), self.sampler.hold());
        let pipe = self.scoreboard.pipe();
        self.sampler.on_bound(now, bound, pipe);
        self.events.block(now, bound);
        self.emit_window(now);
    }

    /// Reports a segment that leaves, and gives it the number of the report.
    fn trace_sent(&mut self, now: Instant, packet: &mut Packet) {
        let Body::Tcp(body) = &packet.body else {
            return;
        };
        let (initial, high_data) = (self.config.initial_sequence, self.scoreboard.high_data());
        let start = unwrap(initial, body.seq, high_data).unwrap_or_default();
        let end = start + u64::from(body.payload_len);
        let (number, content) = if end > start {
            let before = self.traced_up_to;
            self.traced_up_to = before.max(end);
            let content = if end > before {
                PacketContent::Data
            } else {
                PacketContent::Retransmission
            };
            (start, content)
        } else if body.flags & (flag::SYN | flag::FIN | flag::RST) != 0 {
            (start, PacketContent::Control)
        } else {
            let ack = unwrap(self.peer_sequence, body.ack, self.receiver.next());
            (ack.unwrap_or_default(), PacketContent::Acknowledgement)
        };
        packet.number = Some(TraceNumber::new(number));
        let size = body.wire_len() as u32;
        self.events
            .push(now, EventMask::PACKET, move || Event::Sent {
                number,
                size,
                content,
                packet_type: PacketType::None,
            });
    }

    /// Reports a segment that has arrived.
    #[cold]
    pub(super) fn trace_received(&mut self, now: Instant, packet: &TcpPacket) {
        let is_control = packet.flags & (flag::SYN | flag::FIN | flag::RST) != 0;
        let content = match packet.payload_len {
            1.. => PacketContent::Data,
            0 if is_control => PacketContent::Control,
            0 => PacketContent::Acknowledgement,
        };
        let number = if packet.has(flag::SYN) {
            Some(0)
        } else if content == PacketContent::Acknowledgement {
            let high_ack = self.scoreboard.high_ack();
            unwrap(self.config.initial_sequence, packet.ack, high_ack)
        } else {
            unwrap(self.peer_sequence, packet.seq, self.receiver.next())
        };
        let number = number.unwrap_or_default();
        let size = packet.wire_len() as u32;
        self.events
            .push(now, EventMask::PACKET, move || Event::Received {
                number,
                size,
                content,
                packet_type: PacketType::None,
            });
    }

    /// Reports the window if it or the bound has changed: segments sent since, or an idle time, may
    /// have changed it without an acknowledgement. Called when no further segment leaves now, so
    /// that the octets in flight are those after the window was filled again.
    fn emit_window(&mut self, now: Instant) {
        if !self.events.wants(EventMask::CONTROLLER) {
            return;
        }
        let changed = std::mem::take(&mut self.window_changed);
        if !changed && !self.events.bound_has_changed() {
            return;
        }
        let state = WindowState {
            delivered: Some(self.sampler.delivered()),
            receive_window: Some(self.peer_window),
            ..self.controller.snapshot(
                self.scoreboard.pipe(),
                self.timer.rtt(),
                self.sampler.hold(),
            )
        };
        let reported = (state.cwnd, state.bytes_in_flight);
        if std::mem::replace(&mut self.reported_window, reported) == reported && !changed {
            return;
        }
        self.events
            .push(now, EventMask::CONTROLLER, || Event::Window(state));
    }

    /// The bound of data when no further segment leaves now.
    fn bound(&self) -> SndLim {
        let waits = self.unsent > 0 || self.scoreboard.has_waiting();
        if self.state != State::Established || (!waits && self.closing) {
            SndLim::Nothing
        } else if !waits && self.blocked {
            SndLim::SendBuffer
        } else if !waits {
            SndLim::Application
        } else if self.paced_until.is_some() {
            SndLim::Pacer
        } else if self.has_room(u64::from(self.config.segment_size)) && self.unsent > 0 {
            SndLim::ReceiverCredit
        } else {
            SndLim::Window
        }
    }
}
