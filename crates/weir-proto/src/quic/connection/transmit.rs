//! What is due to leave (RFC 9000 §13.1 and §14.1, RFC 9002 §7).
//!
//! Acknowledgements alone are outside the window; everything else waits for it. A data packet is
//! filled up while there is data, lost pieces first.

use super::{Connection, State};
use crate::cc::Sent;
use crate::endpoint::EndpointEvent;
use crate::event::{Event, EventMask};
use crate::packet::{Body, Ecn, IpHeader, Packet};
use crate::quic::loss::{Content, SentPacket};
use crate::quic::streams::Role;
use crate::quic::wire::{self, Frame, SpaceId};
use crate::time::Instant;
use smallvec::SmallVec;

/// Octets to which a datagram with an Initial packet is padded (RFC 9000 §14.1).
const INITIAL_DATAGRAM: u32 = 1200;
/// Octets of the handshake message: about those of a TLS ClientHello.
const CRYPTO_LEN: u32 = 300;

/// A packet in the making.
struct Draft {
    space: SpaceId,
    number_len: u8,
    /// Octets left for frames.
    room: u32,
    frames: SmallVec<[Frame; 2]>,
    sent: SentPacket,
}

impl Draft {
    fn push(&mut self, frame: Frame) {
        self.room = self.room.saturating_sub(frame.len(false));
        self.frames.push(frame);
    }

    /// Adds a frame that is said again if the packet is lost.
    fn push_content(&mut self, frame: Frame, content: Content) {
        self.push(frame);
        self.sent.contents.push(content);
    }
}

impl Connection {
    /// Octets of the IP and UDP headers below a QUIC packet.
    pub(super) const LOWER_OCTETS: u32 = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;

    /// The next packet that leaves now.
    pub(super) fn transmit(&mut self, now: Instant) -> Option<Packet> {
        match self.state {
            State::Closing(_) => {
                let due = std::mem::take(&mut self.farewell_due);
                return due.then(|| self.draft_farewell(now));
            }
            State::Handshaking | State::Established => {}
            State::Idle | State::Draining | State::Closed => return None,
        }
        if self.is_amplification_limited() {
            return None;
        }
        if self.has_initial
            && let Some(packet) = self.draft_initial(now)
        {
            return Some(packet);
        }
        if self.state != State::Established {
            return None;
        }
        self.draft_data(now)
    }

    /// Octets of the largest datagram that may leave. RFC 9000 §8.1: before it knows that the
    /// address is the client's own, a server sends at most three times what it got.
    fn datagram_limit(&self) -> u32 {
        let largest = self.config.max_datagram_size;
        if self.validated {
            return largest;
        }
        let (received, sent) = self.octets_before_validation;
        let left = (3 * received).saturating_sub(sent);
        largest.min(u32::try_from(left).unwrap_or(u32::MAX))
    }

    /// What is left would not hold a datagram with an Initial packet (RFC 9000 §14.1).
    pub(super) fn is_amplification_limited(&self) -> bool {
        self.datagram_limit() < self.config.max_datagram_size.min(INITIAL_DATAGRAM)
    }

    fn draft(&self, now: Instant, space: SpaceId) -> Draft {
        let sent = match space {
            SpaceId::Initial => &self.initial.sent,
            SpaceId::Data => &self.data.sent,
        };
        let header = self.config.header;
        let number_len = header.number_len(sent.next_number(), sent.largest_acked());
        let overhead = header.overhead(space, number_len);
        Draft {
            space,
            number_len,
            room: self.datagram_limit().saturating_sub(overhead),
            frames: SmallVec::new(),
            sent: SentPacket::new(now, 0),
        }
    }

