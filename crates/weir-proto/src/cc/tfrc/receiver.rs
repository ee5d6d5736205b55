//! The receiver: measures X_recv and the loss event rate, and says when feedback is due
//! (RFC 5348 §6, RFC 4342 §6 and §10).
//!
//! Feedback is due for the first data packet, for a new loss event, and when the window counter
//! is more than three ahead of that of the packet that triggered the last feedback.

use super::loss_history::{Entry, Hole, LossHistory};
use super::loss_intervals::{LossIntervals, ReportedInterval};
use super::profile::{
    DataLength, FirstInterval, FirstPacketLoss, LossEventRule, Profile, ReceiveRateRule,
    ReceiverRttRule,
};
use super::receiver_rtt::ReceiverRtt;
use super::{DEFAULT_RTT, MAX_RATE};
use crate::time::{Duration, Instant};

/// A packet as the receiver sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When.
    pub now: Instant,
    /// Its sequence number, counted without wrapping.
    pub seq: u64,
    /// Its window counter.
    pub ccval: u8,
    /// Octets of its payload; `None` for a packet without data.
    pub payload: Option<u32>,
    /// Its NDP count, if it carries one.
    pub ndp: Option<u64>,
    /// It was marked with congestion experienced: a loss event without a loss.
    pub marked: bool,
    /// The sender's R, if an option tells it (RFC 6323).
    pub rtt: Option<Duration>,
}

/// What a feedback packet says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// X_recv in octets per second.
    pub receive_rate: u32,
    /// 1/p in packets, rounded up; 2^32 - 1 for no loss.
    pub inverse_loss_rate: u32,
    /// From the arrival of the last packet to the feedback.
    pub elapsed: Duration,
}

/// Where the current loss event began.
#[derive(Clone, Copy, Debug)]
struct LossEvent {
    start: u64,
    before: Entry,
    at: Instant,
    /// A packet from whose number on a loss begins a new event.
    closed_from: Option<u64>,
    /// Packets without data since.
    non_data: u64,
    lost: u64,
}

/// The data receiver's half of TFRC.
#[derive(Clone, Debug)]
pub struct Receiver {
    profile: Profile,
    history: LossHistory,
    intervals: LossIntervals,
    rtt: ReceiverRtt,
    told_rtt: Option<Duration>,
    event: Option<LossEvent>,
    events: u64,
    /// Data octets since the last feedback that measured, and when that was.
    bytes: u64,
    measured_at: Option<Instant>,
    /// The same of the interval before, for rates over at least a round-trip time.
    earlier: (u64, Duration),
    receive_rate: f64,
    greatest_rate: f64,
    last_counter: u8,
    segment_size: u32,
    due: Due,
    latest: Instant,
}

/// Why feedback is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    No,
    First,
    Periodic,
    LossEvent,
}

impl Receiver {
    /// A receiver under these rules.
    pub fn new(profile: &Profile) -> Self {
        Self {
            history: LossHistory::default(),
            intervals: LossIntervals::new(profile.discounting, profile.arithmetic.is_kernel()),
            rtt: ReceiverRtt::default(),
            told_rtt: None,
            event: None,
            events: 0,
            bytes: 0,
            measured_at: None,
            earlier: (0, Duration::ZERO),
            receive_rate: 0.0,
            greatest_rate: 0.0,
            last_counter: 0,
            segment_size: 0,
            due: Due::No,
            latest: Instant::ZERO,
            profile: profile.clone(),
        }
    }

    /// The receiver's estimate of the round-trip time.
    pub fn rtt(&self) -> Duration {
        self.told_rtt.or(self.rtt.get()).unwrap_or(DEFAULT_RTT)
    }

    /// True if feedback should leave.
    pub fn wants_feedback(&self) -> bool {
        self.due != Due::No
    }

    /// Loss events so far.
    pub const fn loss_events(&self) -> u64 {
        self.events
    }

    /// p.
    pub fn loss_event_rate(&self) -> f64 {
        self.intervals
            .mean(self.open_length())
            .map_or(0.0, |mean| 1.0 / mean)
    }

