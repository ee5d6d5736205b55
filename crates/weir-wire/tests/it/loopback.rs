//! Clients and servers over loopback. Times are not asserted; a test that hangs fails by its limit.

use crate::endpoints::{connect, listen, within};
use crate::request::forged_request;
use std::sync::Arc;
use weir_proto::cc::tfrc::Profile;
use weir_proto::event::{Event, EventMask};
use weir_wire::{Ccid, Connection, EndpointConfig, Error, Listener};

/// The address for most tests.
const LOOPBACK: &str = "127.0.0.1:0";

async fn pair(address: &str, config: EndpointConfig) -> (Listener, Connection, Connection) {
    let (mut listener, _) = listen(address, config.clone()).await;
    let (client, server) = connect(&mut listener, config).await;
    (listener, client, server)
}

fn config(ccid: Ccid) -> EndpointConfig {
    EndpointConfig {
        ccid,
        ..EndpointConfig::default()
    }
}

fn all_ccids() -> [Ccid; 4] {
    [
        Ccid::TcpLike,
        Ccid::Tfrc(Box::new(Profile::rfc5348())),
        Ccid::Tfrc(Box::new(Profile::linux_mainline())),
        Ccid::TfrcSmallPackets(Box::new(Profile::rfc5348())),
    ]
}

