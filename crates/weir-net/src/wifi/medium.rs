//! The distributed coordination function over one medium and its stations.
//!
//! The medium is a state machine: idle, a data frame on the air, or its acknowledgement. Each
//! station keeps the time since which its medium is idle; its backoff counts down in slots from
//! DIFS after that. Backoffs are kept relative to this time, so that slots need no events. Bursts
//! of interference need none either: bursts that stations have heard are accounted for when a frame
//! might begin.
//!
//! After a frame without an acknowledgement the sender waits for its timeout, a station that
//! received the frame for the acknowledgement that the frame announced (its NAV), and one that
//! could not for EIFS, each followed by DIFS.

use super::channel::{Channel, ChannelConfig, Frame, Radio};
use super::rate_control::RateControl;
use super::station::{DamagedFrames, Station, StationConfig, StationCounters};
use super::timing::{Phy, PhyConfig};
use crate::ack_facts::AckFacts;
use crate::packet_pool::PacketRef;
use crate::queue::Queue;
use crate::stage_events::StageEvents;
use std::collections::VecDeque;
use std::num::NonZeroU32;
use weir_proto::packet::{FlowId, HostId, IpHeader};
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// A medium.
#[derive(Clone, Debug, PartialEq)]
pub struct MediumConfig {
    /// Its name, also of its random streams.
    pub name: String,
    /// The physical layer.
    pub phy: PhyConfig,
    /// The stations that share it, each at a host.
    pub stations: Vec<(HostId, StationConfig)>,
    /// The conditions of frames on the air.
    pub channel: ChannelConfig,
}

/// A hop over a medium: from the station of one host to that of another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) from: HostId,
    pub(crate) to: HostId,
}

#[derive(Debug)]
enum Phase {
    Idle,
    Data { start: Instant, end: Instant },
    Ack { end: Instant },
}

/// The state of a medium and its stations. A packet enters at a station and leaves at a host.
#[derive(Debug)]
pub struct Medium {
    phy: Phy,
    stations: Vec<Station>,
    channel: Channel,
    rng: Rng,
    phase: Phase,
    /// The stations whose data frames are on the air.
    senders: Vec<usize>,
    delivered: VecDeque<(HostId, PacketRef)>,
    /// Dropped packets, which the network removes from the pool.
    discarded: Vec<PacketRef>,
    /// Drops of each flow.
    dropped: Vec<u64>,
}

