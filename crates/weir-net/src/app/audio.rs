//! An audio stream and its listener.
//!
//! The stream is a row of **units** of equal size and playing time: mp3 frames (417 octets, 26 ms
//! at 128 kbit/s) or ogg pages (4 kB, a quarter of a second). The sender puts them into packets.
//! With forward error correction, packets form groups of n, of which the first k carry data: any
//! k of them give back the whole group (an erasure code such as Reed-Solomon), and the n packets
//! are spread evenly over the group's playing time. Without it every packet is a group of one,
//! spaced like the music.
//!
//! The listener starts to play `playout` after the first packet arrived, and from then on needs
//! each unit at its time. A unit is **on time** if all its packets arrived by then, **repaired**
//! if the code gave it back by then, **late** if it came or was repaired after that, **lost** if
//! never. A run of units that did not play is an audible **gap**.
//!
//! Over a byte stream (TCP, QUIC) the units follow each other without packets, headers or
//! correction, the sender waits where a datagram would be dropped, and a unit is there when the
//! stream has been delivered up to its end: the timetable stays that of a live stream, so what
//! comes too late is not played.
//!
//! Every datagram carries an 8-octet header of group and index. The content is not music; what is
//! judged is which octets are there in time. Does not model: codecs' own concealment, clocks that
//! differ, adaptation of the bitrate.

use super::{
    App, AppEnvironment, AppPair, AppReport, AppSettings, Contradiction, Delivery, PlaybackReport,
    Session, WriteLoad,
};
use std::collections::{BTreeMap, VecDeque};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::Payload;
use weir_proto::settings::{bit_rate, bytes, count};
use weir_proto::time::{Duration, Instant};

/// Octets of group and index at the start of each packet.
const HEADER: u32 = 8;

weir_proto::settings! {
    /// Streams music to a listener; over TCP and QUIC as HTTP streaming does.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AudioConfig {
        /// Sizes as in "mp3" (frames of 418 bytes, one a packet) or "ogg" (pages of 4096 bytes in
        /// packets of 1400).
        pub format: AudioFormat,
        /// Bits per second of the music.
        pub bitrate: u64 = 128_000 => bit_rate(),
        /// Bytes of a frame or page, which plays as a whole or not at all.
        pub unit: u32 = MP3_FRAME => bytes(1..=65_535),
        /// Bytes of a datagram, 8 of group and index included.
        pub packet: u32 = MP3_FRAME + HEADER => bytes(9..=65_535),
        /// Packets of a group that carry data; any so many give back the group.
        pub fec_data: u32 = 1 => count(1..=255, "packets"),
        /// Packets of a group, those of the correction included; 1 for none.
        pub fec_packets: u32 = 1 => count(1..=255, "packets"),
        /// From the first packet's arrival until the music starts.
        pub playout: Duration = Duration::from_secs(1),
    }
    preset format = |audio: &mut AudioConfig, name: &str| {
        (audio.unit, audio.packet) = match name {
            "ogg" => (OGG_PAGE, 1400),
            _ => (MP3_FRAME, MP3_FRAME + HEADER),
        };
    };
    normalise = |audio: &mut AudioConfig| {
        audio.format = if audio.unit == OGG_PAGE { AudioFormat::Ogg } else { AudioFormat::Mp3 };
    };
}

weir_proto::keywords! {
    /// The container of the music, which sets the sizes of units and packets.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum AudioFormat {
        /// Frames of 26 ms at 128 kbit/s, one a packet: 44.1 kHz, MPEG 1 layer 3.
        #[default]
        Mp3 = "mp3",
        /// Pages of 4 kB, in packets of 1400 bytes.
        Ogg = "ogg",
    }
}

/// Octets of an mp3 frame of 26 ms at 128 kbit/s.
const MP3_FRAME: u32 = 418;
/// Octets of an ogg page.
const OGG_PAGE: u32 = 4096;

impl AppSettings for AudioConfig {
    fn build(&self, environment: AppEnvironment<'_>) -> AppPair {
        let stream = AudioStream::new(*self, environment.delivery);
        AppPair {
            source: Box::new(AudioSource::new(stream)),
            sink: Box::new(AudioSink::new(stream)),
        }
    }

    fn packet(&self) -> u32 {
        self.packet
    }

    fn load(&self) -> Option<WriteLoad> {
        let share = f64::from(self.fec_packets) / f64::from(self.fec_data.max(1));
        let octets = f64::from(self.packet.min(self.unit));
        Some(WriteLoad {
            per_second: self.bitrate as f64 * share / (octets * 8.0),
            count: None,
        })
    }

