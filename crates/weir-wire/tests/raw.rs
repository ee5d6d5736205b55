//! DCCP over IP itself, between two kernels: needs root and `ip`, and `tshark` for the capture.
#![cfg(target_os = "linux")]

use socket2::{Domain, Protocol, Socket, Type};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use weir_proto::dccp::wire::checksum::PseudoHeader;
use weir_proto::dccp::wire::{self, PacketType, SeqNum, Subheader};
use weir_proto::packet::{Ecn, HostId, Payload};
use weir_wire::testbed::{LinkEnd, Testbed, TestbedLink};
use weir_wire::{
    Ccid, Connection, Direction, Encapsulation, EndpointConfig, Error, Listener, Tap,
    TappedDatagram,
};

/// Says on the terminal what is not tested, past the test runner, which would keep it for itself.
fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Two hosts and a wire, with IPv4 and IPv6; `None` without the right to make it.
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
    let testbed = match Testbed::build(2, vec![link]) {
        Ok(testbed) => testbed,
        Err(error @ (Error::Privilege(_) | Error::Tool { .. })) => {
            skip(&error.to_string());
            return None;
        }
        Err(error) => panic!("{error}"),
    };
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

/// Runs something asynchronous in the namespace of a host.
fn inside<T: Send + 'static, F: Future<Output = T>>(
    testbed: &Testbed,
    host: usize,
    work: impl FnOnce() -> F + Send + 'static,
) -> T {
    let namespace = testbed.namespace(host).expect("the host is there");
    let done = namespace.run(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be had");
        runtime.block_on(work())
    });
    done.expect("it does not panic")
}

fn raw() -> EndpointConfig {
    EndpointConfig {
        encapsulation: Encapsulation::RawIp,
        ccid: Ccid::Tfrc("rfc5348".to_owned()),
        connect_timeout: Duration::from_secs(20),
        ..EndpointConfig::default()
    }
}

/// Writes down the codepoints and the first octets of what passes.
#[derive(Debug, Default)]
struct Notes(Mutex<Vec<(Direction, Ecn, Vec<u8>)>>);

impl Tap for Notes {
    fn datagram(&self, datagram: &TappedDatagram<'_>) {
        let head = datagram.octets.iter().take(24).copied().collect();
        let mut notes = self.0.lock().expect("nobody panicked");
        notes.push((datagram.direction, datagram.ecn, head));
    }
}

impl Notes {
    /// What passed that way, sorted.
    fn of(&self, way: Direction) -> Vec<(Ecn, Vec<u8>)> {
        let notes = self.0.lock().expect("nobody panicked");
        let mut notes: Vec<_> = notes
            .iter()
            .filter(|(direction, ..)| *direction == way)
            .map(|(_, ecn, head)| (*ecn, head.clone()))
            .collect();
        notes.sort_by(|a, b| a.1.cmp(&b.1));
        notes
    }
}

