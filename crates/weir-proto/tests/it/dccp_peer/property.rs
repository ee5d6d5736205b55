//! Arbitrary packets in any order: no panic, no storm, no data delivered twice, and nothing from a
//! closed end.

use super::{config, drain, envelope, packet_of};
use proptest::prelude::*;
use std::collections::BTreeSet;
use weir_proto::cc::tfrc::Profile;
use weir_proto::dccp::wire::{Options, PacketType, SeqNum, Subheader};
use weir_proto::dccp::{Ccid, Config, Connection, State};
use weir_proto::endpoint::Endpoint;
use weir_proto::packet::{Ecn, Payload};
use weir_proto::time::{Duration, Instant};

#[derive(Clone, Debug)]
enum Action {
    Packet(Forged),
    Write(u32),
    Close,
    Wait(u64),
}

/// A packet with numbers this far from the next one of the peer and from the last one of the end.
#[derive(Clone, Debug)]
struct Forged {
    kind: usize,
    seq_ahead: i64,
    ack_behind: i64,
    short: bool,
    ccval: u8,
    options: Vec<(u8, Vec<u8>)>,
    /// Octets after the options, which need not be valid options.
    tail: Vec<u8>,
    reset_code: u8,
    /// Octets of a payload, which begin with its number.
    payload: Option<usize>,
    marked: bool,
}

fn values() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..12),
        Just(vec![0; 4]),
        Just(vec![0xff; 4]),
        Just(vec![0xff; 10]),
        (0..13_u8, prop::collection::vec(0..5_u8, 0..7)).prop_map(|(number, mut list)| {
            list.insert(0, number);
            list
        }),
    ]
}

fn option() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let kinds = prop_oneof![
        1 => 0..3_u8,
        8 => 32..45_u8,
        1 => Just(128_u8),
        4 => 192..195_u8,
        1 => any::<u8>(),
    ];
    (kinds, values())
}

fn forged() -> impl Strategy<Value = Forged> {
    let near = |edge: i64| {
        prop_oneof![
            6 => Just(0_i64),
            2 => -3..4_i64,
            1 => edge - 2..edge + 3,
            1 => any::<i64>().prop_map(|n| n >> 16),
        ]
    };
    (
        0..PacketType::ALL.len(),
        near(75),
        near(100),
        prop::bool::weighted(0.1),
        0..16_u8,
        prop::collection::vec(option(), 0..4),
        prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(any::<u8>(), 0..40)],
        (any::<u8>(), prop::option::of(4..1500_usize), any::<bool>()),
    )
        .prop_map(
            |(kind, seq_ahead, ack_behind, short, ccval, options, tail, rest)| {
                let (reset_code, payload, marked) = rest;
                Forged {
                    kind,
                    seq_ahead,
                    ack_behind,
                    short,
                    ccval,
                    options,
                    tail,
                    reset_code,
                    payload,
                    marked,
                }
            },
        )
}

fn action() -> impl Strategy<Value = Action> {
    let nanos = prop_oneof![Just(0), 1..2000_u64, Just(20_000), Just(600_000_000)];
    prop_oneof![
        12 => forged().prop_map(Action::Packet),
        4 => (0..1600_u32).prop_map(Action::Write),
        1 => Just(Action::Close),
        5 => nanos.prop_map(Action::Wait),
    ]
}

struct World {
    now: Instant,
    end: Connection,
    gss: SeqNum,
    peer: SeqNum,
    /// The sequence number of each payload sent, in order.
    payloads: Vec<SeqNum>,
    delivered: BTreeSet<u64>,
    syncs: Vec<Instant>,
    packets_sent: u64,
}

fn shifted(seq: SeqNum, by: i64) -> SeqNum {
    if by < 0 {
        seq.sub(by.unsigned_abs())
    } else {
        seq.add(by.unsigned_abs())
    }
}

impl World {
    fn new(server: bool, ccid: usize, short_sequence_numbers: bool) -> Self {
        let ccid = match ccid {
            0 => Ccid::TcpLike,
            1 => Ccid::Tfrc(Box::new(Profile::rfc5348())),
            2 => Ccid::Tfrc(Box::new(Profile::linux_2008())),
            _ => Ccid::Tfrc(Box::new(Profile::linux_mainline())),
        };
        let config = Config {
            initial_sequence: (1 << 48) - 5,
            send_ccid: ccid.clone(),
            receive_ccid: ccid,
            short_sequence_numbers,
            ..config()
        };
        Self {
            now: Instant::from_nanos(1_000_000),
            end: if server {
                Connection::server(config)
            } else {
                Connection::client(config)
            },
            gss: SeqNum::new((1 << 48) - 6),
            peer: SeqNum::new((1 << 48) - 3),
            payloads: Vec::new(),
            delivered: BTreeSet::new(),
            syncs: Vec::new(),
            packets_sent: 0,
        }
    }

