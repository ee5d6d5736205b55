//! DCCP over IP between two namespaces: needs root and `ip`, and `tshark` for the capture.
#![cfg(target_os = "linux")]

use crate::namespace::{build_or_skip, inside, skip};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use weir_proto::cc::tfrc::Profile;
use weir_proto::dccp::wire::checksum::PseudoHeader;
use weir_proto::dccp::wire::{self, PacketType, SeqNum, Subheader};
use weir_proto::packet::{Ecn, HostId, Payload};
use weir_wire::testbed::{LinkEnd, Testbed, TestbedLink};
use weir_wire::{
    Ccid, Connection, Direction, Encapsulation, EndpointConfig, Error, Listener, Tap,
    TappedDatagram,
};

/// Two hosts and a wire, with IPv4 and IPv6; `None` without the privilege.
fn wire() -> Option<Testbed> {
    let end = |host: usize| LinkEnd {
        host,
        port: HostId(host as u32),
        shaper: None,
    };
    let link = TestbedLink {
        ends: vec![end(0), end(1)],
        mtu: 1500,
        veth: true,
    };
    let testbed = build_or_skip(link)?;
    for host in 0..2 {
        let namespace = testbed.namespace(host).expect("the host is there");
        for scope in ["all", "weir0"] {
            let variable = format!("net/ipv6/conf/{scope}/disable_ipv6");
            namespace.sysctl(&variable, "0").expect("it can be set");
        }
        let address = v6(host);
        let line = format!("addr add {address}/64 dev weir0 nodad");
        namespace.ip(&[line]).expect("it has an address");
    }
    Some(testbed)
}

fn v6(host: usize) -> IpAddr {
    IpAddr::V6([0xfd00, 0, 0, 0, 0, 0, 0, 1 + host as u16].into())
}

fn addresses(testbed: &Testbed, host: usize) -> [IpAddr; 2] {
    [testbed.address_of(host), v6(host)]
}

fn raw() -> EndpointConfig {
    EndpointConfig {
        encapsulation: Encapsulation::RawIp,
        ccid: Ccid::Tfrc(Box::new(Profile::rfc5348())),
        connect_timeout: Duration::from_secs(20),
        ..EndpointConfig::default()
    }
}

/// Records the codepoint and the first octets of each datagram.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<(Direction, Ecn, Vec<u8>)>>);

impl Tap for Recorder {
    fn datagram(&self, datagram: &TappedDatagram<'_>) {
        let head = datagram.octets.iter().take(24).copied().collect();
        let mut records = self.0.lock().expect("not poisoned");
        records.push((datagram.direction, datagram.ecn, head));
    }
}

impl Recorder {
    /// The datagrams of this direction, sorted.
    fn of(&self, wanted: Direction) -> Vec<(Ecn, Vec<u8>)> {
        let recorder = self.0.lock().expect("not poisoned");
        let mut recorder: Vec<_> = recorder
            .iter()
            .filter(|(direction, ..)| *direction == wanted)
            .map(|(_, ecn, head)| (*ecn, head.clone()))
            .collect();
        recorder.sort_by(|a, b| a.1.cmp(&b.1));
        recorder
    }
}

/// Runs a client in host 0, and a server in host 1 that echoes datagrams until `connections`
/// connections have ended; returns the client's result.
fn echo<T: Send + 'static, F: Future<Output = T>>(
    testbed: &Testbed,
    (at, config): (IpAddr, EndpointConfig),
    connections: usize,
    client: impl FnOnce() -> F + Send + 'static,
) -> T {
    let (ready, listens) = mpsc::channel();
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            inside(testbed, 1, move || async move {
                let address = SocketAddr::new(at, 0);
                let listener = Listener::bind(address, config).await;
                let mut listener = listener.expect("it listens");
                assert_eq!(listener.local_address(), address);
                ready.send(()).expect("the test waits");
                let mut tasks = Vec::new();
                for _ in 0..connections {
                    let mut connection = listener.accept().await.expect("a connection");
                    assert_eq!(connection.peer_address().port(), 0);
                    tasks.push(tokio::spawn(async move {
                        while let Some(datagram) = connection.receive().await {
                            // The client may have closed.
                            let _ = connection.send(&datagram).await;
                        }
                    }));
                }
                for task in tasks {
                    task.await.expect("it does not panic");
                }
            });
        });
        listens.recv().expect("the server listens");
        let result = inside(testbed, 0, client);
        server.join().expect("the server does not panic");
        result
    })
}

