//! The listener of an audio stream: which units play in time, and the gaps between them.

use super::{AudioStream, HEADER};
use crate::app::{App, AppReport, Delivery, PlaybackReport, Session};
use std::collections::{BTreeMap, VecDeque};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::Payload;
use weir_proto::time::{Duration, Instant};

/// Statistics of the playback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AudioStatistics {
    /// Units that were due.
    pub units: u64,
    /// Of these, played from their own packets.
    pub on_time: u64,
    /// Played thanks to the correction.
    pub repaired: u64,
    /// Not played, but received later.
    pub late: u64,
    /// Not played and never received.
    pub lost: u64,
    /// Played though a payload was corrupted.
    pub corrupted: u64,
    /// Runs of units that were not played.
    pub gaps: u64,
    /// The longest of them.
    pub longest_gap: Duration,
    /// All of them together.
    pub silence: Duration,
}

#[derive(Debug, Default)]
struct Group {
    /// When each data packet arrived.
    data: Vec<Option<Instant>>,
    /// Which of them arrived damaged.
    damaged: Vec<bool>,
    /// Different packets that arrived.
    count: u32,
    seen: Vec<bool>,
    /// When the k-th arrived.
    complete: Option<Instant>,
    /// One of the first k packets to arrive was damaged, so what the code restores from them is
    /// damaged.
    rebuilt_damaged: bool,
}

/// The audio player.
#[derive(Debug)]
pub struct AudioSink {
    stream: AudioStream,
    /// When the first unit plays.
    start: Option<Instant>,
    groups: BTreeMap<u64, Group>,
    /// Octets that a stream has delivered, and the completion times of units that are not yet due.
    delivered: u64,
    completed: VecDeque<Instant>,
    /// The next unit to play.
    unit: u64,
    /// Units that were not played and may still arrive.
    missed: Vec<u64>,
    silent_since: Option<Instant>,
    /// The gaps that have ended: start and length.
    gaps: Vec<(Instant, Duration)>,
    audio: AudioStatistics,
    session: Session,
}

impl AudioSink {
    /// A player of this stream.
    pub fn new(stream: AudioStream) -> Self {
        Self {
            stream,
            start: None,
            groups: BTreeMap::new(),
            delivered: 0,
            completed: VecDeque::new(),
            unit: 0,
            missed: Vec::new(),
            silent_since: None,
            gaps: Vec::new(),
            audio: AudioStatistics::default(),
            session: Session::default(),
        }
    }

    fn unit_octets(&self) -> u64 {
        u64::from(self.stream.config.unit.max(1))
    }

    fn deadline(&self, unit: u64) -> Option<Instant> {
        Some(self.start? + self.stream.playing_time(unit * self.unit_octets()))
    }

    pub(super) fn on_packet(&mut self, now: Instant, payload: &Payload) {
        let content = payload.content().unwrap_or_default();
        let Some((group, rest)) = content.split_first_chunk::<4>() else {
            return;
        };
        let Some((index, _)) = rest.split_first_chunk::<4>() else {
            return;
        };
        let group = u64::from(u32::from_be_bytes(*group));
        let index = u32::from_be_bytes(*index);
        let (data, total) = (
            self.stream.config.fec_data.max(1),
            self.stream.config.fec_packets.max(1),
        );
        if index >= total {
            return;
        }
        self.start.get_or_insert_with(|| {
            // Packets may be reordered or lost: the first to arrive need not be the first that was
            // sent.
            let playout = self.stream.config.playout;
            now + playout - self.stream.sending_time(group, index).min(playout)
        });
        let state = self.groups.entry(group).or_default();
        state.data.resize(data as usize, None);
        state.seen.resize(total as usize, false);
        state.damaged.resize(data as usize, false);
        if std::mem::replace(&mut state.seen[index as usize], true) {
            return;
        }
        state.count += 1;
        if state.count <= data {
            state.rebuilt_damaged |= payload.is_damaged();
        }
        if let Some(arrival) = state.data.get_mut(index as usize) {
            *arrival = Some(now);
            state.damaged[index as usize] = payload.is_damaged();
        }
        if state.count == data {
            state.complete = Some(now);
        }
    }

    /// The stream has delivered more octets.
    pub(super) fn on_octets(&mut self, now: Instant, octets: u64) {
        self.start.get_or_insert(now + self.stream.config.playout);
        let before = self.delivered / self.unit_octets();
        self.delivered += octets;
        for unit in before..self.delivered / self.unit_octets() {
            if unit < self.unit {
                // The unit was due before; units arrive in order, so it is the first missed one.
                if self.missed.first() == Some(&unit) {
                    self.missed.remove(0);
                    self.audio.late += 1;
                }
            } else {
                self.completed.push_back(now);
            }
        }
    }

    /// When a unit was available from its own packets, and when with error correction.
    fn availability(&self, unit: u64) -> (Option<Instant>, Option<Instant>) {
        let payload = u64::from(self.stream.config.packet.saturating_sub(HEADER).max(1));
        let first = unit * self.unit_octets() / payload;
        let last = ((unit + 1) * self.unit_octets() - 1) / payload;
        let per_group = u64::from(self.stream.config.fec_data.max(1));
        let (mut own, mut repaired) = (Some(Instant::ZERO), Some(Instant::ZERO));
        for packet in first..=last {
            let group = self.groups.get(&(packet / per_group));
            let arrival =
                group.and_then(|g| g.data.get((packet % per_group) as usize).copied().flatten());
            let complete = group.and_then(|g| g.complete);
            own = own.zip(arrival).map(|(a, b)| a.max(b));
            let best = match (arrival, complete) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            repaired = repaired.zip(best).map(|(a, b)| a.max(b));
        }
        (own, repaired)
    }

