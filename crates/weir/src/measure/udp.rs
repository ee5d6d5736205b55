//! Tests over plain UDP: datagrams at a constant rate, or other content such as RTP. The tests
//! themselves are in [`weir_wire::udp_test`]; the counters are those of the receiver, which it
//! reports to the sender.

use super::failure;
use super::options::{Access, ClientOptions, TestOptions};
use super::report::{Counters, Delivery, scaled};
use super::test_path::{Listener, Observer, Since, TestInfo, TestPath, Transfer, Transport};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use weir_lab::run::{MeasuredFlow, MeasuredTransport};
use weir_proto::event::EventMask;
use weir_proto::time::Duration;
use weir_wire::test_protocol::{TestConfig, TestStats};
use weir_wire::udp_test::{
    ClientSetup, DEFAULT_RATE_BPS, MIN_LENGTH, ServerSetup, Test, TestListener, TrafficFactory,
};
use weir_wire::{EndpointConfig, EventStream, Tap};

/// The content of the datagrams of tests.
pub struct Content {
    /// Its name for users.
    pub name: &'static str,
    /// A warning for the user of a client before the test.
    pub warning: Option<&'static str>,
    /// The default length of a datagram in octets.
    pub length: u16,
    /// The rate of a test for which this rate is requested, in bit/s.
    pub rate_bps: fn(Option<f64>) -> f64,
    /// The settings for the head of the result.
    pub settings: fn(&TestConfig) -> Value,
    /// The traffic in place of datagrams at a constant rate; the controller's events in this mask
    /// are traced.
    pub traffic: fn(EventMask) -> Option<TrafficFactory>,
    /// The transport, in the notation of a scenario.
    pub transport: fn(&TestConfig) -> MeasuredTransport,
    /// The events of the test's controller; can be taken once.
    pub events: fn(&Test) -> Option<EventStream>,
    /// The counts of both ends, and the line and the fields about the time between two states.
    pub read: fn(&Test, [&TestStats; 2]) -> (Delivery, String, Value),
    /// Adds counts of the content to those of the test.
    pub count: fn(&Test, &mut MeasuredFlow),
}

/// Datagrams at a constant rate.
pub const CONSTANT_RATE: Content = Content {
    name: "UDP",
    warning: Some(
        "nothing controls congestion: what the path does not carry is lost, for others too",
    ),
    length: 1400,
    rate_bps: |asked| asked.unwrap_or(DEFAULT_RATE_BPS),
    settings: |request| {
        let rate_bps = request.rate_bps;
        json!({ "target_bits_per_second": rate_bps, "length": request.length })
    },
    traffic: |_| None,
    transport: |_| MeasuredTransport::Udp,
    events: |_| None,
    read: |_, [before, now]| (delivery(now), details(before, now), fields(now)),
    count: |_, _| {},
};

/// The settings of tests over UDP.
#[derive(Clone)]
pub struct Udp {
    config: EndpointConfig,
    access: Access,
    content: &'static Content,
}

impl Udp {
    /// The settings from the options.
    pub fn new(
        options: &TestOptions,
        access: Access,
        tap: Option<Arc<dyn Tap>>,
        content: &'static Content,
    ) -> Self {
        let config = EndpointConfig {
            tap,
            ..options.socket()
        };
        Self {
            config,
            access,
            content,
        }
    }

    fn traffic(&self) -> Option<TrafficFactory> {
        (self.content.traffic)(self.config.event_mask)
    }
}

impl Transport for Udp {
    type Path = UdpPath;
    type Listener = UdpListener;

    fn warning(&self) -> Option<&'static str> {
        self.content.warning
    }

    fn request(&self, client: &ClientOptions) -> Result<TestConfig, Failure> {
        let request = client.request(self.content.length);
        if request.length < MIN_LENGTH {
            let (name, found) = (self.content.name, request.length);
            let message =
                format!("expected --length of at least {MIN_LENGTH} with {name}, found {found}");
            return Err(Failure::Usage(message));
        }
        Ok(TestConfig {
            rate_bps: Some((self.content.rate_bps)(request.rate_bps)),
            ..request
        })
    }

    fn settings(&self, request: &TestConfig) -> Value {
        (self.content.settings)(request)
    }

    async fn connect(&self, to: SocketAddr, request: TestConfig) -> Result<UdpPath, Failure> {
        let setup = ClientSetup {
            traffic: self.traffic(),
            secret: self.access.admission.secret.clone(),
        };
        let test = Test::connect(to, request, &self.config, setup).await;
        Ok(UdpPath::new(test.map_err(failure)?, self.content))
    }

    async fn listen(&self, address: SocketAddr) -> Result<UdpListener, Failure> {
        let setup = ServerSetup {
            traffic: self.traffic(),
            admission: self.access.admission.clone(),
        };
        let listener = TestListener::bind(address, &self.config, setup).await;
        Ok(UdpListener(listener.map_err(failure)?, self.content))
    }
}

