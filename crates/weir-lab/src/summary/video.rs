//! The quality of a flow's video as seen by a viewer: its frames from capture to display.

use super::measure::measures;
use super::statistics::{Distribution, total};
use weir_net::app::{VideoFrame, VideoTiming};
use weir_proto::time::{Duration, Instant};

/// Intervals between displayed frames over which the mean is taken (W3C webrtc-stats, freezeCount).
const RECENT: usize = 30;
/// An interval that exceeds the mean by this many seconds may be a freeze (W3C webrtc-stats).
const FREEZE_MARGIN_S: f64 = 0.15;
/// An interval that exceeds this multiple of the mean may be a freeze (W3C webrtc-stats).
const FREEZE_RATIO: f64 = 3.0;

measures! {
    /// The video of a flow: frames that were captured from the warm-up on, and long enough before
    /// the end to be complete in time.
    #[derive(Copy)]
    pub struct VideoSummary {
        /// Frames of video that were captured.
        pub frames: u64 => unit("frames"),
        /// Of these, frames that were not encoded, because too much waited in the sender.
        pub not_encoded: u64 => unit("frames"),
        /// Frames of which every packet arrived.
        pub complete: u64 => unit("frames"),
        /// Of these, frames whose delay was longer than the deadline.
        pub late: u64 => unit("frames").lower().shown(&[("", "", 1110)]),
        /// Frames that were encoded and never complete.
        pub lost: u64 => unit("frames").lower().shown(&[("", "frames lost", 330)]),
        /// The mean of the encoder's rate.
        pub encoder_rate_bps: f64 => unit("bit/s").higher().shown(&[("", "video rate", 310)]),
        /// From the capture of a frame until its last packet arrived, over the complete ones.
        pub frame_delay_s: Option<Distribution> => unit("s").lower().shown(&[
            ("p50", "", 1090), ("p95", "frame delay, 95 %", 320), ("p99", "", 1100),
        ]),
        /// Freezes of the video: intervals between two shown frames that were much longer than
        /// those before them.
        pub freezes: u64,
        /// The longest freeze.
        pub longest_freeze_s: f64 => unit("s"),
        /// All freezes together.
        pub frozen_s: f64 => unit("s").lower().shown(&[("", "frozen", 340)]),
    }
}

/// Combines the frames that the sender captured with the parts that the receiver got.
pub(crate) fn joined(captured: &[VideoFrame], arrived: &[VideoFrame]) -> Vec<VideoFrame> {
    let frames = captured.iter().enumerate();
    let frames = frames.map(|(place, frame)| match arrived.get(place) {
        Some(there) => VideoFrame {
            arrived: there.arrived,
            completed: there.completed,
            ..*frame
        },
        None => *frame,
    });
    frames.collect()
}

/// The delay of a complete frame.
pub(crate) fn delay(frame: &VideoFrame) -> Option<Duration> {
    Some(frame.completed?.since(frame.captured))
}

/// The display times of frames with their numbers: a complete frame is displayed unless a later one
/// was displayed before.
fn shown(frames: &[VideoFrame]) -> Vec<(Instant, u32)> {
    let mut complete: Vec<(Instant, u32)> = frames
        .iter()
        .filter_map(|frame| Some((frame.completed?, frame.number)))
        .collect();
    complete.sort_unstable();
    let mut newest = None;
    complete.retain(|(_, number)| {
        let is_newer = newest.is_none_or(|newest| *number > newest);
        if is_newer {
            newest = Some(*number);
        }
        is_newer
    });
    complete
}

/// The freezes that end in the time range, each with its duration in seconds. The last frame is
/// displayed until `end`. Pauses are not part of an interval.
fn freezes(frames: &[VideoFrame], [from, end]: [Instant; 2]) -> Vec<f64> {
    let mut times = shown(frames);
    times.push((end, frames.len() as u32));
    let mut recent: Vec<f64> = Vec::new();
    let mut freezes = Vec::new();
    for pair in times.windows(2) {
        let [before, after] = [pair[0], pair[1]];
        let between = frames.get(before.1 as usize + 1..=after.1 as usize);
        // After the last displayed frame the interval ends at `end`, without a frame.
        let between = between.or(frames.get(before.1 as usize + 1..));
        let paused = between.unwrap_or_default().iter();
        let paused = paused.map(|frame| frame.pause.as_secs_f64()).sum::<f64>();
        let interval = after.0.since(before.0).as_secs_f64() - paused;
        let last = &recent[recent.len().saturating_sub(RECENT)..];
        let mean = last.iter().sum::<f64>() / last.len().max(1) as f64;
        let is_freeze = interval > (FREEZE_RATIO * mean).max(mean + FREEZE_MARGIN_S);
        if !last.is_empty() && is_freeze && after.0 > from {
            freezes.push(interval);
        }
        recent.push(interval);
    }
    freezes
}

