//! Builds the segments that leave.

use super::{Connection, Probe, Recovery, State};
use crate::cc::{ConnectionEvent, Sent, WindowControllerExt as _};
use crate::endpoint::{CloseReason, EndpointEvent};
use crate::packet::{Body, IpHeader, Packet, Transit};
use crate::tcp::ecn::AccEcnOption;
use crate::tcp::rules::LossDetection;
use crate::tcp::scoreboard::{Lost, SentSegment};
use crate::tcp::sequence::wrap;
use crate::tcp::wire::{Packet as TcpPacket, SackBlocks, SynOptions, flag};
use crate::time::Instant;
use std::collections::VecDeque;

/// The content of a segment, as far as ECN distinguishes it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content {
    Empty,
    /// This many octets for the first time.
    New(u32),
    /// This many octets again.
    Retransmission(u32),
    /// One octet beyond the window.
    WindowProbe,
}

impl Content {
    /// Octets of data.
    const fn len(self) -> u32 {
        match self {
            Self::Empty => 0,
            Self::New(len) | Self::Retransmission(len) => len,
            Self::WindowProbe => 1,
        }
    }
}

/// A segment that leaves now: the decisions before its packet is built, because each call that
/// passes a packet on copies it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) flags: u16,
    pub(super) seq: u32,
    pub(super) content: Content,
}

/// The options of a segment.
struct Options {
    syn: Option<SynOptions>,
    sack: SackBlocks,
    accecn: Option<AccEcnOption>,
}

impl Connection {
    /// The next packet that leaves now. If there is none, reports the state; this is done here,
    /// because a caller that examined the packet would copy it.
    #[inline]
    pub(super) fn next_packet(&mut self, now: Instant) -> Option<Packet> {
        if !self.transmit_queue.is_empty() {
            return self.next_queued();
        }
        if let Some(segment) = self.next_segment(now) {
            return Some(self.build(segment));
        }
        self.report_state(now);
        None
    }

    /// The next packet of the handshake. Later packets need no memory for the queue.
    #[cold]
    fn next_queued(&mut self) -> Option<Packet> {
        let packet = self.transmit_queue.pop_front();
        if self.transmit_queue.is_empty() {
            self.transmit_queue = VecDeque::new();
        }
        packet
    }

    fn next_segment(&mut self, now: Instant) -> Option<Segment> {
        if self.state != State::Established {
            return None;
        }
        if self.ecn.owes_handshake_ack() {
            return Some(self.empty_segment());
        }
        if let Some(segment) = self.next_data(now).or_else(|| self.next_fin(now)) {
            return Some(segment);
        }
        if !self.receiver.wants_ack(now) {
            return None;
        }
        if self.fin.acknowledged && self.fin.received {
            // This acknowledgement completes the connection.
            self.end(now, CloseReason::Finished);
        }
        Some(self.empty_segment())
    }

    /// An acknowledgement without data.
    fn empty_segment(&self) -> Segment {
        let next = self.scoreboard.high_data() + u64::from(self.fin.sent);
        Segment {
            flags: 0,
            seq: wrap(self.config.initial_sequence, next),
            content: Content::Empty,
        }
    }

    /// The packet of a segment; adds the acknowledgement and the ECN feedback.
    #[inline]
    fn build(&mut self, segment: Segment) -> Packet {
        let syn = segment.flags & flag::SYN != 0;
        let ack = self.acknowledgement(syn);
        if syn || self.receiver.has_blocks() || self.ecn.is_on() {
            return self.build_with_options(segment, ack);
        }
        // The values of most packets. As constants at this place they are not copied.
        let options = Options {
            syn: None,
            sack: SackBlocks::default(),
            accecn: None,
        };
        self.assemble(&segment, self.with_ack(segment.flags), ack, options)
    }