    fn check(&self) -> Result<(), Contradiction> {
        let Self {
            fec_data,
            fec_packets,
            ..
        } = self;
        if fec_packets < fec_data {
            return Err(Contradiction {
                key: "fec_packets",
                message: format!(
                    "fec_packets: {fec_packets} is less than the {fec_data} that carry data"
                ),
                help: "write at least as many",
            });
        }
        Ok(())
    }
}

/// A stream and how its transport delivers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioStream {
    config: AudioConfig,
    delivery: Delivery,
}

impl AudioStream {
    /// The timetable of a stream.
    pub const fn new(config: AudioConfig, delivery: Delivery) -> Self {
        Self { config, delivery }
    }

    /// Octets of music in a group.
    fn group_octets(&self) -> u64 {
        if self.delivery == Delivery::Stream {
            return u64::from(self.config.unit.max(1));
        }
        u64::from(self.config.fec_data.max(1))
            * u64::from(self.config.packet.saturating_sub(HEADER).max(1))
    }

    /// When octet `n` of the music plays, after the first.
    fn playing_time(&self, octets: u64) -> Duration {
        let nanos = u128::from(octets) * 8_000_000_000 / u128::from(self.config.bitrate.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Packets of a group.
    fn group_packets(&self) -> u32 {
        match self.delivery {
            Delivery::Datagrams => self.config.fec_packets.max(1),
            Delivery::Stream => 1,
        }
    }

    /// When packet `index` of group `group` is sent, after the first.
    fn sending_time(&self, group: u64, index: u32) -> Duration {
        let start = self.playing_time(group * self.group_octets());
        let end = self.playing_time((group + 1) * self.group_octets());
        start + (end - start) * u64::from(index) / u64::from(self.group_packets())
    }
}

/// The streaming server.
#[derive(Debug)]
pub struct AudioSource {
    stream: AudioStream,
    start: Option<Instant>,
    group: u64,
    index: u32,
    session: Session,
}

impl AudioSource {
    /// A stream that begins at the handshake and has no end.
    pub fn new(stream: AudioStream) -> Self {
        Self {
            stream,
            start: None,
            group: 0,
            index: 0,
            session: Session::default(),
        }
    }

    fn due(&self) -> Option<Instant> {
        Some(self.start? + self.stream.sending_time(self.group, self.index))
    }

    fn next_payload(&self) -> Payload {
        if self.stream.delivery == Delivery::Stream {
            return Payload::of_len(self.stream.config.unit.max(1));
        }
        let mut content = vec![0; self.stream.config.packet.max(HEADER) as usize];
        content[..4].copy_from_slice(&(self.group as u32).to_be_bytes());
        content[4..8].copy_from_slice(&self.index.to_be_bytes());
        Payload::from_bytes(&content)
    }
}

impl App for AudioSource {
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        self.session.drain(now, endpoint);
        if self.start.is_none() {
            self.start = self.session.statistics.connected_at;
        }
        while !self.done() && self.due().is_some_and(|due| due <= now) {
            let stream = self.stream.delivery == Delivery::Stream;
            if stream && !self.session.writable {
                return;
            }
            if !self
                .session
                .write_payload(now, endpoint, self.next_payload())
            {
                if stream {
                    return;
                }
                // A datagram that finds no room is gone: media does not wait.
                self.session.statistics.writes_skipped += 1;
            }
            self.index += 1;
            if self.index >= self.stream.group_packets() {
                self.index = 0;
                self.group += 1;
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let waits = self.stream.delivery == Delivery::Stream && !self.session.writable;
        self.due().filter(|_| !waits && !self.done())
    }

    fn done(&self) -> bool {
        self.session.ended()
    }

    fn report(&self, _now: Instant) -> AppReport {
        self.session.statistics.into()
    }
}

/// What a listener noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AudioStatistics {
    /// Units that were due.
    pub units: u64,
    /// Of these, played from their own packets.
    pub on_time: u64,
    /// Played thanks to the correction.
    pub repaired: u64,
    /// Not played, but there later.
    pub late: u64,
    /// Not played and never there.
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
}

/// The player.
#[derive(Debug)]
pub struct AudioSink {
    stream: AudioStream,
    /// When the first unit plays.
    start: Option<Instant>,
    groups: BTreeMap<u64, Group>,
    /// Octets that a stream has delivered, and when each unit was complete that is not yet due.
    delivered: u64,
    completed: VecDeque<Instant>,
    /// The next unit to play.
    unit: u64,
    /// Units that did not play and may still come, by the first and last group that they need.
    missed: Vec<u64>,
    silent_since: Option<Instant>,
    /// The gaps that are over.
    gaps: Vec<(Instant, Duration)>,
    audio: AudioStatistics,
    session: Session,
}

impl AudioSink {
    /// A player of a stream of this kind.
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

    fn on_packet(&mut self, now: Instant, payload: &Payload) {
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
            // The first packet to arrive need not be the first that was sent.
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
        if let Some(arrival) = state.data.get_mut(index as usize) {
            *arrival = Some(now);
            state.damaged[index as usize] = payload.is_damaged();
        }
        if state.count == data {
            state.complete = Some(now);
        }
    }

    /// More of a stream has come.
    fn on_octets(&mut self, now: Instant, octets: u64) {
        self.start.get_or_insert(now + self.stream.config.playout);
        let before = self.delivered / self.unit_octets();
        self.delivered += octets;
        for unit in before..self.delivered / self.unit_octets() {
            if unit < self.unit {
                // It was due before; the units arrive in order, so it is the first missed one.
                if self.missed.first() == Some(&unit) {
                    self.missed.remove(0);
                    self.audio.late += 1;
                }
            } else {
                self.completed.push_back(now);
            }
        }
    }

    /// When a unit was there: by its own packets, and by the correction.
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

    /// True if one of the packets of a unit came damaged. The code does not repair it: it knows
    /// of erasures, not of errors.
    fn is_damaged(&self, unit: u64) -> bool {
        if self.stream.delivery == Delivery::Stream {
            return false;
        }
        let payload = u64::from(self.stream.config.packet.saturating_sub(HEADER).max(1));
        let per_group = u64::from(self.stream.config.fec_data.max(1));
        let first = unit * self.unit_octets() / payload;
        let last = ((unit + 1) * self.unit_octets() - 1) / payload;
        (first..=last).any(|packet| {
            let group = self.groups.get(&(packet / per_group));
            let damaged = group.and_then(|g| g.damaged.get((packet % per_group) as usize));
            damaged.copied().unwrap_or(false)
        })
    }

    /// Plays what is due, and forgets what no unit needs any more.
    fn play(&mut self, now: Instant) {
        while let Some(deadline) = self.deadline(self.unit).filter(|&at| at <= now) {
            let (own, repaired) = match self.stream.delivery {
                Delivery::Datagrams => self.availability(self.unit),
                Delivery::Stream => (self.completed.pop_front(), None),
            };
            let in_time = |at: Option<Instant>| at.is_some_and(|at| at <= deadline);
            self.audio.units += 1;
            if in_time(own) {
                self.audio.on_time += 1;
                self.audio.corrupted += u64::from(self.is_damaged(self.unit));
            } else if in_time(repaired) {
                self.audio.repaired += 1;
            } else {
                self.missed.push(self.unit);
                self.silent_since.get_or_insert(deadline);
            }
            let played = in_time(own) || in_time(repaired);
            if let (true, Some(since)) = (played, self.silent_since) {
                self.end_gap(since, deadline);
            }
            self.unit += 1;
        }
        self.settle();
    }

    fn end_gap(&mut self, since: Instant, until: Instant) {
        let silence = until.since(since);
        self.audio.gaps += 1;
        self.audio.silence += silence;
        self.audio.longest_gap = self.audio.longest_gap.max(silence);
        self.gaps.push((since, silence));
        self.silent_since = None;
    }

    /// Says late or lost of units missed so long ago that nothing more is awaited: a hundred
    /// groups. Keeps the memory bounded.
    fn settle(&mut self) {
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

    /// What the listener noticed so far; a gap that still lasts counts up to `now`.
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
        // Every unit that is due is a moment: gaps begin and end there.
        self.deadline(self.unit).filter(|_| !self.done())
    }

    fn done(&self) -> bool {
        self.session.ended()
    }

    fn report(&self, now: Instant) -> AppReport {
        let lasting = self.silent_since.map(|since| (since, now.since(since)));
        let playback = PlaybackReport {
            statistics: self.audio_statistics(now),
            gaps: self.gaps.iter().copied().chain(lasting).collect(),
        };
        AppReport {
            statistics: self.session.statistics,
            playback: Some(playback),
        }
    }
}

#[cfg(test)]
mod tests;