#[tokio::test]
async fn datagrams_go_both_ways_under_every_ccid_over_ipv4_and_ipv6() {
    for address in [LOOPBACK, "[::1]:0"] {
        if std::net::UdpSocket::bind(address).is_err() {
            eprintln!("skipped: this machine has no {address}");
            continue;
        }
        for ccid in all_ccids() {
            within(async {
                let (_listener, mut client, mut server) = pair(address, config(ccid)).await;
                for number in 0_u32..50 {
                    let question = number.to_be_bytes();
                    client.send(&question).await.expect("sent");
                    let received = server.receive().await.expect("received");
                    assert_eq!(received, question);
                    server
                        .send(&[&received[..], b"!"].concat())
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
async fn a_connection_reports_its_events_from_its_opening_on() {
    let kinds = EventMask::CONTROLLER.union(EventMask::RTT);
    for ccid in all_ccids() {
        let config = EndpointConfig {
            event_mask: kinds.union(EventMask::WRITE),
            ..config(ccid)
        };
        let (_listener, mut client, mut server) = pair(LOOPBACK, config).await;
        let mut events = client.events().expect("events");
        assert!(client.events().is_none(), "the stream is returned once");
        for _ in 0..20 {
            within(client.send(&[7; 100])).await.expect("it is open");
            within(server.receive()).await.expect("it arrives");
        }
        let (mut last, mut writes, mut samples, mut states) = (None, 0, 0, 0);
        while let Some((at, event)) = events.try_next() {
            assert!(Some(at) >= last, "in order of time");
            last = Some(at);
            match event {
                Event::Write(size) => writes += u32::from(size == 100),
                Event::Rtt(_) => samples += 1,
                Event::Rate(_) | Event::Window(_) => states += 1,
                other => panic!("{other:?} is not in the mask"),
            }
        }
        assert_eq!((writes, events.dropped()), (20, 0));
        assert!(samples > 0 && states > 0, "{samples} {states}");
        assert_eq!(client.stats().payload_sent, 2000);
    }
}

#[tokio::test]
async fn received_datagrams_can_be_taken_without_waiting_and_in_order() {
    within(async {
        let (_listener, client, mut server) = pair(LOOPBACK, EndpointConfig::default()).await;
        assert_eq!(server.try_receive(), None);
        for number in 0_u8..100 {
            client.send(&[number]).await.expect("sent");
        }
        let mut received = Vec::new();
        while received.len() < 100 {
            let next = match server.try_receive() {
                Some(datagram) => datagram,
                None => server.receive().await.expect("received"),
            };
            received.extend(next);
        }
        assert!(received.into_iter().eq(0..100));
    })
    .await;
}

/// RFC 4340 §5.4.
#[tokio::test]
async fn an_empty_datagram_is_delivered() {
    for ccid in all_ccids() {
        within(async {
            let (_listener, client, mut server) = pair(LOOPBACK, config(ccid)).await;
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
        let (mut listener, client, mut server) = pair(LOOPBACK, EndpointConfig::default()).await;
        let (second, mut other) = connect(&mut listener, EndpointConfig::default()).await;
        let data: Arc<[u8]> = b"to all".as_slice().into();
        for _ in 0..3 {
            client.send_shared(&data).await.expect("sent");
            assert!(second.try_send_shared(&data).expect("it is open"));
        }
        for _ in 0..3 {
            for end in [&mut server, &mut other] {
                assert_eq!(end.receive_shared().await, Some(Arc::clone(&data)));
            }
        }
        assert_eq!(Arc::strong_count(&data), 1, "a sent datagram is released");
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
async fn a_close_ends_the_connection_at_the_peer() {
    within(async {
        let (_listener, client, mut server) = pair(LOOPBACK, EndpointConfig::default()).await;
        client.send(b"last").await.expect("sent");
        client.close();
        assert_eq!(server.receive().await.as_deref(), Some(&b"last"[..]));
        assert_eq!(server.receive().await, None);
        assert!(matches!(server.send(b"too late").await, Err(Error::Closed)));
    })
    .await;
}

#[tokio::test]
async fn two_hundred_handshakes_succeed() {
    within(async {
        let (mut listener, _) = listen(LOOPBACK, EndpointConfig::default()).await;
        for _ in 0..200 {
            connect(&mut listener, EndpointConfig::default()).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_wrong_service_and_a_too_large_datagram_are_refused() {
    within(async {
        let (listener, client, _server) = pair(LOOPBACK, EndpointConfig::default()).await;
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
async fn random_datagrams_from_another_socket_change_nothing() {
    within(async {
        let (listener, client, mut server) = pair(LOOPBACK, EndpointConfig::default()).await;
        let other_socket = std::net::UdpSocket::bind(LOOPBACK).expect("a socket");
        for len in 0..200_usize {
            let noise: Vec<u8> = (0..len).map(|n| (n * 31 + len) as u8).collect();
            other_socket
                .send_to(&noise, listener.local_address())
                .expect("sent");
        }
        client.send(b"open").await.expect("sent");
        assert_eq!(server.receive().await.as_deref(), Some(&b"open"[..]));
    })
    .await;
}

#[tokio::test]
async fn a_listener_has_no_more_connections_than_configured() {
    within(async {
        let few = EndpointConfig {
            max_connections_per_address: 3,
            ..EndpointConfig::default()
        };
        let (mut listener, to) = listen(LOOPBACK, few).await;
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(connect(&mut listener, EndpointConfig::default()).await);
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
        for ccid in [Ccid::TcpLike, Ccid::Tfrc(Box::new(Profile::rfc5348()))] {
            let (_listener, mut client, mut server) = pair(LOOPBACK, config(ccid)).await;
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
async fn a_listener_keeps_two_hundred_connections_apart() {
    within(async {
        let (mut listener, _) = listen(LOOPBACK, EndpointConfig::default()).await;
        let mut clients = Vec::new();
        let mut servers = Vec::new();
        for number in 0_u32..200 {
            let (client, server) = connect(&mut listener, EndpointConfig::default()).await;
            client.send(&number.to_be_bytes()).await.expect("sent");
            clients.push(client);
            servers.push(server);
        }
        for (number, server) in (0_u32..).zip(&mut servers) {
            let received = server.receive().await;
            assert_eq!(received.as_deref(), Some(&number.to_be_bytes()[..]));
        }
    })
    .await;
}

#[tokio::test]
async fn a_flood_of_forged_requests_disturbs_no_connection_and_blocks_no_client() {
    within(async {
        let limited = EndpointConfig {
            max_handshakes: 50,
            max_connections: 60,
            ..EndpointConfig::default()
        };
        let (mut listener, client, mut server) = pair(LOOPBACK, limited).await;
        let to = listener.local_address();
        let forger = std::net::UdpSocket::bind(LOOPBACK).expect("a socket");
        for port in 1..=5000_u16 {
            forger
                .send_to(&forged_request(port.into()), to)
                .expect("sent");
            if port % 100 == 0 {
                client.send(&port.to_be_bytes()).await.expect("sent");
                let received = server.receive().await;
                assert_eq!(received.as_deref(), Some(&port.to_be_bytes()[..]));
            }
        }
        forger.set_nonblocking(true).expect("a socket");
        let answers = std::iter::from_fn(|| forger.recv(&mut [0; 100]).ok()).count();
        assert!(answers > 0, "the Requests are answered");
        connect(&mut listener, EndpointConfig::default()).await;
    })
    .await;
}