    /// I_0: packets since the last loss event began.
    fn open_length(&self) -> u64 {
        let Some((event, greatest)) = self.event.zip(self.history.greatest()) else {
            return 0;
        };
        let length = (greatest.seq + 1).saturating_sub(event.start);
        match self.profile.data_length {
            DataLength::AllPackets => length,
            DataLength::WithoutNonData => length.saturating_sub(event.non_data).max(1),
        }
    }

    /// A packet arrived.
    pub fn on_packet(&mut self, arrival: &Arrival) {
        let Arrival {
            now,
            seq,
            ccval,
            payload,
            ndp,
            ..
        } = *arrival;
        self.told_rtt = arrival.rtt.or(self.told_rtt);
        let entry = Entry {
            seq,
            ccval,
            at: now,
        };
        let first_data = payload.is_some() && self.measured_at.is_none();
        if first_data || self.profile.first_packet_loss == FirstPacketLoss::Counted {
            self.history.start(entry);
        } else if self.measured_at.is_none() {
            return;
        }
        let mut lost = [None; 4];
        let mut count = 0;
        let new = self.history.on_packet(entry, ndp, |hole| {
            if let Some(slot) = lost.get_mut(count) {
                *slot = Some(hole);
                count += 1;
            }
        });
        self.latest = now;
        if !new && !first_data {
            return;
        }
        if let Some(event) = &mut self.event {
            event.non_data += u64::from(payload.is_none());
            let ahead = (ccval + 16 - event.before.ccval) % 16;
            if ahead > 4 && event.closed_from.is_none() {
                event.closed_from = Some(seq);
            }
        }
        if let Some(payload) = payload {
            self.on_data(arrival, payload);
        }
        for hole in lost.into_iter().flatten() {
            self.on_loss(now, hole);
        }
        if arrival.marked {
            // RFC 4342 §10.2: a mark counts as a loss of this packet.
            let hole = Hole::marked(entry);
            self.on_loss(now, hole);
        }
        self.check_counter(payload.is_some(), ccval);
    }

    fn on_data(&mut self, arrival: &Arrival, payload: u32) {
        let old = u64::from(self.segment_size);
        // Linux's average of payload sizes; others use it only for the first interval.
        self.segment_size = match old {
            0 => payload,
            old => ((9 * old + u64::from(payload)) / 10) as u32,
        };
        let sampling =
            self.profile.receiver_rtt == ReceiverRttRule::Always || self.intervals.is_empty();
        if sampling {
            self.rtt
                .on_data(arrival.now, arrival.ccval, self.profile.arithmetic);
        }
        if self.measured_at.is_none() {
            self.measured_at = Some(arrival.now);
            self.last_counter = arrival.ccval;
            self.due = Due::First;
            return;
        }
        self.bytes += u64::from(payload);
    }

    fn check_counter(&mut self, data: bool, ccval: u8) {
        let ahead = (ccval + 16 - self.last_counter) % 16;
        if data && ahead > 3 && self.due != Due::First {
            self.last_counter = ccval;
            if self.due == Due::No {
                self.due = Due::Periodic;
            }
        }
    }

    fn on_loss(&mut self, now: Instant, hole: Hole) {
        let rule = self.profile.data_length;
        let start = match rule {
            DataLength::AllPackets => hole.before.seq,
            DataLength::WithoutNonData => hole.start,
        };
        let Some(event) = &mut self.event else {
            let length = self.first_interval(now);
            self.intervals.close(0, length, ReportedInterval::default());
            self.begin_event(start, hole);
            return;
        };
        if !Self::is_new(
            self.profile.loss_event_rule,
            event,
            &hole,
            self.told_rtt.or(self.rtt.get()),
        ) {
            event.lost += hole.end - hole.start;
            return;
        }
        let length = start.saturating_sub(event.start);
        let data = match rule {
            DataLength::AllPackets => length,
            DataLength::WithoutNonData => length.saturating_sub(event.non_data),
        };
        let reported = ReportedInterval {
            lossless: length.saturating_sub(event.lost),
            loss: event.lost,
            data: data.max(1),
        };
        self.intervals.close(length, data.max(1), reported);
        self.begin_event(start, hole);
    }

