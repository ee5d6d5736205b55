//! Samples of the delivery rate (draft-ietf-ccwg-bbr §4.1): the rate in octets per second at which
//! the network delivered the last flight. TCP, QUIC and the adapter for quinn share this sampler.
//!
//!   delivered = C.delivered - P.delivered
//!   interval  = max(P.send_time - P.first_send_time, C.delivered_time - P.delivered_time)
//!
//! C is the connection and P the newest packet that the acknowledgement delivers. A transport keeps
//! a [`DeliverySnapshot`] with each packet that it sends.

use crate::event::{Hold, RateLimit, SndLim};
use crate::time::{Duration, Instant};
use crate::units::Rate;
use std::mem::take;

/// The state of the connection when a packet was sent (draft-bbr §4.1.2.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliverySnapshot {
    /// P.delivered: octets delivered before it was sent.
    pub delivered: u64,
    /// P.lost: octets declared lost before it was sent.
    pub lost: u64,
    /// P.delivered_time: when something was last delivered before it was sent.
    pub delivered_time: Instant,
    /// P.first_send_time: when the first packet of its flight was sent.
    pub first_send_time: Instant,
    /// P.tx_in_flight: octets in flight when it had been sent, itself included. At most 4 GiB, so
    /// that the snapshots of many packets stay small.
    pub tx_in_flight: u32,
    /// P.is_app_limited: the application limited sending when it was sent.
    pub app_limited: bool,
    /// The limit of the sender within the round trip before it was sent, for the trace.
    /// P.is_app_limited, which controllers use, covers the application alone.
    pub limited_by: RateLimit,
}

/// The sample of the delivery rate from one acknowledgement (draft-bbr §4.1.2.1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// RS.delivered: octets delivered over the interval.
    pub delivered: u64,
    /// RS.interval: the length of the sampling interval.
    pub interval: Duration,
    /// RS.delivery_rate; `None` if the interval is shorter than the minimum round-trip time, or if
    /// no snapshot of a delivered packet is left.
    pub delivery_rate: Option<Rate>,
    /// RS.is_app_limited: the application limited the flight.
    pub app_limited: bool,
    /// The limit of the flight, as in [`DeliverySnapshot`].
    pub limited_by: RateLimit,
    /// RS.prior_delivered: P.delivered of the newest delivered packet, by which round trips are
    /// counted.
    pub prior_delivered: u64,
    /// C.delivered: octets delivered so far.
    pub total_delivered: u64,
    /// RS.tx_in_flight: octets in flight when the newest delivered packet had been sent.
    pub tx_in_flight: u64,
    /// RS.lost: octets declared lost between its sending and its delivery.
    pub lost: u64,
}

/// The newest packet that the acknowledgement in progress has delivered.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent_at: Instant,
    id: u64,
    snapshot: DeliverySnapshot,
}

/// The packets that the acknowledgement in progress has delivered and shown to be lost so far.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    newest: Option<Newest>,
    newest_sent_at: Instant,
    acked: u64,
    acked_packets: u64,
    lost: u64,
}

/// The totals of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    /// Octets newly acknowledged.
    pub newly_acked: u64,
    /// Packets newly acknowledged.
    pub packets: u64,
    /// Octets declared lost since the acknowledgement before.
    pub newly_lost: u64,
    /// When the newest of the packets was sent.
    pub newest_sent_at: Instant,
    /// The sample of the delivery rate.
    pub rate: RateSample,
}

/// The sampler of one connection (draft-bbr §4.1.2).
#[derive(Clone, Debug, Default)]
pub struct DeliveryRateSampler {
    /// C.delivered.
    delivered: u64,
    /// C.lost.
    lost: u64,
    /// C.delivered_time.
    delivered_time: Instant,
    /// C.first_send_time.
    first_send_time: Instant,
    /// C.app_limited: the count of delivered octets after which the bubble of idle time has passed;
    /// zero without a bubble.
    app_limited: u64,
    hold: Hold,
    progress: Progress,
}