    fn receive(&mut self, forged: &Forged) {
        let kind = PacketType::ALL[forged.kind];
        let seq = shifted(self.peer, forged.seq_ahead);
        if (0..76).contains(&forged.seq_ahead) {
            self.peer = seq.next();
        }
        let mut packet = packet_of(kind, seq, shifted(self.gss, -forged.ack_behind));
        packet.ccval = forged.ccval;
        if let Subheader::Reset(_, code, _) = &mut packet.subheader {
            *code = forged.reset_code;
        }
        packet.extended = !(forged.short && kind.may_be_short());
        let mut octets = Vec::new();
        for (kind, data) in &forged.options {
            octets.push(*kind);
            if *kind >= 32 {
                octets.push(data.len() as u8 + 2);
                octets.extend(data);
            }
        }
        octets.extend(&forged.tail);
        packet.options = Options::from_wire(&octets);
        if let Some(len) = forged.payload.filter(|_| kind.is_data_packet()) {
            let number = self.payloads.len() as u32;
            let mut octets = number.to_be_bytes().to_vec();
            octets.resize(len, 0);
            packet.payload = Payload::from_bytes(&octets);
            self.payloads.push(seq);
        }
        let mut packet = envelope(packet);
        if forged.marked {
            packet.ip.ecn = Ecn::Ce;
        }
        self.end.handle(self.now, &mut packet);
        let answers = self.settle();
        if kind == PacketType::Reset {
            assert!(!answers.contains(&PacketType::Reset), "a Reset for a Reset");
        }
    }

    /// Processes timeouts, sends and reads everything, and checks the invariants.
    fn settle(&mut self) -> Vec<PacketType> {
        let mut kinds = Vec::new();
        for round in 0.. {
            assert!(
                round < 8,
                "a timer in the past: {:?}",
                self.end.poll_timeout()
            );
            for packet in drain(&mut self.end, self.now) {
                kinds.push(packet.kind);
                self.packets_sent += 1;
                if packet.seq.since(self.gss) == 1 {
                    self.gss = packet.seq;
                }
                if packet.kind == PacketType::Sync {
                    self.syncs.push(self.now);
                }
            }
            if self.end.poll_timeout().is_none_or(|at| at > self.now) {
                break;
            }
            self.end.handle_timeout(self.now);
        }
        while let Some(piece) = self.end.read(self.now) {
            // RFC 4340 §5.4: an empty datagram is delivered too; it has no room for a number.
            if piece.is_empty() {
                continue;
            }
            let number = piece.content().expect("our payloads have content");
            let number = number.first_chunk().expect("as it was sent");
            let number = u32::from_be_bytes(*number);
            let seq = self.payloads[number as usize];
            assert!(
                self.delivered.insert(seq.get()),
                "{seq:?} was delivered twice"
            );
        }
        while self.end.poll_event().is_some() {}
        if let [.., ninth, _, _, _, _, _, _, _, last] = self.syncs[..] {
            assert!(
                last.since(ninth) >= Duration::from_secs(1),
                "a storm of Syncs"
            );
        }
        kinds
    }

    fn wait(&mut self, millis: u64) {
        let until = self.now + Duration::from_millis(millis);
        for _ in 0..200 {
            let Some(at) = self.end.poll_timeout().filter(|&at| at <= until) else {
                break;
            };
            self.now = at;
            self.settle();
        }
        self.now = until;
        self.settle();
    }

    fn act(&mut self, action: &Action) {
        match action {
            Action::Packet(forged) => self.receive(forged),
            Action::Write(len) => {
                let _ = self.end.write(self.now, Payload::of_len(*len));
                self.settle();
            }
            Action::Close => {
                self.end.close(self.now);
                self.settle();
            }
            Action::Wait(millis) => self.wait(*millis),
        }
    }

    /// The packets of the peer in a correct handshake.
    fn shake_hands(&mut self, server: bool) {
        let kinds = if server {
            [PacketType::Request, PacketType::Ack]
        } else {
            [PacketType::Response, PacketType::Ack]
        };
        for kind in kinds {
            self.now += Duration::from_millis(10);
            let kind = PacketType::ALL.iter().position(|&k| k == kind).unwrap();
            self.receive(&Forged {
                kind,
                seq_ahead: 0,
                ack_behind: 0,
                short: false,
                ccval: 0,
                options: vec![(34, vec![1, 3]), (32, vec![1, 3])],
                tail: Vec::new(),
                reset_code: 0,
                payload: None,
                marked: false,
            });
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn survives_any_peer(
        server: bool,
        ccid in 0..4_usize,
        short in prop::bool::weighted(0.8),
        honest in prop::bool::weighted(0.8),
        actions in prop::collection::vec(action(), 1..120),
    ) {
        let mut world = World::new(server, ccid, short);
        if !server {
            world.end.connect(world.now);
            world.settle();
        }
        if honest {
            world.shake_hands(server);
        }
        for action in &actions {
            world.act(action);
        }
        if world.end.state() == State::Closed && !server {
            let sent = world.packets_sent;
            world.wait(300_000);
            prop_assert_eq!(world.packets_sent, sent, "a closed end sends");
        }
    }
}