    fn begin_event(&mut self, start: u64, hole: Hole) {
        self.events += 1;
        self.event = Some(LossEvent {
            start,
            before: hole.before,
            at: hole.time(),
            closed_from: None,
            non_data: 0,
            lost: hole.end - hole.start,
        });
        self.due = if self.due == Due::First {
            Due::First
        } else {
            Due::LossEvent
        };
    }

    fn is_new(rule: LossEventRule, event: &LossEvent, hole: &Hole, rtt: Option<Duration>) -> bool {
        match rule {
            // RFC 4342 §10.2: some packet received up to the one before the loss is more than
            // four quarters after the one before the event.
            LossEventRule::WindowCounter => {
                hole.before.seq > event.before.seq
                    && event.closed_from.is_some_and(|seq| seq <= hole.before.seq)
            }
            LossEventRule::ArrivalTime => hole.time() > event.at + rtt.unwrap_or(DEFAULT_RTT),
        }
    }

    /// RFC 5348 §6.3.1: the interval before the first loss, from the rate that was received.
    fn first_interval(&self, now: Instant) -> u64 {
        let rtt = self.rtt();
        let segment = self.segment_size.max(1);
        let since = self.measured_at.map_or(Duration::ZERO, |at| now.since(at));
        let current = self.profile.arithmetic.per(self.bytes as f64, since);
        let current = if since.is_zero() || self.bytes == 0 {
            self.receive_rate
        } else {
            current
        };
        let per_rtt = f64::from(segment) / rtt.as_secs_f64();
        let rate = match self.profile.first_interval {
            FirstInterval::SinceFeedback => current,
            FirstInterval::LastReceiveRate => {
                if since >= rtt {
                    current
                } else {
                    self.receive_rate.max(current)
                }
            }
            FirstInterval::GreatestReceiveRate => {
                let recent = if since >= rtt { current } else { 0.0 };
                self.greatest_rate.max(recent).max(per_rtt / 2.0)
            }
        };
        // Without any rate: half a packet per round-trip time.
        let rate = if rate > 0.0 { rate } else { per_rtt / 2.0 };
        let p = self.profile.equation.invert(segment, rtt, rate);
        let length = if self.profile.arithmetic.is_kernel() {
            (1.0 / p).floor()
        } else {
            (1.0 / p).round()
        };
        (length as u64).max(1)
    }

    /// Feedback leaves: what it says. Begins the next measurement.
    pub fn take_report(&mut self, now: Instant) -> Report {
        let since = self.measured_at.map_or(Duration::ZERO, |at| now.since(at));
        self.receive_rate = self.rate_to_report(since).min(MAX_RATE);
        self.greatest_rate = self.greatest_rate.max(self.receive_rate);
        if self.due != Due::First {
            self.earlier = (self.bytes, since);
        }
        // The first feedback begins the count; a loss event of Linux repeats the old value.
        self.measured_at = Some(now);
        self.bytes = 0;
        self.due = Due::No;
        Report {
            receive_rate: self.receive_rate.min(f64::from(u32::MAX)) as u32,
            inverse_loss_rate: self.inverse_loss_rate(),
            elapsed: now.since(self.latest),
        }
    }

    fn rate_to_report(&self, since: Duration) -> f64 {
        if self.due == Due::First {
            return 0.0;
        }
        let arithmetic = self.profile.arithmetic;
        match self.profile.receive_rate {
            ReceiveRateRule::SinceFeedback
                if self.due == Due::LossEvent && self.receive_rate > 0.0 =>
            {
                self.receive_rate
            }
            // Linux 6.x: an interval that is not positive counts as a microsecond.
            ReceiveRateRule::SinceFeedback => arithmetic
                .per(self.bytes as f64, since.max(Duration::from_micros(1)))
                .floor(),
            ReceiveRateRule::AtLeastRoundTrip => {
                let (bytes, span) = if since < self.rtt() {
                    (self.bytes + self.earlier.0, since + self.earlier.1)
                } else {
                    (self.bytes, since)
                };
                arithmetic.per(bytes as f64, span.max(Duration::from_micros(1)))
            }
        }
    }

    fn inverse_loss_rate(&self) -> u32 {
        match self.intervals.mean(self.open_length()) {
            None => u32::MAX,
            Some(mean) => mean.ceil().min(f64::from(u32::MAX - 1)) as u32,
        }
    }

