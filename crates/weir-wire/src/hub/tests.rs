//! A listener's hub without its task: packets go in by hand, and what it sends is read from its
//! outbox.

use super::arrival::Arrival;
use super::{Command, Hub};
use crate::config::EndpointConfig;
use crate::connection::Connection;
use crate::cookie::cookie_of;
use crate::datagram::open;
use crate::socket::Socket;
use std::net::SocketAddr;
use tokio::sync::mpsc;
use weir_proto::dccp::wire::{self, DccpOption, PacketType, SeqNum, Subheader};
use weir_proto::dccp::{self, State};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, Packet, Payload};
use weir_proto::rng::Rng;
use weir_proto::time::Duration;

/// IPv4 and UDP.
const HEADERS: usize = 28;

pub(super) struct Scene {
    pub(super) hub: Hub,
    pub(super) arrivals: mpsc::Receiver<Connection>,
    _commands: mpsc::UnboundedSender<Command>,
}

fn peer(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 6511))
}

fn forgetful() -> EndpointConfig {
    EndpointConfig {
        cookie_threshold: 0,
        ..EndpointConfig::default()
    }
}

fn octets_of(packet: &wire::Packet) -> Vec<u8> {
    let mut octets = Vec::new();
    packet.encode(None, &mut octets).expect("a wire form");
    octets
}

fn body(packet: Packet) -> wire::Packet {
    match packet.body {
        Body::Dccp(body) => body,
        _ => panic!("not a DCCP packet"),
    }
}

impl Scene {
    pub(super) fn new(options: &EndpointConfig) -> Self {
        let socket = Socket::bind(SocketAddr::from(([127, 0, 0, 1], 0)), options);
        let (sink, arrivals) = mpsc::channel(100);
        let made = Hub::new(socket.expect("a socket"), options, Some(sink));
        let (hub, commands) = made.expect("randomness");
        Self {
            hub,
            arrivals,
            _commands: commands,
        }
    }

    /// What the hub sends when this comes from there.
    fn receive(&mut self, from: SocketAddr, packet: &wire::Packet) -> Vec<wire::Packet> {
        let packet = open(&octets_of(packet), None, None).expect("a packet");
        let now = self.hub.clock.now();
        let arrival = Arrival::new(from, None, now, packet).expect("DCCP");
        if let Some(key) = self.hub.handle_packet(arrival) {
            self.hub.settle(key);
        }
        let mut sent = Vec::new();
        while let Some(run) = self.hub.outbox.run(1) {
            assert_eq!(run.way.to, from);
            sent.push(body(open(run.octets, None, None).expect("a packet")));
            self.hub.outbox.remove(1);
        }
        sent
    }

    /// Connections, handshakes and sources that the hub remembers.
    fn memory(&self) -> [usize; 3] {
        let hub = &self.hub;
        [
            hub.connections.len(),
            hub.handshakes.len(),
            hub.census.len(),
        ]
    }

    fn arrived(&mut self) -> usize {
        std::iter::from_fn(|| self.arrivals.try_recv().ok()).count()
    }
}

/// A client's machine at an address.
pub(super) struct Client {
    machine: dccp::Connection,
    address: SocketAddr,
    /// The last numbers of both sides.
    said: SeqNum,
    heard: SeqNum,
}

impl Client {
    pub(super) fn new(scene: &Scene, last: u8) -> Self {
        let mut config = EndpointConfig::default()
            .config(8, SeqNum::new(77_777))
            .expect("a configuration");
        (config.local_port, config.remote_port) = (40_000, EndpointConfig::default().dccp_port);
        let mut machine = dccp::Connection::client(config);
        machine.connect(scene.hub.clock.now());
        Self {
            machine,
            address: peer(last),
            said: SeqNum::default(),
            heard: SeqNum::default(),
        }
    }

