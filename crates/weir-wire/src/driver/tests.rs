//! A listener's driver without its task: the tests pass packets to it and take its answers from the
//! send queue.

use super::EndpointDriver;
use super::received::ReceivedPacket;
use crate::config::EndpointConfig;
use crate::connection::{Command, Connection};
use crate::connection_key::ConnectionKey;
use crate::cookie::cookie_in;
use crate::datagram::decode;
use crate::socket::Socket;
use std::net::SocketAddr;
use tokio::sync::mpsc;
use weir_proto::dccp::wire::{self, DccpOption, PacketType, SeqNum, Subheader};
use weir_proto::dccp::{self, State};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Body, Packet, Payload};
use weir_proto::rng::Rng;
use weir_proto::time::Duration;

/// Octets of IPv4 and UDP headers.
const HEADERS: usize = 28;

pub(super) struct Fixture {
    pub(super) driver: EndpointDriver,
    accepted: mpsc::Receiver<Connection>,
    _commands: mpsc::UnboundedSender<Command>,
}

fn peer(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 6511))
}

/// The key of the connection of a [`Client`] at this address.
fn key(peer: SocketAddr) -> ConnectionKey {
    ConnectionKey {
        peer,
        peer_port: 40_000,
        local_port: EndpointConfig::default().dccp_port,
    }
}

