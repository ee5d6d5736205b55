//! The columns of `frames/NAME`, and the table.

use crate::summary::delay;
use crate::table::{ColumnSpec, Table, TableRecorder};
use weir_net::app::VideoFrame;
use weir_proto::time::Duration;

/// A column of [`FRAME`].
pub type Frame = ColumnSpec<FrameRow>;

/// A frame of video, and its fate.
#[derive(Clone, Copy, Debug)]
pub struct FrameRow {
    frame: VideoFrame,
    /// The delay until the frame was complete; `None` if it never was.
    delay: Option<Duration>,
    outcome: &'static str,
}

/// `frames/NAME`: a row for each frame of video.
pub const FRAME: &[Frame] = &[
    Frame::number("time_s", "s", "when the frame was captured", &|row| {
        row.frame.captured.as_secs_f64()
    }),
    Frame::count("number", "", "its number, from 0 on", &|row| {
        u64::from(row.frame.number)
    }),
    Frame::word("kind", "key, or delta", &|row| {
        if row.frame.is_key { "key" } else { "delta" }
    }),
    Frame::count("size_bytes", "bytes", "its octets in all packets", &|row| {
        u64::from(row.frame.bytes)
    }),
    Frame::count(
        "packets",
        "packets",
        "its packets; 0 if it was not encoded",
        &|row| u64::from(row.frame.packets),
    ),
    Frame::count("arrived", "packets", "its packets that arrived", &|row| {
        u64::from(row.frame.arrived)
    }),
    Frame::number(
        "encoder_rate_bps",
        "bit/s",
        "the rate to which the encoder was set",
        &|row| f64::from(row.frame.encoder_rate),
    ),
    Frame::number(
        "frame_delay_s",
        "s",
        "from its capture until its last packet arrived; none if one is missing",
        &|row| row.delay.map_or(f64::NAN, Duration::as_secs_f64),
    )
    .plotted("frame delay, s", "frame delay"),
    Frame::word(
        "outcome",
        "complete; late: complete after the deadline; incomplete; or not_encoded",
        &|row| row.outcome,
    ),
];

/// `frames/NAME`.
pub(in crate::run) fn frame_table(frames: &[VideoFrame], deadline: Duration) -> Table {
    let mut table = TableRecorder::new(FRAME);
    for frame in frames {
        let delay = delay(frame);
        let outcome = match delay {
            _ if frame.packets == 0 => "not_encoded",
            None => "incomplete",
            Some(delay) if delay > deadline => "late",
            Some(_) => "complete",
        };
        table.push(&FrameRow {
            frame: *frame,
            delay,
            outcome,
        });
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_proto::time::Instant;

    #[test]
    fn a_frame_is_complete_late_incomplete_or_not_encoded() {
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let frame = |packets, completed: Option<u64>| VideoFrame {
            captured: at(40),
            packets,
            completed: completed.map(at),
            ..VideoFrame::default()
        };
        let frames = [
            frame(2, Some(140)),
            frame(2, Some(141)),
            frame(2, None),
            frame(0, None),
        ];
        let table = frame_table(&frames, Duration::from_millis(100));
        let words = table.words("outcome").expect("a column");
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        assert_eq!(words, ["complete", "late", "incomplete", "not_encoded"]);
        let delays = table.numbers("frame_delay_s").expect("a column");
        assert!(delays[0] > 0.0999 && delays[1] > 0.1 && delays[2].is_nan());
    }
}
