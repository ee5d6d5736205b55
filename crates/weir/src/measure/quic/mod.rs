//! Tests over QUIC: a stream of quinn with Weir's controllers.
//!
//! The client opens a bidirectional stream for control messages and asks on it for the test; the
//! sender opens a unidirectional stream and fills it. The receiver sends Reports on the first
//! stream, twenty times a second and at the end, so that both ends count what was delivered and not
//! what waits to be sent. When its time is over, a sender without a rate of its own resets the
//! stream, and what waits is not sent.
//!
//! A server has state for at most 1024 connections, and for 64 whose client has not proven its
//! address; further ones must come again with a token (Retry), so that a flood of first packets
//! costs no memory.
//!
//! The certificate is the server's own, and the client takes any unless it is told one by its
//! SHA-256. The server answers the Request with an Alive, or with a Challenge if it has a secret.

mod control;
mod path;
mod socket;

use super::data_path::{Listener, TestInfo, Transport};
use super::options::{Access, ClientOptions, DEFAULT_CONTROLLER, TestOptions};
use super::{failure, joined};
use crate::exit::Failure;
use crate::terminal;
use path::{Progress, QuicPath};
use quinn::{Connection, RecvStream, SendStream};
use quinn::{ConnectionError, Endpoint, EndpointConfig, Incoming, TokioRuntime};
use serde_json::{Value, json};
use socket::Socket;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use weir_lab::run::MeasuredTransport;
use weir_wire::quinn::{CongestionControlAlgorithm, Fingerprint, TracedConfig};
use weir_wire::test_protocol::{Admission, Asked, Asking, Message, TestConfig, random_token};
use weir_wire::{Error, Tap};

/// The protocol's name (ALPN).
const PROTOCOL: &str = "weir-test";
/// A name of the server for TLS, whose certificate is known by its fingerprint or not at all.
const SERVER_NAME: &str = "server.invalid";
/// How long a handshake may take, and the request after it.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the peer's last messages are waited for.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
/// Connections of a server, and how many it has before a client must prove its address first.
const MAX_CONNECTIONS: usize = 1024;
const RETRY_FROM: usize = 64;
/// Octets of a write by default: of a constant rate, and without one.
const PACED_LENGTH: u16 = 1200;
const BULK_LENGTH: u16 = 65_000;

/// QUIC with these settings.
#[derive(Clone)]
pub struct Quic {
    config: TracedConfig,
    controller: String,
    client_port: u16,
    access: Access,
    tap: Option<Arc<dyn Tap>>,
}

impl Quic {
    /// As the options say.
    pub fn new(
        options: &TestOptions,
        access: Access,
        tap: Option<Arc<dyn Tap>>,
    ) -> Result<Self, Failure> {
        let controller = options.controller.as_deref();
        let controller = controller.unwrap_or(DEFAULT_CONTROLLER).to_owned();
        let config = TracedConfig {
            algorithm: CongestionControlAlgorithm::named(&controller)
                .map_err(|error| Failure::Usage(error.to_string()))?,
            segmentation: !options.no_gso,
            alpn: PROTOCOL,
            events: options.event_mask(),
        };
        Ok(Self {
            config,
            controller,
            client_port: options.client_port,
            access,
            tap,
        })
    }
}

impl Transport for Quic {
    type Path = QuicPath;
    type Listener = QuicListener;

    fn request(&self, client: &ClientOptions) -> Result<TestConfig, Failure> {
        Ok(
            client.request(match client.bitrate.and_then(|rate| rate.bps) {
                Some(_) => PACED_LENGTH,
                None => BULK_LENGTH,
            }),
        )
    }

    fn settings(&self, _: &TestConfig) -> Value {
        json!({ "controller": self.controller })
    }

