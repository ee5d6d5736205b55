//! A round-trip time estimator of noq. It has no public constructor, but controllers receive one: a
//! connection is opened between two endpoints in memory, with a controller that keeps it.

use noq_proto::congestion::{Controller, ControllerFactory};
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, FourTuple,
    RttEstimator, ServerConfig, TransportConfig,
};
use rcgen::generate_simple_self_signed;
use rustls::RootCertStore;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use std::any::Any;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The estimator of a connection that was opened without delay.
pub fn get() -> &'static RttEstimator {
    static ESTIMATOR: OnceLock<RttEstimator> = OnceLock::new();
    ESTIMATOR.get_or_init(open_connection)
}

const NAME: &str = "server.invalid";
const WINDOW: u64 = 14_720;

/// A controller that keeps the estimator that it receives.
#[derive(Clone, Debug, Default)]
struct Keeper(Arc<OnceLock<RttEstimator>>);

impl ControllerFactory for Keeper {
    fn build(self: Arc<Self>, _now: Instant, _mtu: u16) -> Box<dyn Controller> {
        Box::new(Self::clone(&self))
    }
}

impl Controller for Keeper {
    fn on_ack(
        &mut self,
        _now: Instant,
        _sent: Instant,
        _bytes: u64,
        _pn: u64,
        _app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.0.get_or_init(|| *rtt);
    }

    fn on_congestion_event(
        &mut self,
        _now: Instant,
        _sent: Instant,
        _is_persistent_congestion: bool,
        _is_ecn: bool,
        _lost_bytes: u64,
        _largest_lost_pn: u64,
    ) {
    }

    fn on_mtu_update(&mut self, _new_mtu: u16) {}

    fn window(&self) -> u64 {
        WINDOW
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        WINDOW
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// One endpoint in memory.
struct End {
    address: SocketAddr,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
}

impl End {
    fn new(port: u16, server: Option<Arc<ServerConfig>>) -> Self {
        Self {
            address: (Ipv4Addr::LOCALHOST, port).into(),
            endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), server, false),
            connection: None,
        }
    }

    /// The datagrams that it sends now.
    fn transmit(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let Some((handle, connection)) = &mut self.connection else {
            return Vec::new();
        };
        let mut datagrams = Vec::new();
        loop {
            let mut datagram = Vec::new();
            let one = NonZeroUsize::MIN;
            if connection.poll_transmit(now, one, &mut datagram).is_none() {
                break;
            }
            datagrams.push(datagram);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        datagrams
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, datagram: &[u8]) {
        let path = FourTuple::new(from, Some(self.address.ip()));
        let mut response = Vec::new();
        let event = self
            .endpoint
            .handle(now, path, None, datagram.into(), &mut response);
        match event {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut response, None);
                self.connection = Some(accepted.expect("the server accepts"));
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            _ => {}
        }
    }
}

fn open_connection() -> RttEstimator {
    let keeper = Keeper::default();
    let identity = generate_simple_self_signed([NAME.to_owned()]).expect("a certificate");
    let certificate = identity.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der());
    let server =
        ServerConfig::with_single_cert(vec![certificate.clone()], PrivateKeyDer::from(key))
            .expect("a server");
    let mut roots = RootCertStore::empty();
    roots.add(certificate).expect("a root");
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a client");
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(keeper.clone()));
    client.transport_config(Arc::new(transport));

    let now = Instant::now();
    let mut ends = [End::new(1, None), End::new(2, Some(Arc::new(server)))];
    let server_address = ends[1].address;
    let connection = ends[0].endpoint.connect(now, client, server_address, NAME);
    ends[0].connection = Some(connection.expect("a connection"));
    for turn in 0..20 {
        let from = turn % 2;
        let address = ends[from].address;
        for datagram in ends[from].transmit(now) {
            ends[1 - from].receive(now, address, &datagram);
        }
        if let Some(estimator) = keeper.0.get() {
            return *estimator;
        }
    }
    panic!("no acknowledgement in ten round trips");
}