impl DeliveryRateSampler {
    /// C.delivered: octets delivered so far.
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// C.lost: octets declared lost so far.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// True if C.app_limited is set: samples of packets sent now count as limited by the
    /// application.
    pub const fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// True if the bubble of idle time begins now, so that
    /// [`on_app_limited`](Self::on_app_limited) would change nothing.
    #[inline]
    pub fn is_app_limited_from_here(&self, bytes_in_flight: u64) -> bool {
        self.app_limited == (self.delivered + bytes_in_flight).max(1)
    }

    /// A packet of `bytes` leaves; `bytes_in_flight` includes it (OnPacketSent, draft-bbr
    /// §4.1.2.2). The transport keeps the snapshot with the packet.
    #[inline]
    pub fn on_sent(&mut self, now: Instant, bytes: u64, bytes_in_flight: u64) -> DeliverySnapshot {
        if bytes_in_flight <= bytes {
            self.first_send_time = now;
            self.delivered_time = now;
        }
        self.hold.settle(now);
        DeliverySnapshot {
            delivered: self.delivered,
            lost: self.lost,
            delivered_time: self.delivered_time,
            first_send_time: self.first_send_time,
            tx_in_flight: u32::try_from(bytes_in_flight).unwrap_or(u32::MAX),
            app_limited: self.app_limited != 0,
            limited_by: self.hold.limit(),
        }
    }

    /// A packet was delivered (UpdateRateSample, draft-bbr §4.1.2.3). `id` grows in the order of
    /// sending and distinguishes packets that were sent at the same time. A packet without a
    /// snapshot counts as delivered and gives no sample.
    #[inline]
    pub fn on_acked(
        &mut self,
        now: Instant,
        bytes: u64,
        (sent_at, id): (Instant, u64),
        snapshot: Option<&DeliverySnapshot>,
    ) {
        self.hold.settle(now);
        self.delivered += bytes;
        self.delivered_time = now;
        let progress = &mut self.progress;
        progress.acked += bytes;
        progress.acked_packets += 1;
        progress.newest_sent_at = progress.newest_sent_at.max(sent_at);
        let Some(&snapshot) = snapshot else { return };
        let is_newest = progress
            .newest
            .as_ref()
            .is_none_or(|newest| (sent_at, id) > (newest.sent_at, newest.id));
        if is_newest {
            progress.newest = Some(Newest {
                sent_at,
                id,
                snapshot,
            });
            self.first_send_time = sent_at;
        }
    }

    /// A packet was declared lost. Returns the octets declared lost since it was sent, itself
    /// included; zero without a snapshot.
    #[inline]
    pub fn on_lost(&mut self, bytes: u64, snapshot: Option<&DeliverySnapshot>) -> u64 {
        self.lost += bytes;
        self.progress.lost += bytes;
        snapshot.map_or(0, |snapshot| self.lost - snapshot.lost)
    }

    /// The acknowledgement was processed completely; the transport does not use its sample.
    #[inline]
    pub fn on_end_acks_unsampled(&mut self) {
        self.end_bubbles();
        let progress = &mut self.progress;
        (progress.acked, progress.acked_packets, progress.lost) = (0, 0, 0);
        progress.newest_sent_at = Instant::ZERO;
    }

    /// The acknowledgement was processed completely (GenerateRateSample, draft-bbr §4.1.2.3);
    /// `min_rtt` is the minimum round-trip time so far. `None` if it delivered no packet.
    pub fn on_end_acks(&mut self, min_rtt: Duration) -> Option<Delivered> {
        self.end_bubbles();
        if self.progress.acked_packets == 0 {
            return None;
        }
        let progress = &mut self.progress;
        let (newly_acked, packets) = (take(&mut progress.acked), take(&mut progress.acked_packets));
        let newly_lost = take(&mut progress.lost);
        let newest_sent_at = take(&mut progress.newest_sent_at);
        let mut rate = RateSample {
            total_delivered: self.delivered,
            ..RateSample::default()
        };
        if let Some(Newest {
            sent_at, snapshot, ..
        }) = &progress.newest
        {
            let send_elapsed = sent_at.since(snapshot.first_send_time);
            let ack_elapsed = self.delivered_time.since(snapshot.delivered_time);
            rate.delivered = self.delivered - snapshot.delivered;
            rate.interval = send_elapsed.max(ack_elapsed);
            rate.app_limited = snapshot.app_limited;
            rate.limited_by = snapshot.limited_by;
            rate.prior_delivered = snapshot.delivered;
            rate.tx_in_flight = u64::from(snapshot.tx_in_flight);
            rate.lost = self.lost - snapshot.lost;
            // draft-bbr §4.1.2.3: an interval below the minimum round-trip time, as after a
            // spurious retransmission, gives no sample.
            if rate.interval >= min_rtt && !rate.interval.is_zero() {
                let per_second = rate.delivered as f64 / rate.interval.as_secs_f64();
                rate.delivery_rate = Some(Rate::from_bytes_per_sec(per_second));
            }
        }
        progress.newest = None;
        Some(Delivered {
            newly_acked,
            packets,
            newly_lost,
            newest_sent_at,
            rate,
        })
    }

