//! Clients and servers over loopback. No time is asserted: a test that hangs fails by its limit.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use weir_proto::event::{Event, EventMask};
use weir_wire::{Ccid, Connection, EndpointConfig, Error, Listener};

/// Fails what does not come to an end.
async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), work)
        .await
        .expect("it ends within a minute")
}

fn any(address: &str) -> SocketAddr {
    address.parse().expect("an address")
}

async fn pair(address: &str, options: EndpointConfig) -> (Listener, Connection, Connection) {
    let mut listener = Listener::bind(any(address), options.clone())
        .await
        .expect("a listener");
    let to = listener.local_address();
    let (client, server) = tokio::join!(Connection::connect(to, options), listener.accept());
    (
        listener,
        client.expect("a client"),
        server.expect("a server"),
    )
}

fn options(ccid: Ccid) -> EndpointConfig {
    EndpointConfig {
        ccid,
        ..EndpointConfig::default()
    }
}

fn all_ccids() -> [Ccid; 4] {
    [
        Ccid::TcpLike,
        Ccid::Tfrc("rfc5348".to_owned()),
        Ccid::Tfrc("linux-mainline".to_owned()),
        Ccid::TfrcSmallPackets("rfc5348".to_owned()),
    ]
}

#[tokio::test]
async fn datagrams_go_both_ways_under_every_ccid_over_ipv4_and_ipv6() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        if std::net::UdpSocket::bind(address).is_err() {
            eprintln!("skipped: this machine has no {address}");
            continue;
        }
        for ccid in all_ccids() {
            within(async {
                let (_listener, mut client, mut server) = pair(address, options(ccid)).await;
                for number in 0_u32..50 {
                    let question = number.to_be_bytes();
                    client.send(&question).await.expect("sent");
                    let heard = server.receive().await.expect("received");
                    assert_eq!(heard, question);
                    server
                        .send(&[&heard[..], b"!"].concat())
                        .await
                        .expect("sent");
                    let answer = client.receive().await.expect("received");
                    assert_eq!(answer, [&question[..], b"!"].concat());
                }
                assert!(!client.stats().statistics.smoothed_rtt.is_zero());
            })
            .await;
        }
    }
}

#[tokio::test]
async fn a_connection_tells_its_events_from_its_opening_on() {
    let kinds = EventMask::CONTROLLER.union(EventMask::RTT);
    for ccid in all_ccids() {
        let options = EndpointConfig {
            event_mask: kinds.union(EventMask::WRITE),
            ..options(ccid)
        };
        let (_listener, mut client, mut server) = pair("127.0.0.1:0", options).await;
        let mut events = client.events().expect("events are wanted");
        assert!(client.events().is_none(), "they are given once");
        for _ in 0..20 {
            within(client.send(&[7; 100])).await.expect("it is open");
            within(server.receive()).await.expect("it arrives");
        }
        let (mut last, mut writes, mut samples, mut states) = (None, 0, 0, 0);
        while let Some((at, event)) = events.try_next() {
            assert!(Some(at) >= last, "in the order of time");
            last = Some(at);
            match event {
                Event::Write(size) => writes += u32::from(size == 100),
                Event::Rtt(_) => samples += 1,
                Event::Rate(_) | Event::Window(_) => states += 1,
                other => panic!("{other:?} was not asked for"),
            }
        }
        assert_eq!((writes, events.dropped()), (20, 0));
        assert!(samples > 0 && states > 0, "{samples} {states}");
        assert_eq!(client.stats().payload_sent, 2000);
    }
}

#[tokio::test]
async fn what_has_come_can_be_taken_without_waiting_and_in_order() {
    within(async {
        let (_listener, client, mut server) = pair("127.0.0.1:0", EndpointConfig::default()).await;
        assert_eq!(server.try_receive(), None);
        for number in 0_u8..100 {
            client.send(&[number]).await.expect("sent");
        }
        let mut heard = Vec::new();
        while heard.len() < 100 {
            let next = match server.try_receive() {
                Some(datagram) => datagram,
                None => server.receive().await.expect("received"),
            };
            heard.extend(next);
        }
        assert!(heard.into_iter().eq(0..100));
    })
    .await;
}

