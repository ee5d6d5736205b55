//! Builds the packets that leave (RFC 9000 §13.1 and §14.1, RFC 9002 §7).
//!
//! The window does not apply to packets with acknowledgements alone. A data packet is filled while
//! there is data, lost data first.

mod data_plan;

pub(super) use data_plan::DataPlan;

use super::{Connection, State, is_application_data};
use crate::cc::{EcnCapability, Sent, WindowControllerExt as _};
use crate::event::{Event, EventMask, PacketContent, SndLim};
use crate::packet::{Body, Ecn, IpHeader, Packet, TraceNumber, Transit};
use crate::quic::loss::{RetransmitFrame, SentPacket};
use crate::quic::streams::Role;
use crate::quic::wire::{self, Ack, AckFrequency, Frame, Frames, SpaceId};
use crate::time::{Duration, Instant};

/// The least size of a datagram with an Initial packet, in octets (RFC 9000 §14.1).
const INITIAL_DATAGRAM: u32 = 1200;
/// Octets of the handshake message, about as many as a TLS ClientHello has.
const CRYPTO_LEN: u32 = 300;

/// The content of the next packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Plan {
    /// CONNECTION_CLOSE.
    Close,
    /// The handshake message or an acknowledgement, in an Initial packet.
    Initial { ack_due: bool },
    /// Anything in the Data space.
    Data(DataPlan),
}

/// A packet under construction.
pub(super) struct PacketBuilder {
    space: SpaceId,
    number_len: u8,
    /// Octets of the header and the tag.
    overhead: u32,
    /// Octets left for frames.
    pub(super) room: u32,
    frames: Frames,
    /// Octets of the frames, each with all of its fields.
    frames_len: u32,
    sent: SentPacket,
    pub(super) content: PacketContent,
    /// It carries PADDING.
    padded: bool,
}

impl PacketBuilder {
    #[inline]
    fn push(&mut self, frame: Frame) {
        let len = frame.len(false);
        self.room = self.room.saturating_sub(len);
        self.frames_len = self.frames_len.saturating_add(len);
        match frame {
            Frame::Ack(_) => {}
            Frame::Padding(_) => self.padded = true,
            _ if self.content == PacketContent::Retransmission => {}
            _ if is_application_data(&frame) => self.content = PacketContent::Data,
            _ if self.content == PacketContent::Acknowledgement => {
                self.content = PacketContent::Control;
            }
            _ => {}
        }
        self.frames.push(frame);
    }

    /// Octets of the frames as they are sent: the last one may leave out its length.
    #[inline]
    fn octets(&self) -> u32 {
        let left_out = self.frames.last().map_or(0, Frame::length_len);
        self.frames_len - left_out
    }

    /// Adds a frame that elicits an acknowledgement and is not sent again.
    #[inline]
    pub(super) fn push_eliciting(&mut self, frame: Frame) {
        self.push(frame);
        self.sent.ack_eliciting = true;
    }

    /// Adds a frame that is sent again if the packet is lost.
    #[inline]
    pub(super) fn push_retransmittable(&mut self, frame: Frame, retransmit: RetransmitFrame) {
        self.push(frame);
        self.sent.retransmit.push(retransmit);
    }
}

impl Connection {
    /// Octets of the IP and UDP headers below a QUIC packet.
    pub(super) const LOWER_OCTETS: u32 = IpHeader::V4_OCTETS + IpHeader::UDP_OCTETS;

    /// The bound of data when no further packet leaves now.
    pub(super) fn bound(&self) -> SndLim {
        let waits = self.has_data() || self.streams.unsent() > 0;
        if !matches!(self.state, State::Handshaking | State::Established) {
            SndLim::Nothing
        } else if self.is_amplification_limited() && (waits || self.crypto_due || self.is_probing())
        {
            SndLim::AntiAmplification
        } else if self.state != State::Established || (!waits && self.closing) {
            SndLim::Nothing
        } else if waits && !self.may_send() && !self.media_ignores_window() {
            SndLim::Window
        } else if let Some(bound) = self.bound_by_media() {
            bound
        } else if self.paced_until.is_some() {
            SndLim::Pacer
        } else if waits {
            SndLim::ReceiverCredit
        } else if self.write_blocked {
            SndLim::SendBuffer
        } else {
            SndLim::Application
        }
    }