/// A listener that answers every Request with a cookie.
fn stateless() -> EndpointConfig {
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

impl Fixture {
    pub(super) fn new(config: &EndpointConfig) -> Self {
        let socket = Socket::bind(SocketAddr::from(([127, 0, 0, 1], 0)), config);
        let (sink, accepted) = mpsc::channel(100);
        let made = EndpointDriver::new(socket.expect("a socket"), config, Some(sink));
        let (driver, commands) = made.expect("randomness");
        Self {
            driver,
            accepted,
            _commands: commands,
        }
    }

    /// Passes a packet from this address to the driver; returns the answers.
    fn receive(&mut self, from: SocketAddr, packet: &wire::Packet) -> Vec<wire::Packet> {
        let packet = decode(&octets_of(packet), None, None).expect("a packet");
        let now = self.driver.clock.now();
        let received = ReceivedPacket::new(from, None, now, packet).expect("DCCP");
        if let Some(key) = self.driver.handle_packet(received) {
            self.driver.drive_connection(key);
        }
        let mut sent = Vec::new();
        while let Some(batch) = self.driver.send_queue.next_batch(1) {
            assert_eq!(batch.destination.peer, from);
            sent.push(body(decode(batch.octets, None, None).expect("a packet")));
            self.driver.send_queue.remove(1);
        }
        sent
    }

    /// The numbers of connections, handshakes and sources for which the driver keeps state.
    fn memory(&self) -> [usize; 3] {
        let driver = &self.driver;
        [
            driver.connections.len(),
            driver.handshakes.len(),
            driver.per_source.len(),
        ]
    }

    /// The number of connections accepted since the last call.
    fn accepted(&mut self) -> usize {
        std::iter::from_fn(|| self.accepted.try_recv().ok()).count()
    }

    pub(super) fn accept(&mut self) -> Connection {
        self.accepted.try_recv().expect("a connection")
    }

    /// The key of the driver's only connection.
    pub(super) fn only_key(&self) -> ConnectionKey {
        let mut keys = self.driver.connections.keys();
        let key = *keys.next().expect("a connection");
        assert_eq!(keys.next(), None);
        key
    }
}

/// A client's state machine at an address.
pub(super) struct Client {
    machine: dccp::Connection,
    address: SocketAddr,
    /// The last sequence numbers sent and received.
    sent: SeqNum,
    received: SeqNum,
}

impl Client {
    pub(super) fn new(fixture: &Fixture, last: u8) -> Self {
        let config = EndpointConfig::default();
        let mut machine = config.dccp(8, SeqNum::new(77_777));
        (machine.local_port, machine.remote_port) = (40_000, config.dccp_port);
        let mut machine = dccp::Connection::client(machine);
        machine.connect(fixture.driver.clock.now());
        Self {
            machine,
            address: peer(last),
            sent: SeqNum::default(),
            received: SeqNum::default(),
        }
    }

    fn poll_packets(&mut self, fixture: &Fixture) -> Vec<wire::Packet> {
        let now = fixture.driver.clock.now();
        let packets: Vec<_> = std::iter::from_fn(|| self.machine.poll_transmit(now))
            .map(body)
            .collect();
        self.sent = packets.last().map_or(self.sent, |packet| packet.seq);
        packets
    }

    fn handle(&mut self, fixture: &Fixture, packets: Vec<wire::Packet>) {
        for packet in packets {
            self.received = packet.seq;
            let mut packet = decode(&octets_of(&packet), None, None).expect("a packet");
            self.machine.handle(fixture.driver.clock.now(), &mut packet);
        }
    }

    /// Passes packets between the client and the driver until neither sends any more.
    pub(super) fn exchange(&mut self, fixture: &mut Fixture) {
        for _ in 0..100 {
            let packets = self.poll_packets(fixture);
            if packets.is_empty() {
                return;
            }
            for packet in packets {
                let answers = fixture.receive(self.address, &packet);
                self.handle(fixture, answers);
            }
        }
        panic!("they never stop sending");
    }

    /// Sends a Request; returns the acknowledgement that returns the cookie.
    fn ack_with_cookie(&mut self, fixture: &mut Fixture) -> wire::Packet {
        let request = self.poll_packets(fixture).remove(0);
        let response = fixture.receive(self.address, &request);
        self.handle(fixture, response);
        let ack = self.poll_packets(fixture).remove(0);
        assert!(cookie_in(&ack).is_some(), "it returns the cookie");
        ack
    }
}

#[tokio::test]
async fn with_cookies_no_state_is_kept_until_the_client_acknowledges() {
    let mut fixture = Fixture::new(&stateless());
    let mut client = Client::new(&fixture, 1);
    let ack = client.ack_with_cookie(&mut fixture);
    assert_eq!(fixture.memory(), [0, 0, 0]);
    let answers = fixture.receive(client.address, &ack);
    client.handle(&fixture, answers);
    client.exchange(&mut fixture);
    assert_eq!((fixture.memory(), fixture.accepted()), ([1, 0, 1], 1));
    let state = &fixture.driver.connections[&key(client.address)];
    assert_eq!(state.machine.state(), State::Open);
}

#[tokio::test]
async fn the_cached_answer_is_that_of_a_state_machine() {
    let mut fixture = Fixture::new(&stateless());
    let mut clients = [Client::new(&fixture, 1), Client::new(&fixture, 2)];
    let [first, mut second] = clients.each_mut().map(|client| {
        let request = client.poll_packets(&fixture).remove(0);
        fixture.receive(client.address, &request).remove(0)
    });
    assert_eq!(first.kind, PacketType::Response);
    assert_ne!(first.seq, second.seq);
    assert_ne!(cookie_in(&first), cookie_in(&second));
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
    let other = fixture.receive(peer(3), &bare).remove(0);
    bare.seq = SeqNum::new(6);
    let again = fixture.receive(peer(4), &bare).remove(0);
    assert_ne!(without_cookie(&first), without_cookie(&other));
    assert_eq!(without_cookie(&other), without_cookie(&again));
    assert_eq!(again.ack(), Some(bare.seq));
}

#[tokio::test]
async fn a_cookie_on_a_later_packet_than_the_first_acknowledgement_makes_the_connection() {
    let mut fixture = Fixture::new(&stateless());
    let mut client = Client::new(&fixture, 1);
    client.ack_with_cookie(&mut fixture);
    // The acknowledgement is lost; the first datagram follows it.
    let now = fixture.driver.clock.now();
    client
        .machine
        .write(now, Payload::from_bytes(b"first"))
        .expect("it is connected");
    client.exchange(&mut fixture);
    assert_eq!(client.machine.state(), State::Open);
    assert_eq!(fixture.driver.load.cookies_accepted, 1);
    let mut server = fixture.accept();
    assert_eq!(server.receive().await.as_deref(), Some(&b"first"[..]));
}

#[tokio::test]
async fn one_cookie_makes_one_connection_at_most() {
    let mut fixture = Fixture::new(&stateless());
    let mut client = Client::new(&fixture, 1);
    let ack = client.ack_with_cookie(&mut fixture);
    for _ in 0..10 {
        fixture.receive(client.address, &ack);
        assert_eq!(fixture.memory(), [1, 0, 1]);
    }
    assert_eq!(fixture.accepted(), 1);
    client.machine.close(fixture.driver.clock.now());
    client.exchange(&mut fixture);
    assert_eq!(fixture.memory(), [0, 0, 0], "the client holds TIMEWAIT");
    for _ in 0..10 {
        assert_eq!(fixture.receive(client.address, &ack), []);
    }
    assert_eq!((fixture.memory(), fixture.accepted()), ([0, 0, 0], 0));
}

#[tokio::test]
async fn no_forged_changed_or_stolen_cookie_makes_a_connection() {
    let mut fixture = Fixture::new(&stateless());
    let mut client = Client::new(&fixture, 1);
    let ack = client.ack_with_cookie(&mut fixture);
    let cookie = cookie_in(&ack).expect("a cookie");
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
        for answer in fixture.receive(client.address, &packet) {
            assert_eq!(answer.reset_code(), Some(10));
            resets += 1;
        }
    }
    assert_eq!(fixture.driver.load.cookies_refused, 10_000);
    assert!(resets >= 1024, "Resets are sent, but not for all packets");
    for thief in [peer(2), SocketAddr::from(([192, 0, 2, 1], 6512))] {
        fixture.receive(thief, &ack);
    }
    let mut other_port = ack.clone();
    other_port.source_port += 1;
    fixture.receive(client.address, &other_port);
    // The right cookie with an acknowledgement number that does not match it.
    let mut numbers = ack.clone();
    numbers.subheader = Subheader::Ack(ack.ack().expect("a number").next());
    fixture.receive(client.address, &numbers);
    assert_eq!((fixture.memory(), fixture.accepted()), ([0, 0, 0], 0));
    fixture.receive(client.address, &ack);
    assert_eq!(fixture.accepted(), 1, "the true cookie is still valid");
}

