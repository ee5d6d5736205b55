//! Two namespaces and a token bucket between them: needs root, `ip` and `tc`.
#![cfg(target_os = "linux")]

use crate::namespace::{build_or_skip, inside};
use std::net::SocketAddr;
use std::time::Duration;
use weir_proto::cc::tfrc::Profile;
use weir_proto::packet::HostId;
use weir_wire::testbed::{LinkEnd, Testbed, TestbedLink, TokenBucket};
use weir_wire::{Ccid, Connection, EndpointConfig, Listener};

/// Two hosts with a token bucket from host 0 to host 1; `None` without the privilege.
fn shaped(rate: u64) -> Option<Testbed> {
    let end = |host: usize, shaper| LinkEnd {
        host,
        port: HostId(host as u32),
        shaper,
    };
    let shaper = TokenBucket {
        rate,
        burst: 10_000,
        limit: 30_000,
        peak: None,
        overhead: 0,
    };
    let link = TestbedLink {
        ends: vec![end(0, Some(shaper)), end(1, None)],
        mtu: 1500,
        veth: true,
    };
    build_or_skip(link)
}

fn config() -> EndpointConfig {
    EndpointConfig {
        ccid: Ccid::Tfrc(Box::new(Profile::rfc5348())),
        ..EndpointConfig::default()
    }
}

/// Runs a client in host 0, and a server in host 1 that counts the octets of `connections`
/// connections. Returns the client's result, the number of connections that have ended and their
/// octets.
fn run_client<T: Send + 'static, F: Future<Output = T>>(
    testbed: &Testbed,
    connections: usize,
    client: impl FnOnce(SocketAddr) -> F + Send + 'static,
) -> (T, usize, u64) {
    let (found, address) = std::sync::mpsc::channel();
    let at = SocketAddr::new(testbed.address_of(1), 0);
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            inside(testbed, 1, move || async move {
                let mut listener = Listener::bind(at, config()).await.expect("it listens");
                found
                    .send(listener.local_address())
                    .expect("the test waits");
                let mut readers = Vec::new();
                for _ in 0..connections {
                    let mut connection = listener.accept().await.expect("a connection");
                    readers.push(tokio::spawn(async move {
                        let mut octets = 0;
                        while let Some(datagram) = connection.receive().await {
                            octets += datagram.len() as u64;
                        }
                        octets
                    }));
                }
                let (mut ended, mut octets) = (0, 0);
                for reader in readers {
                    octets += reader.await.expect("a reader does not panic");
                    ended += 1;
                }
                (ended, octets)
            })
        });
        let address = address.recv().expect("the server has an address");
        let result = inside(testbed, 0, move || client(address));
        let (ended, octets) = server.join().expect("the server does not panic");
        (result, ended, octets)
    })
}

#[test]
fn two_hundred_handshakes_through_a_bucket_succeed_and_all_connections_end() {
    let Some(testbed) = shaped(1_000_000) else {
        return;
    };
    let (failures, ended, octets) = run_client(&testbed, 200, |address| async move {
        let mut failures = Vec::new();
        for number in 0..200 {
            match Connection::connect(address, config()).await {
                Ok(connection) => {
                    let sent = connection
                        .send(format!("hello {number:03}").as_bytes())
                        .await;
                    failures.extend(sent.err());
                }
                Err(error) => failures.push(error),
            }
        }
        // Dropped connections are still closing.
        tokio::time::sleep(Duration::from_secs(2)).await;
        failures
    });
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!((ended, octets), (200, 200 * 9));
}

#[test]
fn ten_seconds_of_ccid_3_use_nine_tenths_of_the_rate() {
    let Some(testbed) = shaped(1_000_000) else {
        return;
    };
    let seconds = 10;
    let (rtt, ended, octets) = run_client(&testbed, 1, move |address| async move {
        let mut connection = Connection::connect(address, config())
            .await
            .expect("it opens");
        let end = tokio::time::Instant::now() + Duration::from_secs(seconds);
        let datagram = [7; 1400];
        while let Ok(sent) = tokio::time::timeout_at(end, connection.send(&datagram)).await {
            sent.expect("the connection is open");
        }
        let rtt = connection.stats().statistics.smoothed_rtt.as_secs_f64();
        connection.close();
        while connection.receive().await.is_some() {}
        rtt
    });
    let [bucket] = testbed
        .shaper_stats()
        .expect("tc reports it")
        .try_into()
        .expect("there is one");
    // The token bucket also counts the headers of Ethernet, IP, UDP and DCCP.
    let rate = bucket.bytes as f64 * 8.0 / seconds as f64;
    assert!(
        rate > 0.9e6,
        "{rate} bit/s passed: {bucket:?}, {octets} octets received"
    );
    assert!(octets as f64 > 0.9 * rate * seconds as f64 / 8.0 && ended == 1);
    assert!((0.000_05..0.3).contains(&rtt), "{rtt} s");
}

#[test]
fn namespaces_leave_nothing_behind() {
    let names = || {
        let devices = std::fs::read_dir("/sys/class/net").expect("there are devices");
        let mut names: Vec<_> = devices
            .filter_map(|entry| Some(entry.ok()?.file_name()))
            .collect();
        names.sort();
        names
    };
    let before = names();
    let Some(testbed) = shaped(1_000_000) else {
        return;
    };
    assert_eq!(names(), before);
    drop(testbed);
    assert_eq!(names(), before);
}
