//! Tests over DCCP, in UDP or directly over IP: the datagrams of a connection are data, or control
//! messages of [`weir_wire::test_protocol`], which begin with a magic number.
//!
//! The messages are those of the [session](weir_wire::test_protocol::Session): the client repeats
//! its Request until the server responds, and the sender repeats its End, which has the number of
//! datagrams sent, until the last Report arrives. The connection probes a silent peer every second
//! with a Sync, so that a live peer sends a packet.

mod path;

use super::conversation::{self, span};
use super::options::{Access, ClientOptions, DEFAULT_PROFILE, TestOptions};
use super::test_path::{Listener, Transport};
use super::{failure, joined};
use crate::exit::Failure;
use path::DccpPath;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;
use weir_lab::run::MeasuredTransport;
use weir_lab::scenario::{self, Override, RFC4341};
use weir_proto::cc::window::{self, ControllerEntry};
use weir_proto::settings::{nearest, shortened};
use weir_wire::test_protocol::{Admission, REQUEST_TIMEOUT, TestConfig};
use weir_wire::{Ccid, Connection, Encapsulation, EndpointConfig, Tap};

/// The time without a packet after which the connection probes the peer.
const PROBE_AFTER: Duration = Duration::from_secs(1);

/// The default CCID of a client.
const DEFAULT_CCID: u8 = 3;

/// The settings of tests over DCCP.
#[derive(Clone)]
pub struct Dccp {
    config: EndpointConfig,
    access: Access,
    /// The requested CCID; a server without one accepts the client's.
    ccid: Option<u8>,
    profile: String,
    /// Single rules of TFRC that override the profile.
    rules: Vec<Override>,
    /// The window controller of CCID 2, if it is not that of RFC 4341.
    controller: Option<&'static ControllerEntry>,
}

impl Dccp {
    /// The settings from the options.
    pub fn new(
        options: &TestOptions,
        access: Access,
        tap: Option<Arc<dyn Tap>>,
    ) -> Result<Self, Failure> {
        let ccid = options.ccid.unwrap_or(DEFAULT_CCID);
        let profile = options.profile.as_deref().unwrap_or(DEFAULT_PROFILE);
        let profile = profile.to_owned();
        let (settings, rules) = scenario::Dccp::with_rules(ccid, &profile, &options.set)?;
        let tfrc = Box::new(settings.tfrc);
        let controller = options.controller.as_deref().map(ccid2_controller);
        let controller = controller.transpose()?.flatten();
        let like_tcp = controller.map_or(Ccid::TcpLike, Ccid::TcpLikeWith);
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
                2 => like_tcp,
                4 => Ccid::TfrcSmallPackets(tfrc),
                _ => Ccid::Tfrc(tfrc),
            },
            connect_timeout: span(REQUEST_TIMEOUT),
            keepalive: Some(PROBE_AFTER),
            tap,
            ..socket
        };
        Ok(Self {
            config,
            access,
            ccid: options.ccid,
            profile,
            rules,
            controller,
        })
    }

    fn controller_name(&self) -> &'static str {
        self.controller.map_or(RFC4341.word, |entry| entry.name)
    }

    fn transport(&self) -> MeasuredTransport {
        MeasuredTransport::Dccp {
            ccid: self.ccid.unwrap_or(DEFAULT_CCID),
            profile: self.profile.clone(),
            rules: self.rules.clone(),
            controller: self.controller_name(),
            ecn: self.config.ecn,
        }
    }
}

/// The controller of this name; `None` for the window of RFC 4341.
fn ccid2_controller(name: &str) -> Result<Option<&'static ControllerEntry>, Failure> {
    if name == RFC4341.word {
        return Ok(None);
    }
    window::find(name).map(Some).ok_or_else(|| {
        let names: Vec<_> = window::names().collect();
        let near = nearest(name, &names).map_or(String::new(), |near| format!("; {near}"));
        let (found, rfc, names) = (shortened(name), RFC4341.word, names.join(", "));
        Failure::Usage(format!(
            "expected one of the controllers of CCID 2, {rfc}, {names}, found \"{found}\"{near}"
        ))
    })
}

impl Dccp {
    /// Rejects a server with another CCID than the requested one: without an agreement both ends
    /// use CCID 2 (RFC 4340 §6.3.1 and §10).
    fn check_agreement(&self, connection: &Connection) -> Result<(), Failure> {
        let wanted = self.ccid.unwrap_or(DEFAULT_CCID);
        let stats = connection.stats();
        for agreed in [stats.send_ccid, stats.receive_ccid] {
            if agreed != wanted {
                return Err(Failure::Failed(format!(
                    "expected a server that takes CCID {wanted}, found one that agrees on CCID \
                     {agreed}; `weir serve` without --ccid takes each"
                )));
            }
        }
        Ok(())
    }
}

impl Transport for Dccp {
    type Path = DccpPath;
    type Listener = DccpListener;

    fn request(&self, client: &ClientOptions) -> Result<TestConfig, Failure> {
        // Without a length, the default depends on the open path.
        Ok(client.request(0))
    }

    fn settings(&self, _: &TestConfig) -> Value {
        let rules = self
            .rules
            .iter()
            .map(|rule| (rule.path.clone(), rule.value.clone()));
        let rules: BTreeMap<_, _> = rules.collect();
        let ccid = self.ccid.unwrap_or(DEFAULT_CCID);
        let controller = self.controller_name();
        json!({ "ccid": ccid, "controller": controller, "profile": self.profile, "set": rules })
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
        self.check_agreement(&connection)?;
        let secret = self.access.admission.secret.clone();
        let opened = (connection, opened);
        let mut path = DccpPath::ask(opened, self.transport(), request, secret);
        conversation::begin(&mut path).await.map_err(failure)?;
        Ok(path)
    }

    async fn listen(&self, address: SocketAddr) -> Result<DccpListener, Failure> {
        let mut config = self.config.clone();
        if self.ccid.is_none()
            && let Ccid::Tfrc(rules) = &config.ccid
        {
            config.accept_ccids = vec![Ccid::TfrcSmallPackets(rules.clone()), Ccid::TcpLike];
        }
        let listener = weir_wire::Listener::bind(address, config);
        Ok(DccpListener {
            listener: listener.await.map_err(failure)?,
            transport: self.transport(),
            admission: Arc::new(self.access.admission.clone()),
            arriving: JoinSet::new(),
        })
    }
}

/// A server over DCCP.
pub struct DccpListener {
    listener: weir_wire::Listener,
    transport: MeasuredTransport,
    admission: Arc<Admission>,
    /// Connections that wait for their Requests.
    arriving: JoinSet<Option<DccpPath>>,
}

impl Listener for DccpListener {
    type Path = DccpPath;

    fn local_address(&self) -> Result<SocketAddr, Failure> {
        Ok(self.listener.local_address())
    }

    async fn accept(&mut self) -> Result<DccpPath, Failure> {
        loop {
            let arrived = tokio::select! {
                connection = self.listener.accept() => {
                    let connection = connection.map_err(failure)?;
                    let admission = Arc::clone(&self.admission);
                    let path = DccpPath::admit(connection, self.transport.clone(), admission);
                    self.arriving.spawn(conversation::admit(path.map_err(failure)?));
                    continue;
                }
                Some(arrived) = self.arriving.join_next() => joined(arrived).flatten(),
            };
            if let Some(path) = arrived {
                return Ok(path);
            }
        }
    }

    async fn close(self) {}
}