    /// The window and the pacer allow a packet, but no data waits (MarkConnectionAppLimited,
    /// draft-bbr §4.1.2.4).
    #[inline]
    pub fn on_app_limited(&mut self, bytes_in_flight: u64) {
        self.app_limited = (self.delivered + bytes_in_flight).max(1);
    }

    /// `bound` keeps the sender from sending more now. Of a sample it sets only `limited_by`.
    pub fn on_bound(&mut self, now: Instant, bound: SndLim, bytes_in_flight: u64) {
        self.hold.say(now, bound, self.delivered + bytes_in_flight);
    }

    /// The limit of the sender within the last round trip.
    pub const fn hold(&self) -> &Hold {
        &self.hold
    }

    /// Replaces the limit by the one that another part of the transport keeps.
    pub const fn set_hold(&mut self, hold: Hold) {
        self.hold = hold;
    }

    /// Ends a bubble once a packet that was sent after it has been delivered.
    #[inline]
    fn end_bubbles(&mut self) {
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        self.hold.on_delivered(self.delivered);
    }
}

/// Counts packet-timed round trips (draft-bbr §5.5.1): a round trip ends when a packet that was
/// sent after its beginning is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundCounter {
    next_round_delivered: u64,
    count: u64,
}

impl RoundCounter {
    /// Round trips that have ended.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Starts a round trip at this count of delivered octets.
    pub const fn start(&mut self, delivered: u64) {
        self.next_round_delivered = delivered;
    }

    /// True if this sample ends a round trip, so that the next one begins.
    pub const fn on_sample(&mut self, sample: &RateSample) -> bool {
        if sample.prior_delivered < self.next_round_delivered {
            return false;
        }
        self.start(sample.total_delivered);
        self.count += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + MS(millis)
    }

    /// A sampler after ten packets of 1000 octets, sent a millisecond apart from 0 ms on.
    fn ten_sent() -> (DeliveryRateSampler, Vec<DeliverySnapshot>) {
        let mut sampler = DeliveryRateSampler::default();
        let sent = (0..10)
            .map(|n| sampler.on_sent(at(n), 1000, 1000 * (n + 1)))
            .collect();
        (sampler, sent)
    }

    #[test]
    fn the_slower_of_sending_and_acknowledging_is_the_rate() {
        // draft-bbr §4.1.1.2.4. The packets are sent over 9 ms and acknowledged together at 100 ms.
        // The first sending counts as the previous delivery, so the interval is 100 ms: 10,000 /
        // 0.1 s.
        let (mut sampler, sent) = ten_sent();
        for (n, snapshot) in sent.iter().enumerate() {
            let n = n as u64;
            sampler.on_acked(at(100), 1000, (at(n), n), Some(snapshot));
        }
        let first = sampler.on_end_acks(MS(91)).unwrap();
        assert_eq!((first.newly_acked, first.packets), (10_000, 10));
        assert_eq!(first.rate.delivered, 10_000);
        assert_eq!(first.rate.interval, MS(100));
        let rate = first.rate.delivery_rate.unwrap();
        assert_eq!(rate, Rate::from_bytes_per_sec(100_000.0));
        assert_eq!(first.rate.tx_in_flight, 10_000);

        // A packet sent at 150 ms begins a flight; two more at 180 and 290 ms. All are acknowledged
        // at 300 ms: delivery took 150 ms, sending 140 ms.
        let second: Vec<_> = [(150, 1000), (180, 2000), (290, 3000)]
            .into_iter()
            .map(|(ms, flight)| (ms, sampler.on_sent(at(ms), 1000, flight)))
            .collect();
        for (ms, snapshot) in &second {
            sampler.on_acked(at(300), 1000, (at(*ms), *ms), Some(snapshot));
        }
        let sample = sampler.on_end_acks(MS(91)).unwrap().rate;
        assert_eq!((sample.delivered, sample.interval), (3000, MS(150)));
        assert_eq!(sample.prior_delivered, 10_000);
    }

