//! The machines over the loopback interface: real sockets, bounded in turns, no privilege needed.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use weir_proto::cc::tfrc::Profile;
use weir_proto::dccp::{self, Ccid, Config, Connection};
use weir_proto::node::{Endpoint, EndpointEvent, WriteError};
use weir_proto::packet::Payload;
use weir_proto::time::Duration;
use weir_wire::encapsulation::{OVERHEAD_OCTETS, encapsulate};
use weir_wire::{Limits, Peer, RealTime, SessionId, initial_sequence};

const SERVER_PORT: u16 = 5001;
const TURN: Duration = Duration::from_millis(1);

/// The CCID of both directions, and the MSL.
type Kind = (u8, Duration);

/// Short enough to see TIMEWAIT end.
const BRIEF: Duration = Duration::from_millis(250);
/// Longer than any test.
const LONG: Duration = Duration::from_secs(120);

fn config((ccid, lifetime): Kind, (local_port, remote_port): (u16, u16)) -> Config {
    let ccid = || match ccid {
        3 => Ccid::Tfrc(Box::new(Profile::rfc5348())),
        _ => Ccid::TcpLike,
    };
    Config {
        local_port,
        remote_port,
        service_code: 42,
        initial_sequence: initial_sequence().unwrap(),
        send_ccid: ccid(),
        receive_ccid: ccid(),
        mtu: 1500 - OVERHEAD_OCTETS,
        ecn: true,
        max_segment_lifetime: lifetime,
        ..Config::default()
    }
}

fn server(local: SocketAddr, kind: Kind, limits: Limits) -> RealTime<Connection> {
    let mut server = RealTime::bind(local).unwrap();
    server.listen(SERVER_PORT, limits, move |peer| {
        Some(Connection::server(config(kind, (SERVER_PORT, peer.port))))
    });
    server
}

fn connect(
    client: &mut RealTime<Connection>,
    to: &RealTime<Connection>,
    (kind, port): (Kind, u16),
) -> SessionId {
    let peer = Peer {
        address: to.local_address().unwrap(),
        port: SERVER_PORT,
        local_port: port,
    };
    client.connect(peer, Connection::client(config(kind, (port, SERVER_PORT))))
}

/// Turns both until `done` or for some seconds at most; true if it was done.
fn turn_until(
    ends: &mut [&mut RealTime<Connection>],
    mut done: impl FnMut(&mut [&mut RealTime<Connection>]) -> bool,
) -> bool {
    for _ in 0..20_000 {
        for end in ends.iter_mut() {
            end.turn(TURN).unwrap();
        }
        if done(ends) {
            return true;
        }
    }
    false
}

fn drain(end: &mut RealTime<Connection>, received: &mut Vec<Vec<u8>>) {
    while let Some((id, news)) = end.poll_event() {
        if news == EndpointEvent::Readable {
            end.with(id, |now, endpoint| {
                while let Some(data) = endpoint.read(now) {
                    received.push(data.content().unwrap_or_default().to_vec());
                }
            });
        }
    }
}

fn carries_datagrams_in_order(local: SocketAddr, ccid: u8) {
    let mut server = server(local, (ccid, BRIEF), Limits::default());
    let mut client = RealTime::bind(SocketAddr::new(local.ip(), 0)).unwrap();
    let id = connect(&mut client, &server, ((ccid, BRIEF), 40_000));
    let sent: Vec<Vec<u8>> = (0..50_u8).map(|number| vec![number; 100]).collect();
    let (mut next, mut received) = (0, Vec::new());
    let arrived = turn_until(&mut [&mut client, &mut server], |ends| {
        ends[0].with(id, |now, endpoint| {
            while let Some(data) = sent.get(next) {
                match endpoint.write(now, Payload::from_bytes(data)) {
                    Ok(()) => next += 1,
                    Err(WriteError::Blocked | WriteError::Closed) => break,
                    Err(error) => panic!("{error:?}"),
                }
            }
        });
        drain(ends[1], &mut received);
        received.len() == sent.len()
    });
    assert!(arrived, "{} of {} arrived", received.len(), sent.len());
    assert_eq!(received, sent);
    client.with(id, |now, endpoint| endpoint.close(now));
    let gone = turn_until(&mut [&mut client, &mut server], |ends| {
        ends.iter().all(|end| end.session_count() == 0)
    });
    assert!(gone, "both ends forget the connection after TIMEWAIT");
}

