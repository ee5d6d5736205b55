//! `--transport quic` of `serve` and `send`: a stream of quinn with Weir's controllers.
//!
//! The client opens a bidirectional stream and asks on it for what it wants; the sender opens a
//! unidirectional stream and fills it. The receiver tells on the first stream how much it has,
//! twenty times a second and at the end, so that both ends count what was delivered and not what
//! waits to be sent. When its time is over, a sender without a rate of its own gives up what waits.
//! The certificate is the server's own and the client takes any: a tool to measure, not a channel
//! for secrets.

use super::live_capture::LiveCapture;
use super::live_trace::{self, LiveTrace};
use super::quic_socket::Socket;
use super::quic_test::{self, Parts};
use super::send::Outcome;
use super::wire::{Request, Shared, Stop};
use super::{send, serve};
use crate::exit::Failure;
use crate::terminal;
use quinn::{Connection, Endpoint, EndpointConfig, Incoming, RecvStream, SendStream, TokioRuntime};
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use weir_lab::run::SenderRecorder;
use weir_proto::event::EventMask;
use weir_wire::quinn::{CongestionControlAlgorithm, TracedConfig};

/// What is spoken, and the name of the server, which nobody looks up.
const PROTOCOL: &str = "weir-test";
/// How long a handshake may take, and the request after it.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long an end is waited for.
const FAREWELL: Duration = Duration::from_secs(3);
/// Connections of a server, and from how many on a client has to prove its address first.
const MOST: usize = 1024;
const RETRY_FROM: usize = 64;
/// Octets of a write if nobody says how many: of a rate, and of as much as possible.
const LENGTHS: [usize; 2] = [1200, 65_000];

/// The connection's settings that the arguments ask for.
pub fn settings(shared: &Shared) -> Result<TracedConfig, Failure> {
    let algorithm = CongestionControlAlgorithm::named(shared.controller())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(TracedConfig {
        algorithm,
        segmentation: !shared.no_gso,
        alpn: PROTOCOL,
        events: match shared.trace {
            Some(_) => SenderRecorder::EVENTS,
            None => EventMask::NONE,
        },
    })
}

fn endpoint(socket: Arc<Socket>, server: Option<quinn::ServerConfig>) -> Result<Endpoint, Failure> {
    let config = EndpointConfig::default();
    let runtime = Arc::new(TokioRuntime);
    Ok(Endpoint::new_with_abstract_socket(
        config, server, socket, runtime,
    )?)
}

// ---- Client ----

/// Tests against the server at this address.
pub async fn send(
    arguments: &send::Arguments,
    to: SocketAddr,
    capture: Option<&LiveCapture>,
    stop: Stop,
) -> Result<(), Failure> {
    let shared = &arguments.shared;
    let settings = settings(shared)?;
    let usual = LENGTHS[usize::from(arguments.bitrate.is_none())];
    let request = Request {
        reverse: arguments.reverse,
        length: arguments.length.map_or(usual, usize::from),
        rate_bps: arguments.bitrate,
        duration_s: arguments.time.as_secs_f64(),
    };
    terminal::say(&format!("connecting to {to}"));
    let tests = (1..=usize::from(arguments.parallel)).map(|number| {
        let socket = Socket::connect(to, capture.map(LiveCapture::tap));
        let (settings, shared, stop) = (settings.clone(), shared.clone(), stop.clone());
        tokio::spawn(async move {
            let socket = socket.map_err(|error| Failure::Failed(error.to_string()))?;
            let ended = client(number, (to, socket), settings, (request, shared), stop).await?;
            Ok(Outcome {
                document: ended.document,
                measured: ended.measured,
                failure: ended.failure.map(Failure::Failed),
            })
        })
    });
    let settings = json!({ "controller": shared.controller() });
    arguments.gather(tests.collect(), settings).await
}

async fn client(
    number: usize,
    (to, socket): (SocketAddr, Arc<Socket>),
    settings: TracedConfig,
    (request, shared): (Request, Shared),
    stop: Stop,
) -> Result<Outcome<String>, Failure> {
    let opened = Instant::now();
    let live = settings
        .client()
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let endpoint = endpoint(Arc::clone(&socket), None)?;
    let connecting = endpoint
        .connect_with(live.config, to, "server.invalid")
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let failed = |error: weir_wire::Error| Err(Failure::Failed(error.to_string()));
    let connection = tokio::select! {
        biased;
        connection = connecting => connection.map_err(|error| lost(to, error))?,
        () = socket.refused() => return failed(weir_wire::Error::Refused(to)),
        () = tokio::time::sleep(PATIENCE) => return failed(weir_wire::Error::TimedOut(to)),
        () = stop.pressed() => return failed(weir_wire::Error::Closed),
    };
    let (mut ask, hear) = connection
        .open_bi()
        .await
        .map_err(|error| lost(to, error))?;
    let words = request.to_datagram();
    let length = u16::try_from(words.len()).unwrap_or(u16::MAX);
    let words = [&length.to_be_bytes()[..], &words].concat();
    ask.write_all(&words)
        .await
        .map_err(|error| Failure::Failed(format!("cannot ask for the test: {error}")))?;
    let parts = Parts {
        number,
        trace: LiveTrace::record(number, live.events.filter(|_| !request.reverse), opened),
        connection: connection.clone(),
        watch: live.controller,
        controller: settings.algorithm,
        sends: !request.reverse,
        request,
        interval: shared.interval,
    };
    let result = quic_test::run(parts, (ask, hear), &stop).await;
    connection.close(0_u8.into(), b"done");
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
    Ok(result)
}

