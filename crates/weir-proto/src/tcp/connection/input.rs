//! Processing segments and timeouts.

use super::{Connection, MAX_EXPIRIES, Recovery, State};
use crate::cc::{Acked, Congestion};
use crate::endpoint::{CloseReason, EndpointEvent};
use crate::event::{DropReason, Event, EventMask, WindowState};
use crate::packet::Ecn;
use crate::tcp::scoreboard::Segment;
use crate::tcp::sequence::unwrap;
use crate::tcp::wire::{Packet as TcpPacket, SynOptions, flag};
use crate::time::Instant;

impl Connection {
    pub(super) fn enter(&mut self, now: Instant, state: State, name: &'static str) {
        self.state = state;
        self.events
            .push(now, EventMask::STATE, || Event::State(name));
    }

    pub(super) fn end(&mut self, now: Instant, reason: CloseReason) {
        self.timer.stop();
        self.outbox.clear();
        self.enter(now, State::Closed, "CLOSED");
        self.news.push_back(EndpointEvent::Closed(reason));
    }

    pub(super) fn handle_syn(&mut self, now: Instant, packet: &TcpPacket) {
        let Some(options) = packet.syn else { return };
        let acknowledges = packet.has(flag::ACK);
        match self.state {
            State::Listen if !acknowledges => {
                self.ecn &= packet.has(flag::ECE) && packet.has(flag::CWR);
                self.learn(packet, options);
                self.enter(now, State::SynReceived, "SYN-RECEIVED");
                self.send_syn(now);
            }
            State::SynSent if acknowledges => {
                self.ecn &= packet.has(flag::ECE);
                self.learn(packet, options);
                self.establish(now);
                self.receiver.ack_now();
            }
            // Our answer was lost.
            State::SynReceived if !acknowledges => self.send_syn(now),
            State::Established if acknowledges => self.receiver.ack_now(),
            _ => {}
        }
    }

    pub(super) fn learn(&mut self, packet: &TcpPacket, options: SynOptions) {
        self.peer_sequence = packet.seq;
        self.peer_scale = options.window_scale.min(14);
        self.peer_window = u64::from(packet.window);
        self.sack &= options.sack_permitted;
        self.config.segment_size = self.config.segment_size.min(u32::from(options.mss).max(1));
    }

    pub(super) fn establish(&mut self, now: Instant) {
        if self.handshake.attempts == 1 {
            self.timer.on_sample(now.since(self.handshake.sent_at));
        }
        self.timer.on_progress(now, false);
        self.enter(now, State::Established, "ESTABLISHED");
        self.news.push_back(EndpointEvent::Connected);
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
            self.echo_congestion = false;
        }
        if self.ecn && ecn == Ecn::Ce {
            self.echo_congestion = true;
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
                self.news.push_back(EndpointEvent::Readable);
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
        let Some(ack) = unwrap(initial, packet.ack, self.board.high_ack()) else {
            return;
        };
        let high_data = self.board.high_data();
        if ack > high_data + u64::from(self.fin.sent) {
            return self.receiver.ack_now();
        }
        let window = u64::from(packet.window) << self.peer_scale;
        let advanced = ack > self.board.high_ack();
        let duplicate = ack == self.board.high_ack()
            && packet.payload.is_empty()
            && window == self.peer_window
            && !self.board.is_empty();
        self.peer_window = window;
        if ack > high_data && !self.fin.acknowledged {
            self.fin.acknowledged = true;
            self.timer.on_progress(now, false);
        }
        let in_flight = self.board.pipe();
        self.take_acknowledged(ack.min(high_data), packet);
        self.tell_acknowledged(now, in_flight);
        if advanced {
            let outstanding = !self.board.is_empty() || (self.fin.sent && !self.fin.acknowledged);
            self.timer.on_progress(now, outstanding);
        }
        self.recover(now, advanced, duplicate);
        self.handle_echo(now, packet, ack);
        self.record_window(now);
    }

    /// Updates the scoreboard and notes which segments are newly acknowledged.
    pub(super) fn take_acknowledged(&mut self, ack: u64, packet: &TcpPacket) {
        let Self {
            board,
            acked,
            config,
            ..
        } = self;
        acked.clear();
        let near = board.high_ack();
        // A segment that was sent twice gives no sample: its length is noted with time zero.
        let mut note = |segment: &Segment| {
            let sent_at = if segment.resent {
                Instant::ZERO
            } else {
                segment.sent_at
            };
            acked.push((sent_at, segment.len));
        };
        board.on_cumulative_ack(ack, &mut note);
        for &(start, end) in packet.sack.as_slice() {
            let bounds = (
                unwrap(config.initial_sequence, start, near),
                unwrap(config.initial_sequence, end, near),
            );
            if let (Some(start), Some(end)) = bounds
                && start < end
                && end <= board.high_data()
            {
                board.on_sack(start, end, &mut note);
            }
        }
    }