impl VideoSummary {
    /// The summary of the frames captured in the time range, without those whose deadline is after
    /// its end, because they may still be in transit.
    pub fn of(frames: &[VideoFrame], [from, end]: [Instant; 2], timing: VideoTiming) -> Self {
        let deadline = timing.deadline;
        let judged: Vec<&VideoFrame> = frames
            .iter()
            .filter(|frame| frame.captured >= from && frame.captured + deadline <= end)
            .collect();
        let count = |what: &dyn Fn(&VideoFrame) -> bool| {
            judged.iter().filter(|frame| what(frame)).count() as u64
        };
        let is_encoded = |frame: &VideoFrame| frame.packets > 0;
        let delays = judged.iter().filter_map(|frame| delay(frame));
        let rates = judged.iter().map(|frame| f64::from(frame.encoder_rate));
        let last_shown = timing.paused_since.map_or(end, |since| since.min(end));
        let freezes = freezes(frames, [from, last_shown]);
        Self {
            frames: judged.len() as u64,
            not_encoded: count(&|frame| !is_encoded(frame)),
            complete: count(&|frame| frame.completed.is_some()),
            late: count(&|frame| delay(frame).is_some_and(|delay| delay > deadline)),
            lost: count(&|frame| is_encoded(frame) && frame.completed.is_none()),
            encoder_rate_bps: total(rates) / judged.len().max(1) as f64,
            frame_delay_s: Distribution::of(delays.map(Duration::as_secs_f64)),
            freezes: freezes.len() as u64,
            longest_freeze_s: freezes.iter().copied().fold(0.0, f64::max),
            frozen_s: total(freezes.iter().copied()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// A frame each 40 ms with these delays in milliseconds; `None` for one that is never complete.
    fn video(delays: &[Option<u64>]) -> Vec<VideoFrame> {
        let frames = delays.iter().zip(0..);
        let frame = |(delay, number): (&Option<u64>, u64)| VideoFrame {
            number: number as u32,
            captured: at(number * 40),
            bytes: 1000,
            packets: 1,
            encoder_rate: 200_000,
            completed: delay.map(|delay| at(number * 40 + delay)),
            ..VideoFrame::default()
        };
        frames.map(frame).collect()
    }

    #[test]
    fn frames_are_complete_late_or_lost_and_the_end_is_not_judged() {
        let frames = video(&[Some(20), Some(30), None, Some(120), Some(20), None]);
        let timing = VideoTiming {
            deadline: Duration::from_millis(100),
            paused_since: None,
        };
        let summary = VideoSummary::of(&frames, [at(40), at(260)], timing);
        // Frames 1 to 4: the first one is before the warm-up, the last one may be in transit.
        assert_eq!(
            (summary.frames, summary.complete, summary.late, summary.lost),
            (4, 3, 1, 1)
        );
        let delay = summary.frame_delay_s.expect("frames arrived");
        assert_eq!((delay.min, delay.p50, delay.max), (0.02, 0.03, 0.12));
    }

    #[test]
    fn a_frame_that_comes_after_a_later_one_is_not_shown() {
        let frames = video(&[Some(10), Some(100), Some(10), Some(10)]);
        assert_eq!(shown(&frames), [(at(10), 0), (at(90), 2), (at(130), 3)]);
    }

    #[test]
    fn a_freeze_is_150_ms_and_three_times_longer_than_before() {
        // Forty frames at intervals of 40 ms, then this many lost frames and one that arrives: the
        // interval is 40 ms for each lost frame plus 40 ms. Freezes are longer than 190 ms.
        for (lost, expected) in [(0, None), (3, None), (4, Some(0.2)), (9, Some(0.4))] {
            let mut delays = vec![Some(20); 40];
            delays.extend(std::iter::repeat_n(None, lost));
            delays.push(Some(20));
            let frames = video(&delays);
            let end = at(40 * frames.len() as u64);
            let found = freezes(&frames, [Instant::ZERO, end]);
            let expected: Vec<f64> = expected.into_iter().collect();
            assert_eq!(found.len(), expected.len(), "{lost}");
            let close = found
                .iter()
                .zip(&expected)
                .all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(close, "{found:?} {expected:?}");
        }
        // The last frame is displayed for a second.
        let frames = video(&[Some(20); 40]);
        assert_eq!(freezes(&frames, [Instant::ZERO, at(2580)]).len(), 1);
    }

    #[test]
    fn a_pause_of_the_source_is_no_freeze() {
        // Forty frames, a pause of ten seconds in addition to 40 ms, and forty frames, of which the
        // first ones are lost.
        for (lost, expected) in [(0, 0), (3, 0), (4, 1)] {
            let mut delays = vec![Some(20); 80];
            delays[40..40 + lost].fill(None);
            let mut frames = video(&delays);
            let pause = Duration::from_secs(10);
            frames[40].pause = pause;
            for frame in &mut frames[40..] {
                frame.captured += pause;
                frame.completed = frame.completed.map(|at| at + pause);
            }
            let end = at(80 * 40 + 10_000);
            let found = freezes(&frames, [Instant::ZERO, end]);
            assert_eq!(found.len(), expected, "{lost}: {found:?}");
            // The run ends in a pause: the last frame counts as displayed until the pause begins.
            let timing = |paused_since| VideoTiming {
                deadline: Duration::from_millis(100),
                paused_since,
            };
            let until_the_end = |paused_since| {
                let span = [Instant::ZERO, end + Duration::from_secs(5)];
                VideoSummary::of(&frames, span, timing(paused_since)).freezes
            };
            assert_eq!(until_the_end(None), expected as u64 + 1);
            assert_eq!(until_the_end(Some(end)), expected as u64);
        }
    }
}
