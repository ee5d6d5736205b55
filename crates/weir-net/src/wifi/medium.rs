//! The distributed coordination function over one medium and its stations.
//!
//! The medium is a state machine: idle (backoff counts down in slots after DIFS), a data frame
//! on the air, the acknowledgement or its timeout, or interference. Backoffs are kept relative to
//! the start of the idle period, so that a slot is no event.

use super::channel::{Channel, ChannelConfig, Frame};
use super::station::{Station, StationConfig, StationCounters};
use super::timing::{Phy, PhyConfig};
use crate::packet_pool::PacketRef;
use crate::queue::Queue;
use std::collections::VecDeque;
use weir_proto::event::Events;
use weir_proto::packet::{FlowId, HostId};
use weir_proto::rng::Rng;
use weir_proto::time::Instant;

/// A medium.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumConfig {
    /// Its name, also of its random streams.
    pub name: String,
    /// The physical layer.
    pub phy: PhyConfig,
    /// The stations that share it, each at a host.
    pub stations: Vec<(HostId, StationConfig)>,
    /// What frames meet on the air.
    pub channel: ChannelConfig,
}

/// A way over a medium: from the station of one host to that of another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) from: HostId,
    pub(crate) to: HostId,
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
    Interference {
        until: Instant,
    },
}

/// The state of a medium and its stations. A packet enters at a station and leaves at a host.
#[derive(Debug)]
pub struct Medium {
    phy: Phy,
    stations: Vec<Station>,
    channel: Channel,
    rng: Rng,
    phase: Phase,
    delivered: VecDeque<(HostId, PacketRef)>,
    /// Dropped packets, which the network removes from the pool.
    discarded: Vec<PacketRef>,
    /// Drops of each flow.
    dropped: Vec<u64>,
}

