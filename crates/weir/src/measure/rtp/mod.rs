//! Tests over RTP: a video that follows the target rate of NADA (RFC 8698) with the feedback of RFC
//! 8888, from the state machines that the simulator runs. They travel through the sockets of
//! [`weir_wire::udp_test`], whose control messages open the test, keep it alive and exchange the
//! counts at its end; the receiver's last report has what it saw of the frames.

mod media;

use super::data_path::{DataPath, Listener, Observer, TestInfo, Transfer, Transport};
use super::failure;
use super::options::{Access, ClientOptions, TestOptions};
use super::report::{Delivery, scaled};
use super::udp::{UdpPath, losses, packet_fields};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use media::Media;
use serde_json::{Value, json};
use std::any::Any;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use weir_lab::run::{MeasuredFlow, MeasuredTransport};
use weir_proto::event::EventMask;
use weir_wire::test_protocol::{FrameStats, TestConfig};
use weir_wire::udp_test::{
    MIN_LENGTH, SharedTraffic, Test, TestListener, TestStats, TrafficFactory,
};
use weir_wire::{EndpointConfig, Tap};

/// Octets of the payload of a packet by default, as in the simulator's video.
const LENGTH: u16 = 1200;

/// Media over RTP.
#[derive(Clone)]
pub struct Rtp {
    config: EndpointConfig,
    access: Access,
    /// The events of a controller that are traced.
    mask: EventMask,
}

impl Rtp {
    /// As the options say.
    pub fn new(options: &TestOptions, access: Access, tap: Option<Arc<dyn Tap>>) -> Self {
        let config = EndpointConfig {
            tap,
            ..options.socket()
        };
        let mask = options.event_mask();
        Self {
            config,
            access,
            mask,
        }
    }

    fn traffic(&self) -> TrafficFactory {
        let mask = self.mask;
        Arc::new(move |request, sends, now| -> SharedTraffic {
            Arc::new(Mutex::new(Media::new(request, sends, mask, now)))
        })
    }
}

impl Transport for Rtp {
    type Path = RtpPath;
    type Listener = RtpListener;

    fn request(&self, client: &ClientOptions) -> Result<TestConfig, Failure> {
        let request = client.request(LENGTH);
        if request.length < MIN_LENGTH {
            let found = request.length;
            let message =
                format!("expected --length of at least {MIN_LENGTH} with RTP, found {found}");
            return Err(Failure::Usage(message));
        }
        let most = media::nada(request.rate_bps).max_rate;
        Ok(TestConfig {
            rate_bps: Some(most as f64),
            ..request
        })
    }

    fn settings(&self, request: &TestConfig) -> Value {
        json!({
            "controller": "nada",
            "max_bits_per_second": request.rate_bps,
            "length": request.length,
        })
    }

    async fn connect(&self, to: SocketAddr, request: TestConfig) -> Result<RtpPath, Failure> {
        let setup = self.access.client(Some(self.traffic()));
        let test = Test::connect_with(to, request, &self.config, setup).await;
        Ok(RtpPath::new(test.map_err(failure)?))
    }

    async fn listen(&self, address: SocketAddr) -> Result<RtpListener, Failure> {
        let setup = self.access.server(Some(self.traffic()));
        let bound = TestListener::bind_with(address, &self.config, setup).await;
        Ok(RtpListener(bound.map_err(failure)?))
    }
}

/// A server over RTP.
pub struct RtpListener(TestListener);

impl Listener for RtpListener {
    type Path = RtpPath;

    fn local_address(&self) -> Result<SocketAddr, Failure> {
        Ok(self.0.local_address())
    }

    async fn accept(&mut self) -> Result<RtpPath, Failure> {
        Ok(RtpPath::new(self.0.accept().await.map_err(failure)?))
    }

    async fn close(self) {}
}

/// One end of a test over RTP.
pub struct RtpPath(UdpPath);

/// What the media of a test say; `None` if the test carries none.
fn look<T>(test: &Test, read: impl FnOnce(&mut Media) -> T) -> Option<T> {
    let mut media = test
        .traffic()?
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let media: &mut dyn Any = &mut *media;
    media.downcast_mut::<Media>().map(read)
}