    async fn connect(&self, to: SocketAddr, request: TestConfig) -> Result<QuicPath, Failure> {
        let opened = Instant::now();
        let socket = Socket::connect(to, self.client_port, self.tap.clone()).map_err(failure)?;
        let traced = self.config.client(self.access.pin).map_err(failure)?;
        let endpoint = endpoint(Arc::clone(&socket), None)?;
        let connecting = endpoint
            .connect_with(traced.config, to, SERVER_NAME)
            .map_err(|error| Failure::Failed(error.to_string()))?;
        let connection = tokio::select! {
            biased;
            connection = connecting => connection.map_err(|error| refused(to, error))?,
            () = socket.refused() => return Err(failure(Error::Refused(to))),
            () = sleep(HANDSHAKE_TIMEOUT) => return Err(unanswered(to)),
        };
        let control = connection.open_bi().await;
        let mut control = control.map_err(|error| refused(to, error))?;
        let asking = Asking::new(0, request, self.access.admission.secret.clone());
        ask(&mut control, asking, to).await?;
        let info = TestInfo {
            request,
            sends: !request.reverse,
            opened,
            transport: MeasuredTransport::Quinn(self.config.algorithm.name()),
            events: traced.events,
        };
        Ok(QuicPath {
            connection,
            controller: traced.controller,
            control,
            endpoint: Some(endpoint),
            info,
            progress: Progress::default(),
        })
    }

    async fn listen(&self, address: SocketAddr) -> Result<QuicListener, Failure> {
        let socket = Socket::bind(address, self.tap.clone()).map_err(failure)?;
        let first = self.config.server().map_err(failure)?;
        Ok(QuicListener {
            endpoint: endpoint(socket, Some(first.config))?,
            config: self.config.clone(),
            admission: Arc::new(self.access.admission.clone()),
            arriving: JoinSet::new(),
        })
    }
}

fn endpoint(socket: Arc<Socket>, server: Option<quinn::ServerConfig>) -> Result<Endpoint, Failure> {
    let config = EndpointConfig::default();
    let runtime = Arc::new(TokioRuntime);
    Ok(Endpoint::new_with_abstract_socket(
        config, server, socket, runtime,
    )?)
}

/// A handshake without an answer. The packets of an Initial are in datagrams of 1200 octets or more
/// in both directions (RFC 9000 §14.1), which nothing on the way may fragment.
fn unanswered(peer: SocketAddr) -> Failure {
    Failure::Failed(format!(
        "{}: no `weir serve --transport quic` is there, or the path drops the datagrams of 1200 \
         bytes that QUIC needs (RFC 9000 §14); `weir send --transport dccp` with --length finds the \
         largest that arrive",
        Error::TimedOut(peer)
    ))
}

/// Why a server does not take a connection.
fn refused(peer: SocketAddr, error: ConnectionError) -> Failure {
    match error {
        ConnectionError::TimedOut => unanswered(peer),
        ConnectionError::ConnectionClosed(close)
            if close.error_code == quinn::TransportErrorCode::CONNECTION_REFUSED =>
        {
            failure(Error::Busy(peer))
        }
        ConnectionError::TransportError(error) => {
            Failure::Failed(format!("cannot agree with {peer}: {error}"))
        }
        error => Failure::Failed(format!("{peer} does not take the connection: {error}")),
    }
}

/// A server over QUIC.
pub struct QuicListener {
    endpoint: Endpoint,
    config: TracedConfig,
    admission: Arc<Admission>,
    /// Handshakes, and waits for requests.
    arriving: JoinSet<Option<QuicPath>>,
}

impl Listener for QuicListener {
    type Path = QuicPath;

    fn local_address(&self) -> Result<SocketAddr, Failure> {
        Ok(self.endpoint.local_addr()?)
    }

    fn identity(&self) -> Result<Option<String>, Failure> {
        let fingerprint = Fingerprint::of_this_process().map_err(failure)?;
        Ok(Some(format!(
            "certificate SHA-256 {fingerprint} (send --pin)"
        )))
    }

    async fn accept(&mut self) -> Result<QuicPath, Failure> {
        loop {
            let arrived = tokio::select! {
                incoming = self.endpoint.accept() => {
                    let incoming = incoming.ok_or_else(|| failure(Error::Closed))?;
                    // A handshake is no connection yet before its task has begun.
                    let present = self.endpoint.open_connections().max(self.arriving.len());
                    if let Some(incoming) = admit(present, incoming) {
                        let admission = Arc::clone(&self.admission);
                        self.arriving.spawn(open(incoming, self.config.clone(), admission));
                    }
                    continue;
                }
                Some(arrived) = self.arriving.join_next() => joined(arrived).flatten(),
            };
            if let Some(path) = arrived {
                return Ok(path);
            }
        }
    }