    #[test]
    fn slow_sending_bounds_the_rate_and_losses_count_from_the_packet_on() {
        // draft-bbr §4.1.1.2.3 and §4.1.2.3: the newest packet left 100 ms after that of the last
        // delivery, and was delivered 80 ms after it. One of the two losses came before it.
        let mut sampler = DeliveryRateSampler::default();
        let sent = [(0, 1000), (50, 2000), (60, 3000)]
            .map(|(ms, flight)| (ms, sampler.on_sent(at(ms), 1000, flight)));
        for (ms, snapshot) in &sent[..2] {
            sampler.on_acked(at(100), 1000, (at(*ms), *ms), Some(snapshot));
        }
        sampler.on_end_acks(MS(50)).unwrap();
        sampler.on_lost(1000, None);
        let last = (150, sampler.on_sent(at(150), 1000, 2000));
        sampler.on_lost(1000, None);
        for (ms, snapshot) in [&sent[2], &last] {
            sampler.on_acked(at(180), 1000, (at(*ms), *ms), Some(snapshot));
        }
        let rate = sampler.on_end_acks(MS(30)).unwrap().rate;
        let found = (rate.delivered, rate.interval, rate.lost);
        assert_eq!(found, (2000, MS(100), 1000));
        assert_eq!(rate.delivery_rate, Some(Rate::from_bytes_per_sec(20_000.0)));
    }

    #[test]
    fn a_sampler_without_samples_knows_the_same_about_the_application() {
        let mut samplers = [(); 2].map(|()| DeliveryRateSampler::default());
        let mut rng = crate::rng::Rng::stream(7, "sampler");
        for n in 0..2000 {
            let (choice, flight) = (rng.below(4), 1000 * rng.below(5));
            for (at_end, sampler) in samplers.iter_mut().enumerate() {
                match choice {
                    0 => _ = sampler.on_sent(at(n), 1000, flight),
                    1 => sampler.on_acked(at(n), 1000, (at(n / 2), n), None),
                    2 => sampler.on_app_limited(flight),
                    _ if at_end == 0 => _ = sampler.on_end_acks(MS(1)),
                    _ => sampler.on_end_acks_unsampled(),
                }
            }
            let [sampled, unsampled] = &samplers;
            assert_eq!(sampled.is_app_limited(), unsampled.is_app_limited());
            assert_eq!(sampled.delivered(), unsampled.delivered());
        }
    }

    #[test]
    fn an_interval_below_the_least_round_trip_time_gives_no_rate() {
        let (mut sampler, sent) = ten_sent();
        sampler.on_acked(at(50), 1000, (at(0), 0), Some(&sent[0]));
        let sample = sampler.on_end_acks(MS(51)).unwrap().rate;
        assert_eq!((sample.interval, sample.delivery_rate), (MS(50), None));
        assert_eq!(sampler.on_end_acks(MS(51)).map(|_| ()), None);
    }

    #[test]
    fn losses_count_from_the_sending_of_each_packet() {
        let (mut sampler, sent) = ten_sent();
        assert_eq!(sampler.on_lost(1000, Some(&sent[0])), 1000);
        assert_eq!(sampler.on_lost(1000, Some(&sent[1])), 2000);
        let late = sampler.on_sent(at(20), 1000, 9000);
        assert_eq!(late.lost, 2000);
        assert_eq!(sampler.on_lost(1000, Some(&late)), 1000);
        sampler.on_acked(at(100), 1000, (at(2), 2), Some(&sent[2]));
        let delivered = sampler.on_end_acks(MS(1)).unwrap();
        assert_eq!((delivered.newly_lost, delivered.rate.lost), (3000, 3000));
        sampler.on_acked(at(101), 1000, (at(3), 3), Some(&sent[3]));
        assert_eq!(sampler.on_end_acks(MS(1)).unwrap().newly_lost, 0);
    }