/// Sends datagrams of several sizes and waits for each echo; returns the largest size.
async fn exchange(to: IpAddr, config: EndpointConfig) -> Result<u32, Error> {
    let mut connection = Connection::connect(SocketAddr::new(to, 6511), config).await?;
    let most = connection.stats().max_datagram;
    for size in [1, 2, 999, most] {
        let datagram: Vec<u8> = (0..size).map(|at| (at ^ size) as u8).collect();
        connection.send(&datagram).await?;
        let back = connection.receive().await;
        assert_eq!(back, Some(datagram), "{size} octets");
    }
    connection.close();
    while connection.receive().await.is_some() {}
    Ok(most)
}

#[test]
fn data_passes_both_ways_over_ipv4_and_ipv6_without_udp() {
    let Some(testbed) = wire() else { return };
    for to in addresses(&testbed, 1) {
        let most = echo(&testbed, (to, raw()), 1, move || exchange(to, raw()));
        let most = most.expect("they exchange data");
        let config = EndpointConfig {
            encapsulation: Encapsulation::Udp,
            ..raw()
        };
        assert_eq!(most, max_datagram(&testbed, to, config) + 8, "{to}");
    }
}

/// The longest datagram of a connection within host 1.
fn max_datagram(testbed: &Testbed, to: IpAddr, config: EndpointConfig) -> u32 {
    inside(testbed, 1, move || async move {
        let at = SocketAddr::new(to, 0);
        let listener = Listener::bind(at, config.clone())
            .await
            .expect("it listens");
        let client = Connection::connect(listener.local_address(), config).await;
        client.expect("it opens").stats().max_datagram
    })
}

#[test]
fn a_listener_at_the_unspecified_address_serves_both_families_and_many_clients() {
    let Some(testbed) = wire() else { return };
    let any = IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED);
    let to = addresses(&testbed, 1);
    let clients = 8;
    echo(&testbed, (any, raw()), 2 * clients, move || async move {
        // All at once: each client has a raw socket that could receive the packets of the others.
        let clients: Vec<_> = (0..2 * clients)
            .map(|number| tokio::spawn(exchange(to[number % 2], raw())))
            .collect();
        for client in clients {
            let most = client.await.expect("it does not panic");
            most.expect("they exchange data");
        }
    });
}

#[test]
fn ecn_codepoints_survive_the_wire() {
    let Some(testbed) = wire() else { return };
    for to in addresses(&testbed, 1) {
        let [client, server] = [(); 2].map(|()| Arc::new(Recorder::default()));
        let config = |recorder: &Arc<Recorder>| EndpointConfig {
            ecn: true,
            tap: Some(Arc::clone(recorder) as Arc<dyn Tap>),
            ..raw()
        };
        let (client_config, server_config) = (config(&client), config(&server));
        echo(&testbed, (to, server_config), 1, move || {
            exchange(to, client_config)
        })
        .expect("they exchange data");
        let data = |packets: &[(Ecn, Vec<u8>)]| {
            let capable = packets.iter().filter(|(ecn, _)| *ecn != Ecn::NotEct);
            capable.cloned().collect::<Vec<_>>()
        };
        let sent = client.of(Direction::Sent);
        let received = server.of(Direction::Received);
        // A Close is repeated until it is answered; the server may have ended by then.
        assert!(received.iter().all(|packet| sent.contains(packet)), "{to}");
        assert_eq!(data(&sent), data(&received), "{to}");
        let answered = server.of(Direction::Sent);
        // The last packets may arrive after the client has read all echoes.
        let read = client.of(Direction::Received);
        assert!(read.iter().all(|packet| answered.contains(packet)));
        for packets in [sent, read] {
            assert!(data(&packets).len() >= 4, "{to}: {packets:?}");
        }
    }
}