    async fn close(self) {
        self.endpoint.close(0_u8.into(), b"the server ends");
        let _ = timeout(CLOSE_TIMEOUT, self.endpoint.wait_idle()).await;
    }
}

/// Lets a client in, or not now: while there are many, one whose address is not proven has to come
/// again with a token (RFC 9000 §8.1.2).
fn admit(present: usize, incoming: Incoming) -> Option<Incoming> {
    if present >= MAX_CONNECTIONS {
        incoming.refuse();
        None
    } else if present >= RETRY_FROM && !incoming.remote_address_validated() && incoming.may_retry()
    {
        // A Retry that cannot be sent is like one that is lost: the client asks again.
        let _ = incoming.retry();
        None
    } else {
        Some(incoming)
    }
}

/// Asks for the test; where the server wants an answer to a Challenge, asks with it.
async fn ask(
    control: &mut (SendStream, RecvStream),
    mut asking: Asking,
    to: SocketAddr,
) -> Result<(), Failure> {
    let asked = async {
        loop {
            control::write(&mut control.0, asking.request())
                .await
                .map_err(|error| Failure::Failed(format!("cannot ask for the test: {error}")))?;
            let answer = control::read(&mut control.1).await;
            let answer = answer.ok_or_else(|| failure(Error::Closed))?;
            match asking.take(&answer) {
                Asked::Again { .. } => {}
                Asked::Refused(refusal) => return Err(failure(Error::Declined(to, refusal))),
                Asked::Other if matches!(answer, Message::Alive) => return Ok(()),
                Asked::Other => {
                    let message = format!("{to} does not answer the Request");
                    return Err(Failure::Failed(message));
                }
            }
        }
    };
    let asked = timeout(HANDSHAKE_TIMEOUT, asked).await;
    asked.unwrap_or_else(|_| Err(failure(Error::TimedOut(to))))
}

/// Answers Requests until one is let in; `None` for a client that is not.
async fn judge(
    control: &mut (SendStream, RecvStream),
    admission: &Admission,
    connection: &Connection,
) -> Option<TestConfig> {
    let token = random_token().ok()?;
    loop {
        let octets = control::read_octets(&mut control.1).await.ok()?;
        let answer = match Message::from_octets(&octets) {
            Some(Message::Request(request, answer)) => {
                let answer = admission.judge(token, &request, answer);
                if answer == Message::Alive {
                    control::write(&mut control.0, answer).await.ok()?;
                    return Some(admission.bounded(request));
                }
                answer
            }
            _ => Message::answer_other_version(&octets)?.1,
        };
        control::write(&mut control.0, answer).await.ok()?;
        if let Message::Refused(refusal) = answer {
            let peer = connection.remote_address();
            terminal::notice(&format!("{peer} is told: this server {refusal}"));
            control.0.finish().ok()?;
            // The client closes when it has the answer.
            connection.closed().await;
            return None;
        }
    }
}

/// The handshake, and the request; `None` for a client that fails at either.
async fn open(
    incoming: Incoming,
    config: TracedConfig,
    admission: Arc<Admission>,
) -> Option<QuicPath> {
    let opened = Instant::now();
    let traced = config.server().ok()?;
    let arriving = async {
        let accepted = incoming.accept_with(Arc::new(traced.config)).ok()?;
        let connection = accepted.await.ok()?;
        let mut control = connection.accept_bi().await.ok()?;
        let request = judge(&mut control, &admission, &connection).await?;
        let info = TestInfo {
            request,
            sends: request.reverse,
            opened,
            transport: MeasuredTransport::Quinn(config.algorithm.name()),
            events: traced.events,
        };
        Some(QuicPath {
            connection,
            controller: traced.controller,
            control,
            endpoint: None,
            info,
            progress: Progress::default(),
        })
    };
    timeout(HANDSHAKE_TIMEOUT, arriving).await.ok()?
}
