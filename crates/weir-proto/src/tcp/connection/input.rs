//! Processes arriving segments: the handshake, data, and acknowledgements.

use super::{Config, Connection, Recovery, State};
use crate::cc::{Acked, ConnectionEvent, EndAcks};
use crate::endpoint::{CloseReason, EndpointEvent};
use crate::event::{Event, EventMask};
use crate::packet::Ecn;
use crate::tcp::rack::{Delivered, Deliveries};
use crate::tcp::rules::BackoffEnd;
use crate::tcp::scoreboard::Known;
use crate::tcp::sequence::unwrap;
use crate::tcp::wire::{Packet as TcpPacket, SynOptions, flag};
use crate::time::Instant;

/// The new information of an acknowledgement about the segments in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckUpdate {
    /// Octets acknowledged or SACKed for the first time.
    pub(super) delivered: u64,
    /// Segments of these.
    pub(super) delivered_segments: u64,
    /// Octets that it acknowledges cumulatively.
    pub(super) acknowledged: u64,
    /// Segments of these.
    pub(super) segments: u32,
    /// When the latest of the segments that were sent only once was sent.
    pub(super) sample_from: Option<Instant>,
    /// When the latest segment was sent.
    pub(super) newest: Option<Instant>,
    /// A segment that was sent once only, and before the last timeout, has arrived.
    pub(super) original_arrived: bool,
    /// A segment was SACKed.
    pub(super) sacked: bool,
    /// The receiver reports a duplicate (RFC 2883).
    pub(super) dsack: Option<(u64, u64)>,
    /// It repeats the last acknowledgement and its window, without data and without a SACK option,
    /// whether or not octets are outstanding.
    pub(super) plain_duplicate: bool,
}

/// How an acknowledgement number relates to HighACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AckKind {
    /// It acknowledges new data.
    Advance,
    /// It is a duplicate acknowledgement (RFC 5681 §2).
    Duplicate,
    /// It is neither.
    Other,
}

impl Connection {
    pub(super) fn enter(&mut self, now: Instant, state: State, name: &'static str) {
        self.state = state;
        self.events
            .push(now, EventMask::STATE, || Event::State(name));
    }

    pub(super) fn end(&mut self, now: Instant, reason: CloseReason) {
        self.timer.stop();
        self.transmit_queue.clear();
        self.enter(now, State::Closed, "CLOSED");
        self.endpoint_events
            .push_back(EndpointEvent::Closed(reason));
    }

    pub(super) fn handle_syn(&mut self, now: Instant, packet: &TcpPacket, ecn: Ecn) {
        let Some(options) = packet.syn else { return };
        let acknowledges = packet.has(flag::ACK);
        match self.state {
            State::Listen if !acknowledges => {
                self.ecn.on_first_syn(packet.flags, ecn);
                self.apply_syn(packet, options);
                self.enter(now, State::SynReceived, "SYN-RECEIVED");
                self.send_syn(now);
            }
            State::SynSent if acknowledges => {
                self.ecn.on_first_syn_ack(packet.flags, ecn);
                self.apply_syn(packet, options);
                self.establish(now);
                self.receiver.ack_now();
            }
            // The SYN-ACK was lost.
            State::SynReceived if !acknowledges => {
                self.ecn.on_syn_again(packet.flags, ecn);
                self.send_syn(now);
            }
            State::Established if acknowledges => {
                self.ecn.on_syn_ack_again(ecn);
                self.receiver.ack_now();
            }
            _ => {}
        }
    }

    /// Applies the options of the peer's SYN.
    pub(super) fn apply_syn(&mut self, packet: &TcpPacket, options: SynOptions) {
        self.peer_sequence = packet.seq;
        self.peer_window_scale = options.window_scale.min(14);
        self.peer_window = u64::from(packet.window);
        self.largest_peer_window = self.peer_window;
        self.sack &= options.sack_permitted;
        self.config.segment_size = self.config.segment_size.min(u32::from(options.mss).max(1));
    }