impl RtpPath {
    fn new(test: Test) -> Self {
        let request = *test.config();
        let nada = media::nada(request.rate_bps);
        let transport = MeasuredTransport::Rtp {
            rates: [nada.min_rate, nada.max_rate],
            ecn: request.ecn,
        };
        let events = look(&test, Media::take_events).flatten();
        Self(UdpPath::over(test, transport, events))
    }
}

impl DataPath for RtpPath {
    fn peer_address(&self) -> SocketAddr {
        self.0.peer_address()
    }

    fn info(&mut self) -> &mut TestInfo {
        self.0.info()
    }

    fn observer(&self) -> Observer {
        let test = Arc::clone(self.0.test());
        self.0.observer_with(move |before, stats| {
            let media = look(&test, |media| MediaFields::of(media)).unwrap_or_default();
            let details = details(before, stats, &media);
            (delivery(stats), details, fields(stats, &media))
        })
    }

    async fn transfer(&mut self, interrupt: &Interrupt) -> Transfer {
        self.0.transfer(interrupt).await
    }

    fn count(&self, flow: &mut MeasuredFlow) {
        self.0.count(flow);
        let statistics = look(self.0.test(), |media| media.statistics());
        if let Some(statistics) = statistics {
            // The receiver's count is final, the sender's that of the last feedback.
            let lost = flow.statistics.packets_lost;
            flow.statistics = statistics;
            flow.statistics.packets_lost = lost;
        }
    }

    async fn close(self) {
        self.0.close().await;
    }
}

/// What the media of an end say beside the counters of the test.
#[derive(Default)]
struct MediaFields {
    encoder_rate: Option<f64>,
    target_rate: Option<f64>,
    rtt: Value,
}

impl MediaFields {
    fn of(media: &Media) -> Self {
        let target = media.state().and_then(|state| state.media);
        Self {
            encoder_rate: media.encoder_rate(),
            target_rate: target.map(|media| media.target_rate.as_bps()),
            rtt: media.rtt().map_or(Value::Null, |rtt| {
                json!({
                    "min": rtt.min,
                    "p50": rtt.p50,
                    "p95": rtt.p95,
                    "p99": rtt.p99,
                    "max": rtt.max,
                })
            }),
        }
    }
}

/// What both ends have counted. Packets differ in length, so a receiver that misses some does not
/// know how many octets were sent.
fn delivery(stats: &TestStats) -> Delivery {
    let received = &stats.received;
    let all = (stats.complete && received.lost() == 0).then_some(received.octets);
    Delivery {
        sent: if stats.sends {
            Some(stats.sent_octets)
        } else {
            all
        },
        received: Some(received.octets),
        complete: stats.complete,
    }
}

/// The text of a line about the time between two states.
fn details(before: &TestStats, now: &TestStats, media: &MediaFields) -> String {
    let mut details = String::new();
    // Writing to a string cannot fail.
    if let Some(target) = media.target_rate.filter(|_| now.sends) {
        let rtt = scaled(now.smoothed_rtt_s.unwrap_or_default(), "s");
        let target = scaled(target, "bit/s");
        let _ = write!(details, "  target {target}  rtt {rtt}  {}", now.limit);
    }
    let _ = write!(details, "  {}", losses(before, now));
    if let Some(frames) = now.frames {
        let [median, p95, _] = frames.delay_s.map(|delay| scaled(delay, "s"));
        let _ = write!(
            details,
            "  frames {}, late {}, incomplete {}, frozen {}; delay {} and {} (95 %)",
            frames.frames,
            frames.late,
            frames.frames.saturating_sub(frames.complete),
            scaled(frames.frozen_s, "s").trim(),
            median.trim(),
            p95.trim(),
        );
    }
    details
}

fn fields(stats: &TestStats, media: &MediaFields) -> Value {
    let mut fields = packet_fields(stats);
    fields["encoder_bits_per_second"] = json!(media.encoder_rate);
    fields["target_bits_per_second"] = json!(media.target_rate);
    fields["rtt_s"] = media.rtt.clone();
    fields["video"] = json!(stats.frames.as_ref().map(video));
    fields
}

fn video(frames: &FrameStats) -> Value {
    let [median, p95, p99] = frames.delay_s;
    json!({
        "frames": frames.frames,
        "complete": frames.complete,
        "incomplete": frames.frames.saturating_sub(frames.complete),
        "late": frames.late,
        "freezes": frames.freezes,
        "frozen_s": frames.frozen_s,
        "frame_delay_s": { "p50": median, "p95": p95, "p99": p99 },
    })
}
