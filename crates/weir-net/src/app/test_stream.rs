//! An end of a stream for tests of applications.

use std::collections::VecDeque;
use weir_proto::endpoint::{Endpoint, EndpointEvent, Statistics, WriteError};
use weir_proto::packet::{Packet, Payload};
use weir_proto::time::Instant;

/// One end of a stream that takes a few writes at a time.
#[derive(Default)]
pub(super) struct Stream {
    pub(super) events: VecDeque<EndpointEvent>,
    pub(super) written: u64,
    pub(super) room: u32,
    pub(super) incoming: u32,
    pub(super) closed: bool,
}

impl Endpoint for Stream {
    fn handle(&mut self, _: Instant, _: &mut Packet) {}
    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, _: Instant) -> Option<Packet> {
        None
    }
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    fn connect(&mut self, _: Instant) {}
    fn close(&mut self, _: Instant) {
        self.closed = true;
    }
    fn write(&mut self, _: Instant, data: Payload) -> Result<(), WriteError> {
        if self.room == 0 {
            return Err(WriteError::Blocked);
        }
        self.room -= 1;
        self.written += u64::from(data.len());
        Ok(())
    }
    fn read(&mut self, _: Instant) -> Option<Payload> {
        let len = std::mem::take(&mut self.incoming);
        (len > 0).then(|| Payload::of_len(len))
    }
    fn poll_event(&mut self) -> Option<EndpointEvent> {
        self.events.pop_front()
    }
    fn transmitted(&mut self, _: Instant, _: u64) {}
    fn statistics(&self) -> Statistics {
        Statistics::default()
    }
}
