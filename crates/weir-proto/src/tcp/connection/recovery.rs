//! Loss detection and its consequences: fast recovery, timeouts, loss probes, and undoing spurious
//! reactions.

use super::input::{AckKind, AckUpdate};
use super::{Connection, LEAST_PERSISTENCE, MAX_EXPIRIES, Recovery, State, Undo};
use crate::cc::{CongestionEvent, DeliveryRateSampler, Lost, RetransmissionTimeout};
use crate::endpoint::CloseReason;
use crate::event::{Event, EventMask, LossTrigger, PacketType};
use crate::tcp::prr::{Delivery, Prr};
use crate::tcp::rack::Situation;
use crate::tcp::rules::{LossDetection, RecoveryWindow, ReductionBase};
use crate::tcp::scoreboard::{Known, SentSegment};
use crate::time::{Duration, Instant};

/// The capacity for lost segments that is kept.
const MOST_LOST_KEPT: usize = 16;

/// The result of loss detection.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    segments: u32,
    /// Of these, segments that had been retransmitted.
    retransmissions: u32,
    /// DeliveredData of RFC 6937, in octets.
    delivered: u64,
}

impl Connection {
    /// Ends a recovery whose point is acknowledged, detects losses, and begins a recovery if losses
    /// are left (RFC 6675 §5, RFC 6582 §3.2).
    pub(super) fn recover(&mut self, now: Instant, kind: AckKind, update: &AckUpdate) {
        let ended = self.end_recovery();
        let sequence = (self.scoreboard.high_ack(), self.scoreboard.high_data());
        self.rack.adapt(update.dsack.map(|_| sequence), ended);
        self.take_dsack(now, update);
        self.handle_f_rto(now, kind, update);
        self.handle_probe_ack(now, update);
        let losses = if self.sack {
            self.detect_losses(now, update.delivered)
        } else {
            self.count_duplicates(now, kind, update)
        };
        if self.recovery == Recovery::None {
            if self.scoreboard.has_lost() {
                self.begin_recovery(now, losses.delivered);
            }
        } else if losses.retransmissions > 0 && self.config.rules.reduce_on_lost_retransmission {
            self.reduce_again(now);
        }
        if !self.sack && losses.segments > 0 {
            self.retransmit_beyond_window = true;
        }
        let pipe = self.in_network();
        if let Some(prr) = &mut self.prr {
            prr.on_ack(&Delivery {
                delivered: losses.delivered,
                pipe,
                safe: kind == AckKind::Advance && losses.segments == 0,
            });
        }
    }

    /// Ends a recovery whose point is acknowledged; true if there was one.
    fn end_recovery(&mut self) -> bool {
        if let Recovery::Fast { point } | Recovery::Timeout { point } = self.recovery
            && self.scoreboard.high_ack() >= point
        {
            self.recovery = Recovery::None;
            self.prr = None;
            self.f_rto = false;
            self.duplicate_acks = 0;
            self.retransmit_beyond_window = false;
            return true;
        }
        false
    }

    fn situation(&self) -> Situation {
        Situation {
            recovering: self.recovery != Recovery::None,
            enough_sacked: self.scoreboard.sacked_segments() >= self.config.rules.dup_thresh,
        }
    }

    /// Marks lost segments by the rule of `loss_detection`.
    fn detect_losses(&mut self, now: Instant, delivered: u64) -> Losses {
        let situation = self.situation();
        let Self {
            scoreboard,
            lost,
            timer,
            config,
            ..
        } = self;
        let note = |(segment, snapshot): Known<'_>| lost.push((*segment, snapshot.copied()));
        if config.rules.loss_detection == LossDetection::Rack {
            let rack = &self.rack;
            let has_older = rack
                .newest()
                .is_some_and(|newest| scoreboard.has_transmission_before(newest));
            let deadline = has_older.then(|| rack.deadline(timer.rtt(), situation));
            let rest = deadline
                .flatten()
                .and_then(|deadline| scoreboard.detect_losses_by_time(now, &deadline, note));
            timer.set_reordering(now, rest);
        } else if !matches!(self.recovery, Recovery::Timeout { .. }) {
            // RFC 6675 §5.1: after a timeout no recovery begins before its point.
            let (dup_thresh, segment_size) = (config.rules.dup_thresh, config.segment_size);
            scoreboard.detect_losses_by_sacks(dup_thresh, segment_size, note);
        }
        let mut losses = Losses {
            delivered,
            ..Losses::default()
        };
        if !self.lost.is_empty() {
            self.note_lost(now, &mut losses);
        }
        losses
    }