    fn says(&mut self, scene: &Scene) -> Vec<wire::Packet> {
        let now = scene.hub.clock.now();
        let said: Vec<_> = std::iter::from_fn(|| self.machine.poll_transmit(now))
            .map(body)
            .collect();
        self.said = said.last().map_or(self.said, |packet| packet.seq);
        said
    }

    fn hears(&mut self, scene: &Scene, packets: Vec<wire::Packet>) {
        for packet in packets {
            self.heard = packet.seq;
            let packet = open(&octets_of(&packet), None, None).expect("a packet");
            self.machine.handle(scene.hub.clock.now(), packet);
        }
    }

    /// Carries packets to and fro until both are silent.
    pub(super) fn talk(&mut self, scene: &mut Scene) {
        for _ in 0..100 {
            let said = self.says(scene);
            if said.is_empty() {
                return;
            }
            for packet in said {
                let answers = scene.receive(self.address, &packet);
                self.hears(scene, answers);
            }
        }
        panic!("they never stop talking");
    }

    /// The acknowledgement that brings the cookie back.
    fn ack(&mut self, scene: &mut Scene) -> wire::Packet {
        let request = self.says(scene).remove(0);
        let response = scene.receive(self.address, &request);
        self.hears(scene, response);
        let ack = self.says(scene).remove(0);
        assert!(cookie_of(&ack).is_some(), "it echoes the cookie");
        ack
    }
}

#[tokio::test]
async fn with_cookies_nothing_is_remembered_until_the_client_acknowledges() {
    let mut scene = Scene::new(&forgetful());
    let mut client = Client::new(&scene, 1);
    let ack = client.ack(&mut scene);
    assert_eq!(scene.memory(), [0, 0, 0]);
    let answers = scene.receive(client.address, &ack);
    client.hears(&scene, answers);
    client.talk(&mut scene);
    assert_eq!((scene.memory(), scene.arrived()), ([1, 0, 1], 1));
    let key = (client.address, 40_000, EndpointConfig::default().dccp_port);
    assert_eq!(scene.hub.connections[&key].machine.state(), State::Open);
}

#[tokio::test]
async fn the_answer_that_is_kept_is_what_a_machine_would_say() {
    let mut scene = Scene::new(&forgetful());
    let mut clients = [Client::new(&scene, 1), Client::new(&scene, 2)];
    let [first, mut second] = clients.each_mut().map(|client| {
        let request = client.says(&scene).remove(0);
        scene.receive(client.address, &request).remove(0)
    });
    assert_eq!(first.kind, PacketType::Response);
    assert_ne!(first.seq, second.seq);
    assert_ne!(cookie_of(&first), cookie_of(&second));
    let without_cookie = |packet: &wire::Packet| {
        let mut options = packet.options.clone();
        options.clear();
        for option in packet.options.iter().filter(|option| option.kind() != 36) {
            options.push(&option);
        }
        options
    };
    assert_eq!(without_cookie(&first), without_cookie(&second));
    second.options = first.options.clone();
    second.seq = first.seq;
    assert_eq!(first, second);
    let mut bare = wire::Packet::request(SeqNum::new(5), 0).with_ports(40_000, 5001);
    let other = scene.receive(peer(3), &bare).remove(0);
    bare.seq = SeqNum::new(6);
    let again = scene.receive(peer(4), &bare).remove(0);
    assert_ne!(without_cookie(&first), without_cookie(&other));
    assert_eq!(without_cookie(&other), without_cookie(&again));
    assert_eq!(again.ack(), Some(bare.seq));
}

#[tokio::test]
async fn a_cookie_on_data_or_a_later_packet_than_the_first_makes_the_same_connection() {
    let mut scene = Scene::new(&forgetful());
    let mut client = Client::new(&scene, 1);
    client.ack(&mut scene);
    // The acknowledgement is lost; the first datagram follows it.
    let now = scene.hub.clock.now();
    client
        .machine
        .write(now, Payload::from_bytes(b"first"))
        .expect("it is connected");
    client.talk(&mut scene);
    assert_eq!(client.machine.state(), State::Open);
    assert_eq!(scene.hub.load.cookies_accepted, 1);
    let mut server = scene.arrivals.try_recv().expect("a connection");
    assert_eq!(server.receive().await.as_deref(), Some(&b"first"[..]));
}