impl Medium {
    /// An idle medium whose random streams derive from this seed.
    pub(crate) fn new(config: MediumConfig, seed: u64) -> Self {
        let phy = Phy::from(config.phy);
        let name = &config.name;
        let station = |(host, station): &(HostId, StationConfig)| {
            let queue = format!("wifi/{name}/{}/queue", host.0);
            let queue = Queue::new(&station.queue, seed, &queue);
            let rate = format!("wifi/{name}/{}/rate_control", host.0);
            let rate = RateControl::new(station.rate_control, &phy, Rng::stream(seed, &rate));
            Station::new(*host, station.clone(), rate, (phy.min_window, queue))
        };
        let radio = |(_, station): &(HostId, StationConfig)| Radio {
            power_dbm: station.power,
            place: station.place,
        };
        let radios: Vec<_> = config.stations.iter().map(radio).collect();
        Self {
            phy,
            stations: config.stations.iter().map(station).collect(),
            rng: Rng::stream(seed, &format!("wifi/{name}/backoff")),
            channel: Channel::new(&config.channel, &radios, seed, name),
            phase: Phase::Idle,
            senders: Vec::new(),
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
    pub(crate) fn events(&mut self, station: usize) -> &mut StageEvents {
        self.stations[station].events()
    }

    /// Packets of this flow that the medium dropped.
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

    /// Packets that wait or are transmitted.
    pub(crate) fn packets_queued(&self) -> u64 {
        self.stations.iter().map(Station::packets).sum()
    }

    /// True if the queue of the hop's station decides on TCP headers: [`expect`](Self::expect) then
    /// precedes each packet.
    pub(crate) fn reads_acks(&self, hop: Hop) -> bool {
        let station = self.stations.iter().find(|s| s.host == hop.from);
        station.is_some_and(Station::reads_acks)
    }

    /// What the queue of the hop's station reads in the TCP header of the packet that enters next.
    pub(crate) fn expect(&mut self, hop: Hop, facts: Option<AckFacts>) {
        if let Some(station) = self.stations.iter_mut().find(|s| s.host == hop.from) {
            station.expect(facts);
        }
    }

    /// A packet enters at the station of host `from`, for the station of host `to`.
    pub(crate) fn handle(&mut self, now: Instant, hop: Hop, packet: PacketRef) {
        self.hear(now);
        let idle = matches!(self.phase, Phase::Idle);
        let Some(station) = self.stations.iter_mut().find(|s| s.host == hop.from) else {
            return self.discarded.push(packet);
        };
        if station.accept(now, hop.to, packet, &mut self.discarded) {
            Self::contend(&self.phy, &mut self.rng, station, (now, idle));
        }
    }

    /// The queues that held packets back hand over those that are due.
    fn wake(&mut self, now: Instant) {
        let idle = matches!(self.phase, Phase::Idle);
        for station in &mut self.stations {
            let due = station.ready_at().is_some_and(|at| at <= now);
            if due && station.load_head(now, &mut self.discarded) {
                Self::contend(&self.phy, &mut self.rng, station, (now, idle));
            }
        }
    }

    /// A station that was free has a packet to send: it accesses the medium at once or backs off.
    fn contend(phy: &Phy, rng: &mut Rng, station: &mut Station, (now, idle): (Instant, bool)) {
        // 802.11-2007 §9.2.5.1: access is immediate if the medium has been idle for DIFS, unless a
        // backoff is still running; otherwise a backoff is drawn, unless one is left from before.
        let slots = slots(phy, station.idle_from, now);
        match slots.filter(|_| idle) {
            Some(passed) if station.backoff <= passed => station.immediate_access = Some(now),
            None if station.backoff == 0 => {
                station.backoff = rng.below(u64::from(station.window) + 1) as u32;
            }
            _ => {}
        }
    }

    /// Accounts for the bursts of interference that stations have heard by `now`: backoffs stop
    /// during a burst.
    fn hear(&mut self, now: Instant) {
        let idle = matches!(self.phase, Phase::Idle);
        while let Some(heard) = self.channel.next_heard_burst(now) {
            for index in 0..self.stations.len() {
                let station = &mut self.stations[index];
                if station.idle_from < heard.burst.until && self.channel.hears(index, &heard) {
                    if idle {
                        station.freeze(&self.phy, heard.burst.from);
                    }
                    station.idle_from = heard.burst.until;
                }
            }
        }
    }

    /// When a station will start to send; `None` if it has no packet.
    fn access_time(&self, station: &Station) -> Option<Instant> {
        station.head()?;
        let wait = self.phy.difs() + self.phy.slot * u64::from(station.backoff);
        Some(station.immediate_access.unwrap_or(station.idle_from + wait))
    }

    /// When [`handle_timeout`](Self::handle_timeout) must be called.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        match self.phase {
            Phase::Data { end, .. } | Phase::Ack { end } => Some(end),
            Phase::Idle => self
                .stations
                .iter()
                .filter_map(|s| self.access_time(s).or_else(|| s.ready_at()))
                .min(),
        }
    }

