//! Twenty thousand forged Initial packets of QUIC to a test server: it answers most of them with a
//! Retry, its memory stays bounded, and a client can run its test during the flood and after it.

use crate::common::{json, run, serve, weir};
use quinn_proto::{ClientConfig, Endpoint, EndpointConfig};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use weir_proto::event::EventMask;
use weir_wire::quinn::{CongestionControlAlgorithm, TracedConfig};

const INITIALS: usize = 20_000;
/// Bits of the first octet of a long header: form, fixed bit, and the type of a Retry packet
/// (RFC 9000 §17.2.5).
const LONG_TYPE: u8 = 0xf0;
const RETRY: u8 = 0xf0;
/// Many times the memory for 64 handshakes and the buffers of one test.
const MAX_GROWTH: u64 = 64 << 20;

/// A client that sends forged first packets and never reads a response.
struct Forger {
    endpoint: Endpoint,
    config: ClientConfig,
    datagram: Vec<u8>,
}

impl Forger {
    fn new() -> Self {
        let traced = TracedConfig {
            algorithm: CongestionControlAlgorithm::named("newreno").expect("a controller"),
            segmentation: false,
            alpn: "weir-test",
            events: EventMask::NONE,
        };
        Self {
            endpoint: Endpoint::new(Arc::new(EndpointConfig::default()), None, false, None),
            config: traced.client(None).expect("a configuration").config,
            datagram: Vec::new(),
        }
    }

    /// An Initial packet with new connection IDs and keys.
    fn initial(&mut self, to: SocketAddr) -> &[u8] {
        let now = Instant::now();
        let config = self.config.clone();
        let connection = self.endpoint.connect(now, config, to, "server.invalid");
        let (_, mut connection) = connection.expect("a connection");
        self.datagram.clear();
        let sent = connection.poll_transmit(now, 1, &mut self.datagram);
        assert!(sent.is_some_and(|sent| sent.size >= 1200), "an Initial");
        &self.datagram
    }
}

/// Resident memory of a process in octets; zero if the system does not report it.
fn resident(process: u32) -> u64 {
    let statm = std::fs::read_to_string(format!("/proc/{process}/statm"));
    let statm = statm.unwrap_or_default();
    let pages = statm.split_whitespace().nth(1);
    pages.and_then(|text| text.parse().ok()).unwrap_or(0) * 4096
}

/// Sends all Initial packets; returns the number of Retry packets received.
fn flood(to: SocketAddr) -> usize {
    let mut forger = Forger::new();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_nonblocking(true).expect("a socket");
    let mut retries = 0;
    let mut answer = [0; 1500];
    for _ in 0..INITIALS {
        // A full socket buffer drops the packet, like a congested network.
        let _ = socket.send_to(forger.initial(to), to);
        while let Ok(len) = socket.recv(&mut answer) {
            retries += usize::from(len > 0 && answer[0] & LONG_TYPE == RETRY);
        }
    }
    retries
}

#[test]
fn a_flood_of_first_packets_costs_no_memory_and_locks_no_client_out() {
    let (server, port) = serve(&["--transport", "quic", "-B", "127.0.0.1"]);
    let to: SocketAddr = format!("127.0.0.1:{port}").parse().expect("an address");
    let send = || {
        let words = ["send", "127.0.0.1", "-p", &port, "--transport", "quic"];
        let document = json(&run(weir(&words).args(["-t", "1", "-b", "1mbit", "--json"])));
        assert!(document["end"]["sum_received"]["bytes"].as_f64() > Some(0.0));
    };
    send();
    let before = resident(server.child.id());
    let flooding = AtomicBool::new(true);
    let retries = std::thread::scope(|scope| {
        let flooder = scope.spawn(|| {
            let retries = flood(to);
            flooding.store(false, Ordering::Release);
            retries
        });
        while flooding.load(Ordering::Acquire) {
            send();
        }
        flooder.join().expect("a flood")
    });
    send();
    let growth = resident(server.child.id()).saturating_sub(before);
    println!("{retries} Retry packets, {growth} octets more");
    assert!(retries > INITIALS / 10, "{retries} Retry packets");
    assert!(growth < MAX_GROWTH, "{growth} octets more");
}
