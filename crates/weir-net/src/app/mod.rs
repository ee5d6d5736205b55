//! Applications, which write into an endpoint and read from it.
//!
//! The driver calls [`App::poll`] when the endpoint has an event for the application or the
//! application's own time has come. In `poll` the application drains `Endpoint::poll_event` and
//! `Endpoint::read` and writes what is due.
//!
//! An application is one file with an [`App`], its configuration as [`AppSettings`] beside it, and
//! one line in the registry below.

mod audio;
mod bulk;
mod cbr;
mod on_off;
mod outgoing;
mod request;
mod sink;
mod size;
#[cfg(test)]
mod test_stream;
mod tunnel;
mod video;

pub use audio::{AudioConfig, AudioFormat, AudioSink, AudioSource, AudioStatistics, AudioStream};
pub use bulk::{Bulk, BulkConfig};
pub use cbr::{Cbr, CbrConfig, OverflowPolicy};
pub use on_off::{LengthDistribution, OnOff, OnOffConfig};
pub use request::{RequestClient, RequestConfig, RequestRecord, RequestServer};
pub use sink::Sink;
pub use size::{MAX_SIZE, Pairs, TransferSize};
pub(crate) use tunnel::Arrival as TunnelArrival;
pub use tunnel::{TunnelEnd, TunnelEndConfig};
pub use video::{VideoConfig, VideoFrame, VideoPause, VideoSink, VideoSource, VideoTiming};

use weir_proto::endpoint::{CloseReason, Endpoint, EndpointEvent, WriteError};
use weir_proto::packet::Payload;
use weir_proto::rng::Rng;
use weir_proto::time::{Duration, Instant};

/// Generates, from one line for each application, the configuration enum and the dispatch to it.
macro_rules! applications {
    ($($name:ident($config:ty) = $word:literal),* $(,)?) => {
        weir_proto::kinds! {
            /// The configuration of any application.
            #[derive(Clone, Debug, PartialEq)]
            pub enum AppConfig {
                $(#[doc = concat!("See [`", stringify!($config), "`].")]
                $name($config) = $word,)*
            }
        }

        $(impl From<$config> for AppConfig {
            fn from(config: $config) -> Self {
                Self::$name(config)
            }
        })*

        impl AppConfig {
            /// A configuration of a random application for property tests.
            pub fn arbitrary(rng: &mut Rng) -> Self {
                let any: &[fn(&mut Rng) -> Self] = &[
                    $(|rng| Self::$name(<$config>::arbitrary(rng)),)*
                ];
                any[rng.below(any.len() as u64) as usize](rng)
            }

            fn settings(&self) -> &dyn AppSettings {
                match self {
                    $(Self::$name(config) => config,)*
                }
            }
        }
    };
}

applications! {
    Bulk(BulkConfig) = "bulk",
    Cbr(CbrConfig) = "cbr",
    OnOff(OnOffConfig) = "on_off",
    Audio(AudioConfig) = "audio",
    Video(VideoConfig) = "video",
    Request(RequestConfig) = "request",
}

impl Default for AppConfig {
    fn default() -> Self {
        Self::Bulk(BulkConfig::default())
    }
}

impl AppConfig {
    /// The applications at both ends of a flow.
    pub fn build(&self, environment: AppEnvironment<'_>) -> AppPair {
        self.settings().build(environment)
    }

    /// Octets of one write at most: the payload of a datagram.
    pub fn packet(&self) -> u32 {
        self.settings().packet()
    }

    /// The load that the application offers; `None` if it writes as much as the transport takes.
    pub fn load(&self) -> Option<WriteLoad> {
        self.settings().load()
    }

    /// True if the content or the times of its writes are random.
    pub fn is_random(&self) -> bool {
        self.settings().is_random()
    }

    /// True if it writes as much as the transport takes, without end.
    pub fn is_endless_bulk(&self) -> bool {
        matches!(self, Self::Bulk(bulk) if bulk.total.is_none())
    }

    /// Octets that it writes in all; `None` without a limit.
    pub fn total(&self) -> Option<u64> {
        match self {
            Self::Bulk(bulk) => bulk.total,
            _ => None,
        }
    }

    /// True if it must know the boundaries of datagrams.
    pub fn needs_datagrams(&self) -> bool {
        matches!(self, Self::Video(_))
    }

    /// True if it relies on its position in a byte stream: no octet may be lost.
    pub fn needs_stream(&self) -> bool {
        matches!(self, Self::Request(_))
    }

    /// True if the receiver opens the connection, as a client that requests the data does.
    pub fn receiver_connects(&self) -> bool {
        matches!(self, Self::Request(_))
    }

    /// Its transfer sizes, each with its key.
    pub fn sizes_mut(&mut self) -> Vec<(&'static str, &mut TransferSize)> {
        match self {
            Self::Request(config) => vec![
                ("request", &mut config.request),
                ("response", &mut config.response),
            ],
            _ => Vec::new(),
        }
    }

    /// The first contradiction between its keys.
    ///
    /// # Errors
    /// The key, what is wrong and what to write.
    pub fn check(&self) -> Result<(), Contradiction> {
        self.settings().check()
    }
}

/// The configuration of an application.
trait AppSettings {
    /// The applications at both ends of a flow.
    fn build(&self, environment: AppEnvironment<'_>) -> AppPair;

    /// Octets of one write at most.
    fn packet(&self) -> u32;

    /// The load that it offers; `None` if it writes as much as the transport takes.
    fn load(&self) -> Option<WriteLoad>;

    /// True if the content or the times of its writes are random.
    fn is_random(&self) -> bool;

    /// A configuration for property tests: small writes, and a limit if it writes as much as it
    /// can.
    fn arbitrary(rng: &mut Rng) -> Self
    where
        Self: Sized;

    /// Finds a key that contradicts another one.
    fn check(&self) -> Result<(), Contradiction> {
        Ok(())
    }
}

/// What an application needs to know about its flow.
#[derive(Clone, Copy, Debug)]
pub struct AppEnvironment<'a> {
    /// The seed of the run.
    pub seed: u64,
    /// The name of the flow, part of the name of the random stream: `flow/NAME/app`.
    pub flow: &'a str,
    /// How the transport delivers data.
    pub delivery: Delivery,
}