    /// The content of the next packet that leaves now.
    #[inline(always)]
    pub(super) fn next_packet(&mut self, now: Instant) -> Option<Plan> {
        match self.state {
            State::Closing(_) => {
                let due = std::mem::take(&mut self.close_due);
                return due.then_some(Plan::Close);
            }
            State::Handshaking | State::Established => {}
            State::Idle | State::Draining | State::Closed => return None,
        }
        if self.amplification.is_some() && self.is_amplification_limited() {
            return None;
        }
        if let Some(initial) = &self.spaces.initial {
            let ack_due = initial.received.ack_is_due(now);
            if self.crypto_due || ack_due {
                return Some(Plan::Initial { ack_due });
            }
        }
        if self.state != State::Established {
            return None;
        }
        self.plan_data(now).map(Plan::Data)
    }

    /// The packet that was planned.
    pub(super) fn build(&mut self, now: Instant, plan: Plan) -> Packet {
        if let Plan::Data(DataPlan::ACK) = plan
            && let Some(ack) = self.spaces.data.received.take_ack(now)
        {
            return self.build_ack(now, ack);
        }
        if let Plan::Data(DataPlan::STREAM_DATA) = plan
            && !self.ack_frequency_due
            && !self.adds_ack()
        {
            return self.build_stream_data(now);
        }
        let builder = match plan {
            Plan::Close => self.build_close(now),
            Plan::Initial { ack_due } => self.build_initial(now, ack_due),
            Plan::Data(plan) => self.build_data(now, plan),
        };
        self.finish(now, builder)
    }

    /// Octets of the largest datagram that may leave. Before the client's address is validated, a
    /// server sends at most three times what it received (RFC 9000 §8.1).
    #[inline]
    pub(super) fn datagram_limit(&self) -> u32 {
        let largest = self.datagram_size;
        self.amplification.map_or(largest, |budget| {
            largest.min(u32::try_from(budget.left()).unwrap_or(u32::MAX))
        })
    }

    /// True if the budget before address validation is too small for a datagram with an Initial
    /// packet (RFC 9000 §14.1).
    pub(super) fn is_amplification_limited(&self) -> bool {
        self.datagram_limit() < self.datagram_size.min(INITIAL_DATAGRAM)
    }

    #[inline]
    pub(super) fn builder(&mut self, now: Instant, space: SpaceId) -> PacketBuilder {
        let sent = &self.spaces.of(space).sent;
        let header = self.config.header;
        let number_len = header.number_len(sent.next_number(), sent.largest_acked());
        let overhead = header.overhead(space, number_len);
        PacketBuilder {
            space,
            number_len,
            overhead,
            room: self.datagram_limit().saturating_sub(overhead),
            frames: Frames::new(),
            frames_len: 0,
            sent: SentPacket::new(now, 0),
            content: PacketContent::Acknowledgement,
            padded: false,
        }
    }

    #[cold]
    fn build_close(&mut self, now: Instant) -> PacketBuilder {
        let close_frame = self.close_frame;
        // RFC 9000 §10.2.3: an Initial packet carries CONNECTION_CLOSE of type 0x1c only.
        let space = if self.spaces.initial.is_some() {
            SpaceId::Initial
        } else {
            SpaceId::Data
        };
        let mut builder = self.builder(now, space);
        let by_application = close_frame.by_application && space == SpaceId::Data;
        builder.push(Frame::ConnectionClose {
            code: close_frame.code,
            frame_type: (!by_application).then_some(0),
            reason_len: 0,
        });
        builder
    }

    /// An Initial packet with the handshake message or an acknowledgement.
    #[cold]
    fn build_initial(&mut self, now: Instant, ack_due: bool) -> PacketBuilder {
        let mut builder = self.builder(now, SpaceId::Initial);
        if ack_due {
            self.push_ack(now, &mut builder);
        }
        if self.crypto_due {
            self.crypto_due = false;
            let frame = Frame::Crypto {
                offset: 0,
                len: CRYPTO_LEN,
            };
            builder.push_retransmittable(frame, RetransmitFrame::Crypto);
        }
        // RFC 9000 §14.1: a client pads all of its Initial packets, a server those that are
        // ack-eliciting.
        if self.role == Role::Client || !builder.sent.retransmit.is_empty() {
            let len = builder.overhead + builder.frames_len;
            if len < INITIAL_DATAGRAM {
                builder.push(Frame::Padding(INITIAL_DATAGRAM - len));
            }
        }
        builder
    }

