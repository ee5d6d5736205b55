//! Tests over DCCP, in UDP or over IP itself: the first datagram is the Request, all others are
//! data, and the end of the connection ends the test.

use super::data_path::{DataPath, Listener, Observer, TestInfo, Transfer, Transport};
use super::failure;
use super::options::{ClientOptions, DEFAULT_PROFILE, TestOptions};
use super::pacing::Pacing;
use super::report::{Counters, scaled};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::time::{sleep_until, timeout};
use weir_lab::run::{MeasuredFlow, MeasuredTransport};
use weir_wire::test_protocol::{Message, TestConfig};
use weir_wire::{Ccid, Connection, ConnectionStats, Encapsulation, EndpointConfig, Error, Tap};

/// Octets of a datagram by default, if the path takes them.
const LENGTH: u16 = 1400;
/// Datagrams that are sent or received between two looks at the clock, while none has to be waited
/// for: reading the clock costs about as much as sending a datagram.
const BATCH: u64 = 16;
/// How long an end waits for the peer's last datagrams and its close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// DCCP with these settings.
#[derive(Clone)]
pub struct Dccp {
    config: EndpointConfig,
    ccid: u8,
    profile: String,
}

impl Dccp {
    /// As the options say.
    pub fn new(options: &TestOptions, tap: Option<Arc<dyn Tap>>) -> Self {
        let ccid = options.ccid.unwrap_or(3);
        let profile = options.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
        let profile = profile.to_owned();
        let socket = options.socket();
        let config = EndpointConfig {
            dccp_port: options
                .port
                .filter(|_| options.raw)
                .unwrap_or(socket.dccp_port),
            encapsulation: if options.raw {
                Encapsulation::RawIp
            } else {
                Encapsulation::Udp
            },
            ccid: match ccid {
                2 => Ccid::TcpLike,
                4 => Ccid::TfrcSmallPackets(profile.clone()),
                _ => Ccid::Tfrc(profile.clone()),
            },
            tap,
            ..socket
        };
        Self {
            config,
            ccid,
            profile,
        }
    }

    fn transport(&self) -> MeasuredTransport {
        MeasuredTransport::Dccp {
            ccid: self.ccid,
            profile: self.profile.clone(),
            ecn: self.config.ecn,
        }
    }
}

impl Transport for Dccp {
    type Path = DccpPath;
    type Listener = DccpListener;

    fn request(&self, client: &ClientOptions) -> Result<TestConfig, Failure> {
        // Without a length the default depends on the open path.
        Ok(client.request(0))
    }

    fn settings(&self, _: &TestConfig) -> Value {
        json!({ "ccid": self.ccid, "profile": self.profile })
    }

    fn describe(&self, address: SocketAddr) -> String {
        match self.config.encapsulation {
            Encapsulation::Udp => address.to_string(),
            Encapsulation::RawIp => {
                let port = self.config.dccp_port;
                format!("{}, protocol 33, DCCP port {port}", address.ip())
            }
        }
    }

    async fn connect(&self, to: SocketAddr, request: TestConfig) -> Result<DccpPath, Failure> {
        let opened = Instant::now();
        let connection = Connection::connect(to, self.config.clone())
            .await
            .map_err(failure)?;
        let mut path = DccpPath::new(connection, opened, self.transport());
        path.set_request(request, !request.reverse);
        let message = Message::Request(path.info.request, None).to_octets();
        path.connection.send(&message).await.map_err(failure)?;
        path.started = Instant::now();
        path.request_octets = message.len() as u64;
        Ok(path)
    }

    async fn listen(&self, address: SocketAddr) -> Result<DccpListener, Failure> {
        let listener = weir_wire::Listener::bind(address, self.config.clone());
        Ok(DccpListener {
            listener: listener.await.map_err(failure)?,
            transport: self.transport(),
        })
    }
}

/// A server over DCCP.
pub struct DccpListener {
    listener: weir_wire::Listener,
    transport: MeasuredTransport,
}

impl Listener for DccpListener {
    type Path = DccpPath;

    fn local_address(&self) -> Result<SocketAddr, Failure> {
        Ok(self.listener.local_address())
    }

    async fn accept(&mut self) -> Result<DccpPath, Failure> {
        let connection = self.listener.accept().await.map_err(failure)?;
        let transport = self.transport.clone();
        Ok(DccpPath::new(connection, Instant::now(), transport))
    }

    async fn close(self) {}
}

/// A connection of DCCP that is measured.
pub struct DccpPath {
    connection: Connection,
    info: TestInfo,
    started: Instant,
    /// Octets of the Request that this end has sent, which are not part of the test.
    request_octets: u64,
    received: Arc<AtomicU64>,
}

impl DccpPath {
    fn new(mut connection: Connection, opened: Instant, transport: MeasuredTransport) -> Self {
        Self {
            info: TestInfo {
                request: TestConfig::default(),
                sends: false,
                opened,
                transport,
                events: connection.events(),
            },
            connection,
            started: opened,
            request_octets: 0,
            received: Arc::default(),
        }
    }

