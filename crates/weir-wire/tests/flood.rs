//! A hundred thousand forged Requests to a listener with a connection: the connection continues,
//! new clients connect, and the listener's memory stays bounded.
//!
//! The attacker is a thread with a plain UDP socket. It sends as fast as the system permits, and
//! yields occasionally; packets for which the listener's socket has no room are lost before Weir
//! reads them, those of the connection as well as the attacker's. The connection sends at a
//! constant rate, so that its throughput during a flood of another socket and during one of its own
//! listener can be compared. A separate binary, because the memory is that of the process.

#[path = "support/request.rs"]
mod request;

use request::forged_request;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use weir_wire::{Connection, EndpointConfig, Error, Listener};

const REQUESTS: u64 = 100_000;
/// The interval between datagrams: about ten megabits per second.
const INTERVAL: Duration = Duration::from_millis(1);
const OCTETS: usize = 1200;
const NEW_CLIENTS: usize = 20;

/// Octets of resident memory of this process; zero where the system does not report them.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1);
    pages.and_then(|text| text.parse().ok()).unwrap_or(0) * 4096
}

/// Sends all Requests, from one socket for every 65,536; returns the time taken and the number of
/// answers.
fn flood(to: SocketAddr) -> (Duration, usize) {
    let start = Instant::now();
    let mut answers = 0;
    for part in 0..REQUESTS.div_ceil(1 << 16) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_nonblocking(true).expect("a socket");
        for number in part << 16..REQUESTS.min((part + 1) << 16) {
            // A full socket drops it, as a flooded network would.
            let _ = socket.send_to(&forged_request(number), to);
            if number % 16 == 0 {
                answers += std::iter::from_fn(|| socket.recv(&mut [0; 300]).ok()).count();
                std::thread::yield_now();
            }
        }
        answers += std::iter::from_fn(|| socket.recv(&mut [0; 300]).ok()).count();
    }
    (start.elapsed(), answers)
}

/// Sends datagrams at a constant rate until `until` holds; returns the number that arrives per
/// second.
async fn delivered_per_second(
    received: &AtomicU64,
    client: &Connection,
    until: impl Fn(Duration) -> bool,
) -> f64 {
    let start = Instant::now();
    let before = received.load(Ordering::Relaxed);
    let mut interval = tokio::time::interval(INTERVAL);
    while !until(start.elapsed()) {
        interval.tick().await;
        // If congestion control holds the queue full, the datagram is skipped.
        let _ = client.try_send(&[7; OCTETS]).expect("it is open");
    }
    let arrived = received.load(Ordering::Relaxed) - before;
    arrived as f64 / start.elapsed().as_secs_f64()
}

/// The throughput of the connection while Requests are sent to this address.
async fn throughput_during_flood(received: &AtomicU64, client: &Connection, to: SocketAddr) -> f64 {
    let over = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&over);
    let forger = std::thread::spawn(move || {
        let outcome = flood(to);
        flag.store(true, Ordering::Release);
        outcome
    });
    let flooded = delivered_per_second(received, client, |_| over.load(Ordering::Acquire)).await;
    let (lasted, answers) = forger.join().expect("the forger");
    println!("{REQUESTS} Requests in {lasted:.2?}, {answers} answers; {flooded:.0} datagrams/s");
    flooded
}

/// The throughput during a flood of the listener as a share of that during a flood of a socket that
/// is never read, because the attacker and other load slow both.
async fn flooded_share(received: &AtomicU64, client: &Connection, to: SocketAddr) -> f64 {
    let unread = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let elsewhere = unread.local_addr().expect("it is bound");
    let beside = throughput_during_flood(received, client, elsewhere).await;
    throughput_during_flood(received, client, to).await / beside
}

/// A client that connects during the first flood.
async fn connect_during_flood(to: SocketAddr, number: usize) -> Result<Connection, Error> {
    tokio::time::sleep(Duration::from_millis(2000 + 5 * number as u64)).await;
    Connection::connect(to, EndpointConfig::default()).await
}

#[tokio::test]
async fn a_hundred_thousand_forged_requests_slow_no_connection_and_take_no_memory() {
    let config = EndpointConfig::default();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut listener = Listener::bind(any, config.clone()).await.expect("one");
    let to = listener.local_address();
    let connecting = Connection::connect(to, config.clone());
    let (client, server) = tokio::join!(connecting, listener.accept());
    let (client, mut server) = (client.expect("a client"), server.expect("a server"));
    let received = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&received);
    let reading = tokio::spawn(async move {
        while server.receive().await.is_some() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    // Slow start ends before the measurement.
    delivered_per_second(&received, &client, |passed| passed > Duration::from_secs(1)).await;
    let memory = resident();
    let new_clients = (0..NEW_CLIENTS).map(|number| tokio::spawn(connect_during_flood(to, number)));
    let new_clients: Vec<_> = new_clients.collect();
    let mut share = 0.0;
    // Other load on the machine may disturb a measurement, but not all of them.
    for _ in 0..20 {
        share = flooded_share(&received, &client, to).await;
        if share >= 0.9 {
            break;
        }
    }
    assert!(share >= 0.9, "{share} of the throughput beside a flood");
    let grown = resident().saturating_sub(memory);
    let mut open = Vec::new();
    for new_client in new_clients {
        // The client repeats its Request until one is accepted.
        let new_client = new_client.await.expect("a task").expect("a new_client");
        open.push((new_client, listener.accept().await.expect("a server")));
    }
    tokio::task::yield_now().await;
    let load = listener.load();
    println!("{} KiB more; {load:?}", grown / 1024);
    assert!(load.cookies_sent > 0, "the Requests are answered: {load:?}");
    assert!(load.handshakes <= config.cookie_threshold, "{load:?}");
    assert_eq!(
        load.connections,
        1 + NEW_CLIENTS + load.handshakes,
        "{load:?}"
    );
    assert!(grown < 32 << 20, "{grown} octets");
    drop((client, open));
    reading.await.expect("the reader");
}