    fn push_ack(&mut self, now: Instant, builder: &mut PacketBuilder) {
        if let Some(ack) = self.spaces.of(builder.space).received.take_ack(now) {
            builder.sent.acked_below = ack.largest + 1;
            builder.push(Frame::Ack(ack));
        }
    }

    /// True if the window, a probe timeout or the start of recovery allows a packet.
    fn may_send(&self) -> bool {
        let mds = u64::from(self.datagram_size);
        let cwnd = self.controller.window();
        self.config.rules.lets_out(cwnd, self.bytes_in_flight, mds)
            || self.recovery_probe
            || self.probes_due > 0
    }

    /// True if the pacer releases a packet of the largest size; otherwise records its time.
    fn pacer_releases(&mut self, now: Instant) -> bool {
        let Some((rate, quantum)) = self.controller.pacer() else {
            return true;
        };
        let mds = u64::from(self.datagram_size);
        let at = self.pacer.release(mds, rate, quantum);
        let waits = self.has_data() || self.streams.unsent() > 0 || self.flow_control_is_due(false);
        if at > now && waits {
            self.paced_until = Some(at);
        }
        at <= now
    }

    /// True if data of the application waits that neither credit nor the peer holds back.
    #[inline]
    fn has_data(&self) -> bool {
        self.streams.has_stream_data() || !self.datagrams.is_empty()
    }

    #[inline(always)]
    fn plan_data(&mut self, now: Instant) -> Option<DataPlan> {
        let ack_due = self.spaces.data.received.ack_is_due(now);
        self.paced_until = None;
        if self.rests(ack_due) {
            self.quiet = ack_due;
            return ack_due.then_some(DataPlan::ACK);
        }
        self.plan_more(now, ack_due)
    }

    /// The plan of a connection that may have more to send than an acknowledgement.
    #[inline(never)]
    pub(super) fn plan_more(&mut self, now: Instant, ack_due: bool) -> Option<DataPlan> {
        if self.path.is_due() {
            return Some(DataPlan {
                ack_due,
                ..DataPlan::PATH
            });
        }
        // A probe does not wait for the pacer, as it does not wait for the window.
        let may_send = self.may_send() && (self.probes_due > 0 || self.pacer_releases(now));
        let mut has_stream_data = may_send && self.streams.has_stream_data();
        let datagrams = self.may_send_datagram(now, may_send);
        if may_send && !has_stream_data && !datagrams && self.probes_due > 0 {
            // RFC 9002 §6.2.4: without new data a probe repeats data in flight.
            let retransmit = self.spaces.data.sent.oldest_retransmit();
            self.retransmit(&retransmit);
            has_stream_data = self.streams.has_stream_data();
        }
        let has_data = has_stream_data || datagrams;
        let has_flow_control = may_send && self.flow_control_is_due(ack_due || has_data);
        let ping = self.probes_due > 0 && !has_data && !has_flow_control;
        if may_send {
            self.app_limited = !has_data;
            if self.app_limited && self.streams.unsent() == 0 {
                self.sampler.on_app_limited(self.bytes_in_flight);
            }
        }
        let leaves = ack_due || has_data || has_flow_control || ping;
        leaves.then_some(DataPlan {
            ack_due,
            flow_control: has_flow_control,
            stream_data: has_stream_data,
            datagrams,
            ping,
            path: false,
        })
    }

    /// True if it is known that nothing but an acknowledgement can be sent, whatever window and
    /// pacer allow, as in most calls at a receiver of data.
    #[inline(always)]
    pub(super) fn rests(&self, ack_due: bool) -> bool {
        self.app_limited
            && !self.path.is_due()
            && self.probes_due == 0
            && self.streams.unsent() == 0
            && self.sampler.is_app_limited_from_here(self.bytes_in_flight)
            && !self.has_data()
            && !self.flow_control_is_due(ack_due)
    }

    /// A packet of the Data space, with an acknowledgement if one is pending.
    fn build_data(&mut self, now: Instant, plan: DataPlan) -> PacketBuilder {
        let mut builder = self.builder(now, SpaceId::Data);
        if plan.ack_due || (self.adds_ack() && self.leaves_room_for_ack(&builder)) {
            self.push_ack(now, &mut builder);
            if plan.flow_control || plan.stream_data || plan.datagrams {
                self.frame_buffers.make_room(&mut builder.frames);
            }
        }
        if plan.flow_control {
            self.push_flow_control_frames(&mut builder);
        }
        if (plan.stream_data || plan.datagrams) && self.ack_frequency_due {
            self.push_ack_frequency(&mut builder);
        }
        if plan.datagrams {
            self.push_datagrams(now, &mut builder);
        }
        if plan.stream_data {
            self.push_stream_frames(&mut builder);
        }
        if plan.ping {
            builder.push_eliciting(Frame::Ping);
        }
        if plan.path {
            self.push_path_frames(&mut builder);
        }
        builder
    }