#[tokio::test]
async fn one_cookie_makes_one_connection_at_most() {
    let mut scene = Scene::new(&forgetful());
    let mut client = Client::new(&scene, 1);
    let ack = client.ack(&mut scene);
    for _ in 0..10 {
        scene.receive(client.address, &ack);
        assert_eq!(scene.memory(), [1, 0, 1]);
    }
    assert_eq!(scene.arrived(), 1);
    client.machine.close(scene.hub.clock.now());
    client.talk(&mut scene);
    assert_eq!(scene.memory(), [0, 0, 0], "the client holds TIMEWAIT");
    for _ in 0..10 {
        assert_eq!(scene.receive(client.address, &ack), []);
    }
    assert_eq!((scene.memory(), scene.arrived()), ([0, 0, 0], 0));
}

#[tokio::test]
async fn no_forged_changed_or_stolen_cookie_makes_a_connection() {
    let mut scene = Scene::new(&forgetful());
    let mut client = Client::new(&scene, 1);
    let ack = client.ack(&mut scene);
    let cookie = cookie_of(&ack).expect("a cookie");
    let mut rng = Rng::stream(1, "forger");
    let mut resets = 0;
    for round in 0..10_000 {
        let mut forged = cookie.clone();
        if round % 2 == 0 {
            for octet in &mut forged {
                *octet = rng.next_u64() as u8;
            }
        } else {
            let bit = rng.next_u64() as usize % (cookie.len() * 8);
            forged[bit / 8] ^= 1 << (bit % 8);
        }
        let mut packet = ack.clone();
        packet.options.clear();
        packet.options.push(&DccpOption::InitCookie(&forged));
        for answer in scene.receive(client.address, &packet) {
            assert_eq!(answer.reset_code(), Some(10));
            resets += 1;
        }
    }
    assert_eq!(scene.hub.load.cookies_refused, 10_000);
    assert!(resets >= 1024, "Resets go out, but not for all");
    for thief in [peer(2), SocketAddr::from(([192, 0, 2, 1], 6512))] {
        scene.receive(thief, &ack);
    }
    let mut other_port = ack.clone();
    other_port.source_port += 1;
    scene.receive(client.address, &other_port);
    // The right cookie with numbers that are not its own.
    let mut numbers = ack.clone();
    numbers.subheader = Subheader::Ack(ack.ack().expect("a number").next());
    scene.receive(client.address, &numbers);
    assert_eq!((scene.memory(), scene.arrived()), ([0, 0, 0], 0));
    scene.receive(client.address, &ack);
    assert_eq!(scene.arrived(), 1, "the true one still counts");
}

#[tokio::test]
async fn a_cookie_counts_even_if_the_request_was_remembered_when_it_came_again() {
    let mut scene = Scene::new(&EndpointConfig {
        cookie_threshold: 1,
        ..EndpointConfig::default()
    });
    let mut other = Client::new(&scene, 2);
    let request = other.says(&scene).remove(0);
    scene.receive(other.address, &request);
    assert_eq!(scene.memory(), [1, 1, 1]);
    let mut client = Client::new(&scene, 1);
    let ack = client.ack(&mut scene);
    assert_eq!(scene.memory(), [1, 1, 1], "no room to remember");
    scene
        .hub
        .forget((other.address, 40_000, EndpointConfig::default().dccp_port));
    let mut again = request.clone();
    again.seq = ack.seq.previous();
    scene.receive(client.address, &again);
    assert_eq!(scene.memory(), [1, 1, 1], "room again");
    let answers = scene.receive(client.address, &ack);
    client.hears(&scene, answers);
    client.talk(&mut scene);
    assert_eq!((scene.memory(), scene.arrived()), ([1, 0, 1], 1));
}

