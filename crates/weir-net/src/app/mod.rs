//! Applications: what writes into an endpoint and reads from it.
//!
//! The driver calls [`App::start`] when the flow starts, and [`App::poll`] after anything that
//! happened at the endpoint or when the application's own time has come. In `poll` the
//! application drains `Endpoint::poll_event` and `Endpoint::read` and writes what is due.

mod audio;
mod bulk;
mod cbr;
mod on_off;
mod sink;

pub use audio::{AudioConfig, AudioSink, AudioSource, AudioStatistics, Delivery};
pub use bulk::{Bulk, BulkConfig};
pub use cbr::{Cbr, CbrConfig, OverflowPolicy};
pub use on_off::{LengthDistribution, OnOff, OnOffConfig};
pub use sink::Sink;

use weir_proto::endpoint::{CloseReason, Endpoint, EndpointEvent, WriteError};
use weir_proto::packet::Payload;
use weir_proto::time::{Duration, Instant};

/// An application at one end of a connection.
pub trait App {
    /// The flow starts. The endpoint is not connected yet.
    fn start(&mut self, now: Instant);

    /// Something happened at the endpoint, or the time of [`poll_timeout`](Self::poll_timeout)
    /// has come: take the events, read, write what is due.
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint);

    /// When [`poll`](Self::poll) must be called at the latest; `None` while nothing is due.
    fn poll_timeout(&self) -> Option<Instant>;

    /// True once it will neither write nor read any more.
    fn done(&self) -> bool;

    /// What it has done so far.
    fn statistics(&self) -> AppStatistics;

    /// What a listener noticed, if this application plays audio.
    fn audio(&self, _now: Instant) -> Option<AudioStatistics> {
        None
    }

    /// The gaps that a listener heard, if this application plays audio: when each began, and how
    /// long it lasted; one that still lasts is the last.
    fn gaps(&self, _now: Instant) -> Vec<(Instant, Duration)> {
        Vec::new()
    }
}

/// Counters of an application since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppStatistics {
    /// Writes that the endpoint took.
    pub writes: u64,
    /// Octets of these.
    pub bytes_written: u64,
    /// Writes that were due and never made, because the endpoint could not take them.
    pub writes_skipped: u64,
    /// Writes that had to wait for room, and were made later.
    pub writes_delayed: u64,
    /// The endpoint refused a write as too large, which ends the application: the largest
    /// datagram that it takes.
    pub too_large: Option<u32>,
    /// Payloads read.
    pub reads: u64,
    /// Octets of these.
    pub bytes_read: u64,
    /// When the handshake was done.
    pub connected_at: Option<Instant>,
    /// When the first payload was read.
    pub first_read_at: Option<Instant>,
    /// When the last payload was read.
    pub last_read_at: Option<Instant>,
    /// How the connection ended.
    pub closed: Option<CloseReason>,
}

/// What every application keeps: its counters and the news from the endpoint.
#[derive(Debug, Default)]
struct Session {
    statistics: AppStatistics,
    /// False between a blocked write and the next `Writable`.
    writable: bool,
}

impl Session {
    /// Takes all events and reads everything there is.
    fn drain(&mut self, now: Instant, endpoint: &mut dyn Endpoint) {
        self.drain_with(now, endpoint, |_| ());
    }

    /// Takes all events and keeps what it reads.
    fn drain_into(
        &mut self,
        now: Instant,
        endpoint: &mut dyn Endpoint,
        payloads: &mut Vec<Payload>,
    ) {
        self.drain_with(now, endpoint, |payload| payloads.push(payload));
    }

    fn drain_with(
        &mut self,
        now: Instant,
        endpoint: &mut dyn Endpoint,
        mut take: impl FnMut(Payload),
    ) {
        while let Some(event) = endpoint.poll_event() {
            match event {
                EndpointEvent::Connected => {
                    self.statistics.connected_at = Some(now);
                    self.writable = true;
                }
                EndpointEvent::Writable => self.writable = true,
                EndpointEvent::Readable => self.read(now, endpoint, &mut take),
                EndpointEvent::Closed(reason) => {
                    self.statistics.closed = Some(reason);
                    self.writable = false;
                }
            }
        }
    }

    fn read(&mut self, now: Instant, endpoint: &mut dyn Endpoint, take: &mut impl FnMut(Payload)) {
        while let Some(payload) = endpoint.read(now) {
            let statistics = &mut self.statistics;
            statistics.reads += 1;
            statistics.bytes_read += u64::from(payload.len());
            statistics.first_read_at.get_or_insert(now);
            statistics.last_read_at = Some(now);
            take(payload);
        }
    }

    /// Writes `len` octets; true if the endpoint took them.
    fn write(&mut self, now: Instant, endpoint: &mut dyn Endpoint, len: u32) -> bool {
        self.write_payload(now, endpoint, Payload::of_len(len))
    }

    /// Writes this payload; true if the endpoint took it.
    fn write_payload(&mut self, now: Instant, endpoint: &mut dyn Endpoint, data: Payload) -> bool {
        let len = data.len();
        match endpoint.write(now, data) {
            Ok(()) => {
                self.statistics.writes += 1;
                self.statistics.bytes_written += u64::from(len);
                return true;
            }
            // A connection that does not take data any more says `Closed` as an event too.
            Err(WriteError::Blocked | WriteError::Closed) => {}
            Err(WriteError::TooLarge(limit)) => self.statistics.too_large = Some(limit),
        }
        self.writable = false;
        false
    }

    /// True if there is nothing more to do on this connection.
    fn ended(&self) -> bool {
        self.statistics.closed.is_some() || self.statistics.too_large.is_some()
    }
}
