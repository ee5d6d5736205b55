//! Processes acknowledgements and the loss timer (RFC 9002 §5, §6 and appendix A).

use super::{Connection, PacketSpace, State};
use crate::cc::{Acked, CongestionEvent, EcnCapability, EndAcks, Lost};
use crate::event::{Event, EventMask};
use crate::packet::Ecn;
use crate::quic::ack::reported_delay;
use crate::quic::error::TransportError;
use crate::quic::loss::{
    LostPacket, NewlyAcked, PERSISTENT_THRESHOLD, PROBE_TIMEOUT, RetransmitFrame, RetransmitFrames,
    SentPackets,
};
use crate::quic::wire::{Ack, EcnCounts, PacketNumber, SpaceId};
use crate::time::{Duration, Instant, earliest};

/// The capacity for lost packets that is kept.
const MOST_LOST_KEPT: usize = 16;
/// The most doublings of the probe timeout.
const MAX_BACKOFF: u32 = 20;
/// Probe timeouts without any acknowledgement after which packets are no longer ECN-capable: the
/// second expires after 1 + 2 periods, the three of RFC 9000 appendix A.4.
const ECN_TESTING_TIMEOUTS: u32 = 2;

/// The probe timeout after `expiries` expiries in a row (RFC 9002 §6.2.1); `base` is the timeout
/// without any.
pub(super) fn backed_off(base: Duration, expiries: u32, pto_max: Option<Duration>) -> Duration {
    let doubled = base * (1_u64 << expiries.min(MAX_BACKOFF));
    pto_max.map_or(doubled, |most| doubled.min(most.max(base)))
}

