//! Video: an encoder that follows a target rate, and the arrival of its frames.
//!
//! Frames are captured at constant intervals and written at once, in packets of at most `packet`
//! octets. The transport's controller provides the target rate; without one it is `rate`. The
//! encoder adopts a new target at most once in `encoder_lag`, as in the model of RFC 8593, where it
//! is the reaction latency. Every `key_frame_interval` a frame is a key frame, `key_frame_ratio`
//! times as large as the others, whose size is reduced so that the mean rate is the target.
//!
//! No frame is captured during a pause; packets that wait in the sender are still sent. The first
//! frame after it is a key frame, and restarts the key frame interval.
//!
//! The frame delay is the time from capture until the last packet has arrived. A frame is complete
//! if all its packets arrived, and late if that took longer than `deadline`. The display shows a
//! complete frame unless a later one was shown before. It **freezes** when the time between two
//! shown frames is more than 150 ms longer, and more than three times as long, as the mean of the
//! last 30: the rule of freezeCount in the W3C's WebRTC statistics.
//!
//! Every packet carries a header of 28 octets that describes its frame; its content is not video.
//! Does not model: coding and decoding times, dependence of frames on each other (a lost frame
//! damages no other), retransmission and forward error correction, resolution and quality.

mod frame;
mod sink;
mod source;
#[cfg(test)]
mod tests;

pub use frame::VideoFrame;
pub use sink::VideoSink;
pub use source::VideoSource;

/// How to judge the frames of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoTiming {
    /// A frame is late if its delay is longer.
    pub deadline: Duration,
    /// When the next frame would have been captured without the pause; `None` outside of pauses.
    pub paused_since: Option<Instant>,
}

use super::{AppEnvironment, AppPair, AppSettings, Contradiction, WriteLoad};
use weir_proto::rng::Rng;
use weir_proto::settings::{bit_rate, bytes, count, fraction, natural, number, or_word};
use weir_proto::time::{Duration, Instant};

/// Octets of the description of the frame at the start of each packet.
const HEADER: u32 = 28;

weir_proto::settings! {
    /// Video of an encoder that follows the target rate of the transport's controller.
    #[derive(Clone, Debug, PartialEq)]
    pub struct VideoConfig {
        /// Payload bits per second while the transport says no target: without a controller for
        /// media always.
        pub rate: u64 = 1_000_000 => bit_rate(),
        /// Frames per second.
        pub frame_rate: u32 = 30 => count(1..=240, "frames per second"),
        /// Bytes of a packet at most, 28 of the frame's description included.
        pub packet: u32 = 1200 => bytes(28..=65_535),
        /// From one key frame to the next; "never" for none but the first.
        pub key_frame_interval: Option<Duration> = Some(Duration::from_secs(10))
            => or_word("never", natural()),
        /// The size of a key frame in sizes of other frames.
        pub key_frame_ratio: f64 = 3.0 => number(1.0..=100.0, "times"),
        /// The least time between two changes of the encoder's rate: its reaction latency.
        pub encoder_lag: Duration = Duration::from_millis(200),
        /// The most by which the size of a frame varies at random, in 0..1 of its size.
        pub size_variation: f64 = 0.0 => fraction(),
        /// A frame is not encoded while more waits in the sender than leaves in so long at the
        /// target rate; "never" encodes all.
        pub drop_above: Option<Duration> => or_word("never", natural()),
        /// A frame is late if its delay is longer.
        pub deadline: Duration = Duration::from_millis(200),
        /// When the source is paused, one pause after the other.
        pub pauses: Vec<VideoPause> as "pause",
    }
}

weir_proto::settings! {
    /// A time in which no frame is captured; the first frame after it is a key frame.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct VideoPause {
        /// When it begins, from the first frame on.
        pub at: Duration [required],
        /// When frames are captured again, from the first frame on.
        pub until: Duration [required] = Duration::from_secs(1) => natural(),
    }
}

impl AppSettings for VideoConfig {
    fn build(&self, environment: AppEnvironment<'_>) -> AppPair {
        let name = format!("flow/{}/app", environment.flow);
        let rng = Rng::stream(environment.seed, &name);
        AppPair {
            source: Box::new(VideoSource::new(self.clone(), rng)),
            sink: Box::new(VideoSink::new()),
        }
    }

    fn is_random(&self) -> bool {
        self.size_variation > 0.0
    }

    fn arbitrary(rng: &mut Rng) -> Self {
        Self {
            rate: 50_000 + rng.below(2_000_000),
            frame_rate: 1 + rng.below(60) as u32,
            packet: HEADER + rng.below(1100) as u32,
            key_frame_interval: rng
                .chance(0.5)
                .then(|| Duration::from_millis(rng.below(3000))),
            size_variation: 0.5 * rng.uniform(),
            drop_above: rng
                .chance(0.5)
                .then(|| Duration::from_millis(rng.below(1000))),
            pauses: Vec::from_iter(rng.chance(0.5).then(|| {
                let at = Duration::from_millis(rng.below(1000));
                let until = at + Duration::from_millis(1 + rng.below(1000));
                VideoPause { at, until }
            })),
            ..Self::default()
        }
    }

    fn packet(&self) -> u32 {
        self.packet
    }

    fn load(&self) -> Option<WriteLoad> {
        let frame = self.rate as f64 / 8.0 / f64::from(self.frame_rate.max(1));
        let packets = (frame / f64::from(self.packet.max(1))).max(1.0);
        Some(WriteLoad {
            per_second: packets * f64::from(self.frame_rate),
            count: None,
        })
    }

    fn check(&self) -> Result<(), Contradiction> {
        let frame = Duration::from_nanos(1_000_000_000 / u64::from(self.frame_rate.max(1)));
        if self
            .key_frame_interval
            .is_some_and(|interval| interval < frame)
        {
            return Err(Contradiction {
                key: "key_frame_interval",
                message: "key_frame_interval: it is shorter than the time between two frames"
                    .to_owned(),
                help: "write \"10s\", or \"never\"",
            });
        }
        let mut last = Duration::ZERO;
        for pause in &self.pauses {
            if pause.at < last || pause.until <= pause.at {
                return Err(Contradiction {
                    key: "pause",
                    message: format!(
                        "pause: that from {} until {} ends before it begins, or begins before the \
                         one before it ends",
                        pause.at, pause.until
                    ),
                    help: "write them in their order, each with its `at` before its `until`",
                });
            }
            last = pause.until;
        }
        Ok(())
    }
}

impl VideoConfig {
    /// The time from a frame to the capture of the `number`th frame after it, without pauses.
    fn capture_time(&self, number: u64) -> Duration {
        let nanos = u128::from(number) * 1_000_000_000 / u128::from(self.frame_rate.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Frames from one key frame to the next; `None` if only the first is one.
    fn key_frame_period(&self) -> Option<u64> {
        let interval = self.key_frame_interval?.as_secs_f64();
        Some((interval * f64::from(self.frame_rate)).max(1.0) as u64)
    }

    /// Octets of a frame at this rate in bit/s, on average.
    fn frame_bytes(&self, rate: f64, is_key: bool) -> f64 {
        let mean = rate / 8.0 / f64::from(self.frame_rate.max(1));
        let other = match self.key_frame_period() {
            Some(period) => {
                let period = period as f64;
                mean * period / (period - 1.0 + self.key_frame_ratio)
            }
            None => mean,
        };
        if is_key {
            other * self.key_frame_ratio
        } else {
            other
        }
    }
}