    fn draft_farewell(&mut self, now: Instant) -> Packet {
        let farewell = self.farewell;
        // RFC 9000 §10.2.3: an Initial packet must not carry the application's close.
        let space = if self.has_initial {
            SpaceId::Initial
        } else {
            SpaceId::Data
        };
        let mut draft = self.draft(now, space);
        let by_application = farewell.by_application && space == SpaceId::Data;
        draft.push(Frame::ConnectionClose {
            code: farewell.code,
            frame_type: (!by_application).then_some(0),
            reason_len: 0,
        });
        self.finish(now, draft)
    }

    /// The handshake message and what is to be said of the peer's.
    fn draft_initial(&mut self, now: Instant) -> Option<Packet> {
        let ack_due = self.initial.received.is_due(now);
        if !self.crypto_due && !ack_due {
            return None;
        }
        let mut draft = self.draft(now, SpaceId::Initial);
        if ack_due {
            self.push_ack(now, &mut draft);
        }
        if self.crypto_due {
            self.crypto_due = false;
            let frame = Frame::Crypto {
                offset: 0,
                len: CRYPTO_LEN,
            };
            draft.push_content(frame, Content::Crypto);
        }
        // RFC 9000 §14.1: a client pads all of its Initial packets, a server those that must be
        // acknowledged.
        if self.role == Role::Client || !draft.sent.contents.is_empty() {
            let header = &self.config.header;
            let frames: u32 = draft.frames.iter().map(|frame| frame.len(false)).sum();
            let len = header.overhead(SpaceId::Initial, draft.number_len) + frames;
            if len < INITIAL_DATAGRAM {
                draft.push(Frame::Padding(INITIAL_DATAGRAM - len));
            }
        }
        Some(self.finish(now, draft))
    }

    fn push_ack(&mut self, now: Instant, draft: &mut Draft) {
        if let Some(ack) = self.space(draft.space).received.take(now) {
            draft.sent.acked_up_to = Some(ack.largest);
            draft.push(Frame::Ack(ack));
        }
    }

    /// True if the window, a probe timeout or the start of recovery lets a packet out.
    fn may_send(&self) -> bool {
        let mds = u64::from(self.config.max_datagram_size);
        let cwnd = self.controller.window();
        self.config.rules.lets_out(cwnd, self.bytes_in_flight, mds)
            || self.recovery_probe
            || self.probes_due > 0
    }

    fn draft_data(&mut self, now: Instant) -> Option<Packet> {
        let ack_due = self.data.received.is_due(now);
        let may_send = self.may_send();
        let mut has_piece = may_send && self.streams.has_piece();
        if may_send && !has_piece && self.probes_due > 0 {
            // RFC 9002 §6.2.4: without new data a probe repeats what is in flight.
            let contents: SmallVec<[Content; 1]> = self.data.sent.oldest_contents().into();
            self.repeat(&contents);
            has_piece = self.streams.has_piece();
        }
        let has_credit = may_send && self.credit_is_due(ack_due || has_piece);
        let ping = self.probes_due > 0 && !has_piece && !has_credit;
        if may_send {
            self.app_limited = !has_piece;
        }
        if !ack_due && !has_piece && !has_credit && !ping {
            return None;
        }

        let mut draft = self.draft(now, SpaceId::Data);
        let received = &self.data.received;
        if ack_due || received.is_pending() || (self.config.bundle_ack && received.has_others()) {
            self.push_ack(now, &mut draft);
        }
        if has_credit {
            self.push_credit(&mut draft);
        }
        if has_piece {
            self.push_pieces(&mut draft);
        }
        if ping {
            draft.push(Frame::Ping);
            draft.sent.ack_eliciting = true;
        }
        Some(self.finish(now, draft))
    }

    /// True if frames about credit leave now. They wait for a packet that leaves anyway, unless
    /// none is to come.
    fn credit_is_due(&self, packet_leaves: bool) -> bool {
        let due = self.streams.credit_is_due() || self.streams.blocked_is_due();
        let waits = self.data.received.is_pending() && !self.config.flow_control.announce_at_once;
        due && (packet_leaves || !waits)
    }