    /// Frames of path validation, in a datagram of 1200 octets if the peer's address permits it
    /// (RFC 9000 §8.2.1 and §8.2.2). The timer of the validation repeats a challenge.
    #[cold]
    fn push_path_frames(&mut self, builder: &mut PacketBuilder) {
        for frame in self.path.take_frames() {
            builder.push_eliciting(frame);
        }
        let len = builder.overhead + builder.frames_len;
        let missing = INITIAL_DATAGRAM.saturating_sub(len).min(builder.room);
        if missing > 0 {
            builder.push(Frame::Padding(missing));
        }
    }

    /// The request for other acknowledgements, which the connection makes once.
    #[cold]
    fn push_ack_frequency(&mut self, builder: &mut PacketBuilder) {
        self.ack_frequency_due = false;
        let Some(request) = self.config.ack_frequency else {
            return;
        };
        let frame = Frame::AckFrequency(AckFrequency {
            sequence: 0,
            threshold: request.ack_eliciting_threshold,
            max_ack_delay: request.requested_max_ack_delay.as_micros(),
            reordering_threshold: request.reordering_threshold,
        });
        self.frame_buffers.make_room(&mut builder.frames);
        builder.push_retransmittable(frame, RetransmitFrame::AckFrequency);
    }

    /// The longest that the peer delays its acknowledgements. Until the peer has acknowledged a
    /// request, the longer of its own value and the requested one counts
    /// (draft-ietf-quic-ack-frequency §7); it counts afterwards too, as a bound.
    pub(super) fn peer_max_ack_delay(&self) -> Duration {
        let requested = self
            .config
            .ack_frequency
            .map(|of| of.requested_max_ack_delay);
        self.config.ack.max_delay.max(requested.unwrap_or_default())
    }

    /// True if data carries an acknowledgement that need not leave now.
    #[inline]
    fn adds_ack(&self) -> bool {
        let received = &self.spaces.data.received;
        received.has_unacked_eliciting()
            || (self.config.bundle_acks && received.has_unacked_others())
    }

    /// True if flow control frames leave now. They wait for a packet that is sent anyway, unless
    /// none is expected.
    fn flow_control_is_due(&self, packet_leaves: bool) -> bool {
        let due = self.streams.max_frame_needed() || self.streams.blocked_frame_needed();
        let waits = self.spaces.data.received.has_unacked_eliciting()
            && !self.config.flow_control.announce_at_once;
        due && (packet_leaves || !waits)
    }

    fn push_flow_control_frames(&mut self, builder: &mut PacketBuilder) {
        while builder.room > 32
            && let Some(frame) = self
                .streams
                .next_max_frame()
                .or_else(|| self.streams.next_blocked_frame())
        {
            builder.push_retransmittable(frame.clone(), RetransmitFrame::FlowControl(frame));
        }
    }

    /// A packet of the Data space with nothing but an acknowledgement, which is never too short for
    /// header protection and not in flight: half of all packets of a download.
    fn build_ack(&mut self, now: Instant, ack: Ack) -> Packet {
        let sent = &mut self.spaces.data.sent;
        let number = sent.next_number();
        let number_len = self.config.header.number_len(number, sent.largest_acked());
        sent.skip();
        let frame = Frame::Ack(ack);
        let size = self.config.header.overhead(SpaceId::Data, number_len) + frame.len(true);
        let packet = wire::Packet {
            number,
            number_len,
            space: SpaceId::Data,
            frames: Frames::one(frame),
        };
        self.count_sent(now, &packet, size, PacketContent::Acknowledgement);
        self.wrap(packet, size)
    }