/// RFC 4340 §5.4.
#[tokio::test]
async fn an_empty_datagram_is_one_too() {
    for ccid in all_ccids() {
        within(async {
            let (_listener, client, mut server) = pair("127.0.0.1:0", options(ccid)).await;
            for datagram in [&b""[..], b"between", b""] {
                client.send(datagram).await.expect("sent");
                assert_eq!(server.receive().await.as_deref(), Some(datagram));
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_shared_datagram_goes_to_many_without_a_copy() {
    within(async {
        let (mut listener, client, mut server) =
            pair("127.0.0.1:0", EndpointConfig::default()).await;
        let to = listener.local_address();
        let second = Connection::connect(to, EndpointConfig::default()).await;
        let second = second.expect("a client");
        let mut other = listener.accept().await.expect("a server");
        let word: Arc<[u8]> = b"to all".as_slice().into();
        for _ in 0..3 {
            client.send_shared(&word).await.expect("sent");
            assert!(second.try_send_shared(&word).expect("it is open"));
        }
        for _ in 0..3 {
            for end in [&mut server, &mut other] {
                assert_eq!(end.receive_shared().await, Some(Arc::clone(&word)));
            }
        }
        assert_eq!(Arc::strong_count(&word), 1, "what has left is not kept");
        let long: Arc<[u8]> = vec![0; 2000].into();
        for refused in [
            client.send_shared(&long).await.err(),
            second.try_send_shared(&long).err(),
        ] {
            assert!(matches!(
                refused,
                Some(Error::TooLarge { octets: 2000, .. })
            ));
        }
        assert_eq!(Arc::strong_count(&long), 1);
    })
    .await;
}

#[tokio::test]
async fn a_closed_connection_ends_at_the_other_side() {
    within(async {
        let (_listener, client, mut server) = pair("127.0.0.1:0", EndpointConfig::default()).await;
        client.send(b"last words").await.expect("sent");
        client.close();
        assert_eq!(server.receive().await.as_deref(), Some(&b"last words"[..]));
        assert_eq!(server.receive().await, None);
        assert!(matches!(server.send(b"too late").await, Err(Error::Closed)));
    })
    .await;
}

#[tokio::test]
async fn two_hundred_handshakes_succeed() {
    within(async {
        let listening = Listener::bind(any("127.0.0.1:0"), EndpointConfig::default());
        let mut listener = listening.await.expect("a listener");
        let to = listener.local_address();
        for _ in 0..200 {
            let connecting = Connection::connect(to, EndpointConfig::default());
            let (client, server) = tokio::join!(connecting, listener.accept());
            assert!(client.is_ok() && server.is_ok());
        }
    })
    .await;
}

#[tokio::test]
async fn a_wrong_service_is_refused_and_a_large_datagram_too() {
    within(async {
        let (listener, client, _server) = pair("127.0.0.1:0", EndpointConfig::default()).await;
        let other = EndpointConfig {
            service_code: 42,
            ..EndpointConfig::default()
        };
        // RFC 4340 §8.1.2: Bad Service Code is reset code 8.
        let refused = Connection::connect(listener.local_address(), other).await;
        assert!(matches!(refused, Err(Error::Reset(8))), "{refused:?}");
        let too_large = client.send(&[0; 2000]).await;
        assert!(matches!(
            too_large,
            Err(Error::TooLarge { octets: 2000, .. })
        ));
        client
            .send(b"small enough")
            .await
            .expect("the connection goes on");
    })
    .await;
}

#[tokio::test]
async fn foreign_datagrams_and_forged_packets_change_nothing() {
    within(async {
        let (listener, client, mut server) = pair("127.0.0.1:0", EndpointConfig::default()).await;
        let stranger = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for len in 0..200_usize {
            let noise: Vec<u8> = (0..len).map(|n| (n * 31 + len) as u8).collect();
            stranger
                .send_to(&noise, listener.local_address())
                .expect("sent");
        }
        client.send(b"still here").await.expect("sent");
        assert_eq!(server.receive().await.as_deref(), Some(&b"still here"[..]));
    })
    .await;
}

#[tokio::test]
async fn a_listener_has_no_more_connections_than_its_options_say() {
    within(async {
        let few = EndpointConfig {
            max_connections_per_address: 3,
            ..EndpointConfig::default()
        };
        let mut listener = Listener::bind(any("127.0.0.1:0"), few)
            .await
            .expect("a listener");
        let to = listener.local_address();
        let mut clients = Vec::new();
        for _ in 0..3 {
            let connecting = Connection::connect(to, EndpointConfig::default());
            let (client, server) = tokio::join!(connecting, listener.accept());
            clients.push((client.expect("a client"), server.expect("a server")));
        }
        let fourth = Connection::connect(to, EndpointConfig::default()).await;
        // RFC 4340 §5.6: "Too Busy".
        assert!(matches!(fourth, Err(Error::Reset(9))), "{fourth:?}");
    })
    .await;
}

#[tokio::test]
async fn congestion_control_lets_a_bulk_of_datagrams_through() {
    within(async {
        for ccid in [Ccid::TcpLike, Ccid::Tfrc("rfc5348".to_owned())] {
            let (_listener, mut client, mut server) = pair("127.0.0.1:0", options(ccid)).await;
            let sending = async {
                for _ in 0..3000 {
                    client.send(&[7; 1400]).await.expect("sent");
                }
                client.close();
                assert_eq!(client.receive().await, None);
                client.stats()
            };
            let receiving = async {
                let mut count = 0_u32;
                while server.receive().await.is_some() {
                    count += 1;
                }
                count
            };
            let (stats, count) = tokio::join!(sending, receiving);
            assert!(stats.statistics.bytes_sent > 1400 * 2900, "{stats:?}");
            assert!(count > 2500, "{count} of 3000 arrived");
        }
    })
    .await;
}

#[tokio::test]
async fn one_listener_keeps_two_hundred_connections_apart() {
    within(async {
        let listening = Listener::bind(any("127.0.0.1:0"), EndpointConfig::default());
        let mut listener = listening.await.expect("a listener");
        let to = listener.local_address();
        let mut clients = Vec::new();
        let mut servers = Vec::new();
        for number in 0_u32..200 {
            let connecting = Connection::connect(to, EndpointConfig::default());
            let (client, server) = tokio::join!(connecting, listener.accept());
            let client = client.expect("a client");
            client.send(&number.to_be_bytes()).await.expect("sent");
            clients.push(client);
            servers.push(server.expect("a server"));
        }
        for (number, server) in (0_u32..).zip(&mut servers) {
            let heard = server.receive().await;
            assert_eq!(heard.as_deref(), Some(&number.to_be_bytes()[..]));
        }
    })
    .await;
}

/// A Request as a forger writes it: ports, a header of 28 octets, service code 0 (RFC 4340 §5.1).
fn forged_request(port: u16) -> [u8; 20] {
    let mut octets = [0; 20];
    octets[..2].copy_from_slice(&port.to_be_bytes());
    octets[2..4].copy_from_slice(&EndpointConfig::default().dccp_port.to_be_bytes());
    octets[4] = 5;
    octets[8] = 1;
    octets[14..16].copy_from_slice(&port.to_be_bytes());
    octets
}

#[tokio::test]
async fn a_flood_of_forged_requests_disturbs_no_connection_and_shuts_nobody_out() {
    within(async {
        let narrow = EndpointConfig {
            max_handshakes: 50,
            max_connections: 60,
            ..EndpointConfig::default()
        };
        let (mut listener, client, mut server) = pair("127.0.0.1:0", narrow).await;
        let to = listener.local_address();
        let forger = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        for port in 1..=5000_u16 {
            forger.send_to(&forged_request(port), to).expect("sent");
            if port % 100 == 0 {
                client.send(&port.to_be_bytes()).await.expect("sent");
                let heard = server.receive().await;
                assert_eq!(heard.as_deref(), Some(&port.to_be_bytes()[..]));
            }
        }
        forger.set_nonblocking(true).expect("a socket");
        let answers = std::iter::from_fn(|| forger.recv(&mut [0; 100]).ok()).count();
        assert!(answers > 0, "these are Requests");
        let connecting = Connection::connect(to, EndpointConfig::default());
        let (newcomer, accepted) = tokio::join!(connecting, listener.accept());
        assert!(newcomer.is_ok() && accepted.is_ok());
    })
    .await;
}