impl Medium {
    /// An idle medium of the run with this seed.
    pub(crate) fn new(config: MediumConfig, seed: u64) -> Self {
        let phy = Phy::from(config.phy);
        let station = |&(host, station): &(HostId, StationConfig)| {
            let stream = format!("wifi/{}/{}/queue", config.name, host.0);
            let queue = Queue::new(&station.queue, seed, &stream);
            Station::new(host, station, &phy, queue)
        };
        Self {
            phy,
            stations: config.stations.iter().map(station).collect(),
            rng: Rng::stream(seed, &format!("wifi/{}/backoff", config.name)),
            channel: Channel::new(config.channel, seed, &config.name),
            phase: Phase::Idle {
                since: Instant::ZERO,
            },
            delivered: VecDeque::new(),
            discarded: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// The counters of a station, in the order of the configuration.
    pub(crate) fn counters(&mut self, now: Instant, station: usize) -> StationCounters {
        self.stations[station].counters(now)
    }

    /// The trace events of a station.
    pub(crate) fn events(&mut self, station: usize) -> &mut Events {
        self.stations[station].events()
    }

    /// Slots that have passed since the medium became idle; `None` before DIFS is over.
    fn slots(&self, since: Instant, now: Instant) -> Option<u32> {
        let counting_from = since + self.phy.difs();
        (now >= counting_from)
            .then(|| (now.since(counting_from).as_nanos() / self.phy.slot.as_nanos()) as u32)
    }

    /// Packets of this flow that were dropped here.
    pub(crate) fn packets_dropped_of(&self, flow: FlowId) -> u64 {
        self.dropped.get(flow.0 as usize).copied().unwrap_or(0)
    }

    /// The next dropped packet, for the network to remove from the pool.
    pub(crate) fn poll_discarded(&mut self) -> Option<PacketRef> {
        let packet = self.discarded.pop()?;
        let flow = packet.flow.0 as usize;
        if self.dropped.len() <= flow {
            self.dropped.resize(flow + 1, 0);
        }
        self.dropped[flow] += 1;
        Some(packet)
    }

    /// Packets that wait or are on the air.
    pub(crate) fn packets_queued(&self) -> u64 {
        self.stations.iter().map(Station::packets).sum()
    }

    /// A packet enters at the station of host `from`, for the station of host `to`.
    pub(crate) fn handle(&mut self, now: Instant, hop: Hop, packet: PacketRef) {
        let slots = match self.phase {
            Phase::Idle { since } => self.slots(since, now),
            _ => None,
        };
        let Some(station) = self.stations.iter_mut().find(|s| s.host == hop.from) else {
            return self.discarded.push(packet);
        };
        station.accept(now, hop.to, packet, &mut self.discarded);
        if !station.load_head(now, &mut self.discarded) {
            return;
        }
        // 802.11-2007 §9.2.5.1: at once after DIFS of silence, unless a backoff is still running;
        // otherwise a backoff is drawn, if none is left from before.
        match slots {
            Some(passed) if station.backoff <= passed => station.immediate_access = Some(now),
            None if station.backoff == 0 => {
                station.backoff = self.rng.below(u64::from(station.window) + 1) as u32;
            }
            _ => {}
        }
    }

    /// When a station wants to send, in the idle period that began at `since`.
    fn access_time(&self, since: Instant, station: &Station) -> Option<Instant> {
        station.head()?;
        let counted = since + self.phy.difs() + self.phy.slot * u64::from(station.backoff);
        Some(station.immediate_access.unwrap_or(counted))
    }

    fn first_access_time(&self, since: Instant) -> Option<Instant> {
        self.stations
            .iter()
            .filter_map(|station| self.access_time(since, station))
            .min()
    }

    /// When [`handle_timeout`](Self::handle_timeout) must be called.
    pub(crate) fn poll_timeout(&mut self) -> Option<Instant> {
        match self.phase {
            Phase::Data { end, .. } | Phase::Ack { end } => Some(end),
            Phase::Interference { until } => Some(until),
            Phase::Idle { since } => {
                let access_time = self.first_access_time(since)?;
                let burst = self
                    .channel
                    .heard_burst_from(since)
                    .map(|(from, _)| from.max(since));
                Some(burst.map_or(access_time, |from| access_time.min(from)))
            }
        }
    }

    /// The time that [`poll_timeout`](Self::poll_timeout) named has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        match &mut self.phase {
            Phase::Idle { since } => {
                let since = *since;
                match self.channel.heard_burst_from(now) {
                    Some((from, until)) if from <= now => {
                        self.freeze(since, now);
                        self.phase = Phase::Interference { until };
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
            Phase::Ack { end: until } | Phase::Interference { until } if *until <= now => {
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
        let access_times = self
            .stations
            .iter()
            .map(|station| self.access_time(since, station));
        let senders: Vec<usize> = access_times
            .enumerate()
            .filter(|(_, access_time)| access_time.is_some_and(|at| at <= now))
            .map(|(index, _)| index)
            .collect();
        if senders.is_empty() {
            return;
        }
        self.freeze(since, now);
        let mut end = now;
        for &index in &senders {
            let station = &mut self.stations[index];
            station.immediate_access = None;
            station.transmissions += 1;
            station.counters.frames += 1;
            let size = station.head().map_or(0, |packet| packet.size);
            let time = self.phy.standard.data_time(size, station.rate.rate());
            station.on_airtime(time);
            end = end.max(now + time);
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
            let station = &mut self.stations[index];
            let rate = station.rate.rate();
            let size = station.head().map_or(0, |packet| packet.size);
            let frame = Frame {
                standard: self.phy.standard,
                rate,
                octets: size,
            };
            let failed = collision || self.channel.frame_fails(start, end, frame);
            let ack_time = self.phy.ack_time(rate);
            station.on_airtime(ack_time);
            longest = longest.max(end + ack_time);
            if failed {
                station.counters.failures += 1;
                station.counters.collisions += u64::from(collision);
                station.rate.on_failure();
                let most = self.phy.standard.max_window();
                station.window = (station.window * 2 + 1).min(most);
            } else {
                station.rate.on_success();
            }
            let abandoned = failed && station.transmissions >= station.config.retry_limit;
            if !failed || abandoned {
                station.window = self.phy.min_window;
                station.transmissions = 0;
                if abandoned {
                    station.give_up(end, &mut self.discarded);
                } else {
                    self.delivered.extend(station.deliver());
                }
                station.load_head(end, &mut self.discarded);
            }
            station.backoff = self.rng.below(u64::from(station.window) + 1) as u32;
        }
        self.phase = Phase::Ack { end: longest };
    }

    /// The next packet that arrives, and the host that it arrives at.
    pub(crate) fn poll_transmit(&mut self) -> Option<(HostId, PacketRef)> {
        self.delivered.pop_front()
    }
}

#[cfg(test)]
mod tests;
