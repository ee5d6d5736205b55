//! Handshakes under load and without an answer, over loopback. No time is asserted: a test that
//! hangs fails by its limit.

use std::future::Future;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;
use weir_proto::dccp::{self, wire::decode};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, FlowId, IpHeader, Packet, Payload};
use weir_proto::time::Instant;
use weir_wire::{Ccid, Connection, EndpointConfig, Error, Listener};

/// Fails what does not come to an end.
async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_mins(1), work)
        .await
        .expect("it ends within a minute")
}

fn any() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

async fn listener(options: EndpointConfig) -> (Listener, SocketAddr) {
    let listener = Listener::bind(any(), options).await.expect("a listener");
    let address = listener.local_address();
    (listener, address)
}

/// A listener that never remembers a Request.
fn forgetful() -> EndpointConfig {
    EndpointConfig {
        cookie_threshold: 0,
        ..EndpointConfig::default()
    }
}

#[tokio::test]
async fn with_cookies_connections_come_to_be_and_negotiate_as_without() {
    within(async {
        for ccid in [
            Ccid::TcpLike,
            Ccid::Tfrc("rfc5348".to_owned()),
            Ccid::TfrcSmallPackets("rfc5348".to_owned()),
        ] {
            let options = |cookie_threshold| EndpointConfig {
                ccid: ccid.clone(),
                cookie_threshold,
                ..EndpointConfig::default()
            };
            let mut limits = Vec::new();
            for cookie_threshold in [0, 64] {
                let (mut listener, to) = listener(options(cookie_threshold)).await;
                let connecting = Connection::connect(to, options(64));
                let (client, server) = tokio::join!(connecting, listener.accept());
                let (mut client, mut server) = (client.expect("one"), server.expect("one"));
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
async fn two_hundred_clients_connect_at_once_to_a_listener_that_remembers_no_request() {
    within(async {
        let (mut listener, to) = listener(forgetful()).await;
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
        let tfrc = || Ccid::Tfrc("rfc5348".to_owned());
        let small = Ccid::TfrcSmallPackets("rfc5348".to_owned());
        for (cookie_threshold, ccid) in [(0, Ccid::TcpLike), (0, tfrc()), (0, small), (64, tfrc())]
        {
            let strict = EndpointConfig {
                strict_amplification: true,
                cookie_threshold,
                ccid: ccid.clone(),
                ..EndpointConfig::default()
            };
            let (mut listener, to) = listener(strict).await;
            let padded = EndpointConfig {
                ccid,
                ..EndpointConfig::default()
            };
            let (client, server) = tokio::join!(Connection::connect(to, padded), listener.accept());
            assert!(client.is_ok() && server.is_ok());
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
async fn a_client_hears_at_once_what_is_wrong() {
    within(async {
        let (listener, to) = listener(EndpointConfig::default()).await;
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
        let nobody = UdpSocket::bind(any()).and_then(|socket| socket.local_addr());
        let nobody = nobody.expect("a port that is free again");
        let refused = Connection::connect(nobody, EndpointConfig::default()).await;
        assert!(
            matches!(refused, Err(Error::Refused(to)) if to == nobody),
            "{refused:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_silent_peer_is_given_up_after_the_time_of_the_options() {
    within(async {
        let silent = UdpSocket::bind(any()).expect("a socket");
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

/// A server's machine on a socket of its own, so that the socket can go and come back.
struct Server {
    machine: dccp::Connection,
    began: std::time::Instant,
}

impl Server {
    fn now(&self) -> Instant {
        Instant::from_nanos(1 + self.began.elapsed().as_nanos() as u64)
    }

    /// Takes what comes and answers, until a datagram for the application is there.
    async fn serve(&mut self, socket: &tokio::net::UdpSocket) -> Payload {
        loop {
            let mut octets = [0; 2000];
            let (len, from) = socket.recv_from(&mut octets).await.expect("received");
            let packet = decode(&octets[..len]).expect("a packet").into_packet();
            let now = self.now();
            self.machine.handle(
                now,
                Packet {
                    id: 0,
                    flow: FlowId::default(),
                    ip: IpHeader::default(),
                    size: 20 + len as u32,
                    damaged_at: None,
                    body: Body::Dccp(packet.with_ports(5001, 5001)),
                },
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
async fn a_port_that_is_said_to_be_unreachable_does_not_end_an_open_connection() {
    within(async {
        let socket = tokio::net::UdpSocket::bind(any()).await.expect("a socket");
        let to = socket.local_addr().expect("its address");
        let mut server = Server {
            machine: dccp::Connection::server(dccp::Config {
                service_code: 0,
                ..dccp::Config::default()
            }),
            began: std::time::Instant::now(),
        };
        let options = EndpointConfig {
            ccid: Ccid::TcpLike,
            ..EndpointConfig::default()
        };
        let opening = async {
            let client = Connection::connect(to, options).await.expect("a client");
            client.send(b"one").await.expect("sent");
            client
        };
        let (client, first) = tokio::join!(opening, server.serve(&socket));
        assert_eq!(first.content(), Some(&b"one"[..]));
        drop(socket);
        for _ in 0..3 {
            assert!(client.try_send(b"into the void").is_ok());
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        }
        let socket = tokio::net::UdpSocket::bind(to).await.expect("it is back");
        client.send(b"two").await.expect("still open");
        let mut heard = server.serve(&socket).await;
        while heard.content() != Some(&b"two"[..]) {
            heard = server.serve(&socket).await;
        }
    })
    .await;
}