#[tokio::test]
async fn a_request_that_cannot_be_granted_is_answered_and_not_remembered() {
    for cookie_threshold in [0, 64] {
        let mut scene = Scene::new(&EndpointConfig {
            cookie_threshold,
            ..EndpointConfig::default()
        });
        let mut request = wire::Packet::request(SeqNum::new(9), 0).with_ports(1, 5001);
        request.options.push(&DccpOption::Mandatory);
        request.options.push(&DccpOption::Other {
            kind: 99,
            data: &[],
        });
        let codes: Vec<_> = scene
            .receive(peer(1), &request)
            .iter()
            .map(wire::Packet::reset_code)
            .collect();
        assert_eq!(codes, [Some(6)]);
        assert_eq!(scene.memory(), [0, 0, 0]);
    }
}

#[tokio::test]
async fn strangers_get_no_more_resets_than_the_limit_and_resets_none() {
    let mut scene = Scene::new(&EndpointConfig {
        max_resets_per_second: 100,
        ..EndpointConfig::default()
    });
    let data = wire::Packet::data(SeqNum::new(9), Payload::from_bytes(b"?")).with_ports(1, 5001);
    let answered = (0..100).filter(|_| !scene.receive(peer(1), &data).is_empty());
    assert_eq!(answered.count(), 100);
    let start = scene.hub.clock.now();
    let late = (0..10_000)
        .filter(|_| !scene.receive(peer(1), &data).is_empty())
        .count();
    let passed = scene.hub.clock.now().since(start).as_secs_f64();
    assert!(late as f64 <= 100.0 * passed + 1.0, "{late} in {passed} s");
    let reset = wire::Packet::reset(SeqNum::new(9), SeqNum::new(8), 1, [0; 3]).with_ports(1, 5001);
    let mut scene = Scene::new(&EndpointConfig::default());
    assert_eq!(scene.receive(peer(1), &reset), []);
}

/// Every type: bare, with what is left of a header filled with Changes, and with data; of an
/// unknown peer and of one whose Request was remembered.
fn packets() -> Vec<wire::Packet> {
    let (seq, ack) = (SeqNum::new(5000), SeqNum::new(77));
    let mut packets = Vec::new();
    for number in 0..=10 {
        let kind = PacketType::try_from(number).expect("a type");
        let subheader = match kind {
            PacketType::Request | PacketType::Listen => Subheader::Service(0),
            PacketType::Response => Subheader::AckService(ack, 0),
            PacketType::Data => Subheader::None,
            PacketType::Reset => Subheader::Reset(ack, 1, [0; 3]),
            _ => Subheader::Ack(ack),
        };
        let bare = wire::Packet {
            kind,
            subheader,
            ..wire::Packet::new_ack(seq, ack).with_ports(40_000, 5001)
        };
        for options in [0, 1, 10, 100, 200] {
            let mut packet = bare.clone();
            for feature in 1..=options {
                let values = if feature < 4 { &[3, 2][..] } else { &[] };
                packet
                    .options
                    .push(&DccpOption::ChangeR { feature, values });
            }
            packets.push(packet.clone());
            packet.payload = Payload::of_len(300);
            packets.push(packet);
        }
        if kind.may_be_short() {
            packets.push(wire::Packet {
                extended: false,
                ..bare
            });
        }
    }
    packets
}