    pub(super) fn tell_acknowledged(&mut self, now: Instant, mut bytes_in_flight: u64) {
        let newest = self.acked.iter().map(|&(sent_at, _)| sent_at).max();
        if let Some(sent_at) = newest.filter(|&at| at > Instant::ZERO) {
            let sample = now.since(sent_at);
            self.timer.on_sample(sample);
            self.events.push(now, EventMask::RTT, || Event::Rtt(sample));
        }
        let rtt = self.timer.rtt();
        self.statistics.smoothed_rtt = rtt.smoothed;
        let app_limited = !self.window_limited;
        for &(sent_at, len) in &self.acked {
            let bytes = u64::from(len);
            let sent_at = match self.recovery {
                // RFC 5681 §3.2: no growth before recovery is over.
                Recovery::Fast { .. } => None,
                // RFC 5681 §3.1: after a timeout the window grows by slow start again.
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

    pub(super) fn recover(&mut self, now: Instant, advanced: bool, duplicate: bool) {
        if let Recovery::Fast { point } | Recovery::Timeout { point } = self.recovery
            && self.board.high_ack() >= point
        {
            self.recovery = Recovery::None;
            self.duplicates = 0;
        }
        let mut latest = None;
        let Self {
            board,
            statistics,
            events,
            ..
        } = self;
        let mut note = |segment: &Segment| {
            statistics.packets_lost += 1;
            latest = latest.max(Some(segment.sent_at));
            let (number, size) = (segment.start, segment.len);
            events.push(now, EventMask::PACKET, || Event::Lost {
                number,
                size,
                reason: DropReason::PacketThreshold,
            });
        };
        if self.sack {
            board.detect_losses(&mut note);
        } else {
            // RFC 6582 §3.2: three duplicates, then one segment per partial acknowledgement.
            let fast = matches!(self.recovery, Recovery::Fast { .. });
            self.duplicates = if advanced {
                0
            } else {
                self.duplicates + u32::from(duplicate)
            };
            let third = self.duplicates == 3 && self.recovery == Recovery::None;
            if (third || (fast && advanced))
                && let Some(segment) = board.lose_first()
            {
                note(&segment);
            }
        }
        if let (Some(sent_at), Recovery::None) = (latest, self.recovery) {
            self.recovery = Recovery::Fast {
                point: self.board.high_data(),
            };
            self.send_one_anyway = true;
            self.reduce(now, sent_at, false);
        } else if latest.is_some() && !self.sack {
            self.send_one_anyway = true;
        }
    }

    pub(super) fn reduce(&mut self, now: Instant, sent_at: Instant, ecn: bool) {
        self.statistics.loss_events += 1;
        let bytes_in_flight = self.board.pipe();
        let lost_bytes = if ecn {
            0
        } else {
            u64::from(self.config.segment_size)
        };
        self.controller.on_congestion(&Congestion {
            now,
            sent_at,
            lost_bytes,
            bytes_in_flight,
            ecn,
        });
    }

    /// RFC 3168 §6.1.2: at most one reduction per window of data.
    pub(super) fn handle_echo(&mut self, now: Instant, packet: &TcpPacket, ack: u64) {
        if self.ecn
            && packet.has(flag::ECE)
            && ack > self.ecn_point
            && self.recovery == Recovery::None
        {
            self.ecn_point = self.board.high_data();
            self.announce_reduction = true;
            self.reduce(now, now, true);
        }
    }

    pub(super) fn record_window(&mut self, now: Instant) {
        let Self {
            controller,
            board,
            timer,
            ..
        } = self;
        self.events.push(now, EventMask::CONTROLLER, || {
            Event::Window(WindowState {
                cwnd: controller.window(),
                bytes_in_flight: board.pipe(),
                partial_bytes_acked: controller.partial_bytes_acked(),
                ssthresh: controller.ssthresh(),
                rtt: timer.rtt().latest,
                smoothed_rtt: timer.rtt().smoothed,
                state: controller.state(),
                limit: controller.limit(),
            })
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
        if self.board.is_empty() {
            self.fin.due = self.fin.sent && !self.fin.acknowledged;
            return;
        }
        let first = self.board.first_sent_at().unwrap_or(now);
        let Self {
            board, statistics, ..
        } = self;
        board.lose_all(|_| statistics.packets_lost += 1);
        // RFC 5681 §3.1: ssthresh is held only while the timer repeats the same segment.
        let repeated = self.expired_at == Some(self.board.high_ack());
        if !repeated {
            self.reduce(now, first, false);
        }
        self.expired_at = Some(self.board.high_ack());
        self.controller.on_persistent_congestion(now);
        self.recovery = Recovery::Timeout {
            point: self.board.high_data(),
        };
        self.duplicates = 0;
        self.send_one_anyway = true;
        self.record_window(now);
    }
}