    /// Counts the segments that were found lost, and reports them to the controller.
    #[cold]
    fn note_lost(&mut self, now: Instant, losses: &mut Losses) {
        let trigger = match self.config.rules.loss_detection {
            LossDetection::Rack => LossTrigger::TimeThreshold,
            LossDetection::DuplicateAcks => LossTrigger::PacketThreshold,
        };
        let mut found = std::mem::take(&mut self.lost);
        for (segment, snapshot) in found.drain(..) {
            losses.segments += 1;
            losses.retransmissions += u32::from(segment.retransmitted_ever);
            self.statistics.packets_lost += 1;
            self.newest_lost = self.newest_lost.max(Some(segment.sent_at));
            let known = (&segment, snapshot.as_ref());
            let lost = lost(now, known, &mut self.sampler, &mut self.last_lost_end);
            self.controller.on_lost(&lost);
            let (number, size) = (segment.start, segment.len);
            self.events.push(now, EventMask::PACKET, || Event::Lost {
                number,
                size,
                trigger,
                packet_type: PacketType::None,
            });
        }
        // Slow start loses many more segments at once than later phases.
        found.shrink_to(MOST_LOST_KEPT);
        self.lost = found;
    }

    /// Without SACK: DupThresh duplicates, then one segment per partial acknowledgement (RFC 6582
    /// §3.2). A duplicate stands for a segment that has arrived, so an advance removes as many
    /// duplicates as it acknowledges segments beyond the retransmission.
    fn count_duplicates(&mut self, now: Instant, kind: AckKind, update: &AckUpdate) -> Losses {
        let segment_size = u64::from(self.config.segment_size);
        let fast = matches!(self.recovery, Recovery::Fast { .. });
        let mut losses = Losses {
            delivered: update.delivered,
            ..Losses::default()
        };
        match (kind, self.recovery) {
            (AckKind::Advance, Recovery::Fast { .. }) => {
                let counted = update.segments.saturating_sub(1).min(self.duplicate_acks);
                self.duplicate_acks -= counted;
                let before = u64::from(counted) * segment_size;
                losses.delivered = update.delivered.saturating_sub(before);
            }
            (AckKind::Advance, _) => self.duplicate_acks = 0,
            (AckKind::Duplicate, Recovery::None | Recovery::Fast { .. }) => {
                self.duplicate_acks += 1;
                losses.delivered = segment_size;
            }
            _ => {}
        }
        let enough =
            self.duplicate_acks == self.config.rules.dup_thresh && self.recovery == Recovery::None;
        if (enough || (fast && kind == AckKind::Advance))
            && let Some((segment, snapshot)) = self.scoreboard.mark_first_lost()
        {
            losses.segments = 1;
            self.statistics.packets_lost += 1;
            let known = (&segment, snapshot.as_ref());
            let lost = lost(now, known, &mut self.sampler, &mut self.last_lost_end);
            self.controller.on_lost(&lost);
            self.newest_lost = self.newest_lost.max(Some(segment.sent_at));
            self.events
                .push(now, EventMask::PACKET, move || Event::Lost {
                    number: segment.start,
                    size: segment.len,
                    trigger: LossTrigger::PacketThreshold,
                    packet_type: PacketType::None,
                });
        }
        losses
    }

    /// Fast recovery begins, by an acknowledgement that delivered so many octets, or by a timer.
    fn begin_recovery(&mut self, now: Instant, delivered: u64) {
        let sent_at = self.newest_lost.unwrap_or(now);
        self.recovery = Recovery::Fast {
            point: self.scoreboard.high_data(),
        };
        self.undo = self.undo_from_here();
        self.probe = None;
        self.timer.cancel_probe();
        self.scoreboard.on_recovery_start();
        // RFC 6675 §5, step 4.3: the first retransmission leaves in any case.
        self.retransmit_beyond_window = true;
        let flight_size = self.scoreboard.flight_size();
        self.count_loss_event(self.newest_lost.or(self.scoreboard.first_sent_at()));
        self.reduce(now, sent_at, false);
        let bound = self.config.rules.recovery_window;
        let by_prr = bound != RecoveryWindow::Ssthresh
            && !self.needs.window_in_recovery
            && !self.controller.report().window_in_recovery;
        self.prr = by_prr.then(|| {
            let segment_size = u64::from(self.config.segment_size);
            let sacked = self.scoreboard.sacked_octets();
            let recover_flight_size = bound.recover_flight_size(flight_size, sacked, delivered);
            let ssthresh = self.controller.window();
            Prr::new(bound, segment_size, recover_flight_size, ssthresh)
        });
    }

    /// A retransmission was lost: a second indication of congestion (RFC 5681 §4.3).
    fn reduce_again(&mut self, now: Instant) {
        let sent_at = self.newest_lost.unwrap_or(now);
        self.count_loss_event(self.newest_lost);
        self.reduce(now, sent_at, false);
        if let Some(prr) = &mut self.prr {
            prr.set_ssthresh(self.controller.window());
        }
    }