    /// The intervals for the Loss Intervals option, the open one first.
    pub fn reported_intervals(&self) -> impl Iterator<Item = ReportedInterval> + '_ {
        let open = self.event.map(|event| {
            let length = self
                .history
                .greatest()
                .map_or(0, |g| (g.seq + 1).saturating_sub(event.start));
            ReportedInterval {
                lossless: length.saturating_sub(event.lost),
                loss: event.lost,
                data: self.open_length(),
            }
        });
        open.into_iter().chain(self.intervals.reported())
    }
}

impl Hole {
    /// When the loss happened: the arrivals on both sides, interpolated by number (RFC 5348 §5.2).
    fn time(&self) -> Instant {
        let numbers = (self.after.seq - self.before.seq).max(1);
        let ahead = self.start.saturating_sub(self.before.seq);
        self.before.at + self.after.at.since(self.before.at) * ahead / numbers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(millis: u64, seq: u64) -> Arrival {
        Arrival {
            now: Instant::from_nanos(millis * 1_000_000),
            seq,
            ccval: ((millis / 25) % 16) as u8,
            payload: Some(1000),
            ndp: None,
            marked: false,
            rtt: None,
        }
    }

    /// A packet each 10 ms with a round-trip time of 100 ms; `lost` numbers do not arrive.
    /// Returns the time of each feedback and what it says.
    fn run(profile: &Profile, lost: impl Fn(u64) -> bool, packets: u64) -> Vec<(u64, Report)> {
        let mut receiver = Receiver::new(profile);
        let mut reports = Vec::new();
        for seq in (0..packets).filter(|&seq| !lost(seq)) {
            receiver.on_packet(&arrival(seq * 10, seq));
            if receiver.wants_feedback() {
                reports.push((
                    seq * 10,
                    receiver.take_report(Instant::from_nanos(seq * 10_000_000)),
                ));
            }
        }
        reports
    }

    #[test]
    fn reports_once_a_round_trip_time() {
        for name in Profile::NAMES {
            let profile = Profile::named(name).unwrap();
            let reports = run(&profile, |_| false, 100);
            assert_eq!(
                reports[0].1.receive_rate, 0,
                "{name}: the first says nothing yet"
            );
            let times: Vec<_> = reports.iter().map(|(at, _)| *at).collect();
            assert_eq!(times[..4], [0, 100, 200, 300], "{name}");
            assert_eq!(reports[3].1.receive_rate, 100_000, "{name}");
            assert!(
                reports
                    .iter()
                    .all(|(_, report)| report.inverse_loss_rate == u32::MAX)
            );
        }
    }

    #[test]
    fn a_loss_is_reported_at_once_and_periodic_losses_give_their_interval() {
        for name in Profile::NAMES {
            let profile = Profile::named(name).unwrap();
            let reports = run(&profile, |seq| seq % 50 == 49, 1000);
            let first = reports
                .iter()
                .find(|(_, report)| report.inverse_loss_rate < u32::MAX);
            // Number 49 is missing; 50, 51 and 52 show it.
            assert_eq!(first.map(|(at, _)| *at), Some(520), "{name}");
            let last = reports.last().unwrap().1.inverse_loss_rate;
            assert_eq!(last, 50, "{name}");
        }
    }

    #[test]
    fn losses_within_a_round_trip_time_are_one_event() {
        let profile = Profile::rfc5348();
        let mut receiver = Receiver::new(&profile);
        for seq in (0..100).filter(|seq| ![40, 43, 46].contains(seq)) {
            receiver.on_packet(&arrival(seq * 10, seq));
        }
        assert_eq!(receiver.loss_events(), 1);
        let mut receiver = Receiver::new(&profile);
        for seq in (0..100).filter(|seq| ![40, 65].contains(seq)) {
            receiver.on_packet(&arrival(seq * 10, seq));
        }
        assert_eq!(receiver.loss_events(), 2);
    }

    #[test]
    fn a_mark_is_a_loss_event() {
        let mut receiver = Receiver::new(&Profile::rfc5348());
        for seq in 0..60 {
            receiver.on_packet(&Arrival {
                marked: seq == 30,
                ..arrival(seq * 10, seq)
            });
        }
        assert_eq!(receiver.loss_events(), 1);
    }
}