    /// The packet of a segment that may carry options or ECN's flags.
    #[inline(never)]
    fn build_with_options(&mut self, segment: Segment, ack: u32) -> Packet {
        let syn = segment.flags & flag::SYN != 0;
        let mut sack = match self.state {
            State::SynSent => SackBlocks::default(),
            _ if syn => SackBlocks::default(),
            _ => self.take_blocks(),
        };
        let flags = self.with_ack(segment.flags);
        let ecn = self.ecn_feedback(flags, segment.content, &mut sack);
        let options = Options {
            syn: syn.then(|| SynOptions {
                mss: self.config.segment_size.min(u32::from(u16::MAX)) as u16,
                window_scale: self.receive_window.scale(),
                sack_permitted: self.config.sack,
            }),
            sack,
            accecn: ecn.option,
        };
        self.assemble(&segment, flags | ecn.flags, ack, options)
    }

    /// The packet with these flags, acknowledgement and options; counts it.
    #[inline(always)]
    fn assemble(&mut self, segment: &Segment, flags: u16, ack: u32, options: Options) -> Packet {
        let Options { syn, sack, accecn } = options;
        let payload_len = segment.content.len();
        let window = self.receive_window.advertise(self.fill(), syn.is_some());
        let header = TcpPacket::header_of(syn.is_some(), &sack, accecn);
        let octets = header as u32 + payload_len;
        self.packets += 1;
        self.statistics.packets_sent += 1;
        self.statistics.bytes_sent += u64::from(octets);
        self.statistics.data_packets_sent += u64::from(payload_len > 0);
        Packet {
            id: self.packets,
            flow: self.config.flow,
            ip: IpHeader {
                source: self.config.local,
                destination: self.config.remote,
                ecn: self.codepoint(segment.content),
                ttl: IpHeader::DEFAULT_TTL,
                ..IpHeader::default()
            },
            size: IpHeader::V4_OCTETS + octets,
            damaged_at: None,
            transit: Transit::default(),
            number: None,
            body: Body::Tcp(TcpPacket {
                source_port: self.config.local.0 as u16,
                destination_port: self.config.remote.0 as u16,
                seq: segment.seq,
                ack,
                flags,
                window,
                payload_len,
                sack,
                syn,
                accecn,
            }),
        }
    }

    /// The acknowledgement number of a segment that leaves.
    fn acknowledgement(&mut self, syn: bool) -> u32 {
        let peer_sequence = self.peer_sequence;
        if self.state == State::SynSent {
            return 0;
        }
        if syn {
            return wrap(peer_sequence, 0);
        }
        self.receiver.on_ack_sent();
        let fin = u64::from(self.fin.received);
        wrap(peer_sequence, self.receiver.next() + fin)
    }

    /// The SACK blocks of a segment that leaves.
    fn take_blocks(&mut self) -> SackBlocks {
        if !self.receiver.has_blocks() {
            return SackBlocks::default();
        }
        let peer_sequence = self.peer_sequence;
        let blocks = self
            .receiver
            .take_blocks(|offset| wrap(peer_sequence, offset));
        if self.sack {
            blocks
        } else {
            SackBlocks::default()
        }
    }

    /// The flags, with ACK on every segment after the first SYN.
    fn with_ack(&self, flags: u16) -> u16 {
        match self.state {
            State::SynSent => flags,
            _ => flags | flag::ACK,
        }
    }

    /// A segment of data leaves: updates timer, controller and pacer.
    fn data_segment(&mut self, now: Instant, start: u64, content: Content) -> Segment {
        self.timer.start_if_idle(now);
        self.last_sent = now;
        let (bytes, bytes_in_flight) = (u64::from(content.len()), self.scoreboard.pipe());
        let app_limited = self.sampler.is_app_limited();
        if self.needs.delivery_rate {
            let snapshot = self.sampler.on_sent(now, bytes, bytes_in_flight);
            self.scoreboard.set_snapshot(start, snapshot);
        }
        self.controller.on_sent(&Sent {
            now,
            bytes,
            bytes_in_flight,
            rtt: self.timer.rtt(),
            app_limited,
        });
        if let Some(rate) = self.controller.pacing_rate() {
            self.pacer.on_sent(now, bytes, rate);
        }
        if let Some(prr) = &mut self.prr {
            prr.on_sent(bytes);
        }
        Segment {
            flags: 0,
            seq: wrap(self.config.initial_sequence, start),
            content,
        }
    }