    /// Takes the request, with a length that the path carries if it has none.
    fn set_request(&mut self, mut request: TestConfig, sends: bool) {
        if request.length == 0 {
            let longest = self.connection.stats().max_datagram;
            request.length = u16::try_from(longest).unwrap_or(u16::MAX).min(LENGTH);
        }
        self.info.request = request;
        self.info.sends = sends;
    }

    async fn send(&self, interrupt: &Interrupt) -> Result<(), Error> {
        let data: Arc<[u8]> = vec![0x57; usize::from(self.info.request.length)].into();
        let mut pacing = Pacing::start(&self.info.request);
        let end = pacing.end();
        let mut interrupted = std::pin::pin!(interrupt.pressed());
        loop {
            let due = pacing.due();
            if let Some(due) = due {
                tokio::select! {
                    () = sleep_until(due.min(end)) => {}
                    () = &mut interrupted => return Ok(()),
                }
            }
            let look = due.is_some() || pacing.writes().is_multiple_of(BATCH);
            if look && tokio::time::Instant::now() >= end {
                return Ok(());
            }
            // Waiting costs more than a look whether there is room, which there mostly is.
            if !self.connection.try_send_shared(&data)? {
                tokio::select! {
                    sent = self.connection.send_shared(&data) => sent?,
                    () = sleep_until(end) => return Ok(()),
                    () = &mut interrupted => return Ok(()),
                }
            }
            pacing.count();
        }
    }

    async fn receive(&mut self, interrupt: &Interrupt) {
        let mut interrupted = std::pin::pin!(interrupt.pressed());
        let count = |datagram: Arc<[u8]>| {
            let octets = datagram.len() as u64;
            self.received.fetch_add(octets, Ordering::Relaxed);
        };
        loop {
            tokio::select! {
                datagram = self.connection.receive_shared() => match datagram {
                    Some(datagram) => count(datagram),
                    None => return,
                },
                () = &mut interrupted => return,
            }
            // Those that came together need not be waited for.
            for _ in 0..BATCH {
                match self.connection.try_receive_shared() {
                    Some(datagram) => count(datagram),
                    None => break,
                }
            }
        }
    }
}

impl DataPath for DccpPath {
    fn peer_address(&self) -> SocketAddr {
        self.connection.peer_address()
    }

    /// A client that begins with anything but a Request sends as it likes.
    async fn receive_request(&mut self, interrupt: &Interrupt) {
        let first = tokio::select! {
            first = self.connection.receive() => first,
            () = interrupt.pressed() => None,
        };
        let request = match first.as_deref().and_then(Message::from_octets) {
            Some(Message::Request(request, _)) => request,
            _ => TestConfig::default(),
        };
        self.set_request(request, request.reverse);
    }

    fn info(&mut self) -> &mut TestInfo {
        &mut self.info
    }

    fn observer(&self) -> Observer {
        let stats = self.connection.stats_reader();
        let (received, sends) = (Arc::clone(&self.received), self.info.sends);
        let request_octets = self.request_octets;
        Box::new(move |_| {
            let stats = stats.stats();
            Counters {
                octets: if sends {
                    stats.payload_sent.saturating_sub(request_octets)
                } else {
                    received.load(Ordering::Relaxed)
                },
                details: details(sends, &stats),
                fields: fields(&stats),
            }
        })
    }

    async fn transfer(&mut self, interrupt: &Interrupt) -> Transfer {
        let failed = if self.info.sends {
            self.send(interrupt).await.err()
        } else {
            self.receive(interrupt).await;
            None
        };
        Transfer {
            seconds: self.started.elapsed().as_secs_f64(),
            failure: failed.map(failure),
        }
    }

    fn count(&self, flow: &mut MeasuredFlow) {
        let stats = self.connection.stats();
        flow.statistics = stats.statistics;
        flow.payload_sent = stats.payload_sent;
    }

    async fn close(mut self) {
        self.connection.close();
        // What was sent last is still under way, and so is the peer's answer to the close.
        let rest = async { while self.connection.receive().await.is_some() {} };
        let _ = timeout(CLOSE_TIMEOUT, rest).await;
    }
}

/// The text of a line: at a sender the state of its controller.
fn details(sends: bool, stats: &ConnectionStats) -> String {
    if sends {
        return format!(
            "  rtt {}  X {}  p {:.3} %  {}",
            scaled(stats.statistics.smoothed_rtt.as_secs_f64(), "s"),
            scaled(stats.allowed_rate_bps, "bit/s"),
            stats.loss_event_rate * 100.0,
            stats.limit
        );
    }
    match stats.datagrams_dropped {
        0 => String::new(),
        dropped => format!("  {dropped} datagrams came too fast to be read"),
    }
}

fn fields(stats: &ConnectionStats) -> Value {
    json!({
        "packets_sent": stats.statistics.packets_sent,
        "packets_received": stats.statistics.packets_received,
        "packets_lost": stats.statistics.packets_lost,
        "datagrams_dropped": stats.datagrams_dropped,
        "smoothed_rtt_s": stats.statistics.smoothed_rtt.as_secs_f64(),
        "allowed_rate_bps": stats.allowed_rate_bps,
        "loss_event_rate": stats.loss_event_rate,
        "limit": stats.limit,
    })
}