    /// FlightSize, if reductions start from it.
    pub(super) fn reduction_base(&self) -> Option<u64> {
        (self.config.rules.reduction_base == ReductionBase::FlightSize)
            .then(|| self.scoreboard.flight_size())
    }

    /// Counts a loss event of a segment that was sent at this time.
    pub(super) fn count_loss_event(&mut self, sent_at: Option<Instant>) {
        let counts = sent_at.is_none_or(|at| at >= self.counted_from.0);
        self.statistics.loss_events += u64::from(counts);
    }

    /// Counts a loss event of the segment that ends at `end`, by its first transmission.
    pub(super) fn count_loss_event_at(&mut self, end: u64) {
        self.statistics.loss_events += u64::from(end > self.counted_from.1);
    }

    /// Reports a congestion event to the controller.
    pub(super) fn reduce(&mut self, now: Instant, sent_at: Instant, ecn: bool) {
        let lost_bytes = if ecn {
            0
        } else {
            u64::from(self.config.segment_size)
        };
        self.controller.on_congestion_event(&CongestionEvent {
            now,
            sent_at,
            lost_bytes,
            bytes_in_flight: self.scoreboard.pipe(),
            flight_size: self.reduction_base(),
            ecn,
        });
        self.newest_lost = None;
    }

    /// RACK's reordering timer expired (RFC 8985 §6.2).
    pub(super) fn handle_reordering_timer(&mut self, now: Instant) {
        self.detect_losses(now, 0);
        if self.recovery == Recovery::None && self.scoreboard.has_lost() {
            self.begin_recovery(now, 0);
        }
        let pipe = self.in_network();
        if let Some(prr) = &mut self.prr {
            prr.on_losses(pipe);
        }
        self.window_changed = true;
    }

    /// Schedules a loss probe (RFC 8985 §7.2).
    pub(super) fn schedule_probe(&mut self, now: Instant) {
        if !self.config.rules.tail_loss_probe
            || !self.sack
            || self.recovery != Recovery::None
            || self.scoreboard.is_empty()
            || self.scoreboard.sacked_segments() > 0
        {
            return self.timer.cancel_probe();
        }
        let delay = if self.scoreboard.len() == 1 {
            self.config.max_ack_delay
        } else {
            Duration::ZERO
        };
        self.timer.schedule_probe(now, delay);
    }

    /// The probe timeout expired (RFC 8985 §7.3): a probe is due if no other is in flight and a
    /// round-trip time was measured since the last. The RTO starts again in any case.
    pub(super) fn handle_probe_timeout(&mut self, now: Instant) {
        self.probe_due = self.probe.is_none() && self.sampled_since_probe;
        self.timer.restart(now);
    }

    /// An acknowledgement arrives while a probe is in flight (RFC 8985 §7.4.2).
    fn handle_probe_ack(&mut self, now: Instant, update: &AckUpdate) {
        let Some(probe) = self.probe else { return };
        let ack = self.scoreboard.high_ack();
        if ack < probe.end {
            return;
        }
        let duplicate = update.dsack.is_some_and(|(_, end)| end == probe.end);
        if !probe.is_retransmission || duplicate {
            self.probe = None;
        } else if ack == probe.end && update.plain_duplicate {
            // A receiver without DSACK has both copies.
            self.probe = None;
        } else if ack > probe.end {
            // The probe repaired the loss of the last segment, which indicates congestion.
            self.probe = None;
            if self.recovery == Recovery::None {
                self.count_loss_event_at(probe.end);
                self.reduce(now, now, false);
            }
        }
    }

    /// The retransmission timer expired (RFC 6298 §5.4–5.6, RFC 6675 §5.1).
    pub(super) fn handle_expiry(&mut self, now: Instant) {
        self.timer.on_expiry(now);
        if self.expiries == 0 {
            self.expiring_since = now;
        }
        self.expiries = self.expiries.saturating_add(1);
        let span = now.since(self.expiring_since);
        if self.expiries > MAX_EXPIRIES && span >= LEAST_PERSISTENCE {
            return self.end(now, CloseReason::TimedOut);
        }
        let backoff = self.expiries - 1;
        self.events
            .push(now, EventMask::TIMEOUT, || Event::Timeout { backoff });
        self.statistics.timeouts += 1;
        if self.state != State::Established {
            return self.send_syn(now);
        }
        if self.scoreboard.is_empty() {
            self.fin.due = self.fin.sent && !self.fin.acknowledged;
            return;
        }
        self.count_loss_event(self.scoreboard.first_sent_at());
        // RFC 5681 §3.1: ssthresh is kept if the timer expires again for the same segment.
        let repeated = self.expired_at == Some(self.scoreboard.high_ack());
        self.expired_at = Some(self.scoreboard.high_ack());
        self.controller
            .on_retransmission_timeout(&RetransmissionTimeout {
                now,
                sent_at: self.scoreboard.first_sent_at().unwrap_or(now),
                flight_size: self.reduction_base(),
                repeated,
            });
        self.mark_timed_out(now);
        self.recovery = Recovery::Timeout {
            point: self.scoreboard.high_data(),
        };
        if !repeated {
            self.undo = self.undo_from_here();
        }
        self.f_rto = self.config.rules.f_rto && self.sack;
        self.prr = None;
        self.probe = None;
        self.probe_due = false;
        self.newest_lost = None;
        self.duplicate_acks = 0;
        self.retransmit_beyond_window = true;
        self.window_changed = true;
    }

