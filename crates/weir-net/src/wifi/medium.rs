//! The distributed coordination function over one medium and its stations.
//!
//! The medium is an event machine: idle (backoff counts down in slots after DIFS), a data frame
//! on the air, the acknowledgement or its timeout, or interference. Backoffs are kept relative to
//! the start of the idle period, so that nothing happens slot by slot.

use super::channel::{Channel, ChannelConfig};
use super::rate_control::{RateControl, RateControlConfig};
use super::timing::Standard;
use crate::parcel::Parcel;
use std::collections::VecDeque;
use weir_proto::event::{DropReason, Event, EventMask, Events};
use weir_proto::packet::{FlowId, HostId};
use weir_proto::rng::Rng;
use weir_proto::time::Instant;

/// A station and its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationConfig {
    /// The host that it belongs to.
    pub host: HostId,
    /// Packets that its queue holds, the one being sent included.
    pub queue_limit: u64,
    /// How it chooses its rate.
    pub rate_control: RateControlConfig,
    /// Transmissions of one frame before it is given up (dot11ShortRetryLimit).
    pub retry_limit: u32,
}

/// A medium.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumConfig {
    /// Its name, also of its random streams.
    pub name: String,
    /// The physical layer.
    pub standard: Standard,
    /// Who shares it.
    pub stations: Vec<StationConfig>,
    /// What frames meet.
    pub channel: ChannelConfig,
}

/// Counters of a station since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationCounters {
    /// Packets that came to the station.
    pub packets_in: u64,
    /// Packets that it brought across.
    pub packets_delivered: u64,
    /// Octets of these, from the IP header on.
    pub bytes_delivered: u64,
    /// Packets that found the queue full.
    pub dropped_queue_full: u64,
    /// Packets given up after their last retry.
    pub dropped_retry_limit: u64,
    /// Frames sent, retries included.
    pub frames: u64,
    /// Frames that were not acknowledged.
    pub failures: u64,
    /// Of these, frames that met another station's.
    pub collisions: u64,
    /// Packets that wait or are being sent.
    pub packets_queued: u64,
}

#[derive(Debug)]
struct Station {
    config: StationConfig,
    /// Packets and the hosts that they go to next.
    queue: VecDeque<(HostId, Parcel)>,
    /// Slots to wait, counted from DIFS after the medium became idle.
    backoff: u32,
    window: u32,
    transmissions: u32,
    rate: RateControl,
    /// The medium had been idle for long when the packet came: no need to wait.
    at_once: Option<Instant>,
    counters: StationCounters,
}

#[derive(Debug)]
enum Phase {
    Idle {
        since: Instant,
    },
    Data {
        start: Instant,
        end: Instant,
        senders: Vec<usize>,
    },
    Ack {
        end: Instant,
    },
    Jammed {
        until: Instant,
    },
}

/// A medium at work. Like a [`Node`](weir_proto::node::Node), but a packet enters at a station
/// and leaves at a host.
#[derive(Debug)]
pub struct Medium {
    standard: Standard,
    stations: Vec<Station>,
    channel: Channel,
    rng: Rng,
    phase: Phase,
    outbox: VecDeque<(HostId, Parcel)>,
    /// Packets that are gone; the driver takes them back.
    pub(crate) discarded: Vec<Parcel>,
    /// Drops of each flow.
    dropped: Vec<u64>,
    events: Events,
}

impl Medium {
    /// An idle medium of the run with this seed.
    pub(crate) fn new(config: MediumConfig, seed: u64) -> Self {
        let station = |station: &StationConfig| Station {
            config: *station,
            queue: VecDeque::new(),
            backoff: 0,
            window: config.standard.min_window(),
            transmissions: 0,
            rate: RateControl::new(station.rate_control, config.standard),
            at_once: None,
            counters: StationCounters::default(),
        };
        Self {
            standard: config.standard,
            stations: config.stations.iter().map(station).collect(),
            rng: Rng::stream(seed, &format!("wifi/{}/backoff", config.name)),
            channel: Channel::new(config.channel, seed, &config.name),
            phase: Phase::Idle {
                since: Instant::ZERO,
            },
            outbox: VecDeque::new(),
            discarded: Vec::new(),
            dropped: Vec::new(),
            events: Events::default(),
        }
    }

    /// The counters of the station at this host.
    pub(crate) fn counters(&self, host: HostId) -> Option<StationCounters> {
        let station = self
            .stations
            .iter()
            .find(|station| station.config.host == host)?;
        let packets_queued = station.queue.len() as u64;
        Some(StationCounters {
            packets_queued,
            ..station.counters
        })
    }