/// A raw socket in host 0 that sends packets to host 1.
struct RawPeer {
    socket: Socket,
    pseudo: PseudoHeader,
    to: SocketAddr,
}

impl RawPeer {
    fn new(from: Ipv4Addr, to: Ipv4Addr) -> Self {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(33)));
        let socket = socket.expect("a raw socket");
        let timeout = Some(Duration::from_secs(20));
        socket.set_read_timeout(timeout).expect("it can be set");
        let to = SocketAddr::from((to, 0));
        socket.connect(&to.into()).expect("a way");
        let pseudo = PseudoHeader::V4 {
            source: from.octets(),
            destination: match to.ip() {
                IpAddr::V4(to) => to.octets(),
                IpAddr::V6(_) => unreachable!("made from IPv4"),
            },
        };
        Self { socket, pseudo, to }
    }

    /// A Request with this sequence number to a port.
    fn request(&self, seq: u64, port: u16) -> Vec<u8> {
        let request = wire::Packet {
            // Padding, because the answer may have at most three times the octets.
            payload: Payload::of_len(200),
            ..wire::Packet::request(SeqNum::new(seq), 0).with_ports(40_000, port)
        };
        let mut octets = Vec::new();
        request
            .encode(Some(&self.pseudo), &mut octets)
            .expect("a wire form");
        octets
    }

    fn send(&self, octets: &[u8], tos: u32) {
        self.socket.set_tos_v4(tos).expect("it can be set");
        let sent = self.socket.send_to(octets, &self.to.into());
        assert_eq!(sent.expect("it leaves"), octets.len());
    }

    /// The next packet from host 1.
    fn receive(&self) -> wire::Packet {
        let mut octets = [0; 2048];
        let read = (&self.socket).read(&mut octets).expect("an answer");
        // After an IPv4 header without options.
        let decoded = wire::decode(&octets[20..read]).expect("a packet");
        decoded.into_packet()
    }
}

/// The sequence number that a Response or Reset acknowledges.
fn acknowledged(packet: &wire::Packet) -> Option<u64> {
    match packet.subheader {
        Subheader::AckService(seq, _) | Subheader::Reset(seq, ..) => Some(seq.get()),
        _ => None,
    }
}

/// Sends packets to a listener in host 1; returns its first answer, and the packets that it
/// received.
fn first_answer(
    testbed: &Testbed,
    packets: impl FnOnce(&RawPeer) -> Vec<(Vec<u8>, u32)> + Send + 'static,
) -> (wire::Packet, Vec<(Ecn, Vec<u8>)>) {
    let [IpAddr::V4(from), IpAddr::V4(to)] = [0, 1].map(|host| testbed.address_of(host)) else {
        panic!("hosts have IPv4");
    };
    let recorder = Arc::new(Recorder::default());
    let config = EndpointConfig {
        tap: Some(Arc::clone(&recorder) as Arc<dyn Tap>),
        ..raw()
    };
    let (ready, listens) = mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let answer = std::thread::scope(|scope| {
        scope.spawn(move || {
            inside(testbed, 1, move || async move {
                let at = SocketAddr::from((to, 0));
                let listener = Listener::bind(at, config).await.expect("it listens");
                ready.send(()).expect("the test waits");
                let _ = stopped.await;
                assert_eq!(listener.load().handshakes, 1);
            });
        });
        listens.recv().expect("the server listens");
        let answer = inside(testbed, 0, move || async move {
            let peer = RawPeer::new(from, to);
            for (octets, tos) in packets(&peer) {
                peer.send(&octets, tos);
            }
            peer.receive()
        });
        let _ = stop.send(());
        answer
    });
    (answer, recorder.of(Direction::Received))
}

#[test]
fn a_packet_with_a_wrong_checksum_gets_no_answer() {
    let Some(testbed) = wire() else { return };
    let (answer, _) = first_answer(&testbed, |peer| {
        let mut damaged = peer.request(111, 5001);
        damaged[6] ^= 1;
        let mut unchecked = peer.request(222, 5001);
        unchecked[6..8].fill(0);
        let good = peer.request(333, 5001);
        vec![(damaged, 0), (unchecked, 0), (good, 0)]
    });
    assert_eq!(answer.kind, PacketType::Response);
    assert_eq!(acknowledged(&answer), Some(333));
}