    /// True if a unit that plays at `deadline` contains damaged octets: one of its packets arrived
    /// damaged, or was missing and was restored from damaged ones. The code corrects erasures, not
    /// errors.
    fn is_damaged(&self, unit: u64, deadline: Instant) -> bool {
        if self.stream.delivery == Delivery::Stream {
            return false;
        }
        let payload = u64::from(self.stream.config.packet.saturating_sub(HEADER).max(1));
        let per_group = u64::from(self.stream.config.fec_data.max(1));
        let first = unit * self.unit_octets() / payload;
        let last = ((unit + 1) * self.unit_octets() - 1) / payload;
        (first..=last).any(|packet| {
            let Some(group) = self.groups.get(&(packet / per_group)) else {
                return false;
            };
            let index = (packet % per_group) as usize;
            let arrival = group.data.get(index).copied().flatten();
            if arrival.is_some_and(|at| at <= deadline) {
                group.damaged.get(index).copied().unwrap_or(false)
            } else {
                group.rebuilt_damaged
            }
        })
    }

    /// Plays the units that are due, and removes the groups that no later unit needs.
    pub(super) fn play(&mut self, now: Instant) {
        while let Some(deadline) = self.deadline(self.unit).filter(|&at| at <= now) {
            let (own, repaired) = match self.stream.delivery {
                Delivery::Datagrams => self.availability(self.unit),
                Delivery::Stream => (self.completed.pop_front(), None),
            };
            let in_time = |at: Option<Instant>| at.is_some_and(|at| at <= deadline);
            self.audio.units += 1;
            let played = in_time(own) || in_time(repaired);
            if in_time(own) {
                self.audio.on_time += 1;
            } else if in_time(repaired) {
                self.audio.repaired += 1;
            } else {
                self.missed.push(self.unit);
                self.silent_since.get_or_insert(deadline);
            }
            self.audio.corrupted += u64::from(played && self.is_damaged(self.unit, deadline));
            if let (true, Some(since)) = (played, self.silent_since) {
                self.end_gap(since, deadline);
            }
            self.unit += 1;
        }
        self.count_missed_units();
    }

    fn end_gap(&mut self, since: Instant, until: Instant) {
        let silence = until.since(since);
        self.audio.gaps += 1;
        self.audio.silence += silence;
        self.audio.longest_gap = self.audio.longest_gap.max(silence);
        self.gaps.push((since, silence));
        self.silent_since = None;
    }

    /// Counts units as late or lost that were missed more than a hundred groups ago, because their
    /// packets are no longer expected. Bounds the memory.
    fn count_missed_units(&mut self) {
        if self.stream.delivery == Delivery::Stream {
            return;
        }
        let newest = self.groups.last_key_value().map_or(0, |(group, _)| *group);
        let old = newest.saturating_sub(100);
        let group_octets = self.stream.group_octets();
        let settled = self
            .missed
            .partition_point(|unit| (unit + 1) * self.unit_octets() / group_octets < old);
        for unit in self.missed.drain(..settled).collect::<Vec<_>>() {
            let came = self.availability(unit).1.is_some();
            self.audio.late += u64::from(came);
            self.audio.lost += u64::from(!came);
        }
        let needed = self.unit * self.unit_octets() / group_octets;
        self.groups = self.groups.split_off(&old.saturating_sub(2).min(needed));
    }

    /// The statistics of the playback up to `now`, including a gap that has not ended.
    pub fn audio_statistics(&self, now: Instant) -> AudioStatistics {
        let mut audio = self.audio;
        for &unit in &self.missed {
            let came = self.availability(unit).1.is_some();
            audio.late += u64::from(came);
            audio.lost += u64::from(!came);
        }
        if let Some(since) = self.silent_since {
            let silence = now.since(since);
            audio.gaps += 1;
            audio.silence += silence;
            audio.longest_gap = audio.longest_gap.max(silence);
        }
        audio
    }
}

impl App for AudioSink {
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        self.play(now);
        let mut payloads = Vec::new();
        self.session.drain_into(now, endpoint, &mut payloads);
        for payload in &payloads {
            match self.stream.delivery {
                Delivery::Datagrams => self.on_packet(now, payload),
                Delivery::Stream => self.on_octets(now, u64::from(payload.len())),
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        // A timeout at every unit: gaps begin and end when a unit is due.
        self.deadline(self.unit).filter(|_| !self.done())
    }

    fn done(&self) -> bool {
        self.session.ended()
    }

    fn report(&self, now: Instant) -> AppReport<'_> {
        let lasting = self.silent_since.map(|since| (since, now.since(since)));
        let playback = PlaybackReport {
            statistics: self.audio_statistics(now),
            gaps: self.gaps.iter().copied().chain(lasting).collect(),
        };
        AppReport {
            playback: Some(playback),
            ..self.session.statistics.into()
        }
    }
}
