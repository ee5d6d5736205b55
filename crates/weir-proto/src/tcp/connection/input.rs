//! Processes arriving segments and timeouts.

use super::{Connection, MAX_EXPIRIES, Recovery, State};
use crate::cc::{Acked, CongestionEvent};
use crate::endpoint::{CloseReason, EndpointEvent};
use crate::event::{Event, EventMask, LossTrigger};
use crate::packet::Ecn;
use crate::tcp::scoreboard::SentSegment;
use crate::tcp::sequence::unwrap;
use crate::tcp::wire::{Packet as TcpPacket, SynOptions, flag};
use crate::time::Instant;

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

    pub(super) fn handle_syn(&mut self, now: Instant, packet: &TcpPacket) {
        let Some(options) = packet.syn else { return };
        let acknowledges = packet.has(flag::ACK);
        match self.state {
            State::Listen if !acknowledges => {
                self.ecn &= packet.has(flag::ECE) && packet.has(flag::CWR);
                self.apply_syn(packet, options);
                self.enter(now, State::SynReceived, "SYN-RECEIVED");
                self.send_syn(now);
            }
            State::SynSent if acknowledges => {
                self.ecn &= packet.has(flag::ECE);
                self.apply_syn(packet, options);
                self.establish(now);
                self.receiver.ack_now();
            }
            // The SYN-ACK was lost.
            State::SynReceived if !acknowledges => self.send_syn(now),
            State::Established if acknowledges => self.receiver.ack_now(),
            _ => {}
        }
    }

    /// Takes over what a SYN says about the peer.
    pub(super) fn apply_syn(&mut self, packet: &TcpPacket, options: SynOptions) {
        self.peer_sequence = packet.seq;
        self.peer_window_scale = options.window_scale.min(14);
        self.peer_window = u64::from(packet.window);
        self.sack &= options.sack_permitted;
        self.config.segment_size = self.config.segment_size.min(u32::from(options.mss).max(1));
    }

    pub(super) fn establish(&mut self, now: Instant) {
        if self.handshake.attempts == 1 {
            self.timer.on_sample(now, now.since(self.handshake.sent_at));
        }
        self.timer.on_ack(now, false);
        self.enter(now, State::Established, "ESTABLISHED");
        self.endpoint_events.push_back(EndpointEvent::Connected);
    }

    pub(super) fn handle_established(&mut self, now: Instant, packet: &TcpPacket, ecn: Ecn) {
        if packet.has(flag::ACK) {
            self.handle_ack(now, packet);
        }
        let Some(start) = unwrap(self.peer_sequence, packet.seq, self.receiver.next()) else {
            return self.receiver.ack_now();
        };
        let len = u64::from(packet.payload.len());
        if len > 0 {
            self.handle_data(now, start, len, packet, ecn);
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
        if packet.has(flag::CWR) {
            self.ece_pending = false;
        }
        if self.ecn && ecn == Ecn::Ce {
            self.ece_pending = true;
            self.receiver.ack_now();
        }
        self.statistics.data_packets_received += 1;
        self.statistics.data_bytes_received += packet.wire_len() as u64;
        let room = self.config.receive_buffer.saturating_sub(self.unread);
        if start.saturating_add(len) > self.receiver.next() + room {
            return self.receiver.ack_now();
        }
        let delivered = self.receiver.on_segment(now, start, len);
        self.statistics.payload_received += delivered;
        if delivered > 0 {
            if self.unread == 0 {
                self.endpoint_events.push_back(EndpointEvent::Readable);
            }
            self.unread += delivered;
        }
        let size = packet.wire_len() as u32;
        self.events
            .push(now, EventMask::PACKET, || Event::Received {
                number: start,
                size,
            });
    }

    pub(super) fn handle_ack(&mut self, now: Instant, packet: &TcpPacket) {
        let initial = self.config.initial_sequence;
        let Some(ack) = unwrap(initial, packet.ack, self.scoreboard.high_ack()) else {
            return;
        };
        let high_data = self.scoreboard.high_data();
        if ack > high_data + u64::from(self.fin.sent) {
            return self.receiver.ack_now();
        }
        let window = u64::from(packet.window) << self.peer_window_scale;
        let kind = if ack > self.scoreboard.high_ack() {
            AckKind::Advance
        } else if ack == self.scoreboard.high_ack()
            && packet.payload.is_empty()
            && window == self.peer_window
            && !self.scoreboard.is_empty()
        {
            AckKind::Duplicate
        } else {
            AckKind::Other
        };
        self.peer_window = window;
        if ack > high_data && !self.fin.acknowledged {
            self.fin.acknowledged = true;
            self.timer.on_ack(now, false);
        }
        let in_flight = self.scoreboard.pipe();
        self.update_scoreboard(ack.min(high_data), packet);
        self.report_acknowledged(now, in_flight);
        if kind == AckKind::Advance {
            let outstanding =
                !self.scoreboard.is_empty() || (self.fin.sent && !self.fin.acknowledged);
            self.timer.on_ack(now, outstanding);
        }
        self.recover(now, kind);
        self.handle_ece(now, packet, ack);
        self.emit_window(now);
    }

    /// Updates the scoreboard and collects the newly acknowledged segments.
    pub(super) fn update_scoreboard(&mut self, ack: u64, packet: &TcpPacket) {
        let Self {
            scoreboard,
            acked,
            config,
            ..
        } = self;
        acked.clear();
        let near = scoreboard.high_ack();
        // A retransmitted segment gives no sample: it is collected with time zero.
        let mut collect = |segment: &SentSegment| {
            let sent_at = if segment.retransmitted_ever {
                Instant::ZERO
            } else {
                segment.sent_at
            };
            acked.push((sent_at, segment.len));
        };
        scoreboard.on_cumulative_ack(ack, &mut collect);
        for &(start, end) in packet.sack.as_slice() {
            let bounds = (
                unwrap(config.initial_sequence, start, near),
                unwrap(config.initial_sequence, end, near),
            );
            if let (Some(start), Some(end)) = bounds
                && start < end
                && end <= scoreboard.high_data()
            {
                scoreboard.on_sack(start, end, &mut collect);
            }
        }
    }

    /// Takes the round-trip time sample and tells the controller what was acknowledged.
    pub(super) fn report_acknowledged(&mut self, now: Instant, mut bytes_in_flight: u64) {
        let newest = self.acked.iter().map(|&(sent_at, _)| sent_at).max();
        if let Some(sent_at) = newest.filter(|&at| at > Instant::ZERO) {
            let sample = now.since(sent_at);
            self.timer.on_sample(now, sample);
            self.events.push(now, EventMask::RTT, || Event::Rtt(sample));
        }
        let rtt = self.timer.rtt();
        self.statistics.smoothed_rtt = rtt.smoothed;
        let app_limited = !self.window_limited;
        for &(sent_at, len) in &self.acked {
            let bytes = u64::from(len);
            let sent_at = match self.recovery {
                // RFC 5681 §3.2: the window does not grow in fast recovery.
                Recovery::Fast { .. } => None,
                // RFC 5681 §3.1: after a timeout the window grows in slow start.
                Recovery::Timeout { .. } => Some(now),
                Recovery::None => Some(sent_at).filter(|&at| at > Instant::ZERO),
            };
            if let Some(sent_at) = sent_at {
                let acked = Acked {
                    now,
                    sent_at,
                    bytes,
                    bytes_in_flight,
                    rtt,
                    app_limited,
                };
                self.controller.on_ack(&acked);
            }
            bytes_in_flight = bytes_in_flight.saturating_sub(bytes);
        }
    }

    /// Detects losses and enters or leaves fast recovery (RFC 6675 §5, RFC 6582 §3.2).
    pub(super) fn recover(&mut self, now: Instant, kind: AckKind) {
        if let Recovery::Fast { point } | Recovery::Timeout { point } = self.recovery
            && self.scoreboard.high_ack() >= point
        {
            self.recovery = Recovery::None;
            self.duplicate_acks = 0;
        }
        let mut latest = None;
        let Self {
            scoreboard,
            statistics,
            events,
            ..
        } = self;
        let mut note = |segment: &SentSegment| {
            statistics.packets_lost += 1;
            latest = latest.max(Some(segment.sent_at));
            let (number, size) = (segment.start, segment.len);
            events.push(now, EventMask::PACKET, || Event::Lost {
                number,
                size,
                trigger: LossTrigger::PacketThreshold,
            });
        };
        if self.sack {
            scoreboard.detect_losses(&mut note);
        } else {
            // RFC 6582 §3.2: three duplicate ACKs, then one segment per partial acknowledgement.
            let fast = matches!(self.recovery, Recovery::Fast { .. });
            match kind {
                AckKind::Advance => self.duplicate_acks = 0,
                AckKind::Duplicate => self.duplicate_acks += 1,
                AckKind::Other => {}
            }
            let third = self.duplicate_acks == 3 && self.recovery == Recovery::None;
            if (third || (fast && kind == AckKind::Advance))
                && let Some(segment) = scoreboard.mark_first_lost()
            {
                note(&segment);
            }
        }
        if let (Some(sent_at), Recovery::None) = (latest, self.recovery) {
            self.recovery = Recovery::Fast {
                point: self.scoreboard.high_data(),
            };
            self.retransmit_beyond_window = true;
            self.reduce(now, sent_at, false);
        } else if latest.is_some() && !self.sack {
            self.retransmit_beyond_window = true;
        }
    }

    /// Reports a congestion event to the controller.
    pub(super) fn reduce(&mut self, now: Instant, sent_at: Instant, ecn: bool) {
        self.statistics.loss_events += 1;
        let bytes_in_flight = self.scoreboard.pipe();
        let lost_bytes = if ecn {
            0
        } else {
            u64::from(self.config.segment_size)
        };
        self.controller.on_congestion_event(&CongestionEvent {
            now,
            sent_at,
            lost_bytes,
            bytes_in_flight,
            ecn,
        });
    }

    /// Reacts to ECE: at most one reduction per window of data (RFC 3168 §6.1.2).
    pub(super) fn handle_ece(&mut self, now: Instant, packet: &TcpPacket, ack: u64) {
        if self.ecn
            && packet.has(flag::ECE)
            && ack > self.ecn_recovery_point
            && self.recovery == Recovery::None
        {
            self.ecn_recovery_point = self.scoreboard.high_data();
            self.cwr_pending = true;
            self.reduce(now, now, true);
        }
    }

    pub(super) fn emit_window(&mut self, now: Instant) {
        let Self {
            controller,
            scoreboard,
            timer,
            ..
        } = self;
        self.events.push(now, EventMask::CONTROLLER, || {
            Event::Window(controller.snapshot(scoreboard.pipe(), timer.rtt()))
        });
    }

    pub(super) fn handle_expiry(&mut self, now: Instant) {
        self.timer.on_expiry(now);
        if self.timer.backoff() > MAX_EXPIRIES {
            return self.end(now, CloseReason::TimedOut);
        }
        if self.state != State::Established {
            return self.send_syn(now);
        }
        if self.scoreboard.is_empty() {
            self.fin.due = self.fin.sent && !self.fin.acknowledged;
            return;
        }
        let first = self.scoreboard.first_sent_at().unwrap_or(now);
        let Self {
            scoreboard,
            statistics,
            ..
        } = self;
        scoreboard.mark_all_lost(|_| statistics.packets_lost += 1);
        // RFC 5681 §3.1: ssthresh is kept if the timer expires again for the same segment.
        let repeated = self.expired_at == Some(self.scoreboard.high_ack());
        if !repeated {
            self.reduce(now, first, false);
        }
        self.expired_at = Some(self.scoreboard.high_ack());
        self.controller.on_persistent_congestion(now);
        self.recovery = Recovery::Timeout {
            point: self.scoreboard.high_data(),
        };
        self.duplicate_acks = 0;
        self.retransmit_beyond_window = true;
        self.emit_window(now);
    }
}