    /// Marks the segments that a timeout presumes lost: all without a SACK, or with RACK the first
    /// segment and those that are old enough (RFC 8985 §6.3).
    fn mark_timed_out(&mut self, now: Instant) {
        let rules = self.config.rules;
        if rules.forget_sacks_on_timeout {
            self.scoreboard.forget_sacks();
        }
        let recovering = Situation {
            recovering: true,
            ..self.situation()
        };
        let deadline = self.rack.deadline(self.timer.rtt(), recovering);
        let Self {
            events,
            sampler,
            controller,
            last_lost_end,
            ..
        } = self;
        let note = |known: Known<'_>| {
            let (segment, _) = known;
            controller.on_lost(&lost(now, known, sampler, last_lost_end));
            let (number, size) = (segment.start, segment.len);
            events.push(now, EventMask::PACKET, move || Event::Lost {
                number,
                size,
                trigger: LossTrigger::Timeout,
                packet_type: PacketType::None,
            });
        };
        match deadline.filter(|_| rules.loss_detection == LossDetection::Rack && self.sack) {
            Some(deadline) => {
                let is_old = |segment: &SentSegment| segment.sent_at + deadline.age <= now;
                self.scoreboard.on_timeout(is_old, note);
            }
            None => self.scoreboard.on_timeout(|_| true, note),
        }
    }

    /// F-RTO (RFC 5682 §3, with SACK): after a timeout that retransmitted the first segment, new
    /// data instead of old is sent. The arrival of a segment that was sent only before the timeout
    /// shows that the timeout was spurious; a duplicate first shows that it was not.
    fn handle_f_rto(&mut self, now: Instant, kind: AckKind, update: &AckUpdate) {
        let Recovery::Timeout { point } = self.recovery else {
            return;
        };
        if !self.f_rto {
            return;
        }
        if update.original_arrived {
            self.scoreboard.undo_timeout();
            return self.undo_reduction(now);
        }
        let sent_new = self.scoreboard.high_data() > point;
        if sent_new && (update.sacked || kind == AckKind::Duplicate) {
            self.f_rto = false;
        }
    }

    /// A DSACK reports a needless retransmission (RFC 2883 §5). If all retransmissions of a
    /// recovery were needless, the reduction is undone.
    fn take_dsack(&mut self, now: Instant, update: &AckUpdate) {
        let Some((start, end)) = update.dsack else {
            return;
        };
        let undo = &mut self.undo;
        if undo.retransmissions == 0 || start < undo.flight.0 || end > undo.flight.1 {
            return;
        }
        undo.retransmissions -= 1;
        if undo.retransmissions == 0 && self.config.rules.controller.undo_spurious {
            self.undo_reduction(now);
        }
    }

    fn undo_from_here(&self) -> Undo {
        Undo {
            flight: (self.scoreboard.high_ack(), self.scoreboard.high_data()),
            retransmissions: 0,
        }
    }

    /// Undoes the reduction, which was spurious.
    fn undo_reduction(&mut self, now: Instant) {
        if self.controller.on_spurious_congestion_event(now) {
            self.events
                .push(now, EventMask::TIMEOUT, || Event::Spurious);
        }
        self.recovery = Recovery::None;
        self.prr = None;
        self.f_rto = false;
        self.undo = Undo::default();
        self.expired_at = None;
        self.retransmit_beyond_window = false;
    }
}

/// The record of a lost segment for the controller.
fn lost(
    now: Instant,
    (segment, snapshot): Known<'_>,
    sampler: &mut DeliveryRateSampler,
    last_lost_end: &mut Option<u64>,
) -> Lost {
    let bytes = u64::from(segment.len);
    let lost_since_sent = sampler.on_lost(bytes, snapshot);
    let snapshot = snapshot.copied().unwrap_or_default();
    let before = last_lost_end.replace(segment.end());
    Lost {
        now,
        sent_at: segment.sent_at,
        bytes,
        tx_in_flight: u64::from(snapshot.tx_in_flight),
        lost_since_sent,
        delivered: sampler.delivered(),
        app_limited: snapshot.app_limited,
        continues_range: before == Some(segment.start),
    }
}