    pub(super) fn establish(&mut self, now: Instant) {
        let syn_was_lost = self.handshake.attempts > 1;
        if syn_was_lost {
            self.controller
                .on_connection_event(ConnectionEvent::HandshakeLoss);
        } else {
            self.timer.on_sample(now, now.since(self.handshake.sent_at));
        }
        self.timer.on_established(syn_was_lost);
        self.expiries = 0;
        self.enter(now, State::Established, "ESTABLISHED");
        self.endpoint_events.push_back(EndpointEvent::Connected);
    }

    pub(super) fn handle_established(&mut self, now: Instant, packet: &TcpPacket, ecn: Ecn) {
        let start = unwrap(self.peer_sequence, packet.seq, self.receiver.next());
        if packet.has(flag::ACK) {
            self.handle_ack(now, packet, start);
        }
        let Some(start) = start else {
            return self.receiver.ack_now();
        };
        let len = u64::from(packet.payload_len);
        if len > 0 {
            self.handle_data(now, start, len, packet, ecn);
        } else {
            self.count_codepoint(ecn, 0);
        }
        if packet.has(flag::FIN) {
            self.fin.received_at = Some(start + len);
            self.receiver.ack_now();
        }
        if !self.fin.received && self.fin.received_at == Some(self.receiver.next()) {
            self.fin.received = true;
            self.receiver.ack_now();
            self.closing = true;
        }
    }

    pub(super) fn handle_data(
        &mut self,
        now: Instant,
        start: u64,
        len: u64,
        packet: &TcpPacket,
        ecn: Ecn,
    ) {
        self.statistics.data_packets_received += 1;
        self.statistics.data_bytes_received += packet.wire_len() as u64;
        let room = self.receive_window.room(self.unread);
        // RFC 3168 §6.1.5: marks outside of the window may be forged. §6.1.6: a probe stands at
        // its edge.
        let next = self.receiver.next();
        let in_window = start.saturating_add(len) > next && start <= next + room;
        let mark = if in_window { ecn } else { Ecn::NotEct };
        self.take_classic_codepoint(packet, mark);
        if start.saturating_add(len) > self.receiver.next() + room {
            return self.receiver.ack_now();
        }
        let delivered = self.receiver.on_segment(now, start, len);
        self.count_codepoint(ecn, len);
        self.statistics.payload_received += delivered;
        if delivered > 0 {
            if self.unread == 0 {
                self.endpoint_events.push_back(EndpointEvent::Readable);
            }
            self.unread += delivered;
        }
    }

    /// An acknowledgement arrived, in a segment that starts at this offset.
    #[inline(always)]
    fn handle_ack(&mut self, now: Instant, packet: &TcpPacket, start: Option<u64>) {
        let initial = self.config.initial_sequence;
        let Some(ack) = unwrap(initial, packet.ack, self.scoreboard.high_ack()) else {
            return;
        };
        self.take_probe_octet(ack);
        let high_data = self.scoreboard.high_data();
        if ack > high_data + u64::from(self.fin.sent) {
            return self.receiver.ack_now();
        }
        let window = u64::from(packet.window) << self.peer_window_scale;
        let repeats = ack == self.scoreboard.high_ack()
            && packet.payload_len == 0
            && window == self.peer_window;
        let kind = if ack > self.scoreboard.high_ack() {
            AckKind::Advance
        } else if repeats && !self.scoreboard.is_empty() {
            AckKind::Duplicate
        } else {
            AckKind::Other
        };
        self.update_peer_window(start, ack, window);
        if ack > high_data && !self.fin.acknowledged {
            self.fin.acknowledged = true;
            self.timer.on_ack(now, false);
        }
        self.window_changed = true;
        if kind == AckKind::Other && self.reports_nothing(packet, ack) {
            self.notify_writable();
            let rtt = self.timer.rtt();
            self.statistics.smoothed_rtt = rtt.smoothed;
            self.sampler.on_end_acks(rtt.min);
            return;
        }
        let plain_duplicate = repeats && packet.sack.as_slice().is_empty();
        self.handle_update(now, packet, (ack, kind), plain_duplicate);
    }

