//! The camera and its encoder.

use super::{HEADER, VideoConfig, VideoFrame, VideoPause, VideoTiming};
use crate::app::{App, AppReport, Session};
use weir_proto::endpoint::{Endpoint, MediaTarget};
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// A run of frames that are captured at constant intervals, without a pause between them.
#[derive(Clone, Copy, Debug)]
struct Spell {
    /// The number of its first frame.
    first: u64,
    /// When its first frame is captured.
    since: Instant,
    /// The time by which pauses have delayed its first frame.
    pause: Duration,
}

/// The source of a stream that begins at the handshake and has no end.
#[derive(Debug)]
pub struct VideoSource {
    config: VideoConfig,
    rng: Rng,
    start: Option<Instant>,
    /// The run of frames since the start or the last pause. A pause that has begun is already
    /// accounted for here.
    spell: Option<Spell>,
    /// Pauses that have not begun, in reverse order.
    pauses: Vec<VideoPause>,
    /// The rate to which the encoder is set, in bit/s; `None` before the first frame.
    rate: Option<f64>,
    /// When the encoder was set to this rate.
    rate_since: Instant,
    frames: Vec<VideoFrame>,
    session: Session,
}

impl VideoSource {
    /// A source before its first frame.
    pub fn new(config: VideoConfig, rng: Rng) -> Self {
        Self {
            pauses: config.pauses.iter().rev().copied().collect(),
            config,
            rng,
            start: None,
            spell: None,
            rate: None,
            rate_since: Instant::ZERO,
            frames: Vec::new(),
            session: Session::default(),
        }
    }

    /// When the next frame is captured; `None` before the handshake.
    fn due(&self) -> Option<Instant> {
        let spell = self.spell?;
        let number = self.frames.len() as u64 - spell.first;
        Some(spell.since + self.config.capture_time(number))
    }

    /// Postpones the next frame to the end of the pause in which it would be captured.
    fn skip_pauses(&mut self) {
        while let (Some(start), Some(due), Some(pause)) =
            (self.start, self.due(), self.pauses.last())
        {
            let [begin, end] = [pause.at, pause.until].map(|time| start + time);
            if due < begin {
                return;
            }
            self.pauses.pop();
            if due < end {
                let first = self.frames.len() as u64;
                let before = self.spell.filter(|spell| spell.first == first);
                let before = before.map_or(Duration::ZERO, |spell| spell.pause);
                self.spell = Some(Spell {
                    first,
                    since: end,
                    pause: before + end.since(due),
                });
            }
        }
    }

    /// The encoder's rate for the frame that is captured now.
    fn encoder_rate(&mut self, now: Instant, target: Option<MediaTarget>) -> f64 {
        let target = target.map_or(self.config.rate as f64, |target| target.rate.as_bps());
        let may_change = now.since(self.rate_since) >= self.config.encoder_lag;
        match self.rate {
            Some(rate) if rate == target || !may_change => rate,
            _ => {
                self.rate = Some(target);
                self.rate_since = now;
                target
            }
        }
    }

    /// True if the backlog of the sender is too large for another frame.
    fn is_backed_up(&self, target: Option<MediaTarget>) -> bool {
        let (Some(target), Some(longest)) = (target, self.config.drop_above) else {
            return false;
        };
        target.rate.time_for(target.buffered_bytes) > longest
    }

    /// The frame that is captured now.
    fn next_frame(&mut self, now: Instant, endpoint: &dyn Endpoint) -> VideoFrame {
        let target = endpoint.media_target();
        let rate = self.encoder_rate(now, target);
        let number = self.frames.len() as u64;
        let place = number - self.spell.map_or(0, |spell| spell.first);
        let is_key = match self.config.key_frame_period() {
            Some(period) => place.is_multiple_of(period),
            None => place == 0,
        };
        let pause = self.spell.filter(|_| place == 0);
        let mut frame = VideoFrame {
            number: number as u32,
            captured: now,
            is_key,
            pause: pause.map_or(Duration::ZERO, |spell| spell.pause),
            encoder_rate: rate.min(f64::from(u32::MAX)) as u32,
            ..VideoFrame::default()
        };
        if self.is_backed_up(target) {
            return frame;
        }
        let mut bytes = self.config.frame_bytes(rate, is_key);
        if self.config.size_variation > 0.0 {
            bytes *= 1.0 + self.config.size_variation * (2.0 * self.rng.uniform() - 1.0);
        }
        let packet = self.config.packet.max(HEADER);
        frame.bytes = (bytes as u32).max(HEADER);
        frame.packets = u16::try_from(frame.bytes.div_ceil(packet)).unwrap_or(u16::MAX);
        frame
    }

    /// Writes the packets of a frame; packets for which the sender has no room are lost.
    fn write(&mut self, now: Instant, endpoint: &mut dyn Endpoint, frame: &VideoFrame) {
        let packet = self.config.packet.max(HEADER);
        let mut left = frame.bytes;
        for index in 0..frame.packets {
            let len = left.min(packet);
            left -= len;
            if !self
                .session
                .write_payload(now, endpoint, frame.payload(index, len))
            {
                self.session.statistics.writes_skipped += 1;
            }
        }
    }
}

impl App for VideoSource {
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        self.session.drain(now, endpoint);
        if self.start.is_none() {
            self.start = self.session.statistics.connected_at;
            self.spell = self.start.map(|since| Spell {
                first: 0,
                since,
                pause: Duration::ZERO,
            });
            self.skip_pauses();
        }
        while !self.done() && self.due().is_some_and(|due| due <= now) {
            let frame = self.next_frame(now, endpoint);
            self.write(now, endpoint, &frame);
            self.frames.push(frame);
            self.skip_pauses();
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.due().filter(|_| !self.done())
    }

    fn done(&self) -> bool {
        self.session.ended()
    }

    fn report(&self, _now: Instant) -> AppReport<'_> {
        let next = self.frames.len() as u64;
        let spell = self.spell.filter(|spell| spell.first == next);
        AppReport {
            frames: &self.frames,
            video_timing: Some(VideoTiming {
                deadline: self.config.deadline,
                paused_since: spell.map(|spell| spell.since - spell.pause),
            }),
            ..self.session.statistics.into()
        }
    }
}