fn lost(peer: SocketAddr, error: quinn::ConnectionError) -> Failure {
    Failure::Failed(match error {
        quinn::ConnectionError::TimedOut => weir_wire::Error::TimedOut(peer).to_string(),
        quinn::ConnectionError::ConnectionClosed(close)
            if close.error_code == quinn::TransportErrorCode::CONNECTION_REFUSED =>
        {
            weir_wire::Error::Busy(peer).to_string()
        }
        error => format!("{peer} does not take the connection: {error}"),
    })
}

// ---- Server ----

/// A connection whose client has said what it wants.
struct Arrived {
    opened: Instant,
    connection: Connection,
    live: weir_wire::quinn::Traced<()>,
    request: Request,
    control: (SendStream, RecvStream),
}

/// Serves until Ctrl-C, or one test.
pub async fn serve(
    arguments: &serve::Arguments,
    capture: Option<&LiveCapture>,
    stop: Stop,
) -> Result<(), Failure> {
    let settings = settings(&arguments.shared)?;
    let failed = |error: weir_wire::Error| Failure::Failed(error.to_string());
    let tap = capture.map(LiveCapture::tap);
    let socket = Socket::bind(arguments.address(), tap).map_err(failed)?;
    let first = settings.server().map_err(failed)?;
    let endpoint = endpoint(socket, Some(first.config))?;
    terminal::say(&format!("listening at {}", endpoint.local_addr()?));
    let mut arrivals = JoinSet::new();
    let mut tests = serve::Tests::new(arguments);
    loop {
        let arrived = tokio::select! {
            incoming = endpoint.accept() => {
                let Some(incoming) = incoming else { break };
                if let Some(incoming) = admit(&endpoint, incoming) {
                    arrivals.spawn(arrive(incoming, settings.clone()));
                }
                continue;
            }
            Some(arrived) = arrivals.join_next() => arrived.ok().flatten(),
            () = tests.one_ended() => continue,
            () = stop.pressed() => break,
        };
        let Some(arrived) = arrived else { continue };
        let number = tests.welcome(peer_of(&arrived.connection));
        let (shared, stop) = (arguments.shared.clone(), stop.clone());
        let controller = settings.algorithm;
        if tests
            .start(test(number, arrived, controller, shared, stop))
            .await?
        {
            break;
        }
    }
    tests.finish().await;
    endpoint.close(0_u8.into(), b"the server ends");
    let _ = tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await;
    Ok(())
}

/// Lets a client in, or not now: while there are many, one whose address is not proven has to come
/// again with a token (RFC 9000 §8.1.2).
fn admit(endpoint: &Endpoint, incoming: Incoming) -> Option<Incoming> {
    let open = endpoint.open_connections();
    if open >= MOST {
        incoming.refuse();
        None
    } else if open >= RETRY_FROM && !incoming.remote_address_validated() && incoming.may_retry() {
        // It is either sent or not; the client asks again.
        let _ = incoming.retry();
        None
    } else {
        Some(incoming)
    }
}

/// The handshake, and the request.
async fn arrive(incoming: Incoming, settings: TracedConfig) -> Option<Arrived> {
    let opened = Instant::now();
    let live = settings.server().ok()?;
    let arriving = async {
        let accepted = incoming.accept_with(Arc::new(live.config)).ok()?;
        let connection = accepted.await.ok()?;
        let (say, mut hear) = connection.accept_bi().await.ok()?;
        let mut length = [0; 2];
        hear.read_exact(&mut length).await.ok()?;
        let mut words = vec![0; usize::from(u16::from_be_bytes(length)).min(4096)];
        hear.read_exact(&mut words).await.ok()?;
        let request = Request::from_datagram(&words)?;
        Some(Arrived {
            opened,
            connection,
            live: weir_wire::quinn::Traced {
                config: (),
                controller: live.controller,
                events: live.events,
            },
            request,
            control: (say, hear),
        })
    };
    tokio::time::timeout(PATIENCE, arriving).await.ok()?
}

async fn test(
    number: usize,
    arrived: Arrived,
    controller: CongestionControlAlgorithm,
    shared: Shared,
    stop: Stop,
) -> Result<serde_json::Value, Failure> {
    let Arrived {
        opened,
        connection,
        live,
        request,
        control,
    } = arrived;
    let sends = request.reverse;
    let parts = Parts {
        number,
        trace: LiveTrace::record(number, live.events.filter(|_| sends), opened),
        connection: connection.clone(),
        watch: live.controller,
        controller,
        sends,
        request,
        interval: shared.interval,
    };
    let result = quic_test::run(parts, control, &stop).await;
    // The client closes when it has heard all.
    let _ = tokio::time::timeout(FAREWELL, connection.closed()).await;
    connection.close(0_u8.into(), b"done");
    if let Some(failure) = &result.failure {
        terminal::say(&format!("[{number:3}] {failure}"));
    }
    if let Some(folder) = &shared.trace {
        let folder = serve::claim(folder, number)?;
        live_trace::write(vec![result.measured], &folder).await?;
    }
    Ok(result.document)
}

fn peer_of(connection: &Connection) -> SocketAddr {
    let peer = connection.remote_address();
    SocketAddr::new(peer.ip().to_canonical(), peer.port())
}