    /// Completes the packet with its number and size, and records it as sent.
    #[inline]
    pub(super) fn finish(&mut self, now: Instant, mut builder: PacketBuilder) -> Packet {
        let mut frames_len = builder.octets();
        // RFC 9001 §5.4.2: packet number and frames have at least four octets, so that there is a
        // sample for header protection.
        let shortest = 4 - u32::from(builder.number_len.min(4));
        if frames_len < shortest && self.config.header.tag_len > 0 {
            // A STREAM frame before PADDING has its length.
            let missing = shortest.saturating_sub(builder.frames_len).max(1);
            builder.push(Frame::Padding(missing));
            frames_len = builder.octets();
        }
        let size = builder.overhead + frames_len;
        let ack_eliciting = builder.sent.ack_eliciting || !builder.sent.retransmit.is_empty();
        let space = builder.space;
        let number = self.spaces.of(space).sent.next_number();
        // RFC 9002 §2: packets that are ack-eliciting or contain PADDING are in flight.
        let padded = || {
            let closes = matches!(builder.frames.first(), Some(Frame::ConnectionClose { .. }));
            builder.padded && !closes
        };
        if ack_eliciting || padded() {
            builder.sent.size = size;
            builder.sent.ack_eliciting = ack_eliciting;
            self.count_in_flight(now, space, builder.sent);
        } else {
            self.spaces.of(space).sent.skip();
        }
        self.frame_buffers.keep(&builder.frames);
        let packet = wire::Packet {
            number,
            number_len: builder.number_len,
            space,
            frames: builder.frames,
        };
        self.count_sent(now, &packet, size, builder.content);
        self.wrap(packet, size)
    }

    /// A packet that counts as in flight leaves.
    pub(super) fn count_in_flight(&mut self, now: Instant, space: SpaceId, sent: SentPacket) {
        let bytes = u64::from(sent.size);
        self.bytes_in_flight += bytes;
        let app_limited = self.sampler.is_app_limited();
        let snapshot = self
            .needs
            .delivery_rate
            .then(|| self.sampler.on_sent(now, bytes, self.bytes_in_flight));
        self.spaces.of(space).sent.push(sent, snapshot);
        if space == SpaceId::Data {
            self.recovery_probe = false;
            self.probes_due = self.probes_due.saturating_sub(1);
        }
        self.controller.on_sent(&Sent {
            now,
            bytes,
            bytes_in_flight: self.bytes_in_flight,
            rtt: self.rtt.get(),
            app_limited,
        });
        if let Some(rate) = self.controller.pacing_rate() {
            self.pacer.on_sent(now, bytes, rate);
        }
        self.window_changed = true;
    }

    #[inline]
    pub(super) fn count_sent(
        &mut self,
        now: Instant,
        packet: &wire::Packet,
        size: u32,
        content: PacketContent,
    ) {
        if let Some(budget) = &mut self.amplification {
            budget.sent += u64::from(size);
        }
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += u64::from(size);
        let has_data = matches!(content, PacketContent::Data | PacketContent::Retransmission);
        self.statistics.data_packets_sent += u64::from(has_data);
        let elicits = has_data || content == PacketContent::Control;
        self.statistics.control_packets_sent += u64::from(elicits && !has_data);
        self.statistics.packets_retransmitted +=
            u64::from(content == PacketContent::Retransmission);
        let (number, packet_type) = (packet.number, packet.space.packet_type());
        self.events
            .push(now, EventMask::PACKET, move || Event::Sent {
                number,
                size,
                content,
                packet_type,
            });
    }

    /// The ECN field of packets, until the peer's counts have shown that the path changes it.
    pub(super) fn ecn_field(&self) -> Ecn {
        if self.peer_ecn.is_none() {
            return Ecn::NotEct;
        }
        match self.needs.ecn {
            Some(EcnCapability::Ect1) => Ecn::Ect1,
            Some(EcnCapability::Ect0) => Ecn::Ect0,
            None if self.config.ecn => Ecn::Ect0,
            Some(EcnCapability::NotEct) | None => Ecn::NotEct,
        }
    }

    #[inline]
    pub(super) fn wrap(&mut self, packet: wire::Packet, size: u32) -> Packet {
        let id = self.next_id;
        self.next_id += 1;
        Packet {
            id,
            flow: crate::packet::FlowId::default(),
            ip: IpHeader {
                ecn: self.ecn_field(),
                ttl: IpHeader::DEFAULT_TTL,
                ..IpHeader::default()
            },
            size: size + Self::LOWER_OCTETS,
            damaged_at: None,
            transit: Transit::default(),
            number: Some(TraceNumber::new(packet.number)),
            body: Body::Quic(packet),
        }
    }
}