    #[test]
    fn a_bubble_marks_what_is_sent_until_it_has_been_delivered() {
        // draft-bbr §4.1.2.4: C.app_limited = C.delivered + C.inflight = 10,000.
        let (mut sampler, sent) = ten_sent();
        assert!(!sent[9].app_limited);
        sampler.on_app_limited(10_000);
        let after = sampler.on_sent(at(20), 1000, 11_000);
        assert!(after.app_limited);
        for (n, snapshot) in sent.iter().enumerate() {
            let n = n as u64;
            sampler.on_acked(at(100), 1000, (at(n), n), Some(snapshot));
        }
        sampler.on_end_acks(MS(1));
        assert!(sampler.is_app_limited(), "10,000 is not beyond the bubble");
        sampler.on_acked(at(120), 1000, (at(20), 20), Some(&after));
        assert!(sampler.on_end_acks(MS(1)).unwrap().rate.app_limited);
        assert!(!sampler.is_app_limited());
    }

    #[test]
    fn what_held_the_sender_marks_samples_until_its_flight_has_been_delivered() {
        // As C.app_limited: the receiver's credit limits the sender with 10,000 octets in flight,
        // until more than these have been delivered. The pacer, and a bound of a single instant,
        // mark no sample.
        let (mut sampler, sent) = ten_sent();
        assert_eq!(sent[9].limited_by, RateLimit::Path);
        sampler.on_bound(at(15), SndLim::ReceiverCredit, 10_000);
        sampler.on_bound(at(18), SndLim::Pacer, 10_000);
        sampler.on_bound(at(20), SndLim::Application, 10_000);
        let after = sampler.on_sent(at(20), 1000, 11_000);
        assert_eq!(after.limited_by, RateLimit::ReceiverCredit);
        assert!(!after.app_limited, "controllers do not learn of it");
        for (n, snapshot) in sent.iter().enumerate() {
            let n = n as u64;
            sampler.on_acked(at(20), 1000, (at(n), n), Some(snapshot));
        }
        let sample = sampler.on_end_acks(MS(1)).unwrap().rate;
        assert_eq!(sample.limited_by, RateLimit::Path);
        sampler.on_bound(at(20), SndLim::Pacer, 1000);
        sampler.on_acked(at(120), 1000, (at(20), 20), Some(&after));
        let sample = sampler.on_end_acks(MS(1)).unwrap().rate;
        assert_eq!(sample.limited_by, RateLimit::ReceiverCredit);
        let next = sampler.on_sent(at(121), 1000, 1000);
        assert_eq!(next.limited_by, RateLimit::Path, "11,000 are beyond 10,000");
        // A window that limits the sender for some time ends the earlier limit.
        sampler.on_bound(at(130), SndLim::SendBuffer, 1000);
        sampler.on_bound(at(140), SndLim::Window, 1000);
        assert_eq!(sampler.hold().limit(), RateLimit::SendBuffer);
        let behind_window = sampler.on_sent(at(150), 1000, 2000);
        assert_eq!(behind_window.limited_by, RateLimit::Path);
    }

    #[test]
    fn a_round_ends_with_a_packet_that_was_sent_in_it() {
        // draft-bbr §5.5.1.
        let mut rounds = RoundCounter::default();
        let sample = |prior_delivered, total_delivered| RateSample {
            prior_delivered,
            total_delivered,
            ..RateSample::default()
        };
        let ends = [
            (0, 1000),
            (0, 2000),
            (999, 3000),
            (1000, 4000),
            (3999, 5000),
        ]
        .map(|(prior, total)| rounds.on_sample(&sample(prior, total)));
        assert_eq!(ends, [true, false, false, true, false]);
        assert_eq!(rounds.count(), 2);
    }
}
