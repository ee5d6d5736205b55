//! quinn's client and server over loopback, with Weir's controllers.
#![cfg(feature = "quinn")]

use quinn::congestion::{Controller as QuinnController, ControllerFactory};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use rustls::RootCertStore;
use rustls::pki_types::PrivatePkcs8KeyDer;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use weir_wire::quinn::{ControllerConfig, PathController};

/// Octets of the transfer: some 900 packets.
const OCTETS: usize = 1_000_000;
/// Fails a test that hangs.
const LIMIT: Duration = Duration::from_mins(1);

/// Creates the controllers of a client and records their initial windows.
#[derive(Clone)]
struct RecordingFactory {
    controller: ControllerConfig,
    windows: Arc<Mutex<Vec<u64>>>,
}

impl ControllerFactory for RecordingFactory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn QuinnController> {
        let running: PathController = self.controller.start(now, mtu);
        self.windows.lock().unwrap().push(running.window());
        Box::new(running)
    }
}

fn configs(transport: TransportConfig) -> (ServerConfig, ClientConfig) {
    let certificate = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let chain = vec![certificate.cert.der().clone()];
    let key = PrivatePkcs8KeyDer::from(certificate.signing_key.serialize_der());
    let server = ServerConfig::with_single_cert(chain, key.into()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.cert.der().clone()).unwrap();
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots)).unwrap();
    client.transport_config(Arc::new(transport));
    (server, client)
}

/// Sends the octets over one stream; returns the sender's congestion window at the end.
async fn transfer(factory: impl ControllerFactory + Send + Sync + 'static) -> u64 {
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(factory));
    let (server, client) = configs(transport);
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = Endpoint::server(server, any).unwrap();
    let address = listener.local_addr().unwrap();
    let receiving = tokio::spawn(async move {
        let connection = listener.accept().await.unwrap().await.unwrap();
        let mut stream = connection.accept_uni().await.unwrap();
        let data = stream.read_to_end(OCTETS).await.unwrap();
        connection.close(0_u8.into(), b"");
        listener.wait_idle().await;
        data
    });
    let mut caller = Endpoint::client(any).unwrap();
    caller.set_default_client_config(client);
    let connection = caller.connect(address, "localhost").unwrap().await.unwrap();
    let mut stream = connection.open_uni().await.unwrap();
    let data: Vec<u8> = (0..OCTETS).map(|at| (at % 251) as u8).collect();
    stream.write_all(&data).await.unwrap();
    stream.finish().unwrap();
    connection.closed().await;
    let window = connection.stats().path.cwnd;
    assert!(
        receiving.await.unwrap() == data,
        "the data came as it was sent"
    );
    window
}

#[tokio::test]
async fn a_quinn_client_sends_a_megabyte_with_each_controller() {
    for entry in weir_proto::cc::window::REGISTRY {
        let factory = RecordingFactory {
            controller: ControllerConfig::named(entry.name).unwrap(),
            windows: Arc::default(),
        };
        let sending = tokio::time::timeout(LIMIT, transfer(factory.clone()));
        let window = sending.await.expect("the transfer ends");
        // quinn sends datagrams of 1200 octets before path MTU discovery. LEDBAT starts with two
        // (RFC 6817 §2.4.2), the others with ten (RFC 9002 §7.2).
        let initial = if entry.name == "ledbat" { 2400 } else { 12_000 };
        let windows = factory.windows.lock().unwrap();
        assert_eq!(*windows, [initial], "{}", entry.name);
        assert_ne!(
            window, initial,
            "{}: acknowledgements are reported",
            entry.name
        );
    }
}