/// A server in host 1 that returns what it receives, until so many connections have ended, and
/// clients in host 0; what each says in the end.
fn echo<T: Send + 'static, F: Future<Output = T>>(
    testbed: &Testbed,
    (at, options): (IpAddr, EndpointConfig),
    connections: usize,
    client: impl FnOnce() -> F + Send + 'static,
) -> T {
    let (ready, listens) = mpsc::channel();
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            inside(testbed, 1, move || async move {
                let address = SocketAddr::new(at, 0);
                let listener = Listener::bind(address, options).await;
                let mut listener = listener.expect("it listens");
                assert_eq!(listener.local_address(), address);
                ready.send(()).expect("somebody waits");
                let mut tasks = Vec::new();
                for _ in 0..connections {
                    let mut connection = listener.accept().await.expect("somebody comes");
                    assert_eq!(connection.peer_address().port(), 0);
                    tasks.push(tokio::spawn(async move {
                        while let Some(datagram) = connection.receive().await {
                            // The peer may have gone.
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
        let said = inside(testbed, 0, client);
        server.join().expect("the server does not panic");
        said
    })
}

/// Sends datagrams of all sizes and waits for each to come back.
async fn call(to: IpAddr, options: EndpointConfig) -> Result<u32, Error> {
    let mut connection = Connection::connect(SocketAddr::new(to, 6511), options).await?;
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
fn data_pass_both_ways_over_ipv4_and_ipv6_in_packets_without_udp() {
    let Some(testbed) = wire() else { return };
    for to in addresses(&testbed, 1) {
        let most = echo(&testbed, (to, raw()), 1, move || call(to, raw()));
        let most = most.expect("they talk");
        let options = EndpointConfig {
            encapsulation: Encapsulation::Udp,
            ..raw()
        };
        assert_eq!(most, longest(&testbed, to, options) + 8, "{to}");
    }
}

/// The longest datagram of a connection within host 1.
fn longest(testbed: &Testbed, to: IpAddr, options: EndpointConfig) -> u32 {
    inside(testbed, 1, move || async move {
        let at = SocketAddr::new(to, 0);
        let listener = Listener::bind(at, options.clone())
            .await
            .expect("it listens");
        let client = Connection::connect(listener.local_address(), options).await;
        client.expect("it opens").stats().max_datagram
    })
}

#[test]
fn a_listener_at_the_unspecified_address_hears_both_families_and_many_clients() {
    let Some(testbed) = wire() else { return };
    let any = IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED);
    let to = addresses(&testbed, 1);
    let clients = 8;
    echo(&testbed, (any, raw()), 2 * clients, move || async move {
        // All of them at once, each with a raw socket that could hear what is for the others.
        let calls: Vec<_> = (0..2 * clients)
            .map(|number| tokio::spawn(call(to[number % 2], raw())))
            .collect();
        for call in calls {
            let most = call.await.expect("it does not panic");
            most.expect("they talk");
        }
    });
}

#[test]
fn ecn_codepoints_survive_the_wire() {
    let Some(testbed) = wire() else { return };
    for to in addresses(&testbed, 1) {
        let [client, server] = [(); 2].map(|()| Arc::new(Notes::default()));
        let options = |notes: &Arc<Notes>| EndpointConfig {
            ecn: true,
            tap: Some(Arc::clone(notes) as Arc<dyn Tap>),
            ..raw()
        };
        let (ours, theirs) = (options(&client), options(&server));
        echo(&testbed, (to, theirs), 1, move || call(to, ours)).expect("they talk");
        let sent = client.of(Direction::Sent);
        assert_eq!(sent, server.of(Direction::Received), "{to}");
        let answered = server.of(Direction::Sent);
        // The last packets may come after the client has read all it wants.
        let heard = client.of(Direction::Received);
        assert!(heard.iter().all(|packet| answered.contains(packet)));
        for packets in [sent, heard] {
            let capable = packets
                .iter()
                .filter(|(ecn, _)| *ecn != Ecn::NotEct)
                .count();
            assert!(capable >= 4, "{to}: {packets:?}");
        }
    }
}

/// A stranger's raw socket in host 0, and what it sends to host 1.
struct Stranger {
    socket: Socket,
    pseudo: PseudoHeader,
    to: SocketAddr,
}

impl Stranger {
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
            // Filling, without which the answer would be larger than it may be.
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
        // An IPv4 header without options is in front.
        let decoded = wire::decode(&octets[20..read]).expect("a packet");
        decoded.into_packet()
    }
}

/// The number of our packet that a Response or Reset answers.
fn answers(packet: &wire::Packet) -> Option<u64> {
    match packet.subheader {
        Subheader::AckService(seq, _) | Subheader::Reset(seq, ..) => Some(seq.get()),
        _ => None,
    }
}

/// What a listener in host 1 answers first to these packets of a stranger, and what it saw.
fn first_answer(
    testbed: &Testbed,
    packets: impl FnOnce(&Stranger) -> Vec<(Vec<u8>, u32)> + Send + 'static,
) -> (wire::Packet, Vec<(Ecn, Vec<u8>)>) {
    let [IpAddr::V4(from), IpAddr::V4(to)] = [0, 1].map(|host| testbed.address_of(host)) else {
        panic!("hosts have IPv4");
    };
    let notes = Arc::new(Notes::default());
    let options = EndpointConfig {
        tap: Some(Arc::clone(&notes) as Arc<dyn Tap>),
        ..raw()
    };
    let (ready, listens) = mpsc::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let answer = std::thread::scope(|scope| {
        scope.spawn(move || {
            inside(testbed, 1, move || async move {
                let at = SocketAddr::from((to, 0));
                let listener = Listener::bind(at, options).await.expect("it listens");
                ready.send(()).expect("somebody waits");
                let _ = stopped.await;
                assert_eq!(listener.load().handshakes, 1);
            });
        });
        listens.recv().expect("the server listens");
        let answer = inside(testbed, 0, move || async move {
            let stranger = Stranger::new(from, to);
            for (octets, tos) in packets(&stranger) {
                stranger.send(&octets, tos);
            }
            stranger.receive()
        });
        let _ = stop.send(());
        answer
    });
    (answer, notes.of(Direction::Received))
}

#[test]
fn a_packet_with_a_wrong_checksum_gets_no_answer() {
    let Some(testbed) = wire() else { return };
    let (answer, _) = first_answer(&testbed, |stranger| {
        let mut damaged = stranger.request(111, 5001);
        damaged[6] ^= 1;
        let mut unchecked = stranger.request(222, 5001);
        unchecked[6..8].fill(0);
        let good = stranger.request(333, 5001);
        vec![(damaged, 0), (unchecked, 0), (good, 0)]
    });
    assert_eq!(answer.kind, PacketType::Response);
    assert_eq!(answers(&answer), Some(333));
}

#[test]
fn what_is_for_another_port_gets_no_answer_and_is_not_even_read() {
    let Some(testbed) = wire() else { return };
    let (answer, seen) = first_answer(&testbed, |stranger| {
        [(111, 4000), (222, 5002), (333, 5001)]
            .map(|(seq, port)| (stranger.request(seq, port), 0))
            .to_vec()
    });
    assert_eq!(answers(&answer), Some(333));
    assert_eq!(seen.len(), 1, "{seen:?}");
}

#[test]
fn congestion_experienced_is_read_from_the_ip_header() {
    let Some(testbed) = wire() else { return };
    let (_, seen) = first_answer(&testbed, |stranger| vec![(stranger.request(7, 5001), 3)]);
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
        let said = refused.expect_err("it failed").to_string();
        assert_eq!(said, format!("nobody listens at {to}, protocol 33"));
    }
}

/// tshark on the wire of host 0, which says of each packet of DCCP what it thinks of it.
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
        echo(&testbed, (to, raw()), 1, move || call(to, raw())).expect("they talk");
    }
    let mut packets = Vec::new();
    let mut resets = 0;
    for line in BufReader::new(tshark.stdout.take().expect("piped")).lines() {
        let line = line.expect("text");
        let fields: Vec<_> = line.split('\t').map(str::to_owned).collect();
        resets += usize::from(fields.first().is_some_and(|kind| kind == "7"));
        packets.push(fields);
        // The end of either connection.
        if resets == 2 {
            break;
        }
    }
    // It ends the program that captures for it.
    let number = tshark.id().to_string();
    let told = Command::new("kill").args(["-INT", &number]).status();
    assert!(told.is_ok_and(|told| told.success()));
    tshark.wait().expect("it ends");
    // Two handshakes, data with their echo, acknowledgements and the end.
    assert!(packets.len() >= 28, "{packets:?}");
    for packet in &packets {
        // A checksum that is good is 1.
        assert_eq!(
            packet.get(1..).map(<[String]>::concat).as_deref(),
            Some("1"),
            "{packet:?}"
        );
    }
}