impl Connection {
    /// An ACK frame arrived (RFC 9002 appendix A.7).
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        space: SpaceId,
        ack: &Ack,
    ) -> Result<(), TransportError> {
        self.acked.clear();
        self.check_timestamps(ack)?;
        let sent = &mut self.spaces.of(space).sent;
        let newly_acked = sent.acknowledge(ack, &mut self.acked)?;
        self.detect_spurious_losses(now, ack);
        if self.acked.is_empty() {
            return Ok(());
        }
        if space == SpaceId::Initial {
            // RFC 9000 §8.1: an acknowledgement validates the address.
            self.amplification = None;
        }
        let rtt_sample = self.sample_rtt(now, space, ack, newly_acked);
        let ecn_ce = self.process_ecn(now, space, ack, newly_acked);
        if self.config.rules.losses_before_acks {
            self.detect_losses(now, space);
            self.process_acked(now, space);
        } else {
            self.process_acked(now, space);
            self.detect_losses(now, space);
        }
        self.spaces.of(space).sent.trim();
        self.end_acks(now, rtt_sample, ecn_ce);
        if space == SpaceId::Data {
            self.on_media_ack(now, ack, rtt_sample, ecn_ce);
        }
        self.pto_count = 0;
        self.probes_due = 0;
        Ok(())
    }

    /// Reports to the controller that the acknowledgement was processed completely.
    #[inline]
    fn end_acks(&mut self, now: Instant, rtt_sample: Option<Duration>, ecn_ce: u64) {
        if self.needs.end_acks {
            self.report_end_acks(now, rtt_sample, ecn_ce);
        } else {
            self.sampler.on_end_acks_unsampled();
        }
    }

    fn report_end_acks(&mut self, now: Instant, rtt_sample: Option<Duration>, ecn_ce: u64) {
        let rtt = self.rtt.get();
        let Some(delivered) = self.sampler.on_end_acks(rtt.min) else {
            return;
        };
        let limits_samples = self.controller.on_end_acks(&EndAcks {
            now,
            newly_acked: delivered.newly_acked,
            acked_packets: delivered.packets,
            newly_lost: delivered.newly_lost,
            ecn_ce,
            bytes_in_flight: self.bytes_in_flight,
            newest_sent_at: delivered.newest_sent_at,
            rtt_sample,
            rtt,
            rate: delivered.rate,
        });
        if limits_samples {
            self.sampler.on_app_limited(self.bytes_in_flight);
        }
        self.window_changed = true;
    }

    fn sample_rtt(
        &mut self,
        now: Instant,
        space: SpaceId,
        ack: &Ack,
        newly_acked: NewlyAcked,
    ) -> Option<Duration> {
        let old = self.is_of_old_path(space, ack.largest);
        let sent_at = newly_acked
            .largest_sent_at
            .filter(|_| newly_acked.ack_eliciting && !old)?;
        let latest = now.since(sent_at);
        // RFC 9002 §5.3: Initial packets are not delayed, others at most by max_ack_delay.
        let delay = match space {
            SpaceId::Initial => Duration::ZERO,
            SpaceId::Data => reported_delay(ack).min(self.peer_max_ack_delay()),
        };
        self.rtt.on_delayed_sample(now, latest, delay);
        self.events
            .push(now, EventMask::RTT, move || Event::Rtt(latest));
        Some(latest)
    }

    /// Processes ECN counts: a higher CE count is a congestion event (RFC 9002 appendix B.7).
    /// Counts that do not grow with the packets acknowledged, or that shrink, end the use of ECN
    /// (RFC 9000 §13.4.2.1): the path clears the field. Returns by how much the CE count has grown.
    fn process_ecn(
        &mut self,
        now: Instant,
        space: SpaceId,
        ack: &Ack,
        newly_acked: NewlyAcked,
    ) -> u64 {
        let uses_ecn = EcnCapability::is_used(self.needs.ecn, self.config.ecn);
        self.path_takes_ecn = true;
        if !uses_ecn || space == SpaceId::Initial || newly_acked.largest_sent_at.is_none() {
            return 0;
        }
        let Some(known) = self.peer_ecn else { return 0 };
        let counts = ack.ecn().unwrap_or_default();
        let codepoint = self.ecn_field();
        let seen = |counts: EcnCounts| {
            let own = if codepoint == Ecn::Ect1 {
                counts.ect1
            } else {
                counts.ect0
            };
            own.saturating_add(counts.ce)
        };
        // All packets sent so far had this codepoint.
        let expected = seen(known).saturating_add(self.acked.len() as u64);
        if counts.ce < known.ce || seen(counts) < expected {
            self.peer_ecn = None;
            return 0;
        }
        self.peer_ecn = Some(counts);
        let (ce, known) = (counts.ce, known.ce);
        let old = self.is_of_old_path(space, ack.largest);
        if let Some(sent_at) = newly_acked.largest_sent_at.filter(|_| ce > known && !old) {
            self.on_congestion_event(&CongestionEvent {
                now,
                sent_at,
                lost_bytes: 0,
                bytes_in_flight: self.bytes_in_flight,
                flight_size: None,
                ecn: true,
            });
        }
        ce - known
    }

    fn on_congestion_event(&mut self, event: &CongestionEvent) {
        if self.controller.on_congestion_event(event) {
            self.statistics.loss_events += u64::from(event.sent_at >= self.counted_from);
            self.recovery_probe = self.controller.take_recovery_probe();
            self.spurious_candidates.clear();
        }
    }

    fn process_acked(&mut self, now: Instant, space: SpaceId) {
        for at in 0..self.acked.len() {
            let number = self.acked[at];
            let old = self.is_of_old_path(space, number);
            let PacketSpace { sent, received } = self.spaces.of(space);
            let Some((packet, snapshot)) = sent.get(number) else {
                continue;
            };
            let bytes = u64::from(packet.size);
            let sent_at = packet.sent_at;
            if !old {
                self.sampler
                    .on_acked(now, bytes, (sent_at, number), snapshot);
                self.controller.on_ack(&Acked {
                    now,
                    sent_at,
                    bytes,
                    bytes_in_flight: self.bytes_in_flight,
                    rtt: self.rtt.get(),
                    app_limited: self.app_limited,
                });
                self.bytes_in_flight = self.bytes_in_flight.saturating_sub(bytes);
            }
            received.forget_below(packet.acked_below);
            packet.retransmit.for_each(|frame| match frame {
                RetransmitFrame::Stream(frame) => self.streams.on_acked(frame),
                RetransmitFrame::Crypto => self.crypto_due = false,
                RetransmitFrame::FlowControl(_) | RetransmitFrame::AckFrequency => {}
            });
            self.window_changed = true;
        }
    }

    /// Detects lost packets and reacts (RFC 9002 appendices A.10 and B.8).
    #[inline]
    fn detect_losses(&mut self, now: Instant, space: SpaceId) {
        if self.spaces.of(space).sent.has_gap() {
            self.look_for_losses(now, space);
        }
    }

    fn look_for_losses(&mut self, now: Instant, space: SpaceId) {
        let mut lost = std::mem::take(&mut self.lost);
        lost.clear();
        let rtt = self.rtt;
        let persistent_after = self.probe_timeout() * PERSISTENT_THRESHOLD;
        let persistent =
            self.spaces
                .of(space)
                .sent
                .detect_lost(now, &rtt, persistent_after, &mut lost);
        let Some(last) = lost.last() else {
            self.lost = lost;
            return;
        };
        let sent_at = last.packet.sent_at;
        let mut lost_bytes = 0;
        for lost in &lost {
            let (number, size, trigger) = (lost.number, lost.packet.size, lost.trigger);
            if !self.is_of_old_path(space, number) {
                lost_bytes += u64::from(size);
                self.note_lost(now, lost);
            }
            self.retransmit(&lost.packet.retransmit);
            if let Some(media) = self.media.as_mut().filter(|_| space == SpaceId::Data) {
                media.on_lost(number);
            }
            self.events
                .push(now, EventMask::PACKET, move || Event::Lost {
                    number,
                    size,
                    trigger,
                    packet_type: space.packet_type(),
                });
        }
        self.statistics.packets_lost += lost.len() as u64;
        // RFC 9000 §9.4: what was sent on an old path tells nothing of this one.
        let persistent = persistent
            && !lost
                .first()
                .is_some_and(|lost| self.is_of_old_path(space, lost.number));
        if lost_bytes > 0 {
            self.bytes_in_flight = self.bytes_in_flight.saturating_sub(lost_bytes);
            self.on_congestion_event(&CongestionEvent {
                now,
                sent_at,
                lost_bytes,
                bytes_in_flight: self.bytes_in_flight,
                flight_size: None,
                ecn: false,
            });
            if self.config.rules.controller.undo_spurious && space == SpaceId::Data {
                self.spurious_candidates
                    .extend(lost.iter().map(|lost| lost.number));
            }
        }
        if persistent {
            self.controller.on_persistent_congestion(now);
            self.recovery_probe = false;
            self.spurious_candidates.clear();
        }
        // Slow start loses many more packets at once than later phases.
        lost.clear();
        lost.shrink_to(MOST_LOST_KEPT);
        self.lost = lost;
        // Packets acknowledged or sent next at this time may hide the reduction.
        self.emit_window(now);
    }

    /// Reports a lost packet to the sampler and the controller.
    fn note_lost(&mut self, now: Instant, lost: &LostPacket) {
        let bytes = u64::from(lost.packet.size);
        let snapshot = lost.snapshot.unwrap_or_default();
        let lost_since_sent = self.sampler.on_lost(bytes, lost.snapshot.as_ref());
        let before = self.last_lost.replace(lost.number);
        self.controller.on_lost(&Lost {
            now,
            sent_at: lost.packet.sent_at,
            bytes,
            tx_in_flight: u64::from(snapshot.tx_in_flight),
            lost_since_sent,
            delivered: self.sampler.delivered(),
            app_limited: snapshot.app_limited,
            continues_range: before.is_some_and(|before| before + 1 == lost.number),
        });
    }

    /// Removes acknowledged packets from the candidates. Once all of them are acknowledged, the
    /// losses were spurious and the reduction is undone.
    fn detect_spurious_losses(&mut self, now: Instant, ack: &Ack) {
        if self.spurious_candidates.is_empty() {
            return;
        }
        let is_acked = |number: PacketNumber| {
            let mut ranges = ack.ranges();
            ranges.any(|range| (range.smallest..=range.largest).contains(&number))
        };
        self.spurious_candidates.retain(|number| !is_acked(*number));
        if self.spurious_candidates.is_empty() && self.controller.on_spurious_congestion_event(now)
        {
            self.events
                .push(now, EventMask::TIMEOUT, || Event::Spurious);
            self.emit_window(now);
        }
    }

    /// Schedules the frames of a lost packet to be sent again.
    pub(super) fn retransmit(&mut self, frames: &RetransmitFrames) {
        frames.for_each(|frame| match frame {
            RetransmitFrame::Stream(frame) => self.streams.on_lost(frame),
            RetransmitFrame::Crypto => self.crypto_due = true,
            RetransmitFrame::FlowControl(frame) => {
                self.streams.on_flow_control_frame_lost(frame);
            }
            RetransmitFrame::AckFrequency => self.ack_frequency_due = true,
        });
    }

    /// The loss detection timer (RFC 9002 appendix A.8): the time threshold if a packet waits for
    /// it, otherwise the probe timeout.
    #[inline]
    pub(super) fn loss_timer(&self) -> Option<Instant> {
        let initial = self.initial_sent();
        let data = &self.spaces.data.sent;
        let losses = [initial.and_then(SentPackets::loss_time), data.loss_time()];
        let loss_time = earliest(&losses);
        if loss_time.is_some() {
            return loss_time;
        }
        if !self.is_probing() {
            return None;
        }
        // RFC 9002 §6.2.2.1: a server at its anti-amplification limit sets no timer.
        let limited = self.amplification.is_some() && self.is_amplification_limited();
        if limited || self.probes_due > 0 {
            return None;
        }
        let timeout = |base| backed_off(base, self.pto_count, self.config.pto_max);
        let base = self.rtt.timeout(&PROBE_TIMEOUT, 0);
        let initial = initial
            .filter(|sent| self.initial_waits(sent))
            .map(|sent| sent.last_eliciting_at() + timeout(base));
        let data = data
            .is_waiting()
            .then(|| data.last_eliciting_at() + timeout(base + self.peer_max_ack_delay()));
        earliest(&[initial, data])
    }

    fn initial_sent(&self) -> Option<&SentPackets> {
        self.spaces.initial.as_deref().map(|space| &space.sent)
    }

    /// True if a packet waits for an acknowledgement, so that probe timeouts repeat it.
    pub(super) fn is_probing(&self) -> bool {
        let initial = self.initial_sent();
        initial.is_some_and(|sent| self.initial_waits(sent)) || self.spaces.data.sent.is_waiting()
    }

    /// RFC 9002 §6.2.2.1: a client without a response keeps sending probes, so that the server may
    /// send more.
    fn initial_waits(&self, sent: &SentPackets) -> bool {
        // Before its first packet a client has nothing to repeat.
        let probes = self.state == State::Handshaking && sent.next_number() > 0;
        sent.is_waiting() || probes
    }

    /// The loss timer has expired (RFC 9002 appendix A.9).
    pub(super) fn on_loss_timer(&mut self, now: Instant) {
        let due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let initial = self.initial_sent();
        let initial_lost = due(initial.and_then(SentPackets::loss_time));
        let initial_waits = initial.is_some_and(|sent| self.initial_waits(sent));
        let data_lost = due(self.spaces.data.sent.loss_time());
        if initial_lost {
            self.detect_losses(now, SpaceId::Initial);
        }
        if data_lost {
            self.detect_losses(now, SpaceId::Data);
        }
        if initial_lost || data_lost {
            self.spaces.data.sent.trim();
            if let Some(initial) = &mut self.spaces.initial {
                initial.sent.trim();
            }
            return;
        }
        let backoff = self.pto_count;
        self.pto_count = self.pto_count.saturating_add(1);
        if self.pto_count == ECN_TESTING_TIMEOUTS && !self.path_takes_ecn {
            self.peer_ecn = None;
        }
        self.events
            .push(now, EventMask::TIMEOUT, || Event::Timeout { backoff });
        self.statistics.timeouts += 1;
        if initial_waits {
            self.crypto_due = true;
        }
        if self.spaces.data.sent.is_waiting() {
            self.probes_due = self.config.rules.pto_probes.clamp(1, 2);
        }
    }

    /// Discards the Initial space (RFC 9002 §6.4).
    pub(super) fn discard_initial(&mut self) {
        let Some(initial) = self.spaces.initial.take() else {
            return;
        };
        self.crypto_due = false;
        let octets = initial.sent.octets_in_flight();
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(octets);
        self.pto_count = 0;
        self.window_changed = true;
    }
}
