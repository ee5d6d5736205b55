//! The receiver of TFRC (RFC 5348 §6, RFC 4342 §10): it processes every packet, keeps the loss
//! history, and computes when feedback is due and its values.
//!
//! Feedback is due for the first data packet, when the window counter has advanced by four since
//! the last feedback (RFC 4342 §10.3), and at once for a new loss event.
//!
//! Does not model: a feedback timer. The window counter replaces it (RFC 4342 §10.3), so there is
//! no feedback while the counter does not advance.

mod decision;
#[cfg(test)]
mod interval_vectors;
mod received_octets;
#[cfg(test)]
mod report_vectors;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod vectors;

use self::received_octets::ReceivedOctets;
use super::DEFAULT_RTT;
use super::equation::Equation;
use super::loss_history::{Detected, HistoryEntry, Hole, LossHistory};
use super::loss_intervals::{LossIntervals, ReportedInterval, data_length};
use super::profile::{
    Arithmetic, DataLength, FirstInterval, FirstPacketLoss, LossEventRule, LossReport, Profile,
    ReceiveRateRule,
};
use super::receiver_rtt::ReceiverRtt;
use super::small_packets::interval_length;
use super::wireless_extensions::LossDiscriminator;
use crate::time::{Duration, Instant};
use std::sync::Arc;

/// Losses whose window counters are further apart are two events (RFC 4342 §10.2).
const EVENT_DISTANCE: u8 = 4;
/// The advance of the window counter from one feedback to the next (RFC 4342 §10.3).
const FEEDBACK_DISTANCE: u8 = 4;
/// Round trips without data after which the sender is quiescent, and the least time (RFC 4342
/// §6.4).
const QUIESCENT_ROUND_TRIPS: u64 = 2;
const QUIESCENT_TIME: Duration = Duration::from_millis(200);
/// The least X_target at the first loss, in packets a round trip (RFC 5348 §6.3.1).
const LEAST_TARGET: f64 = 0.5;
/// An interval of at most this many round trips is short (RFC 4828 §3).
const SHORT_ROUND_TRIPS: u64 = 2;
/// The greatest Drop Count (RFC 5622 §8.7).
const MAX_DROP_COUNT: u64 = (1 << 24) - 1;

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
pub struct ArrivedPacket {
    /// Sequence number, extended beyond 48 bits so that it does not wrap.
    pub seq: i64,
    /// CCVal: the window counter; used for data packets only.
    pub counter: u8,
    /// Octets of payload; `None` for a packet without data.
    pub payload: Option<u32>,
    /// NDP Count, zero without the option.
    pub ndp: u64,
    /// It carries Congestion Experienced.
    pub marked: bool,
}

/// The contents of feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackReport {
    /// X_recv in octets per second.
    pub receive_rate: u32,
    /// 1/p in packets, rounded up; 2^32 - 1 without loss (RFC 4342 §8.5).
    pub inverse_loss_event_rate: u32,
    /// Elapsed Time: since the arrival of the newest packet.
    pub elapsed: Duration,
    /// Skip Length: the newest packets, which are in no interval yet (RFC 4342 §8.6.1).
    pub skip: u8,
}

/// Why feedback is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FeedbackReason {
    None,
    FirstPacket,
    Periodic,
    LossEvent,
}

/// The latest loss event.
#[derive(Clone, Copy, Debug)]
struct LossEvent {
    /// The first sequence number of its interval.
    start: i64,
    /// Window counter of the last packet before it.
    counter: u8,
    /// When its first lost packet would have arrived.
    at: Instant,
    /// The last lost sequence number.
    last_lost: i64,
    /// A data packet more than four counters later has arrived (RFC 4342 §10.2).
    closed: bool,
    /// Packets without data in its interval.
    non_data: i64,
    /// Packets lost or marked.
    drops: u64,
}