    /// An acknowledgement arrived that may concern the segments in flight.
    #[inline(never)]
    fn handle_update(
        &mut self,
        now: Instant,
        packet: &TcpPacket,
        (ack, kind): (u64, AckKind),
        plain_duplicate: bool,
    ) {
        let in_flight = self.scoreboard.pipe();
        let high_data = self.scoreboard.high_data();
        let mut update = self.update_scoreboard(now, ack.min(high_data), packet);
        update.plain_duplicate = plain_duplicate;
        self.notify_writable();
        self.take_sample(now, &update);
        let marked = self.take_accurate_marks(now, packet, &update);
        self.grow_window(now, &update, in_flight);
        if kind == AckKind::Advance {
            self.expiries = 0;
            if self.config.rules.rto_backoff_end == BackoffEnd::NewAck {
                self.timer.end_backoff();
            }
            let outstanding =
                !self.scoreboard.is_empty() || (self.fin.sent && !self.fin.acknowledged);
            self.timer.on_ack(now, outstanding);
        }
        self.recover(now, kind, &update);
        self.handle_ece(now, packet, ack);
        self.end_acks(now, &update, marked);
        if kind == AckKind::Advance {
            self.schedule_probe(now);
        }
    }

    /// True for an acknowledgement without new information, such as those in segments to an
    /// endpoint that sends no data: no segment is outstanding, no recovery is in progress, and it
    /// feeds back no marks.
    fn reports_nothing(&self, packet: &TcpPacket, ack: u64) -> bool {
        self.scoreboard.is_empty()
            && ack == self.scoreboard.high_ack()
            && packet.sack.as_slice().is_empty()
            && self.recovery == Recovery::None
            && self.probe.is_none()
            && !self.feeds_back_marks(packet)
    }