    /// What the medium says about itself.
    pub(crate) fn events(&mut self) -> &mut Events {
        &mut self.events
    }

    /// Slots that have passed since the medium became idle; `None` before DIFS is over.
    fn slots(&self, since: Instant, now: Instant) -> Option<u32> {
        let counting_from = since + self.standard.difs();
        (now >= counting_from)
            .then(|| (now.since(counting_from).as_nanos() / self.standard.slot().as_nanos()) as u32)
    }

    /// Packets of this flow that were dropped here.
    pub(crate) fn packets_dropped_of(&self, flow: FlowId) -> u64 {
        self.dropped.get(flow.0 as usize).copied().unwrap_or(0)
    }

    fn drop(&mut self, at: Instant, parcel: Parcel, reason: DropReason) {
        let flow = parcel.flow.0 as usize;
        if self.dropped.len() <= flow {
            self.dropped.resize(flow + 1, 0);
        }
        self.dropped[flow] += 1;
        let size = parcel.size;
        self.events
            .push(at, EventMask::DROP, || Event::Drop { size, reason });
        self.discarded.push(parcel);
    }

    /// Packets that wait or are on the air.
    pub(crate) fn packets_queued(&self) -> u64 {
        self.stations
            .iter()
            .map(|station| station.queue.len() as u64)
            .sum()
    }

    /// A packet enters at the station of host `from`, for the station of host `to`.
    pub(crate) fn handle(&mut self, now: Instant, (from, to): (HostId, HostId), parcel: Parcel) {
        let slots = match self.phase {
            Phase::Idle { since } => self.slots(since, now),
            _ => None,
        };
        let Some(station) = self.stations.iter_mut().find(|s| s.config.host == from) else {
            return self.discarded.push(parcel);
        };
        station.counters.packets_in += 1;
        if station.queue.len() as u64 >= station.config.queue_limit {
            station.counters.dropped_queue_full += 1;
            return self.drop(now, parcel, DropReason::QueueFull);
        }
        station.queue.push_back((to, parcel));
        if station.queue.len() > 1 {
            return;
        }
        // 802.11-2007 §9.2.5.1: at once after DIFS of silence, unless a backoff is still running;
        // otherwise a backoff is drawn, if none is left from before.
        match slots {
            Some(passed) if station.backoff <= passed => station.at_once = Some(now),
            None if station.backoff == 0 => {
                station.backoff = self.rng.below(u64::from(station.window) + 1) as u32;
            }
            _ => {}
        }
    }

    /// When a station wants to send, in the idle period that began at `since`.
    fn wish(&self, since: Instant, station: &Station) -> Option<Instant> {
        if station.queue.is_empty() {
            return None;
        }
        let counted =
            since + self.standard.difs() + self.standard.slot() * u64::from(station.backoff);
        Some(station.at_once.unwrap_or(counted))
    }

    fn first_wish(&self, since: Instant) -> Option<Instant> {
        self.stations
            .iter()
            .filter_map(|station| self.wish(since, station))
            .min()
    }

    /// When [`handle_timeout`](Self::handle_timeout) must be called.
    pub(crate) fn poll_timeout(&mut self) -> Option<Instant> {
        match self.phase {
            Phase::Data { end, .. } | Phase::Ack { end } => Some(end),
            Phase::Jammed { until } => Some(until),
            Phase::Idle { since } => {
                let wish = self.first_wish(since)?;
                let burst = self
                    .channel
                    .burst_from(since)
                    .map(|(from, _)| from.max(since));
                Some(burst.map_or(wish, |from| wish.min(from)))
            }
        }
    }