/// The receiver of TFRC.
#[derive(Clone, Debug)]
pub struct Receiver {
    profile: Arc<Profile>,
    equation: Equation,
    history: Option<LossHistory>,
    first_seq: i64,
    packets_lost: u64,
    intervals: LossIntervals,
    event: Option<LossEvent>,
    rtt: ReceiverRtt,
    due: FeedbackReason,
    /// I_mean at the last feedback or loss event; zero before the first loss.
    last_mean: f64,
    any_data: bool,
    newest_at: Instant,
    newest_data_at: Instant,
    newest_counter: u8,
    /// The window counter of the newest data packet at the last feedback.
    last_counter: u8,
    /// s in octets, the mean of the packets that arrived.
    segment_size: f64,
    received: ReceivedOctets,
    receive_rate: f64,
    greatest_receive_rate: f64,
    /// The least time between two data packets, for the loss discriminator.
    least_gap: Option<Duration>,
    /// The sequence number from which on loss events count, and the events since that began before
    /// it.
    counted_from: i64,
    uncounted_events: u64,
}

impl Receiver {
    /// A receiver before the first packet.
    pub fn new(profile: impl Into<Arc<Profile>>) -> Self {
        let profile = profile.into();
        Self {
            equation: Equation::new(&profile),
            history: None,
            first_seq: 0,
            packets_lost: 0,
            intervals: LossIntervals::new(&profile),
            event: None,
            rtt: ReceiverRtt::new(&profile),
            profile,
            due: FeedbackReason::None,
            last_mean: 0.0,
            any_data: false,
            newest_at: Instant::ZERO,
            newest_data_at: Instant::ZERO,
            newest_counter: 0,
            last_counter: 0,
            segment_size: 0.0,
            received: ReceivedOctets::new(),
            receive_rate: 0.0,
            greatest_receive_rate: 0.0,
            least_gap: None,
            counted_from: i64::MIN,
            uncounted_events: 0,
        }
    }

    /// The rules of this receiver.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// p; zero before the first loss.
    pub fn loss_event_rate(&self) -> f64 {
        self.intervals.loss_event_rate()
    }

    /// Packets lost so far, from the first data packet on. Marked packets that arrived are not
    /// included, though they count as losses for the loss event rate (RFC 5348 §5.1).
    pub const fn packets_lost(&self) -> u64 {
        self.packets_lost
    }

    /// True once a packet with data has arrived.
    pub const fn has_data(&self) -> bool {
        self.any_data
    }

    /// Loss events so far.
    pub const fn loss_events(&self) -> u64 {
        self.intervals.events()
    }

    /// Loss events whose first lost or marked packet has at least the number given to
    /// [`count_loss_events_from`](Self::count_loss_events_from) last.
    pub const fn counted_loss_events(&self) -> u64 {
        self.intervals.events() - self.uncounted_events
    }

    /// Stops counting loss events that begin before this sequence number.
    pub const fn count_loss_events_from(&mut self, seq: i64) {
        self.counted_from = seq;
    }