#[tokio::test]
async fn a_cookie_is_accepted_even_if_a_retransmitted_request_has_made_a_handshake() {
    let mut fixture = Fixture::new(&EndpointConfig {
        cookie_threshold: 1,
        ..EndpointConfig::default()
    });
    let mut other = Client::new(&fixture, 2);
    let request = other.poll_packets(&fixture).remove(0);
    fixture.receive(other.address, &request);
    assert_eq!(fixture.memory(), [1, 1, 1]);
    let mut client = Client::new(&fixture, 1);
    let ack = client.ack_with_cookie(&mut fixture);
    assert_eq!(fixture.memory(), [1, 1, 1], "no further handshake");
    fixture.driver.remove(key(other.address));
    let mut again = request.clone();
    again.seq = ack.seq.previous();
    fixture.receive(client.address, &again);
    assert_eq!(fixture.memory(), [1, 1, 1], "a further handshake");
    let answers = fixture.receive(client.address, &ack);
    client.handle(&fixture, answers);
    client.exchange(&mut fixture);
    assert_eq!((fixture.memory(), fixture.accepted()), ([1, 0, 1], 1));
}

#[tokio::test]
async fn a_refused_request_is_answered_and_leaves_no_state() {
    for cookie_threshold in [0, 64] {
        let mut fixture = Fixture::new(&EndpointConfig {
            cookie_threshold,
            ..EndpointConfig::default()
        });
        let mut request = wire::Packet::request(SeqNum::new(9), 0).with_ports(1, 5001);
        request.options.push(&DccpOption::Mandatory);
        request.options.push(&DccpOption::Other {
            kind: 99,
            data: &[],
        });
        let codes: Vec<_> = fixture
            .receive(peer(1), &request)
            .iter()
            .map(wire::Packet::reset_code)
            .collect();
        assert_eq!(codes, [Some(6)]);
        assert_eq!(fixture.memory(), [0, 0, 0]);
    }
}

#[tokio::test]
async fn unknown_peers_get_no_more_resets_than_the_limit_and_a_reset_gets_none() {
    let mut fixture = Fixture::new(&EndpointConfig {
        max_resets_per_second: 100,
        ..EndpointConfig::default()
    });
    let data = wire::Packet::data(SeqNum::new(9), Payload::from_bytes(b"?")).with_ports(1, 5001);
    let answered = (0..100).filter(|_| !fixture.receive(peer(1), &data).is_empty());
    assert_eq!(answered.count(), 100);
    let start = fixture.driver.clock.now();
    let late = (0..10_000)
        .filter(|_| !fixture.receive(peer(1), &data).is_empty())
        .count();
    let passed = fixture.driver.clock.now().since(start).as_secs_f64();
    assert!(late as f64 <= 100.0 * passed + 1.0, "{late} in {passed} s");
    let reset = wire::Packet::reset(SeqNum::new(9), SeqNum::new(8), 1, [0; 3]).with_ports(1, 5001);
    let mut fixture = Fixture::new(&EndpointConfig::default());
    assert_eq!(fixture.receive(peer(1), &reset), []);
}