    /// The time that [`poll_timeout`](Self::poll_timeout) named has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match &mut self.phase {
            Phase::Idle { since } => {
                let since = *since;
                match self.channel.burst_from(now) {
                    Some((from, until)) if from <= now => {
                        self.freeze(since, now);
                        self.phase = Phase::Jammed { until };
                    }
                    _ => self.start(since, now),
                }
            }
            Phase::Data {
                start,
                end,
                senders,
            } if *end <= now => {
                let (start, senders) = (*start, std::mem::take(senders));
                self.finish(start, now, &senders);
            }
            Phase::Ack { end: until } | Phase::Jammed { until } if *until <= now => {
                self.phase = Phase::Idle { since: now };
            }
            _ => {}
        }
    }

    /// The medium becomes busy: backoffs keep what is left of them.
    fn freeze(&mut self, since: Instant, now: Instant) {
        let passed = self.slots(since, now).unwrap_or(0);
        for station in &mut self.stations {
            station.backoff = station.backoff.saturating_sub(passed);
        }
    }

    fn start(&mut self, since: Instant, now: Instant) {
        let wishes = self
            .stations
            .iter()
            .map(|station| self.wish(since, station));
        let senders: Vec<usize> = wishes
            .enumerate()
            .filter(|(_, wish)| wish.is_some_and(|at| at <= now))
            .map(|(index, _)| index)
            .collect();
        if senders.is_empty() {
            return;
        }
        self.freeze(since, now);
        let mut end = now;
        for &index in &senders {
            let station = &mut self.stations[index];
            station.at_once = None;
            station.transmissions += 1;
            station.counters.frames += 1;
            let size = station.queue.front().map_or(0, |(_, parcel)| parcel.size);
            end = end.max(now + self.standard.data_time(size, station.rate.rate()));
        }
        self.phase = Phase::Data {
            start: now,
            end,
            senders,
        };
    }

    /// The data frames are over: delivers or prepares the retry.
    fn finish(&mut self, start: Instant, end: Instant, senders: &[usize]) {
        let collision = senders.len() > 1;
        let mut longest = end;
        for &index in senders {
            let mut lost = None;
            let station = &mut self.stations[index];
            let rate = station.rate.rate();
            let size = station.queue.front().map_or(0, |(_, parcel)| parcel.size);
            let frame = (self.standard, rate, size);
            let spoilt = collision || self.channel.spoils(start, end, frame);
            longest = longest.max(end + self.standard.ack_time(rate));
            if spoilt {
                station.counters.failures += 1;
                station.counters.collisions += u64::from(collision);
                station.rate.on_failure();
                station.window = (station.window * 2 + 1).min(self.standard.max_window());
            } else {
                station.rate.on_success();
            }
            let given_up = spoilt && station.transmissions >= station.config.retry_limit;
            if !spoilt || given_up {
                station.window = self.standard.min_window();
                station.transmissions = 0;
                match station.queue.pop_front() {
                    Some((_, parcel)) if given_up => {
                        station.counters.dropped_retry_limit += 1;
                        lost = Some(parcel);
                    }
                    Some((to, parcel)) => {
                        station.counters.packets_delivered += 1;
                        station.counters.bytes_delivered += u64::from(parcel.size);
                        self.outbox.push_back((to, parcel));
                    }
                    None => {}
                }
            }
            station.backoff = self.rng.below(u64::from(station.window) + 1) as u32;
            if let Some(parcel) = lost {
                self.drop(end, parcel, DropReason::RetryLimit);
            }
        }
        self.phase = Phase::Ack { end: longest };
    }

    /// The next packet that arrives, and the host that it arrives at.
    pub(crate) fn poll_transmit(&mut self) -> Option<(HostId, Parcel)> {
        self.outbox.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::super::timing::PhyRate;
    use super::*;
    use crate::parcel::fixture::parcel;
    use weir_proto::time::Duration;

    fn full_size() -> Parcel {
        parcel(0, 0, 1500)
    }

    fn medium(standard: Standard, stations: u32, channel: ChannelConfig) -> Medium {
        let station = |host| StationConfig {
            host: HostId(host),
            queue_limit: 10,
            rate_control: RateControlConfig::Fixed(standard.fastest()),
            retry_limit: 1000,
        };
        let config = MediumConfig {
            name: "cell".to_owned(),
            standard,
            stations: (1..=stations).map(station).collect(),
            channel,
        };
        Medium::new(config, 1)
    }

    fn clear() -> ChannelConfig {
        ChannelConfig {
            snr_db: vec![],
            interference: None,
        }
    }

    /// Keeps all stations busy; returns packets delivered per second.
    fn saturate(medium: &mut Medium, stations: u32, seconds: u64) -> f64 {
        let until = Instant::ZERO + Duration::from_secs(seconds);
        for host in 1..=stations {
            medium.handle(Instant::ZERO, (HostId(host), HostId(0)), full_size());
            medium.handle(Instant::ZERO, (HostId(host), HostId(0)), full_size());
        }
        let mut delivered = 0_u64;
        while let Some(now) = medium.poll_timeout().filter(|&at| at <= until) {
            medium.handle_timeout(now);
            while medium.poll_transmit().is_some() {
                delivered += 1;
            }
            for host in 1..=stations {
                let queued = medium
                    .counters(HostId(host))
                    .map_or(0, |c| c.packets_queued);
                for _ in queued..2 {
                    medium.handle(now, (HostId(host), HostId(0)), full_size());
                }
            }
        }
        delivered as f64 / seconds as f64
    }

    /// Bianchi, Performance Analysis of the IEEE 802.11 Distributed Coordination Function, 2000,
    /// equations 7, 9 and 13, solved by bisection; packets per second.
    fn bianchi(standard: Standard, n: u32) -> f64 {
        let w = f64::from(standard.min_window() + 1);
        let stages = libm::log2(f64::from(standard.max_window() + 1) / w);
        let tau_of = |p: f64| {
            let q = 2.0 * p;
            2.0 * (1.0 - q) / ((1.0 - q) * (w + 1.0) + p * w * (1.0 - libm::pow(q, stages)))
        };
        let (mut low, mut high) = (0.0, 0.9999);
        for _ in 0..200 {
            let p = f64::midpoint(low, high);
            let implied = 1.0 - libm::pow(1.0 - tau_of(p), f64::from(n - 1));
            if implied > p { low = p } else { high = p }
        }
        let tau = tau_of(f64::midpoint(low, high));
        let busy = 1.0 - libm::pow(1.0 - tau, f64::from(n));
        let success = f64::from(n) * tau * libm::pow(1.0 - tau, f64::from(n - 1)) / busy;
        let rate = standard.fastest();
        let exchange = standard.data_time(1500, rate) + standard.ack_time(rate) + standard.difs();
        let slot = standard.slot().as_secs_f64();
        busy * success / ((1.0 - busy) * slot + busy * exchange.as_secs_f64())
    }

    #[test]
    fn saturation_throughput_agrees_with_bianchi_within_five_per_cent() {
        for standard in [Standard::B, Standard::G] {
            for n in [1, 2, 3, 5, 10, 15, 20] {
                let measured = saturate(&mut medium(standard, n, clear()), n, 20);
                let theory = bianchi(standard, n);
                let deviation = measured / theory - 1.0;
                println!(
                    "{standard:?} {n:2}: {measured:.1} {theory:.1} {:+.2} %",
                    deviation * 100.0
                );
                assert!(
                    deviation.abs() < 0.05,
                    "{standard:?} {n}: {measured} {theory}"
                );
            }
        }
    }

    #[test]
    fn a_lone_packet_on_a_quiet_medium_leaves_at_once() {
        let mut medium = medium(Standard::G, 1, clear());
        let now = Instant::ZERO + Duration::from_millis(1);
        medium.handle(now, (HostId(1), HostId(0)), full_size());
        assert_eq!(medium.poll_timeout(), Some(now));
        medium.handle_timeout(now);
        let arrives = now + Standard::G.data_time(1500, Standard::G.fastest());
        assert_eq!(medium.poll_timeout(), Some(arrives));
        medium.handle_timeout(arrives);
        assert!(medium.poll_transmit().is_some());
    }

    #[test]
    fn a_frame_is_given_up_after_its_last_retry() {
        let channel = ChannelConfig {
            snr_db: vec![(Instant::ZERO, -50.0)],
            interference: None,
        };
        let mut medium = medium(Standard::G, 1, channel);
        medium.stations[0].config.retry_limit = 7;
        medium.handle(Instant::ZERO, (HostId(1), HostId(0)), full_size());
        while let Some(now) = medium.poll_timeout() {
            medium.handle_timeout(now);
            assert!(medium.poll_transmit().is_none());
        }
        let counters = medium.counters(HostId(1)).unwrap();
        assert_eq!((counters.frames, counters.dropped_retry_limit), (7, 1));
        assert_eq!(medium.stations[0].rate.rate(), PhyRate(7));
    }

    #[test]
    fn nobody_sends_into_a_burst_that_can_be_heard() {
        let mut jammed = clear();
        jammed.interference = Some(super::super::InterferenceConfig {
            start: Instant::ZERO,
            stop: Instant::ZERO + Duration::from_secs(100),
            mean_on: Duration::from_millis(5),
            mean_off: Duration::from_millis(5),
        });
        let free = saturate(&mut medium(Standard::G, 1, clear()), 1, 20);
        let mut medium = medium(Standard::G, 1, jammed);
        let half = saturate(&mut medium, 1, 20);
        assert!((0.4..0.5).contains(&(half / free)), "{half} of {free}");
        // Frames fail only when a burst begins over them: about 100 bursts a second.
        let counters = medium.counters(HostId(1)).unwrap();
        assert!(counters.failures < 2200, "{counters:?}");
    }
}