    fn push_credit(&mut self, draft: &mut Draft) {
        while draft.room > 32
            && let Some(frame) = self
                .streams
                .next_credit()
                .or_else(|| self.streams.next_blocked())
        {
            draft.push_content(frame.clone(), Content::Credit(Box::new(frame)));
        }
    }

    fn push_pieces(&mut self, draft: &mut Draft) {
        while draft.room > 0
            && let Some(piece) = self.streams.next_piece(draft.room)
        {
            draft.push_content(Frame::Stream(piece), Content::Stream(piece));
        }
        let low = self.config.send_queue_limit as f64 * self.config.send_queue_low_water;
        if self.write_blocked && self.streams.unsent() as f64 <= low {
            self.write_blocked = false;
            self.news.push_back(EndpointEvent::Writable);
        }
    }

    /// Gives the packet its number, its size and its place in the books.
    fn finish(&mut self, now: Instant, mut draft: Draft) -> Packet {
        let header = self.config.header;
        let mut frames_len = wire::frames_len(&draft.frames);
        // RFC 9001 §5.4.2: four octets of number and frames, so that there is a sample to
        // protect the header with.
        let shortest = 4 - u32::from(draft.number_len.min(4));
        if header.tag_len > 0 && frames_len < shortest {
            draft.frames.push(Frame::Padding(shortest - frames_len));
            frames_len = shortest;
        }
        let size = header.overhead(draft.space, draft.number_len) + frames_len;
        let ack_eliciting = draft.sent.ack_eliciting || !draft.sent.contents.is_empty();
        // RFC 9002 §2: in flight are packets with anything but ACK and CONNECTION_CLOSE.
        let padded = draft
            .frames
            .iter()
            .any(|frame| matches!(frame, Frame::Padding(_)));
        let has_data = draft
            .frames
            .iter()
            .any(|frame| matches!(frame, Frame::Stream(_)));
        let space = draft.space;
        let number = self.space(space).sent.next_number();
        let closes = matches!(draft.frames.first(), Some(Frame::ConnectionClose { .. }));

        if ack_eliciting || (padded && !closes) {
            draft.sent.size = size;
            draft.sent.ack_eliciting = ack_eliciting;
            self.space(space).sent.push(draft.sent);
            self.bytes_in_flight += u64::from(size);
            if space == SpaceId::Data {
                self.recovery_probe = false;
                self.probes_due = self.probes_due.saturating_sub(1);
            }
            self.controller.on_sent(&Sent {
                now,
                bytes: u64::from(size),
                bytes_in_flight: self.bytes_in_flight,
            });
            self.push_window(now);
        } else {
            self.space(space).sent.skip();
        }
        self.count_sent(now, (number, size), has_data);
        let packet = wire::Packet {
            number,
            number_len: draft.number_len,
            space,
            frames: draft.frames,
        };
        self.wrap(packet, size)
    }

    fn count_sent(&mut self, now: Instant, (number, size): (u64, u32), has_data: bool) {
        if !self.validated {
            self.octets_before_validation.1 += u64::from(size);
        }
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += u64::from(size);
        self.statistics.data_packets_sent += u64::from(has_data);
        self.events
            .push(now, EventMask::PACKET, || Event::Sent { number, size });
    }

    fn wrap(&mut self, packet: wire::Packet, size: u32) -> Packet {
        let id = self.next_id;
        self.next_id += 1;
        let marks = self.config.ecn && self.peer_ce.is_some();
        Packet {
            id,
            flow: crate::packet::FlowId::default(),
            ip: IpHeader {
                ecn: if marks { Ecn::Ect0 } else { Ecn::NotEct },
                ttl: IpHeader::DEFAULT_TTL,
                ..IpHeader::default()
            },
            size: size + Self::LOWER_OCTETS,
            damaged_at: None,
            body: Body::Quic(packet),
        }
    }
}