#[test]
fn ccid_3_carries_datagrams_over_ipv4() {
    carries_datagrams_in_order((Ipv4Addr::LOCALHOST, 0).into(), 3);
}

#[test]
fn ccid_2_carries_datagrams_over_ipv4() {
    carries_datagrams_in_order((Ipv4Addr::LOCALHOST, 0).into(), 2);
}

#[test]
fn ccid_3_carries_datagrams_over_ipv6() {
    if UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        eprintln!("skipped: this machine has no IPv6 loopback");
        return;
    }
    carries_datagrams_in_order((Ipv6Addr::LOCALHOST, 0).into(), 3);
}

#[test]
fn one_listener_holds_a_thousand_connections_apart() {
    let roomy = Limits {
        handshakes_from_one: 1000,
        ..Limits::default()
    };
    let mut server = server((Ipv4Addr::LOCALHOST, 0).into(), (3, LONG), roomy);
    let mut client = RealTime::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let mut ids = Vec::new();
    for port in 10_000..11_000 {
        ids.push(connect(&mut client, &server, ((3, LONG), port)));
        client.turn(Duration::ZERO).unwrap();
        server.turn(Duration::ZERO).unwrap();
    }
    let (mut written, mut received) = (0, Vec::new());
    let arrived = turn_until(&mut [&mut client, &mut server], |ends| {
        // A burst of all would not fit into the receiving socket, and DCCP repeats no data.
        for (id, news) in std::iter::from_fn(|| ends[0].poll_event())
            .take(50)
            .collect::<Vec<_>>()
        {
            if news == EndpointEvent::Connected {
                let text = Payload::from_bytes(&id.0.to_be_bytes());
                written +=
                    usize::from(ends[0].with(id, |now, end| end.write(now, text)) == Some(Ok(())));
            }
        }
        drain(ends[1], &mut received);
        received.len() == ids.len()
    });
    assert!(arrived, "{written} written, {} arrived", received.len());
    received.sort();
    let expected: Vec<_> = ids.iter().map(|id| id.0.to_be_bytes().to_vec()).collect();
    assert_eq!(received, expected);
}

#[test]
fn a_flood_of_forged_requests_is_held_to_the_limits() {
    let limits = Limits {
        sessions: 100,
        handshakes: 40,
        handshakes_from_one: 30,
    };
    let mut server = server((Ipv4Addr::LOCALHOST, 0).into(), (3, LONG), limits);
    let mut client = RealTime::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let id = connect(&mut client, &server, ((3, LONG), 40_000));
    let open = turn_until(&mut [&mut client, &mut server], |ends| {
        std::iter::from_fn(|| ends[0].poll_event())
            .any(|(_, news)| news == EndpointEvent::Connected)
    });
    assert!(open);
    let forger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = server.local_address().unwrap();
    for port in 1..=2000 {
        let number = dccp::wire::SeqNum::new(u64::from(port));
        let request = dccp::Packet::request(number, 42).with_ports(port, SERVER_PORT);
        let mut octets = Vec::new();
        encapsulate(&request, &mut octets).unwrap();
        forger.send_to(&octets, target).unwrap();
        forger.send_to(&octets[..octets.len() - 1], target).unwrap();
        server.turn(Duration::ZERO).unwrap();
        assert!(server.session_count() <= 31);
    }
    let counters = server.counters();
    assert!(
        counters.refused > 0 && counters.malformed > 0,
        "{counters:?}"
    );
    client.with(id, |now, end| {
        end.write(now, Payload::from_bytes(b"still here"))
    });
    let mut received = Vec::new();
    let arrived = turn_until(&mut [&mut client, &mut server], |ends| {
        drain(ends[1], &mut received);
        !received.is_empty()
    });
    assert!(arrived, "the honest connection lives on");
}
