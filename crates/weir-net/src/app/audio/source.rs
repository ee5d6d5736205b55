//! The server of an audio stream: sends one payload at a time at the sending times of the stream.

use super::{AudioStream, HEADER};
use crate::app::{App, AppReport, Delivery, Session};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::Payload;
use weir_proto::time::Instant;

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
                // A datagram without room in the send queue is dropped, because a live stream does
                // not wait.
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

    fn report(&self, _now: Instant) -> AppReport<'_> {
        self.session.statistics.into()
    }
}
