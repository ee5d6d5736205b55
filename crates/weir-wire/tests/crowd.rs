//! A thousand connections to one listener, each at 100 kbit/s for ten seconds, none of which fails.
//! Their memory is printed and not asserted, because it depends on the allocator. A separate
//! binary, because the connections use the whole machine, and the memory is that of the process.

use std::net::SocketAddr;
use std::time::Duration;
use weir_wire::{Connection, EndpointConfig, Listener};

const CONNECTIONS: usize = 1000;
/// Ten datagrams of 1250 octets per second are 100 kbit/s.
const OCTETS: usize = 1250;
const DATAGRAMS: usize = 100;
const INTERVAL: Duration = Duration::from_millis(100);

/// Kibibytes of resident memory of this process; zero where the system does not report them.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// True if this process may open a socket and a timer for each client.
fn enough_descriptors() -> bool {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3));
    soft.and_then(|text| text.parse::<usize>().ok())
        .is_some_and(|limit| limit > 3 * CONNECTIONS)
}

async fn receive_all(mut connection: Connection) -> usize {
    let mut octets = 0;
    while let Some(datagram) = connection.receive().await {
        octets += datagram.len();
    }
    octets
}

async fn send_all(to: SocketAddr, number: usize) -> Connection {
    // The clients start at different times.
    tokio::time::sleep(INTERVAL.mul_f64(number as f64 / CONNECTIONS as f64)).await;
    let connection = Connection::connect(to, EndpointConfig::default()).await;
    let connection = connection.expect("a connection");
    let mut interval = tokio::time::interval(INTERVAL);
    for _ in 0..DATAGRAMS {
        interval.tick().await;
        connection.send(&[7; OCTETS]).await.expect("it is open");
    }
    connection
}

#[tokio::test]
async fn a_thousand_connections_at_once_lose_none() {
    if !enough_descriptors() {
        eprintln!("skipped: it needs more than {} open files", 3 * CONNECTIONS);
        return;
    }
    let before = resident_kib();
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = Listener::bind(address, EndpointConfig::default()).await;
    let mut listener = listener.expect("a listener");
    let to = listener.local_address();
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|number| tokio::spawn(send_all(to, number)))
        .collect();
    let mut servers = Vec::new();
    for _ in 0..CONNECTIONS {
        let accepted = tokio::time::timeout(Duration::from_mins(1), listener.accept()).await;
        let connection = accepted
            .expect("all connect")
            .expect("the listener is there");
        servers.push(tokio::spawn(receive_all(connection)));
    }
    let mut open = Vec::new();
    for client in clients {
        open.push(client.await.expect("no connection breaks"));
    }
    let taken = resident_kib().saturating_sub(before);
    let each = taken as f64 / CONNECTIONS as f64;
    println!("{each:.1} KiB for each connection: both ends and the buffers of the client's socket");
    drop(open);
    let all = OCTETS * DATAGRAMS;
    for server in servers {
        let received = server.await.expect("no connection breaks");
        // On a busy machine full sockets drop datagrams, as any path may; no connection loses all
        // of them.
        assert!(
            received > 0 && received <= all,
            "{received} of {all} octets"
        );
    }
}
