//! The receiver of video: which frames arrived, and when.

use super::VideoFrame;
use crate::app::{App, AppReport, Session};
use std::collections::BTreeSet;
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::Payload;
use weir_proto::time::Instant;

/// How many frames a packet may be ahead of the newest frame so far; packets further ahead are
/// ignored.
const MOST_MISSING: usize = 1 << 20;

/// The receiver of a stream.
#[derive(Debug, Default)]
pub struct VideoSink {
    /// By number; a frame of which no packet arrived has only its number.
    frames: Vec<VideoFrame>,
    /// Frame number and index of the packets of incomplete frames, so that duplicates count once.
    pending: BTreeSet<(u32, u16)>,
    payloads: Vec<Payload>,
    session: Session,
}

impl VideoSink {
    /// A receiver to which nothing has arrived yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn on_packet(&mut self, now: Instant, payload: &Payload) {
        let Some((described, index)) = VideoFrame::described(payload) else {
            return;
        };
        let place = described.number as usize;
        if place >= self.frames.len().saturating_add(MOST_MISSING) {
            return;
        }
        while self.frames.len() <= place {
            let number = self.frames.len() as u32;
            self.frames.push(VideoFrame {
                number,
                ..VideoFrame::default()
            });
        }
        let frame = &mut self.frames[place];
        let is_new = frame.completed.is_none() && self.pending.insert((described.number, index));
        if !is_new {
            return;
        }
        let arrived = frame.arrived.saturating_add(1);
        let is_complete = arrived >= described.packets;
        *frame = VideoFrame {
            arrived,
            completed: is_complete.then_some(now),
            ..described
        };
        if is_complete {
            let number = described.number;
            let newer = self.pending.split_off(&(number.saturating_add(1), 0));
            self.pending.retain(|(frame, _)| *frame < number);
            self.pending.extend(newer);
        }
    }
}

impl App for VideoSink {
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        let mut payloads = std::mem::take(&mut self.payloads);
        self.session.drain_into(now, endpoint, &mut payloads);
        for payload in payloads.drain(..) {
            self.on_packet(now, &payload);
        }
        self.payloads = payloads;
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn done(&self) -> bool {
        self.session.ended()
    }

    fn report(&self, _now: Instant) -> AppReport<'_> {
        AppReport {
            frames: &self.frames,
            ..self.session.statistics.into()
        }
    }
}
