//! A hundred thousand forged Requests at a listener that carries a connection: the connection goes
//! on, newcomers come in, and the listener's memory stays bounded.
//!
//! The forger is a thread with a plain UDP socket. It sends as fast as the system lets it, and
//! yields now and then as any process must; what the listener's socket has no room for is lost
//! before Weir sees it, the connection's packets as well as the forger's. The connection's rate is
//! constant, so that what it delivers in the same time can be compared.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use weir_wire::{Connection, EndpointConfig, Error, Listener};

const REQUESTS: u64 = 100_000;
/// A datagram each millisecond: about ten megabits per second.
const GAP: Duration = Duration::from_millis(1);
const OCTETS: usize = 1200;
const NEWCOMERS: usize = 20;

/// Octets of memory that this process has resident; zero where the system does not say.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1);
    pages.and_then(|text| text.parse().ok()).unwrap_or(0) * 4096
}

/// A Request from a DCCP port of its own (RFC 4340 §5.1 and §5.2).
fn forged_request(number: u64) -> [u8; 20] {
    let mut octets = [0; 20];
    octets[..2].copy_from_slice(&(number as u16).to_be_bytes());
    octets[2..4].copy_from_slice(&EndpointConfig::default().dccp_port.to_be_bytes());
    octets[4] = 5;
    octets[8] = 1;
    octets[10..16].copy_from_slice(&number.wrapping_mul(0x9e37_79b9).to_be_bytes()[2..]);
    octets
}

/// Sends all Requests, from a socket for each 65,536; says how long it took and how many answers
/// came back.
fn flood(to: SocketAddr) -> (Duration, usize) {
    let start = Instant::now();
    let mut answers = 0;
    for part in 0..REQUESTS.div_ceil(1 << 16) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.set_nonblocking(true).expect("a socket");
        for number in part << 16..REQUESTS.min((part + 1) << 16) {
            // A full socket loses it, as a flooded network would.
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

/// Datagrams that arrive while `until` is not set, and for how long that was.
async fn delivered(
    received: &AtomicU64,
    client: &Connection,
    until: impl Fn(Duration) -> bool,
) -> f64 {
    let start = Instant::now();
    let before = received.load(Ordering::Relaxed);
    let mut beat = tokio::time::interval(GAP);
    while !until(start.elapsed()) {
        beat.tick().await;
        // What finds no room in the queue is not sent: congestion control holds it back.
        let _ = client.try_send(&[7; OCTETS]).expect("it is open");
    }
    let arrived = received.load(Ordering::Relaxed) - before;
    arrived as f64 / start.elapsed().as_secs_f64()
}

/// The share of what is delivered without a flood that is delivered in one.
async fn under_flood(received: &AtomicU64, client: &Connection, to: SocketAddr) -> f64 {
    let quiet = delivered(received, client, |passed| passed > Duration::from_secs(2)).await;
    let over = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&over);
    let forger = std::thread::spawn(move || {
        let outcome = flood(to);
        flag.store(true, Ordering::Release);
        outcome
    });
    let flooded = delivered(received, client, |_| over.load(Ordering::Acquire)).await;
    let (lasted, answers) = forger.join().expect("the forger");
    println!(
        "{REQUESTS} Requests in {lasted:.2?}, {answers} answers; {quiet:.0} datagrams/s before, \
         {flooded:.0} during"
    );
    flooded / quiet
}

/// An honest client, some time into the first flood.
async fn come(to: SocketAddr, number: usize) -> Result<Connection, Error> {
    tokio::time::sleep(Duration::from_millis(2000 + 5 * number as u64)).await;
    Connection::connect(to, EndpointConfig::default()).await
}

#[tokio::test]
async fn a_hundred_thousand_forged_requests_slow_no_connection_and_take_no_memory() {
    let options = EndpointConfig::default();
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut listener = Listener::bind(any, options.clone()).await.expect("one");
    let to = listener.local_address();
    let connecting = Connection::connect(to, options.clone());
    let (client, server) = tokio::join!(connecting, listener.accept());
    let (client, mut server) = (client.expect("a client"), server.expect("a server"));
    let received = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&received);
    let reading = tokio::spawn(async move {
        while server.receive().await.is_some() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    // Slow start ends before anything is counted.
    delivered(&received, &client, |passed| passed > Duration::from_secs(1)).await;
    let memory = resident();
    let newcomers = (0..NEWCOMERS).map(|number| tokio::spawn(come(to, number)));
    let newcomers: Vec<_> = newcomers.collect();
    let mut share = 0.0;
    // A machine that is busy with something else may disturb the measurement, but not each time.
    for _ in 0..3 {
        share = under_flood(&received, &client, to).await;
        if share >= 0.9 {
            break;
        }
    }
    assert!(share >= 0.9, "{share} of what is delivered without a flood");
    let grown = resident().saturating_sub(memory);
    let mut open = Vec::new();
    for newcomer in newcomers {
        // It asks again until the flood lets its Request through.
        let newcomer = newcomer.await.expect("a task").expect("a newcomer");
        open.push((newcomer, listener.accept().await.expect("a server")));
    }
    tokio::task::yield_now().await;
    let load = listener.load();
    println!("{} KiB more; {load:?}", grown / 1024);
    assert!(load.cookies_sent > 0, "these are Requests: {load:?}");
    assert!(load.handshakes <= options.cookie_threshold, "{load:?}");
    assert_eq!(
        load.connections,
        1 + NEWCOMERS + load.handshakes,
        "{load:?}"
    );
    assert!(grown < 32 << 20, "{grown} octets");
    drop((client, open));
    reading.await.expect("the reader");
}
