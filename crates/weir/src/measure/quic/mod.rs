//! Tests over QUIC: a stream of quinn with this project's controllers.
//!
//! The client opens a bidirectional stream for control messages and requests the test on it; the
//! sender opens a unidirectional stream and writes data to it. The receiver sends Reports on the
//! first stream, so that both ends count delivered octets and not those waiting to be sent. The end
//! of the data stream is the sender's End, and STOP_SENDING on it is the receiver's Stop. When its
//! time is over, a sender without a fixed rate resets the stream, and waiting data is not sent.
//!
//! A server has state for at most 1024 connections. With 64 or more, it requires further clients to
//! prove their address with a token (Retry), so that a flood of first packets uses no memory.
//!
//! The server uses its own certificate, and the client accepts any certificate unless its SHA-256
//! is given. The server responds to the Request with an Alive, or with a Challenge if it has a
//! secret.

mod control;
mod path;
mod socket;

use super::conversation::{self, Conversation, span};
use super::options::{Access, ClientOptions, DEFAULT_CONTROLLER, TestOptions};
use super::test_path::{Listener, TestInfo, Transport};
use super::{failure, joined};
use crate::exit::Failure;
use control::Control;
use path::QuicPath;
use quinn::{Connection, ConnectionError, Endpoint, EndpointConfig, Incoming, TokioRuntime};
use serde_json::{Value, json};
use socket::Socket;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use weir_lab::run::MeasuredTransport;
use weir_wire::quinn::{CongestionControlAlgorithm, Fingerprint, TracedConfig};
use weir_wire::test_protocol::{Admission, CLOSE_TIMEOUT, Channel, REQUEST_TIMEOUT, TestConfig};
use weir_wire::{Error, EventStream, Tap};

/// The protocol's name (ALPN).
const PROTOCOL: &str = "weir-test";
/// The server name for TLS; its certificate is identified by its fingerprint or not at all.
const SERVER_NAME: &str = "server.invalid";
/// The maximum number of connections of a server, and the number from which a client must prove its
/// address first.
const MAX_CONNECTIONS: usize = 1024;
const RETRY_FROM: usize = 64;
/// The default write sizes in octets: with a constant rate, and without one.
const PACED_LENGTH: u16 = 1200;
const BULK_LENGTH: u16 = 65_000;

/// The settings of tests over QUIC.
#[derive(Clone)]
pub struct Quic {
    config: TracedConfig,
    controller: String,
    client_port: u16,
    access: Access,
    tap: Option<Arc<dyn Tap>>,
}

impl Quic {
    /// The settings from the options.
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
            () = sleep(span(REQUEST_TIMEOUT)) => return Err(unanswered(to)),
        };
        let control = connection.open_bi().await;
        let control = control.map_err(|error| refused(to, error))?;
        let secret = self.access.admission.secret.clone();
        let conversation = Conversation::ask(Channel::Stream, request, secret);
        let (control, controller) = (Control::new(control), traced.controller);
        let info = info(&connection, opened, &self.config, traced.events);
        let mut path = QuicPath::new(connection, control, controller, info, conversation);
        path.endpoint = Some(endpoint);
        conversation::begin(&mut path).await.map_err(failure)?;
        Ok(path)
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

/// The error for a handshake without a response. Datagrams with Initial packets have at least 1200
/// octets in both directions (RFC 9000 §14.1) and must not be fragmented.
fn unanswered(peer: SocketAddr) -> Failure {
    Failure::Failed(format!(
        "{}: no `weir serve --transport quic` is there, or the path drops the datagrams of 1200 \
         bytes that QUIC needs (RFC 9000 §14); `weir send --transport dccp` with --length finds the \
         largest that arrive",
        Error::TimedOut(peer)
    ))
}

/// The error for a connection that a server rejects.
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
    /// Connections during their handshakes, or waiting for requests.
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
                    // A handshake does not count as a connection before its task has started.
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
        let _ = timeout(span(CLOSE_TIMEOUT), self.endpoint.wait_idle()).await;
    }
}

/// Accepts a client, unless there are too many; with many clients, one with an unproven address
/// must return with a token (RFC 9000 §8.1.2).
fn admit(present: usize, incoming: Incoming) -> Option<Incoming> {
    if present >= MAX_CONNECTIONS {
        incoming.refuse();
        None
    } else if present >= RETRY_FROM && !incoming.remote_address_validated() && incoming.may_retry()
    {
        // A Retry that cannot be sent is like a lost one: the client tries again.
        let _ = incoming.retry();
        None
    } else {
        Some(incoming)
    }
}

/// The description of the test, before the Request.
fn info(
    connection: &Connection,
    opened: Instant,
    config: &TracedConfig,
    events: Option<EventStream>,
) -> TestInfo {
    let peer = connection.remote_address();
    let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
    let transport = MeasuredTransport::Quinn(config.algorithm.name());
    TestInfo::opening(peer, opened, transport, events)
}

/// Performs the handshake and receives the request; `None` if the client fails at either.
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
        let control = connection.accept_bi().await.ok()?;
        Some((connection, control))
    };
    let (connection, control) = timeout(span(REQUEST_TIMEOUT), arriving).await.ok()??;
    let conversation = Conversation::admit(Channel::Stream, admission, None).ok()?;
    let (control, controller) = (Control::new(control), traced.controller);
    let info = info(&connection, opened, &config, traced.events);
    let path = QuicPath::new(connection, control, controller, info, conversation);
    conversation::admit(path).await
}
