//! Handshakes under load and without an answer, over loopback. Times are not asserted; a test that
//! hangs fails by its time limit.

use crate::endpoints::{connect, listen, within};
use std::net::UdpSocket;
use std::time::Duration;
use weir_proto::cc::tfrc::Profile;
use weir_proto::dccp::{self, wire::decode};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, Packet, Payload};
use weir_proto::time::Instant;
use weir_wire::{Ccid, Connection, EndpointConfig, Error};

const LOOPBACK: &str = "127.0.0.1:0";

/// A listener that answers every Request with a cookie.
fn stateless() -> EndpointConfig {
    EndpointConfig {
        cookie_threshold: 0,
        ..EndpointConfig::default()
    }
}

#[tokio::test]
async fn connections_are_established_and_negotiated_alike_with_and_without_cookies() {
    within(async {
        for ccid in [
            Ccid::TcpLike,
            Ccid::Tfrc(Box::new(Profile::rfc5348())),
            Ccid::TfrcSmallPackets(Box::new(Profile::rfc5348())),
        ] {
            let config = |cookie_threshold| EndpointConfig {
                ccid: ccid.clone(),
                cookie_threshold,
                ..EndpointConfig::default()
            };
            let mut limits = Vec::new();
            for cookie_threshold in [0, 64] {
                let (mut listener, _) = listen(LOOPBACK, config(cookie_threshold)).await;
                let (mut client, mut server) = connect(&mut listener, config(64)).await;
                for number in 0..100_u8 {
                    client.send(&[number; 900]).await.expect("sent");
                    assert_eq!(server.receive().await, Some(vec![number; 900]));
                    server.send(&[number]).await.expect("sent");
                    assert_eq!(client.receive().await, Some(vec![number]));
                }
                let load = listener.load();
                let from_cookies = u64::from(cookie_threshold == 0);
                assert_eq!(load.cookies_accepted, from_cookies, "{load:?}");
                assert_eq!(load.cookies_sent, from_cookies, "{load:?}");
                limits.push((client.stats().limit, client.stats().max_datagram));
            }
            assert_eq!(limits[0].1, limits[1].1, "{limits:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_listener_takes_the_ccid_that_the_client_asks_for_among_those_that_it_accepts() {
    within(async {
        let tfrc = || Box::new(Profile::rfc5348());
        let small = || Ccid::TfrcSmallPackets(tfrc());
        // RFC 4340 §6.3.1: without a common entry the value does not change from CCID 2.
        for (accept_ccids, asked, agreed) in [
            (vec![], Ccid::Tfrc(tfrc()), 3),
            (vec![], small(), 2),
            (vec![small(), Ccid::TcpLike], small(), 4),
            (vec![small(), Ccid::TcpLike], Ccid::Tfrc(tfrc()), 3),
            (vec![small(), Ccid::TcpLike], Ccid::TcpLike, 2),
        ] {
            for cookie_threshold in [0, 64] {
                let config = EndpointConfig {
                    accept_ccids: accept_ccids.clone(),
                    cookie_threshold,
                    ..EndpointConfig::default()
                };
                let (mut listener, _) = listen(LOOPBACK, config).await;
                let config = EndpointConfig {
                    ccid: asked.clone(),
                    ..EndpointConfig::default()
                };
                let (mut client, mut server) = connect(&mut listener, config).await;
                for number in 0..20_u8 {
                    client.send(&[number; 900]).await.expect("sent");
                    assert_eq!(server.receive().await, Some(vec![number; 900]));
                    server.send(&[number]).await.expect("sent");
                    assert_eq!(client.receive().await, Some(vec![number]));
                }
                for stats in [client.stats(), server.stats()] {
                    let both = (stats.send_ccid, stats.receive_ccid);
                    assert_eq!(both, (agreed, agreed), "{asked:?} {cookie_threshold}");
                }
            }
        }
    })
    .await;
}

#[tokio::test]
async fn two_hundred_clients_connect_at_once_to_a_listener_that_sends_cookies() {
    within(async {
        let (mut listener, to) = listen(LOOPBACK, stateless()).await;
        let clients: Vec<_> = (0..200)
            .map(|_| tokio::spawn(Connection::connect(to, EndpointConfig::default())))
            .collect();
        let mut open = Vec::new();
        for client in clients {
            open.push(listener.accept().await.expect("a server"));
            client.await.expect("a task").expect("a client");
        }
        let load = listener.load();
        assert_eq!((load.cookies_accepted, load.handshakes), (200, 0));
    })
    .await;
}

#[tokio::test]
async fn a_strict_listener_answers_padded_requests_only() {
    within(async {
        let tfrc = || Ccid::Tfrc(Box::new(Profile::rfc5348()));
        let small = Ccid::TfrcSmallPackets(Box::new(Profile::rfc5348()));
        for (cookie_threshold, ccid) in [(0, Ccid::TcpLike), (0, tfrc()), (0, small), (64, tfrc())]
        {
            let strict = EndpointConfig {
                strict_amplification: true,
                cookie_threshold,
                ccid: ccid.clone(),
                ..EndpointConfig::default()
            };
            let (mut listener, to) = listen(LOOPBACK, strict).await;
            let padded = EndpointConfig {
                ccid,
                ..EndpointConfig::default()
            };
            let _both = connect(&mut listener, padded).await;
            let bare = EndpointConfig {
                pad_requests: false,
                connect_timeout: Duration::from_millis(100),
                ..EndpointConfig::default()
            };
            let bare = Connection::connect(to, bare).await;
            assert!(matches!(bare, Err(Error::TimedOut(_))), "{bare:?}");
            assert_eq!(listener.load().connections, 1);
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_is_refused_gets_the_error_at_once() {
    within(async {
        let (listener, to) = listen(LOOPBACK, EndpointConfig::default()).await;
        let asking = |port, service_code| EndpointConfig {
            dccp_port: port,
            service_code,
            ..EndpointConfig::default()
        };
        let port = EndpointConfig::default().dccp_port;
        let wrong_port = Connection::connect(to, asking(port + 1, 0)).await;
        assert!(matches!(wrong_port, Err(Error::Reset(7))), "{wrong_port:?}");
        let wrong_service = Connection::connect(to, asking(port, 9)).await;
        assert!(
            matches!(wrong_service, Err(Error::Reset(8))),
            "{wrong_service:?}"
        );
        drop(listener);
        let unused = UdpSocket::bind(LOOPBACK).and_then(|socket| socket.local_addr());
        let unused = unused.expect("a port that is free again");
        let refused = Connection::connect(unused, EndpointConfig::default()).await;
        assert!(
            matches!(refused, Err(Error::Refused(to)) if to == unused),
            "{refused:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_client_without_an_answer_times_out_as_configured() {
    within(async {
        let silent = UdpSocket::bind(LOOPBACK).expect("a socket");
        let to = silent.local_addr().expect("its address");
        let impatient = EndpointConfig {
            connect_timeout: Duration::from_millis(50),
            ..EndpointConfig::default()
        };
        let given_up = Connection::connect(to, impatient).await;
        assert!(matches!(given_up, Err(Error::TimedOut(_))), "{given_up:?}");
    })
    .await;
}

/// A server's state machine without a socket, so that the socket can be closed and reopened.
struct Server {
    machine: dccp::Connection,
    began: std::time::Instant,
}

impl Server {
    fn now(&self) -> Instant {
        Instant::from_nanos(1 + self.began.elapsed().as_nanos() as u64)
    }

    /// Receives and answers packets until the application gets a datagram.
    async fn serve(&mut self, socket: &tokio::net::UdpSocket) -> Payload {
        loop {
            let mut octets = [0; 2000];
            let (len, from) = socket.recv_from(&mut octets).await.expect("received");
            let packet = decode(&octets[..len]).expect("a packet").into_packet();
            let now = self.now();
            self.machine.handle(
                now,
                &mut Packet::new(20 + len as u32, Body::Dccp(packet.with_ports(5001, 5001))),
            );
            while let Some(packet) = self.machine.poll_transmit(now) {
                let Body::Dccp(body) = packet.body else {
                    panic!("not a DCCP packet")
                };
                let ports = u16::from_be_bytes([octets[0], octets[1]]);
                let mut out = Vec::new();
                let wired = body.with_ports(5001, ports).encode(None, &mut out);
                wired.expect("a wire form");
                socket.send_to(&out, from).await.expect("sent");
            }
            if let Some(payload) = self.machine.read(now) {
                return payload;
            }
        }
    }
}

#[tokio::test]
async fn an_icmp_port_unreachable_does_not_end_an_open_connection() {
    within(async {
        let socket = tokio::net::UdpSocket::bind(LOOPBACK)
            .await
            .expect("a socket");
        let to = socket.local_addr().expect("its address");
        let mut server = Server {
            machine: dccp::Connection::server(dccp::Config {
                service_code: 0,
                ..dccp::Config::default()
            }),
            began: std::time::Instant::now(),
        };
        let config = EndpointConfig {
            ccid: Ccid::TcpLike,
            ..EndpointConfig::default()
        };
        let opening = async {
            let client = Connection::connect(to, config).await.expect("a client");
            client.send(b"one").await.expect("sent");
            client
        };
        let (client, first) = tokio::join!(opening, server.serve(&socket));
        assert_eq!(first.content(), Some(&b"one"[..]));
        drop(socket);
        for _ in 0..3 {
            assert!(client.try_send(b"lost").is_ok());
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        }
        let socket = tokio::net::UdpSocket::bind(to)
            .await
            .expect("the port is free again");
        client.send(b"two").await.expect("still open");
        let mut received = server.serve(&socket).await;
        while received.content() != Some(&b"two"[..]) {
            received = server.serve(&socket).await;
        }
    })
    .await;
}