    /// The time of [`poll_timeout`](Self::poll_timeout) has come.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.hear(now);
        let was_idle = matches!(self.phase, Phase::Idle);
        if was_idle {
            self.wake(now);
        }
        match self.phase {
            Phase::Idle => self.start(now),
            Phase::Data { start, end } if end <= now => {
                let senders = std::mem::take(&mut self.senders);
                self.finish(start, now, &senders);
                self.senders = senders;
            }
            Phase::Ack { end } if end <= now => self.idle_from(now),
            _ => {}
        }
        if !was_idle && matches!(self.phase, Phase::Idle) {
            self.wake(now);
        }
    }

    /// The medium becomes idle, for stations that need not wait longer.
    fn idle_from(&mut self, now: Instant) {
        self.phase = Phase::Idle;
        for station in &mut self.stations {
            station.idle_from = station.idle_from.max(now);
        }
    }

    fn start(&mut self, now: Instant) {
        let mut senders = std::mem::take(&mut self.senders);
        senders.clear();
        let access_times = self.stations.iter().map(|s| self.access_time(s));
        let due = access_times.map(|at| at.is_some_and(|at| at <= now));
        senders.extend(
            due.enumerate()
                .filter_map(|(index, due)| due.then_some(index)),
        );
        if !senders.is_empty() {
            self.transmit(now, &senders);
        }
        self.senders = senders;
    }

    /// The data frames of these stations begin.
    fn transmit(&mut self, now: Instant, senders: &[usize]) {
        self.channel.forget_before(now);
        for station in &mut self.stations {
            station.freeze(&self.phy, now);
            station.idle_from = station.idle_from.max(now);
        }
        let mut end = now;
        for &index in senders {
            let station = &mut self.stations[index];
            station.immediate_access = None;
            station.transmissions += 1;
            station.counters.frames += 1;
            let time = data_time(&self.phy, station);
            station.on_airtime(now, time);
            station.record_rate(now, self.phy.standard);
            end = end.max(now + time);
        }
        self.phase = Phase::Data { start: now, end };
    }

    /// The data frames end: delivers their packets or prepares a retry.
    fn finish(&mut self, start: Instant, end: Instant, senders: &[usize]) {
        let frame = match senders {
            [from] => self.frame(*from, start, end),
            _ => None,
        };
        let damage = frame.map(|frame| self.channel.first_damage(&frame));
        let arrived = damage == Some(None);
        if let (Some(frame), Some(Some(octet))) = (frame, damage) {
            self.keep_damaged(&frame, octet);
        }
        for &index in senders {
            self.stations[index].record_frame(start, end, arrived);
            self.finish_sender(index, end, arrived);
            let station = &mut self.stations[index];
            station.counters.collisions += u64::from(senders.len() > 1);
        }
        match frame.filter(|_| arrived) {
            Some(frame) => {
                let ack_time = self.phy.ack_time(frame.rate);
                self.stations[frame.from].on_airtime(end, ack_time);
                self.phase = Phase::Ack {
                    end: end + ack_time,
                };
            }
            None => self.defer_without_ack(frame, end, senders),
        }
    }

    /// The frame that a station sends, if the receiving station is known.
    fn frame(&self, from: usize, start: Instant, end: Instant) -> Option<Frame> {
        let station = &self.stations[from];
        let receiver = station.receiver()?;
        Some(Frame {
            standard: self.phy.standard,
            rate: station.rate.rate(),
            octets: station.head()?.size,
            start,
            end,
            from,
            to: self.stations.iter().position(|s| s.host == receiver)?,
        })
    }

    /// The receiver keeps a damaged frame, if configured to, unless the IP header is damaged.
    fn keep_damaged(&mut self, frame: &Frame, octet: u32) {
        let wanted = self.stations[frame.to].config.damaged_frames == DamagedFrames::Deliver;
        if wanted && octet >= IpHeader::V4_OCTETS {
            self.stations[frame.from].damaged_copy = NonZeroU32::new(octet);
        }
    }

    /// The sender has learnt whether its frame arrived: prepares the retry or takes the next
    /// packet.
    fn finish_sender(&mut self, index: usize, end: Instant, arrived: bool) {
        let station = &mut self.stations[index];
        let abandoned = !arrived && station.transmissions >= station.config.retry_limit;
        if arrived {
            station.rate.on_success();
            self.delivered.extend(station.deliver());
        } else {
            station.rate.on_failure();
            station.counters.failures += 1;
            let most = self.phy.standard.max_window();
            station.window = (station.window * 2 + 1).min(most);
        }
        if abandoned {
            let arrival = station.give_up(end, &mut self.discarded);
            self.delivered.extend(arrival);
        }
        if arrived || abandoned {
            station.window = self.phy.min_window;
            station.load_head(end, &mut self.discarded);
        }
        station.backoff = self.rng.below(u64::from(station.window) + 1) as u32;
    }

    /// No acknowledgement follows: each station defers for its own time.
    fn defer_without_ack(&mut self, frame: Option<Frame>, end: Instant, senders: &[usize]) {
        for index in 0..self.stations.len() {
            let wait = if senders.contains(&index) {
                self.phy.ack_timeout()
            } else {
                self.wait_for_ack(frame, index)
            };
            let station = &mut self.stations[index];
            station.idle_from = station.idle_from.max(end + wait);
        }
        self.phase = Phase::Idle;
    }

    /// How long a station that did not send defers after a frame without an acknowledgement.
    fn wait_for_ack(&mut self, frame: Option<Frame>, station: usize) -> Duration {
        // 802.11-2007 §9.2.3.4: EIFS, unless it has received the frame, which announces its
        // duration.
        let others = frame.filter(|frame| frame.to != station);
        let read = others.filter(|&frame| {
            let overheard = Frame {
                to: station,
                ..frame
            };
            self.channel.first_damage(&overheard).is_none()
        });
        match read {
            Some(frame) => self.phy.ack_time(frame.rate),
            None => self.phy.eifs_without_difs(),
        }
    }

    /// The next packet that arrives, and its host.
    pub(crate) fn poll_transmit(&mut self) -> Option<(HostId, PacketRef)> {
        self.delivered.pop_front()
    }
}

/// Slots that have passed at `now` for a station whose medium is idle since `idle_from`; `None`
/// before the end of DIFS.
fn slots(phy: &Phy, idle_from: Instant, now: Instant) -> Option<u32> {
    let counting_from = idle_from + phy.difs();
    (now >= counting_from)
        .then(|| (now.since(counting_from).as_nanos() / phy.slot.as_nanos()) as u32)
}

/// The duration of a station's next frame.
fn data_time(phy: &Phy, station: &Station) -> Duration {
    let size = station.head().map_or(0, |packet| packet.size);
    phy.standard.data_time(size, station.rate.rate())
}

impl Station {
    /// The medium becomes busy for the station: its backoff keeps the remaining slots.
    fn freeze(&mut self, phy: &Phy, now: Instant) {
        let passed = slots(phy, self.idle_from, now).unwrap_or(0);
        self.backoff = self.backoff.saturating_sub(passed);
    }
}

#[cfg(test)]
mod tests;