#[tokio::test]
async fn the_unproven_get_a_packet_for_a_packet_and_three_times_their_octets_or_strictly_once() {
    let mut answers = 0;
    for (strict, factor) in [(false, 3), (true, 1)] {
        for (cookie_threshold, remembered) in [(0, false), (64, false), (64, true)] {
            for packet in packets() {
                let mut scene = Scene::new(&EndpointConfig {
                    cookie_threshold,
                    strict_amplification: strict,
                    ..EndpointConfig::default()
                });
                if remembered {
                    let mut request = packet.clone();
                    request.kind = PacketType::Request;
                    request.subheader = Subheader::Service(0);
                    request.extended = true;
                    request.payload = Payload::of_len(200);
                    scene.receive(peer(1), &request);
                    assert_eq!(scene.memory(), [1, 1, 1]);
                }
                for _ in 0..3 {
                    let sent = scene.receive(peer(1), &packet);
                    let octets: usize = sent.iter().map(|p| HEADERS + octets_of(p).len()).sum();
                    let most = factor * (HEADERS + octets_of(&packet).len());
                    let said = format!("{octets} of {most} octets for {packet:?}: {sent:?}");
                    assert!(sent.len() <= 1 && octets <= most, "{said}");
                    answers += sent.len();
                }
                assert_eq!(scene.arrived(), 0);
            }
        }
    }
    assert!(answers > 500, "{answers}");
}

#[tokio::test]
async fn connections_that_are_over_keep_nobody_out_and_are_forgotten_beyond_a_bound() {
    let mut scene = Scene::new(&EndpointConfig {
        max_connections: 10,
        max_connections_per_address: 2,
        ..EndpointConfig::default()
    });
    for round in 0..50_u16 {
        let mut client = Client::new(&scene, 1);
        client.address.set_port(round + 1);
        client.talk(&mut scene);
        assert_eq!(scene.arrived(), 1, "round {round}");
        // A Reset leaves the server in TIMEWAIT.
        let reset = wire::Packet::reset(client.said.next(), client.heard, 2, [0; 3]);
        scene.receive(client.address, &reset.with_ports(40_000, 5001));
        let over = usize::from(round + 1).min(10);
        assert_eq!(scene.hub.lingering.len(), over, "round {round}");
        assert_eq!(scene.memory(), [over, 0, 0], "round {round}");
    }
}

/// Octets that are nearly packets, from few and from many, at a listener with narrow limits: no
/// panic, no more answers than packets, no more memory than the options give.
#[tokio::test]
async fn whatever_comes_the_memory_and_the_answers_are_bounded() {
    for (seed, cookie_threshold) in [(1, 0), (2, 5), (3, usize::MAX)] {
        let options = EndpointConfig {
            cookie_threshold,
            max_handshakes: 5,
            max_connections: 20,
            max_connections_per_address: 3,
            ..EndpointConfig::default()
        };
        let mut scene = Scene::new(&options);
        let mut rng = Rng::stream(seed, "noise");
        let models = packets();
        for _ in 0..20_000 {
            let model = &models[rng.below(models.len() as u64) as usize];
            let mut octets = octets_of(model);
            for _ in 0..rng.below(4) {
                let at = rng.below(octets.len() as u64) as usize;
                octets[at] = rng.next_u64() as u8;
            }
            octets.truncate(octets.len() - rng.below(3) as usize);
            let Some(packet) = open(&octets, None, None) else {
                continue;
            };
            let from = peer(rng.below(250) as u8);
            // However old the kernel says that it is.
            let age = Duration::from_nanos(rng.below(2_000_000_000));
            let at = scene.hub.clock.now() - age;
            let arrival = Arrival::new(from, None, at, packet).expect("DCCP");
            if let Some(key) = scene.hub.handle_packet(arrival) {
                scene.hub.settle(key);
            }
            let mut sent = 0;
            while let Some(run) = scene.hub.outbox.run(1) {
                assert_eq!(run.way.to, from);
                assert!(HEADERS + run.size <= 3 * (HEADERS + octets.len()));
                sent += 1;
                scene.hub.outbox.remove(1);
            }
            assert!(sent <= 1);
            let [connections, handshakes, sources] = scene.memory();
            assert!(connections <= 20 && handshakes <= 5 && sources <= connections);
        }
        assert_eq!(scene.arrived(), 0, "nobody has acknowledged anything");
        let load = scene.hub.load;
        assert!(load.resets_sent > 0, "{load:?}");
        assert_eq!(load.cookies_sent > 0, cookie_threshold < 100, "{load:?}");
    }
}