    /// R: the estimate of the receiver, or of the sender if it reports one.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt.get()
    }

    /// An RTT Estimate option arrived (RFC 6323).
    pub const fn on_rtt_estimate(&mut self, rtt: Duration) {
        self.rtt.on_rtt_estimate(rtt);
    }

    /// True if no data has arrived for max(2R, 0.2 s) (RFC 4342 §6.4).
    pub fn is_quiescent(&self, now: Instant) -> bool {
        let silence =
            (self.rtt.get().unwrap_or(DEFAULT_RTT) * QUIESCENT_ROUND_TRIPS).max(QUIESCENT_TIME);
        self.any_data && now.since(self.newest_data_at) >= silence
    }

    /// A packet arrived; `on_lost` receives the sequence numbers of packets that it shows to be
    /// lost.
    pub fn on_packet(
        &mut self,
        now: Instant,
        arrived: &ArrivedPacket,
        on_lost: impl FnMut(std::ops::Range<i64>),
    ) {
        let packet = HistoryEntry {
            seq: arrived.seq,
            counter: arrived.counter & 15,
            at: now,
            data: arrived.payload.is_some(),
            ndp: arrived.ndp,
            marked: arrived.marked && arrived.payload.is_some(),
        };
        let mut in_order = false;
        let newest = match &mut self.history {
            None => {
                let unseen = self.profile.first_packet_loss == FirstPacketLoss::Unseen;
                if unseen && !packet.data {
                    return;
                }
                self.history = Some(LossHistory::new(packet));
                self.first_seq = packet.seq;
                self.on_in_order(&packet);
                true
            }
            Some(history) => {
                let newest = packet.seq > history.greatest();
                in_order = history.extend(&packet);
                if !in_order && !history.insert(packet) {
                    return;
                }
                newest
            }
        };
        if newest {
            self.newest_at = now;
        }
        if let Some(payload) = arrived.payload {
            if newest && self.any_data {
                let gap = now.since(self.newest_data_at);
                self.least_gap = Some(self.least_gap.map_or(gap, |least| least.min(gap)));
            }
            self.on_data(now, payload, packet.counter, newest);
        }
        if in_order {
            self.settle(now, &packet);
        } else {
            self.drain_history(now, on_lost);
        }
        self.update_open_interval(now);
        if newest && packet.data {
            self.check_counter(packet.counter);
        }
    }

    /// True if feedback should leave now.
    pub const fn wants_feedback(&self) -> bool {
        !matches!(self.due, FeedbackReason::None)
    }

    /// Returns the feedback that leaves now, if it is due.
    pub fn take_feedback(&mut self, now: Instant) -> Option<FeedbackReport> {
        let due = std::mem::replace(&mut self.due, FeedbackReason::None);
        match due {
            FeedbackReason::None => return None,
            FeedbackReason::FirstPacket => self.receive_rate = 0.0,
            // Linux repeats the last value after a loss, if there is one.
            FeedbackReason::LossEvent
                if self.profile.receive_rate == ReceiveRateRule::SinceFeedback
                    && self.receive_rate > 0.0 => {}
            FeedbackReason::Periodic | FeedbackReason::LossEvent => {
                self.receive_rate = self.received.rate(&self.profile, self.rtt.get(), now);
            }
        }
        self.greatest_receive_rate = self.greatest_receive_rate.max(self.receive_rate);
        self.last_mean = self.intervals.mean();
        self.last_counter = self.newest_counter;
        self.received.on_feedback(now);
        Some(FeedbackReport {
            receive_rate: self.receive_rate.min(f64::from(u32::MAX)) as u32,
            inverse_loss_event_rate: self.inverse_loss_event_rate(),
            elapsed: now.since(self.newest_at),
            skip: self.skip(),
        })
    }

    /// The loss intervals, newest first, at most nine (RFC 4342 §8.6).
    pub fn reported_intervals(&self) -> impl Iterator<Item = ReportedInterval> + '_ {
        let settled = self.settled_end();
        let open = match &self.event {
            None => ReportedInterval {
                lossless_length: clamp(settled - self.first_seq + 1),
                ..ReportedInterval::default()
            },
            Some(event) => ReportedInterval {
                lossless_length: clamp(settled - event.last_lost),
                loss_length: clamp(event.last_lost - self.first_lost(event) + 1),
                data_length: data_length(self.open_length(event)),
                drop_count: event.drops.min(MAX_DROP_COUNT) as u32,
            },
        };
        self.intervals.reported(open)
    }

    fn inverse_loss_event_rate(&self) -> u32 {
        let mean = self.intervals.mean();
        if mean <= 0.0 {
            return u32::MAX;
        }
        // RFC 4342 §8.5: rounded up; the greatest value means no loss.
        let whole = mean as u64 + u64::from(mean > (mean as u64) as f64);
        whole.min(u64::from(u32::MAX) - 1) as u32
    }

    // ---- Arrivals ----

    fn on_data(&mut self, now: Instant, payload: u32, counter: u8, newest: bool) {
        let size = f64::from(payload.max(1));
        self.segment_size = if self.segment_size > 0.0 {
            let arithmetic = self.profile.arithmetic;
            arithmetic
                .smoothed_size(self.segment_size, size, 0.9)
                .max(1.0)
        } else {
            size
        };
        if newest {
            self.newest_counter = counter;
        }
        self.newest_data_at = now;
        if self.any_data {
            self.received.add(payload);
        } else {
            // The octets of the first packet do not count: it starts the measurement.
            self.any_data = true;
            self.newest_counter = counter;
            self.last_counter = counter;
            self.due = FeedbackReason::FirstPacket;
        }
    }

    fn check_counter(&mut self, counter: u8) {
        let pending = self.history.as_ref().is_some_and(LossHistory::is_pending);
        if self.due != FeedbackReason::None
            || (pending && self.profile.arithmetic != Arithmetic::Float)
        {
            return;
        }
        if self.counter_has_advanced(counter) {
            self.due = FeedbackReason::Periodic;
        }
    }

    fn drain_history(&mut self, now: Instant, mut on_lost: impl FnMut(std::ops::Range<i64>)) {
        while let Some(detected) = self.history.as_mut().and_then(LossHistory::next_detected) {
            match detected {
                Detected::InOrder(packet) => self.settle(now, &packet),
                Detected::Lost(hole) => {
                    // An endpoint that receives only acknowledgements loses no data.
                    if self.any_data {
                        self.packets_lost += hole.drops();
                        on_lost(hole.lost());
                    }
                    self.rtt.on_lost(hole.drops());
                    self.on_loss(now, &hole);
                }
            }
        }
    }

    /// All packets before `packet` have arrived or are lost.
    fn settle(&mut self, now: Instant, packet: &HistoryEntry) {
        if packet.marked {
            self.on_loss(now, &Hole::of_mark(packet));
        }
        self.on_in_order(packet);
    }

    fn on_in_order(&mut self, packet: &HistoryEntry) {
        if let Some(event) = &mut self.event {
            if !packet.data {
                event.non_data += 1;
            } else if packet.counter.wrapping_sub(event.counter) & 15 > EVENT_DISTANCE {
                event.closed = true;
            }
        }
        if packet.data {
            let lost_before = self.event.is_some();
            self.rtt.on_data(packet.at, packet.counter, lost_before);
        }
    }

    // ---- Losses ----

    fn on_loss(&mut self, now: Instant, hole: &Hole) {
        let drops = hole.drops();
        if self.is_link_error(hole) {
            return;
        }
        let at = interpolated(hole);
        let last_lost = hole.after.seq - 1;
        if let Some(event) = &mut self.event
            && !Self::is_new_loss_event(&self.profile, self.rtt.get(), event, hole, at)
        {
            event.last_lost = last_lost;
            event.drops += drops;
            return;
        }
        let start = match self.profile.data_length {
            DataLength::WithoutNonData => hole.before.seq + 1,
            DataLength::AllPackets => hole.before.seq,
        };
        let new = LossEvent {
            start,
            counter: hole.before.counter,
            at,
            last_lost,
            closed: false,
            non_data: 0,
            drops,
        };
        let open = self.open_length(&new);
        if let Some(old) = self.event {
            let closed = (start - old.start - self.discounted_non_data(&old)) as f64;
            let reported = ReportedInterval {
                lossless_length: clamp(hole.before.seq - old.last_lost),
                loss_length: clamp(old.last_lost - self.first_lost(&old) + 1),
                data_length: data_length(closed),
                drop_count: old.drops.min(MAX_DROP_COUNT) as u32,
            };
            let short = self.is_short(&old, at);
            let length = interval_length(closed, old.drops, short);
            self.intervals
                .set_open_is_short(self.profile.small_packets.is_some());
            self.intervals.on_loss(reported, length, open);
        } else {
            let reported = ReportedInterval {
                lossless_length: clamp(hole.before.seq - self.first_seq + 1),
                ..ReportedInterval::default()
            };
            let synthetic = self.first_interval(now);
            self.intervals.on_first_loss(reported, synthetic, open);
        }
        self.event = Some(new);
        self.uncounted_events += u64::from(hole.before.seq + 1 < self.counted_from);
        self.report_loss_event();
    }

    /// RFC 5348 §6.1 steps 3 and 4: p is calculated; if it has increased, feedback is due at once.
    fn report_loss_event(&mut self) {
        let before = std::mem::replace(&mut self.last_mean, self.intervals.mean());
        let greater = before == 0.0 || self.last_mean < before;
        if greater || self.profile.loss_report == LossReport::EveryEvent {
            self.due = FeedbackReason::LossEvent;
        }
    }

    /// True if the loss discriminator attributes the loss to the link.
    fn is_link_error(&self, hole: &Hole) -> bool {
        if self.profile.wireless.discriminator == LossDiscriminator::Off || hole.before.marked {
            return false;
        }
        let Some(least) = self.least_gap.filter(|least| !least.is_zero()) else {
            return false;
        };
        let lost = hole.drops();
        let gap = hole.after.at.since(hole.before.at);
        gap >= least * (lost + 1) && gap < least * (lost + 2)
    }

    /// True if a loss begins a new loss event (RFC 5348 §5.2, RFC 4342 §10.2).
    fn is_new_loss_event(
        profile: &Profile,
        rtt: Option<Duration>,
        event: &LossEvent,
        hole: &Hole,
        at: Instant,
    ) -> bool {
        match profile.loss_event_rule {
            LossEventRule::WindowCounter => {
                event.closed
                    || hole.before.counter.wrapping_sub(event.counter) & 15 > EVENT_DISTANCE
            }
            LossEventRule::ArrivalTime => at > event.at + rtt.unwrap_or(DEFAULT_RTT),
        }
    }

    /// The length of the synthetic interval before the first loss (RFC 5348 §6.3.1).
    fn first_interval(&self, now: Instant) -> f64 {
        let rtt = self.rtt.get().unwrap_or(DEFAULT_RTT);
        let size = self.segment_size.max(1.0);
        let (segment, share) = match &self.profile.small_packets {
            None => (size, 1.0),
            Some(rules) => (f64::from(rules.nominal_size), rules.share(size)),
        };
        let half_a_packet = LEAST_TARGET * segment / rtt.as_secs_f64();
        let measured = self.received.rate(&self.profile, self.rtt.get(), now);
        let rate = match self.profile.first_interval {
            FirstInterval::SinceFeedback | FirstInterval::LastReceiveRate => {
                if measured > 0.0 {
                    measured
                } else {
                    self.receive_rate.max(1.0)
                }
            }
            FirstInterval::GreatestReceiveRate => {
                measured.max(self.greatest_receive_rate).max(half_a_packet)
            }
        };
        let first_lost = !self.received.any_feedback();
        let counted = self.profile.first_packet_loss == FirstPacketLoss::Counted;
        let rate = if first_lost && counted {
            half_a_packet
        } else {
            rate
        };
        self.equation.interval_for(segment, rtt, rate / share)
    }

    /// True if the interval lasted at most two round trips and small packets are in use (RFC 4828
    /// §3).
    fn is_short(&self, event: &LossEvent, until: Instant) -> bool {
        let two_round_trips = self.rtt.get().unwrap_or(DEFAULT_RTT) * SHORT_ROUND_TRIPS;
        self.profile.small_packets.is_some() && until.since(event.at) <= two_round_trips
    }

    fn update_open_interval(&mut self, now: Instant) {
        let Some(event) = &self.event else { return };
        let (short, length) = (self.is_short(event, now), self.open_length(event));
        self.intervals.set_open_is_short(short);
        if self.intervals.on_growth(length) && self.due == FeedbackReason::None {
            self.due = FeedbackReason::LossEvent;
        }
    }

    fn open_length(&self, event: &LossEvent) -> f64 {
        let greatest = self
            .history
            .as_ref()
            .map_or(event.start, LossHistory::greatest);
        (greatest - event.start + 1 - self.discounted_non_data(event)) as f64
    }

    fn discounted_non_data(&self, event: &LossEvent) -> i64 {
        match self.profile.data_length {
            DataLength::WithoutNonData => event.non_data,
            DataLength::AllPackets => 0,
        }
    }

    fn first_lost(&self, event: &LossEvent) -> i64 {
        match self.profile.data_length {
            DataLength::WithoutNonData => event.start,
            DataLength::AllPackets => event.start + 1,
        }
    }

    // ---- Numbers ----

    /// The last sequence number that belongs to an interval.
    fn settled_end(&self) -> i64 {
        let before_the_first = self.first_seq - 1;
        let history = self.history.as_ref();
        history.map_or(before_the_first, LossHistory::greatest) - i64::from(self.skip())
    }

    fn skip(&self) -> u8 {
        let unsettled = self
            .history
            .as_ref()
            .map_or(0, |history| history.greatest() - history.base().seq);
        unsettled.clamp(0, 3) as u8
    }
}

/// When the first packet of a hole would have arrived (RFC 5348 §5.2).
fn interpolated(hole: &Hole) -> Instant {
    let span = hole.after.at.since(hole.before.at);
    let steps = (hole.after.seq - hole.before.seq).unsigned_abs();
    hole.before.at + span / steps
}

fn clamp(length: i64) -> u32 {
    length.clamp(0, i64::from(u32::MAX)) as u32
}