/// How a transport delivers the data of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// As datagrams, which may be lost: DCCP, RTP, UDP.
    #[default]
    Datagrams,
    /// As a reliable stream of octets: TCP, QUIC.
    Stream,
}

/// The applications of a flow.
pub struct AppPair {
    /// Writes at the sender.
    pub source: Box<dyn App + Send>,
    /// Reads at the receiver.
    pub sink: Box<dyn App + Send>,
}

impl AppPair {
    /// A writer, with a reader that only counts what it reads.
    fn with_sink(source: impl App + Send + 'static) -> Self {
        Self {
            source: Box::new(source),
            sink: Box::new(Sink::new()),
        }
    }
}

/// The load that an application offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WriteLoad {
    /// Writes per second at most.
    pub per_second: f64,
    /// Number of writes; `None` without end.
    pub count: Option<u64>,
}

impl WriteLoad {
    /// Writes of `packet` octets at `rate` bit/s.
    fn constant(rate: u64, packet: u32) -> Self {
        Self {
            per_second: rate as f64 / (f64::from(packet) * 8.0),
            count: None,
        }
    }
}

/// The most packets of one endpoint in a millisecond: more than a link of 400 Gbit/s carries of the
/// smallest packets.
pub(crate) const MAX_PACKETS_IN_A_MILLISECOND: u32 = 900_000;

/// Fails if writes of `packet` octets at `rate` bit/s are more than a run can make.
///
/// # Errors
/// At the key `rate`.
fn check_writes(rate: u64, packet: u32) -> Result<(), Contradiction> {
    let each_ms = WriteLoad::constant(rate, packet).per_second * 1e-3;
    if each_ms < f64::from(MAX_PACKETS_IN_A_MILLISECOND) {
        return Ok(());
    }
    Err(Contradiction {
        key: "rate",
        message: format!(
            "rate: writes of {packet} bytes at this rate are {each_ms:.0} in a millisecond, expected \
             fewer than {MAX_PACKETS_IN_A_MILLISECOND}"
        ),
        help: "lower the rate, or use larger packets",
    })
}

/// Two keys of a configuration that contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The key where it is shown.
    pub key: &'static str,
    /// What was found and what was expected.
    pub message: String,
    /// What to write instead.
    pub help: &'static str,
}

/// An application at one end of a connection.
pub trait App {
    /// Called when the endpoint has an event or the time of [`poll_timeout`](Self::poll_timeout)
    /// has come: takes the events, reads, and writes what is due.
    fn poll(&mut self, now: Instant, endpoint: &mut dyn Endpoint);

    /// When [`poll`](Self::poll) must be called at the latest; `None` while nothing is due.
    fn poll_timeout(&self) -> Option<Instant>;

    /// True once it will neither write nor read any more.
    fn done(&self) -> bool;

    /// The measurements up to `now`.
    fn report(&self, now: Instant) -> AppReport<'_>;

    /// The end of a tunnel that this is; `None` for every other application.
    fn tunnel(&mut self) -> Option<&mut TunnelEnd> {
        None
    }
}

/// The report of an application: its counters, and the measurements of its kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppReport<'a> {
    /// Writes and reads.
    pub statistics: AppStatistics,
    /// The playback, if the application plays something.
    pub playback: Option<PlaybackReport>,
    /// The frames of video that were captured, or of which packets arrived, by number.
    pub frames: &'a [VideoFrame],
    /// How to judge the frames; `None` if this is not a source of video.
    pub video_timing: Option<VideoTiming>,
    /// The requests that were sent, in their order.
    pub requests: &'a [RequestRecord],
}

/// The playback of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaybackReport {
    /// The units of the stream, and how many were on time, late or lost.
    pub statistics: AudioStatistics,
    /// The gaps: start and length of each; a gap that has not ended is the last.
    pub gaps: Vec<(Instant, Duration)>,
}

impl From<AppStatistics> for AppReport<'_> {
    fn from(statistics: AppStatistics) -> Self {
        Self {
            statistics,
            ..Self::default()
        }
    }
}

/// Counters of an application since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppStatistics {
    /// Writes that the endpoint took.
    pub writes: u64,
    /// Octets of these.
    pub bytes_written: u64,
    /// Writes that were due and were skipped because the endpoint could not take them.
    pub writes_skipped: u64,
    /// Writes that waited for room and were made later.
    pub writes_delayed: u64,
    /// Set if the endpoint refused a write as too large, which ends the application: the largest
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
    /// When the connection ended.
    pub closed_at: Option<Instant>,
    /// The application had a limited amount to write, and the endpoint took all of it.
    pub finished: bool,
}

/// The state that all applications share: counters, and whether the endpoint accepts writes.
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
                    self.statistics.closed_at.get_or_insert(now);
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
            // A closed connection reports `Closed` as an event too.
            Err(WriteError::Blocked | WriteError::Closed) => {}
            Err(WriteError::TooLarge(limit)) => self.statistics.too_large = Some(limit),
        }
        self.writable = false;
        false
    }

    /// True once the connection is closed or has refused a write as too large.
    fn ended(&self) -> bool {
        self.statistics.closed.is_some() || self.statistics.too_large.is_some()
    }
}