/// Packets of every type: bare, with options that fill the header up to its limit, and with data.
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
async fn an_unproven_address_gets_one_answer_of_three_times_the_octets_or_as_many() {
    let mut answers = 0;
    for (strict, factor) in [(false, 3), (true, 1)] {
        for (cookie_threshold, in_handshake) in [(0, false), (64, false), (64, true)] {
            for packet in packets() {
                let mut fixture = Fixture::new(&EndpointConfig {
                    cookie_threshold,
                    strict_amplification: strict,
                    ..EndpointConfig::default()
                });
                if in_handshake {
                    let mut request = packet.clone();
                    request.kind = PacketType::Request;
                    request.subheader = Subheader::Service(0);
                    request.extended = true;
                    request.payload = Payload::of_len(200);
                    fixture.receive(peer(1), &request);
                    assert_eq!(fixture.memory(), [1, 1, 1]);
                }
                for _ in 0..3 {
                    let sent = fixture.receive(peer(1), &packet);
                    let octets: usize = sent.iter().map(|p| HEADERS + octets_of(p).len()).sum();
                    let most = factor * (HEADERS + octets_of(&packet).len());
                    let context = format!("{octets} of {most} octets for {packet:?}: {sent:?}");
                    assert!(sent.len() <= 1 && octets <= most, "{context}");
                    answers += sent.len();
                }
                assert_eq!(fixture.accepted(), 0);
            }
        }
    }
    assert!(answers > 500, "{answers}");
}

#[tokio::test]
async fn ended_connections_block_no_client_and_are_removed_beyond_a_bound() {
    let mut fixture = Fixture::new(&EndpointConfig {
        max_connections: 10,
        max_connections_per_address: 2,
        ..EndpointConfig::default()
    });
    for round in 0..50_u16 {
        let mut client = Client::new(&fixture, 1);
        client.address.set_port(round + 1);
        client.exchange(&mut fixture);
        assert_eq!(fixture.accepted(), 1, "round {round}");
        // A Reset leaves the server in TIMEWAIT.
        let reset = wire::Packet::reset(client.sent.next(), client.received, 2, [0; 3]);
        fixture.receive(client.address, &reset.with_ports(40_000, 5001));
        let ended = usize::from(round + 1).min(10);
        assert_eq!(fixture.driver.time_wait.len(), ended, "round {round}");
        assert_eq!(fixture.memory(), [ended, 0, 0], "round {round}");
    }
}

/// Damaged packets from many addresses to a listener with tight limits: no panic, at most one
/// answer to a packet, and no more state than the limits allow.
#[tokio::test]
async fn state_and_answers_are_bounded_whatever_is_received() {
    for (seed, cookie_threshold) in [(1, 0), (2, 5), (3, usize::MAX)] {
        let config = EndpointConfig {
            cookie_threshold,
            max_handshakes: 5,
            max_connections: 20,
            max_connections_per_address: 3,
            ..EndpointConfig::default()
        };
        let mut fixture = Fixture::new(&config);
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
            let Some(packet) = decode(&octets, None, None) else {
                continue;
            };
            let from = peer(rng.below(250) as u8);
            // The kernel may report any age.
            let age = Duration::from_nanos(rng.below(2_000_000_000));
            let at = fixture.driver.clock.now() - age;
            let received = ReceivedPacket::new(from, None, at, packet).expect("DCCP");
            if let Some(key) = fixture.driver.handle_packet(received) {
                fixture.driver.drive_connection(key);
            }
            let mut sent = 0;
            while let Some(batch) = fixture.driver.send_queue.next_batch(1) {
                assert_eq!(batch.destination.peer, from);
                assert!(HEADERS + batch.size <= 3 * (HEADERS + octets.len()));
                sent += 1;
                fixture.driver.send_queue.remove(1);
            }
            assert!(sent <= 1);
            let [connections, handshakes, sources] = fixture.memory();
            assert!(connections <= 20 && handshakes <= 5 && sources <= connections);
        }
        assert_eq!(fixture.accepted(), 0, "no handshake was completed");
        let load = fixture.driver.load;
        assert!(load.resets_sent > 0, "{load:?}");
        assert_eq!(load.cookies_sent > 0, cookie_threshold < 100, "{load:?}");
    }
}

#[tokio::test]
async fn what_waits_to_be_sent_can_be_discarded_and_makes_room() {
    let mut fixture = Fixture::new(&EndpointConfig::default());
    let mut client = Client::new(&fixture, 1);
    client.exchange(&mut fixture);
    let connection = fixture.accept();
    let fill = || {
        let more = std::iter::repeat_with(|| connection.try_send(&[0; 1000]));
        more.take_while(|sent| matches!(sent, Ok(true))).count() as u64
    };
    assert!(matches!(connection.try_send(b"kept"), Ok(true)));
    let first = fill();
    let now = fixture.driver.clock.now();
    let state = fixture.driver.connections.get_mut(&key(client.address));
    let state = state.expect("a connection");
    // Moves datagrams from the queue before the state machine into its own, which leaves room for
    // as many.
    state.write(now);
    let waiting = first + fill();
    assert!(waiting > first && fill() == 0, "{first} and {waiting}");
    assert_eq!(
        state.discard_unsent(|datagram| datagram == b"kept"),
        waiting
    );
    assert!(fill() > 0);
    assert!(!state.machine.send_queue_is_full());
}