    /// Octets in the network as far as they count against the window. Without SACK a duplicate
    /// stands for a segment that has left it (RFC 6582 §3.2).
    pub(super) fn in_network(&self) -> u64 {
        let arrived = if self.sack {
            0
        } else {
            u64::from(self.duplicate_acks) * u64::from(self.config.segment_size)
        };
        let open = self.recovery == Recovery::None;
        if open && !self.config.rules.limited_transmit {
            return self.scoreboard.flight_size();
        }
        self.scoreboard.pipe().saturating_sub(arrived)
    }

    /// True if the pacer releases a full segment; otherwise records its time.
    fn pacer_releases(&mut self, now: Instant) -> bool {
        let Some((rate, quantum)) = self.controller.pacer() else {
            return true;
        };
        let segment = u64::from(self.config.segment_size);
        let at = self.pacer.release(segment, rate, quantum);
        if at > now && (self.new_data() > 0 || self.scoreboard.has_waiting()) {
            self.paced_until = Some(at);
        }
        at <= now
    }

    /// True if a segment may leave.
    pub(super) fn has_room(&self, segment: u64) -> bool {
        match &self.prr {
            Some(prr) => prr.send_count() >= segment,
            None => self.controller.window().saturating_sub(self.in_network()) >= segment,
        }
    }

    /// The next segment with data: a loss probe that is due, otherwise the data that the window
    /// allows, retransmissions first (RFC 6675 §4, NextSeg()).
    fn next_data(&mut self, now: Instant) -> Option<Segment> {
        self.paced_until = None;
        if self.rests() {
            self.window_limited = false;
            return None;
        }
        if std::mem::take(&mut self.probe_due)
            && let Some(segment) = self.next_probe(now)
        {
            return Some(segment);
        }
        if let Some(segment) = self.next_persist(now) {
            return Some(segment);
        }
        self.restart_after_idle(now);
        let segment = u64::from(self.config.segment_size);
        let in_window = self.has_room(segment);
        let room = in_window && self.pacer_releases(now);
        // RFC 9002 §7.8: a sender that waits for its pacer uses its window.
        self.window_limited = !room && self.unsent > 0;
        let forced = self.retransmit_beyond_window;
        // F-RTO sends new data after the first retransmission (RFC 5682 §3, step 2b).
        let new_first = self.f_rto && !forced && self.new_data() > 0;
        if (room || forced) && !new_first && self.scoreboard.has_waiting() {
            self.retransmit_beyond_window = false;
            return self.next_retransmission(now);
        }
        if !room {
            return None;
        }
        if let Some(segment) = self.next_new(now) {
            return Some(segment);
        }
        if self.unsent == 0 && !self.scoreboard.has_waiting() {
            self.sampler.on_app_limited(self.scoreboard.pipe());
        }
        self.update_persist(now);
        // RFC 8985 §9.2: RACK alone says what is lost.
        let by_sacks =
            self.sack && self.config.rules.loss_detection == LossDetection::DuplicateAcks;
        if matches!(self.recovery, Recovery::Fast { .. }) && by_sacks {
            let segment = self.scoreboard.next_unsacked(now)?;
            return Some(self.retransmission(now, &segment));
        }
        None
    }

    /// True if it is known that no data is unsent or outstanding, whatever window and pacer allow,
    /// as in most calls at a receiver of data.
    #[inline]
    fn rests(&self) -> bool {
        self.unsent == 0
            && self.scoreboard.is_empty()
            && !self.probe_due
            && self.is_not_held()
            && self.recovery == Recovery::None
            && self.sampler.is_app_limited_from_here(0)
    }

