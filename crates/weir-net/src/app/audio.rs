//! An audio stream and its listener.
//!
//! The stream is a sequence of **units** of equal size and playing time: mp3 frames (418 octets, 26
//! ms at 128 kbit/s) or ogg pages (4 kB, a quarter of a second). The sender puts them into packets.
//! With forward error correction, packets form groups of n, of which the first k carry data: any k
//! of them restore the whole group (an erasure code such as Reed-Solomon), and the n packets are
//! spread evenly over the group's playing time. Without it every packet is a group of one, spaced
//! by its playing time.
//!
//! The listener starts to play `playout` after the first packet arrived; from then on each unit has
//! a playing time. A unit is **on time** if all its packets arrived by its playing time,
//! **repaired** if the code restored it by then, **late** if it arrived or was restored afterwards,
//! and **lost** otherwise. A run of units that were not played is an audible **gap**.
//!
//! Over a byte stream (TCP, QUIC) the units follow each other without packet headers or error
//! correction, the sender waits for room instead of dropping, and a unit has arrived when the
//! stream has been delivered up to its end. The playing times are still those of a live stream: a
//! unit that arrives late is not played.
//!
//! Every datagram carries an 8-octet header of group and index. The payload is not audio; the
//! listener only judges which octets arrive in time. Does not model: error concealment of codecs,
//! clock drift, bitrate adaptation.

mod sink;
mod source;

pub use sink::{AudioSink, AudioStatistics};
pub use source::AudioSource;

use super::{AppEnvironment, AppPair, AppSettings, Contradiction, Delivery, WriteLoad};
use weir_proto::rng::Rng;
use weir_proto::settings::{bit_rate, bytes, count};
use weir_proto::time::Duration;

/// Octets of the header of each packet: group and index.
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
    #[derive(Default)]
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

    fn is_random(&self) -> bool {
        false
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            bitrate: 64_000 + rng.below(1_000_000),
            fec_packets: 1 + rng.below(3) as u32,
            ..Self::default()
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
        Duration::of_octets(octets, self.config.bitrate)
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

#[cfg(test)]
mod tests;