    /// Updates the scoreboard and RACK; returns the new information.
    fn update_scoreboard(&mut self, now: Instant, ack: u64, packet: &TcpPacket) -> AckUpdate {
        let min_rtt = self.timer.rtt().min;
        let Self {
            scoreboard,
            config,
            rack,
            recovery,
            sampler,
            ..
        } = self;
        let timed_out = match *recovery {
            Recovery::Timeout { point } => Some(point),
            _ => None,
        };
        let mut update = AckUpdate::default();
        let mut deliveries = Deliveries::default();
        let mut collect = |update: &mut AckUpdate, (segment, snapshot): Known<'_>| {
            let bytes = u64::from(segment.len);
            let sent = (segment.sent_at, segment.end());
            sampler.on_acked(now, bytes, sent, snapshot);
            update.delivered += bytes;
            update.delivered_segments += 1;
            update.newest = update.newest.max(Some(segment.sent_at));
            if !segment.retransmitted_ever {
                update.sample_from = update.sample_from.max(Some(segment.sent_at));
                update.original_arrived |= timed_out.is_some_and(|point| segment.end() <= point);
            }
            let delivered = Delivered {
                sent_at: segment.sent_at,
                end: segment.end(),
                retransmitted: segment.retransmitted_ever,
            };
            rack.on_delivered(now, delivered, min_rtt, &mut deliveries);
        };
        let (near, before) = (scoreboard.high_ack(), scoreboard.len());
        let part = scoreboard.on_cumulative_ack(ack, |segment| collect(&mut update, segment));
        update.delivered += part;
        update.segments = (before - scoreboard.len()) as u32;
        update.acknowledged = scoreboard.high_ack() - near;
        let acknowledged = scoreboard.high_ack();
        for (at, &(start, end)) in packet.sack.as_slice().iter().enumerate() {
            let bounds = (
                unwrap(config.initial_sequence, start, near),
                unwrap(config.initial_sequence, end, near),
            );
            let (Some(start), Some(end)) = bounds else {
                continue;
            };
            if start >= end || end > scoreboard.high_data() {
                continue;
            }
            // RFC 2883 §4: the first block is a duplicate if it lies below the acknowledgement or
            // within the second block.
            if at == 0 && (end <= acknowledged || is_within(config, packet, (start, end), near)) {
                update.dsack = Some((start, end));
                continue;
            }
            scoreboard.on_sack(start, end, |segment| {
                update.sacked = true;
                collect(&mut update, segment);
            });
        }
        rack.on_ack(now, deliveries);
        update
    }

    /// Takes the round-trip time sample (RFC 6298 §3: not of a retransmitted segment).
    fn take_sample(&mut self, now: Instant, update: &AckUpdate) {
        if let Some(sent_at) = update.sample_from {
            let sample = now.since(sent_at);
            self.timer.on_sample(now, sample);
            self.sampled_since_probe = true;
            self.events
                .push(now, EventMask::RTT, move || Event::Rtt(sample));
        }
        self.statistics.smoothed_rtt = self.timer.rtt().smoothed;
    }

    /// Reports to the controller that the acknowledgement was processed completely.
    fn end_acks(&mut self, now: Instant, update: &AckUpdate, ecn_ce: u64) {
        if !self.needs.end_acks {
            return self.sampler.on_end_acks_unsampled();
        }
        let rtt = self.timer.rtt();
        let Some(delivered) = self.sampler.on_end_acks(rtt.min) else {
            return;
        };
        let bytes_in_flight = self.in_network();
        let limits_samples = self.controller.on_end_acks(&EndAcks {
            now,
            newly_acked: delivered.newly_acked,
            acked_packets: delivered.packets,
            newly_lost: delivered.newly_lost,
            ecn_ce,
            bytes_in_flight,
            newest_sent_at: delivered.newest_sent_at,
            rtt_sample: update.sample_from.map(|sent_at| now.since(sent_at)),
            rtt,
            rate: delivered.rate,
        });
        if limits_samples {
            self.sampler.on_app_limited(bytes_in_flight);
        }
    }

    /// Reports delivered segments to the controller. In fast recovery a window does not grow (RFC
    /// 5681 §3.2), but TFRC measures its receive rate; after a timeout it grows in slow start
    /// (§3.1).
    fn grow_window(&mut self, now: Instant, update: &AckUpdate, bytes_in_flight: u64) {
        let fast = matches!(self.recovery, Recovery::Fast { .. });
        let unwanted = fast && !self.needs.acks_in_recovery;
        let (false, Some(sent_at)) = (unwanted, update.newest) else {
            return;
        };
        let grown_by = if self.config.rules.grow_on_sacks {
            update.delivered
        } else {
            update.acknowledged
        };
        if grown_by == 0 {
            return;
        }
        let window = self.controller.window();
        let ssthresh = self.controller.report().ssthresh;
        let slow_start = ssthresh.is_none_or(|limit| window < limit);
        let bytes = match self.config.rules.slow_start_limit {
            Some(limit) if slow_start => {
                grown_by.min(u64::from(limit) * u64::from(self.config.segment_size))
            }
            _ => grown_by,
        };
        self.controller.on_ack(&Acked {
            now,
            sent_at,
            bytes,
            bytes_in_flight,
            rtt: self.timer.rtt(),
            app_limited: !self.window_limited,
        });
    }
}

/// True if the block lies within the second SACK block of the packet.
fn is_within(config: &Config, packet: &TcpPacket, block: (u64, u64), near: u64) -> bool {
    let Some(&(start, end)) = packet.sack.as_slice().get(1) else {
        return false;
    };
    let offset = |number| unwrap(config.initial_sequence, number, near);
    offset(start).is_some_and(|start| start <= block.0)
        && offset(end).is_some_and(|end| block.1 <= end)
}