    /// Restarts the window after an idle time longer than the RTO (RFC 5681 §4.1).
    fn restart_after_idle(&mut self, now: Instant) {
        if self.config.rules.restart_after_idle
            && self.unsent > 0
            && self.scoreboard.is_empty()
            && self.last_sent > Instant::ZERO
            && now.since(self.last_sent) > self.timer.timeout()
        {
            self.controller
                .on_connection_event(ConnectionEvent::IdleRestart);
            self.last_sent = now;
        }
    }

    #[inline]
    fn next_new(&mut self, now: Instant) -> Option<Segment> {
        match self.new_data() {
            0 => None,
            len => self.send_new(now, len),
        }
    }

    /// A segment of `len` octets of new data.
    pub(super) fn send_new(&mut self, now: Instant, len: u64) -> Option<Segment> {
        if len == 0 {
            return None;
        }
        let start = self.scoreboard.high_data();
        self.unsent -= len;
        self.scoreboard.on_sent(now, len as u32);
        self.stop_persist(now);
        let segment = self.data_segment(now, start, Content::New(len as u32));
        self.schedule_probe(now);
        Some(segment)
    }

    fn next_retransmission(&mut self, now: Instant) -> Option<Segment> {
        let segment = self.scoreboard.next_lost(now)?;
        if segment.lost == Some(Lost::Timeout) {
            self.statistics.packets_retransmitted_by_timeout += 1;
        }
        Some(self.retransmission(now, &segment))
    }

    fn retransmission(&mut self, now: Instant, segment: &SentSegment) -> Segment {
        self.statistics.packets_retransmitted += 1;
        self.undo.retransmissions += 1;
        let first = segment.start == self.scoreboard.high_ack();
        if first && self.config.rules.restart_rto_on_retransmission {
            self.timer.restart(now);
        }
        self.data_segment(now, segment.start, Content::Retransmission(segment.len))
    }

    /// A loss probe (RFC 8985 §7.3): new data, or the last segment again.
    fn next_probe(&mut self, now: Instant) -> Option<Segment> {
        self.sampled_since_probe = false;
        let new = self.next_new(now);
        let is_retransmission = new.is_none();
        self.timer.cancel_probe();
        let (segment, end) = if let Some(segment) = new {
            (segment, self.scoreboard.high_data())
        } else {
            let last = self.scoreboard.probe(now)?;
            self.statistics.packets_retransmitted += 1;
            let again = Content::Retransmission(last.len);
            let segment = self.data_segment(now, last.start, again);
            (segment, last.end())
        };
        self.probe = Some(Probe {
            end,
            is_retransmission,
        });
        Some(segment)
    }

    /// Octets in the send buffer: written and not acknowledged.
    pub(super) fn buffered(&self) -> u64 {
        self.unsent + self.scoreboard.high_data() - self.scoreboard.high_ack()
    }

    /// Reports to the application that the send buffer has room again: a third of it, as in Linux
    /// (`sk_stream_is_writeable`).
    pub(super) fn notify_writable(&mut self) {
        if self.blocked && self.buffered() <= self.config.send_buffer / 3 * 2 {
            self.blocked = false;
            self.endpoint_events.push_back(EndpointEvent::Writable);
        }
    }

    /// The FIN, once all data was sent, or its retransmission.
    fn next_fin(&mut self, now: Instant) -> Option<Segment> {
        let ready = self.closing && self.unsent == 0 && (!self.fin.sent || self.fin.due);
        if !ready {
            return None;
        }
        (self.fin.sent, self.fin.due) = (true, false);
        self.timer.start_if_idle(now);
        Some(Segment {
            flags: flag::FIN,
            seq: wrap(self.config.initial_sequence, self.scoreboard.high_data()),
            content: Content::Empty,
        })
    }

    pub(super) fn send_syn(&mut self, now: Instant) {
        self.handshake.sent_at = now;
        self.handshake.attempts += 1;
        let packet = self.build(Segment {
            flags: flag::SYN,
            seq: self.config.initial_sequence,
            content: Content::Empty,
        });
        self.transmit_queue.push_back(packet);
        self.timer.start_if_idle(now);
    }
}