/// A server over UDP.
pub struct UdpListener(TestListener, &'static Content);

impl Listener for UdpListener {
    type Path = UdpPath;

    fn local_address(&self) -> Result<SocketAddr, Failure> {
        Ok(self.0.local_address())
    }

    async fn accept(&mut self) -> Result<UdpPath, Failure> {
        let test = self.0.accept().await.map_err(failure)?;
        Ok(UdpPath::new(test, self.1))
    }

    async fn close(self) {}
}

/// One end of a test over UDP, whose datagrams are sent by the driver of the socket.
pub struct UdpPath {
    test: Arc<Test>,
    info: TestInfo,
    content: &'static Content,
}

impl UdpPath {
    fn new(test: Test, content: &'static Content) -> Self {
        Self {
            info: TestInfo {
                peer: test.peer_address(),
                request: *test.config(),
                sends: test.stats().sends,
                opened: Instant::now(),
                transport: (content.transport)(test.config()),
                events: (content.events)(&test),
            },
            test: Arc::new(test),
            content,
        }
    }
}

impl TestPath for UdpPath {
    fn info(&mut self) -> &mut TestInfo {
        &mut self.info
    }

    fn observer(&self) -> Observer {
        let (test, read) = (Arc::clone(&self.test), self.content.read);
        let (mut last, mut start) = (TestStats::default(), TestStats::default());
        Box::new(move |since| {
            let stats = test.stats();
            let before = match since {
                Since::LastInterval => std::mem::replace(&mut last, stats),
                Since::Start => start,
                Since::Omitted => {
                    (last, start) = (stats, stats);
                    TestStats::default()
                }
            };
            let (delivery, details, fields) = read(&test, [&before, &stats]);
            Counters {
                octets: if stats.sends {
                    stats.sent_octets
                } else {
                    stats.received.octets
                },
                delivery,
                details,
                counts: packet_counts(&stats),
                fields,
            }
        })
    }

    async fn transfer(&mut self, interrupt: &Interrupt) -> Transfer {
        let mut ended = std::pin::pin!(self.test.ended());
        let ended = tokio::select! {
            ended = &mut ended => ended,
            () = interrupt.pressed() => {
                self.test.stop();
                ended.await
            }
        };
        Transfer {
            seconds: self.test.stats().seconds,
            failure: ended.err().map(failure),
        }
    }

    fn count(&self, flow: &mut MeasuredFlow) {
        let stats = self.test.stats();
        let received = &stats.received;
        let statistics = &mut flow.statistics;
        statistics.packets_lost = received.lost();
        statistics.smoothed_rtt = Duration::from_secs_f64(stats.smoothed_rtt_s.unwrap_or_default());
        if stats.sends {
            statistics.packets_sent = stats.sent;
            statistics.data_packets_sent = stats.sent;
            statistics.bytes_sent = stats.sent_octets;
            flow.payload_delivered = Some(received.octets);
        } else {
            statistics.packets_received = received.received;
            statistics.data_packets_received = received.received;
            statistics.bytes_received = received.octets;
            statistics.data_bytes_received = received.octets;
            statistics.payload_received = received.octets;
        }
        flow.payload_sent = stats.sent_octets;
        // Without the handshake and the final agreement.
        flow.duration = Duration::from_secs_f64(stats.seconds);
        (self.content.count)(&self.test, flow);
    }

    async fn close(self) {}
}

/// The counts of both ends; all datagrams have the length of this end's.
fn delivery(stats: &TestStats) -> Delivery {
    let received = &stats.received;
    let length = received.octets.checked_div(received.received);
    let sent = if stats.sends {
        Some(stats.sent_octets)
    } else {
        length.map(|length| length.saturating_mul(received.expected))
    };
    Delivery {
        sent,
        received: Some(received.octets),
        complete: stats.complete,
    }
}

/// The losses between two states, as text.
pub fn losses(before: &TestStats, now: &TestStats) -> String {
    let [old, new] = [&before.received, &now.received];
    // A late datagram reduces the number of losses.
    let lost = new.lost().saturating_sub(old.lost());
    let expected = new.expected.saturating_sub(old.expected);
    let share = 100.0 * lost as f64 / expected.max(1) as f64;
    format!("lost {lost}/{expected} ({share:.2} %)")
}

/// The text of a line about the time between two states.
fn details(before: &TestStats, now: &TestStats) -> String {
    let [old, new] = [&before.received, &now.received];
    let jitter = scaled(new.jitter, "s");
    let mut details = format!("  jitter {jitter}  {}", losses(before, now));
    for (count, what) in [
        (new.reordered.saturating_sub(old.reordered), "reordered"),
        (new.duplicates.saturating_sub(old.duplicates), "twice"),
        (new.marked.saturating_sub(old.marked), "marked"),
    ] {
        if count > 0 {
            // Writing to a string cannot fail.
            let _ = write!(details, "  {count} {what}");
        }
    }
    if now.sends {
        let rtt = scaled(now.smoothed_rtt_s.unwrap_or_default(), "s");
        let _ = write!(details, "  rtt {rtt}  {}", now.limit);
    }
    details
}

fn fields(stats: &TestStats) -> Value {
    let mut fields = packet_fields(stats);
    fields["jitter_s"] = json!(stats.received.jitter);
    fields
}

/// The counts of a test that do not depend on its content.
fn packet_counts(stats: &TestStats) -> Vec<(&'static str, u64)> {
    let received = &stats.received;
    vec![
        ("packets", received.expected.max(stats.sent)),
        ("packets_received", received.received),
        ("packets_lost", received.lost()),
        ("out_of_order", received.reordered),
        ("duplicates", received.duplicates),
        ("congestion_marks", received.marked),
    ]
}

/// The fields of a result that are not counters and do not depend on the content.
pub fn packet_fields(stats: &TestStats) -> Value {
    json!({
        "sender": stats.sends,
        "smoothed_rtt_s": stats.smoothed_rtt_s,
        "limit": stats.limit,
    })
}