#[test]
fn a_packet_for_another_port_gets_no_answer_and_is_not_even_read() {
    let Some(testbed) = wire() else { return };
    let (answer, seen) = first_answer(&testbed, |peer| {
        [(111, 4000), (222, 5002), (333, 5001)]
            .map(|(seq, port)| (peer.request(seq, port), 0))
            .to_vec()
    });
    assert_eq!(acknowledged(&answer), Some(333));
    assert_eq!(seen.len(), 1, "{seen:?}");
}

#[test]
fn congestion_experienced_is_read_from_the_ip_header() {
    let Some(testbed) = wire() else { return };
    let (_, seen) = first_answer(&testbed, |peer| vec![(peer.request(7, 5001), 3)]);
    let codepoints: Vec<_> = seen.iter().map(|(ecn, _)| *ecn).collect();
    assert_eq!(codepoints, [Ecn::Ce]);
}

#[test]
fn a_host_without_a_raw_socket_refuses() {
    let Some(testbed) = wire() else { return };
    for to in addresses(&testbed, 1) {
        let refused = inside(&testbed, 0, move || async move {
            Connection::connect(SocketAddr::new(to, 0), raw()).await
        });
        let at = SocketAddr::new(to, 0);
        assert!(
            matches!(refused, Err(Error::Refused(peer)) if peer == at),
            "{to}: {refused:?}"
        );
        let message = refused.expect_err("it failed").to_string();
        assert_eq!(
            message,
            format!("connection refused: no process listens at {to}, protocol 33")
        );
    }
}

/// tshark on the link of host 0, which prints its checksum status of each DCCP packet.
fn dissector() -> Command {
    let mut tshark = Command::new("tshark");
    tshark.args(["-i", "weir0", "-l", "-T", "fields"]);
    tshark.args(["-Y", "ip.proto == 33 || ipv6.nxt == 33"]);
    let fields = [
        "dccp.type",
        "dccp.checksum.status",
        "_ws.malformed",
        "_ws.expert.message",
    ];
    for field in fields {
        tshark.args(["-e", field]);
    }
    tshark.args(["-o", "dccp.check_checksum:TRUE"]);
    tshark.stderr(Stdio::piped()).stdout(Stdio::piped());
    tshark
}

#[test]
fn tshark_sees_dccp_with_right_checksums_and_nothing_malformed() {
    if Command::new("tshark").arg("-v").output().is_err() {
        return skip("tshark is not installed");
    }
    let Some(testbed) = wire() else { return };
    let mut tshark = testbed
        .namespace(0)
        .expect("the host is there")
        .run(|| dissector().spawn())
        .expect("it does not panic")
        .expect("it starts");
    let mut messages = BufReader::new(tshark.stderr.take().expect("piped")).lines();
    let begun = messages.any(|line| line.is_ok_and(|line| line.contains("Capture started")));
    assert!(begun, "it captures");
    for to in addresses(&testbed, 1) {
        echo(&testbed, (to, raw()), 1, move || exchange(to, raw())).expect("they exchange data");
    }
    let mut packets = Vec::new();
    let mut resets = 0;
    for line in BufReader::new(tshark.stdout.take().expect("piped")).lines() {
        let line = line.expect("text");
        let fields: Vec<_> = line.split('\t').map(str::to_owned).collect();
        resets += usize::from(fields.first().is_some_and(|kind| kind == "7"));
        packets.push(fields);
        // Both connections have ended.
        if resets == 2 {
            break;
        }
    }
    // SIGINT makes tshark end its capture process too.
    let number = tshark.id().to_string();
    let killed = Command::new("kill").args(["-INT", &number]).status();
    assert!(killed.is_ok_and(|killed| killed.success()));
    tshark.wait().expect("it ends");
    // Two handshakes, data and echoes, acknowledgements and closes.
    assert!(packets.len() >= 28, "{packets:?}");
    for packet in &packets {
        // Status 1 is a good checksum.
        assert_eq!(
            packet.get(1..).map(<[String]>::concat).as_deref(),
            Some("1"),
            "{packet:?}"
        );
    }
}
